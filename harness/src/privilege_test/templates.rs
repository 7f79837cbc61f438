//! What each kind of statement may look like: its productions, with holes that `Generator::fill` fills.
//!
//! | hole | becomes |
//! |---|---|
//! | `{a\|b\|}` | one of these, which may have holes |
//! | `{t}` | a table, whose columns `{c}` and `{e}` then mean; `{t2}` another table |
//! | `{opened}` | the name of a table without its database, as HANDLER names what it opened |
//! | `{c}` `{e}` `{s}` | a column, an expression, a subquery of one value |
//! | `{q}` `{q1}` | a query, one of one column |
//! | `{d}` `{new}` `{newdb}` | a database, the name of a table that does not exist yet, the same for a database |
//! | `{u}` `{me}` `{other}` `{r}` `{newuser}` | an account, the own one, another, a role, an account that does not exist yet |
//! | `{privileges}` `{level}` | what GRANT names, and on what |
//! | `{p}` | a number, or a parameter where the statement is prepared |
//! | `{victim}` | the number of another account's connection |
//! | `{insert}` `{update}` `{delete}` | a statement of this kind that `Generator` makes |
//! | `{x}` `{sub}` `{existing}` | in an expression: one that is less high, a query of one column, what stands behind FROM |

use super::kinds::Kind;
use super::{templates_of_accounts as accounts, templates_of_objects as objects, templates_of_server as server};

