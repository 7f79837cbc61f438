//! Every expression of `functions/*.tsv` gives the value, the type, the error and the warnings that
//! MySQL gave when `examples/record_functions.rs` recorded them, except the lines of `known_differences.tsv`.

use std::cell::RefCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use vaquita_parser::{ParserOptions, parse_expr};
use vaquita_plan::bind::{Place, PlanContext, bind_scalar};
use vaquita_plan::catalog::{Catalog, TableStatistics};
use vaquita_plan::env::{AskSession, Env, EvalCx, FileRead, Level, RoleGrants, SubqueryRows, VarScope};
use vaquita_plan::eval::coerce::text_of;
use vaquita_plan::expr::{Expr, Subquery};
use vaquita_plan::settings::{PlanSettings, RunSettings};
use vaquita_plan::typing::char_length;
use vaquita_plan::uses::Uses;
use vaquita_types::charset::{CollationId, charset};
use vaquita_types::gtid::GtidSet;
use vaquita_types::schema::{TableDef, TableRef};
use vaquita_types::temporal::TimeZone;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, sql_mode};

/// The session of the recorder: UTC, a fixed clock, the default sql_mode.
#[derive(Default)]
struct Session {
    warnings: RefCell<Vec<Error>>,
}

const NOW_US: i64 = 1_700_000_000_123_456;

impl Env for Session {
    fn check_interrupt(&self) -> Result<()> {
        Ok(())
    }
    fn statement_time_us(&self) -> i64 {
        NOW_US
    }
    fn clock_us(&self) -> i64 {
        NOW_US
    }
    fn time_zone(&self) -> &TimeZone {
        &TimeZone::Utc
    }
    fn sql_mode(&self) -> u64 {
        sql_mode::DEFAULT
    }
    fn run_settings(&self) -> &RunSettings {
        const { &RunSettings::DEFAULT }
    }
    fn warn(&self, _: Level, error: Error) {
        self.warnings.borrow_mut().push(error);
    }
    fn user_var(&self, _: &str) -> Value {
        Value::Null
    }
    fn set_user_var(&self, _: &str, _: Value) -> Result<()> {
        Ok(())
    }
    fn sys_var(&self, _: VarScope, name: &str) -> Result<Value> {
        Err(Error::new(&vaquita_types::errno::ER_UNKNOWN_SYSTEM_VARIABLE, &[&name]))
    }
    fn random(&self) -> f64 {
        0.5
    }
    fn random_bytes(&self, out: &mut [u8]) {
        out.fill(7);
    }
    fn session(&self) -> Result<&dyn AskSession> {
        Ok(self)
    }
    fn subquery(&self, _: &Subquery, _: &EvalCx<'_>) -> Result<SubqueryRows> {
        Err(Error::unsupported("subqueries here"))
    }
}

/// Says what it was asked to do, as a warning.
impl AskSession for Session {
    fn database(&self) -> Option<String> {
        Some("shop".to_string())
    }
    fn user(&self) -> &str {
        "ann@10.0.0.1"
    }
    fn account(&self) -> &str {
        "ann@%"
    }
    fn roles(&self) -> Vec<(String, String)> {
        vec![("reader".to_string(), "%".to_string())]
    }
    fn role_grants(&self) -> Option<Vec<RoleGrants>> {
        None
    }
    fn server_version(&self) -> &str {
        "8.4.0"
    }
    fn connection_id(&self) -> u64 {
        7
    }
    fn thread_id(&self, connection_id: u64) -> Option<u64> {
        (connection_id == 7).then_some(47)
    }
    fn row_count(&self) -> i64 {
        -1
    }
    fn found_rows(&self) -> u64 {
        3
    }
    fn last_insert_id(&self) -> u64 {
        12
    }
    fn give_last_insert_id(&self, id: u64) {
        self.hear(format!("last_insert_id {id}"));
    }
    fn unique_number(&self) -> u64 {
        1 << 56
    }
    fn read_file(&self, _: &[u8], _: u64) -> Result<Option<FileRead>> {
        Ok(None)
    }

