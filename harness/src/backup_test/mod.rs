//! `cargo harness backup-test`: backups, archived logs and restores of a server under load, with kills and flipped bits.
//!
//! 1. Clients commit transactions that each leave a row with their number, move amounts between accounts by amounts that follow from client and
//!    number, and change an indexed table; another client makes and drops tables. So what a database must look like follows from the last number of each client in it.
//! 2. Meanwhile backups are taken, a process archives the log, and each of them and the server are killed (`kill -9`) at random.
//! 3. Backups are restored elsewhere. A restored database must have, of each client, all numbers up to one, which is not lower than what the client
//!    had been told before the backup began and not higher than what it had begun when it ended; and the accounts and tables that follow from that.
//! 4. With the archived log, restores are made to random GTIDs (exactly so many transactions must be there) and to random times (everything that was
//!    acknowledged before it, nothing that began after it).
//! 5. Bits of the place are flipped: `verify` must name the file.

mod clients;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::flags::Flags;
use crate::paths;
use crate::random::Random;
use crate::vaquita::{PASSWORD, Vaquita, free_port};
use clients::{ACCOUNTS, CLIENTS, Counts, make_tables, moved, prepare, query, value, work};

/// The archiver is given so long to end.
const END_MAX: Duration = Duration::from_secs(60);

pub fn main(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let options = Options {
        backups: flags.number("--backups", 20)?,
        points: flags.number("--points", 10)?,
        flips: flags.number("--flips", 20)?,
        seed: flags.number("--seed", 1)?,
        sealed: flags.switch("--encrypted"),
        plant: flags.text("--plant")?,
    };
    flags.finish()?;
    let dir = paths::target_dir().join(format!("backup-test/{}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let test = Test::new(dir.clone(), &options)?;
    test.run(&options)?;
    std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))
}

struct Options {
    backups: u64,
    points: u64,
    flips: u64,
    seed: u64,
    sealed: bool,
    /// `lost-row`: a restored database loses one before it is checked.
    plant: Option<String>,
}

struct Test {
    dir: PathBuf,
    binary: PathBuf,
    port: u16,
    counts: Vec<Counts>,
    key: Option<PathBuf>,
}

/// Of each client the numbers between which its last one must be.
type Bounds = Vec<(u64, u64)>;

