//! The options that every benchmark has, and where its report goes.
//!
//! A benchmark asks for its sizes, each with the value of a whole run and that of `--quick`, and then for the `Settings`.
//! A size given by hand makes the run a part, as `--quick` and `--servers` do.

use std::path::PathBuf;

use super::server::{KINDS, Kind};
use crate::flags::Flags;
use crate::paths;

pub struct Options {
    flags: Flags,
    name: &'static str,
    quick: bool,
    /// Something was asked for that makes the report no whole one.
    part: bool,
}

pub struct Settings {
    /// Of the benchmark.
    pub name: &'static str,
    pub quick: bool,
    pub servers: Vec<Kind>,
    /// How often each figure is measured.
    pub runs: u64,
    /// Directory of the report.
    pub out: PathBuf,
}

impl Options {
    pub fn new(name: &'static str, args: &[String]) -> Options {
        let mut flags = Flags::new(args);
        let quick = flags.switch("--quick");
        Options { flags, name, quick, part: quick }
    }

    /// The value of `flag`, or of a whole run, or of a quick one.
    pub fn number(&mut self, flag: &str, whole: u64, quick: u64) -> Result<u64, String> {
        let given = self.flags.text(flag)?;
        self.part |= given.is_some();
        match given {
            Some(text) => text.parse().map_err(|_| format!("{flag}: not a number: {text}")),
            None => Ok(if self.quick { quick } else { whole }),
        }
    }

    /// A list of numbers separated by commas.
    pub fn numbers(&mut self, flag: &str, whole: &[u64], quick: &[u64]) -> Result<Vec<u64>, String> {
        match self.list(flag)? {
            None => Ok(if self.quick { quick } else { whole }.to_vec()),
            Some(list) => list.iter().map(|text| text.parse().map_err(|_| format!("{flag}: not a number: {text}"))).collect(),
        }
    }

    /// The members of `all` that `flag` names, in the order of `all`; all of them without it.
    pub fn pick<T: Copy>(&mut self, flag: &str, all: &[T], name: impl Fn(T) -> &'static str) -> Result<Vec<T>, String> {
        let Some(wanted) = self.list(flag)? else { return Ok(all.to_vec()) };
        for text in &wanted {
            if !all.iter().any(|item| name(*item) == text) {
                let known: Vec<_> = all.iter().map(|item| name(*item)).collect();
                return Err(format!("{flag}: no {text}; there are {}", known.join(", ")));
            }
        }
        Ok(all.iter().copied().filter(|item| wanted.iter().any(|text| name(*item) == text)).collect())
    }

    fn list(&mut self, flag: &str) -> Result<Option<Vec<String>>, String> {
        let given = self.flags.list(flag)?;
        self.part |= given.is_some();
        Ok(given)
    }

    /// `runs` and `quick_runs` are the defaults of `--runs`.
    pub fn finish(mut self, runs: u64, quick_runs: u64) -> Result<Settings, String> {
        let servers = self.pick("--servers", &KINDS, Kind::flag)?;
        let runs = self.flags.number("--runs", if self.quick { quick_runs } else { runs })?.max(1);
        let default_out = if self.part { paths::target_dir().join("bench") } else { paths::repository().join("docs/benchmarks") };
        let out = self.flags.text("--out")?.map_or(default_out, PathBuf::from);
        self.flags.finish()?;
        Ok(Settings { name: self.name, quick: self.quick, servers, runs, out })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(args: &[&str]) -> Options {
        Options::new("x", &args.iter().map(|s| s.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn a_part_is_not_published() {
        for (args, rows_wanted, published) in [
            (&[][..], 1000, true),
            (&["--quick"], 10, false),
            (&["--rows", "7"], 7, false),
            (&["--servers", "vaquita,mysql"], 1000, false),
            (&["--runs", "2"], 1000, true),
        ] {
            let mut options = options(args);
            assert_eq!(options.number("--rows", 1000, 10), Ok(rows_wanted));
            let settings = options.finish(3, 1);
            assert_eq!(settings.map(|s| s.out.ends_with("docs/benchmarks")), Ok(published), "{args:?}");
        }
    }

    #[test]
    fn lists_keep_their_order_and_refuse_what_is_not_there() {
        let settings = options(&["--servers", "vaquita,mysql"]).finish(1, 1);
        assert_eq!(settings.map(|s| s.servers), Ok(vec![Kind::MySql, Kind::Vaquita]));
        assert!(options(&["--servers", "oracle"]).finish(1, 1).is_err());
        assert!(options(&["--what"]).finish(1, 1).is_err());
        assert_eq!(options(&["--threads", "1,2"]).numbers("--threads", &[8], &[8]), Ok(vec![1, 2]));
    }
}
