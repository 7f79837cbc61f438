//! Differences that are decided on, or that follow from MySQL's plan. Each rule says why, and knows no more than that;
//! `docs/compatibility.md` tells them to users.

mod errors;
mod metadata;
mod rows;
#[cfg(test)]
mod tests;
mod warnings;

use super::answer::{Difference, Finding, Full, Sent};
use super::schema::Table;
use crate::client::Answer;
use errors::*;
use metadata::*;
use rows::*;
use warnings::*;

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

const SORTED_DOCUMENTS: &str = "arrays and objects are sorted by what is in them, in MySQL by their length, with warning 1235";

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
        reason: "GREATEST of a DATE and a text that is no date is NULL here, the date 16383-15-31 in MySQL",
        applies: greatest_of_no_date,
    },
    Rule {
        reason: "BETWEEN of a temporal column and a constant: MySQL compares the constant's packed form with a bound that is none as a number",
        applies: half_converted_bounds,
    },
    Rule { reason: SORTED_DOCUMENTS, applies: sorted_documents },
    Rule {
        reason: "ALL and ANY of texts beside a number: each text is compared as a number, in MySQL the greatest or least text",
        applies: extreme_text,
    },
    Rule {
        reason: "DISTINCT or ROLLUP of parameters without a column: MySQL's temporary table has NULL for them",
        applies: distinct_parameter,
    },
    Rule {
        reason: "a parameter's value shows its own digits, in MySQL those of the type that its place asks for",
        applies: digits_of_a_parameter,
    },
    Rule {
        reason: "YEAR 0 is 0000 here, in MySQL's temporary tables, where it is an INT, 0",
        applies: year_in_a_temporary_table,
    },
    Rule {
        reason: "a text that is no date is the zero date, which MySQL does not find where it looks it up by a key",
        applies: key_of_no_date,
    },
    Rule {
        reason: "MIN and MAX of a hexadecimal or bit literal keep its flag and decimals in MySQL, though it is a text there",
        applies: |case| {
            matches!(case.finding.difference, Difference::Metadata("flags" | "decimals"))
                && ["MIN(x'", "MAX(x'", "MIN(b'", "MAX(b'", "MIN(0x", "MAX(0x"]
                    .iter()
                    .any(|call| case.finding.mysql.starts_with(call))
        },
    },
    Rule {
        reason: "NULLIF of a hexadecimal literal is its number, in MySQL a text where SUM(DISTINCT) stores it",
        applies: distinct_hexadecimal,
    },
    Rule { reason: "COUNT(DISTINCT (SELECT …)) counts NULL in MySQL", applies: distinct_subquery },
    Rule {
        reason: "BETWEEN and TIMEDIFF of parameters of several kinds: MySQL reads a text as an integer, or the number as a date",
        applies: moments_of_parameters,
    },
    Rule {
        reason: "a constant IN a list of dates and other kinds: MySQL compares bits of signed and unsigned numbers, and texts by its plan",
        applies: constant_in_a_mixed_list,
    },
    Rule {
        reason: "a parameter that may be of any type is of its value's type, in MySQL of the alternatives beside it",
        applies: parameter_among_alternatives,
    },
    Rule {
        reason: "the number of the greatest or least label is its text's, in MySQL's temporary tables its place",
        applies: number_of_an_extreme_label,
    },
    Rule {
        reason: "whether an operand of AND, OR, CASE or IF is evaluated, and warns, depends on what the plan folds",
        applies: constant_of_a_branch,
    },
    Rule {
        reason: "a parameter's text as a condition is no number of the kind that it is read as, which differs with the protocol in MySQL",
        applies: condition_of_a_parameter,
    },
    Rule { reason: "a FLOAT column beyond BIGINT is the greatest BIGINT, in MySQL the least", applies: integer_of_a_large_float },
    Rule {
        reason: "COALESCE and IFNULL of BIT give numbers, which MySQL describes as BIT and sends in digits",
        applies: number_of_bits,
    },
    Rule { reason: "which of two equal texts stands for both depends on the order of rows", applies: equal_texts },
    Rule {
        reason: "a message about a text that is no date or time names its value, in MySQL also the column that it is compared with or none",
        applies: column_in_a_message,
    },
    Rule {
        reason: "MySQL stores the zero date into a temporary table and warns that strict mode refuses it",
        applies: zero_date_in_a_temporary_table,
    },
    Rule {
        reason: "of two errors in a statement MySQL tells the one of a constant first, which it evaluates while it resolves names",
        applies: two_errors,
    },
    Rule {
        reason: "a strict change ends at the first bad value, and the order of the joins decides which row is first",
        applies: first_bad_row,
    },
    Rule {
        reason: "MySQL takes FIELD and INTERVAL for NULL where an outer join has no row, and makes an inner join of it",
        applies: inner_join_of_field,
    },
    Rule {
        reason: "a text that a key of numbers is looked up by is stored in MySQL (1366), here read as a number (1292)",
        applies: text_beside_key,
    },
    Rule {
        reason: "of several values that a strict change refuses each server tells the one that it comes to first",
        applies: two_bad_values,
    },
    Rule {
        reason: "whether a constant that is no number or date warns depends on whether the plan comes to evaluate it",
        applies: constant_that_nobody_reads,
    },
    Rule {
        reason: "a change of several tables names no table of a JSON column, as MySQL's comes from a temporary one",
        applies: |case| match case.finding.difference {
            Difference::ErrorText(3140) => match (error_text(case.mysql), error_text(case.vaquita)) {
                (Some(theirs), Some(ours)) => ours.replace("column 't0.", "column '.") == theirs && case.sql.contains(" JOIN "),
                _ => false,
            },
            _ => false,
        },
    },
    Rule {
        reason: "a message of a CAST that is out of range names it 'cast', in MySQL as the column of the result that it is",
        applies: name_of_a_cast,
    },
    Rule {
        reason: "a message of JSON that is no number or date calls its origin json, in MySQL as the column or function that gives it",
        applies: origin_of_json,
    },
    Rule {
        reason: "a text for a parameter is read before the statement runs, in MySQL when the plan reaches it",
        applies: parameter_that_nobody_reads,
    },
    Rule {
        reason: "a message of an expression that is out of range shows the values of its columns and constants, in MySQL their names",
        applies: expression_out_of_range,
    },
    Rule {
        reason: "whether a constant beside the column of a subquery of IN, ALL or ANY warns depends on how the plan finds it there",
        applies: constant_beside_a_subquery,
    },
    Rule { reason: "b'101' has the flag UNSIGNED here, as x'05' has in both", applies: bit_literal },
    Rule {
        reason: "IN and = ANY of a subquery of a table may be NULL for MySQL whatever is compared",
        applies: |case| {
            let is_subquery = [" IN (SELECT ", " = ANY (SELECT "].iter().any(|word| case.finding.mysql.contains(word));
            case.finding.difference == Difference::Metadata("flags")
                && is_subquery
                && case.finding.mysql.replace("0x0080", "0x0081") == case.finding.vaquita
        },
    },
    Rule {
        reason: "UPDATE of several tables computes DEFAULT (expr) over the row, MySQL over its temporary table",
        applies: default_of_a_temporary_table,
    },
    Rule {
        reason: "a binary string that is no text is refused (3854) when a row is reached that is compared with it",
        applies: binary_that_nobody_reads,
    },
    Rule { reason: "a message shows the value of a parameter, in MySQL '?'", applies: parameter_in_a_message },
    Rule {
        reason: "the kind of number that a text in a list of several kinds for IN is none of: MySQL's differs with its plan",
        applies: kind_in_a_mixed_list,
    },
];

