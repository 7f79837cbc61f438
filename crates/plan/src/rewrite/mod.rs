//! Rewrites: each turns a block's logical tree into one that has the same rows and is easier to plan.
//!
//! They run once each, in the order of `REWRITES`; a later one may count on what an earlier one leaves. `PlanContext::watch` is told the tree
//! that `bind` made and each rewrite that changed it (`crates/plan/tests/golden/rewrites.test` shows them).
//!
//! | rewrite | example |
//! |---|---|
//! | `row_count` | `SELECT COUNT(*) FROM t` asks storage |
//! | `order_of_one_row` | no ORDER BY over an aggregate without GROUP BY |
//! | `extremes_by_member` | MIN of an ENUM as its index has it |
//! | `outer_joins_to_inner` | `a LEFT JOIN b ON … WHERE b.y > 1` needs a row of b |
//! | `gather_conditions` | `a JOIN b ON c` is `a` and `b` with the condition `c` in WHERE |
//! | `known_values` | `a.id = b.id AND b.id = 5` makes `a.id = 5` |
//! | `impossible_conditions` | `WHERE 1 = 0` has no row |

mod conditions;
mod outer_joins;
mod rows;

use vaquita_types::{Result, stack};

use crate::catalog::Catalog;
use crate::logical::{LogicalBlock, Query, Relation, Subqueries, Tables, text};

type Rewrite = fn(&mut LogicalBlock, &Tables<'_>) -> Result<()>;

const REWRITES: [(&str, Rewrite); 7] = [
    ("row_count", rows::row_count),
    ("order_of_one_row", rows::order_of_one_row),
    ("extremes_by_member", rows::extremes_by_member),
    ("outer_joins_to_inner", outer_joins::to_inner),
    ("gather_conditions", conditions::gather),
    ("known_values", conditions::known_values),
    ("impossible_conditions", conditions::impossible),
];

/// Is told a tree, and what made it.
pub type Watch<'a> = &'a dyn Fn(&str, &str);

/// Rewrites a query, those inside of it first.
pub(crate) fn rewrite_query(query: &mut Query, catalog: &dyn Catalog, watch: Option<Watch<'_>>) -> Result<()> {
    rewrite_block(&mut query.block, &mut query.relations, &query.owners, &mut query.subqueries, catalog, watch)
}

/// As `rewrite_query`, for a block whose frame somebody else has.
pub(crate) fn rewrite_block(
    block: &mut LogicalBlock,
    relations: &mut [Relation],
    owners: &[Option<usize>],
    subqueries: &mut Subqueries,
    catalog: &dyn Catalog,
    watch: Option<Watch<'_>>,
) -> Result<()> {
    let mut inside = |query: &mut Query| stack::deeper(|| rewrite_query(query, catalog, watch));
    for relation in relations.iter_mut() {
        relation.source.queries_mut(&mut |inner| inner.bound_mut().map_or(Ok(()), &mut inside))?;
    }
    block.root.queries_mut(&mut inside)?;
    for (_, subquery) in subqueries {
        subquery.bound_mut().map_or(Ok(()), &mut inside)?;
    }
    rewrite(block, &Tables { relations, owners, catalog }, watch)
}

fn rewrite(block: &mut LogicalBlock, tables: &Tables<'_>, watch: Option<Watch<'_>>) -> Result<()> {
    let Some(watch) = watch else {
        return REWRITES.iter().try_for_each(|(_, rewrite)| rewrite(block, tables));
    };
    let mut before = text::tree(block, tables);
    watch("logical", &before);
    for (name, rewrite) in REWRITES {
        rewrite(block, tables)?;
        let after = text::tree(block, tables);
        if after != before {
            watch(name, &after);
            before = after;
        }
    }
    Ok(())
}
