//! HELP: what `mysql.help_…` have that is LIKE a text.
//!
//! 1. Topics by their names; if there is none, those of a keyword, if only one keyword is LIKE it.
//! 2. One topic is shown, several are listed, with the categories that are LIKE the text, too.
//! 3. Without topics, a category by itself is opened, several are listed.
//!
//! Example: `HELP 'concat'` shows a topic, `HELP 'concat%'` lists two, `HELP 'separator'` shows GROUP_CONCAT, `HELP 'functions'` opens
//! a category. What nothing is LIKE is an empty list. Nobody needs a privilege for it.

use vaquita_types::Value;
use vaquita_types::charset::{CollationId, LIKE_ESCAPE, collation};

use super::{Listing, ShowResult};
use crate::system::Row;
use crate::system::help::{Category, HELP, Help, Topic};

/// That of the names in `mysql.help_…`.
const COLLATION: CollationId = CollationId::UTF8MB3_GENERAL_CI;

pub fn help(pattern: &[u8]) -> ShowResult {
    search(&HELP, pattern).unfiltered()
}

fn search(help: &Help, pattern: &[u8]) -> Listing {
    let is_like = |name: &str| collation(COLLATION).like(name.as_bytes(), pattern, Some(LIKE_ESCAPE));
    let categories: Vec<(usize, &Category)> =
        help.categories.iter().enumerate().filter(|(_, category)| is_like(category.name)).collect();
    let mut topics: Vec<&Topic> = help.topics.iter().filter(|topic| is_like(&topic.name)).collect();
    if topics.is_empty() {
        topics = topics_of_keyword(help, is_like);
    }
    match (topics.as_slice(), categories.as_slice()) {
        ([topic], _) => {
            let row = [&topic.name, &topic.description, &topic.example].map(|text| Value::from(text.as_str()));
            Listing::with_rows("HELP TOPIC", vec![row.to_vec()])
        }
        ([], [(number, category)]) => {
            let topics: Vec<&Topic> = help.topics.iter().filter(|topic| topic.category == *number).collect();
            let inner: Vec<_> = help.categories.iter().enumerate().filter(|(_, inner)| inner.parent == *number).collect();
            let row = |(name, is_category): (&str, &str)| -> Row { vec![category.name.into(), name.into(), is_category.into()] };
            Listing::with_rows("HELP CATEGORY", listed(&topics, &inner).into_iter().map(row).collect())
        }
        (topics, categories) => {
            let row = |(name, is_category): (&str, &str)| -> Row { vec![name.into(), is_category.into()] };
            Listing::with_rows("HELP LIST", listed(topics, categories).into_iter().map(row).collect())
        }
    }
}

/// Names in the order in which they are sent, each with whether it is a category's: Y or N.
fn listed<'a>(topics: &[&'a Topic], categories: &[(usize, &'a Category)]) -> Vec<(&'a str, &'static str)> {
    let topics = sorted(topics.iter().map(|topic| topic.name.as_str()));
    let categories = sorted(categories.iter().map(|(_, category)| category.name));
    topics.map(|name| (name, "N")).chain(categories.map(|name| (name, "Y"))).collect()
}

/// The topics of the keyword that alone is like what is searched for.
fn topics_of_keyword(help: &Help, is_like: impl Fn(&str) -> bool) -> Vec<&Topic> {
    let mut found = help.keywords.iter().enumerate().filter(|(_, keyword)| is_like(keyword));
    match (found.next(), found.next()) {
        (Some((number, _)), None) => help.topics.iter().filter(|topic| topic.keywords.contains(&number)).collect(),
        _ => Vec::new(),
    }
}

/// MySQL sorts by bytes.
fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns, then the rows; long texts end at their first line.
    fn found(pattern: &str) -> Vec<String> {
        let result = help(pattern.as_bytes());
        let columns: Vec<&str> = result.columns.iter().map(|column| column.name.as_str()).collect();
        let text = |value: &Value| match value {
            Value::Bytes(text) => String::from_utf8_lossy(text).lines().next().unwrap_or_default().to_string(),
            other => format!("{other:?}"),
        };
        let row = |row: &Row| row.iter().map(text).collect::<Vec<_>>().join("|");
        [columns.join("|")].into_iter().chain(result.rows.iter().map(row)).collect()
    }

    const LIST: &str = "name|is_it_category";
    const OPENED: &str = "source_category_name|name|is_it_category";

    #[test]
    fn one_topic_is_shown() {
        for (pattern, name) in [
            ("concat", "CONCAT"),
            ("C\u{f3}ncat", "CONCAT"),
            ("concat\\_ws", "CONCAT_WS"),
            // Keywords of one topic.
            ("separator", "GROUP_CONCAT"),
            ("separat%", "GROUP_CONCAT"),
            ("st_aswkt", "ST_ASTEXT"),
        ] {
            let lines = found(pattern);
            assert_eq!(lines[0], "name|description|example", "{pattern}");
            assert!(lines.len() == 2 && lines[1].starts_with(&format!("{name}|Syntax:|")), "{pattern}: {lines:?}");
        }
    }

    #[test]
    fn several_are_listed_and_categories_behind_them() {
        assert_eq!(found("concat%"), [LIST, "CONCAT|N", "CONCAT_WS|N"]);
        assert_eq!(found("x%"), [LIST, "XA|N", "XOR|N", "XML|Y"]);
        assert_eq!(found("wk_ functions"), [LIST, "WKB Functions|Y", "WKT Functions|Y"]);
        assert_eq!(found("help"), [LIST, "HELP COMMAND|N", "HELP STATEMENT|N"]);
        // Topics of a keyword, and a category of that name.
        assert_eq!(found("xml"), [LIST, "EXTRACTVALUE|N", "LOAD XML|N", "UPDATEXML|N", "XML|Y"]);
        let create = found("create");
        assert!(["CREATE TABLE|N", "SHOW CREATE TABLE|N"].iter().all(|line| create.iter().any(|found| found == line)));
    }

    #[test]
    fn a_category_is_opened() {
        let geographic = [
            OPENED,
            "Geographic Features|GEOMETRY HIERARCHY|N",
            "Geographic Features|SPATIAL COLUMNS|N",
            "Geographic Features|SPATIAL INDEXES|N",
            "Geographic Features|MBR|Y",
            "Geographic Features|WKT|Y",
        ];
        assert_eq!(found("geographic features"), geographic);
        assert_eq!(found("mbr"), [OPENED, "MBR|MBR DEFINITION|N"]);
        // As in MySQL, the root lies in itself.
        assert!(found("contents").iter().any(|line| line == "Contents|Contents|Y"));
    }

    #[test]
    fn nothing_is_an_empty_list() {
        for pattern in ["", "nosuchthing", "concat ", " concat", "con\\%", "concat\\", "d%ing"] {
            assert_eq!(found(pattern), [LIST], "{pattern}");
        }
    }
}
