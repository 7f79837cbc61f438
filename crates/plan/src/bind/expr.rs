//! Expressions: from syntax to typed `Expr`.
//!
//! Operators become comparisons, connectives and calls of `func`; names are resolved by `scope`. What
//! MySQL decides while resolving (types, collations, number of operands) is decided here by `typing`.

use std::sync::atomic::Ordering;

use vaquita_parser as ast;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno, sql_mode};

use super::Binder;
use super::early::is_constant;
use super::literal::{collation, word};
use crate::env::VarScope;
use crate::expr::{CompareOp, Expr, ExprKind};
use crate::{func, text, typing};

impl Binder<'_> {
    /// A scalar or row expression.
    pub fn expr(&mut self, expr: &ast::Expr) -> Result<Expr> {
        self.nested(|b| b.expr_inner(expr))
    }

    /// An expression of one column: error 1241 for rows.
    pub fn scalar(&mut self, expr: &ast::Expr) -> Result<Expr> {
        let bound = self.expr(expr)?;
        one_column(bound)
    }

    pub fn scalars(&mut self, exprs: &[ast::Expr]) -> Result<Vec<Expr>> {
        exprs.iter().map(|e| self.scalar(e)).collect()
    }

    fn expr_inner(&mut self, expr: &ast::Expr) -> Result<Expr> {
        use ast::Expr as E;
        match expr {
            E::Literal(literal) => self.literal(literal),
            E::Param(n) => {
                self.variables_allowed()?;
                Ok(self.param(*n))
            }
            E::Column(column) => self.column(column),
            E::UserVar(name) => {
                self.variables_allowed()?;
                Ok(self.user_var(name))
            }
            E::SysVar(var) => self.sys_var(var),
            E::Assign { var, value } => self.assign_var(var, value),
            E::Unary { op, expr } => self.unary(*op, expr),
            E::Binary { op, left, right } => self.binary(*op, left, right),
            E::IsNull { expr, negated } => {
                let inner = self.scalar(expr)?;
                Ok(negate_if(*negated, is_null(inner)))
            }
            E::IsTruth { expr, value, negated } => self.is_truth(expr, *value, *negated),
            E::Between { expr, low, high, negated } => {
                let (value, mut low, mut high) = (self.scalar(expr)?, self.scalar(low)?, self.scalar(high)?);
                self.fold_beside(&value, [&mut low, &mut high]);
                self.count_copies(&value, 1)?;
                self.note_between(&value, &low, &high, *negated)?;
                typing::between(value, low, high, *negated)
            }
            E::InList { expr, list, negated } => {
                let value = self.expr(expr)?;
                let mut list = list.iter().map(|e| self.expr(e)).collect::<Result<Vec<_>>>()?;
                self.fold_beside(&value, &mut list);
                for item in &list {
                    if width(item) != width(&value) {
                        return Err(Error::new(&errno::ER_OPERAND_COLUMNS, &[&width(&value)]));
                    }
                }
                let is_query = |expr: &Expr| matches!(expr.kind, ExprKind::Subquery(_));
                if width(&value) > 1 && (is_query(&value) || list.iter().any(is_query)) {
                    let mut tests = Vec::with_capacity(list.len());
                    for item in list {
                        tests.push(match self.row_subquery_comparison(CompareOp::Eq, &value, &item)? {
                            Some(equal) => equal,
                            None => {
                                self.count_copies(&value, 1)?;
                                typing::compare(CompareOp::Eq, value.clone(), item)?
                            }
                        });
                    }
                    return Ok(negate_if(*negated, or(tests)));
                }
                self.count_list_copies(&value, &list)?;
                self.note_list(&value, &mut list)?;
                Ok(negate_if(*negated, typing::compare_list(value, list)?))
            }
            E::Like { expr, pattern, escape, negated } => {
                let mut args = vec![self.scalar(expr)?, self.pattern(pattern)?];
                if let Some(escape) = escape {
                    args.push(self.escape(escape)?);
                }
                Ok(negate_if(*negated, self.call("LIKE", args)?))
            }
            E::Regexp { expr, pattern, negated } => {
                let args = vec![self.scalar(expr)?, self.scalar(pattern)?];
                Ok(negate_if(*negated, self.call("REGEXP", args)?))
            }
            E::Row(items) if items.len() == 1 => self.expr(&items[0]),
            E::Row(items) => {
                let items = items.iter().map(|e| self.expr(e)).collect::<Result<Vec<_>>>()?;
                let nullable = items.iter().any(|e| e.nullable);
                Ok(Expr { kind: ExprKind::Row(items), ty: ColumnType::null(), nullable, coercibility: 4 })
            }
            E::Case { operand, whens, otherwise } => self.case(operand.as_deref(), whens, otherwise.as_deref()),
            E::Cast { array: true, .. } => Err(Error::unsupported(
                "Use of CAST( .. AS .. ARRAY) outside of functional index in CREATE(non-SELECT)/ALTER TABLE or in general expressions",
            )),
            E::Cast { expr, ty, .. } => {
                let mut cast = typing::explicit_cast(self.scalar(expr)?, ty, self.cx.settings.connection_collation)?;
                if let (ast::CastType::Char { .. } | ast::CastType::Binary(_), ExprKind::Cast(inner)) = (ty, &cast.kind) {
                    cast.nullable = self.text_is_nullable(inner.nullable);
                }
                Ok(cast)
            }
            E::AtTimeZone { expr, zone, interval } => self.at_time_zone(expr, zone, *interval),
            E::ConvertUsing { expr, charset } => {
                let target =
                    text::default_collation(charset).ok_or_else(|| Error::new(&errno::ER_UNKNOWN_CHARACTER_SET, &[charset]))?;
                let expr = self.scalar(expr)?;
                typing::refuse_vectors("convert", &[&expr])?;
                let nullable = self.text_is_nullable(expr.nullable);
                Ok(Expr { nullable, ..typing::convert_using(expr, target) })
            }
            E::Collate { expr, collation: name } => typing::with_collation(self.scalar(expr)?, collation(name)?),
            E::InSubquery { expr, query, negated } => self.in_subquery(expr, query, *negated),
            E::Quantified { op, left, quantifier, query } => self.quantified(*op, left, *quantifier, query),
            E::Exists(query) => self.exists(query, false),
            E::Subquery(query) => self.scalar_subquery(query),
            E::Aggregate(call) => self.aggregate_call(call),
            E::Window(call) => self.window_call(call),
            E::Values(column) => self.values_of(column),
            E::DefaultOf(column) => self.default_of(column),
            // It stands nowhere else than in VALUES, SET and the rows of INSERT.
            E::Default => Err(Error::new(&errno::ER_TABLE_VALUE_CONSTRUCTOR_CANNOT_HAVE_DEFAULT, &[])),
            other => self.special_call(other),
        }
    }

    /// Error 1210 for a constant that is more than a character, or none where nothing else escapes.
    fn escape(&mut self, escape: &ast::Expr) -> Result<Expr> {
        let bound = self.scalar(escape)?;
        if let ExprKind::Literal(Value::Bytes(text)) = &bound.kind
            && !func::is_escape(text, bound.ty.collation, self.cx.settings.sql_mode)
        {
            return Err(Error::new(&errno::ER_WRONG_ARGUMENTS, &[&"ESCAPE"]));
        }
        Ok(bound)
    }

    fn pattern(&mut self, pattern: &ast::Expr) -> Result<Expr> {
        let around = std::mem::replace(&mut self.in_pattern, true);
        let bound = self.scalar(pattern);
        self.in_pattern = around;
        bound
    }

    pub fn param(&self, n: usize) -> Expr {
        let text = self.cx.patterns.get(n).and_then(Option::as_ref).filter(|_| self.in_pattern);
        if let (Some(text), false) = (text, self.cx.variables) {
            let collation = self.cx.settings.connection_collation;
            return Expr::literal(Value::bytes(text), ColumnType::varchar(text::char_count(text, collation) as u32, collation));
        }
        let given = self.cx.param_types.get(n).filter(|ty| ty.kind != TypeKind::Null).cloned();
        // Its kind is its value's; a text comes in the connection's charset.
        let ty = given.unwrap_or_else(|| ColumnType { collation: self.cx.settings.connection_collation, ..ColumnType::null() });
        if self.cx.variables {
            let variable = Expr::variable(n, ty);
            return match text {
                Some(text) => Expr { kind: ExprKind::Literal(Value::bytes(text)), ..variable },
                None => variable,
            };
        }
        Expr { kind: ExprKind::Param(n), ty, nullable: true, coercibility: 4 }
    }

    /// A name: in HAVING, GROUP BY and ORDER BY output columns may come first.
    fn column(&mut self, column: &ast::ColumnRef) -> Result<Expr> {
        if let Some(expr) = self.alias(column)? {
            return Ok(expr);
        }
        self.resolve(column)
    }

    fn user_var(&self, name: &str) -> Expr {
        let known = self.cx.user_var_type.and_then(|f| f(name));
        let mut ty = known.unwrap_or_else(|| ColumnType::varchar(16_383, self.cx.settings.connection_collation));
        if typing::is_string(&ty)
            && let Some((_, collation)) = self.assigned.iter().rfind(|(of, _)| of.eq_ignore_ascii_case(name))
        {
            ty.collation = *collation;
        }
        Expr { kind: ExprKind::UserVar(name.to_string()), ty, nullable: true, coercibility: 2 }
    }

    fn assign_var(&mut self, name: &str, value: &ast::Expr) -> Result<Expr> {
        self.variables_allowed()?;
        self.facts.assigns.store(true, Ordering::Relaxed);
        let value = self.scalar(value)?;
        let (mut ty, nullable, coercibility) = (value.ty.clone(), value.nullable, value.coercibility);
        if ty.kind == TypeKind::Bit {
            ty = ColumnType { length: ty.length, ..ColumnType::bigint_unsigned() };
        }
        if typing::is_string(&ty) {
            self.assigned.push((name.to_string(), ty.collation));
        }
        Ok(Expr { kind: ExprKind::AssignVar(name.to_string(), Box::new(value)), ty, nullable, coercibility })
    }

    fn sys_var(&mut self, var: &ast::SysVar) -> Result<Expr> {
        self.variables_allowed()?;
        let scope = match var.scope {
            ast::VarScope::Default => VarScope::Any,
            ast::VarScope::Session => VarScope::Session,
            _ => VarScope::Global,
        };
        let name = match &var.component {
            Some(component) => format!("{component}.{}", var.name),
            None => var.name.clone(),
        };
        let warning = self.cx.sys_var_warning.and_then(|warning| warning(&name));
        self.hint_warnings.extend(warning);
        let ty = match self.cx.sys_var_type {
            Some(type_of) => type_of(&name)?,
            None => ColumnType::varchar(16_383, self.cx.settings.connection_collation),
        };
        Ok(Expr { kind: ExprKind::SysVar(scope, name), ty, nullable: true, coercibility: 3 })
    }

    fn unary(&mut self, op: ast::UnaryOp, expr: &ast::Expr) -> Result<Expr> {
        match op {
            ast::UnaryOp::Neg => {
                if let ast::Expr::Literal(literal) = expr
                    && let Some(negative) = self.negative_literal(literal)?
                {
                    return Ok(negative);
                }
                let inner = self.scalar(expr)?;
                self.call("NEG", vec![inner])
            }
            ast::UnaryOp::Plus => self.scalar(expr),
            ast::UnaryOp::Not => {
                // Errors name the operator that it comes to.
                if let ast::Expr::Binary { op, left, right } = expr
                    && let Some(op) = compare_op(*op).and_then(CompareOp::negated)
                {
                    return self.comparison(op, left, right);
                }
                let inner = self.scalar(expr)?;
                typing::refuse_vectors("=", &[&inner])?;
                Ok(self.as_condition(inner)?.negated())
            }
            ast::UnaryOp::BitNot => {
                let inner = self.scalar(expr)?;
                self.call("~", vec![inner])
            }
        }
    }

    fn binary(&mut self, op: ast::BinaryOp, left: &ast::Expr, right: &ast::Expr) -> Result<Expr> {
        use ast::BinaryOp as B;
        if let Some(op) = compare_op(op) {
            return self.comparison(op, left, right);
        }
        let name = match op {
            B::And | B::Or => return self.connective(op, left, right),
            B::SoundsLike => {
                let (left, right) = (self.scalar(left)?, self.scalar(right)?);
                let (left, right) = (self.call("SOUNDEX", vec![left])?, self.call("SOUNDEX", vec![right])?);
                return typing::compare(CompareOp::Eq, left, right);
            }
            B::Xor => "XOR",
            B::BitOr => "|",
            B::BitAnd => "&",
            B::ShiftLeft => "<<",
            B::ShiftRight => ">>",
            B::Add => "+",
            B::Sub => "-",
            B::Mul => "*",
            B::Div => "/",
            B::IntDiv => "DIV",
            B::Mod => "%",
            _ => "^",
        };
        let mut args = vec![self.scalar(left)?, self.scalar(right)?];
        if name == "XOR" {
            args = args.into_iter().map(|arg| self.as_condition(arg)).collect::<Result<_>>()?;
        }
        self.call(name, args)
    }

    fn comparison(&mut self, op: CompareOp, left: &ast::Expr, right: &ast::Expr) -> Result<Expr> {
        let (left, right) = (self.expr(left)?, self.expr(right)?);
        if width(&left) != width(&right) {
            return Err(Error::new(&errno::ER_OPERAND_COLUMNS, &[&width(&left)]));
        }
        if let Some(expr) = self.row_subquery_comparison(op, &left, &right)? {
            return Ok(expr);
        }
        if width(&left) > 1 {
            self.count_copies(&left, 2)?;
            self.count_copies(&right, 2)?;
        }
        let (mut left, mut right) = (left, right);
        self.fold_beside(&left, [&mut right]);
        self.fold_beside(&right, [&mut left]);
        self.note_compared(&left, &right)?;
        typing::compare(op, left, right)
    }

    /// Folds what is compared with a temporal column, which takes constants as it would store them.
    fn fold_beside<'e>(&self, value: &Expr, others: impl IntoIterator<Item = &'e mut Expr>) {
        let is_column = matches!(value.kind, ExprKind::Slot(_) | ExprKind::Outer { .. });
        if is_column && (value.ty.is_temporal() || value.ty.kind == TypeKind::Year) {
            others.into_iter().for_each(|other| self.fold(other));
        }
    }

    /// IN compares the value with each item where the types differ.
    fn count_list_copies(&mut self, value: &Expr, list: &[Expr]) -> Result<()> {
        if value.is_leaf() { Ok(()) } else { self.count_copies(value, list.len()) }
    }

    /// AND and OR, flattened: a chain of a thousand conditions is one list.
    fn connective(&mut self, op: ast::BinaryOp, left: &ast::Expr, right: &ast::Expr) -> Result<Expr> {
        // The parser balances chains, so both sides may go on. Last in, first out: left before right.
        let mut open = vec![right, left];
        let mut parts = Vec::new();
        while let Some(term) = open.pop() {
            match term {
                ast::Expr::Binary { op: inner, left, right } if *inner == op => open.extend([&**right, &**left]),
                _ => {
                    let part = self.scalar(term)?;
                    parts.push(self.as_condition(part)?);
                }
            }
        }
        Ok(if op == ast::BinaryOp::And { and(parts) } else { or(parts) })
    }

    fn is_truth(&mut self, expr: &ast::Expr, value: ast::Truth, negated: bool) -> Result<Expr> {
        let inner = self.scalar(expr)?;
        let test = match value {
            ast::Truth::Unknown => is_null(inner),
            ast::Truth::True => {
                let condition = self.as_condition(inner)?;
                self.call("IS TRUE", vec![condition])?
            }
            ast::Truth::False => {
                let condition = self.as_condition(inner)?;
                self.call("IS FALSE", vec![condition])?
            }
        };
        Ok(negate_if(negated, test))
    }

    /// `x AT TIME ZONE 'zone'`: of a TIMESTAMP, in UTC, which is all that MySQL knows here.
    fn at_time_zone(&mut self, expr: &ast::Expr, zone: &[u8], interval: bool) -> Result<Expr> {
        let of_literal = matches!(expr, ast::Expr::Literal(ast::Literal::Timestamp(_)));
        let inner = self.scalar(expr)?;
        if !of_literal && !matches!(inner.ty.kind, TypeKind::Timestamp | TypeKind::Null) {
            return Err(Error::new(&errno::ER_INVALID_CAST, &[&"TIMESTAMP WITH TIME ZONE"]));
        }
        if zone != b"+00:00" && (interval || zone != b"UTC") {
            return Err(Error::new(&errno::ER_UNKNOWN_TIME_ZONE, &[&String::from_utf8_lossy(zone)]));
        }
        self.call("AT TIME ZONE", vec![inner])
    }

    fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        whens: &[(ast::Expr, ast::Expr)],
        otherwise: Option<&ast::Expr>,
    ) -> Result<Expr> {
        let operand = operand.map(|e| self.scalar(e)).transpose()?;
        let whens = whens.iter().map(|(w, t)| Ok((self.scalar(w)?, self.scalar(t)?))).collect::<Result<Vec<_>>>()?;
        let otherwise = otherwise.map(|e| self.scalar(e)).transpose()?;
        typing::case(operand, whens, otherwise)
    }

    /// A built-in function or operator; error 1305 for an unknown one.
    pub fn call(&mut self, name: &str, mut args: Vec<Expr>) -> Result<Expr> {
        let Some(def) = func::lookup(name) else {
            let database = self.cx.settings.current_database.as_deref().unwrap_or_default();
            if database.is_empty() {
                return Err(Error::new(&errno::ER_NO_DB_ERROR, &[]));
            }
            return Err(Error::new(&errno::ER_SP_DOES_NOT_EXIST, &[&"FUNCTION", &format!("{database}.{}", name)]));
        };
        self.function_allowed(def.name, args.len())?;
        if def.name == "NULLIF"
            && let [value, other] = &args[..]
        {
            self.count_copies(value, 1)?;
            self.note_compared(value, other)?;
        }
        if matches!(def.name, "GREATEST" | "LEAST") {
            self.note_extreme(&args)?;
        }
        if def.name == "IF" && !args.is_empty() {
            let condition = super::early::truth_parameter(args.remove(0));
            args.insert(0, condition);
        }
        let mut call = typing::call(def, args)?;
        let settings = self.cx.settings;
        if let ExprKind::Call(def, args) = &call.kind
            && func::NULL_IF_ARGUMENTS_ARE.contains(&def.name)
        {
            call.nullable = self.text_is_nullable(args.iter().any(|arg| arg.nullable));
        }
        func::retype_text(&mut call, settings.connection_collation);
        if let Some(locale) = settings.time_names {
            func::retype_names(&mut call, locale, settings.connection_collation);
        }
        if settings.division_decimals != func::DIVISION_DECIMALS && def.name == "/" {
            func::retype_quotient(&mut call, settings.division_decimals)?;
        }
        if settings.sql_mode & sql_mode::NO_UNSIGNED_SUBTRACTION != 0 && def.name == "-" {
            func::retype_difference(&mut call);
        }
        Ok(call)
    }

    /// A function's text is nullable in strict mode: one that is too long is NULL.
    fn text_is_nullable(&self, arguments_are: bool) -> bool {
        arguments_are || sql_mode::is_strict(self.cx.settings.sql_mode)
    }

    pub(super) fn unit(unit: ast::IntervalUnit) -> Expr {
        word(&unit.as_str().to_ascii_uppercase())
    }
}

