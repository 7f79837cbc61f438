//! `cargo harness metamorphic`: one random history, many storage configurations, the same answers.
//!
//! Each configuration has a server of its own, started with hidden options (`EngineOptions::set`), on which the histories of
//! `history` run one after the other. What the first configuration answers, rows, counts, warnings and errors, all must
//! answer. A difference prints the statement, both answers and the seed that repeats it. One configuration is killed and
//! started again wherever no transaction is open. One has its tables partitioned by `id`, and divides them anew at such places
//! (`partitions`).
//!
//! `--only WORD` leaves out the configurations whose names do not hold the word, but for the first. `--plant` makes all but the
//! first configuration wrong: the tenth UPDATE of a history is not sent.

mod history;
mod partitions;

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::client::Client;
use crate::flags::Flags;
use crate::paths;
use crate::random::Random;
use crate::vaquita::{Vaquita, free_port};
use history::{SESSIONS, Step, history};

/// Differences printed before the rest is only counted.
const SHOWN_MAX: usize = 5;
/// The UPDATE that `--plant` leaves out.
const PLANTED: usize = 10;

struct Configuration {
    name: &'static str,
    storage: &'static str,
    more: &'static [&'static str],
    restarts: bool,
    partitions: bool,
}

/// Memtables of 64 KiB, so that a history is mostly in files.
macro_rules! small {
    ($more:literal) => {
        concat!("warm-log=off,check-cached-reads=on,write-buffer-bytes=65536,file-bytes=16384,level0-files=2,", $more)
    };
}

const fn storage(name: &'static str, storage: &'static str) -> Configuration {
    Configuration { name, storage, more: &[], restarts: false, partitions: false }
}

const CONFIGURATIONS: &[Configuration] = &[
    storage("as installed", "warm-log=on"),
    storage("tiny memtables", small!("block-cache-bytes=8388608")),
    storage("no bloom filters", small!("bloom-filters=off")),
    storage("no caches", small!("block-cache=off,row-cache=off,span-cache=off")),
    storage("tiny blocks and cache", small!("block-bytes=64,block-cache-bytes=65536")),
    Configuration { more: &["--threads", "1"], ..storage("one thread", small!("background-jobs=1")) },
    storage("nothing compacted", "warm-log=off,write-buffer-bytes=65536,level0-files=1000"),
    storage("not compressed, not synced", small!("compression=off,flush-mode=0")),
    storage("write sets spill", small!("write-set-bytes=1000")),
    storage("builds row by row", small!("build-batch-rows=1")),
    storage("scans in parts", small!("parallel-bytes-min=1")),
    storage("sorts on disk", small!("operator-bytes-max=500")),
    Configuration { restarts: true, ..storage("restarts", small!("compression=off")) },
    Configuration { partitions: true, ..storage("partitions", small!("block-cache-bytes=8388608")) },
    Configuration {
        partitions: true,
        restarts: true,
        ..storage("partitions and restarts", small!("build-batch-rows=7,build-notes-bytes=200"))
    },
];

struct Run {
    binary: PathBuf,
    dir: PathBuf,
    plant: bool,
    differences: usize,
    statements: u64,
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let seed = flags.number("--seed", now)?;
    let histories = flags.number("--histories", 10)?;
    let length = flags.number("--length", 400)? as usize;
    let plant = flags.switch("--plant");
    let only = flags.text("--only")?.unwrap_or_default();
    flags.finish()?;
    let dir = paths::target_dir().join(format!("metamorphic/{}", std::process::id()));
    println!("metamorphic: seed {seed}, {histories} histories of {length} steps, {} configurations", CONFIGURATIONS.len());
    let mut run = Run { binary: paths::vaquita()?, dir: dir.clone(), plant, differences: 0, statements: 0 };
    let all: Vec<Vec<Step>> = (0..histories).map(|n| history(&mut Random::new(seed + n), length)).collect();
    let mut expected = Vec::new();
    for (n, configuration) in CONFIGURATIONS.iter().enumerate() {
        if n > 0 && !configuration.name.contains(&only) {
            continue;
        }
        let before = run.differences;
        run.configuration(configuration, seed, &all, &mut expected)?;
        println!("{}: {} differences", configuration.name, run.differences - before);
    }
    println!("metamorphic: seed {seed}, {histories} histories, {} statements, {} differences", run.statements, run.differences);
    if run.differences == 0 { Ok(()) } else { Err("the configurations do not answer alike".into()) }
}

