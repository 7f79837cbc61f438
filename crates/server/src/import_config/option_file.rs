//! The syntax of option files, as MySQL and MariaDB read them.
//!
//! ```text
//! # a comment, as a line that begins with ;
//! [mysqld]
//! key-buffer_size = 16M      # dashes and underscores are alike
//! init_connect = 'SET NAMES utf8mb4'
//! skip-name-resolve
//! !include /etc/mysql/more.cnf
//! !includedir /etc/mysql/conf.d/
//! ```
//! In a directory the files that end in `.cnf` are read in the order of their names. What an included file says belongs to
//! its own groups. `#` begins a comment outside of quotes, also behind a value; `\b \t \n \r \\ \s \" \'` stand for one character.

use std::fmt;
use std::path::{Path, PathBuf};

/// MySQL's limit of files that include one another.
const DEPTH_MAX: usize = 10;
const ENDING: &str = "cnf";

/// Where a line stands; 0 is the whole file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub file: PathBuf,
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.file.display()),
            line => write!(f, "{}:{line}", self.file.display()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    Setting {
        place: Place,
        group: String,
        /// As it is written.
        name: String,
        value: Option<String>,
    },
    /// An `!include` or `!includedir` of what is not there.
    NotThere { place: Place, path: PathBuf },
}

/// All settings of a file and of those that it includes, in the order in which they count: later ones win.
pub fn read(path: &Path) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    read_into(path, 0, &mut lines)?;
    Ok(lines)
}

fn read_into(path: &Path, depth: usize, lines: &mut Vec<Line>) -> Result<(), String> {
    let bytes = std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let text = String::from_utf8_lossy(&bytes);
    let mut group = None;
    for (nth, text) in text.lines().enumerate() {
        let place = Place { file: path.to_path_buf(), line: nth + 1 };
        let text = text.trim();
        if text.is_empty() || text.starts_with(['#', ';']) {
            continue;
        }
        if let Some(directive) = text.strip_prefix('!') {
            include(directive, place, depth, lines)?;
            continue;
        }
        if let Some(rest) = text.strip_prefix('[') {
            let (name, _) = rest.split_once(']').ok_or_else(|| format!("{place}: the name of a group ends with ]"))?;
            group = Some(name.trim().to_string());
            continue;
        }
        let group = group.clone().ok_or_else(|| format!("{place}: there is no [group] above"))?;
        let (name, value) = setting(text);
        lines.push(Line::Setting { place, group, name, value });
    }
    Ok(())
}

fn include(directive: &str, place: Place, depth: usize, lines: &mut Vec<Line>) -> Result<(), String> {
    let (is_directory, path) = match (directive.strip_prefix("includedir"), directive.strip_prefix("include")) {
        (Some(path), _) => (true, path),
        (None, Some(path)) => (false, path),
        (None, None) => return Err(format!("{place}: there are !include and !includedir")),
    };
    let path = PathBuf::from(path.trim());
    if depth == DEPTH_MAX {
        return Err(format!("{place}: more than {DEPTH_MAX} files include one another"));
    }
    if !path.exists() {
        lines.push(Line::NotThere { place, path });
        return Ok(());
    }
    if !is_directory {
        return read_into(&path, depth + 1, lines);
    }
    let unreadable = |error: std::io::Error| format!("{place}: cannot read {}: {error}", path.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&path).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        if file.extension().is_some_and(|ending| ending == ENDING) {
            files.push(file);
        }
    }
    files.sort();
    files.iter().try_for_each(|file| read_into(file, depth + 1, lines))
}

/// Name and value of a line.
fn setting(text: &str) -> (String, Option<String>) {
    let text = without_comment(text).trim_end();
    let Some((name, value)) = text.split_once('=') else { return (text.to_string(), None) };
    let value = value.trim();
    let quoted = |quote: char| value.len() > 1 && value.starts_with(quote) && value.ends_with(quote);
    let inner = if quoted('\'') || quoted('"') { &value[1..value.len() - 1] } else { value };
    (name.trim_end().to_string(), Some(unescape(inner)))
}

