//! SHOW: databases, tables, columns, indexes, variables, and what else takes LIKE or WHERE.

use super::{Parser, Result};
use crate::ast::*;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};

impl Parser<'_> {
    pub(super) fn show(&mut self) -> Result<Statement> {
        self.bump();
        let extended = self.eat(Kw::EXTENDED);
        let full = self.eat(Kw::FULL);
        let Tok::Kw(kw) = self.tok.tok else { return self.fail() };
        let allowed = match kw {
            Kw::COLUMNS | Kw::FIELDS | Kw::TABLES => true,
            Kw::INDEX | Kw::INDEXES | Kw::KEYS => !full,
            Kw::PROCESSLIST | Kw::TRIGGERS => !extended,
            _ => !extended && !full,
        };
        if !allowed {
            return self.fail();
        }
        let show = match kw {
            Kw::COLUMNS | Kw::FIELDS => self.show_columns(extended, full)?,
            Kw::INDEX | Kw::INDEXES | Kw::KEYS => self.show_index(extended)?,
            Kw::TABLES => {
                self.bump();
                let db = self.opt_from_db()?;
                Show::Tables { extended, full, db, filter: self.show_filter()? }
            }
            Kw::TRIGGERS => {
                self.bump();
                let db = self.opt_from_db()?;
                Show::Triggers { full, db, filter: self.show_filter()? }
            }
            Kw::PROCESSLIST => {
                self.bump();
                Show::Processlist { full }
            }
            _ => self.show_listed(kw)?,
        };
        Ok(Statement::Show(show))
    }

    /// `LIKE 'x'` or `WHERE expr`
    pub(super) fn show_filter(&mut self) -> Result<Filter> {
        if self.eat(Kw::LIKE) {
            return Ok(Some(ShowFilter::Like(self.string()?)));
        }
        Ok(self.opt_where()?.map(ShowFilter::Where))
    }

    /// `FROM db` or `IN db`
    fn opt_from_db(&mut self) -> Result<Option<String>> {
        if self.eat_any(&[Kw::FROM, Kw::IN]).is_some() { self.ident().map(Some) } else { Ok(None) }
    }

    /// `FROM table [FROM db]`
    fn expect_from_table(&mut self) -> Result<Name> {
        self.expect_any(&[Kw::FROM, Kw::IN])?;
        let mut table = self.name()?;
        if let Some(db) = self.opt_from_db()? {
            table.db = Some(db);
        }
        Ok(table)
    }

    fn show_columns(&mut self, extended: bool, full: bool) -> Result<Show> {
        self.bump();
        let table = self.expect_from_table()?;
        Ok(Show::Columns { extended, full, table, filter: self.show_filter()? })
    }

    fn show_index(&mut self, extended: bool) -> Result<Show> {
        self.bump();
        let table = self.expect_from_table()?;
        Ok(Show::Index { extended, table, filter: self.opt_where()? })
    }

    /// Lists that may be filtered.
    fn show_listed(&mut self, kw: Kw) -> Result<Show> {
        Ok(match kw {
            Kw::DATABASES | Kw::SCHEMAS => {
                self.bump();
                Show::Databases(self.show_filter()?)
            }
            Kw::TABLE => {
                self.bump();
                self.expect(Kw::STATUS)?;
                let db = self.opt_from_db()?;
                Show::TableStatus { db, filter: self.show_filter()? }
            }
            Kw::OPEN => {
                self.bump();
                self.expect(Kw::TABLES)?;
                let db = self.opt_from_db()?;
                Show::OpenTables { db, filter: self.show_filter()? }
            }
            Kw::GLOBAL | Kw::SESSION | Kw::LOCAL => {
                self.bump();
                let scope = if kw == Kw::GLOBAL { VarScope::Global } else { VarScope::Session };
                let word = self.expect_any(&[Kw::VARIABLES, Kw::STATUS])?;
                self.show_variables(word, scope)?
            }
            Kw::VARIABLES | Kw::STATUS => {
                self.bump();
                self.show_variables(kw, VarScope::Default)?
            }
            Kw::COLLATION => {
                self.bump();
                Show::Collation(self.show_filter()?)
            }
            Kw::CHARSET | Kw::CHARACTER | Kw::CHAR => {
                if !self.eat_character_set() {
                    self.bump();
                    return self.fail();
                }
                Show::Charset(self.show_filter()?)
            }
            Kw::EVENTS => {
                self.bump();
                let db = self.opt_from_db()?;
                Show::Events { db, filter: self.show_filter()? }
            }
            Kw::FUNCTION | Kw::PROCEDURE => self.show_routine(kw)?,
            _ => self.show_other(kw)?,
        })
    }

    fn show_variables(&mut self, kw: Kw, scope: VarScope) -> Result<Show> {
        let filter = self.show_filter()?;
        Ok(if kw == Kw::VARIABLES { Show::Variables { scope, filter } } else { Show::Status { scope, filter } })
    }

    fn show_routine(&mut self, kw: Kw) -> Result<Show> {
        self.bump();
        if self.expect_any(&[Kw::STATUS, Kw::CODE])? == Kw::CODE {
            let name = self.name()?;
            return Ok(if kw == Kw::FUNCTION { Show::FunctionCode(name) } else { Show::ProcedureCode(name) });
        }
        let filter = self.show_filter()?;
        Ok(if kw == Kw::FUNCTION { Show::FunctionStatus(filter) } else { Show::ProcedureStatus(filter) })
    }

    /// `( * ) WARNINGS|ERRORS` behind COUNT.
    pub(super) fn show_count(&mut self) -> Result<Show> {
        self.bump();
        self.expect_op(Op::LParen)?;
        self.expect_op(Op::Star)?;
        self.expect_op(Op::RParen)?;
        Ok(match self.expect_any(&[Kw::WARNINGS, Kw::ERRORS])? {
            Kw::WARNINGS => Show::WarningCount,
            _ => Show::ErrorCount,
        })
    }
}
