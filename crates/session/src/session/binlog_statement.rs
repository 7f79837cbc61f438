//! BINLOG: events of a binary log that are carried out in the session's own transaction, as `mysqlbinlog` prints them.
//!
//! Who knows events is elsewhere (`replication::LoggedEvents`). It keeps between statements what those before have said: the format of the
//! log, and the tables of a statement whose rows come in several events.

use vaquita_parser::ast::BinlogEvents;
use vaquita_types::errno::{ER_BASE64_DECODE_ERROR, ER_SYNTAX_ERROR, ER_WRONG_TYPE_FOR_VAR};
use vaquita_types::{Error, Result, Value, base64};

use super::Session;
use super::exchange::Exchange;
use super::execute::Done;
use crate::answer::Flow;

impl Session {
    pub(super) fn binlog_statement(&mut self, events: &BinlogEvents, exchange: &mut Exchange<'_>) -> Flow {
        if let Some(flow) = self.pass_over(exchange) {
            return flow;
        }
        let done = self.events_of(events).and_then(|events| self.carry_out(&events));
        match done {
            Ok(()) => self.finish_statement(Done::nothing(), exchange),
            Err(error) => {
                self.fail_statement(&error);
                self.fail(&error, exchange)
            }
        }
    }

    fn events_of(&self, events: &BinlogEvents) -> Result<Vec<u8>> {
        let decoded = match events {
            BinlogEvents::Text(text) if text.is_empty() => return Err(Error::new(&ER_SYNTAX_ERROR, &[])),
            BinlogEvents::Text(text) => base64::decode_several(text),
            BinlogEvents::Fragments(first, second) => {
                base64::decode_several(&[self.fragment(first)?, self.fragment(second)?].concat())
            }
        };
        decoded.ok_or_else(|| Error::new(&ER_BASE64_DECODE_ERROR, &[]))
    }

    fn fragment(&self, variable: &str) -> Result<Vec<u8>> {
        match self.env.user_variables.get(variable) {
            Value::Bytes(text) => Ok(text.to_vec()),
            _ => Err(Error::new(&ER_WRONG_TYPE_FOR_VAR, &[&variable])),
        }
    }

    fn carry_out(&mut self, events: &[u8]) -> Result<()> {
        let known = self.logged_events.take().or_else(|| self.server.replication.threads().map(|threads| threads.events()));
        let mut known = known.ok_or_else(|| Error::unsupported("BINLOG in a server without replication"))?;
        let foreign_key_checks = self.env.settings.run.foreign_key_checks;
        let done = known.carry_out(self, events);
        self.env.settings.run.foreign_key_checks = foreign_key_checks;
        self.logged_events = Some(known);
        done
    }
}
