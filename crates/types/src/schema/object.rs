//! Stored objects, as MySQL calls what is kept in a database as SQL text: views, procedures, functions, triggers, events.
//!
//! Example: `CREATE PROCEDURE p(n INT) COMMENT 'x' SELECT n` is kept with the text `SELECT n`, the comment `x` and the characteristic
//! `parameters` with the value `n INT`. What the text means depends on the settings of the session that created it, so they are kept too.

use crate::charset::CollationId;

/// What a stored object is. The numbers are those of its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    View = 1,
    Procedure = 2,
    Function = 3,
    Trigger = 4,
    Event = 5,
}

impl ObjectKind {
    pub const ALL: [ObjectKind; 5] =
        [ObjectKind::View, ObjectKind::Procedure, ObjectKind::Function, ObjectKind::Trigger, ObjectKind::Event];

    /// Names of views compare byte by byte, as those of tables; the others without case.
    pub fn key_of(self, name: &str) -> String {
        match self {
            ObjectKind::View => name.to_string(),
            ObjectKind::Procedure | ObjectKind::Function | ObjectKind::Trigger | ObjectKind::Event => name.to_lowercase(),
        }
    }
}

/// With whose privileges an object runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SqlSecurity {
    #[default]
    Definer = 0,
    Invoker = 1,
}

/// The account that an object belongs to, whether or not it still exists.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Definer {
    pub user: String,
    pub host: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StoredObject {
    pub kind: ObjectKind,
    pub database: String,
    pub name: String,
    /// Given by the catalog: new with every change, never used again.
    pub version: u64,
    pub definer: Definer,
    pub security: SqlSecurity,
    /// Bits of `sql_mode`, as of the session that created it. The four collations, too.
    pub sql_mode: u64,
    /// Its charset is `character_set_client`.
    pub client_collation: CollationId,
    pub connection_collation: CollationId,
    pub database_collation: CollationId,
    /// Microseconds since 1970, UTC; the catalog gives both.
    pub created_us: u64,
    pub altered_us: u64,
    pub comment: String,
    /// What only some kinds have, by names of the kind's own.
    pub characteristics: Vec<(String, String)>,
    pub text: String,
}

impl StoredObject {
    pub fn characteristic(&self, name: &str) -> Option<&str> {
        self.characteristics.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Adds it, changes its value, or takes it away.
    pub fn set_characteristic(&mut self, name: &str, value: Option<String>) {
        self.characteristics.retain(|(key, _)| key != name);
        self.characteristics.extend(value.map(|value| (name.to_string(), value)));
    }
}
