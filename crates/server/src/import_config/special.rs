//! Settings that become something else here, or of which the value decides.

use std::path::Path;

use vaquita_session::variables::registry;

use super::meaning::{Does, Meaning, Verdict, taken};
use super::value::{integer, switch};

const DAY_S: f64 = 86_400.0;
const SECOND_MS: f64 = 1_000.0;

/// Plugins whose work the server does without one.
const PLUGINS_OF_ITS_OWN: [&str; 6] = ["semisync", "auth_socket", "unix_socket", "mysql_clone", "mysqlx", "ha_"];

pub fn special(name: &str, value: Option<&str>) -> Option<Meaning> {
    let meaning = match name {
        "innodb_buffer_pool_size" => cache_size(value),
        "log_bin" => log_bin(value),
        "bind_address" => bind(value)?,
        "skip_networking" => option("skip-networking", switch(value), "nobody connects over TCP, only over the socket"),
        "secure_file_priv" | "secure_file_privs" => secure_file_priv(value)?,
        "default_table_encryption" => match switch(value) {
            Some(false) => Meaning::new(Verdict::Nothing, "it is so here"),
            _ => Meaning::new(Verdict::Refused, "tables would not be encrypted"),
        },
        "plugin_load" | "plugin_load_add" => plugins(value),
        "expire_logs_days" => scaled("binlog_expire_logs_seconds", value, DAY_S, "binary logs are removed after so many seconds"),
        "max_statement_time" => scaled("max_execution_time", value, SECOND_MS, "milliseconds, and of a SELECT only"),
        _ => return None,
    };
    Some(meaning)
}

fn option(long: &'static str, is_on: Option<bool>, text: &str) -> Meaning {
    let key = Some(long.replace('-', "_"));
    match is_on {
        None => Meaning { key, ..Meaning::new(Verdict::Refused, "it is ON or OFF") },
        Some(false) => Meaning { key, ..Meaning::new(Verdict::Nothing, "it is so here") },
        Some(true) => {
            let does = Does::Option(long, "true".to_string());
            Meaning { verdict: Verdict::Taken, text: format!("{long} = ON: {text}"), does, key }
        }
    }
}

/// The pool is all of the memory that InnoDB takes for data. The caches here have their size from the machine; whoever
/// wrote a smaller one has other plans for the rest of the memory.
fn cache_size(value: Option<&str>) -> Meaning {
    let key = Some("innodb_buffer_pool_size".to_string());
    let bytes = value.and_then(integer).and_then(|bytes| u64::try_from(bytes).ok());
    match bytes {
        None => Meaning { key, ..Meaning::new(Verdict::Refused, "it is no number of bytes") },
        Some(bytes) => {
            let text = format!(
                "cache-size-max = {bytes}: the caches of rows and blocks take no more, and no more than their share of the machine"
            );
            Meaning { verdict: Verdict::Taken, text, does: Does::Option("cache-size-max", bytes.to_string()), key }
        }
    }
}

/// The value is the name of the files in MySQL.
fn log_bin(value: Option<&str>) -> Meaning {
    let is_on = value.is_none_or(|value| switch(Some(value)) != Some(false));
    let text = if is_on { "ON" } else { "OFF" };
    let Some(def) = registry().find("log_bin") else { return Meaning::new(Verdict::Unknown, "") };
    let named = is_on && value.is_some_and(|value| switch(Some(value)).is_none());
    taken(def, Some(text), if named { "Its files have names of their own, in the data directory" } else { def.prose })
}

/// `None`: one address, which is as elsewhere.
fn bind(value: Option<&str>) -> Option<Meaning> {
    let several = value.is_some_and(|value| value.contains(','));
    let text = "there is one address; 0.0.0.0 and :: are all of the machine's";
    several.then(|| Meaning { key: Some("bind_address".to_string()), ..Meaning::new(Verdict::Refused, text) })
}

