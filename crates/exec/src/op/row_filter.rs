//! Conditions of a scan that are decided on the stored row, before anything of it is decoded.
//!
//! When a scan is first opened, what is the same for all rows of the statement is computed (`fold_for_statement`), and the conditions at
//! the front of its filter that compare columns with constants become `Test`s, with types and collations resolved; from the first one that
//! does not, all are evaluated as expressions. A test says what the expression would say of the row, or that it cannot tell (`Truth::Unsure`:
//! an overflow, which is an error, or a row of an older layout): then everything is decoded and the expressions decide. Example: of
//! `k % 7 = 3 AND RAND() < 0.5`, the remainder is taken of the bytes of `k`, and only for the rows that it leaves is `RAND` asked.
//!
//! Numbers and times are compared as ranks (`Fixed::rank`), with the constant brought into the column's domain (`bounds`) where that
//! is exact by the comparison's rule. What is not listed in `Compiler` is not compiled. FLOAT and DOUBLE are not.

use vaquita_plan::bounds::{KeyValue, to_key_value};
use vaquita_plan::env::EvalCx;
use vaquita_plan::eval::compare::holds;
use vaquita_plan::expr::{CompareAs, CompareOp, Expr, ExprKind, Slot};
use vaquita_plan::func::like_collation;
use vaquita_plan::node::Scan;
use vaquita_plan::visit;
use vaquita_storage::RowView;
use vaquita_storage::form::{Fixed, FixedKind, Form};
use vaquita_types::charset::{Collation, LIKE_ESCAPE, LikePattern, collation};
use vaquita_types::schema::TableDef;
use vaquita_types::{ColumnType, TypeKind, Value, sql_mode};

/// A condition's value for a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    True,
    False,
    /// NULL.
    Null,
    /// Only the expression can tell.
    Unsure,
}

pub struct RowFilter {
    tests: Vec<Test>,
    /// The conditions from this one on are left to evaluate.
    pub rest: usize,
    /// Columns that `rest` reads, and the others.
    pub early: Vec<(usize, Slot)>,
    pub late: Vec<(usize, Slot)>,
    /// Rows that it is false for cannot matter any more (`Operator::cut`).
    cut: Option<Test>,
}

impl RowFilter {
    /// `conditions`: those of the scan's filter.
    pub fn new(scan: &Scan, conditions: &[Expr], table: &TableDef, cx: &EvalCx<'_>) -> RowFilter {
        let compiler = Compiler { columns: &scan.columns, table, cx };
        let tests: Vec<Test> = conditions.iter().map_while(|condition| compiler.test(condition)).collect();
        let rest = tests.len();
        let mut read = Vec::new();
        conditions.iter().skip(rest).for_each(|condition| visit::expr_slots(condition, 0, &mut read));
        // Generated columns may be computed of any.
        scan.computed.iter().for_each(|column| visit::expr_slots(&column.expr, 0, &mut read));
        let (early, late) = scan.columns.iter().partition(|(_, slot)| read.contains(slot));
        RowFilter { tests, rest, early, late, cut: None }
    }

    /// The conditions before `rest`: true, or what the first one that is not says.
    #[inline]
    pub fn check(&self, row: &RowView<'_>) -> Truth {
        self.tests.iter().map(|test| test.truth(row)).find(|truth| *truth != Truth::True).unwrap_or(Truth::True)
    }

    #[inline]
    pub fn is_cut(&self, row: &RowView<'_>) -> bool {
        self.cut.as_ref().is_some_and(|test| test.truth(row) == Truth::False)
    }

    pub fn clear_cut(&mut self) {
        self.cut = None;
    }

    /// From here on only rows matter whose `column op value` is not false; no change if that cannot be tested.
    pub fn set_cut(&mut self, scan: &Scan, table: &TableDef, column: &Expr, op: CompareOp, value: &Value, cx: &EvalCx<'_>) {
        let compiler = Compiler { columns: &scan.columns, table, cx };
        let rule = match value {
            Value::Int(_) | Value::UInt(_) => CompareAs::Int,
            Value::Decimal(_) => CompareAs::Decimal,
            Value::Bytes(_) => CompareAs::Text(column.ty.collation),
            Value::Date(_) | Value::DateTime(_) => CompareAs::DateTime,
            Value::Time(_) => CompareAs::Time,
            _ => return,
        };
        if let Some(test) = compiler.compare_value(op, column, value, rule) {
            self.cut = Some(test);
        }
    }
}

