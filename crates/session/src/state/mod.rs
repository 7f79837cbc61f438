//! What a session keeps between its statements, in parts. Each part owns its state, has a small interface, and knows neither `Session`
//! nor another part's inside; a statement borrows those that it needs.
//!
//! | part | owns | changed by |
//! |---|---|---|
//! | `transaction` | storage's transaction, its end, savepoints, the XA branch, SET TRANSACTION | statements of transactions, each statement's begin and end |
//! | `access` | account, active roles, privileges, limits | changes of accounts, SET ROLE |
//! | `prepared` | prepared statements of both protocols, plans of texts, cursors | PREPARE, COM_STMT_*, each text |
//! | `locked_tables` | what LOCK TABLES and its kin hold | these |
//! | `environment` | what expressions see: settings, warnings, ids, user variables, changes to tell | SET, each statement |
//! | `handlers` | what HANDLER has opened, and where it stands | HANDLER, FLUSH TABLES, DDL |
//! | `traces` | what the optimizer has told of the last statements | each statement while `optimizer_trace` is on |
//! | `deferred` | what functions of the running statement have done to the session | SET and temporary tables in functions, each statement's end |

pub mod access;
pub mod deferred;
pub mod diagnostics;
pub mod environment;
pub mod handlers;
pub mod insert_ids;
pub mod locked_tables;
pub mod prepared;
pub mod profiles;
pub mod traces;
pub mod tracker;
pub mod transaction;
pub mod user_variables;
