//! The rows of `VALUES (1, 'a'), (2, 'b')`, read from the bytes of the statement without tokens.
//!
//! It takes literals that stand alone: integers, decimals, floats, each perhaps with a minus, strings, `_binary` strings, hexadecimal
//! numbers, NULL. The first row that has anything else, a comment included, and what follows is left to the parser. So nothing here need
//! know what else there is, or say what is wrong with it.

use memchr::memchr2;

use super::Parser;
use super::literal::{hex_bytes, undouble, unescape};
use crate::ast::{Cell, LiteralRows, Span};
use crate::lexer::{Op, is_space};

impl Parser<'_> {
    /// As many rows of plain literals as stand here, from the present `(` on; the parser is behind the last one.
    pub(super) fn literal_rows(&mut self) -> LiteralRows {
        let mut rows = LiteralRows::default();
        if !self.is_op(Op::LParen) {
            return rows;
        }
        let first = self.tok.start as usize;
        let mut scan =
            Scan { src: self.src, at: first, ansi_quotes: self.opts.ansi_quotes, escapes: !self.opts.no_backslash_escapes };
        let mut end = first;
        loop {
            let before = rows.cells().len();
            if scan.row(&mut rows).is_none() {
                rows.cut(before);
                break;
            }
            if !rows.end_row(before) {
                break;
            }
            if before == 0 {
                let rest = self.src.len() - scan.at;
                rows.reserve(rest / (scan.at - first) * rows.width());
            }
            end = scan.at;
            scan.blank();
            if !scan.eat(b',') {
                break;
            }
            scan.blank();
        }
        if !rows.is_empty() {
            self.jump(end);
        }
        rows
    }
}

struct Scan<'a> {
    src: &'a [u8],
    at: usize,
    ansi_quotes: bool,
    escapes: bool,
}

