//! Calls of stored functions. A bound call is one of `STORED`, whose first arguments are the function's database and name, and user and host
//! of the definer of the view that it is in; NULL where it is called for the session.

use vaquita_parser as ast;
use vaquita_types::schema::Definer;
use vaquita_types::{ColumnType, Error, Result, Value, errno};

use super::{Binder, Place};
use crate::env::{EvalCx, StoredCall};
use crate::expr::{Expr, ExprKind};
use crate::function::{FuncCall, FuncDef, FuncType};
use crate::uses::Whose;

/// Never the same twice, as far as plans know: a body may read and change what it likes.
pub static STORED: FuncDef = FuncDef { name: FuncDef::STORED, args: (NAMES, usize::MAX), resolve, eval, foldable: false };

/// The same for the same arguments, says its declaration: a key of an index may be looked for by it.
static DETERMINISTIC: FuncDef = FuncDef { name: FuncDef::DETERMINISTIC, ..STORED };

/// Arguments that the function does not get.
const NAMES: usize = 4;

/// As a column's: the value is one of a declared type.
const COERCIBILITY: u8 = 2;

fn resolve(_: &mut Vec<Expr>) -> Result<FuncType> {
    Err(Error::internal("a stored function is typed by its declaration"))
}

fn eval(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let [database, name, user, host, args @ ..] = call.args else { return Err(Error::internal("a call without a name")) };
    let (Some(database), Some(name)) = (text(database), text(name)) else { return Err(Error::internal("a call without a name")) };
    let args = args.iter().map(|arg| Ok((arg.eval(cx)?.into_owned(), &arg.ty))).collect::<Result<Vec<_>>>()?;
    let invoker = text(user).zip(text(host));
    cx.env.stored_function(&StoredCall { database, name, invoker, args, ty: call.ty })
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
        let Some(database) = database.or(self.database_of_calls()) else {
            return Err(Error::new(&errno::ER_NO_DB_ERROR, &[]));
        };
        // Nobody learns of functions that they may not call.
        uses.note_function(database, &call.written);
        let Some(function) = self.cx.catalog.function(database, &call.written)? else {
            return Err(Error::new(&errno::ER_SP_DOES_NOT_EXIST, &[&"FUNCTION", &format!("{database}.{}", call.written)]));
        };
        // Its caller may have to run again, as a statement that changes rows.
        self.locking |= function.changes;
        self.log_call(call, &function.database, &function.name);
        if call.args.len() != function.parameters {
            let name = format!("{}.{}", function.database, function.name);
            let (wanted, given) = (function.parameters, call.args.len());
            return Err(Error::new(&errno::ER_SP_WRONG_NO_OF_ARGS, &[&"FUNCTION", &name, &wanted, &given]));
        }
        let named = |text: &str| {
            let ty = ColumnType::varchar(text.chars().count() as u32, Default::default());
            Expr::literal(Value::from(text), ty)
        };
        let definer = match self.whose() {
            Whose::View(rights) => rights.definer.clone(),
            Whose::Session => None,
        };
        let of_definer =
            |part: fn(&Definer) -> &str| definer.as_ref().map_or_else(super::expr::null, |definer| named(part(definer)));
        let mut args = vec![named(&function.database), named(&function.name)];
        args.extend([of_definer(|definer| &definer.user), of_definer(|definer| &definer.host)]);
        args.extend(self.scalars(&call.args)?);
        let def = if function.deterministic { &DETERMINISTIC } else { &STORED };
        Ok(Expr { kind: ExprKind::Call(def, args), ty: function.returns, nullable: true, coercibility: COERCIBILITY })
    }
}
