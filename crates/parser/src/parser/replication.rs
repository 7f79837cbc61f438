//! CHANGE REPLICATION SOURCE TO, CHANGE REPLICATION FILTER, START, STOP and RESET REPLICA.
//!
//! The old words MASTER and SLAVE, which MySQL 9 took out of its grammar and MariaDB keeps, mean the same.

use super::{Parser, Result};
use crate::ast::*;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};

/// What stands behind an option's `=`.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Number,
    Fraction,
    Ids,
    /// One of these, without quotes.
    Word(&'static [&'static str]),
    TextOrWord(&'static [&'static str]),
    /// Or NULL.
    Account,
}

const OPTIONS: &[(&str, Form)] = &[
    ("SOURCE_HOST", Form::Text),
    ("SOURCE_USER", Form::Text),
    ("SOURCE_PASSWORD", Form::Text),
    ("SOURCE_PORT", Form::Number),
    ("SOURCE_BIND", Form::Text),
    ("NETWORK_NAMESPACE", Form::Text),
    ("SOURCE_CONNECT_RETRY", Form::Number),
    ("SOURCE_RETRY_COUNT", Form::Number),
    ("SOURCE_DELAY", Form::Number),
    ("SOURCE_HEARTBEAT_PERIOD", Form::Fraction),
    ("SOURCE_LOG_FILE", Form::Text),
    ("SOURCE_LOG_POS", Form::Number),
    ("RELAY_LOG_FILE", Form::Text),
    ("RELAY_LOG_POS", Form::Number),
    ("SOURCE_AUTO_POSITION", Form::Number),
    ("SOURCE_SSL", Form::Number),
    ("SOURCE_SSL_CA", Form::Text),
    ("SOURCE_SSL_CAPATH", Form::Text),
    ("SOURCE_SSL_CERT", Form::Text),
    ("SOURCE_SSL_CIPHER", Form::Text),
    ("SOURCE_SSL_KEY", Form::Text),
    ("SOURCE_SSL_CRL", Form::Text),
    ("SOURCE_SSL_CRLPATH", Form::Text),
    ("SOURCE_SSL_VERIFY_SERVER_CERT", Form::Number),
    ("SOURCE_TLS_VERSION", Form::Text),
    ("SOURCE_TLS_CIPHERSUITES", Form::TextOrWord(&["NULL"])),
    ("SOURCE_PUBLIC_KEY_PATH", Form::Text),
    ("GET_SOURCE_PUBLIC_KEY", Form::Number),
    ("SOURCE_COMPRESSION_ALGORITHMS", Form::Text),
    ("SOURCE_ZSTD_COMPRESSION_LEVEL", Form::Number),
    ("IGNORE_SERVER_IDS", Form::Ids),
    ("PRIVILEGE_CHECKS_USER", Form::Account),
    ("REQUIRE_ROW_FORMAT", Form::Number),
    ("REQUIRE_TABLE_PRIMARY_KEY_CHECK", Form::Word(&["STREAM", "ON", "OFF", "GENERATE"])),
    ("ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS", Form::TextOrWord(&["OFF", "LOCAL"])),
    ("SOURCE_CONNECTION_AUTO_FAILOVER", Form::Number),
    ("GTID_ONLY", Form::Number),
    // MariaDB's.
    ("SOURCE_USE_GTID", Form::Word(&["NO", "SLAVE_POS", "REPLICA_POS", "CURRENT_POS"])),
];

const POSITIONS: &[(&str, Form)] = &[
    ("SOURCE_LOG_FILE", Form::Text),
    ("SOURCE_LOG_POS", Form::Number),
    ("RELAY_LOG_FILE", Form::Text),
    ("RELAY_LOG_POS", Form::Number),
];

const SETS: &[(&str, Form)] = &[("SQL_BEFORE_GTIDS", Form::Text), ("SQL_AFTER_GTIDS", Form::Text)];

const LOGIN: &[(&str, Form)] =
    &[("USER", Form::Text), ("PASSWORD", Form::Text), ("DEFAULT_AUTH", Form::Text), ("PLUGIN_DIR", Form::Text)];

