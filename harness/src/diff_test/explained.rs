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
        applies: greatest_of_no_date,
    },
    Rule {
        reason: "BETWEEN of a temporal column and a constant: MySQL compares the constant's packed form with a bound that is none as a number",
        applies: half_converted_bounds,
    },
    Rule {
        reason: "arrays and objects are sorted by what is in them, in MySQL by their length, with warning 1235",
        applies: sorted_documents,
    },
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
        applies: |case| case.finding.difference == Difference::Rows && case.sql.contains("DISTINCT NULLIF(x'"),
    },
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
        reason: "MySQL takes FIELD for NULL where an outer join has no row, and makes an inner join of it",
        applies: |case| {
            let (theirs, ours) = (sorted_rows(case.mysql), sorted_rows(case.vaquita));
            let outer = [" LEFT JOIN ", " RIGHT JOIN "].iter().any(|word| case.sql.contains(word));
            let filters = case.sql.split_once(" WHERE ").is_some_and(|(_, filter)| filter.contains("FIELD("));
            case.finding.difference == Difference::Rows && outer && filters && theirs.len() < ours.len()
        },
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
/// Of an ENUM or SET column, which MIN and MAX of one makes.
const LABELS: u32 = 0x100 | 0x800;
/// Of a TEXT or BLOB column, which MIN and MAX of one makes.
const BLOB: u32 = 0x10;
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
    // ROLLUP makes an expression of what it groups by.
    let rolls_up = case.sql.contains("ROLLUP");
    if rolls_up && kind == own_kind && charset == own_charset && number(own_flags) & !number(flags) & !(LOST_FLAGS | LABELS) == 0
    {
        return true;
    }
    let null = (*kind, *own_kind, *length) == ("253", "6", "0");
    let kinds = null || kind == own_kind || matches!((*kind, *own_kind), ("3", "8") | ("8", "13") | ("254", "253"));
    // A column of the table shows its name for an origin: it is made from an expression, and has a type that columns have.
    let made = *origin == format!("..{name}") && !own_origin.ends_with(&format!(".{name}"));
    if made && kind_of_column(own_kind, kind) {
        return true;
    }
    let literal = name.starts_with("x'") || name.starts_with("b'") || name.starts_with("0x");
    let lost = number(own_flags) & !number(flags) & !if literal { UNSIGNED } else { 0 };
    let gained = number(flags) & !number(own_flags);
    origins
        && kinds
        && lost & !LOST_FLAGS == 0
        && gained & !(0x1000 | LABELS | BLOB) == 0
        && (decimals == own_decimals || *decimals == "0" && *own_decimals == "31")
        && charset == own_charset
        && length == own_length
}

/// What kind the column of a temporary table has that is made for values of a kind.
fn kind_of_column(of: &str, column: &str) -> bool {
    let is_integer = |kind: &str| matches!(kind, "1" | "2" | "3" | "8" | "9" | "13");
    let is_text = |kind: &str| matches!(kind, "249" | "250" | "251" | "252" | "253" | "254");
    of == column || is_integer(of) && is_integer(column) || is_text(of) && is_text(column)
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
    // Beside one in a UNION a text is so long that it is a BLOB.
    let fields = |line: &str| line.split('\t').skip(2).map(str::to_string).collect::<Vec<_>>();
    let (theirs, ours) = (fields(&case.finding.mysql), fields(&case.finding.vaquita));
    let beside = case.sql.contains("UNION")
        && matches!((&theirs[..], &ours[..]), ([kind, .., a, _], [own_kind, .., b, _]) if kind == "252" && own_kind == "253" && a == b);
    matches!(case.finding.difference, Difference::Metadata(field) if of_type(field))
        && !case.params.is_empty()
        && (name.contains('?') || beside)
}

