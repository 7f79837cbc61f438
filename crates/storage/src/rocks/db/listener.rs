//! What RocksDB tells while it works: that it flushes or compacts (places where tests stop the process), and that a memtable
//! was sealed, with which a new log begins.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use librocksdb_sys as ffi;
use rocksdb::AsRawPtr;

use crate::base::kill_points::kill_point;

/// Sets what is returned with each memtable that is sealed; it is set to begin with. RocksDB tells on the thread that writes,
/// before its write.
pub fn listen(options: &mut rocksdb::Options) -> Arc<AtomicBool> {
    let memtable_sealed = Arc::new(AtomicBool::new(true));
    let state = Arc::into_raw(Arc::clone(&memtable_sealed)).cast_mut().cast::<c_void>();
    // SAFETY: the options take the listener, which takes the state and gives it back by `drop_state`. RocksDB calls the functions
    // with this state only, and every function that it may call is given.
    unsafe {
        let listener = ffi::rocksdb_eventlistener_create(
            state,
            Some(drop_state),
            Some(flush_begins),
            Some(flush_completed),
            Some(compaction_begins),
            Some(compaction_completed),
            Some(part_begins),
            Some(part_completed),
            Some(files_ingested),
            Some(background_error),
            Some(writes_stall),
            Some(note_sealed),
        );
        ffi::rocksdb_options_add_eventlistener(options.as_raw_ptr(), listener);
    }
    memtable_sealed
}

unsafe extern "C" fn drop_state(state: *mut c_void) {
    // SAFETY: RocksDB calls this once, after everything else, with what `Arc::into_raw` gave.
    drop(unsafe { Arc::from_raw(state.cast::<AtomicBool>()) });
}

unsafe extern "C" fn note_sealed(state: *mut c_void, _: *const ffi::rocksdb_memtableinfo_t) {
    // SAFETY: the state lives until `drop_state`.
    unsafe { &*state.cast::<AtomicBool>() }.store(true, Ordering::Release);
    kill_point("rocks.memtable-sealed");
}

// SAFETY of all that follow: they touch nothing that they are given.

unsafe extern "C" fn flush_begins(_: *mut c_void, _: *mut ffi::rocksdb_t, _: *const ffi::rocksdb_flushjobinfo_t) {
    kill_point("rocks.flush-begins");
}

unsafe extern "C" fn flush_completed(_: *mut c_void, _: *mut ffi::rocksdb_t, _: *const ffi::rocksdb_flushjobinfo_t) {
    kill_point("rocks.flush-completed");
}

unsafe extern "C" fn compaction_begins(_: *mut c_void, _: *mut ffi::rocksdb_t, _: *const ffi::rocksdb_compactionjobinfo_t) {
    kill_point("rocks.compaction-begins");
}

unsafe extern "C" fn compaction_completed(_: *mut c_void, _: *mut ffi::rocksdb_t, _: *const ffi::rocksdb_compactionjobinfo_t) {
    kill_point("rocks.compaction-completed");
}

unsafe extern "C" fn part_begins(_: *mut c_void, _: *const ffi::rocksdb_subcompactionjobinfo_t) {
    kill_point("rocks.subcompaction-begins");
}

unsafe extern "C" fn part_completed(_: *mut c_void, _: *const ffi::rocksdb_subcompactionjobinfo_t) {
    kill_point("rocks.subcompaction-completed");
}

unsafe extern "C" fn files_ingested(_: *mut c_void, _: *mut ffi::rocksdb_t, _: *const ffi::rocksdb_externalfileingestioninfo_t) {}

unsafe extern "C" fn background_error(_: *mut c_void, _: u32, _: *mut ffi::rocksdb_status_ptr_t) {}

unsafe extern "C" fn writes_stall(_: *mut c_void, _: *const ffi::rocksdb_writestallinfo_t) {}
