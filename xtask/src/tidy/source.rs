//! A Rust file with its comments, strings and test code blanked out.
//!
//! Blanking keeps every byte's place and every line break: an offset in `code` is the same offset in `text`.
//! ```text
//! text: let s = "fn {"; // todo!
//! code: let s =       ;
//! ```
//! `code` has comments and literals blanked; `shipped` has, besides, the items under `#[cfg(test)]` blanked.

use std::path::PathBuf;

pub struct Source {
    /// Relative to the repository.
    pub path: PathBuf,
    pub text: String,
    pub code: Vec<u8>,
    pub shipped: Vec<u8>,
    /// Compiled for tests only: a file under tests/, or a module under `#[cfg(test)]`.
    pub is_test: bool,
}

/// A function: its name, the offset of `fn`, and how many lines it spans.
pub struct Function {
    pub name: String,
    pub at: usize,
    pub lines: usize,
}

impl Source {
    pub fn new(path: PathBuf, text: String) -> Source {
        let code = blank_comments_and_literals(text.as_bytes());
        let shipped = blank_test_items(&code);
        let is_test = crate::paths::is_test(&path);
        Source { path, text, code, shipped, is_test }
    }

    /// Line number of an offset, from 1.
    pub fn line(&self, at: usize) -> usize {
        1 + self.code.iter().take(at).filter(|byte| **byte == b'\n').count()
    }

    /// `path:line` of an offset.
    pub fn place(&self, at: usize) -> String {
        format!("{}:{}", self.path.display(), self.line(at))
    }

    /// Every function with a body, those nested in others too.
    pub fn functions(&self) -> Vec<Function> {
        let mut found = Vec::new();
        for at in words(&self.code, b"fn") {
            let name: String = self.code[at + 2..]
                .iter()
                .skip_while(|b| b.is_ascii_whitespace())
                .take_while(|b| is_word(**b))
                .map(|b| *b as char)
                .collect();
            if name.is_empty() {
                continue;
            }
            if let Some(end) = body_end(&self.code, at) {
                let lines = 1 + self.code[at..end].iter().filter(|b| **b == b'\n').count();
                found.push(Function { name, at, lines });
            }
        }
        found
    }
}

pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Offsets of `word` in `code`, where it stands alone.
pub fn words(code: &[u8], word: &[u8]) -> Vec<usize> {
    finds(code, word)
        .into_iter()
        .filter(|&at| {
            let before = at.checked_sub(1).and_then(|i| code.get(i)).is_some_and(|b| is_word(*b));
            let after = code.get(at + word.len()).is_some_and(|b| is_word(*b));
            !before && !after
        })
        .collect()
}

/// Offsets of `what` in `code`.
pub fn finds(code: &[u8], what: &[u8]) -> Vec<usize> {
    code.windows(what.len()).enumerate().filter(|(_, window)| *window == what).map(|(at, _)| at).collect()
}

/// Where the body of the item at `at` ends; `None` if a `;` ends it before any `{`.
pub fn body_end(code: &[u8], at: usize) -> Option<usize> {
    let mut round: i32 = 0;
    let mut curly: i32 = 0;
    for (i, byte) in code.iter().enumerate().skip(at) {
        match byte {
            b'(' | b'[' => round += 1,
            b')' | b']' => round -= 1,
            b';' if round == 0 && curly == 0 => return None,
            b'{' => curly += 1,
            b'}' => {
                curly -= 1;
                if curly == 0 {
                    return Some(i + 1);
                }
                if curly < 0 {
                    return None;
                }
            }
            _ => {}
        }
    }
    None
}

/// Blanks each item that `#[cfg(test)]` stands before.
fn blank_test_items(code: &[u8]) -> Vec<u8> {
    let mut out = code.to_vec();
    for at in finds(code, b"#[cfg(test)]") {
        let item = at + b"#[cfg(test)]".len();
        let end = body_end(code, item)
            .or_else(|| code[item..].iter().position(|b| *b == b';').map(|n| item + n + 1))
            .unwrap_or(code.len());
        blank(&mut out, at, end);
    }
    out
}

