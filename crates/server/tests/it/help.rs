//! HELP: who may ask, what it leaves alone, and that the examples of its texts are true.

use crate::client::{Answer, Client};
use crate::server::Server;

fn code(answer: Answer) -> Option<u16> {
    match answer {
        Answer::Err { code, .. } => Some(code),
        _ => None,
    }
}

/// What the examples of the tables say: a statement, and its rows as they are written behind it.
fn examples(client: &mut Client) -> Vec<(String, Vec<String>)> {
    let mut examples: Vec<(String, Vec<String>)> = Vec::new();
    for row in client.query("SELECT example FROM mysql.help_topic WHERE example LIKE 'mysql>%'").rows() {
        for line in row[0].lines() {
            if let Some(statement) = line.strip_prefix("mysql> ") {
                examples.push((statement.to_string(), Vec::new()));
            } else if let Some((statement, rows)) = examples.last_mut() {
                match line.strip_prefix("        -> ") {
                    Some(row) => rows.push(row.replace('\'', "")),
                    None => *statement += line.trim_start().strip_prefix("->").unwrap_or(line),
                }
            }
        }
    }
    examples
}

#[test]
fn help_is_for_everybody_and_its_examples_are_true() {
    let server = Server::start("help");
    let mut root = server.connect();
    assert_eq!(code(root.query("CREATE USER nobody")), None);
    let mut nobody = Client::connect(server.port, "nobody", "").expect("connect");
    assert_eq!(nobody.query("HELP 'concat%'").rows(), [["CONCAT", "N"], ["CONCAT_WS", "N"]]);
    assert_eq!(code(nobody.query("SELECT * FROM mysql.help_topic")), Some(1142));

    // FOUND_ROWS() stays that of the query before, and HELP cannot be prepared.
    assert_eq!(nobody.query("SELECT 1 UNION SELECT 2").rows().len(), 2);
    assert_eq!(nobody.query("HELP CONCAT").rows().len(), 1);
    assert_eq!(nobody.query("SELECT FOUND_ROWS()").rows(), [["2"]]);
    assert_eq!(code(nobody.query("PREPARE s FROM 'HELP \\'concat\\''")), Some(1295));

    let of_keyword = "SELECT t.name, c.name FROM mysql.help_keyword k JOIN mysql.help_relation USING (help_keyword_id) \
        JOIN mysql.help_topic t USING (help_topic_id) JOIN mysql.help_category c USING (help_category_id) \
        WHERE k.name = 'separator'";
    assert_eq!(root.query(of_keyword).rows(), [["GROUP_CONCAT", "Aggregate Functions and Modifiers"]]);

    let examples = examples(&mut root);
    assert!(examples.len() > 100, "{}", examples.len());
    for (statement, wanted) in examples {
        let rows: Vec<String> = match root.query(statement.trim_end_matches(';')) {
            Answer::Err { code, text, .. } => panic!("{statement}: {code} {text}"),
            Answer::Ok { .. } => continue,
            answer => answer.rows().iter().map(|row| row.join(", ").replace('\'', "")).collect(),
        };
        assert!(wanted.is_empty() || rows == wanted, "{statement}: {rows:?}, not {wanted:?}");
    }
}
