//! Runs a `QueryPlan`: builds its operators, pulls rows, evaluates the output columns.

mod environment;
mod members;

use std::borrow::Cow;

use vaquita_parser::IntoTarget;
use vaquita_plan::env::{EvalCx, Level};
use vaquita_plan::eval::{print, value_of_variable};
use vaquita_plan::expr::{Expr, ExprKind};
use vaquita_plan::node::{AccessPath, Limit, Node, OutputColumn, Plan, QueryPlan, Scan};
use vaquita_plan::visit::{calls_stored, for_each_expr, has_subquery};
use vaquita_storage::Reads;
use vaquita_types::errno::{ER_SP_FETCH_NO_DATA, ER_TOO_MANY_ROWS};
use vaquita_types::temporal::TimeZone;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};

use crate::context::{Execution, Frame, Kept, heap_bytes};
use crate::op::{self, Builder, Operator, SubPlan, TableScan};
use crate::sink::{Discard, RowSink};

/// Rows between two looks at the interrupt.
const INTERRUPT_ROWS: u64 = 1 << 10;

/// Sends all rows to `sink`; returns what FOUND_ROWS() tells: how many, those before them that OFFSET leaves out, and with
/// SQL_CALC_FOUND_ROWS all that LIMIT leaves out.
pub fn run(plan: &QueryPlan, statement: &Execution<'_>, outer: Option<&EvalCx<'_>>, sink: &mut dyn RowSink) -> Result<u64> {
    evaluate_early(&plan.early, statement)?;
    send_rows(plan, statement, outer, sink).map_err(|e| print::unmarked(print::name_columns(e, &plan.root)))
}

fn send_rows(plan: &QueryPlan, statement: &Execution<'_>, outer: Option<&EvalCx<'_>>, sink: &mut dyn RowSink) -> Result<u64> {
    sink.columns(&plan.output, &plan.header)?;
    let mut frame = Frame::new(statement, outer, plan.frame_width);
    if statement.measures.is_none()
        && let Some((scan, positions)) = stored_columns(plan, statement)
    {
        return run_stored(plan, scan, &positions, &mut frame, sink);
    }
    let unlimited = if plan.calc_found_rows { without_limit(&plan.root) } else { None };
    let (mut root, (skip, most)) = match &unlimited {
        Some((node, limit)) => (Builder::of(statement).build(node), op::limit_bounds(limit, &frame)?),
        None => (Builder::of(statement).root(&plan.root), (0, u64::MAX)),
    };
    root.open(&mut frame)?;
    let mut rows = 0u64;
    while root.next(&mut frame)? {
        if rows < skip || rows - skip >= most {
            rows += 1;
            continue;
        }
        sink.begin_row();
        let cx = frame.cx();
        for column in &plan.output {
            match &column.expr.kind {
                ExprKind::Slot(slot) if *slot < frame.slots.len() => sink.value(&frame.slots[*slot], &column.expr.ty),
                ExprKind::Param(_) => {
                    let value = column.expr.eval(&cx)?;
                    sink.value(&value, &as_sent(&value, &column.expr.ty));
                }
                _ => sink.value(&*column.expr.eval(&cx)?, &column.expr.ty),
            }
        }
        sink.end_row()?;
        rows += 1;
        if rows.is_multiple_of(INTERRUPT_ROWS) {
            statement.interrupt.check_in_turn()?;
        }
    }
    Ok(rows + root.skipped())
}

/// The type of a parameter that is a column itself: a decimal number has the digits that it was given with.
fn as_sent<'t>(value: &Value, ty: &'t ColumnType) -> Cow<'t, ColumnType> {
    match value {
        Value::Decimal(number) if ty.kind == TypeKind::Decimal => {
            Cow::Owned(ColumnType { decimals: number.scale(), ..ty.clone() })
        }
        _ => Cow::Borrowed(ty),
    }
}

/// EXPLAIN ANALYZE: runs a plan for `statement.measures` and gives its rows to nobody. Of UPDATE and DELETE it finds the rows, and changes
/// none; INSERT is not run. For a query it returns what FOUND_ROWS() tells.
pub fn measure(plan: &Plan, statement: &Execution<'_>) -> Result<Option<u64>> {
    let (source, frame_width) = match plan {
        Plan::Query(query) => return run(query, statement, None, &mut Discard).map(Some),
        Plan::Insert(_) => return Ok(None),
        Plan::Update(update) => (&update.source, update.frame_width),
        Plan::Delete(delete) => (&delete.source, delete.frame_width),
    };
    let mut frame = Frame::new(statement, None, frame_width);
    let mut source = Builder::of(statement).build(source);
    source.open(&mut frame)?;
    while source.next(&mut frame)? {
        statement.interrupt.check_in_turn()?;
    }
    Ok(None)
}

