//! No input may overflow the stack, panic, or take more than linear time and memory.

use proptest::prelude::*;
use vaquita_parser::digest::{digest, normalize};
use vaquita_parser::printer::{Style, print_expr};
use vaquita_parser::{ParserOptions, is_blank, parse_expr, parse_one, parse_prepared};

const TOO_DEEP: u16 = 1436;
const TOO_MANY_QUERIES: u16 = 1473;

fn code(sql: &str) -> u16 {
    parse_one(sql.as_bytes(), &ParserOptions::default()).err().map_or(0, |e| e.code())
}

#[test]
fn deep_nesting_is_an_error() {
    let n = 100_000;
    for (open, inner, close) in [
        ("(", "1", ")"),
        ("-", "1", ""),
        ("NOT ", "1", ""),
        ("! ", "1", ""),
        ("f(", "1", ")"),
        ("CASE ", "1", " WHEN 1 THEN 1 END"),
        ("a IN (", "1", ")"),
        ("1 BETWEEN 1 AND ", "1", ""),
        ("INTERVAL 1 DAY + ", "a", ""),
        ("INTERVAL(", "1", ",1)"),
        ("@a := ", "1", ""),
        ("CAST(", "1", " AS CHAR)"),
    ] {
        let sql = format!("SELECT {}{inner}{}", open.repeat(n), close.repeat(n));
        assert_eq!(code(&sql), TOO_DEEP, "{open}");
    }
    for open in ["(SELECT ", "EXISTS (SELECT ", "1 IN (SELECT "] {
        assert_eq!(code(&format!("SELECT {}1{}", open.repeat(n), ")".repeat(n))), TOO_MANY_QUERIES, "{open}");
    }
    for (open, close) in [("((", "))"), ("(SELECT * FROM (", ") x)"), ("a JOIN (", ")")] {
        let sql = format!("SELECT * FROM {}t{}", open.repeat(n), close.repeat(n));
        assert_ne!(code(&sql), 0, "{open}");
    }
    assert_eq!(code(&format!("{}SELECT 1{}", "(".repeat(n), ")".repeat(n))), TOO_DEEP);
    assert_eq!(code(&format!("SELECT * FROM t{}", " JOIN t".repeat(n))), TOO_DEEP);
}

/// A hint may hold the start of a version comment whose end is outside.
#[test]
fn unclosed_comments_end() {
    for sql in ["SELECT /*+ a /*! b */ 1", "SELECT /*+ /*! */ 1", "SELECT /*! 1", "SELECT 1 /*+", "/*!", "SELECT /*+ f( /*! */ 1"]
    {
        code(sql);
        let _ = digest(sql.as_bytes(), &ParserOptions::default());
    }
}

#[test]
fn long_chains_are_an_error_or_balanced() {
    let n = 100_000;
    for op in [" + 1", " = 1", " XOR 1", " IS NULL", " COLLATE x", " ^ 1", " - INTERVAL 1 DAY"] {
        assert_eq!(code(&format!("SELECT 1{}", op.repeat(n))), TOO_DEEP, "{op}");
    }
    for op in [" OR a = 1", " AND a = 1", " OR a = 1 AND b = 2"] {
        assert_eq!(code(&format!("SELECT 1{}", op.repeat(n))), 0, "{op}");
    }
    assert_eq!(code(&format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(n))), 0);
    assert_eq!(code(&format!("SELECT 1{}", " EXCEPT SELECT 1".repeat(n))), TOO_DEEP);
    assert_eq!(code(&format!("INSERT INTO t VALUES (1){}", ",(1)".repeat(n))), 0);
}

#[test]
fn reasonable_nesting_is_not_an_error() {
    // As deep as MySQL 9.7 goes, or deeper.
    for (n, open, close) in [
        (5000, "(", ")"),
        (2000, "IF(1,", ",0)"),
        (2000, "CASE WHEN 1 THEN ", " END"),
        (2012, "ABS(", ")"),
        (1732, "1 BETWEEN 0 AND ", ""),
        (2012, "1 IN (", ")"),
        (3000, "NOT ", ""),
        (2012, "- ", ""),
        (63, "(SELECT ", ")"),
        (63, "EXISTS(SELECT ", ")"),
    ] {
        assert_eq!(code(&format!("SELECT {}1{}", open.repeat(n), close.repeat(n))), 0, "{open}");
    }
    for op in [" + 1", " = 1", " IS NULL", " EXCEPT SELECT 1", " INTERSECT SELECT 1"] {
        assert_eq!(code(&format!("SELECT 1{}", op.repeat(3000))), 0, "{op}");
    }
}

/// Each INTERVAL asks whether a comma follows in its parentheses: the text must not be read again for each.
#[test]
fn nested_intervals_take_linear_time() {
    let n = 2_000;
    let sql = format!("SELECT {}{}{}", "INTERVAL(".repeat(n), "1 OR ".repeat(500_000) + "1", ",1)".repeat(n));
    assert_eq!(code(&sql), 0);
}

#[test]
fn parameters_need_a_prepared_statement() {
    let opts = ParserOptions::default();
    let error = parse_one(b"SELECT ? + 1", &opts).expect_err("no parameters here");
    assert_eq!((error.code(), error.near.as_str()), (1064, "? + 1"));
    assert!(matches!(parse_prepared(b"SELECT ? + ? LIMIT ?;", &opts), Ok((_, 3))));
}

fn run_all(sql: &[u8], opts: &ParserOptions) {
    let _ = parse_one(sql, opts);
    let _ = parse_prepared(sql, opts);
    let _ = is_blank(sql, opts);
    let _ = normalize(sql, opts);
    let _ = digest(sql, opts);
    if let Ok(expr) = parse_expr(sql, opts) {
        // What was printed must parse, and print the same again.
        let style = Style { charset: None, cast_charset: None, unqualified: false };
        let once = print_expr(&expr, style);
        if let Ok(again) = parse_expr(once.as_bytes(), &ParserOptions::default()) {
            let _ = print_expr(&again, style);
        }
    }
}

fn options() -> impl Strategy<Value = ParserOptions> {
    any::<[bool; 5]>().prop_map(|b| ParserOptions {
        ansi_quotes: b[0],
        pipes_as_concat: b[1],
        no_backslash_escapes: b[2],
        ignore_space: b[3],
        high_not_precedence: b[4],
        ..ParserOptions::default()
    })
}

/// Words of the statements of the golden file, to be put together anew.
fn pieces() -> Vec<&'static str> {
    include_str!("golden/syntax.txt")
        .lines()
        .filter(|l| !l.starts_with(['=', '#', '@', '!']))
        .flat_map(|l| l.split(' '))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..60), opts in options()) {
        run_all(&bytes, &opts);
    }

    #[test]
    fn random_words_never_panic(
        words in prop::collection::vec(prop::sample::select(pieces()), 0..20),
        opts in options(),
    ) {
        run_all(words.join(" ").as_bytes(), &opts);
    }
}
