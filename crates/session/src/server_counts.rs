//! What is counted for the whole server where connections begin and end.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Default)]
pub struct ServerCounts {
    /// Connections that ended before they had logged in.
    aborted_connects: AtomicU64,
    /// Connections that were logged in and ended without COM_QUIT.
    aborted_clients: AtomicU64,
    /// Refused with error 1040.
    too_many: AtomicU64,
    /// Statements that `max_execution_time` has ended.
    overdue: AtomicU64,
    tls_connections: AtomicU64,
    /// Seconds since 1970 when there were the most connections.
    most_at_s: AtomicU64,
}

macro_rules! counts {
    ($($note:ident, $count:ident: $field:ident;)*) => {
        impl ServerCounts {
            $(
                pub fn $note(&self) {
                    self.$field.fetch_add(1, Ordering::Relaxed);
                }

                pub fn $count(&self) -> u64 {
                    self.$field.load(Ordering::Relaxed)
                }
            )*
        }
    };
}

counts! {
    note_aborted_connect, aborted_connects: aborted_connects;
    note_aborted_client, aborted_clients: aborted_clients;
    note_too_many, too_many: too_many;
    note_overdue, overdue: overdue;
    note_tls, tls_connections: tls_connections;
}

impl ServerCounts {
    pub fn note_most(&self) {
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        self.most_at_s.store(now_s, Ordering::Relaxed);
    }

    /// `Max_used_connections_time`, in seconds since 1970.
    pub fn most_at_s(&self) -> u64 {
        self.most_at_s.load(Ordering::Relaxed)
    }
}
