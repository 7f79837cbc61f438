//! How statements find their rows and what they do to them, as status variables (`Select_scan`, `Handler_read_key` and their like) and
//! statement events count it.

use vaquita_exec::context::{CALLS, Counted, Execution, RowWork};
use vaquita_plan::node::{AccessPath, Node, Plan, Range};
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
        _ => return None,
    })
}

impl Session {
    /// How a query finds its rows.
    pub(super) fn note_access(&mut self, plan: &Plan) {
        let Plan::Query(query) = plan else { return };
        let (counters, event) = (&self.client.counters, &mut self.event);
        note_node(&query.root, &mut |what| {
            if let Some(counter) = counter_of(what) {
                counters.add(counter, 1);
            }
            event.add(what, 1);
        });
    }
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
    let (mut tables, mut whole, mut sorts) = (0, false, 0);
    note_scans(root, &mut sorts, &mut |path: &AccessPath| {
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
            AccessPath::Point { .. } | AccessPath::FullText { .. } => {}
        }
    });
    (0..sorts).for_each(|_| note(Counted::SortScan));
    if whole {
        note(Counted::NoIndexUsed);
    }
}

fn note_scans(node: &Node, sorts: &mut usize, f: &mut dyn FnMut(&AccessPath)) {
    match node {
        Node::Scan(scan) => f(&scan.path),
        other => {
            *sorts += usize::from(matches!(other, Node::Sort { .. }));
            inputs(other, &mut |input| note_scans(input, sorts, f));
        }
    }
}
