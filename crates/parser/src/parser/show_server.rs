//! SHOW: the server, its logs, accounts, and SHOW CREATE.

use super::{Parser, Result};
use crate::ast::*;
use crate::keyword::Kw;
use crate::lexer::Tok;

impl Parser<'_> {
    pub(super) fn show_other(&mut self, kw: Kw) -> Result<Show> {
        let simple = match kw {
            Kw::ENGINES => Some(Show::Engines),
            Kw::PRIVILEGES => Some(Show::Privileges),
            Kw::PLUGINS => Some(Show::Plugins),
            Kw::PROFILES => Some(Show::Profiles),
            Kw::REPLICAS => Some(Show::Replicas { old_names: false }),
            _ => None,
        };
        if let Some(show) = simple {
            self.bump();
            return Ok(show);
        }
        match kw {
            Kw::COUNT => self.show_count(),
            Kw::CREATE => self.show_create(),
            Kw::WARNINGS => {
                self.bump();
                Ok(Show::Warnings(self.limit()?))
            }
            Kw::ERRORS => {
                self.bump();
                Ok(Show::Errors(self.limit()?))
            }
            Kw::STORAGE => {
                self.bump();
                self.expect(Kw::ENGINES)?;
                Ok(Show::Engines)
            }
            Kw::ENGINE => self.show_engine(),
            Kw::GRANTS => self.show_grants(),
            Kw::PROFILE => self.show_profile(),
            Kw::PARSE_TREE => {
                self.bump();
                let start = self.start();
                self.nested(Self::statement)?;
                Ok(Show::ParseTree(self.text_since(start)))
            }
            _ => self.show_replication(kw),
        }
    }

    /// `ENGINE x STATUS|MUTEX|LOGS`
    fn show_engine(&mut self) -> Result<Show> {
        self.bump();
        let name = if self.eat(Kw::ALL) { "ALL".to_string() } else { self.ident_or_text()? };
        let what = self.expect_any(&[Kw::STATUS, Kw::MUTEX, Kw::LOGS])?;
        Ok(Show::Engine { name, what: what.as_str().to_string() })
    }

    fn show_grants(&mut self) -> Result<Show> {
        self.bump();
        let mut using = Vec::new();
        let user = if self.eat(Kw::FOR) {
            let user = self.user()?;
            if self.eat(Kw::USING) {
                using = self.user_list()?;
            }
            Some(user)
        } else {
            None
        };
        Ok(Show::Grants { user, using })
    }

    /// `PROFILE [ALL, CPU, BLOCK IO, ..] [FOR QUERY n] [LIMIT ..]`
    fn show_profile(&mut self) -> Result<Show> {
        const TYPES: [Kw; 9] = [Kw::ALL, Kw::BLOCK, Kw::CONTEXT, Kw::CPU, Kw::IPC, Kw::MEMORY, Kw::PAGE, Kw::SOURCE, Kw::SWAPS];
        self.bump();
        let mut types = Vec::new();
        if self.is_any(&TYPES) {
            types = self.comma_list(|p| {
                let kw = p.expect_any(&TYPES)?;
                let second = match kw {
                    Kw::BLOCK => Some(Kw::IO),
                    Kw::CONTEXT => Some(Kw::SWITCHES),
                    Kw::PAGE => Some(Kw::FAULTS),
                    _ => None,
                };
                let mut name = kw.as_str().to_string();
                if let Some(second) = second {
                    p.expect(second)?;
                    name.push(' ');
                    name.push_str(second.as_str());
                }
                Ok(name)
            })?;
        }
        let mut query = None;
        if self.eat(Kw::FOR) {
            self.expect(Kw::QUERY)?;
            query = Some(self.number()?);
        }
        Ok(Show::Profile { types, query, limit: self.limit()? })
    }

    /// Binary logs and replicas, in the words of MySQL 8.4 and of those before it.
    fn show_replication(&mut self, kw: Kw) -> Result<Show> {
        match kw {
            Kw::BINARY => {
                self.bump();
                if self.eat(Kw::LOGS) {
                    return Ok(Show::BinaryLogs);
                }
                self.expect_all(&[Kw::LOG, Kw::STATUS])?;
                Ok(Show::BinaryLogStatus)
            }
            Kw::MASTER => {
                self.bump();
                Ok(match self.expect_any(&[Kw::STATUS, Kw::LOGS])? {
                    Kw::STATUS => Show::BinaryLogStatus,
                    _ => Show::BinaryLogs,
                })
            }
            Kw::SLAVE => {
                self.bump();
                if self.eat(Kw::HOSTS) {
                    return Ok(Show::Replicas { old_names: true });
                }
                self.expect(Kw::STATUS)?;
                Ok(Show::ReplicaStatus { old_names: true, channel: self.opt_channel()? })
            }
            Kw::REPLICA => {
                self.bump();
                self.expect(Kw::STATUS)?;
                Ok(Show::ReplicaStatus { old_names: false, channel: self.opt_channel()? })
            }
            Kw::BINLOG | Kw::RELAYLOG => self.show_log_events(kw == Kw::RELAYLOG),
            _ => self.fail(),
        }
    }

    fn show_log_events(&mut self, relay: bool) -> Result<Show> {
        self.bump();
        self.expect(Kw::EVENTS)?;
        let log = if self.eat(Kw::IN) { Some(self.string()?) } else { None };
        let from = if self.eat(Kw::FROM) { Some(self.number()?) } else { None };
        let limit = self.limit()?;
        let channel = if relay { self.opt_channel()? } else { None };
        Ok(Show::BinlogEvents { relay, log, from, limit, channel })
    }

    fn show_create(&mut self) -> Result<Show> {
        self.bump();
        let Tok::Kw(kw) = self.tok.tok else { return self.fail() };
        match kw {
            Kw::DATABASE | Kw::SCHEMA => {
                self.bump();
                let if_not_exists = self.if_not_exists()?;
                Ok(Show::CreateDatabase { if_not_exists, name: self.database_name()? })
            }
            Kw::USER => {
                self.bump();
                Ok(Show::CreateUser(self.user()?))
            }
            Kw::TABLE | Kw::VIEW | Kw::TRIGGER | Kw::PROCEDURE | Kw::FUNCTION | Kw::EVENT => {
                self.bump();
                let name = self.name()?;
                Ok(match kw {
                    Kw::TABLE => Show::CreateTable(name),
                    Kw::VIEW => Show::CreateView(name),
                    Kw::TRIGGER => Show::CreateTrigger(name),
                    Kw::PROCEDURE => Show::CreateProcedure(name),
                    Kw::FUNCTION => Show::CreateFunction(name),
                    _ => Show::CreateEvent(name),
                })
            }
            _ => self.fail(),
        }
    }
}
