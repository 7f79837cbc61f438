//! Which server the other is, and what it says of itself.

use crate::client::Client;
use crate::{Failure, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    MySql,
    MariaDb,
    Vaquita,
}

#[derive(Clone, Debug)]
pub struct Server {
    pub kind: Kind,
    pub version: (u32, u32),
    pub version_text: String,
    /// `gtid_mode=ON`; a MariaDB has other GTIDs and none of these.
    pub has_gtids: bool,
    pub server_id: String,
    /// Empty: a MariaDB.
    pub uuid: String,
}

impl Server {
    pub fn ask(client: &mut Client) -> Result<Server> {
        let version_text = client.value("SELECT VERSION()")?;
        let comment = client.variable("version_comment");
        let kind = match () {
            () if client.is_mariadb() || version_text.contains("MariaDB") => Kind::MariaDb,
            () if comment.contains("Vaquita") || version_text.to_ascii_lowercase().contains("vaquita") => Kind::Vaquita,
            () => Kind::MySql,
        };
        let mut numbers = version_text.split(['.', '-']).map_while(|part| part.parse().ok());
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        Ok(Server {
            kind,
            version,
            has_gtids: client.variable("gtid_mode") == "ON",
            server_id: client.variable("server_id"),
            uuid: if kind == Kind::MariaDb { String::new() } else { client.variable("server_uuid") },
            version_text,
        })
    }

    pub fn name(&self) -> String {
        let kind = match self.kind {
            Kind::MySql => "MySQL",
            Kind::MariaDb => "MariaDB",
            Kind::Vaquita => "Vaquita",
        };
        format!("{kind} {}", self.version_text)
    }

    /// What foreign keys change stands in the log.
    pub fn logs_cascades(&self) -> bool {
        match self.kind {
            Kind::Vaquita => true,
            Kind::MySql => self.version >= (9, 6),
            Kind::MariaDb => false,
        }
    }
}

/// Where the log of a server ends: file, position, and what it has executed (MySQL's GTIDs).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogEnd {
    pub file: String,
    pub pos: u64,
    pub executed: String,
}

pub fn log_end(client: &mut Client) -> Result<LogEnd> {
    const FILE: usize = 0;
    const POS: usize = 1;
    const EXECUTED: usize = 4;
    let row = match client.row("SHOW BINARY LOG STATUS") {
        Ok(row) => row,
        Err(_) => client.row("SHOW MASTER STATUS")?,
    };
    let row = row.ok_or_else(|| Failure::from("the source has no binary log (log_bin)"))?;
    let at = |n: usize| row.get(n).cloned().unwrap_or_default();
    let pos = at(POS).parse().map_err(|_| "the source does not say where its log ends")?;
    Ok(LogEnd { file: at(FILE), pos, executed: at(EXECUTED).replace('\n', "") })
}