/// What a plan evaluates before its first row (`vaquita_plan::bind`, EARLY-1 to EARLY-4).
pub fn evaluate_early(early: &[Expr], statement: &Execution<'_>) -> Result<()> {
    if early.is_empty() {
        return Ok(());
    }
    statement.set_early(true);
    let done = early.iter().try_for_each(|expr| expr.eval(&statement.cx(&[], None)).map(drop));
    statement.set_early(false);
    done
}

/// The scan that is all there is to do, and the positions of the columns that it sends as they are stored.
fn stored_columns<'p>(plan: &'p QueryPlan, statement: &Execution<'_>) -> Option<(&'p Scan, Vec<usize>)> {
    let Node::Scan(scan) = &plan.root else { return None };
    let from_row =
        matches!(scan.path, AccessPath::Full { .. } | AccessPath::Point { .. } | AccessPath::Range { covering: false, .. });
    if !from_row || !scan.filter.is_empty() || scan.partitions.is_some() {
        return None;
    }
    let utc = matches!(statement.session.time_zone(), TimeZone::Utc);
    let position = |column: &OutputColumn| {
        let ExprKind::Slot(slot) = &column.expr.kind else { return None };
        let (position, _) = scan.columns.iter().find(|(_, at)| at == slot)?;
        let is_local_time = scan.table.columns.get(*position)?.ty.kind == TypeKind::Timestamp && !utc;
        (!is_local_time).then_some(*position)
    };
    Some((scan, plan.output.iter().map(position).collect::<Option<_>>()?))
}

/// From stored bytes to the sink, without a `Value` in between.
fn run_stored(plan: &QueryPlan, scan: &Scan, positions: &[usize], frame: &mut Frame<'_>, sink: &mut dyn RowSink) -> Result<u64> {
    let mut source = TableScan::new(scan);
    source.open(frame)?;
    let mut rows = 0u64;
    while source.advance_stored(frame)? {
        let row = source.stored_row()?;
        sink.begin_row();
        for (position, column) in positions.iter().zip(&plan.output) {
            sink.stored(row.column(*position)?, &column.expr.ty)?;
        }
        sink.end_row()?;
        rows += 1;
        if rows.is_multiple_of(INTERRUPT_ROWS) {
            frame.statement.interrupt.check_in_turn()?;
        }
    }
    Ok(rows)
}

/// The plan's root without its LIMIT, and the LIMIT.
fn without_limit(root: &Node) -> Option<(Cow<'_, Node>, &Limit)> {
    match root {
        Node::Limit { input, limit } => Some((Cow::Borrowed(input.as_ref()), limit)),
        Node::Sort { input, keys, limit: Some(limit), saved } => {
            let all = Node::Sort { input: input.clone(), keys: keys.clone(), limit: None, saved: saved.clone() };
            Some((Cow::Owned(all), limit))
        }
        _ => None,
    }
}

/// SELECT … INTO @a, @b: sets the variables from the only row; returns how many rows there were. Error 1172 for a second one.
pub fn run_into(plan: &QueryPlan, statement: &Execution<'_>) -> Result<u64> {
    evaluate_early(&plan.early, statement)?;
    let rows = collect_some(plan, statement, None, 2)?;
    let Some(row) = rows.first() else {
        statement.session.warn(Level::Warning, Error::new(&ER_SP_FETCH_NO_DATA, &[]));
        return Ok(0);
    };
    for ((target, value), column) in plan.into.iter().zip(row).zip(&plan.output) {
        match target {
            IntoTarget::UserVar(name) => statement.session.set_user_var(name, value_of_variable(value, &column.expr.ty))?,
            IntoTarget::Variable(variable) => statement.session.set_program_variable(*variable, value.clone(), &column.expr.ty),
        }
    }
    if rows.len() > 1 {
        return Err(Error::new(&ER_TOO_MANY_ROWS, &[]));
    }
    Ok(1)
}

