//! The tables of a history, divided by `id`, which all their unique keys have.

use std::borrow::Cow;

use super::history::TABLES;
use crate::client::Answer;

/// How SHOW CREATE TABLE begins with partitions.
const PRINTED: &[u8] = b"\n/*!50";

/// Ids are 0 to 600, and grow by 1,000 in some UPDATEs.
const DIVISIONS: &[&str] = &[
    "PARTITION BY HASH (id) PARTITIONS 5",
    "PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (100), PARTITION b VALUES LESS THAN (400), \
     PARTITION c VALUES LESS THAN (1100), PARTITION d VALUES LESS THAN MAXVALUE)",
    "PARTITION BY KEY (id) PARTITIONS 3",
    "PARTITION BY RANGE COLUMNS (id) (PARTITION a VALUES LESS THAN (300), PARTITION b VALUES LESS THAN (MAXVALUE))",
    "PARTITION BY LINEAR HASH (id DIV 7) PARTITIONS 6",
    "PARTITION BY LIST (id % 3) (PARTITION a VALUES IN (0, -1, -2), PARTITION b VALUES IN (2, 1))",
    "PARTITION BY LINEAR KEY (id) PARTITIONS 11",
    "PARTITION BY RANGE (id) SUBPARTITION BY KEY (id) SUBPARTITIONS 3 (PARTITION a VALUES LESS THAN (300), \
     PARTITION b VALUES LESS THAN MAXVALUE)",
    "PARTITION BY LIST (id % 2) SUBPARTITION BY LINEAR HASH (id DIV 3) (PARTITION a VALUES IN (0) (SUBPARTITION x, SUBPARTITION y), \
     PARTITION b VALUES IN (1, -1) (SUBPARTITION v, SUBPARTITION w))",
    "PARTITION BY RANGE (id * 2 - 1) (PARTITION a VALUES LESS THAN (333), PARTITION b VALUES LESS THAN MAXVALUE)",
];

/// The statement at a place of the history, on tables that are partitioned.
pub fn of(sql: &str, at: usize) -> Cow<'_, str> {
    let creates = (0..TABLES).any(|n| sql.starts_with(&format!("CREATE TABLE t{n} ")));
    if creates { format!("{sql} {}", DIVISIONS[at % DIVISIONS.len()]).into() } else { sql.into() }
}

/// Divides a table in another way, at a place of the history where nobody uses it.
pub fn anew(table: usize, at: usize) -> String {
    format!("ALTER TABLE t{table} {}", DIVISIONS[(at / 2 + table) % DIVISIONS.len()])
}

/// Leaves out what differs where rows are in partitions: the end of SHOW CREATE TABLE, and the number of the row that an ALTER fails at.
pub fn leave_out(answer: &mut Answer) {
    match answer {
        Answer::Rows { rows, .. } => {
            for value in rows.iter_mut().flatten().flatten() {
                if let Some(end) = value.windows(PRINTED.len()).position(|bytes| bytes == PRINTED) {
                    value.truncate(end);
                }
            }
        }
        Answer::Err { text, .. } => {
            if let Some(end) = text.find(" at row ") {
                text.truncate(end);
            }
        }
        Answer::Ok { .. } => {}
    }
}
