//! What global variables say of all accounts: the roles that everybody has, which roles a login makes active, and how long a password lasts.

use crate::variables::{Globals, Var, parse_roles};

/// `mandatory_roles`, `activate_all_roles_on_login`, `activate_mandatory_roles` and `default_password_lifetime`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountSettings {
    /// User and host of each, in the order in which they were given; some may not exist.
    pub mandatory_roles: Vec<(String, String)>,
    pub activates_all: bool,
    pub activates_mandatory: bool,
    /// Of accounts that do not say it themselves; 0: it lasts for ever.
    pub password_days: u64,
}

impl AccountSettings {
    pub fn of(globals: &Globals) -> AccountSettings {
        AccountSettings {
            mandatory_roles: parse_roles(&globals.text(Var::MandatoryRoles)).unwrap_or_default(),
            activates_all: globals.is_on(Var::ActivateAllRolesOnLogin),
            activates_mandatory: globals.is_on(Var::ActivateMandatoryRoles),
            password_days: globals.number(Var::DefaultPasswordLifetime),
        }
    }

    pub fn depend_on(var: Var) -> bool {
        matches!(
            var,
            Var::MandatoryRoles | Var::ActivateAllRolesOnLogin | Var::ActivateMandatoryRoles | Var::DefaultPasswordLifetime
        )
    }

    pub fn is_mandatory(&self, user: &str, host: &str) -> bool {
        self.mandatory_roles.iter().any(|(u, h)| u == user && h.eq_ignore_ascii_case(host))
    }
}
