//! Where the server keeps what its sessions have read of stored programs. What that is only `programs` knows, which knows the state of sessions as well.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use vaquita_types::schema::ObjectKind;

/// Programs that are kept; then all are forgotten and read again.
const KEPT_MAX: usize = 4096;

/// Database, kind, and name as it is compared.
pub type Key = (String, ObjectKind, String);

#[derive(Default)]
pub struct KnownPrograms(Mutex<HashMap<Key, Arc<dyn Any + Send + Sync>>>);

impl KnownPrograms {
    pub fn find(&self, key: &Key) -> Option<Arc<dyn Any + Send + Sync>> {
        self.0.lock().get(key).cloned()
    }

    pub fn keep(&self, key: Key, program: Arc<dyn Any + Send + Sync>) {
        let mut kept = self.0.lock();
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(key, program);
    }
}
