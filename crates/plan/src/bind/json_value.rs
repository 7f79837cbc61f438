//! JSON_VALUE: the type of RETURNING, and defaults of ON EMPTY and ON ERROR, which must fit it when the statement is read.

use vaquita_parser as ast;
use vaquita_types::charset::CollationId;
use vaquita_types::json::Json;
use vaquita_types::{ColumnType, Result, TypeKind, Value};

use super::Binder;
use super::expr::null;
use crate::eval::coerce::{printable, text_of};
use crate::eval::json::syntax_error;
use crate::expr::{Expr, ExprKind};
use crate::func::json_value::{ERROR_ON_EMPTY, ERROR_ON_ERROR, default_value};
use crate::{text, typing};

/// Without RETURNING.
const CHARS: u32 = 512;

impl Binder<'_> {
    pub(super) fn json_value(&mut self, call: &ast::JsonValue) -> Result<Expr> {
        let doc = self.scalar(&call.doc)?;
        let path = self.literal(&ast::Literal::String(call.path.clone()))?;
        let ty = returned(call.returning.as_ref())?;
        let on_empty = self.json_default(call.on_empty.as_ref(), &ty)?;
        let on_error = self.json_default(call.on_error.as_ref(), &ty)?;
        let flag = |on: &Option<ast::JsonOn>, bit| if matches!(on, Some(ast::JsonOn::Error)) { bit } else { 0 };
        let flags = flag(&call.on_empty, ERROR_ON_EMPTY) | flag(&call.on_error, ERROR_ON_ERROR);
        let flags = self.count(flags)?;
        self.call("JSON_VALUE", vec![doc, path, on_empty, on_error, flags])
    }

    fn json_default(&mut self, on: Option<&ast::JsonOn>, ty: &ColumnType) -> Result<Expr> {
        let none = Expr::literal(Value::Null, ty.clone());
        let Some(ast::JsonOn::Default(written)) = on else { return Ok(none) };
        let literal = self.scalar(written)?;
        let ExprKind::Literal(value) = &literal.kind else { return Ok(none) };
        let json = match value {
            Value::Null => return Ok(none),
            Value::Int(i) => Json::Int(*i),
            Value::UInt(u) => Json::UInt(*u),
            Value::Float(f) => Json::Double(*f),
            Value::Decimal(d) => Json::Decimal(d.clone().into()),
            Value::Bytes(bytes) => {
                let utf8 = text::to_utf8(bytes, literal.ty.collation);
                match ty.kind {
                    TypeKind::Json => Json::parse(utf8.as_bytes()).map_err(|e| syntax_error(e, 1, "json_value"))?,
                    _ => Json::String(utf8.into()),
                }
            }
            moment => Json::String(printable(&text_of(moment, &literal.ty)).into()),
        };
        Ok(Expr::literal(default_value(&json, ty, self.cx.settings.sql_mode)?, ty.clone()))
    }
}

/// Texts without a length are long ones.
fn returned(target: Option<&ast::CastType>) -> Result<ColumnType> {
    let Some(target) = target else { return Ok(ColumnType::varchar(CHARS, CollationId::UTF8MB4_0900_BIN)) };
    let cast = typing::explicit_cast(null(), target, CollationId::UTF8MB4_0900_BIN)?.ty;
    Ok(match target {
        ast::CastType::Char { length: None, .. } => {
            ColumnType { length: u32::MAX, collation: cast.collation, ..ColumnType::new(TypeKind::LongText) }
        }
        ast::CastType::Binary(None) => {
            ColumnType { length: u32::MAX, collation: CollationId::BINARY, ..ColumnType::new(TypeKind::LongBlob) }
        }
        ast::CastType::Binary(Some(length)) => typing::string_type(*length, CollationId::BINARY),
        _ if cast.kind == TypeKind::MediumText => ColumnType { kind: TypeKind::LongText, length: u32::MAX, ..cast },
        _ => cast,
    })
}