enum Test {
    Rank {
        position: usize,
        kind: FixedKind,
        op: CompareOp,
        than: u64,
    },
    /// IN; `nulls`: NULL is among the candidates.
    RankIn {
        position: usize,
        kind: FixedKind,
        list: Box<[u64]>,
        nulls: bool,
    },
    Int {
        op: CompareOp,
        left: Int,
        right: Int,
    },
    Text {
        position: usize,
        op: CompareOp,
        collation: &'static Collation,
        than: Box<[u8]>,
    },
    TextIn {
        position: usize,
        collation: &'static Collation,
        list: Vec<Box<[u8]>>,
        nulls: bool,
    },
    Like {
        position: usize,
        pattern: Box<LikePattern>,
    },
    IsNull(usize),
    Not(Box<Test>),
    And(Vec<Test>),
    Or(Vec<Test>),
}

/// Arithmetic of signed integers.
enum Int {
    Column(usize),
    Constant(i64),
    Binary(fn(i64, i64) -> Option<i64>, Box<(Int, Int)>),
}

/// What an `Int` comes to.
enum Number {
    Is(i64),
    Null,
    Unsure,
}

fn truth(b: bool) -> Truth {
    if b { Truth::True } else { Truth::False }
}

/// AND; like the expression, it goes on after NULL, but not after what it is unsure of.
fn all(tests: &[Test], row: &RowView<'_>) -> Truth {
    let mut result = Truth::True;
    for test in tests {
        match test.truth(row) {
            Truth::True => {}
            Truth::Null => result = Truth::Null,
            decided => return decided,
        }
    }
    result
}

impl Test {
    fn truth(&self, row: &RowView<'_>) -> Truth {
        match self {
            Test::Rank { position, kind, op, than } => match row.rank(*position) {
                Some((found, Some(rank))) if found == *kind => truth(holds(*op, rank.cmp(than))),
                Some((found, None)) if found == *kind => Truth::Null,
                _ => Truth::Unsure,
            },
            Test::RankIn { position, kind, list, nulls } => match row.rank(*position) {
                Some((found, Some(rank))) if found == *kind => among(list.contains(&rank), *nulls),
                Some((found, None)) if found == *kind => Truth::Null,
                _ => Truth::Unsure,
            },
            Test::Int { op, left, right } => match (left.value(row), right.value(row)) {
                (Number::Unsure, _) | (_, Number::Unsure) => Truth::Unsure,
                (Number::Is(a), Number::Is(b)) => truth(holds(*op, a.cmp(&b))),
                _ => Truth::Null,
            },
            Test::Text { position, op, collation, than } => match row.text(*position) {
                Some(Some(text)) => truth(holds(*op, collation.compare(text, than))),
                Some(None) => Truth::Null,
                None => Truth::Unsure,
            },
            Test::TextIn { position, collation, list, nulls } => match row.text(*position) {
                Some(Some(text)) => among(list.iter().any(|item| collation.equal(text, item)), *nulls),
                Some(None) => Truth::Null,
                None => Truth::Unsure,
            },
            Test::Like { position, pattern } => match row.text(*position) {
                Some(Some(text)) => truth(pattern.matches(text)),
                Some(None) => Truth::Null,
                None => Truth::Unsure,
            },
            Test::IsNull(position) => row.is_null(*position).map_or(Truth::Unsure, truth),
            Test::Not(inner) => match inner.truth(row) {
                Truth::True => Truth::False,
                Truth::False => Truth::True,
                other => other,
            },
            Test::And(parts) => all(parts, row),
            Test::Or(parts) => any(parts, row),
        }
    }
}

/// IN's value for a candidate that was found, or not.
fn among(found: bool, nulls: bool) -> Truth {
    match (found, nulls) {
        (true, _) => Truth::True,
        (false, true) => Truth::Null,
        (false, false) => Truth::False,
    }
}

fn any(tests: &[Test], row: &RowView<'_>) -> Truth {
    let mut result = Truth::False;
    for test in tests {
        match test.truth(row) {
            Truth::False => {}
            Truth::Null => result = Truth::Null,
            decided => return decided,
        }
    }
    result
}

impl Int {
    fn value(&self, row: &RowView<'_>) -> Number {
        match self {
            Int::Constant(n) => Number::Is(*n),
            Int::Column(position) => match row.rank(*position) {
                Some((FixedKind::Signed, Some(rank))) => Number::Is((rank ^ 1 << 63) as i64),
                Some((FixedKind::Signed, None)) => Number::Null,
                _ => Number::Unsure,
            },
            Int::Binary(op, operands) => match (operands.0.value(row), operands.1.value(row)) {
                (Number::Unsure, _) | (_, Number::Unsure) => Number::Unsure,
                (Number::Is(a), Number::Is(b)) => op(a, b).map_or(Number::Unsure, Number::Is),
                _ => Number::Null,
            },
        }
    }
}

