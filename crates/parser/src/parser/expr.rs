//! Expressions by precedence, lowest first, as MySQL's grammar has them:
//!
//! `OR` `||` < `XOR` < `AND` `&&` < `NOT` < `IS TRUE` < comparisons, `IS NULL` < IN, BETWEEN,
//! LIKE, REGEXP < `|` < `&` < shifts < `+ -` < `* / DIV % MOD` < `^` < `||` as concatenation <
//! unary `- + ~ ! BINARY` < COLLATE.
//!
//! `a = b IS NULL` is `(a = b) IS NULL`; `a IN (1) IN (2)` is an error; `NOT a = b` is
//! `NOT (a = b)`; all as in MySQL.

use vaquita_types::errno;

use super::{Parser, Result, balanced};
use crate::ast::*;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};

/// A unary operator in front of an operand.
#[derive(Clone, Copy)]
enum Prefix {
    /// MySQL drops it while parsing.
    Plus,
    Op(UnaryOp),
    Binary,
}

const BINARY_TEXT: &str = "'BINARY expr' is deprecated and will be removed in a future release. Please use CAST instead";
const ASSIGNMENT_TEXT: &str = "Setting user variables within expressions is deprecated and will be removed in a future release. \
    Consider alternatives: 'SET variable=expression, ...', or 'SELECT expression(s) INTO variables(s)'.";
const FOUND_ROWS_TEXT: &str =
    "FOUND_ROWS() is deprecated and will be removed in a future release. Consider using COUNT(*) instead.";

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::Binary { op, left: Box::new(left), right: Box::new(right) }
}

