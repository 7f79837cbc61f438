//! `vaquita attach`, in its order: check, copy, carry out what changed meanwhile, follow, compare.

use crate::checks::{self, Checks};
use crate::client::Client;
use crate::copy::{self, Copied, Copy};
use crate::definitions::{LeftOut, Schema, Table, make_programs, make_tables};
use crate::server::Server;
use crate::state::{self, Run};
use crate::table_text::{print_table, say};
use crate::verify::{Sides, verify};
use crate::{Result, accounts, channel, place};
use vaquita_replication::address::Address;

pub struct AttachOptions {
    pub source: Address,
    pub target: Address,
    /// None: all.
    pub databases: Vec<String>,
    pub channel: String,
    pub workers: usize,
    pub verify_only: bool,
    pub resume: bool,
    /// Tables that only fit one place of the log are not locked for a moment.
    pub no_lock: bool,
    pub users: bool,
    pub no_verify: bool,
}

struct Both {
    source: Client,
    target: Client,
    server: Server,
}

/// Whether all is equal in the end.
pub fn attach(options: &AttachOptions) -> Result<bool> {
    let mut source = Client::open(&options.source).map_err(|error| format!("the source {}: {error}", options.source))?;
    let mut target = copy::writer(&options.target).map_err(|error| format!("the target {}: {error}", options.target))?;
    let server = Server::ask(&mut source)?;
    let here = Server::ask(&mut target)?;
    let run = state::load(&mut target, &options.channel)?;
    let wanted = run.as_ref().map_or(&options.databases, |run| &run.wanted);
    let mut schema = Schema::read(&mut source, &server, wanted)?;
    let mut both = Both { source, target, server };
    if options.verify_only {
        return compare(options, &both.server, &schema.tables);
    }
    match (&run, options.resume) {
        (Some(run), false) => {
            return Err(
                format!("a copy of {} was begun (phase {}): give --resume to go on with it", run.source, run.phase).into()
            );
        }
        (None, true) => return Err("there is no copy to go on with: attach without --resume".into()),
        _ => {}
    }
    let mut checks = checks::of_source(&mut both.source, &both.server, &schema, !options.no_lock)?;
    checks::of_address(&mut checks, &options.source);
    both_checks(&mut checks, &mut both, &here, &schema, options, run.is_none())?;
    let title = format!("{} at {} → {} at {}", both.server.name(), options.source, here.name(), options.target);
    if !checks.print(&title) {
        return Err("nothing was done: see STOP".into());
    }
    let mut run = copied(options, &mut both, &mut schema, run)?;
    schema.tables.retain(|table| !run.ignored.contains(&table.shown()));
    follow(options, &mut both, &run)?;
    let equal = if options.no_verify { true } else { compare(options, &both.server, &schema.tables)? };
    if !run.users {
        run.left_out.push(("accounts".into(), "not asked for (--users); statements about them are not followed".into()));
    }
    let rows: Vec<Vec<String>> = run.left_out.iter().map(|(what, why)| vec![what.clone(), why.clone()]).collect();
    print_table("what did not come along", &["what", "why"], &rows);
    state::forget(&mut both.target, &options.channel)?;
    say("\nThe replica follows its source. `vaquita promote` switches over; STOP REPLICA; RESET REPLICA ALL ends it.");
    Ok(equal)
}

fn both_checks(
    checks: &mut Checks,
    both: &mut Both,
    here: &Server,
    schema: &Schema,
    options: &AttachOptions,
    fresh: bool,
) -> Result<()> {
    let Both { target, server, .. } = both;
    checks::of_both(checks, server, here, target, schema, &options.channel, fresh)
}

/// Copies what is not copied yet.
fn copied(options: &AttachOptions, both: &mut Both, schema: &mut Schema, before: Option<Run>) -> Result<Run> {
    if let Some(run) = before {
        if run.phase == "copied" {
            say("\nThe rows are copied already.");
            return Ok(run);
        }
        if let Some(run) = go_on(options, both, schema, run)? {
            return Ok(run);
        }
    }
    copy_anew(options, both, schema)
}

/// `None`: it must begin again, and what was made is gone.
fn go_on(options: &AttachOptions, both: &mut Both, schema: &mut Schema, run: Run) -> Result<Option<Run>> {
    schema.tables.retain(|table| !run.ignored.contains(&table.shown()));
    let units = if run.phase == "copying" { state::units(&mut both.target, &run.channel, &schema.tables)? } else { Vec::new() };
    let is_exact = |unit: &state::Unit| schema.tables.get(unit.table).is_some_and(|table| table.is_exact);
    if units.is_empty() || units.iter().any(|unit| is_exact(unit) && !unit.is_done) {
        say("\nThe copy begins again: it was interrupted while tables were made, or read in a snapshot that is gone.");
        state::undo(&mut both.target, &run)?;
        return Ok(None);
    }
    let done = units.iter().filter(|unit| unit.is_done).count();
    say(&format!("\nThe copy goes on: {done} of {} parts are done.", units.len()));
    let copy = Copy {
        source: &options.source,
        target: &options.target,
        channel: &run.channel,
        tables: &schema.tables,
        is_logged: false,
    };
    let copied = copy::run(&copy, units, Vec::new(), options.workers)?;
    finish_copy(both, schema, run, &[&copied]).map(Some)
}

