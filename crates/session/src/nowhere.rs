//! An `Answer` that nobody reads: of events, and of what the server does for itself. It keeps the last error.

use std::time::Duration;

use vaquita_exec::sink::{Discard, RowSink};
use vaquita_storage::Interrupt;
use vaquita_types::{Error, Result};

use crate::answer::{Answer, ResultForm};

/// Who hears the answers of statements that no client waits for.
pub struct Nowhere {
    rows: Discard,
    /// The last error.
    pub failed: Option<Error>,
    /// What LOAD DATA LOCAL gets, whatever the file's name.
    pub file: Option<Vec<u8>>,
}

impl Default for Nowhere {
    fn default() -> Nowhere {
        Nowhere { rows: Discard, failed: None, file: None }
    }
}

impl Answer for Nowhere {
    fn take_back(&mut self) -> bool {
        true
    }

    fn rows(&mut self, _: ResultForm) -> &mut dyn RowSink {
        &mut self.rows
    }

    fn error(&mut self, error: &Error, _: u16) {
        self.failed = Some(error.clone());
    }

    fn ask_for_file(&mut self, _: &[u8]) -> Result<()> {
        match &self.file {
            Some(_) => Ok(()),
            None => Err(Error::internal("nobody has a file to give")),
        }
    }

    fn file_bytes(&mut self, out: &mut Vec<u8>, _: Duration, _: &Interrupt) -> Result<bool> {
        let Some(file) = self.file.take() else { return Ok(false) };
        out.extend_from_slice(&file);
        Ok(true)
    }
}
