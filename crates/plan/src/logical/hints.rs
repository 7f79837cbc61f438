//! What optimizer hints say of a query block and of its tables, once their names are resolved (`bind::hints`).
//!
//! A table keeps what is said of it when its block is merged into another. Orders of joins name tables by the block in which they were
//! written, so that `JOIN_ORDER(t1@sub, t2)` finds t1 where a semijoin has brought it.

use vaquita_parser::{HintKind, HintTable, IndexHint, IndexHintKind, IndexHintScope};
use vaquita_types::schema::IndexDef;

use super::Relation;
use crate::switches::{Strategies, Switches};

/// What is said of a query block.
#[derive(Debug, Default)]
pub(crate) struct BlockHints {
    pub switches: Switches,
    /// Whether it may become a semijoin of the block around it; `None` leaves that to the session.
    pub semijoin: Option<bool>,
    /// SUBQUERY: it stays one.
    pub stays_subquery: bool,
    pub orders: Vec<JoinOrder>,
}

impl BlockHints {
    pub fn new(switches: Switches) -> BlockHints {
        BlockHints { switches, ..BlockHints::default() }
    }

    /// It may become a semijoin.
    pub fn may_be_semijoin(&self) -> bool {
        !self.stays_subquery && self.semijoin.unwrap_or(self.switches.semijoin())
    }
}

/// JOIN_ORDER, JOIN_PREFIX and JOIN_SUFFIX.
#[derive(Clone, Debug)]
pub(crate) struct JoinOrder {
    pub kind: HintKind,
    /// Each with the number of its block (`TableHints::block`), if that is named.
    pub tables: Vec<(HintTable, Option<usize>)>,
    /// The block of the hint.
    pub block: usize,
}

impl JoinOrder {
    /// The relations that are meant; the first name of which there is none.
    pub fn relations(&self, relations: &[Relation]) -> Result<Vec<usize>, &HintTable> {
        let find = |(table, block): &(HintTable, Option<usize>)| {
            let named = |relation: &Relation| relation.alias == table.name && !relation.is_merged();
            let of = |block: usize| {
                relations
                    .iter()
                    .position(|relation| named(relation) && relation.hints.as_ref().is_some_and(|hints| hints.block == block))
            };
            match (&table.block, block) {
                (Some(_), block) => block.and_then(of),
                (None, _) => of(self.block).or_else(|| relations.iter().position(named)),
            }
        };
        self.tables.iter().map(|table| find(table).ok_or(&table.0)).collect()
    }
}

/// What is said of a table.
#[derive(Debug, Default)]
pub(crate) struct TableHints {
    /// The number of the block in whose FROM it stands.
    pub block: usize,
    /// HASH_JOIN and NO_HASH_JOIN.
    pub hash_join: Option<bool>,
    /// BNL and NO_BNL.
    pub block_nested_loop: Option<bool>,
    pub pushdown: Option<bool>,
    /// Of the block, should it become a semijoin.
    pub strategies: Option<Strategies>,
    pub indexes: Vec<IndexUse>,
    /// NO_RANGE_OPTIMIZATION: of these indexes, none for all.
    pub no_ranges: Option<Vec<String>>,
    /// INDEX_MERGE (true) and NO_INDEX_MERGE: of these indexes, none for all.
    pub index_merge: Option<(bool, Vec<String>)>,
    /// The same of SKIP_SCAN and NO_SKIP_SCAN.
    pub skip_scan: Option<(bool, Vec<String>)>,
}

/// INDEX, JOIN_INDEX, GROUP_INDEX, ORDER_INDEX, and the forms with `NO_`.
#[derive(Debug)]
pub(crate) struct IndexUse {
    pub kind: HintKind,
    pub on: bool,
    /// None for all.
    pub indexes: Vec<String>,
}

/// How a table may be joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HashJoin {
    Allowed,
    /// Where there is an equality.
    Wanted,
    Refused,
}

/// What an index is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To find rows.
    Find,
    Group,
    Order,
}

impl Relation {
    /// Conditions may be moved into the query whose rows it gives.
    pub fn pushdown_allowed(&self, switches: Switches) -> bool {
        self.hints.as_ref().and_then(|hints| hints.pushdown).unwrap_or(switches.pushdown())
    }

    pub fn hash_join(&self, switches: Switches) -> HashJoin {
        let hints = self.hints.as_deref();
        match (hints.and_then(|hints| hints.hash_join), hints.and_then(|hints| hints.block_nested_loop)) {
            (Some(false), _) | (_, Some(false)) => HashJoin::Refused,
            (Some(true), _) => HashJoin::Wanted,
            (None, None) if !switches.hash_join() => HashJoin::Refused,
            (None, _) => HashJoin::Allowed,
        }
    }

