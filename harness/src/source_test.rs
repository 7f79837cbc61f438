//! `cargo harness source-test [--mysql HOST:PORT:USER:PASSWORD] [--mariadb HOST:PORT:USER:PASSWORD] [--plant]`: a source that is killed tells its replicas just what it has.
//!
//! 1. A Vaquita is started with small files of its log, and a second one that follows it; the MySQL that is named, which needs `gtid_mode=ON`
//!    and loses its GTIDs and its channel, follows as well, and so does the MariaDB, by its own GTIDs or, with `--by-position`, by file and
//!    position.
//! 2. Clients change tables on the source, by the transactions and the DDL of `replica-test`. The source, or the second Vaquita, is killed
//!    (`kill -9`) at random; clients connect again.
//! 3. In the end the replicas execute what the source has, and every row of every table is compared.
//!
//! What a client was not told the end of may be there or not, but on all of them alike. `--plant` keeps a row out of the log, and must fail.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::client::{Answer, Client};
use crate::flags::Flags;
use crate::paths;
use crate::random::Random;
use crate::replica_test::{DATABASE, EXPECTED, Server, catch_up, prepare, query, rows, transaction};
use crate::vaquita::{PASSWORD, Vaquita, free_port};

/// Bytes of a file of the log: it ends every few transactions.
const FILE_BYTES: u64 = 64 << 10;
const CATCH_UP_MAX: Duration = Duration::from_secs(120);

