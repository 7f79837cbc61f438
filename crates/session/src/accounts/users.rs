//! CREATE USER, ALTER USER, DROP USER, RENAME USER, SET PASSWORD, CREATE and DROP ROLE, SET DEFAULT ROLE, SHOW CREATE USER.

use std::sync::Arc;

use vaquita_parser::ast::{
    AlterUser, AuthOption, AuthSecret, PasswordExpire, RoleSet, SetPassword, Statement as Ast, UserName, UserOptions, UserSpec,
};
use vaquita_password::{CachingSha2, Plugin, SALT_BYTES, make_caching_sha2, make_native, parse_native};
use vaquita_plan::env::Level;
use vaquita_types::errno::{
    ER_CANNOT_USER, ER_CURRENT_PASSWORD_CANNOT_BE_RETAINED, ER_CURRENT_PASSWORD_NOT_REQUIRED, ER_INCORRECT_CURRENT_PASSWORD,
    ER_INVALID_USER_ATTRIBUTE_JSON, ER_MISSING_CURRENT_PASSWORD, ER_PASSWORD_CANNOT_BE_RETAINED_ON_PLUGIN_CHANGE,
    ER_PASSWORD_FORMAT, ER_PASSWORD_NO_MATCH, ER_PLUGIN_IS_NOT_LOADED, ER_RENAME_ROLE, ER_ROLE_NOT_GRANTED,
    ER_SECOND_PASSWORD_CANNOT_BE_EMPTY, ER_USER_ALREADY_EXISTS, ER_USER_DOES_NOT_EXIST,
};
use vaquita_types::json::Json;
use vaquita_types::{Error, Result};

use super::history::{ReusePolicy, is_password};
use super::privilege::{DELETE, INSERT, UPDATE};
use super::rules::Actor;
use super::{AccountRecord, Accounts, Expire, Requirement, now_s, resolve};

type Records = Vec<Arc<AccountRecord>>;
/// Notes that a statement gives besides its success.
pub type Notes = Vec<(Level, Error)>;

/// Carries out a statement about accounts; `None` if it is none of those above.
pub fn change_users(accounts: &Accounts, ast: &Ast, by: &Actor<'_>) -> Option<Result<Notes>> {
    let current = by.account;
    let mut notes = Notes::new();
    let result = match ast {
        Ast::CreateUser(create) => accounts.change(|records| {
            by.users(INSERT)?;
            if !create.default_roles.is_empty() {
                by.pass_on_roles(&create.default_roles)?;
            }
            by.touch_all(records, create.users.iter().map(|spec| &spec.name).chain(&create.default_roles))?;
            let mut failed = Vec::new();
            for spec in &create.users {
                by.interrupt.check()?;
                let (user, host) = resolve(&spec.name, current);
                if find(records, &user, &host).is_some() {
                    exists(create.if_not_exists, &user, &host, &mut failed, &mut notes);
                    continue;
                }
                let mut account = AccountRecord::new(&user, &host);
                let reuse = by.reuse.of(&account, &create.options);
                authenticate(&mut account, spec, reuse, by)?;
                apply(&mut account, &create.options)?;
                let roles = RoleSet::List(create.default_roles.clone());
                set_default_roles((accounts, records), &mut account, &roles, current, true)?;
                records.push(Arc::new(account));
            }
            none_failed("CREATE USER", &failed)
        }),
        Ast::CreateRole { if_not_exists, roles } => accounts.change(|records| {
            by.create_role()?;
            by.touch_all(records, roles)?;
            let mut failed = Vec::new();
            for role in roles {
                by.interrupt.check()?;
                let (user, host) = resolve(role, current);
                if find(records, &user, &host).is_some() {
                    exists(*if_not_exists, &user, &host, &mut failed, &mut notes);
                    continue;
                }
                let mut account = AccountRecord::new(&user, &host);
                (account.locked, account.expired) = (true, true);
                records.push(Arc::new(account));
            }
            none_failed("CREATE ROLE", &failed)
        }),
        Ast::AlterUser(alter) => accounts.change(|records| alter_users((accounts, records), alter, by, &mut notes)),
        Ast::DropUser { if_exists, users } => accounts.change(|records| {
            by.users(DELETE)?;
            drop_all((accounts, records), "DROP USER", *if_exists, users, by, &mut notes)
        }),
        Ast::DropRole { if_exists, roles } => accounts.change(|records| {
            by.drop_role()?;
            drop_all((accounts, records), "DROP ROLE", *if_exists, roles, by, &mut notes)
        }),
        Ast::RenameUser(pairs) => accounts.change(|records| rename(records, pairs, by)),
        Ast::SetDefaultRole { roles, users } => accounts.change(|records| {
            users.iter().try_for_each(|name| by.default_role(records, name))?;
            users.iter().try_for_each(|name| change_default_roles((accounts, records), name, roles, by))
        }),
        _ => return None,
    };
    Some(result.map(|()| notes))
}

