//! Whether this source can be followed by this target: a line for each question, with a verdict and what to do.

use crate::Result;
use crate::channel;
use crate::client::Client;
use crate::definitions::{Schema, Table};
use crate::server::{Kind, Server};
use crate::table_text::print_table;
use vaquita_replication::address::Address;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Good,
    Note,
    Stop,
}

#[derive(Default)]
pub struct Checks {
    lines: Vec<(Verdict, String, String, String)>,
}

impl Checks {
    fn line(&mut self, verdict: Verdict, what: &str, found: impl Into<String>, todo: impl Into<String>) {
        self.lines.push((verdict, what.to_string(), found.into(), todo.into()));
    }

    fn either(&mut self, is_good: bool, otherwise: Verdict, what: &str, found: impl Into<String>, todo: &str) {
        if is_good { self.line(Verdict::Good, what, found, "") } else { self.line(otherwise, what, found, todo) }
    }

    /// Shows them; false if one forbids to go on.
    pub fn print(&self, title: &str) -> bool {
        let word = |verdict| match verdict {
            Verdict::Good => "ok",
            Verdict::Note => "note",
            Verdict::Stop => "STOP",
        };
        let rows: Vec<Vec<String>> = self
            .lines
            .iter()
            .map(|(verdict, what, found, todo)| vec![word(*verdict).to_string(), what.clone(), found.clone(), todo.clone()])
            .collect();
        print_table(title, &["", "question", "found", "what to do"], &rows);
        !self.lines.iter().any(|(verdict, ..)| *verdict == Verdict::Stop)
    }
}

/// The source alone.
pub fn of_source(client: &mut Client, server: &Server, schema: &Schema, may_lock: bool) -> Result<Checks> {
    let mut checks = Checks::default();
    let oldest = match server.kind {
        Kind::MySql => (5, 7),
        Kind::MariaDb => (10, 4),
        Kind::Vaquita => (0, 0),
    };
    checks.either(
        server.version >= oldest,
        Verdict::Note,
        "version",
        server.name(),
        "older than MySQL 5.7 or MariaDB 10.4: not tried",
    );
    of_log(&mut checks, client, server);
    of_privileges(&mut checks, client, may_lock, schema)?;
    of_tables(&mut checks, server, schema);
    Ok(checks)
}

fn of_log(checks: &mut Checks, client: &mut Client, server: &Server) {
    let mut variable = |name: &str| client.variable(name);
    let log = variable("log_bin");
    checks.either(log == "1" || log == "ON", Verdict::Stop, "log_bin", log, "start the source with log_bin");
    let format = variable("binlog_format");
    checks.either(
        format == "ROW",
        Verdict::Note,
        "binlog_format",
        format,
        "statements are carried out as they are, and all tables are copied in one snapshot; better SET GLOBAL binlog_format = ROW",
    );
    let image = variable("binlog_row_image");
    let todo = "all tables are copied in one snapshot; better SET GLOBAL binlog_row_image = FULL";
    checks.either(image == "FULL", Verdict::Note, "binlog_row_image", image, todo);
    let mode = variable("gtid_mode");
    match server.kind {
        Kind::MariaDb => checks.line(Verdict::Good, "gtid_mode", "MariaDB", "file and position"),
        _ => checks.either(server.has_gtids, Verdict::Note, "gtid_mode", mode, "followed by file and position; better ON"),
    }
    let expire = variable("binlog_expire_logs_seconds");
    let expire = if expire.is_empty() { variable("expire_logs_days") + " days" } else { expire + " s" };
    let is_long = expire.starts_with("0 ") || expire.starts_with("0.") || expire.ends_with(" days");
    let seconds = expire.split(' ').next().and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    checks.either(
        is_long || seconds >= 3600.0,
        Verdict::Note,
        "expiry of logs",
        expire,
        "the log must last longer than the copy takes: SET GLOBAL binlog_expire_logs_seconds = 86400",
    );
}

fn of_privileges(checks: &mut Checks, client: &mut Client, may_lock: bool, schema: &Schema) -> Result<()> {
    let grants = client.rows("SHOW GRANTS")?.into_iter().flatten().collect::<Vec<_>>().join("\n").to_ascii_uppercase();
    let everything = grants.lines().any(|line| line.contains("ALL PRIVILEGES ON *.*"));
    // MariaDB's words.
    let has = |names: &[&str]| everything || names.iter().any(|name| grants.contains(name));
    let needed: [(&[&str], Verdict); 6] = [
        (&["REPLICATION SLAVE", "REPLICATION REPLICA"], Verdict::Stop),
        (&["REPLICATION CLIENT", "BINLOG MONITOR"], Verdict::Stop),
        (&["SELECT"], Verdict::Stop),
        (&["SHOW VIEW"], Verdict::Note),
        (&["TRIGGER"], Verdict::Note),
        (&["EVENT"], Verdict::Note),
    ];
    let mut missing: Vec<&str> = Vec::new();
    let mut verdict = Verdict::Good;
    for (names, otherwise) in needed {
        if !has(names) {
            missing.push(names.first().copied().unwrap_or_default());
            verdict = if verdict == Verdict::Stop { verdict } else { otherwise };
        }
    }
    let exact = schema.tables.iter().any(|table| table.is_exact);
    if exact && may_lock && !has(&["LOCK TABLES"]) {
        missing.push("LOCK TABLES");
        verdict = if verdict == Verdict::Stop { verdict } else { Verdict::Note };
    }
    let account = client.value("SELECT CURRENT_USER()")?;
    match missing.is_empty() {
        true => checks.line(Verdict::Good, "privileges", account, ""),
        false => checks.line(verdict, "privileges", account, format!("GRANT {} ON *.* to it", missing.join(", "))),
    }
    Ok(())
}

