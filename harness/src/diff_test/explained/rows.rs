//! Differences of rows and counts that are decided on: the rules to be most suspicious of. Each compares what is left of the answers without
//! what it explains, where it can tell that apart.

use super::*;

/// A value of a parameter has its own digits; the rows are the same but for zeros behind the point in columns that have parameters.
pub(super) fn digits_of_a_parameter(case: &Case<'_>) -> bool {
    let plain = |value: &str| match value.contains('.') {
        true => value.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => value.to_string(),
    };
    let rows = |full: &Full| rows_with(full, |name, value| if name.contains('?') { plain(value) } else { value.to_string() });
    case.finding.difference == Difference::Rows && !case.params.is_empty() && rows(case.mysql) == rows(case.vaquita)
}

/// A YEAR column of a temporary table is an INT.
pub(super) fn year_in_a_temporary_table(case: &Case<'_>) -> bool {
    let rows = |full: &Full| rows_with(full, |_, value| if value == "0000" { "0".to_string() } else { value.to_string() });
    case.finding.difference == Difference::Rows
        && ["ROLLUP", "DISTINCT", "GROUP BY"].iter().any(|word| case.sql.contains(word))
        && case.tables.iter().any(|table| table.create.contains(" YEAR"))
        && rows(case.mysql) == rows(case.vaquita)
}

/// `column = text` of a YEAR, date or time column that has a key, beside a text column.
pub(super) fn key_of_no_date(case: &Case<'_>) -> bool {
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
    // MySQL finds fewer.
    let differs = match case.finding.difference {
        Difference::Rows if aggregates(case.sql) => true,
        // An outer join has a row of NULLs instead.
        Difference::Rows if outer_join(case.sql) => sorted_rows(case.mysql).len() <= sorted_rows(case.vaquita).len(),
        Difference::Rows => is_part(&sorted_rows(case.mysql), &sorted_rows(case.vaquita)),
        Difference::Affected => affected(case.mysql) < affected(case.vaquita),
        Difference::Warnings => true,
        _ => false,
    };
    let by_name = case.sql.split_once(" USING (").is_some_and(|(_, names)| {
        argument_at(names).split(", ").any(|name| {
            let of = |table: &str| definition_of(case, &format!("{table}.{name}"));
            let is_date = |definition: Option<&str>| definition.is_some_and(|d| is_temporal(d) || d.starts_with("YEAR"));
            let pair = (of("t0"), of("t1"));
            has_key(&format!("t0.{name}"))
                && (is_date(pair.0) && pair.1.is_some_and(is_text) || is_date(pair.1) && pair.0.is_some_and(is_text))
        })
    });
    differs && (of_both(" = ") || of_both(" <=> ") || by_name)
}

/// MySQL says of one text that it is no value for the column, and again that it is no number.
pub(super) fn half_converted_bounds(case: &Case<'_>) -> bool {
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
        && (case.mysql.warnings.iter().filter(refused).any(again) || packed_bounds(case) || dates_between_texts(case))
}

/// GREATEST of which one argument is a DATE, another a text that is none.
pub(super) fn greatest_of_no_date(case: &Case<'_>) -> bool {
    const CALL: &str = "GREATEST(";
    const DATES: [&str; 5] = ["DATE'", "FROM_DAYS(", "LAST_DAY(", "MAKEDATE(", "STR_TO_DATE("];
    let is_no_date = |argument: &&str| {
        let text = argument.strip_prefix('\'').unwrap_or_default();
        let of_column = |definition: &str| !is_temporal(definition) && !definition.starts_with("YEAR");
        argument.starts_with("x'")
            || argument.starts_with('\'') && !is_date_text(text)
            || **argument == *"?"
            || definition_of(case, argument).is_some_and(of_column)
    };
    let is_date = |argument: &&str| {
        let of_column = definition_of(case, argument).is_some_and(|d| d.starts_with("DATE") && !d.starts_with("DATETIME"));
        DATES.iter().any(|word| argument.starts_with(word)) || of_column
    };
    let of_both = |text: &str| {
        text.match_indices(CALL).any(|(at, _)| {
            let arguments = parts(argument_at(&text[at + CALL.len()..]), ", ");
            arguments.iter().any(is_date) && arguments.iter().any(is_no_date)
        })
    };
    let rows = |full: &Full| rows_with(full, |name, value| if of_both(name) { String::new() } else { value.to_string() });
    match case.finding.difference {
        Difference::Rows if of_both(conditions(case.sql)) || aggregates(case.sql) => of_both(case.sql),
        Difference::Rows => rows(case.mysql) == rows(case.vaquita),
        Difference::Tables | Difference::Affected => of_both(case.sql),
        _ => false,
    }
}

