//! Differences that are decided on, or that follow from MySQL's plan. Each rule says why, and knows no more than that;
//! `docs/compatibility.md` tells them to users.

use super::answer::{Difference, Finding, Full, Sent};
use super::schema::Table;

/// What a rule looks at.
struct Case<'a> {
    finding: &'a Finding,
    sql: &'a str,
    params: &'a [String],
    prepared: bool,
    tables: &'a [Table],
    mysql: &'a Full,
    vaquita: &'a Full,
}

struct Rule {
    /// What differs, and why it may.
    reason: &'static str,
    applies: fn(&Case<'_>) -> bool,
}

const RULES: &[Rule] = &[
    Rule {
        reason: "MySQL sends the columns of a temporary table, which its plan needs: no keys, no flag BINARY, a name in place of an origin",
        applies: temporary_table,
    },
    Rule { reason: "a value of a row warns only if the order of the joins reaches it", applies: value_of_a_joined_row },
    Rule {
        reason: "a constant condition of a prepared statement warns when it is executed, in MySQL when it is prepared",
        applies: constant_of_a_prepared_statement,
    },
    Rule {
        reason: "a parameter that may be of any type is of its value's type, in MySQL of one derived from what stands beside it",
        applies: free_parameter,
    },
    Rule {
        reason: "a message shows a latin1 value in UTF-8, MySQL its bytes, which no client can read",
        applies: latin1_in_a_message,
    },
    Rule {
        reason: "GREATEST and LEAST of a date and a text that is none is NULL here, the date 16383-15-31 in MySQL",
        applies: |case| matches!(case.finding.difference, Difference::Rows | Difference::Tables) && case.mysql_has("16383-15-31"),
    },
    Rule {
        reason: "BETWEEN of a date or time and a constant that is none: MySQL compares the packed form of the other one with a number",
        applies: half_converted_bounds,
    },
    Rule {
        reason: "UPDATE of several tables computes DEFAULT (expr) over the row, MySQL over its temporary table",
        applies: |case| {
            case.finding.difference == Difference::Tables
                && case.sql.starts_with("UPDATE t0 JOIN")
                && case.sql.contains("= DEFAULT")
                && case.tables.iter().any(|table| table.create.contains("DEFAULT ("))
        },
    },
];

/// The reason for which the finding is as it should be.
pub fn rule(finding: &Finding, sent: &Sent, tables: &[Table], (mysql, vaquita): (&Full, &Full)) -> Option<&'static str> {
    let params = sent.params.as_deref().unwrap_or_default();
    let prepared = sent.params.is_some();
    let case = Case { finding, sql: &sent.sql, params, prepared, tables, mysql, vaquita };
    RULES.iter().find(|rule| (rule.applies)(&case)).map(|rule| rule.reason)
}

impl Case<'_> {
    fn mysql_has(&self, text: &str) -> bool {
        let rows = match &self.mysql.answer {
            crate::client::Answer::Rows { rows, .. } => &rows[..],
            _ => &[],
        };
        rows.iter().chain(&self.mysql.tables).any(|row| super::answer::text(row).contains(text))
    }

    /// It reads more than one table, or one in a subquery.
    fn joins(&self) -> bool {
        [" JOIN ", " STRAIGHT_JOIN ", "(SELECT "].iter().any(|word| self.sql.contains(word))
    }
}

/// Flags that a column of a temporary table has not: keys, BINARY, AUTO_INCREMENT, NO_DEFAULT_VALUE.
const LOST_FLAGS: u32 = 2 | 4 | 8 | 0x80 | 0x200 | 0x1000 | 0x4000;
/// Of a hexadecimal literal.
const UNSIGNED: u32 = 0x20;

/// Sorting, grouping and DISTINCT go through a temporary table, or not: its columns are made from the expressions.
fn temporary_table(case: &Case<'_>) -> bool {
    let sorts = ["ORDER BY", "GROUP BY", "DISTINCT"].iter().any(|word| case.sql.contains(word));
    if !sorts || !matches!(case.finding.difference, Difference::Metadata(_)) {
        return false;
    }
    let (theirs, ours): (Vec<&str>, Vec<&str>) =
        (case.finding.mysql.split('\t').collect(), case.finding.vaquita.split('\t').collect());
    let (
        [name, origin, kind, flags, decimals, charset, length],
        [_, own_origin, own_kind, own_flags, own_decimals, own_charset, own_length],
    ) = (&theirs[..], &ours[..])
    else {
        return false;
    };
    let number = |flags: &str| u32::from_str_radix(flags.trim_start_matches("0x"), 16).unwrap_or(0);
    let origins = origin == own_origin || *origin == format!("..{name}") && own_origin.starts_with('.');
    // Small integers become INT; labels of ENUM and SET CHAR.
    let kinds = kind == own_kind || matches!((*kind, *own_kind), ("3", "8") | ("254", "253"));
    let literal = name.starts_with("x'") || name.starts_with("b'") || name.starts_with("0x");
    let lost = number(own_flags) & !number(flags) & !if literal { UNSIGNED } else { 0 };
    let gained = number(flags) & !number(own_flags);
    origins
        && kinds
        && lost & !LOST_FLAGS == 0
        && gained & !0x1000 == 0
        && (decimals == own_decimals || *decimals == "0" && *own_decimals == "31")
        && charset == own_charset
        && length == own_length
}

