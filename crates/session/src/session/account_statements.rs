//! The statements about accounts: CREATE USER, GRANT, SET ROLE …. What the session itself may do is `state::access`'.

use vaquita_parser::ast::{SetItem, Show};
use vaquita_parser::statement_kind::Class;
use vaquita_parser::{Statement as Ast, StatementKind};
use vaquita_types::Result;

use super::Session;
use super::execute::Done;
use crate::accounts::{change_grants, change_users, resolve};

impl Session {
    /// Statements about accounts. `None`: it is none.
    pub(super) fn account_statement(&mut self, ast: &Ast) -> Option<Result<Done>> {
        if let Ast::SetRole(set) = ast {
            return Some(self.access.set_role(set).map(|()| Done::nothing()));
        }
        (StatementKind::of(ast).facts().class == Class::Account).then(|| self.change_accounts(ast))
    }

    fn change_accounts(&mut self, ast: &Ast) -> Result<Done> {
        let database = self.env.database();
        self.access.actor(database.as_deref()).may_begin(ast)?;
        self.enter_ddl(None)?;
        let (accounts, by) = (self.server.accounts(), self.access.actor(database.as_deref()));
        let changed = change_users(accounts, ast, &by).or_else(|| change_grants(accounts, &self.server.catalog, ast, &by));
        self.locked.end_ddl();
        for (level, note) in changed.unwrap_or_else(|| Ok(Vec::new()))? {
            self.env.push_warning(level, note);
        }
        Ok(Done::nothing())
    }

    /// SET PASSWORD, which stands alone in its SET.
    pub(super) fn set_password(&mut self, items: &[SetItem]) -> Option<Result<Done>> {
        let [SetItem::Password(set)] = items else { return None };
        if let Err(error) = self.enter_ddl(None) {
            return Some(Err(error));
        }
        let done = self.server.accounts().set_password(set, &self.access.actor(None));
        self.locked.end_ddl();
        Some(done.map(|()| Done::nothing()))
    }

    /// SHOW CREATE USER: the name of its column and the statement.
    pub(super) fn show_create_user(&self, show: &Show) -> Option<Result<(String, String)>> {
        let Show::CreateUser(name) = show else { return None };
        let (user, host) = resolve(name, self.access.account());
        let text = self.server.accounts().show_create(&user, &host);
        Some(text.map(|text| (format!("CREATE USER for {user}@{host}"), text)))
    }
}
