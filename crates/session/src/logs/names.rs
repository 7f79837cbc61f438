//! Which names files of logs may have.

use std::path::Path;

use vaquita_types::errno::ER_WRONG_VALUE_FOR_VAR;
use vaquita_types::{Error, Result, Value};

use crate::variables::{Def, Globals, Var};

/// Options of MySQL's programs are read from such files.
const OPTION_FILES: [&str; 2] = ["cnf", "ini"];
const LOG_EXTENSION: &str = "log";

/// Error 1231 unless the value can be the file of a log: not a directory, in a directory that is there, and none of the server's own files.
pub fn check_name(def: &Def, value: &Value, globals: &Globals) -> Result<()> {
    if !matches!(def.var, Some(Var::GeneralLogFile | Var::SlowQueryLogFile | Var::VaquitaAuditLogFile)) {
        return Ok(());
    }
    let given = def.show(value);
    let path = globals.data_dir().join(&given);
    if is_fit(&given, &path, &globals.data_dir()) {
        Ok(())
    } else {
        Err(Error::new(&ER_WRONG_VALUE_FOR_VAR, &[&def.name, &given]))
    }
}

fn is_fit(given: &str, path: &Path, data_dir: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    if given.is_empty() || path.file_name().is_none() || OPTION_FILES.iter().any(|known| known.eq_ignore_ascii_case(extension)) {
        return false;
    }
    let Some(Ok(dir)) = path.parent().map(Path::canonicalize) else { return false };
    let found = std::fs::metadata(path).ok();
    if found.as_ref().is_some_and(|found| !found.is_file()) {
        return false;
    }
    // What is in the data directory and no log is the server's own.
    match data_dir.canonicalize() {
        Ok(own) if dir == own => found.is_none() || extension == LOG_EXTENSION,
        Ok(own) => !dir.starts_with(own),
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_no_file_of_the_servers() {
        let dir = std::env::temp_dir().join(format!("vaquita-log-names-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("rocksdb")).unwrap();
        std::fs::write(dir.join("server-key.pem"), "key").unwrap();
        std::fs::write(dir.join("old.log"), "log").unwrap();
        let fits = |name: &str| is_fit(name, &dir.join(name), &dir);
        for good in ["new.log", "new", "old.log", "/tmp/x.log"] {
            assert!(fits(good), "{good}");
        }
        for bad in ["", "my.cnf", "rocksdb", "rocksdb/CURRENT", "rocksdb/x.log", "server-key.pem", "nowhere/x.log", "/", ".."] {
            assert!(!fits(bad), "{bad}");
        }
        std::fs::remove_dir_all(dir).unwrap();
    }
}
