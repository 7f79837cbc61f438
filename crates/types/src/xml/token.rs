//! The tokens of XPath, and the names that are more than names.

use super::expr::{Axis, Function};

/// Name, smallest and largest number of arguments.
pub(super) const FUNCTIONS: [(&str, Function, usize, usize); 16] = [
    ("boolean", Function::Boolean, 1, 1),
    ("ceiling", Function::Ceiling, 1, 1),
    ("concat", Function::Concat, 2, 255),
    ("contains", Function::Contains, 2, 2),
    ("count", Function::Count, 1, 1),
    ("false", Function::False, 0, 0),
    ("floor", Function::Floor, 1, 1),
    ("last", Function::Last, 0, 0),
    ("not", Function::Not, 1, 1),
    ("number", Function::Number, 0, 1),
    ("position", Function::Position, 0, 0),
    ("round", Function::Round, 1, 1),
    ("string-length", Function::StringLength, 0, 1),
    ("substring", Function::Substring, 2, 3),
    ("sum", Function::Sum, 1, 1),
    ("true", Function::True, 0, 0),
];

pub(super) const AXES: [(&str, Axis); 13] = [
    ("ancestor", Axis::Ancestor),
    ("ancestor-or-self", Axis::AncestorOrSelf),
    ("attribute", Axis::Attribute),
    ("child", Axis::Child),
    ("descendant", Axis::Descendant),
    ("descendant-or-self", Axis::DescendantOrSelf),
    ("following", Axis::Child),
    ("following-sibling", Axis::Child),
    ("namespace", Axis::Child),
    ("parent", Axis::Parent),
    ("preceding", Axis::Child),
    ("preceding-sibling", Axis::Child),
    ("self", Axis::Itself),
];

pub(super) const NODE_TYPES: [&str; 4] = ["comment", "node", "processing-instruction", "text"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    End,
    Wrong,
    Name,
    And,
    Or,
    Div,
    Mod,
    Axis(Axis),
    NodeType,
    Function(usize),
    Digits,
    Quoted,
    Dots,
    Sign(u8),
}

pub(super) fn continues_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.') || b >= 0x80
}

/// What a name is, by what stands behind it.
pub(super) fn word(name: &[u8], behind: &[u8]) -> Token {
    let is = |word: &str| name.eq_ignore_ascii_case(word.as_bytes());
    if behind.first() == Some(&b'(') {
        if let Some(n) = FUNCTIONS.iter().position(|(word, ..)| is(word)) {
            return Token::Function(n);
        }
        if NODE_TYPES.iter().any(|word| is(word)) {
            return Token::NodeType;
        }
    }
    if behind.starts_with(b"::")
        && let Some((_, axis)) = AXES.iter().find(|(word, _)| is(word))
    {
        return Token::Axis(*axis);
    }
    match () {
        () if is("and") => Token::And,
        () if is("or") => Token::Or,
        () if is("div") => Token::Div,
        () if is("mod") => Token::Mod,
        () => Token::Name,
    }
}
