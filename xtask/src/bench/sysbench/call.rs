//! One call of sysbench, its stock scripts unmodified or a script of ours, and what it reports.

use std::path::Path;
use std::process::{Child, Command, Stdio};

/// sysbench's scripts, in the order in which a server runs them: those that only read first, since the data is
/// prepared once for each server; those that grow or empty the tables last.
pub const SCRIPTS: [&str; 11] = [
    "oltp_point_select",
    "oltp_read_only",
    "select_random_points",
    "select_random_ranges",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_write_only",
    "oltp_read_write",
    "oltp_insert",
    "oltp_delete",
    BULK_INSERT,
];
/// Has tables of its own, one per thread, and counts rows.
pub const BULK_INSERT: &str = "bulk_insert";
/// sysbench waits for ever for a server that does not answer.
const CALL_SECONDS_MAX: u64 = 600;
const FILL_SECONDS_MAX: u64 = 7200;
/// These two read one table and accept no other number.
const ONE_TABLE: [&str; 2] = ["select_random_points", "select_random_ranges"];

/// How to reach a server.
pub struct Login<'a> {
    pub port: u16,
    pub user: &'a str,
    pub password: &'a str,
    pub database: &'a str,
    /// `--mysql-storage-engine`, if not the server's default.
    pub engine: Option<&'a str>,
}

#[derive(Clone, Copy)]
pub struct Size {
    pub tables: u64,
    pub rows: u64,
}

/// What one run reported.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Queries, or rows for bulk_insert.
    pub count: u64,
    pub transactions: u64,
    pub per_second: f64,
    pub p95_ms: f64,
    /// Deadlocks and lock wait timeouts, which sysbench retries.
    pub ignored_errors: u64,
}

/// Creates and fills the tables of all scripts but bulk_insert.
pub fn prepare(login: &Login, size: Size) -> Result<(), String> {
    call(login, "oltp_read_write", size, &["--threads=2"], "prepare").map(|_| ())
}

/// Runs a script that reads the common tables, with options of its own.
pub fn run_with(login: &Login, script: &str, size: Size, threads: u64, seconds: u64, more: &[&str]) -> Result<Run, String> {
    let threads = format!("--threads={threads}");
    let seconds = format!("--time={seconds}");
    let options: Vec<&str> = [threads.as_str(), seconds.as_str(), "--percentile=95"].iter().chain(more).copied().collect();
    parse(script, &call(login, script, size, &options, "run")?)
}

/// Runs a script for `seconds`.
pub fn run(login: &Login, script: &str, size: Size, threads: u64, seconds: u64) -> Result<Run, String> {
    let size = if ONE_TABLE.contains(&script) { Size { tables: 1, ..size } } else { size };
    if script != BULK_INSERT {
        return run_with(login, script, size, threads, seconds, &[]);
    }
    let threads = format!("--threads={threads}");
    let seconds = format!("--time={seconds}");
    let options = [threads.as_str(), seconds.as_str(), "--percentile=95"];
    call(login, script, size, &options[..1], "cleanup")?;
    call(login, script, size, &options[..1], "prepare")?;
    let output = call(login, script, size, &options, "run");
    call(login, script, size, &options[..1], "cleanup")?;
    parse(script, &output?)
}