/// `column BETWEEN low AND high` of a DATE, TIME, DATETIME or TIMESTAMP column where a bound is a literal or parameter, and not both are dates.
pub(super) fn packed_bounds(case: &Case<'_>) -> bool {
    const BETWEEN: &str = " BETWEEN ";
    let is_constant = |bound: &str| bound.starts_with(|c: char| c == '\'' || c == '?' || c == '-' || c.is_ascii_digit());
    let is_moment = |bound: &str| {
        bound.strip_prefix('\'').is_some_and(is_date_text)
            || ["DATE'", "TIMESTAMP'", "TIME'"].iter().any(|word| bound.starts_with(word))
            || definition_of(case, bound).is_some_and(is_temporal)
    };
    case.sql.match_indices(BETWEEN).any(|(at, _)| {
        let before = case.sql[..at].strip_suffix(" NOT").unwrap_or(&case.sql[..at]);
        let operand = before.rsplit([' ', '(']).next().unwrap_or_default();
        let bounds = parts(argument_at(&case.sql[at + BETWEEN.len()..]), " AND ");
        let [low, high, ..] = bounds[..] else { return false };
        definition_of(case, operand).is_some_and(is_temporal)
            && (is_constant(low) || is_constant(high))
            && !(is_moment(low) && is_moment(high))
    })
}

/// With a LIMIT, which takes others of them, the caller compares the rows without it (`needs_no_limit`).
pub(super) fn sorted_documents(case: &Case<'_>) -> bool {
    const WARNING: &str = "sorting of non-scalar JSON values";
    let warned = case.mysql.warnings.iter().any(|line| line.contains(WARNING));
    let (theirs, ours) = (sorted_rows(case.mysql), sorted_rows(case.vaquita));
    match case.finding.difference {
        Difference::Warnings => case.finding.mysql.contains(WARNING),
        Difference::Rows => warned && (theirs == ours || case.sql.contains(" LIMIT ") && theirs.len() == ours.len()),
        _ => false,
    }
}

/// `number > ALL (SELECT text …)` is `number > (SELECT MAX(text) …)` in MySQL, and MAX compares texts.
pub(super) fn extreme_text(case: &Case<'_>) -> bool {
    let is_text = |definition: &str| TEXTS.iter().any(|kind| definition.starts_with(kind));
    let of_numbers_and_texts = |word: &str| {
        case.sql.match_indices(word).any(|(at, _)| {
            let before = case.sql[..at].trim_end_matches(['<', '>', '=']).trim_end();
            let operand = before.rsplit([' ', '(']).next().unwrap_or_default();
            let selected = case.sql[at + word.len()..].split(" FROM ").next().unwrap_or_default();
            let of_number = match definition_of(case, operand) {
                Some(definition) => !is_text(definition) && !is_temporal(definition) && !definition.starts_with("JSON"),
                None => operand.parse::<f64>().is_ok() || operand == "?",
            };
            of_number && (selected.starts_with('\'') || selected == "?" || definition_of(case, selected).is_some_and(is_text))
        })
    };
    matches!(case.finding.difference, Difference::Rows | Difference::Warnings)
        && [" ALL (SELECT ", " ANY (SELECT "].iter().any(|word| of_numbers_and_texts(word))
}

/// What stands before the parenthesis that ends a call.
pub(super) fn argument_at(text: &str) -> &str {
    let mut depth = 0;
    let end = text.find(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth < 0
    });
    &text[..end.unwrap_or(text.len())]
}

