//! The system variables: those that `live!` declares act. The last column but one of `table.txt` says of the others whether their values are kept
//! without effect (`kept`), or would change answers then and can only be set to their default (`refused`).

use std::collections::BTreeSet;
use std::path::Path;

use super::Findings;

const TABLE: &str = "crates/session/src/variables/table.txt";
const LIVE: &str = "crates/session/src/variables/live.rs";
const FIELDS: usize = 11;
/// What setting a session's value may need (`variables::restricted`).
const NEEDS: &[&str] =
    &["", "session_admin", "super_or_session_admin", "applier", "file", "session_admin_unless_default", "encryption"];

pub fn check(root: &Path, findings: &mut Findings) -> Result<(), String> {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).map_err(|e| format!("{path}: {e}"));
    compare(&read(TABLE)?, &declared(&read(LIVE)?), findings);
    Ok(())
}

/// The names in `live! { … }`: lines such as `SqlMode "sql_mode" AsValue, "How …";`.
fn declared(text: &str) -> BTreeSet<&str> {
    let body = text.split_once("\nlive! {").map_or("", |(_, rest)| rest);
    let body = body.split_once("\n}").map_or("", |(body, _)| body);
    body.lines().filter_map(|line| line.split('"').nth(1)).collect()
}

fn compare(table: &str, live: &BTreeSet<&str>, findings: &mut Findings) {
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let name = fields.first().copied().unwrap_or_default();
        match fields.get(FIELDS - 2).copied() {
            _ if fields.len() != FIELDS => findings.fail(TABLE, format_args!("{name} has {} fields of {FIELDS}", fields.len())),
            Some("refused") if live.contains(name) => {
                findings.fail(TABLE, format_args!("{LIVE} declares {name}, which is refused here"));
            }
            Some("kept" | "refused") if NEEDS.contains(&fields[FIELDS - 1]) => {}
            Some("kept" | "refused") => {
                findings.fail(TABLE, format_args!("{name}: nobody knows what {} needs", fields[FIELDS - 1]))
            }
            _ => findings.fail(TABLE, format_args!("{name}: the last field but one is kept or refused")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_and_declarations_agree() {
        let live = declared("x\nlive! {\n    SqlMode \"sql_mode\" AsValue, \"How.\";\n}\n    B \"b\" \"no\";\n");
        assert_eq!(live.iter().copied().collect::<Vec<_>>(), ["sql_mode"]);
        let line = |name: &str, effect: &str| format!("{name}\tB\tSet\tD\t\t\t1\t\t\t{effect}\t\n");
        let failures = |text: String| {
            let mut findings = Findings::default();
            compare(&text, &live, &mut findings);
            findings.failures.len()
        };
        assert_eq!(failures(line("sql_mode", "kept") + &line("b", "kept") + &line("c", "refused")), 0);
        assert_eq!(failures(line("sql_mode", "refused") + &line("b", "acts") + &line("c", "") + "d\tB\n"), 4);
    }
}