impl Run {
    fn configuration(
        &mut self,
        configuration: &Configuration,
        seed: u64,
        all: &[Vec<Step>],
        expected: &mut Vec<Vec<String>>,
    ) -> Result<(), String> {
        std::fs::create_dir_all(&self.dir).map_err(|e| format!("{}: {e}", self.dir.display()))?;
        let mut server = self.start(configuration)?;
        for (n, steps) in all.iter().enumerate() {
            let (mut clients, mut updates) = (connect(&server)?, 0);
            let mut answers = Vec::with_capacity(steps.len());
            for (at, step) in steps.iter().enumerate() {
                let Step::Run { session, sql } = step else {
                    if configuration.restarts {
                        server.kill()?;
                        server = self.start(configuration)?;
                        clients = connect(&server)?;
                        for client in &mut clients {
                            client.try_query("USE meta").map_err(|e| format!("USE after a restart: {e}"))?;
                        }
                    }
                    for sql in (0..history::TABLES).filter(|_| configuration.partitions).map(|table| partitions::anew(table, at))
                    {
                        clients[0].try_query(&sql).map_err(|e| format!("{sql}: {e}"))?;
                    }
                    answers.push(String::new());
                    continue;
                };
                updates += usize::from(sql.starts_with("UPDATE"));
                let left_out = self.plant && updates == PLANTED && sql.starts_with("UPDATE") && !expected.is_empty();
                let sent = match left_out {
                    true => Cow::from("DO 1"),
                    false if configuration.partitions => partitions::of(sql, at),
                    false => Cow::from(sql),
                };
                let lost = |e| format!("{}, history of --seed {} at step {at}: {sql}: {e}", configuration.name, seed + n as u64);
                let mut answer = clients[*session].try_query(&sent).map_err(lost)?;
                partitions::leave_out(&mut answer);
                let answer = format!("{answer:?}");
                self.statements += 1;
                if let Some(first) = expected.get(n).and_then(|answers| answers.get(at))
                    && *first != answer
                {
                    self.report(configuration, seed + n as u64, at, sql, first, &answer);
                    // What follows differs because of it.
                    break;
                }
                answers.push(answer);
            }
            if expected.len() == n {
                expected.push(answers);
            }
        }
        server.kill()?;
        std::fs::remove_dir_all(&self.dir).map_err(|e| format!("{}: {e}", self.dir.display()))
    }

    fn start(&self, configuration: &Configuration) -> Result<Vaquita, String> {
        let more: Vec<&str> =
            ["--storage-test-option", configuration.storage].into_iter().chain(configuration.more.iter().copied()).collect();
        Vaquita::spawn_with(&self.binary, &self.dir.join("data"), free_port()?, &self.dir.join("server.log"), &more)?.wait()
    }

    fn report(&mut self, configuration: &Configuration, seed: u64, at: usize, sql: &str, first: &str, answer: &str) {
        self.differences += 1;
        if self.differences <= SHOWN_MAX {
            println!("-- {}, step {at}:\n{sql};", configuration.name);
            println!("  {}: {first}\n  {}: {answer}", CONFIGURATIONS[0].name, configuration.name);
            println!("  again: cargo harness metamorphic --seed {seed} --histories 1");
        }
    }
}

fn connect(server: &Vaquita) -> Result<Vec<Client>, String> {
    (0..SESSIONS).map(|_| server.connect()).collect()
}
