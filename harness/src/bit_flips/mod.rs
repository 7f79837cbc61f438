//! `cargo harness bit-flips`: one bit of a stopped server's files is flipped: found, or harmless, never a wrong row.
//!
//! A server writes rows, flushes some and stops. Each flip goes to a fresh image of its directory (`fault_fs`), to a page
//! that holds anything, in an SST file, a log, the MANIFEST, CURRENT, OPTIONS or IDENTITY. Then the server starts and
//! everything is read: all rows, by the primary key and by the index, and CHECK TABLE.
//! - *refused*: it does not start, and says why, naming the file (and a log's offset); RocksDB takes some damage for
//!   damage to another file, which is counted apart;
//! - *found*: a statement fails, or CHECK TABLE reports damage;
//! - *harmless*: every row is as it was written, and CHECK TABLE says OK.
//!
//! Anything else fails: a row that is wrong, missing or too many without an error, a panic, a start that hangs.
//! `--plant wrong-row` changes a row by SQL instead of flipping a bit, which must be noticed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::client::{Answer, Client};
use crate::fault_fs::{FaultFs, Image};
use crate::flags::Flags;
use crate::kill_test::{DATABASE, Load, Values, execute, pad};
use crate::paths;
use crate::random::Random;
use crate::under_test::SMALL_MEMTABLES;
use crate::vaquita::{Starting, Vaquita, free_port};

const WRITERS: u64 = 8;
const WRITE_TIME: Duration = Duration::from_millis(700);
const PAGE_BYTES: u64 = 4096;
/// As `select` writes it.
const ER_INDEX_CORRUPT: &str = "1712 ";
const ER_BAD_DB_ERROR: u16 = 1049;
const ER_NO_SUCH_TABLE: u16 = 1146;
const PROGRESS: u64 = 100;
/// Kinds of files, and how many of a hundred flips each gets.
const KINDS: [(&str, u64); 6] = [(".sst", 40), (".log", 30), ("MANIFEST", 20), ("CURRENT", 3), ("OPTIONS", 5), ("IDENTITY", 2)];

struct Test {
    binary: PathBuf,
    log: PathBuf,
    fs: FaultFs,
    image: Image,
    /// Files with the offsets of their pages that hold anything.
    files: Vec<(String, Vec<u64>)>,
    expected: Values,
    total: String,
    outcomes: BTreeMap<String, u64>,
    /// Answers that found damage, without what differs from flip to flip.
    found: BTreeMap<String, u64>,
}

enum Judged {
    Refused,
    RefusedForAnother,
    Found(String),
    Harmless,
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let flips = flags.number("--flips", 100)?;
    let seed = flags.number("--seed", now)?;
    let plant = match flags.text("--plant")?.as_deref() {
        None => false,
        Some("wrong-row") => true,
        Some(other) => return Err(format!("--plant {other}: wrong-row")),
    };
    flags.finish()?;
    let dir = paths::target_dir().join(format!("bit-flips/{}", std::process::id()));
    println!("bit-flips: seed {seed}, {flips} flips");
    let mut test = Test::prepare(&dir, seed)?;
    let mut random = Random::new(seed);
    let mut failures = 0;
    for n in 1..=flips {
        let (kind, path, offset, bit) = test.place(&mut random)?;
        let mut image = test.image.clone();
        if !plant {
            image.flip(&path, offset, bit);
        }
        let judged = test.judge(&image, &path, plant);
        let outcome = match judged {
            Ok(Judged::Refused) => "refused",
            Ok(Judged::RefusedForAnother) => "refused, another file is named",
            Ok(Judged::Harmless) => "harmless",
            Ok(Judged::Found(text)) => {
                *test.found.entry(text).or_default() += 1;
                "found"
            }
            Err(text) => {
                failures += 1;
                println!("FAILED: flip {n}, bit {bit} at {offset} of {path}: {text}");
                let saved = test.fs.save(&dir.join(format!("flip-{n}")));
                println!("data after it: {} {}", dir.join(format!("flip-{n}")).display(), saved.err().unwrap_or_default());
                "FAILED"
            }
        };
        *test.outcomes.entry(format!("{kind} {outcome}")).or_default() += 1;
        if n % PROGRESS == 0 {
            println!("flip {n}: {failures} failures");
        }
    }
    test.print_summary();
    println!("bit-flips: seed {seed}, {flips} flips, {} rows, {failures} failures", test.expected.len());
    if failures > 0 {
        return Err(format!("FAILED: {failures} of {flips} flips; logs and data: {}", dir.display()));
    }
    drop(test);
    std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))
}