/// Only columns that aggregate such a parameter differ.
pub(super) fn distinct_parameter(case: &Case<'_>) -> bool {
    // Its argument has a parameter and no column.
    let of_parameters = |text: &str, call: &str| {
        text.match_indices(call).any(|(at, _)| {
            let argument = argument_at(&text[at + call.len()..]);
            argument.contains('?') && !argument.contains("a0.") && !argument.contains("a1.") && !argument.contains("a2.")
        })
    };
    let rolls_up = case.sql.contains("ROLLUP");
    let counts_distinct = case.sql.contains("(DISTINCT ");
    let distinct = ["COUNT(DISTINCT ", "GROUP_CONCAT(DISTINCT ", "SUM(DISTINCT ", "AVG(DISTINCT "];
    let is_explained = |text: &str| {
        distinct.iter().any(|call| of_parameters(text, call))
            || rolls_up && ["AVG(", "SUM("].iter().any(|call| of_parameters(text, call))
            || counts_distinct && ["COUNT(", "SUM("].iter().any(|call| of_parameters(text, call))
    };
    let rows = |full: &Full| rows_with(full, |name, value| if is_explained(name) { String::new() } else { value.to_string() });
    let having = case.sql.split_once(" HAVING ").is_some_and(|(_, having)| is_explained(having));
    case.finding.difference == Difference::Rows && (having || rows(case.mysql) == rows(case.vaquita))
}

