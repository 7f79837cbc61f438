//! Golden scripts of changes, in process: `golden/*.test` holds statements, each followed by how it ended, its warnings, and under `[keys]`
//! what it did to the table's rows and index entries: `+` is written, `-` deleted, in the order of the keys.
//!
//! `VAQUITA_RECORD=own cargo test -p vaquita-exec --test scripts -- times` writes what happens now in one script. What a statement answers is recorded from MySQL
//! in the server's scripts; these show what is behind it. `@ zone NAME` sets the time zone.

mod session;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use session::Session;
use vaquita_exec::catalog::PlanCatalog;
use vaquita_exec::context::{Execution, NoFunctions, NoServer};
use vaquita_exec::ddl::Ddl;
use vaquita_parser::{Statement as Ast, parse_one};
use vaquita_plan::bind::{Place, PlanContext, plan_statement};
use vaquita_plan::node::Plan;
use vaquita_plan::uses::Uses;
use vaquita_scripts::{Answers, Suite};
use vaquita_storage::{
    Catalog, DdlContext, Direction, Engine, EngineHooks, EngineOptions, Interrupt, Progress, ScanOptions, SessionCatalog, Table,
    Transaction, TxnOptions,
};
use vaquita_types::schema::TableRef;
use vaquita_types::temporal::TimeZone;
use vaquita_types::{Error, Result, Value};

fn main() -> ExitCode {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    vaquita_scripts::main(vec![Suite::new("changes", Answers::Ours, &folder, |script| run(&script.text))])
}

/// Lines beginning with `> ` are statements, with `@ ` settings, with `#` comments; all else is output and is made anew.
fn run(script: &str) -> String {
    let mut server = Server::new();
    let mut out = String::new();
    for line in script.lines() {
        if line.starts_with('#') || line.is_empty() && !out.ends_with("\n\n") {
            let _ = writeln!(out, "{line}");
        } else if let Some(zone) = line.strip_prefix("@ zone ") {
            let _ = writeln!(out, "{line}");
            server.session.settings.time_zone = TimeZone::parse(zone, &TimeZone::Utc).expect("zone");
        } else if let Some(sql) = line.strip_prefix("> ") {
            let _ = writeln!(out, "{line}\n{}", server.answer(sql));
        }
    }
    while out.ends_with("\n\n") {
        out.pop();
    }
    out
}

/// An index entry or a row, by the position of its table and index and its key.
type Entries = BTreeMap<(String, usize, Vec<u8>), Entry>;

#[derive(PartialEq)]
struct Entry {
    key: String,
    value: Vec<u8>,
    /// The columns, if it is a row.
    row: String,
}

struct Server {
    session: Session,
    catalog: SessionCatalog,
    engine: Arc<Engine>,
    interrupt: Arc<Interrupt>,
    _dir: tempfile::TempDir,
}

impl Server {
    fn new() -> Server {
        let dir = tempfile::tempdir().expect("directory");
        let options =
            EngineOptions { block_cache_bytes: Some(8 << 20), write_buffer_bytes: Some(4 << 20), ..EngineOptions::default() };
        let engine = Engine::open(dir.path(), options, EngineHooks::default()).expect("engine");
        let catalog = SessionCatalog::new(Catalog::open(&engine).expect("catalog"));
        let server = Server { session: Session::default(), catalog, engine, interrupt: Arc::new(Interrupt::new(1)), _dir: dir };
        server.ddl(&parse("CREATE DATABASE test")).expect("database");
        server
    }

    fn answer(&mut self, sql: &str) -> String {
        let ast = parse(sql);
        if let Some(done) = self.ddl(&ast).transpose() {
            return done.map_or_else(|e| format!("{e}\n"), |()| String::new());
        }
        let before = self.entries();
        let changed = self.change(&ast);
        let mut out = match changed {
            Ok(affected) => format!("affected: {affected}\n"),
            Err(error) => format!("{error}\n"),
        };
        for warning in self.session.warnings.take() {
            let _ = writeln!(out, "warning: {warning}");
        }
        out + &difference(&before, &self.entries())
    }

