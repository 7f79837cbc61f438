//! Rewrites: each turns a block's logical tree into one that has the same rows and is easier to plan.
//!
//! They run once each, `subquery_to_semijoin` and `aggregate_to_join` first and the others in the order of `REWRITES` once the queries inside are rewritten; a later one may count on what an earlier one leaves. `PlanContext::watch` is told the tree
//! that `bind` made and each rewrite that changed it (`crates/plan/tests/golden/rewrites.test` shows them).
//!
//! | rewrite | example |
//! |---|---|
//! | `derived_merge` | `(SELECT x FROM a WHERE y = 1) AS d` is the table a under a condition; made by `bind::from`, which says why |
//! | `subquery_to_semijoin` | `a.x IN (SELECT y FROM b)` joins a and b |
//! | `aggregate_to_join` | `a.x > (SELECT AVG(y) FROM b WHERE b.k = a.k)` joins a with the averages of b by k, where no index leads to k |
//! | `row_count` | `SELECT COUNT(*) FROM t` asks storage |
//! | `order_of_one_row` | no ORDER BY over an aggregate without GROUP BY |
//! | `extremes_by_member` | MIN of an ENUM as its index has it |
//! | `outer_joins_to_inner` | `a LEFT JOIN b ON … WHERE b.y > 1` needs a row of b |
//! | `gather_conditions` | `a JOIN b ON c` is `a` and `b` with the condition `c` in WHERE |
//! | `factor_disjunctions` | `(a AND b) OR (a AND c)` is `a AND (b OR c)`; what each branch says of one table is known of it |
//! | `known_values` | `a.id = b.id AND b.id = 5` makes `a.id = 5` |
//! | `impossible_conditions` | `WHERE 1 = 0` has no row |

mod conditions;
mod decorrelate;
mod disjunctions;
mod outer_joins;
mod rows;
mod semijoins;

use vaquita_types::{Result, stack};

use crate::catalog::Catalog;
use crate::logical::{LogicalBlock, Query, Relation, Tables, text};

type Rewrite = fn(&mut LogicalBlock, &Tables<'_>) -> Result<()>;

const REWRITES: [(&str, Rewrite); 8] = [
    ("row_count", rows::row_count),
    ("order_of_one_row", rows::order_of_one_row),
    ("extremes_by_member", rows::extremes_by_member),
    ("outer_joins_to_inner", outer_joins::to_inner),
    ("gather_conditions", conditions::gather),
    ("factor_disjunctions", disjunctions::factor),
    ("known_values", conditions::known_values),
    ("impossible_conditions", conditions::impossible),
];

/// Is told a tree, and what made it.
pub type Watch<'a> = &'a dyn Fn(&str, &str);

/// Rewrites a query, those inside of it too.
pub(crate) fn rewrite_query(query: &mut Query, catalog: &dyn Catalog, watch: Option<Watch<'_>>) -> Result<()> {
    let Some(watch) = watch else {
        semijoins::to_semijoins(query)?;
        decorrelate::to_joins(query)?;
        rewrite_inside(query, catalog, None)?;
        let tables = tables_of(&query.relations, &query.owners, &query.block, catalog);
        return REWRITES.iter().try_for_each(|(_, rewrite)| rewrite(&mut query.block, &tables));
    };
    let bound = tree(query, catalog);
    semijoins::to_semijoins(query)?;
    let joined = tree(query, catalog);
    decorrelate::to_joins(query)?;
    let decorrelated = tree(query, catalog);
    rewrite_inside(query, catalog, Some(watch))?;
    let mut before = tree(query, catalog);
    // What is inside is shown as its own rewrites have left it.
    let steps = [("subquery_to_semijoin", joined != bound), ("aggregate_to_join", decorrelated != joined)];
    let shown = [&bound, &joined, &before];
    let mut changed: Vec<(&str, &String)> = vec![("logical", &bound)];
    changed.extend(steps.iter().zip(&shown[1..]).filter(|((_, changes), _)| *changes).map(|((name, _), tree)| (*name, *tree)));
    if let Some(last) = changed.last_mut() {
        last.1 = &before;
    }
    changed.iter().for_each(|(name, tree)| watch(name, tree));
    for (name, rewrite) in REWRITES {
        let tables = tables_of(&query.relations, &query.owners, &query.block, catalog);
        rewrite(&mut query.block, &tables)?;
        let after = tree(query, catalog);
        if after != before {
            watch(name, &after);
            before = after;
        }
    }
    Ok(())
}

fn tree(query: &Query, catalog: &dyn Catalog) -> String {
    text::tree(&query.block, &tables_of(&query.relations, &query.owners, &query.block, catalog))
}

fn tables_of<'a>(
    relations: &'a [Relation],
    owners: &'a [Option<usize>],
    block: &LogicalBlock,
    catalog: &'a dyn Catalog,
) -> Tables<'a> {
    Tables { relations, owners, switches: block.hints.switches, catalog }
}

fn rewrite_inside(query: &mut Query, catalog: &dyn Catalog, watch: Option<Watch<'_>>) -> Result<()> {
    let mut inside = |query: &mut Query| stack::deeper(|| rewrite_query(query, catalog, watch));
    for relation in query.relations.iter_mut() {
        relation.source.queries_mut(&mut |inner| inner.bound_mut().map_or(Ok(()), &mut inside))?;
    }
    query.block.root.queries_mut(&mut inside)?;
    query.subqueries.iter_mut().try_for_each(|(_, subquery)| subquery.bound_mut().map_or(Ok(()), &mut inside))
}
