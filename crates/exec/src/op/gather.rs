//! Rows that several threads make (`parallel`), given in the order in which one would have met them: those of a scan that finds few, and the
//! groups of an aggregation of rows that come in the order of its keys.
//!
//! Of a scan the first rows are read here, one by one: a statement that needs no more pays for nothing, and it shows whether rows are few. What
//! is left then is cut into small morsels and read in rounds, each of up to twice as many morsels as the one before. A round ends as soon as
//! the rows of its first morsels are all that a LIMIT wants. Its rows are kept until they are given. When rows are many, or a round
//! gives up, the rest is read here.
//!
//! Groups are made in rounds from the beginning, if no LIMIT stands above. Each morsel has whole groups, to whose rows nothing above adds.

use std::sync::atomic::{AtomicU64, Ordering};

use vaquita_plan::expr::Slot;
use vaquita_plan::node::{Limit, Node};
use vaquita_plan::visit;
use vaquita_storage::KeyRange;
use vaquita_types::Result;

use super::parallel::{self, Division};
use super::slots::{filled_slots, refills};
use super::{Builder, Frame, Operator, limit};
use crate::context::Rows;

/// Rows that are read here before anything else, at most.
const FIRST_ROWS_MAX: u64 = 1 << 13;
/// Few is one in so many, or less: keeping rows costs little beside finding them.
const FEW: u64 = 4;
/// Bytes of rows that a thread keeps of one round.
const ROUND_BYTES_MAX: usize = 8 << 20;
/// Many, since a LIMIT may be reached soon; each costs RocksDB's estimate of its size.
const MORSELS_MAX: u64 = 1 << 10;
/// Of a morsel with groups, each of which costs a seek more, so that there are as few as elsewhere (`parallel::MORSELS`) if that is enough.
const GROUPED_ROWS_MAX: u64 = 1 << 16;

pub struct Gather<'p> {
    node: &'p Node,
    limit: Option<&'p Limit>,
    /// Rows that the limit still asks for.
    wanted: u64,
    input: Box<dyn Operator + 'p>,
    saved: Vec<Slot>,
    reading: Reading,
    /// The rows are groups: where they are made in rounds the input is not open.
    groups: bool,
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
        Node::Scan(scan) => !scan.filter.is_empty() && scan.partitions.is_none(),
        Node::Filter { input, .. } => match &**input {
            Node::Scan(scan) => scan.partitions.is_none(),
            input => applies(input),
        },
        Node::NestedLoop { outer, .. } => applies(outer),
        _ => false,
    }
}

/// Whether `node` is an aggregation, or a filter of one, whose groups can be made in parts.
pub fn applies_to_groups(node: &Node) -> bool {
    match node {
        Node::Filter { input, .. } => applies_to_groups(input),
        Node::Aggregate { input, .. } => node.groups_in_order() && can_restrict(input),
        _ => false,
    }
}

/// `Operator::restrict` comes to the scan.
fn can_restrict(node: &Node) -> bool {
    match node {
        Node::Scan(scan) => scan.partitions.is_none(),
        Node::Filter { input, .. } | Node::NestedLoop { outer: input, .. } => can_restrict(input),
        _ => false,
    }
}

/// The slots of a group, or of a row.
fn given_slots(node: &Node) -> Vec<Slot> {
    match node {
        Node::Filter { input, .. } => given_slots(input),
        Node::Aggregate { keys, aggregates, saved, .. } => {
            let results = keys.iter().map(|(_, slot)| *slot).chain(aggregates.iter().map(|aggregate| aggregate.slot));
            visit::unique(results.chain(saved.iter().copied()).collect())
        }
        _ => filled_slots(node),
    }
}