/// A value of a parameter has its own digits; the rows are the same but for zeros behind the point.
fn digits_of_a_parameter(case: &Case<'_>) -> bool {
    let plain = |line: String| {
        let numbers = line.split_inclusive(|c: char| !c.is_ascii_digit() && c != '.');
        let cut = |part: &str| {
            let end = part.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(part.len());
            let (number, rest) = part.split_at(end);
            let number = if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
            format!("{number}{rest}")
        };
        numbers.map(cut).collect::<String>()
    };
    let rows = |full: &Full| sorted_rows(full).into_iter().map(plain).collect::<Vec<_>>();
    case.finding.difference == Difference::Rows && !case.params.is_empty() && rows(case.mysql) == rows(case.vaquita)
}

/// A YEAR column of a temporary table is an INT.
fn year_in_a_temporary_table(case: &Case<'_>) -> bool {
    let rows = |full: &Full| sorted_rows(full).into_iter().map(|row| row.replace("0000", "0")).collect::<Vec<_>>();
    case.finding.difference == Difference::Rows
        && ["ROLLUP", "DISTINCT", "GROUP BY"].iter().any(|word| case.sql.contains(word))
        && case.tables.iter().any(|table| table.create.contains(" YEAR"))
        && rows(case.mysql) == rows(case.vaquita)
}

/// `column = text` of a YEAR, date or time column that has a key, beside a text column.
fn key_of_no_date(case: &Case<'_>) -> bool {
    let is_text =
        |definition: &str| ["VAR", "CHAR", "TEXT", "BLOB", "BIN", "ENUM", "SET"].iter().any(|kind| definition.starts_with(kind));
    let has_key = |name: &str| {
        let column = name.split_once('.').map_or("", |(_, column)| column);
        case.tables
            .iter()
            .any(|table| table.create.contains(&format!("({column})")) || table.create.contains(&format!("({column} DESC)")))
    };
    let of_both = |operator: &str| {
        case.sql.match_indices(operator).any(|(at, _)| {
            let left = case.sql[..at].rsplit([' ', '(']).next().unwrap_or_default();
            let right = case.sql[at + operator.len()..].split([' ', ')', ',', ';']).next().unwrap_or_default();
            [(left, right), (right, left)].into_iter().any(|(key, text)| {
                definition_of(case, key).is_some_and(|d| is_temporal(d) || d.starts_with("YEAR"))
                    && has_key(key)
                    && definition_of(case, text).is_some_and(is_text)
            })
        })
    };
    let differs = matches!(
        case.finding.difference,
        Difference::Rows | Difference::Tables | Difference::Counts | Difference::Affected | Difference::Warnings
    );
    differs && (of_both(" = ") || of_both(" <=> "))
}

/// COALESCE, IFNULL and ANY_VALUE of BIT.
fn number_of_bits(case: &Case<'_>) -> bool {
    let kind = |line: &str| line.split('\t').nth(2).unwrap_or_default().to_string();
    matches!(case.finding.difference, Difference::Metadata("type" | "flags"))
        && kind(&case.finding.mysql) == "16"
        && kind(&case.finding.vaquita) == "8"
        && ["COALESCE(", "IFNULL(", "ANY_VALUE("].iter().any(|call| case.finding.mysql.starts_with(call))
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
        && (case.mysql.warnings.iter().filter(refused).any(again) || packed_bounds(case))
}

