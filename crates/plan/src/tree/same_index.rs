//! Where an expression stands among many. A statement of a megabyte may have a hundred thousand keys or aggregates, each of which
//! is looked for among all of them.

use std::collections::HashMap;

use super::expr::Expr;
use super::visit;

/// Fewer are compared one by one.
const MANY: usize = 16;

/// The places of items by the hash of what they compute. Items are only ever added to what it is an index of.
#[derive(Clone, Debug, Default)]
pub struct SameIndex {
    places: HashMap<u64, Vec<usize>>,
    indexed: usize,
}

impl SameIndex {
    /// The first of `count` items that `is` the wanted one; `hash_of` gives the hash of an item, `hash` that of the wanted one.
    pub fn position(
        &mut self,
        count: usize,
        hash_of: impl Fn(usize) -> u64,
        hash: impl FnOnce() -> u64,
        is: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        if count < MANY {
            return (0..count).find(|at| is(*at));
        }
        for at in self.indexed..count {
            self.places.entry(hash_of(at)).or_default().push(at);
        }
        self.indexed = self.indexed.max(count);
        self.places.get(&hash())?.iter().copied().find(|at| *at < count && is(*at))
    }
}

/// Expressions among which others are looked for.
pub struct Known<'e, T> {
    items: &'e [T],
    expr: fn(&T) -> &Expr,
    index: SameIndex,
}

impl<'e, T> Known<'e, T> {
    pub fn new(items: &'e [T], expr: fn(&T) -> &Expr) -> Known<'e, T> {
        Known { items, expr, index: SameIndex::default() }
    }

    /// The first that computes the same as `wanted`.
    pub fn find(&mut self, wanted: &Expr) -> Option<&'e T> {
        let (items, expr) = (self.items, self.expr);
        let hash_of = |at: usize| items.get(at).map_or(0, |item| visit::hash(expr(item)));
        let is = |at: usize| items.get(at).is_some_and(|item| visit::same(expr(item), wanted));
        items.get(self.index.position(items.len(), hash_of, || visit::hash(wanted), is)?)
    }
}