pub fn main(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let mysql = flags.text("--mysql")?.map(|address| Server::parse(&address)).transpose()?;
    let mariadb = flags.text("--mariadb")?.map(|address| Server::parse(&address)).transpose()?;
    let by_position = flags.switch("--by-position");
    let (kills, seed, clients) = (flags.number("--kills", 20)?, flags.number("--seed", 1)?, flags.number("--clients", 3)?);
    let plants = flags.switch("--plant");
    flags.finish()?;
    let dir = paths::target_dir().join(format!("source-test/{}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let binary = paths::vaquita()?;
    let mariadb_port = free_port()?.to_string();
    let start = |name: &str, port: u16| {
        let options: &[&str] = match name {
            "source" => &["--server-id", "11", "--mariadb-port", &mariadb_port],
            _ => &["--server-id", "12"],
        };
        let log = dir.join(format!("{name}.log"));
        Vaquita::spawn_with(&binary, &dir.join(name), port, &log, options)?.wait()
    };
    let (source_port, replica_port) = (free_port()?, free_port()?);
    let mut source = start("source", source_port)?;
    let mut control = source.connect()?;
    query(&mut control, &format!("SET PERSIST max_binlog_size = {FILE_BYTES}"))?;
    prepare(&mut control)?;
    let mut replica = start("replica", replica_port)?;
    follow(&mut replica.connect()?, source_port, "")?;
    if let Some(mysql) = &mysql {
        let mut client = mysql.connect()?;
        query(&mut client, "STOP REPLICA")?;
        query(&mut client, "RESET REPLICA ALL")?;
        query(&mut client, &format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
        query(&mut client, "RESET BINARY LOGS AND GTIDS")?;
        follow(&mut client, source_port, ", SOURCE_SSL = 1")?;
    }
    if let Some(mariadb) = &mariadb {
        follow_as_mariadb(&mut mariadb.connect()?, &mut control, &mariadb_port, by_position)?;
    }
    let (stops, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut random = Random::new(seed);
    let (source, replica) = thread::scope(|scope| {
        let begin = |n| {
            let (stops, done) = (&stops, &done);
            scope.spawn(move || work(source_port, seed ^ (n << 32), n, stops, done))
        };
        let work: Vec<_> = (0..clients).map(begin).collect();
        let disturb = || {
            for _ in 0..kills {
                thread::sleep(Duration::from_millis(200 + random.below(2000)));
                if random.one_in(4) {
                    replica.kill()?;
                    replica = start("replica", replica_port)?;
                } else {
                    source.kill()?;
                    source = start("source", source_port)?;
                }
            }
            Ok((source, replica))
        };
        let servers = disturb();
        stops.store(true, Ordering::Relaxed);
        work.into_iter().try_for_each(|work| work.join().map_err(|_| "a client has panicked".to_string())?).and(servers)
    })?;
    let mut control = source.connect()?;
    if plants {
        query(&mut control, "SET sql_log_bin = OFF")?;
        query(&mut control, &format!("INSERT INTO {DATABASE}.b VALUES (-1, 1)"))?;
    }
    let ours = rows(&mut control)?;
    let mut followers = vec![("Vaquita", replica.connect()?)];
    if let Some(mysql) = &mysql {
        followers.push(("MySQL", mysql.connect()?));
    }
    if let Some(mariadb) = &mariadb {
        followers.push(("MariaDB", mariadb.connect()?));
    }
    let files = query(&mut control, "SHOW BINARY LOGS")?.rows().len();
    let count: usize = ours.values().map(Vec::len).sum();
    println!(
        "source-test: seed {seed}, {} transactions, {kills} kills, {files} files of the log, {count} rows in {} tables",
        done.load(Ordering::Relaxed),
        ours.len()
    );
    for (name, client) in &mut followers {
        let took = match *name {
            "MariaDB" => catch_up_mariadb(&mut control, client)?,
            _ => catch_up(&mut control, client)?,
        };
        println!("source-test: {name} has executed all after {} ms", took.as_millis());
        let theirs = rows(client)?;
        if let Some((table, rows)) = ours.iter().find(|(table, rows)| theirs.get(*table) != Some(*rows)) {
            let there = theirs.get(table).map_or(&[][..], |rows| rows);
            let other = rows.iter().zip(there).find(|(a, b)| a != b);
            let (count, there) = (rows.len(), there.len());
            return Err(format!(
                "{table} differs on {name} ({count} and {there} rows): {other:?}; {} has the servers",
                dir.display()
            ));
        }
        if theirs.len() != ours.len() {
            return Err(format!("{name} has {} tables, the source {}", theirs.len(), ours.len()));
        }
    }
    for (_, client) in followers.iter_mut().skip(1) {
        query(client, "STOP REPLICA")?;
        query(client, "RESET REPLICA ALL")?;
    }
    drop((control, followers));
    replica.stop()?;
    source.stop()?;
    std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))
}

fn follow(client: &mut Client, port: u16, more: &str) -> Result<(), String> {
    let change = format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, SOURCE_USER = 'root', SOURCE_PASSWORD = '{PASSWORD}', \
         SOURCE_AUTO_POSITION = 1, SOURCE_CONNECT_RETRY = 1, SOURCE_RETRY_COUNT = 1000, SOURCE_HEARTBEAT_PERIOD = 1{more}"
    );
    query(client, &change)?;
    query(client, "START REPLICA").map(drop)
}

/// With a password that MariaDB's replicas can prove: most have no caching_sha2_password.
fn follow_as_mariadb(client: &mut Client, source: &mut Client, port: &str, by_position: bool) -> Result<(), String> {
    query(source, &format!("CREATE USER mariadb@localhost IDENTIFIED WITH mysql_native_password BY '{PASSWORD}'"))?;
    query(source, "GRANT REPLICATION SLAVE ON *.* TO mariadb@localhost")?;
    query(client, "STOP SLAVE")?;
    query(client, "RESET SLAVE ALL")?;
    query(client, &format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
    query(client, "SET GLOBAL gtid_slave_pos = ''")?;
    let place = if by_position { "no" } else { "slave_pos" };
    let change = format!(
        "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = 'mariadb', MASTER_PASSWORD = '{PASSWORD}', \
         MASTER_USE_GTID = {place}, MASTER_CONNECT_RETRY = 1, MASTER_HEARTBEAT_PERIOD = 1"
    );
    query(client, &change)?;
    query(client, "START SLAVE").map(drop)
}

fn catch_up_mariadb(control: &mut Client, client: &mut Client) -> Result<Duration, String> {
    let wanted = query(control, "SELECT @@GLOBAL.gtid_binlog_pos")?.rows()[0][0].clone();
    let began = Instant::now();
    loop {
        let Answer::Rows { columns, rows } = query(client, "SHOW SLAVE STATUS")? else { return Err("no status".into()) };
        let value = |name: &str| {
            let at = columns.iter().position(|column| column == name).unwrap_or(0);
            rows.first().and_then(|row| row[at].clone()).map_or(String::new(), |v| String::from_utf8_lossy(&v).into_owned())
        };
        if query(client, "SELECT @@GLOBAL.gtid_slave_pos")?.rows()[0][0] == wanted {
            return Ok(began.elapsed());
        }
        if value("Last_SQL_Errno") != "0" || value("Slave_IO_Running") == "No" || began.elapsed() > CATCH_UP_MAX {
            return Err(format!("MariaDB stands: {} {}", value("Last_SQL_Error"), value("Last_IO_Error")));
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn work(port: u16, seed: u64, n: u64, stops: &AtomicBool, done: &AtomicU64) -> Result<(), String> {
    let mut random = Random::new(seed);
    while !stops.load(Ordering::Relaxed) {
        let Ok(mut client) = Client::connect(port, "root", PASSWORD) else {
            thread::sleep(Duration::from_millis(20));
            continue;
        };
        if client.try_query(&format!("USE {DATABASE}")).is_err() {
            continue;
        }
        // Until the server is gone.
        while !stops.load(Ordering::Relaxed) {
            match run(&mut client, &transaction(&mut random, n))? {
                true => done.fetch_add(1, Ordering::Relaxed),
                false => break,
            };
        }
    }
    Ok(())
}

/// False: the server is gone.
fn run(client: &mut Client, transaction: &[String]) -> Result<bool, String> {
    for sql in transaction {
        match client.try_query(sql) {
            Err(_) => return Ok(false),
            Ok(Answer::Err { code, .. }) if EXPECTED.contains(&code) => {
                return Ok(client.try_query("ROLLBACK").is_ok());
            }
            // It is stopping.
            Ok(Answer::Err { code: 1053, .. }) => return Ok(false),
            Ok(Answer::Err { code, text, .. }) => return Err(format!("{sql}: {code} {text}")),
            Ok(_) => {}
        }
    }
    Ok(true)
}
