//! What PREPARE tells a client of the types of its parameters.
//!
//! MySQL gives each `?` a type from where it stands: that of what it is compared with, of the column it is assigned to, of
//! the other operand of arithmetic. Values of any type may be sent all the same. Example: in `WHERE id = ? AND s LIKE ?` the
//! first is the BIGINT that stands for all integers, the second, of which nothing is known, a string.
//!
//! It looks at the finished plan, so at the bounds of indexes where comparisons have become those.
//!
//! A parameter beside a value or a column needs no type to be computed with: its value's decides when the statement runs. Where a
//! parameter decides the type of something else (`IF(a, ?, 5)`, `MAX(?)`, `CONCAT(?, s)`, `? = ?`, a column of a subquery) it is *free*:
//! such a statement is planned with the types of its free parameters, and again when values of other types come.

use vaquita_types::charset::CollationId;
use vaquita_types::schema::TableDef;
use vaquita_types::{ColumnType, TypeKind, Value};

use crate::expr::{CompareOp, Expr, ExprKind, Slot, SubqueryKind};
use crate::func::period;
use crate::node::{AccessPath, Assignment, InsertSource, KeyExpr, Limit, Node, Plan, QueryPlan, Range, Scan, Skips, entry_parts};
use crate::param_texts::ReadAs;
use crate::typing::{integers_of, is_string, moments_of, parameter_chars};
use crate::visit;

/// The type that each of `count` parameters takes; none where nothing is known.
pub fn parameter_types(plan: &Plan, count: usize) -> Vec<Option<ColumnType>> {
    look(plan, count).types
}

/// Which of `count` parameters of a plan that was made without their types are free.
pub fn free_parameters(plan: &Plan, count: usize) -> Vec<bool> {
    let found = look(plan, count);
    found.free.iter().zip(&found.bounds).map(|(free, bound)| *free && !bound).collect()
}

/// What a text is read as that is sent for each of `count` parameters of a plan that was made without their types.
pub fn texts_read_as(plan: &Plan, count: usize) -> Vec<Option<ReadAs>> {
    let found = look(plan, count);
    let read_as = |(ty, assigned): (&Option<ColumnType>, &bool)| ty.as_ref().filter(|_| !assigned).and_then(ReadAs::of);
    let mut all: Vec<_> = found.types.iter().zip(&found.assigned).map(read_as).collect();
    for (read_as, _) in all.iter_mut().zip(&found.moments).filter(|(_, moment)| **moment) {
        *read_as = Some(ReadAs::Moment);
    }
    for (read_as, _) in all.iter_mut().zip(&found.null_safe).filter(|(_, null_safe)| **null_safe) {
        *read_as = read_as.map(ReadAs::null_safe);
    }
    for (read_as, _) in all.iter_mut().zip(&found.wholes).filter(|(_, whole)| **whole) {
        *read_as = Some(ReadAs::Whole);
    }
    for (read_as, _) in all.iter_mut().zip(&found.dates).filter(|(_, date)| **date) {
        *read_as = Some(ReadAs::WholeDate);
    }
    all
}

/// Which of `count` parameters are compared with texts: a number for one is compared as a number, which is another plan.
pub fn parameters_beside_texts(plan: &Plan, count: usize) -> Vec<bool> {
    look(plan, count).texts
}

/// Which of `count` parameters are in patterns of LIKE that an index may find rows by.
pub fn parameters_in_patterns(plan: &Plan, count: usize) -> Vec<bool> {
    look(plan, count).patterns
}

/// The type of a free parameter with this value; none for NULL, which fits all. `collation`: the connection's.
pub fn type_of_parameter(value: &Value, collation: CollationId) -> Option<ColumnType> {
    Some(match value {
        Value::Null => return None,
        Value::Int(_) => ColumnType { length: 21, ..ColumnType::bigint() },
        Value::UInt(_) => ColumnType { length: 21, ..ColumnType::bigint_unsigned() },
        Value::Float(_) => ColumnType::double(),
        Value::Decimal(_) => ColumnType::decimal(65, 30),
        Value::Date(_) => ColumnType::temporal(TypeKind::Date, 0),
        Value::DateTime(_) => ColumnType::temporal(TypeKind::DateTime, 6),
        Value::Time(_) => ColumnType::temporal(TypeKind::Time, 6),
        Value::Bytes(_) | Value::Json(_) => text_parameter(collation),
    })
}

