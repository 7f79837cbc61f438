//! A hash join whose build side has no room in memory: both sides go to disk, and come back sorted by their keys.
//!
//! Rows of one key then stand together, so that memory holds the build rows of one key at a time. If not even these have room, they come in
//! portions: the key's probe rows meet one portion after the other, and wait on disk in between, each with whether it has had a match.

use vaquita_plan::expr::{Expr, Slot};
use vaquita_plan::node::JoinKind;
use vaquita_types::{Result, Value};

use super::HashJoin;
use crate::context::{Execution, Frame, Rows};
use crate::op::overflow::Overflow;
use crate::op::{Pulse, key};

pub struct Spilled {
    build: Overflow,
    probe: Overflow,
    /// The probe side is still being read.
    filling: bool,
    /// The key whose build rows are in memory, some or all of them; a join without conditions has a key without bytes.
    key: Option<Vec<u8>>,
    rows: Rows,
    is_last_portion: bool,
    /// Probe rows of the key: those that have met the portion and wait for the next one, and those that came back for this one.
    waiting: Option<Overflow>,
    returned: Option<Overflow>,
    /// How many have waited.
    number: u64,
    /// The next build row for the probe row in the frame.
    at: usize,
    probing: bool,
    matched: bool,
}

impl Spilled {
    /// `build` is full.
    pub fn new(build: Overflow, probe_slots: &[Slot], statement: &Execution<'_>) -> Result<Spilled> {
        let width = build.slots().len();
        Ok(Spilled {
            build,
            probe: Overflow::new(probe_slots.to_vec(), statement)?,
            filling: true,
            key: None,
            rows: Rows::new(width),
            is_last_portion: true,
            waiting: None,
            returned: None,
            number: 0,
            at: 0,
            probing: false,
            matched: false,
        })
    }

    /// For another probe side.
    pub fn restart(self, probe_slots: &[Slot], statement: &Execution<'_>) -> Result<Spilled> {
        let mut build = self.build;
        build.restart()?;
        Spilled::new(build, probe_slots, statement)
    }

    /// The next portion of the key's build rows; `one`: only whether there is one counts.
    fn load(&mut self, one: bool, pulse: &mut Pulse, frame: &mut Frame<'_>) -> Result<()> {
        self.rows.clear();
        while self.build.key().is_some() && self.build.key() == self.key.as_deref() {
            pulse.beat(frame)?;
            self.build.restore(frame)?;
            self.rows.push_slots(frame, self.build.slots(), true)?;
            self.build.advance()?;
            if one {
                self.is_last_portion = true;
                return Ok(());
            }
            if frame.statement.is_short_of_memory(|| self.rows.kept_bytes()) {
                break;
            }
        }
        self.is_last_portion = self.build.key().is_none() || self.build.key() != self.key.as_deref();
        Ok(())
    }

    /// Puts the next probe row into its slots, and loads the build rows that it is to meet. `None`: there are no more; otherwise whether it has
    /// had a match.
    fn next_probe(&mut self, one: bool, pulse: &mut Pulse, frame: &mut Frame<'_>) -> Result<Option<bool>> {
        loop {
            pulse.beat(frame)?;
            if let Some(returned) = &mut self.returned {
                if let Some(key) = returned.key() {
                    let matched = key.last() == Some(&1);
                    returned.restore(frame)?;
                    returned.advance()?;
                    return Ok(Some(matched));
                }
                self.returned = None;
            } else if self.probe.key().is_some() && self.probe.key() == self.key.as_deref() {
                self.probe.restore(frame)?;
                self.probe.advance()?;
                return Ok(Some(false));
            }
            if !self.is_last_portion {
                self.returned = self.waiting.take();
                if let Some(returned) = &mut self.returned {
                    returned.sort()?;
                    self.load(one, pulse, frame)?;
                    continue;
                }
                self.is_last_portion = true;
            }
            let Some(key) = self.probe.key() else { return Ok(None) };
            let key = key.to_vec();
            while self.build.key().is_some_and(|of_build| of_build < key.as_slice()) {
                pulse.beat(frame)?;
                self.build.advance()?;
            }
            self.key = Some(key);
            self.load(one, pulse, frame)?;
        }
    }

    /// The probe row in the frame waits for the next portion.
    fn wait(&mut self, matched: bool, frame: &Frame<'_>) -> Result<()> {
        let waiting = match &mut self.waiting {
            Some(waiting) => waiting,
            none => none.insert(Overflow::new(self.probe.slots().to_vec(), frame.statement)?),
        };
        self.number += 1;
        let mut key = self.number.to_be_bytes().to_vec();
        key.push(u8::from(matched));
        waiting.add(&key, frame)
    }

    fn next_match(&mut self, on: &[Expr], pulse: &mut Pulse, frame: &mut Frame<'_>) -> Result<bool> {
        while self.at < self.rows.len() {
            self.rows.restore(self.at, frame, self.build.slots());
            self.at += 1;
            pulse.beat(frame)?;
            if frame.all_true(on)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl HashJoin<'_> {
    /// Reads the probe side; true: its row in the frame is one of the result, because it has no key.
    fn fill_probe(&mut self, spilled: &mut Spilled, frame: &mut Frame<'_>) -> Result<bool> {
        while self.next_probe(frame)? {
            self.pulse.beat(frame)?;
            self.key.clear();
            if key::encode_join(self.probe_keys, self.build_keys, self.compare, &frame.cx(), &mut self.key)? {
                spilled.probe.add(&self.key, frame)?;
            } else if matches!(self.kind, JoinKind::Left | JoinKind::Anti) {
                self.clear_build_slots(frame);
                return Ok(true);
            }
        }
        spilled.filling = false;
        spilled.probe.sort()?;
        Ok(false)
    }

    pub(super) fn next_spilled(&mut self, spilled: &mut Spilled, frame: &mut Frame<'_>) -> Result<bool> {
        if spilled.filling && self.fill_probe(spilled, frame)? {
            return Ok(true);
        }
        let one = self.asks_for_one();
        loop {
            if spilled.probing {
                if spilled.next_match(self.on, &mut self.pulse, frame)? {
                    spilled.matched = true;
                    return Ok(true);
                }
                spilled.probing = false;
                if !spilled.is_last_portion {
                    spilled.wait(spilled.matched, frame)?;
                } else if self.kind == JoinKind::Left && !spilled.matched {
                    self.clear_build_slots(frame);
                    return Ok(true);
                }
            }
            let Some(matched) = spilled.next_probe(one, &mut self.pulse, frame)? else { return Ok(false) };
            spilled.at = 0;
            match self.kind {
                JoinKind::Inner | JoinKind::Left => (spilled.probing, spilled.matched) = (true, matched),
                JoinKind::Semi | JoinKind::Anti => {
                    let found = spilled.next_match(self.on, &mut self.pulse, frame)?;
                    if !found && !spilled.is_last_portion {
                        spilled.wait(false, frame)?;
                    } else if found == (self.kind == JoinKind::Semi) {
                        return Ok(true);
                    }
                }
            }
        }
    }

    pub(super) fn clear_build_slots(&self, frame: &mut Frame<'_>) {
        self.build_slots.iter().for_each(|slot| frame.slots[*slot] = Value::Null);
    }
}
