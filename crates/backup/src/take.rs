//! A backup: what the place does not have yet is fetched, and `backup.json` is written.

use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use vaquita_wire::copy::{About, CopiedFile};

use crate::Result;
use crate::donor::Source;
use crate::keep::{self, Keep};
use crate::manifest::{self, Backup, StoredFile, backups, hex};
use crate::place::{Object, Place};
use crate::report::Progress;

const PIECE_BYTES: usize = 1 << 20;

/// Takes a backup, and removes those that are not to be kept. A file that an earlier or an interrupted backup has stored is not sent again.
pub fn take(place: &dyn Place, source: &mut dyn Source, keep: &Keep) -> Result<Backup> {
    let _alone = place.lock()?;
    let began = Instant::now();
    let earlier = backups(place)?;
    let (about, files) = source.begin()?;
    let stored = Stored::of(place, &earlier, &about)?;
    let mut backup = Backup {
        format: manifest::format(),
        id: new_id(&about, &earlier),
        server_uuid: about.server_uuid.clone(),
        version: about.version.clone(),
        taken_us: about.taken_us,
        seconds: 0.0,
        log_file: about.log_file.clone(),
        log_pos: about.log_pos,
        gtids: about.gtids.clone(),
        new_bytes: 0,
        files: Vec::with_capacity(files.len()),
    };
    let wanted = files.iter().filter(|file| stored.sha256(place, &about, file).is_none()).map(|file| file.bytes).sum();
    let mut progress = Progress::new("copied", wanted);
    for file in &files {
        let name = stored_name(&about, &backup.id, file);
        let sha256 = match stored.sha256(place, &about, file) {
            Some(known) => known,
            None => {
                backup.new_bytes += file.bytes;
                fetch(place, source, file, &name, &mut progress)?
            }
        };
        backup.files.push(StoredFile { name: file.name.clone(), bytes: file.bytes, sha256, stored: name });
    }
    drop(progress);
    backup.seconds = began.elapsed().as_secs_f64();
    backup.write(place)?;
    forget_sent(place, earlier.iter().chain([&backup]))?;
    keep::remove_old(place, &backup.server_uuid, keep)?;
    Ok(backup)
}

fn fetch(place: &dyn Place, source: &mut dyn Source, file: &CopiedFile, name: &str, progress: &mut Progress) -> Result<String> {
    let mut upload = place.create(name)?;
    let mut hash = Sha256::new();
    source.read(file, &mut |piece| {
        hash.update(piece);
        progress.add(piece.len() as u64);
        upload.write_all(piece).map_err(|error| format!("{}/{name}: {error}", place.shown()).into())
    })?;
    let sha256 = hex(&hash.finalize());
    // The checksum first: what an interruption leaves is known by what was sent, not by what is found.
    note_sent(place, name, &sha256)?;
    upload.finish()?;
    Ok(sha256)
}

/// Checksums of what a backup that is not complete has sent, by stored name.
const SENT: &str = "sent/";

fn note_sent(place: &dyn Place, name: &str, sha256: &str) -> Result<()> {
    let mut note = place.create(&format!("{SENT}{name}"))?;
    note.write_all(sha256.as_bytes())?;
    note.finish()
}

/// Behind a complete backup: what interrupted ones have sent and nobody has taken over goes.
fn forget_sent<'b>(place: &dyn Place, complete: impl Iterator<Item = &'b Backup>) -> Result<()> {
    let needed: HashSet<&str> = complete.flat_map(|backup| &backup.files).map(|file| file.stored.as_str()).collect();
    for Object { name: note, .. } in place.list(SENT)? {
        let name = note.trim_start_matches(SENT);
        if !needed.contains(name) {
            place.remove(name)?;
        }
        place.remove(&note)?;
    }
    Ok(())
}

/// Files of backups that are not complete: their stored names, and what was sent.
pub fn sent(place: &dyn Place) -> Result<Vec<(String, String)>> {
    let mut sent = Vec::new();
    for Object { name, .. } in place.list(SENT)? {
        let mut sha256 = String::new();
        // A note that cannot be read makes its file worth nothing.
        let read = place.open(&name).and_then(|mut note| Ok(note.read_to_string(&mut sha256)?));
        sent.push((name.trim_start_matches(SENT).to_string(), if read.is_ok() { sha256 } else { String::new() }));
    }
    Ok(sent)
}

/// By the time at which it was taken.
fn new_id(about: &About, earlier: &[Backup]) -> String {
    let time = Timestamp::from_microsecond(about.taken_us as i64).unwrap_or_else(|_| now());
    let id = format!("{}-{}", time.strftime("%Y%m%dT%H%M%S"), about.server_uuid.get(..8).unwrap_or("server"));
    let taken = |id: &str| earlier.iter().any(|backup| backup.id == id);
    if !taken(&id) {
        return id;
    }
    (2..).map(|n| format!("{id}-{n}")).find(|id| !taken(id)).unwrap_or(id)
}

fn now() -> Timestamp {
    let us = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64);
    Timestamp::from_microsecond(us).unwrap_or_default()
}

fn stored_name(about: &About, id: &str, file: &CopiedFile) -> String {
    match file.mark.is_empty() {
        true => format!("{}{}", manifest::own(id), file.name),
        false => format!("files/{}/{}-{}", about.server_uuid, file.name, hex(&file.mark)),
    }
}

/// What the place has of a server's files.
struct Stored {
    /// Checksums of what was sent, by stored name.
    known: HashMap<String, String>,
    there: HashSet<(String, u64)>,
}

impl Stored {
    fn of(place: &dyn Place, earlier: &[Backup], about: &About) -> Result<Stored> {
        let of_server = earlier.iter().filter(|backup| backup.server_uuid == about.server_uuid);
        let mut known: HashMap<String, String> = sent(place)?.into_iter().collect();
        known.extend(of_server.flat_map(|backup| &backup.files).map(|file| (file.stored.clone(), file.sha256.clone())));
        let there = place.list(&format!("files/{}/", about.server_uuid))?.into_iter().map(|object| (object.name, object.bytes));
        Ok(Stored { known, there: there.collect() })
    }

    /// The checksum of a file that is there, and need not be sent.
    fn sha256(&self, place: &dyn Place, about: &About, file: &CopiedFile) -> Option<String> {
        if file.mark.is_empty() {
            return None;
        }
        let name = stored_name(about, "", file);
        let known = self.known.get(&name).filter(|sha256| !sha256.is_empty())?;
        self.there.contains(&(name, place.stored_bytes(file.bytes))).then(|| known.clone())
    }
}

/// The checksum and the length of what is stored.
pub fn content_sha256(place: &dyn Place, name: &str) -> Result<(String, u64)> {
    let mut content = place.open(name)?;
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let len = content.read(&mut piece).map_err(|error| format!("{name}: {error}"))?;
        if len == 0 {
            return Ok((hex(&hash.finalize()), bytes));
        }
        hash.update(&piece[..len]);
        bytes += len as u64;
    }
}
