//! A session without a port, a packet or a thread of its own, and an `Answer` that prints as scripts want it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use vaquita_exec::sink::RowSink;
use vaquita_plan::node::{KeptHeader, OutputColumn};
use vaquita_scripts::sql::{self, escape, print_error, print_ok};
use vaquita_session::accounts::{Accounts, root_account};
use vaquita_session::clients::Client;
use vaquita_session::variables::{Fixed, Globals, server_uuid};
use vaquita_session::{Answer, ClientOptions, Completed, Flow, Request, ResultForm, Server, Session, VERSION};
use vaquita_storage::{
    Catalog, CommitWaiter, Engine, EngineHooks, EngineOptions, Interrupt, LogStore, RocksLog, Stages, Threads, ValueRef,
};
use vaquita_types::charset::{CollationId, charset};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, convert};

/// utf8mb4_0900_ai_ci.
const CHARSET: u16 = 255;
/// Between two looks for statements that have run too long.
const DEADLINES_EACH: Duration = Duration::from_millis(5);

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
    /// Rows of the last result set.
    rows: u64,
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
    fn columns(&mut self, columns: &[OutputColumn], _: &KeptHeader) -> Result<()> {
        self.values = 0;
        columns.iter().for_each(|column| self.put(column.name.as_bytes()));
        self.end_row()
    }

    fn begin_row(&mut self) {
        self.values = 0;
        self.rows += 1;
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
        self.rows = 0;
        self
    }

    fn rows_sent(&self) -> u64 {
        self.rows
    }

    fn kept_row(&mut self, _: &[u8]) -> Result<()> {
        Err(Error::internal("text has no cursors"))
    }

    fn rows_tell_changes(&self) -> bool {
        true
    }

    fn ok(&mut self, ok: &Completed<'_>) {
        self.text.push_str(&print_ok(ok.affected, ok.warnings, ok.info));
    }

    fn error(&mut self, error: &Error, _: u16) {
        self.text.push_str(&print_error(error.code(), error.sqlstate(), error.message()));
    }

    fn ask_for_file(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn file_bytes(&mut self, out: &mut Vec<u8>, _: Duration, _: &Interrupt) -> Result<bool> {
        out.extend_from_slice(&self.file);
        Ok(false)
    }
}

/// Text of any charset as a client of this one reads it.
fn in_utf8(text: Vec<u8>, ty: &ColumnType) -> Vec<u8> {
    let own = charset(ty.collation);
    let is_text = ty.is_text() || matches!(ty.kind, TypeKind::Enum | TypeKind::Set);
    if !is_text || own.is_binary() { text } else { own.convert(charset(CollationId::UTF8MB4_BIN), &text).bytes.to_vec() }
}

/// A session and where its answers go.
pub struct Console {
    pub session: Session,
    answer: Printed,
}

impl Console {
    pub fn open(server: &Arc<Server>) -> Console {
        let client = Arc::new(Client::new(server.new_connection_id(), "localhost".into(), None));
        let account = server.accounts().get("root", "localhost").expect("root");
        client.authenticated("root", ("root", "localhost"), true);
        server.clients().add(client.clone());
        let options =
            ClientOptions { multi_statements: true, multi_results: true, local_files: true, ..ClientOptions::default() };
        Console { session: Session::new(server.clone(), client, account, options, CHARSET), answer: Printed::default() }
    }

    /// The printed answer to a statement.
    pub fn run(&mut self, sql: &str) -> String {
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

impl sql::Console for Console {
    fn answer(&mut self, statement: &str) -> String {
        self.run(statement)
    }

    fn set_file(&mut self, bytes: Vec<u8>) {
        self.answer.file = bytes;
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.session.close();
        self.session.server.clients().remove(self.session.client.id);
    }
}

/// A server without listeners, on a directory of its own.
pub struct Started {
    pub server: Arc<Server>,
    dir: PathBuf,
}

impl Started {
    /// `stages` makes the log of commits.
    pub fn new(
        name: &str,
        options: EngineOptions,
        stages: impl FnOnce(RocksLog, LogStore) -> vaquita_types::Result<Arc<dyn Stages>>,
    ) -> Started {
        let dir = std::env::temp_dir().join(format!("vaquita-it-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a directory");
        let engine = Engine::open_with(&dir.join("rocksdb"), options, EngineHooks::default(), stages).expect("an engine");
        let server = server(&dir, engine).expect("a server");
        // The server's pool does so: `max_execution_time`.
        let weak = Arc::downgrade(&server);
        std::thread::spawn(move || {
            while let Some(server) = weak.upgrade() {
                server.clients().interrupt_overdue();
                drop(server);
                std::thread::sleep(DEADLINES_EACH);
            }
        });
        Started { server, dir }
    }

    pub fn end(&self) {
        self.server.catalog.close();
        self.server.engine.shutdown().expect("an end");
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn server(dir: &Path, engine: Arc<Engine>) -> Result<Arc<Server>> {
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
    let server = Server::new(engine, catalog, Arc::new(Globals::new(&fixed)), accounts, Arc::new(OneThread));
    vaquita_session::sys_schema::prepare(&server)?;
    Ok(server)
}
