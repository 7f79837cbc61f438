//! `vaquita restore`: a backup, and behind it the archived log up to the moment that is wanted.
//!
//! The log is carried out by a server in the new directory that nobody can connect to. Until all is done the directory has another name.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use vaquita_attach::{BringBack, bring_back};
use vaquita_backup::{ArchivedLog, Backup, LogStart, NewDirectory, Place, choose, restore_files, shown_time};
use vaquita_replication::address::Address;
use vaquita_replication::replay::{EachEvent, Failure, ReplayFrom, Seen, replay, transactions};
use vaquita_session::server::Server;
use vaquita_types::gtid::{Gtid, GtidSet};

use crate::descriptors;
use crate::fronts::mysql::front::Front;
use crate::options::ServeArguments;
use crate::serve::{self, Opened, prepare_dir};

/// Connections that copy tables at the same time.
const WORKERS: usize = 4;
/// Of a server that only this process uses.
const CONNECTIONS_MAX: u64 = 64;

/// How far a server is restored.
pub enum Until {
    /// As the backup is.
    Backup,
    /// Microseconds since 1970.
    Time(u64),
    WithGtid(Gtid),
    BeforeGtid(Gtid),
    /// To the last statement that loses data.
    BeforeStatement,
    End,
}

/// `2026-11-22 10:00:00` is UTC; an offset may follow.
pub fn parse_time(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is no time; one is 2026-11-22 10:00:00");
    let timestamp = text.parse::<jiff::Timestamp>().ok().or_else(|| {
        let civil = text.parse::<jiff::civil::DateTime>().ok()?;
        Some(civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
    });
    u64::try_from(timestamp.ok_or_else(wrong)?.as_microsecond()).map_err(|_| wrong())
}

pub fn parse_gtid(text: &str) -> Result<Gtid, String> {
    let wrong = || format!("'{text}' is no GTID of one transaction");
    let set = GtidSet::parse(text.as_bytes()).map_err(|_| wrong())?;
    set.single().ok_or_else(wrong)
}

/// Which backup, and how far.
pub struct Wanted<'w> {
    pub id: Option<&'w str>,
    /// Its UUID.
    pub server: Option<&'w str>,
    pub until: &'w Until,
}

pub fn restore(place: &dyn Place, wanted: &Wanted<'_>, dir: &Path) -> Result<(), Failure> {
    let (new, reached) = make(place, wanted, dir)?;
    new.finish()?;
    println!("restored {} {reached}", dir.display());
    Ok(())
}

/// Tables that go into a running server.
pub struct Tables<'t> {
    pub target: &'t Address,
    pub databases: &'t [String],
    pub tables: &'t [String],
    pub database: Option<&'t str>,
}

/// Restores in `dir`, which is removed, and copies tables from there.
pub fn restore_tables(place: &dyn Place, wanted: &Wanted<'_>, dir: &Path, tables: &Tables<'_>) -> Result<(), Failure> {
    let (new, reached) = make(place, wanted, dir)?;
    let private = Private::open(new.path())?;
    let front = private.listen()?;
    let source =
        Address { host: private.socket.to_string_lossy().into_owned(), port: 0, user: "root".into(), ..Address::default() };
    let lines = bring_back(&BringBack {
        source: &source,
        target: tables.target,
        databases: tables.databases,
        tables: tables.tables,
        database: tables.database,
        workers: WORKERS,
    });
    front.stopping.store(true, Ordering::SeqCst);
    private.close()?;
    lines?.iter().for_each(|line| println!("{line}"));
    println!("brought back {reached}");
    Ok(())
}

/// What was restored, and how far, for people.
fn make(place: &dyn Place, wanted: &Wanted<'_>, dir: &Path) -> Result<(NewDirectory, String), Failure> {
    if matches!(wanted.until, Until::Backup) {
        let backup = choose(place, wanted.id, wanted.server, None)?;
        let reached = format!("as it was at {} (UTC)", shown_time(backup.taken_us));
        return Ok((restore_files(place, &backup, dir)?, reached));
    }
    let plan = Plan::make(place, wanted.id, wanted.server, wanted.until)?;
    let new = restore_files(place, &plan.backup, dir)?;
    carry_out(new.path(), &plan)?;
    Ok((new, format!("with all up to {}", plan.reached)))
}

/// What is carried out: a backup, and the log from where it began to the place behind the last transaction that is wanted.
struct Plan<'p> {
    backup: Backup,
    log: ArchivedLog<'p>,
    from: ReplayFrom,
    /// `None`: nothing of the log is wanted.
    to: Option<ReplayFrom>,
    reached: String,
}

