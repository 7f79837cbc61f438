//! Differences of errors that are decided on.

use super::*;

/// Both refuse the statement, for another fault each.
pub(super) fn two_errors(case: &Case<'_>) -> bool {
    // What the message quotes first.
    let subject = |full: &Full| error_text(full).and_then(|text| text.split('\'').nth(1).map(str::to_string));
    match case.finding.difference {
        Difference::Error(mysql, vaquita) => {
            /// Faults of names, collations, aggregates and targets: of two kinds of them there are two in the statement.
            const KINDS: [&[u16]; 5] = [&[1052, 1054], &[1253, 1267, 1270, 1271, 3995], &[1111], &[1140, 3029], &[1093]];
            let kind = |code: u16| KINDS.iter().position(|codes| codes.contains(&code));
            let is_constant = || subject(case.mysql).is_some_and(|value| stands_in(case, &value));
            match (kind(mysql), kind(vaquita)) {
                (None, Some(_)) => matches!(mysql, 1292 | 1525 | 3854) && is_constant(),
                (Some(a), Some(b)) => a != b || mysql != vaquita && subject(case.mysql) != subject(case.vaquita),
                _ => mysql == 1525 && vaquita == 3854 || mysql == 3854 && matches!(vaquita, 1292 | 1525),
            }
        }
        // Of several columns that are not grouped by each names the one that it meets first.
        Difference::ErrorText(1140) => {
            let before = |full: &Full| error_text(full).and_then(|text| Some(text.split_once("column '")?.0.to_string()));
            before(case.mysql).is_some() && before(case.mysql) == before(case.vaquita)
        }
        // Each names a constant of the statement.
        Difference::ErrorText(1525) => {
            let all = [case.mysql, case.vaquita];
            subject(case.mysql) != subject(case.vaquita)
                && all.iter().all(|full| subject(full).is_some_and(|value| stands_in(case, &value)))
        }
        _ => false,
    }
}

/// The statement has the value as a literal or a parameter.
fn stands_in(case: &Case<'_>, value: &str) -> bool {
    let literal = format!("'{value}'");
    case.sql.contains(&literal) || case.params.contains(&literal) || value.starts_with("\\x") && case.sql.contains("x'")
}

/// A change of or from several tables in strict mode, refused by one server, or by both, for values that the statement does not hold.
pub(super) fn first_bad_row(case: &Case<'_>) -> bool {
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

/// Both refuse a change of a statement with conditions or several values, each for another value or column.
pub(super) fn two_bad_values(case: &Case<'_>) -> bool {
    const OF_VALUES: [u16; 9] = [1264, 1265, 1292, 1366, 1406, 1411, 3140, 3141, 3854];
    let changes = ["UPDATE ", "DELETE ", "INSERT ", "REPLACE "].iter().any(|word| case.sql.starts_with(word));
    let value = |full: &Full| error_text(full).and_then(|text| text.rsplit_once(" value: '")).map(|(_, rest)| rest.to_string());
    let of = |rest: &str| rest.split('\'').next().unwrap_or_default().to_string();
    let column = |full: &Full| {
        let text = error_text(full)?;
        text.split_once(" column '").map(|(_, rest)| of(rest).rsplit('.').next().unwrap_or_default().to_string())
    };
    let differ = match (value(case.mysql), value(case.vaquita)) {
        (Some(theirs), Some(ours)) => of(&theirs) != of(&ours),
        _ => false,
    };
    match case.finding.difference {
        Difference::ErrorText(1292) => changes && differ,
        Difference::Error(mysql, vaquita) if OF_VALUES.contains(&mysql) && OF_VALUES.contains(&vaquita) => {
            // A value that is compared has no column.
            changes && (differ || column(case.mysql) != column(case.vaquita))
        }
        _ => false,
    }
}

/// A binary literal or column that is compared with a text: one refuses it, the other answers without a row.
pub(super) fn binary_that_nobody_reads(case: &Case<'_>) -> bool {
    let binary = case.sql.contains("x'")
        || case.params.iter().any(|param| param.starts_with("x'"))
        || case.tables.iter().any(|table| ["BINARY", "BLOB"].iter().any(|kind| table.create.contains(kind)));
    let other = match case.finding.difference {
        Difference::Error(3854, 0) => case.vaquita,
        Difference::Error(0, 3854) => case.mysql,
        _ => return false,
    };
    binary && (is_empty(other) || is_of_nothing(other))
}

/// Aggregates of no rows.
fn is_of_nothing(full: &Full) -> bool {
    let values = |row: &super::super::answer::Row| row.iter().all(|value| value.as_deref().is_none_or(|text| text == b"0"));
    matches!(&full.answer, Answer::Rows { rows, .. } if rows.len() == 1 && rows.iter().all(values))
}

/// The texts are the same where MySQL's has `?` for a parameter.
pub(super) fn parameter_in_a_message(case: &Case<'_>) -> bool {
    let (Some(theirs), Some(ours)) = (error_text(case.mysql), error_text(case.vaquita)) else { return false };
    let mut rest = ours;
    let mut pieces = theirs.split('?');
    let starts = pieces.next().is_some_and(|first| {
        rest = rest.strip_prefix(first).unwrap_or_default();
        ours.starts_with(first)
    });
    let follows = pieces.all(|piece| match rest.find(piece) {
        Some(at) => {
            let value = &rest[..at];
            rest = &rest[at + piece.len()..];
            case.params.iter().any(|param| param.trim_matches('\'') == value.trim_matches('\''))
        }
        None => false,
    });
    case.finding.difference == Difference::ErrorText(1690) && theirs.contains('?') && starts && follows && rest.is_empty()
}
