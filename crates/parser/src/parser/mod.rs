//! The recursive-descent parser: one token of the present, as many ahead as asked for.
//!
//! This file holds the cursor and what all families share: expecting keywords and operators,
//! identifiers, names, numbers, strings, and the two limits below. `statement` picks the family
//! by the first word; each family has its file.
//!
//! Limits, so that no statement can overflow a stack here or in those who walk the tree (see `vaquita_types::stack`):
//! * `SYNTAX_NESTING_MAX` bounds the parser's own recursion;
//! * `SYNTAX_HEIGHT_MAX` bounds the height of the tree, counting long chains such as `1+1+1+..`, which
//!   nest to the left. AND, OR and UNION chains are built as balanced trees instead, and parentheses leave nothing behind;
//! * `QUERY_NESTING_MAX` bounds queries inside one another.

mod account;
mod admin;
mod alter;
mod column;
mod dml;
mod event;
mod expr;
mod func;
mod hint;
mod index;
mod literal;
mod literal_rows;
mod load;
mod partition;
mod program;
mod query;
mod replication;
mod routine;
mod select;
mod server;
mod set;
mod show;
mod show_server;
mod statement;
mod table;
mod table_ref;
mod types;
mod user;
mod view;
mod window;
mod written;

pub use program::refuse_in_function;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Display;

use vaquita_types::charset::Charset;
use vaquita_types::errno::ErrorDef;
use vaquita_types::limits::{QUERY_NESTING_MAX, SYNTAX_HEIGHT_MAX, SYNTAX_NESTING_MAX};
use vaquita_types::{Error, errno, stack};

use crate::ParserOptions;
use crate::ast::{Expr, Name, SelectInto, Statement};
use crate::error::{ParseError, Result};
use crate::keyword::Kw;
use crate::lexer::{Lexer, Op, Tok, Token};

/// Parses the first statement of `sql`, which may have no `?`. Returns it and the number of bytes
/// it took, its `;` included.
pub fn parse_one(sql: &[u8], opts: &ParserOptions) -> Result<(Statement, usize)> {
    parse_one_noting(sql, opts, &mut Vec::new())
}

/// As `parse_one`; `warnings` takes those that MySQL gives for syntax.
pub fn parse_one_noting(sql: &[u8], opts: &ParserOptions, warnings: &mut Vec<Error>) -> Result<(Statement, usize)> {
    let mut p = Parser::new(sql, opts);
    p.params_allowed = false;
    let statement = p.first_statement()?;
    let end = if p.tok.tok == Tok::Eof { sql.len() } else { p.tok.end as usize };
    warnings.append(&mut p.warnings);
    warnings.extend(p.comment_warnings());
    Ok((statement, end))
}

/// Parses text to be prepared: one statement. Returns it and how many `?` it has.
pub fn parse_prepared(sql: &[u8], opts: &ParserOptions) -> Result<(Statement, usize)> {
    parse_prepared_noting(sql, opts, &mut Vec::new())
}

/// As `parse_prepared`; `warnings` takes those that MySQL gives for syntax.
pub fn parse_prepared_noting(sql: &[u8], opts: &ParserOptions, warnings: &mut Vec<Error>) -> Result<(Statement, usize)> {
    let mut p = Parser::new(sql, opts);
    let statement = p.first_statement()?;
    while p.is_op(Op::Semicolon) {
        p.bump();
    }
    warnings.append(&mut p.warnings);
    warnings.extend(p.comment_warnings());
    if p.tok.tok == Tok::Eof { Ok((statement, p.params)) } else { p.fail() }
}

/// Parses `sql` as one expression, as stored for a default or a generated column.
pub fn parse_expr(sql: &[u8], opts: &ParserOptions) -> Result<Expr> {
    let mut p = Parser::new(sql, opts);
    let expr = p.expr()?;
    if p.tok.tok == Tok::Eof { Ok(expr) } else { p.fail() }
}

