//! CURRENT_ROLE() and what else is asked about roles: CURRENT_ROLE_IN, CURRENT_USER_IN, ROLES_GRAPHML.

use std::fmt::Write;

use vaquita_types::charset::CollationId;
use vaquita_types::{ColumnType, Result, TypeKind, Value};

use super::args::{as_utf8, volatile};
use super::{FuncCall, FuncDef, FuncType};
use crate::env::{EvalCx, RoleGrants};
use crate::eval::arg;
use crate::typing::int_of_length;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    volatile("CURRENT_ROLE", 0, 0, |_| long_text(), current_role),
    volatile("CURRENT_ROLE_IN", 1, 1, |_| FuncType::number(int_of_length(11), false), current_role_in),
    volatile("CURRENT_USER_IN", 1, 1, |_| FuncType::number(int_of_length(11), false), current_user_in),
    volatile("ROLES_GRAPHML", 0, 0, |_| long_text(), roles_graphml),
];

fn long_text() -> Result<FuncType> {
    let collation = CollationId::UTF8MB3_GENERAL_CI;
    let ty = ColumnType { length: u32::MAX, collation, ..ColumnType::new(TypeKind::LongText) };
    Ok(FuncType { ty, nullable: true, coercibility: 3 })
}

fn quoted(user: &str, host: &str) -> String {
    format!("`{}`@`{}`", user.replace('`', "``"), host.replace('`', "``"))
}

fn current_role(_: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let mut roles: Vec<String> = cx.env.session()?.roles().iter().map(|(user, host)| quoted(user, host)).collect();
    roles.sort_unstable();
    Ok(if roles.is_empty() { Value::from("NONE") } else { Value::from(roles.join(",")) })
}

/// The accounts of a list with commas; one without a host has `%`. Names may be quoted.
fn listed(text: &str) -> Vec<(String, String)> {
    let mut accounts = Vec::new();
    let mut parts = [String::new(), String::new()];
    let (mut part, mut quote, mut has_host) = (0, None, false);
    for c in text.chars().chain([',']) {
        match (c, quote) {
            (_, Some(open)) if c == open => quote = None,
            (_, Some(_)) => parts[part].push(c),
            ('`' | '\'' | '"', None) => quote = Some(c),
            ('@', None) => (part, has_host) = (1, true),
            (',', None) => {
                let [user, host] = std::mem::take(&mut parts);
                accounts
                    .push((user.trim().to_string(), if has_host { host.trim().to_ascii_lowercase() } else { "%".to_string() }));
                (part, has_host) = (0, false);
            }
            _ => parts[part].push(c),
        }
    }
    accounts
}

fn current_role_in(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let wanted = listed(&arg!(as_utf8(call, 0, cx)));
    let active = cx.env.session()?.roles();
    Ok(Value::bool(wanted.iter().any(|role| active.contains(role))))
}

fn current_user_in(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let wanted = listed(&arg!(as_utf8(call, 0, cx)));
    let account = cx.env.session()?.account();
    let (user, host) = account.rsplit_once('@').unwrap_or((account, ""));
    Ok(Value::bool(wanted.iter().any(|(u, h)| u == user && h == host)))
}

const GRAPH_HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" \
    xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:schemaLocation=\"http://graphml.graphdrawing.org/xmlns \
    http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd\">\n  <key id=\"key0\" for=\"edge\" attr.name=\"color\" attr.type=\"int\" />\n  \
    <key id=\"key1\" for=\"node\" attr.name=\"name\" attr.type=\"string\" />\n  <graph id=\"G\" edgedefault=\"directed\" \
    parse.nodeids=\"canonical\" parse.edgeids=\"canonical\" parse.order=\"nodesfirst\">\n";

/// All accounts are nodes, and each role that is granted to one is an edge from it; its colour says whether it may be passed on.
fn roles_graphml(_: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let Some(accounts) = cx.env.session()?.role_grants() else {
        return Ok(Value::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?><graphml />"));
    };
    let mut out = GRAPH_HEAD.to_string();
    for (n, account) in accounts.iter().enumerate() {
        let name = escaped(&quoted(&account.user, &account.host));
        let _ = writeln!(out, "    <node id=\"n{n}\">\n      <data key=\"key1\">{name}</data>\n    </node>");
    }
    write_edges(&accounts, &mut out, cx)?;
    out.push_str("  </graph>\n</graphml>\n");
    Ok(Value::from(out))
}

fn write_edges(accounts: &[RoleGrants], out: &mut String, cx: &EvalCx<'_>) -> Result<()> {
    let places: std::collections::HashMap<(&str, &str), usize> =
        accounts.iter().enumerate().map(|(n, account)| ((account.user.as_str(), account.host.as_str()), n)).collect();
    let mut edges = 0;
    for (source, account) in accounts.iter().enumerate() {
        cx.env.check_interrupt()?;
        for (user, host, may_pass_on) in &account.roles {
            let Some(target) = places.get(&(user.as_str(), host.as_str())) else { continue };
            let color = u8::from(*may_pass_on);
            let _ = writeln!(
                out,
                "    <edge id=\"e{edges}\" source=\"n{source}\" target=\"n{target}\">\n      <data key=\"key0\">{color}</data>\n    </edge>"
            );
            edges += 1;
        }
    }
    Ok(())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&apos;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_accounts() {
        let of = |text| listed(text).into_iter().map(|(user, host)| format!("{user}|{host}")).collect::<Vec<_>>();
        assert_eq!(of("a, 'b,c'@LOCALHOST,`d@e`@'%'"), ["a|%", "b,c|localhost", "d@e|%"]);
        assert_eq!(of(""), ["|%"]);
    }
}
