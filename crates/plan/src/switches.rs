//! `optimizer_switch`: the choices of the planner that a session takes away from it or gives to it.
//!
//! Flags of choices that do not exist here are kept by the session and read by nobody. Of the four ways to do a semijoin two and two are the same
//! here: a join that stops at the first match (`firstmatch`, `duplicateweedout`), and one with the distinct rows of the subquery (`loosescan`,
//! `materialization`).

use vaquita_parser::HintStrategy;

/// The flags that act, one bit each in this order.
const FLAGS: [&str; 15] = [
    "semijoin",
    "firstmatch",
    "duplicateweedout",
    "loosescan",
    "materialization",
    "derived_merge",
    "hash_join",
    "block_nested_loop",
    "derived_condition_pushdown",
    "prefer_ordering_index",
    "index_merge",
    "index_merge_union",
    "index_merge_sort_union",
    "skip_scan",
    "use_invisible_indexes",
];

/// Those that are on, of the flags that act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switches(u16);

/// Ways to do a semijoin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strategies {
    /// A join that looks for one match of each row.
    pub first_match: bool,
    /// A join with the distinct rows of the subquery.
    pub distinct: bool,
}

impl Strategies {
    pub const ALL: Strategies = Strategies { first_match: true, distinct: true };

    /// Of those that are named; of none MySQL takes one of the first kind.
    pub fn of(named: impl Fn(HintStrategy) -> bool) -> Strategies {
        let distinct = named(HintStrategy::LooseScan) || named(HintStrategy::Materialization);
        let first_match = named(HintStrategy::FirstMatch) || named(HintStrategy::DuplicateWeedout);
        Strategies { first_match: first_match || !distinct, distinct }
    }
}

impl Switches {
    /// Those of a new session: all but `use_invisible_indexes`.
    pub const DEFAULT: Switches = Switches((1 << (FLAGS.len() - 1)) - 1);

    /// Of the variable's value: `name=on,name=off,…`.
    pub fn of(value: &str) -> Switches {
        Switches(0).with(value)
    }

    /// What becomes of them where `value` sets some of the flags.
    pub fn with(self, value: &str) -> Switches {
        let mut flags = self.0;
        for (name, state) in value.split(',').filter_map(|part| part.split_once('=')) {
            let Some(bit) = FLAGS.iter().position(|flag| flag.eq_ignore_ascii_case(name.trim())).map(|at| 1 << at) else {
                continue;
            };
            let is_on = match state.trim() {
                state if state.eq_ignore_ascii_case("default") => Switches::DEFAULT.0 & bit != 0,
                state => state.eq_ignore_ascii_case("on"),
            };
            flags = if is_on { flags | bit } else { flags & !bit };
        }
        Switches(flags)
    }

    fn is_on(self, at: usize) -> bool {
        self.0 & (1 << at) != 0
    }

    pub fn semijoin(self) -> bool {
        self.is_on(0)
    }

    pub fn allows(self, strategy: HintStrategy) -> bool {
        match strategy {
            HintStrategy::FirstMatch => self.is_on(1),
            HintStrategy::DuplicateWeedout => self.is_on(2),
            HintStrategy::LooseScan => self.is_on(3),
            HintStrategy::Materialization => self.is_on(4),
            HintStrategy::IntoExists => false,
        }
    }

    pub fn strategies(self) -> Strategies {
        Strategies::of(|strategy| self.allows(strategy))
    }

    /// Derived tables, views and common table expressions are merged where they can be.
    pub fn merges(self) -> bool {
        self.is_on(5)
    }

    pub fn hash_join(self) -> bool {
        self.is_on(6) && self.is_on(7)
    }

    /// Conditions are moved into derived tables.
    pub fn pushdown(self) -> bool {
        self.is_on(8)
    }

    /// LIMIT makes an index cheaper that has the order of ORDER BY.
    pub fn prefers_ordering_index(self) -> bool {
        self.is_on(9)
    }

    /// Several indexes may find rows for one OR. Whether they come sorted is the same here.
    pub fn merges_indexes(self) -> bool {
        self.is_on(10) && (self.is_on(11) || self.is_on(12))
    }

    /// An index may be read by conditions on parts behind its first one.
    pub fn skips_parts(self) -> bool {
        self.is_on(13)
    }

    pub fn uses_invisible_indexes(self) -> bool {
        self.is_on(14)
    }
}

impl Default for Switches {
    fn default() -> Switches {
        Switches::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_variable() {
        let all = FLAGS.map(|flag| format!("{flag}=on")).join(",");
        let value = all.replace("use_invisible_indexes=on", "use_invisible_indexes=off");
        assert_eq!(Switches::of(&value), Switches::DEFAULT);
        assert!(Switches::of(&all).uses_invisible_indexes());
        assert!(!Switches::of(&value.replace("block_nested_loop=on", "block_nested_loop=off")).hash_join());
        assert!(!Switches::of(&value.replace("index_merge=on", "index_merge=off")).merges_indexes());
        let few = Switches::DEFAULT.with("firstmatch=off, duplicateweedout = OFF,nosuch=off");
        assert_eq!(few.strategies(), Strategies { first_match: false, distinct: true });
        assert_eq!(few.with("firstmatch=default,duplicateweedout=on"), Switches::DEFAULT);
    }
}
