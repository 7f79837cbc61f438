//! Every function and operator inside itself, in each position of its arguments, as deep as it goes and beyond; lists of many items; and every limit of
//! `types::limits` that a client can reach. Whatever the answer is, the server and the session go on.
//!
//! Functions come from the registry (`plan::func::all`): a new one is tested without being named here, unless its syntax is its own. A limit that
//! has no line here fails the test, too.

use vaquita_plan::func;
use vaquita_plan::function::FuncDef;
use vaquita_types::limits::*;

use crate::client::{Answer, Client};
use crate::server::Server;

/// Far beyond every limit.
const TOO_MANY: usize = 50_000;
/// Some of these levels every function has; whether all of them have an answer depends on what it makes of its own results.
const LEVELS: [usize; 2] = [300, 2000];
const FILLERS: [&str; 4] = ["1", "'a'", "'[1]'", "'2020-02-02'"];
/// Optional arguments beyond these repeat the ones before.
const OPTIONAL_ARGUMENTS_MAX: usize = 3;
const ER_PARSE_ERROR: u16 = 1064;
const ER_TOO_MANY_FIELDS: u16 = 1117;
const ER_TOO_BIG_ENUM: u16 = 3504;
const ER_SP_DOES_NOT_EXIST: u16 = 1305;
const ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT: u16 = 1582;

/// Functions whose calls are not `NAME(argument, …)`, with `{}` for each argument.
const FORMS: [(&str, &[&str]); 30] = [
    ("%", &["({} % {})"]),
    ("&", &["({} & {})"]),
    ("*", &["({} * {})"]),
    ("+", &["({} + {})"]),
    ("-", &["({} - {})"]),
    ("/", &["({} / {})"]),
    ("<<", &["({} << {})"]),
    (">>", &["({} >> {})"]),
    ("^", &["({} ^ {})"]),
    ("|", &["({} | {})"]),
    ("~", &["(~{})"]),
    ("NEG", &["(- {})"]),
    ("DIV", &["({} DIV {})"]),
    ("XOR", &["({} XOR {})"]),
    ("IS TRUE", &["({} IS TRUE)"]),
    ("IS FALSE", &["({} IS FALSE)"]),
    ("LIKE", &["({} LIKE {})", "({} LIKE {} ESCAPE '!')"]),
    ("REGEXP", &["({} REGEXP {})"]),
    ("RLIKE", &["({} RLIKE {})"]),
    ("MEMBER OF", &["({} MEMBER OF ({}))"]),
    ("DATE_ADD", &["DATE_ADD({}, INTERVAL {} DAY)", "({} + INTERVAL {} HOUR)"]),
    ("DATE_SUB", &["DATE_SUB({}, INTERVAL {} MONTH)"]),
    ("EXTRACT", &["EXTRACT(DAY FROM {})"]),
    ("POSITION", &["POSITION({} IN {})"]),
    ("TRIM", &["TRIM({})", "TRIM({} FROM {})"]),
    ("TRIM LEADING", &["TRIM(LEADING {} FROM {})"]),
    ("TRIM TRAILING", &["TRIM(TRAILING {} FROM {})"]),
    ("AT TIME ZONE", &["CAST({} AT TIME ZONE '+00:00' AS DATETIME)"]),
    ("TIMESTAMPADD", &["TIMESTAMPADD(DAY, {}, {})"]),
    ("TIMESTAMPDIFF", &["TIMESTAMPDIFF(DAY, {}, {})"]),
];
/// Further forms of expressions, of the binder's own.
const EXPRESSIONS: [&str; 24] = [
    "({} = {})",
    "({} <=> {})",
    "({} <> {})",
    "({} < {})",
    "({} >= {})",
    "({} AND {})",
    "({} OR {})",
    "(NOT {})",
    "(! {})",
    "({} IS NULL)",
    "({} IS UNKNOWN)",
    "({} BETWEEN {} AND 5)",
    "({} NOT BETWEEN 0 AND {})",
    "({} IN ({}, 3))",
    "({} NOT IN ({}, {}))",
    "(CASE {} WHEN {} THEN {} ELSE {} END)",
    "(CASE WHEN {} THEN {} END)",
    "CAST({} AS CHAR)",
    "CAST({} AS JSON)",
    "CONVERT({} USING latin1)",
    "(BINARY {})",
    "({} COLLATE utf8mb4_bin)",
    "(ROW({}, 1) = ROW({}, 2))",
    "TRIM(LEADING {} FROM {})",
];
/// Functions of the binder, which no call names, and those that take literals only.
const WITHOUT_FORM: [&str; 21] = [
    "CAST ARRAY",
    "CHAR OF UNITS",
    "CONSTANT FOR",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "CURTIME",
    "JSON CONDITION",
    "FULL YEAR",
    "NUMBER OF DATE",
    "TEXT OF DATE",
    "GET_FORMAT",
    "FRAME INTERVAL",
    "JSON_VALUE",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "NAME_CONST",
    "NOW",
    "SYSDATE",
    "UTC_TIME",
    "UTC_TIMESTAMP",
    "WEIGHT_STRING",
];

