//! Man pages and shell completions, made of the definitions of the command line, so that they cannot differ from it.
//!
//! `vaquita man-pages DIR` (hidden: `make package` and `make install` run it) writes `DIR/vaquita.1`, a page for each
//! command such as `DIR/vaquita-serve.1`, and in `DIR/completions` a file for each shell.

use std::fs::{File, create_dir_all};
use std::io::Write;
use std::path::{Path, PathBuf};

use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

type Failure = Box<dyn std::error::Error + Send + Sync>;

const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];
const BINARY: &str = "vaquita";
const SECTION: &str = "1";

/// What the pages tell beside the command line: for which commands, path and text.
const FILES: &[(&[&str], &str, &str)] = &[
    (&["vaquita", "vaquita-serve"], "/etc/vaquita/vaquita.toml", "Options of the server that the packages start."),
    (&["vaquita", "vaquita-serve"], "/etc/default/vaquita", "Its environment."),
    (&["vaquita", "vaquita-serve"], "/var/lib/vaquita", "Its data."),
    (
        &["vaquita", "vaquita-serve"],
        "/var/lib/vaquita/client.cnf",
        "The password of root@localhost as of the first start, for mysql --defaults-file=.",
    ),
    (&["vaquita", "vaquita-serve", "vaquita-ping"], "/run/vaquita/vaquita.sock", "Its Unix socket."),
];

#[derive(clap::Args)]
pub struct ManPagesArguments {
    /// Where they are written to.
    dir: PathBuf,
}

#[derive(clap::Args)]
pub struct CompletionsArguments {
    /// The shell.
    shell: Shell,
}

/// Prints what the shell reads.
pub fn completions(arguments: &CompletionsArguments, mut command: clap::Command) {
    clap_complete::generate(arguments.shell, &mut command, BINARY, &mut std::io::stdout());
}

pub fn write(arguments: &ManPagesArguments, command: &clap::Command) -> Result<(), Failure> {
    let completions = arguments.dir.join("completions");
    create_dir_all(&completions)?;
    for shell in SHELLS {
        clap_complete::generate_to(shell, &mut command.clone(), BINARY, &completions)?;
    }
    // A page tells of all that `help` would.
    let mut command = command.clone().disable_help_subcommand(true);
    command.build();
    write_page(&command, &arguments.dir)
}

fn write_page(command: &clap::Command, dir: &Path) -> Result<(), Failure> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_string();
    let mut out = File::create(dir.join(format!("{name}.{SECTION}")))?;
    page(command, &name).map(|text| out.write_all(&text))??;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        write_page(sub, dir)?;
    }
    Ok(())
}

fn page(command: &clap::Command, name: &str) -> std::io::Result<Vec<u8>> {
    let man = Man::new(command.clone()).title(name).section(SECTION);
    let mut out = Vec::new();
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    man.render_synopsis_section(&mut out)?;
    man.render_description_section(&mut out)?;
    man.render_options_section(&mut out)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut out)?;
    }
    files(name).to_writer(&mut out)?;
    see_also(command, name).to_writer(&mut out)?;
    if command.get_version().is_some() {
        man.render_version_section(&mut out)?;
    }
    Ok(out)
}

fn files(name: &str) -> Roff {
    let mut roff = Roff::default();
    let of_page: Vec<_> = FILES.iter().filter(|(names, ..)| names.contains(&name)).collect();
    if !of_page.is_empty() {
        roff.control("SH", ["FILES"]);
    }
    for (_, path, text) in of_page {
        roff.control("TP", []);
        roff.text([bold(*path)]);
        roff.text([roman(*text)]);
    }
    roff
}

fn see_also(command: &clap::Command, name: &str) -> Roff {
    let mut others: Vec<String> = match name == BINARY {
        true => {
            command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(|sub| format!("{BINARY}-{}", sub.get_name())).collect()
        }
        false => vec![BINARY.to_string()],
    };
    others.push("mysql".to_string());
    let mut roff = Roff::default();
    roff.control("SH", ["SEE ALSO"]);
    let last = others.len() - 1;
    for (nth, other) in others.iter().enumerate() {
        roff.text([bold(other.as_str()), roman(format!("({SECTION}){}", if nth == last { "" } else { "," }))]);
    }
    roff
}
