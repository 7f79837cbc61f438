//! Sorted runs become files of RocksDB, which are ingested.
//!
//! Merging runs and compressing what comes out is most of the work of a large commit or an index build, so large runs are cut into
//! pieces of their keys, which several threads take one after the other.

use vaquita_types::Result;

use super::sorted_run::{Piece, Run, RunFile, SameKey, merge, pieces};
use crate::base::helpers::{Helpers, Pace, Queue, cores};
use crate::locks::Interrupt;
use crate::rocks::SortedFiles;
use crate::rocks::write_error;

/// Blocks of runs that a piece has at least: 16 MB, of which a file of RocksDB is made.
const PIECE_BLOCKS_MIN: usize = 512;
/// Pieces for each thread, so that no thread has long to wait for the others in the end.
const PIECES_PER_THREAD: usize = 4;
/// Bytes between two looks whether the statement was killed.
const CHECK_BYTES: usize = 1 << 20;

/// Writes to `files` what the runs have.
pub fn merge_runs(files: &SortedFiles, file: &RunFile, runs: &[&Run], same: SameKey<'_>, interrupt: &Interrupt) -> Result<()> {
    let pieces = pieces(runs, PIECE_BLOCKS_MIN, cores() * PIECES_PER_THREAD);
    let queue = Queue::new(&pieces);
    let work = || {
        while let Some((_, piece)) = queue.take() {
            let done = write_piece(files, file, runs, (piece, same), interrupt);
            if done.is_err() {
                queue.stop();
                return done;
            }
        }
        Ok(())
    };
    Helpers::take(pieces.len() - 1).run("files", work).into_iter().collect()
}

fn write_piece(
    files: &SortedFiles,
    file: &RunFile,
    runs: &[&Run],
    (piece, same): (&Piece, SameKey<'_>),
    interrupt: &Interrupt,
) -> Result<()> {
    let (mut writer, mut bytes, mut pace) = (files.writer(), 0, Pace::begin());
    merge(file, runs, piece, same, |key, write| {
        pace.step();
        bytes += key.len() + write.map_or(0, <[u8]>::len);
        if bytes >= CHECK_BYTES {
            bytes = 0;
            interrupt.check()?;
        }
        writer.add(key, write).map_err(write_error)
    })?;
    writer.finish().map_err(write_error)
}
