//! Golden scripts of plans: `golden/*.test` holds CREATE TABLE statements and queries, each followed by
//! the plan (EXPLAIN FORMAT=TREE), with `columns ` before it its output columns, with `logical ` the logical tree of each of its blocks,
//! each rewrite that changed it, and the plan; with `why ` EXPLAIN FORMAT=WHY; or the error. Warnings of hints come first. `switch semijoin=off `
//! before a query sets flags of `optimizer_switch` for it.
//!
//! `VAQUITA_RECORD=own cargo test -p vaquita-plan --test scripts -- joins` writes what the planner says now of one script.
//! Error texts were compared with MySQL's when they were written.

mod mock;

use std::cell::RefCell;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use vaquita_parser::{ParserOptions, Statement, parse_one, parse_prepared};
use vaquita_plan::bind::{Place, PlanContext, plan_statement};
use vaquita_plan::explain;
use vaquita_plan::settings::PlanSettings;
use vaquita_plan::switches::Switches;
use vaquita_plan::uses::Uses;
use vaquita_scripts::{Answers, Suite};

/// The flags that are on, of those that the planner reads.
const SWITCHES: &str = "semijoin=on,firstmatch=on,loosescan=on,materialization=on,duplicateweedout=on,derived_merge=on,hash_join=on,\
    block_nested_loop=on,derived_condition_pushdown=on,prefer_ordering_index=on";

fn main() -> ExitCode {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    vaquita_scripts::main(vec![Suite::new("plans", Answers::Ours, &folder, |script| run(&script.text))])
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
    let (why, sql) = match sql.strip_prefix("why ") {
        Some(rest) => (true, rest),
        None => (false, sql),
    };
    let (flags, sql) = sql.strip_prefix("switch ").and_then(|rest| rest.split_once(' ')).unwrap_or(("", sql));
    let parsed = if sql.contains('?') { parse_prepared(sql.as_bytes(), &options) } else { parse_one(sql.as_bytes(), &options) };
    let (statement, _) = match parsed {
        Ok(parsed) => parsed,
        Err(e) => return format!("parse error: {}\n", e.message),
    };
    if let Statement::CreateTable(create) = &statement {
        catalog.create(create);
        return String::new();
    }
    let switches = Switches::of(&format!("{SWITCHES},{flags}"));
    let settings = PlanSettings { current_database: Some("test".into()), switches, ..PlanSettings::DEFAULT };
    let uses = Uses::default();
    let seen = RefCell::new(String::new());
    let watch = |name: &str, tree: &str| {
        let _ = write!(seen.borrow_mut(), "[{name}]\n{tree}");
    };
    let watch = logical.then_some(&watch as &dyn Fn(&str, &str));
    let warnings = RefCell::new(String::new());
    let warn = |warning| {
        let _ = writeln!(warnings.borrow_mut(), "warning {warning}");
    };
    let place = Place::Statement(&uses);
    let cx = PlanContext { settings: &settings, watch, hint_warning: Some(&warn), ..PlanContext::new(catalog, place) };
    if why {
        return vaquita_plan::why::why(&statement, &cx).map_or_else(|e| format!("{e}\n"), |why| why.text);
    }
    let planned = plan_statement(&statement, &cx);
    warnings.take()
        + &match planned {
            Err(e) => format!("{e}\n"),
            Ok(plan) if columns => plan.columns().iter().fold(String::new(), |mut s, c| {
                let origin =
                    c.origin.as_ref().map_or(String::new(), |o| format!(" from {}.{}.{}", o.database, o.table, o.org_name));
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