impl Parser<'_> {
    /// A whole expression.
    pub(super) fn expr(&mut self) -> Result<Expr> {
        self.nested(Self::or_expr)
    }

    pub(super) fn expr_list(&mut self) -> Result<Vec<Expr>> {
        self.comma_list(Self::expr)
    }

    pub(super) fn boxed_expr(&mut self) -> Result<Box<Expr>> {
        self.expr().map(Box::new)
    }

    fn or_expr(&mut self) -> Result<Expr> {
        let first = self.xor_expr()?;
        if !self.at_or() {
            return Ok(first);
        }
        self.chain(first, BinaryOp::Or, Self::at_or, Self::xor_expr)
    }

    fn at_or(&self) -> bool {
        self.is(Kw::OR) || (self.is_op(Op::PipePipe) && !self.opts.pipes_as_concat)
    }

    fn at_and(&self) -> bool {
        self.is(Kw::AND) || self.is_op(Op::AmpAmp)
    }

    /// `first op operand op operand ..` as a balanced tree.
    #[inline(never)]
    fn chain(
        &mut self,
        first: Expr,
        op: BinaryOp,
        at: fn(&Self) -> bool,
        operand: fn(&mut Self) -> Result<Expr>,
    ) -> Result<Expr> {
        let mut operands = vec![first];
        let mut height = self.height;
        while at(self) {
            if self.is_op(Op::AmpAmp) {
                self.deprecate("&&", "AND");
            } else if self.is_op(Op::PipePipe) {
                self.deprecate("|| as a synonym for OR", "OR");
            }
            self.bump();
            self.height = 0;
            operands.push(operand(self)?);
            height = height.max(self.height);
        }
        self.height = height + operands.len().ilog2();
        self.grow()?;
        match balanced(operands, &|l, r| binary(op, l, r)) {
            Some(expr) => Ok(expr),
            None => self.fail(),
        }
    }

    fn xor_expr(&mut self) -> Result<Expr> {
        let mut left = self.and_expr()?;
        while self.eat(Kw::XOR) {
            let right = self.and_expr()?;
            left = binary(BinaryOp::Xor, left, right);
            self.grow()?;
        }
        Ok(left)
    }

    fn and_expr(&mut self) -> Result<Expr> {
        let first = self.not_expr()?;
        if !self.at_and() {
            return Ok(first);
        }
        self.chain(first, BinaryOp::And, Self::at_and, Self::not_expr)
    }

    fn not_expr(&mut self) -> Result<Expr> {
        let mut nots = 0;
        while !self.opts.high_not_precedence && self.eat(Kw::NOT) {
            nots += 1;
            self.grow()?;
        }
        let mut expr = self.truth_expr()?;
        for _ in 0..nots {
            expr = Expr::Unary { op: UnaryOp::Not, expr: Box::new(expr) };
        }
        Ok(expr)
    }

    /// Comparisons, `IS [NOT] NULL`, and at most one `IS [NOT] TRUE` behind them.
    fn truth_expr(&mut self) -> Result<Expr> {
        let mut left = self.predicate()?;
        loop {
            if self.eat(Kw::IS) {
                let negated = self.eat(Kw::NOT) || (self.opts.high_not_precedence && self.eat(Kw::NOT));
                let value = match self.eat_any(&[Kw::NULL, Kw::TRUE, Kw::FALSE, Kw::UNKNOWN]) {
                    Some(Kw::NULL) => {
                        left = Expr::IsNull { expr: Box::new(left), negated };
                        self.grow()?;
                        continue;
                    }
                    Some(Kw::TRUE) => Truth::True,
                    Some(Kw::FALSE) => Truth::False,
                    Some(_) => Truth::Unknown,
                    None => return self.fail(),
                };
                self.grow()?;
                return Ok(Expr::IsTruth { expr: Box::new(left), value, negated });
            }
            let Some(op) = self.comparison() else { return Ok(left) };
            self.bump();
            left = self.compare(op, left)?;
            self.grow()?;
        }
    }

    #[inline(never)]
    fn compare(&mut self, op: BinaryOp, left: Expr) -> Result<Expr> {
        if self.is_any(&[Kw::ALL, Kw::ANY, Kw::SOME]) && self.peek() == Tok::Op(Op::LParen) {
            let quantifier = if self.is(Kw::ALL) { Quantifier::All } else { Quantifier::Any };
            self.bump();
            let query = self.subquery()?;
            return Ok(Expr::Quantified { op, left: Box::new(left), quantifier, query });
        }
        let right = self.predicate()?;
        Ok(binary(op, left, right))
    }

    pub(super) fn comparison(&self) -> Option<BinaryOp> {
        Some(match self.kind() {
            Tok::Op(Op::Eq) => BinaryOp::Eq,
            Tok::Op(Op::NullSafeEq) => BinaryOp::NullSafeEq,
            Tok::Op(Op::Ne) => BinaryOp::Ne,
            Tok::Op(Op::Lt) => BinaryOp::Lt,
            Tok::Op(Op::Le) => BinaryOp::Le,
            Tok::Op(Op::Gt) => BinaryOp::Gt,
            Tok::Op(Op::Ge) => BinaryOp::Ge,
            _ => return None,
        })
    }

    /// IN, BETWEEN, LIKE, REGEXP, SOUNDS LIKE, MEMBER OF: at most one.
    fn predicate(&mut self) -> Result<Expr> {
        let left = self.bit_expr(0)?;
        match self.tok.tok {
            Tok::Kw(kw) => self.predicate_tail(left, kw),
            _ => Ok(left),
        }
    }

    #[inline(never)]
    fn predicate_tail(&mut self, left: Expr, kw: Kw) -> Result<Expr> {
        let negated = kw == Kw::NOT;
        if negated {
            let Tok::Kw(Kw::IN | Kw::BETWEEN | Kw::LIKE | Kw::REGEXP | Kw::RLIKE) = self.peek() else {
                self.bump();
                return self.fail();
            };
            self.bump();
        }
        let result = match self.kind() {
            Tok::Kw(Kw::IN) => self.in_list(left, negated)?,
            Tok::Kw(Kw::BETWEEN) => {
                self.bump();
                let low = Box::new(self.bit_expr(0)?);
                self.expect(Kw::AND)?;
                let high = Box::new(self.nested(Self::predicate)?);
                Expr::Between { expr: Box::new(left), low, high, negated }
            }
            Tok::Kw(Kw::LIKE) => {
                self.bump();
                let pattern = Box::new(self.simple_expr()?);
                let escape = if self.eat(Kw::ESCAPE) { Some(Box::new(self.simple_expr()?)) } else { None };
                Expr::Like { expr: Box::new(left), pattern, escape, negated }
            }
            Tok::Kw(Kw::REGEXP | Kw::RLIKE) => {
                self.bump();
                let pattern = Box::new(self.bit_expr(0)?);
                Expr::Regexp { expr: Box::new(left), pattern, negated }
            }
            Tok::Kw(Kw::SOUNDS) if self.peek() == Tok::Kw(Kw::LIKE) => {
                self.bump();
                self.bump();
                binary(BinaryOp::SoundsLike, left, self.bit_expr(0)?)
            }
            Tok::Kw(Kw::MEMBER) if matches!(self.peek(), Tok::Kw(Kw::OF) | Tok::Op(Op::LParen)) => {
                self.bump();
                self.eat(Kw::OF);
                self.expect_op(Op::LParen)?;
                let array = Box::new(self.nested(Self::simple_expr)?);
                self.expect_op(Op::RParen)?;
                Expr::MemberOf { value: Box::new(left), array }
            }
            _ => return Ok(left),
        };
        self.grow()?;
        Ok(result)
    }

    #[inline(never)]
    fn in_list(&mut self, left: Expr, negated: bool) -> Result<Expr> {
        self.bump();
        let expr = Box::new(left);
        self.expect_op(Op::LParen)?;
        if self.at_query() {
            let query = self.query_to_paren()?;
            return Ok(Expr::InSubquery { expr, query, negated });
        }
        let mut list = vec![self.expr_or_union()?];
        while self.eat_op(Op::Comma) {
            list.push(self.expr()?);
        }
        self.expect_op(Op::RParen)?;
        if list.len() == 1
            && let Some(only) = list.pop()
        {
            if let Expr::Subquery(query) = only {
                return Ok(Expr::InSubquery { expr, query, negated });
            }
            list.push(only);
        }
        Ok(Expr::InList { expr, list, negated })
    }

    /// Binary operators on bits and numbers that bind tighter than `floor`.
    pub(super) fn bit_expr(&mut self, floor: u8) -> Result<Expr> {
        let mut left = self.simple_expr()?;
        loop {
            let Some((op, level)) = self.bit_operator() else { return Ok(left) };
            if level <= floor {
                return Ok(left);
            }
            self.bump();
            let additive = matches!(op, BinaryOp::Add | BinaryOp::Sub);
            left = if additive && self.is(Kw::INTERVAL) && !self.at_interval_function() {
                let (value, unit) = self.interval()?;
                let subtract = op == BinaryOp::Sub;
                Expr::DateArith { date: Box::new(left), value: Box::new(value), unit, subtract }
            } else {
                binary(op, left, self.bit_expr(level)?)
            };
            self.grow()?;
        }
    }

    fn bit_operator(&self) -> Option<(BinaryOp, u8)> {
        Some(match self.kind() {
            Tok::Op(Op::Pipe) => (BinaryOp::BitOr, 1),
            Tok::Op(Op::Amp) => (BinaryOp::BitAnd, 2),
            Tok::Op(Op::ShiftLeft) => (BinaryOp::ShiftLeft, 3),
            Tok::Op(Op::ShiftRight) => (BinaryOp::ShiftRight, 3),
            Tok::Op(Op::Plus) => (BinaryOp::Add, 4),
            Tok::Op(Op::Minus) => (BinaryOp::Sub, 4),
            Tok::Op(Op::Star) => (BinaryOp::Mul, 5),
            Tok::Op(Op::Slash) => (BinaryOp::Div, 5),
            Tok::Op(Op::Percent) | Tok::Kw(Kw::MOD) => (BinaryOp::Mod, 5),
            Tok::Kw(Kw::DIV) => (BinaryOp::IntDiv, 5),
            Tok::Op(Op::Caret) => (BinaryOp::BitXor, 6),
            _ => return None,
        })
    }

    /// Operands joined by `||` under PIPES_AS_CONCAT.
    pub(super) fn simple_expr(&mut self) -> Result<Expr> {
        let mut left = self.unary()?;
        while self.opts.pipes_as_concat && self.eat_op(Op::PipePipe) {
            let right = self.unary()?;
            left = Expr::func("concat", vec![left, right]);
            self.grow()?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr> {
        match self.prefix() {
            Some(first) => self.prefixed(first),
            None => self.collated(),
        }
    }

    #[inline(never)]
    fn prefixed(&mut self, first: Prefix) -> Result<Expr> {
        let mut prefixes = vec![first];
        self.deprecate_prefix();
        self.bump();
        while let Some(next) = self.prefix() {
            self.deprecate_prefix();
            self.bump();
            prefixes.push(next);
            self.grow()?;
        }
        self.grow()?;
        let mut expr = self.collated()?;
        for prefix in prefixes.into_iter().rev() {
            expr = match prefix {
                Prefix::Plus => expr,
                Prefix::Op(op) => Expr::Unary { op, expr: Box::new(expr) },
                Prefix::Binary => Expr::Cast { expr: Box::new(expr), ty: CastType::Binary(None), array: false },
            };
        }
        Ok(expr)
    }

    fn deprecate_prefix(&mut self) {
        if self.is_op(Op::Bang) {
            self.deprecate("!", "NOT");
        } else if self.is(Kw::BINARY) {
            self.deprecate_with(BINARY_TEXT);
        }
    }

    fn prefix(&self) -> Option<Prefix> {
        Some(match self.kind() {
            Tok::Op(Op::Minus) => Prefix::Op(UnaryOp::Neg),
            Tok::Op(Op::Plus) => Prefix::Plus,
            Tok::Op(Op::Tilde) => Prefix::Op(UnaryOp::BitNot),
            Tok::Op(Op::Bang) => Prefix::Op(UnaryOp::Not),
            Tok::Kw(Kw::NOT) if self.opts.high_not_precedence => Prefix::Op(UnaryOp::Not),
            Tok::Kw(Kw::BINARY) => Prefix::Binary,
            _ => return None,
        })
    }

    /// An operand and the COLLATE clauses behind it.
    fn collated(&mut self) -> Result<Expr> {
        let mut expr = self.primary()?;
        while self.eat(Kw::COLLATE) {
            let collation = self.collation_name()?;
            expr = Expr::Collate { expr: Box::new(expr), collation };
            self.grow()?;
        }
        Ok(expr)
    }

    pub(super) fn primary(&mut self) -> Result<Expr> {
        match self.kind() {
            Tok::Charset if !self.charset_introduces() => self.column_or_call(),
            Tok::Int | Tok::Decimal | Tok::Float | Tok::Str | Tok::NatStr | Tok::Charset | Tok::Hex | Tok::Bit => {
                match self.opt_literal()? {
                    Some(literal) => Ok(Expr::Literal(literal)),
                    None => self.fail(),
                }
            }
            Tok::Ident | Tok::QuotedIdent => self.column_or_call(),
            Tok::Kw(kw) => self.keyword_operand(kw),
            Tok::Op(Op::LParen) => self.parenthesized(),
            Tok::Op(Op::Param) => self.param(),
            Tok::At => self.user_variable(),
            Tok::AtAt => self.system_variable().map(Expr::SysVar),
            Tok::Op(Op::LBrace) => self.odbc_escape(),
            _ => self.fail(),
        }
    }

    fn charset_introduces(&mut self) -> bool {
        matches!(self.peek(), Tok::Str | Tok::Hex | Tok::Bit)
    }

    #[inline(never)]
    fn keyword_operand(&mut self, kw: Kw) -> Result<Expr> {
        if let Some(literal) = self.opt_literal()? {
            return Ok(Expr::Literal(literal));
        }
        match kw {
            Kw::CASE => self.nested(Self::case),
            Kw::EXISTS => {
                self.bump();
                Ok(Expr::Exists(self.subquery()?))
            }
            Kw::ROW if self.peek() == Tok::Op(Op::LParen) => {
                self.bump();
                let row = self.paren_list(Self::expr)?;
                if row.len() < 2 {
                    return self.fail_at_prev();
                }
                Ok(Expr::Row(row))
            }
            Kw::INTERVAL => self.interval_operand(),
            _ => match self.keyword_call(kw)? {
                Some(expr) => Ok(expr),
                None if self.at_ident() => self.column_or_call(),
                None => {
                    if super::func::needs_paren(kw) {
                        self.bump();
                    }
                    self.fail()
                }
            },
        }
    }

    /// Error 1064 at the token just eaten, which is one byte long.
    fn fail_at_prev<T>(&self) -> Result<T> {
        Err(crate::error::ParseError::syntax(self.src, self.prev_end.saturating_sub(1)))
    }

    /// `( expr )`, `( expr, expr )`, `( query )`.
    fn parenthesized(&mut self) -> Result<Expr> {
        self.bump();
        if self.at_query() {
            return Ok(Expr::Subquery(self.query_to_paren()?));
        }
        let first = self.enclosed(Self::or_expr)?;
        let first = self.union_behind(first)?;
        if self.eat_op(Op::RParen) {
            return Ok(first);
        }
        self.grow()?;
        self.row_tail(first)
    }

    #[inline(never)]
    fn row_tail(&mut self, first: Expr) -> Result<Expr> {
        let mut row = vec![first];
        while self.eat_op(Op::Comma) {
            row.push(self.expr()?);
        }
        self.expect_op(Op::RParen)?;
        Ok(Expr::Row(row))
    }

    /// An expression; if it is a subquery in parentheses, the rest of the query it begins:
    /// the `(SELECT 1) UNION SELECT 2` in `((SELECT 1) UNION SELECT 2)`.
    fn expr_or_union(&mut self) -> Result<Expr> {
        let first = self.expr()?;
        self.union_behind(first)
    }

    #[inline]
    fn union_behind(&mut self, first: Expr) -> Result<Expr> {
        match first {
            Expr::Subquery(query) if self.at_query_tail() => Ok(Expr::Subquery(self.continue_query(query)?)),
            expr => Ok(expr),
        }
    }

    #[inline(never)]
    fn user_variable(&mut self) -> Result<Expr> {
        let var = self.at_name()?;
        if self.eat_op(Op::Assign) {
            self.deprecate_with(ASSIGNMENT_TEXT);
            return Ok(Expr::Assign { var, value: self.boxed_expr()? });
        }
        Ok(Expr::UserVar(var))
    }

    /// The host of an account.
    pub(super) fn host_name(&mut self) -> Result<String> {
        let host = self.at_name()?;
        if host.contains('@') {
            let text = "Malformed hostname (illegal symbol: '@')".to_string();
            return Err(crate::ParseError::other(&vaquita_types::errno::ER_UNKNOWN_ERROR, text));
        }
        Ok(host)
    }

    /// The name behind `@`, which the lexer keeps in the same token.
    pub(super) fn at_name(&mut self) -> Result<String> {
        if self.tok.tok != Tok::At {
            return self.fail();
        }
        let text = self.text();
        let bytes = match text.first() {
            Some(b'`') => super::literal::undouble(text),
            Some(b'\'' | b'"') if self.opts.no_backslash_escapes => super::literal::undouble(text),
            Some(b'\'' | b'"') => super::literal::unescape(text),
            _ => text.to_vec(),
        };
        self.bump();
        super::utf8(bytes)
    }

    /// `@@[scope.][component.]name`
    #[inline(never)]
    pub(super) fn system_variable(&mut self) -> Result<SysVar> {
        self.bump();
        let scope = match self.kind() {
            Tok::Kw(Kw::GLOBAL) => VarScope::Global,
            Tok::Kw(Kw::SESSION | Kw::LOCAL) => VarScope::Session,
            Tok::Kw(Kw::PERSIST) => VarScope::Persist,
            Tok::Kw(Kw::PERSIST_ONLY) => VarScope::PersistOnly,
            _ => VarScope::Default,
        };
        if scope != VarScope::Default {
            self.bump();
            self.expect_op(Op::Dot)?;
        }
        let first = self.ident_or_text()?;
        if self.eat_op(Op::Dot) {
            return Ok(SysVar { scope, component: Some(first), name: self.ident()? });
        }
        Ok(SysVar { scope, component: None, name: first })
    }

    /// `{d '2024-01-01'}`, `{t ..}`, `{ts ..}`; any other word is ignored.
    #[inline(never)]
    fn odbc_escape(&mut self) -> Result<Expr> {
        self.bump();
        let word = self.ident()?;
        let expr = self.expr()?;
        self.expect_op(Op::RBrace)?;
        let Expr::Literal(Literal::String(s)) = &expr else { return Ok(expr) };
        let bytes = s.bytes.clone();
        Ok(match word.as_str() {
            "d" => Expr::Literal(Literal::Date(bytes)),
            "t" => Expr::Literal(Literal::Time(bytes)),
            "ts" => Expr::Literal(Literal::Timestamp(bytes)),
            _ => expr,
        })
    }

    #[inline(never)]
    fn case(&mut self) -> Result<Expr> {
        self.bump();
        let operand = if self.is(Kw::WHEN) { None } else { Some(self.boxed_expr()?) };
        let mut whens = Vec::new();
        while self.eat(Kw::WHEN) {
            let when = self.expr()?;
            self.expect(Kw::THEN)?;
            whens.push((when, self.expr()?));
        }
        if whens.is_empty() {
            return self.fail();
        }
        let otherwise = if self.eat(Kw::ELSE) { Some(self.boxed_expr()?) } else { None };
        self.expect(Kw::END)?;
        Ok(Expr::Case { operand, whens, otherwise })
    }

    /// A column, or a call of a function that has no keyword.
    #[inline(never)]
    fn column_or_call(&mut self) -> Result<Expr> {
        let keyword = matches!(self.tok.tok, Tok::Kw(_));
        let quoted = self.tok.tok == Tok::QuotedIdent;
        let first = self.ident()?;
        if self.is_op(Op::LParen) && !keyword {
            return self.call(None, first, quoted);
        }
        if !self.eat_op(Op::Dot) {
            if let Some(variable) = self.variable_named(&first) {
                return Ok(Expr::Param(variable));
            }
            return self.json_path(Expr::Column(ColumnRef { db: None, table: None, name: first }));
        }
        let second = self.ident()?;
        if self.is_op(Op::LParen) {
            return self.call(Some(first), second, false);
        }
        if !self.eat_op(Op::Dot) {
            if let Some(variable) = self.row_column(&first, &second)? {
                return self.json_path(Expr::Param(variable));
            }
            self.named_by_table(&first);
            return self.json_path(Expr::Column(ColumnRef { db: None, table: Some(first), name: second }));
        }
        let name = self.ident()?;
        self.named_by_table(&second);
        self.json_path(Expr::Column(ColumnRef { db: Some(first), table: Some(second), name }))
    }

    /// Error 1250 for a column with its table where columns are of no table.
    fn named_by_table(&mut self, table: &str) {
        if self.orders_whole {
            self.refuse(&errno::ER_TABLENAME_NOT_ALLOWED_HERE, &[&table, &"global ORDER clause"]);
        }
    }

    fn call(&mut self, db: Option<String>, name: String, quoted: bool) -> Result<Expr> {
        self.expect_op(Op::LParen)?;
        let mut args = Vec::new();
        if !self.is_op(Op::RParen) {
            args = self.comma_list(|p| {
                let arg = p.expr()?;
                // Loadable functions may name their arguments.
                p.opt_select_alias()?;
                Ok(arg)
            })?;
        }
        self.expect_op(Op::RParen)?;
        if db.is_none() && name.eq_ignore_ascii_case("found_rows") {
            self.deprecate_with(FOUND_ROWS_TEXT);
        }
        if let Some(builder) = &mut self.program {
            builder.program.calls.push(if db.is_some() { String::new() } else { name.to_ascii_lowercase() });
        }
        let db = db.map(String::into_boxed_str);
        if db.is_none() && name.eq_ignore_ascii_case("json_merge") {
            self.deprecate("JSON_MERGE", "JSON_MERGE_PRESERVE/JSON_MERGE_PATCH");
        }
        Ok(Expr::Func(FuncCall { db, name: name.to_ascii_lowercase(), written: name, quoted, args }))
    }

    /// `column -> 'path'`, `column ->> 'path'`
    fn json_path(&mut self, column: Expr) -> Result<Expr> {
        let text = self.is_op(Op::ArrowText);
        if !text && !self.is_op(Op::Arrow) {
            return Ok(column);
        }
        self.bump();
        let path = Literal::String(StringLiteral { bytes: self.string()?, charset: None });
        let extract = Expr::func("json_extract", vec![column, Expr::Literal(path)]);
        Ok(if text { Expr::func("json_unquote", vec![extract]) } else { extract })
    }

    /// `[db.][table.]name`
    pub(super) fn column_ref(&mut self) -> Result<ColumnRef> {
        let first = self.ident()?;
        if !self.eat_op(Op::Dot) {
            return Ok(ColumnRef { db: None, table: None, name: first });
        }
        let second = self.ident()?;
        if !self.eat_op(Op::Dot) {
            return Ok(ColumnRef { db: None, table: Some(first), name: second });
        }
        Ok(ColumnRef { db: Some(first), table: Some(second), name: self.ident()? })
    }

    /// An expression, or the word DEFAULT alone.
    pub(super) fn expr_or_default(&mut self) -> Result<Expr> {
        if self.is(Kw::DEFAULT) && self.peek() != Tok::Op(Op::LParen) {
            self.bump();
            return Ok(Expr::Default);
        }
        self.expr()
    }

    /// Whether INTERVAL is the function `INTERVAL(n, a, ..)`: a comma stands in its parentheses, which hold no query.
    pub(super) fn at_interval_function(&mut self) -> bool {
        if self.peek() != Tok::Op(Op::LParen) {
            return false;
        }
        let at = self.tok.at;
        if !self.interval_commas.contains_key(&at) {
            self.find_interval_commas();
        }
        self.interval_commas.get(&at).copied().unwrap_or(false)
    }

    /// Finds out for the INTERVAL at the present token, and for those in its parentheses up to its comma, so that no text is read
    /// ahead more than once.
    #[inline(never)]
    fn find_interval_commas(&mut self) {
        // The INTERVAL before each open parenthesis.
        let mut open = Vec::new();
        let mut lexer = self.lexer;
        let mut before = self.tok;
        loop {
            let token = lexer.next_token();
            match token.tok {
                Tok::Op(Op::LParen) => open.push((before.tok == Tok::Kw(Kw::INTERVAL)).then_some(before.at)),
                Tok::Op(Op::Comma) => {
                    if let Some(Some(at)) = open.last() {
                        self.interval_commas.insert(*at, true);
                    }
                    if open.len() == 1 {
                        return;
                    }
                }
                Tok::Op(Op::RParen) => {
                    if let Some(Some(at)) = open.pop() {
                        self.interval_commas.entry(at).or_insert(false);
                    }
                    if open.is_empty() {
                        return;
                    }
                }
                Tok::Kw(kw) if is_of_query(kw, before.tok) => {
                    if let Some(at) = open.last_mut().and_then(Option::take) {
                        self.interval_commas.insert(at, false);
                        if open.len() == 1 {
                            return;
                        }
                    }
                }
                Tok::Eof | Tok::Bad | Tok::Op(Op::Semicolon) => {
                    for at in open.into_iter().flatten() {
                        self.interval_commas.entry(at).or_insert(false);
                    }
                    return;
                }
                _ => {}
            }
            before = token;
        }
    }

    /// `INTERVAL expr unit`
    pub(super) fn interval(&mut self) -> Result<(Expr, IntervalUnit)> {
        self.expect(Kw::INTERVAL)?;
        let value = self.expr()?;
        Ok((value, self.interval_unit()?))
    }

    /// INTERVAL at the start of an operand: the function, or `INTERVAL n DAY + date`.
    #[inline(never)]
    fn interval_operand(&mut self) -> Result<Expr> {
        if self.at_interval_function() {
            self.bump();
            let args = self.paren_list(Self::expr)?;
            return Ok(Expr::func("interval", args));
        }
        let (value, unit) = self.interval()?;
        self.expect_op(Op::Plus)?;
        let date = self.nested(|p| p.bit_expr(4))?;
        Ok(Expr::DateArith { date: Box::new(date), value: Box::new(value), unit, subtract: false })
    }

    pub(super) fn interval_unit(&mut self) -> Result<IntervalUnit> {
        let unit = match self.kind() {
            Tok::Kw(Kw::MICROSECOND) => IntervalUnit::Microsecond,
            Tok::Kw(Kw::SECOND | Kw::SQL_TSI_SECOND) => IntervalUnit::Second,
            Tok::Kw(Kw::MINUTE | Kw::SQL_TSI_MINUTE) => IntervalUnit::Minute,
            Tok::Kw(Kw::HOUR | Kw::SQL_TSI_HOUR) => IntervalUnit::Hour,
            Tok::Kw(Kw::DAY | Kw::SQL_TSI_DAY) => IntervalUnit::Day,
            Tok::Kw(Kw::WEEK | Kw::SQL_TSI_WEEK) => IntervalUnit::Week,
            Tok::Kw(Kw::MONTH | Kw::SQL_TSI_MONTH) => IntervalUnit::Month,
            Tok::Kw(Kw::QUARTER | Kw::SQL_TSI_QUARTER) => IntervalUnit::Quarter,
            Tok::Kw(Kw::YEAR | Kw::SQL_TSI_YEAR) => IntervalUnit::Year,
            Tok::Kw(Kw::SECOND_MICROSECOND) => IntervalUnit::SecondMicrosecond,
            Tok::Kw(Kw::MINUTE_MICROSECOND) => IntervalUnit::MinuteMicrosecond,
            Tok::Kw(Kw::MINUTE_SECOND) => IntervalUnit::MinuteSecond,
            Tok::Kw(Kw::HOUR_MICROSECOND) => IntervalUnit::HourMicrosecond,
            Tok::Kw(Kw::HOUR_SECOND) => IntervalUnit::HourSecond,
            Tok::Kw(Kw::HOUR_MINUTE) => IntervalUnit::HourMinute,
            Tok::Kw(Kw::DAY_MICROSECOND) => IntervalUnit::DayMicrosecond,
            Tok::Kw(Kw::DAY_SECOND) => IntervalUnit::DaySecond,
            Tok::Kw(Kw::DAY_MINUTE) => IntervalUnit::DayMinute,
            Tok::Kw(Kw::DAY_HOUR) => IntervalUnit::DayHour,
            Tok::Kw(Kw::YEAR_MONTH) => IntervalUnit::YearMonth,
            _ => return self.fail(),
        };
        self.bump();
        Ok(unit)
    }
}

/// The word between parentheses, outside of others, says that they hold a query, whose commas are its own.
fn is_of_query(kw: Kw, before: Tok) -> bool {
    match kw {
        Kw::SELECT | Kw::WITH | Kw::TABLE | Kw::UNION | Kw::INTERSECT | Kw::EXCEPT | Kw::ORDER | Kw::LIMIT => true,
        // VALUES alone may be the function VALUES(column).
        Kw::ROW => before == Tok::Kw(Kw::VALUES),
        _ => false,
    }
}
