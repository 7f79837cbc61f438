//! That everything which can be said has a topic, and that topics are as MySQL's tables can hold them.

use std::collections::HashSet;

use vaquita_parser::{ParserOptions, StatementKind, is_blank, parse_one};

use super::*;

/// What nothing carries out (1235), or has no name.
const NOT_CARRIED_OUT: [StatementKind; 3] = [StatementKind::Unsupported, StatementKind::Restart, StatementKind::ShowParseTree];

/// Names of the table of functions that are operators or that syntax alone reaches.
const NOT_CALLED: [&str; 6] = ["NEG", "DIV", "XOR", "LIKE", "REGEXP", "RLIKE"];

/// Aggregates and window functions, and what syntax of its own makes a call of.
const WITH_SYNTAX: &str = "\
    ANY_VALUE AVG BIT_AND BIT_OR BIT_XOR CAST CHAR CONVERT COUNT CUME_DIST DATE_ADD DATE_SUB DEFAULT DENSE_RANK EXTRACT \
    FIRST_VALUE GET_FORMAT GROUPING GROUP_CONCAT JSON_ARRAYAGG JSON_OBJECTAGG JSON_TABLE JSON_VALUE LAG LAST_VALUE LEAD MAX \
    MIN NTH_VALUE NTILE PERCENT_RANK POSITION RANK ROW_NUMBER STD STDDEV STDDEV_POP STDDEV_SAMP ST_COLLECT SUM TIMESTAMPADD \
    TIMESTAMPDIFF TRIM VALUES VARIANCE VAR_POP VAR_SAMP";

/// The lines behind `Syntax:`.
fn syntax(topic: &Topic) -> impl Iterator<Item = &str> {
    let text = topic.description.strip_prefix("Syntax:\n").unwrap_or_default();
    text.split("\n\n").next().unwrap_or_default().lines()
}

fn has_line(is_wanted: impl Fn(&str) -> bool) -> bool {
    HELP.topics.iter().flat_map(syntax).any(is_wanted)
}

#[test]
fn every_function_has_a_topic() {
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let called = vaquita_plan::func::all()
        .into_iter()
        .map(|def| def.name)
        .filter(|name| is_name(name) && !NOT_CALLED.contains(name) && !vaquita_plan::func::is_of_dictionary(name));
    let missing: Vec<&str> = called
        .chain(WITH_SYNTAX.split_whitespace())
        .filter(|name| !has_line(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with('('))))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn every_statement_has_a_topic() {
    // A line has the words of the statement's name in their order, among others.
    let is_of = |line: &str, name: &str| {
        let mut found = words(line).peekable();
        let mut wanted = words(name);
        found.peek().copied() == words(name).next() && wanted.all(|word| found.any(|other| other == word))
    };
    let missing: Vec<&str> = StatementKind::ALL
        .iter()
        .filter(|kind| !NOT_CARRIED_OUT.contains(kind))
        .map(|kind| kind.facts().name)
        .filter(|name| !has_line(|line| is_of(line.strip_prefix("[WITH ...] ").unwrap_or(line), name)))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn names_are_unique_and_fit_their_columns() {
    const NAME_CHARS_MAX: usize = 64;
    const TEXT_BYTES_MAX: usize = 65_535;
    let unique = |names: Vec<String>| {
        let mut seen = HashSet::new();
        for name in names {
            assert!(name.len() <= NAME_CHARS_MAX && !name.is_empty(), "{name}");
            assert!(seen.insert(name.to_ascii_lowercase()), "{name} is there twice");
        }
    };
    unique(HELP.categories.iter().map(|category| category.name.to_string()).collect());
    unique(HELP.topics.iter().map(|topic| topic.name.clone()).collect());
    unique(HELP.keywords.clone());
    for topic in &HELP.topics {
        assert!(topic.description.len() <= TEXT_BYTES_MAX, "{}", topic.name);
    }
}

#[test]
fn texts_are_well_formed() {
    let heads = TEXTS.iter().flat_map(|text| sections(text)).filter_map(|section| section.lines().next());
    for parent in heads.filter_map(|head| head.strip_prefix("== ")?.split_once(" < ")).map(|(_, parent)| parent) {
        assert!(HELP.categories.iter().any(|category| category.name == parent), "{parent}");
    }
    for topic in &HELP.topics {
        let name = &topic.name;
        let prose = topic.description.split("\n\n").nth(usize::from(topic.description.starts_with("Syntax:")));
        assert!(prose.is_some_and(|prose| !prose.trim().is_empty()), "{name} says nothing");
        assert!(!topic.description.contains("\n--\n") && !topic.example.contains("\n--\n"), "{name} has two examples");
        assert!(topic.description.ends_with('\n') && !topic.description.contains("\n\n\n"), "{name} has empty lines");
    }
    // Categories without anything would be opened to nothing.
    for (n, category) in HELP.categories.iter().enumerate() {
        let holds = HELP.topics.iter().any(|topic| topic.category == n) || HELP.categories.iter().any(|inner| inner.parent == n);
        assert!(holds, "{} is empty", category.name);
    }
}

/// The statements of an example, as they stand behind the client's prompts.
fn statements<'a>(example: &'a str) -> String {
    let typed = |line: &'a str| line.strip_prefix("mysql> ").or_else(|| line.strip_prefix("    -> ")).unwrap_or(line);
    let lines: Vec<&str> = example.lines().filter(|line| !line.starts_with("        -> ")).map(typed).collect();
    lines.join("\n")
}

#[test]
fn examples_are_valid() {
    let options = ParserOptions::default();
    for topic in &HELP.topics {
        let of_programs = HELP.categories[topic.category].name == "Compound Statements";
        // The client's own commands, and what stands in a program alone.
        if topic.example.contains("delimiter") || of_programs && topic.example.starts_with("DECLARE") {
            continue;
        }
        let text = statements(&topic.example);
        let mut rest = text.as_bytes();
        while !is_blank(rest, &options) {
            let (_, read) = parse_one(rest, &options).unwrap_or_else(|error| panic!("{}: {error:?}", topic.name));
            rest = &rest[read..];
        }
    }
}

#[test]
fn a_text_is_read() {
    let help = Help::new(&[
        "# About it.\n\n== Contents < Contents\n== A < Contents\n= IF [FUNCTION] ; MORE\nIF(a, THEN_B)\nX(Y)\n\nOne.\n\nTwo.\n--\n1\n\n- NOTES\nText.\n",
    ]);
    let names: Vec<(&str, usize)> = help.categories.iter().map(|category| (category.name, category.parent)).collect();
    assert_eq!(names, [("Contents", 0), ("A", 0)]);
    assert_eq!(help.keywords, ["IF", "MORE", "THEN_B", "NOTES"]);
    let [first, second] = &help.topics[..] else { panic!("two topics") };
    assert_eq!((first.name.as_str(), first.category, first.example.as_str()), ("IF FUNCTION", 1, "1\n"));
    assert_eq!(first.description, "Syntax:\nIF(a, THEN_B)\nX(Y)\n\nOne.\n\nTwo.\n");
    assert_eq!(first.keywords, [0, 1, 2]);
    assert_eq!((second.name.as_str(), second.description.as_str(), second.example.as_str()), ("NOTES", "Text.\n", ""));
}