    fn wait_for_gtids(&self, _: &GtidSet, duration: Duration) -> Result<bool> {
        self.sleep(duration).map(|_| false)
    }

    fn wait_for_position(&self, _: Option<&str>, _: (&str, u64), _: Duration) -> Result<Option<i64>> {
        Ok(None)
    }

    fn sleep(&self, duration: Duration) -> Result<bool> {
        self.hear(format!("sleep {duration:?}"));
        Ok(duration < Duration::from_secs(5))
    }
    fn lock(&self, name: &str, timeout: Option<Duration>) -> Result<bool> {
        self.hear(format!("lock {name} {timeout:?}"));
        Ok(timeout.is_some())
    }
    fn unlock(&self, name: &str) -> Option<bool> {
        self.lock_owner(name).map(|owner| owner == 7)
    }
    fn unlock_all(&self) -> u64 {
        2
    }
    fn lock_owner(&self, name: &str) -> Option<u64> {
        match name {
            "mine" => Some(7),
            "theirs" => Some(8),
            _ => None,
        }
    }
}

impl Session {
    fn hear(&self, what: String) {
        self.warnings.borrow_mut().push(Error::internal(what));
    }
}

macro_rules! wrong_name {
    ($name:literal) => {
        concat!(
            "Incorrect user-level lock name '",
            $name,
            "'. The name is empty, NULL, or can not be expressed in the current character-set."
        )
    };
}

/// What each asks, with its arguments as MySQL reads them.
#[test]
fn functions_ask_the_session() {
    let cases = [
        ("DATABASE()", "shop"),
        ("SCHEMA()", "shop"),
        ("USER()", "ann@10.0.0.1"),
        ("SESSION_USER()", "ann@10.0.0.1"),
        ("SYSTEM_USER()", "ann@10.0.0.1"),
        ("CURRENT_USER()", "ann@%"),
        ("CURRENT_ROLE()", "`reader`@`%`"),
        ("VERSION()", "8.4.0"),
        ("CONNECTION_ID()", "7"),
        ("ROW_COUNT()", "-1"),
        ("FOUND_ROWS()", "3"),
        ("LAST_INSERT_ID()", "12"),
        ("LAST_INSERT_ID('5x')", "5; last_insert_id 5"),
        ("LAST_INSERT_ID(NULL)", "NULL; last_insert_id 0"),
        ("UUID_SHORT()", "72057594037927936"),
        ("SLEEP('0.5')", "0; sleep 500ms"),
        ("SLEEP(5)", "1; sleep 5s"),
        ("SLEEP(-1)", "Incorrect arguments to sleep."),
        ("SLEEP(1e300)", "Incorrect arguments to sleep."),
        ("GET_LOCK('Mine', 2)", "1; lock mine Some(2s)"),
        ("GET_LOCK('x', -1)", "0; lock x None"),
        ("GET_LOCK('', 1)", wrong_name!("")),
        ("GET_LOCK(NULL, 1)", wrong_name!("NULL")),
        ("RELEASE_LOCK('MINE')", "1"),
        ("RELEASE_LOCK('theirs')", "0"),
        ("RELEASE_LOCK('x')", "NULL"),
        ("RELEASE_ALL_LOCKS()", "2"),
        ("IS_FREE_LOCK('mine')", "0"),
        ("IS_FREE_LOCK('x')", "1"),
        ("IS_USED_LOCK('theirs')", "8"),
        ("IS_USED_LOCK('x')", "NULL"),
        ("PS_CURRENT_THREAD_ID()", "47"),
        ("PS_THREAD_ID(7)", "47"),
        ("PS_THREAD_ID(9)", "NULL"),
        ("PS_THREAD_ID(NULL)", "NULL"),
    ];
    for (text, expected) in cases {
        let session = Session::default();
        let parsed = parse_expr(text.as_bytes(), &ParserOptions::default()).expect(text);
        let uses = Uses::default();
        let bound = bind_scalar(&parsed, &PlanContext::new(&NoTables, Place::Statement(&uses))).expect(text);
        let cx = EvalCx { frame: &[], outer: None, params: &[], env: &session };
        let mut answer = match bound.eval(&cx) {
            Ok(value) if value.is_null() => "NULL".to_string(),
            Ok(value) => String::from_utf8_lossy(&text_of(&value, &bound.ty)).into_owned(),
            Err(error) => error.message().to_string(),
        };
        for heard in session.warnings.borrow().iter() {
            answer += "; ";
            answer += heard.message().trim_start_matches("Internal error: ");
        }
        assert_eq!(answer, expected, "{text}");
    }
}