fn some(tables: &[&Table]) -> String {
    const SHOWN: usize = 3;
    let names = tables.iter().take(SHOWN).map(|table| table.shown()).collect::<Vec<_>>().join(", ");
    if tables.len() > SHOWN { format!("{names} and {} more", tables.len() - SHOWN) } else { names }
}

fn of_tables(checks: &mut Checks, server: &Server, schema: &Schema) {
    let which = |wanted: &dyn Fn(&Table) -> bool| schema.tables.iter().filter(|table| wanted(table)).collect::<Vec<&Table>>();
    let rows: u64 = schema.tables.iter().map(|table| table.rows).sum();
    let found = format!("{} databases, {} tables, about {rows} rows", schema.databases.len(), schema.tables.len());
    checks.line(Verdict::Good, "to be copied", found, "");
    let keyless = which(&|table| table.key.is_empty());
    if !keyless.is_empty() {
        checks.line(
            Verdict::Note,
            "no primary key",
            some(&keyless),
            "copied in one snapshot; each change of them goes through the table on a replica: better give them one",
        );
    }
    let foreign = which(&|table| table.is_exact && !table.key.is_empty());
    if !foreign.is_empty() {
        let todo = if server.logs_cascades() {
            "copied in one snapshot"
        } else {
            "copied in one snapshot, since cascades are not in the log"
        };
        checks.line(Verdict::Note, "copied at one place", some(&foreign), todo);
    }
    let engines = which(&|table| !table.engine.eq_ignore_ascii_case("InnoDB"));
    if !engines.is_empty() {
        checks.line(Verdict::Note, "engines", some(&engines), "copied all the same; here all tables are of one engine");
    }
    let loose = which(&|table| table.is_exact && !table.is_transactional());
    if !loose.is_empty() {
        let todo = "an engine without snapshots: right only if nobody writes to it during the copy; verify afterwards";
        checks.line(Verdict::Note, "no transactions", some(&loose), todo);
    }
    let others = schema.others.iter().filter(|(.., kind)| !kind.contains("VIEW")).count();
    if others > 0 {
        checks.line(
            Verdict::Note,
            "sequences and the like",
            format!("{others}"),
            "Vaquita has none: what uses them stops the channel",
        );
    }
}

/// Both together. What is on the target is no obstacle to who goes on.
pub fn of_both(
    checks: &mut Checks,
    source: &Server,
    target: &Server,
    client: &mut Client,
    schema: &Schema,
    channel: &str,
    fresh: bool,
) -> Result<()> {
    checks.either(target.kind == Kind::Vaquita, Verdict::Stop, "target", target.name(), "the target is to be a Vaquita");
    let ids = format!("{} and {}", source.server_id, target.server_id);
    let differs = source.server_id != target.server_id && source.server_id != "0" && target.server_id != "0";
    checks.either(differs, Verdict::Stop, "server_id", ids, "on the target: SET PERSIST server_id = a number of its own");
    let same = !source.uuid.is_empty() && source.uuid == target.uuid;
    checks.either(
        !same,
        Verdict::Stop,
        "server_uuid",
        if same { "the same" } else { "different" },
        "the target is the source, or a copy of its files",
    );
    if !fresh {
        return Ok(());
    }
    let there = client.rows("SELECT schema_name FROM information_schema.schemata")?;
    let there: Vec<String> = there.into_iter().flatten().collect();
    let taken: Vec<String> =
        schema.databases.iter().map(|(name, ..)| name).filter(|name| there.contains(name)).cloned().collect();
    let todo = "the target has them already: drop them there, or give --databases";
    checks.either(
        taken.is_empty(),
        Verdict::Stop,
        "databases",
        if taken.is_empty() { "free".to_string() } else { taken.join(", ") },
        todo,
    );
    let is_free = channel::status(client, channel)?.is_none_or(|status| status.source.host.is_empty());
    let todo = "STOP REPLICA; RESET REPLICA ALL on the target, or give --channel";
    checks.either(is_free, Verdict::Stop, "channel", channel::shown(channel), todo);
    let mode = client.variable("gtid_mode");
    if source.has_gtids {
        checks.either(mode == "ON", Verdict::Stop, "gtid_mode of the target", mode, "SET GLOBAL gtid_mode = ON there");
    }
    Ok(())
}

/// The account that the channel logs in with must reach the source from the target's machine.
pub fn of_address(checks: &mut Checks, source: &Address) {
    checks.either(
        !source.host.starts_with('/'),
        Verdict::Stop,
        "address",
        source.to_string(),
        "the target connects to it by TCP: give host and port",
    );
}
