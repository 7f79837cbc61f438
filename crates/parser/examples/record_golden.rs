//! Records what a running MySQL says about the statements in `tests/golden/*.txt`.
//!
//! `cargo run -p vaquita-parser --example record_golden -- mysql -h127.0.0.1 -P3306 -uroot`
//! runs the client given after `--`; `GOLDEN_ONLY=syntax` limits it to the files so named. Every file keeps its statements; the lines that start with
//! `= ` behind them are written anew. `⏎` stands for a line break.
//!
//! * `syntax.txt`: statements are only prepared, never executed. `= ok`, or the parser's error.
//! * `names.txt`: SELECTs without tables; the names of their columns.
//! * `expressions.txt`: each is made a generated column; what SHOW CREATE TABLE prints of it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Errors that MySQL's parser itself raises; all others come from later stages.
const PARSER_ERRORS: &[&str] = &["1064", "1065", "1248", "3667", "3953", "3954"];

fn main() {
    let client: Vec<String> = std::env::args().skip(1).collect();
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    record(&dir.join("syntax.txt"), |statements, mode| syntax(&client, statements, mode));
    record(&dir.join("names.txt"), |statements, mode| statements.iter().map(|s| names(&client, s, mode)).collect());
    record(&dir.join("expressions.txt"), |statements, mode| statements.iter().map(|s| expression(&client, s, mode)).collect());
}

/// Rewrites `path`; `answer` gets all statements of one sql_mode and gives one line for each.
fn record(path: &PathBuf, answer: impl Fn(&[String], &str) -> Vec<String>) {
    let only = std::env::var("GOLDEN_ONLY").unwrap_or_default();
    if !path.to_string_lossy().contains(&only) {
        return;
    }
    let text = std::fs::read_to_string(path).expect("the golden file exists");
    let mut out = String::new();
    let mut mode = String::new();
    let mut pending: Vec<String> = Vec::new();
    let flush = |pending: &mut Vec<String>, mode: &str, out: &mut String| {
        let unescaped: Vec<String> = pending.iter().map(|s| s.replace('⏎', "\n")).collect();
        for (statement, line) in pending.iter().zip(answer(&unescaped, mode)) {
            out.push_str(&format!("{statement}\n= {}\n", line.replace('\n', "⏎")));
        }
        pending.clear();
    };
    for line in text.lines().filter(|l| !l.starts_with("= ")) {
        if line.starts_with("! ") {
            flush(&mut pending, &mode, &mut out);
            out.push_str(line);
            out.push('\n');
            continue;
        }
        if line.starts_with('#') || line.starts_with("@mode") || line.is_empty() {
            flush(&mut pending, &mode, &mut out);
            out.push_str(line);
            out.push('\n');
            if let Some(new) = line.strip_prefix("@mode") {
                mode = new.trim().to_string();
            }
        } else {
            pending.push(line.to_string());
        }
    }
    flush(&mut pending, &mode, &mut out);
    std::fs::write(path, out).expect("the golden file is written");
}

fn run(client: &[String], extra: &[&str], sql: &str) -> (String, String) {
    let file = std::env::temp_dir().join("record_golden.sql");
    std::fs::write(&file, sql).expect("the script is written");
    let output = Command::new(&client[0])
        .args(&client[1..])
        .args(["--batch", "--comments", "--default-character-set=utf8mb4"])
        .args(extra)
        .stdin(std::fs::File::open(&file).expect("the script opens"))
        .output()
        .expect("the client runs");
    let text = |b: Vec<u8>| String::from_utf8_lossy(&b).into_owned();
    (text(output.stdout), text(output.stderr))
}

fn hex(s: &str) -> String {
    s.bytes().map(|b| format!("{b:02x}")).collect()
}

fn syntax(client: &[String], statements: &[String], mode: &str) -> Vec<String> {
    // One line, so that statement n stands in line n + 2.
    let mut script = format!("CREATE DATABASE IF NOT EXISTS golden_parser; USE golden_parser; SET sql_mode='{mode}';\n");
    for s in statements {
        script.push_str(&format!("SET @s = CONVERT(0x{} USING utf8mb4); PREPARE s FROM @s;\n", hex(s)));
    }
    let (_, errors) = run(client, &["--force"], &script);
    let mut answers = vec!["ok".to_string(); statements.len()];
    for error in errors.split("ERROR ").skip(1) {
        // 1064 (42000) at line 3: You have ..
        let (head, message) = error.split_once(": ").expect("a message");
        let code = head.split(' ').next().unwrap_or("");
        let line: usize = head.rsplit(' ').next().and_then(|n| n.parse().ok()).expect("a line");
        if PARSER_ERRORS.contains(&code) {
            // The client may echo the statement behind the message.
            let message = message.split("\n--------------").next().unwrap_or("");
            answers[line - 2] = format!("{code} {}", message.trim_end_matches('\n'));
        }
    }
    answers
}

fn names(client: &[String], statement: &str, mode: &str) -> String {
    let (out, error) = run(client, &[], &format!("SET sql_mode='{mode}';\n{statement};\n"));
    match out.lines().next() {
        Some(names) => names.to_string(),
        None => format!("error {}", error.trim_end()),
    }
}

fn expression(client: &[String], expr: &str, mode: &str) -> String {
    let script = format!(
        "SET sql_mode='{mode}';\n\
         CREATE DATABASE IF NOT EXISTS golden_parser; USE golden_parser; DROP TABLE IF EXISTS g;\n\
         CREATE TABLE g (a INT, b INT, s VARCHAR(30), d DATETIME, j JSON, `x y` INT,\n\
         g VARCHAR(200) GENERATED ALWAYS AS ({expr}) VIRTUAL);\n\
         SHOW CREATE TABLE g; DROP DATABASE golden_parser;\n"
    );
    let (out, error) = run(client, &["-N", "--raw"], &script);
    let printed = out.split("GENERATED ALWAYS AS (").nth(1).and_then(|s| s.split_once(") VIRTUAL"));
    match printed {
        Some((printed, _)) => printed.to_string(),
        None => format!("error {}", error.trim_end()),
    }
}
