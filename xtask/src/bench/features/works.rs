//! The features: what prepares each, what is measured, and what must come out.
//!
//! In statements `{rows}` is the number of documents, points and loops, `{some}` that of rows in the other tables, `{srid}` the
//! attribute of a column of points where a server has it.

use super::{SIDE, word};
use crate::bench::server::Kind;
use crate::random::Random;

/// Works on the same tables, in this order.
pub struct Works {
    /// The servers that have the feature.
    pub by: &'static [Kind],
    pub before: &'static [&'static str],
    pub works: &'static [Work],
    pub after: &'static [&'static str],
}

pub struct Work {
    pub name: &'static str,
    /// So many statements, one after the other.
    pub times: u64,
    /// Of a turn, from 1 on, where the tables have so many rows.
    pub statement: fn(u64, u64) -> String,
    /// A query of one value that all servers must answer alike; without one the first values of all answers are added up.
    pub check: &'static str,
}

const ALL: &[Kind] = &[Kind::MySql, Kind::MariaDb, Kind::MyRocks, Kind::Vaquita];
const INNODB: &[Kind] = &[Kind::MySql, Kind::MariaDb, Kind::Vaquita];
const MYSQL: &[Kind] = &[Kind::MySql, Kind::Vaquita];

/// Tables that are filled from files.
pub const PREPARED: &[&str] = &[
    "CREATE TABLE numbers (id INT NOT NULL PRIMARY KEY)",
    "CREATE TABLE documents (id INT NOT NULL PRIMARY KEY, words VARCHAR(120) NOT NULL)",
    "CREATE TABLE places (id INT NOT NULL PRIMARY KEY, x INT NOT NULL, y INT NOT NULL)",
];

pub const WORKS: [Works; 9] = [FOREIGN_KEYS, CASCADES, TRIGGERS, PROGRAMS, GENERATED, JSON_INDEX, PARTITIONS, WORDS, PLACES];

/// A number from 1 to `most`, the same for the same turn.
fn any(turn: u64, most: u64) -> u64 {
    1 + Random::new(turn).below(most)
}

const FOREIGN_KEYS: Works = Works {
    by: INNODB,
    before: &[
        "CREATE TABLE parent (id INT NOT NULL PRIMARY KEY)",
        "INSERT INTO parent SELECT id FROM numbers WHERE id <= 10000",
        "CREATE TABLE child0 (id INT NOT NULL PRIMARY KEY, a INT, b INT, c INT, d INT, KEY (a), KEY (b), KEY (c), KEY (d))",
        "CREATE TABLE child1 (id INT NOT NULL PRIMARY KEY, a INT, b INT, c INT, d INT, KEY (a), KEY (b), KEY (c), KEY (d), \
         FOREIGN KEY (a) REFERENCES parent (id))",
        "CREATE TABLE child4 (id INT NOT NULL PRIMARY KEY, a INT, b INT, c INT, d INT, KEY (a), KEY (b), KEY (c), KEY (d), \
         FOREIGN KEY (a) REFERENCES parent (id), FOREIGN KEY (b) REFERENCES parent (id), \
         FOREIGN KEY (c) REFERENCES parent (id), FOREIGN KEY (d) REFERENCES parent (id))",
    ],
    works: &[
        Work {
            name: "INSERT … SELECT into a table of 4 indexes",
            times: 1,
            statement: |_, _| children(0),
            check: "SELECT SUM(a + b + c + d) FROM child0",
        },
        Work {
            name: "the same with 1 foreign key",
            times: 1,
            statement: |_, _| children(1),
            check: "SELECT SUM(a + b + c + d) FROM child1",
        },
        Work {
            name: "the same with 4 foreign keys",
            times: 1,
            statement: |_, _| children(4),
            check: "SELECT SUM(a + b + c + d) FROM child4",
        },
        Work {
            name: "ALTER TABLE … ADD FOREIGN KEY",
            times: 1,
            statement: |_, _| "ALTER TABLE child0 ADD FOREIGN KEY (a) REFERENCES parent (id)".into(),
            check: "SELECT COUNT(*) FROM child0",
        },
    ],
    after: &["DROP TABLE child0, child1, child4", "DROP TABLE parent"],
};

