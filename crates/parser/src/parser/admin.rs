//! EXPLAIN, DESCRIBE, KILL, PREPARE and its kin, HANDLER, XA.

use super::{Parser, Result};
use crate::ast::*;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};

/// Bytes of each part of an XA id.
const XID_PART_BYTES_MAX: usize = 64;

impl Parser<'_> {
    /// Behind ALTER.
    pub(super) fn alter_instance(&mut self) -> Result<Statement> {
        self.bump();
        let Tok::Kw(kw) = self.tok.tok else { return self.fail() };
        let action = match kw {
            Kw::RELOAD => {
                self.bump();
                if self.eat(Kw::KEYRING) { AlterInstance::ReloadKeyring } else { self.reload_tls()? }
            }
            Kw::ROTATE => {
                self.bump();
                let action = match () {
                    () if self.is(Kw::BINLOG) => AlterInstance::RotateBinlogMasterKey,
                    () if self.is_named("INNODB") => AlterInstance::RotateInnodbMasterKey,
                    () => return self.fail(),
                };
                self.bump();
                self.expect(Kw::MASTER)?;
                self.expect(Kw::KEY)?;
                action
            }
            Kw::ENABLE | Kw::DISABLE => {
                self.bump();
                for name in ["INNODB", "REDO_LOG"] {
                    if !self.is_named(name) {
                        return self.fail();
                    }
                    self.bump();
                }
                AlterInstance::RedoLog(kw == Kw::ENABLE)
            }
            _ => return self.fail(),
        };
        Ok(Statement::AlterInstance(action))
    }

    fn reload_tls(&mut self) -> Result<AlterInstance> {
        self.expect(Kw::TLS)?;
        let mut channel = None;
        if self.eat(Kw::FOR) {
            self.expect(Kw::CHANNEL)?;
            channel = Some(self.ident()?);
        }
        let keeps_errors = self.eat(Kw::NO);
        if keeps_errors {
            [Kw::ROLLBACK, Kw::ON, Kw::ERROR].into_iter().try_for_each(|kw| self.expect(kw))?;
        }
        Ok(AlterInstance::ReloadTls { channel, keeps_errors })
    }

    fn is_named(&self, name: &str) -> bool {
        self.at_ident() && self.text().eq_ignore_ascii_case(name.as_bytes())
    }

    pub(super) fn explain(&mut self) -> Result<Statement> {
        self.bump();
        let mut explain = Explain {
            analyze: self.eat(Kw::ANALYZE),
            format: None,
            into: None,
            schema: None,
            target: ExplainTarget::Connection(0),
        };
        if self.is(Kw::FORMAT) && self.peek() == Tok::Op(Op::Eq) {
            self.bump();
            self.bump();
            explain.format = Some(self.ident_or_text()?);
        }
        if self.eat(Kw::INTO) {
            explain.into = Some(self.at_name()?);
        }
        if self.is(Kw::FOR) {
            self.bump();
            if self.eat(Kw::CONNECTION) {
                explain.target = ExplainTarget::Connection(self.number()?);
                return Ok(Statement::Explain(Box::new(explain)));
            }
            self.expect_any(&[Kw::SCHEMA, Kw::DATABASE])?;
            explain.schema = Some(self.ident()?);
        }
        let plain = !explain.analyze && explain.format.is_none() && explain.into.is_none();
        if plain && explain.schema.is_none() && self.at_ident() {
            return self.describe();
        }
        let explainable =
            self.at_query() || self.is_op(Op::LParen) || self.is_any(&[Kw::INSERT, Kw::REPLACE, Kw::UPDATE, Kw::DELETE]);
        if !explainable {
            return self.fail();
        }
        let start = self.start();
        let statement = self.nested(Self::statement)?;
        let text = self.text_since(start);
        explain.target = ExplainTarget::Statement { statement, text };
        Ok(Statement::Explain(Box::new(explain)))
    }

    fn describe(&mut self) -> Result<Statement> {
        let table = self.name()?;
        let column = if self.at_ident() || self.tok.tok == Tok::Str { Some(self.ident_or_text()?) } else { None };
        Ok(Statement::Describe { table, column })
    }

    pub(super) fn kill(&mut self) -> Result<Statement> {
        self.bump();
        let option = self.is_any(&[Kw::QUERY, Kw::CONNECTION]) && !matches!(self.peek(), Tok::Eof | Tok::Op(_));
        let query_only = option && self.is(Kw::QUERY);
        if option {
            self.bump();
        }
        Ok(Statement::Kill { query_only, id: self.expr()? })
    }

    /// PREPARE, EXECUTE, DEALLOCATE PREPARE.
    pub(super) fn prepared(&mut self, kw: Kw) -> Result<Statement> {
        self.bump();
        match kw {
            Kw::PREPARE => {
                let name = self.ident()?;
                self.expect(Kw::FROM)?;
                let source = if self.tok.tok == Tok::At {
                    PrepareSource::UserVar(self.at_name()?)
                } else {
                    PrepareSource::Text(self.string()?)
                };
                Ok(Statement::Prepare { name, source })
            }
            Kw::EXECUTE => {
                let name = self.ident()?;
                let using = if self.eat(Kw::USING) { self.comma_list(Self::at_name)? } else { Vec::new() };
                Ok(Statement::Execute { name, using })
            }
            _ => {
                self.expect(Kw::PREPARE)?;
                Ok(Statement::Deallocate(self.ident()?))
            }
        }
    }

    pub(super) fn handler(&mut self) -> Result<Statement> {
        self.bump();
        let table = self.name()?;
        // What is open has an alias, and no database.
        let known: &[Kw] = if table.db.is_some() { &[Kw::OPEN] } else { &[Kw::OPEN, Kw::CLOSE, Kw::READ] };
        let kw = self.expect_any(known)?;
        Ok(Statement::Handler(match kw {
            Kw::OPEN => Handler::Open { table, alias: self.opt_alias()? },
            Kw::CLOSE => Handler::Close { table },
            _ => self.handler_read(table)?,
        }))
    }

    fn handler_read(&mut self, table: Name) -> Result<Handler> {
        const STEPS: [Kw; 4] = [Kw::FIRST, Kw::NEXT, Kw::PREV, Kw::LAST];
        let index = if self.is_any(&[Kw::FIRST, Kw::NEXT]) { None } else { Some(self.ident()?) };
        let how = if let Some(op) =
            self.comparison().filter(|op| index.is_some() && !matches!(op, BinaryOp::Ne | BinaryOp::NullSafeEq))
        {
            self.bump();
            HandlerRead::Key { op, values: self.paren_list(Self::expr_or_default)? }
        } else {
            match self.expect_any(&STEPS)? {
                Kw::FIRST => HandlerRead::First,
                Kw::NEXT => HandlerRead::Next,
                Kw::PREV => HandlerRead::Prev,
                _ => HandlerRead::Last,
            }
        };
        let filter = self.opt_where()?;
        let limit = self.limit()?;
        Ok(Handler::Read { table, index, how, filter, limit })
    }

    pub(super) fn xa(&mut self) -> Result<Statement> {
        const VERBS: [Kw; 7] = [Kw::START, Kw::BEGIN, Kw::END, Kw::PREPARE, Kw::COMMIT, Kw::ROLLBACK, Kw::RECOVER];
        self.bump();
        let verb = self.expect_any(&VERBS)?;
        if verb == Kw::RECOVER {
            let convert_xid = self.eat(Kw::CONVERT);
            if convert_xid {
                self.expect(Kw::XID)?;
            }
            return Ok(Statement::Xa(Xa::Recover { convert_xid }));
        }
        let xid = self.xid()?;
        Ok(Statement::Xa(match verb {
            Kw::START | Kw::BEGIN => {
                let word = self.eat_any(&[Kw::JOIN, Kw::RESUME]);
                let (join, resume) = (word == Some(Kw::JOIN), word == Some(Kw::RESUME));
                Xa::Start { xid, join, resume }
            }
            Kw::END => {
                let suspend = self.eat(Kw::SUSPEND);
                let for_migrate = suspend && self.eat(Kw::FOR);
                if for_migrate {
                    self.expect(Kw::MIGRATE)?;
                }
                Xa::End { xid, suspend, for_migrate }
            }
            Kw::PREPARE => Xa::Prepare(xid),
            Kw::COMMIT => {
                let one_phase = self.eat(Kw::ONE);
                if one_phase {
                    self.expect(Kw::PHASE)?;
                }
                Xa::Commit { xid, one_phase }
            }
            _ => Xa::Rollback(xid),
        }))
    }

    fn xid(&mut self) -> Result<Xid> {
        let mut xid = Xid { gtrid: self.xid_part()?, bqual: Vec::new(), format_id: 1 };
        if self.eat_op(Op::Comma) {
            xid.bqual = self.xid_part()?;
            if self.eat_op(Op::Comma) {
                xid.format_id = self.number()?;
            }
        }
        Ok(xid)
    }

    fn xid_part(&mut self) -> Result<Vec<u8>> {
        let part = self.text_or_hex()?;
        if part.len() > XID_PART_BYTES_MAX { self.fail() } else { Ok(part) }
    }
}
