//! What stands in FROM: tables, joins, derived tables, JSON_TABLE, index hints.
//!
//! A join without a condition is grafted to the left of what follows, as MySQL does:
//! `a JOIN b JOIN c ON x` is `(a JOIN b) JOIN c ON x`, but `a JOIN b JOIN c ON x ON y` is
//! `a JOIN (b JOIN c ON x) ON y`. So the right side is read as far as it goes first.

use super::{Parser, Result};
use crate::ast::*;
use crate::error::ParseError;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};

/// How a join begins.
enum JoinWord {
    /// May have ON or USING.
    Inner(JoinKind),
    /// Must have ON or USING.
    Outer(JoinKind),
    Natural(JoinKind),
}

impl Parser<'_> {
    pub(super) fn table_refs(&mut self) -> Result<Vec<TableRef>> {
        self.comma_list(Self::table_ref)
    }

    pub(super) fn table_ref(&mut self) -> Result<TableRef> {
        self.nested(|p| p.join_chain().map(|(table, _)| table))
    }

    /// A chain of joins, and how many joins its left spine has outside of parentheses.
    fn join_chain(&mut self) -> Result<(TableRef, usize)> {
        let mut left = self.table_factor()?;
        let mut spine = 0;
        while let Some(word) = self.join_word()? {
            self.grow()?;
            let (kind, right, right_spine, on) = match word {
                JoinWord::Natural(kind) => (kind, self.table_factor()?, 0, JoinOn::Natural),
                JoinWord::Inner(kind) | JoinWord::Outer(kind) => {
                    let (right, right_spine) = self.nested(Self::join_chain)?;
                    let on = self.join_condition()?;
                    if on == JoinOn::None && matches!(word, JoinWord::Outer(_)) {
                        return self.fail();
                    }
                    (kind, right, right_spine, on)
                }
            };
            if on == JoinOn::None {
                left = graft(kind, left, right, right_spine);
                spine += right_spine + 1;
            } else {
                left = join(kind, left, right, on);
                spine += 1;
            }
        }
        Ok((left, spine))
    }

    fn join_word(&mut self) -> Result<Option<JoinWord>> {
        let Tok::Kw(kw) = self.tok.tok else { return Ok(None) };
        let word = match kw {
            Kw::JOIN => JoinWord::Inner(JoinKind::Inner),
            Kw::STRAIGHT_JOIN => JoinWord::Inner(JoinKind::Straight),
            Kw::INNER | Kw::CROSS => {
                self.bump();
                JoinWord::Inner(JoinKind::Inner)
            }
            Kw::LEFT | Kw::RIGHT => JoinWord::Outer(self.outer_side()),
            Kw::NATURAL => {
                self.bump();
                if self.is_any(&[Kw::LEFT, Kw::RIGHT]) {
                    JoinWord::Natural(self.outer_side())
                } else {
                    self.eat(Kw::INNER);
                    JoinWord::Natural(JoinKind::Inner)
                }
            }
            _ => return Ok(None),
        };
        if !self.eat(Kw::STRAIGHT_JOIN) || !matches!(word, JoinWord::Inner(JoinKind::Straight)) {
            self.expect(Kw::JOIN)?;
        }
        Ok(Some(word))
    }

    /// LEFT or RIGHT, and OUTER.
    fn outer_side(&mut self) -> JoinKind {
        let left = self.is(Kw::LEFT);
        self.bump();
        self.eat(Kw::OUTER);
        if left { JoinKind::Left } else { JoinKind::Right }
    }

    fn join_condition(&mut self) -> Result<JoinOn> {
        if self.eat(Kw::ON) {
            return Ok(JoinOn::On(self.expr()?));
        }
        if self.eat(Kw::USING) {
            return Ok(JoinOn::Using(self.paren_list(Self::ident)?));
        }
        Ok(JoinOn::None)
    }

    fn table_factor(&mut self) -> Result<TableRef> {
        match self.kind() {
            Tok::Op(Op::LParen) => self.nested(Self::parenthesized_table),
            Tok::Kw(Kw::LATERAL) => {
                self.bump();
                let query = self.subquery()?;
                self.derived(query, true)
            }
            Tok::Kw(Kw::JSON_TABLE) => self.json_table(),
            Tok::Op(Op::LBrace) => {
                // ODBC: { OJ a LEFT JOIN b ON .. }
                self.bump();
                self.ident()?;
                let table = self.table_ref()?;
                self.expect_op(Op::RBrace)?;
                Ok(table)
            }
            _ => self.named_table(),
        }
    }

    fn named_table(&mut self) -> Result<TableRef> {
        let name = self.name()?;
        let partitions = self.opt_partitions()?;
        let alias = self.opt_alias()?;
        let index_hints = self.index_hints()?;
        Ok(TableRef::Table(TableFactor { name, partitions, alias, index_hints }))
    }

    /// `PARTITION (p0, p1)`
    pub(super) fn opt_partitions(&mut self) -> Result<Vec<String>> {
        if self.eat(Kw::PARTITION) { self.paren_list(Self::ident) } else { Ok(Vec::new()) }
    }

    /// `(query) AS t`, `(a JOIN b ..)`, `(a, b)`, and all these in more parentheses.
    fn parenthesized_table(&mut self) -> Result<TableRef> {
        self.bump();
        if self.at_query() {
            let query = self.query_to_paren()?;
            return self.derived(query, false);
        }
        let outer = std::mem::replace(&mut self.table_parens, true);
        let mut first = self.table_ref()?;
        if let TableRef::Derived { query, alias: None, lateral: false, .. } = first {
            let query = if self.at_query_tail() { self.continue_query(query)? } else { query };
            self.table_parens = outer;
            self.expect_op(Op::RParen)?;
            return self.derived(query, false);
        }
        if matches!(first, TableRef::Derived { .. } | TableRef::JsonTable(_)) && self.is_op(Op::RParen) {
            return self.fail();
        }
        if self.eat_op(Op::Comma) {
            let mut list = vec![first];
            list.extend(self.table_refs()?);
            first = TableRef::List(list);
        }
        self.table_parens = outer;
        self.expect_op(Op::RParen)?;
        Ok(first)
    }

    /// The alias of a derived table. Without one it must turn out to be a query in parentheses.
    fn derived(&mut self, query: Box<Query>, lateral: bool) -> Result<TableRef> {
        let alias = self.opt_alias()?;
        let in_parens = self.is_op(Op::RParen) || self.at_query_tail();
        if alias.is_none() && !(self.table_parens && in_parens) {
            let def = &vaquita_types::errno::ER_DERIVED_MUST_HAVE_ALIAS;
            return Err(ParseError::other(def, def.format.to_string()));
        }
        let columns = if alias.is_some() { self.opt_ident_list()? } else { Vec::new() };
        Ok(TableRef::Derived { query, lateral, alias, columns })
    }

    fn index_hints(&mut self) -> Result<Vec<IndexHint>> {
        let mut hints = Vec::new();
        while let Some(word) = self.eat_any(&[Kw::USE, Kw::FORCE, Kw::IGNORE]) {
            self.expect_any(&[Kw::INDEX, Kw::KEY])?;
            let kind = match word {
                Kw::USE => IndexHintKind::Use,
                Kw::FORCE => IndexHintKind::Force,
                _ => IndexHintKind::Ignore,
            };
            let scope = self.index_hint_scope()?;
            self.expect_op(Op::LParen)?;
            let mut indexes = Vec::new();
            if !(kind == IndexHintKind::Use && self.is_op(Op::RParen)) {
                indexes = self.comma_list(|p| if p.eat(Kw::PRIMARY) { Ok("PRIMARY".to_string()) } else { p.ident() })?;
            }
            self.expect_op(Op::RParen)?;
            hints.push(IndexHint { kind, scope, indexes });
        }
        Ok(hints)
    }

    fn index_hint_scope(&mut self) -> Result<IndexHintScope> {
        if !self.eat(Kw::FOR) {
            return Ok(IndexHintScope::All);
        }
        let word = self.expect_any(&[Kw::JOIN, Kw::ORDER, Kw::GROUP])?;
        if word == Kw::JOIN {
            return Ok(IndexHintScope::Join);
        }
        self.expect(Kw::BY)?;
        Ok(if word == Kw::ORDER { IndexHintScope::OrderBy } else { IndexHintScope::GroupBy })
    }

    /// `JSON_TABLE(doc, path COLUMNS (..)) AS t`
    fn json_table(&mut self) -> Result<TableRef> {
        self.bump();
        self.expect_op(Op::LParen)?;
        let doc = self.expr()?;
        self.expect_op(Op::Comma)?;
        let path = self.text_literal()?;
        let columns = self.json_columns()?;
        self.expect_op(Op::RParen)?;
        let alias = self.opt_alias()?;
        if alias.is_none() {
            let def = &vaquita_types::errno::ER_TF_MUST_HAVE_ALIAS;
            return Err(ParseError::other(def, def.format.to_string()));
        }
        Ok(TableRef::JsonTable(Box::new(JsonTable { doc, path, columns, alias })))
    }

    fn json_columns(&mut self) -> Result<Vec<JsonTableColumn>> {
        self.expect(Kw::COLUMNS)?;
        self.nested(|p| p.paren_list(Self::json_column))
    }

    fn json_column(&mut self) -> Result<JsonTableColumn> {
        if self.is(Kw::NESTED) && self.peek() == Tok::Kw(Kw::PATH) {
            self.bump();
            self.bump();
            let path = self.text_literal()?;
            return Ok(JsonTableColumn::Nested { path, columns: self.json_columns()? });
        }
        let name = self.ident()?;
        if self.eat(Kw::FOR) {
            self.expect(Kw::ORDINALITY)?;
            return Ok(JsonTableColumn::Ordinality(name));
        }
        let ty = self.data_type(&name)?;
        let collation = if self.eat(Kw::COLLATE) { Some(self.collation_name()?) } else { None };
        let exists = self.eat(Kw::EXISTS);
        self.expect(Kw::PATH)?;
        let path = self.text_literal()?;
        let (on_empty, on_error) = if exists { (None, None) } else { self.json_on(true)? };
        Ok(JsonTableColumn::Path { name, ty, collation, exists, path, on_empty, on_error })
    }
}

fn join(kind: JoinKind, left: TableRef, right: TableRef, on: JoinOn) -> TableRef {
    TableRef::Join(Box::new(Join { kind, left, right, on }))
}

/// Joins `left` without a condition to the leftmost table of `right`, `spine` joins down.
fn graft(kind: JoinKind, left: TableRef, right: TableRef, spine: usize) -> TableRef {
    match right {
        TableRef::Join(mut inner) if spine > 0 => {
            inner.left = graft(kind, left, inner.left, spine - 1);
            TableRef::Join(inner)
        }
        right => join(kind, left, right, JoinOn::None),
    }
}