/// Makes tests of conditions; `None` for what is left to expressions.
struct Compiler<'a> {
    columns: &'a [(usize, Slot)],
    table: &'a TableDef,
    cx: &'a EvalCx<'a>,
}

impl<'a> Compiler<'a> {
    fn test(&self, condition: &Expr) -> Option<Test> {
        let each = |parts: &[Expr]| parts.iter().map(|part| self.test(part)).collect::<Option<Vec<_>>>();
        match &condition.kind {
            ExprKind::And(parts) => each(parts).map(Test::And),
            ExprKind::Or(parts) => each(parts).map(Test::Or),
            ExprKind::Not(inner) => self.test(inner).map(|test| Test::Not(Box::new(test))),
            // In a NOT NULL column a zero date is NULL, too.
            ExprKind::IsNull(inner) if inner.nullable => self.position(inner).map(Test::IsNull),
            ExprKind::Compare(op, left, right, rule) => self.compare(*op, left, right, *rule),
            ExprKind::InList(value, list, rule) => self.in_list(value, list, *rule),
            ExprKind::Call(def, args) if def.name == "LIKE" => self.like(args),
            _ => None,
        }
    }

    fn position(&self, expr: &Expr) -> Option<usize> {
        let ExprKind::Slot(slot) = expr.kind else { return None };
        self.columns.iter().find(|(_, at)| *at == slot).map(|(position, _)| *position)
    }

    fn column(&self, expr: &Expr) -> Option<(usize, &'a ColumnType)> {
        let position = self.position(expr)?;
        Some((position, &self.table.columns.get(position)?.ty))
    }

    fn constant<'e>(&'e self, expr: &'e Expr) -> Option<&'e Value> {
        match &expr.kind {
            ExprKind::Literal(value) => Some(value),
            ExprKind::Param(n) => self.cx.params.get(*n),
            _ => None,
        }
    }

    fn compare(&self, op: CompareOp, left: &Expr, right: &Expr, rule: CompareAs) -> Option<Test> {
        if op == CompareOp::NullSafeEq {
            return None;
        }
        if let (Some(_), Some(value)) = (self.position(left), self.constant(right)) {
            return self.compare_value(op, left, value, rule);
        }
        if let (Some(_), Some(value)) = (self.position(right), self.constant(left)) {
            return self.compare_value(op.mirrored(), right, value, rule);
        }
        if rule != CompareAs::Int {
            return None;
        }
        Some(Test::Int { op, left: self.int(left)?, right: self.int(right)? })
    }

    fn compare_value(&self, op: CompareOp, column: &Expr, value: &Value, rule: CompareAs) -> Option<Test> {
        let (position, ty) = self.column(column)?;
        if let (CompareAs::Text(id), Value::Bytes(than)) = (rule, value) {
            let collation = collation(id);
            return is_text(ty).then(|| Test::Text { position, op, collation, than: than.clone() });
        }
        let fixed = number_of(ty, rule, value)?;
        let (op, than) = match to_key_value(value, ty) {
            KeyValue::Exact(value) => (op, fixed.rank(fixed.bits(&value).ok()?)),
            // Between two values of the column: less is at most the one below.
            KeyValue::Gap { below, .. } if is_exact_gap(fixed.kind) => match (op, below) {
                (CompareOp::Lt | CompareOp::Le, Some(below)) => (CompareOp::Le, fixed.rank(fixed.bits(&below).ok()?)),
                (CompareOp::Gt | CompareOp::Ge, Some(below)) => (CompareOp::Gt, fixed.rank(fixed.bits(&below).ok()?)),
                (CompareOp::Gt | CompareOp::Ge, None) | (CompareOp::Ne, _) => (CompareOp::Ge, 0),
                (CompareOp::Lt | CompareOp::Le, None) | (CompareOp::Eq | CompareOp::NullSafeEq, _) => (CompareOp::Lt, 0),
            },
            _ => return None,
        };
        Some(Test::Rank { position, kind: fixed.kind, op, than })
    }

    fn in_list(&self, value: &Expr, list: &[Expr], rule: CompareAs) -> Option<Test> {
        let (position, ty) = self.column(value)?;
        let candidates = list.iter().map(|item| self.constant(item)).collect::<Option<Vec<_>>>()?;
        let nulls = candidates.iter().any(|value| value.is_null());
        let candidates = candidates.into_iter().filter(|value| !value.is_null());
        if let CompareAs::Text(id) = rule {
            let bytes = |value: &Value| match value {
                Value::Bytes(bytes) => Some(bytes.clone()),
                _ => None,
            };
            let list = candidates.map(bytes).collect::<Option<Vec<_>>>()?;
            return is_text(ty).then(|| Test::TextIn { position, collation: collation(id), list, nulls });
        }
        let mut ranks = Vec::new();
        for value in candidates {
            let fixed = number_of(ty, rule, value)?;
            match to_key_value(value, ty) {
                KeyValue::Exact(value) => ranks.push(fixed.rank(fixed.bits(&value).ok()?)),
                KeyValue::Gap { .. } if is_exact_gap(fixed.kind) => {}
                _ => return None,
            }
        }
        let Form::Fixed(fixed) = Form::of(ty) else { return None };
        Some(Test::RankIn { position, kind: fixed.kind, list: ranks.into(), nulls })
    }

