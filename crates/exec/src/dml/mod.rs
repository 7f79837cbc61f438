//! INSERT, REPLACE, UPDATE and DELETE.
//!
//! All find the rows and values first and then change each row through `change`: values, constraints, storage. A failed statement is undone by the session (`Transaction::rollback_statement`).

pub(crate) mod blocks;
mod change;
mod delete;
pub(crate) mod group_numbers;
pub mod images;
pub(crate) mod insert;
mod setup;
pub(crate) mod stored_exprs;
mod stream;
mod update;

pub(crate) use change::added_keys::AddedKey;
pub use change::implicit_default;
pub(crate) use change::of_element;
use vaquita_plan::eval::print;
use vaquita_plan::node::{Node, Plan};
use vaquita_types::schema::ColumnDef;
use vaquita_types::{Error, Result, sql_mode};

use crate::context::Execution;
use crate::query::evaluate_early;

/// What a data-changing statement did.
#[derive(Clone, Debug, Default)]
pub struct Changed {
    /// Rows changed, as OK packets count them.
    pub affected: u64,
    /// Rows found, for clients with FOUND_ROWS.
    pub found: u64,
    /// The first AUTO_INCREMENT value that was generated, which LAST_INSERT_ID() returns from now on.
    pub generated_id: u64,
    /// The AUTO_INCREMENT value of the last row that an INSERT or REPLACE wrote or looked at, given or generated.
    pub row_id: u64,
    /// "Rows matched: …"
    pub info: String,
}

pub fn run(plan: &Plan, statement: &Execution<'_>) -> Result<Changed> {
    let ignore = match plan {
        Plan::Insert(insert) => insert.ignore,
        Plan::Update(update) => update.ignore,
        Plan::Delete(delete) => delete.ignore,
        Plan::Query(_) => false,
    };
    if sql_mode::is_strict(statement.session.sql_mode()) && !ignore {
        statement.raise_warnings();
    }
    let changed = change(plan, statement);
    // What an expression met came before whatever the rows met when they were written.
    match statement.take_raised() {
        Some(raised) => Err(raised),
        None => changed.map_err(|e| name_columns(e, plan)),
    }
}

fn change(plan: &Plan, statement: &Execution<'_>) -> Result<Changed> {
    let early = match plan {
        Plan::Insert(insert) => &insert.early,
        Plan::Update(update) => &update.early,
        Plan::Delete(delete) => &delete.early,
        Plan::Query(_) => return Err(Error::internal("a query is not a change")),
    };
    evaluate_early(early, statement)?;
    match plan {
        Plan::Insert(insert) if setup::holds(&insert.table) => setup::insert(insert, statement),
        Plan::Update(update) if update.targets.iter().any(|target| setup::holds(&target.table)) => {
            setup::update(update, statement)
        }
        Plan::Delete(delete) if delete.targets.iter().any(|target| setup::holds(&target.table)) => {
            setup::delete(delete, statement)
        }
        Plan::Insert(insert) => insert::run(insert, statement),
        Plan::Update(update) => update::run(update, statement),
        Plan::Delete(delete) => delete::run(delete, statement),
        Plan::Query(_) => Ok(Changed::default()),
    }
}

/// Error 1690 with the names of the columns in the statement's frame.
fn name_columns(error: Error, plan: &Plan) -> Error {
    let named = match plan {
        Plan::Insert(insert) => {
            let (table, width) = (&insert.table, insert.table.columns.len());
            let name = |column: &ColumnDef| print::quoted(&[&table.database, &table.name, &column.name]);
            let old = table.columns.iter().enumerate().map(|(slot, column)| (slot, name(column)));
            let new = table.columns.iter().enumerate().map(|(n, column)| (width + n, name(column)));
            print::name_slots(error, &old.chain(new).collect())
        }
        Plan::Update(update) => print::name_columns(error, &update.source),
        Plan::Delete(delete) => print::name_columns(error, &delete.source),
        Plan::Query(_) => error,
    };
    print::unmarked(named)
}

/// What the key of a row that a join has met takes beside its bytes: its place in a hash set, and what the allocator adds to it.
const SEEN_KEY_BYTES: usize = 64;

/// The rows of `source` may hold one row of a table several times: it is a join.
fn is_join(source: &Node) -> bool {
    match source {
        Node::Scan(_) | Node::Empty => false,
        Node::Filter { input, .. } | Node::Sort { input, .. } | Node::Limit { input, .. } => is_join(input),
        _ => true,
    }
}
