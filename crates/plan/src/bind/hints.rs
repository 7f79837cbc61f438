//! Optimizer hints: which query block and table each is about, and what MySQL says of those that are about none.
//!
//! 1. `blocks` numbers the query blocks of the statement as MySQL does, before anything is bound: a hint may name a block that stands inside.
//!    `notes` puts each hint to its block, and tells of those that say what has been said (warnings 3126 and 3127).
//! 2. When FROM of a block is bound, the tables that its hints name are looked for there (`resolve_hints`, warning 3128), and what is said
//!    of each goes with it (`logical::hints`). MERGE is asked for before, when a derived table is met.
//! 3. Orders of joins name tables as they are once subqueries have become joins (`check_join_orders`).
//!
//! A view's query has its own hints, whose names mean nothing outside. Of CREATE VIEW only those about the use of indexes are kept, in its text.
//! A statement without hints does none of this.

mod blocks;
mod notes;

use std::collections::HashMap;

use vaquita_parser as ast;
use vaquita_parser::printer::quote_ident;
use vaquita_parser::{HintKind, HintStrategy, HintTable};
use vaquita_types::schema::TableRef;
use vaquita_types::{Error, Result, errno};

use super::through_view::Inserted;
use super::{Binder, Source};
use crate::logical::hints::{IndexUse, JoinOrder, TableHints};
use crate::logical::{BlockHints, Query, Read};
use crate::switches::{Strategies, Switches};