fn children(keys: u64) -> String {
    format!(
        "INSERT INTO child{keys} SELECT id, 1 + id % 10000, 1 + id * 7 % 10000, 1 + id * 13 % 10000, 1 + id * 31 % 10000 \
         FROM numbers WHERE id <= {{some}}"
    )
}

const CASCADES: Works = Works {
    by: INNODB,
    before: &[
        "CREATE TABLE head (id INT NOT NULL PRIMARY KEY)",
        "INSERT INTO head VALUES (1), (3)",
        "CREATE TABLE line (id INT NOT NULL PRIMARY KEY, head INT, note VARCHAR(20), KEY (head), \
         FOREIGN KEY (head) REFERENCES head (id) ON DELETE CASCADE ON UPDATE CASCADE)",
        "CREATE TABLE loose (id INT NOT NULL PRIMARY KEY, head INT, note VARCHAR(20), KEY (head), \
         FOREIGN KEY (head) REFERENCES head (id) ON DELETE SET NULL)",
        "INSERT INTO line SELECT id, 1, 'a line' FROM numbers WHERE id <= {some}",
        "INSERT INTO loose SELECT id, 3, 'a line' FROM numbers WHERE id <= {some}",
    ],
    works: &[
        Work {
            name: "ON UPDATE CASCADE of all rows",
            times: 1,
            statement: |_, _| "UPDATE head SET id = 2 WHERE id = 1".into(),
            check: "SELECT SUM(head) FROM line",
        },
        Work {
            name: "ON DELETE SET NULL of all rows",
            times: 1,
            statement: |_, _| "DELETE FROM head WHERE id = 3".into(),
            check: "SELECT COUNT(*) FROM loose WHERE head IS NULL",
        },
        Work {
            name: "ON DELETE CASCADE of all rows",
            times: 1,
            statement: |_, _| "DELETE FROM head WHERE id = 2".into(),
            check: "SELECT COUNT(*) FROM line",
        },
    ],
    after: &["DROP TABLE line, loose", "DROP TABLE head"],
};

const TRIGGERS: Works = Works {
    by: ALL,
    before: &[
        "CREATE TABLE stock (id INT NOT NULL PRIMARY KEY, n INT NOT NULL, doubled INT)",
        "CREATE TABLE journal (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, stock INT NOT NULL, was INT, n INT)",
        "CREATE TRIGGER doubles BEFORE INSERT ON stock FOR EACH ROW SET NEW.doubled = 2 * NEW.n",
        "CREATE TRIGGER notes AFTER INSERT ON stock FOR EACH ROW INSERT INTO journal (stock, n) VALUES (NEW.id, NEW.n)",
        "CREATE TRIGGER changes BEFORE UPDATE ON stock FOR EACH ROW \
         BEGIN IF NEW.n > OLD.n THEN SET NEW.doubled = NEW.n * 2; ELSE SET NEW.doubled = OLD.doubled; END IF; END",
    ],
    works: &[
        Work {
            name: "INSERT … SELECT, BEFORE and AFTER INSERT triggers",
            times: 1,
            statement: |_, _| "INSERT INTO stock (id, n) SELECT id, id % 100 FROM numbers WHERE id <= {some}".into(),
            check: "SELECT SUM(doubled) + COUNT(journal.id) FROM stock JOIN journal ON journal.stock = stock.id",
        },
        Work {
            name: "UPDATE of all rows, a BEFORE UPDATE trigger",
            times: 1,
            statement: |_, _| "UPDATE stock SET n = n + 1".into(),
            check: "SELECT SUM(doubled) FROM stock",
        },
    ],
    after: &["DROP TABLE stock, journal"],
};

