//! What the applier of a replication channel asks of its session: statements as text and changes of rows, and where it stands.
//!
//! A change and the position behind it are one commit: the `CommitNote` goes into the transaction, or, of a statement that commits itself, into
//! the commit of the catalog. What such a statement does outside of the catalog (accounts), or if there was nothing to do, the position follows
//! in a commit of its own.

use std::sync::Arc;
use std::sync::mpsc;

use vaquita_exec::context::Execution;
use vaquita_exec::dml::images::{ImageRules, Images, SourceTable, open_table};
use vaquita_plan::uses::UseList;
use vaquita_storage::{CommitNote, CommitWaiter, Reads};
use vaquita_types::error::Next;
use vaquita_types::{Error, Result};

use super::Session;
use super::execute::{REPLANS_MAX, RESTARTS_MAX};
use super::program::{InUse, Tables};
use super::server_view::ServerView;
use crate::answer::{Flow, Request};
use crate::clients::Client;
use crate::nowhere::Nowhere;
use crate::replication::{EachChange, EventSession, RowsKind};
use crate::server::Server;
use crate::session::ClientOptions;
use crate::variables::{Var, registry};

impl Session {
    /// A session that may do everything, also while the server is read-only.
    pub fn of_applier(server: Arc<Server>, client: Arc<Client>) -> Session {
        let account = Arc::new(crate::accounts::AccountRecord::new("", ""));
        let charset = vaquita_types::charset::CollationId::default().0;
        let mut session = Session::new(server, client, account, ClientOptions::default(), charset);
        session.access.set_servers_own();
        session
    }

    /// Runs a statement that belongs to the open transaction, or to none.
    pub fn apply_text(&mut self, sql: &[u8]) -> Result<()> {
        self.apply_loading(sql, None)
    }

    /// As `apply_text`, of a LOAD DATA LOCAL that gets this file.
    pub fn apply_loading(&mut self, sql: &[u8], file: Option<Vec<u8>>) -> Result<()> {
        let mut nowhere = Nowhere::default();
        nowhere.file = file;
        let (told, committed) = mpsc::channel();
        let mut park = || -> CommitWaiter {
            let told = told.clone();
            Box::new(move |result| {
                let _ = told.send(result);
            })
        };
        let mut flow = self.run(Request::Text(sql), &mut nowhere, &mut park);
        while flow == Flow::Parked {
            let result = committed.recv().unwrap_or_else(|_| Err(Error::internal("nobody has completed the commit")));
            flow = self.resume(result, &mut nowhere, &mut park);
        }
        match nowhere.failed {
            Some(error) => Err(error),
            None => self.client.interrupt.check(),
        }
    }

    /// Runs a statement that commits itself, and notes the position with it.
    pub fn apply_alone(&mut self, sql: &[u8], note: CommitNote) -> Result<()> {
        let note = Arc::new(note);
        self.note = Some(note.clone());
        let done = self.apply_text(sql);
        self.note = None;
        done?;
        if note.is_written() {
            return Ok(());
        }
        // It has changed nothing that the log would have told, but has its GTID.
        self.end_applied()?;
        self.commit_noting(&note)
    }

    /// Ends the open transaction with the position; there may be none.
    pub fn commit_noting(&mut self, note: &CommitNote) -> Result<()> {
        self.command_to_end(|session| {
            if session.transaction.in_branch() {
                return Err(Error::internal("an XA transaction is open where another ends"));
            }
            session.transaction.begin_if_needed(&session.env.settings);
            session.transaction.storage().begin_statement(Reads::One);
            note.put(session.transaction.storage())?;
            session.transaction.storage().end_statement();
            session.commit_implicitly()?;
            note.set_written();
            Ok(())
        })
    }

    /// Begins the transaction that rows belong to, unless one is open.
    pub fn begin_applying(&mut self) -> Result<()> {
        self.command_to_end(|session| {
            if !session.transaction.is_open() {
                session.start_transaction(false, None)?;
            }
            Ok(())
        })
    }

    /// Undoes what was applied since the last commit.
    pub fn abandon_applying(&mut self) {
        self.pass_applied();
        self.undo_applying();
    }

    /// The same of a transaction that ends all the same, empty.
    pub fn undo_applying(&mut self) {
        self.note = None;
        self.forget_told();
        self.drop_filled();
        self.transaction.abandon();
        self.client.interrupt.clear();
    }

    /// Whether an XA transaction is open.
    pub fn in_branch(&self) -> bool {
        self.transaction.in_branch()
    }

    /// Carries out the changes of one event, which are a statement.
    pub fn apply_rows(&mut self, source: &SourceTable, rules: ImageRules, changes: EachChange<'_>) -> Result<()> {
        self.command_to_end(|session| {
            session.env.begin_statement();
            let done = session.change_rows(source, rules, changes);
            if let Err(error) = &done {
                session.fail_statement(error);
            }
            done
        })
    }

    fn command_to_end<T>(&mut self, run: impl FnOnce(&mut Session) -> Result<T>) -> Result<T> {
        let mut done = None;
        self.command(|session| {
            done = Some(run(session));
            Flow::Next
        });
        done.unwrap_or_else(|| Err(Error::internal("a command was not run")))
    }
}

impl EventSession for Session {
    fn admit_events(&mut self, table: &SourceTable, kind: RowsKind) -> Result<()> {
        self.access.subject(None, None).may_change_rows(&table.database, &table.name, kind)?;
        if self.server.globals.is_on(Var::ReadOnly) {
            self.refuse_by_read_only()?;
        }
        self.transaction.refuse_in_read_only(&self.env.settings)?;
        self.transaction.refuse_unless_active()?;
        self.client.note_change();
        Ok(())
    }

    fn check_foreign_keys(&mut self, on: bool) {
        self.env.settings.run.foreign_key_checks = on;
    }

    fn is_idempotent(&self) -> bool {
        registry().find("rbr_exec_mode").is_some_and(|def| def.show(&self.env.settings.get(def)) == "IDEMPOTENT")
    }

    fn change_rows(&mut self, source: &SourceTable, rules: ImageRules, changes: EachChange<'_>) -> Result<()> {
        self.transaction.begin_if_needed(&self.env.settings);
        self.env.begin_try();
        let (mut restarts, mut reopens, no_uses) = (0, 0, UseList::default());
        let done = loop {
            if let Err(error) = self.admit_change(&source.database, &source.name) {
                break Err(error);
            }
            self.transaction.storage().begin_statement(Reads::Many);
            self.transaction.storage().note_change();
            let done = {
                let in_use = InUse { tables: Tables::Used(&no_uses), outer: None };
                let server = ServerView { in_use: Some(&in_use), ..self.server_view() };
                change_rows(&self.executing(&[], &server), source, rules, changes)
            };
            let Err(error) = &done else { break done };
            match error.next() {
                Next::Restart if restarts < RESTARTS_MAX => {
                    restarts += 1;
                    self.env.take_back();
                    self.transaction.storage().restart_statement();
                }
                Next::Replan if reopens < REPLANS_MAX => {
                    reopens += 1;
                    self.env.take_back();
                    self.transaction.storage().rollback_statement();
                }
                _ => break done,
            }
        };
        self.env.end_try();
        if done.is_ok() {
            self.transaction.storage().end_statement();
        }
        done
    }
}

fn change_rows(statement: &Execution<'_>, source: &SourceTable, rules: ImageRules, changes: EachChange<'_>) -> Result<()> {
    let table = open_table(statement, source)?;
    let mut images = Images::new(statement, &table, source, rules)?;
    changes(&mut |change| images.apply(change))
}