/// The type of a free parameter before it has a value, where its place tells `ty`.
pub fn type_at_place(ty: Option<&ColumnType>, collation: CollationId) -> ColumnType {
    let Some(ty) = ty else { return text_parameter(collation) };
    match ty.kind {
        TypeKind::Bit | TypeKind::Year => ColumnType { length: 21, ..ColumnType::bigint_unsigned() },
        _ if ty.is_integer() && ty.unsigned => ColumnType { length: 21, ..ColumnType::bigint_unsigned() },
        _ if ty.is_integer() => ColumnType { length: 21, ..ColumnType::bigint() },
        TypeKind::Decimal => ColumnType::decimal(65, 30),
        TypeKind::Float | TypeKind::Double => ColumnType::double(),
        TypeKind::Date => ColumnType::temporal(TypeKind::Date, 0),
        TypeKind::Time => ColumnType::temporal(TypeKind::Time, 6),
        TypeKind::DateTime | TypeKind::Timestamp => ColumnType::temporal(TypeKind::DateTime, 6),
        _ => text_parameter(collation),
    }
}

/// The type of a text that is sent.
pub fn text_parameter(collation: CollationId) -> ColumnType {
    match collation {
        CollationId::BINARY => ColumnType::varbinary(65_535),
        _ => ColumnType::varchar(parameter_chars(collation), collation),
    }
}

fn look(plan: &Plan, count: usize) -> Found {
    let mut found = Found {
        types: vec![None; count],
        free: vec![false; count],
        bounds: vec![false; count],
        assigned: vec![false; count],
        moments: vec![false; count],
        wholes: vec![false; count],
        dates: vec![false; count],
        texts: vec![false; count],
        null_safe: vec![false; count],
        patterns: vec![false; count],
    };
    match plan {
        Plan::Query(query) => found.query(query),
        Plan::Insert(insert) => {
            match &insert.source {
                InsertSource::Values(rows) => {
                    for (value, column) in rows.iter().flat_map(|row| row.iter().zip(&insert.columns)) {
                        found.assigned(value.as_ref(), &insert.table, *column);
                    }
                }
                InsertSource::Literals(_) => {}
                InsertSource::Query(query) => {
                    for (output, column) in query.output.iter().zip(&insert.columns) {
                        found.assigned(Some(&output.expr), &insert.table, *column);
                    }
                    found.query(query);
                }
            }
            found.assignments(&insert.on_duplicate, &insert.table);
        }
        Plan::Update(update) => {
            for target in &update.targets {
                found.assignments(&target.assignments, &target.table);
            }
            found.node(&update.source);
        }
        Plan::Delete(delete) => found.node(&delete.source),
    }
    found
}

struct Found {
    types: Vec<Option<ColumnType>>,
    free: Vec<bool>,
    /// They are bounds of an index, or a LIMIT: the visit of all expressions meets these too.
    bounds: Vec<bool>,
    /// They are what a column is set to, which says itself what is wrong with them.
    assigned: Vec<bool>,
    /// An interval is added to them.
    moments: Vec<bool>,
    /// A part of the date or time is taken of them.
    wholes: Vec<bool>,
    /// A function of dates reads them.
    dates: Vec<bool>,
    /// They are compared with texts.
    texts: Vec<bool>,
    /// `<=>` compares them.
    null_safe: Vec<bool>,
    /// They are in patterns that a column of an index is like.
    patterns: Vec<bool>,
}

impl Found {
    fn note(&mut self, expr: &Expr, ty: &ColumnType) {
        match &expr.kind {
            ExprKind::Param(n) => {
                if let Some(known @ None) = self.types.get_mut(*n) {
                    *known = Some(ty.clone());
                }
            }
            ExprKind::Cast(inner) => self.note(inner, ty),
            _ => {}
        }
    }

    fn note_known(&mut self, expr: &Expr, ty: Option<&ColumnType>) {
        if let Some(ty) = ty.filter(|ty| ty.kind != TypeKind::Null) {
            self.note(expr, ty);
        }
    }