/// What hints are read of.
pub enum Hinted<'s> {
    Query(&'s ast::Query),
    Insert(&'s ast::Insert),
    Update(&'s ast::Update),
    Delete(&'s ast::Delete),
    /// Of SET or DO, which are the first block.
    Scalar(&'s ast::Expr),
}

impl Hinted<'_> {
    #[inline]
    pub(super) fn has_hints(&self) -> bool {
        match self {
            Hinted::Query(query) => query.hinted,
            Hinted::Insert(insert) => insert.hinted,
            Hinted::Update(update) => update.hinted,
            Hinted::Delete(delete) => delete.hinted,
            Hinted::Scalar(expr) => {
                let mut hinted = false;
                expr.queries(&mut |query| hinted |= query.hinted);
                hinted
            }
        }
    }

    /// The variables that SET_VAR sets, each with its first value.
    #[inline]
    pub fn variables(&self) -> Vec<(String, ast::Expr)> {
        if self.has_hints() { blocks::variables(self) } else { Vec::new() }
    }
}

/// A block whose FROM is being bound.
#[derive(Clone, Copy)]
pub(super) struct HintedBlock {
    at: usize,
    /// Its warnings come before those of the queries in its FROM.
    first_warning: usize,
}

/// The hints of a statement or of a view.
#[derive(Debug, Default)]
pub(super) struct Hints {
    /// In the order of their numbers.
    blocks: Vec<Block>,
    /// By the address of SELECT, UPDATE, …: the blocks that it is, one for each reference to a common table expression, and how many of them
    /// have been bound.
    of_syntax: HashMap<*const (), (Vec<usize>, usize)>,
    /// The blocks that hints were read of, in that order.
    read: Vec<usize>,
    /// What SET_VAR makes of `optimizer_switch`.
    switches: Option<String>,
    /// The table of INSERT, which belongs to the first block.
    target: Option<(String, Option<TableRef>)>,
    /// Blocks of other views and of the statement around: numbers of blocks are unique among all.
    blocks_before: usize,
}

/// What is said of a query block.
#[derive(Debug, Default)]
struct Block {
    /// By QB_NAME.
    name: Option<String>,
    tables: Vec<Table>,
    /// Hints for all of its tables.
    whole: Vec<(HintKind, bool)>,
    semijoin: Option<(bool, Vec<HintStrategy>)>,
    is_subquery: bool,
    has_fixed_order: bool,
    orders: Vec<(HintKind, Vec<HintTable>)>,
    has_time_limit: bool,
    is_resolved: bool,
}

/// What is said of a table.
#[derive(Debug, Default)]
struct Table {
    name: String,
    own: Vec<(HintKind, bool)>,
    /// Each index that is named, and by what.
    indexes: Vec<(String, Vec<(HintKind, bool)>)>,
    uses: Vec<IndexUse>,
}

fn said(hints: &[(HintKind, bool)], kind: HintKind) -> Option<bool> {
    hints.iter().find(|(of, _)| *of == kind).map(|(_, on)| *on)
}

impl Hints {
    /// What messages call a block.
    fn name_of(&self, at: usize) -> String {
        let name = self.blocks.get(at).and_then(|block| block.name.clone());
        name.unwrap_or_else(|| system_name(at))
    }

    fn find(&self, name: &str) -> Option<usize> {
        let is_called = |(at, block): (usize, &Block)| block.name.as_deref() == Some(name) || system_name(at) == name;
        self.blocks.iter().enumerate().position(is_called)
    }
}

fn system_name(at: usize) -> String {
    format!("select#{}", at + 1)
}

impl Binder<'_> {
    /// Reads the hints of a statement or view, which has some.
    pub(super) fn read_hints(&mut self, hinted: Hinted<'_>) {
        let is_view = self.cx.names.is_some() && self.views.is_empty();
        let (mut hints, warnings) = blocks::read(&hinted, is_view, self.cx.variables);
        hints.blocks_before = self.hinted_blocks;
        self.hinted_blocks += hints.blocks.len();
        self.hint_warnings.extend(warnings);
        if let Some(flags) = &hints.switches {
            self.switches = self.switches.with(flags);
        }
        self.hints = Some(Box::new(hints));
    }

    /// Gives the warnings to whoever wants them.
    pub(super) fn tell_hint_warnings(&mut self) {
        let warnings = std::mem::take(&mut self.hint_warnings);
        if let Some(tell) = self.cx.hint_warning {
            warnings.into_iter().for_each(tell);
        }
    }

    /// The innermost frame is that of this SELECT, UPDATE or DELETE.
    pub(super) fn enter_hinted<T>(&mut self, syntax: &T) -> Option<HintedBlock> {
        let (of_syntax, bound) = self.hints.as_mut()?.of_syntax.get_mut(&std::ptr::from_ref(syntax).cast())?;
        let at = *of_syntax.get(*bound).or(of_syntax.last())?;
        *bound += 1;
        self.frame().hinted = Some(at);
        Some(HintedBlock { at, first_warning: self.hint_warnings.len() })
    }

    /// The hints of the block that is being bound.
    fn hinted_block(&self) -> Option<(&Hints, usize, &Block)> {
        let hints = self.hints.as_deref()?;
        let at = self.frames.last()?.hinted?;
        Some((hints, at, hints.blocks.get(at)?))
    }

    /// A derived table, view or common table expression of that name is to be merged, if it can be.
    pub(super) fn merge_wanted(&self, alias: &str) -> bool {
        let hint = self.hinted_block().and_then(|(_, _, block)| {
            let table = block.tables.iter().find(|table| table.name == alias);
            table.and_then(|table| said(&table.own, HintKind::Merge)).or(said(&block.whole, HintKind::Merge))
        });
        hint.unwrap_or(self.switches.merges())
    }

    pub(super) fn has_fixed_order(&self) -> bool {
        self.hinted_block().is_some_and(|(_, _, block)| block.has_fixed_order)
    }

    /// What is said of the block that is being bound, and what the session says.
    pub(super) fn block_hints(&self) -> BlockHints {
        let switches = self.switches;
        let Some((hints, at, block)) = self.hinted_block() else { return BlockHints::new(switches) };
        let number = |block: usize| hints.blocks_before + block;
        let order = |(kind, tables): &(HintKind, Vec<HintTable>)| JoinOrder {
            kind: *kind,
            tables: tables
                .iter()
                .map(|table| (table.clone(), table.block.as_deref().and_then(|name| hints.find(name)).map(number)))
                .collect(),
            block: number(at),
        };
        BlockHints {
            switches,
            semijoin: block.semijoin.as_ref().and_then(|(on, strategies)| match (on, strategies.is_empty()) {
                (false, false) => None,
                (on, _) => Some(*on),
            }),
            stays_subquery: block.is_subquery,
            orders: block.orders.iter().map(order).collect(),
        }
    }

    /// Looks for the tables and indexes that the block's hints name. `relations`: those of its FROM.
    pub(super) fn resolve_hints(&mut self, block: HintedBlock, relations: &[usize]) {
        let (Some(hints), Some(frame)) = (self.hints.as_deref_mut(), self.frames.last_mut()) else { return };
        let (name, blocks_before) = (hints.name_of(block.at), hints.blocks_before);
        let target = if block.at == 0 { hints.target.clone() } else { None };
        let Some(said_of) = hints.blocks.get_mut(block.at) else { return };
        let mut warnings = Vec::new();
        for table in &mut said_of.tables {
            let relation = relations.iter().map(|at| &frame.relations[*at]).find(|relation| relation.alias == table.name);
            let found = relation.map(|relation| match &relation.source {
                Source::Base(table) => Some(table),
                _ => None,
            });
            let target = target.as_ref().filter(|(name, _)| *name == table.name).map(|(_, table)| table.as_ref());
            let found = found.or(target);
            unresolved(table, &name, found, &mut warnings);
            forget_unresolved(table, found);
        }
        if !std::mem::replace(&mut said_of.is_resolved, true) {
            let at = block.first_warning.min(self.hint_warnings.len());
            self.hint_warnings.splice(at..at, warnings);
        }
        let switches = self.switches;
        for relation in relations {
            let relation = &mut frame.relations[*relation];
            let hints = table_hints(said_of, &relation.alias, switches);
            relation.hints = Some(Box::new(TableHints { block: blocks_before + block.at, ..hints }));
        }
    }

    /// The table of INSERT counts to its first block. Of one without a query that is all there is.
    pub(super) fn resolve_insert_hints(&mut self, insert: &ast::Insert, into: &Inserted) {
        let Some(hints) = self.hints.as_deref_mut() else { return };
        let table = into.through.is_none().then(|| into.table.clone());
        hints.target = Some((into.name().to_string(), table));
        if !matches!(insert.source, ast::InsertSource::Query(_))
            && let Some(block) = self.enter_hinted(insert)
        {
            self.resolve_hints(block, &[]);
        }
    }

    /// Warning 3128 for orders of joins that name what is no table of their block, those of the queries inside first.
    pub(super) fn check_join_orders(&mut self, query: &mut Query) -> Result<()> {
        if self.hinted_blocks == 0 {
            return Ok(());
        }
        join_order_warnings(query, &mut self.hint_warnings)
    }

    /// The hints that a view's text has: those about the use of indexes, all in front of it.
    pub(super) fn hints_of_view(&self) -> String {
        let Some(hints) = &self.hints else { return String::new() };
        let mut texts = Vec::new();
        // A hint may be of a block that has none itself.
        let others = (0..hints.blocks.len()).filter(|at| !hints.read.contains(at));
        for at in hints.read.iter().copied().chain(others) {
            for table in &hints.blocks[at].tables {
                let mut uses: Vec<&IndexUse> = table.uses.iter().collect();
                uses.sort_by_key(|rule| rule.kind);
                for rule in uses {
                    let indexes: Vec<String> = rule.indexes.iter().map(|name| quote_ident(name)).collect();
                    let space = if indexes.is_empty() { "" } else { " " };
                    let (name, block) = (quote_ident(&table.name), quote_ident(&system_name(at)));
                    texts.push(format!("{}({name}@{block}{space}{})", rule.kind.name(rule.on), indexes.join(", ")));
                }
            }
        }
        texts.join(" ")
    }
}

/// What the block says of its table.
fn table_hints(block: &Block, alias: &str, switches: Switches) -> TableHints {
    let table = block.tables.iter().find(|table| table.name == alias);
    let own = |kind| table.and_then(|table| said(&table.own, kind)).or(said(&block.whole, kind));
    let strategies = block.semijoin.as_ref().filter(|(_, named)| !named.is_empty()).map(|(on, named)| match on {
        true => Strategies::of(|strategy| named.contains(&strategy)),
        // The others that the session allows.
        false => Strategies::of(|strategy| switches.allows(strategy) && !named.contains(&strategy)),
    });
    let uses = table.iter().flat_map(|table| &table.uses);
    let no_ranges = table.and_then(|table| match said(&table.own, HintKind::RangeOptimization) {
        Some(_) => Some(Vec::new()),
        None => {
            let named = table.indexes.iter().filter(|(_, hints)| said(hints, HintKind::RangeOptimization).is_some());
            let named: Vec<String> = named.map(|(name, _)| name.clone()).collect();
            (!named.is_empty()).then_some(named)
        }
    });
    let of_indexes = |kind| {
        let table = table?;
        let on = said(&table.own, kind)?;
        let named = table.indexes.iter().filter(|(_, hints)| said(hints, kind).is_some());
        Some((on, named.map(|(name, _)| name.clone()).collect()))
    };
    TableHints {
        block: 0,
        hash_join: own(HintKind::HashJoin),
        block_nested_loop: own(HintKind::Bnl),
        pushdown: own(HintKind::DerivedConditionPushdown),
        strategies,
        indexes: uses.map(|rule| IndexUse { kind: rule.kind, on: rule.on, indexes: rule.indexes.clone() }).collect(),
        no_ranges,
        index_merge: of_indexes(HintKind::IndexMerge),
        skip_scan: of_indexes(HintKind::SkipScan),
    }
}

/// Warnings 3128 of a table. `found`: it is there, and so are the indexes if it is a base table.
fn unresolved(table: &Table, block: &str, found: Option<Option<&TableRef>>, warnings: &mut Vec<Error>) {
    let sorted = |hints: &[(HintKind, bool)]| {
        let mut hints = hints.to_vec();
        hints.sort_by_key(|(kind, _)| *kind);
        hints
    };
    let name = format!("{}@{}", quote_ident(&table.name), quote_ident(block));
    let mut warn = |name: &str, (kind, on): (HintKind, bool)| {
        warnings.push(Error::new(&errno::ER_UNRESOLVED_HINT_NAME, &[&name, &kind.name(on)]));
    };
    if found.is_none() {
        sorted(&table.own).into_iter().for_each(|hint| warn(&name, hint));
    }
    for (index, hints) in table.indexes.iter().filter(|(index, _)| !has_index(found, index)) {
        let name = format!("{name} {}", quote_ident(index));
        sorted(hints).into_iter().for_each(|hint| warn(&name, hint));
    }
}

fn has_index(found: Option<Option<&TableRef>>, name: &str) -> bool {
    found
        .flatten()
        .is_some_and(|table| table.index_named(name).is_some_and(|index| index.name != "PRIMARY" || !table.hidden_rowid))
}

/// Of indexes that are not there nothing is said; a hint that names no other is none.
fn forget_unresolved(table: &mut Table, found: Option<Option<&TableRef>>) {
    if found.is_none() {
        table.uses.clear();
    }
    table.uses.retain_mut(|rule| {
        let all = rule.indexes.is_empty();
        rule.indexes.retain(|name| has_index(found, name));
        all || !rule.indexes.is_empty()
    });
}

pub(super) fn join_order_warnings(query: &mut Query, warnings: &mut Vec<Error>) -> Result<()> {
    for relation in &mut query.relations {
        relation
            .source
            .queries_mut(&mut |inner| inner.bound_mut().map_or(Ok(()), |query| join_order_warnings(query, warnings)))?;
    }
    query.block.root.queries_mut(&mut |query| join_order_warnings(query, warnings))?;
    let has_choice = match query.block.read {
        Read::Output(_) => !query.relations.is_empty(),
        // A change of one table joins nothing.
        Read::Slots(_) => query.relations.len() > 1,
    };
    for order in query.block.hints.orders.iter().filter(|_| has_choice) {
        if let Err(HintTable { name, block }) = order.relations(&query.relations) {
            let block = block.as_ref().map_or_else(String::new, |block| format!("@{}", quote_ident(block)));
            let name = format!("{}{block}", quote_ident(name));
            warnings.push(Error::new(&errno::ER_UNRESOLVED_HINT_NAME, &[&name, &order.kind.name(true)]));
        }
    }
    query
        .subqueries
        .iter_mut()
        .try_for_each(|(_, inner)| inner.bound_mut().map_or(Ok(()), |query| join_order_warnings(query, warnings)))
}
