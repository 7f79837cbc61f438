//! Which account may run which statement about accounts: each of some accounts runs each of some statements.
//!
//! `tests/golden/accounts/matrix.txt` (statements about accounts) and `administration.txt` (others that need more than tables), `routines.txt` (privileges of one routine) begin with the statements that make the accounts, up to a line `---`; after each
//! statement that succeeded they are run again. Then follow the statements, each after `> `, and below it what MySQL
//! answered with the accounts that got this answer. `ME` in a statement or an answer is the account that runs it, `PLAIN` and `SYS`
//! are the numbers of open connections of `t_plain` and `t_sys`. A line that begins with `! ` is what Vaquita answers by decision instead.
//! To record again: `VAQUITA_RECORD=127.0.0.1:13306:user:password cargo test -p vaquita-server --test it matrix`.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::path::Path;

use crate::client::{Answer, Client};
use crate::server::{PASSWORD, Server};
use vaquita_scripts::{Record, Target};

/// The accounts that run statements: those that the preparation creates with this in their names.
const ACTOR: &str = "m_";

#[test]
fn matrix_of_accounts_and_statements() {
    play("matrix");
}

/// The same for statements that administer the server.
#[test]
fn matrix_of_administrators_and_statements() {
    play("administration");
}

/// The same for what is granted on one routine.
#[test]
fn matrix_of_routines_and_statements() {
    play("routines");
}

fn play(name: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/accounts").join(format!("{name}.txt"));
    let text = std::fs::read_to_string(&file).expect("read");
    if let Record::Mysql(target) = Record::from_env() {
        let recorded = Matrix::new(target, &text).run(&text);
        std::fs::write(file, recorded.text).expect("write");
        return;
    }
    let server = Server::start(name);
    let target = Target { port: server.port, user: "root".into(), password: PASSWORD.into() };
    let played = Matrix::new(target, &text).run(&text);
    assert!(played.wrong.is_empty(), "{} differ:\n{}", played.wrong.len(), played.wrong.join("\n"));
}

struct Matrix {
    target: Target,
    root: Client,
    setup: Vec<String>,
    actors: Vec<String>,
    open: HashMap<String, Client>,
    connections: HashMap<&'static str, (Client, String)>,
}

#[derive(Default)]
struct Played {
    text: String,
    wrong: Vec<String>,
}

impl Matrix {
    fn new(target: Target, text: &str) -> Matrix {
        let root = Client::connect(target.port, &target.user, &target.password).expect("root connects");
        let head = text.split("\n---\n").next().expect("a preparation");
        let setup: Vec<String> = head.lines().filter(|l| !l.starts_with('#')).map(str::to_string).collect();
        let mut actors: Vec<String> = Vec::new();
        for word in head.split([' ', ',', '\n']).filter(|word| word.starts_with(ACTOR)) {
            if !actors.iter().any(|a| a == word) {
                actors.push(word.to_string());
            }
        }
        Matrix { target, root, setup, actors, open: HashMap::new(), connections: HashMap::new() }
    }

    fn run(&mut self, text: &str) -> Played {
        let (head, body) = text.split_once("\n---\n").expect("a preparation");
        let mut played = Played { text: format!("{head}\n---\n"), wrong: Vec::new() };
        self.reset();
        for block in body.split("\n\n").map(str::trim).filter(|b| !b.is_empty()) {
            for line in block.lines().filter(|l| l.starts_with('#')) {
                let _ = writeln!(played.text, "{line}");
            }
            let Some(sql) = block.lines().find_map(|l| l.strip_prefix("> ")) else {
                played.text.push('\n');
                continue;
            };
            let _ = writeln!(played.text, "> {sql}");
            let expected = expected(block);
            let mut answers: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for actor in self.actors.clone() {
                let answer = self.ask(&actor, sql);
                if expected.get(&actor) != Some(&answer) {
                    let wanted = expected.get(&actor).map_or("nothing recorded", |e| e);
                    played.wrong.push(format!("{actor}> {sql}\n    MySQL: {wanted}\n    got:   {answer}"));
                }
                answers.entry(answer).or_default().push(actor);
            }
            for (answer, actors) in answers {
                let _ = writeln!(played.text, "{}: {answer}", actors.join(" "));
            }
            for line in block.lines().filter(|l| l.starts_with('!')) {
                let _ = writeln!(played.text, "{line}");
            }
            played.text.push('\n');
        }
        played
    }

    /// The accounts as they are before each statement.
    fn reset(&mut self) {
        // Their locks go with them.
        self.open.clear();
        self.connections.clear();
        for sql in &self.setup {
            if let Answer::Err { code, text, .. } = self.root.query(sql) {
                panic!("{sql}: {code} {text}");
            }
        }
    }

    fn connection(&mut self, user: &'static str) -> String {
        let port = self.target.port;
        let (_, id) = self.connections.entry(user).or_insert_with(|| {
            let mut client = Client::connect(port, user, "").expect("connect");
            let id = client.query("SELECT CONNECTION_ID()").rows()[0][0].clone();
            (client, id)
        });
        id.clone()
    }

    fn ask(&mut self, actor: &str, sql: &str) -> String {
        let mut numbers = Vec::new();
        let mut words = Vec::new();
        for word in sql.split(' ') {
            words.push(match word {
                "ME" => actor.to_string(),
                "PLAIN" => self.connection("t_plain"),
                "SYS" => self.connection("t_sys"),
                other => other.to_string(),
            });
            numbers.extend(words.last().filter(|_| matches!(word, "PLAIN" | "SYS")).map(|id| (id.clone(), word)));
        }
        let sql = words.join(" ");
        let port = self.target.port;
        let client = self.open.entry(actor.to_string()).or_insert_with(|| Client::connect(port, actor, "").expect("connect"));
        match client.query(&sql) {
            Answer::Err { code, text, .. } => {
                let mut text = text.replace(actor, "ME").replace('\n', " ");
                for (id, word) in numbers {
                    text = text.replace(&id, word);
                }
                format!("{code} {text}")
            }
            _ => {
                self.reset();
                "ok".to_string()
            }
        }
    }
}

/// Account and answer of the lines below a statement; what is decided on replaces what MySQL answers.
fn expected(block: &str) -> HashMap<String, String> {
    let mut found = HashMap::new();
    for line in block.lines().filter(|l| !l.starts_with(['#', '>'])) {
        let Some((actors, answer)) = line.trim_start_matches("! ").split_once(": ") else { continue };
        for actor in actors.split(' ') {
            found.insert(actor.to_string(), answer.to_string());
        }
    }
    found
}
