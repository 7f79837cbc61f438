//! Vectors: from texts and to texts, and how many elements they have.

use vaquita_types::charset::{CollationId, charset};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno, vector};

use super::args::def;
use super::{FuncCall, FuncDef, FuncType};
use crate::env::EvalCx;
use crate::eval::arg;
use crate::expr::{Expr, ExprKind};
use crate::typing::is_string;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("TO_VECTOR", 1, 1, vector_of_text, to_vector),
    def("STRING_TO_VECTOR", 1, 1, vector_of_text, to_vector),
    def("FROM_VECTOR", 1, 1, text_of_vector, from_vector),
    def("VECTOR_TO_STRING", 1, 1, text_of_vector, from_vector),
    def("VECTOR_DIM", 1, 1, dimensions, vector_dim),
];

fn refused(function: &str) -> Error {
    Error::new(&errno::ER_WRONG_ARGUMENTS, &[&function])
}

/// What may still be anything.
fn is_free(expr: &Expr) -> bool {
    expr.ty.kind == TypeKind::Null || matches!(expr.kind, ExprKind::Param(_))
}

/// Texts, and moments as their texts.
fn vector_of_text(args: &mut Vec<Expr>) -> Result<FuncType> {
    let takes = |expr: &Expr| {
        let ty = &expr.ty;
        let is_text = is_string(ty) || ty.is_temporal() || matches!(ty.kind, TypeKind::Enum | TypeKind::Set);
        is_text && !ty.is_geometry() && !ty.is_vector() || is_free(expr)
    };
    if !args.iter().all(takes) {
        return Err(refused("to_vector"));
    }
    Ok(FuncType { ty: ColumnType::vector(vector::DIMENSIONS_MAX), nullable: true, coercibility: 2 })
}

/// Binary strings are vectors, too.
fn check_vector(args: &[Expr], function: &str) -> Result<()> {
    let takes = |expr: &Expr| {
        let is_binary = expr.ty.is_bytes() && expr.ty.collation == CollationId::BINARY && !expr.ty.is_geometry();
        is_binary || is_free(expr)
    };
    if args.iter().all(takes) { Ok(()) } else { Err(refused(function)) }
}

fn text_of_vector(args: &mut Vec<Expr>) -> Result<FuncType> {
    check_vector(args, "from_vector")?;
    FuncType::ascii(u64::from(u32::MAX))
}

fn dimensions(args: &mut Vec<Expr>) -> Result<FuncType> {
    check_vector(args, "vector_dim")?;
    FuncType::number(ColumnType { length: 10, ..ColumnType::new(TypeKind::Int) }, true)
}

/// Error 6138.
fn no_vector(text: &[u8]) -> Error {
    Error::new(&errno::ER_TO_VECTOR_CONVERSION, &[&String::from_utf8_lossy(text)])
}

fn to_vector(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let text = arg!(call.text(0, cx));
    let own = charset(call.arg_type(0).collation);
    let text = match own.is_ascii_compatible() {
        true => text,
        false => own.convert(charset(CollationId::UTF8MB4_BIN), &text).bytes,
    };
    let vector = vector::parse(&text).ok_or_else(|| no_vector(&text))?;
    Ok(Value::bytes(&vector))
}

fn from_vector(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let bytes = arg!(call.text(0, cx));
    let text = vector::to_text(&bytes).ok_or_else(|| no_vector(b""))?;
    Ok(Value::from(text))
}

fn vector_dim(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let bytes = arg!(call.text(0, cx));
    let elements = vector::elements(&bytes).ok_or_else(|| no_vector(b""))?;
    Ok(Value::Int(elements.count() as i64))
}