impl Plan<'_> {
    fn make<'p>(place: &'p dyn Place, id: Option<&str>, server: Option<&str>, until: &Until) -> Result<Plan<'p>, Failure> {
        let until_us = if let Until::Time(us) = until { Some(*us) } else { None };
        let backup = choose(place, id, server, until_us)?;
        if let (Until::Time(us), true) = (until, id.is_some())
            && backup.taken_us > *us
        {
            return Err(format!("backup {} is of {}, which is later", backup.id, shown_time(backup.taken_us)).into());
        }
        match until {
            // It may be in front of the newest backup.
            Until::BeforeStatement | Until::WithGtid(_) | Until::BeforeGtid(_) if id.is_none() => {
                let all = vaquita_backup::backups(place)?;
                let of_server = all.into_iter().filter(|candidate| candidate.server_uuid == backup.server_uuid);
                let mut refused = None;
                for candidate in of_server.rev() {
                    match Plan::of(place, candidate, until) {
                        Ok(plan) => return Ok(plan),
                        Err(error) => refused = Some(error),
                    }
                }
                Err(refused.unwrap_or_else(|| "there is no backup".into()))
            }
            _ => Plan::of(place, backup, until),
        }
    }

    fn of<'p>(place: &'p dyn Place, backup: Backup, until: &Until) -> Result<Plan<'p>, Failure> {
        if backup.log_file.is_empty() {
            return Err(format!("backup {} is of a server without a binary log", backup.id).into());
        }
        let log = ArchivedLog::open(place, &backup.server_uuid)?;
        let from = ReplayFrom { file: backup.log_file.clone(), pos: backup.log_pos };
        let (mut last, mut before, mut found) = (None, None, None);
        transactions(&from, &|from, each| events(&log, from, each), &mut |seen| {
            let goes_on = match until {
                Until::Time(us) => seen.committed_us <= *us,
                Until::BeforeGtid(gtid) => seen.gtid.as_ref() != Some(gtid),
                Until::BeforeStatement => {
                    if loses_data(seen.statement.as_deref()) && seen.committed_us > backup.taken_us {
                        before = Some(last.clone());
                        found = Some(shown(&seen));
                    }
                    true
                }
                Until::WithGtid(_) | Until::End | Until::Backup => true,
            };
            if !goes_on {
                if seen.committed_us <= backup.taken_us {
                    return Err(format!("backup {} has {}", backup.id, shown(&seen)).into());
                }
                found = Some(shown(&seen));
                return Ok(false);
            }
            let is_last = matches!(until, Until::WithGtid(gtid) if seen.gtid.as_ref() == Some(gtid));
            if is_last {
                found = Some(shown(&seen));
            }
            if is_last && seen.committed_us <= backup.taken_us {
                return Err(format!("backup {} has what was committed behind {}", backup.id, shown(&seen)).into());
            }
            last = Some((seen.end.clone(), shown(&seen)));
            Ok(!is_last)
        })?;
        match until {
            Until::WithGtid(gtid) | Until::BeforeGtid(gtid) if found.is_none() => {
                return Err(format!("the archived log behind backup {} does not have {gtid}", backup.id).into());
            }
            Until::BeforeStatement => match (before, &found) {
                (Some(before), Some(statement)) => {
                    println!("the last statement that loses data: {statement}");
                    last = before;
                }
                _ => return Err("the archived log has no DROP, no TRUNCATE, and no DELETE without WHERE".into()),
            },
            // Without anything behind it nobody knows whether the archive goes so far.
            Until::Time(us) if found.is_none() => {
                let reached = last.as_ref().map_or("the backup", |(_, shown)| shown);
                println!(
                    "the archived log ends with {reached}: what was committed behind it, up to {}, is not there",
                    shown_time(*us)
                );
            }
            _ => {}
        }
        let (to, reached) = match last {
            Some((to, shown)) => (Some(to), shown),
            None => (None, format!("the backup of {} (UTC)", shown_time(backup.taken_us))),
        };
        Ok(Plan { backup, log, from, to, reached })
    }
}

fn events(log: &ArchivedLog<'_>, from: &ReplayFrom, each: EachEvent<'_>) -> Result<(), Failure> {
    log.events(&LogStart { file: from.file.clone(), pos: from.pos }, each)
}

