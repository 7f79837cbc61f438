//! The servers and schemas that queries run on, and their answers.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::checks::{Place, Run};
use super::data::Table;
use crate::client::{Answer, Client};
use crate::diff_test::{answer, connect, protocol};
use crate::paths;
use crate::vaquita::{Vaquita, free_port, last_lines};

/// Then a server ends a statement by itself.
const STATEMENT_MS_MAX: u64 = 1000;
/// One that has not answered by then ignores it.
const ANSWER_MAX: Duration = Duration::from_secs(90);

const START_MAX: Duration = Duration::from_secs(60);

/// What a statement gave.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    Rows(Vec<String>),
    Refused(u16, String),
    /// It was ended because it took too long.
    Slow,
    /// No answer came, or half of one.
    Lost(String),
}

struct Own {
    server: Vaquita,
    dir: PathBuf,
    storage: Option<&'static str>,
}

impl Own {
    fn start(dir: &Path, storage: Option<&'static str>) -> Result<Own, String> {
        std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        let options: Vec<&str> = storage.into_iter().flat_map(|storage| ["--storage-test-option", storage]).collect();
        let log = dir.join("server.log");
        let server = Vaquita::spawn_with(&paths::vaquita()?, &dir.join("data"), free_port()?, &log, &options)?.wait()?;
        Ok(Own { server, dir: dir.to_path_buf(), storage })
    }

    fn log(&self) -> String {
        last_lines(&self.dir.join("server.log"), 30)
    }
}

/// Some queries end MySQL, which whoever started it starts again.
fn connect_again(mysql: &str) -> Result<Client, String> {
    let start = Instant::now();
    loop {
        match connect(mysql) {
            Err(_) if start.elapsed() < START_MAX => sleep(Duration::from_millis(500)),
            done => return done,
        }
    }
}

pub struct Servers {
    own: Vec<Own>,
    mysql: Option<String>,
    database: String,
    clients: Vec<(Place, Client)>,
}

impl Servers {
    pub fn start(dir: &Path, mysql: Option<String>, database: String) -> Result<Servers, String> {
        let own = vec![
            Own::start(&dir.join("main"), None)?,
            Own::start(&dir.join("spilled"), Some("operator-bytes-max=1"))?,
            Own::start(&dir.join("parts"), Some("parallel-bytes-min=1"))?,
        ];
        let mut servers = Servers { own, mysql, database, clients: Vec::new() };
        servers.connect()?;
        Ok(servers)
    }

    pub fn stop(mut self) -> Result<(), String> {
        self.each(|servers, place| servers.run_setup(place, &[format!("DROP DATABASE IF EXISTS {}", servers.schema(place))]))?;
        self.clients.clear();
        self.own.into_iter().try_for_each(|own| own.server.stop())
    }

    pub fn has_mysql(&self) -> bool {
        self.mysql.is_some()
    }

    fn connect(&mut self) -> Result<(), String> {
        self.clients.clear();
        let main = [Place::Main, Place::Bare].map(|place| (place, self.own[0].server.connect()));
        let mut all: Vec<(Place, Client)> = Vec::new();
        for (place, client) in main {
            all.push((place, client?));
        }
        all.push((Place::Spilled, self.own[1].server.connect()?));
        all.push((Place::Parts, self.own[2].server.connect()?));
        if let Some(mysql) = &self.mysql {
            all.push((Place::Mysql, connect_again(mysql)?));
        }
        for (_, client) in &mut all {
            client.set_timeout(ANSWER_MAX).map_err(|e| e.to_string())?;
            let settings =
                format!("SET max_execution_time = {STATEMENT_MS_MAX}, group_concat_max_len = 1000000, sql_mode = DEFAULT");
            client.try_query(&settings).map_err(|e| format!("{settings}: {e}"))?;
        }
        self.clients = all;
        Ok(())
    }

    /// After an answer that did not come: new connections, and new processes for those that have ended. Says what ended.
    pub fn recover(&mut self) -> Result<String, String> {
        let mut told = String::new();
        for n in 0..self.own.len() {
            if self.own[n].server.has_ended() {
                let _ = writeln!(told, "the server has ended; the end of its log:\n{}", self.own[n].log());
                let (dir, storage) = (self.own[n].dir.clone(), self.own[n].storage);
                self.own[n] = Own::start(&dir, storage)?;
            }
        }
        self.connect()?;
        Ok(told)
    }

    fn schema(&self, place: Place) -> String {
        if place == Place::Bare { format!("{}_bare", self.database) } else { self.database.clone() }
    }

