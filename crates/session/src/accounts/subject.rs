//! What a statement needs, and whether its session may do it: MySQL's errors 1044, 1045, 1142, 1143, 1227.
//!
//! `Subject::check` is asked once per statement, before it is planned, and looks at what the syntax names: objects of DDL, accounts, variables.
//! Tables and columns of expressions and queries are those that the binder resolves (`uses`). An account with everything on `*.*` is refused only
//! what nobody may do: change the schemas that the server fills itself. Error texts name the account's host for databases (1044) and the client's host for tables (1142), as MySQL does.

use vaquita_exec::ddl::foreign_keys::keeps_keys;
use vaquita_exec::system::{self, statements};
use vaquita_parser::StatementKind;
use vaquita_parser::ast::{
    AlterAction, AlterInstance, AlterTable, ColumnAttribute, ColumnDef, CreateTable, ExplainTarget, Flush, FlushWhat, Handler,
    LoadData, LoadDuplicate, MaintenanceKind, Name, PartitionAction, ProgramKind, ResetOption, SetItem, Show, Statement as Ast,
    TableElement, TableMaintenance, TableOption, VarScope, Xa,
};
use vaquita_parser::statement_kind::Asks;
use vaquita_storage::SessionCatalog;
use vaquita_types::errno::{
    ER_ACCESS_DENIED_ERROR, ER_DBACCESS_DENIED_ERROR, ER_MUST_CHANGE_PASSWORD, ER_NO_DB_ERROR,
    ER_PERSIST_ONLY_ACCESS_DENIED_ERROR, ER_PROCACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR, ER_UNKNOWN_ERROR,
    ER_XAER_RMERR,
};
use vaquita_types::schema::ObjectKind;
use vaquita_types::{Error, Result};

use super::privilege as p;
use super::privilege::Bits;
use super::uses::reads_freely;
use super::{Access, AccountRecord, resolve};
use crate::replication::RowsKind;

/// Who asks.
pub struct Subject<'a> {
    pub account: &'a AccountRecord,
    pub access: &'a Access,
    /// The host that the client came from.
    pub client_host: &'a str,
    pub database: Option<&'a str>,
    /// It logged in with a password: the last words of error 1045.
    pub used_password: bool,
    /// The session's: it may do everything with its temporary tables.
    pub catalog: Option<&'a SessionCatalog>,
}

fn routine_kind(kind: ProgramKind) -> ObjectKind {
    if kind == ProgramKind::Function { ObjectKind::Function } else { ObjectKind::Procedure }
}

