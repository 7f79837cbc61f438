//! GROUP BY and aggregate functions.
//!
//! `HashAggregate` reads all rows first; its groups come in the order of their first rows. With ROLLUP each row also
//! counts for the groups of every shorter list of keys, and the groups come sorted, each total after its
//! parts: its key has a byte above all markers where the parts' keys go on; the grand total is also there for no rows. `StreamAggregate` has input in the
//! order of the keys and keeps one group. Without GROUP BY there is one group, also of no rows.
//! When memory ends, rows of groups that are not there yet go to disk (`overflow`), and those of all groups if what the functions keep of
//! groups that are there grows on. They come back sorted by their keys, and meet what is in memory in this order.
//! A big input is counted in parts on several threads (`parallel`), which `merge` puts together.

pub mod concat;
mod groups;
mod merge;
pub mod state;

use vaquita_plan::expr::{Expr, Slot};
use vaquita_plan::node::{Aggregate, Node};
use vaquita_storage::KeyRange;
use vaquita_types::Result;

use groups::Groups;
pub use groups::Spec;
use merge::Partial;

use super::key::{self, AFTER_ALL};
use super::overflow::Overflow;
use super::{Builder, Frame, Operator, Pulse};
use crate::context::{KeyTable, Part};
use crate::op::parallel;

pub struct HashAggregate<'p> {
    node: &'p Node,
    input: Box<dyn Operator + 'p>,
    groups: Groups<'p>,
    table: KeyTable,
    rollup: bool,
    /// The rows may be counted in parts.
    in_parts: bool,
    /// The groups' order, if it is not that of their numbers.
    order: Vec<usize>,
    at: usize,
    /// Where rows go, once there may be no more groups in memory.
    spilled: Option<Spilled>,
    /// A group's key; with ROLLUP the number of its keys that are not NULL for that comes behind it.
    key: Vec<u8>,
    pulse: Pulse,
}

struct Spilled {
    rows: Overflow,
    /// With more bytes than this in memory, rows of all groups go to disk.
    kept_bytes_max: usize,
    of_all: bool,
    /// The group that was given last.
    given: Option<usize>,
}

/// Groups that are in memory may grow by this part of what they take before their rows go to disk.
const GROWTH_SHARE: usize = 4;

pub fn build_aggregate<'p>(
    input: &'p Node,
    keys: &'p [(Expr, Slot)],
    aggregates: &'p [Aggregate],
    saved: &'p [Slot],
    sorted_rollup: (bool, bool),
    builder: Builder<'_>,
) -> Box<dyn Operator + 'p> {
    let (sorted, rollup) = sorted_rollup;
    let spec = Spec { keys, aggregates, saved };
    let node = input;
    let input = builder.build(input);
    if sorted && !keys.is_empty() && !rollup {
        return Box::new(StreamAggregate {
            input,
            groups: Groups::new(spec),
            key: Vec::new(),
            group_key: Vec::new(),
            waiting: false,
            given: false,
            ended: false,
            piece: 0,
            pulse: Pulse::default(),
        });
    }
    let in_parts = !builder.is_again() && !rollup && merge::applies(spec);
    Box::new(HashAggregate { rollup, in_parts, ..HashAggregate::new(spec, node, input) })
}

impl<'p> HashAggregate<'p> {
    fn new(spec: Spec<'p>, node: &'p Node, input: Box<dyn Operator + 'p>) -> HashAggregate<'p> {
        HashAggregate {
            node,
            input,
            groups: Groups::new(spec),
            table: KeyTable::new(),
            rollup: false,
            in_parts: false,
            order: Vec::new(),
            at: 0,
            spilled: None,
            key: Vec::new(),
            pulse: Pulse::default(),
        }
    }

    /// Counts the rows on several threads; false: they are to be counted here.
    fn fill_in_parts(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        let (spec, node) = (self.groups.spec, self.node);
        let partial = |frame: &mut Frame<'_>| {
            let mut part = HashAggregate::new(spec, node, Builder::of(frame.statement).build(node));
            part.groups.open(spec.keys.is_empty(), frame.statement);
            part.input.open(frame)?;
            part.fill(frame)?;
            Ok(Partial { groups: part.groups, table: part.table })
        };
        let Some(partials) = parallel::run(node, frame, partial)? else { return Ok(false) };
        let mut whole = Partial { groups: Groups::new(spec), table: KeyTable::new() };
        for (n, partial) in partials.into_iter().enumerate() {
            if n == 0 {
                whole = partial;
                whole.adopt(frame.statement)?;
            } else if !whole.merge(partial, frame.statement)? {
                return Ok(false);
            }
        }
        self.order = whole.groups.in_order_of_rows();
        (self.groups, self.table) = (whole.groups, whole.table);
        Ok(true)
    }

