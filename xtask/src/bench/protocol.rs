//! `cargo xtask bench protocol`: the same statements as text and prepared.
//!
//! sysbench's scripts prepare their statements; with `--db-ps-mode=disable` the same scripts send text. The ratio of the two, on
//! the same server, says what a server spends on reading and planning a statement that it has seen before.

use super::outcome::{Better, Outcome, Table, Target};
use super::server::{Server, Start};
use super::settings::{Options, Settings};
use super::sysbench::call::{self, Size};

struct Work {
    name: &'static str,
    script: &'static str,
    more: &'static [&'static str],
}

const WORK: [Work; 5] = [
    Work { name: "point select", script: "oltp_point_select", more: &[] },
    Work {
        name: "range of 100",
        script: "oltp_read_only",
        more: &[
            "--skip_trx=on",
            "--point_selects=0",
            "--simple_ranges=1",
            "--sum_ranges=0",
            "--order_ranges=0",
            "--distinct_ranges=0",
        ],
    },
    Work { name: "update by key", script: "oltp_update_non_index", more: &[] },
    Work { name: "insert", script: "oltp_insert", more: &[] },
    Work { name: "read_only transaction", script: "oltp_read_only", more: &[] },
];
const PREPARED: &str = "--db-ps-mode=auto";
const TEXT: &str = "--db-ps-mode=disable";

struct Plan {
    threads: Vec<u64>,
    seconds: u64,
    size: Size,
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut options = Options::new("protocol", args);
    let plan = Plan {
        threads: options.numbers("--threads", &[1, 8], &[8])?,
        seconds: options.number("--seconds", 8, 1)?,
        size: Size { tables: options.number("--tables", 4, 1)?, rows: options.number("--rows", 250_000, 50_000)? },
    };
    let settings = options.finish(3, 1)?;
    let mut outcome = Outcome::new("Text protocol against prepared statements");
    outcome.setting(format!(
        "{}; {} tables of {} rows, {} s a run; text is `--db-ps-mode=disable`. Buffer pool and block cache 2 GB.",
        call::version()?,
        plan.size.tables,
        plan.size.rows,
        plan.seconds
    ));
    let mut tables = [
        Table::new("Text over prepared", "", Better::More)
            .note("Of the same server, one after the other. sysbench composes and sends longer texts, which costs it time, too."),
        Table::new("Text", "queries/s", Better::More),
        Table::new("Prepared", "queries/s", Better::More),
    ];
    for work in &WORK {
        for threads in &plan.threads {
            tables[0].row(&row_name(work, *threads), Target::AtLeast(0.85));
        }
    }
    let mut filled = Vec::new();
    for kind in &settings.servers {
        println!("{}: filling {} tables of {} rows", kind.title(), plan.size.tables, plan.size.rows);
        let done = Server::start_empty(*kind, Start::default()).and_then(|server| {
            outcome.version(*kind, server.version()?);
            call::prepare(&server.login(), plan.size)?;
            server.settle()?;
            server.stop()
        });
        filled.extend(outcome.note_failure(*kind, done).map(|()| *kind));
    }
    let servers = Server::start_paused(&filled)?;
    measure(&settings, &plan, &servers, &mut outcome, &mut tables)?;
    Server::clean_up_all(servers)?;
    outcome.tables = tables.into();
    outcome.finish(&settings)
}

fn row_name(work: &Work, threads: u64) -> String {
    format!("{}, {threads} {}", work.name, if threads == 1 { "thread" } else { "threads" })
}

fn measure(
    settings: &Settings,
    plan: &Plan,
    servers: &[Server],
    outcome: &mut Outcome,
    tables: &mut [Table; 3],
) -> Result<(), String> {
    for work in &WORK {
        for threads in &plan.threads {
            let name = row_name(work, *threads);
            for _ in 0..settings.runs {
                for server in servers {
                    server.resume()?;
                    let run = |mode| {
                        let more: Vec<&str> = work.more.iter().copied().chain([mode]).collect();
                        call::run_with(&server.login(), work.script, plan.size, *threads, plan.seconds, &more)
                    };
                    let both = run(PREPARED).and_then(|prepared| Ok((prepared.per_second, run(TEXT)?.per_second)));
                    server.pause()?;
                    let Some((prepared, text)) = outcome.note_failure(server.kind(), both) else { continue };
                    println!("{:16} {name:34} text {text:9.0}  prepared {prepared:9.0} /s", server.kind().title());
                    for (table, value) in tables.iter_mut().zip([text / prepared.max(1e-9), text, prepared]) {
                        table.add(&name, server.kind(), value);
                    }
                }
            }
        }
    }
    Ok(())
}
