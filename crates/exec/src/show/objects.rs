//! SHOW CREATE of what is no table, and SHOW about logs, replicas and profiles.

use vaquita_parser::ast::{Name, Show};
use vaquita_types::charset;
use vaquita_types::errno::{
    ER_BAD_DB_ERROR, ER_EVENT_DOES_NOT_EXIST, ER_FEATURE_DISABLED, ER_REPLICA_MULTIPLE_CHANNELS_CMD, ER_SP_DOES_NOT_EXIST,
    ER_SPECIFIC_ACCESS_DENIED_ERROR, ER_TRG_DOES_NOT_EXIST,
};
use vaquita_types::schema::{ObjectKind, Trigger};
use vaquita_types::{Error, Result, Value};

use super::profiles;
use super::{Listing, ShowContext, ShowResult, limits};
use crate::ddl::show_create::Quoting;
use crate::system;

pub(super) fn run(show: &Show, cx: &ShowContext<'_>) -> Result<ShowResult> {
    let listing = match show {
        Show::CreateDatabase { if_not_exists, name } => create_database(*if_not_exists, name, cx)?,
        Show::CreateTrigger(name) => {
            let database = cx.database(name.db.as_deref())?;
            let found = cx.statement.catalog.object(&database, ObjectKind::Trigger, &name.name)?;
            let object = found.ok_or_else(|| Error::new(&ER_TRG_DOES_NOT_EXIST, &[]))?;
            if !cx.statement.server.sees_triggers(&database, Trigger::table_of(&object)) {
                return Err(Error::new(&ER_SPECIFIC_ACCESS_DENIED_ERROR, &[&"TRIGGER"]));
            }
            let row = system::triggers::create_row(&object, &system::SystemContext::new(cx.statement));
            Listing::with_rows("CREATE TRIGGER", vec![row])
        }
        Show::CreateEvent(name) => {
            let database = cx.database_unchecked(name.db.as_deref())?;
            let found = cx.statement.catalog.object(&database, ObjectKind::Event, &name.name)?;
            let object = found.ok_or_else(|| Error::new(&ER_EVENT_DOES_NOT_EXIST, &[&name.name]))?;
            let row = system::events::create_row(&object, &system::SystemContext::new(cx.statement))?;
            Listing::with_rows("CREATE EVENT", vec![row])
        }
        Show::CreateProcedure(name) => create_routine(ObjectKind::Procedure, name, cx)?,
        Show::CreateFunction(name) => create_routine(ObjectKind::Function, name, cx)?,
        Show::ProcedureCode(name) | Show::FunctionCode(name) => {
            cx.database_unchecked(name.db.as_deref())?;
            return Err(Error::new(&ER_FEATURE_DISABLED, &[&"SHOW PROCEDURE|FUNCTION CODE", &"--with-debug"]));
        }
        Show::Profile { types, query, limit } => return profiles::profile(types, *query, limit.as_ref(), cx),
        Show::Profiles => profiles::profiles(cx),
        Show::BinaryLogs => Listing::with_rows("BINARY LOGS", cx.statement.server.binary_logs()?),
        Show::BinaryLogStatus => Listing::with_rows("BINARY LOG STATUS", cx.statement.server.binary_log_status()?),
        Show::BinlogEvents { relay: true, channel, .. } => {
            // There is no relay log, but there may be no such channel, or several.
            let channels = cx.statement.server.replica_status(channel.as_deref())?;
            if channel.is_none() && channels.len() > 1 {
                return Err(Error::new(&ER_REPLICA_MULTIPLE_CHANNELS_CMD, &[]));
            }
            Listing::new("BINLOG EVENTS")
        }
        Show::BinlogEvents { log, from, limit, .. } => {
            let (skip, count) = limits(limit.as_ref(), cx)?;
            let rows = cx.statement.server.binlog_events(log.as_deref(), from.unwrap_or(0), skip, count)?;
            Listing::with_rows("BINLOG EVENTS", rows)
        }
        Show::Replicas { old_names } => worded(Listing::with_rows("REPLICAS", cx.statement.server.replicas()), *old_names),
        Show::ReplicaStatus { old_names, channel } => {
            let rows = cx.statement.server.replica_status(channel.as_deref())?;
            worded(Listing::with_rows("REPLICA STATUS", rows), *old_names)
        }
        Show::ParseTree(_) => return Err(Error::unsupported("SHOW PARSE_TREE")),
        _ => return Err(Error::unsupported("this form of SHOW")),
    };
    Ok(listing.unfiltered())
}

fn create_database(if_not_exists: bool, name: &str, cx: &ShowContext<'_>) -> Result<Listing> {
    crate::ddl::check_length(name)?;
    let (name, collation) = match cx.statement.catalog.database(name)? {
        Some(database) => (database.name.clone(), database.collation),
        None if system::is_system_database(name) => (name.to_ascii_lowercase(), system::database_collation(name)),
        None => return Err(Error::new(&ER_BAD_DB_ERROR, &[&name])),
    };
    let collation = charset::collation(collation);
    let clause = if if_not_exists { "/*!32312 IF NOT EXISTS*/ " } else { "" };
    let charset = collation.charset.name;
    let collate = match collation.is_default && collation.name != "utf8mb4_0900_ai_ci" {
        true => String::new(),
        false => format!(" COLLATE {}", collation.name),
    };
    let quoted = Quoting::new(cx.statement.session.sql_mode(), true).name(&name);
    let text = format!(
        "CREATE DATABASE {clause}{quoted} /*!40100 DEFAULT CHARACTER SET {charset}{collate} */ /*!80016 DEFAULT ENCRYPTION='N' */"
    );
    Ok(Listing::with_rows("CREATE DATABASE", vec![vec![Value::from(name), Value::from(text)]]))
}

fn create_routine(kind: ObjectKind, name: &Name, cx: &ShowContext<'_>) -> Result<Listing> {
    let (word, form) = match kind {
        ObjectKind::Function => ("FUNCTION", "CREATE FUNCTION"),
        _ => ("PROCEDURE", "CREATE PROCEDURE"),
    };
    let database = cx.database_unchecked(name.db.as_deref())?;
    let found = cx.statement.catalog.object(&database, kind, &name.name)?;
    let seen = found.and_then(|object| Some((cx.statement.server.sees_routine(&object)?, object)));
    let Some((whole, object)) = seen else { return Err(no_routine(word, name, cx)?) };
    Ok(Listing::with_rows(form, vec![system::routines::create_row(&object, whole)]))
}

fn no_routine(kind: &str, name: &Name, cx: &ShowContext<'_>) -> Result<Error> {
    cx.database_unchecked(name.db.as_deref())?;
    Ok(Error::new(&ER_SP_DOES_NOT_EXIST, &[&kind, &name.name]))
}

/// SHOW SLAVE STATUS and SHOW SLAVE HOSTS have the columns by their old names.
fn worded(mut listing: Listing, old_names: bool) -> Listing {
    if old_names {
        for column in &mut listing.columns {
            column.name = match column.name.as_str() {
                "Get_Source_public_key" => "Get_master_public_key".to_string(),
                "Source_public_key_path" => "Master_public_key_path".to_string(),
                "Server_Id" => "Server_id".to_string(),
                "Source_Id" => "Master_id".to_string(),
                name => name.replace("Source", "Master").replace("Replica_", "Slave_"),
            };
        }
    }
    listing
}
