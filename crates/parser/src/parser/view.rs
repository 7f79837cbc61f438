//! CREATE VIEW and ALTER VIEW, and the stored programs whose statements begin the same way.

use super::{Parser, Result};
use crate::ast::*;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};

impl Parser<'_> {
    /// Behind CREATE: `[OR REPLACE] [ALGORITHM=x] [DEFINER=x] [SQL SECURITY x] VIEW ..`.
    pub(super) fn create_view_or_program(&mut self) -> Result<Statement> {
        let or_replace = self.eat(Kw::OR);
        if or_replace {
            self.expect(Kw::REPLACE)?;
            if self.is(Kw::SPATIAL) {
                return self.unsupported("CREATE SPATIAL REFERENCE SYSTEM");
            }
        }
        self.view_or_program(or_replace, false)
    }

    /// Behind ALTER.
    pub(super) fn alter_view_or_event(&mut self) -> Result<Statement> {
        self.view_or_program(false, true)
    }

    fn view_or_program(&mut self, or_replace: bool, alter: bool) -> Result<Statement> {
        let mut algorithm = None;
        let mut definer = None;
        let mut invoker = None;
        if self.eat(Kw::ALGORITHM) {
            self.expect_op(Op::Eq)?;
            let word = self.expect_any(&[Kw::UNDEFINED, Kw::MERGE, Kw::TEMPTABLE])?;
            algorithm = Some(word.as_str().to_string());
        }
        if self.eat(Kw::DEFINER) {
            self.expect_op(Op::Eq)?;
            definer = Some(self.user()?);
        }
        if self.eat(Kw::SQL) {
            self.expect(Kw::SECURITY)?;
            invoker = Some(self.expect_any(&[Kw::DEFINER, Kw::INVOKER])? == Kw::INVOKER);
        }
        let verb = if alter { "ALTER" } else { "CREATE" };
        match self.kind() {
            Tok::Kw(Kw::VIEW) => self.bump(),
            Tok::Kw(kw @ (Kw::PROCEDURE | Kw::FUNCTION)) if !alter && algorithm.is_none() && !or_replace => {
                let kind = if kw == Kw::FUNCTION { ProgramKind::Function } else { ProgramKind::Procedure };
                return self.create_routine(kind, definer);
            }
            Tok::Kw(Kw::TRIGGER) if !alter && algorithm.is_none() && !or_replace && invoker.is_none() => {
                return self.create_trigger(definer);
            }
            Tok::Kw(Kw::TRIGGER) => return self.fail(),
            Tok::Kw(Kw::EVENT) if algorithm.is_some() || or_replace || invoker.is_some() => return self.fail(),
            Tok::Kw(Kw::EVENT) => {
                return if alter { self.alter_event(definer) } else { self.create_event(definer) };
            }
            Tok::Kw(kw @ (Kw::PROCEDURE | Kw::FUNCTION)) => {
                return self.unsupported_program(&format!("{verb} {}", kw.as_str()));
            }
            Tok::Kw(Kw::AGGREGATE) => return self.unsupported_program("CREATE FUNCTION"),
            _ => return self.fail(),
        }
        let if_not_exists = if alter || or_replace { false } else { self.if_not_exists()? };
        let name = self.name()?;
        let columns = self.opt_ident_list()?;
        self.expect(Kw::AS)?;
        let start = self.start();
        if !self.at_query() && !self.is_op(Op::LParen) {
            return self.fail();
        }
        let query = Box::new(self.query()?);
        let text = self.text_since(start);
        let check_option = self.check_option()?;
        Ok(Statement::CreateView(Box::new(CreateView {
            or_replace,
            alter,
            if_not_exists,
            algorithm,
            definer,
            invoker,
            name,
            columns,
            query,
            text,
            check_option,
        })))
    }

    /// `WITH [CASCADED|LOCAL] CHECK OPTION`
    fn check_option(&mut self) -> Result<Option<CheckOption>> {
        if !self.eat(Kw::WITH) {
            return Ok(None);
        }
        let local = self.eat_any(&[Kw::CASCADED, Kw::LOCAL]) == Some(Kw::LOCAL);
        self.expect_all(&[Kw::CHECK, Kw::OPTION])?;
        Ok(Some(if local { CheckOption::Local } else { CheckOption::Cascaded }))
    }
}