fn quoted(line: &str) -> Option<&str> {
    line.split_once('\'').and_then(|(_, rest)| rest.rsplit_once('\'')).map(|(value, _)| value)
}

/// Only Vaquita warns, of a text that the statement holds; parameters warn as ever.
fn constant_of_a_prepared_statement(case: &Case<'_>) -> bool {
    let Some(value) = quoted(&case.finding.vaquita).filter(|value| !value.is_empty()) else { return false };
    case.finding.difference == Difference::Warnings
        && case.prepared
        && case.finding.vaquita.starts_with("Warning\t1292\tTruncated incorrect DOUBLE")
        && [" WHERE ", " ON ", " HAVING "].iter().any(|word| case.sql.contains(word))
        && case.sql.contains(&format!("'{value}'"))
}

/// The description of a column whose expression has a parameter, and how the binary protocol sends it.
fn free_parameter(case: &Case<'_>) -> bool {
    let name = case.finding.mysql.split('\t').next().unwrap_or_default();
    let of_type = |field: &str| !matches!(field, "name" | "origin");
    matches!(case.finding.difference, Difference::Metadata(field) if of_type(field))
        && !case.params.is_empty()
        && name.contains('?')
}

/// MySQL says of one text that it is no value for the column, and again that it is no number.
fn half_converted_bounds(case: &Case<'_>) -> bool {
    let refused = |line: &&String| line.contains("' for column '") && line.contains("Incorrect ");
    let again = |line: &String| {
        let value = line.split_once(" value: '").and_then(|(_, rest)| rest.split_once("' for column")).map(|(value, _)| value);
        value.is_some_and(|value| {
            let number = |kind: &str| format!("Warning\t1292\tTruncated incorrect {kind} value: '{value}'");
            case.mysql.warnings.contains(&number("INTEGER")) || case.mysql.warnings.contains(&number("DOUBLE"))
        })
    };
    case.sql.contains(" BETWEEN ")
        && matches!(
            case.finding.difference,
            Difference::Rows | Difference::Affected | Difference::Counts | Difference::Tables | Difference::Warnings
        )
        && case.mysql.warnings.iter().filter(refused).any(again)
}

/// Only the first byte of such a value, or what follows it, is lost in MySQL's line.
fn latin1_in_a_message(case: &Case<'_>) -> bool {
    let latin1 = case.tables.iter().any(|table| table.create.contains("latin1"));
    let beside = |lines: &std::collections::BTreeSet<String>, wanted: fn(&str) -> bool| lines.iter().any(|line| wanted(line));
    let lost = |line: &str| line.contains("value: '?") || line.contains("value: '") && line.matches('\'').count() == 1;
    let kept = |line: &str| quoted(line).is_some_and(|value| !value.is_ascii());
    let line = if case.finding.mysql.is_empty() { &case.finding.vaquita } else { &case.finding.mysql };
    case.finding.difference == Difference::Warnings
        && latin1
        && (lost(line) && beside(&case.vaquita.warnings, |l| !l.is_ascii())
            || kept(line) && beside(&case.mysql.warnings, |l| l.contains("value: '")))
}

/// A conversion's warning that quotes what no literal of the statement holds, of a value that the other server has not met: if it warns of
/// the value too, both have read the row, and one says something else of it.
fn value_of_a_joined_row(case: &Case<'_>) -> bool {
    let line = if case.finding.mysql.is_empty() { &case.finding.vaquita } else { &case.finding.mysql };
    let mut fields = line.split('\t');
    let (level, code) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
    let text = fields.next().unwrap_or_default();
    let Some(quoted) = quoted(text) else { return false };
    let value = quoted.split("' for column").next().unwrap_or(quoted);
    let literal = format!("'{value}'");
    let written = case.sql.contains(&literal) || case.params.contains(&literal);
    let other = if case.finding.mysql.is_empty() { &case.mysql.warnings } else { &case.vaquita.warnings };
    let is_met = other.iter().any(|line| line.contains(&literal));
    case.finding.difference == Difference::Warnings
        && level == "Warning"
        && matches!(code, "1292" | "1366" | "3156")
        && case.joins()
        && !written
        && !is_met
}
