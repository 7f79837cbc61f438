//! Statements as logs show them: without the passwords that they have.
//!
//! A statement about accounts or a source is printed anew from its tree, as MySQL does: `create user u identified by 'x'` becomes
//! `CREATE USER 'u'@'%' IDENTIFIED BY <secret>`. Where no tree knows the password (`CREATE SERVER`), the string behind PASSWORD or BY
//! goes from the text. `AS 'hash'` stays, as in MySQL.
//!
//! The text of PREPARE and the body of a routine are not looked into; of PREPARE nothing but the name is shown.

use std::fmt::Write as _;

use crate::ParserOptions;
use crate::ast::*;
use crate::keyword::Kw;
use crate::lexer::{Lexer, Op, Tok};

const SECRET: &str = "<secret>";

/// MySQL's order of the options of a source. The others follow as they were given.
const SHOWN_FIRST: [&str; 13] = [
    "SOURCE_BIND",
    "SOURCE_HOST",
    "SOURCE_USER",
    "SOURCE_PASSWORD",
    "SOURCE_PORT",
    "SOURCE_CONNECT_RETRY",
    "SOURCE_RETRY_COUNT",
    "SOURCE_DELAY",
    "SOURCE_HEARTBEAT_PERIOD",
    "SOURCE_LOG_FILE",
    "SOURCE_LOG_POS",
    "SOURCE_AUTO_POSITION",
    "RELAY_LOG_FILE",
];

/// What is logged instead of `sql`, whose tree is `ast`; `None`: `sql` itself. `own` is the account that CURRENT_USER names.
pub fn without_secrets(ast: &Statement, sql: &[u8], own: (&str, &str), options: &ParserOptions) -> Option<Vec<u8>> {
    let text = match ast {
        Statement::CreateUser(create) if create.users.iter().any(has_secret) => create_user(create, own),
        Statement::AlterUser(alter) if alter.users.iter().any(has_secret) => alter_user(alter, own),
        Statement::Set(items) => match &items[..] {
            [SetItem::Password(set)] => set_password(set, own),
            items if items.iter().any(|item| matches!(item, SetItem::Password(_))) => return masked(sql, options),
            _ => return None,
        },
        Statement::ChangeSource(change) if change.options.iter().any(|option| is_password(option.name)) => change_source(change),
        Statement::StartReplica(start) if start.login.iter().any(|option| is_password(option.name)) => start_replica(start),
        Statement::Prepare { name, source: PrepareSource::Text(_) } => format!("PREPARE {name} FROM ..."),
        Statement::Unsupported { .. } => return masked(sql, options),
        _ => return None,
    };
    Some(text.into_bytes())
}

/// CREATE USER or ALTER USER as a log has it that is carried out again, with the hashes that it names. `None`: another statement.
pub fn text_of_accounts(ast: &Statement, own: (&str, &str)) -> Option<String> {
    match ast {
        Statement::CreateUser(create) => Some(create_user(create, own)),
        Statement::AlterUser(alter) => Some(alter_user(alter, own)),
        _ => None,
    }
}

fn has_secret(user: &UserSpec) -> bool {
    let by = user.auth.as_ref().is_some_and(|auth| matches!(auth.secret, AuthSecret::Password(_) | AuthSecret::Random));
    by || user.replace.is_some() || user.more_factors
}

fn is_password(name: &str) -> bool {
    name.ends_with("PASSWORD")
}

fn create_user(create: &CreateUser, own: (&str, &str)) -> String {
    let mut out = String::from(if create.if_not_exists { "CREATE USER IF NOT EXISTS " } else { "CREATE USER " });
    put_users(&mut out, &create.users, own);
    put_roles(&mut out, &create.default_roles, own);
    put_options(&mut out, &create.options);
    out
}

fn alter_user(alter: &AlterUser, own: (&str, &str)) -> String {
    let mut out = String::from(if alter.if_exists { "ALTER USER IF EXISTS " } else { "ALTER USER " });
    put_users(&mut out, &alter.users, own);
    put_options(&mut out, &alter.options);
    out
}

fn put_users(out: &mut String, users: &[UserSpec], own: (&str, &str)) {
    for (n, user) in users.iter().enumerate() {
        out.push_str(if n == 0 { "" } else { "," });
        let (name, host) = account(&user.name, own);
        put_string(out, name.as_bytes());
        out.push('@');
        put_string(out, host.as_bytes());
        if let Some(auth) = &user.auth {
            put_authentication(out, auth);
        }
        if user.replace.is_some() {
            out.push_str(" REPLACE <secret>");
        }
        if user.retain_current {
            out.push_str(" RETAIN CURRENT PASSWORD");
        }
        if user.discard_old {
            out.push_str(" DISCARD OLD PASSWORD");
        }
    }
}

