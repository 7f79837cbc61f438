//! What a statement evaluates before it reads a row, whether or not a row needs it: its warnings and errors come with every execution.
//!
//! MySQL converts and computes constants while it prepares and optimizes a statement. Where that warns, they stay expressions here
//! (`eval::fold`), which are evaluated only for rows; so they are noted and evaluated once before:
//!
//! * EARLY-1: a constant part of a condition (`WHERE 'abc'`, `ON x AND '1a'`);
//! * EARLY-2: a constant that a condition compares with a column of numbers (`WHERE i = '5x'`, `WHERE (i = '5x') IS TRUE`), not in ON of
//!   an outer join, for BIGINT anywhere;
//! * EARLY-3: a constant that anything compares with a date or time (`func::constant`);
//! * EARLY-4: JSON as a condition, which warns whatever it holds: of a prepared statement when it is prepared.
//!
//! Parameters are none of them: a statement that is executed again and again must not pay for it.

use std::sync::Arc;

use vaquita_types::decimal::Decimal;
use vaquita_types::temporal::{Date, DateFlags, DateTime, parse_datetime};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};

use super::Binder;
use super::literal::word;
use super::scope::{Clause, ColumnValue, RelationColumn};
use crate::expr::{CompareAs, CompareOp, Expr, ExprKind, SubqueryKind};
use crate::node::{OutputColumn, Plan};
use crate::typing::{NumberClass, is_hex_literal, is_string};
use crate::{eval, func, typing, visit};

/// How a date or time is compared with constants.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Form {
    Operator,
    Between,
    List,
}

impl Form {
    fn word(self) -> &'static str {
        match self {
            Form::Operator => "=",
            Form::Between => "BETWEEN",
            Form::List => "IN",
        }
    }
}