impl Subject<'_> {
    /// Whether the session may run a statement, as far as its syntax says what it is about. What its expressions and queries
    /// use is the binder's to say: `binds` names them, `check_uses` decides.
    pub fn check(&self, ast: &Ast) -> Result<()> {
        if self.access.expired && !self.sets_own_password(ast) {
            return Err(Error::new(&ER_MUST_CHANGE_PASSWORD, &[]));
        }
        match StatementKind::of(ast).facts().asks {
            Asks::Nothing | Asks::Plan | Asks::WhenItRuns => Ok(()),
            Asks::Syntax => self.check_syntax(ast),
        }
    }

    /// Of a statement whose row says that its syntax names what it needs.
    fn check_syntax(&self, ast: &Ast) -> Result<()> {
        match ast {
            Ast::LoadData(load) => self.load(load),
            Ast::CreateTable(create) => self.create_table(create),
            Ast::AlterTable(alter) => self.alter_table(alter),
            Ast::DropTable { names, .. } => names.iter().try_for_each(|name| self.object(name, p::DROP)),
            // A temporary table of that name is no view.
            Ast::DropView { names, .. } => names.iter().try_for_each(|name| self.permanent(name, p::DROP)),
            Ast::RenameTable(pairs) => pairs.iter().try_for_each(|(from, to)| {
                self.permanent(from, p::DROP | p::ALTER)?;
                self.permanent(to, p::CREATE | p::INSERT)
            }),
            Ast::Truncate(name) => self.may_empty(name),
            Ast::CreateIndex(create) => self.object(&create.table, p::INDEX),
            Ast::DropIndex { table, .. } => self.object(table, p::INDEX),
            Ast::CreateView(view) => {
                self.permanent(&view.name, if view.or_replace || view.alter { p::CREATE_VIEW | p::DROP } else { p::CREATE_VIEW })
            }
            Ast::Handler(Handler::Open { table, .. }) => self.object(table, p::SELECT),
            Ast::LockTables(locks) => {
                locks.iter().filter(|lock| !self.is_temporary(&lock.table)).try_for_each(|lock| self.lock_table(&lock.table))
            }
            Ast::TableMaintenance(maintenance) => self.maintain(maintenance),
            Ast::Describe { table, .. } => self.any_on_table(table, "SELECT"),
            Ast::Explain(explain) => match &explain.target {
                ExplainTarget::Statement { statement, .. } => self.check(statement),
                ExplainTarget::Connection(_) => Ok(()),
            },
            Ast::CreateDatabase { name, .. } => self.on_database(Some(name), p::CREATE),
            Ast::AlterDatabase { name, .. } => self.on_database(name.as_deref(), p::ALTER),
            Ast::DropDatabase { name, .. } => self.on_database(Some(name), p::DROP),
            Ast::Use(name) => self.may_use(name),
            Ast::Show(show) => self.show(show),
            Ast::Set(items) => items.iter().try_for_each(|item| self.set(item)),
            Ast::Flush(flush) => self.flush(flush),
            Ast::Reset(options) if options.iter().any(|option| matches!(option, ResetOption::BinaryLogsAndGtids { .. })) => {
                // MySQL asks twice.
                self.global(p::RELOAD, &["FLUSH_TABLES"], "RELOAD or FLUSH_TABLES")?;
                self.global(p::RELOAD, &[], "RELOAD")
            }
            // `may_forget_settings`, where there is one to forget.
            Ast::Reset(options) if options.iter().any(|option| matches!(option, ResetOption::Persist { .. })) => Ok(()),
            Ast::Reset(_) | Ast::ResetReplica(_) => self.global(p::RELOAD, &[], "RELOAD"),
            Ast::Binlog(_) => {
                self.global(p::SUPER, &["BINLOG_ADMIN", "REPLICATION_APPLIER"], "SUPER, BINLOG_ADMIN or REPLICATION_APPLIER")
            }
            Ast::PurgeLogs(_) => self.global(p::SUPER, &["BINLOG_ADMIN"], "SUPER or BINLOG_ADMIN"),
            Ast::AlterInstance(action) => match action {
                AlterInstance::ReloadTls { .. } => self.global(0, &["CONNECTION_ADMIN"], "CONNECTION_ADMIN"),
                AlterInstance::ReloadKeyring | AlterInstance::RotateInnodbMasterKey => {
                    self.global(p::SUPER, &["ENCRYPTION_KEY_ADMIN"], "SUPER or ENCRYPTION_KEY_ADMIN")
                }
                AlterInstance::RotateBinlogMasterKey => {
                    self.global(p::SUPER, &["BINLOG_ENCRYPTION_ADMIN"], "SUPER or BINLOG_ENCRYPTION_ADMIN")
                }
                AlterInstance::RedoLog(_) => self.global(0, &["INNODB_REDO_LOG_ENABLE"], "INNODB_REDO_LOG_ENABLE"),
            },
            Ast::Shutdown | Ast::Restart => self.global(p::SHUTDOWN, &[], "SHUTDOWN"),
            Ast::LockInstance | Ast::UnlockInstance | Ast::CloneLocal(_) => self.may_back_up(),
            Ast::Xa(Xa::Recover { .. }) => {
                let may = self.global(0, &["XA_RECOVER_ADMIN"], "XA_RECOVER_ADMIN");
                may.map_err(|_| Error::new(&ER_XAER_RMERR, &[]))
            }
            Ast::Call { name, .. } => self.routine(ObjectKind::Procedure, name, p::EXECUTE, "execute"),
            Ast::CreateRoutine(create) => {
                let name = &create.name;
                self.on_database(name.db.as_deref(), p::CREATE_ROUTINE)
            }
            Ast::AlterRoutine(alter) => self.routine(routine_kind(alter.kind), &alter.name, p::ALTER_ROUTINE, "alter routine"),
            Ast::DropProgram { kind, name, .. } => match kind {
                ProgramKind::Procedure | ProgramKind::Function => {
                    self.routine(routine_kind(*kind), name, p::ALTER_ROUTINE, "alter routine")
                }
                ProgramKind::Event => self.on_database(name.db.as_deref(), p::EVENT),
                // It is looked for before the table that it belongs to is known.
                ProgramKind::Trigger => Ok(()),
            },
            _ => Err(Error::internal("nothing says what this statement needs")),
        }
    }

    fn maintain(&self, maintenance: &TableMaintenance) -> Result<()> {
        if maintenance.kind == MaintenanceKind::Optimize && maintenance.no_binlog {
            self.global(0, &["OPTIMIZE_LOCAL_TABLE"], "OPTIMIZE_LOCAL_TABLE")?;
        }
        maintenance.tables.iter().try_for_each(|name| match maintenance.kind {
            MaintenanceKind::Check => self.any_on_table(name, "SELECT"),
            MaintenanceKind::Checksum => self.object(name, p::SELECT),
            MaintenanceKind::Analyze | MaintenanceKind::Optimize | MaintenanceKind::Repair => {
                self.object(name, p::SELECT | p::INSERT)
            }
        })
    }

    fn load(&self, load: &LoadData) -> Result<()> {
        if !load.local && self.access.grants.global & p::FILE == 0 {
            let using = if self.used_password { "YES" } else { "NO" };
            return Err(Error::new(&ER_ACCESS_DENIED_ERROR, &[&self.account.user, &self.account.host, &using]));
        }
        self.object(&load.table, if load.on_duplicate == LoadDuplicate::Replace { p::INSERT | p::DELETE } else { p::INSERT })
    }

    fn create_table(&self, create: &CreateTable) -> Result<()> {
        if create.temporary {
            self.on_database(create.name.db.as_deref(), p::CREATE_TEMPORARY_TABLES)?;
        } else {
            self.permanent(&create.name, if create.select.is_some() { p::CREATE | p::INSERT } else { p::CREATE })?;
        }
        if let Some(like) = &create.like {
            self.object(like, p::SELECT)?;
        }
        self.merged(&create.options)?;
        // MyISAM and its like forget the foreign keys that they read.
        let forgets = |option: &TableOption| matches!(option, TableOption::Engine(engine) if !keeps_keys(engine));
        if create.options.iter().any(forgets) {
            return Ok(());
        }
        create.elements.iter().try_for_each(|element| match element {
            TableElement::ForeignKey(key) => self.referenced(&key.reference.table),
            TableElement::Column(column) => self.referenced_by(column),
            _ => Ok(()),
        })
    }

    /// A parent: what is granted on its columns is not enough, and the error has the database's name in it.
    fn referenced(&self, name: &Name) -> Result<()> {
        let database = name.db.as_deref().or(self.database).ok_or_else(|| Error::new(&ER_NO_DB_ERROR, &[]))?;
        if self.is_temporary(name) || self.access.grants.on_table(database, &name.name) & p::REFERENCES != 0 {
            return Ok(());
        }
        Err(self.denied("REFERENCES", &format!("{database}.{}", name.name)))
    }

    /// REFERENCES at a column.
    fn referenced_by(&self, column: &ColumnDef) -> Result<()> {
        column.attributes.iter().try_for_each(|attribute| match attribute {
            ColumnAttribute::References(reference) => self.referenced(&reference.table),
            _ => Ok(()),
        })
    }

    fn alter_table(&self, alter: &AlterTable) -> Result<()> {
        if let [AlterAction::Partition(action)] = alter.actions.as_slice() {
            return self.alter_partitions(&alter.name, action);
        }
        let renames = alter.actions.iter().any(|action| matches!(action, AlterAction::RenameTo(_)));
        self.object(&alter.name, if renames { p::ALTER | p::DROP } else { p::ALTER })?;
        alter.actions.iter().try_for_each(|action| match action {
            AlterAction::AddForeignKey(key) => self.referenced(&key.reference.table),
            AlterAction::AddColumn { column, .. }
            | AlterAction::ModifyColumn { column, .. }
            | AlterAction::ChangeColumn { column, .. } => self.referenced_by(column),
            AlterAction::RenameTo(to) => self.permanent(to, p::CREATE | p::INSERT),
            AlterAction::Options(options) => self.merged(options),
            _ => Ok(()),
        })
    }

    fn alter_partitions(&self, table: &Name, action: &PartitionAction) -> Result<()> {
        match action {
            PartitionAction::Truncate(_) => self.object(table, p::DROP),
            PartitionAction::Drop(_) => self.object(table, p::ALTER | p::DROP),
            PartitionAction::Analyze(_) | PartitionAction::Optimize(_) | PartitionAction::Repair(_) => {
                self.object(table, p::SELECT | p::INSERT)
            }
            PartitionAction::Check(_) => self.object(table, p::SELECT),
            PartitionAction::Exchange { table: other, .. } => {
                self.object(table, p::ALTER | p::INSERT | p::CREATE | p::DROP)?;
                self.object(other, p::ALTER | p::INSERT | p::CREATE | p::DROP)
            }
            _ => self.object(table, p::ALTER),
        }
    }

    /// The tables of UNION=.
    fn merged(&self, options: &[TableOption]) -> Result<()> {
        options.iter().try_for_each(|option| match option {
            TableOption::Union(names) => names.iter().try_for_each(|name| self.object(name, p::SELECT | p::UPDATE | p::DELETE)),
            _ => Ok(()),
        })
    }

    /// A stored procedure or function, whether it exists or not.
    fn routine(&self, kind: ObjectKind, name: &Name, need: Bits, command: &str) -> Result<()> {
        let database = name.db.as_deref().or(self.database).ok_or_else(|| Error::new(&ER_NO_DB_ERROR, &[]))?;
        self.routine_in((database, kind, &name.name), need, command)
    }

    /// EVENT there: CREATE and ALTER EVENT ask for it behind their definer and their times.
    pub fn may_have_events(&self, database: &str) -> Result<()> {
        self.on_database(Some(database), p::EVENT)
    }

    pub fn may_execute(&self, routine: (&str, ObjectKind, &str)) -> Result<()> {
        self.routine_in(routine, p::EXECUTE, "execute")
    }

    fn routine_in(&self, (database, kind, name): (&str, ObjectKind, &str), need: Bits, command: &str) -> Result<()> {
        if self.access.grants.on_routine(database, kind, name) & need != 0 {
            return Ok(());
        }
        self.system_schema_allows(database, need)?;
        let routine = format!("{database}.{name}");
        Err(Error::new(&ER_PROCACCESS_DENIED_ERROR, &[&command, &self.account.user, &self.account.host, &routine]))
    }

    /// A table that a statement is about, whatever is in it. The session may do everything with its temporary tables.
    fn object(&self, name: &Name, need: Bits) -> Result<()> {
        if self.is_temporary(name) { Ok(()) } else { self.permanent(name, need) }
    }

    /// The same for a name that stands for a permanent table alone: what is created, and RENAME TABLE.
    fn permanent(&self, name: &Name, need: Bits) -> Result<()> {
        let database = name.db.as_deref().or(self.database).ok_or_else(|| Error::new(&ER_NO_DB_ERROR, &[]))?;
        self.system_schema_allows(database, need)?;
        if reads_freely(database, &name.name) && need & !p::SELECT == 0 {
            return Ok(());
        }
        match need & !self.access.grants.on_table_or_columns(database, &name.name) {
            0 => Ok(()),
            missing => Err(self.denied(&p::names(missing).join(", "), &name.name)),
        }
    }

    /// What counts in performance_schema is emptied by whoever may drop it, the rest by nobody.
    fn may_empty(&self, name: &Name) -> Result<()> {
        let database = name.db.as_deref().or(self.database).unwrap_or_default();
        if !database.eq_ignore_ascii_case("performance_schema") || system::table(database, &name.name).is_none() {
            return self.object(name, p::DROP);
        }
        let may = self.access.grants.on_table_or_columns(database, &name.name) & p::DROP != 0;
        match may && statements::may_be_emptied(&name.name) {
            true => Ok(()),
            false => Err(self.denied("DROP", &name.name)),
        }
    }

    /// The TRIGGER privilege of a table.
    pub fn may_have_triggers(&self, database: &str, table: &str) -> Result<()> {
        match self.access.is_unlimited() || self.access.grants.on_table(database, table) & p::TRIGGER != 0 {
            true => Ok(()),
            false => Err(self.denied("TRIGGER", table)),
        }
    }

    fn is_temporary(&self, name: &Name) -> bool {
        let database = name.db.as_deref().or(self.database);
        self.catalog.zip(database).is_some_and(|(catalog, database)| catalog.temporary(database, &name.name).is_some())
    }

    pub fn denied(&self, command: &str, table: &str) -> Error {
        Error::new(&ER_TABLEACCESS_DENIED_ERROR, &[&command, &self.account.user, &self.client_host, &table])
    }

    pub(super) fn database_denied(&self, database: &str) -> Error {
        Error::new(&ER_DBACCESS_DENIED_ERROR, &[&self.account.user, &self.account.host, &database])
    }

    fn on_database(&self, database: Option<&str>, need: Bits) -> Result<()> {
        let database = database.or(self.database).ok_or_else(|| Error::new(&ER_NO_DB_ERROR, &[]))?;
        self.system_schema_allows(database, need)?;
        let drops = need & p::DROP != 0 && database.eq_ignore_ascii_case("performance_schema");
        if !drops && self.access.grants.on_database(database) & need == need {
            Ok(())
        } else {
            Err(self.database_denied(database))
        }
    }

    /// Error 1044 for what may not be done in the schemas that the server fills itself, whatever is granted.
    fn system_schema_allows(&self, database: &str, need: Bits) -> Result<()> {
        let forbidden = match database {
            _ if database.eq_ignore_ascii_case("information_schema") => !p::SELECT,
            _ if database.eq_ignore_ascii_case("performance_schema") => p::NOT_IN_PERFORMANCE_SCHEMA,
            _ => 0,
        };
        match need & forbidden {
            0 => Ok(()),
            _ => Err(self.database_denied(&database.to_ascii_lowercase())),
        }
    }

    /// USE, and the database of a login.
    pub fn may_use(&self, database: &str) -> Result<()> {
        let free = database.eq_ignore_ascii_case("information_schema");
        if self.access.is_unlimited() || free || self.access.grants.enters_database(database) {
            Ok(())
        } else {
            Err(self.database_denied(database))
        }
    }

    /// Whether SHOW DATABASES lists it.
    pub fn sees_database(&self, database: &str) -> bool {
        self.access.is_unlimited()
            || ["information_schema", "performance_schema"].iter().any(|free| database.eq_ignore_ascii_case(free))
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
        if let SetItem::SysVar { name, scope: VarScope::Global | VarScope::Persist | VarScope::PersistOnly, .. } = item
            && name.to_ascii_lowercase().starts_with("vaquita_audit_log")
        {
            // Who administers the server is not thereby above its audit.
            self.global(0, &["AUDIT_ADMIN"], "AUDIT_ADMIN")?;
        }
        match item {
            SetItem::SysVar { scope: VarScope::PersistOnly, .. } => {
                let both = ["SYSTEM_VARIABLES_ADMIN", "PERSIST_RO_VARIABLES_ADMIN"];
                if both.into_iter().all(|name| self.access.grants.dynamic.contains_key(name)) {
                    return Ok(());
                }
                Err(Error::new(&ER_PERSIST_ONLY_ACCESS_DENIED_ERROR, &[&both.join(" and ")]))
            }
            SetItem::SysVar { scope: VarScope::Global | VarScope::Persist, .. }
            | SetItem::Transaction { scope: VarScope::Global, .. } => {
                self.global(p::SUPER, &["SYSTEM_VARIABLES_ADMIN"], "SUPER or SYSTEM_VARIABLES_ADMIN")?;
                match item {
                    SetItem::SysVar { name, .. } if name.eq_ignore_ascii_case("offline_mode") => {
                        const BOTH: &str = "SYSTEM_VARIABLES_ADMIN plus CONNECTION_ADMIN or SUPER";
                        self.global(p::SUPER, &["CONNECTION_ADMIN"], BOTH)
                    }
                    SetItem::SysVar { name, .. } if name.eq_ignore_ascii_case("mandatory_roles") => {
                        const BOTH: &str = "SYSTEM_VARIABLES_ADMIN or SUPER privileges, as well as the ROLE_ADMIN";
                        self.global(0, &["ROLE_ADMIN"], BOTH)
                    }
                    _ => Ok(()),
                }
            }
            SetItem::SysVar { scope: VarScope::Default | VarScope::Session, .. }
            | SetItem::Transaction { .. }
            | SetItem::UserVar { .. }
            | SetItem::Names { .. }
            | SetItem::Charset(_)
            // It has `rules` of its own.
            | SetItem::Password(_) => Ok(()),
        }
    }

    fn lock_table(&self, table: &Name) -> Result<()> {
        self.on_database(table.db.as_deref(), p::LOCK_TABLES)?;
        self.object(table, p::SELECT)
    }

    fn flush(&self, flush: &Flush) -> Result<()> {
        let one_of = |dynamic: &str| self.global(p::RELOAD, &[dynamic], &format!("RELOAD or {dynamic}"));
        let options = match &flush.what {
            FlushWhat::Tables { tables, with_read_lock, for_export } => {
                one_of("FLUSH_TABLES")?;
                let locked = if *with_read_lock || *for_export { &tables[..] } else { &[] };
                return locked.iter().try_for_each(|table| self.lock_table(table));
            }
            FlushWhat::Options(options) => options,
        };
        // MySQL asks in this order, however they are written.
        const OF_THEIR_OWN: [&str; 4] = ["OPTIMIZER_COSTS", "STATUS", "PRIVILEGES", "USER_RESOURCES"];
        for option in OF_THEIR_OWN.into_iter().filter(|option| options.iter().any(|o| o == option)) {
            one_of(&format!("FLUSH_{option}"))?;
        }
        let rest = options.iter().any(|option| !OF_THEIR_OWN.contains(&option.as_str()));
        if rest { self.global(p::RELOAD, &[], "RELOAD") } else { Ok(()) }
    }

    fn is_view(&self, name: &Name) -> Result<bool> {
        let (Some(database), Some(catalog)) = (name.db.as_deref().or(self.database), self.catalog) else { return Ok(false) };
        Ok(!self.is_temporary(name) && catalog.object(database, ObjectKind::View, &name.name)?.is_some())
    }

    /// Anything granted on a table or its columns makes it visible; of what is granted on databases SELECT does.
    fn any_on_table(&self, table: &Name, command: &str) -> Result<()> {
        let database = table.db.as_deref().or(self.database).ok_or_else(|| Error::new(&ER_NO_DB_ERROR, &[]))?;
        let public = ["information_schema", "performance_schema"].iter().any(|public| database.eq_ignore_ascii_case(public));
        let describes = public || self.is_temporary(table) || self.access.grants.describes_table(database, &table.name);
        if describes { Ok(()) } else { Err(self.denied(command, &table.name)) }
    }

    /// CHANGE REPLICATION SOURCE, START and STOP REPLICA, which ask when they have found their channel.
    pub fn may_forget_settings(&self) -> Result<()> {
        self.global(p::SUPER, &["SYSTEM_VARIABLES_ADMIN"], "SUPER or SYSTEM_VARIABLES_ADMIN")
    }

    pub fn may_replicate(&self) -> Result<()> {
        self.global(p::SUPER, &["REPLICATION_SLAVE_ADMIN"], "SUPER or REPLICATION_SLAVE_ADMIN")
    }

    pub fn may_debug(&self) -> Result<()> {
        self.global(p::SUPER, &[], "SUPER")
    }

    pub fn may_back_up(&self) -> Result<()> {
        self.global(0, &["BACKUP_ADMIN"], "BACKUP_ADMIN")
    }

    /// The commands of the protocol that replicas have.
    pub fn may_read_the_log(&self) -> Result<()> {
        self.global(p::REPLICATION_SLAVE, &[], "REPLICATION SLAVE")
    }

    /// Rows of a log in a BINLOG statement are changes of its account. MySQL does not say what it lacks.
    pub fn may_change_rows(&self, database: &str, table: &str, kind: RowsKind) -> Result<()> {
        let need = match kind {
            RowsKind::Come => p::INSERT,
            RowsKind::Change => p::UPDATE,
            RowsKind::Go => p::DELETE,
        };
        let name = Name { db: Some(database.to_string()), name: table.to_string() };
        self.object(&name, need).map_err(|_| Error::new(&ER_UNKNOWN_ERROR, &[]))
    }

    fn show(&self, show: &Show) -> Result<()> {
        const REPLICATION: &str = "SUPER, REPLICATION CLIENT";
        match show {
            Show::Events { db, .. } => {
                let database = db.as_deref().or(self.database).ok_or_else(|| Error::new(&ER_NO_DB_ERROR, &[]))?;
                let holds = self.access.grants.on_database(database) & p::EVENT != 0;
                let system = ["information_schema", "performance_schema"];
                match system.iter().any(|system| database.eq_ignore_ascii_case(system)) {
                    true => self.may_use(database),
                    false if holds => Ok(()),
                    false => Err(self.database_denied(database)),
                }
            }
            Show::Tables { db, .. } | Show::TableStatus { db, .. } | Show::Triggers { db, .. } => {
                match db.as_deref().or(self.database) {
                    Some(database) => self.may_use(database),
                    None => Ok(()),
                }
            }
            Show::CreateEvent(name) => self.on_database(name.db.as_deref(), p::EVENT),
            Show::CreateView(name) => {
                self.object(name, p::SELECT)?;
                if self.is_view(name)? { self.object(name, p::SHOW_VIEW) } else { Ok(()) }
            }
            Show::Columns { table, .. } | Show::Index { table, .. } => self.any_on_table(table, "SELECT"),
            Show::CreateTable(table) => {
                let database = table.db.as_deref().or(self.database).ok_or_else(|| Error::new(&ER_NO_DB_ERROR, &[]))?;
                // Who may empty a table of performance_schema need not see it.
                let in_performance_schema = database.eq_ignore_ascii_case("performance_schema");
                let shows = if in_performance_schema { p::ALL_TABLE & !p::DROP } else { p::ALL_TABLE };
                let have = self.access.grants.on_table(database, &table.name) & shows;
                let free = self.is_temporary(table) || reads_freely(database, &table.name);
                if self.is_view(table)? {
                    self.object(table, p::SELECT)?;
                    return self.object(table, p::SHOW_VIEW);
                }
                if have != 0 || free { Ok(()) } else { Err(self.denied("SHOW", &table.name)) }
            }
            Show::CreateDatabase { name, .. } if self.access.grants.enters_database(name) => Ok(()),
            // The client's host, for once.
            Show::CreateDatabase { name, .. } => {
                Err(Error::new(&ER_DBACCESS_DENIED_ERROR, &[&self.account.user, &self.client_host, name]))
            }
            Show::Grants { user: Some(user), .. } if !self.is_me(user) => {
                // While roles are active MySQL asks for the whole database.
                let grants = &self.access.grants;
                let granted = if grants.with_roles { grants.on_database("mysql") } else { grants.on_table("mysql", "user") };
                let have = granted & p::SELECT;
                if have != 0 { Ok(()) } else { Err(self.denied("SELECT", "user")) }
            }
            // The whole database's, unlike SHOW GRANTS.
            Show::CreateUser(user) if !self.is_me(user) => {
                let have = self.access.grants.on_database("mysql") & p::SELECT;
                if have != 0 { Ok(()) } else { Err(self.database_denied("mysql")) }
            }
            Show::Engine { .. } => self.global(p::PROCESS, &[], "PROCESS"),
            Show::BinaryLogs | Show::BinaryLogStatus | Show::ReplicaStatus { .. } => {
                self.global(p::SUPER | p::REPLICATION_CLIENT, &[], REPLICATION)
            }
            Show::Replicas { .. } | Show::BinlogEvents { .. } => self.may_read_the_log(),
            _ => Ok(()),
        }
    }
}
