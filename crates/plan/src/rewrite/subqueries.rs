//! The subqueries of a block's expressions, and in how many places each stands: one that stands twice has one query.

use std::sync::Arc;

use crate::expr::{BoundSubquery, Expr, ExprKind, Subquery, SubqueryState};
use crate::visit;

pub struct Found {
    pub id: usize,
    bound: Arc<BoundSubquery>,
    places: usize,
}

impl Found {
    /// It stands nowhere else: each place holds the query's shape, and so does this.
    pub fn is_all(&self) -> bool {
        Arc::strong_count(&self.bound) == self.places + 1
    }
}

/// Those of the block itself that are wanted.
pub fn find(expr: &Expr, is_wanted: &dyn Fn(&Subquery) -> bool, found: &mut Vec<Found>) {
    if let ExprKind::Subquery(sub) = &expr.kind
        && let SubqueryState::Bound(bound) = &sub.query
        && sub.depth == 0
        && is_wanted(sub)
    {
        match found.iter_mut().find(|found| found.id == sub.id) {
            Some(found) => found.places += 1,
            None => found.push(Found { id: sub.id, bound: Arc::clone(bound), places: 1 }),
        }
    }
    visit::children(expr, &mut |child| find(child, is_wanted, found));
}

pub fn is_it(expr: &Expr, id: usize) -> bool {
    matches!(&expr.kind, ExprKind::Subquery(sub) if sub.id == id && sub.depth == 0)
}
