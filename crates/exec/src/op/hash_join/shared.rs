//! The tables that threads share: made before they begin, by several threads as well where the build side is large.

use std::sync::Arc;

use vaquita_plan::expr::Slot;
use vaquita_plan::node::{AccessPath, JoinKind, Node};
use vaquita_plan::parallel::rows;
use vaquita_types::{Error, Result};

use super::{HashJoin, Sides};
use crate::context::{Execution, Frame, JoinTable, Kept, Part, Rows};
use crate::op::slots::is_independent;
use crate::op::{Builder, parallel};

/// Rows between two looks at the interrupt.
const INTERRUPT_ROWS: usize = 1 << 10;

/// Build rows of one morsel with their keys.
struct Segment {
    morsel: usize,
    keys: Vec<u8>,
    /// Where each key ends.
    ends: Vec<usize>,
    rows: Rows,
    of_keys: Kept,
}

impl Segment {
    fn new(morsel: usize, width: usize) -> Segment {
        Segment { morsel, keys: Vec::new(), ends: Vec::new(), rows: Rows::new(width), of_keys: Kept::default() }
    }

    fn push(&mut self, key: &[u8], frame: &mut Frame<'_>, slots: &[Slot], take: bool) -> Result<()> {
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len());
        self.of_keys.add(key.len() + size_of::<usize>(), frame.statement)?;
        self.rows.push_slots(frame, slots, take)
    }
}

/// The hash joins that rows of `input` go through.
fn joins<'p>(input: &'p Node, f: &mut dyn FnMut(&'p Node)) {
    match input {
        Node::Filter { input, .. } | Node::Aggregate { input, .. } | Node::NestedLoop { outer: input, .. } => joins(input, f),
        Node::HashJoin { probe, .. } => {
            f(input);
            joins(probe, f);
        }
        _ => {}
    }
}

/// Makes the tables of these joins, for all threads that read the input. False: they have no room, or cannot be made, and one thread alone should
/// read it.
pub fn make_tables(input: &Node, frame: &mut Frame<'_>) -> Result<bool> {
    let mut found = Vec::new();
    joins(input, &mut |join| found.push(join));
    for join in found {
        let Node::HashJoin { kind, probe, build, .. } = join else { continue };
        let wanted = *kind == JoinKind::Inner || has_rows(probe) || rows(build) <= rows(probe);
        if wanted && is_independent(build) {
            let made = make_table(join, frame);
            frame.statement.interrupt.check()?;
            let Ok(Some(table)) = made else { return Ok(false) };
            frame.statement.share_join_table(build, table);
        }
    }
    Ok(true)
}

/// Threads have ended: nobody uses the tables any more.
pub fn drop_tables(input: &Node, frame: &Frame<'_>) {
    joins(input, &mut |join| {
        if let Node::HashJoin { build, .. } = join {
            drop(frame.statement.join_table(build));
        }
    });
}

/// The probe side has rows, if its table has any. Of another one a join that is not an inner one asks first, before it reads a build side that may be
/// large: each thread then makes a table when it has a row.
fn has_rows(probe: &Node) -> bool {
    matches!(probe, Node::Scan(scan) if scan.filter.is_empty() && matches!(scan.path, AccessPath::Full { .. }))
}

fn join_of<'p>(node: &'p Node, statement: &Execution<'_>) -> Result<HashJoin<'p>> {
    let Node::HashJoin { kind, probe, build, probe_keys, build_keys, compare, on, build_slots } = node else {
        return Err(Error::internal("a join that is none"));
    };
    let sides = Sides { probe, build, probe_keys, build_keys, build_slots };
    Ok(HashJoin::new(*kind, sides, compare, on, Builder::of(statement)))
}

fn make_table(node: &Node, frame: &mut Frame<'_>) -> Result<Option<Arc<JoinTable>>> {
    let mut join = join_of(node, frame.statement)?;
    if let Some(table) = make_in_parts(node, &join, frame)? {
        return Ok(Some(Arc::new(table)));
    }
    Ok(join.fill(false, frame)?.then(|| Arc::clone(&join.table)))
}

/// `None`: it is to be made here.
fn make_in_parts(node: &Node, join: &HashJoin<'_>, frame: &mut Frame<'_>) -> Result<Option<JoinTable>> {
    let part = |frame: &mut Frame<'_>| {
        let mut join = join_of(node, frame.statement)?;
        let mut segments: Vec<Segment> = Vec::new();
        join.build.open(frame)?;
        while join.next_build(frame)? {
            let morsel = frame.statement.part.map_or(0, Part::morsel);
            if segments.last().is_none_or(|last| last.morsel != morsel) {
                segments.push(Segment::new(morsel, join.build_slots.len()));
            }
            if let Some(segment) = segments.last_mut() {
                segment.push(&join.key, frame, &join.build_slots, join.takes_slots)?;
            }
        }
        Ok(segments)
    };
    let Some(parts) = parallel::run(join.build_node, frame, part)? else { return Ok(None) };
    let mut segments: Vec<Segment> = parts.into_iter().flatten().collect();
    segments.sort_by_key(|segment| segment.morsel);
    for segment in &mut segments {
        segment.of_keys.adopt(frame.statement)?;
        segment.rows.adopt(frame.statement)?;
    }
    let mut table = join.empty_table();
    for segment in segments {
        let Segment { keys, ends, mut rows, .. } = segment;
        let mut start = 0;
        for (n, end) in ends.into_iter().enumerate() {
            if n % INTERRUPT_ROWS == 0 {
                frame.statement.interrupt.check_in_turn()?;
            }
            table.take_row(keys.get(start..end).unwrap_or(&[]), &mut rows, n, frame.statement)?;
            start = end;
        }
    }
    Ok(Some(table))
}
