//! COM_QUERY: text to statements, one after the other.
//!
//! A packet may hold several statements if the client has MULTI_STATEMENTS; each is parsed only when the one
//! before succeeded. SELECT, INSERT, UPDATE, DELETE become plans; the rest is `other_statements`.

use std::borrow::Cow;
use std::sync::Arc;

use vaquita_parser::{ParserOptions, Statement as Ast, StatementKind, parse_one_noting};
use vaquita_plan::env::Level;
use vaquita_types::Error;
use vaquita_types::charset::{CollationId, charset};

use super::Session;
use super::exchange::{Exchange, Rest};
use super::execute::{Done, Planned};
use crate::answer::{Answer, Flow, MakeWaiter};

impl Session {
    pub(super) fn query(&mut self, sql: &[u8], answer: &mut dyn Answer, park: MakeWaiter<'_>) -> Flow {
        let text = self.client_text(without_end(sql));
        self.log_raw(&text);
        self.statements_of(&text, answer, park)
    }

    /// A statement's text in utf8mb4.
    pub(super) fn client_text<'t>(&self, sql: &'t [u8]) -> Cow<'t, [u8]> {
        match self.env.settings.plan.client_charset {
            None => Cow::Borrowed(sql),
            Some(from) => Cow::Owned(from.convert(charset(CollationId::UTF8MB4_BIN), sql).bytes.into_owned()),
        }
    }

    /// Runs the statements of a text in utf8mb4.
    pub(super) fn statements_of(&mut self, sql: &[u8], answer: &mut dyn Answer, park: MakeWaiter<'_>) -> Flow {
        self.statements_from(sql, None, answer, park)
    }

    /// The same from `rest` of it on.
    pub(super) fn statements_from(
        &mut self,
        sql: &[u8],
        mut rest: Option<Rest>,
        answer: &mut dyn Answer,
        park: MakeWaiter<'_>,
    ) -> Flow {
        loop {
            let mut exchange = Exchange::new(answer, park);
            let statement_text = &sql[rest.as_ref().map_or(0, |rest| rest.at).min(sql.len())..];
            self.client.interrupt.clear();
            // Where a statement behind the first ends is not known yet, and all that follows may be much.
            let shown = if rest.is_some() { beginning(statement_text, SHOWN_BYTES_MAX) } else { statement_text };
            self.begin_event(Session::QUERY_COMMAND, shown_text(without_semicolons(shown.trim_ascii())), None);
            self.env.begin_statement();
            // Statements of an account with limits are counted by kind, which only parsing tells.
            if !self.access.has_limits()
                && let Some(flow) = self.run_known(statement_text, &mut exchange)
            {
                return flow;
            }
            let options = self.env.settings.plan.parser_options();
            let mut deprecated = Vec::new();
            let (ast, consumed) = match parse_one_noting(statement_text, &options, &mut deprecated) {
                Ok(parsed) => {
                    self.warn_of_syntax(deprecated);
                    parsed
                }
                // Comments alone are a statement that does nothing, as clients send those of a dump.
                Err(_) if holds_comments_only(statement_text, &options) => {
                    return self.succeed(&Done::nothing(), &mut exchange);
                }
                Err(error) => return self.fail(&error.into(), &mut exchange),
            };
            self.identify(&statement_text[..consumed.min(statement_text.len())], StatementKind::counted(&ast));
            let following = &statement_text[consumed.min(statement_text.len())..];
            let blank = vaquita_parser::is_blank(following, &options);
            let more = !blank || (self.options.multi_statements && holds_comments_only(following, &options));
            if more && !self.options.multi_statements {
                let error = vaquita_parser::parse_prepared(statement_text, &options).err();
                let error = error.map_or_else(|| Error::internal("a second statement"), Error::from);
                return self.fail(&error, &mut exchange);
            }
            let is_first = rest.is_none();
            let at = sql.len() - following.len();
            rest = more.then(|| Rest { text: rest.map_or_else(|| Arc::from(sql), |rest| rest.text), at });
            self.note_text(&statement_text[..consumed.min(statement_text.len())], StatementKind::of(&ast));
            let text = &statement_text[..consumed.min(statement_text.len())];
            let own = without_semicolons(text.trim_ascii());
            match self.without_secrets(&ast, own) {
                Some(shown) => self.client.show_instead(shown_text(&shown)),
                None if more || !is_first => self.client.show_instead(shown_text(own)),
                None => {}
            }
            if let Err(error) = self.log_query(&ast, text, more) {
                return self.fail(&error, &mut exchange);
            }
            if let Err(error) = self.access.count_statement(StatementKind::of(&ast)) {
                return self.fail(&error, &mut exchange);
            }
            exchange.rest.clone_from(&rest);
            match self.statement(&ast, &mut exchange) {
                Flow::Next if rest.is_some() && !exchange.failed => {}
                flow => return flow,
            }
        }
    }

    /// Runs a statement whose plan is known, or that can be planned for others like it. `None`: nothing has happened.
    fn run_known(&mut self, sql: &[u8], exchange: &mut Exchange<'_>) -> Option<Flow> {
        let mut texts = std::mem::take(self.prepared.texts());
        let found = texts.find(sql, self);
        let flow = found.map(|(ast, plan)| {
            let settings = &self.env.settings.plan;
            let line = texts
                .line_of(sql, settings, || self.server.statement_events.line_of(("", sql), settings, StatementKind::of(&ast)));
            self.identified(&line);
            self.note_plan(&line, plan.shape, &plan.plan);
            self.note_text(sql, StatementKind::of(&ast));
            self.client.counters.statement(StatementKind::of(&ast));
            match self.log_query(&ast, sql, false).and_then(|()| self.access.may_run(&plan, &self.catalog)) {
                Ok(()) => {
                    let planned = Planned {
                        plan: &plan.plan,
                        ast: Some(&ast),
                        types: &plan.types,
                        params: texts.values(),
                        kept: Some(&plan),
                        creates: None,
                    };
                    self.run_plan(planned, exchange)
                }
                Err(error) => self.fail(&error, exchange),
            }
        });
        *self.prepared.texts() = texts;
        flow
    }

    pub(super) fn statement(&mut self, ast: &Ast, exchange: &mut Exchange<'_>) -> Flow {
        let kept = self.hinted();
        let flow = match self.set_hinted(ast) {
            Ok(()) => self.statement_as_set(ast, exchange),
            Err(error) => self.fail(&error, exchange),
        };
        self.restore_hinted(kept);
        flow
    }

    fn statement_as_set(&mut self, ast: &Ast, exchange: &mut Exchange<'_>) -> Flow {
        self.client.counters.statement(StatementKind::counted(ast));
        if let Err(error) = self.authorize(ast) {
            return self.fail(&error, exchange);
        }
        if !StatementKind::of(ast).is_planned() {
            return self.other_statement(ast, exchange);
        }
        match self.plan(ast, &[]) {
            Ok(plan) => {
                if !exchange.in_program {
                    self.note_new_plan(&plan);
                }
                self.run_plan(
                    Planned { plan: &plan, ast: Some(ast), types: &[], params: &[], kept: None, creates: None },
                    exchange,
                )
            }
            Err(error) => self.fail(&error, exchange),
        }
    }

    pub(super) fn warn_of_syntax(&self, deprecated: Vec<Error>) {
        deprecated.into_iter().for_each(|error| self.env.push_warning(Level::Warning, error));
    }
}

