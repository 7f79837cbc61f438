//! `ALGORITHM =` and `LOCK =` of ALTER TABLE: what is known, what cannot be done that way.
//!
//! | what the ALTER does        | INSTANT | INPLACE | COPY | LOCK=NONE |
//! |----------------------------|---------|---------|------|-----------|
//! | rows stay, no new index    | yes     | yes     | yes  | yes       |
//! | rows stay, indexes built   | no      | yes     | yes  | yes       |
//! | rows copied, others read   | no      | unless MySQL cannot | yes | no |
//!
//! As in MySQL, LOCK=NONE goes with neither COPY (1846) nor INSTANT (1221), and LOCK=SHARED and EXCLUSIVE keep writers or all
//! others out although it need not be. What is possible here and not in MySQL (INT to BIGINT in place) is done.

use vaquita_parser::ast::{AlterAction, AlterTable};
use vaquita_storage::LockMode;
use vaquita_types::errno::{
    ER_ALTER_OPERATION_NOT_SUPPORTED, ER_ALTER_OPERATION_NOT_SUPPORTED_REASON, ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_AUTOINC,
    ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_COLUMN_TYPE, ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_COLUMN_TYPE_INSTANT,
    ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_COPY, ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_FK_CHECK,
    ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_NOPK, ER_UNKNOWN_ALTER_ALGORITHM, ER_UNKNOWN_ALTER_LOCK, ER_WRONG_USAGE,
};
use vaquita_types::schema::{IndexId, TableDef};
use vaquita_types::{Error, Result};

const ALGORITHMS: &[&str] = &["DEFAULT", "INSTANT", "INPLACE", "COPY"];
const LOCKS: &[&str] = &["DEFAULT", "NONE", "SHARED", "EXCLUSIVE"];

/// What the statement asks for.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub algorithm: &'static str,
    lock: &'static str,
}

/// Why rows must be copied, if MySQL has a word for it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    ColumnType,
    NoPrimaryKey,
    AutoIncrement,
    Check,
    /// A STORED column is new or changed.
    Generated,
    Other,
}

impl Reason {
    fn of(alter: &AlterTable, old: &TableDef, new: &TableDef) -> Reason {
        let before = |id| old.columns.iter().find(|c| c.id == id);
        if new.columns.iter().any(|c| before(c.id).is_some_and(|before| before.ty != c.ty)) {
            Reason::ColumnType
        } else if !old.hidden_rowid && new.hidden_rowid {
            Reason::NoPrimaryKey
        } else if new.columns.iter().any(|c| c.auto_increment && before(c.id).is_none()) {
            Reason::AutoIncrement
        } else if alter.actions.iter().any(|a| matches!(a, AlterAction::AddCheck(check) if check.enforced)) {
            Reason::Check
        } else if new
            .columns
            .iter()
            .any(|c| c.generated.as_ref().is_some_and(|g| g.stored && before(c.id).and_then(|b| b.generated.as_ref()) != Some(g)))
        {
            Reason::Generated
        } else {
            Reason::Other
        }
    }

    fn text(self) -> Option<&'static str> {
        match self {
            Reason::ColumnType => Some(ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_COLUMN_TYPE.format),
            Reason::NoPrimaryKey => Some(ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_NOPK.format),
            Reason::AutoIncrement => Some(ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_AUTOINC.format),
            Reason::Check | Reason::Generated | Reason::Other => None,
        }
    }
}

impl Way {
    /// Of a statement that says nothing of it.
    pub const ANY: Way = Way { algorithm: "DEFAULT", lock: "DEFAULT" };

    pub fn of(alter: &AlterTable) -> Result<Way> {
        let algorithm =
            known(alter.algorithm.as_deref(), ALGORITHMS).map_err(|word| Error::new(&ER_UNKNOWN_ALTER_ALGORITHM, &[&word]))?;
        let lock = known(alter.lock.as_deref(), LOCKS).map_err(|word| Error::new(&ER_UNKNOWN_ALTER_LOCK, &[&word]))?;
        if algorithm == "INSTANT" && lock != "DEFAULT" {
            return Err(Error::new(&ER_WRONG_USAGE, &[&"ALGORITHM=INSTANT", &"LOCK=NONE/SHARED/EXCLUSIVE"]));
        }
        Ok(Way { algorithm, lock })
    }

