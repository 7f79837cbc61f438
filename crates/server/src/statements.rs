//! How many prepared statements there are: `max_prepared_stmt_count` bounds them over all connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use vaquita_types::errno::ER_MAX_PREPARED_STMT_COUNT_REACHED;
use vaquita_types::{Error, Result};

use crate::variables::{Globals, Var};

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

    pub fn opened(&self) -> Result<()> {
        let max = self.globals.number(Var::MaxPreparedStmtCount);
        if self.open.fetch_add(1, Ordering::Relaxed) < max {
            return Ok(());
        }
        self.closed(1);
        Err(Error::new(&ER_MAX_PREPARED_STMT_COUNT_REACHED, &[&max]))
    }

    pub fn closed(&self, count: usize) {
        self.open.fetch_sub(count as u64, Ordering::Relaxed);
    }
}
