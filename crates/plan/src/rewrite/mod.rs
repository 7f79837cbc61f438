//! Rewrites: each turns a block's logical tree into one that has the same rows and is easier to plan.
//!
//! They run once each, in the order of this table; a later one may count on what an earlier one leaves. The queries inside come after the block
//! around them, which gives them conditions. `PlanContext::watch` is told the tree that `bind` made and each rewrite that changed it
//! (`crates/plan/tests/golden/rewrites.test` shows them).
//!
//! | rewrite | example |
//! |---|---|
//! | `derived_merge` | `(SELECT x FROM a WHERE y = 1) AS d` is the table a under a condition; made by `bind::from`, which says why |
//! | `limit_of_exists` | `EXISTS (SELECT … LIMIT 1)` without its LIMIT |
//! | `subquery_to_semijoin` | `a.x IN (SELECT y FROM b)` joins a and b |
//! | `aggregate_to_join` | `a.x > (SELECT AVG(y) FROM b WHERE b.k = a.k)` joins a with the averages of b by k, where no index leads to k |
//! | `exists_to_in` | `EXISTS (SELECT 1 FROM b WHERE b.k = a.k)` under OR is `(a.k IN (SELECT b.k FROM b)) IS TRUE`, where no index leads to k |
//! | `row_count` | `SELECT COUNT(*) FROM t` asks storage |
//! | `order_of_one_row` | no ORDER BY over an aggregate without GROUP BY |
//! | `extremes_by_member` | MIN of an ENUM as its index has it |
//! | `outer_joins_to_inner` | `a LEFT JOIN b ON … WHERE b.y > 1` needs a row of b |
//! | `gather_conditions` | `a JOIN b ON c` is `a` and `b` with the condition `c` in WHERE |
//! | `factor_disjunctions` | `(a AND b) OR (a AND c)` is `a AND (b OR c)`; what each branch says of one table is known of it |
//! | `known_values` | `a.id = b.id AND b.id = 5` makes `a.id = 5` |
//! | `given_branches` | `? IS NULL OR a = ?` also says `a = ?` where a value is given: the plan is for values of which that is true |
//! | `impossible_conditions` | `WHERE 1 = 0` has no row |
//! | `derived_condition_pushdown` | `(SELECT a, COUNT(*) FROM t GROUP BY a) AS d` under `d.a = 5` counts the rows with `a = 5` |

mod conditions;
mod decorrelate;
mod disjunctions;
mod exists;
mod outer_joins;
mod pushdown;
mod rows;
mod semijoins;
mod subqueries;

use std::sync::Arc;

use vaquita_types::{Result, stack};

use crate::catalog::Catalog;
use crate::logical::{LogicalBlock, Query, Relation, Source, StatementFacts, Tables, outside_reads, text};
use crate::switches::Switches;

type Rewrite = fn(&mut LogicalBlock, &Tables<'_>) -> Result<()>;

const REWRITES: [(&str, Rewrite); 10] = [
    ("row_count", rows::row_count),
    ("order_of_one_row", rows::order_of_one_row),
    ("extremes_by_member", rows::extremes_by_member),
    ("outer_joins_to_inner", outer_joins::to_inner),
    ("gather_conditions", conditions::gather),
    ("factor_disjunctions", disjunctions::factor),
    ("known_values", conditions::known_values),
    ("simplified_conditions", conditions::simplify),
    ("given_branches", conditions::given_branches),
    ("impossible_conditions", conditions::impossible),
];

/// Is told a tree, and what made it.
pub type Watch<'a> = &'a dyn Fn(&str, &str);

/// Rewrites a query, and then those inside of it.
pub(crate) fn rewrite_query(query: &mut Query, catalog: &dyn Catalog, watch: Option<Watch<'_>>) -> Result<()> {
    let Some(watch) = watch else {
        exists::without_limits(query)?;
        semijoins::to_semijoins(query)?;
        decorrelate::to_joins(query)?;
        exists::to_memberships(query)?;
        let (switches, facts) = (query.block.hints.switches, Arc::clone(&query.block.facts));
        let tables = tables_of(&query.relations, &query.owners, (switches, &facts), catalog);
        REWRITES.iter().try_for_each(|(_, rewrite)| rewrite(&mut query.block, &tables))?;
        pushdown::push_down(query);
        return rewrite_inside(query, catalog, None);
    };
    let mut before = tree(query, catalog);
    watch("logical", &before);
    let mut step = |name: &str, query: &Query| {
        let after = tree(query, catalog);
        if after != before {
            watch(name, &after);
            before = after;
        }
    };
    exists::without_limits(query)?;
    step("limit_of_exists", query);
    semijoins::to_semijoins(query)?;
    step("subquery_to_semijoin", query);
    decorrelate::to_joins(query)?;
    step("aggregate_to_join", query);
    exists::to_memberships(query)?;
    step("exists_to_in", query);
    for (name, rewrite) in REWRITES {
        let (switches, facts) = (query.block.hints.switches, Arc::clone(&query.block.facts));
        let tables = tables_of(&query.relations, &query.owners, (switches, &facts), catalog);
        rewrite(&mut query.block, &tables)?;
        step(name, query);
    }
    pushdown::push_down(query);
    step("derived_condition_pushdown", query);
    rewrite_inside(query, catalog, Some(watch))
}

fn tree(query: &Query, catalog: &dyn Catalog) -> String {
    let about = (query.block.hints.switches, &*query.block.facts);
    text::tree(&query.block, &tables_of(&query.relations, &query.owners, about, catalog))
}

fn tables_of<'a>(
    relations: &'a [Relation],
    owners: &'a [Option<usize>],
    (switches, facts): (Switches, &'a StatementFacts),
    catalog: &'a dyn Catalog,
) -> Tables<'a> {
    Tables { relations, owners, switches, facts, catalog }
}

fn rewrite_inside(query: &mut Query, catalog: &dyn Catalog, watch: Option<Watch<'_>>) -> Result<()> {
    let mut inside = |query: &mut Query| stack::deeper(|| rewrite_query(query, catalog, watch));
    for relation in query.relations.iter_mut() {
        relation.source.queries_mut(&mut |inner| inner.bound_mut().map_or(Ok(()), &mut inside))?;
        if let Source::Derived { query, lateral: true, .. } = &mut relation.source
            && let Some(lateral) = query.bound_mut()
        {
            pushdown::keep(lateral)?;
        }
    }
    query.block.root.queries_mut(&mut inside)?;
    for (_, subquery) in &mut query.subqueries {
        let Some(subquery) = subquery.bound_mut() else { continue };
        inside(subquery)?;
        if !outside_reads(subquery)?.is_empty() {
            pushdown::keep(subquery)?;
        }
    }
    Ok(())
}
