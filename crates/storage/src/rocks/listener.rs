//! What RocksDB tells while it works: that a memtable was sealed, with which a new log begins.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use librocksdb_sys as ffi;
use rocksdb::AsRawPtr;

/// Sets what is returned with each memtable that is sealed; it is set to begin with. RocksDB tells on the thread that writes,
/// before its write.
pub fn tell_of_sealed_memtables(options: &mut rocksdb::Options) -> Arc<AtomicBool> {
    let sealed = Arc::new(AtomicBool::new(true));
    let state = Arc::into_raw(Arc::clone(&sealed)).cast_mut().cast::<c_void>();
    // SAFETY: the options take the listener, which takes the state and gives it back by `drop_state`. RocksDB calls the functions
    // with this state only, and every function that it may call is given.
    unsafe {
        let listener = ffi::rocksdb_eventlistener_create(
            state,
            Some(drop_state),
            Some(ignore_flush),
            Some(ignore_flush),
            Some(ignore_compaction),
            Some(ignore_compaction),
            Some(ignore_subcompaction),
            Some(ignore_subcompaction),
            Some(ignore_ingestion),
            Some(ignore_error),
            Some(ignore_stall),
            Some(note_sealed),
        );
        ffi::rocksdb_options_add_eventlistener(options.as_raw_ptr(), listener);
    }
    sealed
}

/// SAFETY: called once, with what `Arc::into_raw` gave.
unsafe extern "C" fn drop_state(state: *mut c_void) {
    drop(unsafe { Arc::from_raw(state.cast::<AtomicBool>()) });
}

/// SAFETY: the state lives until `drop_state`, which RocksDB calls after everything else.
unsafe extern "C" fn note_sealed(state: *mut c_void, _: *const ffi::rocksdb_memtableinfo_t) {
    unsafe { &*state.cast::<AtomicBool>() }.store(true, Ordering::Release);
}

// SAFETY of all that follow: they touch nothing that they are given.

unsafe extern "C" fn ignore_flush(_: *mut c_void, _: *mut ffi::rocksdb_t, _: *const ffi::rocksdb_flushjobinfo_t) {}

unsafe extern "C" fn ignore_compaction(_: *mut c_void, _: *mut ffi::rocksdb_t, _: *const ffi::rocksdb_compactionjobinfo_t) {}

unsafe extern "C" fn ignore_subcompaction(_: *mut c_void, _: *const ffi::rocksdb_subcompactionjobinfo_t) {}

unsafe extern "C" fn ignore_ingestion(
    _: *mut c_void,
    _: *mut ffi::rocksdb_t,
    _: *const ffi::rocksdb_externalfileingestioninfo_t,
) {
}

unsafe extern "C" fn ignore_error(_: *mut c_void, _: u32, _: *mut ffi::rocksdb_status_ptr_t) {}

unsafe extern "C" fn ignore_stall(_: *mut c_void, _: *const ffi::rocksdb_writestallinfo_t) {}