impl Scan<'_> {
    fn byte(&self) -> u8 {
        self.src.get(self.at).copied().unwrap_or(0)
    }

    fn blank(&mut self) {
        while is_space(self.byte()) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.byte() == byte;
        self.at += usize::from(found);
        found
    }

    /// A row into the cells; `None` if it is not of plain literals.
    fn row(&mut self, rows: &mut LiteralRows) -> Option<()> {
        if !self.eat(b'(') {
            return None;
        }
        loop {
            self.blank();
            let cell = self.cell(rows)?;
            rows.push(cell);
            self.blank();
            if self.eat(b')') {
                return Some(());
            }
            if !self.eat(b',') {
                return None;
            }
        }
    }

    fn cell(&mut self, rows: &mut LiteralRows) -> Option<Cell> {
        match self.byte() {
            b'0' if matches!(self.src.get(self.at + 1), Some(b'x' | b'b')) => self.hex(rows),
            b'0'..=b'9' | b'.' => self.number(rows, false),
            b'-' => {
                self.at += 1;
                if self.byte().is_ascii_digit() || self.byte() == b'.' { self.number(rows, true) } else { None }
            }
            b'\'' => self.string(rows).map(Cell::String),
            b'"' if !self.ansi_quotes => self.string(rows).map(Cell::String),
            b'N' | b'n' => self.word(b"null").then_some(Cell::Null),
            b'_' if self.word(b"_binary") => {
                self.blank();
                if self.byte() == b'\'' { self.string(rows).map(Cell::Binary) } else { None }
            }
            b'x' | b'X' if self.src.get(self.at + 1) == Some(&b'\'') => self.hex(rows),
            _ => None,
        }
    }

    /// A word in lower case. Whoever comes next wants a blank, a comma or a parenthesis behind it, or a quote.
    fn word(&mut self, word: &[u8]) -> bool {
        let found = self.src.get(self.at..self.at + word.len()).is_some_and(|text| text.eq_ignore_ascii_case(word));
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.byte().is_ascii_digit() {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self, rows: &mut LiteralRows, negative: bool) -> Option<Cell> {
        /// All numbers of so many digits fit 64 bits.
        const SURE_DIGITS: usize = 19;
        let start = self.at;
        let whole = self.digits();
        let text = |scan: &Self| scan.src.get(start..scan.at).unwrap_or(&[]);
        let mut float = false;
        if self.byte() == b'.' {
            self.at += 1;
            if self.digits() + whole == 0 {
                return None;
            }
        } else if self.byte() | 0x20 != b'e' && whole <= SURE_DIGITS {
            let n = text(self).iter().fold(0u64, |n, digit| n.wrapping_mul(10).wrapping_add(u64::from(digit & 15)));
            return match negative {
                false => Some(Cell::Int(n)),
                true => (n <= 1 << 63).then_some(Cell::Negative(n)),
            };
        }
        if self.byte() | 0x20 == b'e' {
            self.at += 1;
            if matches!(self.byte(), b'+' | b'-') {
                self.at += 1;
            }
            if self.digits() == 0 {
                return None;
            }
            float = true;
        } else if whole == self.at - start {
            return None;
        }
        let written = text(self);
        if float {
            let number: f64 = std::str::from_utf8(written).ok()?.parse().ok()?;
            return number.is_finite().then(|| Cell::Float { digits: rows.put(written), negative });
        }
        Some(Cell::Decimal { digits: rows.put(written), negative })
    }

    /// `0x1f` or `x'1f'`.
    fn hex(&mut self, rows: &mut LiteralRows) -> Option<Cell> {
        let quoted = self.byte() != b'0';
        if !quoted && self.src.get(self.at + 1) != Some(&b'x') {
            return None;
        }
        self.at += 2;
        let start = self.at;
        while self.byte().is_ascii_hexdigit() {
            self.at += 1;
        }
        let digits = self.src.get(start..self.at)?;
        let wrong = if quoted { digits.len() % 2 == 1 || !self.eat(b'\'') } else { digits.is_empty() };
        if wrong { None } else { Some(Cell::Hex(rows.put(&hex_bytes(digits)))) }
    }

    /// From a quote to behind the one that closes it.
    fn string(&mut self, rows: &mut LiteralRows) -> Option<Span> {
        let (start, quote) = (self.at, self.byte());
        let escape = if self.escapes { b'\\' } else { quote };
        let mut plain = true;
        self.at += 1;
        loop {
            self.at += memchr2(quote, escape, self.src.get(self.at..)?)?;
            let found = self.byte();
            self.at += 1;
            if found == quote {
                if self.byte() != quote {
                    break;
                }
                plain = false;
                self.at += 1;
            } else {
                plain = false;
                self.at += 1;
            }
        }
        let quoted = self.src.get(start..self.at)?;
        if plain {
            return Some(rows.put(quoted.get(1..quoted.len() - 1)?));
        }
        Some(rows.put(&if self.escapes { unescape(quoted) } else { undouble(quoted) }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::ParserOptions;
    use crate::ast::{Expr, InsertSource, Statement};
    use crate::parser::parse_one;

    fn source(sql: &str, options: &ParserOptions) -> Result<InsertSource, String> {
        match parse_one(sql.as_bytes(), options) {
            Ok((Statement::Insert(insert), _)) => Ok(insert.source),
            Ok(_) => Err("no INSERT".into()),
            Err(e) => Err(format!("{e:?}")),
        }
    }

    /// The rows as expressions, and whether they were plain.
    fn rows(sql: &str, options: &ParserOptions) -> Result<(Vec<Vec<Expr>>, bool), String> {
        Ok(match source(sql, options)? {
            InsertSource::Literals(rows) => (rows.exprs(), true),
            InsertSource::Values(rows) => (rows, false),
            InsertSource::Query(_) => return Err("a query".into()),
        })
    }

    #[test]
    fn what_is_plain() {
        let options = ParserOptions::default();
        let plain = |values: &str| rows(&format!("INSERT t VALUES {values}"), &options).map(|(rows, plain)| (rows.len(), plain));
        assert_eq!(plain("(1,'a'),\n ( -2 , NULL )"), Ok((2, true)));
        assert_eq!(plain("(1),(2) ON DUPLICATE KEY UPDATE a = 3"), Ok((2, true)));
        assert_eq!(plain("(1.5e3, -.5, 0x1F, x'1f', _binary 'x', \"y\", 'it''s', 'a\\'b')"), Ok((1, true)));
        // The general way.
        assert_eq!(plain("(1),(1+1)"), Ok((2, false)));
        assert_eq!(plain("(1),(DEFAULT),(2)"), Ok((3, false)));
        assert_eq!(plain("(1),(/* x */ 2)"), Ok((2, false)));
        assert_eq!(plain("('a' 'b')"), Ok((1, false)));
        assert_eq!(plain("(1),(1,2)"), Ok((2, false)));
        assert_eq!(plain("()"), Ok((1, false)));
        assert!(plain("(1),").is_err());
        assert!(plain("(1").is_err());
        assert!(plain("('a)").is_err());
    }

    /// Texts of values, plain and other, right and wrong.
    fn value() -> impl Strategy<Value = String> {
        let fixed = [
            "NULL",
            "null",
            "nullx",
            "0",
            "18446744073709551615",
            "18446744073709551616",
            "9999999999999999999",
            "-9223372036854775808",
            "-9223372036854775809",
            "1.5",
            "1.",
            ".5",
            ".",
            "-",
            "- 1",
            "--1",
            "1e5",
            "1e",
            "1e999",
            "-1E-2",
            "1.e2",
            "1a",
            "0x",
            "0xZ",
            "0x1F",
            "0x1F1",
            "x'1f'",
            "X'1'",
            "0b01",
            "b'01'",
            "'a'",
            "''",
            "'it''s'",
            "'a\\'b'",
            "'a\\\\'",
            "\"q\"\"q\"",
            "'\\%\\n'",
            "_binary 'x'",
            "_binary'x'",
            "_binary",
            "_utf8mb4'x'",
            "N'x'",
            "TRUE",
            "DATE '2024-01-31'",
            "DEFAULT",
            "1+1",
            "a",
            "'a' 'b'",
            "?",
            "(SELECT 1)",
            "/*x*/ 1",
            "1 /*! +1 */",
            "1 -- x\n",
            "'é'",
            "1;",
            "0",
            "007",
            "1_000",
            "'x'x",
            "NULL NULL",
        ];
        prop_oneof![4 => prop::sample::select(fixed.to_vec()).prop_map(String::from), 4 => any::<i32>().prop_map(|n| n.to_string())]
    }

    proptest! {
        /// A comment in the first row sends all rows the general way, which must come to the same.
        #[test]
        fn comes_to_what_the_general_way_comes_to(
            table in prop::collection::vec(prop::collection::vec(value(), 1..4), 1..5),
            tail in prop::sample::select(vec!["", ";", " ON DUPLICATE KEY UPDATE a = 1", " AS n", " AS n(b)", ", ", " x"]),
            blank in prop::sample::select(vec!["", " ", "\n\t"]),
            ansi_quotes in any::<bool>(),
            no_backslash_escapes in any::<bool>(),
        ) {
            let options = ParserOptions { ansi_quotes, no_backslash_escapes, ..ParserOptions::default() };
            let row = |values: &Vec<String>| format!("({blank}{}{blank})", values.join(&format!("{blank},{blank}")));
            let text = table.iter().map(row).collect::<Vec<_>>().join(&format!("{blank},{blank}"));
            let ours = rows(&format!("INSERT t VALUES {text}{tail}"), &options);
            let theirs = rows(&format!("INSERT t VALUES (/**/{}{tail}", &text[1..]), &options);
            match (ours, theirs) {
                (Ok((ours, _)), Ok((theirs, plain))) => {
                    prop_assert!(!plain);
                    prop_assert_eq!(ours, theirs);
                }
                (ours, theirs) => prop_assert_eq!(ours.is_err(), theirs.is_err()),
            }
        }
    }
}
