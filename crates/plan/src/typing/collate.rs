//! Which collation wins when strings meet.
//!
//! Every string has a collation and a coercibility from 0 (COLLATE was written) over 2
//! (column) and 4 (literal) to 6 (NULL); the lower one wins. In one charset two different collations of
//! the same coercibility have no common one (error 1267 where one is needed), unless one is
//! a `_bin`. Between charsets, a Unicode one wins over others and ASCII-only
//! strings can be converted to anything. Example: a latin1 column and a utf8mb4 literal `'a'`
//! compare in latin1; a literal `'я'` makes it utf8mb4.

use std::borrow::Cow;

use vaquita_types::charset::{CollationId, charset};
use vaquita_types::errno;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};

use super::{COERCIBILITY_NUMERIC, NUMBER_COLLATION, is_string};
use crate::expr::{Expr, ExprKind};
use crate::settings::PlanSettings;
use crate::text;

/// Coercibility "no collation": two columns of different collations were mixed.
const NONE: u8 = 1;
const EXPLICIT: u8 = 0;
/// A collation with its strength.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collated {
    pub collation: CollationId,
    pub coercibility: u8,
    /// All characters are known to be ASCII.
    pub ascii: bool,
}

/// The collation that `expr` has when it is used as a string.
pub fn string_collation(expr: &Expr) -> Collated {
    if is_string(&expr.ty) {
        let ascii = match &expr.kind {
            ExprKind::Literal(Value::Bytes(b)) => b.is_ascii(),
            _ => matches!(expr.ty.collation, CollationId::ASCII_GENERAL_CI | CollationId::ASCII_BIN),
        };
        return Collated { collation: expr.ty.collation, coercibility: expr.coercibility, ascii };
    }
    match expr.ty.kind {
        TypeKind::Json => Collated { collation: CollationId::UTF8MB4_BIN, coercibility: 2, ascii: false },
        // Of a parameter nothing else is known yet, but a text for it comes in the connection's charset.
        TypeKind::Null if matches!(expr.kind, ExprKind::Param(_)) => {
            Collated { collation: expr.ty.collation, coercibility: expr.coercibility, ascii: false }
        }
        TypeKind::Null => Collated { collation: CollationId::BINARY, coercibility: 6, ascii: true },
        TypeKind::Bit | TypeKind::Geometry | TypeKind::Vector => {
            Collated { collation: CollationId::BINARY, coercibility: 2, ascii: false }
        }
        _ => Collated { collation: NUMBER_COLLATION, coercibility: COERCIBILITY_NUMERIC, ascii: true },
    }
}

/// The collation of a string made of `exprs`. `strict`: it will be compared by, so there must be one.
pub fn aggregate_collations(exprs: &[&Expr], operation: &str, strict: bool) -> Result<Collated> {
    let mut exprs_left = exprs.iter();
    let Some(first) = exprs_left.next() else {
        return Ok(Collated { collation: NUMBER_COLLATION, coercibility: 4, ascii: true });
    };
    let mut result = string_collation(first);
    let mut in_conflict = false;
    for expr in exprs_left {
        let other = string_collation(expr);
        let before = result;
        result = match combine(result, other) {
            Some(c) => c,
            None => return Err(mix_error(exprs, operation)),
        };
        // A text that has none of its own is compared by bytes with a weaker one.
        in_conflict |= result.coercibility == NONE && before.coercibility == other.coercibility;
    }
    if strict && in_conflict && result.coercibility == NONE {
        return Err(mix_error(exprs, operation));
    }
    exprs.iter().try_for_each(|expr| check_constant(expr, result.collation))?;
    Ok(result)
}

/// Error 3854 for a constant text that has characters which the charset of `collation` has not.
pub fn check_constant(expr: &Expr, collation: CollationId) -> Result<()> {
    let own = expr.ty.collation;
    let converts = is_string(&expr.ty)
        && expr.ty.is_bytes()
        && own != CollationId::BINARY
        && collation != CollationId::BINARY
        && !text::same_charset(own, collation)
        && !text::holds_unicode(collation);
    if !converts || !is_foldable(expr) {
        return Ok(());
    }
    let mut constant = expr.clone();
    crate::eval::constant_fold(&mut constant, const { &PlanSettings::DEFAULT });
    let ExprKind::Literal(Value::Bytes(bytes)) = &constant.kind else { return Ok(()) };
    if charset(own).convert(charset(collation), bytes).replaced == 0 {
        return Ok(());
    }
    Err(Error::new(&errno::ER_CANNOT_CONVERT_STRING, &[&first_bytes(bytes), &charset(own).name, &charset(collation).name]))
}

fn is_foldable(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(_) => true,
        ExprKind::Cast(inner) => is_foldable(inner),
        ExprKind::Call(def, args) => def.foldable && args.iter().all(is_foldable),
        _ => false,
    }
}

/// Bytes as error 3854 shows them: the first six, with `...` for more.
pub(super) fn first_bytes(bytes: &[u8]) -> String {
    let mut shown = String::new();
    for byte in bytes.iter().take(SHOWN_BYTES_MAX) {
        match byte {
            b' '..=b'~' => shown.push(char::from(*byte)),
            _ => shown.push_str(&format!("\\x{byte:02X}")),
        }
    }
    if bytes.len() > SHOWN_BYTES_MAX {
        shown.push_str("...");
    }
    shown
}

const SHOWN_BYTES_MAX: usize = 6;

