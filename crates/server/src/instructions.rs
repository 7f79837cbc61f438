//! What statements cost in instructions: the harness that `cargo xtask instructions` runs under callgrind.
//!
//! A server without listeners, and one client at the other end of a socket pair. The test's thread is both: it sends a
//! command, calls `Connection::run` as a thread of the pool would, and reads the answer. So what is counted is a statement's whole way
//! through this process, from `recv` to `send`, without the pool's `epoll_wait`; the kernel's part is not seen.
//!
//! callgrind counts inside `vaquita_counted` only, in the thread that is in it: neither start nor client, compactions, or the pool.
//! At each `vaquita_count_ends` it writes what it counted since the last and begins anew. What would make figures differ from
//! run to run is out: no round of the housekeeper, no compaction, a block cache of a fixed size that has all rows.
//!
//! Run as an ordinary test it checks the answers and counts nothing.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use vaquita_storage::{Catalog, Engine, EngineHooks, EngineOptions};
use vaquita_types::stack::THREAD_BYTES;
use vaquita_wire::caps::client as flag;
use vaquita_wire::handshake::{HandshakeResponse, NONCE_BYTES, decode_handshake_response, put_handshake_response};

use crate::fronts::mysql::connection::Connection;
use crate::fronts::mysql::front::{Front, Hooks};
use crate::fronts::mysql::login::Login;
use crate::fronts::mysql::transport::Transport;
use crate::pool::{Pool, Ran, Task, Worker};
use vaquita_session::accounts::{Accounts, root_account};
use vaquita_session::clients::Client;
use vaquita_session::server::{Server, VERSION};
use vaquita_session::variables::{Fixed, Globals};

type Failure = Box<dyn std::error::Error>;

/// Of sbtest1.
const ROWS: u64 = 10_000;
/// Of one INSERT that fills, and of the one that is counted.
const ROWS_A_STATEMENT: u64 = 100;
/// Runs of each statement that are not counted: caches fill, buffers grow.
const WARM_UP: u32 = 20;
/// What libmysqlclient sets for sysbench, as far as answers depend on it.
const CAPS: u32 = flag::LONG_PASSWORD
    | flag::LONG_FLAG
    | flag::PROTOCOL_41
    | flag::TRANSACTIONS
    | flag::SECURE_CONNECTION
    | flag::MULTI_STATEMENTS
    | flag::MULTI_RESULTS
    | flag::PS_MULTI_RESULTS
    | flag::PLUGIN_AUTH
    | flag::DEPRECATE_EOF;
/// utf8mb4_0900_ai_ci.
const COLLATION: u8 = 255;

/// One row of the table of figures.
struct Kind {
    name: &'static str,
    /// With `?` also where it is sent as text: the values are put in their places.
    sql: String,
    prepared: bool,
    values: fn(&mut Numbers) -> Vec<Value>,
    answer: Answer,
    count: u32,
    /// What the figure is per, in one statement: 1, or its rows.
    units: u64,
}

#[derive(Clone, Copy)]
enum Answer {
    Rows(u64),
    Changed(u64),
}

#[derive(Clone)]
enum Value {
    Int(u64),
    Text(String),
}

/// The same numbers in every run (splitmix64).
struct Numbers {
    state: u64,
    /// Rows deleted so far.
    deleted: u64,
}

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn id(&mut self) -> Value {
        Value::Int(1 + self.below(ROWS))
    }

    /// 100 neighbours, first and last.
    fn range(&mut self, first: u64) -> Vec<Value> {
        let from = first + self.below(ROWS - 100);
        vec![Value::Int(from), Value::Int(from + 99)]
    }

    /// sysbench's `c` (10 groups of digits) and `pad` (5).
    fn digits(&mut self, groups: usize) -> Value {
        let groups: Vec<String> = (0..groups).map(|_| format!("{:011}", self.below(100_000_000_000))).collect();
        Value::Text(groups.join("-"))
    }

    fn row(&mut self, id: u64, k: u64) -> Vec<Value> {
        vec![Value::Int(id), Value::Int(k), self.digits(10), self.digits(5)]
    }
}

/// Each `k` from 0 once, neighbours far from each other.
fn k_of(id: u64) -> u64 {
    id * 7919 % ROWS
}