struct NoTables;

impl Catalog for NoTables {
    fn table(&self, _: &str, _: &str) -> Result<Option<TableRef>> {
        Ok(None)
    }
    fn database_exists(&self, _: &str) -> Result<bool> {
        Ok(false)
    }
    fn statistics(&self, _: &TableDef) -> TableStatistics {
        TableStatistics::default()
    }
}

fn files() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/functions");
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "tsv"))
        .collect();
    files.sort();
    files
}

/// As the command line client prints in batch mode.
fn escape(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\0' => out.push_str("\\0"),
                '\\' => out.push_str("\\\\"),
                other => out.push(other),
            }
        }
        chunk.invalid().iter().for_each(|b| out.push_str(&format!("\\x{b:02X}")));
    }
    out
}

fn error_text(error: &Error) -> String {
    format!("ERROR {} ({}): {}", error.code(), error.sqlstate(), error.message())
}

/// The type as the recorder writes it.
fn type_text(expr: &Expr) -> String {
    let ty = &expr.ty;
    let wire = match ty.kind {
        TypeKind::Null => "NULL",
        TypeKind::TinyInt => "TINY",
        TypeKind::SmallInt => "SHORT",
        TypeKind::MediumInt => "INT24",
        TypeKind::Int => "LONG",
        TypeKind::BigInt => "LONGLONG",
        TypeKind::Decimal => "NEWDECIMAL",
        TypeKind::Float => "FLOAT",
        TypeKind::Double => "DOUBLE",
        TypeKind::Year => "YEAR",
        TypeKind::Date => "DATE",
        TypeKind::Time => "TIME",
        TypeKind::DateTime => "DATETIME",
        TypeKind::Timestamp => "TIMESTAMP",
        TypeKind::Char | TypeKind::Binary => "STRING",
        TypeKind::VarChar | TypeKind::VarBinary => "VAR_STRING",
        TypeKind::Json => "?-unknown-?",
        TypeKind::LongText | TypeKind::LongBlob => "LONG_BLOB",
        _ if ty.is_blob() => "BLOB",
        _ => "?",
    };
    let flags = [(!expr.nullable, "NOT_NULL"), (ty.unsigned, "UNSIGNED")];
    let flags: Vec<&str> = flags.iter().filter(|f| f.0).map(|f| f.1).collect();
    format!("{wire} {} {} {}", wire_length(ty), decimals(ty), flags.join("+"))
}

fn wire_length(ty: &ColumnType) -> u64 {
    let chars = u64::from(char_length(ty));
    if ty.kind == TypeKind::Json {
        return 4_294_967_292;
    }
    if matches!(ty.kind, TypeKind::Float | TypeKind::Double) {
        return u64::from(ty.length);
    }
    if ty.is_blob() && ty.is_bytes() && ty.length > 0 {
        return u64::from(ty.length);
    }
    match ty.is_bytes() {
        true if ty.collation == CollationId::BINARY => chars,
        // What is sent is utf8mb4, whatever the text's own charset.
        true => (chars * 4).min(u64::from(u32::MAX)),
        false => chars,
    }
}

fn decimals(ty: &ColumnType) -> u8 {
    if ty.is_bytes() || ty.kind == TypeKind::Json { 31 } else { ty.decimals }
}