impl Binder<'_> {
    /// A condition of WHERE or HAVING, or of ON of an inner join, its constants folded.
    pub(super) fn note_condition(&mut self, condition: &mut Expr) {
        if self.note_parts(condition, true, true) == Some(false) && self.frame().clause == Clause::Where {
            self.decide();
        }
    }

    /// Whether it is true, where constants decide that. `of_numbers`: with the constants beside numbers. `positive`: NULL is as good as
    /// false, which it is not below NOT.
    fn note_parts(&mut self, condition: &mut Expr, of_numbers: bool, positive: bool) -> Option<bool> {
        if !self.cx.fold {
            return None;
        }
        if positive {
            typing::cut_behind_null(condition);
        }
        let constant = is_constant(condition);
        match &mut condition.kind {
            _ if constant => {
                self.note_unless_silent(condition.clone().negated(), condition);
                return eval::truth_of_constant(condition, self.cx.settings).map(|truth| truth == Some(true));
            }
            ExprKind::And(parts) => return self.note_until(parts, false, of_numbers, positive),
            ExprKind::Or(parts) => return self.note_until(parts, true, of_numbers, positive),
            ExprKind::Not(inner) => {
                self.note_parts(inner, of_numbers, false);
            }
            _ if !of_numbers => {}
            ExprKind::Call(def, args) if def.name == "BETWEEN" => {
                if let [value, bounds @ ..] = &mut args[..] {
                    bounds.iter_mut().for_each(|bound| self.note_beside_number(value, bound, CompareAs::Double));
                }
            }
            _ => self.note_comparisons(condition),
        }
        None
    }

    /// Parts of AND or OR up to the constant that decides it, beside which no other is compared with a number.
    fn note_until(&mut self, parts: &mut Vec<Expr>, deciding: bool, of_numbers: bool, positive: bool) -> Option<bool> {
        let before = self.early_of_numbers.len();
        let at = parts.iter_mut().position(|part| self.note_parts(part, of_numbers, positive) == Some(deciding))?;
        self.early_of_numbers.truncate(before);
        // Rows need not look at the others, unless NULL leaves it to them whether all is false.
        if is_constant(&parts[at]) && eval::truth_of_constant(&parts[at], self.cx.settings) == Some(Some(deciding)) {
            parts.swap(0, at);
            parts.truncate(1);
        }
        Some(deciding)
    }

    /// The comparisons in a part of a condition, however deep: `(i = '5x') IS TRUE`.
    fn note_comparisons(&mut self, expr: &mut Expr) {
        if let ExprKind::Compare(_, left, right, rule) = &mut expr.kind {
            // `note_compared` has noted what a BIGINT stores, which it is then.
            let stores = |column: &Expr, text: &Expr| {
                column.ty.kind == TypeKind::BigInt && is_column(column) && typing::is_whole_number(text)
            };
            if !stores(left, right) {
                self.note_beside_number(left, right, *rule);
            }
            if !stores(right, left) {
                self.note_beside_number(right, left, *rule);
            }
            if self.cx.fold {
                typing::exact_beside_integer(left, right, rule);
                typing::exact_beside_integer(right, left, rule);
            }
        }
        visit::children_mut(expr, &mut |child| self.note_comparisons(child));
    }

    /// As MySQL: the text of a view warned when the view was made. `before`: how much was noted before its query was bound.
    pub(super) fn forget_json_of_view(&mut self, before: usize) {
        let of_view = self.early.split_off(before);
        self.early.extend(of_view.into_iter().filter(|expr| func::json_warning(expr).is_none()));
    }

    /// All that was noted.
    pub(super) fn take_early(&mut self) -> Vec<Expr> {
        let of_numbers = std::mem::take(&mut self.early_of_numbers);
        let mut early = std::mem::take(&mut self.early);
        early.extend(of_numbers.into_iter().map(|(_, expr)| expr));
        early
    }

    /// As `note_condition`, of ON: if it is never true, its own constants are not converted. Those of an outer join are when a row of the
    /// inner table is read.
    pub(super) fn note_on(&mut self, condition: &mut Expr, outer: bool) {
        let before = self.early_of_numbers.len();
        match self.note_parts(condition, !outer, true) {
            Some(false) if outer => self.early_of_numbers.truncate(before),
            Some(false) => self.decide(),
            _ => {}
        }
    }

    /// What was noted since `before` belongs to the ON of a join with `joins_inside` joins on its right side. As MySQL: WHERE comes first,
    /// then of each join its right side, its ON and its left side.
    pub(super) fn defer_early_of_on(&mut self, before: usize, joins_inside: usize) {
        let noted = self.early.split_off(before.min(self.early.len()));
        let deferred = &mut self.frame().early_of_on;
        deferred.insert(joins_inside.min(deferred.len()), noted);
    }

    /// WHERE is bound: the conditions of the joins are next.
    pub(super) fn end_where(&mut self) {
        let of_on = std::mem::take(&mut self.frame().early_of_on);
        self.early.extend(of_on.into_iter().flatten());
    }

    /// The block has no rows, as constants say: none in its conditions is converted for columns of numbers.
    fn decide(&mut self) {
        self.frame().decided = true;
        let block = self.frames.len();
        self.early_of_numbers.retain(|(of, _)| *of < block);
    }

    fn note_beside_number(&mut self, operand: &Expr, constant: &mut Expr, rule: CompareAs) {
        let is_number = matches!(constant.kind, ExprKind::Literal(_)) && !is_string(&constant.ty);
        if is_number_column(operand) && !is_number && is_constant(constant) {
            // Compared with a number by the same rule, it is converted in the same way; beside DECIMAL it is called one.
            let beside_decimal = operand.ty.kind == TypeKind::Decimal;
            let rule = if beside_decimal { CompareAs::Decimal } else { rule };
            let zero = Box::new(Expr::int(0));
            let kind = ExprKind::Compare(CompareOp::Eq, zero, Box::new(constant.clone()), rule);
            let compared = Expr { kind, ..constant.clone().negated() };
            if eval::is_silent(&compared, self.cx.settings) {
                return;
            }
            self.early_of_numbers.push((self.frames.len(), compared));
            // Rows warn no more, and would call it a DOUBLE.
            if beside_decimal && let ExprKind::Literal(Value::Bytes(text)) = &constant.kind {
                let value = Decimal::parse(text).value;
                let ty = ColumnType::decimal(65, value.scale().min(30));
                *constant = Expr::literal(Value::Decimal(value), ty);
            }
        }
    }

    /// `left op right`, in any expression.
    pub(super) fn note_compared(&mut self, left: &Expr, right: &Expr) -> Result<()> {
        if let (ExprKind::Row(lefts), ExprKind::Row(rights)) = (&left.kind, &right.kind) {
            return lefts.iter().zip(rights).try_for_each(|(left, right)| self.note_compared(left, right));
        }
        for (operand, constant) in [(left, right), (right, left)] {
            if operand.ty.is_temporal() {
                self.note_for_time(operand, constant, Form::Operator)?;
            } else if operand.ty.kind == TypeKind::BigInt && is_column(operand) && is_string(&constant.ty) {
                let converted = typing::as_number(constant.clone())?;
                let zero = Expr::int(0);
                self.note_unless_silent(typing::compare(CompareOp::Eq, converted, zero)?, constant);
            }
        }
        Ok(())
    }

    /// Of the arguments of GREATEST or LEAST.
    pub(super) fn note_extreme(&mut self, args: &[Expr]) -> Result<()> {
        if args.iter().any(|arg| arg.ty.kind == TypeKind::Json)
            && let Some(def) = func::lookup("JSON EXTREME")
        {
            self.early.push(typing::call(def, Vec::new())?);
        }
        Ok(())
    }

    pub(super) fn note_between(&mut self, value: &Expr, low: &Expr, high: &Expr, negated: bool) -> Result<()> {
        if [value, low, high].iter().any(|e| e.ty.kind == TypeKind::Json)
            && let Some(def) = func::lookup("JSON BETWEEN")
        {
            self.early.push(typing::call(def, Vec::new())?);
        }
        let texts = is_string(&low.ty) && is_string(&high.ty);
        // Between a constant and itself is equal to it (`typing::between`).
        if !negated && texts && typing::is_date(&value.ty) && matches!(low.kind, ExprKind::Literal(_)) && visit::same(low, high) {
            return self.note_compared(value, low);
        }
        if !is_column(value) || !value.ty.is_temporal() || texts && value.ty.kind != TypeKind::Time {
            return Ok(());
        }
        [low, high].into_iter().try_for_each(|bound| self.note_for_time(value, bound, Form::Between))
    }

    /// Constants of one kind are converted together; one that is alone is compared with `=`.
    pub(super) fn note_list(&mut self, value: &Expr, list: &mut [Expr]) -> Result<()> {
        if let [only] = &*list {
            return self.note_compared(value, only);
        }
        let is_text =
            |e: &Expr| matches!(e.kind, ExprKind::Literal(Value::Bytes(_))) && e.ty.is_bytes() && !is_hex_literal(&e.ty);
        if typing::is_plain_number(&value.ty) && value.ty.kind != TypeKind::Year {
            let gives_value = |kind: &SubqueryKind| matches!(kind, SubqueryKind::Scalar | SubqueryKind::Column(_));
            let of_column = is_column(value) || matches!(&value.kind, ExprKind::Subquery(query) if gives_value(&query.kind));
            let of_integers = value.ty.is_integer() && !of_column && self.cx.fold;
            // Beside an integer texts that functions make of constants are as good as those that are written.
            let is_made = |e: &Expr| {
                of_integers
                    && e.ty.is_bytes()
                    && !is_hex_literal(&e.ty)
                    && !matches!(e.kind, ExprKind::Literal(_))
                    && is_constant(e)
            };
            let together = list.iter().all(|e| is_text(e) || is_made(e) || is_constant(e) && compares_as_double(value, e));
            let mut texts = list.iter_mut().filter(|item| together && (is_text(item) || is_made(item)));
            if of_integers {
                return texts.try_for_each(|item| self.note_integer(item));
            }
            texts.for_each(|item| self.note_double(item));
            return Ok(());
        }
        let is_null = |e: &Expr| e.ty.kind == TypeKind::Null;
        let (texts, numbers) = (list.iter().any(|e| is_string(&e.ty)), list.iter().any(|e| !is_string(&e.ty) && !is_null(e)));
        let of_one_kind = texts != numbers && list.iter().all(is_constant);
        if !is_column(value) || !value.ty.is_temporal() {
            return Ok(());
        }
        if !of_one_kind {
            // What is a date among others is read as one all the same.
            let is_date = |e: &&mut Expr| matches!(&e.kind, ExprKind::Literal(Value::Bytes(text)) if is_date_text(text));
            let dates = list.iter_mut().filter(is_date).filter(|_| value.ty.kind != TypeKind::Time);
            return dates.into_iter().try_for_each(|item| self.note_for_time(value, item, Form::List));
        }
        if numbers && value.ty.kind == TypeKind::Date {
            return Ok(());
        }
        for item in list {
            let before = self.early.len();
            self.note_for_time(value, item, Form::List)?;
            // Converted once, what is no date is the zero date, and warns no more.
            if self.early.len() > before && texts && value.ty.kind != TypeKind::Time {
                // A DATE is equal to no text that is none.
                let none = Date::new(9999, 12, 31).and_then(|last| DateTime::new(last, 23, 59, 59, 999_999));
                let none = none.filter(|_| value.ty.kind == TypeKind::Date);
                let ty = ColumnType::temporal(TypeKind::DateTime, if none.is_some() { 6 } else { 0 });
                *item = Expr::literal(Value::DateTime(none.unwrap_or(DateTime::ZERO)), ty);
            }
        }
        Ok(())
    }

    /// A text among texts that an integer is looked for in: all of them become integers, once.
    fn note_integer(&mut self, text: &mut Expr) -> Result<()> {
        let number = typing::cast_to(typing::as_integer(text.clone())?, ColumnType::bigint());
        self.note_unless_silent(number.clone(), text);
        *text = match &text.kind {
            ExprKind::Literal(Value::Bytes(bytes)) => {
                let value = i64::try_from(eval::coerce::int_of_text(bytes).0).unwrap_or(i64::MAX);
                Expr::literal(Value::Int(value), ColumnType::bigint())
            }
            _ => number,
        };
        Ok(())
    }

    /// A text among constants that a number is looked for in: all of them become floating point numbers, once.
    fn note_double(&mut self, text: &mut Expr) {
        let ExprKind::Literal(Value::Bytes(bytes)) = &text.kind else { return };
        let number = eval::coerce::parse_f64(bytes).0;
        let converted = typing::cast_to(text.clone(), ColumnType::double());
        let before = self.early.len();
        self.note_unless_silent(converted, text);
        if self.early.len() > before {
            *text = Expr::literal(Value::Float(number), ColumnType::double());
        }
    }

    fn note_for_time(&mut self, operand: &Expr, constant: &Expr, form: Form) -> Result<()> {
        if matches!(operand.kind, ExprKind::Literal(Value::Null)) {
            return Ok(());
        }
        let column = self.name_of_column(operand).unwrap_or_default();
        self.note_for_time_of(operand, &column, constant, form)
    }

    /// `left` beside the column of a subquery, in IN or with ALL or ANY: a constant text is converted though there may be no row.
    pub(super) fn note_beside_query(&mut self, left: &Expr, output: &OutputColumn) -> Result<()> {
        let is_text = |e: &Expr| matches!(e.kind, ExprKind::Literal(Value::Bytes(_))) && is_string(&e.ty);
        let is_date = |e: &Expr| matches!(e.ty.kind, TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp);
        let name = output.origin.as_ref().map_or("", |origin| origin.org_name.as_str());
        if is_date(&output.expr) && is_string(&left.ty) {
            self.note_for_time_of(&output.expr, name, left, Form::Operator)?;
        } else if is_date(left) && is_text(&output.expr) {
            self.note_for_time_of(left, "<left expr>", &output.expr, Form::Operator)?;
        }
        Ok(())
    }

    fn note_for_time_of(&mut self, operand: &Expr, column: &str, constant: &Expr, form: Form) -> Result<()> {
        let (Some(def), true) = (func::lookup("CONSTANT FOR"), is_constant(constant)) else { return Ok(()) };
        let operand = Expr::literal(Value::Null, operand.ty.clone());
        let call = typing::call(def, vec![constant.clone(), operand, word(column), word(form.word())])?;
        self.note_unless_silent(call, constant);
        Ok(())
    }

    /// The column of this block or of one around it that a slot holds.
    fn column_in(&self, expr: &Expr) -> Option<&RelationColumn> {
        let (depth, slot) = match expr.kind {
            ExprKind::Slot(slot) => (0, slot),
            ExprKind::Outer { depth, slot } => (depth, slot),
            _ => return None,
        };
        let frame = self.frames.get(self.frames.len().checked_sub(depth + 1)?)?;
        let relation = &frame.relations[frame.slot_owner.get(slot).copied().flatten()?];
        let position = relation.column_of(slot)?;
        relation.columns.get(position)
    }

    fn name_of_column(&self, expr: &Expr) -> Option<String> {
        self.column_in(expr).map(|column| column.name.clone())
    }

    /// `column IS NULL` in WHERE finds the zero date too if the column is a date that is NOT NULL, as ODBC programs expect.
    pub(super) fn null_or_zero_date(&self, condition: Expr) -> Result<Expr> {
        let ExprKind::IsNull(column) = &condition.kind else { return Ok(condition) };
        let is_date = matches!(column.ty.kind, TypeKind::Date | TypeKind::DateTime);
        let nullable = self.column_in(column).map(|column| match &column.value {
            ColumnValue::Slot { nullable, .. } | ColumnValue::Lazy { nullable, .. } => *nullable,
            ColumnValue::Expr(expr) => expr.nullable,
        });
        if !is_date || nullable != Some(false) {
            return Ok(condition);
        }
        let zero = Expr::literal(Value::DateTime(DateTime::ZERO), ColumnType::temporal(TypeKind::DateTime, 0));
        let is_zero = typing::compare(CompareOp::Eq, (**column).clone(), zero)?;
        // A column of an outer join may be NULL.
        let parts = if column.nullable { vec![condition, is_zero] } else { return Ok(is_zero) };
        Ok(super::expr::predicate(ExprKind::Or(parts), true))
    }

    fn note_unless_silent(&mut self, expr: Expr, constant: &Expr) {
        if self.cx.fold && is_constant(constant) && !eval::is_silent(&expr, self.cx.settings) {
            self.early.push(expr);
        }
    }

    /// As `expr::as_condition`, with MySQL's warning of JSON.
    pub(super) fn as_condition(&mut self, expr: Expr) -> Result<Expr> {
        if expr.ty.kind == TypeKind::Json
            && let Some(def) = func::lookup("JSON CONDITION")
        {
            self.early.push(typing::call(def, Vec::new())?);
        }
        Ok(truth_parameter(super::expr::as_condition(expr)?))
    }
}

