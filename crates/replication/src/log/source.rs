//! The log as its readers see it, so that they can be tried on other logs than `BinaryLog`.

use std::sync::Arc;
use std::time::Instant;

use vaquita_types::Result;
use vaquita_types::gtid::GtidSet;

use super::semi_sync::SemiSync;
use super::{BinaryLog, LogEvent, LogFile, LogReader, Place, Wake};

pub trait LogSource: Send + Sync {
    /// The oldest first.
    fn files(&self) -> Result<Vec<LogFile>>;

    /// Behind the last event that may be read.
    fn end(&self) -> Place;

    /// Sleeps until the log is beyond `seen`; false: it was not until then.
    fn wait_beyond(&self, seen: Place, until: Instant) -> bool;

    /// Calls `wake` whenever the log has grown, until it is dropped.
    fn watch(&self, wake: &Arc<Wake>);

    /// The commits that wait for replicas.
    fn semi_sync(&self) -> &SemiSync;

    fn executed(&self) -> GtidSet;

    /// What is executed and not in the log.
    fn purged(&self) -> Result<GtidSet>;

    /// Where the `nth` transaction of a file ends, counted from 1, and its server; `None` if there is none.
    fn end_of_transaction(&self, file: u32, nth: u64) -> Result<Option<(Place, u32)>>;

    /// `from` is the beginning of a file or of an event.
    fn reader(&self, from: Place) -> Result<Box<dyn EventCursor>>;
}

/// Reads one event after the other, over the files.
pub trait EventCursor {
    /// `None`: there is no more at present.
    fn next(&mut self) -> Result<Option<LogEvent<'_>>>;
}

impl LogSource for Arc<BinaryLog> {
    fn files(&self) -> Result<Vec<LogFile>> {
        BinaryLog::files(self)
    }

    fn end(&self) -> Place {
        BinaryLog::end(self)
    }

    fn wait_beyond(&self, seen: Place, until: Instant) -> bool {
        BinaryLog::wait_beyond(self, seen, until)
    }

    fn watch(&self, wake: &Arc<Wake>) {
        BinaryLog::watch(self, wake);
    }

    fn semi_sync(&self) -> &SemiSync {
        &self.semi_sync
    }

    fn executed(&self) -> GtidSet {
        BinaryLog::executed(self)
    }

    fn purged(&self) -> Result<GtidSet> {
        BinaryLog::purged(self)
    }

    fn end_of_transaction(&self, file: u32, nth: u64) -> Result<Option<(Place, u32)>> {
        BinaryLog::end_of_transaction(self, file, nth)
    }

    fn reader(&self, from: Place) -> Result<Box<dyn EventCursor>> {
        Ok(Box::new(BinaryLog::reader(self, from)?))
    }
}

impl EventCursor for LogReader {
    fn next(&mut self) -> Result<Option<LogEvent<'_>>> {
        LogReader::next_event(self)
    }
}
