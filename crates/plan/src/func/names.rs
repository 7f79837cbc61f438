//! Names of days and months in the session's locale, for the functions that write them.

use std::borrow::Cow;

use vaquita_types::ColumnType;
use vaquita_types::charset::{CollationId, charset};

use crate::env::Env;
use crate::expr::{Expr, ExprKind};
use crate::locale::{Locale, english};
use crate::text::is_string;

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