impl Accounts {
    pub fn set_password(&self, set: &SetPassword, by: &Actor<'_>) -> Result<()> {
        let name = set.user.as_ref().unwrap_or(&UserName::CurrentUser);
        let (user, host) = resolve(name, by.account);
        self.change(|records| {
            by.set_password(records, name)?;
            if set.retain_current {
                by.second_password(name)?;
            }
            let found = find(records, &user, &host).ok_or_else(|| Error::new(&ER_PASSWORD_NO_MATCH, &[]))?;
            let mut account = AccountRecord::clone(&found);
            let reuse = by.reuse.of(&account, &UserOptions::default());
            match &set.password {
                Some(password) => new_password(&mut account, password, reuse)?,
                None => {
                    let password = by.random.make(&user, &host)?;
                    new_password(&mut account, password.as_bytes(), reuse)?;
                }
            }
            prove(&found, set.replace.as_deref(), by)?;
            keep_second(&mut account, &found, set.retain_current)?;
            replace(records, account);
            Ok(())
        })
    }

    /// The statement of SHOW CREATE USER.
    /// `as_hex`: the password's hash as a number.
    pub fn show_create(&self, user: &str, host: &str, as_hex: bool) -> Result<String> {
        let account = self
            .get(user, host)
            .ok_or_else(|| cannot("SHOW CREATE USER", &[name_of(user, host)], " (User account does not exist)"))?;
        Ok(create_text(&account, as_hex))
    }
}

/// The string to store for a password. Takes milliseconds.
pub fn hash_password(plugin: Plugin, password: &[u8]) -> Vec<u8> {
    match plugin {
        Plugin::CachingSha2Password => {
            // No NUL and no `$`, which separates the parts.
            let salt: [u8; SALT_BYTES] = std::array::from_fn(|_| rand::random_range(b'%'..=b'~'));
            make_caching_sha2(password, &salt)
        }
        Plugin::MysqlNativePassword => make_native(password),
    }
}

fn find(records: &Records, user: &str, host: &str) -> Option<Arc<AccountRecord>> {
    records.iter().find(|r| r.is(user, host)).cloned()
}

pub(super) fn replace(records: &mut Records, account: AccountRecord) {
    match records.iter_mut().find(|r| r.is(&account.user, &account.host)) {
        Some(slot) => *slot = Arc::new(account),
        None => records.push(Arc::new(account)),
    }
}

fn name_of(user: &str, host: &str) -> String {
    format!("{}@{}", quoted(user), quoted(host))
}

