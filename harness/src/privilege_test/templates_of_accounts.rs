//! Productions of statements about accounts, roles and privileges; the holes are in `templates`.

pub const CREATE_USER: &[&str] = &[
    "CREATE USER {|IF NOT EXISTS }{newuser}{| IDENTIFIED BY 'x'| IDENTIFIED WITH caching_sha2_password| IDENTIFIED WITH caching_sha2_password AS ''| IDENTIFIED BY RANDOM PASSWORD}",
    "CREATE USER {newuser} DEFAULT ROLE {r}{|, {r}}",
    "CREATE USER {newuser} IDENTIFIED BY 'x' AND IDENTIFIED WITH authentication_ldap_sasl",
    "CREATE USER {newuser}, {u} {policy}",
];

pub const ALTER_USER: &[&str] = &[
    "ALTER USER {|IF EXISTS }{u} IDENTIFIED BY 'x'{| REPLACE 'x'| RETAIN CURRENT PASSWORD}",
    "ALTER USER {u} {policy}",
    "ALTER USER {u} DEFAULT ROLE {NONE|ALL|{r}}",
    "ALTER USER {u} DISCARD OLD PASSWORD",
    "ALTER USER USER() IDENTIFIED BY 'x'",
];

/// What is said about an account besides its password.
pub const POLICY: &[&str] = &[
    "REQUIRE {NONE|SSL|X509|SUBJECT 'x' AND ISSUER 'y' AND CIPHER 'z'}",
    "WITH {MAX_QUERIES_PER_HOUR|MAX_UPDATES_PER_HOUR|MAX_CONNECTIONS_PER_HOUR|MAX_USER_CONNECTIONS} 0",
    "PASSWORD EXPIRE {DEFAULT|NEVER|INTERVAL 90 DAY}",
    "ACCOUNT UNLOCK",
    "PASSWORD HISTORY {DEFAULT|3}",
    "PASSWORD REUSE INTERVAL {DEFAULT|3 DAY}",
    "PASSWORD REQUIRE CURRENT{| DEFAULT| OPTIONAL}",
    "FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME {3|UNBOUNDED}",
    "COMMENT 'x'",
    "ATTRIBUTE '{json}'",
    "PASSWORD EXPIRE",
    "ACCOUNT LOCK",
];

pub const GRANT: &[&str] = &[
    "GRANT {privileges} ON {level} TO {u}{| WITH GRANT OPTION}",
    "GRANT {privileges} ON {level} TO {r}, {u}",
    "GRANT {dynamic} ON *.* TO {u}{| WITH GRANT OPTION}",
    "GRANT {r} TO {u}{| WITH ADMIN OPTION}",
    "GRANT {r}, {r} TO {r}",
    "GRANT PROXY ON {u} TO {u}{| WITH GRANT OPTION}",
    "GRANT ALL ON {level} TO {u}",
    "GRANT {EXECUTE|ALTER ROUTINE|EXECUTE, ALTER ROUTINE|USAGE} ON {PROCEDURE|FUNCTION} {d}.p TO {u}{| WITH GRANT OPTION}",
    "GRANT SELECT ON {level} TO {u} AS {u}",
    "GRANT EXECUTE ON {PROCEDURE|FUNCTION} {d}.p TO {u}",
];

pub const REVOKE: &[&str] = &[
    "REVOKE {|IF EXISTS }{privileges} ON {level} FROM {u}{| IGNORE UNKNOWN USER}",
    "REVOKE ALL PRIVILEGES, GRANT OPTION FROM {u}",
    "REVOKE {ALL|GRANT OPTION|{dynamic}} ON {level} FROM {u}",
    "REVOKE {|IF EXISTS }{EXECUTE|ALTER ROUTINE|ALL} ON {PROCEDURE|FUNCTION} {d}.p FROM {u}",
    "REVOKE {r} FROM {u}",
    "REVOKE PROXY ON {u} FROM {u}",
    "REVOKE EXECUTE ON {PROCEDURE|FUNCTION} {d}.p FROM {u}",
];

/// Privileges that may be granted on tables; those of `OF_COLUMNS` on columns too.
pub const OF_TABLES: &[&str] = &[
    "SELECT",
    "INSERT",
    "UPDATE",
    "REFERENCES",
    "DELETE",
    "CREATE",
    "DROP",
    "ALTER",
    "INDEX",
    "CREATE VIEW",
    "SHOW VIEW",
    "TRIGGER",
];
pub const OF_COLUMNS: &[&str] = &["SELECT", "INSERT", "UPDATE", "REFERENCES"];

/// Those that may be granted on databases and not on tables.
pub const OF_DATABASES: &[&str] =
    &["CREATE TEMPORARY TABLES", "LOCK TABLES", "EXECUTE", "CREATE ROUTINE", "ALTER ROUTINE", "EVENT"];

/// Those that may be granted on one procedure or function.
pub const OF_ROUTINES: &[&str] = &["EXECUTE", "ALTER ROUTINE"];

/// Those that exist on `*.*` only, but for SHUTDOWN, which would end the test.
pub const GLOBAL: &[&str] = &[
    "RELOAD",
    "PROCESS",
    "FILE",
    "SHOW DATABASES",
    "SUPER",
    "REPLICATION SLAVE",
    "REPLICATION CLIENT",
    "CREATE USER",
    "CREATE TABLESPACE",
    "CREATE ROLE",
    "DROP ROLE",
];

pub const DYNAMIC: &[&str] = &[
    "APPLICATION_PASSWORD_ADMIN",
    "BACKUP_ADMIN",
    "BINLOG_ADMIN",
    "CONNECTION_ADMIN",
    "FLUSH_OPTIMIZER_COSTS",
    "FLUSH_PRIVILEGES",
    "FLUSH_STATUS",
    "FLUSH_TABLES",
    "FLUSH_USER_RESOURCES",
    "PERSIST_RO_VARIABLES_ADMIN",
    "REPLICATION_SLAVE_ADMIN",
    "ROLE_ADMIN",
    "SESSION_VARIABLES_ADMIN",
    "SET_ANY_DEFINER",
    "SHOW_ROUTINE",
    "SYSTEM_USER",
    "SYSTEM_VARIABLES_ADMIN",
    "XA_RECOVER_ADMIN",
];
