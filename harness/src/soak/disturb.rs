//! What a server must have forgotten when it is over: large lock sets, spills, changes of the schema, sessions.

use std::time::{Duration, Instant};

use crate::client::Client;
use crate::vaquita::Vaquita;

use super::{execute, number};

const ROWS: u64 = 200_000;
const INSERT_ROWS: u64 = 2_000;
/// With `ROWS` more than the write set of a transaction keeps in memory.
const PAYLOAD_BYTES: usize = 500;
/// Sessions that have not ended by then are left behind.
const SESSIONS_END_MAX: Duration = Duration::from_secs(120);

pub fn create(client: &mut Client) -> Result<(), String> {
    execute(client, "CREATE TABLE large (id INT PRIMARY KEY, n INT, payload VARCHAR(600), KEY (n))")?;
    execute(client, "CREATE TABLE copy LIKE large")?;
    for first in (0..ROWS).step_by(INSERT_ROWS as usize) {
        let row = |id: u64| format!("({id},{},REPEAT('{}',{}))", id % 977, id % 10, PAYLOAD_BYTES);
        let rows: Vec<String> = (first..first + INSERT_ROWS).map(row).collect();
        execute(client, &format!("INSERT INTO large VALUES {}", rows.join(",")))?;
    }
    Ok(())
}

/// A lock on every row, twice: given back by ROLLBACK, and by COMMIT behind a change of all.
pub fn lock_all(client: &mut Client) -> Result<(), String> {
    execute(client, "BEGIN")?;
    let locked = number(client, "SELECT COUNT(*) FROM large WHERE payload <> '' FOR UPDATE")?;
    if locked != ROWS as i64 {
        return Err(format!("{locked} rows in place of {ROWS}"));
    }
    execute(client, "ROLLBACK")?;
    execute(client, "UPDATE large SET n = n + 1")
}

/// A write set that does not fit: committed once, rolled back once.
pub fn spill(client: &mut Client) -> Result<(), String> {
    for end in ["COMMIT", "ROLLBACK"] {
        execute(client, "BEGIN")?;
        execute(client, "INSERT INTO copy SELECT * FROM large")?;
        execute(client, end)?;
        execute(client, "TRUNCATE TABLE copy")?;
    }
    Ok(())
}

pub fn change_schema(client: &mut Client) -> Result<(), String> {
    for sql in [
        "CREATE TABLE changed LIKE large",
        "INSERT INTO changed SELECT * FROM large WHERE id < 20000",
        "ALTER TABLE changed ADD COLUMN extra INT DEFAULT 7, ADD INDEX (extra, n)",
        "ALTER TABLE changed DROP COLUMN n",
        "ALTER TABLE changed MODIFY extra BIGINT NOT NULL",
        "RENAME TABLE changed TO renamed",
        "DROP TABLE renamed",
        "ANALYZE TABLE large",
    ] {
        execute(client, sql)?;
    }
    Ok(())
}

/// Sessions that are all open at once, each with something of its own; they end when they are dropped.
pub fn open_sessions(server: &Vaquita, count: usize) -> Result<Vec<Client>, String> {
    let mut sessions = Vec::with_capacity(count);
    for at in 0..count {
        let mut client = server.connect().map_err(|text| format!("session {at}: {text}"))?;
        execute(&mut client, "USE soak")?;
        match at % 5 {
            0 => execute(&mut client, "PREPARE kept FROM 'SELECT * FROM accounts WHERE id = ?'")?,
            1 => execute(&mut client, "CREATE TEMPORARY TABLE kept AS SELECT * FROM accounts LIMIT 10")?,
            2 => execute(&mut client, "SET @kept = REPEAT('k', 10000)")?,
            3 => {
                execute(&mut client, "BEGIN")?;
                execute(&mut client, &format!("UPDATE large SET n = n WHERE id = {at}"))?;
            }
            _ => {
                number(&mut client, &format!("SELECT GET_LOCK('kept {at}', 0)"))?;
            }
        }
        sessions.push(client);
    }
    Ok(sessions)
}

/// Waits until there are no sessions but ours and the `expected`.
pub fn wait_for_end_of_sessions(client: &mut Client, expected: usize) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        let sessions = number(client, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE command <> 'Daemon'")?;
        if sessions <= expected as i64 + 1 {
            return Ok(());
        }
        if begun.elapsed() > SESSIONS_END_MAX {
            return Err(format!("{sessions} sessions are left"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
