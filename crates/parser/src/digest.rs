//! A statement with its literals taken out: the key of a plan cache, in one pass of the lexer.
//!
//! `SELECT a FROM t WHERE b = 5` and `select A from T where B=7` differ, because identifiers keep
//! their case; `b = 5` and `b = 7` do not. The hash covers the kind of every literal, so that a
//! plan made for an integer is not used for a string, and every hint and comment of the `/*!` kind.
//!
//! `digest` is for the hot path: a hash and the places of the literals. `normalize` also makes the
//! text of `STATEMENT_DIGEST_TEXT`, where lists of literals collapse to `(...)`.

use crate::ParserOptions;
use crate::ast::is_hint_word;
use crate::lexer::{Lexer, Op, Tok, Token};

/// What kind of literal was taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LiteralKind {
    Int,
    Decimal,
    Float,
    String,
    Hex,
    Bit,
}

/// A literal of the statement: its kind and its bytes in the text, quotes included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigestLiteral {
    pub kind: LiteralKind,
    pub start: u32,
    pub end: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// 128 bits: two statements with the same hash are taken to be the same statement.
    pub hash: u128,
    /// In the order of the text.
    pub literals: Vec<DigestLiteral>,
    /// The bytes the statement took, its `;` included.
    pub len: usize,
}

/// The digest of the first statement of `sql`; `None` if it is empty or does not lex.
pub fn digest(sql: &[u8], opts: &ParserOptions) -> Option<Digest> {
    let mut digest = Digest { hash: 0, literals: Vec::new(), len: sql.len() };
    digest_into(sql, opts, &mut digest).then_some(digest)
}

/// Like `digest`, into memory that is used again. False if there is no statement.
pub fn digest_into(sql: &[u8], opts: &ParserOptions, digest: &mut Digest) -> bool {
    let mut lexer = Lexer::new(sql, opts);
    let mut hash = Hash::new();
    digest.literals.clear();
    digest.len = sql.len();
    let mut empty = true;
    // Literals that are part of the grammar (LIMIT 5, INTERVAL '1' DAY, type lengths, names given
    // as strings) are taken out too: the caller decides which of them a cached plan may vary.
    loop {
        let token = lexer.next_token();
        let text = sql.get(token.start as usize..token.end as usize).unwrap_or(&[]);
        match token.tok {
            Tok::Eof => break,
            Tok::Bad => return false,
            Tok::Op(Op::Semicolon) => {
                digest.len = token.end as usize;
                break;
            }
            Tok::Op(op) => hash.add(0x100 | op as u64),
            Tok::Kw(kw) => hash.add(0x200 | (kw as u64) << 16),
            tok => match literal_kind(tok) {
                Some(kind) => {
                    hash.add(0x300 | (kind as u64) << 16);
                    digest.literals.push(DigestLiteral { kind, start: token.start, end: token.end });
                }
                None => hash.add_text(tag(tok), text),
            },
        }
        empty = false;
    }
    // Comments that are warned of are not those that are not.
    if lexer.unspaced_versions > 0 || lexer.nested_comments > 0 {
        hash.add(0x400);
    }
    digest.hash = hash.finish();
    !empty
}

fn literal_kind(tok: Tok) -> Option<LiteralKind> {
    Some(match tok {
        Tok::Int => LiteralKind::Int,
        Tok::Decimal => LiteralKind::Decimal,
        Tok::Float => LiteralKind::Float,
        Tok::Str => LiteralKind::String,
        Tok::Hex => LiteralKind::Hex,
        Tok::Bit => LiteralKind::Bit,
        _ => return None,
    })
}

/// Tells tokens with text apart; a name in quotes is the same name without.
fn tag(tok: Tok) -> u64 {
    match tok {
        Tok::Ident => 1,
        Tok::QuotedIdent => 2,
        Tok::NatStr => 3,
        Tok::Charset => 4,
        Tok::At => 5,
        Tok::AtAt => 6,
        Tok::Hint => 7,
        _ => 8,
    }
}

/// Two lanes of multiply and fold, with different odd constants, over 8 bytes at a time.
struct Hash {
    a: u64,
    b: u64,
}

const K1: u64 = 0x9e37_79b9_7f4a_7c15;
const K2: u64 = 0xc2b2_ae3d_27d4_eb4f;

fn fold(x: u64, k: u64) -> u64 {
    let wide = u128::from(x) * u128::from(k);
    (wide as u64) ^ ((wide >> 64) as u64)
}

impl Hash {
    fn new() -> Hash {
        Hash { a: K2, b: K1 }
    }

    fn add(&mut self, word: u64) {
        self.a = fold(self.a ^ word, K1).wrapping_add(word);
        self.b = fold(self.b.rotate_left(29) ^ word, K2).wrapping_add(self.a.rotate_left(17));
    }

