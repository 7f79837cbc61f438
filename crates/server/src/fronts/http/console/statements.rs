//! Statements of a page: a session of the account that is logged in, and the rows of its answers as texts.

use std::sync::Arc;
use std::sync::mpsc;

use vaquita_exec::sink::RowSink;
use vaquita_plan::node::{KeptHeader, OutputColumn};
use vaquita_session::answer::{Answer, Flow, Request, ResultForm};
use vaquita_session::clients::Client;
use vaquita_session::server::Server;
use vaquita_session::session::{ClientOptions, Session};
use vaquita_storage::{CommitWaiter, ValueRef};
use vaquita_types::charset::CollationId;
use vaquita_types::convert::to_text;
use vaquita_types::{ColumnType, Error, Result, Value, memory};

use super::super::Origin;
use super::super::limits::{ANSWER_BYTES_MAX, ROWS_MAX, STATEMENT_MS_MAX};
use super::logins::Login;

/// What a page asks the memory account for before it begins.
const PAGE_BYTES: usize = 1 << 20;

/// A session, for one page.
pub struct Statements {
    session: Session,
    client: Arc<Client>,
    server: Arc<Server>,
}

impl Statements {
    /// `client` stands in the list of connections until the page is made.
    pub fn open(server: &Arc<Server>, client: &Arc<Client>, login: &Login) -> Result<Statements> {
        memory::ask(PAGE_BYTES)?;
        client.authenticated(&login.user, (&login.account.user, &login.account.host), true);
        server.clients().add(client.clone());
        let (options, charset) = (ClientOptions::default(), CollationId::UTF8MB4_0900_AI_CI.0);
        let mut session = Session::new(server.clone(), client.clone(), login.account.clone(), options, charset);
        session.set_attributes(vec![("program_name".to_string(), "vaquita console".to_string())]);
        let mut statements = Statements { session, client: client.clone(), server: server.clone() };
        // So that texts mean what `literal` takes them for.
        let set = format!(
            "SET SESSION sql_mode = DEFAULT, max_execution_time = {STATEMENT_MS_MAX}, lock_wait_timeout = 2, innodb_lock_wait_timeout = 2"
        );
        statements.run(&set)?;
        Ok(statements)
    }

    /// The client of a page.
    pub fn client(server: &Server, origin: &Origin) -> Arc<Client> {
        Arc::new(Client::in_background(server.new_connection_id(), &origin.host()))
    }

    pub fn run(&mut self, sql: &str) -> Result<()> {
        self.rows(sql).map(drop)
    }

    /// The rows of a statement; none if it has no result set.
    pub fn rows(&mut self, sql: &str) -> Result<Rows> {
        let mut kept = Kept::default();
        let (done, committed) = mpsc::channel();
        let mut park = || -> CommitWaiter {
            let done = done.clone();
            Box::new(move |result| {
                let _ = done.send(result);
            })
        };
        let mut flow = self.session.run(Request::Text(sql.as_bytes()), &mut kept, &mut park);
        while flow == Flow::Parked {
            let result = committed.recv().unwrap_or_else(|_| Err(Error::internal("a commit has no end")));
            flow = self.session.resume(result, &mut kept, &mut park);
        }
        match kept.failed {
            Some(error) => Err(error),
            None if flow == Flow::Killed => {
                Err(self.client.interrupt.check().err().unwrap_or_else(|| Error::internal("the page was ended")))
            }
            None => Ok(kept.rows),
        }
    }
}

impl Drop for Statements {
    fn drop(&mut self) {
        self.session.close();
        self.server.clients().remove(self.client.id);
    }
}

/// A string literal.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// A name between backticks.
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

#[derive(Clone, Debug, Default)]
pub struct Rows {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Option<String>>>,
    /// There were more.
    pub is_cut: bool,
}

impl Rows {
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|values| Row { columns: &self.columns, values })
    }

    pub fn first(&self) -> Option<Row<'_>> {
        self.iter().next()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }
}

#[derive(Clone, Copy)]
pub struct Row<'a> {
    columns: &'a [String],
    values: &'a [Option<String>],
}

impl<'a> Row<'a> {
    /// `None` for NULL, and for a column that is not there.
    pub fn value(&self, column: &str) -> Option<&'a str> {
        let at = self.columns.iter().position(|known| known.eq_ignore_ascii_case(column))?;
        self.values.get(at)?.as_deref()
    }

    pub fn text(&self, column: &str) -> &'a str {
        self.value(column).unwrap_or_default()
    }

    pub fn number(&self, column: &str) -> f64 {
        self.value(column).and_then(|text| text.parse().ok()).unwrap_or(0.0)
    }

    pub fn pairs(&self) -> impl Iterator<Item = (&'a str, Option<&'a str>)> {
        self.columns.iter().map(String::as_str).zip(self.values.iter().map(Option::as_deref))
    }
}

/// Keeps what is answered.
#[derive(Default)]
struct Kept {
    rows: Rows,
    row: Vec<Option<String>>,
    bytes: usize,
    failed: Option<Error>,
}

impl RowSink for Kept {
    fn columns(&mut self, columns: &[OutputColumn], _: &KeptHeader) -> Result<()> {
        self.rows = Rows { columns: columns.iter().map(|column| column.name.clone()).collect(), ..Rows::default() };
        self.bytes = 0;
        Ok(())
    }

    fn begin_row(&mut self) {
        self.row.clear();
    }

    fn value(&mut self, value: &Value, ty: &ColumnType) {
        let text = match value {
            Value::Null => None,
            value => Some(String::from_utf8_lossy(&to_text(value, ty)).into_owned()),
        };
        self.bytes += text.as_ref().map_or(0, String::len) + size_of::<Option<String>>();
        self.row.push(text);
    }

    fn stored(&mut self, value: ValueRef<'_>, ty: &ColumnType) -> Result<()> {
        let value = value.to_value()?;
        self.value(&value, ty);
        Ok(())
    }

    fn end_row(&mut self) -> Result<()> {
        if self.rows.rows.len() >= ROWS_MAX || self.bytes > ANSWER_BYTES_MAX {
            self.rows.is_cut = true;
        } else {
            self.rows.rows.push(std::mem::take(&mut self.row));
        }
        Ok(())
    }
}

impl Answer for Kept {
    fn take_back(&mut self) -> bool {
        *self = Kept::default();
        true
    }

    fn rows(&mut self, _: ResultForm) -> &mut dyn RowSink {
        self
    }

    fn error(&mut self, error: &Error, _: u16) {
        self.failed = Some(error.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_texts() {
        assert_eq!(literal("it's \\ 'x'"), "'it''s \\\\ ''x'''");
        assert_eq!(quoted("a`b"), "`a``b`");
    }
}
