//! Functions whose syntax is their own, and what only a plan can answer: DEFAULT(), VALUES(), ANY_VALUE().

use vaquita_parser as ast;
use vaquita_types::schema::ColumnDefault;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno};

use super::Binder;
use super::expr::negate_if;
use super::literal::word;
use super::scope::{Source, written};
use crate::expr::{Expr, ExprKind};
use crate::{func, text, typing};

impl Binder<'_> {
    pub(super) fn special_call(&mut self, expr: &ast::Expr) -> Result<Expr> {
        use ast::Expr as E;
        match expr {
            E::Func(call) => self.function(call),
            E::DateArith { date, value, unit, subtract } => {
                let args = vec![self.scalar(date)?, self.scalar(value)?, Self::unit(*unit)];
                self.call(if *subtract { "DATE_SUB" } else { "DATE_ADD" }, args)
            }
            E::Extract { unit, expr } => {
                let args = vec![Self::unit(*unit), self.scalar(expr)?];
                self.call("EXTRACT", args)
            }
            E::Trim { side, remove, expr } => {
                let mut args = vec![self.scalar(expr)?];
                if let Some(remove) = remove {
                    args.push(self.scalar(remove)?);
                }
                let name = match (side, remove) {
                    (ast::TrimSide::Both, _) => "TRIM",
                    (ast::TrimSide::Leading, None) => "LTRIM",
                    (ast::TrimSide::Leading, Some(_)) => "TRIM LEADING",
                    (ast::TrimSide::Trailing, None) => "RTRIM",
                    (ast::TrimSide::Trailing, Some(_)) => "TRIM TRAILING",
                };
                self.call(name, args)
            }
            E::TimestampAdd { unit, amount, date } => {
                let args = vec![Self::unit(*unit), self.scalar(amount)?, self.scalar(date)?];
                self.call("TIMESTAMPADD", args)
            }
            E::TimestampDiff { unit, from, to } => {
                let args = vec![Self::unit(*unit), self.scalar(from)?, self.scalar(to)?];
                self.call("TIMESTAMPDIFF", args)
            }
            E::GetFormat { kind, format } => {
                let args = vec![word(kind), self.scalar(format)?];
                self.call("GET_FORMAT", args)
            }
            E::Char { args, charset } => {
                let mut args = self.scalars(args)?;
                match charset {
                    None => self.call("CHAR", args),
                    Some(name) => {
                        let target =
                            text::default_collation(name).ok_or_else(|| Error::new(&errno::ER_UNKNOWN_CHARACTER_SET, &[name]))?;
                        args.insert(0, Expr::int(text::bytes_per_char_min(target).into()));
                        Ok(typing::convert_using(self.call("CHAR OF UNITS", args)?, target))
                    }
                }
            }
            E::WeightString { expr, form } => {
                let mut args = vec![self.scalar(expr)?];
                match form {
                    ast::WeightForm::Whole => {}
                    ast::WeightForm::Chars(n) => args.extend([Expr::int(0), self.count(*n)?, Expr::int(0)]),
                    ast::WeightForm::Binary(n) => {
                        let bytes = ast::CastType::Binary(Some(*n));
                        let arg = args.remove(0);
                        args.push(typing::explicit_cast(arg, &bytes, self.cx.settings.connection_collation)?);
                    }
                    ast::WeightForm::Raw { length, chars, flags } => {
                        args.extend([self.count(*length)?, self.count(*chars)?, self.count(*flags)?]);
                    }
                }
                self.call("WEIGHT_STRING", args)
            }
            E::MemberOf { value, array } => {
                let args = vec![self.scalar(value)?, self.scalar(array)?];
                self.call("MEMBER OF", args)
            }
            E::MatchAgainst { columns, against, mode } => self.match_against(columns, against, *mode),
            E::JsonValue(call) => self.json_value(call),
            _ => Err(Error::unsupported("this expression")),
        }
    }

    fn function(&mut self, call: &ast::FuncCall) -> Result<Expr> {
        if let Some(db) = &call.db {
            return self.stored_call(Some(db), call);
        }
        match call.name.as_str() {
            "any_value" => return self.any_value(call),
            "grouping" => return self.grouping(call),
            "isnull" if call.args.len() == 1 => {
                let inner = self.scalar(&call.args[0])?;
                return Ok(negate_if(false, super::expr::is_null(inner)));
            }
            _ => {}
        }
        if let Some(def) = crate::func::lookup(&call.name).filter(|def| def.name != func::NEGATION) {
            if !(def.args.0..=def.args.1).contains(&call.args.len()) || !comes_in_pairs(def.name, call.args.len()) {
                return Err(Error::new(&errno::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT, &[&call.written]));
            }
            if def.name == "NAME_CONST" && !call.args.iter().enumerate().all(|(at, arg)| is_named_constant(at, arg)) {
                return Err(Error::new(&errno::ER_WRONG_ARGUMENTS, &[&"NAME_CONST"]));
            }
            let mut args = self.scalars(&call.args)?;
            if matches!(def.name, "CHARSET" | "COLLATION") {
                args = args.into_iter().map(|arg| self.document_as_bytes(arg)).collect();
            }
            return self.call(&call.name, args);
        }
        if crate::func::is_of_dictionary(&call.name) {
            return Err(Error::new(&errno::ER_NO_ACCESS_TO_NATIVE_FCT, &[&call.written]));
        }
        self.stored_call(None, call)
    }

    /// A column of documents has the charset binary, though documents have not.
    fn document_as_bytes(&self, expr: Expr) -> Expr {
        match expr.kind {
            ExprKind::Slot(slot) if expr.ty.kind == TypeKind::Json && self.column_def(slot).is_some() => {
                typing::cast_to(expr, ColumnType::new(TypeKind::LongBlob))
            }
            _ => expr,
        }
    }

    pub(super) fn count(&mut self, n: u64) -> Result<Expr> {
        self.literal(&ast::Literal::Int(n))
    }

    /// `VALUES(col)` in ON DUPLICATE KEY UPDATE: the new row's column; elsewhere NULL, as in MySQL.
    pub(super) fn values_of(&mut self, column: &ast::ColumnRef) -> Result<Expr> {
        self.function_allowed("VALUES", 1)?;
        let Some((frame, old, new)) = self.values_row() else {
            self.resolve(column)?;
            return Ok(super::expr::null());
        };
        let of_table = &self.frames[frame].relations[old];
        let is_of_it = column.table.as_deref().is_none_or(|table| of_table.is_called(column.db.as_deref(), table));
        let position = of_table.position(&column.name).filter(|_| is_of_it);
        let Some(position) = position else {
            return Err(Error::new(&errno::ER_BAD_FIELD_ERROR, &[&written(column), &self.clause_name()]));
        };
        let expr = self.column_of(frame, new, position);
        Ok(self.from_frame(frame, expr))
    }

    /// `DEFAULT(col)`.
    pub(super) fn default_of(&mut self, column: &ast::ColumnRef) -> Result<Expr> {
        let expr = self.resolve(column)?;
        let def = match expr.kind {
            ExprKind::Slot(slot) => self.column_def(slot),
            _ => None,
        };
        let Some(def) = def else {
            return Err(Error::unsupported("DEFAULT of a column of another query block"));
        };
        match &def.default {
            _ if def.generated.is_some() => Err(Error::new(&errno::ER_NO_DEFAULT_FOR_FIELD, &[&def.name])),
            ColumnDefault::Value(value) => Ok(Expr {
                kind: ExprKind::Literal(value.clone()),
                ty: def.ty.clone(),
                nullable: def.nullable || value.is_null(),
                coercibility: 4,
            }),
            // What a row is given that says nothing of the column.
            ColumnDefault::None if def.auto_increment => Ok(Expr {
                kind: ExprKind::Literal(auto_increment_default(&def.ty)),
                ty: def.ty.clone(),
                nullable: false,
                coercibility: typing::COERCIBILITY_NUMERIC,
            }),
            ColumnDefault::None if def.nullable => Ok(super::expr::null()),
            ColumnDefault::None => Err(Error::new(&errno::ER_NO_DEFAULT_FOR_FIELD, &[&def.name])),
            ColumnDefault::Now => {
                let fsp = self.literal(&ast::Literal::Int(u64::from(def.ty.decimals)))?;
                let now = self.call("NOW", vec![fsp])?;
                Ok(typing::cast_to(now, def.ty))
            }
            ColumnDefault::Expr(_) => Err(Error::new(&errno::ER_DEFAULT_AS_VAL_GENERATED, &[])),
        }
    }

    fn column_def(&self, slot: usize) -> Option<vaquita_types::schema::ColumnDef> {
        let frame = self.frames.last()?;
        for relation in &frame.relations {
            let (Source::Base(table) | Source::Row(table)) = &relation.source else { continue };
            if let Some(at) = relation.column_of(slot) {
                return table.columns.get(at).cloned();
            }
        }
        None
    }
}