    /// `expr` is compared with something of type `ty`.
    fn beside(&mut self, expr: &Expr, ty: &ColumnType) {
        if let Some(n) = param_of(expr).filter(|_| is_string(ty)) {
            mark(&mut self.texts, n);
        }
        if !is_param(expr) || ty.kind == TypeKind::Null {
            self.expr(expr);
        }
    }

    fn assignments(&mut self, assignments: &[Assignment], table: &TableDef) {
        for assignment in assignments {
            self.assigned(assignment.value.as_ref(), table, assignment.column);
        }
    }

    fn assigned(&mut self, value: Option<&Expr>, table: &TableDef, column: usize) {
        let (Some(value), Some(column)) = (value, table.columns.get(column)) else { return };
        self.note(value, &column.ty);
        match param_of(value) {
            Some(n) => mark(&mut self.assigned, n),
            None => {
                self.picked(value, &column.ty);
                self.expr(value);
            }
        }
    }

    /// Parameters that CASE or IF may pick for a column, if they pick nothing else.
    fn picked(&mut self, value: &Expr, ty: &ColumnType) {
        let picks: Vec<&Expr> = match &value.kind {
            ExprKind::Case { whens, otherwise, .. } => whens.iter().map(|(_, then)| then).chain(otherwise.as_deref()).collect(),
            ExprKind::Call(def, args) if def.name == "IF" => args.iter().skip(1).collect(),
            _ => return,
        };
        if picks.iter().all(|pick| is_param(pick) || matches!(pick.kind, ExprKind::Literal(Value::Null))) {
            picks.into_iter().for_each(|pick| self.note(pick, ty));
        }
    }

    fn query(&mut self, plan: &QueryPlan) {
        plan.output.iter().for_each(|o| self.expr(&o.expr));
        self.node(&plan.root);
    }

    fn node(&mut self, node: &Node) {
        if let Node::Scan(scan) = node {
            self.bounds(scan);
            scan.filter.iter().for_each(|condition| self.patterns(scan, condition));
        }
        if let Node::Limit { limit, .. } | Node::Sort { limit: Some(limit), .. } | Node::RecursiveCte { limit: Some(limit), .. } =
            node
        {
            self.limit(limit);
        }
        visit::for_each_expr(node, &mut |expr| self.expr(expr));
        visit::for_each_plan(node, &mut |plan| self.query(plan));
        visit::inputs(node, &mut |input| self.node(input));
    }

    fn limit(&mut self, limit: &Limit) {
        limit.offset.iter().chain(&limit.count).for_each(|e| self.bounds_by(e, &ColumnType::bigint_unsigned()));
    }

    fn patterns(&mut self, scan: &Scan, condition: &Expr) {
        match &condition.kind {
            ExprKind::And(parts) | ExprKind::Or(parts) => parts.iter().for_each(|part| self.patterns(scan, part)),
            ExprKind::Call(def, args) if def.name == "LIKE" && !matches!(scan.path, AccessPath::Point { .. }) => {
                if let [Expr { kind: ExprKind::Slot(slot), .. }, pattern, ..] = args.as_slice()
                    && is_indexed(scan, *slot)
                    && is_constant(pattern)
                {
                    mark_all(&mut self.patterns, pattern);
                }
            }
            _ => {}
        }
    }

    /// The bounds of an index have the types of its columns.
    fn bounds(&mut self, scan: &Scan) {
        match &scan.path {
            AccessPath::Point { index, key } => {
                for (n, expr) in key.iter().enumerate() {
                    self.bound(scan, *index, n, expr);
                }
            }
            AccessPath::Range { index, ranges, .. } => {
                self.bounds_of_ranges(scan, (*index, 0), ranges);
                if let Some(Skips { parts, within: Some(within), .. }) = scan.skips.as_deref() {
                    self.bounds_of_ranges(scan, (*index, *parts), std::slice::from_ref(within));
                }
            }
            AccessPath::Union { parts } => {
                parts.iter().for_each(|(index, ranges)| self.bounds_of_ranges(scan, (*index, 0), ranges));
            }
            AccessPath::Full { .. } | AccessPath::FullText { .. } | AccessPath::System => {}
        }
    }

    /// Of parts of an index from this one on.
    fn bounds_of_ranges(&mut self, scan: &Scan, (index, part): (usize, usize), ranges: &[Range]) {
        for range in ranges {
            for (n, KeyExpr { expr, .. }) in range.equal.iter().enumerate() {
                self.bound(scan, index, part + n, expr);
            }
            for (expr, _) in range.low.iter().chain(&range.high) {
                self.bound(scan, index, part + range.equal.len(), expr);
            }
        }
    }

