//! Whether every file of every backup is there and is what was stored. Nothing is restored for it.
//!
//! The place is not locked: what servers remove or join meanwhile is no finding.

use std::collections::HashMap;

use crate::Result;
use crate::manifest::{Backup, ids, is_there};
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
        match Backup::read_if_there(place, &found) {
            Ok(backup) => backups.extend(backup),
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
        let before = findings.len();
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
        if findings.len() > before && !is_there(place, &backup.id)? {
            findings.truncate(before);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::removing::{Removing, two_backups};

    #[test]
    fn a_backup_that_is_removed_meanwhile_is_no_finding() {
        for at in ["a/backup.json", "a/MANIFEST"] {
            let dir = tempfile::tempdir().unwrap();
            let (inner, [first, _]) = two_backups(dir.path());
            let place = Removing { inner, backup: first, at };
            assert_eq!(verify(&place, None).unwrap(), [] as [String; 0], "{at}");
            assert_eq!(ids(&place).unwrap(), ["b"]);
        }
    }

    #[test]
    fn what_is_missing_of_a_backup_that_is_there_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let (place, _) = two_backups(dir.path());
        place.remove("backups/a/MANIFEST").unwrap();
        let findings = verify(&place, None).unwrap();
        assert!(matches!(&findings[..], [finding] if finding.starts_with("backup a: ") && finding.ends_with(" is missing")));
    }
}
