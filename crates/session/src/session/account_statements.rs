//! The statements about accounts: CREATE USER, GRANT, SET ROLE …. What the session itself may do is `state::access`'.

use vaquita_exec::ddl::ResultRows;
use vaquita_parser::ast::{PasswordExpire, SetItem, Show};
use vaquita_parser::statement_kind::Class;
use vaquita_parser::{Statement as Ast, StatementKind};
use vaquita_types::{Result, Value};

use super::Session;
use super::exchange::Exchange;
use super::execute::Done;
use crate::accounts::{change_grants, change_users, resolve};
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
        let in_order = accounts.in_order(|wait| server.blocking(wait));
        let by = self.access.actor(database.as_deref(), chars);
        let changed = change_users(accounts, ast, &by).or_else(|| change_grants(accounts, &server.catalog, ast, &by));
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
        let text = self.server.accounts().show_create(&user, &host);
        Some(text.map(|text| (format!("CREATE USER for {user}@{host}"), text)))
    }
}