/// Bytes of a statement that are shown while it is parsed, where others of the same text follow.
const SHOWN_BYTES_MAX: usize = 1024;

fn beginning(text: &[u8], bytes_max: usize) -> &[u8] {
    &text[..text.len().min(bytes_max)]
}

/// Without the zero byte that C programs send behind a statement.
pub(super) fn without_end(mut sql: &[u8]) -> &[u8] {
    while let [before @ .., 0] = sql {
        sql = before.trim_ascii_end();
    }
    sql
}

/// Without what ends it.
pub(super) fn without_semicolons(mut text: &[u8]) -> &[u8] {
    while let [before @ .., b';'] = text {
        text = before.trim_ascii_end();
    }
    text
}

/// A statement's text as PROCESSLIST shows it. Most texts are UTF-8, which is told several times as fast as it is repaired.
pub(super) fn shown_text(sql: &[u8]) -> Arc<str> {
    match std::str::from_utf8(sql) {
        Ok(text) => text.into(),
        Err(_) => String::from_utf8_lossy(sql).into(),
    }
}

fn holds_comments_only(sql: &[u8], options: &ParserOptions) -> bool {
    vaquita_parser::is_blank(sql, options) && sql.iter().any(|byte| !byte.is_ascii_whitespace() && *byte != b';')
}
