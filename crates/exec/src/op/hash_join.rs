//! Hash joins: the build side is read once into a table by its keys, each row of the probe side looks it up.
//!
//! Rows with equal keys are chained in the order in which they came. A key that is NULL equals nothing: such build
//! rows are not kept, such probe rows have no match. When the build side has no room, both sides go to disk (`spilled`).
//! Threads that share a probe side (`parallel`) share the table, which is made before them (`shared`).

mod shared;
mod spilled;

use std::sync::Arc;

use vaquita_plan::expr::{CompareAs, Expr, Slot};
use vaquita_plan::node::{JoinKind, Node};
use vaquita_types::Result;

pub use self::shared::{drop_tables, make_tables};
use self::spilled::Spilled;
use super::key;
use super::overflow::Overflow;
use super::slots::{filled_slots, is_independent, key_slots, refills};
use super::{Builder, Frame, Operator, Pulse};
use crate::context::{Execution, JoinTable};

pub struct HashJoin<'p> {
    kind: JoinKind,
    probe: Box<dyn Operator + 'p>,
    build: Box<dyn Operator + 'p>,
    probe_keys: &'p [Expr],
    build_keys: &'p [Expr],
    compare: &'p [CompareAs],
    on: &'p [Expr],
    build_slots: Vec<Slot>,
    probe_node: &'p Node,
    build_node: &'p Node,
    /// The table stays good when the join is opened again.
    keeps_table: bool,
    built: bool,
    takes_slots: bool,
    table: Arc<JoinTable>,
    /// The next row to try for the probe row in the frame.
    candidate: Option<usize>,
    probing: bool,
    matched: bool,
    /// A probe row is in its slots that has not been looked up.
    waiting: bool,
    /// The probe side has no row.
    is_empty: bool,
    /// Both sides, if the table has no room.
    spilled: Option<Box<Spilled>>,
    key: Vec<u8>,
    pulse: Pulse,
}

pub struct Sides<'p> {
    pub probe: &'p Node,
    pub build: &'p Node,
    pub probe_keys: &'p [Expr],
    pub build_keys: &'p [Expr],
    pub build_slots: &'p [Slot],
}

