//! The statements about accounts: CREATE USER, GRANT, SET ROLE …. What the session itself may do is `state::access`'.

use std::collections::HashSet;

use vaquita_exec::ddl::ResultRows;
use vaquita_parser::ast::{PasswordExpire, SetItem, Show, UserName};
use vaquita_parser::statement_kind::Class;
use vaquita_parser::{Statement as Ast, StatementKind};
use vaquita_plan::env::Level;
use vaquita_types::errno::{ER_CANNOT_USER_REFERENCED_AS_DEFINER, ER_USER_REFERENCED_AS_DEFINER};
use vaquita_types::schema::{Definer, ObjectKind};
use vaquita_types::{Error, Result, Value};

use super::Session;
use super::exchange::Exchange;
use super::execute::Done;
use crate::accounts::{Notes, change_grants, change_users, resolve};
use crate::variables::Var;

impl Session {
    /// Statements about accounts. `None`: it is none.
    pub(super) fn account_statement(&mut self, ast: &Ast, exchange: &mut Exchange<'_>) -> Option<Result<Done>> {
        if let Ast::SetRole(set) = ast {
            return Some(self.access.set_role(set).map(|()| Done::nothing()));
        }
        (StatementKind::of(ast).facts().class == Class::Account).then(|| self.change_accounts(ast, exchange))
    }

    /// Characters of passwords that the server makes.
    fn password_chars(&self) -> usize {
        match self.env.settings.of(Var::GeneratedRandomPasswordLength) {
            Value::UInt(chars) => chars as usize,
            Value::Int(chars) => chars.max(0) as usize,
            _ => 0,
        }
    }

    /// Tells the passwords that a statement has made.
    fn put_passwords(&mut self, made: Option<ResultRows>, exchange: &mut Exchange<'_>) -> Result<Done> {
        match made {
            Some(made) => self.put_rows(&made.columns, &made.rows, exchange),
            None => Ok(Done::nothing()),
        }
    }

    fn change_accounts(&mut self, ast: &Ast, exchange: &mut Exchange<'_>) -> Result<Done> {
        let database = self.env.database();
        let chars = self.password_chars();
        self.access.actor(database.as_deref(), chars).may_begin(ast)?;
        self.enter_ddl(None)?;
        let server = self.server.clone();
        let accounts = server.accounts();
        let definers = self.referenced_definers(ast);
        let in_order = accounts.in_order(|wait| server.blocking(wait));
        let by = self.access.actor(database.as_deref(), chars);
        let changed = || change_users(accounts, ast, &by).or_else(|| change_grants(accounts, &server.catalog, ast, &by));
        let changed = match definers {
            Err(error) => Some(Err(error)),
            Ok(warnings) => changed().map(|done| done.map(|notes| warnings.into_iter().chain(notes).collect())),
        };
        let made = by.random.rows(self.env.connection_collation());
        let changed = changed.unwrap_or_else(|| Ok(Vec::new()));
        let told = changed.and_then(|changed| self.tell_accounts(ast).map(|()| changed));
        drop(in_order);
        self.locked.end_ddl();
        let changed = told?;
        if let Ast::AlterUser(alter) = ast
            && matches!(alter.options.password_expire, Some(PasswordExpire::Now))
            && alter.users.iter().any(|user| self.access.is_own(&user.name))
        {
            self.access.expire();
        }
        for (level, note) in changed {
            self.env.push_warning(level, note);
        }
        self.put_passwords(made, exchange)
    }

    /// Warnings 4005 for accounts that come, go or get another name while stored objects have them as their definer; error 4006 for who may
    /// leave no object without one.
    fn referenced_definers(&self, ast: &Ast) -> Result<Notes> {
        let (operation, names): (&str, Vec<&UserName>) = match ast {
            Ast::CreateUser(create) => ("CREATE USER", create.users.iter().map(|spec| &spec.name).collect()),
            Ast::CreateRole { roles, .. } => ("CREATE ROLE", roles.iter().collect()),
            Ast::DropUser { users, .. } => ("DROP USER", users.iter().collect()),
            Ast::DropRole { roles, .. } => ("DROP ROLE", roles.iter().collect()),
            Ast::RenameUser(pairs) => ("RENAME USER", pairs.iter().flat_map(|(from, to)| [from, to]).collect()),
            _ => return Ok(Notes::new()),
        };
        const OBJECTS: &[(&str, &[ObjectKind])] = &[
            ("an event", &[ObjectKind::Event]),
            ("a view", &[ObjectKind::View]),
            ("a stored routine", &[ObjectKind::Procedure, ObjectKind::Function]),
            ("a trigger", &[ObjectKind::Trigger]),
        ];
        let mut definers: Vec<(&str, HashSet<Definer>)> = OBJECTS.iter().map(|(what, _)| (*what, HashSet::new())).collect();
        for database in self.server.catalog.databases()? {
            self.client.interrupt.check()?;
            for ((_, kinds), (_, definers)) in OBJECTS.iter().zip(&mut definers) {
                for kind in *kinds {
                    let objects = self.server.catalog.objects(&database.name, *kind)?;
                    definers.extend(objects.iter().map(|object| object.definer.clone()));
                }
            }
        }
        let mut notes = Notes::new();
        for name in names {
            let (user, host) = resolve(name, self.access.account());
            let definer = Definer { user, host };
            for (what, _) in definers.iter().filter(|(_, definers)| definers.contains(&definer)) {
                let account = format_args!("'{}'@'{}'", definer.user, definer.host);
                if !self.access.may_name_missing_definer() {
                    return Err(Error::new(&ER_CANNOT_USER_REFERENCED_AS_DEFINER, &[&operation, &account, what]));
                }
                notes.push((Level::Warning, Error::new(&ER_USER_REFERENCED_AS_DEFINER, &[&account, what])));
            }
        }
        Ok(notes)
    }

    /// SET PASSWORD, which stands alone in its SET.
    pub(super) fn set_password(&mut self, items: &[SetItem], exchange: &mut Exchange<'_>) -> Option<Result<Done>> {
        let [SetItem::Password(set)] = items else { return None };
        if let Err(error) = self.enter_ddl(None) {
            return Some(Err(error));
        }
        let server = self.server.clone();
        let in_order = server.accounts().in_order(|wait| server.blocking(wait));
        let by = self.access.actor(None, self.password_chars());
        let done = server.accounts().set_password(set, &by);
        let made = by.random.rows(self.env.connection_collation());
        let told = done.and_then(|()| self.tell_password(set));
        drop(in_order);
        self.locked.end_ddl();
        Some(told.and_then(|()| self.put_passwords(made, exchange)))
    }

    /// SHOW CREATE USER: the name of its column and the statement.
    pub(super) fn show_create_user(&self, show: &Show) -> Option<Result<(String, String)>> {
        let Show::CreateUser(name) = show else { return None };
        let (user, host) = resolve(name, self.access.account());
        let as_hex = self.env.settings.of(Var::PrintIdentifiedWithAsHex) != Value::Int(0);
        let text = self.server.accounts().show_create(&user, &host, as_hex);
        Some(text.map(|text| (format!("CREATE USER for {user}@{host}"), text)))
    }
}
