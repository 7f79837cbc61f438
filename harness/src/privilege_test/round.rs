//! A round: an account with its privileges and its session on each server, which run the same statements.

use std::io::ErrorKind;

use vaquita_parser::{ParserOptions, parse_prepared};

use super::kinds::{Kind, Leaves};
use super::names;
use super::privileges::{Grant, Seen, another};
use super::statement::Generator;
use super::{Side, Test};
use crate::client::{Answer, Client};
use crate::random::Random;

/// A connection of another account, which KILL and EXPLAIN FOR CONNECTION may name.
struct Victim {
    _client: Client,
    id: String,
}

/// How a statement is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Text,
    /// PREPARE and EXECUTE.
    Prepared,
    /// COM_STMT_PREPARE and COM_STMT_EXECUTE.
    Packets,
}

pub struct Round<'a> {
    test: &'a mut Test,
    random: &'a mut Random,
    user: String,
    grants: Vec<Grant>,
    sessions: Vec<Client>,
    /// They may have temporary tables.
    temporary: bool,
    victims: Vec<Victim>,
}

impl<'a> Round<'a> {
    pub fn begin(test: &'a mut Test, random: &'a mut Random, grants: Vec<Grant>) -> Result<Round<'a>, String> {
        let user = format!("{}_u", test.database);
        let sessions = Vec::new();
        let mut round = Round { test, random, user, grants, sessions, temporary: false, victims: Vec::new() };
        round.create_accounts()?;
        Ok(round)
    }

    pub fn run(mut self, statements: u64) -> Result<(), String> {
        for _ in 0..statements {
            if self.random.one_in(12) {
                self.change_privileges(Seen::WithLogin)?;
            }
            self.step()?;
        }
        Ok(())
    }

    /// Accounts and roles as they are before each statement, and new sessions.
    fn create_accounts(&mut self) -> Result<(), String> {
        let database = self.test.database.clone();
        self.test.both(&format!("DROP USER IF EXISTS {}", names::all_accounts(&database).join(", ")))?;
        self.test.both(&format!("CREATE ROLE {}", names::ROLES.map(|role| format!("{database}_{role}")).join(", ")))?;
        self.test.both(&format!("CREATE USER {database}_u, {database}_x, {database}_s"))?;
        self.test.both(&format!("GRANT SYSTEM_USER ON *.* TO {database}_s"))?;
        for grant in &self.grants {
            self.test.both(&grant.statement())?;
        }
        if self.grants.iter().any(|grant| names::ROLES.iter().any(|role| grant.what == format!("{database}_{role}"))) {
            self.test.both(&format!("SET DEFAULT ROLE ALL TO {}", self.user))?;
        }
        self.log_in()?;
        self.victims = self.test.sides.iter().map(|side| victim(side, &database)).collect::<Result<_, _>>()?;
        Ok(())
    }

    fn log_in(&mut self) -> Result<(), String> {
        self.connect()?;
        self.enter()
    }

    /// New sessions, without a database.
    fn connect(&mut self) -> Result<(), String> {
        // Locks of the last sessions would be in the way.
        self.sessions.clear();
        self.temporary = false;
        self.sessions = self.test.sides.iter().map(|side| side.connect(&self.user, "")).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Makes the database of the tables the current one if that is allowed, else the account's own; always the same one on both servers.
    fn enter(&mut self) -> Result<(), String> {
        let database = self.test.database.clone();
        let mut entered_one = false;
        for name in [database.clone(), format!("{database}_own")] {
            let mut entered = Vec::new();
            for session in &mut self.sessions {
                let answer = session.try_query(&format!("USE {name}")).map_err(|e| format!("USE {name}: {e}"))?;
                entered.push(!matches!(answer, Answer::Err { .. }));
            }
            if entered.iter().all(|entered| *entered) {
                return Ok(());
            }
            entered_one |= entered.contains(&true);
        }
        if entered_one { self.connect() } else { Ok(()) }
    }

    /// Takes a privilege or gives one that sessions have at the latest by `latest`, and has them see it.
    /// Returns what was done.
    fn change_privileges(&mut self, latest: Seen) -> Result<String, String> {
        let revocable: Vec<usize> = (0..self.grants.len()).filter(|n| self.grants[*n].seen <= latest).collect();
        let (seen, change) = if !revocable.is_empty() && self.random.below(10) < 6 {
            let grant = self.grants.remove(revocable[self.random.below(revocable.len() as u64) as usize]);
            self.test.both(&grant.revocation())?;
            // Others may have given a part of it too.
            for other in self.grants.clone() {
                self.test.both(&other.statement())?;
            }
            (grant.seen, grant.revocation())
        } else {
            let grant = another(self.random, &self.test.database);
            if grant.seen > latest {
                return Ok(String::new());
            }
            self.test.both(&grant.statement())?;
            self.grants.push(grant.clone());
            (grant.seen, grant.statement())
        };
        match seen {
            Seen::AtOnce => {}
            Seen::WithUse => self.enter()?,
            Seen::WithLogin => self.log_in()?,
        }
        Ok(change)
    }

    fn step(&mut self) -> Result<(), String> {
        let database = self.test.database.clone();
        let mut generator = Generator::new(self.random, &database);
        let kind = generator.any_kind();
        let way = [Way::Prepared, Way::Packets].get(generator.number(10) as usize).copied().unwrap_or(Way::Text);
        let sql = generator.statement(kind, way == Way::Packets);
        if let Ok((statement, _)) = parse_prepared(sql.as_bytes(), &ParserOptions::default())
            && Kind::of(&statement) != kind
        {
            return Err(format!("{} is what a template of {} makes: {sql}", Kind::of(&statement).name(), kind.name()));
        }
        // The expressions of SHOW do not see temporary tables in MySQL, which asks for the privileges of others of their names.
        if kind == Kind::Show && self.temporary {
            self.log_in()?;
        }
        self.temporary |= sql.contains("TEMPORARY");
        let in_transaction = matches!(
            kind,
            Kind::Query | Kind::Insert | Kind::Update | Kind::Delete | Kind::LoadData | Kind::Explain | Kind::Do | Kind::Execute
        );
        if in_transaction {
            self.on_both("BEGIN")?;
        }
        let (answers, change) = if way == Way::Text { (self.ask(&sql)?, String::new()) } else { self.ask_prepared(&sql, way)? };
        let history = if change.is_empty() { change } else { format!(", prepared before {change}") };
        self.test.judge(kind, &sql, &answers, &self.grants, &history);
        if in_transaction {
            self.on_both("ROLLBACK")?;
        }
        if matches!(kind, Kind::LockTables | Kind::Flush | Kind::Execute | Kind::Prepare) {
            self.on_both("UNLOCK TABLES")?;
        }
        let done = answers.map(|answer| !matches!(answer, Answer::Err { .. }));
        if done == [false; 2] { Ok(()) } else { self.put_right(kind, &sql, done[0] == done[1]) }
    }

    fn put_right(&mut self, kind: Kind, sql: &str, alike: bool) -> Result<(), String> {
        let leaves = if sql.starts_with("SET PASSWORD") { Leaves::Accounts } else { kind.leaves() };
        match leaves {
            Leaves::Nothing if alike => Ok(()),
            Leaves::Nothing | Leaves::Session => {
                self.log_in()?;
                let database = self.test.database.clone();
                if kind == Kind::Kill {
                    self.victims = self.test.sides.iter().map(|side| victim(side, &database)).collect::<Result<_, _>>()?;
                }
                Ok(())
            }
            Leaves::Objects => {
                if !alike {
                    self.log_in()?;
                }
                self.test.create_objects()?;
                self.enter()
            }
            Leaves::Accounts => self.create_accounts(),
        }
    }

    /// For what it does.
    fn on_both(&mut self, sql: &str) -> Result<(), String> {
        self.ask(sql).map(drop)
    }

    fn ask(&mut self, sql: &str) -> Result<[Answer; 2], String> {
        self.each(sql, |session, sql| session.try_query(sql))
    }

    /// Prepares `sql`, changes privileges, executes it; returns the change too. A server that does not prepare it has answered with that.
    fn ask_prepared(&mut self, sql: &str, way: Way) -> Result<([Answer; 2], String), String> {
        let mut prepared = Vec::new();
        if way == Way::Prepared {
            let text = sql.replace('\\', "\\\\").replace('\'', "\\'");
            self.each(&text, |session, text| session.try_query(&format!("SET @ps = '{text}'")))?;
            prepared.extend(self.ask("PREPARE ps FROM @ps")?.map(|answer| match answer {
                Answer::Err { .. } => Err(answer),
                _ => Ok(None),
            }));
        } else {
            for (session, victim) in self.sessions.iter_mut().zip(&self.victims) {
                let answer = session.prepare(&sql.replace("@@VICTIM@@", &victim.id));
                prepared.push(answer.map_err(|e| format!("{sql}: {e}"))?.map(Some));
            }
        }
        let change = self.change_privileges(Seen::WithUse)?;
        let mut prepared = prepared.into_iter();
        let answers = self.each(sql, |session, _| match prepared.next() {
            Some(Ok(None)) => session.try_query("EXECUTE ps"),
            Some(Ok(Some(statement))) => session.execute(&statement, 1),
            Some(Err(answer)) => Ok(answer),
            None => Err(ErrorKind::Other.into()),
        })?;
        Ok((answers, change))
    }

    /// What each session answers. A session that a statement ends answers like success, and is opened again.
    fn each(
        &mut self,
        sql: &str,
        mut ask: impl FnMut(&mut Client, &str) -> std::io::Result<Answer>,
    ) -> Result<[Answer; 2], String> {
        let mut answers = Vec::new();
        let mut ended = false;
        for (session, victim) in self.sessions.iter_mut().zip(&self.victims) {
            answers.push(match ask(session, &sql.replace("@@VICTIM@@", &victim.id)) {
                Ok(answer) => answer,
                Err(error) if matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => {
                    ended = true;
                    done()
                }
                Err(error) => return Err(format!("{sql}: {error}")),
            });
        }
        if ended {
            self.log_in()?;
        }
        answers.try_into().map_err(|_| "two answers expected".to_string())
    }
}

fn done() -> Answer {
    Answer::Ok { affected: 0, info: String::new(), warnings: 0 }
}

fn victim(side: &Side, database: &str) -> Result<Victim, String> {
    let mut client = side.connect(&format!("{database}_x"), "")?;
    let id = match client.try_query("SELECT CONNECTION_ID()").map_err(|e| e.to_string())?.rows().pop() {
        Some(mut row) => row.pop().unwrap_or_default(),
        None => return Err("no connection id".into()),
    };
    Ok(Victim { _client: client, id })
}
