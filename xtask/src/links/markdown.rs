//! A Markdown page: where its links go, and which anchors its headings are.

use std::collections::{BTreeSet, HashMap};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

#[derive(Default)]
pub struct Page {
    /// Of links and images, as they are written.
    pub links: Vec<String>,
    pub anchors: BTreeSet<String>,
}

impl Page {
    pub fn of(text: &str) -> Page {
        let mut page = Page::default();
        let mut names: HashMap<String, usize> = HashMap::new();
        let mut heading: Option<String> = None;
        for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => page.links.push(dest_url.into_string()),
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&text);
                    }
                }
                Event::End(TagEnd::Heading(_)) => {
                    let name = anchor(&heading.take().unwrap_or_default());
                    let before = names.entry(name.clone()).or_default();
                    page.anchors.insert(if *before == 0 { name } else { format!("{name}-{before}") });
                    *before += 1;
                }
                _ => {}
            }
        }
        page
    }
}

/// The anchor of a heading, by the rule that mdBook and the hosts of repositories share.
fn anchor(heading: &str) -> String {
    let kept = |c: char| match c {
        c if c.is_whitespace() => Some('-'),
        c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_ascii_lowercase()),
        _ => None,
    };
    heading.trim().chars().filter_map(kept).collect()
}
