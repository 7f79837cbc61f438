//! Whether every file of every backup is there and is what was stored. Nothing is restored for it.

use std::collections::HashMap;

use crate::Result;
use crate::manifest::{Backup, ids};
use crate::pieces;
use crate::place::Place;
use crate::report::Progress;
use crate::restore::damaged;
use crate::take::{content_sha256, sent};

/// What is wrong, a line each. `id`: of one backup only.
pub fn verify(place: &dyn Place, id: Option<&str>) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    let mut backups = Vec::new();
    for found in ids(place)?.into_iter().filter(|found| id.is_none_or(|id| id == found)) {
        match Backup::read(place, &found) {
            Ok(backup) => backups.push(backup),
            Err(error) => findings.push(error.to_string()),
        }
    }
    if backups.is_empty() && findings.is_empty() {
        return Err(match id {
            Some(id) => format!("{} has no backup {id}", place.shown()).into(),
            None => format!("{} has no backup", place.shown()).into(),
        });
    }
    let bytes = backups.iter().flat_map(|backup| &backup.files).map(|file| (&file.stored, file.bytes)).collect::<HashMap<_, _>>();
    let mut progress = Progress::new("verified", bytes.values().sum());
    let mut seen: HashMap<&str, Option<String>> = HashMap::new();
    for backup in &backups {
        for file in &backup.files {
            let known = seen.entry(&file.stored).or_insert_with(|| {
                progress.add(file.bytes);
                match content_sha256(place, &file.stored) {
                    Ok((sha256, _)) if sha256 == file.sha256 => None,
                    Ok(_) => Some(damaged(place, file).to_string()),
                    Err(error) => Some(error.to_string()),
                }
            });
            if let Some(finding) = known {
                findings.push(format!("backup {}: {finding}", backup.id));
            }
        }
    }
    drop(progress);
    if id.is_none() {
        // What the next backup will take over, if it is there.
        for (name, sha256) in sent(place)? {
            match content_sha256(place, &name) {
                Ok((found, _)) if found != sha256 => findings.push(format!("of an interrupted backup: {name} is damaged")),
                _ => {}
            }
        }
        findings.extend(pieces::verify(place)?);
    }
    Ok(findings)
}