/// GREATEST or LEAST of which one argument is a DATE literal or function, another a text literal without a digit.
fn greatest_of_no_date(case: &Case<'_>) -> bool {
    let is_no_date = |argument: &str| {
        let argument = argument.trim();
        argument.starts_with("x'") || argument.starts_with('\'') && !argument.contains(|c: char| c.is_ascii_digit())
    };
    let is_date = |argument: &str| {
        argument.contains("DATE'")
            || definition_of(case, argument.trim()).is_some_and(|definition| definition.starts_with("DATE"))
    };
    let of_both = |name: &str| {
        case.sql.match_indices(name).any(|(at, _)| {
            let arguments = case.sql[at + name.len()..].split(')').next().unwrap_or_default();
            arguments.split(',').any(is_date) && arguments.split(',').any(is_no_date)
        })
    };
    let differs =
        matches!(case.finding.difference, Difference::Rows | Difference::Tables | Difference::Counts | Difference::Affected);
    differs && (case.mysql_has("16383-15-3") || of_both("GREATEST(") || of_both("LEAST("))
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

/// `column BETWEEN low AND high` of a DATE, TIME, DATETIME or TIMESTAMP column where a bound is a literal or parameter.
fn packed_bounds(case: &Case<'_>) -> bool {
    const BETWEEN: &str = " BETWEEN ";
    let is_constant = |bound: &str| bound.starts_with(|c: char| c == '\'' || c == '?' || c == '-' || c.is_ascii_digit());
    case.sql.match_indices(BETWEEN).any(|(at, _)| {
        let before = case.sql[..at].strip_suffix(" NOT").unwrap_or(&case.sql[..at]);
        let operand = before.rsplit([' ', '(']).next().unwrap_or_default();
        let bounds = &case.sql[at + BETWEEN.len()..];
        let (low, high) = bounds.split_once(" AND ").unwrap_or((bounds, ""));
        definition_of(case, operand).is_some_and(is_temporal) && (is_constant(low) || is_constant(high))
    })
}

fn sorted_documents(case: &Case<'_>) -> bool {
    const WARNING: &str = "sorting of non-scalar JSON values";
    let warned = case.mysql.warnings.iter().any(|line| line.contains(WARNING));
    match case.finding.difference {
        Difference::Warnings => case.finding.mysql.contains(WARNING),
        // A LIMIT takes others of them.
        Difference::Rows => warned && (case.sql.contains(" LIMIT ") || sorted_rows(case.mysql) == sorted_rows(case.vaquita)),
        _ => false,
    }
}

fn sorted_rows(full: &Full) -> Vec<String> {
    let mut lines: Vec<String> = match &full.answer {
        crate::client::Answer::Rows { rows, .. } => rows.iter().map(super::answer::text).collect(),
        _ => Vec::new(),
    };
    lines.sort_unstable();
    lines
}

/// `number > ALL (SELECT text …)` is `number > (SELECT MAX(text) …)` in MySQL, and MAX compares texts.
fn extreme_text(case: &Case<'_>) -> bool {
    let quantified = [
        "< ALL (SELECT",
        "> ALL (SELECT",
        "<= ALL (SELECT",
        ">= ALL (SELECT",
        "< ANY (SELECT",
        "> ANY (SELECT",
        "<= ANY (SELECT",
        ">= ANY (SELECT",
    ];
    let is_number = |c: char| c.is_ascii_digit();
    matches!(case.finding.difference, Difference::Rows | Difference::Warnings)
        && quantified
            .iter()
            .any(|word| case.sql.match_indices(word).any(|(at, _)| case.sql[..at].trim_end().ends_with(is_number)))
}

/// What stands before the parenthesis that ends a call.
fn argument_at(text: &str) -> &str {
    let mut depth = 0;
    let end = text.find(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth < 0
    });
    &text[..end.unwrap_or(text.len())]
}

fn distinct_parameter(case: &Case<'_>) -> bool {
    // Its argument has a parameter and no column.
    let of_parameters = |call: &str| {
        case.sql.match_indices(call).any(|(at, _)| {
            let argument = argument_at(&case.sql[at + call.len()..]);
            argument.contains('?') && !argument.contains("a0.") && !argument.contains("a1.") && !argument.contains("a2.")
        })
    };
    let rolls_up = case.sql.contains("ROLLUP") && ["AVG(", "SUM("].iter().any(|call| of_parameters(call));
    let distinct = ["COUNT(DISTINCT ", "GROUP_CONCAT(DISTINCT ", "SUM(DISTINCT ", "AVG(DISTINCT "];
    case.finding.difference == Difference::Rows && (rolls_up || distinct.iter().any(|call| of_parameters(call)))
}

