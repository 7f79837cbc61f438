//! `vaquita check`: looks through a data directory that no server has open.
//!
//! Opens it as a server does, so a crash is recovered from and dropped indexes are freed; then checks every table as CHECK
//! TABLE … EXTENDED does, and that nothing is stored that no table knows. Each finding is a line; without any it ends well.

use std::sync::Arc;
use std::time::{Duration, Instant};

use vaquita_storage::{Catalog, Engine, EngineHooks, Interrupt, Isolation, LockMode, LockPolicy, TxnOptions, check_table};

use crate::options::CheckArguments;
use crate::serve::prepare_dir;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How long dropped indexes may take to be freed before they count as left over.
const RECLAIM_MS_MAX: u64 = 60_000;
const LOOK_EVERY: Duration = Duration::from_millis(5);

pub fn run(arguments: CheckArguments) -> Result<(), Failure> {
    let (data_dir, engine_options) = arguments.resolve()?;
    if !data_dir.exists() {
        return Err(format!("no data directory {}", data_dir.display()).into());
    }
    let (dir, _lock) = prepare_dir(&data_dir)?;
    let engine = Engine::open(&dir.join("rocksdb"), engine_options, EngineHooks::default())?;
    let catalog = Catalog::open(&engine)?;
    let mut findings = check_tables(&engine, &catalog)?;
    findings.extend(check_leftovers(&catalog)?);
    catalog.close();
    engine.shutdown()?;
    findings.iter().for_each(|finding| println!("{finding}"));
    if findings.is_empty() { Ok(()) } else { Err(format!("{} findings in {}", findings.len(), dir.display()).into()) }
}

fn check_tables(engine: &Arc<Engine>, catalog: &Catalog) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    let interrupt = Arc::new(Interrupt::new(0));
    let mut tables = 0;
    for database in catalog.databases()? {
        for name in catalog.tables(&database.name)? {
            let mut txn = engine.begin(TxnOptions {
                isolation: Isolation::RepeatableRead,
                autocommit: false,
                read_only: true,
                snapshot_isolation: true,
                interrupt: interrupt.clone(),
            });
            let table = catalog.open_table(&mut txn, &database.name, &name, LockMode::IS, LockPolicy::NoWait)?;
            let Some(table) = table else { continue };
            let report = check_table(engine, &table, &mut txn, tables == 0, &interrupt)?;
            findings.extend(report.findings.iter().map(|finding| format!("{}.{name}: {finding}", database.name)));
            tables += 1;
        }
    }
    println!("{tables} tables checked");
    Ok(findings)
}

fn check_leftovers(catalog: &Catalog) -> Result<Vec<String>, Failure> {
    let began = Instant::now();
    let mut left = catalog.leftovers()?;
    while !left.listed.is_empty() && began.elapsed() < Duration::from_millis(RECLAIM_MS_MAX) {
        std::thread::sleep(LOOK_EVERY);
        left = catalog.leftovers()?;
    }
    let mut findings: Vec<String> = left.listed.iter().map(|id| format!("index {} is dropped and not freed", id.0)).collect();
    findings.extend(left.indexes.iter().map(|id| format!("index {} has data and no table", id.0)));
    findings.extend(left.tables.iter().map(|id| format!("table {} has counters or statistics and no definition", id.0)));
    Ok(findings)
}
