//! What a statement needs, and whether its session may do it: MySQL's errors 1044, 1045, 1142, 1143, 1227.
//!
//! `Subject::check` is asked once per statement, before it is planned. An account with everything on `*.*` passes after
//! one comparison; for others the tables of the statement are collected (`tables`). Error texts
//! name the account's host for databases (1044) and the client's host for tables (1142), as MySQL does.

use vaquita_parser::ast::{
    AlterAction, CreateTable, ExplainTarget, Flush, FlushWhat, MaintenanceKind, Name, SelectInto, SetItem, Show,
    Statement as Ast, TableElement, VarScope, Xa,
};
use vaquita_storage::SessionCatalog;
use vaquita_types::errno::{
    ER_ACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR, ER_DBACCESS_DENIED_ERROR, ER_MUST_CHANGE_PASSWORD, ER_NO_DB_ERROR,
    ER_ROLE_NOT_GRANTED, ER_SPECIFIC_ACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR, ER_XAER_RMERR,
};
use vaquita_types::{Error, Result};

use super::privilege as p;
use super::privilege::Bits;
use super::tables::{Tables, Use};
use super::{Access, AccountRecord, resolve};

/// Who asks.
pub struct Subject<'a> {
    pub account: &'a AccountRecord,
    pub access: &'a Access,
    /// The host that the client came from.
    pub client_host: &'a str,
    pub database: Option<&'a str>,
    /// The session's: it may do everything with its temporary tables.
    pub catalog: Option<&'a SessionCatalog>,
}