    fn fill(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        match (self.groups.spec.keys.is_empty(), self.rollup) {
            (true, _) => self.fill_one(frame)?,
            (false, true) => self.fill_rollup(frame)?,
            (false, false) => self.fill_groups(frame)?,
        }
        self.groups.settle(frame)?;
        if let Some(spilled) = &mut self.spilled {
            spilled.rows.sort()?;
            self.groups.go_on_one_by_one();
        }
        if self.rollup || self.spilled.is_some() {
            self.order = (0..self.groups.len()).collect();
            self.order.sort_unstable_by(|a, b| self.table.key(*a).cmp(self.table.key(*b)));
        }
        Ok(())
    }

    /// One group of all rows.
    fn fill_one(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        if self.groups.spec.counts_rows()
            && let Some(rows) = self.input.count_rest(frame)?
        {
            if rows > 0 {
                self.groups.push(frame, 0)?;
                self.groups.add_rows(0, rows);
            }
            return Ok(());
        }
        while self.input.next(frame)? {
            self.pulse.beat(frame)?;
            if self.groups.len() == 0 {
                self.groups.push(frame, 0)?;
            }
            self.groups.add(0, frame)?;
        }
        Ok(())
    }

    fn fill_groups(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        let keys = self.groups.spec.keys;
        while self.input.next(frame)? {
            self.pulse.beat(frame)?;
            self.key.clear();
            key::encode_all(keys.iter().map(|(e, _)| e), &frame.cx(), &mut self.key)?;
            self.add_to(keys.len(), frame)?;
        }
        Ok(())
    }

    fn fill_rollup(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        let keys = self.groups.spec.keys;
        let mut ends = Vec::with_capacity(keys.len());
        let mut whole = Vec::new();
        while self.input.next(frame)? {
            self.pulse.beat(frame)?;
            ends.clear();
            whole.clear();
            for (expr, _) in keys {
                ends.push(whole.len());
                key::encode_all([expr], &frame.cx(), &mut whole)?;
            }
            for (level, &end) in ends.iter().enumerate() {
                self.key.clear();
                self.key.extend_from_slice(&whole[..end]);
                self.key.push(AFTER_ALL);
                self.key.extend_from_slice(&(level as u16).to_be_bytes());
                self.add_to(level, frame)?;
            }
            self.key.clone_from(&whole);
            self.key.extend_from_slice(&(keys.len() as u16).to_be_bytes());
            self.add_to(keys.len(), frame)?;
        }
        if self.groups.len() == 0 {
            self.groups.push_empty(frame)?;
        }
        Ok(())
    }

    /// Adds the row to the group of `self.key`.
    fn add_to(&mut self, levels: usize, frame: &mut Frame<'_>) -> Result<()> {
        if let Some(spilled) = &mut self.spilled {
            let group = if spilled.of_all { None } else { self.table.find(&self.key) };
            let Some(group) = group else { return spilled.rows.add(&self.key, frame) };
            self.groups.add(group, frame)?;
            spilled.of_all = self.groups.kept_bytes_in_all() > spilled.kept_bytes_max;
            return Ok(());
        }
        let (group, new) = self.table.insert(&self.key, frame.statement)?;
        if new {
            self.groups.push(frame, levels)?;
        }
        self.groups.add(group, frame)?;
        if frame.statement.is_short_of_memory(|| self.groups.kept_bytes_in_all() + self.table.kept_bytes()) {
            let kept_bytes = self.groups.kept_bytes_in_all();
            self.spilled = Some(Spilled {
                rows: Overflow::new(self.groups.spec.slots(), frame.statement)?,
                kept_bytes_max: kept_bytes + kept_bytes / GROWTH_SHARE,
                of_all: false,
                given: None,
            });
        }
        Ok(())
    }

