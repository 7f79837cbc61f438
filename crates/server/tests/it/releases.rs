//! Each release leaves its data directories for the tests of those that follow; `tests/scripts/data.rs` opens them.

use std::path::Path;

/// What an archive may have, so that the repository stays small.
const ARCHIVE_BYTES_MAX: u64 = 300 << 10;

#[test]
fn this_release_has_left_its_directories() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/data");
    for end in ["stopped", "killed"] {
        let name = format!("{}-{end}", env!("CARGO_PKG_VERSION"));
        assert!(dir.join(format!("{name}.test")).is_file(), "{name}: see docs/hacking.md, *Release*");
        let archive = std::fs::metadata(dir.join(format!("{name}.tar.xz"))).expect("it is recorded with its script");
        assert!(archive.len() <= ARCHIVE_BYTES_MAX, "{name}: {} bytes", archive.len());
    }
}
