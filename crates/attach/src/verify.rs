//! Compares tables of both servers while both are written to: counts and sums of hashes of pieces, and rows where those differ.
//!
//! A piece that is equal is done. In one that is not, rows may be in motion: its rows are read from both, and those that differ are asked for again
//! when the replica has applied what the source had. A row is *different* if the source has it unchanged before and after, and the replica
//! another, three times. A row that the source changes at each look is *in motion*.
//!
//! A table without a key is one piece, compared as a whole.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use vaquita_replication::connection::TextRow;

use crate::Result;
use crate::channel::catch_up;
use crate::client::Client;
use crate::definitions::Table;
use crate::keys::{Class, Key};
use crate::server::Server;
use crate::table_text::{Progress, print_table};
use vaquita_replication::address::Address;

const PIECE_ROWS: u64 = 10_000;
const TRIES: usize = 8;
const PROOFS: usize = 3;
const CATCH_UP_MAX: Duration = Duration::from_secs(30);

pub struct Sides<'a> {
    pub source: Client,
    pub target: Client,
    pub server: &'a Server,
    pub channel: &'a str,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    rows: u64,
    pieces: u64,
    different: u64,
    moving: u64,
    first: Option<String>,
    failed: Option<String>,
}

impl Compared {
    fn is_equal(&self) -> bool {
        self.different == 0 && self.failed.is_none()
    }
}

impl<'a> Sides<'a> {
    pub fn open(source: &Address, target: &Address, server: &'a Server, channel: &'a str) -> Result<Sides<'a>> {
        Ok(Sides { source: Client::open(source)?, target: Client::open(target)?, server, channel })
    }

    fn catch_up(&mut self) -> Result<bool> {
        catch_up(&mut self.source, &mut self.target, self.server, self.channel, CATCH_UP_MAX, false)
    }
}

/// Compares all tables and shows the outcome; whether all are equal.
pub fn verify(sides: &mut Sides<'_>, tables: &[Table]) -> Result<bool> {
    let (progress, began) = (Progress::new(), Instant::now());
    let mut lines = Vec::new();
    let mut all_equal = true;
    let mut rows = 0;
    for (n, table) in tables.iter().enumerate() {
        let mut compared = Compared::default();
        if let Err(error) = compare(sides, table, &mut compared, &|done| {
            progress.show(|| format!("  comparing {}: table {} of {}, {done} rows", table.shown(), n + 1, tables.len()));
        }) {
            compared.failed = Some(error.to_string());
        }
        all_equal &= compared.is_equal();
        rows += compared.rows;
        lines.push(line(table, &compared));
    }
    progress.end();
    let title = format!("compared, {rows} rows in {:.1} s", began.elapsed().as_secs_f64());
    print_table(&title, &["table", "rows", "pieces", "outcome"], &lines);
    Ok(all_equal)
}

fn line(table: &Table, compared: &Compared) -> Vec<String> {
    let first = compared.first.as_ref().map_or(String::new(), |key| format!(", the first at {key}"));
    let outcome = match compared {
        Compared { failed: Some(error), .. } => format!("NOT COMPARED: {error}"),
        Compared { different: 0, moving: 0, .. } => "equal".to_string(),
        Compared { different: 0, moving, .. } => format!("equal, but {moving} rows that change all the time"),
        Compared { different, .. } if table.key.is_empty() => format!("DIFFERENT ({different} rows more or less)"),
        Compared { different, .. } => format!("DIFFERENT: {different} rows{first}"),
    };
    vec![table.shown(), compared.rows.to_string(), compared.pieces.to_string(), outcome]
}

/// What is asked of a piece: how many rows, and the sum of their hashes.
fn sum_of(table: &Table, within: &str) -> String {
    let values = table.columns.iter().map(|column| column.compared()).collect::<Vec<_>>().join(", ");
    let nulls = table
        .columns
        .iter()
        .map(|column| format!("ISNULL({})", crate::client::name(&column.name)))
        .collect::<Vec<_>>()
        .join(", ");
    format!(
        "SELECT COUNT(*), COALESCE(SUM(CAST(CONV(SUBSTRING(SHA2(CONCAT_WS('#', {values}, CONCAT({nulls})), 256), 1, 15), 16, 10) AS UNSIGNED)), 0) \
         FROM {}{within}",
        table.full_name()
    )
}

