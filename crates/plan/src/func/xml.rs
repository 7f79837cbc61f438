//! EXTRACTVALUE(xml, xpath) and UPDATEXML(xml, xpath, new): `types::xml` does the work.
//!
//! The path must be the same for all rows (error 1105). One that is a literal is parsed when the statement is bound, any other at each
//! call. A text that is no document gives NULL and warning 1525.

use vaquita_types::charset::charset;
use vaquita_types::errno::{ER_UNKNOWN_ERROR, ER_WRONG_VALUE};
use vaquita_types::xml::{Document, Evaluation, Host, Path, Scalar};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, sql_mode};

use super::args::{common_text, def};
use super::{FuncCall, FuncDef, FuncType};
use crate::env::{Env, EvalCx, Level};
use crate::eval::arg;
use crate::expr::{Expr, ExprKind};
use crate::visit;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("EXTRACTVALUE", 2, 2, |args| resolve(args, "extractvalue"), extract),
    def("UPDATEXML", 3, 3, |args| resolve(args, "updatexml"), update),
];

fn resolve(args: &mut Vec<Expr>, name: &str) -> Result<FuncType> {
    let collated = common_text(args, |_| true, name, false)?;
    if let Some(path) = args.get(1) {
        if !is_constant(path) {
            return Err(Error::with_message(&ER_UNKNOWN_ERROR, "Only constant XPATH queries are supported"));
        }
        if let ExprKind::Literal(Value::Bytes(text)) = &path.kind {
            Path::parse(text)?;
        }
    }
    if !charset(collated.collation).is_ascii_compatible() {
        let message = format!("Character set '{}' is not supported by XPATH", charset(collated.collation).name);
        return Err(Error::with_message(&ER_UNKNOWN_ERROR, message));
    }
    let ty = ColumnType { length: u32::MAX, collation: collated.collation, ..ColumnType::new(TypeKind::LongText) };
    Ok(FuncType { ty, nullable: true, coercibility: collated.coercibility })
}

/// It has one value for all rows.
fn is_constant(path: &Expr) -> bool {
    !visit::any(path, &|e| match &e.kind {
        ExprKind::Slot(_) | ExprKind::Outer { .. } | ExprKind::AssignVar(..) | ExprKind::Match(_) => true,
        ExprKind::Call(def, _) => !def.is_steady(),
        ExprKind::Subquery(sub) => sub.correlated,
        _ => false,
    })
}

struct OfStatement<'a>(&'a dyn Env);

impl Host for OfStatement<'_> {
    fn check(&self) -> Result<()> {
        self.0.check_interrupt()
    }

    fn warn(&self, warning: Error) {
        let is_division = warning.is(&vaquita_types::errno::ER_DIVISION_BY_ZERO);
        if !is_division || self.0.sql_mode() & sql_mode::ERROR_FOR_DIVISION_BY_ZERO != 0 {
            self.0.warn(Level::Warning, warning);
        }
    }

    fn user_variable(&self, name: &str) -> Scalar {
        match self.0.user_var(name) {
            Value::Null => Scalar::Null,
            Value::Int(n) => Scalar::Int(n),
            Value::UInt(n) => i64::try_from(n).map_or(Scalar::Float(n as f64, Some(0)), Scalar::Int),
            Value::Float(x) => Scalar::Float(x, None),
            Value::Decimal(d) => Scalar::Float(d.to_f64(), Some(d.scale())),
            other => Scalar::Text(vaquita_types::convert::to_text(&other, &ColumnType::null())),
        }
    }
}

fn read<'t>(xml: &'t [u8], cx: &EvalCx<'_>) -> Result<Option<Document<'t>>> {
    // Settings of the run are asked for so that constants are not computed when the plan is made, where nothing interrupts.
    let _ = cx.env.run_settings();
    match Document::read(xml, &|| cx.env.check_interrupt())? {
        Ok(document) => Ok(Some(document)),
        Err(error) => {
            cx.env.warn(Level::Warning, Error::new(&ER_WRONG_VALUE, &[&"XML", &error]));
            Ok(None)
        }
    }
}

fn extract(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let path = Path::parse(&arg!(call.text(1, cx)))?;
    let xml = arg!(call.text(0, cx));
    let Some(document) = read(&xml, cx)? else { return Ok(Value::Null) };
    let host = OfStatement(cx.env);
    Ok(Evaluation::new(&document, call.ty.collation, &host).text(&path)?.map_or(Value::Null, Value::from))
}

fn update(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let path = Path::parse(&arg!(call.text(1, cx)))?;
    let (xml, new) = (arg!(call.text(0, cx)), arg!(call.text(2, cx)));
    if !path.is_nodes() {
        return Ok(Value::Null);
    }
    let Some(document) = read(&xml, cx)? else { return Ok(Value::Null) };
    let host = OfStatement(cx.env);
    match Evaluation::new(&document, call.ty.collation, &host).lone_node(&path)? {
        Some(node) => Ok(Value::from(document.replaced(node, &new))),
        None => Ok(Value::bytes(&*xml)),
    }
}
