//! What the families share: reading arguments and naming result types.

use std::borrow::Cow;

use vaquita_types::charset::CollationId;
use vaquita_types::decimal::Decimal;
use vaquita_types::temporal::{Date, DateTime, Time};
use vaquita_types::{ColumnType, Result, Value};

use super::{FuncCall, FuncDef, FuncType};
use crate::env::EvalCx;
use crate::eval::coerce::{self, DateNeed};
use crate::expr::Expr;
use crate::typing::{COERCIBILITY_NUMERIC, Collated, aggregate_collations, as_string, convert_charset, string_type};

/// More arguments than any call has.
pub(super) const MANY: usize = usize::MAX;

/// An entry of a family's table: folded if its arguments are constant.
pub(super) const fn def(
    name: &'static str,
    min: usize,
    max: usize,
    resolve: fn(&mut Vec<Expr>) -> Result<FuncType>,
    eval: fn(&FuncCall<'_>, &EvalCx<'_>) -> Result<Value>,
) -> FuncDef {
    FuncDef { name, args: (min, max), resolve, eval, foldable: true }
}

/// An entry that depends on the session, the clock or chance.
pub(super) const fn volatile(
    name: &'static str,
    min: usize,
    max: usize,
    resolve: fn(&mut Vec<Expr>) -> Result<FuncType>,
    eval: fn(&FuncCall<'_>, &EvalCx<'_>) -> Result<Value>,
) -> FuncDef {
    FuncDef { name, args: (min, max), resolve, eval, foldable: false }
}

impl FuncType {
    pub(super) fn number(ty: ColumnType, nullable: bool) -> Result<FuncType> {
        Ok(FuncType { ty, nullable, coercibility: COERCIBILITY_NUMERIC })
    }

    /// Strings made by functions are nullable in MySQL: they may exceed max_allowed_packet.
    pub(super) fn string(chars: u64, collated: Collated) -> Result<FuncType> {
        Ok(FuncType { ty: string_type(chars, collated.collation), nullable: true, coercibility: collated.coercibility })
    }

    /// A string of ASCII characters that no argument gave a collation. In MySQL it has the connection's;
    /// here it is weak like a number's text, so that it takes on that of a literal.
    pub(super) fn ascii(chars: u64) -> Result<FuncType> {
        Ok(FuncType {
            ty: string_type(chars, crate::typing::NUMBER_COLLATION),
            nullable: true,
            coercibility: COERCIBILITY_NUMERIC,
        })
    }

    pub(super) fn binary(bytes: u64) -> Result<FuncType> {
        Ok(FuncType { ty: string_type(bytes, CollationId::BINARY), nullable: true, coercibility: 4 })
    }
}

pub(super) fn any_nullable(args: &[Expr]) -> bool {
    args.iter().any(|a| a.nullable)
}

/// Brings the arguments at `which` to one charset, as text, and says which collation they have.
pub(super) fn common_text(args: &mut [Expr], which: impl Fn(usize) -> bool, name: &str, strict: bool) -> Result<Collated> {
    let picked: Vec<&Expr> = args.iter().enumerate().filter(|(i, _)| which(*i)).map(|(_, e)| e).collect();
    let collated = aggregate_collations(&picked, name, strict)?;
    for (i, arg) in args.iter_mut().enumerate() {
        if which(i) && arg.ty.kind != vaquita_types::TypeKind::Null {
            let taken = std::mem::replace(arg, Expr::literal(Value::Null, ColumnType::null()));
            let mut text = if taken.ty.is_bytes() {
                convert_charset(taken, collated.collation)
            } else {
                as_string(taken, collated.collation)
            };
            // The call reads the collation from its arguments.
            if crate::text::same_charset(text.ty.collation, collated.collation) {
                text.ty.collation = collated.collation;
            }
            *arg = text;
        }
    }
    Ok(collated)
}

impl FuncCall<'_> {
    pub(super) fn len(&self) -> usize {
        self.args.len()
    }

    /// The argument's value; NULL if it is not given.
    pub(super) fn value<'s>(&'s self, i: usize, cx: &EvalCx<'s>) -> Result<Cow<'s, Value>> {
        match self.args.get(i) {
            Some(arg) => arg.eval(cx),
            None => Ok(Cow::Owned(Value::Null)),
        }
    }

    pub(super) fn arg_type(&self, i: usize) -> &ColumnType {
        self.args.get(i).map_or(self.ty, |a| &a.ty)
    }

    pub(super) fn text<'s>(&'s self, i: usize, cx: &EvalCx<'s>) -> Result<Option<Cow<'s, [u8]>>> {
        Ok(match self.value(i, cx)? {
            Cow::Borrowed(Value::Null) | Cow::Owned(Value::Null) => None,
            Cow::Borrowed(Value::Bytes(b)) => Some(Cow::Borrowed(&b[..])),
            Cow::Owned(Value::Bytes(b)) => Some(Cow::Owned(b.into_vec())),
            other => Some(Cow::Owned(coerce::text_of(&other, self.arg_type(i)).into_owned())),
        })
    }

    pub(super) fn int(&self, i: usize, cx: &EvalCx<'_>) -> Result<Option<i128>> {
        let value = self.value(i, cx)?;
        if value.is_null() {
            return Ok(None);
        }
        coerce::to_int(&value, self.arg_type(i), cx.env).map(Some)
    }

    /// As `int`, clamped to 64 bits signed.
    pub(super) fn i64(&self, i: usize, cx: &EvalCx<'_>) -> Result<Option<i64>> {
        Ok(self.int(i, cx)?.map(|n| i64::try_from(n).unwrap_or(i64::MAX)))
    }

    pub(super) fn f64(&self, i: usize, cx: &EvalCx<'_>) -> Result<Option<f64>> {
        let value = self.value(i, cx)?;
        if value.is_null() {
            return Ok(None);
        }
        coerce::to_f64(&value, self.arg_type(i), cx.env).map(Some)
    }

    pub(super) fn decimal(&self, i: usize, cx: &EvalCx<'_>) -> Result<Option<Decimal>> {
        let value = self.value(i, cx)?;
        if value.is_null() {
            return Ok(None);
        }
        coerce::to_decimal(&value, self.arg_type(i), cx.env).map(Some)
    }

    pub(super) fn datetime(&self, i: usize, need: DateNeed, cx: &EvalCx<'_>) -> Result<Option<DateTime>> {
        let value = self.value(i, cx)?;
        coerce::to_datetime(&value, self.arg_type(i), need, cx.env)
    }

    pub(super) fn date(&self, i: usize, need: DateNeed, cx: &EvalCx<'_>) -> Result<Option<Date>> {
        let value = self.value(i, cx)?;
        coerce::to_date(&value, self.arg_type(i), need, cx.env)
    }

    pub(super) fn time(&self, i: usize, cx: &EvalCx<'_>) -> Result<Option<Time>> {
        let value = self.value(i, cx)?;
        coerce::to_time(&value, self.arg_type(i), cx.env)
    }
}

/// Leaves the surrounding function with SQL NULL if the argument is NULL.
macro_rules! arg {
    ($e:expr) => {
        match $e? {
            Some(value) => value,
            None => return Ok(vaquita_types::Value::Null),
        }
    };
}
pub(super) use arg;
