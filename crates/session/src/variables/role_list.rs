//! The value of `mandatory_roles`.

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