fn kinds() -> Vec<Kind> {
    let kind = |name, sql: &str, prepared, values, answer, count| Kind {
        name,
        sql: sql.to_string(),
        prepared,
        values,
        answer,
        count,
        units: 1,
    };
    let one: fn(&mut Numbers) -> Vec<Value> = |n| vec![n.id()];
    let by_id: fn(&mut Numbers) -> Vec<Value> = |n| n.range(1);
    let by_k: fn(&mut Numbers) -> Vec<Value> = |n| n.range(0);
    let rows = |count| Answer::Rows(count);
    let range = |what: &str, end: &str| format!("SELECT {what} FROM sbtest1 WHERE id BETWEEN ? AND ?{end}");
    let mut kinds = vec![
        kind("prepared_point_select", "SELECT c FROM sbtest1 WHERE id=?", true, one, rows(1), 300),
        kind("text_point_select", "SELECT c FROM sbtest1 WHERE id=?", false, one, rows(1), 300),
        kind("range_100", &range("c", ""), true, by_id, rows(100), 50),
        kind("sum_100", &range("SUM(k)", ""), true, by_id, rows(1), 50),
        kind("order_100", &range("c", " ORDER BY c"), true, by_id, rows(100), 50),
        kind("secondary_100", "SELECT c FROM sbtest1 WHERE k BETWEEN ? AND ?", true, by_k, rows(100), 50),
        kind("scan_row", "SELECT COUNT(*) FROM sbtest1 WHERE c < '5'", false, |_| Vec::new(), rows(1), 4),
        kind(
            "update_non_index",
            "UPDATE sbtest1 SET c=? WHERE id=?",
            true,
            |n| vec![n.digits(10), n.id()],
            Answer::Changed(1),
            200,
        ),
        kind("update_index", "UPDATE sbtest1 SET k=k+1 WHERE id=?", true, one, Answer::Changed(1), 200),
        kind(
            "insert",
            "INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)",
            true,
            |n| {
                let k = n.below(ROWS);
                n.row(0, k)
            },
            Answer::Changed(1),
            200,
        ),
        kind("delete", "DELETE FROM sbtest1 WHERE id=?", true, next_deleted, Answer::Changed(1), 200),
        kind("bulk_insert_row", &insert("sbtest2"), false, bulk, Answer::Changed(ROWS_A_STATEMENT), 10),
    ];
    kinds.iter_mut().for_each(|kind| match kind.name {
        "scan_row" => kind.units = ROWS,
        "bulk_insert_row" => kind.units = ROWS_A_STATEMENT,
        _ => {}
    });
    kinds
}

fn next_deleted(numbers: &mut Numbers) -> Vec<Value> {
    numbers.deleted += 1;
    vec![Value::Int(numbers.deleted * 17)]
}

fn bulk(numbers: &mut Numbers) -> Vec<Value> {
    (0..ROWS_A_STATEMENT)
        .flat_map(|_| {
            let k = numbers.below(ROWS);
            numbers.row(0, k)
        })
        .collect()
}

fn insert(table: &str) -> String {
    let rows = vec!["(?, ?, ?, ?)"; ROWS_A_STATEMENT as usize];
    format!("INSERT INTO {table} (id, k, c, pad) VALUES {}", rows.join(", "))
}

/// `sql` with its values instead of `?`.
fn text(sql: &str, values: &[Value]) -> String {
    let mut parts = sql.split('?');
    let mut text = parts.next().unwrap_or_default().to_string();
    for (value, part) in values.iter().zip(parts) {
        match value {
            Value::Int(i) => text.push_str(&i.to_string()),
            Value::Text(t) => text.push_str(&format!("'{t}'")),
        }
        text.push_str(part);
    }
    text
}

/// The payload of COM_STMT_EXECUTE; types are sent with the first execution only, as libmysqlclient does.
fn execute(statement_id: u32, values: &[Value], first: bool) -> Vec<u8> {
    let mut payload = vec![0x17];
    payload.extend_from_slice(&statement_id.to_le_bytes());
    payload.extend_from_slice(&[0, 1, 0, 0, 0]);
    payload.extend(std::iter::repeat_n(0, values.len().div_ceil(8)));
    payload.push(u8::from(first));
    if first {
        // LONGLONG and VAR_STRING.
        values
            .iter()
            .for_each(|value| payload.extend_from_slice(if matches!(value, Value::Int(_)) { &[8, 0] } else { &[253, 0] }));
    }
    for value in values {
        match value {
            Value::Int(i) => payload.extend_from_slice(&i.to_le_bytes()),
            Value::Text(t) => vaquita_wire::codec::put_lenenc_bytes(&mut payload, t.as_bytes()),
        }
    }
    payload
}

/// What callgrind counts: one command, from its bytes to its answer's.
#[allow(unsafe_code)] // SAFETY: no other symbol of the process has this name.
#[unsafe(no_mangle)]
#[inline(never)]
fn vaquita_counted(connection: &Arc<Connection>, worker: &mut Worker) -> Ran {
    // Not a tail call, which would leave this function before the work begins.
    std::hint::black_box(connection.clone().run(worker))
}

/// Where callgrind writes what it has counted; says what that was.
#[allow(unsafe_code)] // SAFETY: no other symbol of the process has this name.
#[unsafe(no_mangle)]
#[inline(never)]
fn vaquita_count_ends(name: &str, units: u64) {
    println!("counted {name} {units}");
}

