//! System variables: the registry of `session::variables`.

use std::path::PathBuf;

use vaquita_session::variables::{Change, Def, Effect, Fixed, Kind, Scope, registry};
use vaquita_types::Value;

use super::{PageText, code, compare, plain};

const ABOUT: &str = "\
`SHOW VARIABLES` and `performance_schema.variables_info` say the same of a running server, `SET` and `SET PERSIST` change what can be changed.
*Scope* is *global*, *session*, or *both*. *SET* is *yes*; *global* where a session cannot set its own value; or *no*: such a variable has its value from the start on, some from an option of [`vaquita serve`](options.md).";

const ACTS: &str = "These do something. Their names are MySQL's, but for those that begin with `vaquita_` and `innodb_snapshot_isolation`, which is MariaDB's.";
const REFUSED: &str =
    "A value other than the default would change answers, and what it asks for is not there: setting it is error 1235.";
const KEPT: &str = "\
These can be set and are shown, so that applications and tools find them, and change nothing. Most of them tune what Vaquita does not have or sizes by itself.";

/// Names whose values every server has of its own.
fn of_each_server() -> Vec<&'static str> {
    let nowhere = PathBuf::new;
    let fixed = Fixed {
        version: "",
        data_dir: nowhere(),
        port: 0,
        bind: String::new(),
        socket: nowhere(),
        server_uuid: String::new(),
        options: Vec::new(),
    };
    let machines = ["bind_address", "port"];
    fixed.values().into_iter().map(|(name, _)| name).filter(|name| !machines.contains(name)).collect()
}

fn scope(def: &Def) -> &'static str {
    match def.scope {
        Scope::Global => "global",
        Scope::Both => "both",
        Scope::Session => "session",
    }
}

fn change(def: &Def) -> &'static str {
    match def.change {
        Change::Dynamic => "yes",
        Change::GlobalOnly => "global",
        Change::ReadOnly => "no",
    }
}

fn values(def: &Def) -> String {
    let list = |names: &[&str]| names.iter().map(|name| code(name)).collect::<Vec<_>>().join(", ");
    match &def.kind {
        Kind::Bool => "`ON`, `OFF`".to_string(),
        Kind::Int { max: u64::MAX, min, .. } => format!("{min} and more"),
        Kind::Int { min, max, .. } => format!("{min} to {max}"),
        Kind::Number { min, max } if *max == f64::MAX => format!("a number from {min} on"),
        Kind::Number { min, max } => format!("a number, {min} to {max}"),
        Kind::Enum(names) => list(names),
        Kind::Set(names) if names.is_empty() => "names".to_string(),
        Kind::Set(names) => format!("some of {}", list(names)),
        Kind::Flags(names) => format!("`name=on` or `off` of {}", list(names)),
        Kind::SqlMode => "modes".to_string(),
        Kind::Text => "text".to_string(),
    }
}

fn default(def: &Def, own: &[&str]) -> String {
    match &def.default {
        _ if own.contains(&def.name) => "of the server".to_string(),
        Value::Null => "NULL".to_string(),
        value if def.show(value).is_empty() => "empty".to_string(),
        value => code(&def.show(value)),
    }
}

fn name(def: &Def) -> String {
    // The old name of a pair stands beside the new one and has a row of its own.
    match def.other_name().filter(|_| !def.is_old_name()) {
        Some(old) => format!("{}, {}", code(def.name), code(old.name)),
        None => code(def.name),
    }
}

#[test]
fn variables_are_those_of_the_registry() {
    let own = of_each_server();
    let defs = || registry().defs.iter().filter(|def| !def.is_old_name());
    let mut page = PageText::new("System variables", ABOUT);
    page.section("Those that act", ACTS);
    page.table(
        ["variable", "scope", "SET", "values", "default", "what it does"],
        defs()
            .filter(|def| def.effect == Effect::Acts)
            .map(|def| [name(def), scope(def).into(), change(def).into(), values(def), default(def, &own), plain(def.prose)]),
    );
    for (title, about, effect) in [
        ("Those that can only have their default", REFUSED, Effect::Refused),
        ("Those that are kept for compatibility", KEPT, Effect::None),
    ] {
        page.section(title, about);
        page.table(
            ["variable", "scope", "SET", "values", "default"],
            defs()
                .filter(|def| def.effect == effect)
                .map(|def| [name(def), scope(def).into(), change(def).into(), values(def), default(def, &own)]),
        );
    }
    compare("variables.md", &page.0);
}
