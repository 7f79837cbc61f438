//! `cargo xtask instructions`: counts what statements cost in instructions, and compares with the figures recorded.
//!
//! The harness is `crates/server/src/instructions.rs`, a test of the server's library; callgrind counts in it. Instructions do
//! not depend on how busy the machine is (`--repeat` shows how far they vary), so that a growth of 5% is a change of the
//! sources, or of a compiler or C library: the file of figures names those it was recorded with.
//! Only what writes to memtables varies from machine to machine: RocksDB draws the heights in a skip list from a generator that begins with the
//! address of the thread. The same build takes 55,846 or 58,275 for an insert, as the size of the thread's stack has it. The figure of the
//! file is of the upper ones.
//! valgrind shows programs a CPU of its own, the same on every host with AVX2, so that functions which choose a variant by CPU
//! (memcpy, checksums) choose alike.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::flags::Flags;
use crate::paths::{repository, target_dir};

const FIGURES: &str = "crates/server/tests/instructions.txt";
const TEST: &str = "instructions::statements_are_counted";
/// Growth beyond this fails, shrinkage beyond it should be recorded.
const CHANGE_PERCENT_MAX: f64 = 5.0;
/// The allocator gives pages back, and empties its threads' caches, by the clock; not here.
const ALLOCATOR: &str = "dirty_decay_ms:-1,muzzy_decay_ms:-1,experimental_tcache_gc:false";

/// Instructions per statement, or row, by name; and what they were recorded with.
#[derive(Default, PartialEq, Debug)]
struct Figures {
    tools: BTreeMap<String, String>,
    /// In the order of the harness.
    counts: Vec<(String, u64)>,
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let record = flags.switch("--record");
    let repeats = flags.number("--repeat", 1)?.max(1);
    flags.finish()?;
    if let Some(why) = cannot_run() {
        if record || env::var("CI").is_ok_and(|ci| ci == "true") {
            return Err(format!("instructions: {why}"));
        }
        println!("instructions: SKIPPED, {why}");
        return Ok(());
    }
    let harness = build()?;
    let now = count(&harness)?;
    for round in 1..repeats {
        let again = count(&harness)?;
        print_spread(&now, &again, round);
    }
    let path = repository().join(FIGURES);
    if record {
        fs::write(&path, now.to_text()).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("recorded in {FIGURES}");
        return Ok(());
    }
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    compare(&Figures::parse(&text)?, &now)
}

fn cannot_run() -> Option<&'static str> {
    if !cfg!(target_arch = "x86_64") {
        return Some("the figures are of x86-64");
    }
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if version.is_ok_and(|status| status.success()) { None } else { Some("valgrind is not installed") }
}