/// As MySQL's messages show it.
fn quoted(text: &str) -> String {
    let mut out = String::from("'");
    for c in text.chars() {
        match c {
            '\0' => out.push_str("\\0"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\x1a' => out.push_str("\\Z"),
            '\\' | '\'' | '"' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

fn cannot(operation: &str, names: &[String], why: &str) -> Error {
    let list = format!("{}{why}", names.join(","));
    Error::new(&ER_CANNOT_USER, &[&operation, &list])
}

fn none_failed(operation: &str, failed: &[String]) -> Result<()> {
    let why = if operation.starts_with("CREATE") { " (User account already exists)" } else { " (User account does not exist)" };
    if failed.is_empty() { Ok(()) } else { Err(cannot(operation, failed, why)) }
}

fn exists(allowed: bool, user: &str, host: &str, failed: &mut Vec<String>, notes: &mut Notes) {
    if allowed {
        notes.push((Level::Note, Error::new(&ER_USER_ALREADY_EXISTS, &[&name_of(user, host)])));
    } else {
        failed.push(name_of(user, host));
    }
}

fn missing(allowed: bool, user: &str, host: &str, failed: &mut Vec<String>, notes: &mut Notes) {
    if allowed {
        notes.push((Level::Note, Error::new(&ER_USER_DOES_NOT_EXIST, &[&name_of(user, host)])));
    } else {
        failed.push(name_of(user, host));
    }
}

fn alter_users(
    (accounts, records): (&Accounts, &mut Records),
    alter: &AlterUser,
    by: &Actor<'_>,
    notes: &mut Notes,
) -> Result<()> {
    by.alter_user(records, alter)?;
    let mut failed = Vec::new();
    for spec in &alter.users {
        by.interrupt.check()?;
        if let Some(roles) = &alter.default_role {
            change_default_roles((accounts, records), &spec.name, roles, by)?;
            continue;
        }
        let (user, host) = resolve(&spec.name, by.account);
        let Some(found) = find(records, &user, &host) else {
            missing(alter.if_exists, &user, &host, &mut failed, notes);
            continue;
        };
        let mut account = AccountRecord::clone(&found);
        let reuse = by.reuse.of(&account, &alter.options);
        authenticate(&mut account, spec, reuse, by)?;
        if spec.auth.is_some() {
            prove(&found, spec.replace.as_deref(), by)?;
        }
        apply(&mut account, &alter.options)?;
        replace(records, account);
    }
    none_failed("ALTER USER", &failed)
}

fn change_default_roles(
    (accounts, records): (&Accounts, &mut Records),
    name: &UserName,
    roles: &RoleSet,
    by: &Actor<'_>,
) -> Result<()> {
    let (user, host) = resolve(name, by.account);
    let found = find(records, &user, &host);
    let mut account = found.as_ref().map_or_else(|| AccountRecord::new(&user, &host), |found| AccountRecord::clone(found));
    set_default_roles((accounts, records), &mut account, roles, by.account, false)?;
    // Without roles nothing is asked of an account, not even that it exists.
    if found.is_some() {
        replace(records, account);
    }
    Ok(())
}

/// REPLACE 'password': whoever changes the own password proves the old one, if it is given or the account's policy wants it.
fn prove(account: &AccountRecord, given: Option<&[u8]>, by: &Actor<'_>) -> Result<()> {
    match given {
        Some(_) if !account.is(&by.account.user, &by.account.host) => Err(Error::new(&ER_CURRENT_PASSWORD_NOT_REQUIRED, &[])),
        Some(password) if is_password(account.plugin, &account.authentication_string, password) => Ok(()),
        Some(_) => Err(Error::new(&ER_INCORRECT_CURRENT_PASSWORD, &[])),
        None if account.require_current.unwrap_or(by.requires_current)
            && account.is(&by.account.user, &by.account.host)
            && !by.is_trusted_with_passwords() =>
        {
            Err(Error::new(&ER_MISSING_CURRENT_PASSWORD, &[]))
        }
        None => Ok(()),
    }
}

fn new_password(account: &mut AccountRecord, password: &[u8], reuse: ReusePolicy) -> Result<()> {
    reuse.check(account, password)?;
    store_password(account, hash_password(account.plugin, password), reuse);
    Ok(())
}

fn store_password(account: &mut AccountRecord, stored: Vec<u8>, reuse: ReusePolicy) {
    account.authentication_string = stored;
    account.expired = false;
    account.password_changed_s = now_s();
    reuse.note(account);
}

/// Which password counts beside the new one: with `retain` the one before, else the second one of before, unless the account has another plugin or no password now.
fn keep_second(account: &mut AccountRecord, before: &AccountRecord, retain: bool) -> Result<()> {
    let (user, host) = (&before.user, &before.host);
    if retain {
        let refused = match () {
            () if account.plugin != before.plugin => &ER_PASSWORD_CANNOT_BE_RETAINED_ON_PLUGIN_CHANGE,
            () if before.authentication_string.is_empty() => &ER_SECOND_PASSWORD_CANNOT_BE_EMPTY,
            () if account.authentication_string.is_empty() => &ER_CURRENT_PASSWORD_CANNOT_BE_RETAINED,
            () => {
                account.second_authentication_string = before.authentication_string.clone();
                return Ok(());
            }
        };
        return Err(Error::new(refused, &[user, host]));
    }
    if account.plugin != before.plugin || account.authentication_string.is_empty() {
        account.second_authentication_string.clear();
    }
    Ok(())
}

fn authenticate(account: &mut AccountRecord, spec: &UserSpec, reuse: ReusePolicy, by: &Actor<'_>) -> Result<()> {
    if spec.more_factors {
        return Err(Error::unsupported("more than one authentication factor"));
    }
    if spec.discard_old {
        account.second_authentication_string.clear();
    }
    let Some(AuthOption { plugin, secret }) = &spec.auth else { return Ok(()) };
    let before = account.clone();
    if let Some(name) = plugin {
        let plugin = Plugin::from_name(name.as_bytes()).ok_or_else(|| Error::new(&ER_PLUGIN_IS_NOT_LOADED, &[name]))?;
        if plugin != account.plugin {
            account.used_passwords.clear();
        }
        account.plugin = plugin;
    }
    match secret {
        AuthSecret::None => {
            // A change of plugin makes the old string useless; MySQL expires the password too.
            account.authentication_string.clear();
            account.password_changed_s = now_s();
        }
        AuthSecret::Password(password) => new_password(account, password, reuse)?,
        AuthSecret::Random => {
            let password = by.random.make(&account.user, &account.host)?;
            new_password(account, password.as_bytes(), reuse)?;
        }
        AuthSecret::Hash(hash) => {
            let well_formed = hash.is_empty()
                || match account.plugin {
                    Plugin::CachingSha2Password => CachingSha2::parse(hash).is_some(),
                    Plugin::MysqlNativePassword => parse_native(hash).is_some(),
                };
            if !well_formed {
                return Err(Error::new(&ER_PASSWORD_FORMAT, &[]));
            }
            store_password(account, hash.clone(), reuse);
        }
    }
    keep_second(account, &before, spec.retain_current)
}

fn apply(account: &mut AccountRecord, options: &UserOptions) -> Result<()> {
    if let Some(require) = &options.require {
        account.require = Requirement::of(require);
    }
    for (name, limit) in &options.resources {
        if let Some(at) = RESOURCES.iter().position(|resource| resource == name) {
            account.resources[at] = *limit;
        }
    }
    match options.password_expire {
        None => {}
        Some(PasswordExpire::Now) => account.expired = true,
        Some(PasswordExpire::Default) => account.expire = Expire::Default,
        Some(PasswordExpire::Never) => account.expire = Expire::Never,
        Some(PasswordExpire::IntervalDays(days)) => account.expire = Expire::Days(days),
    }
    account.locked = options.account_lock.unwrap_or(account.locked);
    account.password_history = options.password_history.unwrap_or(account.password_history);
    account.reuse_days = options.password_reuse_days.unwrap_or(account.reuse_days);
    match options.password_require_current.as_deref() {
        None => {}
        Some("DEFAULT") => account.require_current = None,
        Some("OPTIONAL") => account.require_current = Some(false),
        Some(_) => account.require_current = Some(true),
    }
    account.failed_login_attempts = options.failed_login_attempts.unwrap_or(account.failed_login_attempts);
    account.password_lock_days = options.password_lock_days.unwrap_or(account.password_lock_days);
    if let Some(comment) = &options.comment {
        patch_attribute(account, &format!("{{\"comment\": {}}}", json_string(&String::from_utf8_lossy(comment))));
    }
    if let Some(attribute) = &options.attribute {
        let text = String::from_utf8_lossy(attribute);
        if !Json::parse(text.as_bytes()).is_ok_and(|json| matches!(json, Json::Object(_))) {
            return Err(Error::new(&ER_INVALID_USER_ATTRIBUTE_JSON, &[]));
        }
        patch_attribute(account, &text);
    }
    Ok(())
}

/// What is given is merged into what the account has; a member that is NULL goes.
fn patch_attribute(account: &mut AccountRecord, patch: &str) {
    let given = Json::parse(patch.as_bytes()).unwrap_or(Json::Null);
    let before = account.attribute.as_ref().and_then(|text| Json::parse(text.as_bytes()).ok());
    account.attribute = Some(before.unwrap_or(Json::Null).merge_patch(&given).to_string());
}

const RESOURCES: [&str; 4] = ["MAX_QUERIES_PER_HOUR", "MAX_UPDATES_PER_HOUR", "MAX_CONNECTIONS_PER_HOUR", "MAX_USER_CONNECTIONS"];

fn json_string(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if u32::from(c) < 0x20 => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// `grant`: CREATE USER .. DEFAULT ROLE grants the roles too.
fn set_default_roles(
    (accounts, records): (&Accounts, &Records),
    account: &mut AccountRecord,
    roles: &RoleSet,
    current: &AccountRecord,
    grant: bool,
) -> Result<()> {
    let named = |names: &[UserName]| names.iter().map(|name| resolve(name, current)).collect::<Vec<_>>();
    account.default_roles = match roles {
        RoleSet::None | RoleSet::Default => Vec::new(),
        RoleSet::All { except } => {
            let except = named(except);
            accounts.roles_of(account).into_iter().filter(|role| !except.contains(role)).collect()
        }
        RoleSet::List(list) => {
            let list = named(list);
            let has = accounts.roles_of(account);
            for role @ (user, host) in &list {
                if has.contains(role) {
                    continue;
                }
                if !grant {
                    return Err(Error::new(&ER_ROLE_NOT_GRANTED, &[user, host, &account.user, &account.host]));
                }
                if find(records, user, host).is_none() {
                    return Err(Error::new(&ER_USER_DOES_NOT_EXIST, &[&AccountRecord::new(user, host).quoted()]));
                }
                account.roles.push(super::RoleGrant { user: user.clone(), host: host.clone(), admin: false });
            }
            list
        }
    };
    Ok(())
}

fn drop_all(
    (accounts, records): (&Accounts, &mut Records),
    operation: &str,
    if_exists: bool,
    names: &[UserName],
    by: &Actor<'_>,
    notes: &mut Notes,
) -> Result<()> {
    by.touch_all(records, names)?;
    names.iter().try_for_each(|name| accounts.may_take_away(&resolve(name, by.account)))?;
    let mut failed = Vec::new();
    for name in names {
        by.interrupt.check()?;
        let (user, host) = resolve(name, by.account);
        let Some(found) = find(records, &user, &host) else {
            missing(if_exists, &user, &host, &mut failed, notes);
            continue;
        };
        if operation == "DROP ROLE" {
            by.drop_as_role(&found)?;
        }
        records.retain(|r| !r.is(&user, &host));
        // As a role it is taken from everybody.
        for slot in records.iter_mut().filter(|r| r.roles.iter().any(|g| g.user == user && g.host == host)) {
            let account = Arc::make_mut(slot);
            account.roles.retain(|g| g.user != user || g.host != host);
            account.default_roles.retain(|(u, h)| *u != user || *h != host);
        }
    }
    none_failed(operation, &failed)
}

fn rename(records: &mut Records, pairs: &[(UserName, UserName)], by: &Actor<'_>) -> Result<()> {
    by.users(UPDATE)?;
    by.touch_all(records, pairs.iter().flat_map(|(from, to)| [from, to]))?;
    let mut failed = Vec::new();
    for (from, to) in pairs {
        by.interrupt.check()?;
        let (from, to) = (resolve(from, by.account), resolve(to, by.account));
        if records.iter().any(|r| r.roles.iter().any(|g| g.user == from.0 && g.host == from.1)) {
            return Err(Error::new(&ER_RENAME_ROLE, &[]));
        }
        match (find(records, &from.0, &from.1), find(records, &to.0, &to.1)) {
            (Some(found), None) => {
                let renamed = AccountRecord { user: to.0.clone(), host: to.1.clone(), ..AccountRecord::clone(&found) };
                records.retain(|r| !r.is(&from.0, &from.1));
                records.push(Arc::new(renamed));
            }
            _ => failed.push(name_of(&from.0, &from.1)),
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(cannot("RENAME USER", &failed, "")) }
}

/// The text of SHOW CREATE USER.
fn create_text(account: &AccountRecord, as_hex: bool) -> String {
    let mut text = format!("CREATE USER {} IDENTIFIED WITH '{}'", account.quoted(), account.plugin.name());
    if as_hex && !account.authentication_string.is_empty() {
        text.push_str(" AS 0x");
        account.authentication_string.iter().for_each(|byte| text.push_str(&format!("{byte:02X}")));
    } else if !account.authentication_string.is_empty() {
        let secret = String::from_utf8_lossy(&account.authentication_string).replace('\\', "\\\\").replace('\'', "\\'");
        text.push_str(&format!(" AS '{secret}'"));
    }
    if !account.default_roles.is_empty() {
        let roles: Vec<String> =
            account.default_roles.iter().map(|(u, h)| format!("{}@{}", super::quote(u), super::quote(h))).collect();
        text.push_str(&format!(" DEFAULT ROLE {}", roles.join(",")));
    }
    text.push_str(&format!(" REQUIRE {}", account.require.text()));
    let limited: Vec<String> = RESOURCES
        .iter()
        .zip(account.resources)
        .filter(|(_, limit)| *limit != 0)
        .map(|(name, limit)| format!("{name} {limit}"))
        .collect();
    if !limited.is_empty() {
        text.push_str(&format!(" WITH {}", limited.join(" ")));
    }
    text.push_str(&match account.expire {
        _ if account.expired => " PASSWORD EXPIRE".to_string(),
        Expire::Default => " PASSWORD EXPIRE DEFAULT".to_string(),
        Expire::Never => " PASSWORD EXPIRE NEVER".to_string(),
        Expire::Days(days) => format!(" PASSWORD EXPIRE INTERVAL {days} DAY"),
    });
    text.push_str(if account.locked { " ACCOUNT LOCK" } else { " ACCOUNT UNLOCK" });
    text.push_str(
        &account.password_history.map_or(" PASSWORD HISTORY DEFAULT".to_string(), |n| format!(" PASSWORD HISTORY {n}")),
    );
    text.push_str(
        &account
            .reuse_days
            .map_or(" PASSWORD REUSE INTERVAL DEFAULT".to_string(), |n| format!(" PASSWORD REUSE INTERVAL {n} DAY")),
    );
    text.push_str(match account.require_current {
        None => " PASSWORD REQUIRE CURRENT DEFAULT",
        Some(true) => " PASSWORD REQUIRE CURRENT",
        Some(false) => " PASSWORD REQUIRE CURRENT OPTIONAL",
    });
    if account.failed_login_attempts != 0 || account.password_lock_days != Some(0) {
        let days = account.password_lock_days.map_or("UNBOUNDED".to_string(), |n| n.to_string());
        text.push_str(&format!(" FAILED_LOGIN_ATTEMPTS {} PASSWORD_LOCK_TIME {days}", account.failed_login_attempts));
    }
    if let Some(attribute) = &account.attribute {
        text.push_str(&format!(" ATTRIBUTE '{}'", attribute.replace('\\', "\\\\").replace('\'', "\\'")));
    }
    text
}