fn forms(def: &FuncDef) -> Vec<String> {
    if let Some((_, forms)) = FORMS.iter().find(|(name, _)| *name == def.name) {
        return forms.iter().map(|form| form.to_string()).collect();
    }
    let (least, most) = def.args;
    let counts = least.max(1)..=most.min(least + OPTIONAL_ARGUMENTS_MAX);
    counts.map(|count| format!("{}({})", def.name, vec!["{}"; count].join(", "))).collect()
}

/// `form` inside itself at `position`, `levels` deep, around `x`; its other arguments are `filler`.
fn nested(form: &str, position: usize, filler: &str, levels: usize) -> String {
    let parts: Vec<&str> = form.split("{}").collect();
    let open = parts[..=position].join(filler);
    let close = parts[position + 1..].join(filler);
    format!("{}x{}", open.repeat(levels), close.repeat(levels))
}

/// The error's number, 0 for an answer; the server must give one or the other.
fn code(client: &mut Client, what: &str, sql: &str) -> u16 {
    match client.try_query(sql) {
        Ok(Answer::Err { code, .. }) => code,
        Ok(_) => 0,
        Err(error) => panic!("{what}: the session is gone: {error}; {}", sql.get(..200).unwrap_or(sql)),
    }
}

/// `false`: it is not written so.
fn try_form(client: &mut Client, form: &str) -> bool {
    for position in 0..form.matches("{}").count() {
        let what = format!("{form}, argument {}", position + 1);
        for filler in FILLERS {
            let sql = |levels| format!("SELECT {} FROM (SELECT 0 x UNION SELECT 1) t", nested(form, position, filler, levels));
            let once = code(client, &what, &sql(1));
            if [ER_PARSE_ERROR, ER_SP_DOES_NOT_EXIST].contains(&once) {
                return false;
            }
            if once == ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT {
                break;
            }
            // The deeper ones take long, and differ little by what the other arguments are.
            let deep = filler == FILLERS[0];
            for levels in LEVELS.into_iter().take(if deep { 2 } else { 1 }) {
                code(client, &what, &sql(levels));
            }
        }
        let sql = format!("SELECT {} FROM (SELECT 1 x) t", nested(form, position, "1", TOO_MANY));
        assert_ne!(code(client, &what, &sql), 0, "{what}: {TOO_MANY} levels have an answer");
    }
    assert_eq!(client.query("SELECT 1").rows(), [["1"]], "{form}");
    true
}

/// What grows with each level stops there, and not at 64 MiB.
fn prepare(server: &Server) -> Client {
    let mut client = server.connect();
    client.query("SET GLOBAL max_allowed_packet = 4194304");
    drop(client);
    let mut client = server.connect();
    client.query("CREATE DATABASE d");
    client.query("USE d");
    // BENCHMARK inside BENCHMARK would never end.
    client.query("SET max_execution_time = 2000");
    client
}

#[test]
fn functions_inside_themselves() {
    let server = Server::start("nesting-functions");
    let mut client = prepare(&server);
    let called = func::all().into_iter().filter(|def| def.args.1 > 0 && !WITHOUT_FORM.contains(&def.name));
    let not_so: Vec<String> = called.flat_map(forms).filter(|form| !try_form(&mut client, form)).collect();
    assert!(not_so.is_empty(), "their syntax belongs into FORMS: {not_so:?}");
}

#[test]
fn operators_inside_themselves() {
    let server = Server::start("nesting-operators");
    let mut client = prepare(&server);
    EXPRESSIONS.iter().for_each(|form| assert!(try_form(&mut client, form), "{form}"));
}