    fn bound(&mut self, scan: &Scan, index: usize, part: usize, expr: &Expr) {
        let position = entry_parts(&scan.table, index).get(part).and_then(|part| scan.table.position_of(part.column));
        if let Some(column) = position.and_then(|position| scan.table.columns.get(position)) {
            self.bounds_by(expr, &column.ty);
        }
    }

    fn bounds_by(&mut self, expr: &Expr, ty: &ColumnType) {
        self.note(expr, ty);
        if let Some(n) = param_of(expr) {
            mark(&mut self.bounds, n);
            if is_string(ty) {
                mark(&mut self.texts, n);
            }
        }
    }

    /// A function of dates reads `expr`.
    fn date(&mut self, expr: &Expr) {
        if let Some(n) = param_of(expr) {
            self.note(expr, &ColumnType::temporal(TypeKind::DateTime, 6));
            mark(&mut self.dates, n);
        }
    }

    /// What the operands of `expr` say of one another.
    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Param(n) => {
                mark(&mut self.free, *n);
                // A condition (`bind::early`).
                if expr.ty.is_integer() {
                    self.note(expr, &expr.ty);
                }
            }
            ExprKind::Compare(op, a, b, _) => {
                if *op == CompareOp::NullSafeEq {
                    [a, b].into_iter().filter_map(|operand| param_of(operand)).for_each(|n| mark(&mut self.null_safe, n));
                }
                self.note(a, &b.ty);
                self.note(b, &a.ty);
                self.beside(a, &b.ty);
                self.beside(b, &a.ty);
                return;
            }
            ExprKind::InList(value, list, _) => {
                if let Some(known) = list.iter().find(|item| !is_param(item)) {
                    self.note(value, &known.ty);
                }
                self.expr(value);
                for item in list {
                    self.note(item, &value.ty);
                    self.beside(item, &value.ty);
                    // A text that is no day or time is the equal of none.
                    if let (TypeKind::Date | TypeKind::Time, Some(n)) = (value.ty.kind, param_of(item)) {
                        mark(&mut self.null_safe, n);
                    }
                }
                return;
            }
            // The comparison that they were made of is there, too.
            ExprKind::Call(def, _) if period::is_bound(def) => return,
            ExprKind::Call(def, args) if matches!(def.name, "LIKE" | "FULL YEAR") => {
                let beside = args.first().map_or(TypeKind::Null, |arg| arg.ty.kind);
                let is_known = def.name != "LIKE" || beside != TypeKind::Null;
                args.iter().filter(|arg| !is_known || !is_param(arg)).for_each(|arg| self.expr(arg));
                return;
            }
            ExprKind::Case { operand, whens, otherwise } => {
                if let Some(operand) = operand {
                    let (first, ty) = (whens.first().map(|(when, _)| &when.ty), &operand.0.ty);
                    self.note_known(&operand.0, first);
                    whens.iter().for_each(|(when, _)| self.note_known(when, Some(ty)));
                }
                whens.iter().map(|(_, then)| then).chain(otherwise.as_deref()).for_each(|e| self.note_known(e, Some(&expr.ty)));
            }
            ExprKind::Call(def, args) if matches!(def.name, "IF" | "IFNULL" | "COALESCE" | "NULLIF" | "GREATEST" | "LEAST") => {
                args.iter().skip(usize::from(def.name == "IF")).for_each(|arg| self.note_known(arg, Some(&expr.ty)));
            }
            ExprKind::Call(def, args) if matches!(def.name, "+" | "-" | "*" | "/" | "%" | "DIV") => {
                let known = args.iter().find(|arg| !is_param(arg)).map_or_else(ColumnType::double, |arg| number(&arg.ty));
                args.iter().for_each(|arg| self.note(arg, &known));
            }
            ExprKind::Call(def, args) if INTERVALS_ADDED.contains(&def.name) => {
                let date = args.get(if def.name == "TIMESTAMPADD" { 2 } else { 0 });
                if let Some((date, n)) = date.and_then(|date| Some((date, param_of(date)?))) {
                    self.note(date, &ColumnType::temporal(TypeKind::DateTime, 6));
                    mark(&mut self.moments, n);
                }
            }
            ExprKind::Call(def, args) if PARTS.contains(&def.name) => {
                if let Some((whole, n)) = args.iter().find_map(|arg| Some((arg, param_of(arg)?))) {
                    self.note(whole, &ColumnType::temporal(TypeKind::DateTime, 6));
                    mark(&mut self.wholes, n);
                }
            }
            ExprKind::Call(def, args) if def.name == "TIMEDIFF" => {
                let is_date = |arg: &Expr| matches!(arg.ty.kind, TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp);
                if args.iter().any(is_date) {
                    args.iter().for_each(|arg| self.date(arg));
                } else if args.iter().any(|arg| arg.ty.kind == TypeKind::Time) {
                    args.iter().for_each(|arg| self.note(arg, &ColumnType::temporal(TypeKind::Time, 6)));
                }
            }
            ExprKind::Call(def, args) => {
                // Operators on bits take the bits of binary strings.
                if def.name.starts_with(|c: char| c.is_ascii_alphabetic()) && def.name != "BIT_COUNT" {
                    integers_of(def.name)
                        .iter()
                        .filter_map(|at| args.get(*at))
                        .for_each(|arg| self.note(arg, &ColumnType::bigint()));
                }
                let of_time = def.name == "TIME_TO_SEC";
                moments_of(def.name).iter().filter(|_| !of_time).filter_map(|at| args.get(*at)).for_each(|arg| self.date(arg));
            }
            ExprKind::Match(search) => self.note(&search.against, &search.against.ty),
            ExprKind::Subquery(sub) => {
                if let SubqueryKind::In { left, .. } | SubqueryKind::Quantified { left, .. } = &sub.kind
                    && let Some(output) = sub.output().first()
                {
                    self.note(left, &output.expr.ty);
                    self.beside(left, &output.expr.ty);
                    return sub.plan().map_or((), |plan| self.query(plan));
                }
                if let Some(plan) = sub.plan() {
                    self.query(plan);
                }
            }
            _ => {}
        }
        visit::children(expr, &mut |child| self.expr(child));
    }
}