pub fn templates(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Query => QUERY,
        Kind::Insert => INSERT,
        Kind::Update => UPDATE,
        Kind::Delete => DELETE,
        Kind::LoadData => LOAD_DATA,
        Kind::Do => &["DO {s}", "DO {d}.p() + {s}", "DO {s}, 1 + {s}", "DO {e}"],
        Kind::Signal => server::SIGNAL,
        Kind::GetDiagnostics => server::GET_DIAGNOSTICS,
        Kind::Call => &["CALL {d}.p()", "CALL p({s})"],
        Kind::Handler => HANDLER,
        Kind::CreateDatabase => objects::CREATE_DATABASE,
        Kind::AlterDatabase => objects::ALTER_DATABASE,
        Kind::DropDatabase => &["DROP DATABASE {|IF EXISTS }{{d}|{newdb}}", "DROP SCHEMA {newdb}", "DROP DATABASE {d}"],
        Kind::CreateTable => objects::CREATE_TABLE,
        Kind::AlterTable => objects::ALTER_TABLE,
        Kind::DropTable => objects::DROP_TABLE,
        Kind::RenameTable => objects::RENAME_TABLE,
        Kind::Truncate => &["TRUNCATE {t}", "TRUNCATE TABLE {t}"],
        Kind::CreateIndex => objects::CREATE_INDEX,
        Kind::DropIndex => &["DROP INDEX {i|`PRIMARY`} ON {t}{| ALGORITHM = INPLACE| LOCK = NONE}"],
        Kind::CreateView => objects::CREATE_VIEW,
        Kind::DropView => &["DROP VIEW {|IF EXISTS }{t}", "DROP VIEW {new}, {t2}"],
        Kind::CreateRoutine => objects::CREATE_ROUTINE,
        Kind::CreateTrigger => objects::CREATE_TRIGGER,
        Kind::AlterRoutine => objects::ALTER_ROUTINE,
        Kind::CreateEvent => objects::CREATE_EVENT,
        Kind::AlterEvent => objects::ALTER_EVENT,
        Kind::DropProgram => &["DROP {PROCEDURE|FUNCTION|TRIGGER|EVENT} {|IF EXISTS }{d}.p"],
        Kind::StartTransaction => server::START_TRANSACTION,
        Kind::Commit => &["COMMIT{| AND CHAIN| AND NO CHAIN| NO RELEASE}"],
        Kind::Rollback => &["ROLLBACK{| AND CHAIN| AND NO CHAIN| NO RELEASE| RELEASE}"],
        Kind::Savepoint => &["SAVEPOINT p"],
        Kind::RollbackTo => &["ROLLBACK TO {|SAVEPOINT }p"],
        Kind::ReleaseSavepoint => &["RELEASE SAVEPOINT p"],
        Kind::LockTables => server::LOCK_TABLES,
        Kind::UnlockTables => &["UNLOCK TABLES"],
        Kind::LockInstance => &["LOCK INSTANCE FOR BACKUP"],
        Kind::UnlockInstance => &["UNLOCK INSTANCE"],
        Kind::CloneLocal => &["CLONE LOCAL DATA DIRECTORY{| =} '/nosuch/dir'"],
        Kind::Xa => server::XA,
        Kind::Set => server::SET,
        Kind::Use => &["USE {d}", "USE {{d}|{newdb}}"],
        Kind::Show => server::SHOW,
        Kind::Describe => &["DESC {t}", "DESCRIBE {t} {c}", "DESC {t} 'h%'", "EXPLAIN {t}"],
        Kind::Explain => EXPLAIN,
        Kind::Help => &["HELP 'contents'"],
        Kind::Kill => server::KILL,
        Kind::Prepare => {
            &["PREPARE s FROM '{SELECT * FROM {t}|DELETE FROM {t}|DROP TABLE {t}|SHOW GRANTS FOR {r}}'", "PREPARE s FROM @v"]
        }
        Kind::Execute => &["EXECUTE s", "EXECUTE s USING @v"],
        Kind::Deallocate => &["{DEALLOCATE|DROP} PREPARE s"],
        Kind::TableMaintenance => server::TABLE_MAINTENANCE,
        Kind::Flush => server::FLUSH,
        Kind::Reset => server::RESET,
        Kind::Binlog => &["BINLOG 'AAAA'", "BINLOG @v, @v"],
        Kind::PurgeLogs => server::PURGE_LOGS,
        Kind::ChangeSource => server::CHANGE_SOURCE,
        Kind::ChangeFilter => server::CHANGE_FILTER,
        Kind::StartReplica => server::START_REPLICA,
        Kind::StopReplica => &["STOP REPLICA{| IO_THREAD| SQL_THREAD}{| FOR CHANNEL 'nosuch'}"],
        Kind::ResetReplica => &["RESET REPLICA{| ALL}{| FOR CHANNEL 'nosuch'}"],
        Kind::CreateUser => accounts::CREATE_USER,
        Kind::AlterUser => accounts::ALTER_USER,
        Kind::DropUser => &["DROP USER {|IF EXISTS }{u}", "DROP USER {r}, {newuser}"],
        Kind::RenameUser => &["RENAME USER {u} TO {newuser}", "RENAME USER {r} TO {newuser}"],
        Kind::CreateRole => &["CREATE ROLE {|IF NOT EXISTS }{newuser}", "CREATE ROLE {r}"],
        Kind::DropRole => &["DROP ROLE {|IF EXISTS }{r}", "DROP ROLE {{other}|{newuser}}"],
        Kind::Grant => accounts::GRANT,
        Kind::Revoke => accounts::REVOKE,
        Kind::SetRole => &["SET ROLE {r}", "SET ROLE {NONE|DEFAULT|ALL}", "SET ROLE ALL EXCEPT {r}"],
        Kind::SetDefaultRole => &["SET DEFAULT ROLE {NONE|ALL|{r}} TO {{me}|{other}}"],
        Kind::AlterInstance => &[
            "ALTER INSTANCE RELOAD TLS",
            "ALTER INSTANCE RELOAD TLS FOR CHANNEL mysql_main NO ROLLBACK ON ERROR",
            "ALTER INSTANCE RELOAD KEYRING",
            "ALTER INSTANCE ROTATE INNODB MASTER KEY",
            "ALTER INSTANCE ROTATE BINLOG MASTER KEY",
            "ALTER INSTANCE ENABLE INNODB REDO_LOG",
        ],
        Kind::Shutdown => &["SHUTDOWN"],
        Kind::Restart => &["RESTART"],
        Kind::Unsupported => server::UNSUPPORTED,
    }
}

