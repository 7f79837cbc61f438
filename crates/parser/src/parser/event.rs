//! CREATE EVENT and ALTER EVENT.

use vaquita_types::errno;

use super::program::Builder;
use super::{Parser, Result};
use crate::ast::*;
use crate::error::ParseError;
use crate::keyword::Kw;

impl Parser<'_> {
    /// At EVENT.
    pub(super) fn create_event(&mut self, definer: Option<UserName>) -> Result<Statement> {
        self.no_event_in_program()?;
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let name = self.name()?;
        self.expect_all(&[Kw::ON, Kw::SCHEDULE])?;
        let schedule = self.event_schedule()?;
        let preserve = if self.eat2(Kw::ON, Kw::COMPLETION) { Some(self.preserve()?) } else { None };
        let status = self.event_status()?;
        let comment = self.event_comment()?;
        self.expect(Kw::DO)?;
        let (program, body) = self.event_body()?;
        let said = EventClauses { preserve, status, comment };
        let create = CreateEvent { definer, if_not_exists, name, schedule, said, program, body };
        Ok(Statement::CreateEvent(Box::new(create)))
    }

    /// At EVENT.
    pub(super) fn alter_event(&mut self, definer: Option<UserName>) -> Result<Statement> {
        self.bump();
        let name = self.name()?;
        let begin = self.start();
        let schedule = if self.eat2(Kw::ON, Kw::SCHEDULE) { Some(self.event_schedule()?) } else { None };
        let preserve = if self.eat2(Kw::ON, Kw::COMPLETION) { Some(self.preserve()?) } else { None };
        let rename_to = if self.eat(Kw::RENAME) {
            self.expect(Kw::TO)?;
            Some(self.name()?)
        } else {
            None
        };
        let status = self.event_status()?;
        let comment = self.event_comment()?;
        let body = if self.is(Kw::DO) {
            self.no_event_in_program()?;
            self.bump();
            Some(self.event_body()?)
        } else {
            None
        };
        if self.start() == begin {
            return self.fail();
        }
        let said = EventClauses { preserve, status, comment };
        Ok(Statement::AlterEvent(Box::new(AlterEvent { definer, name, schedule, rename_to, said, body })))
    }

    fn no_event_in_program(&self) -> Result<()> {
        if self.program.is_none() {
            return Ok(());
        }
        let def = &errno::ER_EVENT_RECURSION_FORBIDDEN;
        Err(ParseError::other(def, vaquita_types::Error::new(def, &[]).message().to_string()))
    }

    fn event_body(&mut self) -> Result<(Program, String)> {
        let start = self.start();
        let program = self.program_body(Builder::new(false))?;
        Ok((program, self.body_since(start)))
    }

    fn event_schedule(&mut self) -> Result<EventSchedule> {
        if self.eat(Kw::AT) {
            return Ok(EventSchedule::At(self.without_parameters()?));
        }
        self.expect(Kw::EVERY)?;
        let value = self.without_parameters()?;
        let unit = self.interval_unit()?;
        let starts = if self.eat(Kw::STARTS) { Some(self.without_parameters()?) } else { None };
        let ends = if self.eat(Kw::ENDS) { Some(self.without_parameters()?) } else { None };
        Ok(EventSchedule::Every { value, unit, starts, ends })
    }

    /// An expression; error 6413 if it has a `?`.
    fn without_parameters(&mut self) -> Result<Expr> {
        let before = self.params;
        let expr = self.expr()?;
        if self.params == before {
            return Ok(expr);
        }
        let def = &errno::ER_NON_DML_DYNAMIC_PARAMETERS;
        Err(ParseError::other(def, def.format.to_string()))
    }

    fn preserve(&mut self) -> Result<bool> {
        let not = self.eat(Kw::NOT);
        self.expect(Kw::PRESERVE)?;
        Ok(!not)
    }

    fn event_status(&mut self) -> Result<Option<EventStatus>> {
        if self.eat(Kw::ENABLE) {
            return Ok(Some(EventStatus::Enabled));
        }
        if !self.eat(Kw::DISABLE) {
            return Ok(None);
        }
        if !self.eat(Kw::ON) {
            return Ok(Some(EventStatus::Disabled));
        }
        if self.expect_any(&[Kw::REPLICA, Kw::SLAVE])? == Kw::SLAVE {
            self.deprecate("<CREATE|ALTER> EVENT ... DISABLE ON SLAVE", "<CREATE|ALTER> EVENT ... DISABLE ON REPLICA");
        }
        Ok(Some(EventStatus::ReplicaSideDisabled))
    }

    fn event_comment(&mut self) -> Result<Option<String>> {
        if !self.eat(Kw::COMMENT) {
            return Ok(None);
        }
        Ok(Some(String::from_utf8_lossy(&self.string()?).into_owned()))
    }
}
