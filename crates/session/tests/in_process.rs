//! Sessions without a port, a packet or a thread of their own: an `Answer` that prints, and the scripts that were recorded from MySQL.
//!
//! The scripts are those of the server's golden tests (`crates/server/tests/golden/sql`, whose runner says how they are recorded).
//! What a session answers here must be what the server sends, so a statement can have no effect that only the wire knows.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use vaquita_exec::sink::RowSink;
use vaquita_plan::node::OutputColumn;
use vaquita_session::accounts::{Accounts, root_account};
use vaquita_session::clients::Client;
use vaquita_session::session::cursor::Cursor;
use vaquita_session::variables::{Fixed, Globals, server_uuid};
use vaquita_session::{Answer, ClientOptions, Completed, Flow, Request, ResultForm, Server, Session, VERSION};
use vaquita_storage::{Catalog, CommitWaiter, Engine, EngineHooks, EngineOptions, Interrupt, Threads, ValueRef};
use vaquita_types::charset::{CollationId, charset};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, convert};

/// utf8mb4_0900_ai_ci.
const CHARSET: u16 = 255;

/// The test's thread waits where a pool would let another one take its place.
struct OneThread;

impl Threads for OneThread {
    fn blocking(&self, wait: &mut dyn FnMut()) {
        wait();
    }
}

/// An answer as the scripts print it.
#[derive(Default)]
struct Printed {
    text: String,
    /// Where the statement's try began, and the row that is open.
    try_began: usize,
    values: usize,
    file: Vec<u8>,
}

impl Printed {
    fn put(&mut self, text: &[u8]) {
        let separator = if self.values == 0 { "" } else { "\t" };
        self.values += 1;
        self.text.push_str(separator);
        self.text.push_str(&escape(text));
    }
}

impl RowSink for Printed {
    fn columns(&mut self, columns: &[OutputColumn]) -> Result<()> {
        self.values = 0;
        columns.iter().for_each(|column| self.put(column.name.as_bytes()));
        self.end_row()
    }

    fn begin_row(&mut self) {
        self.values = 0;
    }

    fn value(&mut self, value: &Value, ty: &ColumnType) {
        match value {
            Value::Null => self.put(b"NULL"),
            value => self.put(&in_utf8(convert::to_text(value, ty), ty)),
        }
    }

    fn stored(&mut self, value: ValueRef<'_>, ty: &ColumnType) -> Result<()> {
        self.value(&value.to_value()?, ty);
        Ok(())
    }

    fn end_row(&mut self) -> Result<()> {
        self.text.push('\n');
        Ok(())
    }
}

impl Answer for Printed {
    fn begin_try(&mut self) {
        self.try_began = self.text.len();
    }

    fn take_back(&mut self) -> bool {
        self.text.truncate(self.try_began);
        true
    }

    fn rows(&mut self, _: ResultForm) -> &mut dyn RowSink {
        self
    }

    fn take_cursor(&mut self) -> Option<Box<Cursor>> {
        None
    }

    fn kept_row(&mut self, _: &[u8]) -> Result<()> {
        Err(Error::internal("text has no cursors"))
    }

    fn end_of_rows(&mut self, _: &Completed<'_>) {}

    fn rows_tell_changes(&self) -> bool {
        true
    }

    fn ok(&mut self, ok: &Completed<'_>) {
        let info = if ok.info.is_empty() { String::new() } else { format!(" {}", ok.info) };
        let warnings = if ok.warnings == 0 { String::new() } else { format!(" warnings {}", ok.warnings) };
        let _ = writeln!(self.text, "ok {}{warnings}{info}", ok.affected);
    }

    fn error(&mut self, error: &Error) {
        let state = error.sqlstate();
        let _ = writeln!(self.text, "error {} ({state}): {}", error.code(), escape(error.message().as_bytes()));
    }

    fn ask_for_file(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn file_bytes(&mut self, out: &mut Vec<u8>, _: Duration, _: &Interrupt) -> Result<bool> {
        out.append(&mut self.file);
        Ok(false)
    }

    fn is_broken(&self) -> bool {
        false
    }

    fn give_up(&mut self) {}
}

/// Text of any charset as a client of this one reads it.
fn in_utf8(text: Vec<u8>, ty: &ColumnType) -> Vec<u8> {
    let own = charset(ty.collation);
    let is_text = ty.is_text() || matches!(ty.kind, TypeKind::Enum | TypeKind::Set);
    if !is_text || own.is_binary() { text } else { own.convert(charset(CollationId::UTF8MB4_BIN), &text).bytes.to_vec() }
}

/// One value on a line, and bytes that are no text as hexadecimal digits.
fn escape(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(|c| c.is_control() && c != '\n' && c != '\t') => {
            text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t")
        }
        _ => bytes.iter().fold("0x".to_string(), |hex, byte| format!("{hex}{byte:02X}")),
    }
}

struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A session and where its answers go.
struct Console {
    session: Session,
    answer: Printed,
}

impl Console {
    fn open(server: &Arc<Server>) -> Console {
        let client = Arc::new(Client::new(server.new_connection_id(), "localhost".into(), None));
        let account = server.accounts().get("root", "localhost").expect("root");
        client.authenticated("root", ("root", "localhost"), true);
        server.clients().add(client.clone());
        let options = ClientOptions { multi_statements: true, local_files: true, ..ClientOptions::default() };
        Console { session: Session::new(server.clone(), client, account, options, CHARSET), answer: Printed::default() }
    }

