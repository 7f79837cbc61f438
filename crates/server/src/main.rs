//! The `vaquita` binary: reads the command line, opens the data directory, serves.
//!
//! `vaquita serve --data-dir D` needs no configuration. The first start creates the directory, keys and
//! certificates, and `root`@`localhost` with a random password in `D/client.cnf`. SIGTERM ends
//! open statements, syncs and exits.

use clap::{Parser, Subcommand};
use vaquita_server::{attach_options, check_data, log, options, print_log, serve};

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
    /// Print binary logs of MySQL and MariaDB to read, from files or from a server, and say where they are damaged.
    Log(Box<print_log::LogArguments>),
    /// Make a running Vaquita a replica of a running MySQL, MariaDB or Vaquita: check, copy, follow, compare.
    Attach(Box<attach_options::AttachArguments>),
    /// Switch over: make a replica the source.
    Promote(Box<attach_options::PromoteArguments>),
    /// The way back: make this server a replica of another that has all it has.
    Demote(Box<attach_options::DemoteArguments>),
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
        Command::Check(check) => check_data::run(check),
        Command::Log(log) => print_log::run(*log),
        Command::Attach(attach) => attach_options::attach(*attach),
        Command::Promote(promote) => attach_options::promote(*promote),
        Command::Demote(demote) => attach_options::demote(*demote),
        Command::KillPoints => {
            vaquita_storage::kill_points::ALL.iter().for_each(|name| println!("{name}"));
            Ok(())
        }
        Command::Variables => vaquita_session::variables::print_all(),
    };
    match outcome {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            log::line(&format!("vaquita: {error}"));
            std::process::ExitCode::FAILURE
        }
    }
}
