//! The DDL that runs while the process is made to die, and what its database looks like.
//!
//! The script always makes the same database, step by step, so a first run without a kill knows the picture after each
//! step. After a crash the database must look as after the last step acknowledged, or as after the one under way.

use std::io;

use crate::client::{Answer, Client};
use crate::kill_test::rows;

pub const STEPS: &[&str] = &[
    "DROP DATABASE IF EXISTS kp",
    "CREATE DATABASE kp CHARACTER SET latin1",
    "ALTER DATABASE kp CHARACTER SET utf8mb4",
    "CREATE TABLE kp.a (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, b INT, c VARCHAR(40), KEY b (b)) AUTO_INCREMENT = 50",
    "INSERT INTO kp.a (b, c) VALUES (1, 'p'), (2, 'q'), (3, 'r'), (4, 's'), (5, 't'), (6, 'u'), (7, 'v'), (8, 'w')",
    "INSERT INTO kp.a (b, c) SELECT b + 8, CONCAT(c, 'a') FROM kp.a ORDER BY id",
    "INSERT INTO kp.a (b, c) SELECT b + 16, CONCAT(c, 'b') FROM kp.a ORDER BY id",
    "INSERT INTO kp.a (b, c) SELECT b + 32, CONCAT(c, 'c') FROM kp.a ORDER BY id",
    "INSERT INTO kp.a (b, c) SELECT b + 64, CONCAT(c, 'd') FROM kp.a ORDER BY id",
    "INSERT INTO kp.a (b, c) SELECT b + 128, CONCAT(c, 'e') FROM kp.a ORDER BY id",
    "INSERT INTO kp.a (b, c) SELECT b + 256, CONCAT(c, 'f') FROM kp.a ORDER BY id",
    "ALTER TABLE kp.a ADD COLUMN d INT NOT NULL DEFAULT 7",
    "ALTER TABLE kp.a ADD INDEX cd (c, d)",
    "ANALYZE TABLE kp.a",
    "ALTER TABLE kp.a DROP INDEX b, ADD UNIQUE KEY b2 (b, id)",
    "ALTER TABLE kp.a MODIFY b DECIMAL(10, 2) NOT NULL",
    "ALTER TABLE kp.a AUTO_INCREMENT = 5000",
    "CREATE TABLE kp.l LIKE kp.a",
    "INSERT INTO kp.l SELECT * FROM kp.a WHERE id < 300",
    "CREATE TABLE kp.s (PRIMARY KEY (id)) SELECT id, b, c FROM kp.a WHERE id > 200",
    "RENAME TABLE kp.a TO kp.x, kp.l TO kp.a, kp.x TO kp.l",
    "DELETE FROM kp.a WHERE id % 3 = 0",
    "UPDATE kp.l SET d = d + 1 WHERE id < 400",
    "ALTER TABLE kp.l RENAME TO kp.m, DROP COLUMN d",
    "TRUNCATE TABLE kp.a",
    "INSERT INTO kp.a (b, c, d) VALUES (1, 'n', 1)",
    "CREATE INDEX c ON kp.m (c)",
    "DROP INDEX c ON kp.m",
    "OPTIMIZE TABLE kp.m",
    "ALTER TABLE kp.s DROP PRIMARY KEY",
    "INSERT INTO kp.s VALUES (1, 2, 'hidden')",
    "ALTER TABLE kp.s ADD COLUMN n INT NOT NULL AUTO_INCREMENT UNIQUE FIRST",
    "CREATE TABLE kp.e (n INT AUTO_INCREMENT PRIMARY KEY) SELECT c FROM kp.s WHERE n < 20",
    "CREATE TRIGGER kp.copies AFTER INSERT ON kp.e FOR EACH ROW INSERT INTO kp.s (id, b, c) VALUES (NEW.n, 1, NEW.c)",
    "CREATE TRIGGER kp.names BEFORE INSERT ON kp.e FOR EACH ROW SET NEW.c = CONCAT(NEW.c, 't')",
    "INSERT INTO kp.e (c) VALUES ('a'), ('b')",
    "RENAME TABLE kp.e TO kp.f",
    "DROP TRIGGER kp.copies",
    "ALTER TABLE kp.f ADD INDEX c (c)",
    "CREATE TABLE kp.child (id INT PRIMARY KEY, c INT) SELECT n AS id, n AS c FROM kp.f",
    "ALTER TABLE kp.child ADD CONSTRAINT ff FOREIGN KEY (c) REFERENCES kp.f (n)",
    "DROP TABLE kp.child",
    "CREATE EVENT kp.later ON SCHEDULE EVERY 1 YEAR STARTS '2037-01-01' DO DELETE FROM kp.f",
    "CREATE EVENT kp.once ON SCHEDULE AT '2037-01-01' DO DELETE FROM kp.f",
    "ALTER EVENT kp.later ON SCHEDULE EVERY 2 YEAR STARTS '2037-01-01' RENAME TO kp.latest DISABLE",
    "DROP EVENT kp.once",
    "ALTER TABLE kp.m PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (200), PARTITION p1 VALUES LESS THAN (300), \
     PARTITION p2 VALUES LESS THAN (10000))",
    "UPDATE kp.m SET id = id + 5000 WHERE id < 150",
    "ALTER TABLE kp.m TRUNCATE PARTITION p1",
    "ALTER TABLE kp.m ADD PARTITION (PARTITION p3 VALUES LESS THAN MAXVALUE)",
    "ALTER TABLE kp.m REORGANIZE PARTITION p2 INTO (PARTITION p2 VALUES LESS THAN (400), PARTITION p4 VALUES LESS THAN (10000))",
    "ALTER TABLE kp.m ADD INDEX c (c)",
    "ALTER TABLE kp.m DROP PARTITION p0",
    "ALTER TABLE kp.m PARTITION BY RANGE (id) SUBPARTITION BY KEY (id) SUBPARTITIONS 2 (PARTITION p0 VALUES LESS THAN (350), \
     PARTITION p1 VALUES LESS THAN MAXVALUE)",
    "ALTER TABLE kp.m TRUNCATE PARTITION p0sp1",
    "ALTER TABLE kp.m REORGANIZE PARTITION p1 INTO (PARTITION p1 VALUES LESS THAN (5000) (SUBPARTITION s0, SUBPARTITION s1), \
     PARTITION p2 VALUES LESS THAN MAXVALUE (SUBPARTITION s2, SUBPARTITION s3))",
    "ALTER TABLE kp.m PARTITION BY HASH (id) PARTITIONS 5",
    "CREATE TABLE kp.n LIKE kp.m",
    "ALTER TABLE kp.n REMOVE PARTITIONING",
    "ALTER TABLE kp.m EXCHANGE PARTITION p1 WITH TABLE kp.n",
    "DROP TABLE kp.n",
    "ALTER TABLE kp.m REMOVE PARTITIONING",
    "ALTER TABLE kp.m ADD INDEX mv ((CAST(JSON_ARRAY(CAST(b AS SIGNED), CAST(b AS SIGNED) + 1) AS SIGNED ARRAY)))",
    "UPDATE kp.m SET id = -id WHERE 300 MEMBER OF (JSON_ARRAY(CAST(b AS SIGNED), CAST(b AS SIGNED) + 1)) OR id > 5100",
    "ALTER TABLE kp.m DROP INDEX mv",
    "DROP TABLE kp.a, kp.s",
    "DROP DATABASE kp",
];

