//! What tests ask of an answer.

use crate::client::{Answer, Client};

/// The number of the error; 0 if there is none.
pub fn code(answer: &Answer) -> u16 {
    match answer {
        Answer::Err { code, .. } => *code,
        Answer::Ok { .. } | Answer::Rows { .. } => 0,
    }
}

pub fn ok(client: &mut Client, sql: &str) {
    let answer = client.query(sql);
    assert_eq!(code(&answer), 0, "{sql}: {answer:?}");
}

/// The number of the error of the last answer to a statement that may have several.
pub fn last_code(client: &mut Client, sql: &str) -> u16 {
    code(&client.query_last(sql))
}

pub fn run(client: &mut Client, statements: &[&str]) {
    for sql in statements {
        let answer = client.query_last(sql);
        assert_eq!(code(&answer), 0, "{}: {answer:?}", sql.get(..200).unwrap_or(sql));
    }
}

/// The rows of a statement's first result.
pub fn rows(client: &mut Client, sql: &str) -> Vec<Vec<String>> {
    client.query_all(sql).swap_remove(0).rows()
}

/// The values of all rows.
pub fn one(client: &mut Client, sql: &str) -> String {
    client.query(sql).rows().concat().join("|")
}
