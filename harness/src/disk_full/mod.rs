//! `cargo harness disk-full`: the disk of a running server fills up and is freed, in three ways, cycle after cycle.
//!
//! The data directory is on `fault_fs`, whose space is limited:
//! 1. *filled*: the server's own writes reach the space that it keeps in reserve;
//! 2. *taken*: something else takes all space at once, during writes;
//! 3. *started*: as 2, and the server is killed and started on the full disk.
//!
//! Each time: writes fail with error 1021 within 5 s, as long as the disk is full; everything acknowledged can be read, and
//! nothing else; DROP and TRUNCATE work; and once there is space again the same server writes again within 10 s. A commit that
//! meets the full disk before the server has noticed it leaves a torn record in the log: then DROP and TRUNCATE may be
//! refused with 1021, too, until there is space. In half of the cycles of way 2 the server is killed in that state, and
//! started on the full disk; in the others it is killed after it has written again. A server that ends by itself must
//! start; such restarts are counted.

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::client::{Answer, Client};
use crate::fault_fs::FaultFs;
use crate::flags::Flags;
use crate::kill_test::{execute, rows};
use crate::paths;
use crate::random::Random;
use crate::vaquita::{Vaquita, free_port};

const ER_DISK_FULL: u16 = 1021;
/// Bytes that the server keeps free (`EngineOptions::disk_reserve_bytes`).
const RESERVE_BYTES: u64 = 256 << 20;
/// Bytes free beyond the reserve before a cycle.
const ROOM_BYTES: u64 = 24 << 20;
const ROW_BYTES: usize = 200_000;
const REFUSED_WITHIN: Duration = Duration::from_secs(5);
const RESUMED_WITHIN: Duration = Duration::from_secs(10);
/// Within that the server takes its reserve again.
const RESERVED_WITHIN: Duration = Duration::from_millis(1500);
const WRITES_MAX: u64 = 4000;
const MEMTABLES: [&str; 2] = ["--storage-test-option", "write-buffer-bytes=8388608"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Filled,
    Taken,
    Started,
}

struct Test {
    binary: PathBuf,
    log: PathBuf,
    fs: FaultFs,
    random: Random,
    last_row: u64,
    /// Rows of `filled` that were acknowledged.
    filled: u64,
    /// Times that the server ended because its log could not grow.
    ended: u64,
    /// DROPs and TRUNCATEs that were refused because its log could not grow.
    drops_refused: u64,
    refused_ms_max: u128,
    resumed_ms_max: u128,
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let cycles = flags.number("--cycles", 6)?;
    let seed = flags.number("--seed", now)?;
    let only = flags.text("--way")?;
    flags.finish()?;
    let dir = paths::target_dir().join(format!("disk-full/{}", std::process::id()));
    println!("disk-full: seed {seed}, {cycles} cycles");
    let mut test = Test {
        binary: paths::vaquita()?,
        log: dir.join("server.log"),
        fs: FaultFs::new(&dir.join("mnt"))?,
        random: Random::new(seed),
        last_row: 0,
        filled: 0,
        ended: 0,
        drops_refused: 0,
        refused_ms_max: 0,
        resumed_ms_max: 0,
    };
    let done = test.run(cycles, only.as_deref());
    println!(
        "disk-full: seed {seed}, {cycles} cycles, refused after {} ms at most, resumed after {} ms at most, {} ends of the server, \
         {} DROP and TRUNCATE refused, {} failures",
        test.refused_ms_max,
        test.resumed_ms_max,
        test.ended,
        test.drops_refused,
        u8::from(done.is_err())
    );
    done.map_err(|text| {
        let log = crate::vaquita::last_lines(&test.log, 20);
        format!(
            "FAILED: {text}\nthe server's last messages:\n{log}\nagain: cargo harness disk-full --cycles {cycles} --seed {seed}"
        )
    })?;
    drop(test);
    std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))
}

impl Test {
    fn run(&mut self, cycles: u64, only: Option<&str>) -> Result<(), String> {
        self.fs.mount()?;
        let mut server = self.start()?;
        for cycle in 1..=cycles {
            let way = match only {
                Some("filled") => Way::Filled,
                Some("taken") => Way::Taken,
                Some("started") => Way::Started,
                _ => [Way::Filled, Way::Taken, Way::Started][(cycle % 3) as usize],
            };
            server = self.cycle(server, way).map_err(|text| format!("cycle {cycle}, {way:?}: {text}"))?;
        }
        server.stop()
    }

    fn start(&self) -> Result<Vaquita, String> {
        Vaquita::spawn_with(&self.binary, &self.fs.dir(), free_port()?, &self.log, &MEMTABLES)?.wait()
    }