    /// The next group in the order of the keys: one in memory, one whose rows are on disk, or one that is both.
    fn next_by_key(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        let Some(spilled) = &mut self.spilled else { return Ok(false) };
        if let Some(group) = spilled.given.take() {
            self.groups.forget(group);
        }
        let in_memory = self.order.get(self.at).map(|&group| (self.table.key(group), group));
        self.key.clear();
        let group = match (in_memory, spilled.rows.key()) {
            (Some((key, group)), on_disk) if on_disk.is_none_or(|other| key <= other) => {
                self.key.extend_from_slice(key);
                self.at += 1;
                group
            }
            (_, Some(key)) => {
                self.key.extend_from_slice(key);
                spilled.rows.restore(frame)?;
                let levels = match self.key.last_chunk() {
                    Some(levels) if self.rollup => u16::from_be_bytes(*levels).into(),
                    _ => self.groups.spec.keys.len(),
                };
                self.groups.push(frame, levels)?;
                self.groups.len() - 1
            }
            _ => return Ok(false),
        };
        spilled.given = Some(group);
        while spilled.rows.key() == Some(&self.key) {
            self.pulse.beat(frame)?;
            spilled.rows.restore(frame)?;
            self.groups.add(group, frame)?;
            spilled.rows.advance()?;
        }
        self.groups.settle(frame)?;
        self.groups.give_saved(group, frame);
        self.groups.give_results(group, frame)?;
        Ok(true)
    }
}

impl Operator for HashAggregate<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.groups.open(self.groups.spec.keys.is_empty(), frame.statement);
        self.table.clear();
        self.order.clear();
        self.spilled = None;
        self.at = 0;
        if !(self.in_parts && self.fill_in_parts(frame)?) {
            self.input.open(frame)?;
            self.fill(frame)?;
        }
        if self.groups.len() == 0 && self.groups.spec.keys.is_empty() {
            self.groups.push_empty(frame)?;
        }
        Ok(())
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        if self.spilled.is_some() {
            return self.next_by_key(frame);
        }
        if self.at >= self.groups.len() {
            return Ok(false);
        }
        let group = self.order.get(self.at).copied().unwrap_or(self.at);
        self.at += 1;
        self.groups.give_saved(group, frame);
        self.groups.give_results(group, frame)?;
        Ok(true)
    }
}

struct StreamAggregate<'p> {
    input: Box<dyn Operator + 'p>,
    /// The group that grows and, while `waiting`, none else.
    groups: Groups<'p>,
    key: Vec<u8>,
    group_key: Vec<u8>,
    /// The input's row is the first of the next group and not yet in one.
    waiting: bool,
    /// The slots hold a group's saved slots; the input's own are in the group.
    given: bool,
    ended: bool,
    /// The piece that the group's rows are of, where several threads read (`parallel`).
    piece: u64,
    pulse: Pulse,
}

impl Operator for StreamAggregate<'_> {
    /// The ranges hold whole groups.
    fn restrict(&mut self, ranges: &[KeyRange]) {
        self.input.restrict(ranges);
    }

    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.groups.open(true, frame.statement);
        self.waiting = false;
        self.given = false;
        self.ended = false;
        self.input.open(frame)
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        if std::mem::take(&mut self.given) {
            // The input may read its slots again (a join's outer row): they are as it left them.
            self.groups.swap_saved(0, frame);
        }
        self.groups.clear();
        if std::mem::take(&mut self.waiting) {
            std::mem::swap(&mut self.key, &mut self.group_key);
            self.start(frame)?;
        }
        while self.input.next(frame)? {
            self.pulse.beat(frame)?;
            self.key.clear();
            key::encode_all(self.groups.spec.keys.iter().map(|(e, _)| e), &frame.cx(), &mut self.key)?;
            if self.groups.len() == 0 {
                std::mem::swap(&mut self.key, &mut self.group_key);
                self.start(frame)?;
            } else if self.key == self.group_key {
                self.groups.add(0, frame)?;
            } else {
                self.waiting = true;
                self.given = true;
                self.finish(frame)?;
                self.groups.swap_saved(0, frame);
                return Ok(true);
            }
        }
        self.ended = true;
        if self.groups.len() == 0 {
            return Ok(false);
        }
        self.finish(frame)?;
        self.groups.give_saved(0, frame);
        Ok(true)
    }
}

impl StreamAggregate<'_> {
    /// Puts the group's results into their slots.
    fn finish(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        if let Some(part) = frame.statement.part {
            part.give_of(self.piece);
        }
        self.groups.settle(frame)?;
        self.groups.give_results(0, frame)
    }

    /// A new group with the row in the slots.
    fn start(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.piece = frame.statement.part.map_or(0, Part::reading);
        let levels = self.groups.spec.keys.len();
        self.groups.push(frame, levels)?;
        self.groups.add(0, frame)
    }
}