/// `None`: a directory that the server can enter, or the words for none and all, which are as elsewhere.
fn secure_file_priv(value: Option<&str>) -> Option<Meaning> {
    let key = Some("secure_file_priv".to_string());
    let dir = value?;
    if dir.eq_ignore_ascii_case("NULL") {
        return Some(Meaning { key, ..Meaning::new(Verdict::Nothing, "it is so here") });
    }
    if dir.is_empty() || Path::new(dir).read_dir().is_ok() {
        return None;
    }
    let text = "the directory cannot be read, so LOAD DATA and SELECT INTO OUTFILE may use no files";
    Some(Meaning { key, ..Meaning::new(Verdict::Missing, text) })
}

fn plugins(value: Option<&str>) -> Meaning {
    let names: Vec<&str> = value.unwrap_or_default().split([';', ':']).map(str::trim).filter(|name| !name.is_empty()).collect();
    let is_own = |name: &&str| PLUGINS_OF_ITS_OWN.iter().any(|own| name.contains(own));
    match names.iter().find(|name| !is_own(name)) {
        None => Meaning::new(Verdict::Nothing, "there are no plugins, and none is needed for that"),
        Some(other) => Meaning::new(Verdict::Refused, format!("there are no plugins: nothing would do the work of {other}")),
    }
}

/// A variable in another unit.
fn scaled(name: &str, value: Option<&str>, factor: f64, prose: &str) -> Meaning {
    let Some(def) = registry().find(name) else { return Meaning::new(Verdict::Unknown, "") };
    match value.and_then(|value| value.trim().parse::<f64>().ok()) {
        Some(number) => taken(def, Some(&format!("{:.0}", number * factor)), prose),
        None => Meaning::new(Verdict::Refused, "it is no number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(name: &str, value: Option<&str>) -> Verdict {
        special(name, value).map_or(Verdict::Unknown, |meaning| meaning.verdict)
    }

    #[test]
    fn values_decide() {
        let option = |name: &str, value: &str| match special(name, Some(value)).map(|meaning| meaning.does) {
            Some(Does::Option(long, value)) => Some((long, value)),
            _ => None,
        };
        let is = |long: &'static str, value: &str| Some((long, value.to_string()));
        assert_eq!(option("innodb_buffer_pool_size", "4G"), is("cache-size-max", "4294967296"));
        assert_eq!(option("skip_networking", "1"), is("skip-networking", "true"));
        let variable = |name: &str, value: &str| match special(name, Some(value)).map(|meaning| meaning.does) {
            Some(Does::Variable(def, value)) => Some((def.name, def.show(&value))),
            _ => None,
        };
        assert_eq!(variable("log_bin", "/var/log/mysql/mysql-bin.log"), is("log_bin", "ON"));
        assert_eq!(variable("log_bin", "0"), is("log_bin", "OFF"));
        assert_eq!(variable("expire_logs_days", "10"), is("binlog_expire_logs_seconds", "864000"));
        assert_eq!(variable("expire_logs_days", "0.5"), is("binlog_expire_logs_seconds", "43200"));
        assert_eq!(verdict("expire_logs_days", Some("ten")), Verdict::Refused);
        assert_eq!(verdict("bind_address", Some("10.0.0.1,127.0.0.1")), Verdict::Refused);
        assert_eq!(verdict("secure_file_priv", Some("/no/such/dir")), Verdict::Missing);
        assert!(special("secure_file_priv", Some("/")).is_none());
    }

    #[test]
    fn plugins_are_told_apart() {
        assert_eq!(verdict("plugin_load_add", Some("semisync_master.so")), Verdict::Nothing);
        assert_eq!(
            verdict("plugin_load", Some("rpl_semi_sync_source=semisync_source.so;clone=mysql_clone.so")),
            Verdict::Nothing
        );
        assert_eq!(verdict("plugin_load", Some("semisync_source.so;validate_password.so")), Verdict::Refused);
    }
}