fn shown(seen: &Seen) -> String {
    let name = seen.gtid.as_ref().map_or_else(|| format!("{}:{}", seen.end.file, seen.end.pos), ToString::to_string);
    let what = seen
        .statement
        .as_deref()
        .map_or(String::new(), |statement| format!(": {}", statement.lines().next().unwrap_or_default()));
    format!("{name}, committed {} (UTC){what}", shown_time(seen.committed_us))
}

/// DROP of tables and databases, TRUNCATE, and DELETE without WHERE.
fn loses_data(statement: Option<&str>) -> bool {
    let Some(statement) = statement else { return false };
    let words: Vec<String> =
        statement.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).take(64).map(str::to_uppercase).collect();
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    match word(0) {
        "DROP" => matches!(word(1), "TABLE" | "TABLES" | "DATABASE" | "SCHEMA"),
        "TRUNCATE" => true,
        "ALTER" => words
            .windows(2)
            .any(|pair| matches!((pair[0].as_str(), pair[1].as_str()), ("DROP", "PARTITION") | ("TRUNCATE", "PARTITION"))),
        "DELETE" => !words.iter().any(|word| word == "WHERE" || word == "LIMIT"),
        _ => false,
    }
}

/// Opens a server on the restored data, carries the log out, and closes it.
fn carry_out(dir: &Path, plan: &Plan<'_>) -> Result<(), Failure> {
    let Some(to) = &plan.to else { return Ok(()) };
    let private = Private::open(dir)?;
    let limited = |from: &ReplayFrom, each: EachEvent<'_>| {
        let mut at_end = false;
        events(&plan.log, from, &mut |file, event| {
            if at_end {
                return Ok(false);
            }
            at_end = file == to.file && event.end_position() >= to.pos;
            each(file, event).map(|goes_on| goes_on && !at_end)
        })
    };
    let from = end_of_data(&private.opened.server)?.unwrap_or_else(|| plan.from.clone());
    let done = replay(&private.opened.server, &from, &limited);
    private.close()?;
    done
}

/// A server in a directory that is being made.
struct Private {
    opened: Opened,
    socket: PathBuf,
    _lock: File,
}

impl Private {
    fn open(dir: &Path) -> Result<Private, Failure> {
        let options = ServeArguments::of_directory(dir)?.resolve()?;
        let (dir, lock) = prepare_dir(dir)?;
        let socket = dir.join("vaquita.sock");
        let opened = serve::open(&dir, &socket, &options, descriptors::claim().engine_files_max)?;
        Ok(Private { opened, socket, _lock: lock })
    }

    /// For this process' user, over a Unix socket.
    fn listen(&self) -> Result<Arc<Front>, Failure> {
        let front = Front::new(self.opened.server.clone(), self.opened.pool.clone(), None, CONNECTIONS_MAX);
        serve::listen_locally(&front, &self.socket)?;
        Ok(front)
    }

    fn close(self) -> Result<(), Failure> {
        let Opened { server, pool, .. } = self.opened;
        pool.stop();
        server.catalog.close();
        Ok(server.engine.shutdown()?)
    }
}

/// Where the log of what was restored ends: at the end of the file in front of the one that this start has begun.
fn end_of_data(server: &Server) -> Result<Option<ReplayFrom>, Failure> {
    let files = server.binary_log.get().map_or(Ok(Vec::new()), |log| log.files())?;
    let last = files.iter().rev().nth(1);
    Ok(last.map(|last| ReplayFrom { file: last.name.clone(), pos: last.bytes }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_utc_or_have_an_offset() {
        assert_eq!(parse_time("1970-01-01 00:00:01"), Ok(1_000_000));
        assert_eq!(parse_time("1970-01-01T00:00:01.5"), Ok(1_500_000));
        assert_eq!(parse_time("1970-01-01T01:00:01+01:00"), Ok(1_000_000));
        assert!(parse_time("yesterday").is_err() && parse_time("1960-01-01 00:00:00").is_err());
    }

    #[test]
    fn statements_that_lose_data_are_known() {
        let lost = [
            "DROP TABLE t",
            "drop database `d`",
            "TRUNCATE t",
            "truncate table `a`.`b`",
            "DELETE FROM t",
            "ALTER TABLE t DROP PARTITION p",
        ];
        let kept = ["DELETE FROM t WHERE id = 1", "DROP INDEX i ON t", "INSERT INTO t VALUES ('DROP TABLE')", "DROP VIEW v"];
        assert!(lost.iter().all(|statement| loses_data(Some(statement))));
        assert!(!kept.iter().any(|statement| loses_data(Some(statement))));
    }
}
