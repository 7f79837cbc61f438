//! Names of months and days by locale, as `lc_time_names` chooses them for DATE_FORMAT, DAYNAME, MONTHNAME and FROM_UNIXTIME, and how
//! FORMAT writes numbers in it.
//!
//! `locales.txt` is recorded from MySQL (`tools/gen-locales.py`). The functions ask for the locale when they run; a plan depends on
//! it too (`PlanSettings::time_names`), because the longest name is the length of DAYNAME's column. Example: under `de_DE`,
//! `DAYNAME('2024-01-04')` is `Donnerstag`, a VARCHAR(10).

use std::sync::OnceLock;

const TABLE: &str = include_str!("locales.txt");

/// One locale.
#[derive(Debug)]
pub struct Locale {
    pub name: &'static str,
    /// From January.
    pub months: Vec<&'static str>,
    pub short_months: Vec<&'static str>,
    /// From Monday.
    pub days: Vec<&'static str>,
    pub short_days: Vec<&'static str>,
    /// Of decimals.
    pub point: &'static str,
    /// Of thousands; empty if there is none.
    pub separator: &'static str,
    /// Between two separators; the group before the point has three.
    pub group_digits: usize,
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
        point: names.get(38).copied().unwrap_or("."),
        separator: names.get(39).copied().unwrap_or_default(),
        group_digits: names.get(40).and_then(|digits| digits.parse().ok()).unwrap_or(3),
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
