//! How statements find their rows and what they do to them, as status variables (`Select_scan`, `Handler_read_key` and their like) and
//! statement events count it.

use std::sync::Arc;

use vaquita_exec::context::{CALLS, Counted, Execution, RowWork};
use vaquita_plan::node::{AccessPath, Node, Plan, QueryPlan, Range};
use vaquita_plan::visit::inputs;
use vaquita_types::schema::TableDef;

use super::Session;
use crate::counters::Counter;

/// In the order of `Calls::counts`.
const CALL_COUNTERS: [Counter; CALLS] = [
    Counter::HandlerReadFirst,
    Counter::HandlerReadKey,
    Counter::HandlerReadLast,
    Counter::HandlerReadNext,
    Counter::HandlerReadPrev,
    Counter::HandlerReadRndNext,
    Counter::HandlerWrite,
    Counter::HandlerUpdate,
    Counter::HandlerDelete,
    Counter::SortRows,
];

/// The status variable of what is counted for an event, too.
fn counter_of(what: Counted) -> Option<Counter> {
    Some(match what {
        Counted::SelectFullJoin => Counter::SelectFullJoin,
        Counted::SelectFullRangeJoin => Counter::SelectFullRangeJoin,
        Counted::SelectRange => Counter::SelectRange,
        Counted::SelectScan => Counter::SelectScan,
        Counted::SortScan => Counter::SortScan,
        Counted::CreatedTmpTables => Counter::CreatedTmpTables,
        _ => return None,
    })
}

impl Session {
    /// How a query finds its rows.
    pub(super) fn note_access(&mut self, plan: &Plan) {
        let Plan::Query(query) = plan else {
            // MySQL's slow log knows of these, its statement events do not.
            self.event.scans |= changes_without_index(plan);
            return;
        };
        let (counters, event) = (&self.client.counters, &mut self.event);
        note_node(&query.root, &mut |what| {
            if let Some(counter) = counter_of(what) {
                counters.add(counter, 1);
            }
            event.add(what, 1);
        });
    }
}

/// It finds the rows that it changes by a look at all of a table.
fn changes_without_index(plan: &Plan) -> bool {
    let source = match plan {
        Plan::Update(update) => &update.source,
        Plan::Delete(delete) => &delete.source,
        Plan::Query(_) | Plan::Insert(_) => return false,
    };
    let mut whole = 0;
    note_node(source, &mut |what| whole += u64::from(what == Counted::NoIndexUsed));
    whole > 0
}

/// What a statement asked of its tables.
pub(super) fn count_calls(statement: &Execution<'_>, add: impl Fn(Counter, u64)) {
    for (counter, count) in CALL_COUNTERS.into_iter().zip(statement.calls.counts()) {
        if count != 0 {
            add(counter, count);
        }
    }
}

/// The rows that a plan has changed.
pub(super) fn changing_counter(plan: &Plan) -> Option<Counter> {
    match plan {
        Plan::Insert(_) => Some(Counter::HandlerWrite),
        Plan::Update(_) => Some(Counter::HandlerUpdate),
        Plan::Delete(_) => Some(Counter::HandlerDelete),
        Plan::Query(_) => None,
    }
}

/// The table whose rows a plan has changed, the first of several.
pub(super) fn changed_table(plan: &Plan, rows: u64) -> Option<(&TableDef, RowWork, u64)> {
    match plan {
        Plan::Insert(insert) => Some((&insert.table, RowWork::Insert, rows)),
        Plan::Update(update) => update.targets.first().map(|target| (&*target.table, RowWork::Update, rows)),
        Plan::Delete(delete) => delete.targets.first().map(|target| (&*target.table, RowWork::Delete, rows)),
        Plan::Query(_) => None,
    }
}

/// MySQL counts of the first table of a join whether it is read as a whole or by ranges, and of the others whether that happens for each row.
fn note_node(root: &Node, note: &mut dyn FnMut(Counted)) {
    // Most statements, and nothing is counted of them.
    if let Node::Scan(scan) = root
        && let AccessPath::Point { .. } = scan.path
    {
        return;
    }
    let (mut tables, mut whole, mut kept) = (0, false, Kept::default());
    note_scans(root, &mut kept, &mut |path: &AccessPath| {
        let is_first = tables == 0;
        tables += 1;
        match path {
            AccessPath::Full { .. } | AccessPath::System => {
                whole = true;
                note(if is_first { Counted::SelectScan } else { Counted::SelectFullJoin });
            }
            AccessPath::Range { ranges, .. } => {
                let bounded = |range: &Range| range.low.is_some() || range.high.is_some();
                let all_of_it = ranges.iter().any(|range| range.equal.is_empty() && !bounded(range));
                match (all_of_it, ranges.iter().any(bounded), is_first) {
                    (true, _, true) => note(Counted::SelectScan),
                    (true, _, false) => note(Counted::SelectFullJoin),
                    (_, true, true) => note(Counted::SelectRange),
                    (_, true, false) => note(Counted::SelectFullRangeJoin),
                    _ => {}
                }
            }
            AccessPath::Union { .. } => note(if is_first { Counted::SelectRange } else { Counted::SelectFullRangeJoin }),
            AccessPath::Point { .. } | AccessPath::FullText { .. } => {}
        }
    });
    (0..kept.sorts).for_each(|_| note(Counted::SortScan));
    (0..kept.tables).for_each(|_| note(Counted::CreatedTmpTables));
    if whole {
        note(Counted::NoIndexUsed);
    }
}

/// What keeps rows: sorts, and what MySQL has temporary tables for.
#[derive(Default)]
struct Kept {
    sorts: usize,
    tables: usize,
    /// Plans whose rows are kept once, though several places read them.
    derived: Vec<*const QueryPlan>,
}

fn note_scans(node: &Node, kept: &mut Kept, f: &mut dyn FnMut(&AccessPath)) {
    match node {
        Node::Scan(scan) => return f(&scan.path),
        Node::Sort { .. } => kept.sorts += 1,
        Node::Derived { plan, .. } => {
            if kept.derived.contains(&Arc::as_ptr(plan)) {
                return;
            }
            kept.derived.push(Arc::as_ptr(plan));
            kept.tables += 1;
        }
        Node::Distinct { .. } | Node::SetOp { all: false, .. } => kept.tables += 1,
        Node::Aggregate { keys, sorted_input: false, .. } if !keys.is_empty() => kept.tables += 1,
        _ => {}
    }
    inputs(node, &mut |input| note_scans(input, kept, f));
}
