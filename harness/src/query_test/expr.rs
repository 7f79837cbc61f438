//! Values, conditions, aggregates and window functions of the queries.
//!
//! Nothing here can fail for some rows only: numbers stay small, and a scalar subquery has one row at most. Otherwise the plan would decide whether a
//! statement fails.

use super::data::{KINDS, Kind, literal};
use super::query::Generator;
use crate::diff_test::schema::pick;
use crate::diff_test::tree::{Tree, tree};

const COMPARISONS: &[&str] = &["=", "=", "=", "<", "<=", ">", ">=", "<>", "<=>"];

impl Generator<'_> {
    /// A column in scope, most often of this query; a constant if there is none.
    pub fn leaf(&mut self, kind: Kind) -> Tree {
        let outer = self.scopes.len() > 1 && self.random.one_in(6);
        let column = if outer { self.outer_column(kind) } else { None }.or_else(|| self.own_column(kind));
        match column {
            Some(column) => tree!(Value; column),
            None => self.constant(kind),
        }
    }

    pub fn constant(&mut self, kind: Kind) -> Tree {
        let literal = literal(self.random, kind);
        // The digits of a decimal that is a parameter are those of its place.
        if kind == Kind::Dec { tree!(Fixed; literal) } else { tree!(Value; literal) }
    }

    pub fn value(&mut self, kind: Kind, depth: u32) -> Tree {
        if depth == 0 || !self.random.one_in(3) {
            return if self.random.one_in(12) { self.constant(kind) } else { self.leaf(kind) };
        }
        let below = depth - 1;
        match self.random.below(7) {
            0 if !self.is_full() => self.scalar(kind, below),
            1 => {
                let (condition, a, b) = (self.condition(below), self.value(kind, below), self.value(kind, below));
                match self.random.below(3) {
                    0 => tree!(Value; "IF(", condition, ", ", a, ", ", b, ")"),
                    1 => tree!(Value; "CASE WHEN ", condition, " THEN ", a, " END"),
                    _ => tree!(Value; "CASE WHEN ", condition, " THEN ", a, " ELSE ", b, " END"),
                }
            }
            2 => {
                let function = *pick(self.random, &["COALESCE", "IFNULL", "NULLIF", "GREATEST", "LEAST"]);
                tree!(Value; format!("{function}("), self.value(kind, below), ", ", self.value(kind, below), ")")
            }
            _ => self.computed(kind, below),
        }
    }

    fn computed(&mut self, kind: Kind, depth: u32) -> Tree {
        let a = self.value(kind, depth);
        match kind {
            Kind::Int => match self.random.below(6) {
                0 => tree!(Value; "(", a, " + ", self.leaf(Kind::Int), ")"),
                1 => tree!(Value; "(", a, " - ", self.leaf(Kind::Int), ")"),
                2 => tree!(Value; "(", a, format!(" % {})", 2 + self.random.below(5))),
                3 => tree!(Value; "CHAR_LENGTH(", self.leaf(Kind::Str), ")"),
                4 => tree!(Value; "DAYOFMONTH(", self.leaf(Kind::Date), ")"),
                _ => tree!(Value; "(", self.condition(depth), ")"),
            },
            Kind::Dec => match self.random.below(2) {
                0 => tree!(Value; "(", a, " + ", self.leaf(Kind::Dec), ")"),
                _ => tree!(Value; "ABS(", a, " - ", self.leaf(Kind::Dec), ")"),
            },
            Kind::Str => match self.random.below(3) {
                0 => tree!(Value; "CONCAT(", a, ", ", self.leaf(Kind::Str), ")"),
                1 => tree!(Value; "UPPER(", a, ")"),
                _ => tree!(Value; "LEFT(", a, format!(", {})", 1 + self.random.below(4))),
            },
            Kind::Date => tree!(Value; "(", a, format!(" + INTERVAL {} DAY)", self.random.below(9))),
        }
    }

    /// A subquery of one value.
    fn scalar(&mut self, kind: Kind, depth: u32) -> Tree {
        let query = match self.random.below(3) {
            0 => {
                let block = self.block(&[kind], depth);
                tree!(Query; block, " ORDER BY c0 LIMIT 1")
            }
            _ => self.single_row(kind, depth),
        };
        tree!(Value; "(", query, ")")
    }

    /// An aggregate without GROUP BY.
    fn single_row(&mut self, kind: Kind, depth: u32) -> Tree {
        self.scopes.push(Vec::new());
        let linked = std::mem::take(&mut self.linked);
        let from = self.from(depth, 2);
        let filter = self.filter(depth);
        let query = self.aggregated(&[kind], depth, from, filter);
        self.scopes.pop();
        self.linked = linked;
        query
    }

    pub fn condition(&mut self, depth: u32) -> Tree {
        if depth > 0 {
            let below = depth - 1;
            match self.random.below(10) {
                0 => return tree!(Value; "(", self.condition(below), " OR ", self.condition(below), ")"),
                1 => return tree!(Value; "(", self.condition(below), " AND ", self.condition(below), ")"),
                2 => return tree!(Value; "(NOT ", self.condition(below), ")"),
                3 => {
                    let test = *pick(self.random, &["IS TRUE", "IS FALSE", "IS NOT TRUE", "IS NULL", "IS NOT NULL"]);
                    return tree!(Value; "((", self.condition(below), format!(") {test})"));
                }
                4..8 if !self.is_full() => return self.of_subquery(below),
                _ => {}
            }
        }
        self.comparison(depth)
    }

    /// Two columns beside two columns or constants, or a list of these.
    fn row_comparison(&mut self) -> Tree {
        let kinds = [*pick(self.random, &KINDS), *pick(self.random, &KINDS)];
        let (a, b) = (self.leaf(kinds[0]), self.leaf(kinds[1]));
        if self.random.one_in(2) {
            let not = if self.random.one_in(3) { "NOT " } else { "" };
            let rows = (0..1 + self.random.below(4))
                .map(|_| tree!(Fixed; "(", self.constant(kinds[0]), ", ", self.constant(kinds[1]), ")"))
                .collect();
            return tree!(Value; "((", a, ", ", b, format!(") {not}IN ("), Tree::shrinking_list(rows, ", "), "))");
        }
        let op = *pick(self.random, &["=", "<", ">=", "<>", "<=>"]);
        let (c, d) = (self.leaf(kinds[0]), if self.random.one_in(2) { self.constant(kinds[1]) } else { self.leaf(kinds[1]) });
        tree!(Value; "((", a, ", ", b, format!(") {op} ("), c, ", ", d, "))")
    }

    fn comparison(&mut self, depth: u32) -> Tree {
        if self.random.one_in(12) {
            return self.row_comparison();
        }
        let kind = *pick(self.random, &KINDS);
        let a = self.value(kind, depth.min(1));
        match self.random.below(12) {
            0 => tree!(Value; "(", a, " IS NULL)"),
            1 => tree!(Value; "(", a, " IS NOT NULL)"),
            2 => tree!(Value; "(", a, " BETWEEN ", self.constant(kind), " AND ", self.constant(kind), ")"),
            3 => {
                let not = if self.random.one_in(3) { "NOT " } else { "" };
                let values: Vec<Tree> = (0..2 + self.random.below(4)).map(|_| self.constant(kind)).collect();
                tree!(Value; "(", a, format!(" {not}IN ("), Tree::shrinking_list(values, ", "), "))")
            }
            4 => {
                let text = self.leaf(Kind::Str);
                let pattern = *pick(self.random, &["f%", "%e", "%i%", "l__e", "a%h", "la%", "pine%", "ce%2"]);
                tree!(Value; "(", text, " LIKE ", tree!(Value; format!("'{pattern}'")), ")")
            }
            5..8 => tree!(Value; "(", a, format!(" {} ", pick(self.random, COMPARISONS)), self.constant(kind), ")"),
            _ => tree!(Value; "(", a, format!(" {} ", pick(self.random, COMPARISONS)), self.leaf(kind), ")"),
        }
    }

    /// IN, EXISTS, ANY, ALL, or a comparison with a scalar subquery.
    fn of_subquery(&mut self, depth: u32) -> Tree {
        let kind = *pick(self.random, &KINDS);
        match self.random.below(10) {
            0..3 => {
                let word = *pick(self.random, &["IN", "IN", "NOT IN"]);
                let a = self.value(kind, depth.min(1));
                tree!(Value; "(", a, format!(" {word} ("), self.subquery(&[kind], depth), "))")
            }
            3 => {
                let word = *pick(self.random, &["IN", "NOT IN"]);
                let other = *pick(self.random, &KINDS);
                let (a, b) = (self.leaf(kind), self.leaf(other));
                tree!(Value; "((", a, ", ", b, format!(") {word} ("), self.subquery(&[kind, other], depth), "))")
            }
            4..7 => {
                let word = *pick(self.random, &["EXISTS", "EXISTS", "NOT EXISTS"]);
                tree!(Value; format!("({word} ("), self.subquery(&[kind], depth), "))")
            }
            7..9 => {
                let word = *pick(self.random, &["ANY", "ALL"]);
                let op = *pick(self.random, &["=", "<", "<=", ">", ">=", "<>"]);
                let a = self.value(kind, depth.min(1));
                tree!(Value; "(", a, format!(" {op} {word} ("), self.subquery(&[kind], depth), "))")
            }
            _ => {
                let a = self.value(kind, depth.min(1));
                tree!(Value; "(", a, format!(" {} ", pick(self.random, COMPARISONS)), self.scalar(kind, depth), ")")
            }
        }
    }

    /// Without LIMIT, which IN and its like do not allow.
    fn subquery(&mut self, kinds: &[Kind], depth: u32) -> Tree {
        if self.random.one_in(10) {
            let (a, b) = (self.block(kinds, depth), self.block(kinds, depth));
            let word = *pick(self.random, &["UNION", "UNION ALL", "INTERSECT", "EXCEPT"]);
            return tree!(Query; a, format!(" {word} "), b);
        }
        self.block(kinds, depth)
    }

    pub fn aggregate(&mut self, kind: Kind) -> Tree {
        let distinct = if self.random.one_in(4) { "DISTINCT " } else { "" };
        let number = *pick(self.random, &[Kind::Int, Kind::Dec]);
        let extreme = *pick(self.random, &["MIN", "MAX"]);
        match (kind, self.random.below(4)) {
            (Kind::Int, 0) => tree!(Value; "COUNT(*)"),
            (Kind::Int, 1 | 2) => {
                let of = *pick(self.random, &KINDS);
                if self.random.one_in(4) {
                    let other = *pick(self.random, &KINDS);
                    return tree!(Value; "COUNT(DISTINCT ", self.aggregated_value(of), ", ", self.aggregated_value(other), ")");
                }
                tree!(Value; format!("COUNT({distinct}"), self.aggregated_value(of), ")")
            }
            (Kind::Dec, 0 | 1) => tree!(Value; format!("SUM({distinct}"), self.aggregated_value(number), ")"),
            (Kind::Dec, 2) => tree!(Value; format!("AVG({distinct}"), self.aggregated_value(number), ")"),
            (Kind::Str, 0) => {
                // Which of two equal texts comes first is not told.
                let text = format!("LOWER({})", self.aggregated_value(Kind::Str).sql());
                tree!(Value; format!("GROUP_CONCAT({distinct}{text} ORDER BY {text} SEPARATOR '|')"))
            }
            _ => tree!(Value; format!("{extreme}("), self.aggregated_value(kind), ")"),
        }
    }

    /// What is aggregated is of this query, so that the aggregate is, too.
    fn aggregated_value(&mut self, kind: Kind) -> Tree {
        let own = self.own_column(kind);
        let column = match own {
            Some(column) => tree!(Value; column),
            // Of any column of this query, so that no outer query takes the aggregate.
            None => {
                let any = KINDS.iter().find_map(|other| self.own_column(*other)).unwrap_or_default();
                tree!(Value; format!("IF({any} IS NULL, NULL, {})", literal(self.random, kind)))
            }
        };
        match kind {
            Kind::Int if self.random.one_in(4) => {
                tree!(Value; "IF(", column, format!(" > {}, 1, 0)", self.random.below(9)))
            }
            Kind::Dec if self.random.one_in(4) => tree!(Value; column, " * 2"),
            _ => column,
        }
    }

    /// A condition of HAVING. With `subqueries` an aggregate may be looked up, too.
    pub fn aggregate_condition(&mut self, depth: u32, subqueries: bool) -> Tree {
        let kind = *pick(self.random, &KINDS);
        let op = *pick(self.random, COMPARISONS);
        let aggregate = self.aggregate(kind);
        if subqueries && depth > 0 && !self.is_full() && self.random.one_in(3) {
            let own = self.scopes.last().cloned().unwrap_or_default();
            if let Some(last) = self.scopes.last_mut() {
                last.clear();
            }
            let query = self.subquery(&[kind], depth - 1);
            if let Some(last) = self.scopes.last_mut() {
                *last = own;
            }
            let word = *pick(self.random, &["IN", "NOT IN", ">= ALL", "> ANY"]);
            return tree!(Value; "(", aggregate, format!(" {word} ("), query, "))");
        }
        tree!(Value; "(", aggregate, format!(" {op} "), self.constant(kind), ")")
    }

    /// A window function, or a plain value.
    pub fn window(&mut self, kind: Kind) -> Tree {
        let keys: Vec<String> = self.scopes.last().into_iter().flatten().flat_map(|source| source.key.clone()).collect();
        let sort_kind = *pick(self.random, &KINDS);
        let sort = self.own_column(sort_kind).unwrap_or_else(|| keys[0].clone());
        let direction = if self.random.one_in(3) { " DESC" } else { "" };
        let total = format!("ORDER BY {sort}{direction}, {}", keys.join(", "));
        let part_kind = *pick(self.random, &KINDS);
        let partition = match self.own_column(part_kind) {
            Some(column) if !self.random.one_in(3) => tree!(Optional; format!("PARTITION BY {column} ")),
            _ => tree!(Fixed;),
        };
        // Of rows that are the same each window chooses an order of its own.
        let is_unique = self.scopes.last().is_some_and(|sources| sources.iter().all(|source| source.is_unique));
        if self.random.one_in(4) || self.windows > 0 && !is_unique {
            return self.leaf(kind);
        }
        self.windows += 1;
        match (kind, self.random.below(6)) {
            // Numbers of rows are unsigned, whose differences may be errors.
            (Kind::Int, 0) => tree!(Value; "CAST(ROW_NUMBER() OVER (", partition, total, ") AS SIGNED)"),
            (Kind::Int, 1) => {
                let function = *pick(self.random, &["RANK()", "DENSE_RANK()"]);
                tree!(Value; format!("CAST({function} OVER ("), partition, format!("ORDER BY {sort}{direction}) AS SIGNED)"))
            }
            (Kind::Int, 2) => {
                tree!(Value; format!("CAST(NTILE({}) OVER (", 1 + self.random.below(5)), partition, total, ") AS SIGNED)")
            }
            (_, 3) => {
                let function = *pick(self.random, &["LAG", "LEAD"]);
                let offset = self.random.below(4);
                tree!(Value; format!("{function}("), self.aggregated_value(kind), format!(", {offset}) OVER ("), partition, total, ")")
            }
            (_, 4) => {
                let value = self.aggregated_value(kind);
                let frame = self.rows_frame();
                let call = match self.random.below(3) {
                    0 => tree!(Fixed; "FIRST_VALUE(", value, ")"),
                    1 => tree!(Fixed; "LAST_VALUE(", value, ")"),
                    _ => tree!(Fixed; "NTH_VALUE(", value, format!(", {})", 1 + self.random.below(4))),
                };
                tree!(Value; call, " OVER (", partition, total, frame, ")")
            }
            _ => {
                let aggregate = self.window_aggregate(kind);
                let numeric = self.own_column(Kind::Int).filter(|_| self.random.one_in(3));
                match numeric {
                    Some(column) => {
                        let (a, b) = (self.random.below(4), self.random.below(4));
                        let range = format!(" RANGE BETWEEN {a} PRECEDING AND {b} FOLLOWING");
                        tree!(Value; aggregate, " OVER (", partition, format!("ORDER BY {column}"), tree!(Optional; range), ")")
                    }
                    None => {
                        let frame = self.rows_frame();
                        let order = match self.random.below(3) {
                            0 => tree!(Fixed;),
                            1 => tree!(Fixed; format!("ORDER BY {sort}{direction}")),
                            _ => tree!(Fixed; total, frame),
                        };
                        tree!(Value; aggregate, " OVER (", partition, order, ")")
                    }
                }
            }
        }
    }

    fn window_aggregate(&mut self, kind: Kind) -> Tree {
        let number = *pick(self.random, &[Kind::Int, Kind::Dec]);
        let extreme = *pick(self.random, &["MIN", "MAX"]);
        match (kind, self.random.below(3)) {
            (Kind::Int, 0) => tree!(Fixed; "COUNT(*)"),
            (Kind::Int, 1) => tree!(Fixed; "COUNT(", self.aggregated_value(number), ")"),
            (Kind::Dec, 0 | 1) => tree!(Fixed; "SUM(", self.aggregated_value(number), ")"),
            _ => tree!(Fixed; format!("{extreme}("), self.aggregated_value(kind), ")"),
        }
    }

    fn rows_frame(&mut self) -> Tree {
        let (a, b) = (self.random.below(4), self.random.below(4));
        let frame = match self.random.below(5) {
            0 => return tree!(Fixed;),
            1 => format!(" ROWS BETWEEN {a} PRECEDING AND {b} FOLLOWING"),
            2 => format!(" ROWS BETWEEN UNBOUNDED PRECEDING AND {a} PRECEDING"),
            3 => format!(" ROWS BETWEEN {a} FOLLOWING AND UNBOUNDED FOLLOWING"),
            _ => " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING".to_string(),
        };
        tree!(Optional; frame)
    }
}