/// The rows are the same but for accents and spaces at the end, in what folds equal texts into one.
fn equal_texts(case: &Case<'_>) -> bool {
    let folded = |full: &Full| {
        let plain = |line: String| line.to_lowercase().replace('ä', "a").replace(" \t", "\t").trim_end().to_string();
        let mut lines: Vec<String> = sorted_rows(full).into_iter().map(plain).collect();
        lines.sort_unstable();
        lines
    };
    case.finding.difference == Difference::Rows
        && ["GROUP BY", "DISTINCT", "UNION", "MIN(", "MAX("].iter().any(|word| case.sql.contains(word))
        && folded(case.mysql) == folded(case.vaquita)
}

/// Both complain of the same text as a date or time.
fn column_in_a_message(case: &Case<'_>) -> bool {
    let about = |line: &str| {
        let rest = line.rsplit_once(" value: '").map(|(_, rest)| rest)?;
        let kind = ["date", "time", "datetime"].iter().any(|kind| line.contains(&format!("ncorrect {kind} value: ")));
        let value = rest.split_once("' for column '").map_or_else(|| rest.strip_suffix('\''), |(value, _)| Some(value))?;
        kind.then(|| value.to_string())
    };
    match case.finding.difference {
        Difference::Warnings => {
            let (line, other) = match case.finding.mysql.is_empty() {
                true => (&case.finding.vaquita, &case.mysql.warnings),
                false => (&case.finding.mysql, &case.vaquita.warnings),
            };
            about(line).is_some_and(|value| other.iter().any(|other| about(other).as_ref() == Some(&value)))
        }
        Difference::ErrorText(1292) => match (error_text(case.mysql), error_text(case.vaquita)) {
            (Some(theirs), Some(ours)) => {
                let theirs = theirs.split(" at row ").next().unwrap_or(theirs);
                about(theirs).is_some() && about(theirs) == about(ours)
            }
            _ => false,
        },
        _ => false,
    }
}

fn error_text(full: &Full) -> Option<&str> {
    match &full.answer {
        crate::client::Answer::Err { text, .. } => Some(text),
        _ => None,
    }
}

fn zero_date_in_a_temporary_table(case: &Case<'_>) -> bool {
    let line = &case.finding.mysql;
    case.finding.difference == Difference::Warnings
        && (line.contains("Incorrect datetime value: '0000-00-00") || line.contains("Incorrect date value: '0000-00-00"))
        && line.contains("' for column '")
        && !case.sql.contains("'0000-00-00")
        && (case.sql.contains("GROUP BY") || case.sql.contains("DISTINCT"))
}

/// Both refuse the statement, MySQL for a text that it converts or compares.
fn two_errors(case: &Case<'_>) -> bool {
    match case.finding.difference {
        Difference::Error(mysql, vaquita) => {
            const OF_NAMES: [u16; 11] = [1052, 1054, 1093, 1111, 1140, 1253, 1267, 1270, 1271, 3029, 3995];
            (matches!(mysql, 1292 | 1525 | 3854) || OF_NAMES.contains(&mysql)) && OF_NAMES.contains(&vaquita)
        }
        // Of several columns that are not grouped by each names the one that it meets first.
        Difference::ErrorText(1140) => {
            let before = |full: &Full| error_text(full).and_then(|text| Some(text.split_once("column '")?.0.to_string()));
            before(case.mysql).is_some() && before(case.mysql) == before(case.vaquita)
        }
        // Each names a constant of the statement.
        Difference::ErrorText(1525) => [case.mysql, case.vaquita].iter().all(|full| {
            let value = error_text(full).and_then(|text| quoted(text).map(|value| format!("'{value}'")));
            value.is_some_and(|value| case.sql.contains(&value)) && error_text(case.mysql) != error_text(case.vaquita)
        }),
        _ => false,
    }
}