/// The rows are the same but for accents and spaces at the end, in what folds equal texts into one.
pub(super) fn equal_texts(case: &Case<'_>) -> bool {
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

/// `DATE'…' BETWEEN 'no date' AND column`: MySQL compares such a bound as a number, too.
fn dates_between_texts(case: &Case<'_>) -> bool {
    const BETWEEN: &str = " BETWEEN ";
    let is_no_date = |bound: &str| bound.strip_prefix('\'').is_some_and(|text| !is_date_text(text));
    case.sql.match_indices(BETWEEN).any(|(at, _)| {
        let before = case.sql[..at].strip_suffix(" NOT").unwrap_or(&case.sql[..at]);
        let bounds = parts(argument_at(&case.sql[at + BETWEEN.len()..]), " AND ");
        let [low, high, ..] = bounds[..] else { return false };
        let of_date = before.rsplit([' ', '(']).next().is_some_and(|operand| operand.starts_with("DATE'"));
        of_date && (is_no_date(low) || is_no_date(high))
    })
}

/// MySQL takes FIELD and INTERVAL for NULL where an outer join has no row: rows are missing there.
pub(super) fn inner_join_of_field(case: &Case<'_>) -> bool {
    let outer = outer_join(case.sql);
    let filters = case
        .sql
        .split_once(" WHERE ")
        .is_some_and(|(_, filter)| ["FIELD(", "INTERVAL("].iter().any(|call| filter.contains(call)));
    let fewer = match case.finding.difference {
        Difference::Rows => is_part(&sorted_rows(case.mysql), &sorted_rows(case.vaquita)),
        Difference::Affected => affected(case.mysql) < affected(case.vaquita),
        _ => false,
    };
    outer && filters && fewer
}

/// Only cells differ that hold NULL or nothing in MySQL.
pub(super) fn default_of_a_temporary_table(case: &Case<'_>) -> bool {
    let (theirs, ours) = (&case.mysql.tables, &case.vaquita.tables);
    let is_nothing = |value: &Option<Vec<u8>>| {
        value.as_deref().is_none_or(|text| text.iter().all(|byte| matches!(byte, 0 | b'0' | b'.' | b'-' | b':' | b' ')))
    };
    case.finding.difference == Difference::Tables
        && case.sql.starts_with("UPDATE t0 JOIN")
        && case.sql.contains("= DEFAULT")
        && case.tables.iter().any(|table| table.create.contains("DEFAULT ("))
        && theirs.len() == ours.len()
        && theirs.iter().zip(ours).all(|(a, b)| a.iter().zip(b).all(|(a, b)| a == b || is_nothing(a)))
}

/// Columns whose expression has one of the `calls` differ, and no other.
fn only_in(case: &Case<'_>, calls: &[&str]) -> bool {
    let is_explained = |name: &str| calls.iter().any(|call| name.contains(call));
    let rows = |full: &Full| rows_with(full, |name, value| if is_explained(name) { String::new() } else { value.to_string() });
    case.finding.difference == Difference::Rows && rows(case.mysql) == rows(case.vaquita)
}

pub(super) fn distinct_hexadecimal(case: &Case<'_>) -> bool {
    only_in(case, &["DISTINCT NULLIF(x'"])
}

pub(super) fn distinct_subquery(case: &Case<'_>) -> bool {
    only_in(case, &["COUNT(DISTINCT (SELECT "])
}

pub(super) fn moments_of_parameters(case: &Case<'_>) -> bool {
    case.prepared && only_in(case, &["? BETWEEN TIMESTAMP(?)", "TIMEDIFF(1, ?)", "TIMEDIFF(?, 1)"])
}

/// A parameter among the alternatives of CASE and its like, or in a column of a UNION beside dates.
pub(super) fn parameter_among_alternatives(case: &Case<'_>) -> bool {
    let picks = |name: &str| ["CASE ", "IF(", "IFNULL(", "COALESCE(", "NULLIF("].iter().any(|word| name.contains(word));
    let united = |name: &str| case.sql.contains(" UNION ") && (name.contains("CAST(?") || case.sql.contains("CAST(? AS DATE"));
    let is_explained = |name: &str| name.contains('?') && picks(name) || united(name);
    let rows = |full: &Full| rows_with(full, |name, value| if is_explained(name) { String::new() } else { value.to_string() });
    case.finding.difference == Difference::Rows && !case.params.is_empty() && rows(case.mysql) == rows(case.vaquita)
}

/// `HAVING MAX(enum) > 1`: its label is no number, its place in the declaration one in MySQL where a temporary table has it.
pub(super) fn number_of_an_extreme_label(case: &Case<'_>) -> bool {
    let having = case.sql.split_once(" HAVING ").map_or("", |(_, having)| having);
    ["MAX(", "MIN("].iter().any(|call| {
        having.strip_prefix(call).is_some_and(|rest| {
            definition_of(case, argument_at(rest)).is_some_and(|d| d.starts_with("ENUM") || d.starts_with("SET"))
        })
    }) && case.finding.difference == Difference::Rows
}

/// A constant number or hexadecimal literal IN a list of several kinds that are not all constant.
pub(super) fn constant_in_a_mixed_list(case: &Case<'_>) -> bool {
    case.sql.match_indices(" IN (").any(|(at, word)| {
        let before = case.sql[..at].strip_suffix(" NOT").unwrap_or(&case.sql[..at]);
        let operand = before.rsplit([' ', '(']).next().unwrap_or_default();
        let list = parts(argument_at(&case.sql[at + word.len()..]), ", ");
        let is_huge = operand.parse::<u64>().is_ok_and(|number| number > i64::MAX as u64);
        let is_moment = |item: &str| item.starts_with("DATE'") || definition_of(case, item).is_some_and(is_temporal);
        let is_integer = |item: &str| definition_of(case, item).is_some_and(|definition| definition.contains("INT"));
        let mixed = list.iter().any(|item| is_moment(item)) && !list.iter().all(|item| is_moment(item));
        let is_time = |item: &str| {
            item.starts_with("TIME(")
                || definition_of(case, item).is_some_and(|d| d.starts_with("TIME") && !d.starts_with("TIMESTAMP"))
        };
        let is_day = |item: &str| item.starts_with("DATE'") || definition_of(case, item).is_some_and(|d| d.starts_with("DATE"));
        let of_text = operand.starts_with('\'')
            || definition_of(case, operand).is_some_and(|d| TEXTS.iter().any(|kind| d.starts_with(kind)));
        let days = list.iter().filter(|item| is_day(item)).count();
        mixed && operand.starts_with("x'")
            || is_huge && list.iter().any(|item| is_integer(item))
            || is_time(operand) && days > 0
            // A constant beside days alone loses its time of day in MySQL.
            || operand.starts_with('\'') && days == list.len()
            || of_text && list.iter().any(|item| is_time(item)) && list.len() > 1
    }) && matches!(case.finding.difference, Difference::Rows | Difference::Affected)
}

/// A floating point column that holds more than BIGINT.
pub(super) fn integer_of_a_large_float(case: &Case<'_>) -> bool {
    let casts = case.sql.match_indices("CAST(").any(|(at, call)| {
        let (operand, kind) = argument_at(&case.sql[at + call.len()..]).split_once(" AS ").unwrap_or_default();
        let is_float = definition_of(case, operand).is_some_and(|d| d.starts_with("FLOAT") || d.starts_with("DOUBLE"));
        is_float && matches!(kind, "SIGNED" | "UNSIGNED")
    });
    let is_large =
        |row: &String| row.contains("9223372036854775807") || row.contains("18446744073709551615") || row.contains("1e40");
    casts
        && case.tables.iter().any(|table| table.rows.iter().any(is_large))
        && matches!(case.finding.difference, Difference::Rows | Difference::Tables | Difference::Affected)
}
