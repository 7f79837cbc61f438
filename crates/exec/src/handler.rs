//! HANDLER … READ: rows of one table in the order of an index, from where the last READ has stopped.
//!
//! What is read is the plan of `SELECT *, condition FROM t` with another access path: the condition is its last column. Where a READ has
//! stopped is kept as keys of the index, so that a row that has gone since does no harm.

use std::ops::Bound;

use vaquita_plan::expr::CompareOp;
use vaquita_plan::node::{AccessPath, KeptHeader, Node, OutputColumn, QueryPlan, Scan};
use vaquita_storage::{IndexCodec, KeyRange, LockMode, Table};
use vaquita_types::convert::{self, ProblemKind, StoreContext};
use vaquita_types::errno::{
    ER_BAD_NULL_ERROR, ER_ILLEGAL_HA, ER_INVALID_GROUP_FUNC_USE, ER_TOO_MANY_KEY_PARTS, ER_WRONG_ARGUMENTS,
};
use vaquita_types::schema::IndexDef;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};

use crate::context::{Execution, Frame, local_now};
use crate::op::{Operator, TableScan};
use crate::sink::RowSink;

/// Where a READ has stopped.
#[derive(Clone, Debug)]
pub struct Position {
    /// In the table's list; none for the table's own order.
    index: Option<usize>,
    /// PREV reads what is smaller.
    below: Vec<u8>,
    /// NEXT reads this and what is larger.
    above: Vec<u8>,
}

impl Position {
    /// What it takes of memory.
    pub fn bytes(&self) -> usize {
        self.below.len() + self.above.len()
    }
}

pub enum Step {
    First,
    Next,
    Prev,
    Last,
    /// Compared with the first columns of the index.
    Key {
        op: CompareOp,
        values: Vec<(Value, ColumnType)>,
    },
}

pub struct Read<'a> {
    /// In the table's list, with its name as it was written.
    pub index: Option<(usize, &'a str)>,
    pub step: Step,
    /// The last column of the plan is a condition.
    pub filtered: bool,
    pub offset: u64,
    pub rows_max: u64,
}

/// Sends the rows, and notes where it stops.
pub fn read(
    plan: &QueryPlan,
    read: &Read<'_>,
    position: &mut Option<Position>,
    statement: &Execution<'_>,
    sink: &mut dyn RowSink,
) -> Result<()> {
    let scan = match &plan.root {
        Node::Scan(scan) if scan.partitions.is_none() => scan,
        Node::Scan(scan) => return Err(Error::new(&ER_ILLEGAL_HA, &[&scan.table.name])),
        _ => return Err(Error::new(&ER_INVALID_GROUP_FUNC_USE, &[])),
    };
    let (columns, condition) = match (read.filtered, plan.output.split_last()) {
        (true, Some((condition, columns))) => (columns, Some(condition)),
        _ => (&plan.output[..], None),
    };
    let index = read.index.map_or(0, |(index, _)| index);
    let table = statement.open_table(&scan.table, LockMode::IS)?;
    let codec = table.codec.indexes().get(index).ok_or_else(|| Error::internal("index out of range"))?;
    let known = position.as_ref().filter(|known| known.index == read.index.map(|(index, _)| index));
    let (range, reverse) = range_of(read, codec, &table, known, statement)?;
    sink.columns(columns, &KeptHeader::default())?;
    if read.rows_max == 0 {
        return Ok(());
    }
    // Where it stops if there are not so many rows.
    let mut stop = if reverse { range.lower.clone() } else { range.upper.clone() };
    let mut next = stop.clone();
    if reads_rows(table.def.indexes.get(index)) {
        let path = AccessPath::Range { index, ranges: Vec::new(), reverse, covering: false };
        let scan = Scan { path, skips: None, filter: Vec::new(), ..Scan::clone(scan) };
        let mut frame = Frame::new(statement, None, plan.frame_width);
        let mut rows = TableScan::singly(&scan, range);
        rows.open(&mut frame)?;
        let mut seen = 0;
        while rows.next(&mut frame)? {
            statement.interrupt.check_in_turn()?;
            if !holds(condition, &frame)? {
                continue;
            }
            seen += 1;
            if seen <= read.offset {
                continue;
            }
            send(columns, &frame, sink)?;
            if seen - read.offset == read.rows_max {
                stop = rows.place().to_vec();
                next = [rows.place(), &[0]].concat();
                break;
            }
        }
    }
    *position = Some(Position { index: read.index.map(|(index, _)| index), below: stop, above: next });
    Ok(())
}