impl Test {
    fn new(dir: PathBuf, options: &Options) -> Result<Test, String> {
        let key = options.sealed.then(|| dir.join("key"));
        if let Some(key) = &key {
            std::fs::write(key, "0123456789abcdef".repeat(4)).map_err(|e| e.to_string())?;
        }
        let counts = (0..CLIENTS).map(|_| Counts::default()).collect();
        Ok(Test { dir, binary: paths::vaquita()?, port: free_port()?, counts, key })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn serve(&self) -> Result<Vaquita, String> {
        Vaquita::start(&self.binary, &self.path("data"), self.port, &self.path("server.log"))
    }

    /// A command of the binary on the place.
    fn command(&self, command: &str, more: &[&str]) -> Command {
        let mut run = Command::new(&self.binary);
        run.arg(command).arg(self.path("place")).args(more);
        if let Some(key) = &self.key {
            run.arg("--key-file").arg(key);
        }
        if command == "backup" {
            run.arg("--from").arg(format!("mysql://root:{PASSWORD}@127.0.0.1:{}", self.port));
        }
        run.stdin(Stdio::null());
        run
    }

    fn run(&self, options: &Options) -> Result<(), String> {
        let mut random = Random::new(options.seed);
        let mut server = self.serve()?;
        prepare(&mut server.connect()?)?;
        let stops = AtomicBool::new(false);
        let (taken, archiver, kills) = thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|n| {
                    scope.spawn({
                        let (stops, port, counts) = (&stops, self.port, &self.counts[n]);
                        move || work(port, counts, n, stops)
                    })
                })
                .collect();
            let ddl = scope.spawn(|| make_tables(self.port, &stops));
            let done = self.take_backups(options, &mut random, &mut server);
            stops.store(true, Ordering::Relaxed);
            clients
                .into_iter()
                .chain([ddl])
                .try_for_each(|client| client.join().map_err(|_| "a client has panicked".to_string())?)
                .and(done)
        })?;
        end(archiver)?;
        self.ok(&mut self.command("backup", &["--log", "--once"]))?;
        let transactions: u64 = self.counts.iter().map(|counts| counts.told.load(Ordering::Relaxed)).sum();
        println!("backup-test: {} backups of {transactions} transactions, {kills} kills", taken.len());
        let uuid = value(&mut server.connect()?, "SELECT @@server_uuid")?;
        let executed = value(&mut server.connect()?, "SELECT @@gtid_executed")?;
        server.stop()?;
        self.ok(&mut self.command("verify", &[]))?;
        for (nth, (id, bounds)) in taken.iter().enumerate() {
            self.restore_killed(&mut random, nth, &["--backup", id])?;
            self.check(bounds, None, options).map_err(|e| format!("backup {id}: {e}"))?;
        }
        println!("backup-test: {} backups restored and found right", taken.len());
        self.check_points(options, &mut random, &uuid, &executed)?;
        self.flip_bits(options, &mut random)
    }

    /// Backups with what each must have, the archiver, and the number of kills.
    fn take_backups(
        &self,
        options: &Options,
        random: &mut Random,
        server: &mut Vaquita,
    ) -> Result<(Vec<(String, Bounds)>, Child, u64), String> {
        let archive = || {
            let log = std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(self.path("archiver.log"))
                .map_err(|e| e.to_string())?;
            self.command("backup", &["--log", "--delay", "100"]).stderr(log).spawn().map_err(|e| e.to_string())
        };
        let (mut archiver, mut kills, mut taken) = (archive()?, 0, Vec::new());
        while (taken.len() as u64) < options.backups {
            thread::sleep(Duration::from_millis(random.below(400)));
            match random.below(8) {
                0 => {
                    let mut backup = self
                        .command("backup", &[])
                        .stdout(Stdio::null())
                        .stderr(Stdio::null())
                        .spawn()
                        .map_err(|e| e.to_string())?;
                    thread::sleep(Duration::from_millis(random.below(120)));
                    let _ = backup.kill();
                    let _ = backup.wait();
                    kills += 1;
                }
                1 => {
                    let _ = archiver.kill();
                    let _ = archiver.wait();
                    archiver = archive()?;
                    kills += 1;
                }
                2 => {
                    let again = |server: &mut Vaquita| -> Result<Vaquita, String> {
                        server.kill_now()?;
                        self.serve()
                    };
                    *server = again(server)?;
                    kills += 1;
                }
                _ => {
                    let least: Vec<u64> = self.counts.iter().map(|counts| counts.told.load(Ordering::SeqCst)).collect();
                    let text = self.ok(&mut self.command("backup", &[]))?;
                    let most: Vec<u64> = self.counts.iter().map(|counts| counts.begun.load(Ordering::SeqCst)).collect();
                    let id = text.split_whitespace().nth(1).map(|id| id.trim_end_matches(':').to_string());
                    taken.push((id.ok_or("backup prints no name")?, least.into_iter().zip(most).collect()));
                }
            }
        }
        Ok((taken, archiver, kills))
    }

    fn ok(&self, command: &mut Command) -> Result<String, String> {
        let done = command.output().map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        match done.status.success() {
            true => Ok(text),
            false => Err(format!("{command:?}: {text}{}", String::from_utf8_lossy(&done.stderr))),
        }
    }

    /// Restores into `restored`; now and then the restore is killed first.
    fn restore_killed(&self, random: &mut Random, nth: usize, more: &[&str]) -> Result<String, String> {
        let target = self.path("restored");
        let _ = std::fs::remove_dir_all(&target);
        let shown = target.display().to_string();
        let args: Vec<&str> = [&["--data-dir", &shown][..], more].concat();
        if nth.is_multiple_of(3) {
            let mut run =
                self.command("restore", &args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(|e| e.to_string())?;
            thread::sleep(Duration::from_millis(random.below(60)));
            let _ = run.kill();
            let _ = run.wait();
            if target.exists() {
                let _ = std::fs::remove_dir_all(&target);
            }
        }
        self.ok(&mut self.command("restore", &args))
    }

    /// What the restored database must be, and with `transactions` exactly how many it must have.
    fn check(&self, bounds: &Bounds, transactions: Option<u64>, options: &Options) -> Result<(), String> {
        let restored = self.path("restored");
        let server = Vaquita::start(&self.binary, &restored, free_port()?, &self.path("restored.log"))?;
        let mut client = server.connect()?;
        if options.plant.as_deref() == Some("lost-row") {
            let _ = client.try_query("DELETE FROM test_backup.done WHERE client = 1 ORDER BY k LIMIT 1");
        }
        let numbers = query(
            &mut client,
            "SELECT client, COUNT(*), COALESCE(MAX(k), 0) FROM test_backup.done GROUP BY client ORDER BY client",
        )?;
        let mut last = [0; CLIENTS];
        for row in numbers.rows() {
            let [n, count, max] = [0, 1, 2].map(|at| row[at].parse::<u64>().unwrap_or(u64::MAX));
            if count != max {
                return Err(format!("client {n} has {count} rows and the last number {max}"));
            }
            last[n as usize] = max;
        }
        for (n, (last, (least, most))) in last.iter().zip(bounds).enumerate() {
            if last < least || last > most {
                return Err(format!("client {n} has {last}, which is to be from {least} to {most}"));
            }
        }
        if let Some(wanted) = transactions {
            let executed = value(&mut client, "SELECT @@gtid_executed")?;
            let highest = executed
                .split(',')
                .filter_map(|set| set.trim().rsplit(['-', ':']).next()?.parse::<u64>().ok())
                .max()
                .unwrap_or(0);
            if highest != wanted {
                return Err(format!("{executed} is executed, {wanted} transactions are wanted"));
            }
        }
        let mut expected = vec![1000_i64; ACCOUNTS as usize];
        let mut marks = 0_u64;
        for (n, last) in last.iter().enumerate() {
            for k in 1..=*last {
                let (from, to, amount) = moved(n as u64, k);
                expected[from as usize] -= amount;
                expected[to as usize] += amount;
                marks += 1;
            }
        }
        let found = query(&mut client, "SELECT amount FROM test_backup.account ORDER BY id")?;
        let found: Vec<i64> = found.rows().iter().map(|row| row[0].parse().unwrap_or(i64::MIN)).collect();
        if found != expected {
            return Err(format!("the accounts are {found:?}, to be {expected:?}"));
        }
        let sum = value(&mut client, "SELECT COALESCE(SUM(hits), 0) FROM test_backup.mark FORCE INDEX (hits)")?;
        if sum.parse() != Ok(marks) {
            return Err(format!("the marks sum to {sum}, to be {marks}"));
        }
        // It is a server of its own, and goes on.
        query(&mut client, "INSERT INTO test_backup.mark VALUES (1000000, 0)")?;
        server.stop()?;
        let checked =
            Command::new(&self.binary).args(["check", "--data-dir"]).arg(&restored).output().map_err(|e| e.to_string())?;
        match checked.status.success() {
            true => Ok(()),
            false => {
                Err(format!("check: {}{}", String::from_utf8_lossy(&checked.stdout), String::from_utf8_lossy(&checked.stderr)))
            }
        }
    }

    fn check_points(&self, options: &Options, random: &mut Random, uuid: &str, executed: &str) -> Result<(), String> {
        let highest: u64 = executed.rsplit(['-', ':']).next().and_then(|text| text.parse().ok()).ok_or("no GTIDs")?;
        let any: Bounds = self.counts.iter().map(|counts| (0, counts.begun.load(Ordering::SeqCst))).collect();
        let first = self.first_restorable(uuid)?;
        for nth in 0..options.points {
            if nth % 2 == 0 {
                let wanted = first + random.below(highest - first + 1);
                let gtid = format!("{uuid}:{wanted}");
                self.restore_killed(random, nth as usize, &["--to-gtid", &gtid])?;
                self.check(&any, Some(wanted), options).map_err(|e| format!("--to-gtid {gtid}: {e}"))?;
                continue;
            }
            let times: Vec<Vec<(u64, u64)>> =
                self.counts.iter().map(|counts| counts.times.lock().map(|times| times.clone()).unwrap_or_default()).collect();
            let some = &times[random.below(CLIENTS as u64) as usize];
            let (began, _) = some[some.len() / 3 + random.below(some.len() as u64 * 2 / 3) as usize];
            let at = began + random.below(20_000);
            let text = shown_time(at);
            self.restore_killed(random, nth as usize, &["--to", &text])?;
            // The commit's time is taken between the beginning and the answer.
            let least = |times: &[(u64, u64)]| times.iter().filter(|(_, told)| *told < at).count() as u64;
            let most = |times: &[(u64, u64)]| times.iter().filter(|(began, _)| *began <= at).count() as u64;
            let bounds = times.iter().map(|times| (least(times), most(times))).collect();
            self.check(&bounds, None, options).map_err(|e| format!("--to {text}: {e}"))?;
        }
        println!("backup-test: {} points in time restored and found right", options.points);
        Ok(())
    }

    /// The first number that the log has behind the first backup.
    fn first_restorable(&self, uuid: &str) -> Result<u64, String> {
        let impossible = self
            .command("restore", &["--data-dir", &self.path("none").display().to_string(), "--to-gtid", &format!("{uuid}:1")])
            .output()
            .map_err(|e| e.to_string())?;
        if impossible.status.success() {
            return Err("a restore to a GTID in front of the first backup is not refused".into());
        }
        self.restore_killed(&mut Random::new(1), 1, &["--backup", &self.first_backup()?])?;
        let server = Vaquita::start(&self.binary, &self.path("restored"), free_port()?, &self.path("restored.log"))?;
        let executed = value(&mut server.connect()?, "SELECT @@gtid_executed")?;
        server.stop()?;
        executed
            .rsplit(['-', ':'])
            .next()
            .and_then(|text| text.parse::<u64>().ok())
            .map(|last| last + 50)
            .ok_or_else(|| "no GTIDs".into())
    }

    fn first_backup(&self) -> Result<String, String> {
        let list = self.ok(&mut self.command("backups", &[]))?;
        list.lines().nth(1).and_then(|line| line.split_whitespace().next()).map(String::from).ok_or_else(|| "no backups".into())
    }

    fn flip_bits(&self, options: &Options, random: &mut Random) -> Result<(), String> {
        let mut files = Vec::new();
        for part in ["files", "backups", "log"] {
            collect(&self.path("place").join(part), &mut files)?;
        }
        for _ in 0..options.flips {
            let file = &files[random.below(files.len() as u64) as usize];
            let mut bytes = std::fs::read(file).map_err(|e| e.to_string())?;
            if bytes.is_empty() {
                continue;
            }
            let (at, bit) = (random.below(bytes.len() as u64) as usize, random.below(8));
            bytes[at] ^= 1 << bit;
            std::fs::write(file, &bytes).map_err(|e| e.to_string())?;
            let verified = self.command("verify", &[]).output().map_err(|e| e.to_string())?;
            let text = format!("{}{}", String::from_utf8_lossy(&verified.stdout), String::from_utf8_lossy(&verified.stderr));
            bytes[at] ^= 1 << bit;
            std::fs::write(file, &bytes).map_err(|e| e.to_string())?;
            let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let named = text.contains(&name)
                || file.parent().and_then(Path::file_name).is_some_and(|dir| text.contains(&*dir.to_string_lossy()));
            if verified.status.success() || !named {
                return Err(format!("bit {bit} of byte {at} of {} was flipped, and verify says: {text}", file.display()));
            }
        }
        println!("backup-test: {} flipped bits found", options.flips);
        Ok(())
    }
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    for entry in std::fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() { collect(&path, files)? } else { files.push(path) }
    }
    Ok(())
}

fn end(mut child: Child) -> Result<(), String> {
    let _ = Command::new("sh").args(["-c", &format!("kill {}", child.id())]).status();
    let began = Instant::now();
    while began.elapsed() < END_MAX {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            return if status.success() { Ok(()) } else { Err(format!("the archiver ended with {status}")) };
        }
        thread::sleep(Duration::from_millis(10));
    }
    Err("the archiver does not end".into())
}

/// As `--to` takes it.
fn shown_time(us: u64) -> String {
    jiff::Timestamp::from_microsecond(us as i64).unwrap_or_default().to_string()
}