const QUERY: &[&str] = &[
    "{q}",
    "{q}",
    "{q}",
    "{q} FOR {UPDATE|SHARE}{| NOWAIT| SKIP LOCKED}",
    "{q} LOCK IN SHARE MODE",
    "SELECT {c} FROM {t} FOR UPDATE",
    "SELECT x.a FROM {t} AS x JOIN {t2} AS y FOR {UPDATE|SHARE} OF {x|y}",
    "SELECT {s}{| AS a}",
    "SELECT {s} INTO @v",
    "SELECT {c}, {e} INTO @v, @w FROM {t} LIMIT 1",
    "SELECT {s} INTO OUTFILE '/nonexistent/x'",
    "SELECT {c} INTO OUTFILE '/nonexistent/x' CHARACTER SET utf8mb4 FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' ESCAPED BY '!' LINES STARTING BY 'x' TERMINATED BY 'y' FROM {t}",
    "SELECT {s} INTO DUMPFILE '/nonexistent/x'",
    "TABLE {t}{| ORDER BY {c}| LIMIT 1| LIMIT 1, 2| FOR UPDATE}",
    "VALUES ROW({s}, 1), ROW(2, {s}){| ORDER BY 1| LIMIT 1}",
    "SELECT {DISTINCT|HIGH_PRIORITY|STRAIGHT_JOIN|SQL_SMALL_RESULT|SQL_BIG_RESULT|SQL_BUFFER_RESULT|SQL_CALC_FOUND_ROWS|SQL_NO_CACHE} {e} FROM {t}",
    "SELECT /*+ {MAX_EXECUTION_TIME(60000)|SET_VAR(max_error_count = 64)} */ {e} FROM {t}",
    "SELECT /*+ QB_NAME(q) {|NO_}{BKA|BNL|HASH_JOIN|MERGE|DERIVED_CONDITION_PUSHDOWN}({x|x@q, y|@q x}) */ x.a FROM {t} AS x JOIN {t2} AS y",
    "SELECT /*+ {|NO_}{INDEX|JOIN_INDEX|GROUP_INDEX|ORDER_INDEX|INDEX_MERGE|SKIP_SCAN|MRR}({x|x PRIMARY}) {NO_ICP|NO_RANGE_OPTIMIZATION}(x) */ x.a FROM {t} AS x",
    "SELECT /*+ {{JOIN_ORDER|JOIN_PREFIX|JOIN_SUFFIX}(x, y)|JOIN_FIXED_ORDER()|RESOURCE_GROUP(g)} */ x.a FROM {t} AS x JOIN {t2} AS y",
    "SELECT /*+ {|NO_}SEMIJOIN({|FIRSTMATCH|LOOSESCAN, MATERIALIZATION|DUPSWEEDOUT}) */ x.a FROM {t} AS x WHERE x.a IN (SELECT /*+ SUBQUERY({MATERIALIZATION|INTOEXISTS}) */ a FROM {t2})",
    "SELECT {e} FROM {t} {USE|FORCE|IGNORE} INDEX {|FOR {JOIN|ORDER BY|GROUP BY} }(PRIMARY)",
    "SELECT * FROM {t} PARTITION (p0) WHERE {e}",
    "SELECT * FROM (SELECT {c} FROM {t}) AS d (z), LATERAL ({SELECT z|{q1}}) AS e",
    "SELECT * FROM {t}, JSON_TABLE({e}, '$[*]' COLUMNS (n FOR ORDINALITY, v INT PATH '$' {NULL|ERROR|DEFAULT '1'} ON EMPTY {NULL|ERROR|DEFAULT '1'} ON ERROR, w CHAR(5) COLLATE utf8mb4_bin EXISTS PATH '$', NESTED PATH '$[*]' COLUMNS (u INT PATH '$'))) AS j",
    "SELECT {e}, COUNT(*) FROM {t} GROUP BY {c}{| WITH ROLLUP}{| HAVING {e}}",
    "SELECT {window} OVER w FROM {t} WINDOW w AS (PARTITION BY {e} ORDER BY {c}{| DESC}), v AS (w ROWS UNBOUNDED PRECEDING)",
    "SELECT {window} OVER ({|PARTITION BY {e} }ORDER BY {c}{| {ROWS|RANGE} BETWEEN {UNBOUNDED PRECEDING|1 PRECEDING|CURRENT ROW} AND {UNBOUNDED FOLLOWING|2 FOLLOWING|CURRENT ROW}| RANGE INTERVAL 1 DAY PRECEDING| RANGE BETWEEN CURRENT ROW AND INTERVAL 1 DAY FOLLOWING| GROUPS CURRENT ROW EXCLUDE {NO OTHERS|CURRENT ROW|GROUP|TIES}}) FROM {t}",
    "SELECT {e} FROM {t} NATURAL {|LEFT }JOIN {t2}",
    "SELECT * FROM ({t}, {t2}) {|LEFT JOIN {t2} AS z ON {e}}",
    "SELECT {e} FROM {t} ORDER BY {e}{| DESC} LIMIT {p}{| OFFSET {p}}",
    "(SELECT {c} FROM {t} LIMIT 1) {UNION|UNION ALL|EXCEPT|INTERSECT} ({q1}) {|ORDER BY 1|LIMIT 2}",
    "WITH {|RECURSIVE }t (a) AS ({q1}), q AS (SELECT * FROM t) {SELECT * FROM q|TABLE t|SELECT a FROM {t2}}",
    "WITH RECURSIVE q (a) AS (SELECT {c} FROM {t} UNION ALL SELECT a + 1 FROM q WHERE a < 3) SELECT * FROM q",
    "SELECT {t2}.* FROM {t}",
    "SELECT * FROM DUAL WHERE {s}",
];

