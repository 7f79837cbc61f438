//! The first word decides: which family a statement belongs to.
//!
//! Statements that MySQL has and this server does not carry out are read to their end and come
//! back as `Statement::Unsupported`. A stored program's body may hold semicolons, so CREATE
//! PROCEDURE and its kin take the whole text.

use super::{Parser, Result};
use crate::ast::*;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};

impl Parser<'_> {
    pub(super) fn statement(&mut self) -> Result<Statement> {
        let kw = match self.kind() {
            Tok::Kw(kw) => kw,
            Tok::Op(Op::LParen) => return self.query_statement(None),
            _ => return self.fail(),
        };
        match kw {
            Kw::SELECT | Kw::VALUES | Kw::TABLE => self.query_statement(None),
            Kw::WITH => self.with_statement(),
            Kw::INSERT | Kw::REPLACE => self.insert(),
            Kw::UPDATE => self.update(None),
            Kw::DELETE => self.delete(None),
            Kw::SET => self.set(),
            Kw::SHOW => self.show(),
            Kw::BEGIN | Kw::START | Kw::COMMIT | Kw::ROLLBACK | Kw::SAVEPOINT | Kw::RELEASE => self.transaction(kw),
            Kw::CREATE | Kw::ALTER | Kw::DROP | Kw::RENAME | Kw::TRUNCATE => self.definition(kw),
            Kw::GRANT | Kw::REVOKE => self.grant_or_revoke(kw),
            _ => self.other_statement(kw),
        }
    }

    fn query_statement(&mut self, with: Option<With>) -> Result<Statement> {
        Ok(Statement::Query(Box::new(self.query_after_with(with)?)))
    }

    fn with_statement(&mut self) -> Result<Statement> {
        let with = Some(self.with()?);
        match self.kind() {
            Tok::Kw(Kw::UPDATE) => self.update(with),
            Tok::Kw(Kw::DELETE) => self.delete(with),
            _ => self.query_statement(with),
        }
    }

    fn other_statement(&mut self, kw: Kw) -> Result<Statement> {
        match kw {
            Kw::USE => {
                self.bump();
                Ok(Statement::Use(self.database_name()?))
            }
            Kw::DO => {
                self.bump();
                Ok(Statement::Do(self.comma_list(|p| {
                    let expr = p.expr()?;
                    p.opt_select_alias()?;
                    Ok(expr)
                })?))
            }
            Kw::CALL => self.call_procedure(),
            Kw::SIGNAL | Kw::RESIGNAL => self.signal(kw == Kw::RESIGNAL),
            Kw::GET => self.get_diagnostics(),
            Kw::LOAD => self.load(),
            Kw::HANDLER => self.handler(),
            Kw::EXPLAIN | Kw::DESCRIBE | Kw::DESC => self.explain(),
            Kw::KILL => self.kill(),
            Kw::PREPARE | Kw::EXECUTE | Kw::DEALLOCATE => self.prepared(kw),
            Kw::ANALYZE | Kw::CHECK | Kw::CHECKSUM | Kw::OPTIMIZE | Kw::REPAIR => self.maintenance(kw),
            Kw::FLUSH => self.flush(),
            Kw::LOCK | Kw::UNLOCK => self.lock_or_unlock(kw),
            Kw::RESET => self.reset(),
            Kw::PURGE => self.purge_logs(),
            Kw::BINLOG => self.binlog(),
            Kw::XA => self.xa(),
            Kw::HELP => {
                self.bump();
                Ok(Statement::Help(self.ident_or_text()?.into_bytes()))
            }
            Kw::SHUTDOWN => {
                self.bump();
                Ok(Statement::Shutdown)
            }
            Kw::RESTART => {
                self.bump();
                Ok(Statement::Restart)
            }
            Kw::STOP if matches!(self.peek(), Tok::Kw(Kw::REPLICA | Kw::SLAVE)) => {
                self.bump();
                self.run_replica(false)
            }
            Kw::CLONE if self.peek() == Tok::Kw(Kw::LOCAL) => self.clone_local(),
            Kw::CHANGE => match self.change_replication()? {
                Some(change) => Ok(change),
                None => self.unsupported_statement(kw),
            },
            _ => self.unsupported_statement(kw),
        }
    }

    fn unsupported_statement(&mut self, kw: Kw) -> Result<Statement> {
        let second = self.peek();
        let known = match kw {
            Kw::CACHE | Kw::CHANGE | Kw::CLONE | Kw::IMPORT | Kw::INSTALL | Kw::STOP | Kw::UNINSTALL => second != Tok::Eof,
            _ => false,
        };
        if !known {
            return self.fail();
        }
        let what = match second {
            Tok::Kw(next) => format!("{} {}", kw.as_str(), next.as_str()),
            _ => kw.as_str().to_string(),
        };
        if matches!(kw, Kw::INSTALL | Kw::UNINSTALL) {
            return self.library(kw == Kw::INSTALL, &what);
        }
        self.unsupported(&what)
    }

    /// INSTALL and UNINSTALL, of what the server would have to load.
    fn library(&mut self, install: bool, what: &str) -> Result<Statement> {
        self.bump();
        let library = if self.expect_any(&[Kw::PLUGIN, Kw::COMPONENT])? == Kw::COMPONENT {
            let urn = self.ident_or_text()?;
            if install { Library::Component(urn) } else { Library::NoComponent(urn) }
        } else {
            let name = self.ident()?;
            if install {
                self.expect(Kw::SONAME)?;
                Library::Plugin { name, file: self.ident_or_text()? }
            } else {
                Library::NoPlugin(name)
            }
        };
        match self.unsupported(what)? {
            Statement::Unsupported { what, .. } => Ok(Statement::Unsupported { what, library: Some(library) }),
            other => Ok(other),
        }
    }

    /// Skips to the end of the statement.
    pub(super) fn unsupported(&mut self, what: &str) -> Result<Statement> {
        loop {
            match self.kind() {
                Tok::Eof | Tok::Op(Op::Semicolon) => {
                    return Ok(Statement::Unsupported { what: what.to_string(), library: None });
                }
                Tok::Bad => return self.fail(),
                _ => self.bump(),
            }
        }
    }

    /// Skips to the end of the text: a stored program.
    pub(super) fn unsupported_program(&mut self, what: &str) -> Result<Statement> {
        while self.tok.tok != Tok::Eof {
            if self.tok.tok == Tok::Bad {
                return self.fail();
            }
            self.bump();
        }
        Ok(Statement::Unsupported { what: what.to_string(), library: None })
    }

    fn call_procedure(&mut self) -> Result<Statement> {
        self.bump();
        let name = self.name()?;
        let mut args = Vec::new();
        if self.eat_op(Op::LParen) && !self.eat_op(Op::RParen) {
            args = self.expr_list()?;
            self.expect_op(Op::RParen)?;
        }
        Ok(Statement::Call { name, args })
    }

    /// CREATE, ALTER, DROP, RENAME, TRUNCATE.
    fn definition(&mut self, kw: Kw) -> Result<Statement> {
        self.bump();
        match kw {
            Kw::CREATE => self.create(),
            Kw::ALTER => self.alter(),
            Kw::DROP => self.drop(),
            Kw::RENAME => {
                if self.eat(Kw::USER) {
                    return self.rename_user();
                }
                self.expect_any(&[Kw::TABLE, Kw::TABLES])?;
                Ok(Statement::RenameTable(self.comma_list(|p| {
                    let old = p.name()?;
                    p.expect(Kw::TO)?;
                    Ok((old, p.name()?))
                })?))
            }
            _ => {
                self.eat(Kw::TABLE);
                Ok(Statement::Truncate(self.name()?))
            }
        }
    }

    fn create(&mut self) -> Result<Statement> {
        let Tok::Kw(kw) = self.tok.tok else { return self.fail() };
        match kw {
            Kw::TABLE => self.create_table(false),
            Kw::TEMPORARY => {
                self.bump();
                if !self.is(Kw::TABLE) {
                    return self.fail();
                }
                self.create_table(true)
            }
            Kw::DATABASE | Kw::SCHEMA => self.create_database(),
            Kw::INDEX | Kw::UNIQUE | Kw::FULLTEXT | Kw::SPATIAL => self.create_index(),
            Kw::USER => self.create_user(),
            Kw::ROLE => self.create_role(),
            Kw::VIEW | Kw::OR | Kw::ALGORITHM | Kw::DEFINER | Kw::SQL => self.create_view_or_program(),
            Kw::PROCEDURE => self.create_routine(ProgramKind::Procedure, None),
            Kw::FUNCTION => self.create_routine(ProgramKind::Function, None),
            Kw::AGGREGATE => self.unsupported_program("CREATE FUNCTION"),
            Kw::TRIGGER => self.create_trigger(None),
            Kw::EVENT => self.create_event(None),
            Kw::SERVER => self.unsupported("CREATE SERVER"),
            Kw::TABLESPACE | Kw::UNDO => self.unsupported("CREATE TABLESPACE"),
            Kw::LOGFILE => self.unsupported("CREATE LOGFILE GROUP"),
            Kw::RESOURCE => self.unsupported("CREATE RESOURCE GROUP"),
            _ => self.fail(),
        }
    }

    fn alter(&mut self) -> Result<Statement> {
        let Tok::Kw(kw) = self.tok.tok else { return self.fail() };
        match kw {
            Kw::TABLE => self.alter_table(),
            Kw::DATABASE | Kw::SCHEMA => self.alter_database(),
            Kw::USER => self.alter_user(),
            Kw::VIEW | Kw::ALGORITHM | Kw::DEFINER | Kw::SQL => self.alter_view_or_event(),
            Kw::PROCEDURE => self.alter_routine(ProgramKind::Procedure),
            Kw::FUNCTION => self.alter_routine(ProgramKind::Function),
            Kw::EVENT => self.alter_event(None),
            Kw::SERVER => self.unsupported("ALTER SERVER"),
            Kw::TABLESPACE | Kw::UNDO => self.unsupported("ALTER TABLESPACE"),
            Kw::LOGFILE => self.unsupported("ALTER LOGFILE GROUP"),
            Kw::RESOURCE => self.unsupported("ALTER RESOURCE GROUP"),
            Kw::INSTANCE => self.alter_instance(),
            _ => self.fail(),
        }
    }

    fn drop_program(&mut self, kind: ProgramKind) -> Result<Statement> {
        self.refuse_inside(kind)?;
        let if_exists = self.if_exists()?;
        Ok(Statement::DropProgram { kind, if_exists, name: self.name()? })
    }

    fn drop(&mut self) -> Result<Statement> {
        let Tok::Kw(kw) = self.tok.tok else { return self.fail() };
        self.bump();
        match kw {
            Kw::TABLE | Kw::TABLES => self.drop_table(false),
            Kw::TEMPORARY => {
                self.expect_any(&[Kw::TABLE, Kw::TABLES])?;
                self.drop_table(true)
            }
            Kw::DATABASE | Kw::SCHEMA => {
                let if_exists = self.if_exists()?;
                Ok(Statement::DropDatabase { if_exists, name: self.database_name()? })
            }
            Kw::INDEX => self.drop_index(),
            Kw::VIEW => {
                let if_exists = self.if_exists()?;
                let names = self.name_list()?;
                self.eat_any(&[Kw::RESTRICT, Kw::CASCADE]);
                Ok(Statement::DropView { if_exists, names })
            }
            Kw::USER => {
                let if_exists = self.if_exists()?;
                Ok(Statement::DropUser { if_exists, users: self.user_list()? })
            }
            Kw::ROLE => {
                let if_exists = self.if_exists()?;
                Ok(Statement::DropRole { if_exists, roles: self.role_list()? })
            }
            Kw::PREPARE => Ok(Statement::Deallocate(self.ident()?)),
            Kw::PROCEDURE => self.drop_program(ProgramKind::Procedure),
            Kw::FUNCTION => self.drop_program(ProgramKind::Function),
            Kw::TRIGGER => self.drop_program(ProgramKind::Trigger),
            Kw::EVENT => self.drop_program(ProgramKind::Event),
            Kw::SERVER => self.unsupported("DROP SERVER"),
            Kw::TABLESPACE | Kw::UNDO => self.unsupported("DROP TABLESPACE"),
            Kw::LOGFILE => self.unsupported("DROP LOGFILE GROUP"),
            Kw::RESOURCE => self.unsupported("DROP RESOURCE GROUP"),
            Kw::SPATIAL => self.unsupported("DROP SPATIAL REFERENCE SYSTEM"),
            _ => Err(crate::error::ParseError::syntax(self.src, self.prev_end.saturating_sub(kw.as_str().len()))),
        }
    }

    fn drop_table(&mut self, temporary: bool) -> Result<Statement> {
        let if_exists = self.if_exists()?;
        let names = self.name_list()?;
        self.eat_any(&[Kw::RESTRICT, Kw::CASCADE]);
        Ok(Statement::DropTable { temporary, if_exists, names })
    }

    /// BEGIN, START TRANSACTION, COMMIT, ROLLBACK, SAVEPOINT, RELEASE SAVEPOINT.
    fn transaction(&mut self, kw: Kw) -> Result<Statement> {
        self.bump();
        match kw {
            Kw::BEGIN => {
                self.eat(Kw::WORK);
                Ok(Statement::StartTransaction { consistent_snapshot: false, access_mode: None })
            }
            Kw::START => self.start_transaction(),
            Kw::COMMIT => {
                self.eat(Kw::WORK);
                Ok(Statement::Commit(self.completion()?))
            }
            Kw::ROLLBACK => {
                self.eat(Kw::WORK);
                if self.eat(Kw::TO) {
                    self.eat(Kw::SAVEPOINT);
                    return Ok(Statement::RollbackTo(self.ident()?));
                }
                Ok(Statement::Rollback(self.completion()?))
            }
            Kw::SAVEPOINT => Ok(Statement::Savepoint(self.ident()?)),
            _ => {
                self.expect(Kw::SAVEPOINT)?;
                Ok(Statement::ReleaseSavepoint(self.ident()?))
            }
        }
    }

    fn start_transaction(&mut self) -> Result<Statement> {
        if self.is_any(&[Kw::REPLICA, Kw::SLAVE]) {
            return self.run_replica(true);
        }
        if self.is(Kw::GROUP_REPLICATION) {
            return self.unsupported("START GROUP_REPLICATION");
        }
        self.expect(Kw::TRANSACTION)?;
        let (mut consistent_snapshot, mut access_mode) = (false, None);
        if self.is_any(&[Kw::WITH, Kw::READ]) {
            self.comma_list(|p| {
                if p.eat(Kw::WITH) {
                    p.expect_all(&[Kw::CONSISTENT, Kw::SNAPSHOT])?;
                    consistent_snapshot = true;
                } else {
                    p.expect(Kw::READ)?;
                    let mode = p.access_mode()?;
                    if access_mode.is_some_and(|given| given != mode) {
                        return p.fail();
                    }
                    access_mode = Some(mode);
                }
                Ok(())
            })?;
        }
        Ok(Statement::StartTransaction { consistent_snapshot, access_mode })
    }

    /// ONLY or WRITE behind READ.
    pub(super) fn access_mode(&mut self) -> Result<AccessMode> {
        Ok(match self.expect_any(&[Kw::ONLY, Kw::WRITE])? {
            Kw::ONLY => AccessMode::ReadOnly,
            _ => AccessMode::ReadWrite,
        })
    }

    fn completion(&mut self) -> Result<Completion> {
        let mut completion = Completion::default();
        if self.eat(Kw::AND) {
            completion.chain = Some(!self.eat(Kw::NO));
            self.expect(Kw::CHAIN)?;
        }
        if self.eat(Kw::NO) {
            self.expect(Kw::RELEASE)?;
            completion.release = Some(false);
        } else if completion.chain != Some(true) && self.eat(Kw::RELEASE) {
            completion.release = Some(true);
        }
        Ok(completion)
    }
}