fn compare(sides: &mut Sides<'_>, table: &Table, compared: &mut Compared, done: &dyn Fn(u64)) -> Result<()> {
    if !table.has_pieces() {
        return compare_whole(sides, table, compared);
    }
    let ordered = table.ordered();
    let mut low: Option<Key> = None;
    loop {
        let behind = table.between(low.as_ref(), None);
        let bound = sides.source.raw_rows(&format!(
            "SELECT {ordered} FROM {}{behind} ORDER BY {ordered} LIMIT 1 OFFSET {}",
            table.full_name(),
            PIECE_ROWS - 1
        ))?;
        let high: Option<Key> = bound.into_iter().next().map(|row| row.into_iter().flatten().collect());
        let within = table.between(low.as_ref(), high.as_ref());
        let sql = sum_of(table, &within);
        let ours = sides.source.row(&sql)?;
        compared.pieces += 1;
        compared.rows += ours.as_ref().and_then(|row| row.first()).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        if ours != sides.target.row(&sql)? {
            compare_rows(sides, table, &within, compared)?;
        }
        done(compared.rows);
        if high.is_none() {
            return Ok(());
        }
        low = high;
    }
}

fn compare_whole(sides: &mut Sides<'_>, table: &Table, compared: &mut Compared) -> Result<()> {
    let sql = sum_of(table, "");
    compared.pieces = 1;
    let mut proofs = 0;
    for attempt in 0..TRIES {
        let before = sides.source.row(&sql)?;
        let caught_up = attempt == 0 || sides.catch_up()?;
        let theirs = sides.target.row(&sql)?;
        let count = |row: &Option<Vec<String>>| {
            row.as_ref().and_then(|row| row.first()).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0)
        };
        compared.rows = count(&before);
        if before == theirs {
            (compared.different, compared.moving) = (0, 0);
            return Ok(());
        }
        let is_still = before == sides.source.row(&sql)?;
        if caught_up && is_still && attempt > 0 {
            proofs += 1;
        }
        compared.moving = count(&before);
        if proofs == PROOFS {
            compared.moving = 0;
            compared.different = count(&before).abs_diff(count(&theirs)).max(1);
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Rows by key, as texts that are the same for the same values.
type ByKey = BTreeMap<Key, TextRow>;

fn rows_of(client: &mut Client, table: &Table, within: &str) -> Result<ByKey> {
    let key = table.ordered();
    let values = table.columns.iter().map(|column| column.read()).collect::<Vec<_>>().join(", ");
    let width = table.key.len();
    let mut rows = ByKey::new();
    client.each(&format!("SELECT {key}, {values} FROM {}{within}", table.full_name()), &mut |mut row| {
        let values = row.split_off(width);
        rows.insert(row.into_iter().flatten().collect(), values);
    })?;
    Ok(rows)
}

fn same(table: &Table, ours: Option<&TextRow>, theirs: Option<&TextRow>) -> bool {
    let (Some(ours), Some(theirs)) = (ours, theirs) else { return ours.is_none() && theirs.is_none() };
    let number = |value: &[u8]| std::str::from_utf8(value).ok().and_then(|text| text.parse::<f64>().ok());
    table.columns.iter().zip(ours).zip(theirs).all(|((column, ours), theirs)| match (ours, theirs) {
        (Some(ours), Some(theirs)) if column.class() == Class::Float || column.data_type == "double" => {
            ours == theirs || number(ours).is_some() && number(ours) == number(theirs)
        }
        _ => ours == theirs,
    })
}

/// Rows of a piece whose sums differ.
fn compare_rows(sides: &mut Sides<'_>, table: &Table, within: &str, compared: &mut Compared) -> Result<()> {
    let ours = rows_of(&mut sides.source, table, within)?;
    sides.catch_up()?;
    let theirs = rows_of(&mut sides.target, table, within)?;
    let differs = |key: &&Key| !same(table, ours.get(*key), theirs.get(*key));
    let mut keys: Vec<&Key> = ours.keys().chain(theirs.keys()).filter(differs).collect();
    keys.sort();
    keys.dedup();
    let mut suspects: Vec<(Key, usize)> = keys.into_iter().map(|key| (key.clone(), 0)).collect();
    for _ in 0..TRIES {
        if suspects.is_empty() {
            break;
        }
        let mut before = Vec::new();
        for (key, _) in &suspects {
            before.push(rows_of(&mut sides.source, table, &format!(" WHERE {}", table.at(key)))?.into_values().next());
        }
        let caught_up = sides.catch_up()?;
        let mut left = Vec::new();
        for ((key, proofs), before) in suspects.into_iter().zip(before) {
            let within = format!(" WHERE {}", table.at(&key));
            let theirs = rows_of(&mut sides.target, table, &within)?.into_values().next();
            let after = rows_of(&mut sides.source, table, &within)?.into_values().next();
            if same(table, before.as_ref(), theirs.as_ref()) || same(table, after.as_ref(), theirs.as_ref()) {
                continue;
            }
            let is_proof = caught_up && before == after;
            if is_proof && proofs + 1 == PROOFS {
                compared.different += 1;
                compared.first.get_or_insert_with(|| table.shown_key(&key));
                continue;
            }
            left.push((key, proofs + usize::from(is_proof)));
        }
        suspects = left;
        std::thread::sleep(Duration::from_millis(50));
    }
    compared.moving += suspects.len() as u64;
    Ok(())
}
