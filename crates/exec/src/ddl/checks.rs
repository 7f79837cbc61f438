//! CHECK constraints and DEFAULT (expr): kept as text that MySQL would print, bound when they are made and
//! when rows are written (`dml::change`).

use std::collections::HashMap;
use std::sync::Arc;

use vaquita_parser::ast;
use vaquita_parser::printer::{Style, print_expr};
use vaquita_plan::bind::{Place, PlanContext, bind_over_row};
use vaquita_plan::expr::{Expr, ExprKind};
use vaquita_plan::visit;
use vaquita_types::errno::{
    ER_BAD_FIELD_ERROR, ER_CHECK_CONSTRAINT_DUP_NAME, ER_CHECK_CONSTRAINT_REFERS_AUTO_INCREMENT_COLUMN,
    ER_CHECK_CONSTRAINT_REFERS_UNKNOWN_COLUMN, ER_COLUMN_CHECK_CONSTRAINT_REFERENCES_OTHER_COLUMN,
    ER_DEFAULT_VAL_GENERATED_NON_PRIOR, ER_DEFAULT_VAL_GENERATED_REF_AUTO_INC, ER_INCORRECT_TYPE,
    ER_NON_BOOLEAN_EXPR_FOR_CHECK_CONSTRAINT, ER_TOO_LONG_IDENT,
};
use vaquita_types::limits::IDENTIFIER_CHARS_MAX;
use vaquita_types::schema::{CheckDef, ColumnDefault, TableDef};
use vaquita_types::{ColumnType, Error, Result};

use super::Ddl;
use crate::dml::stored_exprs::parse_stored;

/// The greatest number of a name that a table's constraints have without being given one.
pub(super) fn last_generated_check(def: &TableDef) -> u64 {
    let number = |name: &str| {
        let (table, rest) = name.split_at_checked(def.name.len())?;
        if !table.eq_ignore_ascii_case(&def.name) {
            return None;
        }
        rest.strip_prefix("_chk_")?.parse().ok()
    };
    def.options.checks.iter().filter_map(|check| number(&check.name)).max().unwrap_or(0)
}

/// Gives columns in the expressions of `def` the case that their own names have. Columns that `before` has already stay as they are. MySQL keeps
/// CHECK as it is written until the next ALTER TABLE.
pub(super) fn use_column_names(def: &mut TableDef, before: Option<&TableDef>) {
    let names: HashMap<String, String> =
        def.columns.iter().map(|column| (column.name.to_lowercase(), column.name.clone())).collect();
    let is_old = |is: &dyn Fn(&TableDef) -> bool| before.is_some_and(is);
    for check in &mut def.options.checks {
        if is_old(&|old| old.options.checks.iter().any(|other| other.expr == check.expr)) {
            check.expr = with_names(&check.expr, &names);
        }
    }
    for column in &mut def.columns {
        if is_old(&|old| {
            old.columns.iter().any(|o| o.id == column.id && o.default == column.default && o.generated == column.generated)
        }) {
            continue;
        }
        if let ColumnDefault::Expr(text) = &mut column.default {
            *text = with_names(text, &names);
        }
        if let Some(generated) = &mut column.generated {
            generated.expr = with_names(&generated.expr, &names);
        }
    }
}

/// A printed expression with these names, by their lower case, in place of those that are the same but for case.
fn with_names(text: &str, names: &HashMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['`', '\'']) {
        let (head, tail) = rest.split_at(at);
        out.push_str(head);
        let end = quoted_len(tail);
        let (quoted, after) = tail.split_at(end);
        let name = quoted.strip_prefix('`').and_then(|name| name.strip_suffix('`')).map(|name| name.replace("``", "`"));
        match name.and_then(|name| names.get(&name.to_lowercase())) {
            Some(name) => out.push_str(&format!("`{}`", name.replace('`', "``"))),
            None => out.push_str(quoted),
        }
        rest = after;
    }
    out + rest
}