/// A change of or from several tables in strict mode, refused by one server, or by both, for values that the statement does not hold.
fn first_bad_row(case: &Case<'_>) -> bool {
    let changes = ["UPDATE ", "DELETE ", "INSERT ", "REPLACE "].iter().any(|word| case.sql.starts_with(word));
    let of_a_row = |full: &Full| {
        error_text(full).is_none_or(|text| {
            let value = quoted(text).map(|value| value.split("' for column").next().unwrap_or(value));
            value.is_some_and(|value| !case.sql.contains(&format!("'{value}'")) && !case.params.contains(&format!("'{value}'")))
        })
    };
    matches!(case.finding.difference, Difference::Error(1292, 0) | Difference::Error(0, 1292) | Difference::ErrorText(1292))
        && changes
        && case.joins()
        && of_a_row(case.mysql)
        && of_a_row(case.vaquita)
}

/// Each server warns of the same text, MySQL as of a column's value.
fn text_beside_key(case: &Case<'_>) -> bool {
    let stored = |line: &str| {
        let (head, rest) = line.split_once(" value: '")?;
        head.starts_with("Warning\t1366\tIncorrect ")
            .then(|| rest.split_once("' for column").map(|(value, _)| value.to_string()))?
    };
    let read = |line: &str| {
        let (head, rest) = line.split_once(" value: '")?;
        head.starts_with("Warning\t1292\tTruncated incorrect ").then(|| rest.trim_end_matches('\'').to_string())
    };
    let theirs = || case.mysql.warnings.iter().filter_map(|line| stored(line));
    let ours = || case.vaquita.warnings.iter().filter_map(|line| read(line));
    case.finding.difference == Difference::Warnings
        && match case.finding.mysql.is_empty() {
            true => read(&case.finding.vaquita).is_some_and(|value| theirs().any(|other| other == value)),
            false => stored(&case.finding.mysql).is_some_and(|value| ours().any(|other| other == value)),
        }
}

/// Both refuse a change of a statement with conditions or several values, each for another value.
fn two_bad_values(case: &Case<'_>) -> bool {
    let changes = ["UPDATE ", "DELETE ", "INSERT ", "REPLACE "].iter().any(|word| case.sql.starts_with(word));
    let value = |full: &Full| error_text(full).and_then(|text| text.rsplit_once(" value: '")).map(|(_, rest)| rest.to_string());
    match (value(case.mysql), value(case.vaquita)) {
        (Some(theirs), Some(ours)) => {
            let of = |rest: &str| rest.split('\'').next().unwrap_or_default().to_string();
            case.finding.difference == Difference::ErrorText(1292) && changes && of(&theirs) != of(&ours)
        }
        _ => false,
    }
}

/// Only one server warns of a text that the statement holds in or behind its first condition, whose rows decide what is evaluated, and the
/// other says nothing of it.
fn constant_that_nobody_reads(case: &Case<'_>) -> bool {
    let is_literal = |text: &str| {
        quoted(text).is_some_and(|value| {
            let literal = format!("'{}'", value.split("' for column").next().unwrap_or(value));
            case.sql.contains(&literal) || case.params.contains(&literal)
        })
    };
    let changes_nothing = |full: &Full| matches!(full.answer, crate::client::Answer::Ok { affected: 0, .. });
    match case.finding.difference {
        // Where one refuses a change, the other finds nothing to change.
        Difference::Error(1292, 0) => return error_text(case.mysql).is_some_and(is_literal) && changes_nothing(case.vaquita),
        Difference::Error(0, 1292) => return error_text(case.vaquita).is_some_and(is_literal) && changes_nothing(case.mysql),
        _ => {}
    }
    let (line, other) = match case.finding.mysql.is_empty() {
        true => (&case.finding.vaquita, &case.mysql.warnings),
        false => (&case.finding.mysql, &case.vaquita.warnings),
    };
    let Some(value) = quoted(line).map(|value| value.split("' for column").next().unwrap_or(value)) else { return false };
    let literal = format!("'{value}'");
    let conditions = [" WHERE ", " ON ", " HAVING "].iter().filter_map(|word| case.sql.find(word)).min();
    let conditional = conditions.is_some_and(|at| case.sql[at..].contains(&literal));
    let is_conversion = line.contains("\t1292\tTruncated incorrect ") || line.contains("\t1292\tIncorrect ");
    case.finding.difference == Difference::Warnings
        && is_conversion
        && conditional
        && !other.iter().any(|line| line.contains(&literal))
}