/// Functions that add an interval to a date.
const INTERVALS_ADDED: [&str; 5] = ["DATE_ADD", "DATE_SUB", "TIMESTAMPADD", "ADDDATE", "SUBDATE"];

/// Functions of a part of a time, or of a time and a date.
const PARTS: [&str; 6] = ["EXTRACT", "HOUR", "MICROSECOND", "MINUTE", "SECOND", "TIME"];

/// An index has the column that fills the slot.
fn is_indexed(scan: &Scan, slot: Slot) -> bool {
    let column = scan.columns.iter().find(|(_, at)| *at == slot).and_then(|(position, _)| scan.table.columns.get(*position));
    column.is_some_and(|column| scan.table.indexes.iter().any(|index| index.parts.iter().any(|part| part.column == column.id)))
}

/// Known once the parameters are.
fn is_constant(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::Param(_) => true,
        ExprKind::Cast(inner) => is_constant(inner),
        ExprKind::Call(def, args) => def.foldable && args.iter().all(is_constant),
        _ => false,
    }
}

fn mark(flags: &mut [bool], n: usize) {
    if let Some(flag) = flags.get_mut(n) {
        *flag = true;
    }
}

/// The parameters in an expression.
fn mark_all(flags: &mut [bool], expr: &Expr) {
    if let ExprKind::Param(n) = expr.kind {
        mark(flags, n);
    }
    visit::children(expr, &mut |part| mark_all(flags, part));
}

fn is_param(expr: &Expr) -> bool {
    param_of(expr).is_some()
}

fn param_of(expr: &Expr) -> Option<usize> {
    match &expr.kind {
        ExprKind::Param(n) => Some(*n),
        ExprKind::Cast(inner) => param_of(inner),
        ExprKind::Call(def, args) if def.name == "FULL YEAR" => args.first().and_then(param_of),
        _ => None,
    }
}

/// The number that an operand of arithmetic is.
fn number(ty: &ColumnType) -> ColumnType {
    match ty.kind {
        TypeKind::Decimal => ty.clone(),
        _ if ty.is_integer() => ty.clone(),
        _ => ColumnType::double(),
    }
}