/// Whether `sql` holds nothing but space, comments and semicolons.
pub fn is_blank(sql: &[u8], opts: &ParserOptions) -> bool {
    let mut lexer = Lexer::new(sql, opts);
    loop {
        match lexer.next_token().tok {
            Tok::Eof => return true,
            Tok::Op(Op::Semicolon) => {}
            _ => return false,
        }
    }
}

pub(crate) struct Parser<'a> {
    src: &'a [u8],
    opts: &'a ParserOptions,
    /// Behind `tok`.
    lexer: Lexer<'a>,
    /// The token to be looked at.
    tok: Token,
    /// The token behind `tok` and the lexer behind that, once somebody has asked.
    ahead: Option<(Token, Lexer<'a>)>,
    /// Where the token before `tok` ended.
    prev_end: usize,
    params: usize,
    /// `?` may stand here: the text is being prepared.
    params_allowed: bool,
    nesting: u32,
    /// Queries that are being read, one inside the other.
    queries: u32,
    /// At least the height of what was parsed so far at this level of nesting.
    height: u32,
    /// Where an INTERVAL stands that was looked behind, and whether it is the function.
    interval_commas: BTreeMap<u32, bool>,
    /// SELECT .. INTO may stand here: at the top, not in a subquery.
    into_allowed: bool,
    /// The INTO that was read, until its query is complete.
    into: Option<SelectInto>,
    /// Inside the parentheses of a table reference.
    table_parens: bool,
    /// In the assignments of ON DUPLICATE KEY UPDATE.
    in_duplicate_update: bool,
    /// Hints were read.
    hinted: bool,
    /// The stored program whose body is being read.
    program: Option<Box<program::Builder>>,
    /// Warnings of what was met: deprecated syntax, names that are cut.
    warnings: Vec<Error>,
    /// In the ORDER BY behind a set operation or a query that has its own, whose columns are of no table.
    orders_whole: bool,
    /// An error that comes behind those of syntax.
    refused: Option<Box<ParseError>>,
    marks: RefCell<written::Marks<'a>>,
}

