//! Names of days and months in the session's locale, for the functions that write them.

use std::borrow::Cow;

use vaquita_types::charset::{CollationId, charset};
use vaquita_types::{ColumnType, Value};

use crate::env::Env;
use crate::expr::{Expr, ExprKind};
use crate::locale::{Locale, english};
use crate::typing::{COERCIBILITY_NUMERIC, NUMBER_COLLATION, convert_using, is_string, string_type};

/// The session's.
pub(super) fn of_session(env: &dyn Env) -> &'static Locale {
    env.run_settings().time_names.unwrap_or_else(english)
}

/// A name in the charset of the function's result.
pub(super) fn in_charset<'n>(name: &'n str, ty: &ColumnType) -> Cow<'n, [u8]> {
    let target = charset(ty.collation);
    if name.is_ascii() || target.name.starts_with("utf8mb") {
        return Cow::Borrowed(name.as_bytes());
    }
    Cow::Owned(charset(CollationId::UTF8MB4_BIN).convert(target, name.as_bytes()).bytes.into_owned())
}

/// The coercibility of literals, and of texts that functions make of nothing that has a collation.
const COERCIBLE: u8 = 4;
/// Functions that write the server's own words, which are of utf8mb3 in MySQL.
const OF_THE_SERVER: &[&str] = &["UUID", "FORMAT_BYTES", "FORMAT_PICO_TIME"];

/// Gives a text that no argument gave a collation that of the connection, to which the text is converted if its characters
/// are not single bytes.
pub fn retype_text(call: &mut Expr, connection: CollationId) {
    let ExprKind::Call(def, _) = &call.kind else { return };
    let of_none = call.coercibility == COERCIBILITY_NUMERIC && call.ty.collation == NUMBER_COLLATION;
    if !is_string(&call.ty) || !of_none {
        return;
    }
    if !charset(connection).is_ascii_compatible() && !OF_THE_SERVER.contains(&def.name) {
        let call_in_ascii = std::mem::replace(call, Expr::literal(Value::Null, ColumnType::null()));
        *call = Expr { coercibility: COERCIBLE, ..convert_using(call_in_ascii, connection) };
        return;
    }
    if OF_THE_SERVER.contains(&def.name) {
        call.ty.collation = CollationId::UTF8MB3_GENERAL_CI;
    } else if connection == CollationId::BINARY {
        call.ty = string_type(u64::from(call.ty.length), connection);
    } else {
        call.ty.collation = connection;
    }
    call.coercibility = COERCIBLE;
}

/// Gives a call of one of the functions the charset and the length that it has in another locale than English.
pub fn retype(expr: &mut Expr, locale: &Locale, collation: CollationId) {
    let ExprKind::Call(def, _) = &expr.kind else { return };
    let longest = |names: &[&str]| names.iter().map(|name| name.chars().count()).max().unwrap_or(0) as u32;
    match def.name {
        "DAYNAME" => expr.ty.length = longest(&locale.days),
        "MONTHNAME" => expr.ty.length = longest(&locale.months),
        "DATE_FORMAT" => {}
        "FROM_UNIXTIME" if is_string(&expr.ty) => {}
        _ => return,
    }
    expr.ty.collation = collation;
}