/// How long the text in quotes is that `text` begins with.
fn quoted_len(text: &str) -> usize {
    let mut chars = text.char_indices();
    let Some((_, quote)) = chars.next() else { return 0 };
    while let Some((at, c)) = chars.next() {
        if c == '\\' && quote == '\'' {
            chars.next();
        } else if c == quote {
            if text.get(at + 1..).is_some_and(|rest| rest.starts_with(quote)) {
                chars.next();
            } else {
                return at + 1;
            }
        }
    }
    text.len()
}

/// The names of columns in a printed expression.
fn names_in(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '\'']) {
        let tail = rest.get(at..).unwrap_or_default();
        let (quoted, after) = tail.split_at(quoted_len(tail));
        if let Some(name) = quoted.strip_prefix('`').and_then(|name| name.strip_suffix('`')) {
            names.push(name.replace("``", "`"));
        }
        rest = after;
    }
    names
}

impl Ddl<'_> {
    /// The text of an expression that is kept with a table.
    pub(super) fn expression_text(&self, expr: &ast::Expr) -> String {
        let charset = self.connection_charset();
        print_expr(expr, Style { charset: Some(charset), cast_charset: Some(charset), unqualified: true })
    }

    /// Adds a constraint; one without a name is `table_chk_` and the number after `generated`. One that stands at a `column` may read no other.
    pub(super) fn add_check(
        &self,
        check: &ast::CheckConstraint,
        column: Option<&str>,
        def: &mut TableDef,
        generated: &mut u64,
    ) -> Result<()> {
        self.session.check_interrupt()?;
        let name = match &check.name {
            Some(name) if !name.is_empty() => name.clone(),
            _ => {
                *generated += 1;
                format!("{}_chk_{generated}", def.name)
            }
        };
        if def.options.checks.iter().any(|c| c.name.eq_ignore_ascii_case(&name)) {
            return Err(Error::new(&ER_CHECK_CONSTRAINT_DUP_NAME, &[&name]));
        }
        // Unlike a table's, it may end with spaces, or be nothing else.
        if name.chars().count() > IDENTIFIER_CHARS_MAX {
            return Err(Error::new(&ER_TOO_LONG_IDENT, &[&name]));
        }
        let expr = self.expression_text(&check.expr);
        let is_other = |name: &String| column.is_some_and(|column| name.to_lowercase() != column.to_lowercase());
        // What a query names is no column of the table. The query is refused later.
        let mut has_query = false;
        check.expr.queries(&mut |_| has_query = true);
        if !has_query && names_in(&expr).iter().any(is_other) {
            return Err(Error::new(&ER_COLUMN_CHECK_CONSTRAINT_REFERENCES_OTHER_COLUMN, &[&name]));
        }
        def.options.checks.push(CheckDef { name, expr, enforced: check.enforced });
        Ok(())
    }

    /// Error 3822 if another table of the database has a constraint of a name that is new in this one. Temporary tables have names of their own.
    pub(super) fn check_names_free(&self, def: &TableDef, before: Option<&TableDef>) -> Result<()> {
        let has = |table: &TableDef, name: &str| table.options.checks.iter().any(|c| c.name.eq_ignore_ascii_case(name));
        let added: Vec<&str> = def.options.checks.iter().map(|check| check.name.as_str()).collect();
        let added: Vec<&str> = added.into_iter().filter(|name| !before.is_some_and(|before| has(before, name))).collect();
        if added.is_empty() {
            return Ok(());
        }
        for name in self.catalog.tables(&def.database)? {
            let Some(table) = self.catalog.permanent(&def.database, &name)? else { continue };
            if before.is_some_and(|before| before.id == table.def.id) {
                continue;
            }
            if let Some(taken) = added.iter().find(|name| has(&table.def, name)) {
                return Err(Error::new(&ER_CHECK_CONSTRAINT_DUP_NAME, &[taken]));
            }
        }
        Ok(())
    }

    /// Binds all expressions of a definition, which finds unknown columns and functions. `before`: the table's before it is altered.
    pub(super) fn check_expressions(&self, def: &TableDef, before: Option<&TableDef>) -> Result<()> {
        self.check_generated(def)?;
        let has_exprs = def.columns.iter().any(|c| matches!(c.default, ColumnDefault::Expr(_)));
        if def.options.checks.is_empty() && !has_exprs {
            return Ok(());
        }
        let catalog = crate::catalog::PlanCatalog::new(self.catalog);
        let table = Arc::new(def.clone());
        for check in &def.options.checks {
            self.session.check_interrupt()?;
            let context = PlanContext::new(&catalog, Place::Check(&check.name));
            let bound = bind_over_row(&parse_stored(&check.expr)?, &table, 0, &context);
            let bound = bound.map_err(|error| match unknown_column(&error) {
                Some(column) if before.is_none() => {
                    Error::new(&ER_CHECK_CONSTRAINT_REFERS_UNKNOWN_COLUMN, &[&check.name, &column])
                }
                Some(column) => {
                    Error::new(&ER_BAD_FIELD_ERROR, &[&column, &format_args!("check constraint {} expression", check.name)])
                }
                None => error,
            })?;
            let is_old = before.is_some_and(|before| before.options.checks.iter().any(|old| old.name == check.name));
            if !is_old && !is_condition(&bound) {
                return Err(Error::new(&ER_NON_BOOLEAN_EXPR_FOR_CHECK_CONSTRAINT, &[&check.name]));
            }
            let read = visit::slots(&bound);
            if read.iter().filter_map(|at| def.columns.get(*at)).any(|column| column.auto_increment) {
                return Err(Error::new(&ER_CHECK_CONSTRAINT_REFERS_AUTO_INCREMENT_COLUMN, &[&check.name]));
            }
            if let Some(vector) = read.iter().filter_map(|at| def.columns.get(*at)).find(|column| column.ty.is_vector()) {
                return Err(Error::new(&ER_INCORRECT_TYPE, &[&vector.name, &"CHECK CONSTRAINT"]));
            }
        }
        for (position, column) in def.columns.iter().enumerate() {
            if let ColumnDefault::Expr(text) = &column.default {
                let context = PlanContext::new(&catalog, Place::Default(&column.name));
                let bound = bind_over_row(&parse_stored(text)?, &table, 0, &context);
                let bound = bound.map_err(|error| match unknown_column(&error) {
                    Some(column) => Error::new(&ER_BAD_FIELD_ERROR, &[&column, &"default value expression"]),
                    None => error,
                })?;
                refuse_later_defaults(def, position, &visit::slots(&bound))?;
            }
        }
        Ok(())
    }
}

