//! EXPLAIN FORMAT=WHY: the orders and ways to read tables that were considered, with what they would cost, and indexes that would make the
//! statement cheaper.
//!
//! An index that does not exist is imagined: the statement is planned once more over a catalog that has it (`Imagining`), whose statistics come
//! from a sample of the table. Costs are those of reading and joining: one is the price of the next row of an open scan.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use vaquita_parser as ast;
use vaquita_types::charset::TextParser;
use vaquita_types::schema::{ColumnDef, IndexDef, IndexId, IndexKind, IndexPart, TableDef, TableRef};
use vaquita_types::{Result, Value};

use crate::bind::{PlanContext, plan_statement};
use crate::catalog::{Catalog, StoredFunction, TableStatistics, ValueRange, View};
use crate::choices::{BlockChoices, Choices, WantedIndex, Way};
use crate::expr::Expr;

/// So many indexes are imagined, and so many of those that help are told.
const IMAGINED_MAX: usize = 16;
const TOLD_MAX: usize = 3;
/// An index helps if the statement costs less than this share with it.
const HELPS_BELOW: f64 = 0.7;
/// And if it saves more than this.
const SAVES_MIN: f64 = 100.0;

pub struct Why {
    pub text: String,
    /// How many rows each table was expected to give in one opening, by its alias.
    pub estimates: Vec<(String, f64)>,
}

pub fn why(statement: &ast::Statement, cx: &PlanContext<'_>) -> Result<Why> {
    let (blocks, cost) = plan(statement, cx, None)?;
    let mut out = String::new();
    for (n, block) in blocks.iter().enumerate() {
        tell_block(n + 1, block, &mut out);
    }
    let mut wanted: Vec<&WantedIndex> = Vec::new();
    for index in blocks.iter().flat_map(|block| &block.wanted) {
        if !wanted.iter().any(|other| other.table.id == index.table.id && other.columns == index.columns) {
            wanted.push(index);
        }
    }
    let mut helpful = Vec::new();
    for index in wanted.into_iter().take(IMAGINED_MAX) {
        let (_, with) = plan(statement, cx, Some(index))?;
        if with < cost * HELPS_BELOW && cost - with > SAVES_MIN {
            helpful.push((with, index));
        }
    }
    helpful.sort_by(|(a, first), (b, second)| a.total_cmp(b).then(first.columns.len().cmp(&second.columns.len())));
    if blocks.is_empty() {
        out.push_str("No table is read.\n");
    }
    for (with, index) in helpful.iter().take(TOLD_MAX) {
        let columns = names(index).join(", ");
        let table = &index.table;
        let _ = writeln!(
            out,
            "An index on {}.{} ({columns}) would make it {} times cheaper: {} instead of {}",
            table.database,
            table.name,
            figure(cost / with.max(1.0)),
            figure(*with),
            figure(cost)
        );
    }
    if helpful.is_empty() && !blocks.is_empty() {
        out.push_str("No index that it could use is missing.\n");
    }
    let tables = blocks.into_iter().flat_map(|block| block.tables);
    Ok(Why { text: out, estimates: tables.map(|table| (table.alias, table.rows_out)).collect() })
}

fn tell_block(number: usize, block: &BlockChoices, out: &mut String) {
    let Some((taken, lost)) = block.orders.split_first() else { return };
    let _ =
        writeln!(out, "Block {number}: {}  (cost={} rows={})", taken.steps.join(", "), figure(taken.cost), figure(taken.rows));
    for order in lost {
        let _ = writeln!(out, "    not {}  (cost={})", order.steps.join(", "), figure(order.cost));
    }
    for table in &block.tables {
        let Some((taken, lost)) = table.ways.split_first() else { continue };
        let _ = writeln!(out, "    {}: {}, of which {} stay", table.alias, tell_way(taken), figure(table.rows_out));
        for way in lost {
            let _ = writeln!(out, "        not {}", tell_way(way));
        }
    }
}

fn tell_way(way: &Way) -> String {
    format!("{}  (cost={} rows={})", way.name, figure(way.cost), figure(way.rows))
}

/// Three digits of small numbers, all of others.
pub fn figure(number: f64) -> String {
    match number {
        ..10.0 => format!("{number:.2}"),
        ..100.0 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}

fn names(index: &WantedIndex) -> Vec<&str> {
    let columns = &index.table.columns;
    index.columns.iter().filter_map(|id| columns.iter().find(|column| column.id == *id)).map(|c| c.name.as_str()).collect()
}

/// What there was to choose from in each block.
pub(crate) fn choices_of(statement: &ast::Statement, cx: &PlanContext<'_>) -> Result<Vec<BlockChoices>> {
    plan(statement, cx, None).map(|(blocks, _)| blocks)
}

/// The choices of the statement's blocks, with an index that does not exist or without, and their cost together.
fn plan(statement: &ast::Statement, cx: &PlanContext<'_>, imagined: Option<&WantedIndex>) -> Result<(Vec<BlockChoices>, f64)> {
    let catalog = Imagining::new(cx.catalog, imagined)?;
    plan_statement(statement, &PlanContext { catalog: &catalog, ..*cx })?;
    let blocks = catalog.choices.take();
    let cost = blocks.iter().filter_map(|block| block.orders.first()).map(|order| order.cost).sum();
    Ok((blocks, cost))
}

/// A catalog that notes choices, and one of whose tables may have an index more.
struct Imagining<'c> {
    real: &'c dyn Catalog,
    choices: Choices,
    imagined: Option<Imagined>,
}

