//! The queries of boolean mode: what is read of them, what is refused, and that no text is too much.

use vaquita_types::Result;
use vaquita_types::charset::{Charset, Collation, CollationId, TextParser, Word, collation};

use super::evaluate::evaluate;
use super::query::{List, Node, Operator, parse_boolean, parse_natural};
use super::source::{Row, Source};

fn utf8() -> &'static Charset {
    Charset::by_name("utf8mb4").unwrap()
}

fn shown(list: &List<'_>) -> String {
    let one = |(operator, node): &(Operator, Node<'_>)| {
        let sign = match operator {
            Operator::Optional => "",
            Operator::Must => "+",
            Operator::MustNot => "-",
            Operator::Negate => "~",
            Operator::Raise => ">",
            Operator::Lower => "<",
        };
        let node = match node {
            Node::Word { text, is_prefix } => format!("{}{}", String::from_utf8_lossy(text), if *is_prefix { "*" } else { "" }),
            Node::Phrase { text, distance: None } => format!("{:?}", String::from_utf8_lossy(text)),
            Node::Phrase { text, distance: Some(n) } => format!("{:?}@{n}", String::from_utf8_lossy(text)),
            Node::List(list) => format!("({})", shown(list)),
        };
        format!("{sign}{node}")
    };
    list.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn boolean(text: &str) -> String {
    parse_boolean(utf8(), TextParser::Words, text.as_bytes()).map_or_else(|e| e.message().to_string(), |list| shown(&list))
}

#[test]
fn queries_of_boolean_mode_are_read_as_in_mysql() {
    for (text, read) in [
        ("+one -two ~three <four >five six", "+one -two ~three <four >five six"),
        ("one* two * 12* *three **four", "one* two* 12* three* four"),
        ("\"a b\" +\"c d\"@4 \"e\" @5", "\"a b\" +\"c d\"@4 \"e\"@5"),
        ("+(one (two -three)) ()", "+(one (two -three))"),
        ("one.two +three.four* five.x", "one two +three +four* five"),
        ("+x.one", "+x +one"),
        ("\"one two", "one two"),
        ("100% \"\" # a&b", "100 \"\" a"),
        ("+ one", "+one"),
        ("", ""),
    ] {
        assert_eq!(boolean(text), read, "{text}");
    }
}

#[test]
fn what_is_no_query_is_refused_as_in_mysql() {
    for (text, error) in [
        ("+", "syntax error, unexpected $end"),
        ("+>a", "syntax error, unexpected '>'"),
        ("*", "syntax error, unexpected $end, expecting FTS_TERM or FTS_NUMB or '*'"),
        ("abc**", "syntax error, unexpected $end, expecting FTS_TERM or FTS_NUMB or '*'"),
        ("*+", "syntax error, unexpected '+', expecting FTS_TERM or FTS_NUMB or '*'"),
        ("(abc", "syntax error, unexpected $end"),
        ("abc)", "syntax error, unexpected ')', expecting $end"),
        ("abc @4", "syntax error, unexpected '@', expecting $end"),
        ("\"a b\" @x", "syntax error, unexpected FTS_TERM, expecting FTS_NUMB"),
        ("\"a b\" @4 @5", "syntax error, unexpected '@', expecting $end"),
    ] {
        assert_eq!(boolean(text), error, "{text}");
    }
}

#[test]
fn parentheses_are_counted() {
    let nested = |n: usize| format!("{}dog{}", "(".repeat(n), ")".repeat(n));
    assert_eq!(boolean(&nested(32)), nested(32));
    for deep in [33, 4_000] {
        assert_eq!(boolean(&nested(deep)), "Too many nested sub-expressions in a full-text search");
    }
    assert_eq!(boolean(&nested(10_000)), "memory exhausted");
    assert_eq!(boolean(&"(".repeat(1_000_000)), "memory exhausted");
    assert_eq!(boolean(&"()".repeat(100_000)), "");
}

#[test]
fn any_text_is_read_or_refused() {
    let pieces = [
        "+",
        "-",
        "*",
        "(",
        ")",
        "\"",
        "@",
        "~",
        "<",
        ">",
        " ",
        "\n",
        "%",
        "dog",
        "12",
        "\u{e9}t\u{e9}",
        "_",
        "a",
        "\u{1f600}",
        ".",
    ];
    let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1u64);
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    for _ in 0..20_000 {
        let text: String = (0..next() % 24).map(|_| pieces[next() % pieces.len()]).collect();
        match parse_boolean(utf8(), TextParser::Words, text.as_bytes()) {
            // What was read is written so that it is read again.
            Ok(list) => assert_eq!(boolean(&shown(&list)), shown(&list), "SEED={seed} {text:?}"),
            Err(e) => assert_eq!(e.code(), 1064, "SEED={seed} {text:?}"),
        }
        parse_natural(utf8(), TextParser::Words, text.as_bytes());
        let bytes: Vec<u8> = (0..next() % 24).map(|_| next() as u8).collect();
        for charset in ["utf8mb4", "latin1", "gbk", "sjis"] {
            let _ = parse_boolean(Charset::by_name(charset).unwrap(), TextParser::Words, &bytes);
        }
    }
}

/// A table of one column in memory.
struct Texts {
    collation: &'static Collation,
    texts: Vec<String>,
}

