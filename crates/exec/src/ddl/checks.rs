//! CHECK constraints and DEFAULT (expr): kept as text that MySQL would print, bound when they are made and
//! when rows are written (`dml::change`).

use std::collections::HashMap;
use std::sync::Arc;

use vaquita_parser::ast;
use vaquita_parser::printer::{Style, print_expr};
use vaquita_plan::bind::{Place, PlanContext, bind_over_row};
use vaquita_plan::visit;
use vaquita_types::errno::{
    ER_BAD_FIELD_ERROR, ER_CHECK_CONSTRAINT_DUP_NAME, ER_DEFAULT_VAL_GENERATED_NON_PRIOR, ER_DEFAULT_VAL_GENERATED_REF_AUTO_INC,
    ER_INCORRECT_TYPE, ER_TOO_LONG_IDENT,
};
use vaquita_types::limits::IDENTIFIER_CHARS_MAX;
use vaquita_types::schema::{CheckDef, ColumnDefault, TableDef};
use vaquita_types::{Error, Result};

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

impl Ddl<'_> {
    /// The text of an expression that is kept with a table.
    pub(super) fn expression_text(&self, expr: &ast::Expr) -> String {
        let charset = self.connection_charset();
        print_expr(expr, Style { charset: Some(charset), cast_charset: Some(charset), unqualified: true })
    }

    /// Adds a constraint; one without a name is `table_chk_` and the number after `generated`.
    pub(super) fn add_check(&self, check: &ast::CheckConstraint, def: &mut TableDef, generated: &mut u64) -> Result<()> {
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
        def.options.checks.push(CheckDef { name, expr, enforced: check.enforced });
        Ok(())
    }

    /// Binds all expressions of a definition, which finds unknown columns and functions.
    pub(super) fn check_expressions(&self, def: &TableDef) -> Result<()> {
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
                Some(column) => {
                    Error::new(&ER_BAD_FIELD_ERROR, &[&column, &format_args!("check constraint {} expression", check.name)])
                }
                None => error,
            })?;
            let read = visit::slots(&bound);
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