/// The line up to a `#` outside of quotes.
fn without_comment(text: &str) -> &str {
    let (mut quote, mut is_escaped) = (None, false);
    for (at, char) in text.char_indices() {
        match char {
            '\'' | '"' if !is_escaped => match quote {
                None => quote = Some(char),
                Some(open) if open == char => quote = None,
                Some(_) => {}
            },
            '#' if quote.is_none() => return &text[..at],
            _ => {}
        }
        is_escaped = quote.is_some() && char == '\\' && !is_escaped;
    }
    text
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            out.push(char);
            continue;
        }
        match chars.next() {
            Some('b') => out.push('\u{8}'),
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('s') => out.push(' '),
            Some(same @ ('\\' | '"' | '\'')) => out.push(same),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let of = |text: &str| setting(text);
        let pair = |name: &str, value: &str| (name.to_string(), Some(value.to_string()));
        assert_eq!(of("skip-name-resolve"), ("skip-name-resolve".to_string(), None));
        assert_eq!(of("skip-name-resolve # never"), ("skip-name-resolve".to_string(), None));
        assert_eq!(of("a=b"), pair("a", "b"));
        assert_eq!(of("a = "), pair("a", ""));
        assert_eq!(of("retry_count=2   # default: 86400"), pair("retry_count", "2"));
        assert_eq!(of("password = 'a#b' # c"), pair("password", "a#b"));
        assert_eq!(of(r##"password = "a\"#b""##), pair("password", "a\"#b"));
        assert_eq!(of("init_connect='SET NAMES utf8'"), pair("init_connect", "SET NAMES utf8"));
        assert_eq!(of(r"dir = C:\data\tmp"), pair("dir", "C:\\data\tmp"));
        assert_eq!(of(r"separator = \s\n\q"), pair("separator", " \n\\q"));
        assert_eq!(of("options = a=1;b=2"), pair("options", "a=1;b=2"));
        assert_eq!(of("quote = '"), pair("quote", "'"));
    }

    #[test]
    fn files_include_others_in_order() {
        let dir = std::env::temp_dir().join(format!("vaquita-option-file-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("conf.d")).unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.join(name), text).unwrap();
        let shown = dir.display();
        write("my.cnf", &format!("; old\n[mysqld]\na=1\n!includedir {shown}/conf.d/\n!include {shown}/gone.cnf\nb=2\n"));
        write("conf.d/2.cnf", "[client]\nc=3\n");
        write("conf.d/1.cnf", "[server]\nd\n");
        write("conf.d/3.txt", "no group");
        write("loop.cnf", &format!("!include {shown}/loop.cnf\n"));
        write("bare.cnf", "\na=1\n");
        let told: Vec<String> = read(&dir.join("my.cnf")).unwrap().iter().map(told).collect();
        assert_eq!(
            told,
            ["my.cnf:3 mysqld a", "1.cnf:2 server d", "2.cnf:2 client c", "my.cnf:5 not there", "my.cnf:6 mysqld b"]
        );
        assert!(read(&dir.join("loop.cnf")).unwrap_err().ends_with("more than 10 files include one another"));
        assert!(read(&dir.join("bare.cnf")).unwrap_err().ends_with("bare.cnf:2: there is no [group] above"));
        assert!(read(&dir.join("none.cnf")).is_err());
        std::fs::remove_dir_all(dir).unwrap();
    }

    fn told(line: &Line) -> String {
        let name = |place: &Place| format!("{}:{}", place.file.file_name().unwrap().to_string_lossy(), place.line);
        match line {
            Line::Setting { place, group, name: setting, .. } => format!("{} {group} {setting}", name(place)),
            Line::NotThere { place, .. } => format!("{} not there", name(place)),
        }
    }
}
