//! The views and routines of `sys` as the catalog stores them, made without a session: each is bound to the ones before it, of which none is
//! stored yet.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use vaquita_exec::catalog::{PlanCatalog, function_of};
use vaquita_exec::ddl::views::own_view;
use vaquita_parser::Statement as Ast;
use vaquita_parser::parse_one;
use vaquita_plan::catalog::{Catalog as PlannerCatalog, StoredFunction, TableStatistics, View};
use vaquita_plan::settings::PlanSettings;
use vaquita_storage::SessionCatalog;
use vaquita_types::charset::CollationId;
use vaquita_types::schema::{Definer, ObjectKind, SqlSecurity, StoredObject, TableDef, TableRef};
use vaquita_types::{Error, Result, sql_mode};

use super::{DATABASE, text};
use crate::server::Server;
use crate::session::routine_record;

/// All of them, with versions and times that the catalog gives.
pub fn objects(server: &Server, definer: (&str, &str)) -> Result<Vec<StoredObject>> {
    let options = PlanSettings::DEFAULT.parser_options();
    let catalog = SessionCatalog::new(server.catalog.clone());
    let drafts = Drafts { stored: PlanCatalog::new(&catalog), objects: RefCell::default() };
    let mut made = Vec::new();
    for text in text::routines() {
        let Ast::CreateRoutine(create) = parse_one(text.as_bytes(), &options)?.0 else { continue };
        let kind = if create.returns.is_some() { ObjectKind::Function } else { ObjectKind::Procedure };
        let object = routine_record(draft(kind, &create.name.name, definer), &create);
        drafts.add(&object);
        made.push(object);
    }
    for (name, text) in text::views() {
        let Ast::Query(query) = parse_one(text.as_bytes(), &options)?.0 else { continue };
        let object = own_view(draft(ObjectKind::View, &name, definer), &query, &drafts)
            .map_err(|error| Error::internal(format_args!("view {DATABASE}.{name}: {}", error.message())))?;
        drafts.add(&object);
        made.push(object);
    }
    Ok(made)
}

fn draft(kind: ObjectKind, name: &str, (user, host): (&str, &str)) -> StoredObject {
    const COLLATION: CollationId = CollationId::UTF8MB4_0900_AI_CI;
    StoredObject {
        kind,
        database: DATABASE.to_string(),
        name: name.to_string(),
        version: 0,
        definer: Definer { user: user.to_string(), host: host.to_string() },
        security: SqlSecurity::Invoker,
        sql_mode: sql_mode::DEFAULT,
        client_collation: COLLATION,
        connection_collation: COLLATION,
        database_collation: COLLATION,
        created_us: 0,
        altered_us: 0,
        comment: String::new(),
        characteristics: Vec::new(),
        text: String::new(),
    }
}

/// The catalog with what will be stored in it.
struct Drafts<'a> {
    stored: PlanCatalog<'a>,
    objects: RefCell<HashMap<(ObjectKind, String), Arc<StoredObject>>>,
}

impl Drafts<'_> {
    fn add(&self, object: &StoredObject) {
        let key = (object.kind, object.kind.key_of(&object.name));
        self.objects.borrow_mut().insert(key, Arc::new(object.clone()));
    }

    fn find(&self, database: &str, kind: ObjectKind, name: &str) -> Option<Arc<StoredObject>> {
        let key = (kind, kind.key_of(name));
        (database == DATABASE).then(|| self.objects.borrow().get(&key).cloned()).flatten()
    }
}

impl PlannerCatalog for Drafts<'_> {
    fn table(&self, database: &str, name: &str) -> Result<Option<TableRef>> {
        self.stored.table(database, name)
    }

    fn view(&self, database: &str, name: &str) -> Result<Option<Arc<View>>> {
        match self.find(database, ObjectKind::View, name) {
            Some(object) => View::parse(object).map(|view| Some(Arc::new(view))),
            None => self.stored.view(database, name),
        }
    }

    fn function(&self, database: &str, name: &str) -> Result<Option<StoredFunction>> {
        match self.find(database, ObjectKind::Function, name) {
            Some(object) => function_of(&object).map(Some),
            None => self.stored.function(database, name),
        }
    }

    fn database_exists(&self, database: &str) -> Result<bool> {
        self.stored.database_exists(database)
    }

    fn statistics(&self, def: &TableDef) -> TableStatistics {
        self.stored.statistics(def)
    }
}
