//! Session variables that not everybody may set, as MySQL 9.7 has them: error 1227.
//!
//! They say what is logged, replicated or checked, or take memory; the last column of the table of variables says which. `tests/golden/accounts/variables.txt` has what MySQL answers.

use super::Def;

/// What setting a session variable needs besides the right to set it for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restriction {
    /// SESSION_VARIABLES_ADMIN.
    SessionAdmin,
    /// The same, or SUPER.
    SuperOrSessionAdmin,
    /// The same, or REPLICATION_APPLIER.
    Applier,
    /// FILE, unless it is set to its default.
    File,
    /// SESSION_VARIABLES_ADMIN, unless it is set to its default.
    SessionAdminUnlessDefault,
    /// SUPER, or SYSTEM_VARIABLES_ADMIN with TABLE_ENCRYPTION_ADMIN, unless it stays as it is.
    Encryption,
}

use Restriction::{Applier, Encryption, File, SessionAdmin, SessionAdminUnlessDefault, SuperOrSessionAdmin};

impl Restriction {
    /// As the table of variables spells it.
    pub fn of_row(word: &str) -> Option<Restriction> {
        Some(match word {
            "session_admin" => SessionAdmin,
            "super_or_session_admin" => SuperOrSessionAdmin,
            "applier" => Applier,
            "file" => File,
            "session_admin_unless_default" => SessionAdminUnlessDefault,
            "encryption" => Encryption,
            _ => return None,
        })
    }
}

impl Def {
    /// What setting it for a session needs, if anything; `default`: to DEFAULT, `changes`: to another value than it has.
    pub fn restriction(&self, default: bool, changes: bool) -> Option<Restriction> {
        self.needs.filter(|needs| match needs {
            SessionAdmin | SuperOrSessionAdmin | Applier => true,
            File | SessionAdminUnlessDefault => !default,
            Encryption => changes,
        })
    }
}

impl Restriction {
    /// What error 1227 says is missing, unless one of it is there.
    pub fn check(self, is_super: bool, has_file: bool, has: impl Fn(&str) -> bool) -> Result<(), &'static str> {
        let all = has("SYSTEM_VARIABLES_ADMIN");
        let session = all || has("SESSION_VARIABLES_ADMIN");
        let (may, text) = match self {
            SessionAdmin | SessionAdminUnlessDefault => (session, "SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN"),
            SuperOrSessionAdmin => (session || is_super, "SUPER, SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN"),
            Applier => (
                session || is_super || has("REPLICATION_APPLIER"),
                "SUPER, SYSTEM_VARIABLES_ADMIN, SESSION_VARIABLES_ADMIN or REPLICATION_APPLIER",
            ),
            File => (has_file, "FILE"),
            Encryption => {
                (is_super || (all && has("TABLE_ENCRYPTION_ADMIN")), "SUPER or SYSTEM_VARIABLES_ADMIN and TABLE_ENCRYPTION_ADMIN")
            }
        };
        if may { Ok(()) } else { Err(text) }
    }
}
