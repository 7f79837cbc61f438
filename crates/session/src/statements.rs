//! How many prepared statements there are: `max_prepared_stmt_count` bounds them over all connections, and what they take in memory is
//! part of the server's account (`types::memory`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use vaquita_types::errno::ER_MAX_PREPARED_STMT_COUNT_REACHED;
use vaquita_types::memory::{self, BLOCK_BYTES_MIN};
use vaquita_types::{Error, Result};

use crate::variables::{Globals, Var};

/// What a statement takes: some for itself, and for its tree and plan a multiple of its text.
const STATEMENT_BYTES: usize = 4 << 10;
const BYTES_PER_TEXT_BYTE: usize = 16;

/// One prepared statement. Its place in the count and its memory are given back with it.
pub struct OpenStatement {
    open: Arc<AtomicU64>,
    bytes: usize,
}

impl Drop for OpenStatement {
    fn drop(&mut self) {
        memory::freed(self.bytes);
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

pub struct StatementCount {
    globals: Arc<Globals>,
    open: Arc<AtomicU64>,
}

impl StatementCount {
    pub fn new(globals: Arc<Globals>) -> StatementCount {
        StatementCount { globals, open: Arc::default() }
    }

    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Error 1041 if the server has no room, error 1461 if there are `max_prepared_stmt_count`. Small statements ask for memory too, because
    /// they stay and there may be many.
    pub fn opened(&self, text_bytes: usize) -> Result<OpenStatement> {
        let bytes = STATEMENT_BYTES + text_bytes.saturating_mul(BYTES_PER_TEXT_BYTE);
        memory::ask(BLOCK_BYTES_MIN + bytes)?;
        memory::allocated(bytes);
        let before = self.open.fetch_add(1, Ordering::Relaxed);
        let statement = OpenStatement { open: self.open.clone(), bytes };
        let max = self.globals.number(Var::MaxPreparedStmtCount);
        if before < max { Ok(statement) } else { Err(Error::new(&ER_MAX_PREPARED_STMT_COUNT_REACHED, &[&max])) }
    }
}
