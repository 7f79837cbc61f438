//! The report on an option file: a line for each of its settings, and a count.
//!
//! ```text
//! my.cnf:12  max_connections = 500          taken       max_connections = 500. Connections that are served at once; …
//! my.cnf:14  innodb_flush_method = O_DIRECT nothing     the log is written past the cache of the system, …
//! ```

use std::fmt;

use super::Judged;
use super::meaning::Verdict;

/// A column is not made wider than this by one long line.
const PLACE_CHARS_MAX: usize = 40;
const SETTING_CHARS_MAX: usize = 48;
/// The longest word.
const VERDICT_CHARS: usize = 10;

#[derive(Default)]
pub struct Report {
    pub lines: Vec<Judged>,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Taken => "taken",
            Verdict::Nothing => "nothing",
            Verdict::Missing => "missing",
            Verdict::Refused => "refused",
            Verdict::Unknown => "unknown",
            Verdict::Overridden => "overridden",
            Verdict::Others => "others",
        }
    }

    fn means(self) -> &'static str {
        match self {
            Verdict::Taken => "does the same here",
            Verdict::Nothing => "sets nothing here, and nobody misses it",
            Verdict::Missing => "is not done here; the server starts all the same",
            Verdict::Refused => "is not done here, and the server does not start with it",
            Verdict::Unknown => "is no setting that is known",
            Verdict::Overridden => "is said otherwise further down",
            Verdict::Others => "is for other programs",
        }
    }
}

const VERDICTS: [Verdict; 7] = [
    Verdict::Taken,
    Verdict::Nothing,
    Verdict::Missing,
    Verdict::Refused,
    Verdict::Unknown,
    Verdict::Overridden,
    Verdict::Others,
];

/// Settings of which the value is nobody's business.
const SECRETS: [&str; 2] = ["password", "sst_auth"];

fn setting(line: &Judged) -> String {
    let is_secret = SECRETS.iter().any(|word| line.name.to_ascii_lowercase().ends_with(word));
    match &line.value {
        Some(_) if is_secret => format!("{} = …", line.name),
        Some(value) => format!("{} = {}", line.name, value.replace(char::is_control, "?")),
        None => line.name.clone(),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |of: &dyn Fn(&Judged) -> String, most: usize| {
            self.lines.iter().map(|line| of(line).chars().count()).max().unwrap_or(0).min(most)
        };
        let place = width(&|line| line.place.to_string(), PLACE_CHARS_MAX);
        let setting_chars = width(&setting, SETTING_CHARS_MAX);
        for line in &self.lines {
            let (at, what, word) = (line.place.to_string(), setting(line), line.verdict.word());
            writeln!(f, "{at:place$}  {what:setting_chars$}  {word:VERDICT_CHARS$}  {}", line.text)?;
        }
        if !self.lines.is_empty() {
            writeln!(f)?;
        }
        for verdict in VERDICTS {
            let count = self.lines.iter().filter(|line| line.verdict == verdict).count();
            if count > 0 {
                writeln!(f, "{count:5} {:VERDICT_CHARS$}  {}", verdict.word(), verdict.means())?;
            }
        }
        Ok(())
    }
}