/// A line per definition, and one per table about its rows.
pub fn picture(client: &mut Client) -> Result<String, String> {
    if rows(client, "SHOW DATABASES LIKE 'kp'")?.is_empty() {
        return Ok("no database\n".into());
    }
    let mut out = String::new();
    for row in rows(client, "SHOW CREATE DATABASE kp")? {
        out += &format!("{}\n", row.join(" "));
    }
    const TRIGGERS: &str = "SELECT TRIGGER_NAME, EVENT_OBJECT_TABLE, ACTION_ORDER, ACTION_STATEMENT FROM information_schema.TRIGGERS \
                            WHERE TRIGGER_SCHEMA = 'kp' ORDER BY TRIGGER_NAME";
    for trigger in rows(client, TRIGGERS)? {
        out += &format!("{}\n", trigger.join(" "));
    }
    const EVENTS: &str = "SELECT EVENT_NAME, STATUS, INTERVAL_VALUE, EVENT_DEFINITION FROM information_schema.EVENTS \
                          WHERE EVENT_SCHEMA = 'kp' ORDER BY EVENT_NAME";
    for event in rows(client, EVENTS)? {
        out += &format!("{}\n", event.join(" "));
    }
    for table in rows(client, "SHOW TABLES FROM kp")?.concat() {
        let create = rows(client, &format!("SHOW CREATE TABLE kp.{table}"))?;
        out += &format!("{}\n", create.concat().join(" "));
        let all = rows(client, &format!("SELECT * FROM kp.{table} ORDER BY id, c"))
            .or_else(|_| rows(client, &format!("SELECT * FROM kp.{table} ORDER BY c")))?;
        let count = rows(client, &format!("SELECT COUNT(*) FROM kp.{table}"))?.concat().concat();
        let hash = all
            .iter()
            .flatten()
            .flat_map(|v| v.bytes().chain([0]))
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        out += &format!("{table}: {} rows {hash:016x}, COUNT(*) {count}\n", all.len());
    }
    Ok(out)
}