fn auto_increment_default(ty: &ColumnType) -> Value {
    match ty.kind {
        TypeKind::Float | TypeKind::Double => Value::Float(0.0),
        _ if ty.unsigned => Value::UInt(0),
        _ => Value::Int(0),
    }
}

/// Paths and values, or keys and values, of JSON functions.
fn comes_in_pairs(function: &str, args: usize) -> bool {
    match function {
        "JSON_OBJECT" => args.is_multiple_of(2),
        "JSON_SET" | "JSON_INSERT" | "JSON_REPLACE" | "JSON_ARRAY_APPEND" | "JSON_ARRAY_INSERT" => !args.is_multiple_of(2),
        _ => true,
    }
}

/// Name and value that NAME_CONST takes: literals, of which the value may have a sign or a collation. Dates and truth values are functions in MySQL.
fn is_named_constant(at: usize, arg: &ast::Expr) -> bool {
    use ast::{Expr as E, Literal as L};
    match arg {
        E::Literal(L::True | L::False | L::Date(_) | L::Time(_) | L::Timestamp(_)) => false,
        E::Literal(_) => true,
        E::Unary { op: ast::UnaryOp::Neg, expr } | E::Collate { expr, .. } => at == 1 && matches!(**expr, E::Literal(_)),
        _ => false,
    }
}
