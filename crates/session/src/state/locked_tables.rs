//! What LOCK TABLES, FLUSH TABLES WITH READ LOCK and LOCK INSTANCE FOR BACKUP of this session hold, and its waits for what others hold.
//!
//! Under LOCK TABLES a session may use only what it locked (errors 1100 and 1099). Who waits for whom is in `crate::table_locks`.

use std::sync::Arc;
use std::time::Duration;

use vaquita_types::errno::{ER_CANT_UPDATE_WITH_READLOCK, ER_TABLE_NOT_LOCKED, ER_TABLE_NOT_LOCKED_FOR_WRITE};
use vaquita_types::schema::TableId;
use vaquita_types::{Error, Result};

use crate::clients::Client;
use crate::server::Server;
use crate::table_locks::{Patience, TableLocks, TableName, Used, Wanted};

pub struct LockedTables {
    server: Arc<Server>,
    client: Arc<Client>,
    /// LOCK TABLES was given, perhaps of nothing but temporary tables, which need no lock.
    is_under: bool,
    tables: Vec<Wanted>,
    /// Temporary tables that LOCK TABLES named.
    temporary: usize,
    /// Successful calls that `TableLocks::unlock_tables` gives back.
    holds: usize,
    /// The same of `TableLocks::unlock_global`.
    holds_global: usize,
    /// DDL runs that tables are kept for.
    replaces: bool,
}

impl LockedTables {
    pub fn new(server: &Arc<Server>, client: &Arc<Client>) -> LockedTables {
        LockedTables {
            server: server.clone(),
            client: client.clone(),
            is_under: false,
            tables: Vec::new(),
            temporary: 0,
            holds: 0,
            holds_global: 0,
            replaces: false,
        }
    }

    fn all(&self) -> &TableLocks {
        self.server.table_locks()
    }

    /// LOCK TABLES was given.
    #[inline]
    pub fn is_under(&self) -> bool {
        self.is_under
    }

    /// Nobody holds anything.
    #[inline]
    pub fn are_idle(&self) -> bool {
        self.all().is_idle()
    }

    pub fn tables(&self) -> &[Wanted] {
        &self.tables
    }

    /// LOCK TABLES of these and so many temporary tables. `drained` follows.
    pub fn lock(&mut self, wanted: Vec<Wanted>, drains: &[(TableId, bool)], temporary: usize, wait: Duration) -> Result<()> {
        self.patiently(wait, |locks, id, patience| locks.lock(id, &wanted, drains, patience))?;
        self.holds += 1;
        self.tables = wanted;
        self.temporary = temporary;
        self.is_under = true;
        Ok(())
    }

    /// Nobody uses the tables any more.
    pub fn drained(&self) {
        self.all().drained(self.client.id);
    }

    /// FLUSH TABLES WITH READ LOCK.
    pub fn lock_all_for_reading(&mut self, wait: Duration) -> Result<()> {
        self.patiently(wait, |locks, id, patience| locks.lock_all_for_reading(id, patience))?;
        self.holds_global += 1;
        Ok(())
    }

    /// Gives back what LOCK TABLES holds; the global read lock stays. START TRANSACTION, and another LOCK TABLES.
    pub fn release_tables(&mut self) {
        if self.holds > 0 {
            self.all().unlock_tables(self.client.id, self.holds);
            (self.is_under, self.tables, self.holds) = (false, Vec::new(), 0);
        }
    }

    /// Gives back all: UNLOCK TABLES, and the end of the session.
    pub fn release(&mut self) {
        self.release_tables();
        let holds = std::mem::take(&mut self.holds_global);
        if holds > 0 {
            self.all().unlock_global(self.client.id, holds);
        }
    }

    /// A locked table has another name, or is gone. LOCK TABLES ends with the last of its tables.
    pub fn rename(&mut self, from: &TableName, to: Option<TableName>) {
        let Some(at) = self.tables.iter().position(|lock| lock.table == *from) else { return };
        self.all().rename(self.client.id, from, to.as_ref());
        match to {
            Some(to) => self.tables[at].table = to,
            None => drop(self.tables.remove(at)),
        }
        if self.tables.is_empty() && self.temporary == 0 {
            self.release_tables();
        }
    }

    pub fn lock_for_backup(&self, wait: Duration) -> Result<()> {
        self.patiently(wait, |locks, id, patience| locks.lock_for_backup(id, patience))
    }

    pub fn unlock_for_backup(&self) {
        self.all().unlock_for_backup(self.client.id);
    }

