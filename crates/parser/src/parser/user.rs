//! Accounts: names, CREATE USER, ALTER USER, RENAME USER, roles.

use std::ops::RangeInclusive;

use super::{Parser, Result};
use crate::ParseError;
use crate::ast::*;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};
use vaquita_types::errno;
use vaquita_types::limits::{HOST_CHARS_MAX, USER_CHARS_MAX};

/// Most of FAILED_LOGIN_ATTEMPTS, and most days of PASSWORD_LOCK_TIME, in MySQL.
const LOCK_NUMBER_MAX: u64 = 32_767;
/// Most days of PASSWORD EXPIRE INTERVAL, which MySQL keeps in 16 bits.
const EXPIRE_DAYS_MAX: u64 = 65_535;

impl Parser<'_> {
    /// `user[@host]`, CURRENT_USER
    pub(super) fn user(&mut self) -> Result<UserName> {
        if self.eat(Kw::CURRENT_USER) {
            if self.eat_op(Op::LParen) {
                self.expect_op(Op::RParen)?;
            }
            return Ok(UserName::CurrentUser);
        }
        self.role()
    }

    /// `role[@host]`: unlike a user's name never CURRENT_USER.
    fn role(&mut self) -> Result<UserName> {
        let user = self.ident_or_text()?;
        let host = if self.tok.tok == Tok::At { self.host_name()?.to_ascii_lowercase() } else { "%".to_string() };
        check_length(&user, "user name", USER_CHARS_MAX)?;
        check_length(&host, "host name", HOST_CHARS_MAX)?;
        Ok(UserName::Named { user, host })
    }

    pub(super) fn user_list(&mut self) -> Result<Vec<UserName>> {
        self.comma_list(Self::user)
    }

    pub(super) fn role_list(&mut self) -> Result<Vec<UserName>> {
        self.comma_list(Self::role)
    }

    /// NONE, DEFAULT, ALL [EXCEPT ..] or a list.
    pub(super) fn role_set(&mut self, with_default: bool) -> Result<RoleSet> {
        if self.eat(Kw::NONE) {
            return Ok(RoleSet::None);
        }
        if with_default && self.eat(Kw::DEFAULT) {
            return Ok(RoleSet::Default);
        }
        if self.eat(Kw::ALL) {
            let except = if self.eat(Kw::EXCEPT) { self.role_list()? } else { Vec::new() };
            return Ok(RoleSet::All { except });
        }
        Ok(RoleSet::List(self.role_list()?))
    }

    pub(super) fn create_role(&mut self) -> Result<Statement> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        Ok(Statement::CreateRole { if_not_exists, roles: self.role_list()? })
    }

    pub(super) fn create_user(&mut self) -> Result<Statement> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let users = self.comma_list(|p| p.user_spec(false))?;
        let mut default_roles = Vec::new();
        if self.eat(Kw::DEFAULT) {
            self.expect(Kw::ROLE)?;
            default_roles = self.role_list()?;
        }
        let options = self.user_options()?;
        Ok(Statement::CreateUser(Box::new(CreateUser { if_not_exists, users, default_roles, options })))
    }

    pub(super) fn alter_user(&mut self) -> Result<Statement> {
        self.bump();
        let if_exists = self.if_exists()?;
        let users = if self.is(Kw::USER) && self.peek() == Tok::Op(Op::LParen) {
            self.bump();
            self.bump();
            self.expect_op(Op::RParen)?;
            vec![self.user_auth(UserName::CurrentUser, true)?]
        } else {
            self.comma_list(|p| p.user_spec(true))?
        };
        let mut default_role = None;
        if self.eat(Kw::DEFAULT) {
            self.expect(Kw::ROLE)?;
            default_role = Some(self.role_set(false)?);
        }
        let options = self.user_options()?;
        Ok(Statement::AlterUser(Box::new(AlterUser { if_exists, users, default_role, options })))
    }

    pub(super) fn rename_user(&mut self) -> Result<Statement> {
        Ok(Statement::RenameUser(self.comma_list(|p| {
            let old = p.user()?;
            p.expect(Kw::TO)?;
            Ok((old, p.user()?))
        })?))
    }

    fn user_spec(&mut self, has_one: bool) -> Result<UserSpec> {
        let name = self.user()?;
        self.user_auth(name, has_one)
    }

    /// The authentication behind a user's name; `has_one`: the user has a password that can be told, kept and discarded.
    fn user_auth(&mut self, name: UserName, has_one: bool) -> Result<UserSpec> {
        let mut spec =
            UserSpec { name, auth: None, more_factors: false, replace: None, retain_current: false, discard_old: false };
        if has_one && self.eat(Kw::DISCARD) {
            self.expect_all(&[Kw::OLD, Kw::PASSWORD])?;
            spec.discard_old = true;
            return Ok(spec);
        }
        if !self.eat(Kw::IDENTIFIED) {
            return Ok(spec);
        }
        spec.auth = Some(self.auth_option()?);
        while self.eat(Kw::AND) {
            self.expect(Kw::IDENTIFIED)?;
            self.auth_option()?;
            spec.more_factors = true;
        }
        if has_one && self.eat(Kw::REPLACE) {
            spec.replace = Some(self.string()?);
        }
        if has_one && self.eat(Kw::RETAIN) {
            self.expect_all(&[Kw::CURRENT, Kw::PASSWORD])?;
            spec.retain_current = true;
        }
        Ok(spec)
    }

    /// `[WITH plugin] [BY 'x' | BY RANDOM PASSWORD | AS 'x']` behind IDENTIFIED.
    fn auth_option(&mut self) -> Result<AuthOption> {
        let plugin = if self.eat(Kw::WITH) { Some(self.ident_or_text()?) } else { None };
        let secret = if self.eat(Kw::BY) {
            if self.eat(Kw::RANDOM) {
                self.expect(Kw::PASSWORD)?;
                AuthSecret::Random
            } else {
                AuthSecret::Password(self.text_or_hex()?)
            }
        } else if plugin.is_some() {
            if self.eat(Kw::AS) { AuthSecret::Hash(self.text_or_hex()?) } else { AuthSecret::None }
        } else {
            return self.fail();
        };
        Ok(AuthOption { plugin, secret })
    }

    fn user_options(&mut self) -> Result<UserOptions> {
        let mut options = UserOptions::default();
        if self.eat(Kw::REQUIRE) {
            options.require = Some(self.require()?);
        }
        if self.eat(Kw::WITH) {
            const RESOURCES: [Kw; 4] =
                [Kw::MAX_QUERIES_PER_HOUR, Kw::MAX_UPDATES_PER_HOUR, Kw::MAX_CONNECTIONS_PER_HOUR, Kw::MAX_USER_CONNECTIONS];
            let mut kw = Some(self.expect_any(&RESOURCES)?);
            while let Some(resource) = kw {
                options.resources.push((resource.as_str().to_string(), self.number()?));
                kw = self.eat_any(&RESOURCES);
            }
        }
        while self.password_option(&mut options)? {}
        if self.eat(Kw::COMMENT) {
            options.comment = Some(self.string()?);
        } else if self.eat(Kw::ATTRIBUTE) {
            options.attribute = Some(self.string()?);
        }
        Ok(options)
    }

    fn require(&mut self) -> Result<Require> {
        match self.eat_any(&[Kw::NONE, Kw::SSL, Kw::X509]) {
            Some(Kw::NONE) => return Ok(Require::None),
            Some(Kw::SSL) => return Ok(Require::Ssl),
            Some(_) => return Ok(Require::X509),
            None => {}
        }
        let (mut subject, mut issuer, mut cipher) = (None, None, None);
        let mut kw = Some(self.expect_any(&[Kw::SUBJECT, Kw::ISSUER, Kw::CIPHER])?);
        while let Some(word) = kw {
            let value = self.string()?;
            let slot = match word {
                Kw::SUBJECT => &mut subject,
                Kw::ISSUER => &mut issuer,
                _ => &mut cipher,
            };
            if slot.replace(value).is_some() {
                self.refuse(&errno::ER_DUP_ARGUMENT, &[&word.as_str()]);
            }
            self.eat(Kw::AND);
            kw = self.eat_any(&[Kw::SUBJECT, Kw::ISSUER, Kw::CIPHER]);
        }
        Ok(Require::Specific { subject, issuer, cipher })
    }

    fn password_option(&mut self, options: &mut UserOptions) -> Result<bool> {
        if self.eat(Kw::ACCOUNT) {
            options.account_lock = Some(self.expect_any(&[Kw::LOCK, Kw::UNLOCK])? == Kw::LOCK);
        } else if self.eat(Kw::FAILED_LOGIN_ATTEMPTS) {
            options.failed_login_attempts = Some(self.account_number("FAILED_LOGIN_ATTEMPTS", 0..=LOCK_NUMBER_MAX)?);
        } else if self.eat(Kw::PASSWORD_LOCK_TIME) {
            let unbounded = self.eat(Kw::UNBOUNDED);
            options.password_lock_days =
                Some(if unbounded { None } else { Some(self.account_number("PASSWORD_LOCK_TIME", 0..=LOCK_NUMBER_MAX)?) });
        } else if self.eat(Kw::PASSWORD) {
            self.password_policy(options)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Error 1525 for a number out of its range.
    fn account_number(&mut self, what: &str, range: RangeInclusive<u64>) -> Result<u64> {
        let number = self.number()?;
        if !range.contains(&number) {
            self.refuse(&errno::ER_WRONG_VALUE, &[&what, &number]);
        }
        Ok(number)
    }

    /// EXPIRE, HISTORY, REUSE INTERVAL, REQUIRE CURRENT.
    fn password_policy(&mut self, options: &mut UserOptions) -> Result<()> {
        match self.expect_any(&[Kw::EXPIRE, Kw::HISTORY, Kw::REUSE, Kw::REQUIRE])? {
            Kw::EXPIRE => {
                let next = self.eat_any(&[Kw::DEFAULT, Kw::NEVER, Kw::INTERVAL]);
                options.password_expire = Some(match next {
                    Some(Kw::DEFAULT) => PasswordExpire::Default,
                    Some(Kw::NEVER) => PasswordExpire::Never,
                    Some(_) => {
                        let days = self.account_number("DAY", 1..=EXPIRE_DAYS_MAX)?;
                        self.expect(Kw::DAY)?;
                        PasswordExpire::IntervalDays(days)
                    }
                    None => PasswordExpire::Now,
                });
            }
            Kw::HISTORY => {
                let default = self.eat(Kw::DEFAULT);
                options.password_history = Some(if default { None } else { Some(self.number()?) });
            }
            Kw::REUSE => {
                self.expect(Kw::INTERVAL)?;
                if self.eat(Kw::DEFAULT) {
                    options.password_reuse_days = Some(None);
                } else {
                    options.password_reuse_days = Some(Some(self.number()?));
                    self.expect(Kw::DAY)?;
                }
            }
            _ => {
                self.expect(Kw::CURRENT)?;
                let word = self.eat_any(&[Kw::DEFAULT, Kw::OPTIONAL]);
                options.password_require_current = Some(word.map_or(String::new(), |kw| kw.as_str().to_string()));
            }
        }
        Ok(())
    }
}

/// Error 1470.
fn check_length(name: &str, what: &str, chars_max: usize) -> Result<()> {
    if name.chars().count() <= chars_max {
        return Ok(());
    }
    let error = vaquita_types::Error::new(&errno::ER_WRONG_STRING_LENGTH, &[&name, &what, &chars_max]);
    Err(ParseError::other(&errno::ER_WRONG_STRING_LENGTH, error.message().to_string()))
}
