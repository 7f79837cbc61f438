//! What each kind of statement leaves to the binder: every expression and query in it, or explicitly nothing.
//!
//! A new kind of statement does not compile before it is in this list. What is named here is bound, and asked of the account, before the
//! statement does anything; it is bound again, and asked again, where it runs (`Session::with_plan_context`), so that nothing
//! depends on this list being complete but the order of things.

use vaquita_parser::ast::{ExplainTarget, Expr, Query, SetItem, SetValue, Statement as Ast, Xa};

pub enum Binds<'a> {
    Nothing,
    /// It becomes a plan, which is asked about as a whole.
    Plan,
    /// Expressions that see no table of the statement.
    Scalars(Vec<&'a Expr>),
    /// A query whose rows fill a table or that is kept.
    Query(&'a Query),
    /// LOAD DATA and SHOW are bound when they run, before anything else happens. DEFAULT, CHECK and the like may name nothing.
    WhenItRuns,
}

pub fn binds(ast: &Ast) -> Binds<'_> {
    match ast {
        Ast::Query(_) | Ast::Insert(_) | Ast::Update(_) | Ast::Delete(_) => Binds::Plan,
        Ast::Explain(explain) => match &explain.target {
            ExplainTarget::Statement { statement, .. } => binds(statement),
            ExplainTarget::Connection(_) => Binds::Nothing,
        },
        Ast::Do(exprs) => Binds::Scalars(exprs.iter().collect()),
        Ast::Call { args, .. } => Binds::Scalars(args.iter().collect()),
        Ast::Set(items) => Binds::Scalars(items.iter().filter_map(assigned).collect()),
        Ast::CreateTable(create) => create.select.as_deref().map_or(Binds::WhenItRuns, Binds::Query),
        Ast::CreateView(view) => Binds::Query(&view.query),
        // KILL may have no table at all (error 1235).
        Ast::Kill { .. } => Binds::WhenItRuns,
        Ast::LoadData(_) | Ast::Show(_) | Ast::AlterTable(_) | Ast::CreateIndex(_) => Binds::WhenItRuns,
        // EXECUTE runs another statement, which has its own entry. HANDLER's expressions are not carried out.
        Ast::Execute { .. } | Ast::Prepare { .. } | Ast::Deallocate(_) | Ast::Handler(_) | Ast::Unsupported { .. } => {
            Binds::Nothing
        }
        Ast::CreateDatabase { .. }
        | Ast::AlterDatabase { .. }
        | Ast::DropDatabase { .. }
        | Ast::DropTable { .. }
        | Ast::RenameTable(_)
        | Ast::Truncate(_)
        | Ast::DropIndex { .. }
        | Ast::DropView { .. }
        | Ast::DropProgram { .. }
        | Ast::StartTransaction { .. }
        | Ast::Commit(_)
        | Ast::Rollback(_)
        | Ast::Savepoint(_)
        | Ast::RollbackTo(_)
        | Ast::ReleaseSavepoint(_)
        | Ast::LockTables(_)
        | Ast::UnlockTables
        | Ast::LockInstance
        | Ast::UnlockInstance
        | Ast::Xa(
            Xa::Start { .. } | Xa::End { .. } | Xa::Prepare(_) | Xa::Commit { .. } | Xa::Rollback(_) | Xa::Recover { .. },
        )
        | Ast::Use(_)
        | Ast::Describe { .. }
        | Ast::Help(_)
        | Ast::TableMaintenance(_)
        | Ast::Flush(_)
        | Ast::Reset(_)
        | Ast::CreateUser(_)
        | Ast::AlterUser(_)
        | Ast::DropUser { .. }
        | Ast::RenameUser(_)
        | Ast::CreateRole { .. }
        | Ast::DropRole { .. }
        | Ast::Grant(_)
        | Ast::Revoke(_)
        | Ast::SetRole(_)
        | Ast::SetDefaultRole { .. }
        | Ast::Shutdown
        | Ast::Restart => Binds::Nothing,
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
