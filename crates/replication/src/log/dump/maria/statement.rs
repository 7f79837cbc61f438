//! Statements as MariaDB reads them.
//!
//! * A collation that it does not have is another there (`collation`), also that which utf8mb4 has without being named.
//! * CREATE TABLE … SELECT ends with START TRANSACTION in MySQL's log.
//! * What accounts are, and how they prove themselves, the two servers have in ways of their own: such a statement is an empty transaction.
//!
//! Everything else is sent as it is: what MariaDB cannot read stops its replica.

use vaquita_session::ParserOptions;
use vaquita_session::words::{Word, WordKind, words};

use super::collation::{nearest_name, of_utf8mb4};

#[derive(Debug, PartialEq, Eq)]
pub enum Translated {
    AsItIs,
    Text(Vec<u8>),
    /// It is not told.
    Nothing,
}

struct Statement<'s> {
    text: &'s [u8],
    words: Vec<Word>,
}

impl Statement<'_> {
    fn slice(&self, at: usize) -> &[u8] {
        self.words.get(at).and_then(|word| self.text.get(word.range.clone())).unwrap_or_default()
    }

    fn is(&self, at: usize, word: &str) -> bool {
        self.slice(at).eq_ignore_ascii_case(word.as_bytes())
    }

    fn is_any(&self, at: usize, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(at, word))
    }

    /// Without its quotes.
    fn name(&self, at: usize) -> Option<&str> {
        let name = std::str::from_utf8(self.slice(at)).ok()?;
        match self.words.get(at)?.kind {
            WordKind::Plain => Some(name),
            WordKind::Quoted => name.get(1..name.len().checked_sub(1)?),
            WordKind::Sign => None,
        }
    }

    fn is_about_accounts(&self) -> bool {
        let second = |words| self.is_any(1, words);
        match () {
            () if self.is_any(0, &["GRANT", "REVOKE"]) => true,
            () if self.is_any(0, &["CREATE", "ALTER", "DROP", "RENAME"]) => second(&["USER", "ROLE"]),
            () if self.is(0, "SET") => second(&["PASSWORD", "DEFAULT"]),
            () => false,
        }
    }

    /// Names of charsets in it are those of columns, tables and databases, unless they are in a CAST.
    fn defines_charsets(&self) -> bool {
        self.is_any(0, &["CREATE", "ALTER"]) && self.is_any(1, &["TABLE", "DATABASE", "SCHEMA"])
    }

    /// The name of a charset or a collation behind the keyword that ends at this word: `=` may stand between.
    fn behind(&self, at: usize) -> usize {
        if self.is(at + 1, "=") { at + 2 } else { at + 1 }
    }
}

pub fn translate(text: &[u8], options: &ParserOptions) -> Translated {
    let statement = Statement { text, words: words(text, options) };
    if statement.is_about_accounts() {
        return Translated::Nothing;
    }
    let mut changes = Vec::new();
    change_collations(&statement, &mut changes);
    if statement.defines_charsets() {
        name_collations(&statement, &mut changes);
    }
    let mut end = text.len();
    if let (Some(last), true) = (statement.words.len().checked_sub(2), statement.is(0, "CREATE") && statement.is(1, "TABLE"))
        && statement.is(last, "START")
        && statement.is(last + 1, "TRANSACTION")
    {
        end = statement.words.get(last).map_or(end, |word| word.range.start);
    }
    if changes.is_empty() && end == text.len() {
        return Translated::AsItIs;
    }
    changes.sort_by_key(|(range, _): &(std::ops::Range<usize>, _)| range.start);
    let (mut out, mut from) = (Vec::with_capacity(text.len() + 32 * changes.len()), 0);
    for (range, new) in changes {
        out.extend_from_slice(text.get(from..range.start).unwrap_or_default());
        out.extend_from_slice(new.as_bytes());
        from = range.end;
    }
    out.extend_from_slice(text.get(from..end).unwrap_or_default());
    Translated::Text(out)
}

type Changes = Vec<(std::ops::Range<usize>, String)>;

fn change_collations(statement: &Statement<'_>, changes: &mut Changes) {
    for at in (0..statement.words.len()).filter(|at| statement.is(*at, "COLLATE")) {
        let place = statement.behind(at);
        if let (Some(near), Some(word)) = (statement.name(place).and_then(nearest_name), statement.words.get(place)) {
            changes.push((word.range.clone(), near.to_string()));
        }
    }
}

