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
    use std::io::{Read, Write};
    use std::path::Path;

    use super::*;
    use crate::directory::Directory;
    use crate::manifest::{StoredFile, format, hex};
    use crate::place::{Object, Upload};
    use sha2::{Digest, Sha256};

    /// A place from which a backup goes when something of it is read.
    struct Removing {
        inner: Directory,
        backup: Option<Backup>,
        at: String,
    }

    impl Place for Removing {
        fn create(&self, name: &str) -> Result<Box<dyn Upload>> {
            self.inner.create(name)
        }

        fn open(&self, name: &str) -> Result<Box<dyn Read>> {
            if let Some(backup) = self.backup.as_ref().filter(|_| name.ends_with(&self.at)) {
                backup.remove(&self.inner)?;
            }
            self.inner.open(name)
        }

        fn list(&self, prefix: &str) -> Result<Vec<Object>> {
            self.inner.list(prefix)
        }

        fn remove(&self, name: &str) -> Result<()> {
            self.inner.remove(name)
        }

        fn lock(&self) -> Result<Box<dyn Send>> {
            self.inner.lock()
        }

        fn shown(&self) -> String {
            self.inner.shown()
        }
    }

    /// Two backups of a file each.
    fn place(dir: &Path) -> (Directory, Vec<Backup>) {
        let place = Directory::open(&dir.join("backups"), true).unwrap();
        let backup = |id: &str| {
            let stored = format!("backups/{id}/MANIFEST");
            let mut upload = place.create(&stored).unwrap();
            upload.write_all(b"content").unwrap();
            upload.finish().unwrap();
            let file = StoredFile { name: "MANIFEST".into(), bytes: 7, sha256: hex(&Sha256::digest(b"content")), stored };
            let backup = Backup {
                format: format(),
                id: id.into(),
                server_uuid: "u".into(),
                version: "1".into(),
                taken_us: 1,
                seconds: 0.0,
                log_file: String::new(),
                log_pos: 0,
                gtids: String::new(),
                new_bytes: 0,
                files: vec![file],
            };
            backup.write(&place).unwrap();
            backup
        };
        let backups = ["a", "b"].map(backup).into();
        (place, backups)
    }

    #[test]
    fn a_backup_that_is_removed_meanwhile_is_no_finding() {
        for at in ["a/backup.json", "a/MANIFEST"] {
            let dir = tempfile::tempdir().unwrap();
            let (inner, mut backups) = place(dir.path());
            let place = Removing { inner, backup: Some(backups.remove(0)), at: at.into() };
            assert_eq!(verify(&place, None).unwrap(), [] as [String; 0], "{at}");
            assert_eq!(ids(&place).unwrap(), ["b"]);
        }
    }

    #[test]
    fn what_is_missing_of_a_backup_that_is_there_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let (place, _) = place(dir.path());
        place.remove("backups/a/MANIFEST").unwrap();
        let findings = verify(&place, None).unwrap();
        assert!(matches!(&findings[..], [finding] if finding.starts_with("backup a: ") && finding.ends_with(" is missing")));
    }
}