struct Imagined {
    table: TableRef,
    /// Different values of its first part, its first two parts, ….
    distinct: Vec<u64>,
}

const IMAGINED_ID: IndexId = IndexId(u32::MAX);

impl<'c> Imagining<'c> {
    fn new(real: &'c dyn Catalog, wanted: Option<&WantedIndex>) -> Result<Imagining<'c>> {
        let imagined = wanted.map(|wanted| imagine(real, wanted)).transpose()?;
        Ok(Imagining { real, choices: Choices::default(), imagined })
    }

    fn with_imagined(&self, table: Option<TableRef>) -> Option<TableRef> {
        match (&self.imagined, table) {
            (Some(imagined), Some(table)) if imagined.table.id == table.id => Some(imagined.table.clone()),
            (_, table) => table,
        }
    }
}

fn imagine(real: &dyn Catalog, wanted: &WantedIndex) -> Result<Imagined> {
    let mut table = TableDef::clone(&wanted.table);
    table.indexes.push(IndexDef {
        id: IMAGINED_ID,
        name: "imagined".to_string(),
        kind: IndexKind::Secondary,
        parts: wanted.columns.iter().map(|column| IndexPart { column: *column, prefix: None, descending: false }).collect(),
        comment: String::new(),
        invisible: false,
        using: None,
        generated: false,
        multi_valued: false,
        parser: TextParser::default(),
    });
    let position = |id| wanted.table.columns.iter().position(|column: &ColumnDef| column.id == id);
    let columns: Vec<usize> = wanted.columns.iter().filter_map(|id| position(*id)).collect();
    let mut counts: Vec<HashMap<String, u32>> = vec![HashMap::new(); columns.len()];
    let mut sampled = 0u64;
    real.sample(&wanted.table, &columns, &mut |values: &[Value]| {
        sampled += 1;
        for (n, counts) in counts.iter_mut().enumerate() {
            *counts.entry(format!("{:?}", values.get(..=n))).or_default() += 1;
        }
        true
    })?;
    let rows = real.statistics(&wanted.table).rows.max(sampled);
    let distinct = counts.iter().map(|counts| estimated_values(counts, sampled, rows)).collect();
    Ok(Imagined { table: Arc::new(table), distinct })
}

/// How many different values `rows` rows have, of which a sample has `counts` (Duj1: values that are met once stand for others like them).
fn estimated_values(counts: &HashMap<String, u32>, sampled: u64, rows: u64) -> u64 {
    if sampled == 0 {
        return 0;
    }
    let found = counts.len() as f64;
    let once = counts.values().filter(|count| **count == 1).count() as f64;
    let share = sampled as f64 / rows.max(1) as f64;
    let estimate = found / (1.0 - (1.0 - share) * once / sampled as f64).max(1e-9);
    (estimate.min(rows as f64) as u64).max(1)
}

impl Catalog for Imagining<'_> {
    fn table(&self, database: &str, name: &str) -> Result<Option<TableRef>> {
        Ok(self.with_imagined(self.real.table(database, name)?))
    }

    fn permanent(&self, database: &str, name: &str) -> Result<Option<TableRef>> {
        Ok(self.with_imagined(self.real.permanent(database, name)?))
    }

    fn view(&self, database: &str, name: &str) -> Result<Option<Arc<View>>> {
        self.real.view(database, name)
    }

    fn function(&self, database: &str, name: &str) -> Result<Option<StoredFunction>> {
        self.real.function(database, name)
    }

    fn database_exists(&self, database: &str) -> Result<bool> {
        self.real.database_exists(database)
    }

    fn statistics(&self, table: &TableDef) -> TableStatistics {
        let mut statistics = self.real.statistics(table);
        if let Some(imagined) = self.imagined.as_ref().filter(|imagined| imagined.table.id == table.id) {
            statistics.distinct.push((IMAGINED_ID, imagined.distinct.clone()));
        }
        statistics
    }

    fn sample(&self, table: &TableDef, columns: &[usize], give: &mut dyn FnMut(&[Value]) -> bool) -> Result<()> {
        self.real.sample(table, columns, give)
    }

    fn share_of_range(&self, table: &TableDef, index: usize, range: &ValueRange<'_>) -> Option<f64> {
        let is_real = table.indexes.get(index).is_some_and(|index| index.id != IMAGINED_ID);
        if is_real { self.real.share_of_range(table, index, range) } else { None }
    }

    fn known_value(&self, constant: &Expr) -> Option<Value> {
        self.real.known_value(constant)
    }

    fn assumes_untrue(&self, condition: &Expr) -> bool {
        self.real.assumes_untrue(condition)
    }

    fn choices(&self) -> Option<&Choices> {
        Some(&self.choices)
    }
}
