//! `cargo harness replica-test --mysql HOST:PORT:USER:PASSWORD`: a replica that is killed, and whose connection is cut, has what its source has.
//!
//! 1. Clients change tables on the MySQL that is named, which needs `gtid_mode=ON`: rows of tables with keys and without, in transactions of one row
//!    to ten that commit or roll back, and DDL among them.
//! 2. A Vaquita that is started here follows it. It is killed (`kill -9`) at random, or the source ends its connection.
//! 3. When the clients have ended and the replica has executed what the source has, every row of every table is compared.
//!
//! A row that was lost, written twice or changed in another order is a difference, since the tables count.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::client::{Answer, Client};
use crate::flags::Flags;
use crate::paths;
use crate::random::Random;
use crate::vaquita::{Vaquita, free_port};

pub const DATABASE: &str = "replica_test";
/// The replica is given so long to have all.
const CATCH_UP: Duration = Duration::from_secs(300);
/// Errors of statements that meet each other.
pub const EXPECTED: [u16; 6] = [1205, 1213, 1050, 1051, 1060, 1091];

pub struct Server {
    host: String,
    port: u16,
    user: String,
    password: String,
}

impl Server {
    pub fn parse(address: &str) -> Result<Server, String> {
        let parts: Vec<&str> = address.splitn(4, ':').collect();
        let [host, port, user, password] = parts[..] else { return Err(format!("{address} is not HOST:PORT:USER:PASSWORD")) };
        let port = port.parse().map_err(|_| format!("{port} is no port"))?;
        Ok(Server { host: host.into(), port, user: user.into(), password: password.into() })
    }

    pub fn connect(&self) -> Result<Client, String> {
        Client::connect_to(&self.host, self.port, &self.user, &self.password)
            .map_err(|e| format!("{}:{}: {e}", self.host, self.port))
    }
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let source = flags.text("--mysql")?.ok_or("--mysql host:port:user:password names the source")?;
    let source = Server::parse(&source)?;
    let (kills, seed, clients) = (flags.number("--kills", 20)?, flags.number("--seed", 1)?, flags.number("--clients", 3)?);
    flags.finish()?;
    let dir = paths::target_dir().join(format!("replica-test/{}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let (data, log, binary) = (dir.join("data"), dir.join("server.log"), paths::vaquita()?);
    let mut control = source.connect()?;
    prepare(&mut control)?;
    let mut replica = Vaquita::start(&binary, &data, free_port()?, &log)?;
    follow(&mut connect(&replica)?, &source)?;
    let (stops, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut random = Random::new(seed);
    let replica = thread::scope(|scope| {
        let begin = |n| {
            let (source, stops, done) = (&source, &stops, &done);
            scope.spawn(move || work(source, seed ^ (n << 32), n, stops, done))
        };
        let work: Vec<_> = (0..clients).map(begin).collect();
        let disturb = || {
            for _ in 0..kills {
                thread::sleep(Duration::from_millis(200 + random.below(2000)));
                if random.one_in(4) {
                    cut(&mut control)?;
                    continue;
                }
                replica.kill()?;
                replica = Vaquita::start(&binary, &data, free_port()?, &log)?;
            }
            Ok(replica)
        };
        let replica = disturb();
        stops.store(true, Ordering::Relaxed);
        work.into_iter().try_for_each(|work| work.join().map_err(|_| "a client has panicked".to_string())?).and(replica)
    })?;
    let took = catch_up(&mut control, &mut connect(&replica)?)?;
    let (theirs, ours) = (rows(&mut control)?, rows(&mut connect(&replica)?)?);
    let count: usize = theirs.values().map(Vec::len).sum();
    println!(
        "replica-test: seed {seed}, {} transactions, {kills} kills and cuts, all executed after {} ms, {count} rows in {} tables",
        done.load(Ordering::Relaxed),
        took.as_millis(),
        theirs.len()
    );
    for (table, theirs) in &theirs {
        let none = Vec::new();
        let ours = ours.get(table).unwrap_or(&none);
        if ours != theirs {
            let other = theirs.iter().zip(ours).find(|(a, b)| a != b);
            return Err(format!(
                "{table} differs ({} and {} rows): {other:?}; {} has the replica",
                theirs.len(),
                ours.len(),
                dir.display()
            ));
        }
    }
    query(&mut control, &format!("DROP DATABASE {DATABASE}"))?;
    replica.stop()?;
    std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))
}

fn connect(replica: &Vaquita) -> Result<Client, String> {
    replica.connect().map_err(|e| format!("the replica: {e}"))
}

pub fn query(client: &mut Client, sql: &str) -> Result<Answer, String> {
    match client.try_query(sql).map_err(|e| format!("{sql}: {e}"))? {
        Answer::Err { code, text, .. } => Err(format!("{sql}: {code} {text}")),
        answer => Ok(answer),
    }
}

pub fn prepare(control: &mut Client) -> Result<(), String> {
    [
        format!("DROP DATABASE IF EXISTS {DATABASE}"),
        format!("CREATE DATABASE {DATABASE}"),
        format!("CREATE TABLE {DATABASE}.a (id INT PRIMARY KEY AUTO_INCREMENT, v INT, s VARCHAR(50), KEY (v))"),
        format!("CREATE TABLE {DATABASE}.b (id INT PRIMARY KEY, n BIGINT DEFAULT 0)"),
        format!("CREATE TABLE {DATABASE}.n (x INT, y VARCHAR(20))"),
    ]
    .iter()
    .try_for_each(|sql| query(control, sql).map(drop))
}

fn follow(client: &mut Client, source: &Server) -> Result<(), String> {
    let Server { host, port, user, password } = source;
    query(client, "SET PERSIST server_id = 4242")?;
    let change = format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{host}', SOURCE_PORT = {port}, SOURCE_USER = '{user}', SOURCE_PASSWORD = '{password}', \
         SOURCE_AUTO_POSITION = 1, SOURCE_CONNECT_RETRY = 1"
    );
    query(client, &change)?;
    query(client, "START REPLICA").map(drop)
}

