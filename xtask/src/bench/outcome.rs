//! What a benchmark found: tables of figures per server, with targets, and failures.
//!
//! A row is one measurement, a cell its runs on one server. Of a row follow the medians and how Vaquita stands to the best
//! peer: a ratio above 1 is better than the peer, whether the figure is a rate or a time.

use super::chart::Line;
use super::server::{KINDS, Kind};
use super::settings::Settings;
use super::stats;

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Better {
    More,
    Less,
}

/// What issue 4 asks of a row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Target {
    None,
    /// So many times as good as the best peer.
    Peer(f64),
    /// So many times as good as the better InnoDB.
    InnoDb(f64),
    /// Vaquita's own figure, in the unit of the table.
    AtMost(f64),
    AtLeast(f64),
}

pub struct Row {
    pub name: String,
    pub target: Target,
    cells: [Vec<f64>; KINDS.len()],
}

pub struct Table {
    pub title: String,
    pub unit: &'static str,
    pub better: Better,
    /// Paragraph under the table.
    pub note: String,
    pub rows: Vec<Row>,
}

/// A line chart: progress of each server.
pub struct Lines {
    pub title: String,
    pub x: &'static str,
    pub y: &'static str,
    pub lines: Vec<Line>,
}

pub struct Outcome {
    pub title: String,
    /// Of the settings, beside those of every benchmark; Markdown, one line each.
    pub settings: Vec<String>,
    /// What the load generator says it is.
    pub versions: Vec<(Kind, String)>,
    pub tables: Vec<Table>,
    pub lines: Option<Lines>,
    pub failures: Vec<(Kind, String)>,
}

impl Target {
    pub fn text(self) -> String {
        match self {
            Target::None => String::new(),
            Target::Peer(times) => format!("{times}x the best peer"),
            Target::InnoDb(times) => format!("{times}x InnoDB"),
            Target::AtMost(most) => format!("at most {most}"),
            Target::AtLeast(least) => format!("at least {least}"),
        }
    }
}

impl Row {
    pub fn cell(&self, kind: Kind) -> &[f64] {
        &self.cells[kind as usize]
    }

    pub fn median(&self, kind: Kind) -> Option<f64> {
        stats::median(self.cell(kind))
    }

    /// How many times as good as the best peer Vaquita is; the better InnoDB where the target says so.
    pub fn ratio(&self, better: Better) -> Option<f64> {
        let own = self.median(Kind::Vaquita)?;
        let peers = KINDS.iter().filter(|kind| match self.target {
            Target::InnoDb(_) => matches!(kind, Kind::MySql | Kind::MariaDb),
            _ => **kind != Kind::Vaquita,
        });
        let medians = peers.filter_map(|kind| self.median(*kind));
        let ratio = match better {
            Better::More => own / medians.reduce(f64::max)?,
            Better::Less => medians.reduce(f64::min)? / own,
        };
        ratio.is_finite().then_some(ratio)
    }

    /// Whether the target is met; `None` without a target or without figures.
    pub fn met(&self, better: Better) -> Option<bool> {
        match self.target {
            Target::None => None,
            Target::Peer(times) | Target::InnoDb(times) => Some(self.ratio(better)? >= times),
            Target::AtMost(most) => Some(self.median(Kind::Vaquita)? <= most),
            Target::AtLeast(least) => Some(self.median(Kind::Vaquita)? >= least),
        }
    }
}

impl Table {
    pub fn new(title: &str, unit: &'static str, better: Better) -> Table {
        Table { title: title.into(), unit, better, note: String::new(), rows: Vec::new() }
    }

    pub fn note(mut self, text: &str) -> Table {
        self.note = text.into();
        self
    }

    /// Adds a row without figures; rows stand in the order in which they were added.
    pub fn row(&mut self, name: &str, target: Target) {
        self.rows.push(Row { name: name.into(), target, cells: Default::default() });
    }

    /// Adds a figure to a row, which is added if it is not there.
    pub fn add(&mut self, row: &str, kind: Kind, value: f64) {
        if !self.rows.iter().any(|known| known.name == row) {
            self.row(row, Target::None);
        }
        for known in self.rows.iter_mut().filter(|known| known.name == row) {
            known.cells[kind as usize].push(value);
        }
    }

    /// Takes the figures of a cell back: one of its runs failed.
    pub fn clear(&mut self, row: &str, kind: Kind) {
        for known in self.rows.iter_mut().filter(|known| known.name == row) {
            known.cells[kind as usize].clear();
        }
    }
}

impl Outcome {
    pub fn new(title: &str) -> Outcome {
        Outcome {
            title: title.into(),
            settings: Vec::new(),
            versions: Vec::new(),
            tables: Vec::new(),
            lines: None,
            failures: Vec::new(),
        }
    }

    pub fn setting(&mut self, text: impl Into<String>) {
        self.settings.push(text.into());
    }

    /// Says it at once and in the report.
    pub fn fail(&mut self, kind: Kind, text: &str) {
        eprintln!("{}: FAILED: {text}", kind.title());
        self.failures.push((kind, text.to_string()));
    }

    /// Keeps what was done on a server from ending the command before the other servers had their turn.
    pub fn note_failure<T>(&mut self, kind: Kind, done: Result<T, String>) -> Option<T> {
        match done {
            Ok(value) => Some(value),
            Err(text) => {
                self.fail(kind, &text);
                None
            }
        }
    }

    pub fn version(&mut self, kind: Kind, version: String) {
        if !self.versions.iter().any(|(known, _)| *known == kind) {
            self.versions.push((kind, version));
        }
    }

    /// Writes the report and the chart; fails if a server did.
    pub fn finish(self, settings: &Settings) -> Result<(), String> {
        super::report::write(settings, &self)?;
        if self.failures.is_empty() { Ok(()) } else { Err(format!("{} failures", self.failures.len())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(target: Target, values: [f64; 4]) -> Row {
        let mut table = Table::new("", "", Better::More);
        table.row("r", target);
        for (kind, value) in KINDS.iter().zip(values).filter(|(_, value)| *value > 0.0) {
            table.add("r", *kind, value);
        }
        table.rows.remove(0)
    }

    #[test]
    fn a_ratio_above_one_is_better() {
        let peers = |values| row(Target::Peer(2.0), values);
        assert_eq!(peers([10.0, 20.0, 40.0, 60.0]).ratio(Better::More), Some(1.5));
        assert_eq!(peers([10.0, 20.0, 40.0, 5.0]).ratio(Better::Less), Some(2.0));
        assert_eq!(peers([10.0, 20.0, 40.0, 0.0]).ratio(Better::More), None);
        assert_eq!(peers([0.0, 0.0, 0.0, 3.0]).ratio(Better::More), None);
        assert_eq!(row(Target::InnoDb(3.0), [10.0, 20.0, 40.0, 60.0]).ratio(Better::More), Some(3.0));
    }

    #[test]
    fn targets() {
        let figures = [10.0, 20.0, 40.0, 60.0];
        for (target, met) in [
            (Target::None, None),
            (Target::Peer(2.0), Some(false)),
            (Target::Peer(1.5), Some(true)),
            (Target::InnoDb(3.0), Some(true)),
            (Target::AtMost(59.0), Some(false)),
            (Target::AtLeast(60.0), Some(true)),
        ] {
            assert_eq!(row(target, figures).met(Better::More), met, "{target:?}");
        }
    }
}
