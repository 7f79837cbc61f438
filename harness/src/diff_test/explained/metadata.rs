//! Differences of column definitions that are decided on.

use super::*;

/// Flags that a column of a temporary table has not: keys, BINARY, AUTO_INCREMENT, NO_DEFAULT_VALUE.
const LOST_FLAGS: u32 = 2 | 4 | 8 | 0x80 | 0x200 | 0x1000 | 0x4000;
/// Of an ENUM or SET column, which MIN and MAX of one makes.
const LABELS: u32 = 0x100 | 0x800;
/// Of a TEXT or BLOB column, which MIN and MAX of one makes.
const BLOB: u32 = 0x10;
/// Of a hexadecimal literal.
const UNSIGNED: u32 = 0x20;

/// Sorting, grouping and DISTINCT go through a temporary table, or not: its columns are made from the expressions.
pub(super) fn temporary_table(case: &Case<'_>) -> bool {
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
    let rolls_up = case.sql.contains("ROLLUP") && kind == own_kind && charset == own_charset && decimals == own_decimals;
    if rolls_up && length == own_length && number(own_flags) & !number(flags) & !(LOST_FLAGS | LABELS) == 0 {
        return true;
    }
    let null = (*kind, *own_kind, *length) == ("253", "6", "0");
    let kinds = null || kind == own_kind || matches!((*kind, *own_kind), ("3", "8") | ("8", "13") | ("254", "253"));
    // A column of the table shows its name for an origin: it is made from an expression, and has a type that columns have.
    let made = *origin == format!("..{name}") && !own_origin.ends_with(&format!(".{name}"));
    if made && kind_of_column(own_kind, kind) && charset == own_charset {
        return true;
    }
    // A BOOLEAN of a temporary table is a TINYINT.
    if (*kind, *length, *own_kind, *own_length) == ("1", "4", "1", "1") {
        return origins;
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
pub(super) fn kind_of_column(of: &str, column: &str) -> bool {
    let is_integer = |kind: &str| matches!(kind, "1" | "2" | "3" | "8" | "9" | "13");
    let is_text = |kind: &str| matches!(kind, "249" | "250" | "251" | "252" | "253" | "254");
    of == column || is_integer(of) && is_integer(column) || is_text(of) && is_text(column)
}

/// The description of a column whose expression has a parameter, and how the binary protocol sends it.
pub(super) fn free_parameter(case: &Case<'_>) -> bool {
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

/// COALESCE, IFNULL and ANY_VALUE of BIT.
pub(super) fn number_of_bits(case: &Case<'_>) -> bool {
    let kind = |line: &str| line.split('\t').nth(2).unwrap_or_default().to_string();
    matches!(case.finding.difference, Difference::Metadata("type" | "flags"))
        && kind(&case.finding.mysql) == "16"
        && kind(&case.finding.vaquita) == "8"
        && ["COALESCE(", "IFNULL(", "ANY_VALUE("].iter().any(|call| case.finding.mysql.starts_with(call))
}

pub(super) fn bit_literal(case: &Case<'_>) -> bool {
    case.finding.difference == Difference::Metadata("flags")
        && case.finding.mysql.starts_with("b'")
        && case.finding.mysql.replace("0x0081", "0x00a1") == case.finding.vaquita
}
