//! Where a dump begins, and why it cannot.

use vaquita_session::binary_log::base_name;
use vaquita_types::gtid::{Gtid, GtidSet};

use super::super::source::LogSource;
use super::super::{FIRST_POS, LogFile, Place, Servers};
use super::maria;
use super::{DumpRequest, DumpTerms, ERROR_BYTES_MAX, Step, fatal, of_log};

const NO_FILE: &str = "Could not find first log file name in binary log index file";
const BEFORE_FIRST: &str = "Client requested source to start replication from position < 4";
const BEHIND_END: &str = "Client requested source to start replication from position > file size";
const AHEAD: &str = "Replica has more GTIDs than the source has, using the source's SERVER_UUID. This may indicate that the the last binary \
    log file was truncated or lost, e.g., after a power failure when sync_binlog != 1. The source may have rolled back transactions that \
    were already replicated to the replica. Replicate any transactions that source has rolled back from replica to source, and/or commit \
    empty transactions on source to account for transactions that have been committed on source but are not included in GTID_EXECUTED.";
pub const PURGED: &str = "Cannot replicate because the source purged required binary logs. Replicate the missing transactions from elsewhere, or \
    provision a new replica from backup. Consider increasing the source's binary log expiration period. ";
pub const SETS_TOO_LONG: &str = "The GTID sets and the missing purged transactions are too long to print in this message. For more information, \
    please see the source's error log or the manual for GTID_SUBTRACT";

/// Where a dump begins.
pub struct Start {
    pub place: Place,
    pub name: String,
    /// The first transaction of the file is one that the replica has: it must not take the file's start for one of the server.
    pub begins_known: bool,
    /// The last transactions before the file.
    pub servers: Servers,
}

impl Start {
    pub fn find(log: &dyn LogSource, request: &DumpRequest, terms: &DumpTerms) -> Step<Start> {
        if terms.server_id == 0 {
            return fatal("Misconfigured source - source server_id is 0");
        }
        if request.known.is_some() && terms.gtid_mode == "OFF" {
            return fatal(format!(
                "The replication sender thread cannot start in AUTO_POSITION mode: this server has GTID_MODE = {} instead of ON.",
                terms.gtid_mode
            ));
        }
        if let Some(state) = request.maria.as_ref().and_then(|maria| maria.state.as_ref()) {
            let (file, place) = maria::find(log, state)?;
            return Ok(Start { place, name: file.name, begins_known: place.pos > FIRST_POS, servers: file.servers });
        }
        let mut begins_known = false;
        let file = match &request.known {
            Some(known) if request.file.is_empty() => {
                let file = first_file_for(log, known, terms)?;
                begins_known = begins_with(log, &file, known)?;
                file
            }
            _ => {
                let named = |file: &LogFile| request.file.is_empty() || file.name.as_bytes() == base_name(&request.file);
                match of_log(log.files())?.into_iter().find(named) {
                    Some(file) => file,
                    None => return fatal(NO_FILE),
                }
            }
        };
        let place = Place { file: file.number, pos: request.position };
        let end = log.end();
        let bytes = if end.file == file.number { end.pos } else { file.bytes };
        match request.position {
            ..FIRST_POS => fatal(BEFORE_FIRST),
            position if position > bytes => fatal(BEHIND_END),
            _ => Ok(Start { place, name: file.name, begins_known, servers: file.servers }),
        }
    }
}

/// The last file before which nothing was executed that the replica lacks.
fn first_file_for(log: &dyn LogSource, known: &GtidSet, terms: &DumpTerms) -> Step<LogFile> {
    let mut own = GtidSet::default();
    for (source, tag, intervals) in known.iter().filter(|(source, ..)| **source == terms.server_uuid) {
        intervals.iter().for_each(|interval| own.add(*source, tag.clone(), *interval));
    }
    if !own.is_subset_of(&log.executed()) {
        return fatal(AHEAD);
    }
    let missing = of_log(log.purged())?.subtract(known);
    if !missing.is_empty() {
        return fatal(purged_text(known, &missing));
    }
    match of_log(log.files())?.into_iter().rev().find(|file| file.previous.is_subset_of(known)) {
        Some(file) => Ok(file),
        None => fatal(format!(
            "{NO_FILE} while looking for the oldest binary log that contains any GTID that is not in the given gtid set"
        )),
    }
}

fn purged_text(known: &GtidSet, missing: &GtidSet) -> String {
    let sets = format!("The GTID set sent by the replica is '{known}', and the missing transactions are '{missing}'");
    let sets = if PURGED.len() + sets.len() > ERROR_BYTES_MAX { SETS_TOO_LONG } else { &sets };
    format!("{PURGED}{sets}")
}

/// The first transaction of the file is one that the replica has.
fn begins_with(log: &dyn LogSource, file: &LogFile, known: &GtidSet) -> Step<bool> {
    if known.is_empty() {
        return Ok(false);
    }
    let mut cursor = of_log(log.reader(Place { file: file.number, pos: FIRST_POS }))?;
    while let Some(event) = of_log(cursor.next())? {
        match event.gtid {
            _ if event.start.file != file.number => return Ok(false),
            Some(gtid) => return Ok(contains(known, gtid)),
            None => {}
        }
    }
    Ok(false)
}

pub fn contains(set: &GtidSet, gtid: &Gtid) -> bool {
    set.contains(gtid.source, &gtid.tag, gtid.number)
}
