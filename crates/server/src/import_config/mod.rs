//! `vaquita import-config FILE` and `serve --import-config FILE`: the option file of a MySQL or MariaDB server, and what each of
//! its lines means here.
//!
//! 1. `option_file` reads the file and those that it includes.
//! 2. `meaning` judges each line of a server's group: what it becomes, or why nobody misses it, or what is missing.
//! 3. What later lines say otherwise is marked, and the rest is handed to `options`: some values become options, the others those of
//!    variables, which are set before those of SET PERSIST.
//!
//! The file is read at each start, as MySQL reads it: a change of it counts at the next. The command line, the environment and the
//! file of `--config` count before it.
//!
//! A line is *refused* where the server would behave in a way that its writer relies on not to happen, as when data would no longer be
//! encrypted. A server does not start with one, unless `--ignore-settings` names it.

mod charset;
mod meaning;
mod option_file;
mod report;
mod special;
mod value;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use meaning::{Does, Meaning, Verdict, meaning};
use option_file::{Line, Place};
pub use report::Report;
use vaquita_session::variables::Def;
use vaquita_types::Value;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(clap::Args)]
pub struct ImportArguments {
    /// The option file of a MySQL or MariaDB server, as /etc/mysql/my.cnf.
    file: PathBuf,
    /// Names of settings, divided by commas, that are not read.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    ignore_settings: Vec<String>,
}

/// Prints what the file means here. It fails if a server would not start with it.
pub fn run(arguments: &ImportArguments) -> Result<(), Failure> {
    let imported = import(&arguments.file, &arguments.ignore_settings)?;
    print!("{}", imported.report);
    imported.refusal().map_or(Ok(()), |refusal| Err(refusal.into()))
}

/// What a file asks for: options that set no variable, and variables, of which some have an option.
#[derive(Default)]
pub struct Imported {
    pub options: Vec<(&'static str, String)>,
    pub variables: Vec<(&'static Def, Value)>,
    pub report: Report,
}

impl Imported {
    /// Why a server does not start with the file.
    pub fn refusal(&self) -> Option<String> {
        let mut names: Vec<&str> = Vec::new();
        for line in self.report.lines.iter().filter(|line| line.verdict == Verdict::Refused) {
            if !names.contains(&line.name.as_str()) {
                names.push(&line.name);
            }
        }
        (!names.is_empty()).then(|| {
            format!(
                "the server would not do what is relied on; remove the lines, or start it with --ignore-settings={}",
                names.join(",")
            )
        })
    }
}

/// A line of the report.
#[derive(Clone, Debug)]
pub struct Judged {
    place: Place,
    name: String,
    value: Option<String>,
    verdict: Verdict,
    text: String,
}

pub fn import(path: &Path, ignored: &[String]) -> Result<Imported, String> {
    let mut judged: Vec<(Judged, Meaning)> = Vec::new();
    for line in option_file::read(path)? {
        let (place, name, value, mut meaning) = match line {
            Line::NotThere { place, path } => {
                let meaning = Meaning::new(Verdict::Nothing, "it is not there");
                (place, format!("!include {}", path.display()), None, meaning)
            }
            Line::Setting { place, group, name, value } => {
                let meaning = in_group(&group, &name, value.as_deref());
                (place, name, value, meaning)
            }
        };
        if meaning.verdict != Verdict::Others && ignored.iter().any(|ignored| is_same_name(ignored, &name)) {
            meaning = Meaning { key: meaning.key, ..Meaning::new(Verdict::Nothing, "it is not read (--ignore-settings)") };
        }
        let (verdict, text) = (meaning.verdict, meaning.text.clone());
        judged.push((Judged { place, name, value, verdict, text }, meaning));
    }
    mark_overridden(&mut judged);
    let follows = charset::complete(&mut judged);
    if !says_where_to_listen(&judged) {
        let place = Place { file: path.to_path_buf(), line: 0 };
        let meaning = Meaning::new(Verdict::Missing, UNSAID_ADDRESS);
        let (verdict, text) = (meaning.verdict, meaning.text.clone());
        judged.push((Judged { place, name: "(no bind-address)".to_string(), value: None, verdict, text }, meaning));
    }
    let (mut options, mut variables, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    for (line, meaning) in judged {
        match meaning.does {
            _ if line.verdict == Verdict::Overridden => {}
            Does::Nothing => {}
            Does::Option(long, value) => options.push((long, value)),
            Does::Variable(def, value) => variables.push((def, value)),
        }
        lines.push(line);
    }
    variables.extend(follows);
    Ok(Imported { options, variables, report: Report { lines } })
}

fn is_same_name(one: &str, other: &str) -> bool {
    let plain = |name: &str| name.trim().replace('-', "_").to_ascii_lowercase();
    plain(one) == plain(other)
}

/// Groups are for programs: those of servers are read, also those for a version, since the file is of the server that is
/// replaced, whatever its version.
fn in_group(group: &str, name: &str, value: Option<&str>) -> Meaning {
    let program = group.split_once(|char: char| char == '-' && group.contains('.')).map_or(group, |(program, _)| program);
    match program {
        "mysqld" | "server" | "mariadb" | "mariadbd" | "galera" => meaning(name, value),
        "mysqld_safe" | "safe_mysqld" | "mariadbd-safe" | "mariadb_safe" | "mysqld_multi" => Meaning::new(
            Verdict::Others,
            "it is for the script that starts MySQL; under systemd the unit says such things (systemctl edit vaquita)",
        ),
        _ => Meaning::new(Verdict::Others, "it is for another program, which goes on to read it"),
    }
}

/// The one default that is another than MySQL's and that an application notices at once.
const UNSAID_ADDRESS: &str = "MySQL and MariaDB listen on all addresses then, this server on 127.0.0.1: give it --bind='*'";

fn says_where_to_listen(judged: &[(Judged, Meaning)]) -> bool {
    let keys = ["bind_address", "skip_networking"];
    judged.iter().any(|(_, meaning)| {
        let is_said = meaning.key.as_deref().is_some_and(|key| keys.contains(&key));
        is_said && !matches!(meaning.verdict, Verdict::Others | Verdict::Nothing)
    })
}

fn mark_overridden(judged: &mut [(Judged, Meaning)]) {
    let mut later: HashMap<String, Place> = HashMap::new();
    for (line, meaning) in judged.iter_mut().rev() {
        let Some(key) = meaning.key.clone().filter(|_| line.verdict != Verdict::Unknown) else { continue };
        match later.get(&key) {
            Some(place) => {
                line.verdict = Verdict::Overridden;
                let place = if place.file == line.place.file { format!("line {}", place.line) } else { place.to_string() };
                line.text = format!("{place} counts");
            }
            None => {
                later.insert(key, line.place.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests;