impl Texts {
    fn words(&self, row: usize) -> impl Iterator<Item = Word<'_>> {
        self.collation.charset.words(self.texts[row].as_bytes())
    }
}

impl Source for Texts {
    fn rows(&self) -> Result<u64> {
        Ok(self.texts.len() as u64)
    }

    fn word_key(&self, word: &[u8]) -> Result<Vec<u8>> {
        let mut key = Vec::new();
        self.collation.sort_key(word, &mut key);
        Ok(key)
    }

    fn each(&self, word: &[u8], is_prefix: bool, f: &mut dyn FnMut(Row, u64) -> Result<()>) -> Result<()> {
        let is_one = |other: &Word<'_>| match is_prefix {
            true => self.collation.starts_with(other.bytes, word),
            false => self.collation.equal(other.bytes, word),
        };
        for row in 0..self.texts.len() {
            let count = self.words(row).filter(|word| word.is_significant() && is_one(word)).count() as u64;
            if count > 0 {
                f(row as Row, count)?;
            }
        }
        Ok(())
    }

    fn texts(&self, row: Row) -> Result<Vec<Vec<u8>>> {
        Ok(vec![self.texts[row as usize].clone().into_bytes()])
    }

    fn key(&self, row: Row) -> Result<Box<[u8]>> {
        Ok(row.to_be_bytes().into())
    }
}

/// What the manual says of boolean mode, for one row.
fn is_found(list: &List<'_>, texts: &Texts, row: usize) -> bool {
    let words: Vec<Word<'_>> = texts.words(row).collect();
    let equal = |a: &[u8], b: &[u8]| texts.collation.equal(a, b);
    let has = |node: &Node<'_>| match node {
        Node::Word { text, is_prefix: false } => words.iter().any(|w| w.is_significant() && equal(w.bytes, text)),
        Node::Word { text, .. } => words.iter().any(|w| w.is_significant() && texts.collation.starts_with(w.bytes, text)),
        Node::Phrase { text, distance } => {
            let phrase: Vec<Word<'_>> = texts.collation.charset.words(text).skip_while(|w| !w.is_significant()).collect();
            let same = |place: &[Word<'_>]| place.iter().zip(&phrase).all(|(a, b)| equal(a.bytes, b.bytes));
            let all = |place: &[Word<'_>]| {
                phrase.iter().filter(|w| w.is_significant()).all(|w| place.iter().any(|other| equal(w.bytes, other.bytes)))
            };
            let width = distance.map_or(phrase.len(), |n| (n as usize).clamp(1, words.len().max(1)));
            match (phrase.len(), distance) {
                (0, _) => false,
                (1, _) => all(&words),
                (_, Some(0)) => false,
                (_, None) => words.windows(width).any(same),
                (_, Some(_)) => words.windows(width).any(all),
            }
        }
        Node::List(inside) => is_found(inside, texts, row),
    };
    let of = |operator: Operator| list.iter().filter(move |(o, _)| *o == operator).map(|(_, node)| node);
    let mut optional = list.iter().filter(|(o, _)| matches!(o, Operator::Optional | Operator::Raise | Operator::Lower));
    let must = of(Operator::Must).count() > 0;
    !of(Operator::MustNot).any(has) && if must { of(Operator::Must).all(has) } else { optional.any(|(_, node)| has(node)) }
}

#[test]
fn rows_are_found_as_if_each_was_looked_at() {
    let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1u64);
    let mut state = seed | 1;
    let mut next = move |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) as usize % n
    };
    let words = ["dog", "dogs", "cat", "the", "bird", "it", "Dog", "mouse"];
    let mut some = 0;
    for _ in 0..3_000 {
        let text = |next: &mut dyn FnMut(usize) -> usize| (0..next(9)).map(|_| words[next(8)]).collect::<Vec<_>>().join(" ");
        let texts: Vec<String> = (0..1 + next(6)).map(|_| text(&mut next)).collect();
        let texts = Texts { collation: collation(CollationId::UTF8MB4_0900_AI_CI), texts };
        let mut query = String::new();
        let mut open = 0;
        for _ in 0..1 + next(7) {
            query += ["", "", "+", "-", "~", ">", "<"][next(7)];
            match next(8) {
                0 => query += &format!("\"{}\" ", text(&mut next)),
                1 => query += &format!("\"{}\" @{} ", text(&mut next), next(5)),
                2 if open < 3 => {
                    open += 1;
                    query += "(";
                    continue;
                }
                3 => query += &format!("{}* ", ["do", "dog", "b", "th"][next(4)]),
                _ => query += &format!("{} ", words[next(8)]),
            }
            if open > 0 && next(3) == 0 {
                open -= 1;
                query += ") ";
            }
        }
        query += &")".repeat(open);
        let Ok(list) = parse_boolean(utf8(), TextParser::Words, query.as_bytes()) else { continue };
        let found = evaluate(&list, false, &texts, (texts.collation, TextParser::Words), &|_| Ok(())).unwrap();
        let found: Vec<Row> = found.iter().map(|(key, _)| Row::from_be_bytes(key[..].try_into().unwrap())).collect();
        let wanted: Vec<Row> = (0..texts.texts.len()).filter(|row| is_found(&list, &texts, *row)).map(|row| row as Row).collect();
        assert_eq!(found, wanted, "SEED={seed} {query} in {:?}", texts.texts);
        some += found.len();
    }
    assert!(some > 1_000, "{some} rows are found");
}
