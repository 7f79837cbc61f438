//! ANALYZE, CHECK, OPTIMIZE, REPAIR, CHECKSUM TABLE; FLUSH, RESET, LOCK and UNLOCK.

use super::{Parser, Result};
use crate::ast::*;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};

impl Parser<'_> {
    pub(super) fn maintenance(&mut self, kw: Kw) -> Result<Statement> {
        self.bump();
        let kind = match kw {
            Kw::ANALYZE => MaintenanceKind::Analyze,
            Kw::CHECK => MaintenanceKind::Check,
            Kw::CHECKSUM => MaintenanceKind::Checksum,
            Kw::OPTIMIZE => MaintenanceKind::Optimize,
            _ => MaintenanceKind::Repair,
        };
        let no_binlog =
            matches!(kw, Kw::ANALYZE | Kw::OPTIMIZE | Kw::REPAIR) && self.eat_any(&[Kw::NO_WRITE_TO_BINLOG, Kw::LOCAL]).is_some();
        self.expect_any(&[Kw::TABLE, Kw::TABLES])?;
        let tables = self.name_list()?;
        let mut statement = TableMaintenance { kind, no_binlog, tables, options: Vec::new(), histogram: None };
        let allowed: &[Kw] = match kind {
            MaintenanceKind::Check => &[Kw::FOR, Kw::QUICK, Kw::FAST, Kw::MEDIUM, Kw::EXTENDED, Kw::CHANGED],
            MaintenanceKind::Repair => &[Kw::QUICK, Kw::EXTENDED, Kw::USE_FRM],
            MaintenanceKind::Checksum => &[Kw::QUICK, Kw::EXTENDED],
            MaintenanceKind::Analyze if self.is_any(&[Kw::UPDATE, Kw::DROP]) => {
                statement.histogram = Some(self.histogram()?);
                &[]
            }
            _ => &[],
        };
        while let Some(option) = self.eat_any(allowed) {
            if option == Kw::FOR {
                self.expect(Kw::UPGRADE)?;
                statement.options.push("FOR UPGRADE".to_string());
            } else {
                statement.options.push(option.as_str().to_string());
            }
        }
        Ok(Statement::TableMaintenance(statement))
    }

    /// `UPDATE|DROP HISTOGRAM ON a, b [..]`
    fn histogram(&mut self) -> Result<Histogram> {
        let drop = self.is(Kw::DROP);
        self.bump();
        self.expect_all(&[Kw::HISTOGRAM, Kw::ON])?;
        let columns = self.ident_list()?;
        let mut histogram = Histogram { drop, columns, buckets: None, data: None, auto_update: None };
        if drop {
            return Ok(histogram);
        }
        if self.eat(Kw::WITH) {
            histogram.buckets = Some(self.number()?);
            self.expect(Kw::BUCKETS)?;
        }
        if let Some(kw) = self.eat_any(&[Kw::AUTO, Kw::MANUAL]) {
            self.expect(Kw::UPDATE)?;
            histogram.auto_update = Some(kw == Kw::AUTO);
        } else if self.eat(Kw::USING) {
            self.expect(Kw::DATA)?;
            histogram.data = Some(self.string()?);
        }
        Ok(histogram)
    }

    pub(super) fn flush(&mut self) -> Result<Statement> {
        self.bump();
        let no_binlog = self.eat_any(&[Kw::NO_WRITE_TO_BINLOG, Kw::LOCAL]).is_some();
        if self.eat_any(&[Kw::TABLES, Kw::TABLE]).is_some() {
            let tables = if self.at_ident() { self.name_list()? } else { Vec::new() };
            let (mut with_read_lock, mut for_export) = (false, false);
            if self.eat(Kw::WITH) {
                self.expect_all(&[Kw::READ, Kw::LOCK])?;
                with_read_lock = true;
            } else if !tables.is_empty() && self.eat(Kw::FOR) {
                self.expect(Kw::EXPORT)?;
                for_export = true;
            }
            let what = FlushWhat::Tables { tables, with_read_lock, for_export };
            return Ok(Statement::Flush(Flush { no_binlog, what }));
        }
        let what = FlushWhat::Options(self.comma_list(Self::flush_option)?);
        Ok(Statement::Flush(Flush { no_binlog, what }))
    }

    fn flush_option(&mut self) -> Result<String> {
        let kw = self.expect_any(&[
            Kw::ERROR,
            Kw::ENGINE,
            Kw::GENERAL,
            Kw::SLOW,
            Kw::BINARY,
            Kw::RELAY,
            Kw::HOSTS,
            Kw::PRIVILEGES,
            Kw::LOGS,
            Kw::STATUS,
            Kw::USER_RESOURCES,
            Kw::OPTIMIZER_COSTS,
        ])?;
        let mut option = kw.as_str().to_string();
        if matches!(kw, Kw::ERROR | Kw::ENGINE | Kw::GENERAL | Kw::SLOW | Kw::BINARY | Kw::RELAY) {
            self.expect(Kw::LOGS)?;
            option.push_str(" LOGS");
        }
        if kw == Kw::RELAY {
            self.opt_channel()?;
        }
        Ok(option)
    }

    /// `FOR CHANNEL 'x'`
    pub(super) fn opt_channel(&mut self) -> Result<Option<Vec<u8>>> {
        if !self.eat(Kw::FOR) {
            return Ok(None);
        }
        self.expect(Kw::CHANNEL)?;
        Ok(Some(self.string()?))
    }

    pub(super) fn reset(&mut self) -> Result<Statement> {
        self.bump();
        if self.is_any(&[Kw::REPLICA, Kw::SLAVE]) && !self.is_in_reset_list() {
            return self.reset_replica();
        }
        if self.eat(Kw::PERSIST) {
            let if_exists = self.if_exists()?;
            let name = if if_exists || self.at_ident() { Some(self.name()?) } else { None };
            let name = name.map(|name| name.db.map_or(String::new(), |db| db + ".") + &name.name);
            return Ok(Statement::Reset(vec![ResetOption::Persist { if_exists, name }]));
        }
        Ok(Statement::Reset(self.comma_list(Self::reset_option)?))
    }

    /// Whether a comma follows in this statement.
    fn is_in_reset_list(&self) -> bool {
        let ends = |tok: &Tok| matches!(tok, Tok::Eof | Tok::Op(Op::Semicolon));
        self.peek_all().take_while(|tok| !ends(tok)).any(|tok| tok == Tok::Op(Op::Comma))
    }

    fn reset_option(&mut self) -> Result<ResetOption> {
        const OPTIONS: [Kw; 4] = [Kw::MASTER, Kw::BINARY, Kw::REPLICA, Kw::SLAVE];
        let kw = self.expect_any(&OPTIONS)?;
        Ok(match kw {
            Kw::MASTER | Kw::BINARY => {
                // MASTER was the word before MySQL 8.2, and is MariaDB's.
                if kw == Kw::BINARY {
                    self.expect_all(&[Kw::LOGS, Kw::AND, Kw::GTIDS])?;
                }
                ResetOption::BinaryLogsAndGtids { first: if self.eat(Kw::TO) { Some(self.number()?) } else { None } }
            }
            _ => ResetOption::Replica(self.reset_replica_option()?),
        })
    }

    pub(super) fn binlog(&mut self) -> Result<Statement> {
        self.bump();
        Ok(Statement::Binlog(if self.tok.tok == Tok::At {
            let first = self.at_name()?;
            self.expect_op(Op::Comma)?;
            BinlogEvents::Fragments(first, self.at_name()?)
        } else {
            BinlogEvents::Text(self.string()?)
        }))
    }

    pub(super) fn purge_logs(&mut self) -> Result<Statement> {
        self.bump();
        self.expect_any(&[Kw::BINARY, Kw::MASTER])?;
        self.expect(Kw::LOGS)?;
        Ok(Statement::PurgeLogs(match self.expect_any(&[Kw::TO, Kw::BEFORE])? {
            Kw::TO => PurgeLogs::To(self.string()?),
            _ => PurgeLogs::Before(self.expr()?),
        }))
    }

    pub(super) fn clone_local(&mut self) -> Result<Statement> {
        self.bump();
        self.expect_all(&[Kw::LOCAL, Kw::DATA, Kw::DIRECTORY])?;
        self.eat_op(Op::Eq);
        Ok(Statement::CloneLocal(self.string()?))
    }

    pub(super) fn lock_or_unlock(&mut self, kw: Kw) -> Result<Statement> {
        self.bump();
        let lock = kw == Kw::LOCK;
        if self.eat(Kw::INSTANCE) {
            if lock {
                self.expect_all(&[Kw::FOR, Kw::BACKUP])?;
                return Ok(Statement::LockInstance);
            }
            return Ok(Statement::UnlockInstance);
        }
        self.expect_any(&[Kw::TABLE, Kw::TABLES])?;
        if !lock {
            return Ok(Statement::UnlockTables);
        }
        Ok(Statement::LockTables(self.comma_list(|p| {
            let table = p.name()?;
            let alias = p.opt_alias()?;
            let kind = match p.expect_any(&[Kw::READ, Kw::WRITE, Kw::LOW_PRIORITY])? {
                Kw::READ if p.eat(Kw::LOCAL) => TableLockKind::ReadLocal,
                Kw::READ => TableLockKind::Read,
                Kw::WRITE => TableLockKind::Write,
                _ => {
                    p.expect(Kw::WRITE)?;
                    TableLockKind::Write
                }
            };
            Ok(TableLock { table, alias, kind })
        })?))
    }
}
