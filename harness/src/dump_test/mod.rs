//! `cargo harness dump-test`: a dump made from MySQL loads into Vaquita, and a dump of that is the same.
//!
//! 1. `fill` makes two databases of the tables in `tables.sql` on the MySQL that the options name: one with `--rows` rows in
//!    all, one with a hundredth of them. The seed decides the rows.
//! 2. For each variant (a dump program and its options): dump from MySQL, load into a Vaquita started here, dump from Vaquita.
//! 3. `compare` finds the first difference, but for the lines that name server, host and time; then CHECKSUM TABLE is compared,
//!    which is only told.
//!
//! A third database has one of every kind of stored object (`objects.sql`). It also goes back: MySQL loads the dump from
//! Vaquita, and dumps what it dumps after its own.
//!
//! The large database goes through the default options, the small one through all variants. Programs are run as given, so
//! `--mysqldump "chroot DIR mysqldump"` works. `--reuse` takes the databases that an earlier `--keep` left. A failure keeps
//! the dumps.

mod compare;
mod fill;
mod programs;
mod values;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::flags::Flags;
use crate::paths;
use crate::vaquita::{self, Vaquita, free_port};
use programs::{Programs, Server};

/// One way to dump.
struct Variant {
    name: &'static str,
    by_mariadb: bool,
    /// Of the large database as well.
    large: bool,
    options: &'static [&'static str],
}

const VARIANTS: [Variant; 9] = [
    Variant { name: "default", by_mariadb: false, large: true, options: &[] },
    Variant { name: "hex-blob", by_mariadb: false, large: false, options: &["--hex-blob"] },
    Variant { name: "row-inserts", by_mariadb: false, large: false, options: &["--skip-extended-insert", "--complete-insert"] },
    Variant {
        name: "everything",
        by_mariadb: false,
        large: false,
        options: &["--single-transaction", "--routines", "--triggers", "--events"],
    },
    Variant { name: "databases", by_mariadb: false, large: false, options: &["--order-by-primary", "--databases"] },
    Variant { name: "skip-opt", by_mariadb: false, large: false, options: &["--skip-opt", "--quick", "--replace", "--tz-utc=0"] },
    Variant { name: "mariadb-default", by_mariadb: true, large: false, options: &[] },
    Variant {
        name: "mariadb-everything",
        by_mariadb: true,
        large: false,
        options: &["--single-transaction", "--routines", "--triggers", "--events", "--hex-blob"],
    },
    Variant { name: "mariadb-databases", by_mariadb: true, large: false, options: &["--order-by-primary", "--databases"] },
];

/// Those that the database of stored objects goes through.
const OBJECT_VARIANTS: [Variant; 3] = [
    Variant { name: "objects", by_mariadb: false, large: false, options: &["--routines", "--triggers", "--events"] },
    Variant {
        name: "objects-skip-opt",
        by_mariadb: false,
        large: false,
        options: &["--skip-opt", "--complete-insert", "--tz-utc=0", "--routines", "--triggers", "--events", "--create-options"],
    },
    Variant {
        name: "objects-databases",
        by_mariadb: false,
        large: false,
        options: &["--single-transaction", "--routines", "--triggers", "--events", "--databases"],
    },
];

struct Test {
    programs: Programs,
    mysql: Server,
    vaquita: Server,
    dir: PathBuf,
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let mut text = |name: &str, default: &str| flags.text(name).map(|value| value.unwrap_or_else(|| default.to_string()));
    let mysql =
        Server { host: text("--host", "127.0.0.1")?, user: text("--user", "root")?, password: text("--password", "")?, port: 0 };
    let programs = Programs {
        client: text("--client", "mariadb")?,
        mysqldump: text("--mysqldump", "mysqldump")?,
        mariadb_dump: text("--mariadb-dump", "mariadb-dump")?,
    };
    let database = text("--database", "dump_test")?;
    let mysql = Server { port: flags.number("--port", 3306)? as u16, ..mysql };
    let rows = flags.number("--rows", 1_000_000)?;
    let seed = flags.number("--seed", 1)?;
    let only = flags.list("--only")?;
    let (reuse, keep) = (flags.switch("--reuse"), flags.switch("--keep"));
    flags.finish()?;

