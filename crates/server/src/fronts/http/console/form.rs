//! Forms and queries of addresses: `a=b&c=d+%C3%A9`.

/// Names and values in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form(Vec<(String, String)>);

impl Form {
    pub fn parse(text: &str) -> Form {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        Form(
            pairs
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .map(|(name, value)| (decoded(name), decoded(value)))
                .collect(),
        )
    }

    /// Empty if it is not there.
    pub fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

/// What is no escape stays as it is, and what is no UTF-8 becomes U+FFFD.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = || u8::from_str_radix(text.get(at + 1..at + 3)?, 16).ok();
        match (bytes[at], escaped()) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 2;
            }
            (b'+', _) => out.push(b' '),
            (other, _) => out.push(other),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A part of an address.
pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let form = Form::parse("user=caf%C3%A9+x&password=%&empty=&alone&user=second&bad=%zz%4");
        assert_eq!([form.get("user"), form.get("password"), form.get("bad")], ["café x", "%", "%zz%4"]);
        assert_eq!([form.get("empty"), form.get("alone"), form.get("none")], ["", "", ""]);
        let text = "a b&c=d/é%";
        assert_eq!(Form::parse(&format!("x={}", encoded(text))).get("x"), text);
    }
}
