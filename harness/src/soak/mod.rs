//! `cargo harness soak`: hours of work on one server, which must be at the end as it was at the beginning.
//!
//! A round makes a number of transactions at each isolation level (transfers between accounts, reads, a queue that fills and empties), the
//! same in all rounds, because memory follows the work that was done and not the time. Then it does what has left traces before: locks on every row of a large table, a transaction that spills, changes of the schema, thousands of
//! sessions that keep something (a prepared statement, a temporary table, a variable, a lock) and go. After each round the process is
//! looked at: resident memory, open files, threads. At the end the rounds of the first third, without the very first, are compared with
//! those of the last: memory, files and threads must not have grown, no money may be lost. How many transactions a second each level made
//! and what one cost in CPU is reported as a ratio, for a person to judge: it depends on what else the machine did.

mod disturb;
mod process;
mod report;
mod work;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::client::{Answer, Client};
use crate::flags::Flags;
use crate::paths;
use crate::vaquita::{Vaquita, free_port};
use process::Sample;
use report::Round;
use work::LEVELS;

struct Plan {
    minutes: u64,
    clients: u64,
    /// Of each level, in a round.
    transactions: u64,
    /// Between two rounds, with nothing to do.
    rest: Duration,
    sessions: usize,
    seed: u64,
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let plan = Plan {
        minutes: flags.number("--minutes", 180)?,
        clients: flags.number("--clients", 8)?.max(1),
        transactions: flags.number("--transactions", 20_000)?.max(1),
        rest: Duration::from_secs(flags.number("--rest", 0)?),
        sessions: flags.number("--sessions", 1_000)? as usize,
        seed: flags.number("--seed", now)?,
    };
    let plant = flags.switch("--plant");
    flags.finish()?;
    let dir = paths::target_dir().join(format!("soak/{}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    println!("soak: seed {}, {} minutes, {} clients, {} sessions a round", plan.seed, plan.minutes, plan.clients, plan.sessions);
    let server = Vaquita::start(&paths::vaquita()?, &dir.join("data"), free_port()?, &dir.join("server.log"))?;
    let failed =
        |text: String| format!("FAILED: {text}\ndata: {}\nagain: cargo harness soak --seed {}", dir.display(), plan.seed);
    let rounds = run(&server, &plan, plant).map_err(failed)?;
    report::judge(&rounds).map_err(failed)?;
    server.stop()?;
    std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))
}

/// With `plant`, sessions are left open: files and memory must be found to grow.
fn run(server: &Vaquita, plan: &Plan, plant: bool) -> Result<Vec<Round>, String> {
    let begun = Instant::now();
    let mut admin = server.connect()?;
    work::create(&mut admin)?;
    disturb::create(&mut admin)?;
    let (mut rounds, mut left_open) = (Vec::new(), Vec::new());
    report::print_header();
    while begun.elapsed().as_secs() < plan.minutes * 60 {
        let mut speeds = Vec::new();
        for (at, level) in LEVELS.iter().enumerate() {
            let seed = plan.seed ^ ((rounds.len() * LEVELS.len() + at) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            speeds.push(work::measure(server, level, plan.clients, plan.transactions, seed)?);
        }
        disturb::lock_all(&mut admin)?;
        disturb::spill(&mut admin)?;
        disturb::change_schema(&mut admin)?;
        let sessions = disturb::open_sessions(server, plan.sessions)?;
        if plant {
            left_open.extend(sessions);
        } else {
            drop(sessions);
        }
        work::verify(&mut admin)?;
        disturb::wait_for_end_of_sessions(&mut admin, left_open.len())?;
        std::thread::sleep(plan.rest);
        let round = Round { minute: begun.elapsed().as_secs() / 60, speeds, sample: Sample::of(server.pid())? };
        round.print();
        rounds.push(round);
    }
    Ok(rounds)
}

fn execute(client: &mut Client, sql: &str) -> Result<(), String> {
    match client.try_query(sql) {
        Ok(Answer::Err { code, text, .. }) => Err(format!("{sql}: error {code}: {text}")),
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{sql}: {error}")),
    }
}

/// The only value of the only row.
fn number(client: &mut Client, sql: &str) -> Result<i64, String> {
    let answer = client.try_query(sql).map_err(|e| format!("{sql}: {e}"))?;
    let Answer::Rows { rows, .. } = &answer else { return Err(format!("{sql}: {answer:?}")) };
    let value = rows.first().and_then(|row| row.first()).and_then(Option::as_ref);
    value.and_then(|bytes| std::str::from_utf8(bytes).ok()?.parse().ok()).ok_or_else(|| format!("{sql}: {answer:?}"))
}
