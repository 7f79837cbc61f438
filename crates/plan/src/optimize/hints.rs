//! How hints constrain what is planned: orders of joins, hash joins and ways to do semijoins.
//!
//! An order makes items wait for others, as an outer join waits for the tables of its ON; all that the search compares then obeys it. Of
//! `JOIN_PREFIX(a, b)` b waits for a, and every other item for both. An order that the dependencies of the items forbid is left out, as MySQL does.

use vaquita_parser::HintKind;

use super::flatten::Item;
use crate::logical::hints::{HashJoin, JoinOrder};
use crate::logical::{Relation, Set, Tables, bit};
use crate::node::JoinKind;
use crate::switches::Strategies;

/// An order of relations.
pub struct Order {
    kind: HintKind,
    relations: Vec<usize>,
}

/// The orders whose tables are all there.
pub fn resolved(tables: &Tables<'_>, orders: &[JoinOrder]) -> Vec<Order> {
    let resolve = |order: &JoinOrder| {
        let relations = order.relations(tables.relations).ok()?;
        Some(Order { kind: order.kind, relations })
    };
    orders.iter().filter_map(resolve).collect()
}

/// The items under all orders that they can obey, and how many those are. `outside` is read before.
pub fn ordered(mut items: Vec<Item>, orders: &[Order], outside: Set) -> (Vec<Item>, usize) {
    let mut obeyed = 0;
    for order in orders {
        let mut constrained = items.clone();
        constrain(&mut constrained, order);
        if is_possible(&constrained, outside) {
            items = constrained;
            obeyed += 1;
        }
    }
    (items, obeyed)
}

fn constrain(items: &mut [Item], order: &Order) {
    let mut named: Vec<usize> = Vec::new();
    for relation in &order.relations {
        let at = items.iter().position(|item| item.relations & bit(*relation) != 0);
        named.extend(at.filter(|at| !named.contains(at)));
    }
    for pair in named.windows(2) {
        let before = items[pair[0]].relations;
        items[pair[1]].after |= before;
    }
    let all = |items: &[Item], is_of: &dyn Fn(usize) -> bool| {
        items.iter().enumerate().filter(|(at, _)| is_of(*at)).fold(0, |set, (_, item)| set | item.relations)
    };
    match (order.kind, named.first()) {
        (HintKind::JoinPrefix, Some(_)) => {
            let first = all(items, &|at| named.contains(&at));
            items.iter_mut().enumerate().filter(|(at, _)| !named.contains(at)).for_each(|(_, item)| item.after |= first);
        }
        (HintKind::JoinSuffix, Some(first)) => {
            let before = all(items, &|at| !named.contains(&at));
            items[*first].after |= before;
        }
        _ => {}
    }
}

/// There is an order in which each item finds what it waits for.
fn is_possible(items: &[Item], outside: Set) -> bool {
    let (mut placed, mut left) = (outside, items.iter().collect::<Vec<_>>());
    let mut is_first = true;
    while !left.is_empty() {
        let ready = |item: &&Item| item.after & !placed == 0 && (!is_first || item.kind == JoinKind::Inner);
        let Some(at) = left.iter().position(ready) else { return false };
        placed |= left.swap_remove(at).relations;
        is_first = false;
    }
    true
}

/// Whether these relations may be joined by hashing.
pub fn hash_join(tables: &Tables<'_>, relations: Set) -> HashJoin {
    let mut joins = of_set(tables, relations).map(|relation| relation.hash_join(tables.switches));
    let first = joins.next().unwrap_or(HashJoin::Allowed);
    joins.fold(first, |all, one| if one == HashJoin::Refused { one } else { all })
}

/// The ways to do the semijoin that brought these relations.
pub fn strategies(tables: &Tables<'_>, relations: Set) -> Strategies {
    let said = of_set(tables, relations).find_map(|relation| relation.hints.as_ref()?.strategies);
    said.unwrap_or_else(|| tables.switches.strategies())
}

fn of_set<'t>(tables: &'t Tables<'_>, mut set: Set) -> impl Iterator<Item = &'t Relation> {
    std::iter::from_fn(move || {
        let at = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        tables.relations.get(at)
    })
}
