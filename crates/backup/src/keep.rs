//! Which backups stay.

use std::collections::HashSet;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::Result;
use crate::manifest::{Backup, backups};
use crate::pieces;
use crate::place::Place;

const US_PER_DAY: u64 = 24 * 3600 * 1_000_000;

/// A backup goes when it is neither among the newest nor young enough. The newest of each server always stays.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keep {
    /// So many of each server, if any number is given.
    pub newest: Option<usize>,
    /// Those that are not older.
    pub days: Option<u64>,
}

impl Keep {
    fn keeps(&self, rank: usize, age_us: u64) -> bool {
        let by_rank = self.newest.is_some_and(|newest| rank < newest);
        let by_age = self.days.is_some_and(|days| age_us <= days.saturating_mul(US_PER_DAY));
        rank == 0 || by_rank || by_age || (self.newest.is_none() && self.days.is_none())
    }
}

/// Removes backups of a server that are not to be kept, files that no backup has, and logs that no backup needs. The caller holds the place's lock.
pub fn remove_old(place: &dyn Place, server_uuid: &str, keep: &Keep) -> Result<Vec<Backup>> {
    let now_us = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64);
    let (mut kept, mut removed): (Vec<Backup>, Vec<Backup>) = (Vec::new(), Vec::new());
    for backup in backups(place)?.into_iter().rev() {
        let rank = kept.iter().filter(|newer| newer.server_uuid == backup.server_uuid).count();
        // What others keep is theirs to say.
        match backup.server_uuid != server_uuid || keep.keeps(rank, now_us.saturating_sub(backup.taken_us)) {
            true => kept.push(backup),
            false => removed.push(backup),
        }
    }
    for backup in &removed {
        backup.remove(place)?;
    }
    if !removed.is_empty() {
        let needed: HashSet<&str> = kept.iter().flat_map(|backup| &backup.files).map(|file| file.stored.as_str()).collect();
        for object in place.list("files/")? {
            if !needed.contains(object.name.as_str()) {
                // An interrupted backup's, too: who holds the lock is the only one who writes.
                place.remove(&object.name)?;
            }
        }
        pieces::remove_unneeded(place, &kept)?;
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_stays_whatever_is_asked_for() {
        let old = 100 * US_PER_DAY;
        assert!(Keep { newest: Some(0), days: Some(0) }.keeps(0, old));
        assert!(!Keep { newest: Some(1), days: None }.keeps(1, 0));
        assert!(Keep { newest: Some(2), days: None }.keeps(1, old));
        assert!(Keep { newest: None, days: Some(7) }.keeps(5, US_PER_DAY));
        assert!(!Keep { newest: None, days: Some(7) }.keeps(5, old));
        assert!(Keep::default().keeps(5, old));
    }
}