    pub fn index_rules(&self, switches: Switches) -> IndexRules<'_> {
        IndexRules { written: &self.index_hints, hints: self.hints.as_deref(), switches }
    }
}

/// Which indexes of a table are to be used: of hints, and where there is none of USE, FORCE and IGNORE INDEX.
#[derive(Clone, Copy)]
pub(crate) struct IndexRules<'a> {
    written: &'a [IndexHint],
    hints: Option<&'a TableHints>,
    switches: Switches,
}

impl IndexRules<'_> {
    /// The index may be one of several that find rows together.
    pub fn allows_merge(&self, index: &IndexDef) -> bool {
        allows(self.hints.and_then(|hints| hints.index_merge.as_ref()), index, self.switches.merges_indexes())
    }

    /// The index may be read by conditions on parts behind its first one.
    pub fn allows_skips(&self, index: &IndexDef) -> bool {
        self.allows(index, Purpose::Find)
            && allows(self.hints.and_then(|hints| hints.skip_scan.as_ref()), index, self.switches.skips_parts())
    }

    fn uses(&self) -> &[IndexUse] {
        self.hints.map_or(&[], |hints| &hints.indexes)
    }

    /// The index may be used for that.
    pub fn allows(&self, index: &IndexDef, purpose: Purpose) -> bool {
        if index.invisible && !self.switches.uses_invisible_indexes() {
            return false;
        }
        let named = |names: &[String]| names.iter().any(|name| name.eq_ignore_ascii_case(&index.name));
        let (mut is_restricted, mut is_chosen) = (false, false);
        let mut choose = |is_named: bool| {
            is_restricted = true;
            is_chosen |= is_named;
        };
        for rule in self.uses().iter().filter(|rule| is_about(rule.kind, purpose)) {
            let is_named = rule.indexes.is_empty() || named(&rule.indexes);
            match rule.on {
                true => choose(is_named),
                false if is_named => return false,
                false => {}
            }
        }
        let written = if self.uses().is_empty() { self.written } else { &[] };
        for rule in written.iter().filter(|rule| is_written_for(rule.scope, purpose)) {
            match rule.kind {
                IndexHintKind::Ignore if named(&rule.indexes) => return false,
                IndexHintKind::Ignore => {}
                IndexHintKind::Use | IndexHintKind::Force => choose(named(&rule.indexes)),
            }
        }
        !is_restricted || is_chosen
    }

    /// Reading the whole table is the last resort.
    pub fn is_forced(&self) -> bool {
        match self.uses() {
            [] => self.written.iter().any(|hint| hint.kind == IndexHintKind::Force && is_written_for(hint.scope, Purpose::Find)),
            uses => uses.iter().any(|rule| rule.on && is_about(rule.kind, Purpose::Find)),
        }
    }

    /// An index is to give the order, if one can.
    pub fn forces_order(&self, grouping: bool) -> bool {
        let kind = if grouping { HintKind::GroupIndex } else { HintKind::OrderIndex };
        self.uses().iter().any(|rule| rule.on && rule.kind == kind)
    }

    /// The index may be read by ranges, and not only by single values.
    pub fn allows_ranges(&self, index: &IndexDef) -> bool {
        let named = |names: &Vec<String>| names.is_empty() || names.iter().any(|name| name.eq_ignore_ascii_case(&index.name));
        !self.hints.and_then(|hints| hints.no_ranges.as_ref()).is_some_and(named)
    }
}

/// What a hint for indexes, all if it names none, says of this one; without a hint what the switch says.
fn allows(hint: Option<&(bool, Vec<String>)>, index: &IndexDef, switch: bool) -> bool {
    let Some((on, names)) = hint else { return switch };
    let is_named = names.is_empty() || names.iter().any(|name| name.eq_ignore_ascii_case(&index.name));
    if is_named { *on } else { switch && !on }
}

fn is_about(kind: HintKind, purpose: Purpose) -> bool {
    match kind {
        HintKind::Index => true,
        HintKind::JoinIndex => purpose == Purpose::Find,
        HintKind::GroupIndex => purpose == Purpose::Group,
        HintKind::OrderIndex => purpose == Purpose::Order,
        _ => false,
    }
}

fn is_written_for(scope: IndexHintScope, purpose: Purpose) -> bool {
    match scope {
        IndexHintScope::All => true,
        IndexHintScope::Join => purpose == Purpose::Find,
        IndexHintScope::GroupBy => purpose == Purpose::Group,
        IndexHintScope::OrderBy => purpose == Purpose::Order,
    }
}
