//! `cargo xtask bench features`: what applications use beside tables and indexes: foreign keys, triggers, stored programs, generated
//! columns, partitions, words and places.
//!
//! One server after the other, each alone, from the same files. A feature is a row of `works`: statements that prepare it, the work
//! that is measured, and a number that all servers must agree on. A server that lacks the feature has no figure.

mod works;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Instant;

use self::works::{PREPARED, WORKS, Work, Works};
use super::files::{Files, put_letters};
use super::outcome::{Better, Outcome, Table, Target};
use super::process;
use super::server::{Kind, Server, Start};
use super::settings::Options;
use super::sql::{self, Conn};
use crate::client::Answer;
use crate::random::Random;

/// Words that documents are made of; the first are the most frequent.
const VOCABULARY: u64 = 20_000;
const WORDS_OF_A_DOCUMENT: u64 = 12;
/// Points lie in a square with sides of this length.
const SIDE: u64 = 10_000;

pub fn main(args: &[String]) -> Result<(), String> {
    let mut options = Options::new("features", args);
    let rows = options.number("--rows", 1_000_000, 20_000)?;
    let settings = options.finish(3, 1)?;
    let files = Files::new("features")?;
    let input = write(&files, rows)?;
    let sizes = Sizes { rows, some: (rows / 10).max(1000) };
    let mut outcome = Outcome::new("Foreign keys, triggers, programs, partitions, words and places");
    outcome.setting(format!(
        "{rows} documents of {WORDS_OF_A_DOCUMENT} words, as many points and loops; {} rows in the other tables. Buffer pool and block cache \
         2 GB. Each server alone, one after the other; a work of many statements has one client.",
        sizes.some
    ));
    outcome.setting(
        "MyRocks has neither foreign keys, FULLTEXT nor SPATIAL indexes, MariaDB neither functional nor multi-valued indexes.",
    );
    let mut seconds = Table::new("Time", "s", Better::Less);
    let mut cpu = Table::new("CPU time of the server", "s", Better::Less);
    for works in &WORKS {
        for work in works.works {
            seconds.row(work.name, Target::Peer(2.0));
            cpu.row(work.name, Target::None);
        }
    }
    let mut answers = HashMap::new();
    for run in 0..settings.runs {
        for kind in &settings.servers {
            println!("{}: run {}", kind.title(), run + 1);
            let server = Server::start_empty(*kind, Start::default())?;
            outcome.version(*kind, server.version()?);
            let mut of_server =
                OfServer { server: &server, sizes: &sizes, seconds: &mut seconds, cpu: &mut cpu, answers: &mut answers };
            let filled = of_server.fill(&input);
            if outcome.note_failure(*kind, filled).is_some() {
                for works in WORKS.iter().filter(|works| works.by.contains(kind)) {
                    let done = of_server.run(works);
                    outcome.note_failure(*kind, done);
                }
            }
            server.clean_up()?;
        }
    }
    outcome.tables = vec![seconds, cpu];
    outcome.finish(&settings)
}

struct Sizes {
    rows: u64,
    some: u64,
}

impl Sizes {
    /// A statement with its sizes, and with what only some servers write.
    fn fill(&self, kind: Kind, text: &str) -> String {
        let srid = if matches!(kind, Kind::MySql | Kind::Vaquita) { " SRID 0" } else { "" };
        text.replace("{rows}", &self.rows.to_string()).replace("{some}", &self.some.to_string()).replace("{srid}", srid)
    }
}

struct Input {
    /// 1 to the number of rows.
    numbers: PathBuf,
    documents: PathBuf,
    points: PathBuf,
}

fn write(files: &Files, rows: u64) -> Result<Input, String> {
    let numbers = files.write("numbers", rows, |_, id, out| out.extend_from_slice(format!("{id}\n").as_bytes()))?;
    let documents = files.write("documents", rows, |random, id, out| {
        out.extend_from_slice(id.to_string().as_bytes());
        for n in 0..WORDS_OF_A_DOCUMENT {
            out.push(if n == 0 { b'\t' } else { b' ' });
            out.extend_from_slice(&word(random));
        }
        out.push(b'\n');
    })?;
    let points = files.write("points", rows, |random, id, out| {
        out.extend_from_slice(format!("{id}\t{}\t{}\n", random.below(SIDE), random.below(SIDE)).as_bytes());
    })?;
    Ok(Input { numbers, documents, points })
}

