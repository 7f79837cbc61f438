//! Differences of warnings, and of values in messages, that are decided on.

use super::*;

/// Only Vaquita warns, of a text that the statement holds; parameters warn as ever.
pub(super) fn constant_of_a_prepared_statement(case: &Case<'_>) -> bool {
    let Some(value) = quoted(&case.finding.vaquita).filter(|value| !value.is_empty()) else { return false };
    case.finding.difference == Difference::Warnings
        && case.prepared
        && case.finding.vaquita.starts_with("Warning\t1292\tTruncated incorrect DOUBLE")
        && [" WHERE ", " ON ", " HAVING "].iter().any(|word| case.sql.contains(word))
        && case.sql.contains(&format!("'{value}'"))
}

/// Both complain of the same text as a date or time.
pub(super) fn column_in_a_message(case: &Case<'_>) -> bool {
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

pub(super) fn zero_date_in_a_temporary_table(case: &Case<'_>) -> bool {
    let line = &case.finding.mysql;
    case.finding.difference == Difference::Warnings
        && (line.contains("Incorrect datetime value: '0000-00-00") || line.contains("Incorrect date value: '0000-00-00"))
        && line.contains("' for column '")
        && !case.sql.contains("'0000-00-00")
        && (case.sql.contains("GROUP BY") || case.sql.contains("DISTINCT"))
}

/// Each server warns of the same text, MySQL as of a column's value.
pub(super) fn text_beside_key(case: &Case<'_>) -> bool {
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

/// Only one server warns of a text that the statement holds in or behind its first condition, whose rows decide what is evaluated, and the
/// other says nothing of it.
pub(super) fn constant_that_nobody_reads(case: &Case<'_>) -> bool {
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
        Difference::Error(0, 1292) => {
            let is_early = |text: &str| value_of(text).is_some_and(|value| stands_in_a_condition(case, value));
            return error_text(case.vaquita)
                .is_some_and(|text| is_literal(text) && (changes_nothing(case.mysql) || case.prepared && is_early(text)));
        }
        Difference::Error(1525, 0) | Difference::Error(0, 1525) => {
            let (refused, other) =
                if error_text(case.mysql).is_some() { (case.mysql, case.vaquita) } else { (case.vaquita, case.mysql) };
            let beside =
                error_text(refused).and_then(quoted).is_some_and(|value| is_beside_a_subquery(case, &format!("'{value}'")));
            return beside && (is_empty(other) || case.sql.contains("(SELECT "));
        }
        _ => {}
    }
    let (line, other) = match case.finding.mysql.is_empty() {
        true => (&case.finding.vaquita, &case.mysql.warnings),
        false => (&case.finding.mysql, &case.vaquita.warnings),
    };
    let Some(value) = value_of(line) else { return false };
    let is_conversion =
        ["\t1292\tTruncated incorrect ", "\t1292\tIncorrect ", "\t4095\t", "\t4096\t"].iter().any(|start| line.contains(start));
    case.finding.difference == Difference::Warnings
        && is_conversion
        && stands_in_a_condition(case, value)
        && !other.iter().any(|line| value_of(line) == Some(value))
}

/// Both warn of a CAST, or both refuse it.
pub(super) fn name_of_a_cast(case: &Case<'_>) -> bool {
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
pub(super) fn parameter_that_nobody_reads(case: &Case<'_>) -> bool {
    let Some(value) = quoted(&case.finding.vaquita) else { return false };
    let sent = format!("'{value}'");
    case.finding.difference == Difference::Warnings
        && case.finding.vaquita.starts_with("Warning\t1292\t")
        && case.params.contains(&sent)
        && !case.mysql.warnings.iter().any(|line| line.contains(&sent))
}

/// Both warn of or refuse a date that is out of range.
pub(super) fn expression_out_of_range(case: &Case<'_>) -> bool {
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
pub(super) fn origin_of_json(case: &Case<'_>) -> bool {
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
pub(super) fn constant_beside_a_subquery(case: &Case<'_>) -> bool {
    let line = if case.finding.mysql.is_empty() { &case.finding.vaquita } else { &case.finding.mysql };
    let is_number =
        ["DOUBLE", "INTEGER", "DECIMAL"].iter().any(|kind| line.contains(&format!("Truncated incorrect {kind} value: '")));
    let Some(value) = quoted(line) else { return false };
    case.finding.difference == Difference::Warnings && is_number && is_beside_a_subquery(case, &format!("'{value}'"))
}

/// `'?'` or a byte as a character of latin1 for a byte that is no text, which is `\\xFF` here, in the same message.
fn bytes_in_a_message(case: &Case<'_>) -> bool {
    let plain = |text: &str| {
        let mut out = String::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let escaped = rest.strip_prefix("\\x").and_then(|rest| rest.get(2..));
            // What follows the first such byte may be missing.
            if escaped.is_some() || !c.is_ascii() || c == '?' || c.is_ascii_control() {
                let (_, behind) = rest.rsplit_once('\'').unwrap_or(("", ""));
                out.push_str(behind);
                return out;
            }
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
        out
    };
    match case.finding.difference {
        Difference::ErrorText(1411 | 1366 | 1292 | 1525) => match (error_text(case.mysql), error_text(case.vaquita)) {
            (Some(theirs), Some(ours)) => plain(theirs) == plain(ours) && (theirs.contains('?') || !theirs.is_ascii()),
            _ => false,
        },
        Difference::Warnings => {
            let (line, other) = match case.finding.mysql.is_empty() {
                true => (&case.finding.vaquita, &case.mysql.warnings),
                false => (&case.finding.mysql, &case.vaquita.warnings),
            };
            let codes = ["\t1411\t", "\t1366\t", "\t1292\t"];
            codes
                .iter()
                .any(|code| line.contains(code) && other.iter().any(|other| other.contains(code) && plain(other) == plain(line)))
                && (line.contains("\\x") || other.iter().any(|line| line.contains("\\x")))
        }
        _ => false,
    }
}

/// Only the first byte of such a value, or what follows it, is lost in MySQL's line.
pub(super) fn latin1_in_a_message(case: &Case<'_>) -> bool {
    if bytes_in_a_message(case) {
        return true;
    }
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
pub(super) fn value_of_a_joined_row(case: &Case<'_>) -> bool {
    let line = if case.finding.mysql.is_empty() { &case.finding.vaquita } else { &case.finding.mysql };
    let mut fields = line.split('\t');
    let (level, code) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
    let Some(value) = value_of(line) else { return false };
    let literal = format!("'{value}'");
    let written = case.sql.contains(&literal) || case.params.contains(&literal);
    let other = if case.finding.mysql.is_empty() { &case.mysql.warnings } else { &case.vaquita.warnings };
    let is_met = other.iter().any(|line| line.contains(&literal));
    case.finding.difference == Difference::Warnings
        && level == "Warning"
        && matches!(code, "1292" | "1366" | "4095" | "4096")
        && case.joins()
        && !written
        && !is_met
}

/// The parentheses, or the CASE, with which a text ends.
fn last_group(text: &str) -> &str {
    if text.ends_with(" END") {
        return &text[text.rfind("CASE ").unwrap_or(text.len())..];
    }
    let mut depth = 0;
    let open = text.rfind(|c: char| {
        depth += i32::from(c == ')') - i32::from(c == '(');
        depth <= 0
    });
    &text[open.unwrap_or(text.len())..]
}

/// It stands left of IN, ALL or ANY, alone or in an expression, or is what the subquery there selects.
fn is_beside_a_subquery(case: &Case<'_>, literal: &str) -> bool {
    [" IN (SELECT ", " ALL (SELECT ", " ANY (SELECT "].iter().any(|word| {
        case.sql.match_indices(word).any(|(at, _)| {
            let selected = argument_at(&case.sql[at + word.len()..]).split(" FROM ").next().unwrap_or_default();
            let operand = case.sql[..at].trim_end_matches(" NOT").trim_end_matches([' ', '<', '>', '=']);
            operand.ends_with(literal) || last_group(operand).contains(literal) || selected.contains(literal)
        })
    })
}

/// Both warn of one text, as of another kind of number, which stands in or left of a list for IN that has others than texts.
pub(super) fn kind_in_a_mixed_list(case: &Case<'_>) -> bool {
    let line = if case.finding.mysql.is_empty() { &case.finding.vaquita } else { &case.finding.mysql };
    let other = if case.finding.mysql.is_empty() { &case.mysql.warnings } else { &case.vaquita.warnings };
    let about = |line: &str| {
        let kinds = ["INTEGER", "DOUBLE", "DECIMAL"];
        let kind = kinds.iter().find(|kind| line.contains(&format!("\t1292\tTruncated incorrect {kind} value: '")))?;
        Some((*kind, value_of(line)?.to_string()))
    };
    let (refused, text) =
        match (case.finding.difference == Difference::ErrorText(1292), error_text(case.mysql), error_text(case.vaquita)) {
            (true, Some(theirs), Some(ours)) => (about(&format!("\t1292\t{theirs}")), about(&format!("\t1292\t{ours}"))),
            _ => (None, None),
        };
    let value = match (refused, text) {
        (Some((a, value)), Some((b, own))) if a != b && value == own => Some(value),
        _ => about(line)
            .filter(|(kind, value)| {
                case.finding.difference == Difference::Warnings
                    && other.iter().filter_map(|line| about(line)).any(|(other, own)| other != *kind && own == *value)
            })
            .map(|(_, value)| value),
    };
    let Some(value) = value else { return false };
    let literal = format!("'{value}'");
    let is_it = |item: &str| item == literal || item == "?" && case.params.contains(&literal);
    case.sql.match_indices(" IN (").any(|(at, word)| {
        let before = case.sql[..at].strip_suffix(" NOT").unwrap_or(&case.sql[..at]);
        let operand = before.rsplit([' ', '(']).next().unwrap_or_default();
        let list = parts(argument_at(&case.sql[at + word.len()..]), ", ");
        (is_it(operand) || list.iter().any(|item| is_it(item)))
            && list.iter().any(|item| !item.starts_with('\''))
            && list.len() > 1
    })
}

/// Only one server says anything of a literal or parameter that stands in AND, OR, XOR, CASE or IF.
pub(super) fn constant_of_a_branch(case: &Case<'_>) -> bool {
    let line = if case.finding.mysql.is_empty() { &case.finding.vaquita } else { &case.finding.mysql };
    let other = if case.finding.mysql.is_empty() { &case.mysql.warnings } else { &case.vaquita.warnings };
    let Some(value) = value_of(line) else { return false };
    let literal = format!("'{value}'");
    let places = case.sql.match_indices('?').map(|(at, _)| at).zip(case.params).filter(|(_, param)| **param == literal);
    let places = case.sql.match_indices(&literal).map(|(at, _)| at).chain(places.map(|(at, _)| at));
    let in_a_branch = |at: usize| {
        let open = case.sql[..at].rfind('(').unwrap_or(0);
        let group = argument_at(&case.sql[(open + 1).min(at)..]);
        [" AND ", " OR ", " XOR "].iter().any(|word| group.contains(word))
            || case.sql[..at].rfind("CASE ").is_some_and(|case_at| !case.sql[case_at..at].contains(" END"))
            || case.sql[..open + 1].ends_with("IF(")
    };
    case.finding.difference == Difference::Warnings
        && line.contains("\t1292\tTruncated incorrect ")
        && places.into_iter().any(in_a_branch)
        && !other.iter().any(|line| value_of(line) == Some(value))
}

/// Both warn of one parameter, as of another kind of number, where `?` is a whole condition.
pub(super) fn condition_of_a_parameter(case: &Case<'_>) -> bool {
    let line = if case.finding.mysql.is_empty() { &case.finding.vaquita } else { &case.finding.mysql };
    let other = if case.finding.mysql.is_empty() { &case.mysql.warnings } else { &case.vaquita.warnings };
    const CONDITIONS: [&str; 13] = [
        "WHERE ?", " ON ?", "HAVING ?", "IF(?", "WHEN ?", "AND ?", "? AND ", "OR ?", "? OR ", "XOR ?", "? XOR ", "NOT ?",
        "(? IS ",
    ];
    let Some(value) = value_of(line) else { return false };
    case.finding.difference == Difference::Warnings
        && line.contains("\t1292\tTruncated incorrect ")
        && case.params.contains(&format!("'{value}'"))
        && CONDITIONS.iter().any(|condition| case.sql.contains(condition))
        && other.iter().any(|line| line.contains("\t1292\tTruncated incorrect ") && value_of(line) == Some(value))
}
