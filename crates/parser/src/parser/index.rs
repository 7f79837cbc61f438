//! Indexes and constraints of tables; CREATE INDEX and DROP INDEX.

use vaquita_types::errno;

use super::{Parser, Result};
use crate::ast::*;
use crate::error::ParseError;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};

impl Parser<'_> {
    /// An index, foreign key or check as it stands in CREATE TABLE and behind ADD.
    pub(super) fn table_constraint(&mut self) -> Result<TableElement> {
        let mut constraint = None;
        if self.eat(Kw::CONSTRAINT) {
            constraint = Some(if self.at_ident() { Some(self.ident()?) } else { None });
        }
        let allowed: &[Kw] = match constraint {
            Some(_) => &[Kw::PRIMARY, Kw::UNIQUE, Kw::FOREIGN, Kw::CHECK],
            None => &[Kw::PRIMARY, Kw::UNIQUE, Kw::FOREIGN, Kw::CHECK, Kw::INDEX, Kw::KEY, Kw::FULLTEXT, Kw::SPATIAL],
        };
        if !self.is_any(allowed) {
            return self.fail();
        }
        if self.is(Kw::CHECK) {
            return Ok(TableElement::Check(self.check(constraint.flatten())?));
        }
        if self.is(Kw::FOREIGN) {
            return Ok(TableElement::ForeignKey(self.foreign_key(constraint.flatten())?));
        }
        let kind = match self.expect_any(allowed)? {
            Kw::PRIMARY => {
                self.expect(Kw::KEY)?;
                IndexKind::Primary
            }
            Kw::UNIQUE => {
                self.eat_any(&[Kw::INDEX, Kw::KEY]);
                IndexKind::Unique
            }
            Kw::FULLTEXT => {
                self.eat_any(&[Kw::INDEX, Kw::KEY]);
                IndexKind::FullText
            }
            Kw::SPATIAL => {
                self.eat_any(&[Kw::INDEX, Kw::KEY]);
                IndexKind::Spatial
            }
            _ => IndexKind::Plain,
        };
        let name = if self.at_ident() { Some(self.ident()?) } else { None };
        self.index_body(kind, name, constraint).map(TableElement::Index)
    }

    /// `[USING x] (parts) options`
    fn index_body(&mut self, kind: IndexKind, name: Option<String>, constraint: Option<Option<String>>) -> Result<IndexDef> {
        let mut options = IndexOptions::default();
        if kind.is_ordered() && self.is_any(&[Kw::USING, Kw::TYPE]) {
            self.index_type(&mut options)?;
        }
        let parts = self.index_parts(kind)?;
        while self.index_option(kind, &mut options)? {}
        if kind == IndexKind::Primary && options.visible == Some(false) {
            self.refuse(&vaquita_types::errno::ER_PK_INDEX_CANT_BE_INVISIBLE, &[]);
        }
        Ok(IndexDef { kind, name, constraint, parts, options })
    }

    fn index_type(&mut self, options: &mut IndexOptions) -> Result<()> {
        self.bump();
        let word = self.expect_any(&[Kw::BTREE, Kw::HASH, Kw::RTREE])?;
        options.using = Some(word.as_str().to_string());
        Ok(())
    }

    fn index_parts(&mut self, kind: IndexKind) -> Result<Vec<KeyPart>> {
        if kind.is_ordered() {
            return self.key_parts();
        }
        let mut is_ordered = false;
        let parts = self.paren_list(|p| {
            let part = p.key_part_without_order()?;
            is_ordered |= p.eat_any(&[Kw::ASC, Kw::DESC]).is_some();
            Ok(part)
        })?;
        if is_ordered {
            let message = "Incorrect usage of spatial/fulltext/hash index and explicit index order".to_string();
            return Err(ParseError::other(&errno::ER_WRONG_USAGE, message));
        }
        Ok(parts)
    }

    pub(super) fn key_parts(&mut self) -> Result<Vec<KeyPart>> {
        self.paren_list(|p| {
            let mut part = p.key_part_without_order()?;
            let (KeyPart::Expr { desc, .. } | KeyPart::Column { desc, .. }) = &mut part;
            *desc = p.eat_any(&[Kw::ASC, Kw::DESC]) == Some(Kw::DESC);
            Ok(part)
        })
    }

    fn key_part_without_order(&mut self) -> Result<KeyPart> {
        if self.eat_op(Op::LParen) {
            let expr = self.expr()?;
            self.expect_op(Op::RParen)?;
            return Ok(KeyPart::Expr { expr, desc: false });
        }
        Ok(KeyPart::Column { name: self.ident()?, length: self.opt_paren_number()?, desc: false })
    }

    fn index_option(&mut self, kind: IndexKind, options: &mut IndexOptions) -> Result<bool> {
        let Tok::Kw(kw) = self.tok.tok else { return Ok(false) };
        match kw {
            Kw::USING | Kw::TYPE if kind.is_ordered() => {
                self.index_type(options)?;
                return Ok(true);
            }
            Kw::WITH if kind == IndexKind::FullText => {
                self.bump();
                self.expect(Kw::PARSER)?;
                options.parser = Some(self.ident()?);
                return Ok(true);
            }
            Kw::VISIBLE | Kw::INVISIBLE => {
                self.bump();
                options.visible = Some(kw == Kw::VISIBLE);
                return Ok(true);
            }
            Kw::COMMENT | Kw::KEY_BLOCK_SIZE | Kw::ENGINE_ATTRIBUTE | Kw::SECONDARY_ENGINE_ATTRIBUTE => self.bump(),
            _ => return Ok(false),
        }
        if kw != Kw::COMMENT {
            self.eat_op(Op::Eq);
        }
        match kw {
            Kw::COMMENT => options.comment = Some(self.string()?),
            Kw::KEY_BLOCK_SIZE => options.key_block_size = Some(self.whole_part()?),
            Kw::ENGINE_ATTRIBUTE => options.engine_attribute = Some(self.string()?),
            _ => options.secondary_engine_attribute = Some(self.string()?),
        }
        Ok(true)
    }

    fn foreign_key(&mut self, constraint: Option<String>) -> Result<ForeignKey> {
        self.expect_all(&[Kw::FOREIGN, Kw::KEY])?;
        let index_name = if self.at_ident() { Some(self.ident()?) } else { None };
        let columns = self.key_parts()?;
        let reference = self.reference()?;
        Ok(ForeignKey { constraint, index_name, columns, reference })
    }

    /// `REFERENCES t [(a)] [MATCH x] [ON DELETE x] [ON UPDATE x]`
    pub(super) fn reference(&mut self) -> Result<Reference> {
        self.expect(Kw::REFERENCES)?;
        let table = self.name()?;
        let columns = self.opt_ident_list()?;
        let mut reference = Reference { table, columns, match_kind: None, on_delete: None, on_update: None };
        if self.eat(Kw::MATCH) {
            let word = self.expect_any(&[Kw::FULL, Kw::PARTIAL, Kw::SIMPLE])?;
            reference.match_kind = Some(word.as_str().to_string());
        }
        while self.is(Kw::ON) {
            let free = match self.peek() {
                Tok::Kw(Kw::DELETE) => reference.on_delete.is_none(),
                Tok::Kw(Kw::UPDATE) => reference.on_update.is_none(),
                _ => false,
            };
            self.bump();
            if !free {
                return self.fail();
            }
            let delete = self.is(Kw::DELETE);
            self.bump();
            let action = Some(self.reference_action()?);
            if delete {
                reference.on_delete = action;
            } else {
                reference.on_update = action;
            }
        }
        Ok(reference)
    }

    fn reference_action(&mut self) -> Result<ReferenceAction> {
        Ok(match self.expect_any(&[Kw::RESTRICT, Kw::CASCADE, Kw::SET, Kw::NO])? {
            Kw::RESTRICT => ReferenceAction::Restrict,
            Kw::CASCADE => ReferenceAction::Cascade,
            Kw::SET => match self.expect_any(&[Kw::NULL, Kw::DEFAULT])? {
                Kw::NULL => ReferenceAction::SetNull,
                _ => ReferenceAction::SetDefault,
            },
            _ => {
                self.expect(Kw::ACTION)?;
                ReferenceAction::NoAction
            }
        })
    }

    pub(super) fn create_index(&mut self) -> Result<Statement> {
        let kind = match self.eat_any(&[Kw::UNIQUE, Kw::FULLTEXT, Kw::SPATIAL]) {
            Some(Kw::UNIQUE) => IndexKind::Unique,
            Some(Kw::FULLTEXT) => IndexKind::FullText,
            Some(_) => IndexKind::Spatial,
            None => IndexKind::Plain,
        };
        self.expect(Kw::INDEX)?;
        let name = Some(self.ident()?);
        let mut options = IndexOptions::default();
        if kind.is_ordered() && self.is_any(&[Kw::USING, Kw::TYPE]) {
            self.index_type(&mut options)?;
        }
        self.expect(Kw::ON)?;
        let table = self.name()?;
        let parts = self.index_parts(kind)?;
        while self.index_option(kind, &mut options)? {}
        let index = IndexDef { kind, name, constraint: None, parts, options };
        let (algorithm, lock) = self.algorithm_and_lock()?;
        Ok(Statement::CreateIndex(Box::new(CreateIndex { index, table, algorithm, lock })))
    }

    pub(super) fn drop_index(&mut self) -> Result<Statement> {
        let name = if self.eat(Kw::PRIMARY) { "PRIMARY".to_string() } else { self.ident()? };
        self.expect(Kw::ON)?;
        let table = self.name()?;
        let (algorithm, lock) = self.algorithm_and_lock()?;
        Ok(Statement::DropIndex { name, table, algorithm, lock })
    }

    /// `ALGORITHM [=] x` and `LOCK [=] x`, in either order.
    fn algorithm_and_lock(&mut self) -> Result<(Option<String>, Option<String>)> {
        let (mut algorithm, mut lock) = (None, None);
        while let Some(kw) = self.eat_any(&[Kw::ALGORITHM, Kw::LOCK]) {
            self.eat_op(Op::Eq);
            let word = Some(self.upper_word()?);
            if kw == Kw::ALGORITHM {
                algorithm = word;
            } else {
                lock = word;
            }
        }
        Ok((algorithm, lock))
    }
}
