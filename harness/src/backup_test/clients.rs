//! The clients of `backup-test`: what they commit follows from their number and its.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::client::{Answer, Client};
use crate::vaquita::PASSWORD;

pub const ACCOUNTS: u64 = 50;
pub const CLIENTS: usize = 4;

/// What a client has begun and been told, by number; both only grow.
#[derive(Default)]
pub struct Counts {
    pub begun: AtomicU64,
    pub told: AtomicU64,
    /// When each number was first begun, and told, in microseconds since 1970.
    pub times: Mutex<Vec<(u64, u64)>>,
}

impl Counts {
    fn set_begun(&self, k: u64) -> Result<(), String> {
        let mut times = self.times.lock().map_err(|_| "poisoned")?;
        if (times.len() as u64) < k {
            times.push((now_us(), u64::MAX));
        }
        Ok(())
    }

    fn set_told(&self, k: u64) -> Result<(), String> {
        let mut times = self.times.lock().map_err(|_| "poisoned")?;
        if let Some(time) = times.get_mut((k as usize).wrapping_sub(1)).filter(|(_, told)| *told == u64::MAX) {
            time.1 = now_us();
        }
        Ok(())
    }
}

fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

/// A client: it knows what it was told, and asks after a kill what became of the transaction that had no answer.
pub fn work(port: u16, counts: &Counts, n: usize, stops: &AtomicBool) -> Result<(), String> {
    let mut client: Option<Client> = None;
    let mut k = 0;
    while !stops.load(Ordering::Relaxed) {
        let Some(connected) = &mut client else {
            client = Client::connect(port, "root", PASSWORD).ok();
            match &mut client {
                Some(connected) => {
                    if connected.try_query("USE test_backup").is_err() {
                        client = None;
                        continue;
                    }
                    let Ok(Answer::Rows { .. }) = connected.try_query("SELECT 1") else {
                        client = None;
                        continue;
                    };
                    let last = value(connected, &format!("SELECT COALESCE(MAX(k), 0) FROM done WHERE client = {n}"));
                    match last.ok().and_then(|last| last.parse::<u64>().ok()) {
                        Some(last) if last == k || last == k + 1 => k = last,
                        Some(last) => return Err(format!("client {n} was told {k} and finds {last} after a restart")),
                        None => {
                            client = None;
                            continue;
                        }
                    }
                    counts.told.fetch_max(k, Ordering::SeqCst);
                    counts.set_told(k)?;
                }
                None => thread::sleep(Duration::from_millis(10)),
            }
            continue;
        };
        let next = k + 1;
        counts.begun.store(next, Ordering::SeqCst);
        counts.set_begun(next)?;
        match transact(connected, n as u64, next) {
            Ok(Transacted::Told) => {
                k = next;
                counts.told.store(next, Ordering::SeqCst);
                counts.set_told(next)?;
            }
            Ok(Transacted::Undone) => {}
            Ok(Transacted::Unknown) => client = None,
            Err(error) => return Err(format!("client {n}: {error}")),
        }
    }
    Ok(())
}

/// Tables `d1`, `d2`, … come, each after the one before has gone.
pub fn make_tables(port: u16, stops: &AtomicBool) -> Result<(), String> {
    let mut k = 0;
    while !stops.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(20));
        let Ok(mut client) = Client::connect(port, "root", PASSWORD) else { continue };
        while !stops.load(Ordering::Relaxed) {
            k += 1;
            let sql =
                [format!("CREATE TABLE test_backup.d{k} (a INT PRIMARY KEY, KEY (a))"), format!("DROP TABLE test_backup.d{k}")];
            if sql.iter().any(|sql| client.try_query(sql).is_err()) {
                break;
            }
            thread::sleep(Duration::from_millis(30));
        }
    }
    Ok(())
}

/// What transaction `k` of a client moves: from, to, amount.
pub fn moved(n: u64, k: u64) -> (u64, u64, i64) {
    let mixed = (n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(k.wrapping_mul(0xD1B5_4A32_D192_ED03));
    let mixed = mixed ^ mixed >> 29;
    (mixed % ACCOUNTS, (mixed >> 20) % ACCOUNTS, ((mixed >> 40) % 100) as i64)
}

/// What became of a transaction.
enum Transacted {
    Told,
    /// It met another and was undone.
    Undone,
    /// The connection is gone.
    Unknown,
}

fn transact(client: &mut Client, n: u64, k: u64) -> Result<Transacted, String> {
    let (from, to, amount) = moved(n, k);
    // In one order, so that transactions rarely end each other.
    let mut changes = [(from, -amount), (to, amount)];
    changes.sort_unstable();
    let mut sql = vec!["BEGIN".to_string(), format!("INSERT INTO done VALUES ({n}, {k}, REPEAT('x', {}))", k % 200)];
    sql.extend(changes.iter().map(|(id, by)| format!("UPDATE account SET amount = amount + {by} WHERE id = {id}")));
    sql.push(format!("INSERT INTO mark VALUES ({}, 1) ON DUPLICATE KEY UPDATE hits = hits + 1", n * 1000 + k % 100));
    sql.push("COMMIT".into());
    for sql in sql {
        match client.try_query(&sql) {
            Err(_) => return Ok(Transacted::Unknown),
            Ok(Answer::Err { code: 1205 | 1213, .. }) => {
                return Ok(if client.try_query("ROLLBACK").is_ok() { Transacted::Undone } else { Transacted::Unknown });
            }
            Ok(Answer::Err { code, text, .. }) => return Err(format!("{sql}: {code} {text}")),
            Ok(_) => {}
        }
    }
    Ok(Transacted::Told)
}

pub fn prepare(client: &mut Client) -> Result<(), String> {
    let accounts: Vec<String> = (0..ACCOUNTS).map(|id| format!("({id}, 1000)")).collect();
    let sql: [String; 5] = [
        "CREATE DATABASE test_backup".into(),
        "CREATE TABLE test_backup.account (id INT PRIMARY KEY, amount BIGINT)".into(),
        format!("INSERT INTO test_backup.account VALUES {}", accounts.join(", ")),
        "CREATE TABLE test_backup.done (client INT, k BIGINT, pad VARCHAR(200), PRIMARY KEY (client, k))".into(),
        "CREATE TABLE test_backup.mark (id INT PRIMARY KEY, hits INT, KEY hits (hits))".into(),
    ];
    sql.iter().try_for_each(|sql| query(client, sql).map(drop))
}

pub fn query(client: &mut Client, sql: &str) -> Result<Answer, String> {
    match client.try_query(sql).map_err(|e| format!("{sql}: {e}"))? {
        Answer::Err { code, text, .. } => Err(format!("{sql}: {code} {text}")),
        answer => Ok(answer),
    }
}

pub fn value(client: &mut Client, sql: &str) -> Result<String, String> {
    let answer = query(client, sql)?;
    answer.rows().first().map(|row| row[0].replace('\n', "")).ok_or_else(|| format!("{sql}: no row"))
}