    /// The lock that is held all the time: none, S or X.
    pub fn table_lock(self) -> Option<LockMode> {
        match self.lock {
            "SHARED" => Some(LockMode::S),
            "EXCLUSIVE" => Some(LockMode::X),
            _ => None,
        }
    }

    /// Errors 1845 and 1846 if it cannot be done this way.
    pub fn check(self, alter: &AlterTable, old: &TableDef, new: &TableDef, rows_stay: bool) -> Result<()> {
        let reason = Reason::of(alter, old, new);
        match self.algorithm {
            "INSTANT" => check_instant(new, rows_stay, reason)?,
            "INPLACE" if !rows_stay => check_in_place(reason)?,
            _ => {}
        }
        let renames = !alter.actions.is_empty() && alter.actions.iter().all(|a| matches!(a, AlterAction::RenameTo(_)));
        if self.lock == "NONE" && (self.algorithm == "COPY" || !rows_stay) {
            let copy = ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_COPY.format;
            let reason = if self.algorithm == "COPY" { copy } else { reason.text().unwrap_or(copy) };
            return Err(because("LOCK=NONE", reason, "LOCK=SHARED"));
        }
        if renames && self.algorithm != "COPY" && ["NONE", "SHARED"].contains(&self.lock) {
            return Err(Error::new(&ER_ALTER_OPERATION_NOT_SUPPORTED, &[&"LOCK=NONE/SHARED", &"LOCK=EXCLUSIVE"]));
        }
        Ok(())
    }
}

impl Way {
    /// The same for foreign keys: adding them copies the table in MySQL, unless nobody checks, and is never INSTANT.
    pub fn check_foreign_keys(self, adds: bool, changes: bool, checks: bool) -> Result<()> {
        let (needs, other) = (ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_FK_CHECK.format, "ALGORITHM=COPY");
        match self.algorithm {
            "INSTANT" if adds && checks => Err(because("ALGORITHM=INSTANT", needs, other)),
            "INSTANT" if changes => {
                Err(Error::new(&ER_ALTER_OPERATION_NOT_SUPPORTED, &[&"ALGORITHM=INSTANT", &"ALGORITHM=COPY/INPLACE"]))
            }
            "INPLACE" if adds && checks => Err(because("ALGORITHM=INPLACE", needs, other)),
            "DEFAULT" if self.lock == "NONE" && adds && checks => Err(because("LOCK=NONE", needs, "LOCK=SHARED")),
            _ => Ok(()),
        }
    }
}

fn because(what: &str, reason: &str, instead: &str) -> Error {
    Error::new(&ER_ALTER_OPERATION_NOT_SUPPORTED_REASON, &[&what, &reason, &instead])
}

fn check_instant(new: &TableDef, rows_stay: bool, reason: Reason) -> Result<()> {
    let (algorithm, others) = ("ALGORITHM=INSTANT", "ALGORITHM=COPY/INPLACE");
    let not_supported = |others: &str| Err(Error::new(&ER_ALTER_OPERATION_NOT_SUPPORTED, &[&algorithm, &others]));
    if rows_stay {
        return if new.indexes.iter().any(|i| i.id == IndexId(0)) { not_supported(others) } else { Ok(()) };
    }
    match reason {
        Reason::ColumnType => {
            let reason = ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_COLUMN_TYPE_INSTANT.format;
            Err(because(algorithm, reason, others))
        }
        Reason::Check | Reason::Generated => not_supported("ALGORITHM=COPY"),
        _ => reason.text().map_or_else(|| not_supported(others), |text| Err(because(algorithm, text, others))),
    }
}

fn check_in_place(reason: Reason) -> Result<()> {
    let (algorithm, other) = ("ALGORITHM=INPLACE", "ALGORITHM=COPY");
    match reason {
        Reason::ColumnType | Reason::NoPrimaryKey => Err(because(algorithm, reason.text().unwrap_or_default(), other)),
        Reason::Check | Reason::Generated => Err(Error::new(&ER_ALTER_OPERATION_NOT_SUPPORTED, &[&algorithm, &other])),
        // InnoDB rebuilds the table; so does the copy here.
        Reason::AutoIncrement | Reason::Other => Ok(()),
    }
}

fn known<'w>(word: Option<&'w str>, words: &[&'static str]) -> std::result::Result<&'static str, &'w str> {
    let Some(word) = word else { return Ok("DEFAULT") };
    words.iter().find(|w| w.eq_ignore_ascii_case(word)).copied().ok_or(word)
}
