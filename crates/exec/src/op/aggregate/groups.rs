//! The groups of an aggregation: the states of their functions, their keys' values and their saved slots.

use std::borrow::Cow;

use vaquita_plan::env::{EvalCx, Level};
use vaquita_plan::eval::{coerce, print};
use vaquita_plan::expr::{Expr, ExprKind, Slot};
use vaquita_plan::node::{Aggregate, AggregateKind};
use vaquita_plan::visit;
use vaquita_types::{Error, Result, TypeKind, Value, errno};

use super::concat;
use super::merge::Origin;
use super::state::State;
use crate::context::{Execution, Frame, Kept, KeyTable, Rows};
use crate::op::key;
use crate::op::overflow::Overflow;

/// The clauses of the node.
#[derive(Clone, Copy)]
pub struct Spec<'p> {
    pub keys: &'p [(Expr, Slot)],
    pub aggregates: &'p [Aggregate],
    pub saved: &'p [Slot],
}

impl Spec<'_> {
    /// Nothing is asked of the rows but how many they are.
    pub fn counts_rows(self) -> bool {
        let counts = |of: &Aggregate| match (of.kind, of.args.as_slice()) {
            (AggregateKind::CountStar, _) => true,
            (AggregateKind::Count, [arg]) => !of.distinct && !arg.nullable && matches!(arg.kind, ExprKind::Slot(_)),
            _ => false,
        };
        self.keys.is_empty() && self.saved.is_empty() && self.aggregates.iter().all(counts)
    }

    /// What is asked of a row.
    pub fn slots(self) -> Vec<Slot> {
        let of_keys = self.keys.iter().flat_map(|(key, _)| visit::slots(key));
        visit::unique(of_keys.chain(self.aggregates.iter().flat_map(slots_of)).chain(self.saved.iter().copied()).collect())
    }
}

pub struct Groups<'p> {
    pub spec: Spec<'p>,
    /// `spec.aggregates.len()` states for each group.
    pub(super) states: Vec<State>,
    /// The keys' values of each group.
    pub(super) keys: Rows,
    /// The saved slots of each group's first row.
    pub(super) first_rows: Rows,
    /// For each function what it takes of a row.
    inputs: Vec<Input>,
    /// For each DISTINCT function: group numbers with the arguments seen.
    pub(super) seen: Vec<Option<KeyTable>>,
    /// For each DISTINCT function what was in `seen` when rows of all groups began to go to disk.
    pub(super) seen_before: Vec<Option<KeyTable>>,
    /// For each DISTINCT function whose `seen` may not grow: rows with arguments that are not in it.
    unseen: Vec<Option<Overflow>>,
    /// A group's rows come one after the other, so that `unseen` is of one group.
    one_by_one: bool,
    /// In a part of a scan: where each group's first row was.
    pub(super) origins: Vec<Origin>,
    key: Vec<u8>,
    row: Vec<Value>,
    concat_max: usize,
    /// For each level of ROLLUP and each function the rows that GROUP_CONCAT has joined, which its warnings count through all groups.
    concat_rows: Vec<u64>,
    /// With GROUP_CONCAT, how many keys each group has.
    levels: Vec<usize>,
    pub(super) kept: Kept,
    /// Of `go_on_one_by_one`.
    mark: Mark,
}

/// The groups that were there at some time, and what they kept.
#[derive(Default)]
struct Mark {
    groups: usize,
    keys_bytes: usize,
    first_rows_bytes: usize,
    bytes: usize,
}

/// What an aggregate function takes of a row.
enum Input {
    None,
    Row,
    /// A column that is added up or counted.
    Column(Slot),
    Other,
}

impl Input {
    fn of(aggregate: &Aggregate) -> Input {
        use AggregateKind as K;
        match (aggregate.kind, aggregate.args.as_slice()) {
            (K::Grouping, _) => Input::None,
            (K::CountStar, _) => Input::Row,
            (K::Count | K::Sum | K::Avg, [arg]) if !aggregate.distinct => match arg.kind {
                ExprKind::Slot(slot) if aggregate.kind == K::Count || arg.ty.is_integer() || arg.ty.kind == TypeKind::Decimal => {
                    Input::Column(slot)
                }
                _ => Input::Other,
            },
            _ => Input::Other,
        }
    }
}