    fn cycle(&mut self, mut server: Vaquita, way: Way) -> Result<Vaquita, String> {
        self.fs.set_space(None);
        let mut client = server.connect()?;
        self.prepare(&mut client)?;
        std::thread::sleep(RESERVED_WITHIN);
        let free = if way == Way::Filled { RESERVE_BYTES + ROOM_BYTES } else { RESERVE_BYTES * 4 };
        self.fs.set_space(Some(self.fs.used() + free));
        if way != Way::Filled {
            for _ in 0..self.random.below(40) {
                self.insert(&mut client)?.map_err(|code| format!("error {code} with space left"))?;
            }
            self.fs.set_space(Some(self.fs.used()));
        }
        if way == Way::Started {
            server.kill()?;
            server = self.start().map_err(|text| format!("it does not start on a full disk: {text}"))?;
            client = server.connect()?;
        }
        let begun = Instant::now();
        if let Err(text) = self.write_until_refused(&mut client, way, begun) {
            std::thread::sleep(Duration::from_millis(500));
            if way == Way::Filled || !server.has_ended() {
                return Err(text);
            }
            // A commit met the full disk before the housekeeper did, and the log could not grow.
            self.ended += 1;
            server = self.start().map_err(|text| format!("it does not start on a full disk: {text}"))?;
            client = server.connect()?;
            self.count_commit_under_way(&mut client)?;
            self.write_until_refused(&mut client, way, Instant::now())?;
        }
        self.check_reads(&mut client)?;
        // What is refused stays refused: a moment later, and for another connection.
        let refused = self.insert(&mut server.connect()?)?;
        if refused != Err(ER_DISK_FULL) {
            return Err(format!("the disk is full, and an INSERT ends with {refused:?}"));
        }
        let killed = way == Way::Taken && self.random.one_in(2);
        if killed {
            server.kill()?;
            server = self.start().map_err(|text| format!("it does not start on a full disk: {text}"))?;
            client = server.connect()?;
            self.check_reads(&mut client)?;
        }
        for sql in ["TRUNCATE TABLE full.truncated", "DROP TABLE full.dropped"] {
            self.free_space(&mut client, sql, way == Way::Taken && !killed)?;
        }
        self.check_reads(&mut client)?;
        self.fs.set_space(None);
        let freed = Instant::now();
        while self.insert(&mut client)?.is_err() {
            if freed.elapsed() > RESUMED_WITHIN {
                return Err(format!("there is space again since {} s, and INSERT is still refused", RESUMED_WITHIN.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        self.resumed_ms_max = self.resumed_ms_max.max(freed.elapsed().as_millis());
        self.check_reads(&mut client)?;
        if server.has_ended() {
            return Err("it ended".into());
        }
        if way == Way::Taken {
            server.kill()?;
            server = self.start()?;
            self.check_reads(&mut server.connect()?)?;
        }
        Ok(server)
    }

    fn free_space(&mut self, client: &mut Client, sql: &str, may_be_refused: bool) -> Result<(), String> {
        match client.try_query(sql).map_err(|e| format!("{sql}: {e}"))? {
            Answer::Ok { .. } => Ok(()),
            Answer::Err { code: ER_DISK_FULL, .. } if may_be_refused => {
                self.drops_refused += 1;
                Ok(())
            }
            other => Err(format!("{sql}: {other:?}")),
        }
    }

    fn prepare(&mut self, client: &mut Client) -> Result<(), String> {
        execute(client, "DROP DATABASE IF EXISTS full")?;
        execute(client, "CREATE DATABASE full")?;
        execute(client, "USE full")?;
        self.filled = 0;
        for table in ["filled", "truncated", "dropped"] {
            execute(client, &format!("CREATE TABLE {table} (id INT PRIMARY KEY, pad MEDIUMTEXT NOT NULL)"))?;
            let pad = self.pad();
            execute(client, &format!("INSERT INTO {table} VALUES (0, '{pad}')"))?;
        }
        self.filled = 1;
        Ok(())
    }

    /// Text that does not compress much.
    fn pad(&mut self) -> String {
        let mut text = String::with_capacity(ROW_BYTES + 16);
        while text.len() < ROW_BYTES {
            text += &format!("{:016x}", self.random.next());
        }
        text
    }

    /// A row more, or the code of the error.
    fn insert(&mut self, client: &mut Client) -> Result<Result<(), u16>, String> {
        self.last_row += 1;
        let pad = self.pad();
        let sql = format!("INSERT INTO full.filled VALUES ({}, '{pad}')", self.last_row);
        match client.try_query(&sql).map_err(|e| format!("INSERT: {e}"))? {
            Answer::Ok { .. } => {
                self.filled += 1;
                Ok(Ok(()))
            }
            Answer::Err { code, .. } => Ok(Err(code)),
            other => Err(format!("INSERT: {other:?}")),
        }
    }

    fn write_until_refused(&mut self, client: &mut Client, way: Way, begun: Instant) -> Result<(), String> {
        for _ in 0..WRITES_MAX {
            let sent = Instant::now();
            let done = self.insert(client)?;
            if sent.elapsed() > REFUSED_WITHIN {
                return Err(format!("an INSERT took {} ms", sent.elapsed().as_millis()));
            }
            match done {
                Ok(()) if way != Way::Filled && begun.elapsed() > REFUSED_WITHIN => {
                    return Err("INSERT still succeeds 5 s after all space was taken".into());
                }
                Ok(()) => {}
                Err(ER_DISK_FULL) => {
                    self.refused_ms_max = self.refused_ms_max.max(sent.elapsed().as_millis());
                    return Ok(());
                }
                Err(code) => return Err(format!("INSERT fails with {code}, not {ER_DISK_FULL}")),
            }
        }
        Err(format!("{WRITES_MAX} rows fit although the disk is full"))
    }

    /// The row that was on its way when the server ended may be there or not.
    fn count_commit_under_way(&mut self, client: &mut Client) -> Result<(), String> {
        if rows(client, "SELECT COUNT(*) FROM full.filled")? == [[(self.filled + 1).to_string()]] {
            self.filled += 1;
        }
        self.check_reads(client)
    }

    fn check_reads(&self, client: &mut Client) -> Result<(), String> {
        let found = rows(client, "SELECT COUNT(*), SUM(LENGTH(pad)) FROM full.filled")?;
        let pad_bytes = ROW_BYTES.div_ceil(16) * 16;
        let expected = vec![vec![self.filled.to_string(), (self.filled * pad_bytes as u64).to_string()]];
        if found == expected { Ok(()) } else { Err(format!("{found:?} is there, {expected:?} was acknowledged")) }
    }
}
