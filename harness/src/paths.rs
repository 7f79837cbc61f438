//! Where things are: the repository, the target directory, the server's binary.

use std::env;
use std::path::{Path, PathBuf};

/// The repository's root: the parent of this crate's directory.
pub fn repository() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_path_buf()
}

/// Where Cargo builds.
pub fn target_dir() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => PathBuf::from(dir),
        None => repository().join("target"),
    }
}

/// The server: `$VAQUITA`, or the one in the target directory.
pub fn vaquita() -> Result<PathBuf, String> {
    let path = match env::var_os("VAQUITA") {
        Some(path) => PathBuf::from(path),
        None => target_dir().join("debug/vaquita"),
    };
    if path.is_file() { Ok(path) } else { Err(format!("no server at {}; run `make build`, or set VAQUITA", path.display())) }
}

/// Whether `path`, relative to the repository, is a test, an example or one of their inputs.
pub fn is_test(path: &Path) -> bool {
    path.components().any(|part| matches!(part.as_os_str().to_str(), Some("tests" | "examples" | "benches" | "golden" | "fuzz")))
        || path.file_name().is_some_and(|name| name == "tests.rs")
}
