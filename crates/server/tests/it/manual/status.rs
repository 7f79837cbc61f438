//! Status variables: those of a running server, with what `session::session::status_names` says of them.

use vaquita_session::counters::names_of_sessions;
use vaquita_session::session::status_names::{MEANINGS, TEXTS, ZEROS};

use super::{PageText, code, compare, plain};
use crate::server::Server;

const ABOUT: &str = "\
`SHOW GLOBAL STATUS` sums over all sessions since the start, `SHOW SESSION STATUS` has what this session has counted where *scope* says *both*. Numbers among them are [metrics](metrics.md), too. `Com_…` count statements by kind, as [Statements](statements.md) lists them.";
const COUNTED: &str = "What is said here is Vaquita's own, or differs from MySQL; everything else is what MySQL's manual says.";
const KEPT: &str = "\
They are of things that Vaquita does not have, or does not count. Monitors read them, and would take a name that is missing for an error.";
/// Of a session alone.
const OF_SESSION: [&str; 2] = ["Ssl_cipher", "Ssl_version"];

#[test]
fn status_variables_are_those_of_a_server() {
    let server = Server::start("manual-status");
    let rows = server.connect().query("SHOW SESSION STATUS").rows();
    let names: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    let of_sessions = names_of_sessions();
    let kept = |name: &str| {
        let text = TEXTS.iter().find(|(kept, _)| *kept == name).map(|(_, text)| *text);
        text.or_else(|| ZEROS.contains(&name).then_some("0"))
    };
    let meaning = |name: &str| MEANINGS.iter().find(|(known, _)| *known == name).map(|(_, meaning)| *meaning);
    for name in &names {
        let is_own = ["Vaquita_", "Rocksdb_"].iter().any(|beginning| name.starts_with(beginning));
        assert!(!is_own || meaning(name).is_some(), "status_names does not say what {name} is");
    }
    for (name, _) in MEANINGS {
        assert!(names.contains(name) && kept(name).is_none(), "{name} is not counted");
    }
    let scope = |name: &str| match name {
        name if OF_SESSION.contains(&name) => "session",
        name if of_sessions.contains(&name) => "both",
        _ => "global",
    };
    let mut page = PageText::new("Status variables", ABOUT);
    page.section("Those that are counted", COUNTED);
    let counted = names.iter().filter(|name| kept(name).is_none());
    page.table(
        ["variable", "scope", "what it is"],
        counted.map(|name| [code(name), scope(name).into(), plain(meaning(name).unwrap_or_default())]),
    );
    page.section("Those that always say the same", KEPT);
    let always = names.iter().filter_map(|name| Some((name, kept(name)?)));
    page.table(
        ["variable", "value"],
        always.map(|(name, value)| [code(name), if value.is_empty() { "empty".into() } else { code(value) }]),
    );
    compare("status.md", &page.0);
}
