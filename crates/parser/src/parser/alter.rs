//! ALTER TABLE.

use super::{Parser, Result};
use crate::ast::*;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};

impl Parser<'_> {
    pub(super) fn alter_table(&mut self) -> Result<Statement> {
        self.bump();
        let name = self.name()?;
        let mut alter = AlterTable { name, actions: Vec::new(), algorithm: None, lock: None, validation: None };
        if matches!(self.tok.tok, Tok::Eof | Tok::Op(Op::Semicolon)) {
            return Ok(Statement::AlterTable(Box::new(alter)));
        }
        if self.is(Kw::PARTITION) {
            alter.actions.push(AlterAction::PartitionBy(self.partitioning()?));
            return Ok(Statement::AlterTable(Box::new(alter)));
        }
        loop {
            // What is done to partitions stands alone.
            let partitions = matches!(self.peek(), Tok::Kw(Kw::PARTITION | Kw::PARTITIONING)) && !self.is(Kw::RENAME);
            if partitions && !alter.actions.is_empty() {
                // These words begin other actions, too.
                self.eat_any(&[Kw::ADD, Kw::DROP]);
                return self.fail();
            }
            self.alter_item(&mut alter)?;
            if !partitions && self.eat_op(Op::Comma) {
                continue;
            }
            if self.is(Kw::PARTITION) {
                alter.actions.push(AlterAction::PartitionBy(self.partitioning()?));
            } else if self.is(Kw::REMOVE) {
                alter.actions.push(self.partition_action()?);
            }
            return Ok(Statement::AlterTable(Box::new(alter)));
        }
    }

    fn alter_item(&mut self, alter: &mut AlterTable) -> Result<()> {
        let Tok::Kw(kw) = self.tok.tok else { return self.fail() };
        match kw {
            Kw::ALGORITHM | Kw::LOCK => {
                self.bump();
                self.eat_op(Op::Eq);
                let word = Some(self.upper_word()?);
                if kw == Kw::ALGORITHM {
                    alter.algorithm = word;
                } else {
                    alter.lock = word;
                }
                return Ok(());
            }
            Kw::WITH | Kw::WITHOUT => {
                self.bump();
                self.expect(Kw::VALIDATION)?;
                alter.validation = Some(kw == Kw::WITH);
                return Ok(());
            }
            Kw::ADD => return self.alter_add(alter),
            _ => {}
        }
        let action = match kw {
            Kw::DROP => self.alter_drop()?,
            Kw::CHANGE | Kw::MODIFY => self.alter_change(kw)?,
            Kw::ALTER => self.alter_alter()?,
            Kw::RENAME => self.alter_rename()?,
            Kw::REBUILD
            | Kw::OPTIMIZE
            | Kw::ANALYZE
            | Kw::CHECK
            | Kw::REPAIR
            | Kw::COALESCE
            | Kw::TRUNCATE
            | Kw::REORGANIZE
            | Kw::EXCHANGE
            | Kw::REMOVE => self.partition_action()?,
            _ => self.alter_other(kw)?,
        };
        alter.actions.push(action);
        Ok(())
    }

    fn alter_other(&mut self, kw: Kw) -> Result<AlterAction> {
        if self.at_table_option() {
            return Ok(AlterAction::Options(self.spaced_options()?));
        }
        if kw == Kw::ORDER {
            return Ok(AlterAction::OrderBy(self.order_by()?));
        }
        if matches!(kw, Kw::DISCARD | Kw::IMPORT) && self.peek() == Tok::Kw(Kw::PARTITION) {
            return self.partition_action();
        }
        match kw {
            Kw::CONVERT
            | Kw::ENABLE
            | Kw::DISABLE
            | Kw::FORCE
            | Kw::DISCARD
            | Kw::IMPORT
            | Kw::SECONDARY_LOAD
            | Kw::SECONDARY_UNLOAD => self.bump(),
            _ => return self.fail(),
        }
        Ok(match kw {
            Kw::CONVERT => return self.convert_charset(),
            Kw::ENABLE => {
                self.expect(Kw::KEYS)?;
                AlterAction::EnableKeys
            }
            Kw::DISABLE => {
                self.expect(Kw::KEYS)?;
                AlterAction::DisableKeys
            }
            Kw::DISCARD => {
                self.expect(Kw::TABLESPACE)?;
                AlterAction::DiscardTablespace
            }
            Kw::IMPORT => {
                self.expect(Kw::TABLESPACE)?;
                AlterAction::ImportTablespace
            }
            Kw::SECONDARY_LOAD => AlterAction::SecondaryLoad,
            Kw::SECONDARY_UNLOAD => AlterAction::SecondaryUnload,
            _ => AlterAction::Force,
        })
    }

    /// Table options with spaces between them; a comma ends them.
    fn spaced_options(&mut self) -> Result<Vec<TableOption>> {
        let mut options = Vec::new();
        while let Some(option) = self.table_option()? {
            options.push(option);
        }
        Ok(options)
    }

    fn convert_charset(&mut self) -> Result<AlterAction> {
        self.expect(Kw::TO)?;
        if !self.eat_character_set() {
            return self.fail();
        }
        let charset = if self.eat(Kw::DEFAULT) { None } else { Some(self.charset_name()?) };
        charset.iter().for_each(|name| self.deprecate_charset(name));
        let collate = if self.eat(Kw::COLLATE) { Some(self.collation_name()?) } else { None };
        collate.iter().for_each(|name| self.deprecate_collation(name));
        Ok(AlterAction::ConvertCharset { charset, collate })
    }

    fn alter_add(&mut self, alter: &mut AlterTable) -> Result<()> {
        if self.peek() == Tok::Kw(Kw::PARTITION) {
            alter.actions.push(self.partition_action()?);
            return Ok(());
        }
        self.bump();
        let column = self.eat(Kw::COLUMN);
        if self.is_op(Op::LParen) {
            for element in
                self.paren_list(|p| if column { Ok(TableElement::Column(p.column_def()?)) } else { p.added_element() })?
            {
                alter.actions.push(added(element, ColumnPosition::Last));
            }
            return Ok(());
        }
        let element = if column { TableElement::Column(self.column_def()?) } else { self.added_element()? };
        let position = match element {
            TableElement::Column(_) => self.column_position()?,
            _ => ColumnPosition::Last,
        };
        alter.actions.push(added(element, position));
        Ok(())
    }

    fn added_element(&mut self) -> Result<TableElement> {
        const CONSTRAINTS: [Kw; 9] =
            [Kw::CONSTRAINT, Kw::PRIMARY, Kw::UNIQUE, Kw::INDEX, Kw::KEY, Kw::FULLTEXT, Kw::SPATIAL, Kw::FOREIGN, Kw::CHECK];
        if self.is_any(&CONSTRAINTS) {
            return self.table_constraint();
        }
        Ok(TableElement::Column(self.column_def()?))
    }

    fn column_position(&mut self) -> Result<ColumnPosition> {
        if self.eat(Kw::FIRST) {
            return Ok(ColumnPosition::First);
        }
        if self.eat(Kw::AFTER) {
            return Ok(ColumnPosition::After(self.ident()?));
        }
        Ok(ColumnPosition::Last)
    }

    fn alter_drop(&mut self) -> Result<AlterAction> {
        if self.peek() == Tok::Kw(Kw::PARTITION) {
            return self.partition_action();
        }
        self.bump();
        Ok(match self.kind() {
            Tok::Kw(Kw::PRIMARY) => {
                self.bump();
                self.expect(Kw::KEY)?;
                AlterAction::DropPrimaryKey
            }
            Tok::Kw(Kw::FOREIGN) => {
                self.bump();
                self.expect(Kw::KEY)?;
                AlterAction::DropForeignKey(self.ident()?)
            }
            Tok::Kw(Kw::INDEX | Kw::KEY) => {
                self.bump();
                AlterAction::DropIndex(self.index_name()?)
            }
            Tok::Kw(Kw::CHECK) => {
                self.bump();
                AlterAction::DropCheck(self.ident()?)
            }
            Tok::Kw(Kw::CONSTRAINT) => {
                self.bump();
                AlterAction::DropConstraint(self.index_name()?)
            }
            _ => {
                self.eat(Kw::COLUMN);
                let name = self.ident()?;
                self.eat_any(&[Kw::RESTRICT, Kw::CASCADE]);
                AlterAction::DropColumn(name)
            }
        })
    }

    /// A name of an index; PRIMARY is reserved, but names the primary key.
    fn index_name(&mut self) -> Result<String> {
        if self.eat(Kw::PRIMARY) { Ok("PRIMARY".to_string()) } else { self.ident() }
    }

    fn alter_change(&mut self, kw: Kw) -> Result<AlterAction> {
        self.bump();
        self.eat(Kw::COLUMN);
        let old = if kw == Kw::CHANGE { Some(self.ident()?) } else { None };
        let column = self.column_def()?;
        let position = self.column_position()?;
        Ok(match old {
            Some(old) => AlterAction::ChangeColumn { old, column, position },
            None => AlterAction::ModifyColumn { column, position },
        })
    }

    fn alter_alter(&mut self) -> Result<AlterAction> {
        self.bump();
        if self.eat(Kw::INDEX) {
            let name = self.ident()?;
            let visible = self.expect_any(&[Kw::VISIBLE, Kw::INVISIBLE])? == Kw::VISIBLE;
            return Ok(AlterAction::AlterIndexVisible { name, visible });
        }
        if let Some(kw) = self.eat_any(&[Kw::CHECK, Kw::CONSTRAINT]) {
            let name = self.ident()?;
            let Some(enforced) = self.opt_enforced()? else { return self.fail() };
            return Ok(if kw == Kw::CHECK {
                AlterAction::AlterCheck { name, enforced }
            } else {
                AlterAction::AlterConstraint { name, enforced }
            });
        }
        self.eat(Kw::COLUMN);
        let name = self.ident()?;
        let change = match self.expect_any(&[Kw::SET, Kw::DROP])? {
            Kw::DROP => {
                self.expect(Kw::DEFAULT)?;
                AlterColumn::DropDefault
            }
            _ => match self.expect_any(&[Kw::DEFAULT, Kw::VISIBLE, Kw::INVISIBLE])? {
                Kw::DEFAULT => AlterColumn::SetDefault(self.set_default_value()?),
                kw => AlterColumn::SetVisible(kw == Kw::VISIBLE),
            },
        };
        Ok(AlterAction::AlterColumn { name, change })
    }

    fn alter_rename(&mut self) -> Result<AlterAction> {
        self.bump();
        if let Some(kw) = self.eat_any(&[Kw::COLUMN, Kw::INDEX, Kw::KEY]) {
            let old = self.ident()?;
            self.expect(Kw::TO)?;
            let new = self.ident()?;
            return Ok(match kw {
                Kw::COLUMN => AlterAction::RenameColumn { old, new },
                _ => AlterAction::RenameIndex { old, new },
            });
        }
        if self.eat_any(&[Kw::TO, Kw::AS]).is_none() {
            self.eat_op(Op::Eq);
        }
        Ok(AlterAction::RenameTo(self.name()?))
    }
}

fn added(element: TableElement, position: ColumnPosition) -> AlterAction {
    match element {
        TableElement::Column(column) => AlterAction::AddColumn { column, position },
        TableElement::Index(index) => AlterAction::AddIndex(index),
        TableElement::ForeignKey(key) => AlterAction::AddForeignKey(key),
        TableElement::Check(check) => AlterAction::AddCheck(check),
    }
}