const INSERT: &[&str] = &[
    "{insert}",
    "{insert}",
    "INSERT {|LOW_PRIORITY |HIGH_PRIORITY |DELAYED }{|IGNORE }INTO {t} SET {c} = {e}, {c} = DEFAULT",
    "INSERT INTO {t} (a) VALUES ({s}) AS new ON DUPLICATE KEY UPDATE {c} = {e}{|, b = new.a}",
    "INSERT INTO {t} (a, b) VALUES (1, 2) AS new (m, n) ON DUPLICATE KEY UPDATE {c} = m + {s}",
    "INSERT INTO {t} (a) {q1} LIMIT 9 ON DUPLICATE KEY UPDATE {c} = {e}",
    "INSERT INTO {t} PARTITION (p0) VALUES (1, 2)",
    "INSERT INTO {t} TABLE {t2}",
    "INSERT INTO {t} VALUES (){| ON DUPLICATE KEY UPDATE {c} = VALUES({c})}",
    "INSERT INTO {t} (a) VALUES (DEFAULT({c}))",
    "REPLACE {|LOW_PRIORITY |DELAYED }INTO {t} (a, b) VALUES (1, {s}), (2, DEFAULT)",
    "REPLACE {t} SET a = 1, {c} = {e}",
    "INSERT /*+ SET_VAR(max_error_count = 64) */ INTO {t} (a) WITH q AS ({q1}) SELECT * FROM q",
    "INSERT INTO {t} (a, b) VALUES ({p}, 8), (1, {p})",
];

const UPDATE: &[&str] = &[
    "{update}",
    "{update}",
    "UPDATE {|LOW_PRIORITY }{|IGNORE }{t} SET {c} = {e}, {c} = DEFAULT{| WHERE {e}}{| ORDER BY {e}}{| LIMIT {p}}",
    "UPDATE {t} AS x, {t2} AS y SET x.a = {y.b|{s}} WHERE x.a = {y.a|{s}}",
    "UPDATE {t} AS x JOIN ({q1}) AS d (z) SET x.{c} = d.z{| WHERE {s}}",
    "WITH q (a) AS ({q1}) UPDATE {t} SET {c} = (SELECT a FROM q LIMIT 1)",
    "UPDATE /*+ SET_VAR(max_error_count = 64) */ {t} SET {c} = 1",
    "UPDATE {t} SET b = {p} WHERE a = {p}",
    "UPDATE {t} PARTITION (p0) SET {c} = 1",
];