const PROGRAMS: Works = Works {
    by: ALL,
    before: &[
        "CREATE TABLE account (id INT NOT NULL PRIMARY KEY, n INT NOT NULL)",
        "INSERT INTO account SELECT id, id % 100 FROM numbers WHERE id <= {some}",
        "CREATE PROCEDURE counts(turns INT, OUT total BIGINT) \
         BEGIN DECLARE i INT DEFAULT 0; SET total = 0; WHILE i < turns DO SET i = i + 1; SET total = total + i; END WHILE; END",
        "CREATE PROCEDURE finds(wanted INT) READS SQL DATA \
         BEGIN DECLARE found INT; SELECT n INTO found FROM account WHERE id = wanted; SELECT found; END",
        "CREATE PROCEDURE walks(OUT total BIGINT) READS SQL DATA \
         BEGIN DECLARE one INT; DECLARE done INT DEFAULT 0; DECLARE c CURSOR FOR SELECT n FROM account; \
         DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1; SET total = 0; OPEN c; \
         l: LOOP FETCH c INTO one; IF done THEN LEAVE l; END IF; SET total = total + one; END LOOP; CLOSE c; END",
        "CREATE FUNCTION grade(n INT) RETURNS INT DETERMINISTIC \
         BEGIN DECLARE g INT; IF n < 10 THEN SET g = 1; ELSEIF n < 50 THEN SET g = 2; ELSE SET g = 3; END IF; RETURN g + n % 2; END",
    ],
    works: &[
        Work {
            name: "a loop in a procedure",
            times: 1,
            statement: |_, _| "CALL counts({rows}, @total)".into(),
            check: "SELECT @total",
        },
        Work { name: "a cursor over a table", times: 1, statement: |_, _| "CALL walks(@total)".into(), check: "SELECT @total" },
        Work {
            name: "a function for each row of a table",
            times: 1,
            statement: |_, _| "SELECT SUM(grade(n)) FROM account".into(),
            check: "",
        },
        Work {
            name: "20,000 calls that read a row",
            times: 20_000,
            statement: |turn, some| format!("CALL finds({})", any(turn, some)),
            check: "",
        },
    ],
    after: &[
        "DROP PROCEDURE counts",
        "DROP PROCEDURE finds",
        "DROP PROCEDURE walks",
        "DROP FUNCTION grade",
        "DROP TABLE account",
    ],
};

const GENERATED: Works = Works {
    by: MYSQL,
    before: &["CREATE TABLE made (id INT NOT NULL PRIMARY KEY, name VARCHAR(40) NOT NULL, n INT NOT NULL, \
         twice INT GENERATED ALWAYS AS (n * 2 + id % 7) STORED, following INT GENERATED ALWAYS AS (n + 1) VIRTUAL, \
         KEY (twice), KEY (following), KEY lowered ((LOWER(name))))"],
    works: &[
        Work {
            name: "INSERT … SELECT, generated columns, functional index",
            times: 1,
            statement: |_, _| {
                "INSERT INTO made (id, name, n) SELECT id, CONCAT('Name ', id), id % 1000 FROM numbers WHERE id <= {some}".into()
            },
            check: "SELECT SUM(twice + following) FROM made",
        },
        Work {
            name: "10,000 rows by the functional index",
            times: 10_000,
            statement: |turn, some| format!("SELECT id FROM made WHERE LOWER(name) = 'name {}'", any(turn, some)),
            check: "",
        },
    ],
    after: &["DROP TABLE made"],
};

const JSON_INDEX: Works = Works {
    by: MYSQL,
    before: &["CREATE TABLE tagged (id INT NOT NULL PRIMARY KEY, tags JSON NOT NULL, \
         KEY tags ((CAST(tags->'$.of' AS UNSIGNED ARRAY))))"],
    works: &[
        Work {
            name: "INSERT … SELECT, multi-valued index of 4 elements",
            times: 1,
            statement: |_, _| {
                "INSERT INTO tagged SELECT id, JSON_OBJECT('of', JSON_ARRAY(id % 1000, 1000 + id % 777, 2000 + id % 333, id)) \
                 FROM numbers WHERE id <= {some}"
                    .into()
            },
            check: "SELECT COUNT(*) FROM tagged",
        },
        Work {
            name: "2,000 searches by MEMBER OF",
            times: 2_000,
            statement: |turn, _| format!("SELECT COUNT(*) FROM tagged WHERE {} MEMBER OF (tags->'$.of')", 999 + any(turn, 777)),
            check: "",
        },
    ],
    after: &["DROP TABLE tagged"],
};

