//! Groups that several threads counted, each for a part of a scan's rows, become the groups of all rows.
//!
//! One thread alone gives groups in the order of their first rows, and what a group shows of them is of its first. A
//! thread takes the scan's morsels in order, so that the morsel of a group's first row, and the group's number within its
//! thread, say which of two groups, or of two halves of one, was first.

use std::cmp::Ordering;

use vaquita_plan::eval::compare::order_of;
use vaquita_plan::node::{Aggregate, AggregateKind};
use vaquita_types::{Result, TypeKind, Value};

use super::groups::{Groups, Spec};
use super::state::{State, bit_operation};
use crate::context::{Execution, KeyTable};

/// Where the first row of a group was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    pub morsel: usize,
    /// The group's number in its thread.
    pub number: usize,
}

/// The groups of one thread.
pub struct Partial<'p> {
    pub groups: Groups<'p>,
    pub table: KeyTable,
}

/// Whether the functions' states can be put together to what one thread would have. Sums of floating point numbers depend on
/// their order.
pub fn applies(spec: Spec<'_>) -> bool {
    use AggregateKind as K;
    spec.keys.iter().all(|(key, _)| vaquita_plan::parallel::is_pure(key))
        && spec.aggregates.iter().all(|of| {
            of.args.iter().all(vaquita_plan::parallel::is_pure)
                && match of.kind {
                    K::Count => true,
                    K::CountStar | K::Min | K::Max | K::AnyValue | K::BitAnd | K::BitOr | K::BitXor => !of.distinct,
                    K::Sum | K::Avg => !of.distinct && of.ty.kind != TypeKind::Double,
                    _ => false,
                }
        })
}

impl Partial<'_> {
    /// Counts what another statement has counted.
    pub fn adopt(&mut self, statement: &Execution<'_>) -> Result<()> {
        self.table.adopt(statement)?;
        self.groups.adopt(statement)
    }

    /// Takes in the groups of another thread. False: only one thread alone can tell the result.
    pub fn merge(&mut self, mut other: Partial<'_>, statement: &Execution<'_>) -> Result<bool> {
        let has_keys = !self.groups.spec.keys.is_empty();
        let mut places = Vec::with_capacity(other.groups.len());
        for from in 0..other.groups.len() {
            let (to, new) = match has_keys {
                true => self.table.insert(other.table.key(from), statement)?,
                false => (0, self.groups.len() == 0),
            };
            places.push(to);
            if new {
                self.groups.take_group(&mut other.groups, from, statement)?;
            } else if !self.groups.merge_group(to, &mut other.groups, from) {
                return Ok(false);
            }
        }
        self.groups.merge_seen(&other.groups, &places, statement)?;
        Ok(true)
    }
}