/// The reason for which the finding is as it should be.
pub fn rule(finding: &Finding, sent: &Sent, tables: &[Table], (mysql, vaquita): (&Full, &Full)) -> Option<&'static str> {
    let params = sent.params.as_deref().unwrap_or_default();
    let prepared = sent.params.is_some();
    let case = Case { finding, sql: &sent.sql, params, prepared, tables, mysql, vaquita };
    RULES.iter().find(|rule| (rule.applies)(&case)).map(|rule| rule.reason)
}

/// Whether the difference is explained only if the rows are the same where the statement has no LIMIT; it without one.
pub fn without_limit(finding: &Finding, reason: &str, sql: &str) -> Option<String> {
    let (all, _) = sql.rsplit_once(" LIMIT ")?;
    (finding.difference == Difference::Rows && reason == SORTED_DOCUMENTS).then(|| all.to_string())
}

impl Case<'_> {
    /// It reads more than one table, or one in a subquery.
    fn joins(&self) -> bool {
        [" JOIN ", " STRAIGHT_JOIN ", "(SELECT "].iter().any(|word| self.sql.contains(word))
    }
}

/// What definitions of texts begin with.
const TEXTS: [&str; 7] = ["VAR", "CHAR", "TEXT", "BLOB", "BIN", "ENUM", "SET"];

fn quoted(line: &str) -> Option<&str> {
    line.split_once('\'').and_then(|(_, rest)| rest.rsplit_once('\'')).map(|(value, _)| value)
}

/// The definition of the column of one of the statement's tables that `name` is (`a0.c1`, `t1.c2`).
fn definition_of<'a>(case: &Case<'a>, name: &str) -> Option<&'a str> {
    let (alias, column) = name.split_once('.')?;
    let is_its = |table: &&Table| {
        // Aliases have one digit, so that none begins another.
        table.name == alias || case.sql.contains(&format!("{} AS {alias}", table.name))
    };
    let table = case.tables.iter().find(is_its)?;
    let (_, columns) = table.create.split_once('(')?;
    columns.split(", ").find_map(|part| part.strip_prefix(column)?.strip_prefix(' '))
}

