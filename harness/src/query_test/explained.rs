//! Differences from MySQL that are its known bugs or decided on; `docs/compatibility.md` tells them to users.

use super::checks::{Check, Place};
use super::servers::Outcome;

/// What MySQL refuses, with which error, if the query has a word: its mistake.
const REFUSED: [(u16, &str, &str); 5] = [
    (1235, "", "MySQL refuses ANY and ALL of queries with window functions"),
    (1054, " HAVING ", "MySQL does not find a grouped column that HAVING names, where views or subqueries are around"),
    (1112, "WITH RECURSIVE ", "MySQL loses a temporary table of its own in a recursive common table expression"),
    (1030, "", "MySQL reads an index that a temporary table of its own does not have (error 124)"),
    (0, " HAVING ", "MySQL answers a query whose HAVING is always false with OK, without columns"),
];

struct Rule {
    /// What differs, and why it may.
    reason: &'static str,
    applies: fn(&str, &Outcome, &Outcome) -> bool,
}

const RULES: [Rule; 3] = [
    Rule {
        reason: "MySQL does not find a common table expression that a side of a set operation with a WITH of its own names",
        applies: |sql, vaquita, mysql| sql.matches("WITH ").count() > 1 && is_refused_by_mysql(vaquita, mysql, 1146),
    },
    Rule {
        reason: "MySQL loses rows of a side of EXCEPT or INTERSECT beside one with the total row of ROLLUP",
        applies: |sql, vaquita, mysql| {
            let is_set_operation = sql.contains(" EXCEPT ") || sql.contains(" INTERSECT ");
            is_set_operation
                && sql.contains(" WITH ROLLUP")
                && matches!((vaquita, mysql), (Outcome::Rows(all), Outcome::Rows(left)) if left.len() < all.len())
        },
    },
    Rule {
        reason: "which of several equal texts stands for a group is the plan's choice, and a window here is in the order of their bytes",
        applies: |sql, vaquita, mysql| {
            let chooses = [" GROUP BY ", "DISTINCT", " UNION ", " INTERSECT ", " EXCEPT "].iter().any(|word| sql.contains(word));
            chooses
                && sql.contains("HEX(")
                && sql.contains(" OVER (")
                && matches!((vaquita, mysql), (Outcome::Rows(own), Outcome::Rows(other)) if own.len() == other.len())
        },
    },
];

fn is_refused_by_mysql(vaquita: &Outcome, mysql: &Outcome, code: u16) -> bool {
    matches!((vaquita, mysql), (Outcome::Rows(_), Outcome::Refused(refused, _)) if *refused == code)
}

/// The reason why Vaquita's answer, the left one, may differ from MySQL's.
pub fn rule(check: &Check, vaquita: &Outcome, mysql: &Outcome) -> Option<&'static str> {
    if check.right.place != Place::Mysql {
        return None;
    }
    let sql = &check.left.sql;
    let is_refused = |(code, word, _): &&(u16, &str, &str)| sql.contains(word) && is_refused_by_mysql(vaquita, mysql, *code);
    let refused = REFUSED.iter().find(is_refused).map(|(_, _, reason)| *reason);
    refused.or_else(|| RULES.iter().find(|rule| (rule.applies)(sql, vaquita, mysql)).map(|rule| rule.reason))
}