impl<'p> Groups<'p> {
    pub fn new(spec: Spec<'p>) -> Groups<'p> {
        Groups {
            spec,
            states: Vec::new(),
            keys: Rows::new(spec.keys.len()),
            first_rows: Rows::new(spec.saved.len()),
            inputs: spec.aggregates.iter().map(Input::of).collect(),
            seen: spec.aggregates.iter().map(|a| a.distinct.then(KeyTable::new)).collect(),
            seen_before: Vec::new(),
            unseen: spec.aggregates.iter().map(|_| None).collect(),
            one_by_one: false,
            origins: Vec::new(),
            key: Vec::new(),
            row: Vec::new(),
            concat_max: 0,
            concat_rows: Vec::new(),
            levels: Vec::new(),
            kept: Kept::default(),
            mark: Mark::default(),
        }
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// `one_by_one`: a group has all its rows before the next one has its first.
    pub fn open(&mut self, one_by_one: bool, statement: &Execution<'_>) {
        self.clear();
        self.one_by_one = one_by_one;
        if self.spec.aggregates.iter().any(|a| a.kind == AggregateKind::GroupConcat) {
            self.concat_max = concat::length_max(statement);
            self.concat_rows = vec![0; (self.spec.keys.len() + 1) * self.spec.aggregates.len()];
        }
    }

    pub fn clear(&mut self) {
        self.states.clear();
        self.origins.clear();
        self.levels.clear();
        self.keys.clear();
        self.first_rows.clear();
        self.seen.iter_mut().flatten().for_each(KeyTable::clear);
        self.seen_before.clear();
        self.unseen.fill_with(|| None);
        self.kept.clear();
    }

    /// From here on the groups' rows come one group after the other; those that are there have had some of theirs.
    pub fn go_on_one_by_one(&mut self) {
        self.one_by_one = true;
        let fresh = self.seen.iter().map(|seen| seen.is_some().then(KeyTable::new)).collect();
        self.seen_before = std::mem::replace(&mut self.seen, fresh);
        self.mark = Mark {
            groups: self.len(),
            keys_bytes: self.keys.kept_bytes(),
            first_rows_bytes: self.first_rows.kept_bytes(),
            bytes: self.kept.bytes(),
        };
    }

    /// Forgets `group`, which has been given one by one.
    pub fn forget(&mut self, group: usize) {
        let mark = &self.mark;
        let count = self.spec.aggregates.len();
        self.states.iter_mut().skip(group * count).take(count).for_each(|state| *state = State::Count(0));
        self.states.truncate(mark.groups * count);
        self.levels.truncate(mark.groups);
        self.keys.truncate(mark.groups, mark.keys_bytes);
        self.first_rows.truncate(mark.groups, mark.first_rows_bytes);
        self.seen.iter_mut().flatten().for_each(KeyTable::clear);
        self.kept.shrink(mark.bytes);
    }

    /// A new group with the row in the slots, which has yet to be added. Keys from `levels` on are NULL (ROLLUP).
    pub fn push(&mut self, frame: &mut Frame<'_>, levels: usize) -> Result<()> {
        self.states.extend(self.spec.aggregates.iter().map(|a| State::new(a.kind, &a.ty)));
        let first = self.keys.len() * self.spec.aggregates.len();
        for (n, of) in self.spec.aggregates.iter().enumerate().filter(|(_, a)| a.kind == AggregateKind::Grouping) {
            let key = of.args.first().and_then(|position| match position.kind {
                ExprKind::Literal(Value::Int(n)) => usize::try_from(n).ok(),
                _ => None,
            });
            if let (Some(key), Some(state)) = (key, self.states.get_mut(first + n)) {
                *state = State::Count(u64::from(key >= levels));
            }
        }
        if !self.concat_rows.is_empty() {
            self.levels.push(levels);
        }
        self.kept.add(self.spec.aggregates.len() * size_of::<State>(), frame.statement)?;
        if let Some(part) = frame.statement.part {
            self.origins.push(Origin { morsel: part.morsel(), number: self.origins.len() });
        }
        let cx = frame.cx();
        for (level, (expr, _)) in self.spec.keys.iter().enumerate() {
            self.row.push(if level < levels { expr.eval(&cx)?.into_owned() } else { Value::Null });
        }
        self.keys.push(&mut self.row, frame.statement)?;
        self.first_rows.push_slots(frame, self.spec.saved, false)?;
        // Subqueries read a key's column itself, which is NULL where the key is.
        let row = self.first_rows.row_mut(self.first_rows.len() - 1);
        for (key, _) in self.spec.keys.iter().skip(levels) {
            let ExprKind::Slot(column) = key.kind else { continue };
            if let Some(at) = self.spec.saved.iter().position(|slot| *slot == column)
                && let Some(value) = row.get_mut(at)
            {
                *value = Value::Null;
            }
        }
        Ok(())
    }

    /// The group of all rows when there are none.
    pub fn push_empty(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.spec.saved.iter().for_each(|slot| frame.slots[*slot] = Value::Null);
        self.push(frame, 0)
    }

    /// Adds the row in the slots to a group.
    pub fn add(&mut self, group: usize, frame: &Frame<'_>) -> Result<()> {
        let spec = self.spec;
        let cx = frame.cx();
        let mut bytes = 0;
        let first = group * spec.aggregates.len();
        for (n, (of, input)) in spec.aggregates.iter().zip(&self.inputs).enumerate() {
            let Some(state) = self.states.get_mut(first + n) else { continue };
            match input {
                Input::None => continue,
                Input::Row => {
                    if let State::Count(count) = state {
                        *count += 1;
                    }
                    continue;
                }
                Input::Column(slot) => {
                    if frame.slots.get(*slot).is_some_and(|value| state.add_number(value)) {
                        continue;
                    }
                }
                Input::Other => {}
            }
            if let ([arg], false) = (of.args.as_slice(), of.distinct || of.kind == AggregateKind::GroupConcat) {
                bytes += state.add(of.kind, &*arg.eval(&cx)?, &arg.ty, &of.ty, cx.env)?;
                continue;
            }
            let args = of.args.iter().map(|a| a.eval(&cx)).collect::<Result<Vec<Cow<'_, Value>>>>()?;
            if of.kind != AggregateKind::JsonObjectAgg && args.iter().any(|a| a.is_null()) {
                continue;
            }
            if let Some(Some(seen)) = self.seen.get_mut(n) {
                self.key.clear();
                self.key.extend_from_slice(&(group as u64).to_be_bytes());
                for (value, arg) in args.iter().zip(&of.args) {
                    key::encode(value, &arg.ty, cx.env, &mut self.key)?;
                }
                if let Some(Some(before)) = self.seen_before.get(n)
                    && before.find(&self.key).is_some()
                {
                    continue;
                }
                if let Some(Some(unseen)) = self.unseen.get_mut(n) {
                    if seen.find(&self.key).is_none() {
                        unseen.add(&self.key, frame)?;
                    }
                    continue;
                }
                if !seen.insert(&self.key, frame.statement)?.1 {
                    continue;
                }
                if self.one_by_one
                    && frame.statement.is_short_of_memory(|| seen.kept_bytes())
                    && let Some(unseen) = self.unseen.get_mut(n)
                {
                    *unseen = Some(Overflow::new(slots_of(of), frame.statement)?);
                }
            }
            bytes += add_values(state, of, &args, &cx, self.concat_max)?;
        }
        self.keep(bytes, frame.statement)
    }

    fn keep(&mut self, bytes: usize, statement: &Execution<'_>) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.kept.add(bytes, statement)
    }

    /// Behind the last row: adds to DISTINCT functions what went to disk.
    pub fn settle(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        for n in 0..self.unseen.len() {
            let Some(mut unseen) = self.unseen.get_mut(n).and_then(Option::take) else { continue };
            let slots = unseen.slots().to_vec();
            // The row in the slots may be the first of the next group.
            let row: Vec<Value> = slots.iter().map(|slot| std::mem::take(&mut frame.slots[*slot])).collect();
            let settled = self.add_unseen(n, &mut unseen, frame);
            slots.iter().zip(row).for_each(|(slot, value)| frame.slots[*slot] = value);
            settled?;
        }
        Ok(())
    }

    fn add_unseen(&mut self, n: usize, unseen: &mut Overflow, frame: &mut Frame<'_>) -> Result<()> {
        let Some(of) = self.spec.aggregates.get(n) else { return Ok(()) };
        unseen.sort()?;
        self.key.clear();
        while let Some(key) = unseen.key() {
            frame.statement.interrupt.check_in_turn()?;
            if self.key != key {
                self.key.clear();
                self.key.extend_from_slice(key);
                let group = key.first_chunk().map_or(0, |group| u64::from_be_bytes(*group)) as usize;
                unseen.restore(frame)?;
                let cx = frame.cx();
                let args = of.args.iter().map(|a| a.eval(&cx)).collect::<Result<Vec<Cow<'_, Value>>>>()?;
                let bytes = match self.states.get_mut(group * self.spec.aggregates.len() + n) {
                    Some(state) => add_values(state, of, &args, &cx, self.concat_max)?,
                    None => 0,
                };
                self.keep(bytes, frame.statement)?;
            }
            unseen.advance()?;
        }
        Ok(())
    }

    /// Adds rows to a group of which only their number matters (`Spec::counts_rows`).
    pub fn add_rows(&mut self, group: usize, rows: u64) {
        let count = self.spec.aggregates.len();
        for state in self.states.iter_mut().skip(group * count).take(count) {
            if let State::Count(n) = state {
                *n += rows;
            }
        }
    }

    /// Puts a group's results and keys into their slots.
    pub fn give_results(&mut self, group: usize, frame: &mut Frame<'_>) -> Result<()> {
        for (value, (_, slot)) in self.keys.row_mut(group).iter_mut().zip(self.spec.keys) {
            frame.slots[*slot] = std::mem::take(value);
        }
        let first = group * self.spec.aggregates.len();
        for (n, of) in self.spec.aggregates.iter().enumerate() {
            let Some(state) = self.states.get_mut(first + n) else { continue };
            if let State::Concat(concat) = state {
                let (rows, cut) = concat.settle(of, self.concat_max);
                let level = self.levels.get(group).copied().unwrap_or_default();
                if let Some(total) = self.concat_rows.get_mut(level * self.spec.aggregates.len() + n) {
                    *total += rows;
                    if cut {
                        frame.statement.warn(Level::Warning, Error::new(&errno::ER_CUT_VALUE_GROUP_CONCAT, &[&*total]));
                    }
                }
            }
            let value = state.finish(of.kind, &of.ty);
            check_deviation(of, &value, frame)?;
            let is_extreme = matches!(of.kind, AggregateKind::Min | AggregateKind::Max);
            // The extreme member of an ENUM or a SET is given as its label.
            frame.slots[of.slot] = if is_extreme && matches!(of.ty.kind, TypeKind::Enum | TypeKind::Set) && !value.is_null() {
                Value::bytes(coerce::text_of(&value, &of.ty))
            } else {
                value
            };
        }
        Ok(())
    }

    /// Puts the saved slots of the group's first row back.
    pub fn give_saved(&mut self, group: usize, frame: &mut Frame<'_>) {
        self.first_rows.restore_taking(group, frame, self.spec.saved);
    }

    /// Exchanges the saved slots of a group with what is in the slots now.
    pub fn swap_saved(&mut self, group: usize, frame: &mut Frame<'_>) {
        for (value, slot) in self.first_rows.row_mut(group).iter_mut().zip(self.spec.saved) {
            std::mem::swap(value, &mut frame.slots[*slot]);
        }
    }
}

/// What a function asks of a row.
fn slots_of(of: &Aggregate) -> Vec<Slot> {
    visit::unique(of.args.iter().chain(of.order_by.iter().map(|key| &key.expr)).flat_map(visit::slots).collect())
}

/// Adds the values of arguments; returns the bytes that it takes.
fn add_values(state: &mut State, of: &Aggregate, args: &[Cow<'_, Value>], cx: &EvalCx<'_>, concat_max: usize) -> Result<usize> {
    match (of.kind, args, of.args.as_slice()) {
        (AggregateKind::JsonObjectAgg, [name, value], [name_arg, value_arg]) => {
            state.add_member(name, &name_arg.ty, value, &value_arg.ty, cx.env)
        }
        (AggregateKind::GroupConcat, args, _) => match state {
            State::Concat(concat) => concat.add(of, args, cx, concat_max),
            _ => Ok(0),
        },
        (kind, [first, ..], [arg, ..]) => state.add(kind, first, &arg.ty, &of.ty, cx.env),
        _ => Ok(0),
    }
}

/// Error 1690 for a deviation that no DOUBLE holds.
fn check_deviation(of: &Aggregate, value: &Value, frame: &Frame<'_>) -> Result<()> {
    let name = match of.kind {
        AggregateKind::StdDevPop => "std",
        AggregateKind::StdDevSamp => "stddev_samp",
        AggregateKind::VarPop => "variance",
        AggregateKind::VarSamp => "var_samp",
        _ => return Ok(()),
    };
    match value {
        Value::Float(number) if !number.is_finite() => {
            let call = print::print_call(name, &of.args, &frame.cx());
            Err(Error::new(&errno::ER_DATA_OUT_OF_RANGE, &[&"DOUBLE", &call]))
        }
        _ => Ok(()),
    }
}