fn is_temporal(definition: &str) -> bool {
    ["DATE", "TIME"].iter().any(|kind| definition.starts_with(kind))
}

fn sorted_rows(full: &Full) -> Vec<String> {
    let mut lines: Vec<String> = match &full.answer {
        crate::client::Answer::Rows { rows, .. } => rows.iter().map(super::answer::text).collect(),
        _ => Vec::new(),
    };
    lines.sort_unstable();
    lines
}

fn error_text(full: &Full) -> Option<&str> {
    match &full.answer {
        crate::client::Answer::Err { text, .. } => Some(text),
        _ => None,
    }
}

/// The rows with what `shown` makes of the value of each column, by the text of its expression; sorted.
fn rows_with(full: &Full, shown: impl Fn(&str, &str) -> String) -> Vec<String> {
    let names: Vec<&str> = full.metadata.iter().map(|line| line.split('\t').next().unwrap_or_default()).collect();
    let line = |row: &super::answer::Row| {
        let text = super::answer::text(row);
        let values = text.split('\t').enumerate().map(|(n, value)| shown(names.get(n).unwrap_or(&""), value));
        values.collect::<Vec<_>>().join("\t")
    };
    let mut lines: Vec<String> = match &full.answer {
        Answer::Rows { rows, .. } => rows.iter().map(line).collect(),
        _ => Vec::new(),
    };
    lines.sort_unstable();
    lines
}

/// Whether the sorted `part` is in the sorted `whole`, which has more.
fn is_part(part: &[String], whole: &[String]) -> bool {
    let mut rest = whole.iter();
    part.len() < whole.len() && part.iter().all(|line| rest.any(|other| other == line))
}

fn outer_join(sql: &str) -> bool {
    [" LEFT JOIN ", " RIGHT JOIN "].iter().any(|word| sql.contains(word))
}

fn affected(full: &Full) -> u64 {
    match &full.answer {
        Answer::Ok { affected, .. } => *affected,
        _ => 0,
    }
}

fn is_empty(full: &Full) -> bool {
    match &full.answer {
        Answer::Ok { affected, .. } => *affected == 0,
        Answer::Rows { rows, .. } => rows.is_empty(),
        _ => false,
    }
}

/// The statement from its first condition on.
fn conditions(sql: &str) -> &str {
    let first = [" WHERE ", " ON ", " HAVING "].iter().filter_map(|word| sql.find(word)).min();
    &sql[first.unwrap_or(sql.len())..]
}

/// A row of the answer is made of several.
fn aggregates(sql: &str) -> bool {
    const WORDS: [&str; 13] = [
        "GROUP BY",
        "DISTINCT",
        "COUNT(",
        "SUM(",
        "AVG(",
        "MIN(",
        "MAX(",
        "BIT_AND(",
        "BIT_OR(",
        "BIT_XOR(",
        "STD(",
        "GROUP_CONCAT(",
        "LIMIT",
    ];
    WORDS.iter().any(|word| sql.contains(word))
}

/// `text` at each `separator` that stands in no parentheses and no quotes.
fn parts<'t>(text: &'t str, separator: &str) -> Vec<&'t str> {
    let (mut depth, mut quoted, mut from, mut found) = (0, false, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            _ => {}
        }
        if depth == 0 && !quoted && at >= from && text[at..].starts_with(separator) {
            found.push(&text[from..at]);
            from = at + separator.len();
        }
    }
    found.push(&text[from..]);
    found
}

/// `2024-01-15` and what follows.
fn is_date_text(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 10
        && bytes[..4].iter().all(u8::is_ascii_digit)
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && !text.starts_with("0000")
}

/// The value that a message of a conversion is about.
fn value_of(line: &str) -> Option<&str> {
    let (_, rest) = line.rsplit_once("value: '").or_else(|| line.split_once("datetime value '"))?;
    let rest = rest.split("' at row ").next().unwrap_or(rest);
    let rest = rest.split("' for ").next().unwrap_or(rest);
    Some(rest.strip_suffix('\'').unwrap_or(rest))
}

/// The value is a literal of a condition, or a parameter that stands in one: the plan says whether it is read.
fn stands_in_a_condition(case: &Case<'_>, value: &str) -> bool {
    let literal = format!("'{value}'");
    let first = case.sql.len() - conditions(case.sql).len();
    let places = case.sql.match_indices('?').map(|(at, _)| at);
    conditions(case.sql).contains(&literal)
        || places.zip(case.params).any(|(at, param)| at > first && (*param == literal || *param == value))
}
