//! What a statement of the source ran under, as settings of the applier's session. Each is set when it differs from what was set last.

use std::collections::HashMap;
use std::fmt::Write;

use vaquita_exec::dml::images::Conversions;
use vaquita_session::server::Server;
use vaquita_session::session::Session;
use vaquita_session::variables::registry;
use vaquita_types::charset::{CollationId, charset, collation};
use vaquita_types::decimal::Decimal;
use vaquita_types::{Error, Result, Value, sql_mode};
use vaquita_wire::binlog::{IntVar, Query, StatusVar, UserVar, UserVarValue};

/// Bits of `Flags2`.
mod flags {
    pub const AUTO_IS_NULL: u32 = 1 << 14;
    pub const NO_FOREIGN_KEY_CHECKS: u32 = 1 << 26;
    pub const RELAXED_UNIQUE_CHECKS: u32 = 1 << 27;
}

/// Settings of a source that ours may not have: what they say stands in the statement, too, or in its rows.
const OPTIONAL: [&str; 2] = ["explicit_defaults_for_timestamp", "sql_auto_is_null"];

#[derive(Default)]
pub struct Settings {
    set: HashMap<&'static str, String>,
}

impl Settings {
    /// `value` stands in a SET as it is.
    pub fn set(&mut self, session: &mut Session, name: &'static str, value: String) -> Result<()> {
        if self.set.get(name) == Some(&value) {
            return Ok(());
        }
        let done = session.apply_text(format!("SET @@session.{name} = {value}").as_bytes());
        if let Err(error) = done
            && !OPTIONAL.contains(&name)
        {
            return Err(error);
        }
        self.set.insert(name, value);
        Ok(())
    }

    /// Of the next statement alone.
    pub fn set_once(&mut self, session: &mut Session, name: &'static str, value: String) -> Result<()> {
        self.set.remove(name);
        self.set(session, name, value)
    }

    pub fn set_flag(&mut self, session: &mut Session, name: &'static str, on: bool) -> Result<()> {
        self.set(session, name, u8::from(on).to_string())
    }

    /// All that a statement tells of what it ran under, and when (seconds since 1970).
    pub fn follow(&mut self, session: &mut Session, query: &Query<'_>, at_s: u32) -> Result<()> {
        let mut micros = 0;
        // Who does not tell it is MariaDB or a MySQL before 8.0.
        let mut utf8mb4 = "utf8mb4_general_ci";
        // These are told if they are none of the server's first ones.
        let (mut increment, mut offset, mut locale) = (1, 1, 0);
        for var in query.status_vars() {
            let var = var.map_err(|error| Error::internal(format_args!("a statement's settings: {error}")))?;
            match var {
                StatusVar::Flags2(bits) => {
                    self.set_flag(session, "foreign_key_checks", bits & flags::NO_FOREIGN_KEY_CHECKS == 0)?;
                    self.set_flag(session, "unique_checks", bits & flags::RELAXED_UNIQUE_CHECKS == 0)?;
                    self.set_flag(session, "sql_auto_is_null", bits & flags::AUTO_IS_NULL != 0)?;
                }
                StatusVar::SqlMode(bits) => self.set(session, "sql_mode", (bits & known_modes()).to_string())?,
                StatusVar::AutoIncrement { increment: by, offset: from } => (increment, offset) = (by, from),
                StatusVar::Charset { client, connection, server } => {
                    self.set(session, "character_set_client", charset(CollationId(client)).name.to_string())?;
                    self.set(session, "collation_connection", collation(CollationId(connection)).name.to_string())?;
                    self.set(session, "collation_server", collation(CollationId(server)).name.to_string())?;
                }
                StatusVar::TimeZone(zone) => self.set(session, "time_zone", quoted(zone))?,
                StatusVar::LcTimeNames(number) => locale = number,
                StatusVar::DefaultCollationForUtf8mb4(id) => {
                    utf8mb4 = collation(CollationId(id)).name;
                }
                StatusVar::ExplicitDefaultsForTimestamp(on) => {
                    self.set_flag(session, "explicit_defaults_for_timestamp", on)?;
                }
                StatusVar::Microseconds(n) | StatusVar::HrNow(n) => micros = n,
                _ => {}
            }
        }
        self.set(session, "auto_increment_increment", increment.to_string())?;
        self.set(session, "auto_increment_offset", offset.to_string())?;
        self.set(session, "lc_time_names", locale.to_string())?;
        self.set(session, "default_collation_for_utf8mb4", utf8mb4.to_string())?;
        self.set_once(session, "timestamp", format!("{at_s}.{micros:06}"))
    }

    pub fn int_var(&mut self, session: &mut Session, var: IntVar) -> Result<()> {
        match var {
            IntVar::LastInsertId(id) => self.set_once(session, "last_insert_id", id.to_string()),
            IntVar::InsertId(id) => self.set_once(session, "insert_id", id.to_string()),
        }
    }

    pub fn rand(&mut self, session: &mut Session, (first, second): (u64, u64)) -> Result<()> {
        self.set_once(session, "rand_seed1", first.to_string())?;
        self.set_once(session, "rand_seed2", second.to_string())
    }
}

/// SET of a variable of the user's.
pub fn set_user_variable(session: &mut Session, var: &UserVar<'_>) -> Result<()> {
    let name = String::from_utf8_lossy(var.name).replace('`', "``");
    let value = match var.value {
        UserVarValue::Null => "NULL".to_string(),
        UserVarValue::String { collation: id, bytes } => {
            let collation = collation(CollationId(id as u16));
            let mut text = format!("_{} X'", collation.charset.name);
            bytes.iter().for_each(|byte| {
                let _ = write!(text, "{byte:02X}");
            });
            if collation.charset.name == "binary" { text + "'" } else { format!("{text}' COLLATE {}", collation.name) }
        }
        UserVarValue::Real(x) => format!("{x:e}"),
        UserVarValue::Int(n) => n.to_string(),
        UserVarValue::UInt(n) => n.to_string(),
        UserVarValue::Decimal { precision, scale, bytes } => Decimal::decode(bytes, u32::from(precision), scale)
            .map(|decimal| decimal.to_string())
            .ok_or_else(|| Error::internal("a user variable's DECIMAL is damaged"))?,
    };
    session.apply_text(format!("SET @`{name}` := {value}").as_bytes())
}

fn quoted(text: &[u8]) -> String {
    format!("'{}'", String::from_utf8_lossy(text).replace('\\', "\\\\").replace('\'', "''"))
}

/// MariaDB has others at the same places above MySQL's, which mean nothing to us.
fn known_modes() -> u64 {
    sql_mode::NAMES.iter().fold(0, |all, (_, bit)| all | bit)
}

/// `replica_type_conversions`.
pub fn conversions(server: &Server) -> Conversions {
    let value = registry().find("replica_type_conversions").map(|def| server.globals.get(def));
    let text = match &value {
        Some(Value::Bytes(text)) => String::from_utf8_lossy(text),
        _ => "".into(),
    };
    let has = |name: &str| text.split(',').any(|word| word.eq_ignore_ascii_case(name));
    Conversions { lossy: has("ALL_LOSSY"), non_lossy: has("ALL_NON_LOSSY") }
}
