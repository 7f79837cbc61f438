//! Statements to one server, and what comes back: rows of text, one value, or nothing.
//!
//! Texts come and go in utf8mb4, whatever the charset of their column.

use vaquita_replication::connection::{Connection, Outcome, SourceError, TextRow};

use vaquita_replication::address::Address;

pub struct Client {
    connection: Connection,
}

type Answer<T> = std::result::Result<T, SourceError>;

impl Client {
    pub fn open(address: &Address) -> Answer<Client> {
        let mut client = Client { connection: Connection::open(&address.target())? };
        client.run("SET NAMES utf8mb4")?;
        client.run("SET time_zone = '+00:00', sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES', wait_timeout = 86400, net_write_timeout = 3600, net_read_timeout = 3600")?;
        Ok(client)
    }

    pub fn is_mariadb(&self) -> bool {
        self.connection.is_mariadb()
    }

    pub fn run(&mut self, sql: &str) -> Answer<Outcome> {
        self.connection.run(sql.as_bytes(), &mut |_| {})
    }

    pub fn run_bytes(&mut self, sql: &[u8]) -> Answer<Outcome> {
        self.connection.run(sql, &mut |_| {})
    }

    pub fn each(&mut self, sql: &str, each: &mut dyn FnMut(TextRow)) -> Answer<Outcome> {
        self.connection.run(sql.as_bytes(), each)
    }

    pub fn raw_rows(&mut self, sql: &str) -> Answer<Vec<TextRow>> {
        let mut rows = Vec::new();
        self.connection.run(sql.as_bytes(), &mut |row| rows.push(row))?;
        Ok(rows)
    }

    /// NULL is an empty text.
    pub fn rows(&mut self, sql: &str) -> Answer<Vec<Vec<String>>> {
        let texts = |row: TextRow| row.into_iter().map(text).collect();
        Ok(self.raw_rows(sql)?.into_iter().map(texts).collect())
    }

    /// The first value of the first row; empty if there is none.
    pub fn value(&mut self, sql: &str) -> Answer<String> {
        Ok(self.connection.query(sql)?.map_or(String::new(), |value| String::from_utf8_lossy(&value).into_owned()))
    }

    /// A variable; empty if the server has none of that name.
    pub fn variable(&mut self, name: &str) -> String {
        self.value(&format!("SELECT @@GLOBAL.{name}")).unwrap_or_default()
    }

    /// The first rows of a SHOW, by the names of columns that one of them has. Positions are those of MySQL.
    pub fn row(&mut self, sql: &str) -> Answer<Option<Vec<String>>> {
        Ok(self.rows(sql)?.into_iter().next())
    }
}

fn text(value: Option<Vec<u8>>) -> String {
    value.map_or(String::new(), |value| String::from_utf8_lossy(&value).into_owned())
}

/// A name in backquotes.
pub fn name(text: &str) -> String {
    format!("`{}`", text.replace('`', "``"))
}

/// A text in quotes.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// Bytes in quotes, behind what says how they are to be taken.
pub fn put_quoted(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'\'');
    for &byte in bytes {
        match byte {
            b'\'' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0 => out.extend_from_slice(b"\\0"),
            _ => out.push(byte),
        }
    }
    out.push(b'\'');
}