impl<'p> HashJoin<'p> {
    pub fn new(kind: JoinKind, sides: Sides<'p>, compare: &'p [CompareAs], on: &'p [Expr], builder: Builder<'_>) -> HashJoin<'p> {
        let mut build_slots = sides.build_slots.to_vec();
        key_slots(sides.build, &mut build_slots);
        // Nothing above reads the build side of a semijoin.
        if on.is_empty() && matches!(kind, JoinKind::Semi | JoinKind::Anti) {
            build_slots.clear();
        }
        let keeps_table = is_independent(sides.build);
        HashJoin {
            kind,
            probe: builder.build(sides.probe),
            build: if keeps_table { builder.once() } else { builder }.build(sides.build),
            probe_keys: sides.probe_keys,
            build_keys: sides.build_keys,
            compare,
            on,
            keeps_table,
            built: false,
            takes_slots: refills(sides.build),
            table: Arc::default(),
            build_slots,
            probe_node: sides.probe,
            build_node: sides.build,
            candidate: None,
            probing: false,
            matched: false,
            waiting: false,
            is_empty: false,
            spilled: None,
            key: Vec::new(),
            pulse: Pulse::default(),
        }
    }

    /// Of the build rows of a key only one is needed: all that matters is whether there is a match.
    fn asks_for_one(&self) -> bool {
        self.on.is_empty() && matches!(self.kind, JoinKind::Semi | JoinKind::Anti)
    }

    fn empty_table(&self) -> JoinTable {
        JoinTable::new(self.build_slots.len(), self.asks_for_one())
    }

    /// Puts the next build row that may equal something into its slots, and its key into `key`.
    fn next_build(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        while self.build.next(frame)? {
            self.pulse.beat(frame)?;
            self.key.clear();
            if key::encode_join(self.build_keys, self.probe_keys, self.compare, &frame.cx(), &mut self.key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the build side. False, and nothing is read: it has no room, and may not go to disk.
    fn fill(&mut self, may_spill: bool, frame: &mut Frame<'_>) -> Result<bool> {
        self.spilled = None;
        // Its memory is given back first.
        self.table = Arc::default();
        if let Some(table) = frame.statement.join_table(self.build_node) {
            self.table = table;
            return Ok(true);
        }
        let mut table = self.empty_table();
        let mut overflow = None;
        self.build.open(frame)?;
        while self.next_build(frame)? {
            if let Some(overflow) = &mut overflow {
                Overflow::add(overflow, &self.key, frame)?;
                continue;
            }
            table.push_slots(&self.key, frame, &self.build_slots, self.takes_slots)?;
            if frame.statement.is_short_of_memory(|| table.kept_bytes()) {
                if !may_spill {
                    return Ok(false);
                }
                overflow = Some(self.overflow_of(std::mem::take(&mut table), frame.statement)?);
            }
        }
        self.table = Arc::new(table);
        let Some(mut overflow) = overflow else { return Ok(true) };
        overflow.sort()?;
        self.spilled = Some(Box::new(Spilled::new(overflow, &filled_slots(self.probe_node), frame.statement)?));
        Ok(true)
    }

    /// Moves what is in memory to disk.
    fn overflow_of(&self, table: JoinTable, statement: &Execution<'_>) -> Result<Overflow> {
        let mut overflow = Overflow::new(self.build_slots.clone(), statement)?;
        table.each(|key, row| {
            statement.interrupt.check_in_turn()?;
            overflow.add_row(key, row)
        })?;
        Ok(overflow)
    }

    /// Puts the next probe row into its slots.
    fn next_probe(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        if std::mem::take(&mut self.waiting) { Ok(true) } else { self.probe.next(frame) }
    }

    /// Moves to the next match of the probe row.
    fn next_match(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        while let Some(row) = self.candidate {
            self.candidate = self.table.after(row);
            self.table.restore(row, frame, &self.build_slots);
            self.pulse.beat(frame)?;
            if frame.all_true(self.on)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The first row that may match the probe row in the frame.
    fn look_up(&mut self, frame: &Frame<'_>) -> Result<Option<usize>> {
        self.key.clear();
        if !key::encode_join(self.probe_keys, self.build_keys, self.compare, &frame.cx(), &mut self.key)? {
            return Ok(None);
        }
        Ok(self.table.first(&self.key))
    }
}

impl Operator for HashJoin<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        (self.probing, self.waiting, self.is_empty) = (false, false, false);
        if !self.built || !self.keeps_table {
            // The probe side is read in any case, and in a semijoin it is most often what has few rows: without any the build side is not read.
            let probe_first = self.kind != JoinKind::Inner;
            if probe_first {
                self.probe.open(frame)?;
                self.waiting = self.probe.next(frame)?;
                self.is_empty = !self.waiting;
                if self.is_empty {
                    return Ok(());
                }
            }
            self.fill(true, frame)?;
            self.built = true;
            if probe_first {
                return Ok(());
            }
        } else if let Some(spilled) = self.spilled.take() {
            self.spilled = Some(Box::new(spilled.restart(&filled_slots(self.probe_node), frame.statement)?));
        }
        if self.spilled.is_some() {
            return self.probe.open(frame);
        }
        // With nothing to match, an inner join or semijoin need not read the other side.
        if self.table.is_empty() && matches!(self.kind, JoinKind::Inner | JoinKind::Semi) {
            return Ok(());
        }
        self.probe.open(frame)
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        if self.is_empty {
            return Ok(false);
        }
        if let Some(mut spilled) = self.spilled.take() {
            let found = self.next_spilled(&mut spilled, frame);
            self.spilled = Some(spilled);
            return found;
        }
        if self.table.is_empty() && matches!(self.kind, JoinKind::Inner | JoinKind::Semi) {
            return Ok(false);
        }
        loop {
            if self.probing {
                if self.next_match(frame)? {
                    self.matched = true;
                    return Ok(true);
                }
                self.probing = false;
                if self.kind == JoinKind::Left && !self.matched {
                    self.clear_build_slots(frame);
                    return Ok(true);
                }
            }
            if !self.next_probe(frame)? {
                return Ok(false);
            }
            self.pulse.beat(frame)?;
            self.candidate = self.look_up(frame)?;
            match self.kind {
                JoinKind::Inner | JoinKind::Left => {
                    self.probing = true;
                    self.matched = false;
                }
                JoinKind::Semi | JoinKind::Anti => {
                    if self.next_match(frame)? == (self.kind == JoinKind::Semi) {
                        return Ok(true);
                    }
                }
            }
        }
    }
}