/// Whether MySQL takes the expression for a truth value: of functions that give back one of their arguments it never does.
fn is_condition(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::And(_) | ExprKind::Or(_) | ExprKind::Not(_) | ExprKind::IsNull(_) => true,
        ExprKind::Compare(..) | ExprKind::InList(..) => true,
        ExprKind::Literal(_) => expr.ty == ColumnType::boolean(),
        ExprKind::Call(def, _) => match def.name {
            "JSON_CONTAINS" | "JSON_CONTAINS_PATH" | "JSON_VALID" | "STRCMP" => true,
            "ANY_VALUE" | "COALESCE" | "GREATEST" | "IF" | "IFNULL" | "LEAST" | "NULLIF" => false,
            _ => expr.ty == ColumnType::boolean(),
        },
        _ => false,
    }
}

/// Errors 3767 and 3768: the default of the column at `position` reads columns that have no value yet when it is computed.
fn refuse_later_defaults(def: &TableDef, position: usize, read: &[usize]) -> Result<()> {
    let name = def.columns.get(position).map_or("", |column| column.name.as_str());
    for other in read {
        let Some(column) = def.columns.get(*other) else { continue };
        if column.auto_increment {
            return Err(Error::new(&ER_DEFAULT_VAL_GENERATED_REF_AUTO_INC, &[&name]));
        }
        if *other >= position && (column.generated.is_some() || matches!(column.default, ColumnDefault::Expr(_))) {
            return Err(Error::new(&ER_DEFAULT_VAL_GENERATED_NON_PRIOR, &[&name]));
        }
    }
    Ok(())
}

/// The name in error 1054.
pub(super) fn unknown_column(error: &Error) -> Option<String> {
    let name = error.message().strip_prefix("Unknown column '")?.split('\'').next()?;
    error.is(&ER_BAD_FIELD_ERROR).then(|| name.to_string())
}