/// The server and its client.
struct Harness {
    front: Arc<Front>,
    connection: Arc<Connection>,
    worker: Worker,
    socket: UnixStream,
    _dir: Directory,
}

struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Harness {
    /// As `serve::run`, without what a client in the same process does not need.
    fn open() -> Result<Harness, Failure> {
        let dir = std::env::temp_dir().join(format!("vaquita-instructions-{}", std::process::id()));
        let guard = Directory(dir.clone());
        std::fs::create_dir_all(&dir)?;
        let mut options = EngineOptions {
            block_cache_bytes: Some(64 << 20),
            background_jobs: Some(2),
            warm_log: false,
            ..EngineOptions::default()
        };
        options.tuning.round = Duration::from_secs(3600);
        options.tuning.level0_files = 100;
        let hooks = Arc::new(Hooks::default());
        let engine = Engine::open(&dir.join("rocksdb"), options, EngineHooks::of(hooks.clone()))?;
        let catalog = Catalog::open(&engine)?;
        let accounts = Accounts::open(catalog.clone())?;
        accounts.change(|records| {
            records.push(Arc::new(root_account("")));
            Ok(())
        })?;
        let pool = Pool::start(1)?;
        let _ = hooks.pool.set(pool.clone());
        let fixed = Fixed {
            version: VERSION,
            data_dir: dir.clone(),
            port: 0,
            bind: String::new(),
            socket: dir.join("no.sock"),
            server_uuid: vaquita_session::variables::server_uuid(&catalog)?,
            options: Vec::new(),
        };
        let server = Server::new(engine, catalog, Arc::new(Globals::new(&fixed)), accounts, hooks.clone());
        let _ = hooks.server.set(Arc::downgrade(&server));
        let front = Front::new(server, pool, None, u64::MAX);
        let (socket, servers) = UnixStream::pair()?;
        socket.set_nonblocking(true)?;
        let client = Arc::new(Client::new(8, "localhost".into(), None));
        let uid = rustix::process::geteuid().as_raw();
        let login = Login::new([b'n'; NONCE_BYTES], CAPS, "localhost".into(), None, Some(uid), false);
        let connection = Arc::new(Connection::new(front.clone(), Transport::new(servers.into()), login, 1, client.clone()));
        connection.wakes(&client);
        front.server.clients().add(client);
        let worker = Worker { read_buffer: vec![0; 64 << 10].into_boxed_slice(), write_buffer: Vec::new() };
        let mut harness = Harness { front, connection, worker, socket, _dir: guard };
        harness.log_in()?;
        Ok(harness)
    }

    /// The server's own user needs no password over a Unix socket.
    fn log_in(&mut self) -> Result<(), Failure> {
        let response = HandshakeResponse {
            capabilities: CAPS,
            packet_bytes_max: 16 << 20,
            charset: COLLATION,
            user: b"root",
            auth_response: b"",
            database: None,
            auth_plugin: Some(b"caching_sha2_password"),
            attributes: Default::default(),
            zstd_level: 0,
        };
        let mut payload = Vec::new();
        put_handshake_response(&mut payload, &response, &[]);
        debug_assert!(decode_handshake_response(&payload, CAPS).is_ok());
        self.command(&payload, 1).map(drop)
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Vec<u8>>, Failure> {
        let payload = [&[3], sql.as_bytes()].concat();
        self.command(&payload, 0).map_err(|error| format!("{error}: {}", sql.get(..80).unwrap_or(sql)).into())
    }

    fn prepare(&mut self, sql: &str) -> Result<u32, Failure> {
        let answer = self.command(&[&[0x16], sql.as_bytes()].concat(), 0)?;
        let id = answer.first().and_then(|packet| packet.get(1..5)).ok_or("no statement")?;
        Ok(u32::from_le_bytes(id.try_into()?))
    }

    /// Sends one command and has it run; the packets of its answer.
    fn command(&mut self, payload: &[u8], seq: u8) -> Result<Vec<Vec<u8>>, Failure> {
        let mut packet = (payload.len() as u32).to_le_bytes();
        packet[3] = seq;
        self.socket.write_all(&[&packet, payload].concat())?;
        if !matches!(vaquita_counted(&self.connection, &mut self.worker), Ran::Idle) {
            return Err("the command was not answered at once".into());
        }
        self.worker.write_buffer.clear();
        let answer = packets(&self.received()?);
        match answer.first() {
            None => Err("no answer".into()),
            Some(error) if error.first() == Some(&0xff) => Err(String::from_utf8_lossy(error).into()),
            Some(_) => Ok(answer),
        }
    }

    fn received(&mut self) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        match self.socket.read_to_end(&mut bytes) {
            Ok(_) => Err("the server closed the connection".into()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(bytes),
            Err(error) => Err(error.into()),
        }
    }

    /// sysbench's tables, the rows in files.
    fn fill(&mut self, numbers: &mut Numbers) -> Result<(), Failure> {
        self.query("CREATE DATABASE sbtest")?;
        self.query("USE sbtest")?;
        for table in ["sbtest1", "sbtest2"] {
            self.query(&format!(
                "CREATE TABLE {table} (id INT NOT NULL AUTO_INCREMENT, k INT NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '', \
                 pad CHAR(60) NOT NULL DEFAULT '', PRIMARY KEY (id), KEY k_1 (k))"
            ))?;
        }
        let sql = insert("sbtest1");
        // Two files with the same range of keys: one alone would be moved as it is, and rewritten while statements are counted.
        for first in (1..=ROWS).step_by(ROWS_A_STATEMENT as usize) {
            let values: Vec<Value> = (first..first + ROWS_A_STATEMENT).flat_map(|id| numbers.row(id, k_of(id))).collect();
            self.query(&text(&sql, &values))?;
            if first == ROWS / 2 + 1 {
                self.front.server.engine.flush_memtables()?;
            }
        }
        self.query("ANALYZE TABLE sbtest1")?;
        self.front.server.engine.compact_data_range(&[], &[0xff; 8])?;
        // Into the block cache, which scans of whole tables leave alone.
        for first in (0..=ROWS).step_by(ROWS_A_STATEMENT as usize) {
            let last = first + ROWS_A_STATEMENT;
            self.query(&format!("SELECT c FROM sbtest1 WHERE id BETWEEN {first} AND {last}"))?;
            self.query(&format!("SELECT COUNT(*) FROM sbtest1 FORCE INDEX (k_1) WHERE k BETWEEN {first} AND {last}"))?;
        }
        Ok(())
    }

    fn run(&mut self, kind: &Kind, count: u32, statement_id: Option<u32>, numbers: &mut Numbers) -> Result<(), Failure> {
        for _ in 0..count {
            let values = (kind.values)(numbers);
            let answer = match statement_id {
                Some(id) => self.command(&execute(id, &values, false), 0)?,
                None => self.query(&text(&kind.sql, &values))?,
            };
            kind.answer.check(&answer)?;
        }
        Ok(())
    }

    fn count(&mut self, kind: &Kind, numbers: &mut Numbers) -> Result<(), Failure> {
        let mut statement_id = None;
        if kind.prepared {
            let id = self.prepare(&kind.sql)?;
            kind.answer.check(&self.command(&execute(id, &(kind.values)(numbers), true), 0)?)?;
            statement_id = Some(id);
        }
        self.run(kind, WARM_UP.min(kind.count), statement_id, numbers)?;
        vaquita_count_ends("warm-up", 0);
        self.run(kind, kind.count, statement_id, numbers)?;
        vaquita_count_ends(kind.name, u64::from(kind.count) * kind.units);
        Ok(())
    }
}

impl Answer {
    /// Of one column, or an OK; other answers are not what was to be counted.
    fn check(self, answer: &[Vec<u8>]) -> Result<(), Failure> {
        let right = match self {
            Answer::Rows(rows) => answer.len() as u64 == rows + 3 && answer.last().and_then(|end| end.first()) == Some(&0xfe),
            Answer::Changed(rows) => answer.len() == 1 && answer[0].get(..2) == Some(&[0, rows as u8]),
        };
        if right { Ok(()) } else { Err(format!("{} packets: {answer:?}", answer.len()).into()) }
    }
}

/// The payloads of whole packets.
fn packets(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    while let [a, b, c, _, rest @ ..] = bytes {
        let (payload, behind) = rest.split_at(u32::from_le_bytes([*a, *b, *c, 0]).min(rest.len() as u32) as usize);
        found.push(payload.to_vec());
        bytes = behind;
    }
    found
}

/// On a thread with the stack of those that run statements: a smaller one would have to be extended.
#[test]
fn statements_are_counted() -> Result<(), Failure> {
    let counting =
        std::thread::Builder::new().stack_size(THREAD_BYTES).spawn(|| count_all().map_err(|error| error.to_string()))?;
    counting.join().map_err(|_| "the harness panicked")??;
    Ok(())
}

fn count_all() -> Result<(), Failure> {
    let mut numbers = Numbers { state: 1, deleted: 0 };
    let mut harness = Harness::open()?;
    harness.fill(&mut numbers)?;
    // libtest has left a line open.
    println!();
    for kind in kinds() {
        harness.count(&kind, &mut numbers).map_err(|error| format!("{}: {error}", kind.name))?;
    }
    harness.front.pool().stop();
    harness.front.server.catalog.close();
    harness.front.server.engine.shutdown()?;
    Ok(())
}