/// Value or error, type, warnings.
fn answer(text: &str, connection: CollationId) -> (String, String, String) {
    let session = Session::default();
    let catalog = NoTables;
    let uses = Uses::default();
    let mut cx = PlanContext::new(&catalog, Place::Statement(&uses));
    let settings = PlanSettings { connection_collation: connection, ..PlanSettings::DEFAULT };
    cx.settings = &settings;
    cx.fold = true;
    let ast = match parse_expr(text.as_bytes(), &ParserOptions::default()) {
        Ok(ast) => ast,
        // MySQL's text has the rest of the whole statement.
        Err(e) => {
            return (format!("ERROR {} (42000): You have an error in your SQL syntax", e.code()), String::new(), String::new());
        }
    };
    let expr = match bind_scalar(&ast, &cx) {
        Ok(expr) => expr,
        Err(e) => return (error_text(&e), String::new(), String::new()),
    };
    let row = EvalCx { frame: &[], outer: None, params: &[], env: &session };
    let value = match expr.eval(&row) {
        Ok(value) if value.is_null() => "NULL".to_string(),
        Ok(value) => {
            let text = text_of(&value, &expr.ty);
            let from = if expr.ty.is_bytes() { charset(expr.ty.collation) } else { charset(CollationId::UTF8MB4_BIN) };
            escape(&from.convert(charset(CollationId::UTF8MB4_BIN), &text).bytes)
        }
        Err(e) => return (error_text(&e), String::new(), String::new()),
    };
    let warnings = session
        .warnings
        .borrow()
        .iter()
        .map(|e| format!("{} {}", e.code(), escape(e.message().as_bytes())))
        .collect::<Vec<_>>()
        .join("; ");
    (value, type_text(&expr), warnings)
}

#[test]
fn answers_as_mysql_did() {
    let known_path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/functions_known_differences.txt");
    let known_text = std::fs::read_to_string(&known_path).unwrap_or_default();
    let known: HashSet<&str> = known_text.lines().filter(|l| !l.starts_with("# ")).collect();
    let mut differing = Vec::new();
    let mut total = 0;
    for file in files() {
        let text = std::fs::read_to_string(&file).unwrap();
        for line in text.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let [expr, value, ty, warnings] = fields[..] else { panic!("{}: {line}", file.display()) };
            total += 1;
            let (got, got_ty, got_warnings) = answer(expr, CollationId::UTF8MB4_0900_AI_CI);
            let ty = ty.rsplit_once(' ').map_or(ty, |t| t.0);
            let mut wrong = String::new();
            let value = if value.starts_with("ERROR 1064") { value.split_once(';').map_or(value, |v| v.0) } else { value };
            if got != value {
                wrong.push_str(&format!("\n    value    {got}\n    expected {value}"));
            } else if got_warnings != warnings {
                wrong.push_str(&format!("\n    warnings {got_warnings}\n    expected {warnings}"));
            } else if !value.starts_with("ERROR") && got_ty != ty {
                wrong.push_str(&format!("\n    type     {got_ty}\n    expected {ty}"));
            }
            if wrong.is_empty() == known.contains(expr) {
                differing.push(format!("{expr}{wrong}"));
            }
        }
    }
    if !differing.is_empty() {
        panic!("{} of {total} differ:\n{}", differing.len(), differing.join("\n"));
    }
}

/// Many clients connect with general_ci: what functions make of numbers and dates still compares with literals.
#[test]
fn other_connection_collation_mixes() {
    for expr in [
        "DATE_FORMAT('2024-01-31', '%Y') = '2024'",
        "HEX(255) = 'ff'",
        "CONCAT(1, 2) = '12'",
        "CONCAT(CURDATE(), 'x') LIKE '20%'",
        "DATE_ADD('2024-01-31', INTERVAL 1 DAY) = '2024-02-01'",
        "CASE WHEN 1 THEN HEX(10) ELSE 'b' END = 'a'",
        "JSON_UNQUOTE(JSON_EXTRACT('{\"a\": \"x\"}', '$.a')) = 'x'",
        "IFNULL(FORMAT(1234, 0), '') = '1,234'",
        "CAST(5 AS CHAR) = '5'",
        "REPLACE(UPPER('a'), 'A', HEX(1)) = '1'",
        "JSON_TYPE('1') = 'INTEGER'",
        "FIND_IN_SET(5, '4,5') = 2",
    ] {
        let (value, _, _) = answer(expr, CollationId::UTF8MB4_GENERAL_CI);
        assert_eq!(value, "1", "{expr}");
    }
}