    fn each(&mut self, mut run: impl FnMut(&mut Servers, Place) -> Result<(), String>) -> Result<(), String> {
        let places: Vec<Place> = self.clients.iter().map(|(place, _)| *place).collect();
        places.into_iter().try_for_each(|place| run(self, place))
    }

    /// Tables with their rows, then the views, everywhere. Returns the views that every server takes.
    pub fn create(&mut self, tables: &[Table], views: &[String], plant: bool) -> Result<Vec<bool>, String> {
        self.each(|servers, place| {
            let schema = servers.schema(place);
            let mut all: Vec<String> = [
                format!("DROP DATABASE IF EXISTS {schema}"),
                format!("CREATE DATABASE {schema} DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_0900_ai_ci"),
                format!("USE {schema}"),
            ]
            .into();
            for table in tables {
                let rows: Vec<usize> = (0..table.rows.len()).collect();
                all.push(table.create(place != Place::Bare));
                all.extend(table.inserts(&rows));
                // Without it MySQL has no statistics for a while.
                all.push(format!("ANALYZE TABLE {}", table.relation.name));
            }
            if plant && place == Place::Bare {
                all.extend(tables.iter().map(|table| format!("DELETE FROM {} WHERE id % 3 = 0", table.relation.name)));
            }
            servers.run_setup(place, &all)
        })?;
        let mut taken = vec![true; views.len()];
        for (n, view) in views.iter().enumerate() {
            for (_, client) in &mut self.clients {
                let answer = client.try_query(view).map_err(|e| format!("{view}: {e}"))?;
                taken[n] &= !matches!(answer, Answer::Err { .. });
            }
        }
        Ok(taken)
    }

    fn run_setup(&mut self, place: Place, statements: &[String]) -> Result<(), String> {
        let Some((_, client)) = self.clients.iter_mut().find(|(of, _)| *of == place) else { return Ok(()) };
        for sql in statements {
            let short: String = sql.chars().take(200).collect();
            match client.try_query(sql).map_err(|e| format!("{short}: {e}"))? {
                Answer::Err { code, text, .. } => return Err(format!("{place:?}: {short}: {code} {text}")),
                _ => continue,
            }
        }
        Ok(())
    }

    /// Leaves a table with these rows only.
    pub fn set_rows(&mut self, place: Place, table: &Table, kept: &[usize]) -> Result<(), String> {
        let all: Vec<String> = [format!("TRUNCATE {}", table.relation.name)].into_iter().chain(table.inserts(kept)).collect();
        self.run_setup(place, &all)
    }

    pub fn run(&mut self, run: &Run) -> Outcome {
        let Some((_, client)) = self.clients.iter_mut().find(|(of, _)| *of == run.place) else {
            return Outcome::Lost("not connected".to_string());
        };
        let reply = match &run.params {
            Some(params) => protocol::execute(client, &run.sql, params),
            None => protocol::query(client, &run.sql),
        };
        match reply.map(|reply| reply.answer) {
            Err(error) => Outcome::Lost(error.to_string()),
            Ok(Answer::Err { code: 3024 | 1317, .. }) => Outcome::Slow,
            Ok(Answer::Err { code, text, .. }) => Outcome::Refused(code, text),
            Ok(Answer::Rows { rows, .. }) => Outcome::Rows(rows.iter().map(answer::text).collect()),
            Ok(other @ Answer::Ok { .. }) => Outcome::Refused(0, format!("{other:?}")),
        }
    }

    /// MySQL's answers with parts of its optimizer switched off or on.
    pub fn run_switched(&mut self, run: &Run) -> Vec<Outcome> {
        const SWITCHES: [&str; 4] = [
            "derived_merge=off",
            "semijoin=off",
            "derived_condition_pushdown=off,subquery_to_derived=on",
            "block_nested_loop=off",
        ];
        let mut outcomes = Vec::new();
        for switch in SWITCHES {
            let set = [format!("SET optimizer_switch = '{switch}'")];
            if self.run_setup(Place::Mysql, &set).is_ok() {
                outcomes.push(self.run(run));
            }
            // An answer that does not come is met again by the next statement.
            let _ = self.run_setup(Place::Mysql, &["SET optimizer_switch = DEFAULT".to_string()]);
        }
        outcomes
    }

    /// How Vaquita carries it out, for a report.
    pub fn plan(&mut self, run: &Run) -> String {
        let explain = format!("EXPLAIN FORMAT=TREE {}", run.sql);
        match self.run(&Run { place: run.place, sql: explain, params: None }) {
            Outcome::Rows(lines) if run.params.is_none() => lines.join("\n"),
            _ => String::new(),
        }
    }
}