    let databases = [(database.clone(), rows), (format!("{database}_small"), rows / 100)];
    let binary = paths::vaquita()?;
    let dir = paths::target_dir().join(format!("dump-test/{}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    if !reuse {
        for (name, rows) in &databases {
            let start = Instant::now();
            fill::fill(&programs, &mysql, name, *rows, seed)?;
            println!("{name}: {rows} rows written to MySQL in {}", seconds(start.elapsed()));
        }
    }
    let process = Vaquita::start(&binary, &dir.join("data"), free_port()?, &dir.join("server.log"))?;
    let vaquita = Server {
        host: "127.0.0.1".to_string(),
        port: process.port,
        user: "root".to_string(),
        password: vaquita::PASSWORD.to_string(),
    };
    let test = Test { programs, mysql, vaquita, dir };
    let mut failures = test.run(&databases, only.as_deref())?;
    failures.extend(test.run_objects(&format!("{database}_objects"), only.as_deref(), keep)?);
    println!("bytes on disk of {database}: MySQL {}", fill::bytes_on_disk(&test.programs, &test.mysql, &database)?);
    process.stop()?;
    println!("bytes on disk of all that Vaquita has: {}", directory_bytes(&test.dir.join("data"))?);
    if !failures.is_empty() {
        return Err(format!("FAILED: {}; the dumps are in {}", failures.join(", "), test.dir.display()));
    }
    if !keep {
        for (name, _) in &databases {
            test.programs.execute(&test.mysql, &format!("DROP DATABASE `{name}`"))?;
        }
    }
    std::fs::remove_dir_all(&test.dir).map_err(|e| format!("{}: {e}", test.dir.display()))
}

impl Test {
    /// Runs the variants; returns the names of those that failed.
    fn run(&self, databases: &[(String, u64); 2], only: Option<&[String]>) -> Result<Vec<String>, String> {
        let [large, small] = databases;
        let mut failures = Vec::new();
        for variant in &VARIANTS {
            if only.is_some_and(|only| !only.iter().any(|name| name == variant.name)) {
                continue;
            }
            if variant.by_mariadb && !self.programs.has_mariadb_dump() {
                println!("{}: skipped, there is no {}", variant.name, self.programs.mariadb_dump);
                continue;
            }
            let sizes = if variant.large { vec![small, large] } else { vec![small] };
            for (database, rows) in sizes {
                match self.round_trip(variant, database) {
                    Ok(text) => println!("{}, {rows} rows: the same; {text}", variant.name),
                    Err(text) => {
                        println!("{}, {rows} rows: FAILED: {text}", variant.name);
                        failures.push(format!("{} of {rows} rows", variant.name));
                    }
                }
            }
        }
        Ok(failures)
    }

    /// Runs the variants of stored objects; returns the names of those that failed.
    fn run_objects(&self, database: &str, only: Option<&[String]>, keep: bool) -> Result<Vec<String>, String> {
        let mut failures = Vec::new();
        self.make_definer()?;
        for variant in &OBJECT_VARIANTS {
            if only.is_some_and(|only| !only.iter().any(|name| name == variant.name)) {
                continue;
            }
            fill::fill_objects(&self.programs, &self.mysql, database)?;
            match self.there_and_back(variant, database) {
                Ok(()) => println!("{}: the same, there and back", variant.name),
                Err(text) => {
                    println!("{}: FAILED: {text}", variant.name);
                    failures.push(variant.name.to_string());
                }
            }
        }
        if !keep {
            self.programs.execute(&self.mysql, &format!("DROP DATABASE IF EXISTS `{database}`"))?;
        }
        Ok(failures)
    }

    /// The account that made the objects on MySQL is on Vaquita as well: views without their definer cannot be dumped.
    fn make_definer(&self) -> Result<(), String> {
        let name = self.programs.query(&self.mysql, "SELECT CURRENT_USER()")?;
        let (user, host) = name.trim().rsplit_once('@').ok_or_else(|| format!("no account: {name}"))?;
        let account = format!("'{user}'@'{host}'");
        self.programs.execute(&self.vaquita, &format!("CREATE USER IF NOT EXISTS {account}; GRANT ALL ON *.* TO {account}"))
    }