fn put_authentication(out: &mut String, auth: &AuthOption) {
    out.push_str(" IDENTIFIED");
    if let Some(plugin) = &auth.plugin {
        out.push_str(" WITH ");
        put_string(out, plugin.as_bytes());
    }
    match &auth.secret {
        AuthSecret::None => {}
        AuthSecret::Password(_) | AuthSecret::Random => out.push_str(" BY <secret>"),
        // Whether a backslash escapes is the session's business.
        AuthSecret::Hash(hash) if hash.iter().any(|byte| !byte.is_ascii_graphic() || matches!(byte, b'\\' | b'\'')) => {
            out.push_str(" AS 0x");
            hash.iter().for_each(|byte| out.push_str(&format!("{byte:02X}")));
        }
        AuthSecret::Hash(hash) => {
            out.push_str(" AS ");
            put_string(out, hash);
        }
    }
}

fn put_roles(out: &mut String, roles: &[UserName], own: (&str, &str)) {
    for (n, role) in roles.iter().enumerate() {
        let (name, host) = account(role, own);
        let _ = write!(out, "{}{}@{}", if n == 0 { " DEFAULT ROLE " } else { "," }, name_quoted(name), name_quoted(host));
    }
}

fn put_options(out: &mut String, options: &UserOptions) {
    match &options.require {
        None => {}
        Some(Require::None) => out.push_str(" REQUIRE NONE"),
        Some(Require::Ssl) => out.push_str(" REQUIRE SSL"),
        Some(Require::X509) => out.push_str(" REQUIRE X509"),
        Some(Require::Specific { subject, issuer, cipher }) => {
            out.push_str(" REQUIRE");
            for (word, value) in [("SUBJECT", subject), ("ISSUER", issuer), ("CIPHER", cipher)] {
                put_text_option(out, word, value.as_deref());
            }
        }
    }
    for (n, (word, number)) in options.resources.iter().enumerate() {
        let _ = write!(out, "{} {word} {number}", if n == 0 { " WITH" } else { "" });
    }
    match options.password_expire {
        None => {}
        Some(PasswordExpire::Now) => out.push_str(" PASSWORD EXPIRE"),
        Some(PasswordExpire::Default) => out.push_str(" PASSWORD EXPIRE DEFAULT"),
        Some(PasswordExpire::Never) => out.push_str(" PASSWORD EXPIRE NEVER"),
        Some(PasswordExpire::IntervalDays(days)) => {
            let _ = write!(out, " PASSWORD EXPIRE INTERVAL {days} DAY");
        }
    }
    if let Some(lock) = options.account_lock {
        out.push_str(if lock { " ACCOUNT LOCK" } else { " ACCOUNT UNLOCK" });
    }
    let default_or = |number: Option<u64>, unit: &str| number.map_or("DEFAULT".to_string(), |number| format!("{number}{unit}"));
    if let Some(history) = options.password_history {
        let _ = write!(out, " PASSWORD HISTORY {}", default_or(history, ""));
    }
    if let Some(days) = options.password_reuse_days {
        let _ = write!(out, " PASSWORD REUSE INTERVAL {}", default_or(days, " DAY"));
    }
    if let Some(word) = &options.password_require_current {
        let _ = write!(out, " PASSWORD REQUIRE CURRENT{}{word}", if word.is_empty() { "" } else { " " });
    }
    if let Some(attempts) = options.failed_login_attempts {
        let _ = write!(out, " FAILED_LOGIN_ATTEMPTS {attempts}");
    }
    if let Some(days) = options.password_lock_days {
        let _ = write!(out, " PASSWORD_LOCK_TIME {}", days.map_or("UNBOUNDED".to_string(), |days| days.to_string()));
    }
    put_text_option(out, "COMMENT", options.comment.as_deref());
    put_text_option(out, "ATTRIBUTE", options.attribute.as_deref());
}

fn put_text_option(out: &mut String, word: &str, value: Option<&[u8]>) {
    if let Some(value) = value {
        let _ = write!(out, " {word} ");
        put_string(out, value);
    }
}

fn set_password(set: &SetPassword, own: (&str, &str)) -> String {
    let (user, host) = set.user.as_ref().map_or(own, |name| account(name, own));
    let mut out = format!("SET PASSWORD FOR {}@{}={SECRET}", name_quoted(user), name_quoted(host));
    if set.replace.is_some() {
        out.push_str(" REPLACE <secret>");
    }
    if set.retain_current {
        out.push_str(" RETAIN CURRENT PASSWORD");
    }
    out
}

fn change_source(change: &ChangeSource) -> String {
    let mut out = String::from("CHANGE REPLICATION SOURCE TO ");
    let mut options: Vec<&SourceOption> = change.options.iter().collect();
    let place = |option: &&SourceOption| SHOWN_FIRST.iter().position(|name| *name == option.name).unwrap_or(SHOWN_FIRST.len());
    options.sort_by_key(place);
    for (n, option) in options.into_iter().enumerate() {
        let _ = write!(out, "{}{} = ", if n == 0 { "" } else { ", " }, option.name);
        put_source_value(&mut out, option);
    }
    put_channel(&mut out, change.channel.as_deref());
    out
}