/// `CHARACTER SET utf8mb4` without a collation means another one in MariaDB.
fn name_collations(statement: &Statement<'_>, changes: &mut Changes) {
    let depths = depths(statement);
    let depth_of = |at: usize| depths.get(at).copied().flatten();
    for at in 0..statement.words.len() {
        let keyword = match () {
            () if statement.is(at, "CHARSET") => at,
            () if statement.is(at, "CHARACTER") && statement.is(at + 1, "SET") => at + 1,
            () => continue,
        };
        let place = statement.behind(keyword);
        let is_utf8mb4 = statement.name(place).is_some_and(|name| name.eq_ignore_ascii_case("utf8mb4"));
        let Some(depth) = depth_of(at).filter(|_| is_utf8mb4) else { continue };
        let next = if statement.is(place + 1, "DEFAULT") { place + 2 } else { place + 1 };
        // Options of a table come in any order.
        let is_named_elsewhere = || (0..depths.len()).any(|at| depth_of(at) == Some(0) && statement.is(at, "COLLATE"));
        if statement.is(next, "COLLATE") || depth == 0 && is_named_elsewhere() {
            continue;
        }
        if let Some(word) = statement.words.get(place) {
            changes.push((word.range.end..word.range.end, format!(" COLLATE {}", of_utf8mb4())));
        }
    }
}

/// In how many parentheses each word stands; `None` in those of a CAST.
fn depths(statement: &Statement<'_>) -> Vec<Option<usize>> {
    let (mut depths, mut open) = (Vec::with_capacity(statement.words.len()), Vec::new());
    for at in 0..statement.words.len() {
        match statement.slice(at) {
            b"(" => open.push(at > 0 && statement.is_any(at - 1, &["CAST", "CONVERT"])),
            b")" => {
                open.pop();
            }
            _ => {}
        }
        depths.push((!open.contains(&true)).then_some(open.len()));
    }
    depths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(text: &str) -> String {
        match translate(text.as_bytes(), &ParserOptions::default()) {
            Translated::AsItIs => "=".to_string(),
            Translated::Nothing => "-".to_string(),
            Translated::Text(text) => String::from_utf8(text).unwrap(),
        }
    }

    #[test]
    fn collations_are_those_of_mariadb() {
        let near = "utf8mb4_unicode_520_nopad_ci";
        for (text, expected) in [
            ("create table t (a text collate utf8mb4_bin) -- collate utf8mb4_0900_ai_ci", "=".to_string()),
            (
                "CREATE TABLE t (a TEXT COLLATE utf8mb4_0900_ai_ci, b TEXT COLLATE `utf8mb4_0900_as_cs`) COLLATE='utf8mb4_0900_ai_ci'",
                format!("CREATE TABLE t (a TEXT COLLATE {near}, b TEXT COLLATE utf8mb4_nopad_bin) COLLATE={near}"),
            ),
            (
                "CREATE TABLE t (a TEXT CHARACTER SET utf8mb4, b INT AS (CAST(a AS CHAR CHARACTER SET utf8mb4))) CHARSET=utf8mb4",
                format!(
                    "CREATE TABLE t (a TEXT CHARACTER SET utf8mb4 COLLATE {near}, b INT AS (CAST(a AS CHAR CHARACTER SET utf8mb4))) \
                     CHARSET=utf8mb4 COLLATE {near}"
                ),
            ),
            ("CREATE TABLE t (a INT) COLLATE utf8mb4_bin DEFAULT CHARSET=utf8mb4", "=".to_string()),
            ("ALTER DATABASE d CHARACTER SET = utf8mb4 DEFAULT COLLATE = utf8mb4_bin", "=".to_string()),
            ("CREATE VIEW v AS SELECT CONVERT(a USING utf8mb4) FROM t", "=".to_string()),
            (
                "ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4",
                format!("ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4 COLLATE {near}"),
            ),
        ] {
            assert_eq!(translated(text), expected, "{text}");
        }
    }

    #[test]
    fn what_mariadb_has_not() {
        assert_eq!(translated("CREATE TABLE `t` (\n  `a` int\n) START TRANSACTION"), "CREATE TABLE `t` (\n  `a` int\n) ");
        assert_eq!(translated("CREATE PROCEDURE p() START TRANSACTION"), "=");
        for text in
            ["CREATE USER a", "grant all on *.* to a", "SET PASSWORD FOR a = 'x'", "DROP ROLE r", "ALTER USER u ACCOUNT LOCK"]
        {
            assert_eq!(translated(text), "-", "{text}");
        }
        assert_eq!(translated("CREATE TABLE user (a INT)"), "=");
    }
}
