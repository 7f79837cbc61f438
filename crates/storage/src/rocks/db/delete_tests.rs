//! What stays when a range is deleted whose files go as a whole.

use tempfile::TempDir;

use super::{Family, SortedFiles};

const BEFORE: &[u8] = b"\0\0\0\x08k";
/// The end of the range, and the only key of a file below level 0.
const END: &[u8] = b"\0\0\0\x09\0";

#[test]
fn a_file_that_has_only_the_end_of_the_range_stays() {
    let dir = TempDir::new().unwrap();
    let engine = crate::Engine::open(dir.path(), crate::EngineOptions::default(), crate::EngineHooks::default()).unwrap();
    let db = engine.db();
    for key in [BEFORE, END] {
        let mut files = SortedFiles::create(db, &dir.path().join(format!("files-{}", key[3]))).unwrap();
        files.add_first([(key, Some(&b"v"[..]))].into_iter()).unwrap();
        db.ingest(files).0.unwrap();
    }
    db.delete_range(Family::Data, b"\0\0\0\x01", END).unwrap();
    let has = |key: &[u8]| db.get(Family::Data, key, None, &mut Vec::new()).unwrap();
    assert_eq!([has(BEFORE), has(END)], [false, true]);
}
