//! An account as the engine keeps it: key `account/` user NUL host, value a list of fields.
//!
//! | OFFSET | SIZE | DESCRIPTION |
//! |---|---|---|
//! | 0 | 1 | version of the format, 1 |
//! | 1 | 1 | tag of a field (`Tag`) |
//! | 2 | 4 | length of the field, little-endian |
//! | 6 | n | the field: parts of 4 bytes length and content; numbers are 8 bytes little-endian |
//!
//! Tags of lists come once per element. A tag that this version does not know is damage: a newer version wrote it.

use vaquita_password::Plugin;

use vaquita_types::schema::ObjectKind;

use super::grants::{DatabaseGrant, RoleGrant, RoutineGrant, TableGrant};
use super::history::UsedPassword;
use super::require::{Requirement, Specified};
use super::{AccountRecord, Expire};

pub const PREFIX: &[u8] = b"account/";
const VERSION: u8 = 1;

/// Tags of fields; their numbers are stored and never reused.
mod tag {
    pub const PLUGIN: u8 = 1;
    pub const AUTHENTICATION: u8 = 2;
    pub const FLAGS: u8 = 3;
    pub const EXPIRE: u8 = 4;
    pub const POLICY: u8 = 5;
    pub const ATTRIBUTE: u8 = 6;
    pub const GLOBAL: u8 = 7;
    pub const DYNAMIC: u8 = 8;
    pub const DATABASE: u8 = 9;
    pub const TABLE: u8 = 10;
    pub const COLUMN: u8 = 11;
    pub const ROLE: u8 = 12;
    pub const DEFAULT_ROLE: u8 = 13;
    pub const RESOURCES: u8 = 14;
    pub const USED_PASSWORD: u8 = 15;
    pub const PROCEDURE: u8 = 16;
    pub const FUNCTION: u8 = 17;
    pub const CERTIFICATE: u8 = 18;
    pub const CIPHER: u8 = 19;
    pub const ISSUER: u8 = 20;
    pub const SUBJECT: u8 = 21;
    pub const SECOND_AUTHENTICATION: u8 = 22;
}

const LOCKED: u64 = 1;
const REQUIRES_TLS: u64 = 2;
/// An absent number.
const NONE: u64 = u64::MAX;

pub fn key(user: &str, host: &str) -> Vec<u8> {
    [PREFIX, user.as_bytes(), b"\0", host.as_bytes()].concat()
}

/// User and host of a key.
pub fn decode_key(key: &[u8]) -> Option<(String, String)> {
    let rest = key.strip_prefix(PREFIX)?;
    let at = rest.iter().position(|byte| *byte == 0)?;
    let (user, host) = (rest.get(..at)?, rest.get(at + 1..)?);
    Some((String::from_utf8(user.to_vec()).ok()?, String::from_utf8(host.to_vec()).ok()?))
}

struct Fields(Vec<u8>);

impl Fields {
    fn field(&mut self, tag: u8, parts: &[&[u8]]) {
        self.0.push(tag);
        let bytes: usize = parts.iter().map(|part| part.len() + 4).sum();
        self.0.extend_from_slice(&(bytes as u32).to_le_bytes());
        for part in parts {
            self.0.extend_from_slice(&(part.len() as u32).to_le_bytes());
            self.0.extend_from_slice(part);
        }
    }
}

fn number(n: u64) -> [u8; 8] {
    n.to_le_bytes()
}

fn optional(n: Option<u64>) -> [u8; 8] {
    number(n.unwrap_or(NONE))
}