impl Test {
    fn prepare(dir: &Path, seed: u64) -> Result<Test, String> {
        let mut fs = FaultFs::new(&dir.join("mnt"))?;
        fs.mount()?;
        let (binary, log) = (paths::vaquita()?, dir.join("server.log"));
        let mut load = Load::new(WRITERS, seed);
        let server = spawn(&binary, &fs, &log)?.wait()?;
        let mut client = server.connect()?;
        load.create_tables(&mut client)?;
        load.run(server.port, || {
            thread::sleep(WRITE_TIME);
            || server.kill()
        })?;
        let server = spawn(&binary, &fs, &log)?.wait()?;
        let mut client = server.connect()?;
        load.verify(&mut client)?;
        let total = first_text(&mut client, "SELECT n FROM total")?;
        server.stop()?;
        fs.unmount()?;
        let mut image = fs.image();
        let files = image.files();
        let (outcomes, found) = (BTreeMap::new(), BTreeMap::new());
        Ok(Test { binary, log, fs, image, files, expected: load.expected(), total, outcomes, found })
    }

    /// Where to flip: kind and path of the file, offset, bit.
    fn place(&mut self, random: &mut Random) -> Result<(&'static str, String, u64, u8), String> {
        for _ in 0..1000 {
            let mut at = random.below(KINDS.iter().map(|(_, share)| share).sum());
            let kind = KINDS.iter().find(|(_, share)| {
                let here = at < *share;
                at = at.wrapping_sub(*share);
                here
            });
            let Some((kind, _)) = kind else { continue };
            let all: Vec<_> = self.files.iter().filter(|(path, pages)| path.contains(kind) && !pages.is_empty()).collect();
            if all.is_empty() {
                continue;
            }
            let (path, pages) = all[random.below(all.len() as u64) as usize].clone();
            let page = pages[random.below(pages.len() as u64) as usize];
            let bytes = self.image.size(&path).saturating_sub(page).min(PAGE_BYTES);
            return Ok((kind, path, page + random.below(bytes), random.below(8) as u8));
        }
        Err("the directory has none of the files to damage".into())
    }

    fn judge(&mut self, image: &Image, path: &str, plant: bool) -> Result<Judged, String> {
        let _ = std::fs::write(&self.log, "");
        self.fs.restore(image)?;
        let started = spawn(&self.binary, &self.fs, &self.log)?.wait();
        let server = match started {
            Ok(server) => server,
            Err(text) if text.starts_with("no answer") => return Err(text),
            Err(_) => return self.refusal(path),
        };
        let judged = server.connect().and_then(|mut client| {
            if plant {
                execute(&mut client, "UPDATE kill_test.t SET pad = 'planted' LIMIT 1")?;
            }
            self.read_everything(&mut client)
        });
        server.kill()?;
        let messages = std::fs::read_to_string(&self.log).unwrap_or_default();
        if messages.contains("panicked") {
            return Err(format!("a panic: {messages}"));
        }
        judged
    }

    /// It did not start: does it say why?
    fn refusal(&self, path: &str) -> Result<Judged, String> {
        let messages = std::fs::read_to_string(&self.log).unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or(path);
        let says_why = ["orrupt", "damaged", "No such file"].iter().any(|word| messages.contains(word));
        if messages.contains("panicked") || !says_why {
            return Err(format!("it does not start, and does not say why: {messages}"));
        }
        Ok(if messages.contains(name) { Judged::Refused } else { Judged::RefusedForAnother })
    }

