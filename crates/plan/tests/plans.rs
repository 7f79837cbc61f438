//! Golden scripts of plans: `golden/*.test` holds CREATE TABLE statements and queries, each followed by
//! the plan (EXPLAIN FORMAT=TREE), with `columns ` before it its output columns, with `logical ` the logical tree of each of its blocks,
//! each rewrite that changed it, and the plan; or the error.
//!
//! `UPDATE_GOLDEN=1 cargo test -p vaquita-plan --test plans` writes what the planner says now; with a script's name behind it, of that one.
//! Error texts were compared with MySQL's when they were written.

mod mock;

use std::cell::RefCell;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use vaquita_parser::{ParserOptions, Statement, parse_one, parse_prepared};
use vaquita_plan::bind::{Place, PlanContext, plan_statement};
use vaquita_plan::explain;
use vaquita_plan::settings::PlanSettings;
use vaquita_plan::uses::Uses;

/// A test for each script, and one that no script is without.
macro_rules! scripts {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name));
        })*

        #[test]
        fn every_script_has_a_test() {
            let files = std::fs::read_dir(golden_dir()).expect("golden directory").map(|e| e.expect("entry").file_name());
            let mut files: Vec<String> = files.filter_map(|name| Some(name.to_str()?.strip_suffix(".test")?.to_string())).collect();
            files.sort();
            assert_eq!(files, [$(stringify!($name)),*]);
        }
    };
}

scripts! { access cte errors joins rewrites }

fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn check(name: &str) {
    let path = golden_dir().join(format!("{name}.test"));
    let script = std::fs::read_to_string(&path).expect("script");
    let now = run(&script);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &now).expect("write script");
    } else {
        assert!(now == script, "{}:\n{}", path.display(), first_difference(&script, &now));
    }
}

fn first_difference(old: &str, new: &str) -> String {
    let at = old.lines().zip(new.lines()).position(|(a, b)| a != b).unwrap_or(0);
    let around = |text: &str| text.lines().skip(at.saturating_sub(4)).take(10).collect::<Vec<_>>().join("\n");
    format!("line {}\n--- expected\n{}\n--- now\n{}", at + 1, around(old), around(new))
}

/// Lines beginning with `> ` are queries (continued by `. `), `# ` comments; all else is output and is made anew.
fn run(script: &str) -> String {
    let mut catalog = mock::Catalog::default();
    let mut out = String::new();
    let mut lines = script.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(first) = line.strip_prefix("> ") else {
            if line.starts_with('#') || line.is_empty() && !out.ends_with("\n\n") {
                let _ = writeln!(out, "{line}");
            }
            continue;
        };
        let mut sql = first.to_string();
        let _ = writeln!(out, "{line}");
        while let Some(more) = lines.peek().and_then(|l| l.strip_prefix(". ")) {
            sql.push('\n');
            sql.push_str(more);
            let _ = writeln!(out, ". {more}");
            lines.next();
        }
        out.push_str(&answer(&mut catalog, &sql));
        out.push('\n');
    }
    while out.ends_with("\n\n") {
        out.pop();
    }
    out
}

fn answer(catalog: &mut mock::Catalog, sql: &str) -> String {
    let options = ParserOptions::default();
    let (columns, sql) = match sql.strip_prefix("columns ") {
        Some(rest) => (true, rest),
        None => (false, sql),
    };
    let (logical, sql) = match sql.strip_prefix("logical ") {
        Some(rest) => (true, rest),
        None => (false, sql),
    };
    let parsed = if sql.contains('?') { parse_prepared(sql.as_bytes(), &options) } else { parse_one(sql.as_bytes(), &options) };
    let (statement, _) = match parsed {
        Ok(parsed) => parsed,
        Err(e) => return format!("parse error: {}\n", e.message),
    };
    if let Statement::CreateTable(create) = &statement {
        catalog.create(create);
        return String::new();
    }
    let settings = PlanSettings { current_database: Some("test".into()), ..PlanSettings::DEFAULT };
    let uses = Uses::default();
    let seen = RefCell::new(String::new());
    let watch = |name: &str, tree: &str| {
        let _ = write!(seen.borrow_mut(), "[{name}]\n{tree}");
    };
    let watch = logical.then_some(&watch as &dyn Fn(&str, &str));
    let cx = PlanContext { settings: &settings, watch, ..PlanContext::new(catalog, Place::Statement(&uses)) };
    match plan_statement(&statement, &cx) {
        Err(e) => format!("{e}\n"),
        Ok(plan) if columns => plan.columns().iter().fold(String::new(), |mut s, c| {
            let origin = c.origin.as_ref().map_or(String::new(), |o| format!(" from {}.{}.{}", o.database, o.table, o.org_name));
            let _ = writeln!(
                s,
                "{}: {:?}({},{}){}{}",
                c.name,
                c.expr.ty.kind,
                c.expr.ty.length,
                c.expr.ty.decimals,
                if c.expr.nullable { "" } else { " not null" },
                origin
            );
            s
        }),
        Ok(plan) if logical => seen.take() + "[plan]\n" + &explain::tree(&plan),
        Ok(plan) => explain::tree(&plan),
    }
}