const PARTITIONS: Works = Works {
    by: ALL,
    before: &[
        "SET SESSION group_concat_max_len = 1000000",
        "SET @list = (SELECT GROUP_CONCAT('PARTITION p', id, ' VALUES LESS THAN (', id * ({some} DIV 1000) + 1, ')' ORDER BY id) \
         FROM numbers WHERE id <= 1000)",
        "SET @list = CONCAT('CREATE TABLE divided (id INT NOT NULL PRIMARY KEY, n INT NOT NULL, note VARCHAR(20)) PARTITION BY RANGE (id) (', @list, ')')",
        "PREPARE makes FROM @list",
        "EXECUTE makes",
        "DEALLOCATE PREPARE makes",
    ],
    works: &[
        Work {
            name: "INSERT … SELECT into 1,000 partitions",
            times: 1,
            statement: |_, _| "INSERT INTO divided SELECT id, id % 100, 'a row' FROM numbers WHERE id <= {some}".into(),
            check: "SELECT SUM(n) FROM divided",
        },
        Work {
            name: "10,000 rows by key of 1,000 partitions",
            times: 10_000,
            statement: |turn, some| format!("SELECT n FROM divided WHERE id = {}", any(turn, some)),
            check: "",
        },
        Work {
            name: "1,000 sums of a range within 2 partitions",
            times: 1_000,
            statement: |turn, some| {
                let first = any(turn, some);
                format!("SELECT SUM(n) FROM divided WHERE id BETWEEN {first} AND {}", first + some / 1000)
            },
            check: "",
        },
        Work {
            name: "100 × DROP PARTITION",
            times: 100,
            statement: |turn, _| format!("ALTER TABLE divided DROP PARTITION p{}", 10 * turn),
            check: "SELECT COUNT(*) FROM divided",
        },
    ],
    after: &["DROP TABLE divided"],
};

const WORDS: Works = Works {
    by: INNODB,
    before: &[],
    works: &[
        Work {
            name: "CREATE FULLTEXT INDEX",
            times: 1,
            statement: |_, _| "CREATE FULLTEXT INDEX words ON documents (words)".into(),
            check: "SELECT COUNT(*) FROM documents",
        },
        Work {
            name: "200 searches for 2 words, the best 10",
            times: 200,
            statement: |turn, _| {
                let words = two_words(turn, "");
                format!(
                    "SELECT COUNT(*) FROM (SELECT id, MATCH (words) AGAINST ('{words}') AS rank_of FROM documents \
                     WHERE MATCH (words) AGAINST ('{words}') ORDER BY rank_of DESC LIMIT 10) best"
                )
            },
            check: "",
        },
        Work {
            name: "200 searches for rows with both words",
            times: 200,
            statement: |turn, _| {
                let words = two_words(turn, "+");
                format!("SELECT COUNT(*) FROM documents WHERE MATCH (words) AGAINST ('{words}' IN BOOLEAN MODE)")
            },
            check: "",
        },
    ],
    after: &["DROP TABLE documents"],
};

fn two_words(turn: u64, sign: &str) -> String {
    let mut random = Random::new(turn);
    let (one, two) = (word(&mut random), word(&mut random));
    format!("{sign}{} {sign}{}", String::from_utf8_lossy(&one), String::from_utf8_lossy(&two))
}

const PLACES: Works = Works {
    by: INNODB,
    before: &[
        "CREATE TABLE points (id INT NOT NULL PRIMARY KEY, place POINT NOT NULL{srid})",
        "INSERT INTO points SELECT id, POINT(x, y) FROM places",
    ],
    works: &[
        Work {
            name: "CREATE SPATIAL INDEX",
            times: 1,
            statement: |_, _| "CREATE SPATIAL INDEX place ON points (place)".into(),
            check: "SELECT COUNT(*) FROM points",
        },
        Work {
            name: "2,000 windows of a millionth of the plane",
            times: 2_000,
            statement: |turn, _| window(turn, SIDE / 1000),
            check: "",
        },
        Work {
            name: "200 windows of a ten-thousandth of the plane",
            times: 200,
            statement: |turn, _| window(turn, SIDE / 100),
            check: "",
        },
    ],
    after: &["DROP TABLE points"],
};

/// No point lies on its border, of which MariaDB's MBRContains takes points and MySQL's does not.
fn window(turn: u64, side: u64) -> String {
    let mut random = Random::new(turn);
    let (x, y) = (random.below(SIDE - side), random.below(SIDE - side));
    let (right, top) = (x + side, y + side);
    format!(
        "SELECT COUNT(*) FROM points WHERE MBRContains(ST_GeomFromText('POLYGON(({x}.5 {y}.5, {right}.5 {y}.5, {right}.5 {top}.5, \
         {x}.5 {top}.5, {x}.5 {y}.5))'), place)"
    )
}
