//! Reads EDN, the notation in which Jepsen and Elle keep histories.
//!
//! `{:type :ok, :value [[:append 3 1] [:r 4 nil]]}`: maps, vectors, lists, sets, keywords, symbols, strings, integers,
//! floats, nil and booleans; commas are white space, `;` begins a comment, `#_` hides a form, and the tag of a tagged
//! form (`#jepsen.history.Op{…}`) is dropped. Characters, ratios and big numbers are errors: histories have none.

const DEPTH_MAX: u32 = 64;

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// Without the colon.
    Keyword(String),
    Symbol(String),
    Text(String),
    /// A vector or a list.
    Vector(Vec<Value>),
    Set(Vec<Value>),
    Map(Vec<(Value, Value)>),
}

impl Value {
    /// The value of a keyword in a map.
    pub fn get(&self, keyword: &str) -> Option<&Value> {
        let Value::Map(entries) = self else { return None };
        entries.iter().find(|(key, _)| matches!(key, Value::Keyword(name) if name == keyword)).map(|(_, value)| value)
    }

    pub fn keyword(&self) -> Option<&str> {
        match self {
            Value::Keyword(name) => Some(name),
            _ => None,
        }
    }

    pub fn int(&self) -> Option<i64> {
        match self {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }
}

/// Every form of a text.
pub fn read_all(text: &str) -> Result<Vec<Value>, String> {
    let mut reader = Reader { text, at: 0 };
    let mut values = Vec::new();
    while let Some(value) = reader.next()? {
        values.push(value);
    }
    Ok(values)
}

/// Reads one form after the other.
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(text: &'a str) -> Reader<'a> {
        Reader { text, at: 0 }
    }

    /// The next form, if there is one.
    #[allow(clippy::should_implement_trait)] // its answer is a Result of an Option
    pub fn next(&mut self) -> Result<Option<Value>, String> {
        match self.form(0)? {
            Form::Value(value) => Ok(Some(value)),
            Form::End => Ok(None),
            Form::Close(close) => Err(self.error(&format!("`{}` closes nothing", char::from(close)))),
        }
    }

    fn error(&self, text: &str) -> String {
        let before = self.text.as_bytes().get(..self.at).unwrap_or_default();
        format!("line {}: {text}", 1 + before.iter().filter(|byte| **byte == b'\n').count())
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while let Some(byte) = self.peek() {
            if byte == b';' {
                while self.peek().is_some_and(|byte| byte != b'\n') {
                    self.at += 1;
                }
            } else if byte.is_ascii_whitespace() || byte == b',' {
                self.at += 1;
            } else {
                return;
            }
        }
    }

    fn form(&mut self, depth: u32) -> Result<Form, String> {
        if depth > DEPTH_MAX {
            return Err(self.error("nested too deeply"));
        }
        self.skip_blanks();
        let Some(byte) = self.peek() else { return Ok(Form::End) };
        let value = match byte {
            b')' | b']' | b'}' => {
                self.at += 1;
                return Ok(Form::Close(byte));
            }
            b'(' => Value::Vector(self.until(b')', depth)?),
            b'[' => Value::Vector(self.until(b']', depth)?),
            b'{' => self.map(depth)?,
            b'"' => self.string()?,
            b'#' => return self.dispatch(depth),
            _ => self.atom()?,
        };
        Ok(Form::Value(value))
    }

    /// The forms up to `close`; the opening bracket is the current byte.
    fn until(&mut self, close: u8, depth: u32) -> Result<Vec<Value>, String> {
        self.at += 1;
        let mut values = Vec::new();
        loop {
            match self.form(depth + 1)? {
                Form::Value(value) => values.push(value),
                Form::Close(found) if found == close => return Ok(values),
                Form::Close(_) | Form::End => return Err(self.error(&format!("`{}` is missing", char::from(close)))),
            }
        }
    }

    fn map(&mut self, depth: u32) -> Result<Value, String> {
        let mut forms = self.until(b'}', depth)?.into_iter();
        let mut entries = Vec::new();
        while let Some(key) = forms.next() {
            let value = forms.next().ok_or_else(|| self.error("a key has no value"))?;
            entries.push((key, value));
        }
        Ok(Value::Map(entries))
    }

    /// `#{…}`, `#_form`, `#tag form`.
    fn dispatch(&mut self, depth: u32) -> Result<Form, String> {
        self.at += 1;
        match self.peek() {
            Some(b'{') => return Ok(Form::Value(Value::Set(self.until(b'}', depth)?))),
            Some(b'_') => {
                self.at += 1;
                self.form(depth + 1)?;
            }
            _ => {
                self.word();
            }
        }
        self.form(depth + 1)
    }

    fn string(&mut self) -> Result<Value, String> {
        self.at += 1;
        let mut text = String::new();
        let mut escaped = false;
        for (offset, c) in self.text[self.at..].char_indices() {
            match c {
                _ if escaped => {
                    text.push(match c {
                        'n' => '\n',
                        't' => '\t',
                        'r' => '\r',
                        other => other,
                    });
                    escaped = false;
                }
                '\\' => escaped = true,
                '"' => {
                    self.at += offset + 1;
                    return Ok(Value::Text(text));
                }
                _ => text.push(c),
            }
        }
        Err(self.error("a string has no end"))
    }

    fn word(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let ends = |c: char| c.is_whitespace() || ",()[]{}\";".contains(c);
        let end = rest.find(ends).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn atom(&mut self) -> Result<Value, String> {
        let word = self.word();
        let numeric = word.strip_prefix(['-', '+']).unwrap_or(word).starts_with(|c: char| c.is_ascii_digit());
        Ok(match word {
            "nil" => Value::Nil,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ if word.starts_with(':') => Value::Keyword(word[1..].to_string()),
            _ if numeric => match (word.trim_end_matches('N').parse(), word.parse()) {
                (Ok(int), _) => Value::Int(int),
                (_, Ok(float)) => Value::Float(float),
                _ => return Err(self.error(&format!("not a number: {word}"))),
            },
            _ if word.is_empty() || word.starts_with('\\') => return Err(self.error("not a form of EDN that histories have")),
            _ => Value::Symbol(word.to_string()),
        })
    }
}

enum Form {
    Value(Value),
    Close(u8),
    End,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let text =
            "#jepsen.history.Op{:type :ok, :value [[:append 3 -1] (:r 4 nil)] :s #{1 2} #_ hidden :t \"a\\\"b\"} ; end\n1.5 sym";
        let values = read_all(text).unwrap();
        assert_eq!(values.len(), 3);
        assert_eq!(values[0].get("type"), Some(&Value::Keyword("ok".into())));
        assert_eq!(values[0].get("s"), Some(&Value::Set(vec![Value::Int(1), Value::Int(2)])));
        assert_eq!(values[0].get("t"), Some(&Value::Text("a\"b".into())));
        let Some(Value::Vector(ops)) = values[0].get("value") else { panic!("{values:?}") };
        assert_eq!(ops[1], Value::Vector(vec![Value::Keyword("r".into()), Value::Int(4), Value::Nil]));
        assert_eq!(values[1], Value::Float(1.5));
    }

    #[test]
    fn broken_texts_are_errors() {
        for text in ["[1", "]", "{:a}", "\"a", "\\c", "12x", "#{1]", &"[".repeat(100_000)] {
            assert!(read_all(text).is_err(), "{}", &text[..text.len().min(10)]);
        }
    }
}