/// Both warn of a CAST, or both refuse it.
fn name_of_a_cast(case: &Case<'_>) -> bool {
    const MESSAGE: &str = "Out of range value for column '";
    const OURS: &str = "Out of range value for column 'cast' at row";
    match case.finding.difference {
        Difference::ErrorText(1264) => {
            error_text(case.mysql).is_some_and(|text| text.starts_with(MESSAGE))
                && error_text(case.vaquita).is_some_and(|text| text.starts_with(OURS))
        }
        Difference::Warnings => {
            let is_theirs = |line: &String| {
                let name = line.split_once(MESSAGE).map(|(_, rest)| rest.to_ascii_uppercase());
                name.is_some_and(|name| name.starts_with("(NULL)'") || name.starts_with("CAST("))
            };
            let line = if case.finding.mysql.is_empty() { &case.finding.vaquita } else { &case.finding.mysql };
            (line.contains(OURS) || is_theirs(line))
                && case.vaquita.warnings.iter().any(|line| line.contains(OURS))
                && case.mysql.warnings.iter().any(is_theirs)
        }
        _ => false,
    }
}

/// Only Vaquita says anything of a value that is sent.
fn parameter_that_nobody_reads(case: &Case<'_>) -> bool {
    let Some(value) = quoted(&case.finding.vaquita) else { return false };
    let sent = format!("'{value}'");
    case.finding.difference == Difference::Warnings
        && case.finding.vaquita.starts_with("Warning\t1292\t")
        && case.params.contains(&sent)
        && !case.mysql.warnings.iter().any(|line| line.contains(&sent))
}

/// Both warn of or refuse a date that is out of range.
fn expression_out_of_range(case: &Case<'_>) -> bool {
    let kind = |text: &str| text.split_once(" value is out of range in '").map(|(kind, _)| kind.to_string());
    match case.finding.difference {
        Difference::ErrorText(6527) => error_text(case.mysql).and_then(kind) == error_text(case.vaquita).and_then(kind),
        Difference::Warnings => {
            let line = if case.finding.mysql.is_empty() { &case.finding.vaquita } else { &case.finding.mysql };
            let has = |full: &Full| full.warnings.iter().any(|other| other.contains("\t6527\t") && kind(other) == kind(line));
            line.contains("\t6527\t") && has(case.mysql) && has(case.vaquita)
        }
        _ => false,
    }
}

/// Both warn that JSON is none of a kind, or refuse it.
fn origin_of_json(case: &Case<'_>) -> bool {
    let kind = |text: &str| {
        let (before, _) = text.split_once(" from column ")?;
        before.contains("Invalid JSON value for CAST to ").then(|| before.to_string())
    };
    match case.finding.difference {
        Difference::ErrorText(3156) => error_text(case.mysql).and_then(kind) == error_text(case.vaquita).and_then(kind),
        Difference::Warnings => {
            let line = if case.finding.mysql.is_empty() { &case.finding.vaquita } else { &case.finding.mysql };
            let wanted = kind(line);
            let has = |full: &Full| full.warnings.iter().any(|line| kind(line) == wanted);
            wanted.is_some() && has(case.mysql) && has(case.vaquita)
        }
        _ => false,
    }
}