/// MySQL's rule for two; `None` if there is no common charset or two COLLATE clauses differ.
fn combine(a: Collated, b: Collated) -> Option<Collated> {
    let ascii = a.ascii && b.ascii;
    let keep = |c: Collated| Some(Collated { ascii, ..c });
    if !text::same_charset(a.collation, b.collation) {
        if a.collation == CollationId::BINARY {
            return keep(if a.coercibility <= b.coercibility { a } else { b });
        }
        if b.collation == CollationId::BINARY {
            return keep(if b.coercibility <= a.coercibility { b } else { a });
        }
        if is_superset(a, b) {
            return keep(a);
        }
        if is_superset(b, a) {
            return keep(b);
        }
        return match (a.coercibility, b.coercibility) {
            (x, y) if x < y && y >= 3 => keep(a),
            (x, y) if y < x && x >= 3 => keep(b),
            _ => None,
        };
    }
    if a.coercibility != b.coercibility {
        return keep(if a.coercibility < b.coercibility { a } else { b });
    }
    if a.collation == b.collation {
        return keep(a);
    }
    if a.coercibility == EXPLICIT {
        return None;
    }
    if text::is_binary_sort(a.collation) {
        return keep(a);
    }
    if text::is_binary_sort(b.collation) {
        return keep(b);
    }
    Some(Collated { collation: text::binary_collation_of(a.collation), coercibility: NONE, ascii })
}

fn is_superset(left: Collated, right: Collated) -> bool {
    let (lu, ru) = (text::is_unicode(left.collation), text::is_unicode(right.collation));
    let wider = !ru || text::holds_unicode(left.collation);
    let stronger = left.coercibility < right.coercibility;
    let equal = left.coercibility == right.coercibility;
    (lu && (stronger || (equal && wider))) || (right.ascii && (stronger || (equal && !left.ascii)))
}

/// Error 1267, 1270 or 1271 for two, three or more strings.
pub fn mix_error(exprs: &[&Expr], operation: &str) -> Error {
    let show = |e: &Expr| {
        let c = string_collation(e);
        // Numbers and dates are written in latin1.
        let of_number = !is_string(&e.ty) && c.coercibility == COERCIBILITY_NUMERIC;
        let name = if of_number { "latin1_swedish_ci" } else { text::collation_name(c.collation) };
        (name.to_string(), coercibility_name(c.coercibility))
    };
    let op = match operation {
        " IN " | "UNION" | "INTERSECT" | "EXCEPT" => operation.to_string(),
        // MySQL makes a UNION of them.
        "VALUES" => "UNION".to_string(),
        _ => operation.to_ascii_lowercase(),
    };
    match exprs {
        [a, b] => {
            let ((a, ad), (b, bd)) = (show(a), show(b));
            Error::new(&errno::ER_CANT_AGGREGATE_2COLLATIONS, &[&a, &ad, &b, &bd, &op])
        }
        [a, b, c] => {
            let ((a, ad), (b, bd), (c, cd)) = (show(a), show(b), show(c));
            Error::new(&errno::ER_CANT_AGGREGATE_3COLLATIONS, &[&a, &ad, &b, &bd, &c, &cd, &op])
        }
        _ => Error::new(&errno::ER_CANT_AGGREGATE_NCOLLATIONS, &[&op]),
    }
}

fn coercibility_name(coercibility: u8) -> &'static str {
    match coercibility {
        0 => "EXPLICIT",
        1 => "NONE",
        2 => "IMPLICIT",
        3 => "SYSCONST",
        4 => "COERCIBLE",
        5 => "NUMERIC",
        _ => "NULL",
    }
}

/// Characters of a parameter that is a string, as MySQL describes it: as many as a VARCHAR has.
pub fn parameter_chars(collation: CollationId) -> u32 {
    65_535 / u32::from(text::bytes_per_char_max(collation)).max(1)
}

/// A `?` of which nothing is known, whose bytes mean something else in the charset of `collation`.
fn is_foreign_parameter(expr: &Expr, collation: CollationId) -> bool {
    let is_utf8 = |id: CollationId| matches!(text::charset_name(id), "utf8mb3" | "utf8mb4");
    matches!(expr.kind, ExprKind::Param(_))
        && expr.ty.kind == TypeKind::Null
        && !(is_utf8(expr.ty.collation) && is_utf8(collation))
}

/// A constant binary string that is no text in the charset of `collation`.
fn is_no_text(expr: &Expr, collation: CollationId) -> bool {
    let ExprKind::Literal(Value::Bytes(bytes)) = &expr.kind else { return false };
    is_string(&expr.ty) && expr.ty.collation == CollationId::BINARY && super::conversion::check_binary(bytes, collation).is_err()
}

/// `expr` as a string in the charset of `collation`, if it is a string in another one. A binary one that is no text there is error 3854
/// when it is evaluated.
pub fn convert_charset(mut expr: Expr, collation: CollationId) -> Expr {
    if is_no_text(&expr, collation) {
        return super::text_of_binary(expr.clone(), collation).unwrap_or(expr);
    }
    if let (ExprKind::Literal(Value::Bytes(bytes)), CollationId::BINARY) = (&mut expr.kind, expr.ty.collation)
        && let Cow::Owned(whole) = charset(collation).whole_units(bytes)
    {
        *bytes = whole.into();
        return expr;
    }
    if is_foreign_parameter(&expr, collation) {
        expr.ty = ColumnType::varchar(parameter_chars(expr.ty.collation), expr.ty.collation);
    }
    let ty = &expr.ty;
    if !is_string(ty)
        || collation == CollationId::BINARY
        || ty.collation == CollationId::BINARY
        || text::same_charset(ty.collation, collation)
    {
        return expr;
    }
    let coercibility = expr.coercibility;
    let target = super::string_type(u64::from(super::char_length(ty)), collation);
    Expr { coercibility, ..super::cast_to(expr, target) }
}