    fn add_text(&mut self, tag: u64, text: &[u8]) {
        self.add(0x400 | tag << 16 | (text.len() as u64) << 32);
        for chunk in text.chunks(8) {
            let mut word = [0u8; 8];
            for (to, from) in word.iter_mut().zip(chunk) {
                *to = *from;
            }
            self.add(u64::from_le_bytes(word));
        }
    }

    fn finish(mut self) -> u128 {
        self.add(0x500);
        u128::from(self.a) << 64 | u128::from(self.b)
    }
}

/// The statement's text as `STATEMENT_DIGEST_TEXT` shows it: upper-case keywords, one space
/// between tokens, quoted identifiers, `?` for a literal, `...` for a list of them.
pub fn normalize(sql: &[u8], opts: &ParserOptions) -> String {
    let mut lexer = Lexer::new(sql, opts);
    let mut out: Vec<String> = Vec::new();
    loop {
        let token = lexer.next_token();
        match token.tok {
            Tok::Eof | Tok::Bad | Tok::Op(Op::Semicolon) => break,
            Tok::Hint => push_hints(&mut out, sql.get(token.start as usize..token.end as usize).unwrap_or(&[]), opts),
            tok => push(&mut out, piece(sql, tok, token)),
        }
    }
    out.join(" ")
}

/// `/*+ BKA ( `t`@`q` ) */`: names of hints in capitals, all others in quotes, `@` with what it belongs to.
fn push_hints(out: &mut Vec<String>, hints: &[u8], opts: &ParserOptions) {
    let mut lexer = Lexer::new(hints, opts);
    let (mut begun, mut behind) = (false, 0);
    loop {
        let token = lexer.next_token();
        if matches!(token.tok, Tok::Eof | Tok::Bad) {
            break;
        }
        if !std::mem::replace(&mut begun, true) {
            out.push("/*+".to_string());
        }
        let text = String::from_utf8_lossy(hints.get(token.start as usize..token.end as usize).unwrap_or(&[])).into_owned();
        let name = || format!("`{}`", text.trim_matches(['`', '"']));
        match token.tok {
            Tok::At if token.at as usize == behind && behind > 0 => {
                if let Some(table) = out.last_mut().filter(|last| last.ends_with('`')) {
                    table.push_str(&format!("@{}", name()));
                } else {
                    push(out, format!("@{}", name()));
                }
            }
            Tok::At => push(out, format!("@{}", name())),
            Tok::Ident | Tok::Kw(_) if is_hint_word(&text) => push(out, text.to_ascii_uppercase()),
            Tok::Ident | Tok::Kw(_) | Tok::QuotedIdent => push(out, name()),
            Tok::Op(Op::Dot) => {}
            tok => push(out, piece(hints, tok, token)),
        }
        behind = token.end as usize;
    }
    if begun {
        out.push("*/".to_string());
    }
}

fn ends(out: &[String], tail: &[&str]) -> bool {
    out.len() >= tail.len() && out.iter().rev().zip(tail.iter().rev()).all(|(a, b)| a == b)
}

/// Adds a token; collapses `?, ?` to `?, ...`, lists in parentheses, and repeated rows.
fn push(out: &mut Vec<String>, piece: String) {
    if let Some(last) = out.last_mut().filter(|last| *last == "@@") {
        last.push_str(&piece);
        return;
    }
    if piece == "NULL" && !ends(out, &["IS"]) && !ends(out, &["IS", "NOT"]) {
        return push(out, "?".to_string());
    }
    if piece == "?" {
        drop_sign(out);
        if ends(out, &["?", ","]) || ends(out, &["?, ...", ","]) {
            out.truncate(out.len() - 2);
            out.push("?, ...".to_string());
            return;
        }
    }
    if piece == ")" && ends(out, &["(", "?, ..."]) {
        return close_row(out, "(...)", "(...) /* , ... */");
    }
    if piece == ")" && ends(out, &["(", "?"]) {
        return close_row(out, "(?)", "(?) /* , ... */");
    }
    out.push(piece);
}

/// Replaces the open list at the end by `row`, and rows behind rows by `rows`.
fn close_row(out: &mut Vec<String>, row: &str, rows: &str) {
    out.truncate(out.len() - 2);
    let row = if ends(out, &["IN"]) { "(...)" } else { row };
    if ends(out, &[row, ","]) || ends(out, &[rows, ","]) {
        out.truncate(out.len() - 2);
        out.push(rows.to_string());
    } else {
        out.push(row.to_string());
    }
}

/// A sign in front of a literal that is no operator between two operands belongs to the literal.
fn drop_sign(out: &mut Vec<String>) {
    if !(ends(out, &["-"]) || ends(out, &["+"])) {
        return;
    }
    let operand = out.iter().rev().nth(1).is_some_and(|p| p.ends_with(['`', '?', ')', '/']));
    if !operand {
        out.pop();
    }
}

