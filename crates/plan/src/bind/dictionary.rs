//! Which tables of information_schema are views of MySQL's dictionary. The others are made by the server, and may be locked and copied.

/// What the server makes, sorted; of InnoDB's tables all but `INNODB_VIEWS`.
const MADE: [&str; 9] = [
    "COLUMN_PRIVILEGES",
    "ENGINES",
    "OPTIMIZER_TRACE",
    "PLUGINS",
    "PROCESSLIST",
    "PROFILING",
    "SCHEMA_PRIVILEGES",
    "TABLE_PRIVILEGES",
    "USER_PRIVILEGES",
];
const INNODB_VIEWS: [&str; 5] =
    ["INNODB_DATAFILES", "INNODB_FIELDS", "INNODB_FOREIGN", "INNODB_FOREIGN_COLS", "INNODB_TABLESPACES_BRIEF"];

pub fn is_dictionary_view(database: &str, table: &str) -> bool {
    let table = table.to_ascii_uppercase();
    let is_view = if table.starts_with("INNODB_") {
        INNODB_VIEWS.contains(&table.as_str())
    } else {
        MADE.binary_search(&table.as_str()).is_err()
    };
    database.eq_ignore_ascii_case("information_schema") && is_view
}
