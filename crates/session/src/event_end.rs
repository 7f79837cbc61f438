//! What becomes of an event that is over. It is nobody's statement, but waits for backups and for FLUSH TABLES WITH READ LOCK as DDL does.

use std::sync::Arc;
use std::time::Duration;

use vaquita_exec::system::events::{self, EventStatus};
use vaquita_storage::{DdlContext, KeyRules};
use vaquita_types::Result;
use vaquita_types::schema::{ObjectKind, StoredObject};

use crate::clients::Client;
use crate::server::Server;
use crate::state::locked_tables::LockedTables;
use crate::variables::Var;

/// Before the last run; what was altered meanwhile has other times and stays.
pub fn disable(server: &Arc<Server>, client: &Arc<Client>, object: &StoredObject) -> Result<()> {
    let change = |there: &mut StoredObject| {
        if there.version == object.version {
            events::set_status(there, EventStatus::Disabled);
        }
        Ok(())
    };
    let key = (object.database.as_str(), ObjectKind::Event, object.name.as_str());
    as_ddl(server, client, |context| server.catalog.alter_object(key, change, context).map(drop))
}

/// Behind the last run; what was altered meanwhile stays.
pub fn drop_event(server: &Arc<Server>, client: &Arc<Client>, object: &StoredObject) -> Result<()> {
    let key = (object.database.as_str(), ObjectKind::Event, object.name.as_str());
    as_ddl(server, client, |context| match is_unchanged(server, object)? {
        true => server.catalog.drop_object(key, &[], context).map(drop),
        false => Ok(()),
    })
}

/// It is what was disabled for its last run, and says the same.
fn is_unchanged(server: &Server, object: &StoredObject) -> Result<bool> {
    let Some(there) = server.catalog.object(&object.database, ObjectKind::Event, &object.name)? else { return Ok(false) };
    let mut disabled = StoredObject { version: there.version, altered_us: there.altered_us, ..object.clone() };
    events::set_status(&mut disabled, EventStatus::Disabled);
    Ok(*there == disabled)
}

fn as_ddl(server: &Arc<Server>, client: &Arc<Client>, run: impl FnOnce(&DdlContext) -> Result<()>) -> Result<()> {
    let wait = Duration::from_secs(server.globals.number(Var::LockWaitTimeout));
    let context = DdlContext {
        wait,
        interrupt: client.interrupt.clone(),
        progress: Arc::default(),
        foreign_keys: KeyRules { checks: true, unique_parents: true },
        note: None,
    };
    let locked = LockedTables::new(server, client);
    locked.begin_ddl(wait)?;
    let done = run(&context);
    locked.end_ddl();
    done
}