/// The source ends the connections of replicas.
fn cut(control: &mut Client) -> Result<(), String> {
    let dumps = "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'";
    for id in query(control, dumps)?.rows() {
        // It may have ended by itself.
        let _ = control.try_query(&format!("KILL {}", id[0]));
    }
    Ok(())
}

fn work(source: &Server, seed: u64, n: u64, stops: &AtomicBool, done: &AtomicU64) -> Result<(), String> {
    let mut client = source.connect()?;
    query(&mut client, &format!("USE {DATABASE}"))?;
    let mut random = Random::new(seed);
    while !stops.load(Ordering::Relaxed) {
        for sql in transaction(&mut random, n) {
            match client.try_query(&sql).map_err(|e| e.to_string())? {
                Answer::Err { code, .. } if EXPECTED.contains(&code) => {
                    client.query("ROLLBACK");
                    break;
                }
                Answer::Err { code, text, .. } => return Err(format!("{sql}: {code} {text}")),
                _ => {}
            }
        }
        done.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// The statements of one transaction, or one of DDL.
pub fn transaction(random: &mut Random, n: u64) -> Vec<String> {
    let some = random.below(5);
    match random.below(100) {
        0 | 1 => return vec![format!("CREATE TABLE IF NOT EXISTS t{n}_{some} (id INT PRIMARY KEY, v INT)")],
        2 => return vec![format!("DROP TABLE IF EXISTS t{n}_{some}")],
        3 => return vec![format!("ALTER TABLE n ADD COLUMN c{n} INT")],
        4 => return vec![format!("ALTER TABLE n DROP COLUMN c{n}")],
        5 => return vec![format!("ALTER TABLE a DROP KEY v, ADD KEY v (v), COMMENT = '{some}'")],
        _ => {}
    }
    let mut sql = vec!["BEGIN".to_string()];
    for _ in 0..[1, 1, 1, 2, 3, 10][random.below(6) as usize] {
        sql.push(match random.below(20) {
            0..=7 => format!("INSERT INTO a (v, s) VALUES ({}, REPEAT('x', {}))", random.below(1000), random.below(50)),
            8..=11 => format!("UPDATE a SET v = v + 1, s = CONCAT(LEFT(s, 20), 'u') WHERE id = {}", random.below(2000)),
            12 | 13 => format!("DELETE FROM a WHERE id = {}", random.below(2000)),
            14..=16 => format!("INSERT INTO b VALUES ({}, 1) ON DUPLICATE KEY UPDATE n = n + 1", random.below(50)),
            17 | 18 => format!("INSERT INTO n (x, y) VALUES ({}, 'q')", random.below(20)),
            _ => format!("DELETE FROM n WHERE x = {} LIMIT 1", random.below(20)),
        });
    }
    sql.push(if random.one_in(20) { "ROLLBACK" } else { "COMMIT" }.to_string());
    sql
}

/// How long it took until the replica had executed all.
pub fn catch_up(control: &mut Client, replica: &mut Client) -> Result<Duration, String> {
    let plain = |text: &str| text.replace(['\n', ' '], "");
    let wanted = plain(&query(control, "SELECT @@GLOBAL.gtid_executed")?.rows()[0][0]);
    let began = Instant::now();
    loop {
        let Answer::Rows { columns, rows } = query(replica, "SHOW REPLICA STATUS")? else { return Err("no status".into()) };
        let value = |name: &str| {
            let at = columns.iter().position(|column| column == name).unwrap_or(0);
            rows.first().and_then(|row| row[at].clone()).map_or(String::new(), |v| String::from_utf8_lossy(&v).into_owned())
        };
        if plain(&value("Executed_Gtid_Set")) == wanted {
            return Ok(began.elapsed());
        }
        if value("Last_SQL_Errno") != "0" || began.elapsed() > CATCH_UP {
            return Err(format!("the replica stands: {} {}", value("Last_SQL_Error"), value("Last_IO_Error")));
        }
        thread::sleep(Duration::from_millis(20));
    }
}

pub fn rows(client: &mut Client) -> Result<BTreeMap<String, Vec<Vec<String>>>, String> {
    let mut all = BTreeMap::new();
    for table in query(client, &format!("SHOW TABLES FROM {DATABASE}"))?.rows() {
        let mut rows = query(client, &format!("SELECT * FROM {DATABASE}.`{}`", table[0]))?.rows();
        rows.sort();
        all.insert(table[0].clone(), rows);
    }
    Ok(all)
}