const DELETE: &[&str] = &[
    "{delete}",
    "{delete}",
    "DELETE {|LOW_PRIORITY }{|QUICK }{|IGNORE }FROM {t}{| AS x}{| WHERE {s}}{| ORDER BY a}{| LIMIT {p}}",
    "DELETE x{|, y} FROM {t} AS x JOIN {t2} AS y WHERE {s}",
    "DELETE FROM x USING {t} AS x, {t2} AS y WHERE {x.a = y.a|{s}}",
    "WITH q (a) AS ({q1}) DELETE FROM {t} WHERE {c} IN (SELECT a FROM q)",
    "DELETE /*+ SET_VAR(max_error_count = 64) */ FROM {t} WHERE {e}",
    "DELETE FROM {t} PARTITION (p0)",
];

const LOAD_DATA: &[&str] = &[
    "LOAD DATA LOCAL INFILE 'x' {|REPLACE |IGNORE }INTO TABLE {t}",
    "LOAD DATA {|LOW_PRIORITY |CONCURRENT }LOCAL INFILE 'x' INTO TABLE {t} ({c}, @v) SET {c} = {e}{|, {c} = {s}}",
    "LOAD DATA LOCAL INFILE 'x' INTO TABLE {t} PARTITION (p0) CHARACTER SET utf8mb4 FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' ESCAPED BY '!' LINES STARTING BY 'x' TERMINATED BY 'y' IGNORE 1 LINES (a, @v)",
    "LOAD DATA INFILE '/nonexistent/x' {|REPLACE |IGNORE }INTO TABLE {t}{| SET {c} = {s}}",
    "LOAD XML LOCAL INFILE 'x' INTO TABLE {t} ROWS IDENTIFIED BY '<r>'",
];

const HANDLER: &[&str] = &[
    "HANDLER {t} OPEN{| AS h}",
    "HANDLER {opened} READ {FIRST|NEXT}{| WHERE {e}}{| LIMIT 1}",
    "HANDLER h READ i {FIRST|NEXT|PREV|LAST|= (1)|>= ({s})}",
    "HANDLER {opened} CLOSE",
];

const EXPLAIN: &[&str] = &[
    "EXPLAIN {|FORMAT = {TRADITIONAL|TREE|JSON} }{{q}|{insert}|{update}|{delete}}",
    "EXPLAIN {q}",
    "EXPLAIN ANALYZE {q}",
    "EXPLAIN FORMAT = JSON INTO @v {q}",
    "EXPLAIN FOR SCHEMA {d} {q}",
    "EXPLAIN {|FORMAT = JSON }FOR CONNECTION {victim}",
    "EXPLAIN {REPLACE INTO {t} (a) VALUES (1)|TABLE {t}|DELETE x FROM {t} AS x, {t2} AS y}",
];

/// A window function with its arguments.
pub const WINDOW: &[&str] = &[
    "ROW_NUMBER()",
    "RANK()",
    "DENSE_RANK()",
    "PERCENT_RANK()",
    "CUME_DIST()",
    "NTILE(2)",
    "{LEAD|LAG}({e}{|, 1|, 1, {e}}){| RESPECT NULLS| IGNORE NULLS}",
    "{FIRST_VALUE|LAST_VALUE}({e}){| RESPECT NULLS| IGNORE NULLS}",
    "NTH_VALUE({e}, 2){| FROM FIRST| FROM LAST}{| IGNORE NULLS}",
    "{SUM|AVG|COUNT|MIN|MAX|STD|STDDEV_SAMP|VAR_POP|VAR_SAMP|BIT_AND|JSON_ARRAYAGG}({e})",
];

