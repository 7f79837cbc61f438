//! Copies that become servers: `branch` beside the running one, `clone` over the network.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use vaquita_replication::address::Address;
use vaquita_replication::connection::Connection;
use vaquita_wire::copy::About;

use crate::Result;
use crate::donor::{Donor, Source};
use crate::place::about;
use crate::report::Progress;
use crate::restore::NewDirectory;

/// The server makes a data directory of what is committed now: hard links, where `dir` is on its file system.
pub fn branch(source: &Address, dir: &Path) -> Result<()> {
    let dir = std::path::absolute(dir).map_err(|error| about(dir, &error))?;
    let mut connection = Connection::open(&source.target()).map_err(|error| format!("{source}: {error}"))?;
    let path = dir.to_str().ok_or("the name of the directory is not UTF-8")?;
    let quoted = path.replace('\\', "\\\\").replace('\'', "''");
    connection.query("SET SESSION sql_mode = ''")?;
    connection.query(&format!("CLONE LOCAL DATA DIRECTORY = '{quoted}'")).map_err(|error| format!("{source}: {error}"))?;
    Ok(())
}

/// Fetches what is committed now into a new data directory.
pub fn clone(source: &Address, dir: &Path, limit_bytes_s: Option<u64>) -> Result<About> {
    let new = NewDirectory::begin(dir)?;
    let mut donor = Donor::open(source, limit_bytes_s)?;
    let (source, files) = donor.begin()?;
    let mut progress = Progress::new("copied", files.iter().map(|file| file.bytes).sum());
    for file in &files {
        if file.name.contains('/') || file.name.starts_with('.') {
            return Err(format!("the server names a file '{}'", file.name).into());
        }
        let path = new.database().join(&file.name);
        let mut out = File::create_new(&path).map_err(|error| about(&path, &error))?;
        donor.read(file, &mut |piece| {
            progress.add(piece.len() as u64);
            out.write_all(piece).map_err(|error| about(&path, &error))
        })?;
        out.sync_all().map_err(|error| about(&path, &error))?;
    }
    drop(progress);
    new.mark()?;
    new.finish()?;
    Ok(source)
}
