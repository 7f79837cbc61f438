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

/// The memory of one statement, which is given back with it.
pub struct StatementMemory(usize);

impl StatementMemory {
    /// Error 1041 if the server has no room. Small statements ask too, because they stay and there may be many.
    fn of(text_bytes: usize) -> Result<StatementMemory> {
        let bytes = STATEMENT_BYTES + text_bytes.saturating_mul(BYTES_PER_TEXT_BYTE);
        memory::ask(BLOCK_BYTES_MIN + bytes)?;
        memory::allocated(bytes);
        Ok(StatementMemory(bytes))
    }
}

impl Drop for StatementMemory {
    fn drop(&mut self) {
        memory::freed(self.0);
    }
}

pub struct StatementCount {
    globals: Arc<Globals>,
    open: AtomicU64,
}

impl StatementCount {
    pub fn new(globals: Arc<Globals>) -> StatementCount {
        StatementCount { globals, open: AtomicU64::new(0) }
    }

    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    pub fn opened(&self, text_bytes: usize) -> Result<StatementMemory> {
        let memory = StatementMemory::of(text_bytes)?;
        let max = self.globals.number(Var::MaxPreparedStmtCount);
        if self.open.fetch_add(1, Ordering::Relaxed) < max {
            return Ok(memory);
        }
        self.closed(1);
        Err(Error::new(&ER_MAX_PREPARED_STMT_COUNT_REACHED, &[&max]))
    }

    pub fn closed(&self, count: usize) {
        self.open.fetch_sub(count as u64, Ordering::Relaxed);
    }
}
