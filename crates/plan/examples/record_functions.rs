//! Records what a real MySQL answers to the expressions of `tests/functions/*.tsv`.
//!
//! `cargo run --example record_functions -- FILE… -- mariadb -h127.0.0.1 -P3306 -uuser -ppass` reads the
//! first column (the expression) of every line of each file and writes the line anew: expression,
//! value or error, type, warnings. The client must be the command line client of MariaDB or MySQL.
//! The session is fixed (time zone, clock, sql_mode), so that the test can repeat it.

use std::collections::HashMap;
use std::io::Write;
use std::process::{Command, Stdio};

const SESSION: &str = "SET NAMES utf8mb4 COLLATE utf8mb4_0900_ai_ci; SET time_zone='+00:00'; SET timestamp=1700000000.123456; \
    SET sql_mode='ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION';";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(split) = args.iter().position(|a| a == "--") else {
        eprintln!("usage: record_functions FILE... -- CLIENT ARGS...");
        std::process::exit(2);
    };
    for file in &args[..split] {
        let text = std::fs::read_to_string(file).expect("readable file");
        let exprs: Vec<&str> = text.lines().map(|l| l.split('\t').next().unwrap_or(l)).collect();
        let (values, errors) = values(&exprs, &args[split + 1..]);
        let types = types(&exprs, &args[split + 1..]);
        let mut out = String::new();
        for (i, expr) in exprs.iter().enumerate() {
            let (value, warnings) = values.get(&i).cloned().unwrap_or_default();
            let (value, warnings) = match errors.get(&i) {
                Some(error) => (error.clone(), String::new()),
                None => (value, warnings),
            };
            let ty = types.get(&i).cloned().unwrap_or_default();
            out.push_str(&format!("{expr}\t{value}\t{ty}\t{warnings}\n"));
        }
        std::fs::write(file, out).expect("writable file");
    }
}

fn run(client: &[String], flags: &[&str], script: String) -> (String, String) {
    let mut child = Command::new(&client[0])
        .args(&client[1..])
        .args(["--default-character-set=utf8mb4", "--force", "--skip-reconnect"])
        .args(flags)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("client starts");
    let mut stdin = child.stdin.take().expect("piped");
    let writer = std::thread::spawn(move || stdin.write_all(script.as_bytes()));
    let output = child.wait_with_output().expect("client ends");
    writer.join().expect("writer").expect("script written");
    (escape(&output.stdout), escape(&output.stderr))
}

/// Bytes that are no UTF-8 as `\xNN`.
fn escape(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|b| out.push_str(&format!("\\x{b:02X}")));
    }
    out
}

type Values = HashMap<usize, (String, String)>;

/// Value and warnings of each expression, and the errors of those that failed.
fn values(exprs: &[&str], client: &[String]) -> (Values, HashMap<usize, String>) {
    let mut script = format!("{SESSION}\n");
    for (i, expr) in exprs.iter().enumerate() {
        script.push_str(&format!("SELECT '#{i}';\nSELECT {expr};\nSHOW WARNINGS;\n"));
    }
    let (stdout, stderr) = run(client, &["-N", "-B"], script);
    let mut values = Values::new();
    let mut errors = HashMap::new();
    for line in stderr.lines() {
        // ERROR 1690 (22003) at line 7: text
        let Some((head, text)) = line.split_once(": ") else { continue };
        let Some((code, at)) = head.rsplit_once(" at line ") else { continue };
        if let Ok(n) = at.parse::<usize>() {
            errors.insert((n - 2) / 3, format!("{code}: {text}"));
        }
    }
    let mut current: Option<usize> = None;
    let mut seen = 0;
    for line in stdout.lines() {
        if let Some(n) = line.strip_prefix('#').and_then(|n| n.parse::<usize>().ok()) {
            (current, seen) = (Some(n), 0);
            continue;
        }
        let Some(i) = current else { continue };
        let entry = values.entry(i).or_default();
        if seen == 0 && !errors.contains_key(&i) {
            entry.0 = line.to_string();
        } else {
            // Level, code, text.
            let shown = line.splitn(3, '\t').skip(1).collect::<Vec<_>>().join(" ");
            entry.1 = if entry.1.is_empty() { shown } else { format!("{}; {shown}", entry.1) };
        }
        seen += 1;
    }
    (values, errors)
}

/// `LONGLONG 3 0 NOT_NULL UNSIGNED binary` of each expression that has a result.
fn types(exprs: &[&str], client: &[String]) -> HashMap<usize, String> {
    let mut script = format!("{SESSION}\n");
    for (i, expr) in exprs.iter().enumerate() {
        script.push_str(&format!("SELECT 1 AS `#{i}`;\nSELECT {expr} AS r;\n"));
    }
    let (stdout, _) = run(client, &["-t", "--column-type-info"], script);
    let mut types = HashMap::new();
    let mut current = None;
    let mut fields: HashMap<&str, &str> = HashMap::new();
    for line in stdout.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        if key.starts_with("Field ") {
            fields.clear();
            fields.insert("Field", value.trim().trim_matches('`'));
            continue;
        }
        if !matches!(key, "Type" | "Collation" | "Length" | "Decimals" | "Flags") {
            continue;
        }
        fields.insert(key, value.trim());
        if key != "Flags" {
            continue;
        }
        let field = fields.get("Field").copied().unwrap_or("");
        if let Some(n) = field.strip_prefix('#').and_then(|n| n.parse::<usize>().ok()) {
            current = Some(n);
        } else if let Some(i) = current.take() {
            let get = |k: &str| fields.get(k).copied().unwrap_or("");
            let flags: Vec<&str> = get("Flags").split(' ').filter(|f| matches!(*f, "NOT_NULL" | "UNSIGNED")).collect();
            let collation = get("Collation").split(' ').next().unwrap_or("");
            types.insert(i, format!("{} {} {} {} {}", get("Type"), get("Length"), get("Decimals"), flags.join("+"), collation));
        }
    }
    types
}
