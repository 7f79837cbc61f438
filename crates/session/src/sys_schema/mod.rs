//! `sys`: the schema whose views and routines explain information_schema and performance_schema, with the names and columns of MySQL's.
//!
//! A server makes it at its first start, and again when the texts beside this file have changed since (`prepare`): the account
//! `mysql.sys`@`localhost`, which nobody can log in as, and the database with `sys_config` through a session of its own; then all views and
//! routines in one commit (`define`), so that a start takes no longer with them. From then on it is a database like others: what a user drops
//! of it stays away.
//!
//! It may use sessions and accounts. It never knows what the rows of the tables mean that its views read.

mod define;
mod text;

use std::sync::Arc;

use vaquita_storage::DdlContext;
use vaquita_types::Result;

use crate::accounts::grants::{DatabaseGrant, TableGrant};
use crate::accounts::{AccountRecord, privilege};
use crate::answer::{Flow, Request};
use crate::clients::Client;
use crate::nowhere::Nowhere;
use crate::server::Server;
use crate::session::{ClientOptions, Session};

pub const DATABASE: &str = "sys";
const USER: &str = "mysql.sys";
const HOST: &str = "localhost";
/// As MySQL's: no password has this hash.
const NO_PASSWORD: &[u8] = b"$A$005$THISISACOMBINATIONOFINVALIDSALTANDPASSWORDTHATMUSTNEVERBRBEUSED";
/// Under it the catalog keeps of which texts the schema is.
const MADE_OF: &[u8] = b"sys schema";

/// Makes the schema if it is not there as this server has it.
pub fn prepare(server: &Arc<Server>) -> Result<()> {
    let texts = text::checksum().to_be_bytes();
    if server.catalog.meta_get(MADE_OF)?.as_deref() == Some(&texts) {
        return Ok(());
    }
    let client = Arc::new(Client::in_background(0, HOST));
    client.authenticated(USER, (USER, HOST), false);
    if server.catalog.database(DATABASE)?.is_none() {
        put_account(server, true)?;
        let made = run(server, &client);
        put_account(server, false)?;
        made?;
    } else if server.accounts().get(USER, HOST).is_none() {
        put_account(server, false)?;
    }
    let context = DdlContext {
        wait: std::time::Duration::from_secs(1),
        interrupt: client.interrupt.clone(),
        progress: client.progress.clone(),
        foreign_keys: vaquita_storage::KeyRules { checks: true, unique_parents: true },
        note: None,
    };
    let objects = define::objects(server, (USER, HOST))?;
    server.catalog.put_objects(objects, &[(MADE_OF, Some(&texts))], &context)
}

/// The statements of `config.sql`.
fn run(server: &Arc<Server>, client: &Arc<Client>) -> Result<()> {
    let account = server.accounts().get(USER, HOST).unwrap_or_else(|| Arc::new(AccountRecord::new(USER, HOST)));
    let charset = vaquita_types::charset::CollationId::UTF8MB4_0900_AI_CI.0;
    let mut session = Session::new(server.clone(), client.clone(), account, ClientOptions::default(), charset);
    let mut nowhere = Nowhere::default();
    let set_up = "SET SESSION sql_mode = DEFAULT, explicit_defaults_for_timestamp = ON";
    for statement in std::iter::once(set_up).chain(text::config()) {
        let flow = session.run(Request::Text(statement.as_bytes()), &mut nowhere, &mut || Box::new(|_| {}));
        debug_assert_eq!(flow, Flow::Next);
        if nowhere.failed.is_some() {
            break;
        }
    }
    session.close();
    nowhere.failed.map_or(Ok(()), Err)
}

/// The definer, as MySQL's is; `everything`: while the schema is made, for which nobody else has privileges yet.
fn put_account(server: &Server, everything: bool) -> Result<()> {
    let mut account = AccountRecord::new(USER, HOST);
    account.authentication_string = NO_PASSWORD.to_vec();
    account.locked = true;
    let mut dynamic = ["AUDIT_ABORT_EXEMPT", "FIREWALL_EXEMPT", "SYSTEM_USER"].as_slice();
    if everything {
        account.grants.global = privilege::ALL_GLOBAL;
        dynamic = privilege::DYNAMIC;
    }
    account.grants.dynamic = dynamic.iter().map(|name| ((*name).to_string(), false)).collect();
    account.grants.databases = vec![DatabaseGrant { pattern: DATABASE.to_string(), bits: privilege::TRIGGER }];
    account.grants.tables = vec![TableGrant {
        database: DATABASE.to_string(),
        table: "sys_config".to_string(),
        bits: privilege::SELECT,
        // What its triggers set.
        columns: vec![("set_by".to_string(), privilege::UPDATE)],
    }];
    server.accounts().change(|records| {
        records.retain(|record| !record.is(USER, HOST));
        records.push(Arc::new(account));
        Ok(())
    })
}
