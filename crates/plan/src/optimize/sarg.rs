//! Conditions that an index can use: `column op value` where the value is known before the table is read.
//!
//! A condition is usable only if the order of the key is the order of the comparison: `varchar_col = 5` compares
//! as numbers and is not, `int_col = '5'` is (the value is brought into the key's domain, see `bounds`). `exact` says that
//! the key range means the same as the condition, so that the condition need not be checked again.

use vaquita_types::charset::{CollationId, collation};
use vaquita_types::json::Json;
use vaquita_types::schema::TableDef;
use vaquita_types::{ColumnType, TypeKind, Value};

use crate::expr::{CompareAs, CompareOp, Expr, ExprKind, Slot};
use crate::func::{like_collation, period, wanted_elements};
use crate::logical::StatementFacts;
use crate::node::{Inclusive, KeyExpr};
use crate::visit;
use crate::{text, typing};

#[derive(Clone, Debug)]
pub enum Bound {
    /// One value, or the candidates of IN.
    Equal(Vec<KeyExpr>),
    Low(Expr, Inclusive),
    High(Expr, Inclusive),
    NotNull,
}

/// A usable condition on a column (its position in the table).
#[derive(Clone, Debug)]
pub struct Term {
    pub column: usize,
    pub bound: Bound,
    pub exact: bool,
}

/// What finding terms needs to know of the table.
pub struct Columns<'a> {
    pub table: &'a TableDef,
    /// The slot of each column, if it has one.
    pub slots: &'a [Option<Slot>],
    pub facts: &'a StatementFacts,
}

