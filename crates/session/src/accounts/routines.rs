//! What CREATE and DROP of a routine grant and revoke, in one commit with it (`automatic_sp_privileges`).

use std::sync::Arc;

use vaquita_storage::MetaChanges;
use vaquita_types::Result;
use vaquita_types::schema::ObjectKind;

use super::privilege::ALL_ROUTINE;
use super::users::replace;
use super::{AccountRecord, Accounts};

impl Accounts {
    /// EXECUTE and ALTER ROUTINE for the creator. `create` gives `None` if the routine is there already.
    pub fn creates_routine<T>(
        &self,
        creator: &AccountRecord,
        (database, kind, name): (&str, ObjectKind, &str),
        create: impl FnOnce(&MetaChanges<'_>) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let grant = |records: &mut Vec<Arc<AccountRecord>>| {
            let found = records.iter().find(|r| r.is(&creator.user, &creator.host));
            if let Some(mut account) = found.map(|found| AccountRecord::clone(found)) {
                account.grants.routine_mut(database, kind, name).bits |= ALL_ROUTINE;
                account.grants.tidy();
                replace(records, account);
            }
            Ok(())
        };
        self.change_with(grant, |(), changes| create(changes))
    }

    /// Takes from everybody what was granted on a routine that `drop` drops; false: it was not there.
    pub fn drops_routine(
        &self,
        (database, kind, name): (&str, ObjectKind, &str),
        drop: impl FnOnce(&MetaChanges<'_>) -> Result<bool>,
    ) -> Result<bool> {
        let revoke = |records: &mut Vec<Arc<AccountRecord>>| {
            for slot in records.iter_mut().filter(|r| r.grants.routines.iter().any(|g| g.is(database, kind, name))) {
                Arc::make_mut(slot).grants.routines.retain(|g| !g.is(database, kind, name));
            }
            Ok(())
        };
        let dropped = self.change_with(revoke, |(), changes| Ok(drop(changes)?.then_some(())))?;
        Ok(dropped.is_some())
    }
}