    /// Before a statement uses tables: they must be free, and under LOCK TABLES ours.
    pub fn admit(&self, wanted: &[Wanted], used: &Used, wait: Duration) -> Result<()> {
        self.check_own(wanted)?;
        self.patiently(wait, |locks, id, patience| locks.admit(id, wanted, used, patience))
    }

    /// The same before DDL; `leave` follows.
    pub fn admit_ddl(&mut self, wanted: &[Wanted], ids: &[TableId], wait: Duration) -> Result<()> {
        self.check_own(wanted)?;
        let mut replaces = false;
        self.patiently(wait, |locks, id, patience| locks.admit_ddl(id, wanted, ids, patience).map(|kept| replaces = kept))?;
        self.replaces = replaces;
        Ok(())
    }

    pub fn leave(&mut self) {
        if std::mem::take(&mut self.replaces) {
            self.all().leave(self.client.id);
        }
    }

    /// Another session has locked the table.
    #[inline]
    pub fn is_locked_by_others(&self, table: (&str, &str), write: bool, used: &Used) -> bool {
        self.all().is_locked(self.client.id, table, write, used)
    }

    fn check_own(&self, wanted: &[Wanted]) -> Result<()> {
        if wanted.iter().any(|w| w.write) {
            self.refuse_under_own_read_lock()?;
        }
        if self.is_under {
            let lock_of = |w: &Wanted| self.tables.iter().find(|l| l.table == w.table);
            if let Some(w) = wanted.iter().find(|w| lock_of(w).is_none()) {
                return Err(Error::new(&ER_TABLE_NOT_LOCKED, &[&w.table.1]));
            }
            if let Some(w) = wanted.iter().find(|w| w.write && lock_of(w).is_some_and(|lock| !lock.write)) {
                return Err(Error::new(&ER_TABLE_NOT_LOCKED_FOR_WRITE, &[&w.table.1]));
            }
        }
        Ok(())
    }

    /// As `admit`, inside a function or a trigger, whose tables LOCK TABLES of its caller's need not name.
    pub fn admit_inside(&self, wanted: &[Wanted], used: &Used, wait: Duration) -> Result<()> {
        if wanted.iter().any(|w| w.write) {
            self.refuse_under_own_read_lock()?;
        }
        self.patiently(wait, |locks, id, patience| locks.admit(id, wanted, used, patience))
    }

    /// Before DDL or a change of accounts: nobody else has the global read lock or a backup lock. `end_ddl` follows.
    pub fn begin_ddl(&self, wait: Duration) -> Result<()> {
        self.refuse_under_own_read_lock()?;
        self.patiently(wait, |locks, id, patience| locks.begin_ddl(id, patience))
    }

    pub fn end_ddl(&self) {
        self.all().end_ddl(self.client.id);
    }

    /// A transaction that wrote does not commit while another session has the global read lock, and who asks for that waits for those that are
    /// admitted here. `Client::end_commit` follows.
    pub fn admit_commit(&self, wait: Duration) -> Result<()> {
        loop {
            self.client.begin_commit();
            if self.are_idle() || self.all().may_commit(self.client.id) {
                return Ok(());
            }
            self.client.end_commit();
            self.patiently(wait, |locks, id, patience| locks.admit_commit(id, patience))?;
        }
    }

    /// Error 1223 if FLUSH TABLES WITH READ LOCK is this session's.
    pub fn refuse_under_own_read_lock(&self) -> Result<()> {
        match self.all().holds_global(self.client.id) {
            true => Err(Error::new(&ER_CANT_UPDATE_WITH_READLOCK, &[])),
            false => Ok(()),
        }
    }

    /// FLUSH TABLES closes all tables, for which each that is locked must be locked for writing.
    pub fn refuse_flush(&self) -> Result<()> {
        match self.tables.iter().find(|lock| !lock.write) {
            Some(lock) => Err(Error::new(&ER_TABLE_NOT_LOCKED_FOR_WRITE, &[&lock.table.1])),
            None => Ok(()),
        }
    }

    /// Tries at once; if that is not enough, waits while another pool thread takes this one's place.
    fn patiently(&self, wait: Duration, mut lock: impl FnMut(&TableLocks, u64, &Patience<'_>) -> Result<()>) -> Result<()> {
        let (locks, id, interrupt) = (self.all(), self.client.id, &self.client.interrupt);
        let mut result = lock(locks, id, &Patience { wait: Duration::ZERO, interrupt });
        if result.is_err() {
            let patience = Patience { wait, interrupt };
            self.client.set_state("Waiting for table metadata lock");
            self.server.blocking(&mut || result = lock(locks, id, &patience));
            self.client.set_state("");
        }
        result
    }
}