    fn like(&self, args: &[Expr]) -> Option<Test> {
        let [text, pattern] = args else { return None };
        let (position, ty) = self.column(text)?;
        // With a long pattern one row may take long, and only the expression itself can be ended.
        let Value::Bytes(bytes) = self.constant(pattern).filter(|value| !is_long_pattern(value))? else { return None };
        let escapes = self.cx.env.sql_mode() & sql_mode::NO_BACKSLASH_ESCAPES == 0;
        let pattern = LikePattern::new(collation(like_collation(ty, &pattern.ty)), bytes, escapes.then_some(LIKE_ESCAPE));
        is_text(ty).then(|| Test::Like { position, pattern: Box::new(pattern) })
    }

    /// An expression of signed integers.
    fn int(&self, expr: &Expr) -> Option<Int> {
        if !expr.ty.is_integer() || expr.ty.unsigned {
            return None;
        }
        match &expr.kind {
            ExprKind::Slot(_) => {
                let (position, ty) = self.column(expr)?;
                matches!(Form::of(ty), Form::Fixed(Fixed { kind: FixedKind::Signed, .. })).then_some(Int::Column(position))
            }
            ExprKind::Literal(Value::Int(n)) => Some(Int::Constant(*n)),
            ExprKind::Param(n) => match self.cx.params.get(*n) {
                Some(Value::Int(n)) => Some(Int::Constant(*n)),
                _ => None,
            },
            ExprKind::Call(def, args) => {
                let [left, right] = args.as_slice() else { return None };
                // A zero divisor is NULL with a warning, an overflow an error: both are the expression's.
                let op: fn(i64, i64) -> Option<i64> = match def.name {
                    "+" => i64::checked_add,
                    "-" => i64::checked_sub,
                    "*" => i64::checked_mul,
                    "%" | "MOD" => |a, b| (b != 0).then(|| a.wrapping_rem(b)),
                    "DIV" => i64::checked_div,
                    _ => return None,
                };
                Some(Int::Binary(op, Box::new((self.int(left)?, self.int(right)?))))
            }
            _ => None,
        }
    }
}

/// Bytes of LIKE's pattern from which on a text may be compared with it for long.
const LONG_PATTERN_BYTES: usize = 256;

fn is_long_pattern(value: &Value) -> bool {
    matches!(value, Value::Bytes(bytes) if bytes.len() >= LONG_PATTERN_BYTES)
}

/// Strings as they are stored in the variable part of a row.
fn is_text(ty: &ColumnType) -> bool {
    ty.is_bytes() && Form::of(ty) == Form::Bytes
}

/// The stored form of a column of numbers or times, if its order is the one in which `rule` compares it with `value`.
fn number_of(ty: &ColumnType, rule: CompareAs, value: &Value) -> Option<Fixed> {
    let Form::Fixed(fixed) = Form::of(ty) else { return None };
    let whole = matches!(value, Value::Int(_) | Value::UInt(_));
    let same = match (fixed.kind, rule) {
        (FixedKind::Signed | FixedKind::Unsigned, CompareAs::Int) => whole,
        (FixedKind::Signed | FixedKind::Unsigned, CompareAs::Decimal) => ty.is_integer() && matches!(value, Value::Decimal(_)),
        (FixedKind::Decimal(_), CompareAs::Int | CompareAs::Decimal) => whole || matches!(value, Value::Decimal(_)),
        // A TIMESTAMP is compared in the session's zone.
        (FixedKind::Date | FixedKind::DateTime(_), CompareAs::DateTime) => {
            ty.kind != TypeKind::Timestamp && matches!(value, Value::Date(_) | Value::DateTime(_))
        }
        (FixedKind::Time(_), CompareAs::Time) => matches!(value, Value::Time(_)),
        _ => false,
    };
    same.then_some(fixed)
}

/// `to_key_value` gives the neighbours of a value that the column cannot have; those of a time with a fraction may be on
/// another day, which dates with a zero month or day do not have.
fn is_exact_gap(kind: FixedKind) -> bool {
    !matches!(kind, FixedKind::DateTime(_) | FixedKind::Time(_))
}
