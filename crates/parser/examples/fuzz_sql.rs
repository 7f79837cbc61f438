//! A fuzzer of the SQL parser for stable Rust: splices and mutates the golden statements.
//!
//! `cargo run -p vaquita-parser --example fuzz_sql -- <seconds> [seed]`. A finding is a panic, a statement that claims to
//! have read more than there was, or one that does not end; the seed and the input are printed and repeat it.

#[path = "../../types/examples/mutation/mod.rs"]
mod mutation;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use vaquita_parser::ast::{Instruction, Program, Statement};
use vaquita_parser::{ParserOptions, digest, is_blank, parse_one, parse_prepared};

use mutation::{Random, mutate};

/// Far above what 4 KiB need: what takes longer grows exponentially or never ends. In ticks of CPU time, 100 to a
/// second: wall-clock time passes also while the machine does something else.
const INPUT_TICKS_MAX: u64 = 500;

/// Bytes that mean something to the lexer.
const EDGES: &[u8] = b"'\"`()@;?*/-#\\\0\xff\xc3,.0xe+ ";

/// The statements of the golden files.
fn corpus() -> Vec<Vec<u8>> {
    let files = [include_str!("../tests/golden/syntax.txt"), include_str!("../tests/golden/expressions.txt")];
    let lines = files.iter().flat_map(|text| text.lines());
    lines.filter(|l| !l.starts_with(['#', '=', '!']) && !l.is_empty()).map(|l| l.as_bytes().to_vec()).collect()
}

fn run(sql: &[u8], options: &ParserOptions) {
    if let Ok((statement, used)) = parse_one(sql, options) {
        if let Statement::CreateRoutine(create) = &statement {
            check_program(&create.program);
        }
        assert!(used <= sql.len(), "read {used} of {} bytes", sql.len());
        is_blank(&sql[used..], options);
    }
    let _ = parse_prepared(sql, options);
    let _ = digest::digest(sql, options);
}

/// Every step, variable, cursor and scope that a program names is there, and handlers end.
fn check_program(program: &Program) {
    let (steps, cursors) = (program.steps.len(), program.cursors.len());
    for step in &program.steps {
        assert!(step.scope < program.scopes.len(), "scope {}", step.scope);
        match &step.instruction {
            Instruction::Jump(target) => assert!(*target <= steps),
            Instruction::JumpUnless { target, after, .. } => assert!(*target <= steps && *after <= steps),
            Instruction::Set { variable, .. } => assert!(*variable < program.variables.len()),
            Instruction::Open(cursor) | Instruction::Close(cursor) => assert!(*cursor < cursors),
            Instruction::Fetch { cursor, into } => {
                assert!(*cursor < cursors && into.iter().all(|variable| *variable < program.variables.len()));
            }
            Instruction::CloseAll(range) => assert!(range.start < range.end && range.end <= cursors),
            Instruction::EndHandler { exit } => assert!(exit.is_none_or(|exit| exit <= steps)),
            Instruction::Run(_) | Instruction::SetUserVar { .. } | Instruction::CaseNotFound | Instruction::Return(_) => {}
        }
    }
    for handling in program.scopes.iter().flat_map(|scope| &scope.handlers) {
        let last = program.steps.get(handling.last).map(|step| &step.instruction);
        assert!(handling.first <= handling.last && matches!(last, Some(Instruction::EndHandler { .. })));
    }
}

/// The input that is being parsed, and its number.
type Current = Arc<Mutex<(u64, Vec<u8>)>>;

/// Ends the process with a finding when an input does not end.
fn watch(current: Current, seed: u64) {
    std::thread::spawn(move || {
        let (mut number, mut since) = (0, 0);
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let ticks = cpu_ticks();
            let current = current.lock().unwrap();
            if current.0 != number {
                (number, since) = (current.0, ticks);
            } else if ticks - since > INPUT_TICKS_MAX {
                eprintln!("finding: seed {seed}, too slow: {:?}", String::from_utf8_lossy(&current.1));
                std::process::exit(1);
            }
        }
    });
}

/// CPU time of this process, user and system: fields 14 and 15 of its line, counted behind the name in parentheses.
fn cpu_ticks() -> u64 {
    let line = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = line.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let seconds = args.get(1).and_then(|s| s.parse().ok()).unwrap_or(60);
    let seed = args.get(2).and_then(|s| s.parse().ok()).unwrap_or(u64::from(std::process::id()));
    println!("fuzz parser: {seconds} s, seed {seed}");
    let corpus = corpus();
    let mut random = Random(seed);
    let end = Instant::now() + Duration::from_secs(seconds);
    let current = Current::new(Mutex::new((0, Vec::new())));
    watch(current.clone(), seed);
    let mut inputs = 0u64;
    while Instant::now() < end {
        for _ in 0..1000 {
            let sql = mutate(&mut random, &corpus, EDGES);
            let options = ParserOptions {
                ansi_quotes: random.below(4) == 0,
                pipes_as_concat: random.below(4) == 0,
                no_backslash_escapes: random.below(4) == 0,
                ignore_space: random.below(4) == 0,
                ..ParserOptions::default()
            };
            *current.lock().unwrap() = (inputs, sql.clone());
            if catch_unwind(AssertUnwindSafe(|| run(&sql, &options))).is_err() {
                eprintln!("finding: seed {seed}, input {:?}", String::from_utf8_lossy(&sql));
                std::process::exit(1);
            }
            inputs += 1;
        }
    }
    println!("{inputs} inputs, no finding");
}
