//! Where the copy stands in the source's log.
//!
//! Nothing stops the source's writers while rows are read, so rows are of different times. What makes one state of them is the log: it is carried
//! out from the *place* where the copy began to the *end*, where nothing is read any more, by an applier that makes each row what its image says
//! (`replica_exec_mode = CONVERGENT`), whatever it finds. Of each row that changed between the two, the last image decides; each other row was the same
//! at all times.
//!
//! * COPY-1: what was committed in front of the place was there when the first row was read.
//! * COPY-2: tables that would not converge (without a primary key; with cascades that the log does not tell; all, where the log has no whole rows) are
//!   read in snapshots of exactly the place.
//! * COPY-3: what any read has seen is in front of the end. So the applier is strict behind it.
//!
//! | source | how the place is found |
//! |---|---|
//! | with GTIDs | `gtid_executed`, which has a transaction only when the engine shows it |
//! | MySQL without | the beginning of the newest log: a new log begins when all that is in the one before is committed in the engine. The position in a log is ahead of the engine and would lose a commit that is under way |
//! | MariaDB | `binlog_snapshot_file` and `_position`, which belong to the snapshot of START TRANSACTION WITH CONSISTENT SNAPSHOT |
//!
//! Snapshots of exactly the place: with MariaDB the one that has the position. With MySQL's GTIDs those that were opened while nothing was
//! written: the log's end was the same before and after, and at the beginning nobody owned a GTID (a transaction owns one from before it is in the log
//! until it is in `gtid_executed`). Where that does not happen soon, the tables in question, and no others, are locked for writers while the snapshots are opened,
//! some milliseconds: LOCK TABLES waits for transactions that have written to them, which keep their metadata locks until `gtid_executed` has them.

use std::time::Duration;

use crate::client::Client;
use crate::definitions::Table;
use crate::server::{Kind, LogEnd, Server, log_end};
use crate::{Failure, Result};
use vaquita_replication::address::Address;

/// Snapshots that are tried before tables are locked.
const QUIET_TRIES: usize = 30;
const LOCK_TRIES: usize = 10;
/// Statements that wait behind a lock that is not given wait so long at most.
const LOCK_WAIT_S: u64 = 2;
/// The first event of a log.
const LOG_BEGIN: u64 = 4;

pub struct Begin {
    pub place: LogEnd,
    /// In transactions that see exactly the place.
    pub snapshots: Vec<Client>,
    /// How it was found, for people.
    pub how: String,
}

/// Finds the place. `exact` are the tables of COPY-2.
pub fn begin(source: &Address, server: &Server, exact: &[&Table], workers: usize, may_lock: bool) -> Result<Begin> {
    let mut client = Client::open(source)?;
    if server.kind == Kind::MariaDb {
        return of_mariadb(client, !exact.is_empty());
    }
    if exact.is_empty() {
        let (place, how) = lower_bound(&mut client, server)?;
        return Ok(Begin { place, snapshots: Vec::new(), how });
    }
    let count = workers.min(exact.len()).max(1);
    let mut snapshots = (0..count).map(|_| reader(source)).collect::<Result<Vec<Client>>>()?;
    if server.kind == Kind::MySql && server.has_gtids {
        for _ in 0..QUIET_TRIES {
            if let Some(place) = in_a_quiet_moment(&mut client, &mut snapshots)? {
                return Ok(Begin { place, snapshots, how: "snapshots of a moment in which nothing was written".into() });
            }
        }
    }
    let names = exact.iter().map(|table| table.shown()).collect::<Vec<_>>().join(", ");
    if !may_lock {
        return Err(format!(
            "these tables can only be copied at one place of the log, and something is written all the time: {names}. \
             Without --no-lock they are locked for writers for some milliseconds"
        )
        .into());
    }
    let place = under_lock(&mut client, server, exact, &mut snapshots)?;
    Ok(Begin { place, snapshots, how: format!("snapshots while writers of these tables waited a moment: {names}") })
}

/// A connection whose transactions see one snapshot.
fn reader(source: &Address) -> Result<Client> {
    let mut client = Client::open(source)?;
    client.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
    Ok(client)
}

const SNAPSHOT: &str = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";
const SNAPSHOT_OF_MARIADB: &str = "START TRANSACTION WITH CONSISTENT SNAPSHOT";

