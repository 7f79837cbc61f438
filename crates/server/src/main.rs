//! The `vaquita` binary: reads the command line, opens the data directory, serves.
//!
//! `vaquita serve --data-dir D` needs no configuration. The first start creates the directory, keys and
//! certificates, and `root`@`localhost` with a random password in `D/client.cnf`. SIGTERM ends
//! open statements, syncs and exits.

// Only the allocator (`memory`); and an unmangled name is unsafe code to the compiler: `instructions` has two.
#![deny(unsafe_code)]

mod accounts;
mod check;
mod clients;
mod commands;
mod compression;
mod connection;
mod counters;
mod descriptors;
mod durable;
mod info;
#[cfg(test)]
mod instructions;
mod log;
mod login;
#[allow(unsafe_code)] // an allocator
mod memory;
mod options;
mod output;
mod pool;
mod reply;
mod serve;
mod server;
mod session;
mod statements;
mod status;
mod table_locks;
mod tls;
mod transport;
mod user_locks;
mod variables;

use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: memory::CountingAllocator = memory::CountingAllocator;

/// A MySQL-compatible database server.
#[derive(Parser)]
#[command(name = "vaquita", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve a data directory.
    Serve(Box<options::ServeArguments>),
    /// Check a data directory that no server has open: every table, and that nothing is left over.
    Check(options::CheckArguments),
    /// List the kill points of crash tests.
    #[command(hide = true)]
    KillPoints,
    /// List every system variable: name, scope, default, and what it does.
    Variables,
}

fn main() -> std::process::ExitCode {
    let arguments = Arguments::parse();
    log::start();
    let outcome = match arguments.command {
        Command::Serve(serve) => serve::run(*serve),
        Command::Check(check) => check::run(check),
        Command::KillPoints => {
            vaquita_storage::kill_points::ALL.iter().for_each(|name| println!("{name}"));
            Ok(())
        }
        Command::Variables => variables::print_all(),
    };
    match outcome {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            log::line(&format!("vaquita: {error}"));
            std::process::ExitCode::FAILURE
        }
    }
}
