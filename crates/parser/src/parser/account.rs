//! GRANT and REVOKE.
//!
//! A list of privileges and a list of roles look alike until ON or TO comes, so both are read
//! as `Granted` first.

use super::{Parser, Result};
use crate::ast::*;
use crate::error::ParseError;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};

const ALL: &str = "ALL PRIVILEGES";

/// A privilege or a role.
struct Granted {
    /// The words as written.
    text: String,
    host: Option<String>,
    columns: Vec<String>,
    /// Where it stands, if its words are reserved for privileges.
    privilege_at: Option<usize>,
}

/// Privileges of more than one word, by their first: the second words, and the third if any.
fn more_words(first: Kw) -> &'static [Kw] {
    match first {
        Kw::ALTER => &[Kw::ROUTINE],
        Kw::CREATE => &[Kw::TEMPORARY, Kw::VIEW, Kw::ROUTINE, Kw::USER, Kw::TABLESPACE, Kw::ROLE],
        Kw::DROP => &[Kw::ROLE],
        Kw::GRANT => &[Kw::OPTION],
        Kw::SHOW => &[Kw::DATABASES, Kw::VIEW],
        Kw::LOCK => &[Kw::TABLES],
        Kw::REPLICATION => &[Kw::SLAVE, Kw::CLIENT],
        _ => &[],
    }
}