impl Columns<'_> {
    pub fn position(&self, expr: &Expr) -> Option<usize> {
        match expr.kind {
            ExprKind::Slot(slot) => self.slots.iter().position(|s| *s == Some(slot)),
            _ => None,
        }
    }

    /// Nothing in `expr` comes from this table's row, and it may be computed once per lookup.
    pub fn is_outside(&self, expr: &Expr) -> bool {
        let own = visit::slots(expr).iter().any(|s| self.slots.contains(&Some(*s)));
        !own && !visit::any(expr, &|e| match &e.kind {
            ExprKind::Call(def, _) => def.is_called_each_time(),
            ExprKind::UserVar(_) => self.facts.assigns(),
            ExprKind::AssignVar(..) => true,
            _ => false,
        })
    }

    /// The terms that `condition` gives: none if no index can use it, two for LIKE.
    pub fn terms(&self, condition: &Expr) -> Vec<Term> {
        match &condition.kind {
            ExprKind::Compare(op, left, right, rule) => {
                let term =
                    self.comparison(*op, left, right, *rule).or_else(|| self.comparison(op.mirrored(), right, left, *rule));
                let of_period =
                    || self.period(*op, left, right, *rule).or_else(|| self.period(op.mirrored(), right, left, *rule));
                term.map(|term| vec![term]).or_else(of_period).unwrap_or_default()
            }
            ExprKind::InList(value, list, rule) => self.in_list(value, list, *rule).into_iter().collect(),
            ExprKind::IsNull(inner) => match self.position(inner) {
                // A key of a NOT NULL column cannot hold NULL.
                Some(column) if self.table.columns[column].nullable => {
                    let null = Expr { nullable: true, ..Expr::literal(Value::Null, ColumnType::null()) };
                    vec![Term { column, bound: Bound::Equal(vec![KeyExpr { expr: null, null_safe: true }]), exact: true }]
                }
                _ => Vec::new(),
            },
            ExprKind::Not(inner) => match &inner.kind {
                ExprKind::IsNull(inner) => match self.position(inner) {
                    Some(column) => vec![Term { column, bound: Bound::NotNull, exact: self.table.columns[column].nullable }],
                    None => Vec::new(),
                },
                _ => Vec::new(),
            },
            ExprKind::Call(def, args) if def.name == "LIKE" => self.like(args),
            ExprKind::Call(def, args) => self.elements(def.name, args).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn comparison(&self, op: CompareOp, left: &Expr, right: &Expr, rule: CompareAs) -> Option<Term> {
        let column = self.position(left)?;
        if !self.is_outside(right) {
            return None;
        }
        let exact = key_order(&self.table.columns[column].ty, rule, right, op)?;
        // A text for it may be no date, which equals not even NULL.
        let ty = &self.table.columns[column].ty;
        if op == CompareOp::NullSafeEq && ty.is_temporal() && matches!(right.kind, ExprKind::Param(_)) {
            return None;
        }
        let value = key_operand(ty, right);
        let bound = match op {
            CompareOp::Eq => Bound::Equal(vec![KeyExpr { expr: value, null_safe: false }]),
            CompareOp::NullSafeEq => Bound::Equal(vec![KeyExpr { expr: value, null_safe: true }]),
            CompareOp::Lt => Bound::High(value, false),
            CompareOp::Le => Bound::High(value, true),
            CompareOp::Gt => Bound::Low(value, false),
            CompareOp::Ge => Bound::Low(value, true),
            CompareOp::Ne => return None,
        };
        Some(Term { column, bound, exact })
    }

    /// `DATE(column) = x`, `YEAR(column) > x`: the column is in a range, too.
    fn period(&self, op: CompareOp, left: &Expr, right: &Expr, rule: CompareAs) -> Option<Vec<Term>> {
        let (of, period) = match &left.kind {
            ExprKind::Call(def, args) if def.name == "DATE" && rule == CompareAs::DateTime => (args.first()?, &period::DAY),
            ExprKind::Cast(inner) if left.ty.kind == TypeKind::Date && rule == CompareAs::DateTime => (&**inner, &period::DAY),
            ExprKind::Call(def, args) if def.name == "YEAR" && rule == CompareAs::Int => (args.first()?, &period::YEAR),
            _ => return None,
        };
        let column = self.position(of)?;
        let ty = &self.table.columns[column].ty;
        if !matches!(ty.kind, TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp) || !self.is_outside(right) {
            return None;
        }
        let term = |bound| Term { column, bound, exact: false };
        let low = || period.begin.of(right).map(|at| term(Bound::Low(at, true)));
        let high = || period.end.of(right).map(|at| term(Bound::High(at, true)));
        Some(match op {
            CompareOp::Eq => vec![low()?, high()?],
            CompareOp::Gt | CompareOp::Ge => vec![low()?],
            CompareOp::Lt | CompareOp::Le => vec![high()?],
            CompareOp::NullSafeEq | CompareOp::Ne => return None,
        })
    }

    fn in_list(&self, value: &Expr, list: &[Expr], rule: CompareAs) -> Option<Term> {
        let column = self.position(value)?;
        let mut exact = true;
        let mut keys = Vec::with_capacity(list.len());
        for item in list {
            if !self.is_outside(item) {
                return None;
            }
            exact &= key_order(&self.table.columns[column].ty, rule, item, CompareOp::Eq)?;
            keys.push(KeyExpr { expr: key_operand(&self.table.columns[column].ty, item), null_safe: false });
        }
        Some(Term { column, bound: Bound::Equal(keys), exact })
    }

    /// Elements that are looked for in a column of arrays: one of those that have to be there, or all of those of which one has to.
    fn elements(&self, function: &str, args: &[Expr]) -> Option<Term> {
        let [left, right] = args else { return None };
        let array = |expr: &Expr| self.position(expr).filter(|at| self.table.columns[*at].element_type().is_some());
        let (column, wanted) = match function {
            "MEMBER OF" => (array(right)?, left),
            "JSON_CONTAINS" => (array(left)?, right),
            "JSON_OVERLAPS" => array(left).map(|at| (at, right)).or_else(|| array(right).map(|at| (at, left)))?,
            _ => return None,
        };
        let ty = self.table.columns[column].key_type();
        let key = |expr: Expr| KeyExpr { expr, null_safe: false };
        let literal = |item: Json| match item {
            Json::Int(i) => Some(Expr::literal(Value::Int(i), ty.clone())),
            Json::UInt(u) => Some(Expr::literal(Value::UInt(u), ty.clone())),
            Json::Decimal(d) => Some(Expr::literal(Value::Decimal((*d).clone()), ty.clone())),
            Json::String(text) => Some(Expr::literal(Value::bytes(text.as_bytes()), ty.clone())),
            _ => None,
        };
        let keys: Vec<KeyExpr> = match function {
            "MEMBER OF" => self.is_outside(wanted).then(|| vec![key(wanted.clone())])?,
            "JSON_CONTAINS" => vec![key(literal(wanted_elements(wanted)?.into_iter().next()?)?)],
            _ => wanted_elements(wanted)?.into_iter().map(|item| literal(item).map(key)).collect::<Option<_>>()?,
        };
        Some(Term { column, bound: Bound::Equal(keys), exact: false })
    }

    /// `column LIKE 'abc%'`: from the fixed beginning to the greatest text that begins so.
    fn like(&self, args: &[Expr]) -> Vec<Term> {
        let [value, Expr { kind: ExprKind::Literal(Value::Bytes(pattern)), ty: pattern_ty, .. }, escape @ ..] = args else {
            return Vec::new();
        };
        let Some(column) = self.position(value) else { return Vec::new() };
        let escape = match escape {
            [] => self.facts.escape,
            [Expr { kind: ExprKind::Literal(Value::Bytes(escape)), ty, .. }] => text::code_point(escape, ty.collation),
            _ => return Vec::new(),
        };
        let ty = &self.table.columns[column].ty;
        // What is the same by a collation of bytes is the same by the column's.
        let compared_by = like_collation(&value.ty, pattern_ty);
        if !ty.is_bytes() || compared_by != ty.collation && !text::collation_name(compared_by).ends_with("_bin") {
            return Vec::new();
        }
        let prefix = collation(ty.collation).like_range_prefix(pattern, escape);
        if prefix.is_empty() {
            return Vec::new();
        }
        let Some((low, high)) = prefix_range(&prefix, ty.collation) else { return Vec::new() };
        let literal = |bytes: Vec<u8>| Expr::literal(Value::Bytes(bytes.into_boxed_slice()), ty.clone());
        let mut terms = vec![Term { column, bound: Bound::Low(literal(low), true), exact: false }];
        if let Some(high) = high {
            terms.push(Term { column, bound: Bound::High(literal(high), true), exact: false });
        }
        terms
    }
}

/// What a key takes `other` for: one of texts an ENUM or SET for the label, not its number, one of dates a time for one of today.
fn key_operand(ty: &ColumnType, other: &Expr) -> Expr {
    match (ty.kind, other.ty.kind) {
        (TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp, TypeKind::Time) => {
            typing::cast_to(other.clone(), ColumnType::temporal(TypeKind::DateTime, 6))
        }
        (_, TypeKind::Enum | TypeKind::Set) if ty.is_bytes() => typing::as_string(other.clone(), ty.collation),
        _ => other.clone(),
    }
}

/// Whether values compared by `rule` with `other` are in the order of the column's key: `None` if
/// not, else whether a key range says exactly the same as the comparison.
fn key_order(ty: &ColumnType, rule: CompareAs, other: &Expr, op: CompareOp) -> Option<bool> {
    // The key of a BIT takes integers; a text or a literal of bits reads as another number there.
    if ty.kind == TypeKind::Bit && !other.ty.is_integer() {
        return None;
    }
    // A year is before all of its days, which no key says.
    if other.ty.kind == TypeKind::Year && ty.is_temporal() && ty.kind != TypeKind::Year {
        return None;
    }
    let equality = matches!(op, CompareOp::Eq | CompareOp::NullSafeEq);
    match ty.kind {
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int | TypeKind::BigInt | TypeKind::Bit => {
            match rule {
                CompareAs::Int => Some(true),
                CompareAs::Decimal | CompareAs::Double => Some(other.ty.is_integer()),
                _ => None,
            }
        }
        TypeKind::Year => (rule == CompareAs::Int && other.ty.is_integer()).then_some(false),
        TypeKind::Decimal => match rule {
            CompareAs::Int | CompareAs::Decimal => Some(true),
            CompareAs::Double => Some(false),
            _ => None,
        },
        TypeKind::Float | TypeKind::Double => {
            matches!(rule, CompareAs::Int | CompareAs::Decimal | CompareAs::Double).then_some(false)
        }
        TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp => match rule {
            CompareAs::DateTime => {
                Some(other.ty.is_temporal() && other.ty.kind != TypeKind::Time && ty.kind != TypeKind::Timestamp)
            }
            _ => None,
        },
        TypeKind::Time => match rule {
            CompareAs::Time => Some(other.ty.kind == TypeKind::Time),
            _ => None,
        },
        TypeKind::Enum | TypeKind::Set => (rule == CompareAs::Int && (equality || other.ty.is_integer())).then_some(true),
        _ if ty.is_bytes() => match rule {
            CompareAs::Text(collation)
                if collation == ty.collation && (typing::is_string(&other.ty) || other.ty.kind == TypeKind::Null) =>
            {
                Some(true)
            }
            _ => None,
        },
        _ => None,
    }
}

/// Characters appended to a prefix to bound what begins with it.
const FILL_CHARS: usize = 8;

/// Bounds of the texts that begin with `prefix`; no upper one where the greatest character is unknown.
fn prefix_range(prefix: &[u8], collation: CollationId) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
    if collation == CollationId::BINARY {
        let mut high = prefix.to_vec();
        high.extend([0xff; FILL_CHARS * 4]);
        return Some((prefix.to_vec(), Some(high)));
    }
    let name = text::collation_name(collation);
    let fill = |c: char| {
        let mut high = prefix.to_vec();
        (0..FILL_CHARS).for_each(|_| high.extend(c.encode_utf8(&mut [0; 4]).as_bytes()));
        high
    };
    // Collations that pad with spaces sort control characters before the bare prefix.
    let pads = !name.contains("_0900_");
    let mut low = prefix.to_vec();
    if pads {
        low.extend([0; FILL_CHARS]);
    }
    let high = match text::charset_name(collation) {
        "utf8mb4" if name.ends_with("_bin") => Some(fill('\u{10ffff}')),
        // In the UCA no character weighs more than the replacement character.
        "utf8mb4" if name.contains("_0900_") => Some(fill('\u{fffd}')),
        "utf8mb4" | "utf8mb3" if name.ends_with("_general_ci") || name.ends_with("_bin") => Some(fill('\u{ffff}')),
        _ => None,
    };
    Some((low, high))
}
