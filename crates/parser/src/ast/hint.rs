//! Optimizer hints as they are written. What their names mean is found out when the statement is bound.
//!
//! `/*+ NO_INDEX(@q t ka, kb) */` is a `PlanHint` with kind `Index`, `on: false`, block `q`, table `t` and two indexes.

use super::Expr;

/// A hint of `/*+ .. */`.
#[derive(Clone, Debug, PartialEq)]
pub enum Hint {
    MaxExecutionTimeMs(u64),
    /// `SET_VAR(name = value)`
    SetVar {
        name: String,
        value: Expr,
    },
    ResourceGroup(String),
    /// The name by which hints may call the query block.
    QueryBlockName(String),
    /// One that is about the plan.
    Plan(Box<PlanHint>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanHint {
    pub kind: HintKind,
    /// False for the form with `NO_`.
    pub on: bool,
    /// `@name` in front of the arguments: the query block that is meant.
    pub block: Option<String>,
    pub tables: Vec<HintTable>,
    /// Of the first table.
    pub indexes: Vec<String>,
    pub strategies: Vec<HintStrategy>,
}

/// `table` or `table@block`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HintTable {
    pub name: String,
    pub block: Option<String>,
}

/// In the order in which MySQL tells of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HintKind {
    Bka,
    Bnl,
    Icp,
    Mrr,
    RangeOptimization,
    Semijoin,
    Subquery,
    Merge,
    JoinPrefix,
    JoinSuffix,
    JoinOrder,
    JoinFixedOrder,
    IndexMerge,
    SkipScan,
    HashJoin,
    Index,
    JoinIndex,
    GroupIndex,
    OrderIndex,
    DerivedConditionPushdown,
}

/// What stands between the parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintArguments {
    /// Tables, or none for all of the query block.
    Tables,
    /// A table and its indexes, or none for all of them.
    Indexes,
    /// Tables in an order.
    Order,
    /// A query block at most.
    Block,
    /// Ways to do a semijoin.
    SemijoinStrategies,
    /// The way to do a subquery.
    SubqueryStrategy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HintStrategy {
    FirstMatch,
    LooseScan,
    Materialization,
    DuplicateWeedout,
    IntoExists,
}

/// Hints that are not about plans.
pub(crate) const OTHER_HINTS: [&str; 4] = ["QB_NAME", "RESOURCE_GROUP", "MAX_EXECUTION_TIME", "SET_VAR"];

/// The word means something among hints: it names nothing there unless it is quoted.
pub(crate) fn is_hint_word(word: &str) -> bool {
    let upper = word.to_ascii_uppercase();
    OTHER_HINTS.contains(&upper.as_str()) || HintKind::named(&upper).is_some() || HintStrategy::named(&upper).is_some()
}

/// What a hint is called, and whether it is the form with `NO_`.
const NAMES: [(&str, HintKind, bool); 33] = [
    ("BKA", HintKind::Bka, true),
    ("BNL", HintKind::Bnl, true),
    ("DERIVED_CONDITION_PUSHDOWN", HintKind::DerivedConditionPushdown, true),
    ("GROUP_INDEX", HintKind::GroupIndex, true),
    ("HASH_JOIN", HintKind::HashJoin, true),
    ("INDEX", HintKind::Index, true),
    ("INDEX_MERGE", HintKind::IndexMerge, true),
    ("JOIN_FIXED_ORDER", HintKind::JoinFixedOrder, true),
    ("JOIN_INDEX", HintKind::JoinIndex, true),
    ("JOIN_ORDER", HintKind::JoinOrder, true),
    ("JOIN_PREFIX", HintKind::JoinPrefix, true),
    ("JOIN_SUFFIX", HintKind::JoinSuffix, true),
    ("MERGE", HintKind::Merge, true),
    ("MRR", HintKind::Mrr, true),
    ("NO_BKA", HintKind::Bka, false),
    ("NO_BNL", HintKind::Bnl, false),
    ("NO_DERIVED_CONDITION_PUSHDOWN", HintKind::DerivedConditionPushdown, false),
    ("NO_GROUP_INDEX", HintKind::GroupIndex, false),
    ("NO_HASH_JOIN", HintKind::HashJoin, false),
    ("NO_ICP", HintKind::Icp, false),
    ("NO_INDEX", HintKind::Index, false),
    ("NO_INDEX_MERGE", HintKind::IndexMerge, false),
    ("NO_JOIN_INDEX", HintKind::JoinIndex, false),
    ("NO_MERGE", HintKind::Merge, false),
    ("NO_MRR", HintKind::Mrr, false),
    ("NO_ORDER_INDEX", HintKind::OrderIndex, false),
    ("NO_RANGE_OPTIMIZATION", HintKind::RangeOptimization, false),
    ("NO_SEMIJOIN", HintKind::Semijoin, false),
    ("NO_SKIP_SCAN", HintKind::SkipScan, false),
    ("ORDER_INDEX", HintKind::OrderIndex, true),
    ("SEMIJOIN", HintKind::Semijoin, true),
    ("SKIP_SCAN", HintKind::SkipScan, true),
    ("SUBQUERY", HintKind::Subquery, true),
];

const STRATEGIES: [(&str, HintStrategy); 5] = [
    ("FIRSTMATCH", HintStrategy::FirstMatch),
    ("LOOSESCAN", HintStrategy::LooseScan),
    ("MATERIALIZATION", HintStrategy::Materialization),
    ("DUPSWEEDOUT", HintStrategy::DuplicateWeedout),
    ("INTOEXISTS", HintStrategy::IntoExists),
];

impl HintKind {
    /// The kind with that name in capitals, and whether it is the form without `NO_`.
    pub fn named(word: &str) -> Option<(HintKind, bool)> {
        NAMES.iter().find(|(name, ..)| *name == word).map(|(_, kind, on)| (*kind, *on))
    }

    pub fn name(self, on: bool) -> &'static str {
        NAMES.iter().find(|(_, kind, form)| (*kind, *form) == (self, on)).map_or("", |(name, ..)| name)
    }

    pub fn arguments(self) -> HintArguments {
        match self {
            HintKind::Bka | HintKind::Bnl | HintKind::HashJoin | HintKind::Merge | HintKind::DerivedConditionPushdown => {
                HintArguments::Tables
            }
            HintKind::Icp | HintKind::Mrr | HintKind::RangeOptimization => HintArguments::Indexes,
            _ if self.is_of_index_set() => HintArguments::Indexes,
            HintKind::JoinFixedOrder => HintArguments::Block,
            HintKind::Semijoin => HintArguments::SemijoinStrategies,
            HintKind::Subquery => HintArguments::SubqueryStrategy,
            _ => HintArguments::Order,
        }
    }

    /// Its indexes are one choice: a table has one such hint of a kind at most.
    pub fn is_of_index_set(self) -> bool {
        matches!(self, HintKind::IndexMerge | HintKind::SkipScan) || self.is_of_index_use()
    }

    /// It says which indexes are used for what: a view keeps these.
    pub fn is_of_index_use(self) -> bool {
        matches!(self, HintKind::Index | HintKind::JoinIndex | HintKind::GroupIndex | HintKind::OrderIndex)
    }
}

impl HintStrategy {
    pub fn named(word: &str) -> Option<HintStrategy> {
        STRATEGIES.iter().find(|(name, _)| *name == word).map(|(_, strategy)| *strategy)
    }

    pub fn name(self) -> &'static str {
        STRATEGIES.iter().find(|(_, strategy)| *strategy == self).map_or("", |(name, _)| name)
    }
}