/// Words and cells are nothing to read in order, and MySQL finds nothing.
fn reads_rows(index: Option<&IndexDef>) -> bool {
    index.is_none_or(|index| !index.is_spatial() && !index.is_full_text())
}

fn holds(condition: Option<&OutputColumn>, frame: &Frame<'_>) -> Result<bool> {
    condition.map_or(Ok(true), |condition| Ok(condition.expr.eval_bool(&frame.cx())?.unwrap_or(false)))
}

fn send(columns: &[OutputColumn], frame: &Frame<'_>, sink: &mut dyn RowSink) -> Result<()> {
    sink.begin_row();
    for column in columns {
        sink.value(&*column.expr.eval(&frame.cx())?, &column.expr.ty);
    }
    sink.end_row()
}

/// The keys to read, and whether backward.
fn range_of(
    read: &Read<'_>,
    codec: &IndexCodec,
    table: &Table,
    known: Option<&Position>,
    statement: &Execution<'_>,
) -> Result<(KeyRange, bool)> {
    let mut range = codec.all();
    let reverse = match &read.step {
        Step::First => false,
        Step::Last => true,
        Step::Next => {
            if let Some(known) = known {
                range.lower.clone_from(&known.above);
            }
            false
        }
        Step::Prev => {
            if let Some(known) = known {
                range.upper.clone_from(&known.below);
            }
            true
        }
        Step::Key { op, values } => {
            let name = read.index.map_or("", |(_, name)| name);
            let values = key_values(values, codec, table, name, statement)?;
            let equal = codec.range(&values, Bound::Unbounded, Bound::Unbounded)?;
            match op {
                CompareOp::Ge => range.lower = equal.lower,
                CompareOp::Gt => range.lower = equal.upper,
                CompareOp::Le => range.upper = equal.upper,
                CompareOp::Lt => range.upper = equal.lower,
                _ => range = equal,
            }
            matches!(op, CompareOp::Le | CompareOp::Lt)
        }
    };
    Ok((range, reverse))
}

/// Values as the columns of the index hold them: the nearest. Errors 1070, 1048 for NULL where there is none, 1210 for no date.
fn key_values(
    given: &[(Value, ColumnType)],
    codec: &IndexCodec,
    table: &Table,
    name: &str,
    statement: &Execution<'_>,
) -> Result<Vec<Value>> {
    let parts = codec.parts();
    if given.len() > parts.len() {
        return Err(Error::new(&ER_TOO_MANY_KEY_PARTS, &[&parts.len()]));
    }
    let zone = statement.session.time_zone();
    let today = local_now(zone, statement.session.statement_time_us()).date();
    let store = StoreContext { sql_mode: statement.session.sql_mode(), time_zone: zone, today };
    let mut values = Vec::with_capacity(given.len());
    for ((value, from), part) in given.iter().zip(parts) {
        let column = table.def.columns.get(part.position).ok_or_else(|| Error::internal("a part of no column"))?;
        if value.is_null() && !column.nullable {
            return Err(Error::new(&ER_BAD_NULL_ERROR, &[&name]));
        }
        let stored = match convert::store(value.clone(), from, column.key_type(), &store) {
            Ok(value) => value,
            Err(problem) if matches!(problem.kind, ProblemKind::Temporal { .. }) => {
                return Err(Error::new(&ER_WRONG_ARGUMENTS, &[&"HANDLER ... READ"]));
            }
            Err(problem) => problem.adjusted,
        };
        // Keys have these in UTC.
        let utc = match &stored {
            Value::DateTime(local) if column.ty.kind == TypeKind::Timestamp => zone.timestamp_to_utc(*local),
            _ => None,
        };
        values.push(utc.map_or(stored, |utc| Value::DateTime(utc.value)));
    }
    Ok(values)
}
