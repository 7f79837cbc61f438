//! Names of months and days by locale, as `lc_time_names` chooses them for DATE_FORMAT, DAYNAME, MONTHNAME and FROM_UNIXTIME.
//!
//! `locales.txt` is recorded from MySQL (`tools/gen-locales.py`). The functions ask for the locale when they run; a plan depends on
//! it too (`PlanSettings::time_names`), because the longest name is the length of DAYNAME's column. Example: under `de_DE`,
//! `DAYNAME('2024-01-04')` is `Donnerstag`, a VARCHAR(10).

use std::borrow::Cow;
use std::sync::OnceLock;

use vaquita_types::ColumnType;
use vaquita_types::charset::{CollationId, charset};

use crate::env::Env;
use crate::expr::{Expr, ExprKind};

const TABLE: &str = include_str!("locales.txt");

/// The names of one locale.
#[derive(Debug)]
pub struct Locale {
    pub name: &'static str,
    /// From January.
    pub months: Vec<&'static str>,
    pub short_months: Vec<&'static str>,
    /// From Monday.
    pub days: Vec<&'static str>,
    pub short_days: Vec<&'static str>,
}

/// All of them, in the order of MySQL's numbers.
fn locales() -> &'static [Locale] {
    static LOCALES: OnceLock<Vec<Locale>> = OnceLock::new();
    LOCALES.get_or_init(|| TABLE.lines().map(parse).collect())
}

fn parse(line: &'static str) -> Locale {
    let (name, names) = line.split_once('\t').unwrap_or((line, ""));
    let names: Vec<&'static str> = names.split('\t').collect();
    let every_second = |from: usize, count: usize| names.iter().skip(from).step_by(2).take(count).copied().collect();
    Locale {
        name,
        months: every_second(0, 12),
        short_months: every_second(1, 12),
        days: every_second(24, 7),
        short_days: every_second(25, 7),
    }
}

/// `en_US`, in which everything else is written.
pub fn english() -> &'static Locale {
    &locales()[0]
}

pub fn by_name(name: &str) -> Option<&'static Locale> {
    locales().iter().find(|locale| locale.name.eq_ignore_ascii_case(name))
}

pub fn by_number(number: usize) -> Option<&'static Locale> {
    locales().get(number)
}

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
pub(crate) fn retype(expr: &mut Expr, locale: &Locale, collation: CollationId) {
    let ExprKind::Call(def, _) = &expr.kind else { return };
    let longest = |names: &[&str]| names.iter().map(|name| name.chars().count()).max().unwrap_or(0) as u32;
    match def.name {
        "DAYNAME" => expr.ty.length = longest(&locale.days),
        "MONTHNAME" => expr.ty.length = longest(&locale.months),
        "DATE_FORMAT" => {}
        "FROM_UNIXTIME" if crate::typing::is_string(&expr.ty) => {}
        _ => return,
    }
    expr.ty.collation = collation;
}
