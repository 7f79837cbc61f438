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

/// The values of all rows.
pub fn one(client: &mut Client, sql: &str) -> String {
    client.query(sql).rows().concat().join("|")
}
