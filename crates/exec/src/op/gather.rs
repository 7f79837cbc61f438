//! The rows of a scan that finds few, read by several threads (`parallel`) and given in the scan's order.
//!
//! The first rows are read here, one by one: a statement that needs no more pays for nothing, and it shows whether rows are few. What
//! is left then is cut into morsels and read in rounds, each of twice as many morsels as the one before: what a LIMIT leaves unused is
//! less than what was needed. A round's rows are kept until they are given. When rows are many, or a round gives up, the rest is read here.

use vaquita_plan::expr::Slot;
use vaquita_plan::node::Node;
use vaquita_storage::KeyRange;
use vaquita_types::Result;

use super::rows::Rows;
use super::slots::{filled_slots, refills};
use super::{Frame, Operator, build};
use crate::parallel::{self, Division};

/// Rows that are read here before anything else, at most.
const FIRST_ROWS_MAX: u64 = 1 << 13;
/// Few is one in so many, or less: keeping rows costs little beside finding them.
const FEW: u64 = 4;
/// Bytes of rows that a thread keeps of one round.
const ROUND_BYTES_MAX: usize = 8 << 20;

pub struct Gather<'p> {
    node: &'p Node,
    input: Box<dyn Operator + 'p>,
    saved: Vec<Slot>,
    reading: Reading,
    division: Option<Division<'p>>,
    morsels: Vec<KeyRange>,
    /// Morsels that were read.
    read: usize,
    /// How many the next round reads.
    round: usize,
    /// Rows to read first, and those of them that were given.
    first: u64,
    given: u64,
    /// Of a round, in order; the one that is being given comes last.
    kept: Vec<(usize, Rows)>,
    at: usize,
}

enum Reading {
    /// The first rows.
    First,
    Rounds,
    /// All that is left, on this thread.
    Alone,
}

/// Whether it is worth trying: a filter keeps rows few, and a hash table would be built anew in each round.
pub fn applies(node: &Node) -> bool {
    match node {
        Node::Scan(scan) => !scan.filter.is_empty(),
        Node::Filter { input, .. } => matches!(**input, Node::Scan(_)) || applies(input),
        Node::NestedLoop { outer, .. } => applies(outer),
        _ => false,
    }
}

impl<'p> Gather<'p> {
    pub fn new(node: &'p Node) -> Gather<'p> {
        Gather {
            node,
            input: build(node),
            saved: filled_slots(node),
            reading: Reading::Alone,
            division: None,
            morsels: Vec::new(),
            read: 0,
            round: 0,
            first: 0,
            given: 0,
            kept: Vec::new(),
            at: 0,
        }
    }

    /// From here on all is read here.
    fn go_alone(&mut self) {
        self.reading = Reading::Alone;
        self.input.restrict(self.morsels.get(self.read..).unwrap_or(&[]));
    }

    /// Reads the next morsels; false: they are to be read here.
    fn round(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        let Some(division) = &self.division else { return Ok(false) };
        let end = (self.read + self.round).min(self.morsels.len());
        let morsels = self.morsels.get(self.read..end).unwrap_or(&[]);
        let (node, saved, takes_slots) = (self.node, &self.saved, refills(self.node));
        let work = |frame: &mut Frame<'_>| {
            let mut input = build(node);
            let mut parts: Vec<(usize, Rows)> = Vec::new();
            let limit = frame.statement.memory_bytes_max.min(ROUND_BYTES_MAX);
            input.open(frame)?;
            while input.next(frame)? {
                let morsel = frame.statement.part.map_or(0, |part| part.morsel());
                if parts.last().is_none_or(|(last, _)| *last != morsel) {
                    parts.push((morsel, Rows::new(saved.len())));
                }
                if let Some((_, rows)) = parts.last_mut() {
                    rows.push_slots(frame, saved, takes_slots)?;
                }
                if frame.statement.memory_bytes.get() > limit {
                    return Ok(None);
                }
            }
            Ok(Some(parts))
        };
        let Some(parts) = parallel::run_morsels(division, morsels, frame, work)? else { return Ok(false) };
        let Some(parts) = parts.into_iter().collect::<Option<Vec<_>>>() else { return Ok(false) };
        self.kept = parts.into_iter().flatten().collect();
        self.kept.sort_by_key(|(morsel, _)| std::cmp::Reverse(*morsel));
        for (_, rows) in &self.kept {
            frame.statement.keep_bytes(rows.kept_bytes())?;
        }
        (self.read, self.round) = (end, self.round.saturating_mul(2));
        Ok(true)
    }

    /// The next row that was kept.
    fn give(&mut self, frame: &mut Frame<'_>) -> bool {
        while let Some((_, rows)) = self.kept.last_mut() {
            if self.at < rows.len() {
                rows.restore_taking(self.at, frame, &self.saved);
                self.at += 1;
                return true;
            }
            rows.clear(frame.statement);
            self.kept.pop();
            self.at = 0;
        }
        false
    }
}

impl Operator for Gather<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.kept.drain(..).for_each(|(_, mut rows)| rows.clear(frame.statement));
        (self.at, self.read, self.given) = (0, 0, 0);
        self.input.open(frame)?;
        self.first = FIRST_ROWS_MAX.min(parallel::rows_min(frame.statement).max(1));
        self.reading = if self.input.pause_after(self.first) { Reading::First } else { Reading::Alone };
        Ok(())
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        loop {
            match self.reading {
                Reading::Alone => return self.input.next(frame),
                Reading::First => {
                    if self.input.next(frame)? {
                        self.given += 1;
                        return Ok(true);
                    }
                    let rest = self.input.rest();
                    self.reading = Reading::Alone;
                    if self.given <= self.first / FEW && !rest.is_empty() {
                        self.division = parallel::divide(self.node, Some(rest), frame)?;
                        if let Some(division) = &self.division {
                            self.morsels = division.morsels(frame.statement.engine)?;
                            self.round = parallel::threads_max(frame.statement);
                            self.reading = Reading::Rounds;
                        }
                    }
                }
                Reading::Rounds => {
                    if self.give(frame) {
                        return Ok(true);
                    }
                    if self.read >= self.morsels.len() {
                        return Ok(false);
                    }
                    if !self.round(frame)? {
                        self.go_alone();
                    }
                }
            }
        }
    }
}
