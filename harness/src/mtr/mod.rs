//! `cargo harness mtr --mysql HOST:PORT:USER:PASSWORD --suite DIR`: scripts of MySQL's test suite on MySQL and on Vaquita in lockstep,
//! statement by statement, which must answer alike.
//!
//! The suite is fetched by whoever runs this (Debian's `mysql-testsuite` has it); `DIR` is the folder that holds `t`, `include` and
//! `std_data`. The results that the suite holds are not read: MySQL is asked instead, so that both servers have the same settings.
//! The MySQL must be one that nobody else uses: scripts drop accounts and set global variables. The user should be root@localhost, as
//! on Vaquita, so that definers are alike. `--vardir` is a folder that both servers
//! can read and write under this path; the files that scripts name are there.
//!
//! `--against HOST:PORT:USER:PASSWORD` takes another server in Vaquita's place: a second MySQL shows what of a script cannot be compared.
//!
//! Each script begins with an empty database `test`. What it left is removed: databases, accounts, sessions, prepared XA transactions,
//! changed global variables. EXPLAIN is sent and not judged. A difference *follows* if its statement names something that an earlier
//! statement, which one server refused, had named.

mod compare;
mod files;
mod reply;
mod run;
mod script;
mod side;

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::flags::Flags;
use crate::paths;
use crate::vaquita::{PASSWORD, Vaquita, free_port};
use reply::{One, query};
use run::{Count, End, Run};
use side::Side;

/// A statement that takes longer counts as one without an answer.
const STATEMENT_MAX: Duration = Duration::from_secs(20);
/// What sets a server back may wait for what a script left running.
const ADMINISTRATOR_MAX: Duration = Duration::from_secs(120);
const SYSTEM_DATABASES: &[&str] = &["mysql", "sys", "information_schema", "performance_schema"];

/// A server's state that scripts change and that is set back.
struct Before {
    globals: BTreeMap<String, String>,
    accounts: Vec<String>,
}