/// A number that a text of the statement is said not to be, which stands left of IN, ALL or ANY or is what the subquery there selects.
fn constant_beside_a_subquery(case: &Case<'_>) -> bool {
    const SUBQUERIES: [&str; 4] = [" IN (SELECT ", " NOT IN (SELECT ", " > ALL (SELECT ", " = ANY (SELECT "];
    let line = if case.finding.mysql.is_empty() { &case.finding.vaquita } else { &case.finding.mysql };
    let is_number =
        ["DOUBLE", "INTEGER", "DECIMAL"].iter().any(|kind| line.contains(&format!("Truncated incorrect {kind} value: '")));
    let Some(value) = quoted(line) else { return false };
    let literal = format!("'{value}'");
    let stands_beside = |word: &&str| {
        case.sql
            .match_indices(*word)
            .any(|(at, _)| case.sql[..at].ends_with(&literal) || case.sql[at + word.len()..].starts_with(&literal))
    };
    case.finding.difference == Difference::Warnings && is_number && SUBQUERIES.iter().any(stands_beside)
}

fn bit_literal(case: &Case<'_>) -> bool {
    case.finding.difference == Difference::Metadata("flags")
        && case.finding.mysql.starts_with("b'")
        && case.finding.mysql.replace("0x0081", "0x00a1") == case.finding.vaquita
}