/// Takes the warnings of JSON out of a plan.
pub fn take_json_warnings(plan: &mut Plan) -> Vec<Error> {
    let early = match plan {
        Plan::Query(query) => match Arc::get_mut(query) {
            Some(query) => &mut query.early,
            None => return Vec::new(),
        },
        Plan::Insert(insert) => &mut insert.early,
        Plan::Update(update) => &mut update.early,
        Plan::Delete(delete) => &mut delete.early,
    };
    let mut warnings = Vec::new();
    early.retain(|expr| match func::json_warning(expr) {
        Some(warning) => {
            warnings.push(warning);
            false
        }
        None => true,
    });
    warnings
}

/// A parameter that is a condition is an integer, if nothing else is known of it.
pub(super) fn truth_parameter(mut expr: Expr) -> Expr {
    if matches!(expr.kind, ExprKind::Param(_)) && expr.ty.kind == TypeKind::Null {
        expr.ty = ColumnType { length: 21, ..ColumnType::bigint() };
    }
    expr
}

fn is_date_text(text: &[u8]) -> bool {
    parse_datetime(text, DateFlags::default()).is_ok_and(|parsed| !parsed.truncated)
}

fn compares_as_double(value: &Expr, item: &Expr) -> bool {
    let is_double = |e: &Expr| typing::number_class(&e.ty) == NumberClass::Double;
    item.ty.kind == TypeKind::Null || typing::is_plain_number(&item.ty) && (is_double(value) || is_double(item))
}