impl Parser<'_> {
    pub(super) fn grant_or_revoke(&mut self, kw: Kw) -> Result<Statement> {
        self.bump();
        if kw == Kw::GRANT { self.grant() } else { self.revoke() }
    }

    fn grant(&mut self) -> Result<Statement> {
        if self.eat2(Kw::PROXY, Kw::ON) {
            let proxied = self.user()?;
            self.expect(Kw::TO)?;
            let users = self.user_list()?;
            let grant_option = self.with_option(Kw::GRANT)?;
            return Ok(Statement::Grant(Box::new(Grant::Proxy { proxied, users, grant_option })));
        }
        let list = self.granted_list()?;
        if self.eat(Kw::ON) {
            let level = self.grant_level()?;
            self.expect(Kw::TO)?;
            let users = self.user_list()?;
            let grant_option = self.with_option(Kw::GRANT)?;
            let as_user = self.grant_as()?;
            let privileges = list.into_iter().map(privilege).collect();
            let grant = Grant::Privileges { privileges, level, users, grant_option, as_user };
            return Ok(Statement::Grant(Box::new(grant)));
        }
        if list.iter().any(|granted| granted.text == ALL) {
            return self.fail();
        }
        self.expect(Kw::TO)?;
        let users = self.user_list()?;
        let admin_option = self.with_option(Kw::ADMIN)?;
        let roles = self.roles(list)?;
        Ok(Statement::Grant(Box::new(Grant::Roles { roles, users, admin_option })))
    }

    /// `WITH GRANT OPTION`, `WITH ADMIN OPTION`
    fn with_option(&mut self, word: Kw) -> Result<bool> {
        if !self.eat(Kw::WITH) {
            return Ok(false);
        }
        self.expect_all(&[word, Kw::OPTION])?;
        Ok(true)
    }

    /// `AS user [WITH ROLE ..]`; the roles are read and dropped with the user kept.
    fn grant_as(&mut self) -> Result<Option<UserName>> {
        if !self.eat(Kw::AS) {
            return Ok(None);
        }
        let user = self.user()?;
        if self.eat(Kw::WITH) {
            self.expect(Kw::ROLE)?;
            self.role_set(true)?;
        }
        Ok(Some(user))
    }

    fn revoke(&mut self) -> Result<Statement> {
        let if_exists = self.if_exists()?;
        let what = self.revoke_what()?;
        self.expect(Kw::FROM)?;
        let users = self.user_list()?;
        let ignore_unknown_user = self.eat(Kw::IGNORE);
        if ignore_unknown_user {
            self.expect_all(&[Kw::UNKNOWN, Kw::USER])?;
        }
        let revoke = Revoke { if_exists, ignore_unknown_user, what, users };
        Ok(Statement::Revoke(Box::new(revoke)))
    }

    fn revoke_what(&mut self) -> Result<RevokeWhat> {
        if self.eat2(Kw::PROXY, Kw::ON) {
            return Ok(RevokeWhat::Proxy(self.user()?));
        }
        let all = self.is(Kw::ALL);
        let list = self.granted_list()?;
        if self.eat(Kw::ON) {
            let level = self.grant_level()?;
            let privileges = list.into_iter().map(privilege).collect();
            return Ok(RevokeWhat::Privileges { privileges, level });
        }
        if all {
            return Ok(RevokeWhat::All);
        }
        Ok(RevokeWhat::Roles(self.roles(list)?))
    }

    /// The list as roles; a privilege's word is no name of a role.
    fn roles(&self, list: Vec<Granted>) -> Result<Vec<UserName>> {
        let privilege = list.iter().find_map(|granted| granted.privilege_at);
        if let Some(at) = privilege {
            let mut error = ParseError::syntax(self.src, at);
            let syntax = vaquita_types::errno::ER_SYNTAX_ERROR.format;
            error.message = error.message.replace(syntax, "Illegal authorization identifier");
            return Err(error);
        }
        Ok(list.into_iter().map(role).collect())
    }

    fn granted_list(&mut self) -> Result<Vec<Granted>> {
        self.comma_list(Self::granted)
    }

    fn granted(&mut self) -> Result<Granted> {
        let start = self.start();
        if self.eat(Kw::ALL) {
            self.eat(Kw::PRIVILEGES);
            let text = ALL.to_string();
            let privilege_at = Some(start);
            return Ok(Granted { text, host: None, columns: Vec::new(), privilege_at });
        }
        let mut text = match self.kind() {
            Tok::Kw(kw) if privilege_word(kw) => {
                self.bump();
                let mut words = kw.as_str().to_string();
                if let Some(second) = self.eat_any(more_words(kw)) {
                    words.push(' ');
                    words.push_str(second.as_str());
                    if second == Kw::TEMPORARY {
                        self.expect(Kw::TABLES)?;
                        words.push_str(" TABLES");
                    }
                } else if matches!(kw, Kw::GRANT | Kw::SHOW | Kw::LOCK) {
                    return self.fail();
                }
                words
            }
            _ => String::new(),
        };
        let privilege_at = if text.is_empty() { None } else { Some(start) };
        if text.is_empty() {
            text = self.ident_or_text()?;
        }
        let host = if self.tok.tok == Tok::At { Some(self.host_name()?) } else { None };
        // Of the static privileges only these exist for columns.
        let has_columns = privilege_at.is_none() || matches!(text.as_str(), "SELECT" | "INSERT" | "UPDATE" | "REFERENCES");
        let columns = if has_columns { self.opt_ident_list()? } else { Vec::new() };
        Ok(Granted { text, host, columns, privilege_at })
    }

    /// `[TABLE|FUNCTION|PROCEDURE] *|*.*|db.*|db.t|t`
    fn grant_level(&mut self) -> Result<GrantLevel> {
        let kind = self.eat_any(&[Kw::TABLE, Kw::FUNCTION, Kw::PROCEDURE]);
        let of_routine = matches!(kind, Some(Kw::FUNCTION | Kw::PROCEDURE));
        let many = |level| if of_routine { GrantLevel::Routines(Box::new(level)) } else { level };
        if self.eat_op(Op::Star) {
            if self.eat_op(Op::Dot) {
                self.expect_op(Op::Star)?;
                return Ok(many(GrantLevel::Global));
            }
            return Ok(many(GrantLevel::CurrentDatabase));
        }
        let first = self.ident()?;
        let mut name = Name { db: None, name: first };
        if self.eat_op(Op::Dot) {
            if self.eat_op(Op::Star) {
                return Ok(many(GrantLevel::Database(name.name)));
            }
            name = Name { db: Some(name.name), name: self.ident()? };
        }
        Ok(match kind {
            Some(Kw::FUNCTION) => GrantLevel::Function(name),
            Some(Kw::PROCEDURE) => GrantLevel::Procedure(name),
            _ => GrantLevel::Table(name),
        })
    }
}

/// Keywords that are static privileges, or the first word of one.
fn privilege_word(kw: Kw) -> bool {
    matches!(
        kw,
        Kw::SELECT
            | Kw::INSERT
            | Kw::UPDATE
            | Kw::REFERENCES
            | Kw::DELETE
            | Kw::USAGE
            | Kw::INDEX
            | Kw::ALTER
            | Kw::CREATE
            | Kw::DROP
            | Kw::EXECUTE
            | Kw::RELOAD
            | Kw::SHUTDOWN
            | Kw::PROCESS
            | Kw::FILE
            | Kw::GRANT
            | Kw::SHOW
            | Kw::SUPER
            | Kw::LOCK
            | Kw::REPLICATION
            | Kw::EVENT
            | Kw::TRIGGER
    )
}

fn privilege(granted: Granted) -> Privilege {
    Privilege { name: granted.text.to_ascii_uppercase(), columns: granted.columns }
}

fn role(granted: Granted) -> UserName {
    UserName::Named { user: granted.text, host: granted.host.unwrap_or_else(|| "%".to_string()) }
}