impl<'p> Gather<'p> {
    /// `limit` is what the rows are for.
    pub fn new(node: &'p Node, limit: Option<&'p Limit>, builder: Builder<'_>) -> Gather<'p> {
        let groups = applies_to_groups(node);
        Gather {
            node,
            limit,
            wanted: u64::MAX,
            input: if groups { builder.build_groups(node) } else { builder.build(node) },
            saved: given_slots(node),
            reading: Reading::Alone,
            groups,
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

    /// Whether groups are to be made in rounds.
    fn divide_groups(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        self.division = parallel::divide(self.node, None, frame)?;
        let Some(division) = &self.division else { return Ok(false) };
        let threads = parallel::threads_max(frame.statement);
        let count = (parallel::MORSELS * threads as u64).max(division.rows_estimate() / GROUPED_ROWS_MAX).min(MORSELS_MAX);
        self.morsels = division.morsels(count, frame.statement)?;
        self.round = threads;
        Ok(self.morsels.len() > threads)
    }

    /// From here on all is read here.
    fn go_alone(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.reading = Reading::Alone;
        if self.groups {
            self.input.open(frame)?;
        }
        self.input.restrict(self.morsels.get(self.read..).unwrap_or(&[]));
        Ok(())
    }

    /// Reads the next morsels; false: they are to be read here.
    fn round(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        let Some(division) = &self.division else { return Ok(false) };
        let end = (self.read + self.round).min(self.morsels.len());
        let morsels = self.morsels.get(self.read..end).unwrap_or(&[]);
        let (node, saved, takes_slots, wanted, groups) = (self.node, &self.saved, refills(self.node), self.wanted, self.groups);
        let found: Vec<AtomicU64> = morsels.iter().map(|_| AtomicU64::new(0)).collect();
        // Morsels are taken in their order: what comes behind these rows is not wanted.
        let is_enough = |morsel: usize| {
            let Some(found) = found.get(..=morsel) else { return false };
            found[morsel].fetch_add(1, Ordering::Relaxed);
            found.iter().map(|rows| rows.load(Ordering::Relaxed)).sum::<u64>() >= wanted
        };
        let work = |frame: &mut Frame<'_>| {
            let builder = Builder::of(frame.statement);
            let mut input = if groups { builder.build_groups(node) } else { builder.build(node) };
            let mut parts: Vec<(usize, Rows)> = Vec::new();
            let bytes_max = frame.statement.memory_bytes_max.min(ROUND_BYTES_MAX);
            input.open(frame)?;
            while input.next(frame)? {
                let Some(part) = frame.statement.part else { return Ok(None) };
                let morsel = part.morsel();
                if parts.last().is_none_or(|(last, _)| *last != morsel) {
                    parts.push((morsel, Rows::new(saved.len())));
                }
                if let Some((_, rows)) = parts.last_mut() {
                    rows.push_slots(frame, saved, takes_slots)?;
                }
                if frame.statement.memory.bytes() > bytes_max {
                    return Ok(None);
                }
                if wanted != u64::MAX && is_enough(morsel) {
                    part.stop();
                    break;
                }
            }
            Ok(Some(parts))
        };
        let Some(parts) = parallel::run_morsels(node, division, morsels, frame, work)? else { return Ok(false) };
        let Some(parts) = parts.into_iter().collect::<Option<Vec<_>>>() else { return Ok(false) };
        self.kept = parts.into_iter().flatten().collect();
        self.kept.sort_by_key(|(morsel, _)| std::cmp::Reverse(*morsel));
        let kept_bytes: usize = self.kept.iter().map(|(_, rows)| rows.kept_bytes()).sum();
        self.kept.iter_mut().try_for_each(|(_, rows)| rows.adopt(frame.statement))?;
        // As many as will have room if they are like these.
        let fit = ROUND_BYTES_MAX * (end - self.read) / kept_bytes.max(1);
        self.round = (self.round * 2).min(fit).max(parallel::threads_max(frame.statement));
        self.read = end;
        Ok(true)
    }

    /// The next row that was kept.
    fn give(&mut self, frame: &mut Frame<'_>) -> bool {
        while let Some((_, rows)) = self.kept.last_mut() {
            if self.at < rows.len() {
                self.wanted = self.wanted.saturating_sub(1);
                rows.restore_taking(self.at, frame, &self.saved);
                self.at += 1;
                return true;
            }
            self.kept.pop();
            self.at = 0;
        }
        false
    }
}

impl Operator for Gather<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.kept.clear();
        (self.at, self.read, self.given) = (0, 0, 0);
        self.wanted = match self.limit {
            Some(limit) => {
                let (skip, count) = limit::bounds(limit, frame)?;
                skip.saturating_add(count)
            }
            None => u64::MAX,
        };
        if self.groups && self.divide_groups(frame)? {
            self.reading = Reading::Rounds;
            return Ok(());
        }
        self.input.open(frame)?;
        if self.groups {
            self.reading = Reading::Alone;
            return Ok(());
        }
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
                        self.wanted = self.wanted.saturating_sub(1);
                        return Ok(true);
                    }
                    let rest = self.input.rest();
                    self.reading = Reading::Alone;
                    if self.given <= self.first / FEW && !rest.is_empty() {
                        self.division = parallel::divide(self.node, Some(rest), frame)?;
                        if let Some(division) = &self.division {
                            self.morsels = division.morsels(MORSELS_MAX, frame.statement)?;
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
                        self.go_alone(frame)?;
                    }
                }
            }
        }
    }
}