fn blank(out: &mut [u8], from: usize, to: usize) {
    let to = to.min(out.len());
    for byte in &mut out[from.min(to)..to] {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}

fn blank_comments_and_literals(text: &[u8]) -> Vec<u8> {
    let mut out = text.to_vec();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let in_word = at > 0 && is_word(text[at - 1]);
        let end = if rest.starts_with(b"//") {
            at + rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len())
        } else if rest.starts_with(b"/*") {
            at + block_comment_bytes(rest)
        } else if rest[0] == b'"' {
            at + string_bytes(rest)
        } else if !in_word && let Some(bytes) = raw_string_bytes(rest) {
            at + bytes
        } else if rest[0] == b'\'' {
            at + char_bytes(rest)
        } else {
            at
        };
        if end > at {
            blank(&mut out, at, end);
            at = end;
        } else {
            at += 1;
        }
    }
    out
}

fn block_comment_bytes(text: &[u8]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

fn string_bytes(text: &[u8]) -> usize {
    let mut at = 1;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// `r"…"`, `r#"…"#`, `br"…"`, `cr"…"`; `None` if `text` does not begin with one.
fn raw_string_bytes(text: &[u8]) -> Option<usize> {
    let prefix = match text {
        [b'r', ..] => 1,
        [b'b' | b'c', b'r', ..] => 2,
        _ => return None,
    };
    let hashes = text[prefix..].iter().take_while(|b| **b == b'#').count();
    let open = prefix + hashes;
    if text.get(open) != Some(&b'"') {
        return None;
    }
    let mut close = vec![b'"'];
    close.resize(1 + hashes, b'#');
    let body = &text[open + 1..];
    Some(body.windows(close.len()).position(|window| window == close).map_or(text.len(), |n| open + 1 + n + close.len()))
}

/// A char or byte literal; 0 for a lifetime.
fn char_bytes(text: &[u8]) -> usize {
    match text.get(1) {
        Some(b'\\') => 3 + text.iter().skip(3).position(|b| *b == b'\'').map_or(0, |n| n + 1),
        Some(byte) => {
            let bytes = match byte {
                0xf0.. => 4,
                0xe0.. => 3,
                0xc0.. => 2,
                _ => 1,
            };
            if text.get(1 + bytes) == Some(&b'\'') { bytes + 2 } else { 0 }
        }
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::Source;

    fn source(text: &str) -> Source {
        Source::new("crates/x/src/a.rs".into(), text.to_string())
    }

    #[test]
    fn blanks_comments_and_literals_in_place() {
        for (text, code) in [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c */ d */ e", "a                   e"),
            (r#"f("x \" { ")"#, "f(         )"),
            (r##"f(r#"a " b"#)"##, "f(          )"),
            ("let c = '{'; x::<'a>()", "let c =    ; x::<'a>()"),
            (r"['\'', '\\', b'x', '\u{1f}']", "[    ,     , b   ,         ]"),
        ] {
            assert_eq!(String::from_utf8_lossy(&source(text).code), code, "{text}");
        }
    }

    #[test]
    fn blanks_test_items_in_shipped_code() {
        let source = source("fn a() {}\n#[cfg(test)]\nmod tests { fn b() { } }\nfn c() {}");
        let shipped = String::from_utf8_lossy(&source.shipped).into_owned();
        assert!(shipped.contains("fn a") && shipped.contains("fn c") && !shipped.contains("fn b"));
    }

    #[test]
    fn finds_functions_and_their_lengths() {
        let source = source("trait T { fn no_body(&self) -> [u8; 4]; }\nfn long() {\n  if x {\n  }\n}\n");
        let found: Vec<_> = source.functions().into_iter().map(|f| (f.name, f.lines)).collect();
        assert_eq!(found, [("long".to_string(), 4)]);
    }
}