/// The test program of the server's library.
fn build() -> Result<PathBuf, String> {
    let mut command = Command::new("cargo");
    command.current_dir(repository());
    // An incremental build takes 8% more instructions: as the profile says, whatever the shell's setting is.
    command.env_remove("CARGO_INCREMENTAL");
    // With the whole workspace, as the tests are built: alone it would be compiled again, with other features of its dependencies.
    command.args(["test", "--locked", "--no-run", "-q", "--workspace", "--lib", "--message-format=json"]);
    let output = command.stderr(Stdio::inherit()).output().map_err(|e| format!("cargo: {e}"))?;
    if !output.status.success() {
        return Err(format!("cargo test --no-run: {}", output.status));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let of_server = messages.lines().filter(|line| line.contains("\"name\":\"vaquita_server\""));
    let executable = of_server.filter_map(|line| line.split_once("\"executable\":\"")).next_back();
    let path = executable.and_then(|(_, rest)| rest.split('"').next()).ok_or("cargo names no test program")?;
    Ok(PathBuf::from(path))
}

/// Runs the harness under callgrind.
fn count(harness: &Path) -> Result<Figures, String> {
    let dir = target_dir().join(format!("instructions-{}", std::process::id()));
    fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let counted = run(harness, &dir.join("callgrind"));
    let _ = fs::remove_dir_all(&dir);
    Ok(Figures { tools: tools(), counts: counted? })
}

fn run(harness: &Path, out: &Path) -> Result<Vec<(String, u64)>, String> {
    let mut command = Command::new("valgrind");
    command.args(["-q", "--tool=callgrind", "--toggle-collect=vaquita_counted", "--dump-after=vaquita_count_ends"]);
    command.arg(format!("--callgrind-out-file={}", out.display()));
    command.arg(harness).args(["--exact", TEST, "--nocapture", "--test-threads=1"]);
    command.env("MALLOC_CONF", ALLOCATOR);
    let output = command.output().map_err(|e| format!("valgrind: {e}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(format!("the harness failed: {}\n{said}{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    let mut counts = Vec::new();
    // Each of these lines made a file, numbered from 1.
    for (number, line) in (1..).zip(said.lines().filter_map(|line| line.strip_prefix("counted "))) {
        let (name, units) = line.split_once(' ').ok_or_else(|| format!("the harness said {line}"))?;
        let units: u64 = units.parse().map_err(|_| format!("the harness said {line}"))?;
        if units > 0 {
            let path = format!("{}.{number}", out.display());
            let text = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
            let total = total(&text).filter(|total| *total > 0).ok_or_else(|| format!("callgrind counted nothing for {name}"))?;
            counts.push((name.to_string(), total.div_ceil(units)));
        }
    }
    if counts.is_empty() { Err(format!("the harness counted nothing:\n{said}")) } else { Ok(counts) }
}

/// The line `totals: N` of callgrind's file.
fn total(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("totals: "))?.trim().parse().ok()
}

/// What figures depend on besides the sources.
fn tools() -> BTreeMap<String, String> {
    let ask = |program: &str, argument: &str| {
        let output = Command::new(program).arg(argument).output().ok()?;
        String::from_utf8_lossy(&output.stdout).lines().next().map(|line| line.trim().to_string())
    };
    let asked = [
        ("rustc", ask("rustc", "--version")),
        ("c++", ask("c++", "--version")),
        ("libc", ask("getconf", "GNU_LIBC_VERSION")),
        ("valgrind", ask("valgrind", "--version")),
    ];
    asked.into_iter().map(|(name, version)| (name.to_string(), version.unwrap_or_else(|| "unknown".into()))).collect()
}

/// How far a further run is from the first.
fn print_spread(first: &Figures, again: &Figures, round: u64) {
    for ((name, count), (_, other)) in first.counts.iter().zip(&again.counts) {
        println!("run {}: {name} {other} ({:+.2}%)", round + 1, percent(*count, *other));
    }
}

fn percent(recorded: u64, now: u64) -> f64 {
    100.0 * (now as f64 - recorded as f64) / recorded.max(1) as f64
}

/// Prints the table; fails if a figure has grown, or is new or gone.
fn compare(recorded: &Figures, now: &Figures) -> Result<(), String> {
    let (mut grown, mut shrunk) = (Vec::new(), Vec::new());
    println!("{:24} {:>10} {:>10} {:>8}", "instructions", "recorded", "now", "ratio");
    for (name, count) in &now.counts {
        let Some((_, before)) = recorded.counts.iter().find(|(known, _)| known == name) else {
            println!("{name:24} {:>10} {count:>10}", "-");
            grown.push(format!("{name} (not recorded)"));
            continue;
        };
        let change = percent(*before, *count);
        let mark = if change.abs() > CHANGE_PERCENT_MAX { " <" } else { "" };
        println!("{name:24} {before:>10} {count:>10} {:>8.3}{mark}", 1.0 + change / 100.0);
        match change {
            _ if change > CHANGE_PERCENT_MAX => grown.push(format!("{name} {change:+.1}%")),
            _ if change < -CHANGE_PERCENT_MAX => shrunk.push(format!("{name} {change:+.1}%")),
            _ => {}
        }
    }
    let gone = recorded.counts.iter().filter(|(name, _)| now.counts.iter().all(|(known, _)| known != name));
    grown.extend(gone.map(|(name, _)| format!("{name} (recorded, but not counted)")));
    for (tool, version) in &now.tools {
        let before = recorded.tools.get(tool).map_or("unknown", String::as_str);
        if before != version {
            println!("note: recorded with {tool} {before}; here it is {version}, which changes figures by itself");
        }
    }
    if !shrunk.is_empty() {
        println!("fewer instructions: {}; record them with `cargo xtask instructions --record`", shrunk.join(", "));
    }
    if grown.is_empty() {
        return Ok(());
    }
    Err(format!(
        "more instructions: {}; find out why (callgrind_annotate), or record them with `cargo xtask instructions --record`",
        grown.join(", ")
    ))
}

impl Figures {
    fn to_text(&self) -> String {
        let mut text = String::from(
            "# Instructions per statement or row, counted by `cargo xtask instructions`, which fails where one has grown by more than 5%.\n\
             # `cargo xtask instructions --record` writes this file.\n",
        );
        self.tools.iter().for_each(|(tool, version)| text.push_str(&format!("with {tool}: {version}\n")));
        self.counts.iter().for_each(|(name, count)| text.push_str(&format!("{name} {count}\n")));
        text
    }

    fn parse(text: &str) -> Result<Figures, String> {
        let mut figures = Figures::default();
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let wrong = || format!("{FIGURES}: not understood: {line}");
            if let Some(tool) = line.strip_prefix("with ") {
                let (name, version) = tool.split_once(": ").ok_or_else(wrong)?;
                figures.tools.insert(name.to_string(), version.to_string());
            } else {
                let (name, count) = line.split_once(' ').ok_or_else(wrong)?;
                figures.counts.push((name.to_string(), count.parse().map_err(|_| wrong())?));
            }
        }
        Ok(figures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(counts: &[(&str, u64)]) -> Figures {
        let tools = BTreeMap::from([("rustc".to_string(), "rustc 1 (x: y)".to_string())]);
        Figures { tools, counts: counts.iter().map(|(name, count)| ((*name).to_string(), *count)).collect() }
    }

    #[test]
    fn the_file_reads_as_it_was_written() {
        let written = figures(&[("insert", 12), ("delete", 7)]);
        assert_eq!(Figures::parse(&written.to_text()), Ok(written));
        assert!(Figures::parse("insert many").is_err());
    }

    #[test]
    fn growth_fails_and_shrinkage_does_not() {
        let recorded = figures(&[("insert", 1000), ("delete", 1000)]);
        assert!(compare(&recorded, &figures(&[("insert", 1050), ("delete", 500)])).is_ok());
        assert!(
            compare(&recorded, &figures(&[("insert", 1051), ("delete", 1000)])).is_err_and(|text| text.contains("insert +5.1%"))
        );
        assert!(compare(&recorded, &figures(&[("insert", 1000)])).is_err_and(|text| text.contains("delete (recorded")));
        assert!(compare(&figures(&[]), &recorded).is_err_and(|text| text.contains("insert (not recorded)")));
    }

    #[test]
    fn finds_the_total() {
        assert_eq!(total("version: 1\nsummary: 5\n\nfn=a\n1 2\n\ntotals: 1234\n"), Some(1234));
        assert_eq!(total("version: 1\n"), None);
    }
}