    /// The printed answer to a statement.
    fn run(&mut self, sql: &str) -> String {
        let (done, committed): (_, Receiver<Result<()>>) = channel();
        let mut park = || -> CommitWaiter {
            let done = done.clone();
            Box::new(move |result| done.send(result).expect("the test waits"))
        };
        let mut flow = self.session.run(Request::Text(sql.as_bytes()), &mut self.answer, &mut park);
        while flow == Flow::Parked {
            let result = committed.recv().expect("the commit's outcome");
            flow = self.session.resume(result, &mut self.answer, &mut park);
        }
        std::mem::take(&mut self.answer.text)
    }
}

/// A server on an empty directory, without listeners.
fn server(dir: &Path) -> Result<Arc<Server>> {
    let engine = Engine::open(&dir.join("rocksdb"), EngineOptions::default(), EngineHooks::default())?;
    let catalog = Catalog::open(&engine)?;
    let accounts = Accounts::open(catalog.clone())?;
    accounts.change(|records| {
        records.push(Arc::new(root_account("")));
        Ok(())
    })?;
    let fixed = Fixed {
        version: VERSION,
        data_dir: dir.to_path_buf(),
        port: 0,
        bind: String::new(),
        socket: dir.join("no.sock"),
        server_uuid: server_uuid(&catalog)?,
        options: vec![("local_infile", Value::Int(1))],
    };
    Ok(Server::new(engine, catalog, Arc::new(Globals::new(&fixed)), accounts, Arc::new(OneThread)))
}

fn replay(server: &Arc<Server>, name: &str, script: &str) -> String {
    let mut consoles = vec![Console::open(server)];
    for statement in ["DROP DATABASE IF EXISTS", "CREATE DATABASE", "USE"] {
        consoles[0].run(&format!("{statement} golden_{name}"));
    }
    let (mut out, mut current) = (String::new(), 0);
    for line in script.lines() {
        if line.starts_with('#') {
            let _ = writeln!(out, "{line}");
        }
        let Some(sql) = line.strip_prefix("> ") else { continue };
        let _ = writeln!(out, "> {sql}");
        match sql.strip_prefix("connection ") {
            Some(number) => {
                current = number.trim().parse().expect("a number");
                while consoles.len() <= current {
                    let mut console = Console::open(server);
                    console.run(&format!("USE golden_{name}"));
                    consoles.push(console);
                }
            }
            None => out.push_str(&consoles[current].run(sql)),
        }
    }
    consoles[0].run(&format!("DROP DATABASE IF EXISTS golden_{name}"));
    for console in &mut consoles {
        console.session.close();
        server.clients().remove(console.session.client.id);
    }
    out
}

/// The statements whose answers differ, with both.
fn differences(expected: &str, actual: &str) -> String {
    let blocks = |text: &str| text.trim_end().split("\n> ").map(str::to_string).collect::<Vec<_>>();
    let (expected, actual) = (blocks(expected), blocks(actual));
    assert_eq!(expected.len(), actual.len());
    let differing = expected.iter().zip(&actual).filter(|(expected, actual)| expected != actual);
    differing.map(|(expected, actual)| format!("recorded:\n{expected}\nhere:\n{actual}\n")).collect()
}

#[test]
fn scripts_answer_without_a_port() {
    let dir = Directory(std::env::temp_dir().join(format!("vaquita-it-{}-in-process", std::process::id())));
    std::fs::create_dir_all(&dir.0).expect("a directory");
    let server = server(&dir.0).expect("a server");
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/tests/golden/sql");
    let mut failures = String::new();
    let mut replayed = 0;
    let mut paths: Vec<_> = std::fs::read_dir(scripts).expect("scripts").filter_map(|e| e.ok().map(|e| e.path())).collect();
    paths.sort();
    for path in paths {
        let script = std::fs::read_to_string(&path).expect("a script");
        let name = path.file_stem().expect("a name").to_string_lossy();
        // Files of the client are the wire's matter, and its golden tests'; a limit of time is watched by a thread of the server.
        if script.contains("\n> file ") || name == "execution_time" {
            continue;
        }
        let differences = differences(&script, &replay(&server, &name, &script));
        if !differences.is_empty() {
            let _ = writeln!(failures, "{}:\n{differences}", path.display());
        }
        replayed += 1;
    }
    server.catalog.close();
    server.engine.shutdown().expect("an end");
    assert!(replayed > 10, "{replayed} scripts");
    assert!(failures.is_empty(), "{failures}");
}