/// Only the first byte of such a value, or what follows it, is lost in MySQL's line.
fn latin1_in_a_message(case: &Case<'_>) -> bool {
    let latin1 = case.tables.iter().any(|table| table.create.contains("latin1"));
    let beside = |lines: &std::collections::BTreeSet<String>, wanted: fn(&str) -> bool| lines.iter().any(|line| wanted(line));
    let lost = |line: &str| line.contains("value: '?") || line.contains("value: '") && line.matches('\'').count() == 1;
    let kept = |line: &str| quoted(line).is_some_and(|value| !value.is_ascii());
    // A message that is no UTF-8 is shown in hexadecimal digits.
    let is_bytes = |line: &str| line.split('\t').nth(2).is_some_and(|text| text.starts_with("0x"));
    let line = if case.finding.mysql.is_empty() { &case.finding.vaquita } else { &case.finding.mysql };
    // Bytes of binary strings, too, of which MySQL shows those before a zero byte.
    let escaped = |line: &str| line.contains("value: '") && line.contains("\\x");
    let of_bytes = is_bytes(line) && beside(&case.vaquita.warnings, |l| l.contains("\\x"))
        || escaped(line)
            && (beside(&case.mysql.warnings, |l| l.split('\t').nth(2).is_some_and(|text| text.starts_with("0x")))
                || beside(&case.mysql.warnings, |l| !l.is_ascii()))
        || !line.is_ascii() && beside(&case.vaquita.warnings, |l| l.contains("\\x"));
    case.finding.difference == Difference::Warnings
        && (latin1 || of_bytes)
        && (of_bytes
            || is_bytes(line)
            || kept(line) && beside(&case.mysql.warnings, |l| l.split('\t').nth(2).is_some_and(|text| text.starts_with("0x")))
            || lost(line) && beside(&case.vaquita.warnings, |l| !l.is_ascii() || l.contains("\t0x"))
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::client::Answer;

    fn full(warning: &str) -> Full {
        let warnings = if warning.is_empty() { BTreeSet::new() } else { BTreeSet::from([warning.to_string()]) };
        let answer = Answer::Rows { columns: Vec::new(), rows: Vec::new() };
        Full { answer, insert_id: 0, metadata: Vec::new(), warnings, counts: Vec::new(), tables: Vec::new() }
    }

    /// Whether a rule knows the warnings of both servers to be as they should be.
    fn is_explained(sql: &str, mysql: &str, vaquita: &str) -> bool {
        let sent = Sent { sql: sql.to_string(), params: Some(vec!["'5x'".to_string()]), counts: false };
        let answers = (&full(mysql), &full(vaquita));
        let findings = super::super::answer::findings(answers.0, answers.1, false, false);
        !findings.is_empty() && findings.iter().all(|finding| rule(finding, &sent, &[], answers).is_some())
    }

    fn refusal(text: &str) -> Full {
        Full { answer: Answer::Err { code: 1292, state: "22007".to_string(), text: text.to_string() }, ..full("") }
    }

    #[test]
    fn planted_errors_are_no_decided_ones() {
        let wrong = |kind: &str, value: &str| format!("Truncated incorrect {kind} value: '{value}'");
        let cases = [
            ("UPDATE t0 SET c0 = 'a' WHERE c1 = 'b'", wrong("DOUBLE", "a"), wrong("DOUBLE", "b"), true),
            ("UPDATE t0 SET c0 = 'a' WHERE c1 = 'b'", wrong("DOUBLE", "a"), wrong("INTEGER", "a"), false),
            ("SELECT 'a' + 'b'", wrong("DOUBLE", "a"), wrong("DOUBLE", "b"), false),
        ];
        for (sql, mysql, vaquita, expected) in cases {
            let sent = Sent { sql: sql.to_string(), params: None, counts: false };
            let answers = (&refusal(&mysql), &refusal(&vaquita));
            let findings = super::super::answer::findings(answers.0, answers.1, false, false);
            let explained = !findings.is_empty() && findings.iter().all(|finding| rule(finding, &sent, &[], answers).is_some());
            assert_eq!(explained, expected, "{sql}: {mysql} and {vaquita}");
        }
    }

    #[test]
    fn planted_warnings_are_no_decided_ones() {
        let cast = "Warning\t1264\tOut of range value for column 'cast' at row #";
        let sum = "Warning\t6527\tDATE value is out of range in 'from_days(1)'";
        let json =
            |kind: &str, of: &str| format!("Warning\t3156\tInvalid JSON value for CAST to {kind} from column {of} at row #");
        let wrong = |kind: &str, value: &str| format!("Warning\t1292\tTruncated incorrect {kind} value: '{value}'");
        let cases = [
            ("SELECT 1", "Warning\t1264\tOut of range value for column '(null)' at row #", cast, true),
            ("SELECT 1", "Warning\t1264\tOut of range value for column 'c1' at row #", cast, false),
            ("SELECT 1", "", cast, false),
            ("SELECT 1", &json("DOUBLE", "c1"), &json("DOUBLE", "json"), true),
            ("SELECT 1", &json("DOUBLE", "c1"), &json("INTEGER", "json"), false),
            ("SELECT 1", "Warning\t6527\tDATE value is out of range in 'from_days(`c1`)'", sum, true),
            ("SELECT 1", "", sum, false),
            ("SELECT ?", "", &wrong("INTEGER", "5x"), true),
            ("SELECT ?", &wrong("DOUBLE", "5x"), &wrong("INTEGER", "5x"), false),
            ("SELECT ?", &wrong("INTEGER", "5x"), "", false),
            ("SELECT ?", "", &wrong("INTEGER", "6x"), false),
            ("SELECT ('6x' IN (SELECT 1))", "", &wrong("DOUBLE", "6x"), true),
            ("SELECT ('6x' IN (SELECT 1)), '7x' + 0", "", &wrong("DOUBLE", "7x"), false),
            ("SELECT 1 FROM t0 WHERE '7x' > id", "", &wrong("DOUBLE", "7x"), true),
            ("SELECT 1 FROM t0 WHERE '7x' > id", &wrong("DOUBLE", "7x"), "", true),
            ("SELECT 1 FROM t0 WHERE '7x' > id", &wrong("DOUBLE", "7x"), &wrong("INTEGER", "7x"), false),
            ("SELECT '7x' + 0 FROM t0", &wrong("DOUBLE", "7x"), "", false),
            ("SELECT 1 FROM t0 WHERE id > c1", &wrong("DOUBLE", "7x"), "", false),
        ];
        for (sql, mysql, vaquita, expected) in cases {
            assert_eq!(is_explained(sql, mysql, vaquita), expected, "{sql}: {mysql} and {vaquita}");
        }
    }
}