/// A limit's name, its value, and the statement that needs so many.
type Limit = (&'static str, usize, fn(usize) -> String);

const LIMITS: [Limit; 24] = [
    ("USER_CHARS_MAX", USER_CHARS_MAX, |n| format!("CREATE USER `{}`", "é".repeat(n))),
    ("HOST_CHARS_MAX", HOST_CHARS_MAX, |n| format!("CREATE USER u@'{}'", "h".repeat(n))),
    ("IDENTIFIER_CHARS_MAX", IDENTIFIER_CHARS_MAX, |n| format!("CREATE TABLE `{}` (a INT)", "é".repeat(n))),
    ("TABLE_COLUMNS_MAX", TABLE_COLUMNS_MAX, |n| format!("CREATE TABLE many_columns ({})", list(n, |i| format!("c{i} TINYINT")))),
    ("TABLE_INDEXES_MAX", TABLE_INDEXES_MAX, |n| {
        format!("CREATE TABLE many_indexes (a INT, {})", list(n, |i| format!("KEY k{i} (a)")))
    }),
    ("INDEX_PARTS_MAX", INDEX_PARTS_MAX, |n| {
        format!("CREATE TABLE parts ({}, KEY ({}))", list(n, |i| format!("c{i} INT")), list(n, |i| format!("c{i}")))
    }),
    ("INDEX_ELEMENTS_MAX", INDEX_ELEMENTS_MAX, |n| {
        let elements = list(n, |i| i.to_string());
        format!("CREATE TABLE elements (j JSON, KEY ((CAST(j AS UNSIGNED ARRAY)))) SELECT '[{elements}]' AS j")
    }),
    ("INDEX_KEY_BYTES_MAX", INDEX_KEY_BYTES_MAX, |n| format!("CREATE TABLE long_key (a VARBINARY({n}), KEY (a))")),
    // Two bytes are the value's length.
    ("ROW_BYTES_MAX", ROW_BYTES_MAX, |n| format!("CREATE TABLE long_row (a VARBINARY({}) NOT NULL)", n - 2)),
    ("DECIMAL_DIGITS_MAX", DECIMAL_DIGITS_MAX as usize, |n| format!("SELECT CAST(1 AS DECIMAL({n}))")),
    ("DECIMAL_SCALE_MAX", DECIMAL_SCALE_MAX as usize, |n| format!("SELECT CAST(1 AS DECIMAL(65, {n}))")),
    ("FSP_MAX", FSP_MAX as usize, |n| format!("SELECT NOW({n})")),
    ("ENUM_MEMBERS_MAX", ENUM_MEMBERS_MAX, |n| format!("CREATE TABLE enums (a ENUM({}))", list(n, |i| format!("'{i}'")))),
    ("SET_MEMBERS_MAX", SET_MEMBERS_MAX, |n| format!("CREATE TABLE sets (a SET({}))", list(n, |i| format!("'{i}'")))),
    ("PARAMETERS_MAX", PARAMETERS_MAX, |n| format!("PREPARE p FROM 'SELECT 1 IN ({})'", list(n, |_| "?".into()))),
    ("BLOCK_TABLES_MAX", BLOCK_TABLES_MAX, |n| format!("SELECT COUNT(*) FROM {}", list(n, |i| format!("one t{i}")))),
    ("PARTITION_COLUMNS_MAX", PARTITION_COLUMNS_MAX, |n| {
        let (columns, types) = (list(n, |i| format!("c{i}")), list(n, |i| format!("c{i} INT")));
        let bounds = list(n, |_| "MAXVALUE".into());
        format!("CREATE TABLE parts ({types}) PARTITION BY RANGE COLUMNS ({columns}) (PARTITION p VALUES LESS THAN ({bounds}))")
    }),
    ("REGEXP_BYTES_MAX", REGEXP_BYTES_MAX, |n| format!("SELECT 'a' REGEXP REPEAT('a', {n})")),
    ("REGEXP_PARTS_MAX", REGEXP_PARTS_MAX, |n| format!("SELECT 'a' REGEXP REPEAT('(?=a)', {n})")),
    ("RANDOM_BYTES_MAX", RANDOM_BYTES_MAX, |n| format!("SELECT RANDOM_BYTES({n})")),
    ("DISPLAY_WIDTH_MAX", DISPLAY_WIDTH_MAX as usize, |n| format!("CREATE TABLE wide (a INT({n}))")),
    ("TABLE_COMMENT_CHARS_MAX", TABLE_COMMENT_CHARS_MAX, |n| format!("CREATE TABLE c1 (a INT) COMMENT '{}'", "é".repeat(n))),
    ("COLUMN_COMMENT_CHARS_MAX", COLUMN_COMMENT_CHARS_MAX, |n| format!("CREATE TABLE c2 (a INT COMMENT '{}')", "é".repeat(n))),
    ("INDEX_COMMENT_CHARS_MAX", INDEX_COMMENT_CHARS_MAX, |n| {
        format!("CREATE TABLE c3 (a INT, KEY (a) COMMENT '{}')", "é".repeat(n))
    }),
];

/// Limits and the test that hits them; the last are of gigabytes.
const HIT_ELSEWHERE: [(&str, &str); 30] = [
    ("SYNTAX_NESTING_MAX", "it::depth"),
    ("SYNTAX_HEIGHT_MAX", "it::depth"),
    ("BINDING_DEPTH_MAX", "it::depth"),
    ("QUERY_NESTING_MAX", "it::depth"),
    ("CTE_EXPANSIONS_MAX", "it::depth"),
    ("COPIED_NODES_MAX", "it::depth"),
    ("JSON_DEPTH_MAX", "it::depth"),
    ("GEOMETRY_DEPTH_MAX", "types::geometry"),
    ("XML_LEVELS_MAX", "types::xml"),
    ("XML_NODES_MAX", "types::xml"),
    ("XML_FOUND_MAX", "types::xml"),
    ("XPATH_DEPTH_MAX", "types::xml"),
    ("USER_VARIABLES_BYTES_MAX", "it::memory"),
    ("VALUE_BYTES_MAX", "it::memory"),
    ("LONG_DATA_BYTES_MAX", "wire::params"),
    ("SENT_ROW_BYTES_MAX", "wire::row"),
    ("LOADED_FIELD_BYTES_MAX", "a gigabyte, as the one before"),
    ("UNCOMPRESSED_BYTES_MAX", "golden script compress"),
    ("JOIN_TABLES_MAX", "what the error of BLOCK_TABLES_MAX says"),
    ("PROCESSLIST_INFO_CHARS_MAX", "what is longer is cut"),
    ("ALIAS_BYTES_MAX", "golden script output_names"),
    ("COLUMN_TEXT_BYTES_MAX", "golden script output_names"),
    ("EVENTS_AT_ONCE_MAX", "it::events"),
    ("PROGRAM_DEPTH_MAX", "it::programs"),
    ("PROGRAM_STEPS_MAX", "it::programs"),
    ("FOREIGN_KEY_DEPTH_MAX", "golden script fk_cascades"),
    ("PARTITIONS_MAX", "golden script partitions_ddl"),
    ("MYISAM_KEY_BYTES_MAX", "golden script key_lengths"),
    ("OLD_FORMAT_PART_BYTES_MAX", "golden script key_lengths"),
    ("FOREIGN_KEYS_CHECKED_BYTES_MAX", "what is beyond it is looked up again"),
];

fn list(n: usize, item: impl Fn(usize) -> String) -> String {
    (0..n).map(item).collect::<Vec<_>>().join(", ")
}

#[test]
fn limits_hold_where_they_are_said_to() {
    let server = Server::start("nesting-limits");
    let mut client = server.connect();
    for sql in ["CREATE DATABASE d", "USE d", "CREATE TABLE one (a INT)", "INSERT INTO one VALUES (1)"] {
        assert_eq!(code(&mut client, sql, sql), 0);
    }
    for (name, limit, sql) in LIMITS {
        assert_eq!(code(&mut client, name, &sql(limit)), 0, "{name}: {limit}");
        // What the first statement made does not stand in the way of the second.
        client.query("DROP DATABASE d");
        for sql in ["CREATE DATABASE d", "USE d", "CREATE TABLE one (a INT)", "INSERT INTO one VALUES (1)"] {
            assert_eq!(code(&mut client, sql, sql), 0);
        }
        for beyond in [limit + 1, 2 * limit, 10 * limit] {
            assert_ne!(code(&mut client, name, &sql(beyond)), 0, "{name}: {beyond}");
        }
        assert_eq!(client.query("SELECT COUNT(*) FROM one").rows(), [["1"]], "{name}");
    }
    let text = include_str!("../../../types/src/limits.rs");
    for name in text.lines().filter_map(|line| line.strip_prefix("pub const ")?.split(':').next()) {
        let known = LIMITS.iter().any(|(known, ..)| *known == name) || HIT_ELSEWHERE.iter().any(|(known, _)| *known == name);
        assert!(known, "no test hits {name}");
    }
}

/// Of many items in one list none is compared with all others: a square of these would take hours.
#[test]
fn long_lists() {
    let server = Server::start("nesting-lists");
    let mut client = server.connect();
    // What takes seconds takes minutes on a machine with much else to do.
    client.set_timeout(std::time::Duration::from_secs(3600)).expect("set");
    for sql in ["CREATE DATABASE d", "USE d", "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)"] {
        client.query(sql);
    }
    const MANY: usize = 200_000;
    let keys = list(MANY, |i| format!("a+{i}"));
    let lists = [
        ("GROUP BY", 0, format!("SELECT 1 FROM t GROUP BY {keys}")),
        ("DISTINCT", 0, format!("SELECT DISTINCT a FROM t ORDER BY {}", list(MANY, |_| "a".into()))),
        ("aggregates", 0, format!("SELECT GREATEST({}) FROM t", list(MANY, |i| format!("SUM(a+{i})")))),
        ("columns", ER_TOO_MANY_FIELDS, format!("CREATE TABLE wide ({})", list(MANY, |i| format!("c{i} INT")))),
        ("labels", ER_TOO_BIG_ENUM, format!("CREATE TABLE labels (a ENUM({}))", list(MANY, |i| format!("'{i}'")))),
    ];
    for (name, error, sql) in lists {
        assert_eq!(code(&mut client, name, &sql), error, "{name}");
    }
}