/// Runs the script once from an empty server; the picture after each step.
pub fn pictures(client: &mut Client) -> Result<Vec<String>, String> {
    let mut out = Vec::with_capacity(STEPS.len());
    for sql in STEPS {
        run(client, sql).map_err(|e| format!("{sql}: {e}"))?.map_err(|text| format!("{sql}: {text}"))?;
        out.push(picture(client)?);
    }
    Ok(out)
}

/// Sends a step; the outer error is a lost connection.
pub fn run(client: &mut Client, sql: &str) -> io::Result<Result<(), String>> {
    Ok(match client.try_query(sql)? {
        Answer::Ok { .. } => Ok(()),
        Answer::Rows { rows, .. } => {
            let text = |row: &Vec<Option<Vec<u8>>>| String::from_utf8_lossy(row.last()?.as_ref()?).into_owned().into();
            let bad = rows.iter().filter_map(text).find(|text: &String| text != "OK" && text != "Table is already up to date");
            // OPTIMIZE first says that it recreates the table.
            match bad {
                Some(text) if !text.contains("recreate") => Err(text),
                _ => Ok(()),
            }
        }
        // The server stops.
        Answer::Err { code: 1053 | 1317, text, .. } => return Err(io::Error::other(text)),
        other => Err(format!("{other:?}")),
    })
}

/// Where the script is.
pub struct Progress {
    pictures: Vec<String>,
    /// What the database looks like by what was acknowledged.
    now: String,
    /// The step that was sent and not answered.
    under_way: Option<usize>,
}

impl Progress {
    pub fn new(pictures: Vec<String>) -> Progress {
        Progress { pictures, now: "no database\n".into(), under_way: None }
    }

    /// Runs the script again and again until the connection ends, or `passes` times.
    pub fn run(&mut self, client: &mut Client, passes: usize) -> Result<(), String> {
        for step in (0..STEPS.len()).cycle().take(passes * STEPS.len()) {
            self.under_way = Some(step);
            match run(client, STEPS[step]) {
                Err(_) => return Ok(()),
                Ok(Err(text)) => return Err(format!("{}: {text}", STEPS[step])),
                Ok(Ok(())) => self.now.clone_from(&self.pictures[step]),
            }
            self.under_way = None;
        }
        Ok(())
    }

    pub fn verify(&mut self, client: &mut Client) -> Result<(), String> {
        let found = picture(client)?;
        let under_way = self.under_way.take();
        let after = under_way.map(|step| &self.pictures[step]);
        if found != self.now && after.is_none_or(|after| found != *after) {
            let step = under_way.map_or("nothing", |step| STEPS[step]);
            let after = after.map_or("", String::as_str);
            return Err(format!(
                "DDL is not atomic. Under way: {step}\nfound:\n{found}acknowledged before:\n{}after it:\n{after}",
                self.now
            ));
        }
        self.now = found;
        Ok(())
    }
}
