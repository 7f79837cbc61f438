//! `cargo xtask models`: the lock manager and the commit pipeline under the model checkers of `crates/models`.

use std::process::Command;

use crate::flags::Flags;

pub fn main(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let full = flags.switch("--full");
    let seed = flags.number("--seed", 1)?;
    let schedules = flags.number("--schedules", if full { 1_000_000 } else { 50_000 })?;
    let preemptions = flags.number("--preemptions", if full { 3 } else { 2 })?;
    flags.finish()?;
    program("loom-models", &[preemptions])?;
    program("shuttle-models", &[schedules, seed])
}

fn program(name: &str, arguments: &[u64]) -> Result<(), String> {
    let mut command = Command::new("cargo");
    command.args(["run", "--locked", "-q", "-p", "vaquita-models", "--bin", name, "--"]);
    command.args(arguments.iter().map(u64::to_string));
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name}: {status}")),
        Err(error) => Err(format!("cargo: {error}")),
    }
}
