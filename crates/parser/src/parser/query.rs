//! Query expressions: WITH, set operations, parentheses, and the clauses behind the body.
//!
//! INTERSECT binds tighter than UNION and EXCEPT. A query in parentheses can turn out to be the
//! first part of a longer one only after it was read: `continue_query` goes on from there.

use std::sync::Arc;

use super::{Parser, Result, balanced};
use crate::ast::*;
use crate::error::ParseError;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};
use vaquita_types::errno;

impl Parser<'_> {
    /// Whether a query starts here, not counting one in parentheses.
    pub(super) fn at_query(&mut self) -> bool {
        match self.kind() {
            Tok::Kw(Kw::SELECT | Kw::WITH | Kw::TABLE) => true,
            Tok::Kw(Kw::VALUES) => self.peek() == Tok::Kw(Kw::ROW),
            _ => false,
        }
    }

    /// Whether what follows a query in parentheses makes it part of a longer one.
    pub(super) fn at_query_tail(&self) -> bool {
        self.is_any(&[Kw::UNION, Kw::INTERSECT, Kw::EXCEPT, Kw::ORDER, Kw::LIMIT])
    }

    /// A whole query, WITH included.
    pub(super) fn query(&mut self) -> Result<Query> {
        let with = if self.is(Kw::WITH) { Some(self.with()?) } else { None };
        self.query_after_with(with)
    }

    pub(super) fn query_after_with(&mut self, with: Option<With>) -> Result<Query> {
        let outer_into = self.into.take();
        let outer_parens = std::mem::take(&mut self.table_parens);
        let outer_order = std::mem::take(&mut self.orders_whole);
        let body = self.query_body()?;
        let mut query = self.query_clauses(with, body)?;
        self.table_parens = outer_parens;
        self.orders_whole = outer_order;
        query.into = std::mem::replace(&mut self.into, outer_into);
        Ok(query)
    }

    /// ORDER BY, LIMIT, INTO and locks behind `body`.
    fn query_clauses(&mut self, with: Option<With>, body: QueryBody) -> Result<Query> {
        let whole = matches!(body, QueryBody::SetOp { .. } | QueryBody::Nested(_));
        let outer_order = std::mem::replace(&mut self.orders_whole, whole);
        let order_by = if self.is(Kw::ORDER) { self.order_by()? } else { Vec::new() };
        self.orders_whole = outer_order;
        let limit = self.limit()?;
        self.opt_into()?;
        let locks = self.locks()?;
        self.opt_into()?;
        Ok(Query { with, body, order_by, limit, into: None, locks, hinted: self.hinted })
    }

    /// A query up to the `)` that ends it, which is eaten.
    pub(super) fn query_to_paren(&mut self) -> Result<Box<Query>> {
        let into_allowed = std::mem::replace(&mut self.into_allowed, false);
        let query = self.nested(|p| p.in_query(Self::query))?;
        self.into_allowed = into_allowed;
        self.expect_op(Op::RParen)?;
        Ok(Box::new(query))
    }

    /// `(query)`, with any number of parentheses.
    pub(super) fn subquery(&mut self) -> Result<Box<Query>> {
        self.expect_op(Op::LParen)?;
        if self.at_query() {
            return self.query_to_paren();
        }
        if !self.is_op(Op::LParen) {
            return self.fail();
        }
        let mut query = self.enclosed(Self::subquery)?;
        if self.at_query_tail() {
            query = self.continue_query(query)?;
        }
        self.expect_op(Op::RParen)?;
        Ok(query)
    }

    /// Goes on behind `first`, a query in parentheses that was already read.
    pub(super) fn continue_query(&mut self, first: Box<Query>) -> Result<Box<Query>> {
        self.grow()?;
        // INTO before FROM is of the query around it.
        let outer_into = self.into.take();
        let into_allowed = std::mem::replace(&mut self.into_allowed, false);
        let body = self.set_operations(unwrap_query(first))?;
        let query = self.query_clauses(None, body)?;
        self.into_allowed = into_allowed;
        self.into = outer_into;
        Ok(Box::new(query))
    }

    pub(super) fn with(&mut self) -> Result<With> {
        self.expect(Kw::WITH)?;
        let recursive = self.eat(Kw::RECURSIVE);
        let ctes = self.comma_list(|p| {
            let name = p.ident()?;
            let columns = p.opt_ident_list()?;
            p.expect(Kw::AS)?;
            Ok(Cte { name, columns, query: Arc::from(p.subquery()?) })
        })?;
        Ok(With { recursive, ctes })
    }

    fn query_body(&mut self) -> Result<QueryBody> {
        let first = self.query_primary()?;
        self.set_operations(first)
    }

    /// The set operations behind `first`. A run of the same UNION becomes a balanced tree.
    fn set_operations(&mut self, first: QueryBody) -> Result<QueryBody> {
        let mut left = self.intersections(first)?;
        let mut run: Option<(bool, Vec<QueryBody>)> = None;
        while let Some(kw) = self.eat_any(&[Kw::UNION, Kw::EXCEPT]) {
            self.no_into_yet()?;
            let all = self.eat_all()?;
            let height = std::mem::take(&mut self.height);
            let operand = self.query_primary()?;
            let right = self.intersections(operand)?;
            self.height = self.height.max(height);
            if kw == Kw::UNION
                && let Some((run_all, operands)) = run.as_mut()
                && *run_all == all
            {
                operands.push(right);
                continue;
            }
            left = close_run(left, run.take());
            self.grow()?;
            if kw == Kw::UNION {
                run = Some((all, vec![right]));
            } else {
                left = set_op(SetOp::Except, all, left, right);
            }
        }
        if let Some((_, operands)) = &run {
            self.height += operands.len().ilog2();
            self.grow()?;
        }
        Ok(close_run(left, run))
    }

    fn intersections(&mut self, first: QueryBody) -> Result<QueryBody> {
        let mut left = first;
        while self.eat(Kw::INTERSECT) {
            self.no_into_yet()?;
            let all = self.eat_all()?;
            let right = self.query_primary()?;
            left = set_op(SetOp::Intersect, all, left, right);
            self.grow()?;
        }
        Ok(left)
    }

    fn eat_all(&mut self) -> Result<bool> {
        Ok(self.eat_any(&[Kw::ALL, Kw::DISTINCT]) == Some(Kw::ALL))
    }

    fn query_primary(&mut self) -> Result<QueryBody> {
        match self.kind() {
            Tok::Kw(Kw::SELECT) => Ok(QueryBody::Select(Box::new(self.select()?))),
            Tok::Kw(Kw::VALUES) => {
                self.bump();
                Ok(QueryBody::Values(self.comma_list(|p| {
                    p.expect(Kw::ROW)?;
                    p.expect_op(Op::LParen)?;
                    if p.eat_op(Op::RParen) {
                        return Ok(Vec::new());
                    }
                    let row = p.comma_list(Self::expr_or_default)?;
                    p.expect_op(Op::RParen)?;
                    Ok(row)
                })?))
            }
            Tok::Kw(Kw::TABLE) => {
                self.bump();
                Ok(QueryBody::Table(self.name()?))
            }
            Tok::Op(Op::LParen) => {
                self.bump();
                let mut query = Box::new(self.enclosed(Self::query)?);
                self.expect_op(Op::RParen)?;
                // INTO is the whole query's, wherever its parentheses end.
                self.keep_into(query.into.take())?;
                let body = unwrap_query(query);
                if matches!(body, QueryBody::Nested(_)) {
                    self.grow()?;
                }
                Ok(body)
            }
            _ => self.fail(),
        }
    }

    /// `ORDER BY a [ASC|DESC], ..`
    pub(super) fn order_by(&mut self) -> Result<Vec<OrderItem>> {
        self.expect_all(&[Kw::ORDER, Kw::BY])?;
        self.comma_list(|p| {
            let expr = p.expr()?;
            let desc = p.eat_any(&[Kw::ASC, Kw::DESC]) == Some(Kw::DESC);
            Ok(OrderItem { expr, desc })
        })
    }

    /// `LIMIT n`, `LIMIT m, n`, `LIMIT n OFFSET m`
    pub(super) fn limit(&mut self) -> Result<Option<Limit>> {
        if !self.eat(Kw::LIMIT) {
            return Ok(None);
        }
        let first = self.limit_value()?;
        if self.eat_op(Op::Comma) {
            let count = self.limit_value()?;
            return Ok(Some(Limit { offset: Some(first), count }));
        }
        let offset = if self.eat(Kw::OFFSET) { Some(self.limit_value()?) } else { None };
        Ok(Some(Limit { offset, count: first }))
    }

    /// `LIMIT n` alone, as UPDATE and DELETE have it.
    pub(super) fn simple_limit(&mut self) -> Result<Option<Limit>> {
        if !self.eat(Kw::LIMIT) {
            return Ok(None);
        }
        Ok(Some(Limit { offset: None, count: self.limit_value()? }))
    }

    /// What NTILE, LEAD and LAG take.
    pub(super) fn number_or_variable(&mut self) -> Result<Expr> {
        if self.kind() == Tok::At { self.at_name().map(Expr::UserVar) } else { self.limit_value() }
    }

    fn limit_value(&mut self) -> Result<Expr> {
        match self.kind() {
            Tok::Int => match self.opt_literal()? {
                Some(literal @ Literal::Int(_)) => Ok(Expr::Literal(literal)),
                _ => self.fail(),
            },
            Tok::Op(Op::Param) => self.param(),
            _ => {
                let name = self.ident()?;
                Ok(self.variable_named(&name).map_or_else(|| Expr::column(name), Expr::Param))
            }
        }
    }

    fn locks(&mut self) -> Result<Vec<LockClause>> {
        let mut locks = Vec::new();
        loop {
            if self.eat(Kw::LOCK) {
                self.expect_all(&[Kw::IN, Kw::SHARE, Kw::MODE])?;
                let strength = LockStrength::Share;
                locks.push(LockClause { strength, of: Vec::new(), wait: LockWait::Wait });
                continue;
            }
            if !self.eat(Kw::FOR) {
                return Ok(locks);
            }
            let strength = match self.expect_any(&[Kw::UPDATE, Kw::SHARE])? {
                Kw::UPDATE => LockStrength::Update,
                _ => LockStrength::Share,
            };
            let of = if self.eat(Kw::OF) { self.name_list()? } else { Vec::new() };
            let wait = match self.eat_any(&[Kw::NOWAIT, Kw::SKIP]) {
                Some(Kw::SKIP) => {
                    self.expect(Kw::LOCKED)?;
                    LockWait::SkipLocked
                }
                Some(_) => LockWait::NoWait,
                None => LockWait::Wait,
            };
            locks.push(LockClause { strength, of, wait });
        }
    }

    /// `INTO @a, @b | OUTFILE | DUMPFILE`, remembered until the query is complete.
    pub(super) fn opt_into(&mut self) -> Result<()> {
        if !self.is(Kw::INTO) {
            return Ok(());
        }
        if !self.into_allowed {
            return Err(misplaced_into());
        }
        self.bump();
        let before = self.into.take();
        let into = Some(match self.eat_any(&[Kw::OUTFILE, Kw::DUMPFILE]) {
            Some(Kw::OUTFILE) => {
                let path = self.string()?;
                let charset = if self.eat_character_set() { Some(self.charset_name()?) } else { None };
                SelectInto::Outfile { path, charset, format: self.file_format()? }
            }
            Some(_) => SelectInto::Dumpfile(self.string()?),
            None => SelectInto::Vars(self.comma_list(Self::into_target)?),
        });
        self.into = before;
        self.keep_into(into)
    }

    fn keep_into(&mut self, into: Option<SelectInto>) -> Result<()> {
        if into.is_some() && self.into.is_some() {
            let def = &errno::ER_MULTIPLE_INTO_CLAUSES;
            return Err(ParseError::other(def, def.format.to_string()));
        }
        self.into = into.or(self.into.take());
        Ok(())
    }

    /// Only the last operand of a set operation may have INTO.
    fn no_into_yet(&self) -> Result<()> {
        if self.into.is_some() { Err(misplaced_into()) } else { Ok(()) }
    }
}

fn misplaced_into() -> ParseError {
    let def = &errno::ER_MISPLACED_INTO;
    ParseError::other(def, def.format.to_string())
}

/// The body of a query in parentheses; the query itself if it has clauses of its own.
fn unwrap_query(query: Box<Query>) -> QueryBody {
    let plain = query.with.is_none()
        && query.order_by.is_empty()
        && query.limit.is_none()
        && query.into.is_none()
        && query.locks.is_empty();
    if plain { query.body } else { QueryBody::Nested(query) }
}

fn set_op(op: SetOp, all: bool, left: QueryBody, right: QueryBody) -> QueryBody {
    QueryBody::SetOp { op, all, left: Box::new(left), right: Box::new(right) }
}

/// `left UNION a UNION b ..` for a run of operands that share ALL or DISTINCT.
fn close_run(left: QueryBody, run: Option<(bool, Vec<QueryBody>)>) -> QueryBody {
    let Some((all, mut operands)) = run else { return left };
    operands.insert(0, left);
    let joined = balanced(operands, &|l, r| set_op(SetOp::Union, all, l, r));
    joined.unwrap_or(QueryBody::Values(Vec::new()))
}