/// A word of the vocabulary: its number is a product of two, so that small numbers are frequent.
fn word(random: &mut Random) -> Vec<u8> {
    let number = random.below(VOCABULARY) * random.below(VOCABULARY) / VOCABULARY;
    let mut word = Vec::new();
    put_letters(&mut Random::new(number), 7, &mut word);
    word
}

struct OfServer<'a> {
    server: &'a Server,
    sizes: &'a Sizes,
    seconds: &'a mut Table,
    cpu: &'a mut Table,
    /// What the first server answered to a work.
    answers: &'a mut HashMap<&'static str, (Kind, String)>,
}

impl OfServer<'_> {
    fn fill(&self, input: &Input) -> Result<(), String> {
        let mut conn = self.server.connect()?;
        self.prepare(&mut conn, PREPARED)?;
        for (table, path) in [("numbers", &input.numbers), ("documents", &input.documents), ("places", &input.points)] {
            sql::load_data(self.server, path, table)?;
        }
        self.server.settle()
    }

    fn prepare(&self, conn: &mut Conn, statements: &[&str]) -> Result<(), String> {
        statements.iter().try_for_each(|text| conn.run(&self.sizes.fill(self.server.kind(), text)).map(drop))
    }

    fn run(&mut self, works: &Works) -> Result<(), String> {
        let mut conn = self.server.connect()?;
        self.prepare(&mut conn, works.before)?;
        for work in works.works {
            self.measure(&mut conn, work)?;
        }
        self.prepare(&mut conn, works.after)
    }

    fn measure(&mut self, conn: &mut Conn, work: &Work) -> Result<(), String> {
        let kind = self.server.kind();
        let statements: Vec<String> =
            (1..=work.times).map(|turn| self.sizes.fill(kind, &(work.statement)(turn, self.sizes.some))).collect();
        let cpu = process::cpu_us(self.server.pid())?;
        let start = Instant::now();
        let mut sum = 0;
        for statement in &statements {
            let answer = conn.run(statement)?;
            sum += first_number(answer);
        }
        let time = start.elapsed().as_secs_f64();
        let cpu = (process::cpu_us(self.server.pid())? - cpu) as f64 / 1e6;
        println!("{:16} {:56} {time:8.3} s {cpu:8.3} s of CPU", kind.title(), work.name);
        self.seconds.add(work.name, kind, time);
        self.cpu.add(work.name, kind, cpu);
        let answer = if work.check.is_empty() { sum.to_string() } else { conn.value(&self.sizes.fill(kind, work.check))? };
        let (first, expected) = self.answers.entry(work.name).or_insert_with(|| (kind, answer.clone())).clone();
        if answer == expected { Ok(()) } else { Err(format!("{}: {answer}, {}: {expected}", work.name, first.title())) }
    }
}

/// 0 where there is none.
fn first_number(answer: Answer) -> u64 {
    match answer {
        rows @ Answer::Rows { .. } => rows.rows().first().and_then(|row| row.first()?.parse().ok()).unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_of_words_are_frequent() {
        let mut random = Random::new(1);
        let mut counts: HashMap<Vec<u8>, u64> = HashMap::new();
        for _ in 0..10_000 {
            *counts.entry(word(&mut random)).or_default() += 1;
        }
        let most = counts.values().max().copied().unwrap_or(0);
        assert!(counts.len() > 1000 && most > 10, "{} words, the most frequent {most} times", counts.len());
    }

    #[test]
    fn statements_have_no_holes_left() {
        let sizes = Sizes { rows: 7, some: 5 };
        for works in &WORKS {
            for work in works.works {
                let text = sizes.fill(Kind::MySql, &(work.statement)(1, 5));
                assert!(!["{rows}", "{some}", "{srid}"].iter().any(|hole| text.contains(hole)), "{text}");
                assert!(work.times > 0 && !works.by.is_empty());
            }
        }
    }
}
