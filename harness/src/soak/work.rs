//! The work that is measured: transfers between accounts, beside reads and a queue.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use crate::client::{Answer, Client};
use crate::random::Random;
use crate::vaquita::Vaquita;

use super::process::cpu_ms;
use super::{execute, number};

pub const LEVELS: [&str; 3] = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];
const ACCOUNTS: u64 = 100_000;
const BALANCE: i64 = 1_000;
const INSERT_ROWS: u64 = 1_000;
const READ_ROWS: u64 = 20;
const ER_LOCK_WAIT_TIMEOUT: u16 = 1205;
const ER_LOCK_DEADLOCK: u16 = 1213;

/// How a level did in one round.
pub struct Speed {
    pub per_second: f64,
    /// Of the server, for one transaction.
    pub cpu_us: f64,
}

pub fn create(client: &mut Client) -> Result<(), String> {
    execute(client, "CREATE DATABASE soak")?;
    execute(client, "USE soak")?;
    execute(client, "CREATE TABLE accounts (id INT PRIMARY KEY, owner INT, balance BIGINT, note VARCHAR(60), KEY (owner))")?;
    execute(client, "CREATE TABLE queue (id BIGINT AUTO_INCREMENT PRIMARY KEY, client INT, note VARCHAR(60), KEY (client))")?;
    for first in (0..ACCOUNTS).step_by(INSERT_ROWS as usize) {
        let rows: Vec<String> =
            (first..first + INSERT_ROWS).map(|id| format!("({id},{},{BALANCE},'account {id}')", id % 1_000)).collect();
        execute(client, &format!("INSERT INTO accounts VALUES {}", rows.join(",")))?;
    }
    Ok(())
}

/// All money is there.
pub fn verify(client: &mut Client) -> Result<(), String> {
    let sum = number(client, "SELECT SUM(balance) FROM soak.accounts")?;
    let expected = ACCOUNTS as i64 * BALANCE;
    if sum == expected { Ok(()) } else { Err(format!("the accounts have {sum} together, not {expected}")) }
}

/// Lets `clients` make `transactions` together at `level`.
pub fn measure(server: &Vaquita, level: &str, clients: u64, transactions: u64, seed: u64) -> Result<Speed, String> {
    let (taken, failure) = (AtomicU64::new(0), Mutex::new(None));
    let (begun, cpu_before) = (Instant::now(), cpu_ms(server.pid())?);
    thread::scope(|scope| {
        for client in 0..clients {
            let (taken, failure) = (&taken, &failure);
            scope.spawn(move || {
                let worked = work(server, level, client, Random::new(seed.wrapping_add(client)), || {
                    taken.fetch_add(1, Ordering::Relaxed) < transactions
                });
                if let Err(text) = worked {
                    failure.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(text);
                }
            });
        }
    });
    if let Some(text) = failure.into_inner().unwrap_or_else(|e| e.into_inner()) {
        return Err(format!("{level}: {text}"));
    }
    let count = transactions as f64;
    let cpu_us = (cpu_ms(server.pid())? - cpu_before) as f64 * 1_000.0;
    Ok(Speed { per_second: count / begun.elapsed().as_secs_f64(), cpu_us: cpu_us / count })
}

fn work(server: &Vaquita, level: &str, own: u64, mut random: Random, another: impl Fn() -> bool) -> Result<(), String> {
    let mut client = server.connect()?;
    execute(&mut client, "USE soak")?;
    execute(&mut client, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"))?;
    while another() {
        let statements = transaction(own, &mut random);
        while !attempt(&mut client, &statements)? {}
    }
    // What is in the queue would make the table grow from round to round.
    execute(&mut client, &format!("DELETE FROM queue WHERE client = {own}"))
}

fn transaction(own: u64, random: &mut Random) -> Vec<String> {
    let (from, to, first, owner) = (random.below(ACCOUNTS), random.below(ACCOUNTS), random.below(ACCOUNTS), random.below(1_000));
    vec![
        "BEGIN".into(),
        format!("SELECT balance, note FROM accounts WHERE id = {from}"),
        format!("SELECT COUNT(*), SUM(balance) FROM accounts WHERE id BETWEEN {first} AND {}", first + READ_ROWS),
        format!("SELECT id FROM accounts WHERE owner = {owner} LIMIT 5"),
        format!("UPDATE accounts SET balance = balance - 1 WHERE id = {from}"),
        format!("UPDATE accounts SET balance = balance + 1, note = 'from {from}' WHERE id = {to}"),
        format!("INSERT INTO queue (client, note) VALUES ({own}, 'from {from} to {to}')"),
        format!("DELETE FROM queue WHERE client = {own} ORDER BY id LIMIT 1"),
        "COMMIT".into(),
    ]
}

/// Whether the transaction was committed: a deadlock or a conflict ends it, and it is tried again.
fn attempt(client: &mut Client, statements: &[String]) -> Result<bool, String> {
    for sql in statements {
        match client.try_query(sql).map_err(|e| format!("{sql}: {e}"))? {
            Answer::Err { code: ER_LOCK_DEADLOCK | ER_LOCK_WAIT_TIMEOUT, .. } => {
                execute(client, "ROLLBACK")?;
                return Ok(false);
            }
            Answer::Err { code, text, .. } => return Err(format!("{sql}: error {code}: {text}")),
            _ => {}
        }
    }
    Ok(true)
}