pub fn encode(account: &AccountRecord) -> Vec<u8> {
    let mut out = Fields(vec![VERSION]);
    out.field(tag::PLUGIN, &[account.plugin.name().as_bytes()]);
    out.field(tag::AUTHENTICATION, &[&account.authentication_string]);
    let flags = if account.locked { LOCKED } else { 0 } | if account.require == Requirement::Tls { REQUIRES_TLS } else { 0 };
    out.field(tag::FLAGS, &[&number(flags)]);
    put_requirement(&mut out, &account.require);
    let (kind, days) = match account.expire {
        Expire::Default => (0, 0),
        Expire::Never => (1, 0),
        Expire::Days(days) => (2, days),
    };
    out.field(
        tag::EXPIRE,
        &[&number(kind), &number(days), &number(u64::from(account.expired)), &number(account.password_changed_s)],
    );
    let require_current = account.require_current.map(u64::from);
    out.field(
        tag::POLICY,
        &[
            &optional(account.password_history),
            &optional(account.reuse_days),
            &optional(require_current),
            &number(account.failed_login_attempts),
            &optional(account.password_lock_days),
        ],
    );
    if !account.second_authentication_string.is_empty() {
        out.field(tag::SECOND_AUTHENTICATION, &[&account.second_authentication_string]);
    }
    for used in &account.used_passwords {
        out.field(tag::USED_PASSWORD, &[&number(used.set_us), &used.stored]);
    }
    if let Some(attribute) = &account.attribute {
        out.field(tag::ATTRIBUTE, &[attribute.as_bytes()]);
    }
    let resources = account.resources.map(number);
    out.field(tag::RESOURCES, &[&resources[0], &resources[1], &resources[2], &resources[3]]);
    let grants = &account.grants;
    out.field(tag::GLOBAL, &[&number(grants.global)]);
    for (name, grantable) in &grants.dynamic {
        out.field(tag::DYNAMIC, &[name.as_bytes(), &number(u64::from(*grantable))]);
    }
    for grant in &grants.databases {
        out.field(tag::DATABASE, &[grant.pattern.as_bytes(), &number(grant.bits)]);
    }
    for grant in &grants.tables {
        out.field(tag::TABLE, &[grant.database.as_bytes(), grant.table.as_bytes(), &number(grant.bits)]);
        for (column, bits) in &grant.columns {
            out.field(tag::COLUMN, &[column.as_bytes(), &number(*bits)]);
        }
    }
    for grant in &grants.routines {
        let tag = if grant.kind == ObjectKind::Function { tag::FUNCTION } else { tag::PROCEDURE };
        out.field(tag, &[grant.database.as_bytes(), grant.name.as_bytes(), &number(grant.bits)]);
    }
    for role in &account.roles {
        out.field(tag::ROLE, &[role.user.as_bytes(), role.host.as_bytes(), &number(u64::from(role.admin))]);
    }
    for (user, host) in &account.default_roles {
        out.field(tag::DEFAULT_ROLE, &[user.as_bytes(), host.as_bytes()]);
    }
    out.0
}

fn put_requirement(out: &mut Fields, require: &Requirement) {
    match require {
        Requirement::None | Requirement::Tls => {}
        Requirement::Certificate => out.field(tag::CERTIFICATE, &[]),
        Requirement::Specified(Specified { cipher, issuer, subject }) => {
            for (tag, text) in [(tag::CIPHER, cipher), (tag::ISSUER, issuer), (tag::SUBJECT, subject)] {
                if let Some(text) = text {
                    out.field(tag, &[text]);
                }
            }
        }
    }
}

/// Adds to what has been read of an account's CIPHER, ISSUER and SUBJECT.
fn read_specified(account: &mut AccountRecord, tag: u8, text: &[u8]) {
    let mut specified = match std::mem::take(&mut account.require) {
        Requirement::Specified(specified) => specified,
        _ => Specified::default(),
    };
    let slot = match tag {
        tag::CIPHER => &mut specified.cipher,
        tag::ISSUER => &mut specified.issuer,
        _ => &mut specified.subject,
    };
    *slot = Some(text.to_vec());
    account.require = Requirement::Specified(specified);
}

/// Parts of one field.
struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    fn bytes(&mut self) -> Option<&'a [u8]> {
        let (len, rest) = self.0.split_first_chunk::<4>()?;
        let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        self.0 = rest;
        Some(part)
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes()?.try_into().ok()?))
    }

    fn optional(&mut self) -> Option<Option<u64>> {
        self.number().map(|n| (n != NONE).then_some(n))
    }
}

/// `None`: the bytes are damaged.
pub fn decode(user: String, host: String, value: &[u8]) -> Option<AccountRecord> {
    let (version, mut rest) = value.split_first()?;
    if *version != VERSION {
        return None;
    }
    let mut account = AccountRecord::new(&user, &host);
    while let Some((tag, tail)) = rest.split_first() {
        let (len, tail) = tail.split_first_chunk::<4>()?;
        let (field, tail) = tail.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        rest = tail;
        read_field(&mut account, *tag, Parts(field))?;
    }
    Some(account)
}

