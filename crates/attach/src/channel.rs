//! The replication channel on the target: configured for the place of the copy, convergent up to its end, strict from there.

use std::time::{Duration, Instant};

use crate::client::{Client, name, quoted};
use crate::server::{LogEnd, Server};
use crate::table_text::{Progress, say};
use crate::{Failure, Result};
use vaquita_replication::address::Address;

const LOOK: Duration = Duration::from_millis(200);
/// A source from which nothing comes says so.
const CONNECT_MAX: Duration = Duration::from_secs(60);

/// A row of SHOW REPLICA STATUS.
#[derive(Clone, Debug, Default)]
pub struct Status {
    pub receiver: String,
    pub applier: String,
    pub error: String,
    pub read: (String, u64),
    pub applied: (String, u64),
    /// Empty: nobody knows.
    pub behind_s: String,
    pub waiting_bytes: u64,
    pub state: String,
    pub source: Address,
}

impl Status {
    pub fn runs(&self) -> bool {
        self.receiver == "Yes" && self.applier == "Yes"
    }

    /// What was received is applied.
    pub fn is_idle(&self) -> bool {
        self.waiting_bytes == 0 && self.state.contains("has read all relay log")
    }
}

impl Status {
    /// The source has sent what is in front of `end`, and nothing waits. Asked for twice, since both are looked at one after the other.
    fn has_all_to(&self, end: &(String, u64), seen: &mut Option<(String, u64)>) -> bool {
        let is_there = self.read >= *end && self.is_idle();
        let before = seen.take();
        if is_there {
            *seen = Some(self.read.clone());
        }
        is_there && before.as_ref() == Some(&self.read)
    }
}

pub fn of(channel: &str) -> String {
    format!(" FOR CHANNEL {}", quoted(channel))
}

/// `None`: there is no channel of that name.
pub fn status(client: &mut Client, channel: &str) -> Result<Option<Status>> {
    const NAME: usize = 55;
    let rows = client.rows("SHOW REPLICA STATUS")?;
    let Some(row) = rows.into_iter().find(|row| row.get(NAME).is_some_and(|name| name.eq_ignore_ascii_case(channel))) else {
        return Ok(None);
    };
    let at = |n: usize| row.get(n).cloned().unwrap_or_default();
    let number = |n: usize| at(n).parse().unwrap_or(0);
    let errors: Vec<String> = [(34, 35), (36, 37)]
        .iter()
        .filter(|(n, _)| number(*n) != 0)
        .map(|(n, text)| format!("{} {}", at(*n), at(*text)))
        .collect();
    Ok(Some(Status {
        receiver: at(10),
        applier: at(11),
        error: errors.join("; "),
        read: (at(5), number(6)),
        applied: (at(9), number(21)),
        behind_s: at(32),
        waiting_bytes: number(22),
        state: at(44),
        source: Address { host: at(1), port: number(3) as u16, user: at(2), password: String::new() },
    }))
}

/// How the log is asked for. `place` is where it is read from if there are no GTIDs.
pub fn change(target: &mut Client, channel: &str, source: &Address, server: &Server, place: &LogEnd) -> Result<()> {
    let position = match server.has_gtids {
        true => "SOURCE_AUTO_POSITION = 1".to_string(),
        false => format!("SOURCE_AUTO_POSITION = 0, SOURCE_LOG_FILE = {}, SOURCE_LOG_POS = {}", quoted(&place.file), place.pos),
    };
    target.run(&format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = {}, SOURCE_PORT = {}, SOURCE_USER = {}, SOURCE_PASSWORD = {}, SOURCE_CONNECT_RETRY = 5, {position}{}",
        quoted(&source.host),
        source.port,
        quoted(&source.user),
        quoted(&source.password),
        of(channel)
    ))?;
    Ok(())
}

/// Which tables are followed: those of `wanted` databases, or all if none is named. Statements about accounts change `mysql.user`.
pub fn filter(target: &mut Client, channel: &str, wanted: &[String], ignored: &[String], accounts: bool) -> Result<()> {
    let pattern = |name: &str| name.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    let mut databases: Vec<String> = wanted.iter().map(|database| quoted(&format!("{}.%", pattern(database)))).collect();
    if accounts && !databases.is_empty() {
        databases.push(quoted("mysql.user"));
    }
    let wanted = databases.join(", ");
    let mut without: Vec<String> = vec![quoted("vaquita\\_attach.%")];
    if !accounts {
        without.push(quoted("mysql.%"));
    }
    for table in ignored {
        if let Some((database, table)) = table.split_once('.') {
            without.push(quoted(&format!("{}.{}", pattern(database), pattern(table))));
        }
    }
    target.run(&format!(
        "CHANGE REPLICATION FILTER REPLICATE_WILD_DO_TABLE = ({wanted}), REPLICATE_WILD_IGNORE_TABLE = ({}){}",
        without.join(", "),
        of(channel)
    ))?;
    Ok(())
}

