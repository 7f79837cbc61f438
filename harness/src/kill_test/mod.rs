//! `cargo harness kill-test`: `kill -9` at random times during writes, and after each restart nothing acknowledged is lost.
//!
//! A cycle: writers run for a random time; the server is killed; in one cycle of five it is killed once more while it
//! starts; it starts and is verified:
//! 1. each writer's rows are those of its acknowledged commits, its transaction under way whole or absent (`writer`);
//! 2. the shared counter is exactly the number of transactions that are there;
//! 3. the rows found through the secondary index are the same;
//! 4. CHECK TABLE says OK.
//!
//! `--server` tests a peer in the same way. It does not cut power: the kernel keeps what the server wrote, synced or not. The seed decides what is written and
//! when the kill comes, not how threads interleave; a failure keeps the data directory, and prints seed and cycle.

mod crashes;
mod load;
pub mod writer;

use crate::flags::Flags;
use crate::vaquita::Vaquita;
pub use crashes::Crashes;
pub use load::{Load, create_tables, execute, rows, verify};
pub use writer::{DATABASE, Values, pad};

const WRITE_MS_MAX: u64 = 800;

pub fn main(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let mut test = Crashes::from_flags("kill-test", &mut flags, "data", &[])?;
    flags.finish()?;
    let server = test.first_start();
    let done = server.and_then(|server| test.run(server, cycle));
    test.end(done, "", "")?;
    test.remove_files()
}

/// Writes, kills, restarts, verifies.
fn cycle(test: &mut Crashes, server: Vaquita) -> Result<Vaquita, String> {
    test.write_and_kill(server, WRITE_MS_MAX)?;
    if test.random.one_in(5) {
        test.kill_at_start()?;
    }
    let server = test.restart()?;
    test.verify(&server)?;
    Ok(server)
}