    /// Dumps from MySQL, through Vaquita and back. What MySQL dumps at last is what it dumps after it has loaded its own dump: it
    /// writes some collations otherwise then.
    fn there_and_back(&self, variant: &Variant, database: &str) -> Result<(), String> {
        let name = |at: &str| self.dir.join(format!("{}-{database}-{at}.sql", variant.name));
        let [first, second, own, back] = ["mysql", "vaquita", "own", "back"].map(name);
        self.dump(variant, &self.mysql, database, &first)?;
        self.load_anew(variant, &self.vaquita, database, &first)?;
        self.dump(variant, &self.vaquita, database, &second)?;
        compare::compare(&first, &second)?;
        for (loaded, dumped) in [(&first, &own), (&second, &back)] {
            self.load_anew(variant, &self.mysql, database, loaded)?;
            self.dump(variant, &self.mysql, database, dumped)?;
        }
        compare::compare(&own, &back)?;
        let removed = [first, second, own, back].iter().try_for_each(std::fs::remove_file);
        removed.map_err(|e| e.to_string())
    }

    /// Dumps, loads, dumps, compares; tells the times.
    fn round_trip(&self, variant: &Variant, database: &str) -> Result<String, String> {
        let [first, second] =
            ["mysql", "vaquita"].map(|server| self.dir.join(format!("{}-{database}-{server}.sql", variant.name)));
        let dumped = self.dump(variant, &self.mysql, database, &first)?;
        let loaded = self.load_anew(variant, &self.vaquita, database, &first)?;
        let dumped_again = self.dump(variant, &self.vaquita, database, &second)?;
        let bytes = compare::compare(&first, &second)?;
        let sums = self.compare_checksums(database).err().unwrap_or_default();
        let text = format!(
            "{} MB, dump from MySQL {}, load {}, dump from Vaquita {} {sums}",
            bytes / 1_000_000,
            seconds(dumped),
            seconds(loaded),
            seconds(dumped_again)
        );
        let removed = std::fs::remove_file(&first).and_then(|()| std::fs::remove_file(&second));
        removed.map_err(|e| e.to_string()).map(|()| text)
    }

    /// Loads a dump into a database that is dropped before; how long the loading took.
    fn load_anew(&self, variant: &Variant, server: &Server, database: &str, file: &Path) -> Result<Duration, String> {
        self.programs.execute(server, &format!("DROP DATABASE IF EXISTS `{database}`"))?;
        let mut loading_into = None;
        if !variant.options.contains(&"--databases") {
            self.programs.execute(server, &format!("CREATE DATABASE `{database}` CHARACTER SET utf8mb4"))?;
            loading_into = Some(database);
        }
        let start = Instant::now();
        self.programs.load(server, loading_into, file)?;
        Ok(start.elapsed())
    }

    /// CHECKSUM TABLE of all tables.
    fn compare_checksums(&self, database: &str) -> Result<(), String> {
        let names = format!(
            "SELECT CONCAT('`{database}`.`', REPLACE(TABLE_NAME, '`', '``'), '`') FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA = '{database}' ORDER BY TABLE_NAME"
        );
        let names: Vec<String> = self.programs.query(&self.mysql, &names)?.lines().map(String::from).collect();
        let sql = format!("CHECKSUM TABLE {}", names.join(", "));
        let [a, b] = [&self.mysql, &self.vaquita].map(|server| self.programs.query(server, &sql));
        let (a, b) = (a?, b?);
        match a.lines().zip(b.lines()).find(|(a, b)| a != b) {
            Some((a, b)) => Err(format!("CHECKSUM TABLE:\n  MySQL   {a}\n  Vaquita {b}")),
            None => Ok(()),
        }
    }

    fn dump(&self, variant: &Variant, server: &Server, database: &str, file: &Path) -> Result<Duration, String> {
        let start = Instant::now();
        self.programs.dump(server, variant.by_mariadb, variant.options, database, file)?;
        Ok(start.elapsed())
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn directory_bytes(dir: &Path) -> Result<u64, String> {
    let mut total = 0;
    for entry in std::fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))? {
        let entry = entry.map_err(|e| e.to_string())?;
        let meta = entry.metadata().map_err(|e| e.to_string())?;
        total += if meta.is_dir() { directory_bytes(&entry.path())? } else { meta.len() };
    }
    Ok(total)
}