fn of_mariadb(mut client: Client, keeps: bool) -> Result<Begin> {
    client.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
    client.run(SNAPSHOT_OF_MARIADB)?;
    let status = client.rows("SHOW STATUS LIKE 'binlog_snapshot_%'")?;
    let of = |name: &str| {
        let row = status.iter().find(|row| row.first().is_some_and(|first| first.eq_ignore_ascii_case(name)));
        row.and_then(|row| row.get(1)).cloned().unwrap_or_default()
    };
    let file = of("binlog_snapshot_file");
    let pos = of("binlog_snapshot_position").parse().unwrap_or(0);
    if file.is_empty() || pos < LOG_BEGIN {
        return Err("the source does not say where its snapshot is in the log (binlog_snapshot_file)".into());
    }
    let place = LogEnd { file, pos, executed: String::new() };
    let snapshots = if keeps { vec![client] } else { Vec::new() };
    Ok(Begin { place, snapshots, how: "the position of a snapshot (binlog_snapshot_position)".into() })
}

/// COPY-1.
fn lower_bound(client: &mut Client, server: &Server) -> Result<(LogEnd, String)> {
    if server.has_gtids {
        return Ok((log_end(client)?, "gtid_executed".into()));
    }
    if server.kind == Kind::Vaquita {
        // Its log ends where what is committed ends.
        return Ok((log_end(client)?, "the position in the log".into()));
    }
    // A log that has just begun is shorter to carry out; without the privilege the one that is there does.
    let begun = client.run("FLUSH BINARY LOGS").is_ok();
    let how = if begun { "the beginning of a new log (FLUSH BINARY LOGS)" } else { "the beginning of the newest log" };
    Ok((LogEnd { pos: LOG_BEGIN, ..log_end(client)? }, how.into()))
}

fn in_a_quiet_moment(client: &mut Client, snapshots: &mut [Client]) -> Result<Option<LogEnd>> {
    let before = log_end(client)?;
    let owned = client.value("SELECT @@GLOBAL.gtid_owned")?;
    let executed = client.value("SELECT @@GLOBAL.gtid_executed")?.replace('\n', "");
    if !owned.is_empty() {
        std::thread::sleep(Duration::from_millis(5));
        return Ok(None);
    }
    for snapshot in snapshots.iter_mut() {
        snapshot.run(SNAPSHOT)?;
    }
    let after = log_end(client)?;
    let is_quiet = (&before.file, before.pos) == (&after.file, after.pos) && after.executed == executed;
    Ok(is_quiet.then_some(LogEnd { executed, ..before }))
}

fn under_lock(client: &mut Client, server: &Server, exact: &[&Table], snapshots: &mut [Client]) -> Result<LogEnd> {
    client.run(&format!("SET SESSION lock_wait_timeout = {LOCK_WAIT_S}"))?;
    let list = exact.iter().map(|table| format!("{} READ", table.full_name())).collect::<Vec<_>>().join(", ");
    let mut tries = 0;
    while let Err(error) = client.run(&format!("LOCK TABLES {list}")) {
        tries += 1;
        if error.number != 1205 || tries == LOCK_TRIES {
            return Err(format!(
                "tables without a primary key, or with cascades, cannot be read at one place of the log: LOCK TABLES: {error}"
            )
            .into());
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    let found = (|| {
        for snapshot in snapshots.iter_mut() {
            snapshot.run(SNAPSHOT)?;
        }
        if server.has_gtids || server.kind == Kind::Vaquita {
            return log_end(client);
        }
        let refused = |error| Failure::from(format!("without GTIDs the copy begins with a new log: FLUSH BINARY LOGS: {error}"));
        client.run("FLUSH BINARY LOGS").map_err(refused)?;
        Ok(LogEnd { pos: LOG_BEGIN, ..log_end(client)? })
    })();
    client.run("UNLOCK TABLES")?;
    found
}

/// COPY-3: read when nothing of the source is read any more. A position in a log is not behind what the engine shows. Of Vaquita, where rows
/// and their log are written together and the end is told afterwards, it may be for an instant: a new log comes behind all that was shown.
pub fn end(source: &mut Client, server: &Server) -> Result<LogEnd> {
    if server.kind == Kind::Vaquita {
        let refused =
            |error| Failure::from(format!("the end of the copy is the beginning of a new log: FLUSH BINARY LOGS: {error}"));
        source.run("FLUSH BINARY LOGS").map_err(refused)?;
    }
    log_end(source)
}