struct Servers {
    /// None if another server stands in its place.
    vaquita: Option<Vaquita>,
    sides: [Side; 2],
    /// Open all the time, as a script may change who can log in.
    administrators: [Client; 2],
    before: [Before; 2],
    dir: PathBuf,
    started: u64,
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let mysql = flags.text("--mysql")?.ok_or("--mysql host:port:user:password names a server that nobody else uses")?;
    let suite = PathBuf::from(flags.text("--suite")?.ok_or("--suite names the folder that holds t and include")?);
    let only = flags.list("--tests")?;
    let vardir = flags.text("--vardir")?;
    let report = flags.text("--report")?;
    let seconds = flags.number("--seconds", 60)?;
    let against = flags.text("--against")?;
    flags.finish()?;
    let dir = paths::target_dir().join(format!("mtr/{}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let vardir = vardir.map_or_else(|| dir.join("var"), PathBuf::from);
    let vardirs = ["mysql", "vaquita"].map(|side| vardir.join(side));
    for of_side in &vardirs {
        let copied = files::copy_tree(&suite.join("std_data"), &of_side.join("std_data"));
        copied.and_then(|()| std::fs::create_dir_all(of_side.join("tmp"))).map_err(|e| format!("{}: {e}", of_side.display()))?;
    }
    let report_path = report.map_or_else(|| dir.join("differences.txt"), PathBuf::from);
    let mut report = File::create(&report_path).map_err(|e| format!("{}: {e}", report_path.display()))?;
    let mut servers = Servers::start(&mysql, against.as_deref(), dir)?;
    let (mut all, mut equal, mut run_count, mut skipped) = (Count::default(), 0, 0, 0);
    for test in find_tests(&suite, only)? {
        let path = suite.join("t").join(format!("{test}.test"));
        servers.begin(&suite, &vardirs)?;
        let mut run = Run::new(&mut servers.sides, &suite, vardirs.clone(), Instant::now() + Duration::from_secs(seconds));
        let end = run.file(&path);
        let (count, differences, left_out) = (run.count, run.differences, run.left_out);
        servers.clean()?;
        if let Err(End::Skip(why)) = &end {
            skipped += 1;
            println!("{test}: skipped, {}", why.trim());
            continue;
        }
        run_count += 1;
        equal += u64::from(count.differ == 0);
        let mut notes: Vec<String> = left_out.into_iter().map(|word| format!("without {word}")).collect();
        if let Err(End::Early(why)) = end {
            notes.push(format!("ended early: {}", why.trim()));
        }
        println!(
            "{test}: {} statements, {} differ, {} of them follow; {}",
            count.statements,
            count.differ,
            count.follow,
            notes.join(", ")
        );
        for found in differences {
            let follows = if found.follows { ", follows" } else { "" };
            let written = writeln!(
                report,
                "== {test}:{} {}{follows}\n{}\n  MySQL: {}\n  Vaquita: {}",
                found.line, found.kind, found.sql, found.mysql, found.vaquita
            );
            written.map_err(|e| e.to_string())?;
        }
        all.statements += count.statements;
        all.differ += count.differ;
        all.follow += count.follow;
    }
    let share = |differ: u64| 100.0 * (all.statements - differ) as f64 / all.statements.max(1) as f64;
    println!(
        "mtr: {run_count} scripts run, {equal} without a difference, {skipped} skipped; {} statements, {:.2}% equal, {:.2}% without what follows; differences: {}",
        all.statements,
        share(all.differ),
        share(all.differ - all.follow),
        report_path.display()
    );
    servers.vaquita.map_or(Ok(()), Vaquita::stop)
}

/// Names of scripts: those given, or all of the suite that are not disabled.
fn find_tests(suite: &Path, only: Option<Vec<String>>) -> Result<Vec<String>, String> {
    if let Some(only) = only {
        return Ok(only);
    }
    let folder = suite.join("t");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.extension().is_some_and(|extension| extension == "test") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}

impl Servers {
    fn start(mysql: &str, against: Option<&str>, dir: PathBuf) -> Result<Servers, String> {
        let vaquita = if against.is_none() { Some(Servers::start_vaquita(&dir, 0)?) } else { None };
        let other = match (against, &vaquita) {
            (Some(address), _) => Side::new(address, STATEMENT_MAX)?,
            (None, Some(vaquita)) => Servers::side_of(vaquita)?,
            (None, None) => return Err("there is no server to compare with".into()),
        };
        let sides = [Side::new(mysql, STATEMENT_MAX)?, other];
        let mut administrators = [sides[0].administrator()?, sides[1].administrator()?];
        for admin in &mut administrators {
            admin.set_timeout(ADMINISTRATOR_MAX).map_err(|e| e.to_string())?;
            settle(admin)?;
        }
        let [mysql, ours] = &mut administrators;
        let before = [Before::of(mysql)?, Before::of(ours)?];
        Ok(Servers { vaquita, sides, administrators, before, dir, started: 0 })
    }

    fn start_vaquita(dir: &Path, nth: u64) -> Result<Vaquita, String> {
        let data = dir.join(format!("data-{nth}"));
        let more = ["--secure-file-priv", "", "--local-infile", "ON"];
        Vaquita::spawn_with(&paths::vaquita()?, &data, free_port()?, &dir.join("server.log"), &more)?.wait()
    }

    fn side_of(vaquita: &Vaquita) -> Result<Side, String> {
        Side::new(&format!("127.0.0.1:{}:root:{PASSWORD}", vaquita.port), STATEMENT_MAX)
    }

    fn begin(&mut self, suite: &Path, vardirs: &[PathBuf; 2]) -> Result<(), String> {
        for ((side, admin), vardir) in self.sides.iter_mut().zip(&mut self.administrators).zip(vardirs) {
            for sql in ["CREATE DATABASE IF NOT EXISTS test", "CREATE DATABASE IF NOT EXISTS mtr"] {
                ignore(admin, sql)?;
            }
            let text = |path: PathBuf| path.display().to_string();
            let variables = HashMap::from([
                ("MYSQLTEST_VARDIR".into(), text(vardir.clone())),
                ("MYSQL_TMP_DIR".into(), text(vardir.join("tmp"))),
                ("MYSQL_TEST_DIR".into(), text(suite.to_path_buf())),
                ("ENGINE".into(), "InnoDB".into()),
                ("engine_type".into(), "InnoDB".into()),
                ("default_engine".into(), "InnoDB".into()),
            ]);
            side.begin(variables)?;
        }
        Ok(())
    }

    /// Removes what the script left. A Vaquita that is gone, or cannot be cleaned, is started anew.
    fn clean(&mut self) -> Result<(), String> {
        self.sides.iter_mut().for_each(Side::end);
        for (side, admin) in self.sides.iter().zip(&mut self.administrators) {
            // A server that is gone is seen below.
            let _ = side.restore_administrator(admin);
        }
        let [mysql, vaquita] = &mut self.administrators;
        self.before[0].restore(mysql)?;
        let ended = self.vaquita.as_mut().is_some_and(Vaquita::has_ended);
        let cleaned = if ended { Err("the server has ended".to_string()) } else { self.before[1].restore(vaquita) };
        let Err(why) = cleaned else { return Ok(()) };
        if self.vaquita.is_none() {
            return Err(why);
        }
        println!("Vaquita is started anew: {why}");
        self.started += 1;
        let vaquita = Servers::start_vaquita(&self.dir, self.started)?;
        self.sides[1] = Servers::side_of(&vaquita)?;
        self.vaquita = Some(vaquita);
        self.administrators[1] = self.sides[1].administrator()?;
        self.administrators[1].set_timeout(ADMINISTRATOR_MAX).map_err(|e| e.to_string())?;
        settle(&mut self.administrators[1])
    }
}

/// Without a binary log, which the suite's MySQL does not write, functions need not say what they do (error 1418).
fn settle(admin: &mut Client) -> Result<(), String> {
    ignore(admin, "SET GLOBAL log_bin_trust_function_creators = 1")
}

impl Before {
    fn of(admin: &mut Client) -> Result<Before, String> {
        let globals = rows(admin, "SHOW GLOBAL VARIABLES")?.into_iter().filter_map(|row| {
            let [name, value] = &row[..] else { return None };
            Some((name.clone(), value.clone()))
        });
        Ok(Before { globals: globals.collect(), accounts: accounts(admin)? })
    }

    fn restore(&self, admin: &mut Client) -> Result<(), String> {
        let sessions = "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND user NOT IN ('event_scheduler', 'system user')";
        for row in rows(admin, sessions)? {
            ignore(admin, &format!("KILL {}", row.join("")))?;
        }
        ignore(admin, "SET GLOBAL super_read_only = 0")?;
        ignore(admin, "SET GLOBAL read_only = 0")?;
        for row in rows(admin, "XA RECOVER CONVERT XID")? {
            if let [format, global, _, id] = &row[..] {
                let id = id.trim_start_matches("0x");
                let (a, b) = id.split_at((2 * global.parse::<usize>().unwrap_or(0)).min(id.len()));
                ignore(admin, &format!("XA ROLLBACK X'{a}', X'{b}', {format}"))?;
            }
        }
        for (name, value) in Before::of(admin)?.globals {
            let Some(before) = self.globals.get(&name).filter(|before| **before != value) else { continue };
            if name == "gtid_mode" {
                // Step by step; those that are no step from where it is fail.
                for step in ["ON_PERMISSIVE", "OFF_PERMISSIVE"] {
                    ignore(admin, &format!("SET GLOBAL gtid_mode = {step}"))?;
                }
            }
            let quoted = if before.parse::<f64>().is_ok() { before.clone() } else { format!("'{}'", before.replace('\'', "''")) };
            ignore(admin, &format!("SET GLOBAL {name} = {quoted}"))?;
        }
        for row in rows(admin, "SHOW DATABASES")? {
            let name = row.join("");
            if !SYSTEM_DATABASES.contains(&name.as_str()) {
                ignore(admin, "SET foreign_key_checks = 0")?;
                drop_database(admin, &name)?;
            }
        }
        for account in accounts(admin)? {
            if !self.accounts.contains(&account) {
                ignore(admin, &format!("DROP USER {account}"))?;
            }
        }
        Ok(())
    }
}

/// A directory in which a script left files of its own stays; what is in the database goes.
fn drop_database(admin: &mut Client, name: &str) -> Result<(), String> {
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    let sql = format!("DROP DATABASE {}", quoted(name));
    if query(admin, &sql).map_err(|e| format!("{sql}: {e}"))?.error().is_none() {
        return Ok(());
    }
    for row in rows(admin, &format!("SHOW FULL TABLES FROM {}", quoted(name)))? {
        if let [table, kind] = &row[..] {
            let what = if kind == "VIEW" { "VIEW" } else { "TABLE" };
            ignore(admin, &format!("DROP {what} {}.{}", quoted(name), quoted(table)))?;
        }
    }
    let programs = "SELECT routine_type, routine_name FROM information_schema.routines WHERE routine_schema = DATABASE() \
        UNION ALL SELECT 'EVENT', event_name FROM information_schema.events WHERE event_schema = DATABASE()";
    ignore(admin, &format!("USE {}", quoted(name)))?;
    for row in rows(admin, programs)? {
        if let [kind, program] = &row[..] {
            ignore(admin, &format!("DROP {kind} {}", quoted(program)))?;
        }
    }
    Ok(())
}

fn accounts(admin: &mut Client) -> Result<Vec<String>, String> {
    let rows = rows(admin, "SELECT CONCAT(QUOTE(user), '@', QUOTE(host)) FROM mysql.user")?;
    Ok(rows.into_iter().map(|row| row.join("")).collect())
}

/// For what it does, if it can be done.
fn ignore(admin: &mut Client, sql: &str) -> Result<(), String> {
    query(admin, sql).map(drop).map_err(|e| format!("{sql}: {e}"))
}

fn rows(admin: &mut Client, sql: &str) -> Result<Vec<Vec<String>>, String> {
    let reply = query(admin, sql).map_err(|e| format!("{sql}: {e}"))?;
    match reply.results.into_iter().next() {
        Some(One::Rows { rows, .. }) => {
            let text = |value: Option<Vec<u8>>| value.map_or_else(String::new, |v| reply::chars_of(&v));
            Ok(rows.into_iter().map(|row| row.into_iter().map(text).collect()).collect())
        }
        other => Err(format!("{sql}: {other:?}")),
    }
}