fn copy_anew(options: &AttachOptions, both: &mut Both, schema: &mut Schema) -> Result<Run> {
    let mut run = Run {
        channel: options.channel.clone(),
        source: options.source.to_string(),
        phase: "making".into(),
        databases: schema.databases.iter().map(|(name, ..)| name.clone()).collect(),
        wanted: options.databases.clone(),
        users: options.users,
        ..Run::default()
    };
    state::create(&mut both.target, &run)?;
    let all: Vec<String> = schema.tables.iter().map(Table::shown).collect();
    run.left_out = make_tables(&mut both.target, schema)?;
    run.ignored = all.into_iter().filter(|name| !schema.tables.iter().any(|table| table.shown() == *name)).collect();
    // A sequence of MariaDB is a table in its log.
    let others = schema.others.iter().filter(|(.., kind)| !kind.contains("VIEW"));
    run.ignored.extend(others.map(|(database, name, _)| format!("{database}.{name}")));
    let exact: Vec<&Table> = schema.tables.iter().filter(|table| table.is_exact).collect();
    let begin = place::begin(&options.source, &both.server, &exact, options.workers, !options.no_lock)?;
    say(&format!("\nThe copy begins at {}:{}, {}", begin.place.file, begin.place.pos, begin.how));
    run.begin = begin.place;
    let units = copy::divide(&mut both.source, &schema.tables)?;
    state::add_units(&mut both.target, &run.channel, &schema.tables, &units)?;
    run.phase = "copying".into();
    state::save(&mut both.target, &run)?;
    let (first, rest): (Vec<_>, Vec<_>) =
        units.into_iter().partition(|unit| schema.tables.get(unit.table).is_some_and(|table| table.is_exact));
    let copy = Copy {
        source: &options.source,
        target: &options.target,
        channel: &run.channel,
        tables: &schema.tables,
        is_logged: false,
    };
    let mut parts = Vec::new();
    if !first.is_empty() {
        parts.push(copy::run(&copy, first, begin.snapshots, options.workers)?);
    }
    parts.push(copy::run(&copy, rest, Vec::new(), options.workers)?);
    finish_copy(both, schema, run, &parts.iter().collect::<Vec<_>>())
}

/// The end, and what was changed that no copy shows.
fn finish_copy(both: &mut Both, schema: &Schema, mut run: Run, parts: &[&Copied]) -> Result<Run> {
    const MIB: f64 = 1_048_576.0;
    run.end = place::end(&mut both.source, &both.server)?;
    let (rows, bytes) = parts.iter().fold((0, 0), |(rows, bytes), part| (rows + part.rows, bytes + part.bytes));
    let seconds = parts.iter().map(|part| part.seconds).sum::<f64>().max(0.001);
    say(&format!(
        "{rows} rows, {:.0} MiB in {seconds:.1} s ({:.0} rows/s). The copy ends at {}:{}",
        bytes as f64 / MIB,
        rows as f64 / seconds,
        run.end.file,
        run.end.pos
    ));
    let now = Schema::read(&mut both.source, &both.server, &run.wanted)?;
    let changed: Vec<String> = changed_definitions(schema, &now);
    if !changed.is_empty() {
        let undone = state::undo(&mut both.target, &run);
        return Err(format!(
            "definitions were changed on the source during the copy: {}. {} Attach again when nobody changes definitions",
            changed.join(", "),
            if undone.is_ok() { "What was copied is removed." } else { "" }
        )
        .into());
    }
    run.left_out.extend(parts.iter().flat_map(|part| part.warnings.clone()));
    let programs: LeftOut = make_programs(&mut both.source, &mut both.target, schema)?;
    run.left_out.extend(programs);
    if run.users {
        let accounts = accounts::copy(&mut both.source, &both.server, &mut both.target)?;
        run.left_out.extend(accounts);
    }
    run.phase = "copied".into();
    state::save(&mut both.target, &run)?;
    Ok(run)
}

fn changed_definitions(before: &Schema, now: &Schema) -> Vec<String> {
    let place = |(database, table): &(String, String)| format!("{database}.{table}");
    let gone =
        before.creates.iter().filter(|(table, create)| now.creates.get(*table) != Some(*create)).map(|(table, _)| place(table));
    let come = now.creates.keys().filter(|table| !before.creates.contains_key(*table)).map(place);
    gone.chain(come).collect()
}

fn follow(options: &AttachOptions, both: &mut Both, run: &Run) -> Result<()> {
    let Both { source, target, server } = both;
    let known = channel::status(target, &run.channel)?.is_some_and(|status| !status.source.host.is_empty());
    if !known {
        if server.has_gtids {
            channel::take_as_executed(target, &run.begin.executed)?;
        }
        channel::change(target, &run.channel, &options.source, server, &run.begin)?;
        channel::filter(target, &run.channel, &run.wanted, &run.ignored, run.users)?;
    }
    say("\nThe replica carries out what has changed since the copy began.");
    if run.end != run.begin {
        channel::converge(target, server, &run.channel, &run.end)?;
    }
    channel::follow(source, target, server, &run.channel)
}

fn compare(options: &AttachOptions, server: &Server, tables: &[Table]) -> Result<bool> {
    let mut sides = Sides::open(&options.source, &options.target, server, &options.channel)?;
    let equal = verify(&mut sides, tables)?;
    if !equal {
        say(
            "\nDIFFERENT: the replica is not to be relied on. Remove its databases and attach again, or repair the rows with sql_log_bin = 0.",
        );
    }
    Ok(equal)
}
