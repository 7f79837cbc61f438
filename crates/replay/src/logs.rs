//! Which kind of log a file is.

use std::path::{Path, PathBuf};

use crate::recorded::{Builder, Recording};
use crate::{general, slow};

/// Reads logs of one server, general or slow, in the order in which it wrote them. The error names the file.
pub fn read(files: &[PathBuf]) -> Result<Recording, String> {
    let mut builder = Builder::default();
    for file in files {
        let text = std::fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        read_one(file, &text, &mut builder)?;
    }
    let recording = builder.finish();
    if recording.sessions.is_empty() {
        return Err("there is no statement in what was recorded".to_string());
    }
    Ok(recording)
}

fn read_one(file: &Path, text: &[u8], builder: &mut Builder) -> Result<(), String> {
    if slow::is_one(text) {
        slow::read(text, builder);
    } else if general::is_one(text) {
        general::read(text, builder);
    } else {
        return Err(format!("{} is neither a general log nor a slow query log", file.display()));
    }
    Ok(())
}