impl<'a> Parser<'a> {
    fn new(src: &'a [u8], opts: &'a ParserOptions) -> Parser<'a> {
        let mut lexer = Lexer::new(src, opts);
        let tok = lexer.next_token();
        Parser {
            src,
            opts,
            lexer,
            tok,
            ahead: None,
            prev_end: 0,
            params: 0,
            params_allowed: true,
            nesting: 0,
            queries: 0,
            height: 0,
            interval_commas: BTreeMap::new(),
            into_allowed: true,
            into: None,
            table_parens: false,
            in_duplicate_update: false,
            hinted: false,
            program: None,
            warnings: Vec::new(),
            orders_whole: false,
            refused: None,
            marks: RefCell::new(written::Marks::new(Lexer::new(src, opts))),
        }
    }

    /// Ends the statement in this error if it has no error of syntax.
    fn refuse(&mut self, def: &'static ErrorDef, args: &[&dyn Display]) {
        if self.refused.is_none() {
            self.refused = Some(Box::new(ParseError::other(def, Error::new(def, args).message().to_string())));
        }
    }

    /// Warnings of comments that hold a version.
    fn comment_warnings(&self) -> impl Iterator<Item = Error> + use<> {
        const NESTED: &str = "Nested comment syntax is deprecated and will be removed in a future release.";
        let unspaced = || Error::new(&errno::ER_WARN_NO_SPACE_VERSION_COMMENT, &[]);
        let nested = || Error::with_message(&errno::ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT, NESTED);
        let (unspaced_count, nested_count) = (self.lexer.unspaced_versions.into(), self.lexer.nested_comments.into());
        std::iter::repeat_with(unspaced).take(unspaced_count).chain(std::iter::repeat_with(nested).take(nested_count))
    }

    /// Warning 1287: `what` is deprecated, `instead` is to be used.
    fn deprecate(&mut self, what: &str, instead: &str) {
        self.warnings.push(Error::new(&errno::ER_WARN_DEPRECATED_SYNTAX, &[&what, &instead]));
    }

    /// Warning 1287 with a text of its own.
    fn deprecate_with(&mut self, text: &str) {
        self.warnings.push(Error::with_message(&errno::ER_WARN_DEPRECATED_SYNTAX, text));
    }

    /// A character set that is on its way out, where it is named.
    fn deprecate_charset(&mut self, name: &str) {
        if Charset::is_deprecated(name) {
            self.deprecate(&name.to_ascii_lowercase(), "utf8mb4");
        } else if name.eq_ignore_ascii_case("utf8") {
            self.warnings.push(Error::new(&errno::ER_DEPRECATED_UTF8_ALIAS, &[]));
        }
    }

    /// The same of a collation.
    fn deprecate_collation(&mut self, name: &str) {
        let charset = name.split('_').next().unwrap_or_default();
        if charset.eq_ignore_ascii_case("utf8mb3") {
            self.warnings.push(Error::new(&errno::ER_WARN_DEPRECATED_UTF8MB3_COLLATION, &[&name]));
        } else if Charset::is_deprecated(charset) {
            let charset = charset.to_ascii_lowercase();
            self.warnings.push(Error::new(&errno::ER_WARN_DEPRECATED_COLLATION, &[&name, &charset, &"utf8mb4"]));
        }
    }

    /// NCHAR and its like, which mean utf8mb3.
    fn deprecate_national(&mut self) {
        self.warnings.push(Error::new(&errno::ER_DEPRECATED_NATIONAL, &[]));
    }

    /// A statement up to its `;` or the end of the text.
    fn first_statement(&mut self) -> Result<Statement> {
        if self.tok.tok == Tok::Eof || self.is_op(Op::Semicolon) {
            let def = &errno::ER_EMPTY_QUERY;
            return Err(ParseError::other(def, def.format.to_string()));
        }
        let statement = self.statement()?;
        if self.tok.tok != Tok::Eof && !self.is_op(Op::Semicolon) {
            return self.fail();
        }
        match self.refused.take() {
            Some(error) => Err(*error),
            None => Ok(statement),
        }
    }

    /// The `?` at the present token.
    fn param(&mut self) -> Result<Expr> {
        if !self.params_allowed {
            return self.fail();
        }
        self.bump();
        self.params += 1;
        Ok(Expr::Param(self.params - 1))
    }

    fn bump(&mut self) {
        self.prev_end = self.tok.end as usize;
        match self.ahead.take() {
            Some((tok, lexer)) => {
                self.tok = tok;
                self.lexer = lexer;
            }
            None => self.tok = self.lexer.next_token(),
        }
    }

    /// Goes on at the byte `at`, behind a token that somebody else has read.
    fn jump(&mut self, at: usize) {
        self.lexer.jump(at);
        self.ahead = None;
        self.prev_end = at;
        self.tok = self.lexer.next_token();
    }

    /// The token behind the present one.
    fn peek(&mut self) -> Tok {
        if let Some((tok, _)) = self.ahead {
            return tok.tok;
        }
        let mut lexer = self.lexer;
        let tok = lexer.next_token();
        self.ahead = Some((tok, lexer));
        tok.tok
    }

    /// The tokens behind the present one.
    fn peek_all(&self) -> impl Iterator<Item = Tok> + use<'a> {
        let mut lexer = self.lexer;
        std::iter::from_fn(move || Some(lexer.next_token().tok))
    }

    /// The present token's kind.
    fn kind(&self) -> Tok {
        self.tok.tok
    }

    fn is(&self, kw: Kw) -> bool {
        self.tok.tok == Tok::Kw(kw)
    }

    fn is_any(&self, kws: &[Kw]) -> bool {
        matches!(self.tok.tok, Tok::Kw(kw) if kws.contains(&kw))
    }

    fn is_op(&self, op: Op) -> bool {
        self.tok.tok == Tok::Op(op)
    }

    fn eat(&mut self, kw: Kw) -> bool {
        let found = self.is(kw);
        if found {
            self.bump();
        }
        found
    }

    /// The keyword found, if it is one of `kws`.
    fn eat_any(&mut self, kws: &[Kw]) -> Option<Kw> {
        match self.kind() {
            Tok::Kw(kw) if kws.contains(&kw) => {
                self.bump();
                Some(kw)
            }
            _ => None,
        }
    }

    /// Eats two keywords if both are there.
    fn eat2(&mut self, first: Kw, second: Kw) -> bool {
        let found = self.is(first) && self.peek() == Tok::Kw(second);
        if found {
            self.bump();
            self.bump();
        }
        found
    }

    fn eat_op(&mut self, op: Op) -> bool {
        let found = self.is_op(op);
        if found {
            self.bump();
        }
        found
    }

    fn expect(&mut self, kw: Kw) -> Result<()> {
        if self.eat(kw) { Ok(()) } else { self.fail() }
    }

    fn expect_all(&mut self, kws: &[Kw]) -> Result<()> {
        kws.iter().try_for_each(|kw| self.expect(*kw))
    }

    fn expect_any(&mut self, kws: &[Kw]) -> Result<Kw> {
        match self.eat_any(kws) {
            Some(kw) => Ok(kw),
            None => self.fail(),
        }
    }

    fn expect_op(&mut self, op: Op) -> Result<()> {
        if self.eat_op(op) { Ok(()) } else { self.fail() }
    }

    /// Error 1064 at the present token.
    fn fail<T>(&self) -> Result<T> {
        Err(self.error())
    }

    fn error(&self) -> ParseError {
        ParseError::syntax(self.src, self.tok.at as usize)
    }

    /// `item` once or more, with commas.
    fn comma_list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut list = vec![item(self)?];
        while self.eat_op(Op::Comma) {
            list.push(item(self)?);
        }
        Ok(list)
    }

    /// `( item, .. )`
    fn paren_list<T>(&mut self, item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect_op(Op::LParen)?;
        let list = self.comma_list(item)?;
        self.expect_op(Op::RParen)?;
        Ok(list)
    }

    /// The bytes of the present token.
    fn text(&self) -> &'a [u8] {
        self.slice(self.tok.start as usize, self.tok.end as usize)
    }

    fn slice(&self, start: usize, end: usize) -> &'a [u8] {
        self.src.get(start..end).unwrap_or(&[])
    }

    /// Where the present token starts.
    fn start(&self) -> usize {
        self.tok.at as usize
    }

    /// Whether the present token is an identifier.
    fn at_ident(&self) -> bool {
        is_ident(self.tok.tok)
    }

    /// An identifier.
    fn ident(&mut self) -> Result<String> {
        if !self.at_ident() {
            return self.fail();
        }
        let ident = self.ident_text()?;
        if self.tok.tok == Tok::Kw(Kw::FULL) {
            self.warnings.push(Error::new(&errno::ER_WARN_DEPRECATED_IDENT, &[&"FULL"]));
        }
        self.bump();
        Ok(ident)
    }

    /// The text of the present token as an identifier, without its quotes.
    fn ident_text(&self) -> Result<String> {
        let text = self.text();
        if self.tok.tok == Tok::QuotedIdent {
            return utf8(literal::undouble(text));
        }
        utf8(text.to_vec())
    }

    /// An identifier or a string.
    fn ident_or_text(&mut self) -> Result<String> {
        if self.tok.tok == Tok::Str {
            return utf8(self.string_piece());
        }
        self.ident()
    }

    fn ident_list(&mut self) -> Result<Vec<String>> {
        self.comma_list(Self::ident)
    }

    /// `(a, b)` if a parenthesis is there, else nothing.
    fn opt_ident_list(&mut self) -> Result<Vec<String>> {
        if self.is_op(Op::LParen) { self.paren_list(Self::ident) } else { Ok(Vec::new()) }
    }

    /// `name` or `db.name`.
    fn name(&mut self) -> Result<Name> {
        let first = self.ident()?;
        if self.eat_op(Op::Dot) {
            return Ok(Name { db: Some(first), name: self.ident()? });
        }
        Ok(Name { db: None, name: first })
    }

    fn name_list(&mut self) -> Result<Vec<Name>> {
        self.comma_list(Self::name)
    }

    /// A word of any kind (keyword or not, quoted or not), in upper case.
    fn upper_word(&mut self) -> Result<String> {
        match self.kind() {
            Tok::Ident | Tok::Kw(_) => {
                let word = String::from_utf8_lossy(self.text()).to_ascii_uppercase();
                self.bump();
                Ok(word)
            }
            _ => self.fail(),
        }
    }

    fn if_exists(&mut self) -> Result<bool> {
        if !self.eat(Kw::IF) {
            return Ok(false);
        }
        self.expect(Kw::EXISTS)?;
        Ok(true)
    }

    fn if_not_exists(&mut self) -> Result<bool> {
        if !self.eat(Kw::IF) {
            return Ok(false);
        }
        self.expect_all(&[Kw::NOT, Kw::EXISTS])?;
        Ok(true)
    }

    /// `[AS] name`
    fn opt_alias(&mut self) -> Result<Option<String>> {
        if self.eat(Kw::AS) {
            return self.ident().map(Some);
        }
        if self.at_ident() { self.ident().map(Some) } else { Ok(None) }
    }

    /// Runs `inner` one level deeper.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.enclosed(|p| {
            let result = inner(p);
            p.grow()?;
            result
        })
    }

    /// As `nested`, for what leaves no node of its own behind: parentheses.
    fn enclosed<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nesting >= SYNTAX_NESTING_MAX {
            return Err(too_deep());
        }
        self.nesting += 1;
        let outer = std::mem::take(&mut self.height);
        let result = stack::deeper(|| inner(self));
        self.nesting -= 1;
        self.height = self.height.max(outer);
        result
    }

    /// Runs `inner`, which reads a query; error 1473 if it is inside too many others.
    fn in_query<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.queries > QUERY_NESTING_MAX {
            let def = &errno::ER_TOO_HIGH_LEVEL_OF_NESTING_FOR_SELECT;
            return Err(ParseError::other(def, def.format.to_string()));
        }
        self.queries += 1;
        let result = inner(self);
        self.queries -= 1;
        result
    }

    /// Counts one more level of the tree.
    fn grow(&mut self) -> Result<()> {
        self.height += 1;
        if self.height > SYNTAX_HEIGHT_MAX { Err(too_deep()) } else { Ok(()) }
    }
}

