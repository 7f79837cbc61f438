//! Random expressions over the columns in scope: operators, functions, CASE, casts, comparisons of mixed types, subqueries.
//!
//! Functions are templates: `{n}` is a number, `{s}` a string, `{d}` a date or time, `{v}` anything, `{i}` a small integer.

use super::schema::{Class, literal, pick};
use super::statement::Generator;
use super::tree::{Kind, Part, Tree, tree};

const NUMERIC: &[&str] = &[
    "({n} + {n})",
    "({n} - {n})",
    "({n} * {n})",
    "({n} / {n})",
    "({n} DIV {n})",
    "({n} % {n})",
    "-{n}",
    "ABS({n})",
    "SIGN({n})",
    "CEILING({n})",
    "FLOOR({n})",
    "ROUND({n})",
    "ROUND({n}, {i})",
    "TRUNCATE({n}, {i})",
    "MOD({n}, {n})",
    "SQRT({n})",
    "LENGTH({s})",
    "CHAR_LENGTH({s})",
    "ASCII({s})",
    "ORD({s})",
    "LOCATE({s}, {s})",
    "INSTR({s}, {s})",
    "FIELD({v}, {v}, {v})",
    "STRCMP({s}, {s})",
    "CRC32({s})",
    "YEAR({d})",
    "MONTH({d})",
    "DAYOFMONTH({d})",
    "HOUR({d})",
    "MINUTE({d})",
    "SECOND({d})",
    "DAYOFWEEK({d})",
    "DAYOFYEAR({d})",
    "WEEK({d})",
    "WEEKDAY({d})",
    "QUARTER({d})",
    "TO_DAYS({d})",
    "DATEDIFF({d}, {d})",
    "TIMESTAMPDIFF(HOUR, {d}, {d})",
    "EXTRACT(YEAR_MONTH FROM {d})",
    "MICROSECOND({d})",
    "TIME_TO_SEC({d})",
    "UNIX_TIMESTAMP({d})",
    "({n} & {n})",
    "({n} | {n})",
    "({n} ^ {n})",
    "~{n}",
    "({n} << {i})",
    "({n} >> {i})",
    "BIT_COUNT({n})",
    "FIND_IN_SET({s}, {s})",
    "CAST({v} AS SIGNED)",
    "CAST({v} AS UNSIGNED)",
    "CAST({v} AS DECIMAL(10,2))",
    "CAST({v} AS DOUBLE)",
    "INTERVAL({n}, {n}, {n})",
    "GREATEST({n}, {n})",
    "LEAST({n}, {n})",
    "IFNULL({n}, {n})",
    "COALESCE({n}, {n})",
    "NULLIF({n}, {n})",
    "IF({b}, {n}, {n})",
    "CONV({n}, 10, 16)",
    "CASE {o} WHEN {x} THEN 1 WHEN {x} THEN 2 ELSE 3 END",
    "CASE {t} WHEN {x} THEN 1 WHEN {x} THEN 2 ELSE 3 END",
    "FIND_IN_SET({s}, {o})",
    "FIELD({o}, {s}, {s})",
    "({o} + 0)",
    "BIT_COUNT({o})",
    "(({d} + INTERVAL {i} DAY) + 0)",
    "BIT_LENGTH({s})",
    "POW({n}, 2)",
    "EXP({i})",
    "LN({n})",
    "RADIANS({i})",
    "YEARWEEK({d})",
    "({n} MOD {n})",
];
const TEXTUAL: &[&str] = &[
    "CONCAT({s}, {v})",
    "CONCAT_WS(',', {v}, {v})",
    "SUBSTRING({s}, {i})",
    "SUBSTRING({s}, {i}, {i})",
    "LEFT({s}, {i})",
    "RIGHT({s}, {i})",
    "UPPER({s})",
    "LOWER({s})",
    "TRIM({s})",
    "LTRIM({s})",
    "RTRIM({s})",
    "REPLACE({s}, {s}, {s})",
    "REVERSE({s})",
    "REPEAT({s}, {i})",
    "LPAD({s}, {i}, {s})",
    "RPAD({s}, {i}, {s})",
    "HEX({v})",
    "BIN({n})",
    "OCT({n})",
    "BIN({o})",
    "CONV({o}, 10, 16)",
    "ELT({i}, {o}, {o})",
    "ELT({o}, {s}, {s})",
    "HEX({o})",
    "CONCAT({o}, {o})",
    "COALESCE({o}, {s})",
    "IF({j}, {o}, {x})",
    "GREATEST({d}, {s})",
    "JSON_QUOTE({s})",
    "SHA2({s}, 256)",
    "SUBSTRING_INDEX({s}, {s}, {i})",
    "INSERT({s}, {i}, {i}, {s})",
    "ELT({i}, {v}, {v})",
    "FORMAT({n}, {i})",
    "QUOTE({s})",
    "SPACE({i})",
    "CAST({v} AS CHAR)",
    "CAST({v} AS CHAR(3))",
    "CAST({v} AS BINARY)",
    "IFNULL({s}, {v})",
    "COALESCE({v}, {s})",
    "NULLIF({s}, {v})",
    "IF({b}, {s}, {v})",
    "GREATEST({s}, {s})",
    "LEAST({v}, {v})",
    "DATE_FORMAT({d}, '%Y-%m-%d %H:%i:%s.%f %W %M %j')",
    "DAYNAME({d})",
    "MONTHNAME({d})",
    "TRIM(BOTH {s} FROM {s})",
    "TRIM(LEADING 'a' FROM {s})",
    "SOUNDEX({s})",
    "TO_BASE64({s})",
    "UNHEX(HEX({s}))",
    "CHAR({n}, {n})",
    "EXPORT_SET({i}, 'Y', 'N', ',', 4)",
    "MAKE_SET({i}, {s}, {s})",
    "CONVERT({s} USING utf8mb4)",
    "CONVERT({s} USING latin1)",
    "JSON_EXTRACT({j}, '$.a')",
    "JSON_TYPE({j})",
    "JSON_UNQUOTE({j})",
    "JSON_ARRAY({v}, {v})",
    "JSON_OBJECT('k', {v})",
    "({j} -> '$[0]')",
];
const DATED: &[&str] = &[
    "DATE({d})",
    "TIME({d})",
    "TIMESTAMP({d})",
    "LAST_DAY({d})",
    "DATE_ADD({d}, INTERVAL {i} DAY)",
    "DATE_SUB({d}, INTERVAL {i} MONTH)",
    "({d} + INTERVAL {i} HOUR)",
    "ADDTIME({d}, '01:00:00.5')",
    "CAST({v} AS DATE)",
    "CAST({v} AS DATETIME)",
    "CAST({v} AS TIME)",
    "CAST({v} AS DATETIME(3))",
    "STR_TO_DATE({s}, '%Y-%m-%d')",
    "FROM_UNIXTIME({n})",
    "MAKEDATE(2024, {i})",
    "SEC_TO_TIME({n})",
    "IFNULL({d}, {d})",
    "COALESCE({d}, {d})",
    "IF({b}, {d}, {d})",
    "FROM_DAYS({n})",
    "DATE_ADD({d}, INTERVAL {n} SECOND)",
    "MAKETIME({i}, {i}, {i})",
    "TIMEDIFF({d}, {d})",
    "GREATEST({d}, {d})",
    "CONVERT_TZ({d}, '+00:00', '+02:00')",
];
const BOOLEAN: &[&str] = &[
    "({v} = {v})",
    "({v} <> {v})",
    "({v} < {v})",
    "({v} <= {v})",
    "({v} > {v})",
    "({v} >= {v})",
    "({v} <=> {v})",
    "({v} IS NULL)",
    "({v} IS NOT NULL)",
    "({b} AND {b})",
    "({b} OR {b})",
    "(NOT {b})",
    "({b} XOR {b})",
    "({v} BETWEEN {v} AND {v})",
    "({v} NOT BETWEEN {v} AND {v})",
    "({v} IN ({v}, {v}, {v}))",
    "({v} NOT IN ({v}, {v}))",
    "({s} LIKE {s})",
    "({s} NOT LIKE 'a%')",
    "({b} IS TRUE)",
    "({b} IS NOT FALSE)",
    "({b} IS UNKNOWN)",
    "ISNULL({v})",
    "(({v}, {v}) = ({v}, {v}))",
    "({n} = {n})",
    "({s} = {s})",
    "({d} < {d})",
    "({n} < {n})",
    "({s} < {s})",
    "({d} = {s})",
    "({n} = {s})",
    "({s} REGEXP '^a')",
    "({v} COLLATE utf8mb4_bin = {s})",
    // Comparisons of kinds that differ, in every form.
    "({t} = {x})",
    "({t} < {x})",
    "({x} >= {t})",
    "({t} <=> {x})",
    "({t} BETWEEN {x} AND {x})",
    "({t} IN ({x}, {x}))",
    "({x} IN ({t}, {t}))",
    "(NOT {j})",
    "({j} AND {b})",
    "({j} IS TRUE)",
    "({o} = {x})",
    "({o} IN ({x}, {o}))",
];