impl Subject<'_> {
    /// Whether the session may run a statement.
    pub fn check(&self, ast: &Ast) -> Result<()> {
        if self.access.is_unlimited() {
            return Ok(());
        }
        if self.access.expired && !self.sets_own_password(ast) {
            return Err(Error::new(&ER_MUST_CHANGE_PASSWORD, &[]));
        }
        let mut tables = Tables::default();
        match ast {
            Ast::Query(query) => {
                if matches!(query.into, Some(SelectInto::Outfile { .. } | SelectInto::Dumpfile(_))) {
                    self.global(p::FILE, &[], "FILE")?;
                }
                tables.query(query);
            }
            Ast::Insert(insert) => tables.insert(insert),
            Ast::Update(update) => tables.update(update),
            Ast::Delete(delete) => tables.delete(delete),
            Ast::Do(exprs) => tables.exprs(exprs),
            Ast::LoadData(load) => {
                if !load.local && self.access.grants.global & p::FILE == 0 {
                    return Err(Error::new(&ER_ACCESS_DENIED_ERROR, &[&self.account.user, &self.account.host, &"YES"]));
                }
                tables.add(&load.table, p::INSERT);
            }
            Ast::CreateTable(create) => self.create_table(create, &mut tables)?,
            Ast::AlterTable(alter) => {
                tables.add(&alter.name, p::ALTER);
                for action in &alter.actions {
                    match action {
                        AlterAction::AddForeignKey(key) => tables.add(&key.reference.table, p::REFERENCES),
                        AlterAction::RenameTo(to) => {
                            tables.add(&alter.name, p::ALTER | p::DROP);
                            tables.add_permanent(to, p::CREATE | p::INSERT);
                        }
                        _ => {}
                    }
                }
            }
            Ast::DropTable { temporary: false, names, .. } | Ast::DropView { names, .. } => {
                names.iter().for_each(|name| tables.add(name, p::DROP));
            }
            Ast::RenameTable(pairs) => {
                for (from, to) in pairs {
                    tables.add_permanent(from, p::DROP | p::ALTER);
                    tables.add_permanent(to, p::CREATE | p::INSERT);
                }
            }
            Ast::Truncate(name) => tables.add(name, p::DROP),
            Ast::CreateIndex(create) => tables.add(&create.table, p::INDEX),
            Ast::DropIndex { table, .. } => tables.add(table, p::INDEX),
            Ast::CreateView(view) => {
                let need = if view.or_replace || view.alter { p::CREATE_VIEW | p::DROP } else { p::CREATE_VIEW };
                tables.add_permanent(&view.name, need);
                tables.query(&view.query);
            }
            Ast::LockTables(locks) => {
                for lock in locks {
                    if self.is_temporary(&lock.table) {
                        continue;
                    }
                    self.on_database(lock.table.db.as_deref(), p::LOCK_TABLES)?;
                    tables.add(&lock.table, p::SELECT);
                }
            }
            Ast::TableMaintenance(maintenance) => {
                let need = match maintenance.kind {
                    MaintenanceKind::Check | MaintenanceKind::Checksum => p::SELECT,
                    _ => p::SELECT | p::INSERT,
                };
                maintenance.tables.iter().for_each(|name| tables.add(name, need));
            }
            Ast::Describe { table, .. } => return self.describe(table),
            Ast::Explain(explain) => {
                return match &explain.target {
                    ExplainTarget::Statement { statement, .. } => self.check(statement),
                    ExplainTarget::Connection(_) => Ok(()),
                };
            }
            other => return self.check_other(other),
        }
        tables.uses.iter().try_for_each(|table| self.table(table, &tables))
    }

    /// Statements that name no tables. Those about accounts have `rules` of their own, which are asked when they run.
    fn check_other(&self, ast: &Ast) -> Result<()> {
        match ast {
            Ast::CreateDatabase { name, .. } => self.on_database(Some(name), p::CREATE),
            Ast::AlterDatabase { name, .. } => self.on_database(name.as_deref(), p::ALTER),
            Ast::DropDatabase { name, .. } => self.on_database(Some(name), p::DROP),
            Ast::Use(name) => self.may_use(name),
            Ast::Show(show) => self.show(show),
            Ast::Set(items) => items.iter().try_for_each(|item| self.set(item)),
            Ast::Flush(flush) => self.flush(flush),
            Ast::Reset(_) => self.global(p::RELOAD, &[], "RELOAD"),
            Ast::Shutdown | Ast::Restart => self.global(p::SHUTDOWN, &[], "SHUTDOWN"),
            Ast::LockInstance | Ast::UnlockInstance => self.global(0, &["BACKUP_ADMIN"], "BACKUP_ADMIN"),
            Ast::Xa(Xa::Recover { .. }) => {
                let may = self.global(0, &["XA_RECOVER_ADMIN"], "XA_RECOVER_ADMIN");
                may.map_err(|_| Error::new(&ER_XAER_RMERR, &[]))
            }
            _ => Ok(()),
        }
    }

    fn create_table(&self, create: &CreateTable, tables: &mut Tables) -> Result<()> {
        if create.temporary {
            self.on_database(create.name.db.as_deref(), p::CREATE_TEMPORARY_TABLES)?;
        } else {
            tables.add_permanent(&create.name, if create.select.is_some() { p::CREATE | p::INSERT } else { p::CREATE });
        }
        if let Some(like) = &create.like {
            tables.add(like, p::SELECT);
        }
        for element in &create.elements {
            if let TableElement::ForeignKey(key) = element {
                tables.add(&key.reference.table, p::REFERENCES);
            }
        }
        if let Some(query) = &create.select {
            tables.query(query);
        }
        Ok(())
    }

    fn is_temporary(&self, name: &Name) -> bool {
        let database = name.db.as_deref().or(self.database);
        self.catalog.zip(database).is_some_and(|(catalog, database)| catalog.temporary(database, &name.name).is_some())
    }

    fn table(&self, table: &Use, tables: &Tables) -> Result<()> {
        let database = match table.database.as_deref().or(self.database) {
            Some(database) => database,
            None => return Err(Error::new(&ER_NO_DB_ERROR, &[])),
        };
        if !table.permanent && self.catalog.is_some_and(|c| c.temporary(database, &table.table).is_some()) {
            return Ok(());
        }
        if reads_freely(database, &table.table) && table.need & !p::SELECT == 0 {
            return Ok(());
        }
        let have = self.access.grants.on_table(database, &table.table);
        let missing = table.need & !have;
        if missing == 0 {
            let may_lock = have & (p::UPDATE | p::DELETE | p::LOCK_TABLES) != 0;
            return if table.locking && !may_lock {
                Err(self.denied("SELECT with locking clause", &table.table))
            } else {
                Ok(())
            };
        }
        self.columns(database, table, missing, tables)
    }

    /// What is missing on the table may be granted on its columns.
    fn columns(&self, database: &str, table: &Use, missing: Bits, tables: &Tables) -> Result<()> {
        let wanted = p::names(missing).join(", ");
        let Some(grant) = self.access.grants.table(database, &table.table).filter(|g| !g.columns.is_empty()) else {
            return Err(self.denied(&wanted, &table.table));
        };
        for name in p::names(missing) {
            let bit = p::bit(name).unwrap_or(0);
            let granted = |column: &str| grant.columns.iter().any(|(c, bits)| c.eq_ignore_ascii_case(column) && bits & bit != 0);
            if !grant.columns.iter().any(|(_, bits)| bits & bit != 0) {
                return Err(self.denied(name, &table.table));
            }
            let used: Vec<&str> = match bit {
                p::SELECT => tables.read_columns(table).ok_or_else(|| self.denied(name, &table.table))?,
                p::INSERT | p::UPDATE if table.written.is_empty() => return Err(self.denied(name, &table.table)),
                p::INSERT | p::UPDATE => table.written.iter().map(String::as_str).collect(),
                _ => return Err(self.denied(name, &table.table)),
            };
            if let Some(column) = used.iter().find(|column| !granted(column)) {
                let user = &self.account.user;
                return Err(Error::new(&ER_COLUMNACCESS_DENIED_ERROR, &[&name, user, &self.client_host, column, &table.table]));
            }
        }
        Ok(())
    }

    fn denied(&self, command: &str, table: &str) -> Error {
        Error::new(&ER_TABLEACCESS_DENIED_ERROR, &[&command, &self.account.user, &self.client_host, &table])
    }

    fn database_denied(&self, database: &str) -> Error {
        Error::new(&ER_DBACCESS_DENIED_ERROR, &[&self.account.user, &self.account.host, &database])
    }

    fn on_database(&self, database: Option<&str>, need: Bits) -> Result<()> {
        let database = database.or(self.database).ok_or_else(|| Error::new(&ER_NO_DB_ERROR, &[]))?;
        if self.access.grants.on_database(database) & need == need { Ok(()) } else { Err(self.database_denied(database)) }
    }

    /// USE, and the database of a login.
    pub fn may_use(&self, database: &str) -> Result<()> {
        let free = ACCESSIBLE.iter().any(|free| database.eq_ignore_ascii_case(free));
        if self.access.is_unlimited() || free || self.access.grants.sees_database(database) {
            Ok(())
        } else {
            Err(self.database_denied(database))
        }
    }

    /// Whether SHOW DATABASES lists it.
    pub fn sees_database(&self, database: &str) -> bool {
        self.access.is_unlimited()
            || ACCESSIBLE.iter().any(|free| database.eq_ignore_ascii_case(free))
            || self.access.grants.global & p::SHOW_DATABASES != 0
            || self.access.grants.sees_database(database)
    }

    /// The same for a table of it: anything granted on it or its columns.
    pub fn sees(&self, database: &str, table: Option<&str>) -> bool {
        let grants = &self.access.grants;
        match table {
            None => self.sees_database(database),
            Some(_) if self.access.is_unlimited() => true,
            Some(table) => grants.on_table_or_columns(database, table) & p::ALL_TABLE != 0 || reads_freely(database, table),
        }
    }

    /// One of some static privileges on `*.*`, or one of some dynamic ones.
    fn global(&self, any_of: Bits, dynamic: &[&str], text: &str) -> Result<()> {
        let grants = &self.access.grants;
        if grants.global & any_of != 0 || dynamic.iter().any(|name| grants.dynamic.contains_key(*name)) {
            return Ok(());
        }
        Err(Error::new(&ER_SPECIFIC_ACCESS_DENIED_ERROR, &[&text]))
    }

    /// KILL of another account's connection, and seeing its statements.
    pub fn may_kill_others(&self) -> bool {
        let grants = &self.access.grants;
        grants.global & p::SUPER != 0 || grants.dynamic.contains_key("CONNECTION_ADMIN")
    }

    pub fn sees_other_processes(&self) -> bool {
        self.access.grants.global & p::PROCESS != 0
    }

    fn is_me(&self, name: &vaquita_parser::ast::UserName) -> bool {
        let (user, host) = resolve(name, self.account);
        user == self.account.user && host.eq_ignore_ascii_case(&self.account.host)
    }

    fn sets_own_password(&self, ast: &Ast) -> bool {
        match ast {
            Ast::AlterUser(alter) => alter.users.iter().all(|spec| self.is_me(&spec.name)),
            Ast::Set(items) => items.iter().all(|item| match item {
                SetItem::Password(set) => set.user.as_ref().is_none_or(|name| self.is_me(name)),
                other => {
                    !matches!(other, SetItem::SysVar { scope: VarScope::Global | VarScope::Persist | VarScope::PersistOnly, .. })
                }
            }),
            _ => false,
        }
    }

    fn set(&self, item: &SetItem) -> Result<()> {
        match item {
            SetItem::UserVar { value, .. } => self.expr(value),
            SetItem::SysVar { scope: VarScope::Global | VarScope::Persist | VarScope::PersistOnly, .. }
            | SetItem::Transaction { scope: VarScope::Global, .. } => {
                self.global(p::SUPER, &["SYSTEM_VARIABLES_ADMIN"], "SUPER or SYSTEM_VARIABLES_ADMIN")
            }
            _ => Ok(()),
        }
    }

    fn expr(&self, expr: &vaquita_parser::ast::Expr) -> Result<()> {
        let mut tables = Tables::default();
        tables.expr(expr);
        tables.uses.iter().try_for_each(|table| self.table(table, &tables))
    }

    fn flush(&self, flush: &Flush) -> Result<()> {
        let dynamic = match &flush.what {
            FlushWhat::Tables { .. } => "FLUSH_TABLES",
            FlushWhat::Options(options) => match options.first().map(String::as_str) {
                Some("PRIVILEGES") => "FLUSH_PRIVILEGES",
                Some("STATUS") => "FLUSH_STATUS",
                Some("USER_RESOURCES") => "FLUSH_USER_RESOURCES",
                Some("OPTIMIZER_COSTS") => "FLUSH_OPTIMIZER_COSTS",
                _ => return self.global(p::RELOAD, &[], "RELOAD"),
            },
        };
        self.global(p::RELOAD, &[dynamic], &format!("RELOAD or {dynamic}"))
    }

    fn describe(&self, table: &Name) -> Result<()> {
        self.any_on_table(table, "SELECT")
    }

    /// Anything granted on a table or its columns makes it visible.
    fn any_on_table(&self, table: &Name, command: &str) -> Result<()> {
        let database = table.db.as_deref().or(self.database).ok_or_else(|| Error::new(&ER_NO_DB_ERROR, &[]))?;
        let have = self.access.grants.on_table_or_columns(database, &table.name) & (p::ALL_TABLE | p::GRANT_OPTION);
        let free = self.is_temporary(table) || reads_freely(database, &table.name);
        if have != 0 || free { Ok(()) } else { Err(self.denied(command, &table.name)) }
    }

    fn show(&self, show: &Show) -> Result<()> {
        const REPLICATION: &str = "SUPER, REPLICATION CLIENT";
        match show {
            Show::Tables { db, .. } | Show::TableStatus { db, .. } | Show::OpenTables { db, .. } => {
                match db.as_deref().or(self.database) {
                    Some(database) => self.may_use(database),
                    None => Ok(()),
                }
            }
            Show::Columns { table, .. } | Show::Index { table, .. } => self.any_on_table(table, "SELECT"),
            Show::CreateTable(table) => {
                let database = table.db.as_deref().or(self.database).ok_or_else(|| Error::new(&ER_NO_DB_ERROR, &[]))?;
                let have = self.access.grants.on_table(database, &table.name) & p::ALL_TABLE;
                let free = self.is_temporary(table) || reads_freely(database, &table.name);
                if have != 0 || free { Ok(()) } else { Err(self.denied("SHOW", &table.name)) }
            }
            Show::CreateDatabase { name, .. } => self.may_use(name),
            Show::Grants { user: Some(user), .. } if !self.is_me(user) => {
                let have = self.access.grants.on_table("mysql", "user") & p::SELECT;
                if have != 0 { Ok(()) } else { Err(self.denied("SELECT", "user")) }
            }
            Show::CreateUser(user) if !self.is_me(user) => {
                let have = self.access.grants.on_table("mysql", "user") & p::SELECT;
                if have != 0 { Ok(()) } else { Err(self.database_denied("mysql")) }
            }
            Show::Engine { .. } => self.global(p::PROCESS, &[], "PROCESS"),
            Show::BinaryLogs | Show::BinaryLogStatus | Show::ReplicaStatus { .. } => {
                self.global(p::SUPER | p::REPLICATION_CLIENT, &[], REPLICATION)
            }
            Show::Replicas { .. } | Show::BinlogEvents { .. } => self.global(p::REPLICATION_SLAVE, &[], "REPLICATION SLAVE"),
            _ => Ok(()),
        }
    }

    /// The roles that SET ROLE makes active.
    pub fn roles_of(&self, set: &vaquita_parser::ast::RoleSet) -> Result<Vec<(String, String)>> {
        use vaquita_parser::ast::RoleSet;
        let granted = || self.account.roles.iter().map(|r| (r.user.clone(), r.host.clone()));
        match set {
            RoleSet::None => Ok(Vec::new()),
            RoleSet::Default => Ok(self.account.default_roles.clone()),
            RoleSet::All { except } => {
                let except: Vec<_> = except.iter().map(|name| resolve(name, self.account)).collect();
                Ok(granted().filter(|role| !except.contains(role)).collect())
            }
            RoleSet::List(list) => {
                let roles: Vec<_> = list.iter().map(|name| resolve(name, self.account)).collect();
                let missing = roles.iter().find(|role| !granted().any(|g| g == **role));
                match missing {
                    Some((user, host)) => {
                        Err(Error::new(&ER_ROLE_NOT_GRANTED, &[user, host, &self.account.user, &self.account.host]))
                    }
                    None => Ok(roles),
                }
            }
        }
    }
}

const ACCESSIBLE: [&str; 2] = ["information_schema", "performance_schema"];

/// Tables that everybody may read: their rows are filtered or public.
fn reads_freely(database: &str, table: &str) -> bool {
    const PUBLIC: [&str; 8] = [
        "global_variables",
        "session_variables",
        "global_status",
        "session_status",
        "session_connect_attrs",
        "session_account_connect_attrs",
        "keyring_keys",
        "variables_info",
    ];
    database.eq_ignore_ascii_case("information_schema")
        || (database.eq_ignore_ascii_case("performance_schema") && PUBLIC.iter().any(|public| table.eq_ignore_ascii_case(public)))
}
