//! The text of SHOW ENGINE … STATUS.

/// The part of the status text under a heading, which stands between two lines of dashes.
pub fn part<'a>(text: &'a str, heading: &str) -> Option<&'a str> {
    let (_, behind) = text.split_once(&format!("\n{heading}\n"))?;
    let (_, part) = behind.split_once('\n')?;
    let end = part.find("\n---").unwrap_or(part.len());
    // Of a text that begins with the next heading nothing is left.
    Some(if part.starts_with("---") { "" } else { &part[..end] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_the_status() {
        let text = "x\n---\nONE\n---\na\nb\n-----\nTWO\n-----\n----\nLAST\n----\nc\n";
        assert_eq!(
            [part(text, "ONE"), part(text, "TWO"), part(text, "LAST"), part(text, "NONE")],
            [Some("a\nb"), Some(""), Some("c\n"), None]
        );
    }
}