fn start_replica(start: &RunReplica) -> String {
    let threads = match (start.receiver, start.applier) {
        (true, true) => " IO_THREAD, SQL_THREAD",
        (true, false) => " IO_THREAD",
        (false, true) => " SQL_THREAD",
        (false, false) => "",
    };
    let mut out = format!("START REPLICA{threads}");
    for (n, option) in start.until.iter().enumerate() {
        let _ = write!(out, "{} {}", if n == 0 { " UNTIL" } else { "," }, option.name);
        if !matches!(option.value, SourceValue::Word(_)) {
            out.push_str(" = ");
            put_source_value(&mut out, option);
        }
    }
    for option in &start.login {
        let _ = write!(out, " {} = ", option.name);
        put_source_value(&mut out, option);
    }
    put_channel(&mut out, start.channel.as_deref());
    out
}

fn put_source_value(out: &mut String, option: &SourceOption) {
    if is_password(option.name) {
        return out.push_str(SECRET);
    }
    let _ = match &option.value {
        SourceValue::Text(text) => return put_string(out, text),
        SourceValue::Number(number) => write!(out, "{number}"),
        SourceValue::Fraction(number) => write!(out, "{:.6}", number.parse::<f64>().unwrap_or_default()),
        SourceValue::Ids(ids) => {
            write!(out, "( {} )", ids.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))
        }
        SourceValue::Word(word) => write!(out, "{word}"),
        SourceValue::Account(name) => {
            let (user, host) = account(name, ("CURRENT_USER", "%"));
            write!(out, "{}@{}", name_quoted(user), name_quoted(host))
        }
    };
}

fn put_channel(out: &mut String, channel: Option<&[u8]>) {
    if let Some(channel) = channel {
        out.push_str(" FOR CHANNEL ");
        put_string(out, channel);
    }
}

fn account<'n>(name: &'n UserName, own: (&'n str, &'n str)) -> (&'n str, &'n str) {
    match name {
        UserName::CurrentUser => own,
        UserName::Named { user, host } => (user, host),
    }
}

fn name_quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A string literal, escaped as C clients do.
fn put_string(out: &mut String, bytes: &[u8]) {
    out.push('\'');
    for character in String::from_utf8_lossy(bytes).chars() {
        match character {
            '\0' => out.push_str("\\0"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\x1a' => out.push_str("\\Z"),
            '\\' | '\'' | '"' => out.extend(['\\', character]),
            other => out.push(other),
        }
    }
    out.push('\'');
}

/// The text without the strings behind PASSWORD and BY.
fn masked(sql: &[u8], options: &ParserOptions) -> Option<Vec<u8>> {
    let mut lexer = Lexer::new(sql, options);
    let (mut out, mut done, mut expects) = (Vec::new(), 0, false);
    loop {
        let token = lexer.next_token();
        match token.tok {
            Tok::Eof | Tok::Bad => break,
            Tok::Kw(Kw::PASSWORD | Kw::BY) => expects = true,
            Tok::Op(Op::Eq) => {}
            Tok::Str | Tok::NatStr | Tok::Hex if expects => {
                out.extend_from_slice(sql.get(done..token.start as usize).unwrap_or_default());
                out.extend_from_slice(SECRET.as_bytes());
                done = token.end as usize;
                expects = false;
            }
            _ => expects = false,
        }
    }
    if done == 0 {
        return None;
    }
    out.extend_from_slice(sql.get(done..).unwrap_or_default());
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_one;

    fn shown(sql: &str) -> String {
        let options = ParserOptions::default();
        let (ast, _) = parse_one(sql.as_bytes(), &options).unwrap();
        let text = without_secrets(&ast, sql.as_bytes(), ("me", "%"), &options);
        text.map_or(sql.to_string(), |text| String::from_utf8(text).unwrap())
    }

    /// MySQL's own texts are in the golden files of the logs; here is what these do not have.
    #[test]
    fn no_password_stays() {
        for sql in [
            "create user a identified by 'pw', b identified with caching_sha2_password by 'pw'",
            "alter user current_user() identified by 'pw' replace 'pw' retain current password",
            "alter user a identified by 'x' require ssl comment 'c'",
            "set password for a = 'pw' replace 'pw'",
            "set password = 'pw'",
            "change replication source to source_host = 'h', source_password = 'pw' for channel 'c'",
            "start replica user = 'u' password = 'pw'",
            "prepare s from 'alter user a identified by ''pw'''",
            "create server s foreign data wrapper mysql options (user 'u', password 'pw', host 'h')",
            "alter server s options (password 'pw')",
            "clone instance from u@h:3306 identified by 'pw'",
            "start group_replication user='u', password='pw'",
        ] {
            let shown = shown(sql);
            assert!(!shown.contains("pw"), "{shown}");
        }
    }

    #[test]
    fn what_has_no_password_stays_as_it_is() {
        for sql in ["alter user u account lock", "create user u", "set names utf8mb4", "drop server s", "create role r"] {
            assert_eq!(shown(sql), sql);
        }
        assert_eq!(
            shown("create server s foreign data wrapper mysql options (password 'a', host 'by')"),
            "create server s foreign data wrapper mysql options (password <secret>, host 'by')"
        );
    }
}