/// What the copy has counts as executed.
pub fn take_as_executed(target: &mut Client, gtids: &str) -> Result<()> {
    let left = target.value(&format!("SELECT GTID_SUBTRACT({}, @@GLOBAL.gtid_executed)", quoted(gtids)))?.replace('\n', "");
    if !left.is_empty() {
        target.run(&format!("SET GLOBAL gtid_purged = {}", quoted(&format!("+{left}"))))?;
    }
    Ok(())
}

fn failed(status: &Status) -> Failure {
    Failure::from(format!(
        "the channel has stopped: {}",
        if status.error.is_empty() { "without an error" } else { &status.error }
    ))
}

/// Carries out the log up to the end of the copy, and makes of each row what its image says (`place`).
pub fn converge(target: &mut Client, server: &Server, channel: &str, end: &LogEnd) -> Result<()> {
    let before = target.variable("replica_exec_mode");
    target.run("SET GLOBAL replica_exec_mode = 'CONVERGENT'")?;
    let done = converge_until(target, server, channel, end);
    let mode = if before == "CONVERGENT" || before.is_empty() { "STRICT" } else { before.as_str() };
    target.run(&format!("SET GLOBAL replica_exec_mode = {}", quoted(mode)))?;
    done
}

fn converge_until(target: &mut Client, server: &Server, channel: &str, end: &LogEnd) -> Result<()> {
    target.run(&format!("STOP REPLICA{}", of(channel)))?;
    target.run(&format!(
        "START REPLICA UNTIL SOURCE_LOG_FILE = {}, SOURCE_LOG_POS = {}{}",
        quoted(&end.file),
        end.pos,
        of(channel)
    ))?;
    let (progress, began) = (Progress::new(), Instant::now());
    let mut seen = None;
    loop {
        let status = status(target, channel)?.ok_or("the channel has gone")?;
        let has_all = match server.has_gtids {
            true => target.value(&format!("SELECT GTID_SUBSET({}, @@GLOBAL.gtid_executed)", quoted(&end.executed)))? == "1",
            false => false,
        };
        // The end may be behind the last transaction, where nothing comes that could tell the applier.
        let at_end = (end.file.clone(), end.pos);
        let is_behind = status.applied >= at_end || status.has_all_to(&at_end, &mut seen);
        if has_all && status.is_idle() || is_behind || has_all && status.applier != "Yes" {
            break;
        }
        if status.applier != "Yes" && status.error.is_empty() && began.elapsed() < CONNECT_MAX {
            // UNTIL has come in between.
        } else if status.applier != "Yes" || status.receiver == "No" {
            progress.end();
            return Err(failed(&status));
        }
        progress.show(|| {
            format!(
                "  carrying out what has changed meanwhile: at {}:{} of {}:{}",
                status.applied.0, status.applied.1, end.file, end.pos
            )
        });
        std::thread::sleep(LOOK);
    }
    progress.end();
    target.run(&format!("STOP REPLICA{}", of(channel)))?;
    Ok(())
}

/// Starts the channel and waits until it is where the source is now.
pub fn follow(source: &mut Client, target: &mut Client, server: &Server, channel: &str) -> Result<()> {
    target.run(&format!("START REPLICA{}", of(channel)))?;
    catch_up(source, target, server, channel, Duration::MAX, true)?;
    Ok(())
}

/// Waits until all that the source has now is applied; false if the time ran out.
pub fn catch_up(
    source: &mut Client,
    target: &mut Client,
    server: &Server,
    channel: &str,
    time_max: Duration,
    shows: bool,
) -> Result<bool> {
    let end = crate::server::log_end(source)?;
    let (progress, began) = (Progress::new(), Instant::now());
    let mut seen = None;
    loop {
        let status = status(target, channel)?.ok_or("the channel has gone")?;
        let is_there = match server.has_gtids {
            true => target.value(&format!("SELECT GTID_SUBSET({}, @@GLOBAL.gtid_executed)", quoted(&end.executed)))? == "1",
            false => {
                let end = (end.file.clone(), end.pos);
                status.applied >= end || status.has_all_to(&end, &mut seen)
            }
        };
        // A copy may have all before the channel has connected; whoever waits for it wants to know that it does.
        if is_there && (status.runs() || !shows) {
            if shows {
                progress.end();
                say(&format!(
                    "  the replica has what the source had {:.1} s ago; Seconds_Behind_Source: {}",
                    began.elapsed().as_secs_f64(),
                    status.behind_s
                ));
            }
            return Ok(true);
        }
        let connects = status.receiver == "Connecting" && began.elapsed() < CONNECT_MAX;
        if !status.runs() && !connects {
            progress.end();
            return Err(failed(&status));
        }
        if began.elapsed() > time_max {
            return Ok(false);
        }
        if shows {
            progress.show(|| format!("  catching up: {} s behind, {} KiB wait", status.behind_s, status.waiting_bytes >> 10));
        }
        std::thread::sleep(if shows { LOOK } else { Duration::from_millis(20) });
    }
}

/// `name` for messages; the default channel has none.
pub fn shown(channel: &str) -> String {
    if channel.is_empty() { "the default channel".to_string() } else { format!("channel {}", name(channel)) }
}
