//! What the families share: reading arguments and naming result types.

use vaquita_types::charset::CollationId;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};

use super::{FuncCall, FuncDef, FuncType};
use crate::env::EvalCx;
use crate::expr::{Expr, ExprKind};
use crate::typing::{
    COERCIBILITY_NUMERIC, Collated, aggregate_collations, as_string, check_constant, convert_charset, is_string,
    string_collation, string_type, text_beside_text, text_of_binary,
};

/// More arguments than any call has.
pub(super) const MANY: usize = usize::MAX;

/// Most bytes of a string whose length MySQL computes (MAX_BLOB_WIDTH).
pub(super) const SUM_BYTES_MAX: u64 = 1 << 24;
/// The same of one that is ASCII in utf8mb4.
pub(super) const SUM_CHARS_MAX: u64 = SUM_BYTES_MAX / 4;

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

    /// A string whose length is a sum or product.
    pub(super) fn sum(chars: u64, collated: Collated) -> Result<FuncType> {
        let char_bytes = u64::from(crate::text::bytes_per_char_max(collated.collation)).max(1);
        FuncType::string(chars.min(SUM_BYTES_MAX / char_bytes), collated)
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

/// Makes each argument what `read` makes of it: `as_number`, `as_decimal`.
pub(super) fn each_read(args: &mut [Expr], read: fn(Expr) -> Result<Expr>) -> Result<()> {
    for arg in args {
        let taken = std::mem::replace(arg, Expr::literal(Value::Null, ColumnType::null()));
        *arg = read(taken)?;
    }
    Ok(())
}

pub(super) fn any_nullable(args: &[Expr]) -> bool {
    args.iter().any(|a| a.nullable)
}

/// As `common_text`, for functions that change their first argument: its collation is the result's, whatever those of the others are.
/// Others that are binary become texts when the call is evaluated, with error 3854 if they are none.
pub(super) fn text_like_first(args: &mut [Expr], which: impl Fn(usize) -> bool) -> Result<Collated> {
    let Some(first) = args.first() else { return Err(Error::internal("a text of nothing")) };
    // NULL has the charset binary.
    if matches!(first.kind, ExprKind::Literal(Value::Null)) && first.ty.kind == TypeKind::Null {
        return Ok(Collated { collation: CollationId::BINARY, coercibility: 4, ascii: false });
    }
    // Of a parameter nothing is known yet.
    if first.ty.kind == TypeKind::Null {
        return common_text(args, which, "concat", false);
    }
    let collated = string_collation(first);
    for (_, arg) in args.iter_mut().enumerate().filter(|(i, _)| which(*i)) {
        if !is_string(&arg.ty) || arg.ty.collation == collated.collation {
            continue;
        }
        if collated.collation == CollationId::BINARY {
            arg.ty.collation = CollationId::BINARY;
        } else if arg.ty.collation == CollationId::BINARY {
            let taken = std::mem::replace(arg, Expr::literal(Value::Null, ColumnType::null()));
            *arg = text_of_binary(taken, collated.collation)?;
        } else {
            check_constant(arg, collated.collation)?;
        }
    }
    bring(args, which, collated);
    Ok(collated)
}

/// An argument as Unicode.
pub(super) fn as_utf8(call: &FuncCall<'_>, i: usize, cx: &EvalCx<'_>) -> Result<Option<String>> {
    let Some(text) = call.text(i, cx)? else { return Ok(None) };
    let ty = call.arg_type(i);
    let is_text = is_string(ty) && ty.collation != CollationId::BINARY;
    Ok(Some(if is_text { crate::text::to_utf8(&text, ty.collation) } else { String::from_utf8_lossy(&text).into_owned() }))
}

/// As `common_text`, where a binary string beside a text that is stronger is a text too, with error 3854 if it is none.
pub(super) fn one_text(args: &mut [Expr], which: impl Fn(usize) -> bool, name: &str) -> Result<Collated> {
    let picked: Vec<&Expr> = args.iter().enumerate().filter(|(i, _)| which(*i)).map(|(_, e)| e).collect();
    let collation = aggregate_collations(&picked, name, false)?.collation;
    if collation != CollationId::BINARY {
        for (_, arg) in args.iter_mut().enumerate().filter(|(i, _)| which(*i)) {
            let taken = std::mem::replace(arg, Expr::literal(Value::Null, ColumnType::null()));
            *arg = text_beside_text(taken, collation)?;
        }
    }
    common_text(args, which, name, false)
}

/// Brings the arguments at `which` to one charset, as text, and says which collation they have.
pub(super) fn common_text(args: &mut [Expr], which: impl Fn(usize) -> bool, name: &str, strict: bool) -> Result<Collated> {
    let picked: Vec<&Expr> = args.iter().enumerate().filter(|(i, _)| which(*i)).map(|(_, e)| e).collect();
    let collated = aggregate_collations(&picked, name, strict)?;
    bring(args, which, collated);
    Ok(collated)
}

fn bring(args: &mut [Expr], which: impl Fn(usize) -> bool, collated: Collated) {
    for (i, arg) in args.iter_mut().enumerate() {
        if which(i) && arg.ty.kind != TypeKind::Null {
            let taken = std::mem::replace(arg, Expr::literal(Value::Null, ColumnType::null()));
            let mut text = if taken.ty.is_bytes() {
                convert_charset(taken, collated.collation)
            } else {
                as_string(taken, collated.collation)
            };
            // The call reads the collation from its arguments.
            let is_binary = is_string(&text.ty) && text.ty.collation == CollationId::BINARY;
            if is_binary || crate::text::same_charset(text.ty.collation, collated.collation) {
                text.ty.collation = collated.collation;
            }
            *arg = text;
        }
    }
}