impl Groups<'_> {
    /// The groups' numbers in the order in which one thread alone would have met them.
    pub fn in_order_of_rows(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_unstable_by_key(|&group| self.origins.get(group));
        order
    }

    fn adopt(&mut self, statement: &Execution<'_>) -> Result<()> {
        self.seen.iter_mut().flatten().try_for_each(|seen| seen.adopt(statement))?;
        self.keys.adopt(statement)?;
        self.first_rows.adopt(statement)?;
        self.kept.adopt(statement)
    }

    pub fn kept_bytes_in_all(&self) -> usize {
        let seen: usize = self.seen.iter().chain(&self.seen_before).flatten().map(KeyTable::kept_bytes).sum();
        self.kept.bytes() + self.keys.kept_bytes() + self.first_rows.kept_bytes() + seen
    }

    /// Adds another's group. What its DISTINCT functions counted is left to `merge_seen`.
    fn take_group(&mut self, other: &mut Groups<'_>, from: usize, statement: &Execution<'_>) -> Result<()> {
        let count = self.spec.aggregates.len();
        for (n, of) in self.spec.aggregates.iter().enumerate() {
            let fresh = State::new(of.kind, &of.ty);
            let state = other.states.get_mut(from * count + n).map(|state| std::mem::replace(state, fresh));
            let state = state.filter(|_| !of.distinct).unwrap_or_else(|| State::new(of.kind, &of.ty));
            let bytes = size_of::<State>() + state.heap_bytes();
            self.states.push(state);
            self.kept.add(bytes, statement)?;
        }
        self.origins.extend(other.origins.get(from));
        self.keys.take_row(&mut other.keys, from, statement)?;
        self.first_rows.take_row(&mut other.first_rows, from, statement)
    }

    /// Puts two halves of a group together; false if that needs the order of all rows.
    fn merge_group(&mut self, to: usize, other: &mut Groups<'_>, from: usize) -> bool {
        let earlier = match (self.origins.get_mut(to), other.origins.get(from)) {
            (Some(mine), Some(its)) if its < mine => {
                *mine = *its;
                true
            }
            _ => false,
        };
        if earlier {
            self.keys.row_mut(to).swap_with_slice(other.keys.row_mut(from));
            self.first_rows.row_mut(to).swap_with_slice(other.first_rows.row_mut(from));
        }
        let count = self.spec.aggregates.len();
        self.spec.aggregates.iter().enumerate().filter(|(_, of)| !of.distinct).all(|(n, of)| {
            match (self.states.get_mut(to * count + n), other.states.get_mut(from * count + n)) {
                (Some(mine), Some(its)) => mine.merge(its, of, earlier),
                _ => false,
            }
        })
    }

    /// COUNT(DISTINCT …): what the other has seen and this one has not. `places` are its groups' numbers here.
    fn merge_seen(&mut self, other: &Groups<'_>, places: &[usize], statement: &Execution<'_>) -> Result<()> {
        let count = self.spec.aggregates.len();
        let mut key = Vec::new();
        for (n, (mine, its)) in self.seen.iter_mut().zip(&other.seen).enumerate() {
            let (Some(mine), Some(its)) = (mine, its) else { continue };
            for at in 0..its.len() {
                let Some((group, arguments)) = its.key(at).split_first_chunk::<8>() else { continue };
                let Some(&to) = places.get(u64::from_be_bytes(*group) as usize) else { continue };
                key.clear();
                key.extend_from_slice(&(to as u64).to_be_bytes());
                key.extend_from_slice(arguments);
                if mine.insert(&key, statement)?.1
                    && let Some(State::Count(counted)) = self.states.get_mut(to * count + n)
                {
                    *counted += 1;
                }
            }
        }
        Ok(())
    }
}

impl State {
    /// Takes in what another thread knows of the same group; `earlier`: its first row was before this one's.
    fn merge(&mut self, other: &mut State, of: &Aggregate, earlier: bool) -> bool {
        match (&mut *self, &mut *other) {
            (State::Count(mine), State::Count(its)) => *mine += *its,
            (State::Exact { .. } | State::Wide { .. }, State::Exact { .. } | State::Wide { .. }) => self.add_sum(other),
            (State::Bits(mine), State::Bits(its)) => match of.kind {
                AggregateKind::BitAnd => *mine &= *its,
                AggregateKind::BitOr => *mine |= *its,
                _ => *mine ^= *its,
            },
            (State::BitString(mine), State::BitString(its)) => return merge_bits(mine, its.take(), of.kind),
            (State::One(mine), State::One(its)) => return merge_one(mine, its, of, earlier),
            _ => return false,
        }
        true
    }
}

/// False for strings of different lengths, which are an error that a run on one thread finds.
fn merge_bits(mine: &mut Option<Box<[u8]>>, its: Option<Box<[u8]>>, kind: AggregateKind) -> bool {
    match (&mut *mine, its) {
        (_, None) => true,
        (None, its) => {
            *mine = its;
            true
        }
        (Some(mine), Some(its)) if mine.len() == its.len() => {
            mine.iter_mut().zip(&its[..]).for_each(|(a, b)| *a = bit_operation(kind, *a, *b));
            true
        }
        _ => false,
    }
}

fn merge_one(mine: &mut Option<Value>, its: &mut Option<Value>, of: &Aggregate, earlier: bool) -> bool {
    let better = match (&*mine, &*its) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(_), Some(_)) if of.kind == AggregateKind::AnyValue => earlier,
        (Some(a), Some(b)) => match order_of(b, a, &of.ty) {
            Ordering::Less => of.kind == AggregateKind::Min,
            Ordering::Greater => of.kind == AggregateKind::Max,
            // Equal and not the same, as 'a' and 'A': the first row's counts.
            Ordering::Equal if a != b => return false,
            Ordering::Equal => false,
        },
    };
    if better {
        std::mem::swap(mine, its);
    }
    true
}