/// Columns of an operand: those of a row, else one.
pub fn width(expr: &Expr) -> usize {
    match &expr.kind {
        ExprKind::Row(items) => items.len(),
        ExprKind::Subquery(sub) if matches!(sub.kind, crate::expr::SubqueryKind::Scalar) => sub.output().len(),
        _ => 1,
    }
}

/// Error 1241 for a row where one value must stand.
pub fn one_column(expr: Expr) -> Result<Expr> {
    if width(&expr) != 1 {
        return Err(Error::new(&errno::ER_OPERAND_COLUMNS, &[&1]));
    }
    Ok(expr)
}

pub fn predicate(kind: ExprKind, nullable: bool) -> Expr {
    Expr { kind, ty: ColumnType::boolean(), nullable, coercibility: typing::COERCIBILITY_NUMERIC }
}

pub fn is_null(inner: Expr) -> Expr {
    // A constant that cannot be NULL is not computed.
    if !inner.nullable && is_constant(&inner) {
        return Expr::literal(Value::Int(0), ColumnType::boolean());
    }
    predicate(ExprKind::IsNull(Box::new(inner)), false)
}

/// JSON as a condition is compared with the JSON number 0, so that `false` and `"0"` are true. (In IF and CASE it is a number.)
pub fn as_condition(expr: Expr) -> Result<Expr> {
    if expr.ty.kind != TypeKind::Json {
        return typing::quiet_number(expr);
    }
    typing::compare(CompareOp::Ne, expr, Expr::int(0))
}

pub fn negate_if(negated: bool, inner: Expr) -> Expr {
    if negated { inner.negated() } else { inner }
}

pub fn and(parts: Vec<Expr>) -> Expr {
    let nullable = parts.iter().any(|p| p.nullable);
    predicate(ExprKind::And(parts), nullable)
}

pub fn or(parts: Vec<Expr>) -> Expr {
    let nullable = parts.iter().any(|p| p.nullable);
    predicate(ExprKind::Or(parts), nullable)
}

pub fn compare_op(op: ast::BinaryOp) -> Option<CompareOp> {
    Some(match op {
        ast::BinaryOp::Eq => CompareOp::Eq,
        ast::BinaryOp::NullSafeEq => CompareOp::NullSafeEq,
        ast::BinaryOp::Ne => CompareOp::Ne,
        ast::BinaryOp::Lt => CompareOp::Lt,
        ast::BinaryOp::Le => CompareOp::Le,
        ast::BinaryOp::Gt => CompareOp::Gt,
        ast::BinaryOp::Ge => CompareOp::Ge,
        _ => return None,
    })
}

/// The bare NULL.
pub fn null() -> Expr {
    Expr::literal(Value::Null, ColumnType::new(TypeKind::Null))
}
