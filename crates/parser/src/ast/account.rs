//! Accounts and privileges: CREATE/ALTER USER, GRANT, REVOKE, roles.

use super::Name;

/// `'user'@'host'`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum UserName {
    CurrentUser,
    Named {
        user: String,
        /// `%` when not written.
        host: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserSpec {
    pub name: UserName,
    /// The first factor.
    pub auth: Option<AuthOption>,
    /// Second and third factors were written (not supported, but parsed).
    pub more_factors: bool,
    /// ALTER USER .. REPLACE 'current password'.
    pub replace: Option<Vec<u8>>,
    pub retain_current: bool,
    /// ALTER USER .. DISCARD OLD PASSWORD.
    pub discard_old: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthOption {
    /// IDENTIFIED WITH plugin.
    pub plugin: Option<String>,
    pub secret: AuthSecret,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthSecret {
    /// IDENTIFIED WITH plugin, and nothing more.
    None,
    /// BY 'password'
    Password(Vec<u8>),
    /// BY RANDOM PASSWORD
    Random,
    /// AS 'hash'
    Hash(Vec<u8>),
}

/// What CREATE USER and ALTER USER say after the users.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct UserOptions {
    /// REQUIRE; `None` when not written.
    pub require: Option<Require>,
    /// WITH MAX_QUERIES_PER_HOUR n ..: the upper-case word and the number.
    pub resources: Vec<(String, u64)>,
    pub password_expire: Option<PasswordExpire>,
    /// ACCOUNT LOCK (true), UNLOCK (false).
    pub account_lock: Option<bool>,
    /// PASSWORD HISTORY n; inner `None` for DEFAULT.
    pub password_history: Option<Option<u64>>,
    /// PASSWORD REUSE INTERVAL n DAY; inner `None` for DEFAULT.
    pub password_reuse_days: Option<Option<u64>>,
    /// PASSWORD REQUIRE CURRENT [DEFAULT|OPTIONAL], the last word or empty.
    pub password_require_current: Option<String>,
    pub failed_login_attempts: Option<u64>,
    /// PASSWORD_LOCK_TIME; inner `None` for UNBOUNDED.
    pub password_lock_days: Option<Option<u64>>,
    /// COMMENT
    pub comment: Option<Vec<u8>>,
    /// ATTRIBUTE
    pub attribute: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Require {
    None,
    Ssl,
    X509,
    /// SUBJECT, ISSUER, CIPHER with their strings.
    Specific {
        subject: Option<Vec<u8>>,
        issuer: Option<Vec<u8>>,
        cipher: Option<Vec<u8>>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PasswordExpire {
    Now,
    Default,
    Never,
    IntervalDays(u64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateUser {
    pub if_not_exists: bool,
    pub users: Vec<UserSpec>,
    pub default_roles: Vec<UserName>,
    pub options: UserOptions,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterUser {
    pub if_exists: bool,
    pub users: Vec<UserSpec>,
    /// ALTER USER u DEFAULT ROLE ..
    pub default_role: Option<RoleSet>,
    pub options: UserOptions,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleSet {
    None,
    Default,
    All { except: Vec<UserName> },
    List(Vec<UserName>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Privilege {
    /// Upper case, as SHOW GRANTS prints it: `SELECT`, `CREATE TEMPORARY TABLES`, `ALL PRIVILEGES`,
    /// or the name of a dynamic privilege.
    pub name: String,
    pub columns: Vec<String>,
}

/// ON what a privilege is granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantLevel {
    /// `*.*`
    Global,
    /// `db.*`
    Database(String),
    /// `*`: the current database.
    CurrentDatabase,
    Table(Name),
    Function(Name),
    Procedure(Name),
    /// `PROCEDURE *.*` and the like, which no privilege can be granted on.
    Routines(Box<GrantLevel>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    Privileges {
        privileges: Vec<Privilege>,
        level: GrantLevel,
        users: Vec<UserName>,
        grant_option: bool,
        /// AS user [WITH ROLE ..]
        as_user: Option<UserName>,
    },
    Roles {
        roles: Vec<UserName>,
        users: Vec<UserName>,
        admin_option: bool,
    },
    Proxy {
        proxied: UserName,
        users: Vec<UserName>,
        grant_option: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revoke {
    pub if_exists: bool,
    pub ignore_unknown_user: bool,
    pub what: RevokeWhat,
    pub users: Vec<UserName>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RevokeWhat {
    Privileges {
        privileges: Vec<Privilege>,
        level: GrantLevel,
    },
    /// ALL PRIVILEGES, GRANT OPTION, without ON.
    All,
    Roles(Vec<UserName>),
    Proxy(UserName),
}
