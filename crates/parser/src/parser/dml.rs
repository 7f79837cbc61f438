//! INSERT, REPLACE, UPDATE, DELETE.

use std::sync::Arc;

use super::{Parser, Result};
use crate::ast::*;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};

impl Parser<'_> {
    pub(super) fn insert(&mut self) -> Result<Statement> {
        let replace = self.is(Kw::REPLACE);
        self.bump();
        let hints = self.hints();
        let priority = match self.eat_any(&[Kw::LOW_PRIORITY, Kw::DELAYED, Kw::HIGH_PRIORITY]) {
            Some(Kw::HIGH_PRIORITY) if replace => return self.fail(),
            Some(Kw::LOW_PRIORITY) => Some(Priority::Low),
            Some(Kw::DELAYED) => Some(Priority::Delayed),
            Some(_) => Some(Priority::High),
            None => None,
        };
        let ignore = !replace && self.eat(Kw::IGNORE);
        self.eat(Kw::INTO);
        let mut insert = Insert {
            replace,
            hints,
            hinted: false,
            priority,
            ignore,
            table: self.name()?,
            partitions: self.opt_partitions()?,
            columns: None,
            source: InsertSource::Values(Vec::new()),
            row_alias: None,
            on_duplicate: Vec::new(),
        };
        self.insert_source(&mut insert)?;
        if !replace && self.is(Kw::ON) {
            self.expect_all(&[Kw::ON, Kw::DUPLICATE, Kw::KEY, Kw::UPDATE])?;
            self.in_duplicate_update = true;
            insert.on_duplicate = self.assignments()?;
            self.in_duplicate_update = false;
        }
        insert.hinted = self.hinted;
        Ok(Statement::Insert(Box::new(insert)))
    }

    fn insert_source(&mut self, insert: &mut Insert) -> Result<()> {
        if self.eat(Kw::SET) {
            let (mut columns, mut row) = (Vec::new(), Vec::new());
            for assignment in self.assignments()? {
                columns.push(assignment.column);
                row.push(assignment.value);
            }
            insert.columns = Some(columns);
            insert.source = InsertSource::Values(vec![row]);
            return self.row_alias(insert);
        }
        if self.is_op(Op::LParen) && !self.paren_starts_query() {
            insert.columns = Some(self.insert_columns()?);
        }
        let rows = self.is(Kw::VALUE) || (self.is(Kw::VALUES) && self.peek() != Tok::Kw(Kw::ROW));
        if rows {
            self.bump();
            insert.source = self.insert_rows()?;
            return self.row_alias(insert);
        }
        if !self.at_query() && !self.is_op(Op::LParen) {
            return self.fail();
        }
        let into_allowed = std::mem::replace(&mut self.into_allowed, false);
        let query = self.query()?;
        self.into_allowed = into_allowed;
        // `VALUES ROW(…), …` with nothing around it is to an INSERT what `VALUES (…), …` is.
        insert.source = match query {
            Query { with: None, body: QueryBody::Values(rows), order_by, limit: None, into: None, locks, hinted: _ }
                if order_by.is_empty() && locks.is_empty() =>
            {
                InsertSource::Values(rows)
            }
            query => InsertSource::Query(Box::new(query)),
        };
        Ok(())
    }

    /// Whether the present `(` opens a query rather than a list of columns.
    fn paren_starts_query(&mut self) -> bool {
        matches!(self.peek(), Tok::Kw(Kw::SELECT | Kw::WITH | Kw::TABLE | Kw::VALUES) | Tok::Op(Op::LParen))
    }

    fn insert_columns(&mut self) -> Result<Vec<ColumnRef>> {
        self.expect_op(Op::LParen)?;
        if self.eat_op(Op::RParen) {
            return Ok(Vec::new());
        }
        let columns = self.comma_list(Self::column_ref)?;
        self.expect_op(Op::RParen)?;
        Ok(columns)
    }

    fn insert_rows(&mut self) -> Result<InsertSource> {
        let plain = self.literal_rows();
        if !plain.is_empty() && !self.eat_op(Op::Comma) {
            return Ok(InsertSource::Literals(Arc::new(plain)));
        }
        let mut rows = plain.exprs();
        rows.append(&mut self.comma_list(Self::insert_row)?);
        Ok(InsertSource::Values(rows))
    }

    fn insert_row(&mut self) -> Result<Vec<Expr>> {
        self.expect_op(Op::LParen)?;
        if self.eat_op(Op::RParen) {
            return Ok(Vec::new());
        }
        let row = self.comma_list(Self::row_value)?;
        self.expect_op(Op::RParen)?;
        Ok(row)
    }

    /// A dump is millions of literals: one that stands alone need not go through every level of operators.
    fn row_value(&mut self) -> Result<Expr> {
        let plain = matches!(self.kind(), Tok::Int | Tok::Decimal | Tok::Float | Tok::Str | Tok::Kw(Kw::NULL));
        if plain
            && matches!(self.peek(), Tok::Op(Op::Comma | Op::RParen))
            && let Some(literal) = self.opt_literal()?
        {
            return Ok(Expr::Literal(literal));
        }
        self.expr_or_default()
    }

    /// `AS new [(a, b)]`
    fn row_alias(&mut self, insert: &mut Insert) -> Result<()> {
        if !insert.replace && self.eat(Kw::AS) {
            let name = self.ident()?;
            insert.row_alias = Some(RowAlias { name, columns: self.opt_ident_list()? });
        }
        Ok(())
    }

    /// `a = 1, b := DEFAULT`
    pub(super) fn assignments(&mut self) -> Result<Vec<Assignment>> {
        self.comma_list(|p| {
            let column = p.column_ref()?;
            p.expect_equal()?;
            Ok(Assignment { column, value: p.expr_or_default()? })
        })
    }

    /// `=` or `:=`
    pub(super) fn expect_equal(&mut self) -> Result<()> {
        if self.eat_op(Op::Eq) { Ok(()) } else { self.expect_op(Op::Assign) }
    }

    pub(super) fn update(&mut self, with: Option<With>) -> Result<Statement> {
        self.bump();
        let hints = self.hints();
        let low_priority = self.eat(Kw::LOW_PRIORITY);
        let ignore = self.eat(Kw::IGNORE);
        let tables = self.table_refs()?;
        self.expect(Kw::SET)?;
        let assignments = self.assignments()?;
        let filter = self.opt_where()?;
        let order_by = if self.is(Kw::ORDER) { self.order_by()? } else { Vec::new() };
        let limit = self.simple_limit()?;
        Ok(Statement::Update(Box::new(Update {
            with,
            hints,
            hinted: self.hinted,
            low_priority,
            ignore,
            tables,
            assignments,
            filter,
            order_by,
            limit,
        })))
    }

    pub(super) fn opt_where(&mut self) -> Result<Option<Expr>> {
        if self.eat(Kw::WHERE) { self.expr().map(Some) } else { Ok(None) }
    }

    pub(super) fn delete(&mut self, with: Option<With>) -> Result<Statement> {
        self.bump();
        let mut delete = Delete {
            with,
            hints: self.hints(),
            hinted: false,
            low_priority: false,
            quick: false,
            ignore: false,
            targets: Vec::new(),
            from: Vec::new(),
            filter: None,
            order_by: Vec::new(),
            limit: None,
        };
        while let Some(kw) = self.eat_any(&[Kw::LOW_PRIORITY, Kw::QUICK, Kw::IGNORE]) {
            match kw {
                Kw::LOW_PRIORITY => delete.low_priority = true,
                Kw::QUICK => delete.quick = true,
                _ => delete.ignore = true,
            }
        }
        if self.eat(Kw::FROM) {
            let (first, wild) = self.delete_target()?;
            if wild || self.is_op(Op::Comma) || self.is(Kw::USING) {
                delete.targets = vec![first];
                while self.eat_op(Op::Comma) {
                    delete.targets.push(self.delete_target()?.0);
                }
                self.expect(Kw::USING)?;
                delete.from = self.table_refs()?;
            } else {
                self.single_delete(&mut delete, first)?;
                delete.hinted = self.hinted;
                return Ok(Statement::Delete(Box::new(delete)));
            }
        } else {
            delete.targets = self.comma_list(|p| p.delete_target().map(|(name, _)| name))?;
            self.expect(Kw::FROM)?;
            delete.from = self.table_refs()?;
        }
        delete.filter = self.opt_where()?;
        delete.hinted = self.hinted;
        Ok(Statement::Delete(Box::new(delete)))
    }

    /// A name with an optional `.*`.
    fn delete_target(&mut self) -> Result<(Name, bool)> {
        let first = self.ident()?;
        let mut name = Name { db: None, name: first };
        while self.eat_op(Op::Dot) {
            if self.eat_op(Op::Star) {
                return Ok((name, true));
            }
            if name.db.is_some() {
                return self.fail();
            }
            name = Name { db: Some(name.name), name: self.ident()? };
        }
        Ok((name, false))
    }

    fn single_delete(&mut self, delete: &mut Delete, name: Name) -> Result<()> {
        let alias = self.opt_alias()?;
        let partitions = self.opt_partitions()?;
        let index_hints = Vec::new();
        delete.from = vec![TableRef::Table(TableFactor { name, partitions, alias, index_hints })];
        delete.filter = self.opt_where()?;
        if self.is(Kw::ORDER) {
            delete.order_by = self.order_by()?;
        }
        delete.limit = self.simple_limit()?;
        Ok(())
    }
}
