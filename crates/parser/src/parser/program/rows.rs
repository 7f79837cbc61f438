//! CREATE TRIGGER, and the columns of OLD and NEW in its body, which are variables of the program. Which columns the table has is looked up
//! when the trigger is created, and again when it runs.

use vaquita_types::errno;

use super::{Builder, Parser, Result, error};
use crate::ast::*;
use crate::error::ParseError;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};

impl Builder {
    /// What a statement is refused in.
    pub(super) fn host(&self) -> Option<&'static str> {
        match (self.trigger, self.is_function) {
            (Some(_), _) => Some("trigger"),
            (None, true) => Some("function"),
            (None, false) => None,
        }
    }

    /// The variable of a column of OLD or NEW. Errors 1363 and 1362.
    fn row_column(&mut self, is_new: bool, name: String, sets: bool) -> Result<usize> {
        let Some((time, event)) = self.trigger else { return error(&errno::ER_SP_UNDECLARED_VAR, &[&name]) };
        let missing = if is_new { TriggerEvent::Delete } else { TriggerEvent::Insert };
        let row = if is_new { "NEW" } else { "OLD" };
        if sets && !is_new {
            return error(&errno::ER_TRG_CANT_CHANGE_ROW, &[&row, &""]);
        }
        if event == missing {
            return error(&errno::ER_TRG_NO_SUCH_ROW_IN_TRG, &[&row, &format_args!("on {}", event.as_str())]);
        }
        if sets && time == TriggerTime::After {
            return error(&errno::ER_TRG_CANT_CHANGE_ROW, &[&row, &"after "]);
        }
        let program = &mut self.program;
        let at = *self.row_columns.entry((is_new, name.to_lowercase())).or_insert_with(|| {
            let variable = program.variables.len();
            program.variables.push(Variable { name, mode: None, ty: None });
            program.row_columns.push(RowColumn { is_new, variable, is_read: false, is_set: false });
            program.row_columns.len() - 1
        });
        let Some(column) = program.row_columns.get_mut(at) else { return error(&errno::ER_OUT_OF_RESOURCES, &[]) };
        column.is_set |= sets;
        column.is_read |= !sets;
        Ok(column.variable)
    }
}

/// Which row of a trigger a name is.
fn row_named(name: &str) -> Option<bool> {
    if name.eq_ignore_ascii_case("new") {
        return Some(true);
    }
    name.eq_ignore_ascii_case("old").then_some(false)
}

impl Parser<'_> {
    /// `NEW.name`, read by an expression of a trigger.
    pub(in super::super) fn row_column(&mut self, row: &str, name: &str) -> Result<Option<usize>> {
        let Some(builder) = self.program.as_mut().filter(|builder| builder.trigger.is_some()) else { return Ok(None) };
        row_named(row).map(|is_new| builder.row_column(is_new, name.to_string(), false)).transpose()
    }

    /// `NEW.name =`, if SET begins with it.
    pub(super) fn row_column_to_set(&mut self) -> Result<Option<usize>> {
        let in_trigger = self.program.as_ref().is_some_and(|builder| builder.trigger.is_some());
        if !in_trigger || !self.at_ident() || self.peek() != Tok::Op(Op::Dot) {
            return Ok(None);
        }
        let row = String::from_utf8_lossy(self.text()).trim_matches('`').to_string();
        let Some(is_new) = row_named(&row) else { return Ok(None) };
        self.bump();
        self.bump();
        let name = self.ident()?;
        let variable = self.builder()?.row_column(is_new, name, true)?;
        self.expect_equal()?;
        Ok(Some(variable))
    }

    /// Behind CREATE and what may stand before TRIGGER.
    pub(in super::super) fn create_trigger(&mut self, definer: Option<UserName>) -> Result<Statement> {
        if self.program.is_some() {
            let def = &errno::ER_SP_NO_RECURSIVE_CREATE;
            let message = vaquita_types::Error::new(def, &[&"TRIGGER"]).message().to_string();
            return Err(ParseError::other(def, message));
        }
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let name = self.name()?;
        let time = match self.expect_any(&[Kw::BEFORE, Kw::AFTER])? {
            Kw::BEFORE => TriggerTime::Before,
            _ => TriggerTime::After,
        };
        let event = match self.expect_any(&[Kw::INSERT, Kw::UPDATE, Kw::DELETE])? {
            Kw::INSERT => TriggerEvent::Insert,
            Kw::UPDATE => TriggerEvent::Update,
            _ => TriggerEvent::Delete,
        };
        self.expect(Kw::ON)?;
        let table = self.name()?;
        self.expect_all(&[Kw::FOR, Kw::EACH, Kw::ROW])?;
        let place = match self.eat_any(&[Kw::FOLLOWS, Kw::PRECEDES]) {
            Some(Kw::FOLLOWS) => Some(TriggerOrder::Follows(self.ident()?)),
            Some(_) => Some(TriggerOrder::Precedes(self.ident()?)),
            None => None,
        };
        let start = self.start();
        let program = self.program_body(Builder::of_trigger(time, event))?;
        let body = self.body_since(start);
        Ok(Statement::CreateTrigger(Box::new(CreateTrigger {
            if_not_exists,
            definer,
            name,
            time,
            event,
            table,
            place,
            program,
            body,
        })))
    }
}