impl Parser<'_> {
    /// CHANGE REPLICATION SOURCE TO, CHANGE MASTER TO, CHANGE REPLICATION FILTER. `None`: it is another CHANGE.
    pub(super) fn change_replication(&mut self) -> Result<Option<Statement>> {
        let next: Vec<Tok> = self.peek_all().take(2).collect();
        match next[..] {
            [Tok::Kw(Kw::REPLICATION), Tok::Kw(Kw::FILTER)] => {
                self.bump();
                self.bump();
                self.bump();
                return self.change_filter().map(Some);
            }
            [Tok::Kw(Kw::REPLICATION), Tok::Kw(Kw::SOURCE)] => self.bump(),
            [Tok::Kw(Kw::MASTER), _] => {}
            _ => return Ok(None),
        }
        self.bump();
        self.bump();
        self.expect(Kw::TO)?;
        let options = self.comma_list(|p| p.source_option(OPTIONS))?;
        let channel = self.opt_channel()?;
        Ok(Some(Statement::ChangeSource(Box::new(ChangeSource { options, channel }))))
    }

    fn change_filter(&mut self) -> Result<Statement> {
        let filters = self.comma_list(Self::filter)?;
        Ok(Statement::ChangeFilter(Box::new(ChangeFilter { filters, channel: self.opt_channel()? })))
    }

    fn filter(&mut self) -> Result<GivenFilter> {
        let kind = self.expect_any(&[
            Kw::REPLICATE_DO_DB,
            Kw::REPLICATE_IGNORE_DB,
            Kw::REPLICATE_DO_TABLE,
            Kw::REPLICATE_IGNORE_TABLE,
            Kw::REPLICATE_WILD_DO_TABLE,
            Kw::REPLICATE_WILD_IGNORE_TABLE,
            Kw::REPLICATE_REWRITE_DB,
        ])?;
        self.expect_op(Op::Eq)?;
        self.expect_op(Op::LParen)?;
        let filter = match kind {
            Kw::REPLICATE_DO_DB => GivenFilter::DoDb(self.rules(Self::ident)?),
            Kw::REPLICATE_IGNORE_DB => GivenFilter::IgnoreDb(self.rules(Self::ident)?),
            Kw::REPLICATE_DO_TABLE => GivenFilter::DoTable(self.rules(Self::filtered_table)?),
            Kw::REPLICATE_IGNORE_TABLE => GivenFilter::IgnoreTable(self.rules(Self::filtered_table)?),
            Kw::REPLICATE_WILD_DO_TABLE => GivenFilter::WildDoTable(self.rules(Self::string)?),
            Kw::REPLICATE_WILD_IGNORE_TABLE => GivenFilter::WildIgnoreTable(self.rules(Self::string)?),
            _ => GivenFilter::RewriteDb(self.rules(Self::rewritten_database)?),
        };
        self.expect_op(Op::RParen)?;
        Ok(filter)
    }

    fn rules<T>(&mut self, rule: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        if self.is_op(Op::RParen) { Ok(Vec::new()) } else { self.comma_list(rule) }
    }

    fn filtered_table(&mut self) -> Result<(String, String)> {
        let name = self.name()?;
        match name.db {
            Some(database) => Ok((database, name.name)),
            None => self.fail(),
        }
    }

    fn rewritten_database(&mut self) -> Result<(String, String)> {
        self.expect_op(Op::LParen)?;
        let from = self.ident()?;
        self.expect_op(Op::Comma)?;
        let to = self.ident()?;
        self.expect_op(Op::RParen)?;
        Ok((from, to))
    }

    /// The option of `allowed` that stands here.
    fn at_option(&self, allowed: &[(&'static str, Form)]) -> Option<(&'static str, Form)> {
        if !matches!(self.kind(), Tok::Kw(_) | Tok::Ident) {
            return None;
        }
        let name = String::from_utf8_lossy(self.text()).to_ascii_uppercase();
        let name = match name.strip_prefix("MASTER_") {
            Some(rest) => format!("SOURCE_{rest}"),
            None => name.replace("GET_MASTER_", "GET_SOURCE_"),
        };
        allowed.iter().find(|(option, _)| *option == name).copied()
    }

    fn source_option(&mut self, allowed: &[(&'static str, Form)]) -> Result<SourceOption> {
        let Some((name, form)) = self.at_option(allowed) else { return self.fail() };
        self.bump();
        self.expect_op(Op::Eq)?;
        Ok(SourceOption { name, value: self.source_value(form)? })
    }

    fn source_value(&mut self, form: Form) -> Result<SourceValue> {
        Ok(match form {
            Form::Text => SourceValue::Text(self.string()?),
            Form::Number => SourceValue::Number(self.number()?),
            Form::Fraction if matches!(self.kind(), Tok::Int | Tok::Decimal | Tok::Float) => {
                let text = String::from_utf8_lossy(self.text()).into_owned();
                self.bump();
                SourceValue::Fraction(text)
            }
            Form::Ids => {
                self.expect_op(Op::LParen)?;
                let ids = if self.is_op(Op::RParen) { Vec::new() } else { self.comma_list(Self::number)? };
                self.expect_op(Op::RParen)?;
                SourceValue::Ids(ids)
            }
            Form::TextOrWord(_) if self.kind() == Tok::Str => SourceValue::Text(self.string()?),
            Form::Account if !self.is(Kw::NULL) => SourceValue::Account(self.user()?),
            Form::Word(words) | Form::TextOrWord(words) => SourceValue::Word(self.word_of(words)?),
            Form::Account => SourceValue::Word(self.word_of(&["NULL"])?),
            Form::Fraction => return self.fail(),
        })
    }

    fn word_of(&mut self, words: &[&str]) -> Result<String> {
        let word = String::from_utf8_lossy(self.text()).to_ascii_uppercase();
        if !words.contains(&word.as_str()) {
            return self.fail();
        }
        self.bump();
        Ok(word)
    }

    /// Behind START or STOP, at REPLICA or SLAVE.
    pub(super) fn run_replica(&mut self, starts: bool) -> Result<Statement> {
        self.bump();
        let mut run = RunReplica { receiver: false, applier: false, until: Vec::new(), login: Vec::new(), channel: None };
        if self.is_any(&[Kw::IO_THREAD, Kw::RELAY_THREAD, Kw::SQL_THREAD]) {
            self.comma_list(|p| {
                match p.expect_any(&[Kw::IO_THREAD, Kw::RELAY_THREAD, Kw::SQL_THREAD])? {
                    Kw::SQL_THREAD => run.applier = true,
                    _ => run.receiver = true,
                }
                Ok(())
            })?;
        }
        if starts {
            if self.eat(Kw::UNTIL) {
                run.until = self.until()?;
            }
            while self.at_option(LOGIN).is_some() {
                run.login.push(self.source_option(LOGIN)?);
            }
        }
        run.channel = self.opt_channel()?;
        let run = Box::new(run);
        Ok(if starts { Statement::StartReplica(run) } else { Statement::StopReplica(run) })
    }

    fn until(&mut self) -> Result<Vec<SourceOption>> {
        if self.eat(Kw::SQL_AFTER_MTS_GAPS) {
            return Ok(vec![SourceOption { name: "SQL_AFTER_MTS_GAPS", value: SourceValue::Word(String::new()) }]);
        }
        if self.at_option(SETS).is_some() {
            return Ok(vec![self.source_option(SETS)?]);
        }
        self.comma_list(|p| p.source_option(POSITIONS))
    }

    /// RESET REPLICA, if it stands alone behind RESET.
    pub(super) fn reset_replica(&mut self) -> Result<Statement> {
        self.bump();
        self.reset_replica_option().map(Statement::ResetReplica)
    }

    /// Behind REPLICA.
    pub(super) fn reset_replica_option(&mut self) -> Result<ResetReplica> {
        let all = self.eat(Kw::ALL);
        Ok(ResetReplica { all, channel: self.opt_channel()? })
    }
}
