//! How a session is asked and how it answers: nothing here knows a packet or a socket.
//!
//! Whoever has a client (the MySQL front, a console, a test) implements `Answer` and calls `Session::run`. A statement is answered by
//! exactly one of these sequences, and several statements of one text by one sequence each:
//! ```text
//! ok                                            it changed something, or nothing
//! rows, RowSink::{columns, (values, end_row)*}, end_of_rows     a result set
//! error                                         also in place of the rest of a result set
//! ```
//! * ANS-1: what was answered since `begin_try` can be taken back until some of it has left: a statement that met a conflict runs again.
//! * ANS-2: a row costs the calls of `RowSink` and none of `Answer`'s.

use std::time::Duration;

use vaquita_exec::sink::RowSink;
use vaquita_storage::{CommitWaiter, Interrupt};
use vaquita_types::{Error, Result, Value};

use crate::state::prepared::Cursor;
use crate::state::tracker::Change;

/// A statement that a session is to run.
pub enum Request<'a> {
    /// In `character_set_client`; several statements if the client may send them at once.
    Text(&'a [u8]),
    /// A prepared statement and the values of its parameters; with `cursor` its rows are kept for `Session::fetch`.
    /// `binaries`: which of the values are binary strings, if any is.
    Prepared { id: u32, values: &'a [Value], binaries: Vec<bool>, cursor: bool },
}

/// What a session does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The request is answered; the session waits for the next.
    Next,
    /// The answer follows when the commit is durable: `Session::resume`.
    Parked,
    /// The session ends with its answer.
    Close,
    /// The session was killed and ends without an answer.
    Killed,
}

/// Makes the waiter of a commit, after the session has been parked.
pub type MakeWaiter<'a> = &'a mut dyn FnMut() -> CommitWaiter;

/// The state of the session that answers tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    pub autocommit: bool,
    pub in_transaction: bool,
    pub read_only: bool,
    /// Clients escape quotes in strings by what this says.
    pub no_backslash_escapes: bool,
    /// Another statement of the same text follows.
    pub more_results: bool,
    pub cursor_exists: bool,
    pub last_row_sent: bool,
    /// The rows are the OUT parameters of a CALL.
    pub out_parameters: bool,
}

/// The end of an answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Completed<'a> {
    pub affected: u64,
    pub last_insert_id: u64,
    pub info: &'a str,
    pub status: Status,
    pub warnings: u16,
    pub changes: &'a [Change],
}

/// How the rows of a result set are written.
#[derive(Default)]
pub struct ResultForm {
    /// Of a prepared statement of the binary protocol.
    pub binary: bool,
    pub status: Status,
    /// The collation that the client reads texts in; 0: as they are stored.
    pub charset: u16,
    /// Rows may have to be taken back: they leave late.
    pub held: bool,
    /// How long the client may not read before it counts as gone: `net_write_timeout`.
    pub write_wait: Duration,
    /// Rows go there instead, as the client will fetch them; `Answer::take_cursor` gives it back.
    pub cursor: Option<Box<Cursor>>,
}

/// Where a session's answers go.
pub trait Answer {
    /// What is answered from here on may be taken back.
    fn begin_try(&mut self) {}

    /// Takes back what was answered since `begin_try`; false if rows of it have left already.
    fn take_back(&mut self) -> bool;

    /// Begins a result set; its columns and rows go to what is returned.
    fn rows(&mut self, form: ResultForm) -> &mut dyn RowSink;

    /// Rows of the last result set so far.
    fn rows_sent(&self) -> u64 {
        0
    }

    /// Bytes that have been answered and not yet sent.
    fn bytes_held(&self) -> u64 {
        0
    }

    /// The cursor that the last result set has filled; only who asks for `ResultForm`s with cursors has any.
    fn take_cursor(&mut self) -> Option<Box<Cursor>> {
        None
    }

    /// Gives the client a row that a cursor has kept.
    fn kept_row(&mut self, _row: &[u8]) -> Result<()> {
        Err(Error::internal("a row of a cursor that nobody has opened"))
    }

    fn end_of_rows(&mut self, _end: &Completed<'_>) {}

    /// `end_of_rows` has a place for changes; otherwise they wait for the next `ok`.
    fn rows_tell_changes(&self) -> bool {
        false
    }

    fn ok(&mut self, _ok: &Completed<'_>) {}

    /// The message goes out in the charset of a collation of `character_set_results`; 0 stands for UTF-8.
    fn error(&mut self, error: &Error, collation: u16);

    /// Asks the client for a file of its own (LOAD DATA LOCAL), which `file_bytes` then gives.
    fn ask_for_file(&mut self, _name: &[u8]) -> Result<()> {
        Err(Error::internal("nobody has a file to give"))
    }

    /// Appends the next piece of that file; false at its end. Waits `timeout` for each.
    fn file_bytes(&mut self, _out: &mut Vec<u8>, _timeout: Duration, _interrupt: &Interrupt) -> Result<bool> {
        Ok(false)
    }

    /// The client is gone.
    fn is_broken(&self) -> bool {
        false
    }

    /// Gives the client up: what it still sends is not read.
    fn give_up(&mut self) {}
}