pub fn version() -> Result<String, String> {
    let output =
        Command::new("sysbench").arg("--version").output().map_err(|e| format!("sysbench: {e}; tools/peers.sh install"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
}

/// Runs a command of a script of ours, with options of its own.
pub fn own(login: &Login, script: &Path, options: &[String], command: &str) -> Result<String, String> {
    let mut sysbench = sysbench(login, &script.display().to_string(), FILL_SECONDS_MAX);
    sysbench.args(options).args(login.engine.map(|engine| format!("--mysql-storage-engine={engine}")));
    output(sysbench.arg(command), &format!("{} {command}", script.display()))
}

/// The report of a script of ours.
pub fn parse_own(text: &str) -> Result<Run, String> {
    parse("sysbench", text)
}

/// Seconds that the run took, by its report.
pub fn total_seconds(text: &str) -> Option<f64> {
    text.lines().find_map(|line| line.trim().strip_prefix("total time:")?.trim().strip_suffix('s')?.parse().ok())
}

/// A run that the caller ends by taking the server away.
pub struct Background {
    child: Child,
}

/// Starts a script for `seconds`.
pub fn spawn(login: &Login, script: &str, size: Size, threads: u64, seconds: u64) -> Result<Background, String> {
    let mut sysbench = sysbench(login, script, CALL_SECONDS_MAX);
    add_size(&mut sysbench, login, size);
    sysbench.args([format!("--threads={threads}"), format!("--time={seconds}"), "run".into()]);
    sysbench.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    Ok(Background { child: sysbench.spawn().map_err(|e| format!("sysbench: {e}"))? })
}

impl Background {
    pub fn has_ended(&mut self) -> Result<bool, String> {
        Ok(self.child.try_wait().map_err(|e| e.to_string())?.is_some())
    }

    /// Waits for the end, which is no success; the last line of what it said.
    pub fn wait(self) -> Result<String, String> {
        let output = self.child.wait_with_output().map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().to_string())
    }
}

fn sysbench(login: &Login, script: &str, seconds_max: u64) -> Command {
    let mut sysbench = Command::new("timeout");
    sysbench
        .arg(seconds_max.to_string())
        .args(["sysbench", script, "--db-driver=mysql", "--mysql-host=127.0.0.1"])
        .arg(format!("--mysql-port={}", login.port))
        .arg(format!("--mysql-user={}", login.user))
        .arg(format!("--mysql-password={}", login.password))
        .arg(format!("--mysql-db={}", login.database));
    sysbench
}

fn add_size(sysbench: &mut Command, login: &Login, size: Size) {
    sysbench.arg(format!("--tables={}", size.tables)).arg(format!("--table-size={}", size.rows));
    if let Some(engine) = login.engine {
        sysbench.arg(format!("--mysql-storage-engine={engine}"));
    }
}

fn call(login: &Login, script: &str, size: Size, options: &[&str], command: &str) -> Result<String, String> {
    let mut sysbench = sysbench(login, script, if command == "prepare" { FILL_SECONDS_MAX } else { CALL_SECONDS_MAX });
    sysbench.args(options);
    if script != BULK_INSERT {
        add_size(&mut sysbench, login, size);
    }
    output(sysbench.arg(command), &format!("{script} {command}"))
}

/// What sysbench says, if it ends well.
fn output(sysbench: &mut Command, what: &str) -> Result<String, String> {
    let output = sysbench.output().map_err(|e| format!("sysbench: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if output.status.success() && !text.contains("FATAL") {
        return Ok(text);
    }
    let first = text.lines().find(|line| line.contains("FATAL") || line.contains("error")).unwrap_or("no message");
    Err(format!("{what}: {}: {first}", output.status))
}

/// Reads the report that sysbench 1.0 prints.
fn parse(script: &str, text: &str) -> Result<Run, String> {
    let counted = if script == BULK_INSERT { "transactions:" } else { "queries:" };
    let field = |name: &str| text.lines().find_map(|line| line.trim().strip_prefix(name)).map(str::trim);
    let first = |line: Option<&str>| line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    let line = field(counted);
    let per_second = line.and_then(|line| line.split_once('(')?.1.split_whitespace().next()?.parse().ok());
    match (first(line), per_second, first(field("95th percentile:"))) {
        (Some(count), Some(per_second), Some(p95_ms)) => {
            let ignored_errors = first(field("ignored errors:")).unwrap_or(0.0) as u64;
            let transactions = first(field("transactions:")).unwrap_or(0.0) as u64;
            Ok(Run { count: count as u64, transactions, per_second, p95_ms, ignored_errors })
        }
        _ => Err(format!("{script}: cannot read sysbench's report:\n{text}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
SQL statistics:
    queries performed:
        read:                            140
        total:                           200
    transactions:                        10     (4.99 per sec.)
    queries:                             200    (99.87 per sec.)
    ignored errors:                      3      (0.00 per sec.)
    total time:                          2.0041s
Latency (ms):
         95th percentile:                       30.81
";

    #[test]
    fn reads_the_report() {
        let run = Run { count: 200, transactions: 10, per_second: 99.87, p95_ms: 30.81, ignored_errors: 3 };
        assert_eq!(parse("oltp_read_only", REPORT), Ok(run.clone()));
        assert_eq!(parse(BULK_INSERT, REPORT), Ok(Run { count: 10, per_second: 4.99, ..run }));
        assert!(parse(BULK_INSERT, "").is_err());
        assert_eq!(total_seconds(REPORT), Some(2.0041));
    }
}