/// Calls `f` with each row, for INSERT … SELECT.
pub fn for_each(
    plan: &QueryPlan,
    statement: &Execution<'_>,
    outer: Option<&EvalCx<'_>>,
    mut f: impl FnMut(&mut Vec<Value>) -> Result<()>,
) -> Result<()> {
    let mut source = SubPlan::new(plan, Builder::of(statement));
    source.open(statement, outer)?;
    let mut row = Vec::with_capacity(plan.output.len());
    let mut rows = 0u64;
    while source.next(statement, outer, &mut row)? {
        f(&mut row)?;
        row.clear();
        rows += 1;
        if rows.is_multiple_of(INTERRUPT_ROWS) {
            statement.interrupt.check_in_turn()?;
        }
    }
    Ok(())
}

/// All rows, for subqueries.
pub fn collect(plan: &QueryPlan, statement: &Execution<'_>, outer: Option<&EvalCx<'_>>) -> Result<Vec<Vec<Value>>> {
    collect_some(plan, statement, outer, usize::MAX)
}

/// The first `rows_max` rows.
pub fn collect_some(
    plan: &QueryPlan,
    statement: &Execution<'_>,
    outer: Option<&EvalCx<'_>>,
    rows_max: usize,
) -> Result<Vec<Vec<Value>>> {
    let mut source = SubPlan::new(plan, Builder::of(statement));
    source.open(statement, outer)?;
    let (mut rows, mut kept) = (Vec::new(), Kept::default());
    let mut row = Vec::with_capacity(plan.output.len());
    while rows.len() < rows_max && source.next(statement, outer, &mut row)? {
        let bytes = size_of_val(&row[..]) + size_of_val(&row) + row.iter().map(heap_bytes).sum::<usize>();
        kept.add(bytes, statement)?;
        rows.push(std::mem::replace(&mut row, Vec::with_capacity(plan.output.len())));
        if (rows.len() as u64).is_multiple_of(INTERRUPT_ROWS) {
            statement.interrupt.check_in_turn()?;
        }
    }
    Ok(rows)
}

/// Whether a statement can do with one read, so that it needs no snapshot.
pub fn reads(plan: &Plan) -> Reads {
    let one = match plan {
        Plan::Query(query) => is_point(&query.root) && !query.output.iter().any(|column| holds_subquery(&column.expr)),
        // Triggers read what they like.
        _ if fires_triggers(plan) => false,
        Plan::Update(update) => {
            let mut assignments = update.targets.iter().flat_map(|target| &target.assignments);
            is_point(&update.source) && assignments.all(|a| a.value.as_ref().is_none_or(|value| !holds_subquery(value)))
        }
        Plan::Delete(delete) => is_point(&delete.source),
        Plan::Insert(_) => false,
    };
    if one { Reads::One } else { Reads::Many }
}

/// A table that it changes has triggers.
fn fires_triggers(plan: &Plan) -> bool {
    match plan {
        Plan::Query(_) | Plan::Insert(_) => false,
        Plan::Update(update) => update.targets.iter().any(|target| !target.table.triggers.is_empty()),
        Plan::Delete(delete) => delete.targets.iter().any(|target| !target.table.triggers.is_empty()),
    }
}

/// A query without tables of its own may read some all the same, by stored functions.
pub fn may_call_functions(plan: &Plan) -> bool {
    let Plan::Query(query) = plan else { return false };
    let mut calls = query.output.iter().any(|column| holds_subquery(&column.expr));
    if !calls {
        for_each_expr(&query.root, &mut |expr| calls |= holds_subquery(expr));
    }
    calls
}

/// It reads more than the row, by subqueries or stored functions; at once for what most statements have.
fn holds_subquery(expr: &Expr) -> bool {
    !matches!(expr.kind, ExprKind::Slot(_) | ExprKind::Literal(_) | ExprKind::Param(_))
        && (has_subquery(expr) || calls_stored(expr))
}

/// At most one row, by its primary key.
fn is_point(node: &Node) -> bool {
    let Node::Scan(scan) = node else { return false };
    match &scan.path {
        // Where its row can be is found out when it opens, and need not be one partition.
        _ if scan.partitions.is_some() => false,
        AccessPath::Point { index: 0, key } => !key.iter().chain(&scan.filter).any(holds_subquery),
        _ => false,
    }
}

/// Whether a statement changes or locks rows.
pub fn changes(plan: &Plan) -> bool {
    match plan {
        Plan::Query(query) => query.locking,
        _ => true,
    }
}