fn read_field(account: &mut AccountRecord, tag: u8, mut parts: Parts<'_>) -> Option<()> {
    match tag {
        tag::PLUGIN => account.plugin = Plugin::from_name(parts.bytes()?)?,
        tag::AUTHENTICATION => account.authentication_string = parts.bytes()?.to_vec(),
        tag::SECOND_AUTHENTICATION => account.second_authentication_string = parts.bytes()?.to_vec(),
        tag::FLAGS => {
            let flags = parts.number()?;
            account.locked = flags & LOCKED != 0;
            if flags & REQUIRES_TLS != 0 {
                account.require = Requirement::Tls;
            }
        }
        tag::CERTIFICATE => account.require = Requirement::Certificate,
        tag::CIPHER | tag::ISSUER | tag::SUBJECT => read_specified(account, tag, parts.bytes()?),
        tag::EXPIRE => {
            let (kind, days) = (parts.number()?, parts.number()?);
            account.expire = match kind {
                0 => Expire::Default,
                1 => Expire::Never,
                _ => Expire::Days(days),
            };
            account.expired = parts.number()? != 0;
            account.password_changed_s = parts.number()?;
        }
        tag::POLICY => {
            account.password_history = parts.optional()?;
            account.reuse_days = parts.optional()?;
            account.require_current = parts.optional()?.map(|n| n != 0);
            account.failed_login_attempts = parts.number()?;
            account.password_lock_days = parts.optional()?;
        }
        tag::ATTRIBUTE => account.attribute = Some(parts.text()?),
        tag::RESOURCES => {
            for limit in &mut account.resources {
                *limit = parts.number()?;
            }
        }
        tag::USED_PASSWORD => {
            account.used_passwords.push(UsedPassword { set_us: parts.number()?, stored: parts.bytes()?.to_vec() });
        }
        tag::GLOBAL => account.grants.global = parts.number()?,
        tag::DYNAMIC => {
            let name = parts.text()?;
            account.grants.dynamic.insert(name, parts.number()? != 0);
        }
        tag::DATABASE => account.grants.databases.push(DatabaseGrant { pattern: parts.text()?, bits: parts.number()? }),
        tag::TABLE => {
            let (database, table) = (parts.text()?, parts.text()?);
            account.grants.tables.push(TableGrant { database, table, bits: parts.number()?, columns: Vec::new() });
        }
        tag::COLUMN => {
            let column = (parts.text()?, parts.number()?);
            account.grants.tables.last_mut()?.columns.push(column);
        }
        tag::PROCEDURE | tag::FUNCTION => {
            let kind = if tag == tag::FUNCTION { ObjectKind::Function } else { ObjectKind::Procedure };
            let (database, name) = (parts.text()?, parts.text()?);
            account.grants.routines.push(RoutineGrant { database, kind, name, bits: parts.number()? });
        }
        tag::ROLE => account.roles.push(RoleGrant { user: parts.text()?, host: parts.text()?, admin: parts.number()? != 0 }),
        tag::DEFAULT_ROLE => account.default_roles.push((parts.text()?, parts.text()?)),
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_read_back() {
        let mut account = AccountRecord::new("u", "10.%");
        account.authentication_string = b"$A$005$\x01\xff".to_vec();
        account.second_authentication_string = b"$A$005$\x02\xfe".to_vec();
        account.locked = true;
        account.require = Requirement::Specified(Specified { issuer: Some(b"/CN=i".to_vec()), ..Specified::default() });
        account.expire = Expire::Days(9);
        account.attribute = Some("{\"comment\": \"x\"}".into());
        account.password_lock_days = Some(3);
        account.used_passwords = [7, 9].map(|set_us| UsedPassword { set_us, stored: b"$A$\0\xfe".to_vec() }).into();
        account.grants.global = 5;
        account.grants.dynamic.insert("BACKUP_ADMIN".into(), true);
        account.grants.databases.push(DatabaseGrant { pattern: "d%".into(), bits: 3 });
        account.grants.tables.push(TableGrant {
            database: "d".into(),
            table: "t".into(),
            bits: 1,
            columns: vec![("c".into(), 2)],
        });
        for kind in [ObjectKind::Procedure, ObjectKind::Function] {
            account.grants.routines.push(RoutineGrant { database: "d".into(), kind, name: "P".into(), bits: 8 });
        }
        account.roles.push(RoleGrant { user: "r".into(), host: "%".into(), admin: true });
        account.default_roles.push(("r".into(), "%".into()));
        let bytes = encode(&account);
        let (user, host) = decode_key(&key("u", "10.%")).unwrap();
        assert_eq!(decode(user, host, &bytes).unwrap(), account);
        for end in 0..bytes.len() {
            // Cut records are damaged or shorter, never a panic.
            let _ = decode("u".into(), "%".into(), &bytes[..end]);
        }
    }
}
