//! What would change answers and is not done here is refused by name, so that nobody relies on it: MySQL accepts all of these.

use crate::client::{Answer, Client};
use crate::server::{PASSWORD, Server};

#[test]
fn what_has_no_effect_is_refused_by_name() {
    let server = Server::start("no_effect");
    let mut client = Client::connect(server.port, "root", PASSWORD).expect("connect");
    client.query("CREATE DATABASE d");
    client.query("USE d");
    client.query("CREATE TABLE t (a INT PRIMARY KEY)");
    let refused = [
        ("SET explicit_defaults_for_timestamp = OFF", "explicit_defaults_for_timestamp = OFF"),
        ("SET GLOBAL sql_auto_is_null = 1", "sql_auto_is_null = ON"),
        ("SET show_gipk_in_create_table_and_information_schema = OFF", "show_gipk_in_create_table_and_information_schema = OFF"),
        ("SET sql_mode = 'PAD_CHAR_TO_FULL_LENGTH'", "sql_mode PAD_CHAR_TO_FULL_LENGTH"),
        ("SELECT /*+ SET_VAR(sql_auto_is_null = 1) */ a FROM t", "sql_auto_is_null = ON"),
        ("UPDATE /*+ SET_VAR(sql_mode = 'PAD_CHAR_TO_FULL_LENGTH') */ t SET a = 1", "sql_mode PAD_CHAR_TO_FULL_LENGTH"),
    ];
    for (sql, name) in refused {
        let answer = client.query(sql);
        let Answer::Err { code, text, .. } = &answer else { panic!("{sql}: {answer:?}") };
        assert_eq!((*code, text.contains(name)), (1235, true), "{sql}: {text}");
    }
    let accepted = [
        "SET sql_auto_is_null = 0",
        "SET GLOBAL sql_auto_is_null = OFF",
        "SET explicit_defaults_for_timestamp = DEFAULT",
        "SELECT /*+ SET_VAR(sort_buffer_size = 1048576) */ a FROM t",
        "SET sort_buffer_size = 1048576",
    ];
    for sql in accepted {
        let answer = client.query(sql);
        assert!(!matches!(answer, Answer::Err { .. }), "{sql}: {answer:?}");
    }
}
