//! `/metrics`: what the server already counts, in the text formats of Prometheus.
//!
//! Nothing is counted for it: `collect` reads counters and states when it is asked. `mysql` gives what mysqld_exporter gives of status variables,
//! system variables, replication and the binary log, under its names, so that dashboards of MySQL need no exporter; `own` has what is Vaquita's,
//! `process` what the operating system says of the process, `tables` the sizes of the largest tables.
//!
//! * METRICS-1: the number of samples has a limit that is not the data's: no label is a statement, an account or an address, and of tables
//!   the largest have samples.
//! * METRICS-2: collecting holds no lock that statements wait for, but each connection's own for the moment in which it is read.

mod format;
mod mysql;
mod own;
mod process;
mod snapshot;
mod tables;

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use vaquita_session::server::Server;

pub use format::Format;
use format::Metrics;
pub use own::BOUNDS;
pub use snapshot::{Snapshot, snapshot};
use tables::TableSizes;

/// What stays from one look to the next.
#[derive(Default)]
pub struct Collector {
    tables: Mutex<TableSizes>,
}

impl Collector {
    /// All metrics as a text; takes milliseconds.
    pub fn collect(&self, server: &Arc<Server>, format: Format) -> String {
        let began = Instant::now();
        let mut out = Metrics::new(format);
        mysql::version(&mut out);
        mysql::status(&mut out, server);
        mysql::variables(&mut out, server);
        mysql::binary_log(&mut out, server);
        mysql::replication(&mut out, server);
        own::all(&mut out, server);
        self.tables.lock().put(&mut out, server);
        process::put(&mut out);
        out.gauge("vaquita_scrape_seconds", "How long this collection took.", began.elapsed().as_secs_f64());
        out.finish()
    }
}
