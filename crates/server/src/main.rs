//! The `vaquita` binary: reads the command line, opens the data directory, serves.
//!
//! `vaquita serve --data-dir D` needs no configuration. The first start creates the directory, keys and
//! certificates, and `root`@`localhost` with a random password in `D/client.cnf`. SIGTERM ends
//! open statements, syncs and exits.

use clap::{CommandFactory, Parser, Subcommand};
use vaquita_server::{
    attach_options, backup_options, check_data, import_config, log, man_pages, options, ping, print_log, replay_options, serve,
};

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
    ///
    /// Each option can also stand in the environment, as VAQUITA_ with its name in capitals and underscores, and in the file of --config with its long name as the key. The command line counts before the environment, and this before the file.
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
    /// Back up a running server, or archive its binary log.
    Backup(Box<backup_options::BackupArguments>),
    /// List the backups of a place.
    Backups(backup_options::PlaceArguments),
    /// Make a data directory of a backup, as it was when it was taken or at any later moment that the archived log has.
    Restore(Box<backup_options::RestoreArguments>),
    /// Check that every file of every backup, and the archived log, is there and as it was written.
    Verify(backup_options::VerifyArguments),
    /// Make a second data directory of a running server's data, at once, to be served beside it.
    Branch(Box<backup_options::BranchArguments>),
    /// Fetch a running server's data into a new data directory, over the network.
    Clone(Box<backup_options::CloneArguments>),
    /// Measure servers with a recorded workload.
    Bench(Box<replay_options::BenchArguments>),
    /// Say what each setting in the option file of a MySQL or MariaDB server means here, as `serve --import-config` takes it.
    ImportConfig(import_config::ImportArguments),
    /// Ask whether a server answers.
    Ping(ping::PingArguments),
    /// List the kill points of crash tests.
    #[command(hide = true)]
    KillPoints,
    /// List every system variable: name, scope, default, and what it does.
    Variables,
    /// Print what makes a shell complete the command line.
    Completions(man_pages::CompletionsArguments),
    /// Write man pages and shell completions.
    #[command(hide = true)]
    ManPages(man_pages::ManPagesArguments),
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
        Command::Backup(backup) => backup_options::backup(*backup),
        Command::Backups(place) => backup_options::backups(&place),
        Command::Restore(restore) => backup_options::restore(*restore),
        Command::Verify(verify) => backup_options::verify(&verify),
        Command::Branch(branch) => backup_options::branch(*branch),
        Command::Clone(clone) => backup_options::clone(*clone),
        Command::Bench(bench) => replay_options::bench(*bench),
        Command::ImportConfig(import) => import_config::run(&import),
        Command::Ping(ping) => ping::run(ping),
        Command::KillPoints => {
            vaquita_storage::kill_points::ALL.iter().for_each(|name| println!("{name}"));
            Ok(())
        }
        Command::Variables => vaquita_session::variables::print_all(),
        Command::Completions(completions) => {
            man_pages::completions(&completions, Arguments::command());
            Ok(())
        }
        Command::ManPages(pages) => man_pages::write(&pages, &Arguments::command()),
    };
    match outcome {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            log::line(&format!("vaquita: {error}"));
            std::process::ExitCode::FAILURE
        }
    }
}