fn is_column(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Slot(_) | ExprKind::Outer { .. })
}

fn is_number_column(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Slot(_) | ExprKind::Outer { .. } => !is_string(&expr.ty) && !expr.ty.is_temporal(),
        // A number's column as another kind of number.
        ExprKind::Cast(inner) => is_number_column(inner),
        _ => false,
    }
}

/// It has one value whatever the row, and nobody but the statement decides on it.
pub(super) fn is_constant(expr: &Expr) -> bool {
    let all = |parts: &[Expr]| parts.iter().all(is_constant);
    match &expr.kind {
        ExprKind::Literal(_) => true,
        ExprKind::And(parts) | ExprKind::Or(parts) => all(parts),
        ExprKind::Not(inner) | ExprKind::IsNull(inner) | ExprKind::Cast(inner) => is_constant(inner),
        ExprKind::Compare(_, left, right, _) => is_constant(left) && is_constant(right),
        ExprKind::InList(value, list, _) => is_constant(value) && all(list),
        ExprKind::Call(def, args) => def.foldable && all(args),
        ExprKind::Case { operand, whens, otherwise } => {
            operand.as_ref().is_none_or(|operand| is_constant(&operand.0))
                && whens.iter().all(|(when, then)| is_constant(when) && is_constant(then))
                && otherwise.as_ref().is_none_or(|otherwise| is_constant(otherwise))
        }
        _ => false,
    }
}