fn is_ident(tok: Tok) -> bool {
    match tok {
        Tok::Ident | Tok::QuotedIdent | Tok::Charset => true,
        // To MySQL's grammar SESSION_USER and SYSTEM_USER before a parenthesis are the word USER.
        Tok::Kw(kw) => kw.kind() == crate::keyword::Kind::N || matches!(kw, Kw::SESSION_USER | Kw::SYSTEM_USER),
        _ => false,
    }
}

/// Builds `a op b op c ..` as a tree of logarithmic height, in order.
fn balanced<T>(mut items: Vec<T>, join: &impl Fn(T, T) -> T) -> Option<T> {
    while items.len() > 1 {
        let mut paired = Vec::with_capacity(items.len().div_ceil(2));
        let mut rest = items.into_iter();
        while let Some(left) = rest.next() {
            paired.push(match rest.next() {
                Some(right) => join(left, right),
                None => left,
            });
        }
        items = paired;
    }
    items.pop()
}

fn too_deep() -> ParseError {
    ParseError::other(&errno::ER_STACK_OVERRUN_NEED_MORE, "Thread stack overrun: the statement is nested too deeply".to_string())
}

/// Identifiers are text; other bytes are error 1300.
fn utf8(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|e| {
        let bad = e.as_bytes().get(e.utf8_error().valid_up_to()..).unwrap_or(&[]);
        let hex: String = bad.iter().take(6).map(|b| format!("\\x{b:02X}")).collect();
        let message = format!("Invalid utf8mb4 character string: '{hex}'");
        ParseError::other(&errno::ER_INVALID_CHARACTER_STRING, message)
    })
}
