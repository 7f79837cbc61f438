//! What global variables say of all accounts: the roles that everybody has, which roles a login makes active, and how long a password lasts.

use crate::variables::{Globals, Var};

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

/// The roles of a list as `mandatory_roles` has it: `name`, `name@host`, each with or without quotes, divided by commas. `None` if it is no such
/// list, or has a role without a name.
pub fn parse_roles(list: &str) -> Option<Vec<(String, String)>> {
    let mut roles = Vec::new();
    if list.is_empty() {
        return Some(roles);
    }
    let mut rest = list;
    loop {
        let (user, after) = parse_part(rest)?;
        let (host, after) = match after.strip_prefix('@') {
            Some(host) => parse_part(host)?,
            None => (String::new(), after),
        };
        if user.is_empty() {
            return None;
        }
        let role = (user, if host.is_empty() { "%".to_string() } else { host });
        if !roles.contains(&role) {
            roles.push(role);
        }
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Some(roles),
            None => return None,
        }
    }
}

/// A name, and what comes behind it and its spaces.
fn parse_part(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start();
    match text.chars().next() {
        Some(quote @ ('`' | '\'' | '"')) => {
            let (name, after) = text[1..].split_once(quote)?;
            Some((name.to_string(), after.trim_start()))
        }
        _ => {
            let end = text.find([',', '@']).unwrap_or(text.len());
            Some((text[..end].trim_end().to_string(), &text[end..]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parse_roles;

    fn roles(list: &str) -> Option<Vec<String>> {
        parse_roles(list).map(|roles| roles.iter().map(|(user, host)| format!("{user}@{host}")).collect())
    }

    #[test]
    fn lists_of_roles_have_names_with_and_without_hosts_and_quotes() {
        let cases: &[(&str, Option<&[&str]>)] = &[
            ("", Some(&[])),
            ("a", Some(&["a@%"])),
            ("a, `b`@`%` , 'c d'@\"h\",a@%", Some(&["a@%", "b@%", "c d@h"])),
            ("a@localhost, b c", Some(&["a@localhost", "b c@%"])),
            ("a,b,`a`", Some(&["a@%", "b@%"])),
            ("a@", Some(&["a@%"])),
            ("a,", None),
            (",a", None),
            ("a,,b", None),
            (" ", None),
            ("``@``", None),
            ("`a", None),
            ("`a`b", None),
        ];
        for (list, expected) in cases {
            let expected = expected.map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>());
            assert_eq!(roles(list), expected, "{list}");
        }
    }
}
