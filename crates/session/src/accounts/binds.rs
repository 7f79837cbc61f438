//! The expressions and queries that a statement leaves to the binder, as its row says (`StatementFacts::binds`).
//!
//! What is named here is bound, and asked of the account, before the statement does anything; it is bound again, and asked again, where it
//! runs (`Session::with_plan_context`), so that nothing depends on this list being complete but the order of things.

use vaquita_parser::ast::{DiagnosticsWhat, Expr, Query, SetItem, SetValue, Statement as Ast};

/// Expressions that see no table of the statement: those of a kind that binds `Scalars`.
pub fn scalars(ast: &Ast) -> Vec<&Expr> {
    match ast {
        Ast::Do(exprs) | Ast::Call { args: exprs, .. } => exprs.iter().collect(),
        Ast::Signal(signal) => signal.items.iter().map(|(_, value)| value).collect(),
        Ast::GetDiagnostics(get) => match &get.what {
            DiagnosticsWhat::Condition(number, _) => vec![number],
            DiagnosticsWhat::Statement(_) => Vec::new(),
        },
        Ast::Set(items) => items.iter().filter_map(assigned).collect(),
        _ => Vec::new(),
    }
}

/// The query of a kind that binds `Query`.
pub fn query(ast: &Ast) -> Option<&Query> {
    match ast {
        Ast::CreateTable(create) => create.select.as_deref(),
        Ast::CreateView(view) => Some(&view.query),
        _ => None,
    }
}

fn assigned(item: &SetItem) -> Option<&Expr> {
    match item {
        SetItem::UserVar { value, .. } | SetItem::SysVar { value: SetValue::Expr(value), .. } => Some(value),
        SetItem::SysVar { value: SetValue::Default, .. }
        | SetItem::Names { .. }
        | SetItem::Charset(_)
        | SetItem::Transaction { .. }
        | SetItem::Password(_) => None,
    }
}
