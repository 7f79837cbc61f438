//! HELP: its texts, which the tables `mysql.help_…` hold and in which `show::help` searches.
//!
//! The texts lie beside this file, one file an area, in the order of `TEXTS`, which gives their numbers:
//!
//! ```text
//! # A comment, up to the first empty line.
//!
//! == String Functions < Functions       a category, and the one in which it lies
//! = REPEAT [FUNCTION] ; TIMES           a topic of that category, and keywords beside those that follow
//! REPEAT(str, count)                    its syntax, up to the first empty line
//!
//! Returns str count times over.         its description, up to the line `--` or the next topic
//! --
//! mysql> SELECT REPEAT('ab', 2);        an example, if there is one
//! ```
//!
//! `- NAME` begins a topic without syntax. The keywords of a topic are the words of its name and what is in capitals in its syntax.
//! What is in brackets is part of the name and no keyword: it tells two topics of one name apart, as MySQL does, or leaves a word to the
//! category of that name, which HELP opens only if no topic has it as a keyword.

use std::collections::HashMap;
use std::sync::LazyLock;

use vaquita_types::Result;

use super::row::row;
use super::{Row, SystemContext};

const TEXTS: [&str; 13] = [
    include_str!("contents.txt"),
    include_str!("types.txt"),
    include_str!("operators.txt"),
    include_str!("numbers.txt"),
    include_str!("dates.txt"),
    include_str!("strings.txt"),
    include_str!("functions.txt"),
    include_str!("json.txt"),
    include_str!("spatial.txt"),
    include_str!("aggregates.txt"),
    include_str!("definition.txt"),
    include_str!("manipulation.txt"),
    include_str!("administration.txt"),
];

pub static HELP: LazyLock<Help> = LazyLock::new(|| Help::new(&TEXTS));

/// What there is; numbers in it, and in the tables, are positions.
#[derive(Default)]
pub struct Help {
    pub categories: Vec<Category>,
    pub topics: Vec<Topic>,
    /// In capitals.
    pub keywords: Vec<String>,
}

pub struct Category {
    pub name: &'static str,
    /// The root lies in itself.
    pub parent: usize,
}

pub struct Topic {
    pub name: String,
    pub category: usize,
    pub description: String,
    pub example: String,
    /// In the order of their numbers.
    pub keywords: Vec<usize>,
}

impl Help {
    fn new(texts: &[&'static str]) -> Help {
        let mut help = Help::default();
        let mut numbers = HashMap::new();
        for text in texts {
            for section in sections(text) {
                let (head, body) = section.split_once('\n').unwrap_or((section, ""));
                if let Some(category) = head.strip_prefix("== ") {
                    help.add_category(category);
                } else if let Some(topic) = head.strip_prefix("= ") {
                    help.add_topic(topic, body, true, &mut numbers);
                } else if let Some(topic) = head.strip_prefix("- ") {
                    help.add_topic(topic, body, false, &mut numbers);
                }
            }
        }
        help
    }

    fn add_category(&mut self, head: &'static str) {
        let (name, parent) = head.split_once(" < ").unwrap_or((head, ""));
        let parent = self.categories.iter().position(|category| category.name == parent).unwrap_or(0);
        self.categories.push(Category { name, parent });
    }

    fn add_topic(&mut self, head: &str, body: &str, has_syntax: bool, numbers: &mut HashMap<String, usize>) {
        let (name, more) = head.split_once(" ; ").unwrap_or((head, ""));
        let (description, example) = body.split_once("\n--\n").unwrap_or((body, ""));
        let syntax = if has_syntax { description.split("\n\n").next().unwrap_or_default() } else { "" };
        let mut keywords: Vec<usize> = keywords_of_name(name)
            .chain(more.split_whitespace())
            .chain(words(syntax))
            .map(|word| {
                *numbers.entry(word.to_string()).or_insert_with(|| {
                    self.keywords.push(word.to_string());
                    self.keywords.len() - 1
                })
            })
            .collect();
        keywords.sort_unstable();
        keywords.dedup();
        self.topics.push(Topic {
            name: name.replace(['[', ']'], ""),
            category: self.categories.len().saturating_sub(1),
            description: format!("{}{}\n", if has_syntax { "Syntax:\n" } else { "" }, description.trim_end()),
            example: if example.is_empty() { String::new() } else { format!("{}\n", example.trim_end()) },
            keywords,
        });
    }
}

/// The pieces of a text that begin with a head. What stands before the first is a comment.
fn sections(text: &'static str) -> Vec<&'static str> {
    let is_head = |line: &str| ["== ", "= ", "- "].iter().any(|mark| line.starts_with(mark));
    let mut starts = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if is_head(line) {
            starts.push(at);
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).filter_map(|(start, end)| text.get(*start..end)).collect()
}

fn keywords_of_name(name: &str) -> impl Iterator<Item = &str> {
    name.split_once('[').map_or(name, |(before, _)| before).split_whitespace()
}

/// Words in capitals: at least two letters, digits and underscores, the first of them a letter.
fn words(syntax: &str) -> impl Iterator<Item = &str> {
    let is_keyword = |word: &&str| {
        word.len() > 1 && word.starts_with(|c: char| c.is_ascii_uppercase()) && !word.contains(|c: char| c.is_ascii_lowercase())
    };
    syntax.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(is_keyword)
}

pub(super) fn categories(_: &SystemContext<'_>) -> Result<Vec<Row>> {
    let row = |(n, category): (usize, &Category)| row![n as u64, category.name, category.parent as u64, ""];
    Ok(HELP.categories.iter().enumerate().map(row).collect())
}

pub(super) fn topics(_: &SystemContext<'_>) -> Result<Vec<Row>> {
    let row =
        |(n, topic): (usize, &Topic)| row![n as u64, &topic.name, topic.category as u64, &topic.description, &topic.example, ""];
    Ok(HELP.topics.iter().enumerate().map(row).collect())
}

pub(super) fn keywords(_: &SystemContext<'_>) -> Result<Vec<Row>> {
    Ok(HELP.keywords.iter().enumerate().map(|(n, keyword)| row![n as u64, keyword]).collect())
}

pub(super) fn relations(_: &SystemContext<'_>) -> Result<Vec<Row>> {
    let of_topic = |(n, topic): (usize, &'static Topic)| topic.keywords.iter().map(move |keyword| (*keyword as u64, n as u64));
    let mut relations: Vec<(u64, u64)> = HELP.topics.iter().enumerate().flat_map(of_topic).collect();
    // As the primary key has them.
    relations.sort_unstable();
    Ok(relations.into_iter().map(|(keyword, topic)| row![topic, keyword]).collect())
}

#[cfg(test)]
mod tests;