    /// `None`: the statement is no DDL.
    fn ddl(&self, ast: &Ast) -> Result<Option<()>> {
        let planner = |_: &Ast, _: Option<&TableRef>| Err(Error::internal("no queries in DDL here"));
        let context = DdlContext {
            wait: Duration::from_secs(1),
            interrupt: self.interrupt.clone(),
            progress: Arc::new(Progress::default()),
            foreign_keys: Default::default(),
            note: None,
        };
        let ddl = Ddl {
            log: None,
            filler: None,
            has_account: &|_| true,
            may_change_what_is_of: &|_| Ok(()),
            definer: &|_| Err(Error::internal("no accounts here")),
            define_view: &|_, _| Err(Error::internal("no views here")),
            catalog: &self.catalog,
            session: &self.session,
            database: Some("test"),
            planner: &planner,
            params: &[],
            server: &NoServer,
            functions: &NoFunctions,
            lock_wait_ms_max: 1000,
            context,
        };
        ddl.run(ast).map(|done| done.map(|_| ())).transpose()
    }

    /// Runs a statement that changes rows in a transaction of its own; rows that it affected.
    fn change(&self, ast: &Ast) -> Result<u64> {
        let txn = RefCell::new(self.transaction());
        let catalog = PlanCatalog::within(&self.catalog, &txn);
        let uses = Uses::default();
        let context = PlanContext { settings: &self.session.settings, ..PlanContext::new(&catalog, Place::Statement(&uses)) };
        let plan = plan_statement(ast, &context)?;
        assert!(!matches!(plan, Plan::Query(_)), "a statement that changes rows");
        txn.borrow_mut().begin_statement(vaquita_exec::query::reads(&plan));
        let statement = Execution::new(self.engine.store(), &self.catalog, &txn, &[], &self.session, &self.interrupt);
        let changed = vaquita_exec::dml::run(&plan, &statement);
        drop(statement);
        match changed {
            Ok(changed) => txn.borrow_mut().commit_wait().map(|()| changed.affected),
            Err(error) => {
                txn.borrow_mut().rollback();
                Err(error)
            }
        }
    }

    fn transaction(&self) -> Transaction {
        self.engine.begin(TxnOptions { interrupt: self.interrupt.clone(), ..TxnOptions::default() })
    }

    /// Everything that is stored of the tables.
    fn entries(&self) -> Entries {
        let mut entries = Entries::new();
        let txn = self.transaction();
        for name in ["t", "u"] {
            let Some(table) = self.catalog.table("test", name).expect("catalog") else { continue };
            for (index, codec) in table.codec.indexes().iter().enumerate() {
                let mut cursor = txn.scan(codec.all(), Direction::Forward, ScanOptions::default()).expect("scan");
                while let Some((key, value)) = cursor.next(&txn).expect("entry") {
                    let entry = entry(&table, &txn, index, key, value);
                    entries.insert((name.to_string(), index, key.to_vec()), entry);
                }
            }
        }
        entries
    }
}

fn entry(table: &Table, txn: &Transaction, index: usize, key: &[u8], value: &[u8]) -> Entry {
    let columns = table.key_columns(txn, index, key).expect("columns of a key");
    let columns: Vec<String> = columns.into_iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let row = match index {
        0 => format!(" ({})", row_text(&table.codec.decode_row(key, value).expect("row"))),
        _ => String::new(),
    };
    Entry { key: columns.join(", "), value: value.to_vec(), row }
}

fn row_text(row: &[Value]) -> String {
    let text = |value: &Value| match value {
        Value::Null => "NULL".to_string(),
        Value::Int(n) => n.to_string(),
        Value::Bytes(bytes) => format!("'{}'", String::from_utf8_lossy(bytes)),
        other => format!("{other:?}"),
    };
    row.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn difference(before: &Entries, after: &Entries) -> String {
    let mut lines: BTreeMap<_, String> = BTreeMap::new();
    for (place, entry) in before.iter().filter(|(place, _)| !after.contains_key(place)) {
        lines.insert(place, format!("- {}.{} {}", place.0, place.1, entry.key));
    }
    for (place, entry) in after.iter().filter(|(place, entry)| before.get(place).is_none_or(|old| old.value != entry.value)) {
        lines.insert(place, format!("+ {}.{} {}{}", place.0, place.1, entry.key, entry.row));
    }
    let lines: Vec<String> = lines.into_values().collect();
    if lines.is_empty() { String::new() } else { format!("[keys]\n{}\n", lines.join("\n")) }
}

fn parse(sql: &str) -> Ast {
    parse_one(sql.as_bytes(), &Default::default()).expect("a statement").0
}
