//! Accounts as mysql.user and information_schema show them.

use vaquita_types::{Result, Value};

use super::row::{NULL, cell, row, yes_no};
use super::server::AccountInfo;
use super::{Row, SystemContext, registry};

/// The privilege of each `…_priv` column of mysql.user, in the columns' order.
const COLUMN_PRIVILEGES: &[(&str, &str)] = &[
    ("Select_priv", "SELECT"),
    ("Insert_priv", "INSERT"),
    ("Update_priv", "UPDATE"),
    ("Delete_priv", "DELETE"),
    ("Create_priv", "CREATE"),
    ("Drop_priv", "DROP"),
    ("Reload_priv", "RELOAD"),
    ("Shutdown_priv", "SHUTDOWN"),
    ("Process_priv", "PROCESS"),
    ("File_priv", "FILE"),
    ("References_priv", "REFERENCES"),
    ("Index_priv", "INDEX"),
    ("Alter_priv", "ALTER"),
    ("Show_db_priv", "SHOW DATABASES"),
    ("Super_priv", "SUPER"),
    ("Create_tmp_table_priv", "CREATE TEMPORARY TABLES"),
    ("Lock_tables_priv", "LOCK TABLES"),
    ("Execute_priv", "EXECUTE"),
    ("Repl_slave_priv", "REPLICATION SLAVE"),
    ("Repl_client_priv", "REPLICATION CLIENT"),
    ("Create_view_priv", "CREATE VIEW"),
    ("Show_view_priv", "SHOW VIEW"),
    ("Create_routine_priv", "CREATE ROUTINE"),
    ("Alter_routine_priv", "ALTER ROUTINE"),
    ("Create_user_priv", "CREATE USER"),
    ("Event_priv", "EVENT"),
    ("Trigger_priv", "TRIGGER"),
    ("Create_tablespace_priv", "CREATE TABLESPACE"),
    ("Create_role_priv", "CREATE ROLE"),
    ("Drop_role_priv", "DROP ROLE"),
];

pub fn user(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let Some(table) = registry::find("mysql", "user") else { return Ok(Vec::new()) };
    let row = |account: &AccountInfo| table.def.columns.iter().map(|column| user_column(account, &column.name)).collect();
    Ok(cx.statement.server.accounts().iter().map(row).collect())
}

fn user_column(account: &AccountInfo, column: &str) -> Value {
    if let Some((_, privilege)) = COLUMN_PRIVILEGES.iter().find(|(name, _)| *name == column) {
        return if account.privileges.iter().any(|p| p == privilege) { "Y" } else { "N" }.into();
    }
    match column {
        "Host" => cell(&account.host),
        "User" => cell(&account.user),
        "Grant_priv" => if account.grant_option { "Y" } else { "N" }.into(),
        "ssl_type" => if account.requires_tls { "ANY" } else { "" }.into(),
        "ssl_cipher" | "x509_issuer" | "x509_subject" => "".into(),
        "max_questions" | "max_updates" | "max_connections" | "max_user_connections" => Value::UInt(0),
        "plugin" => cell(&account.plugin),
        "authentication_string" => Value::bytes(&account.authentication_string),
        "password_expired" => "N".into(),
        "account_locked" => if account.locked { "Y" } else { "N" }.into(),
        _ => NULL,
    }
}

pub fn user_privileges(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for account in cx.statement.server.accounts() {
        let grantee = format!("'{}'@'{}'", account.user, account.host);
        let grantable = yes_no(account.grant_option);
        if account.privileges.is_empty() {
            rows.push(row![grantee.as_str(), "def", "USAGE", grantable]);
        }
        for privilege in &account.privileges {
            rows.push(row![grantee.as_str(), "def", privilege.as_str(), grantable]);
        }
    }
    Ok(rows)
}