impl Generator<'_> {
    /// A value of any type.
    pub fn any(&mut self, depth: u32) -> Tree {
        match self.random.below(10) {
            0..3 => self.number(depth),
            3..6 => self.text(depth),
            6..8 => self.date(depth),
            8 => self.boolean(depth),
            _ => self.special(depth),
        }
    }

    pub fn number(&mut self, depth: u32) -> Tree {
        self.of_class(&[Class::Number], NUMERIC, depth)
    }

    pub fn text(&mut self, depth: u32) -> Tree {
        self.of_class(&[Class::Text, Class::Text, Class::Bytes], TEXTUAL, depth)
    }

    pub fn date(&mut self, depth: u32) -> Tree {
        self.of_class(&[Class::DateTime, Class::Date, Class::Time], DATED, depth)
    }

    pub fn boolean(&mut self, depth: u32) -> Tree {
        if depth > 0 && self.random.one_in(8) {
            return self.subquery_condition(depth - 1);
        }
        let template = *pick(self.random, BOOLEAN);
        self.fill(template, depth.saturating_sub(1))
    }

    fn of_class(&mut self, classes: &[Class], templates: &[&str], depth: u32) -> Tree {
        if depth > 0 && self.random.one_in(2) {
            let template = *pick(self.random, templates);
            return self.fill(template, depth - 1);
        }
        let class = *pick(self.random, classes);
        if !self.random.one_in(3)
            && let Some(column) = self.column(|c| c == class)
        {
            return column;
        }
        let literal = literal(self.random, class);
        match class {
            Class::Date if literal.starts_with('\'') && !literal.contains("0000") && self.random.one_in(2) => {
                tree!(Value; format!("DATE{literal}"))
            }
            _ => tree!(Value; literal),
        }
    }

    fn fill(&mut self, template: &str, depth: u32) -> Tree {
        let mut parts: Vec<Part> = Vec::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            parts.push(before.into());
            let (slot, after) = after.split_at(1);
            parts.push(self.slot(slot, depth).into());
            rest = &after[1..];
        }
        parts.push(rest.into());
        Tree::new(Kind::Value, parts)
    }

    fn slot(&mut self, slot: &str, depth: u32) -> Tree {
        match slot {
            "n" => self.number(depth),
            "s" => self.text(depth),
            "d" => self.date(depth),
            "b" => self.boolean(depth),
            "i" => tree!(Value; pick(self.random, &["0", "1", "2", "3", "5", "-1", "NULL"]).to_string()),
            "t" => self.column(|c| matches!(c, Class::Date | Class::Time | Class::DateTime)).unwrap_or_else(|| self.date(depth)),
            "x" => self.constant_of_any_kind(),
            // ENUM, SET, BIT and YEAR are among them.
            "o" => self.column(|c| matches!(c, Class::Number | Class::Text | Class::Json)).unwrap_or_else(|| self.any(depth)),
            "j" => self.column(|c| c == Class::Json).unwrap_or_else(|| tree!(Value; "'{\"a\": [1, \"x\"]}'")),
            _ => self.any(depth),
        }
    }

    fn constant_of_any_kind(&mut self) -> Tree {
        let classes = [Class::Number, Class::Text, Class::Date, Class::Time, Class::DateTime];
        if self.random.one_in(3) {
            return self.any(1);
        }
        let class = *pick(self.random, &classes);
        tree!(Value; literal(self.random, class))
    }

    /// CASE, a column of any class, a scalar subquery.
    fn special(&mut self, depth: u32) -> Tree {
        if depth == 0 || self.random.one_in(3) {
            return self.column(|_| true).unwrap_or_else(|| tree!(Value; "NULL"));
        }
        match self.random.below(4) {
            0 => {
                let (when, a, b) = (self.boolean(depth - 1), self.any(depth - 1), self.any(depth - 1));
                tree!(Value; "CASE WHEN ", when, " THEN ", a, " ELSE ", b, " END")
            }
            1 => {
                let (v, w, a) = (self.any(depth - 1), self.any(depth - 1), self.any(depth - 1));
                tree!(Value; "CASE ", v, " WHEN ", w, " THEN ", a, " END")
            }
            2 => self.scalar_subquery(depth - 1),
            _ => {
                tree!(Value; pick(self.random, &["TRUE", "FALSE", "NULL", "x'41'", "b'101'", "0x31", "-0.0", "1e0"]).to_string())
            }
        }
    }

    /// A column in scope whose class is wanted.
    pub fn column(&mut self, wanted: impl Fn(Class) -> bool) -> Option<Tree> {
        let mut names = Vec::new();
        for (alias, table) in &self.scope {
            for column in &self.tables[*table].columns {
                if wanted(column.class) {
                    names.push(format!("{alias}.{}", column.name));
                }
            }
        }
        if names.is_empty() { None } else { Some(tree!(Value; pick(self.random, &names).clone())) }
    }
}
