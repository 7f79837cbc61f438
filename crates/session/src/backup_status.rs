//! How the server's own backups go: written by whoever takes them, shown by SHOW STATUS.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

#[derive(Default)]
pub struct BackupStatus {
    pub taken: AtomicU64,
    pub failed: AtomicU64,
    /// The newest backup of the place, in microseconds since 1970; 0 without one.
    pub last_us: AtomicU64,
    /// One is due, and was not taken.
    pub overdue: AtomicBool,
    pub last_error: Mutex<String>,
    /// Where the archive of the log ends, as `file:position`.
    pub log_end: Mutex<String>,
    /// When nothing of the log waited to be archived last, in microseconds since 1970; 0 if it is not archived.
    pub log_archived_us: AtomicU64,
}

impl BackupStatus {
    /// Names and values of status variables; `now_us` is the time.
    pub fn values(&self, now_us: u64) -> [(&'static str, String); 7] {
        let archived_us = self.log_archived_us.load(Ordering::Relaxed);
        let delay_s = if archived_us == 0 { 0 } else { now_us.saturating_sub(archived_us) / 1_000_000 };
        let overdue = if self.overdue.load(Ordering::Relaxed) { "ON" } else { "OFF" };
        [
            ("Vaquita_backup_age_seconds", self.age_s(now_us).map_or(String::new(), |age| age.to_string())),
            ("Vaquita_backup_last_error", self.last_error.lock().clone()),
            ("Vaquita_backup_log_delay_seconds", delay_s.to_string()),
            ("Vaquita_backup_log_end", self.log_end.lock().clone()),
            ("Vaquita_backup_overdue", overdue.to_string()),
            ("Vaquita_backups_failed", self.failed.load(Ordering::Acquire).to_string()),
            ("Vaquita_backups_taken", self.taken.load(Ordering::Acquire).to_string()),
        ]
    }

    /// Of the newest backup.
    pub fn age_s(&self, now_us: u64) -> Option<u64> {
        let last_us = self.last_us.load(Ordering::Relaxed);
        (last_us > 0).then(|| now_us.saturating_sub(last_us) / 1_000_000)
    }
}
