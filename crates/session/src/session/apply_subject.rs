//! What a statement of a source's log is about, for the filters of its channel.

use vaquita_parser::ast::{Name, Statement as Ast, TableRef};
use vaquita_parser::parse_one;

use super::Session;

/// What a statement changes. Databases are those that it names; `None`: the current one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Database(String),
    Tables(Vec<(Option<String>, String)>),
    /// Stored programs, and what is not understood.
    Other,
}

impl Session {
    pub fn subject_of(&self, sql: &[u8]) -> Subject {
        let text = self.client_text(sql);
        match parse_one(&text, &self.env.settings.plan.parser_options()) {
            Ok((ast, _)) => subject(&ast),
            Err(_) => Subject::Other,
        }
    }
}

fn subject(ast: &Ast) -> Subject {
    let one = |name: &Name| Subject::Tables(vec![table(name)]);
    match ast {
        Ast::CreateDatabase { name, .. } | Ast::DropDatabase { name, .. } | Ast::AlterDatabase { name: Some(name), .. } => {
            Subject::Database(name.clone())
        }
        Ast::CreateTable(create) => one(&create.name),
        Ast::AlterTable(alter) => one(&alter.name),
        Ast::Truncate(name) => one(name),
        Ast::CreateIndex(create) => one(&create.table),
        Ast::DropIndex { table, .. } => one(table),
        Ast::CreateView(create) => one(&create.name),
        Ast::CreateTrigger(create) => one(&create.table),
        Ast::DropTable { names, .. } | Ast::DropView { names, .. } => Subject::Tables(names.iter().map(table).collect()),
        Ast::RenameTable(renames) => Subject::Tables(renames.iter().flat_map(|(from, to)| [table(from), table(to)]).collect()),
        Ast::TableMaintenance(maintenance) => Subject::Tables(maintenance.tables.iter().map(table).collect()),
        Ast::Insert(insert) => one(&insert.table),
        Ast::LoadData(load) => one(&load.table),
        Ast::Update(update) => Subject::Tables(tables_of(&update.tables)),
        Ast::Delete(delete) => Subject::Tables(tables_of(&delete.from)),
        // As in MySQL, whose grant tables the filters are asked for.
        Ast::CreateUser(_)
        | Ast::AlterUser(_)
        | Ast::DropUser { .. }
        | Ast::RenameUser(_)
        | Ast::CreateRole { .. }
        | Ast::DropRole { .. }
        | Ast::Grant(_)
        | Ast::Revoke(_)
        | Ast::SetDefaultRole { .. } => Subject::Tables(vec![(Some("mysql".to_string()), "user".to_string())]),
        _ => Subject::Other,
    }
}

fn table(name: &Name) -> (Option<String>, String) {
    (name.db.clone(), name.name.clone())
}

fn tables_of(references: &[TableRef]) -> Vec<(Option<String>, String)> {
    let mut found = Vec::new();
    let mut left: Vec<&TableRef> = references.iter().rev().collect();
    while let Some(reference) = left.pop() {
        match reference {
            TableRef::Table(factor) => found.push(table(&factor.name)),
            TableRef::Join(join) => left.extend([&join.right, &join.left]),
            TableRef::List(list) => left.extend(list.iter().rev()),
            TableRef::Derived { .. } | TableRef::JsonTable(_) => {}
        }
    }
    found
}