fn piece(sql: &[u8], tok: Tok, token: Token) -> String {
    let text = || {
        let bytes = sql.get(token.start as usize..token.end as usize).unwrap_or(&[]);
        String::from_utf8_lossy(bytes).into_owned()
    };
    match tok {
        Tok::Op(Op::Ne) => "!=".to_string(),
        Tok::Kw(kw) => kw.as_str().to_string(),
        Tok::Ident => format!("`{}`", text()),
        Tok::QuotedIdent => format!("`{}`", text().trim_matches(['`', '"'])),
        Tok::At => "@?".to_string(),
        Tok::Charset => "(_charset)".to_string(),
        Tok::AtAt => "@@".to_string(),
        Tok::Op(Op::Param) | Tok::NatStr => "?".to_string(),
        tok if literal_kind(tok).is_some() => "?".to_string(),
        _ => text(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(sql: &str) -> u128 {
        digest(sql.as_bytes(), &ParserOptions::default()).map_or(0, |d| d.hash)
    }

    #[test]
    fn literals_and_space_do_not_count_but_all_else_does() {
        let base = hash("SELECT a FROM t WHERE b = 5");
        assert_eq!(base, hash("select  a from t /* x */ where b=77"));
        for other in [
            "SELECT a FROM t WHERE b = '5'",
            "SELECT a FROM t WHERE b = 5.0",
            "SELECT a FROM t WHERE c = 5",
            "SELECT a FROM t WHERE b > 5",
            "SELECT ab FROM t WHERE b = 5",
            "SELECT a FROM t WHERE b = ?",
            "SELECT /*+ MAX_EXECUTION_TIME(1) */ a FROM t WHERE b = 5",
        ] {
            assert_ne!(base, hash(other), "{other}");
        }
    }

    #[test]
    fn literals_come_with_their_places() {
        let sql = b"SELECT 'a', 1.5 FROM t WHERE x IN (0x41, 7); SELECT 2";
        let digest = digest(sql, &ParserOptions::default()).expect("a statement");
        let found: Vec<(LiteralKind, &[u8])> =
            digest.literals.iter().map(|l| (l.kind, &sql[l.start as usize..l.end as usize])).collect();
        assert_eq!(
            found,
            [
                (LiteralKind::String, b"'a'".as_slice()),
                (LiteralKind::Decimal, b"1.5"),
                (LiteralKind::Hex, b"0x41"),
                (LiteralKind::Int, b"7"),
            ]
        );
        assert_eq!(&sql[digest.len..], b" SELECT 2");
    }

    /// Texts recorded with `SELECT STATEMENT_DIGEST_TEXT(..)` on MySQL 9.7.
    #[test]
    fn normalized_text_is_mysqls() {
        let cases = [
            ("SELECT a, b FROM t WHERE x = 5 AND y IN (1,2,3)", "SELECT `a` , `b` FROM `t` WHERE `x` = ? AND `y` IN (...)"),
            ("insert into t values (1,2),(3,4)", "INSERT INTO `t` VALUES (...) /* , ... */"),
            ("insert into t values (1),(3),(5)", "INSERT INTO `t` VALUES (?) /* , ... */"),
            ("select a from t limit 5, 10", "SELECT `a` FROM `t` LIMIT ?, ..."),
            (
                "select * from t where a<>1 and b!=2 and c>=3 or not d",
                "SELECT * FROM `t` WHERE `a` != ? AND `b` != ? AND `c` >= ? OR NOT `d`",
            ),
            (
                "select 1 in ((1,2),(3,4)), row(1,2), coalesce(1,a,2), a-1, a+-1, a*-b",
                "SELECT ? IN ( (...) /* , ... */ ) , ROW (...) , COALESCE ( ? , `a` , ? ) , \
                 `a` - ? , `a` + ? , `a` * - `b`",
            ),
            (
                "select t.a, count(*), @x, @@global.port, now(), -5, concat(1), 'a' like 'b' from \
                 db.t where a is null and b = null and c in (1) and d in (null, 2)",
                "SELECT `t` . `a` , COUNT ( * ) , @? , @@GLOBAL . `port` , NOW ( ) , ? , \
                 `concat` (?) , ? LIKE ? FROM `db` . `t` WHERE `a` IS NULL AND `b` = ? AND `c` IN \
                 (...) AND `d` IN (...)",
            ),
            (
                "select /*+ bka(t1@q, `t 2`) qb_name(q) max_execution_time(100) semijoin(@`x` firstmatch, loosescan) bad(1,2) */ 1",
                "SELECT /*+ BKA ( `t1`@`q` , `t 2` ) QB_NAME ( `q` ) MAX_EXECUTION_TIME (?) \
                 SEMIJOIN ( @`x` FIRSTMATCH , LOOSESCAN ) `bad` (...) */ ?",
            ),
            ("select /*+ */ 1", "SELECT ?"),
            ("select 'a' 'b', _latin1'x', n'd', 0x12, true, date '2020-01-01'", "SELECT ? ? , (_charset) ?, ... , TRUE , DATE ?"),
        ];
        for (sql, expected) in cases {
            assert_eq!(normalize(sql.as_bytes(), &ParserOptions::default()), expected);
        }
    }
}