    fn read_everything(&self, client: &mut Client) -> Result<Judged, String> {
        let select = |client: &mut Client, sql: &str| match client.try_query(sql).map_err(|e| format!("{sql}: {e}"))? {
            answer @ Answer::Rows { .. } => Ok(Ok(answer.rows())),
            // Nothing was found: it was lost.
            Answer::Err { code: ER_BAD_DB_ERROR | ER_NO_SUCH_TABLE, text, .. } => Err(format!("{sql}: {text}")),
            Answer::Err { code, text, .. } => Ok(Err(format!("{code} {text}"))),
            other => Err(format!("{sql}: {other:?}")),
        };
        let rows: Vec<Vec<String>> =
            self.expected.iter().map(|(key, value)| vec![key.to_string(), value.to_string(), pad(*key, *value)]).collect();
        let mut index: Vec<Vec<String>> = rows.iter().map(|row| vec![row[1].clone(), row[0].clone()]).collect();
        index.sort_by_key(|row| row[0].parse::<u64>().unwrap_or(0));
        let total = vec![vec![self.total.clone()]];
        let count = vec![vec![rows.len().to_string()]];
        let reads = [
            (format!("SELECT id, v, pad FROM {DATABASE}.t ORDER BY id"), rows),
            (format!("SELECT v, id FROM {DATABASE}.t FORCE INDEX (v) WHERE v >= 0 ORDER BY v"), index),
            (format!("SELECT COUNT(*) FROM {DATABASE}.t"), count),
            (format!("SELECT n FROM {DATABASE}.total"), total),
        ];
        let mut found = None;
        for (sql, expected) in reads {
            match select(client, &sql)? {
                Ok(rows) if rows == expected => {}
                Ok(rows) => {
                    return Err(format!(
                        "{sql}: {} rows, {} expected; {}",
                        rows.len(),
                        expected.len(),
                        first_difference(&rows, &expected)
                    ));
                }
                Err(text) if text.starts_with(ER_INDEX_CORRUPT) && !text.contains(DATABASE) => {
                    return Err(format!("{sql}: the table is not named: {text}"));
                }
                Err(text) => found = Some(text),
            }
        }
        for table in ["t", "total"] {
            match select(client, &format!("CHECK TABLE {DATABASE}.{table} EXTENDED"))? {
                Ok(rows) if rows.len() == 1 && rows[0].last().is_some_and(|text| text == "OK") => {}
                Ok(rows) => found = found.or(rows.first().and_then(|row| row.last().cloned())),
                Err(text) => found = Some(text),
            }
        }
        Ok(found.map_or(Judged::Harmless, |text| Judged::Found(shape(&text))))
    }

    fn print_summary(&self) {
        for (outcome, count) in &self.outcomes {
            println!("{count:6}  {outcome}");
        }
        for (text, count) in &self.found {
            println!("{count:6}  {text}");
        }
    }
}

fn spawn(binary: &Path, fs: &FaultFs, log: &Path) -> Result<Starting, String> {
    Vaquita::spawn_with(binary, &fs.dir(), free_port()?, log, &SMALL_MEMTABLES)
}

fn first_text(client: &mut Client, sql: &str) -> Result<String, String> {
    let rows = crate::kill_test::rows(client, sql)?;
    rows.into_iter().flatten().next().ok_or_else(|| format!("{sql}: no row"))
}

fn first_difference(found: &[Vec<String>], expected: &[Vec<String>]) -> String {
    let at = found.iter().zip(expected).position(|(a, b)| a != b).unwrap_or(found.len().min(expected.len()));
    format!("row {at}: {:?}, expected {:?}", found.get(at), expected.get(at))
}

/// A text with its numbers taken out, so that texts can be counted.
fn shape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' if out.ends_with('N') => {}
            '0'..='9' => out.push('N'),
            c => out.push(c),
        }
    }
    out
}
