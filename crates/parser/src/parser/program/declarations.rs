//! Declarations of a block: variables, conditions, cursors and handlers, in this order.

use vaquita_types::errno;

use super::{Label, Parser, Result, error};
use crate::ast::*;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};

impl Parser<'_> {
    pub(super) fn declaration(&mut self, outer: usize) -> Result<()> {
        if self.is_any(&[Kw::CONTINUE, Kw::EXIT, Kw::UNDO]) && self.peek() == Tok::Kw(Kw::HANDLER) {
            return self.declare_handler(outer);
        }
        let mut names = vec![self.ident()?];
        if self.is(Kw::CURSOR) && names.len() == 1 {
            return self.declare_cursor(&names[0]);
        }
        if self.is(Kw::CONDITION) && names.len() == 1 {
            return self.declare_condition(&names[0]);
        }
        while self.eat_op(Op::Comma) {
            names.push(self.ident()?);
        }
        self.declare_variables(names)
    }

    fn declare_variables(&mut self, names: Vec<String>) -> Result<()> {
        let ty = self.variable_type()?;
        let default = if self.eat(Kw::DEFAULT) { Some(self.expr()?) } else { None };
        let builder = self.builder()?;
        if builder.is_behind_cursors() {
            return error(&errno::ER_SP_VARCOND_AFTER_CURSHNDLR, &[]);
        }
        for name in names {
            let variable = builder.program.variables.len();
            builder.declare(Variable { name, mode: None, ty: Some(ty.clone()) }, false)?;
            builder.emit(Instruction::Set { variable, value: default.clone() })?;
        }
        Ok(())
    }

    /// A type with its collation.
    pub(in super::super) fn variable_type(&mut self) -> Result<VariableType> {
        let start = self.start();
        let ty = self.data_type("")?;
        let collate = if self.eat(Kw::COLLATE) { Some(self.collation_name()?) } else { None };
        Ok(VariableType { ty, collate, text: self.text_since(start) })
    }

    fn declare_condition(&mut self, name: &str) -> Result<()> {
        self.bump();
        self.expect(Kw::FOR)?;
        let condition = self.condition_value()?;
        let builder = self.builder()?;
        if builder.is_behind_cursors() {
            return error(&errno::ER_SP_VARCOND_AFTER_CURSHNDLR, &[]);
        }
        if !builder.conditions.declare(builder.blocks.len(), name, condition) {
            return error(&errno::ER_SP_DUP_COND, &[&name]);
        }
        Ok(())
    }

    /// A number or `SQLSTATE [VALUE] 'text'`.
    fn condition_value(&mut self) -> Result<Condition> {
        if self.is(Kw::SQLSTATE) {
            return self.sqlstate().map(Condition::SqlState);
        }
        let code = self.number()?;
        match u16::try_from(code) {
            Ok(code) if code != 0 => Ok(Condition::Code(code)),
            _ => error(&errno::ER_WRONG_VALUE, &[&"CONDITION", &code]),
        }
    }

    /// Success is no condition.
    pub(in super::super) fn sqlstate(&mut self) -> Result<[u8; 5]> {
        self.expect(Kw::SQLSTATE)?;
        self.eat(Kw::VALUE);
        let text = self.string()?;
        match <[u8; 5]>::try_from(&text[..]) {
            Ok(state) if state.iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase()) && !state.starts_with(b"00") => {
                Ok(state)
            }
            _ => error(&errno::ER_SP_BAD_SQLSTATE, &[&String::from_utf8_lossy(&text)]),
        }
    }

    /// A declared condition, for SIGNAL: error 1646 if it is a number.
    pub(in super::super) fn signalled(&mut self) -> Result<[u8; 5]> {
        if self.is(Kw::SQLSTATE) {
            return self.sqlstate();
        }
        let name = self.ident()?;
        match self.program.as_ref().map(|program| program.condition(&name)) {
            Some(Ok(Condition::SqlState(state))) => Ok(state),
            Some(Ok(_)) => error(&errno::ER_SIGNAL_BAD_CONDITION_TYPE, &[]),
            Some(Err(unknown)) => Err(unknown),
            None => error(&errno::ER_SP_COND_MISMATCH, &[&name]),
        }
    }

    fn declare_cursor(&mut self, name: &str) -> Result<()> {
        self.bump();
        self.expect(Kw::FOR)?;
        self.into_allowed = true;
        if !self.at_query() && !self.is_op(Op::LParen) && !self.is(Kw::WITH) {
            return self.fail();
        }
        let statement = self.statement()?;
        let Statement::Query(query) = &statement else { return error(&errno::ER_SP_BAD_CURSOR_QUERY, &[]) };
        if query.into.is_some() {
            return error(&errno::ER_SP_BAD_CURSOR_SELECT, &[]);
        }
        let builder = self.builder()?;
        let cursor = builder.cursors();
        if builder.is_behind_handlers() {
            return error(&errno::ER_SP_CURSOR_AFTER_HANDLER, &[]);
        }
        if !builder.cursors.declare(builder.blocks.len(), name, cursor) {
            return error(&errno::ER_SP_DUP_CURS, &[&name]);
        }
        builder.program.cursors.push(statement);
        Ok(())
    }

    /// Its statement runs under the handlers around the block, and its labels are its own.
    fn declare_handler(&mut self, outer: usize) -> Result<()> {
        let continues = self.expect_any(&[Kw::CONTINUE, Kw::EXIT])? == Kw::CONTINUE;
        self.bump();
        self.expect(Kw::FOR)?;
        let conditions = self.comma_list(Self::handled_condition)?;
        let builder = self.builder()?;
        let scope = match builder.blocks.last().and_then(|block| block.scope) {
            Some(scope) => scope,
            None => {
                builder.program.scopes.push(Scope { handlers: Vec::new(), outer: Some(outer) });
                builder.program.scopes.len() - 1
            }
        };
        if let Some(block) = builder.blocks.last_mut() {
            block.scope = Some(scope);
            for condition in &conditions {
                if !block.handled.insert(*condition) {
                    return error(&errno::ER_SP_DUP_HANDLER, &[]);
                }
            }
        }
        let over = builder.emit(Instruction::Jump(0))?;
        let first = builder.next();
        let cursors = builder.cursors();
        builder.labels.push(Label { name: String::new(), start: None, leaves: Vec::new(), cursors, is_barrier: true });
        self.program_statement()?;
        let builder = self.builder()?;
        builder.labels.pop();
        let end = builder.emit(Instruction::EndHandler { exit: None })?;
        builder.land(over);
        if let Some(scope) = builder.program.scopes.get_mut(scope) {
            scope.handlers.push(Handling { conditions, continues, first, last: end });
        }
        if !continues && let Some(block) = builder.blocks.last_mut() {
            block.exits.push(end);
        }
        Ok(())
    }

    fn handled_condition(&mut self) -> Result<Condition> {
        match self.eat_any(&[Kw::SQLWARNING, Kw::SQLEXCEPTION, Kw::NOT]) {
            Some(Kw::SQLWARNING) => return Ok(Condition::SqlWarning),
            Some(Kw::SQLEXCEPTION) => return Ok(Condition::SqlException),
            Some(_) => {
                self.expect(Kw::FOUND)?;
                return Ok(Condition::NotFound);
            }
            None => {}
        }
        if self.at_ident() {
            let name = self.ident()?;
            return self.builder()?.condition(&name);
        }
        self.condition_value()
    }
}