/// An expression of others; `{x}` are one level less high.
pub const EXPRESSION: &[&str] = &[
    "({x} {+|-|*|/|DIV|%|AND|OR|XOR|=|<=>|<>|<|<=|>|>=|\\||&|^|<<|>>|SOUNDS LIKE} {x})",
    "({-|+|~|NOT }({x}))",
    "({x} IS {|NOT }{NULL|TRUE|FALSE|UNKNOWN})",
    "({x} {|NOT }BETWEEN {x} AND {x})",
    "({x} {|NOT }IN ({x}, {x}))",
    "({x} {|NOT }IN ({sub}))",
    "({x} {|NOT }LIKE {x}{| ESCAPE '!'})",
    "({x} {|NOT }REGEXP 'a')",
    "({x} MEMBER OF ({x}))",
    "({x} {=|<|>=} {ALL|ANY|SOME} ({sub}))",
    "({|NOT }EXISTS ({sub}))",
    "(EXISTS (SELECT * FROM {existing}))",
    "({sub} LIMIT 1)",
    "(({x}, 1) {= (1, {x})|IN ((1, {x}), (2, {x}))|= (SELECT 1, {x})})",
    "CASE {|{x} }WHEN {x} THEN {x} {|ELSE {x} }END",
    "CAST({x} AS {SIGNED|UNSIGNED|CHAR|CHAR(5) CHARACTER SET utf8mb4|CHAR(5) BINARY|BINARY|BINARY(3)|DECIMAL(5, 2)|FLOAT|DOUBLE|REAL|DATE|TIME|DATETIME(3)|YEAR|JSON})",
    "CONVERT({x} USING utf8mb4)",
    "CAST({x} AT TIME ZONE {|INTERVAL }'+00:00' AS DATETIME)",
    "(CONCAT({x}) COLLATE utf8mb4_bin)",
    "({x} {+|-} INTERVAL ({x}) {unit})",
    "{LENGTH|ASCII|ABS|HEX|ISNULL|CONCAT|LOWER|JSON_QUOTE}({x})",
    "{IFNULL|COALESCE|NULLIF|GREATEST|CONCAT_WS}({x}, {x})",
    "IF({x}, {x}, {x})",
    "EXTRACT({unit} FROM {x})",
    "TRIM({|{BOTH|LEADING|TRAILING} {|{x} }FROM }{x})",
    "TIMESTAMPADD(DAY, {x}, {x})",
    "TIMESTAMPDIFF(DAY, {x}, {x})",
    "GET_FORMAT({DATE|TIME|DATETIME}, {x})",
    "CHAR({x}{| USING utf8mb4})",
    "WEIGHT_STRING({x}{| AS CHAR(2)| AS BINARY(2)|, 2, 4, 192})",
    "JSON_VALUE({x}, '$'{| RETURNING SIGNED}{| NULL ON EMPTY| DEFAULT '1' ON EMPTY}{| ERROR ON ERROR| NULL ON ERROR})",
    "DEFAULT({c})",
    "(@v := {x})",
    "{d}.f({x})",
    "`f`({x})",
    "{@v|@@version|@@global.max_error_count|@@session.max_error_count|NULL|TRUE|FALSE|1.5|1e0|'x'|_utf8mb4'x'|x'41'|_binary x'41'|b'1'|_binary b'1'|DATE '2024-01-01'|TIME '10:00:00'|TIMESTAMP '2024-01-01 00:00:00'}",
    "MATCH ({c}) AGAINST ('x'{| IN BOOLEAN MODE| WITH QUERY EXPANSION})",
    "{SLEEP(0)|USER()|DATABASE()|ROW_COUNT()|LAST_INSERT_ID()|BENCHMARK(1, {x})}",
    "{SUM|AVG|COUNT|MIN|MAX|STD|STDDEV_SAMP|VAR_POP|VAR_SAMP|BIT_AND|BIT_OR|BIT_XOR|JSON_ARRAYAGG|ST_COLLECT}({x})",
    "(COUNT(DISTINCT {x}) + MAX({x}))",
    "GROUP_CONCAT({|DISTINCT }{x}{| ORDER BY {x}}{| SEPARATOR ';'})",
    "JSON_OBJECTAGG({x}, {x})",
];

pub const UNITS: &[&str] = &[
    "MICROSECOND",
    "SECOND",
    "MINUTE",
    "HOUR",
    "DAY",
    "WEEK",
    "MONTH",
    "QUARTER",
    "YEAR",
    "SECOND_MICROSECOND",
    "MINUTE_MICROSECOND",
    "MINUTE_SECOND",
    "HOUR_MICROSECOND",
    "HOUR_SECOND",
    "HOUR_MINUTE",
    "DAY_MICROSECOND",
    "DAY_SECOND",
    "DAY_MINUTE",
    "DAY_HOUR",
    "YEAR_MONTH",
];
