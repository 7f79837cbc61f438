//! Calls of stored functions. A bound call is one of `STORED`, whose first two arguments are the function's database and name.

use vaquita_parser as ast;
use vaquita_types::{ColumnType, Error, Result, Value, errno};

use super::{Binder, Place};
use crate::env::{EvalCx, StoredCall};
use crate::expr::{Expr, ExprKind};
use crate::function::{FuncCall, FuncDef, FuncType};

/// Never the same twice, as far as plans know: a body may read and change what it likes.
pub static STORED: FuncDef = FuncDef { name: FuncDef::STORED, args: (2, usize::MAX), resolve, eval, foldable: false };

/// As a column's: the value is one of a declared type.
const COERCIBILITY: u8 = 2;

fn resolve(_: &mut Vec<Expr>) -> Result<FuncType> {
    Err(Error::internal("a stored function is typed by its declaration"))
}

fn eval(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let Some((database, name, args)) = parts(call.args) else { return Err(Error::internal("a call without a name")) };
    let args = args.iter().map(|arg| Ok((arg.eval(cx)?.into_owned(), &arg.ty))).collect::<Result<Vec<_>>>()?;
    cx.env.stored_function(&StoredCall { database, name, args, ty: call.ty })
}

/// Database, name and arguments of a call.
pub fn parts(args: &[Expr]) -> Option<(&str, &str, &[Expr])> {
    let (database, rest) = args.split_first()?;
    let (name, rest) = rest.split_first()?;
    Some((text(database)?, text(name)?, rest))
}

fn text(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Literal(Value::Bytes(bytes)) => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}

impl Binder<'_> {
    /// `database` is what the call names.
    pub(super) fn stored_call(&mut self, database: Option<&str>, call: &ast::FuncCall) -> Result<Expr> {
        let disallowed = |def, of: &str| Err(Error::new(def, &[&of, &format!("`{}`", call.written)]));
        let uses = match self.cx.place {
            Place::Statement(uses) => uses,
            Place::Default(of) => return disallowed(&errno::ER_DEFAULT_VAL_GENERATED_NAMED_FUNCTION_IS_NOT_ALLOWED, of),
            Place::Check(of) => return disallowed(&errno::ER_CHECK_CONSTRAINT_NAMED_FUNCTION_IS_NOT_ALLOWED, of),
            Place::Generated(of) => return disallowed(&errno::ER_GENERATED_COLUMN_NAMED_FUNCTION_IS_NOT_ALLOWED, of),
            Place::Functional(_) | Place::Partition => self.uses()?,
        };
        let Some(database) = database.or(self.cx.settings.current_database.as_deref()) else {
            return Err(Error::new(&errno::ER_NO_DB_ERROR, &[]));
        };
        // Nobody learns of functions that they may not call.
        uses.note_function(database, &call.written);
        let Some(function) = self.cx.catalog.function(database, &call.written)? else {
            return Err(Error::new(&errno::ER_SP_DOES_NOT_EXIST, &[&"FUNCTION", &format!("{database}.{}", call.written)]));
        };
        // Its caller may have to run again, as a statement that changes rows.
        self.locking |= function.changes;
        if self.cx.names.is_some() {
            return Err(Error::unsupported("a stored function in a view"));
        }
        if call.args.len() != function.parameters {
            let name = format!("{}.{}", function.database, function.name);
            let (wanted, given) = (function.parameters, call.args.len());
            return Err(Error::new(&errno::ER_SP_WRONG_NO_OF_ARGS, &[&"FUNCTION", &name, &wanted, &given]));
        }
        let named = |text: &str| {
            let ty = ColumnType::varchar(text.chars().count() as u32, Default::default());
            Expr::literal(Value::from(text), ty)
        };
        let mut args = vec![named(&function.database), named(&function.name)];
        args.extend(self.scalars(&call.args)?);
        Ok(Expr { kind: ExprKind::Call(&STORED, args), ty: function.returns, nullable: true, coercibility: COERCIBILITY })
    }
}
