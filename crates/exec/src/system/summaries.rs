//! Sums of statements, transactions, errors and status variables: of the server, and by thread, account, user and host.
//!
//! A table of sums is a way to divide (`By`) and the lines of one division (`kinds`, `transactions`, `errors`, `status`):
//! events_transactions_summary_by_user_by_event_name has a line of transactions for each user.

use vaquita_parser::StatementKind;
use vaquita_types::errno;
use vaquita_types::{Result, Value};

use super::row::{NULL, cell, row};
use super::statements::{PS_PER_NS, event_name, sums_of};
use super::{Row, SystemContext, resources};
use crate::context::{OwnedSums, StatementEvents, StatementSums, Sums, TimeSums, TransactionSums, thread_id};

#[derive(Clone, Copy)]
enum By {
    Thread,
    Account,
    User,
    Host,
}

/// The sums of each, with the first columns of its rows.
fn divided(cx: &SystemContext<'_>, by: By) -> Vec<(Row, OwnedSums)> {
    let Some(events) = cx.statement.server.statement_events() else { return Vec::new() };
    if let By::Thread = by {
        let of_thread = |owned: OwnedSums| (vec![cell(owned.connection_id.map(thread_id))], owned);
        return events.by_connection().into_iter().map(of_thread).collect();
    }
    let mut divided: Vec<(Row, OwnedSums)> = Vec::new();
    for owned in events.by_account() {
        let (user, host) = owned.account.as_ref().map_or((NULL, NULL), |(user, host)| (cell(user), cell(host)));
        let named = match by {
            By::User => vec![user],
            By::Host => vec![host],
            By::Account | By::Thread => vec![user, host],
        };
        match divided.iter_mut().find(|(known, _)| *known == named) {
            Some((_, sums)) => sums.add_all(&owned),
            None => divided.push((named, owned)),
        }
    }
    divided
}

fn of_server(cx: &SystemContext<'_>) -> Sums {
    cx.statement.server.statement_events().map(StatementEvents::all).unwrap_or_default()
}

/// Lines of each division behind the columns that name it.
fn lines(cx: &SystemContext<'_>, by: By, lines_of: impl Fn(&OwnedSums) -> Vec<Row>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (named, owned) in divided(cx, by) {
        cx.statement.interrupt.check()?;
        rows.extend(lines_of(&owned).into_iter().map(|line| [named.clone(), line].concat()));
    }
    Ok(rows)
}

/// A line for each event name of statements.
fn kinds(sums: &Sums) -> Vec<Row> {
    let mut named: Vec<(String, StatementSums)> = Vec::new();
    for kind in StatementKind::ALL.iter().copied().map(Some).chain([None]) {
        let name = event_name(kind);
        let at = named.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            named.push((name, StatementSums::default()));
            named.len() - 1
        });
        sums.kinds.iter().filter(|(counted, _)| *counted == kind).for_each(|(_, sums)| named[at].1.add_all(sums));
    }
    let line = |(name, sums): &(String, StatementSums)| {
        let mut row = row![name];
        sums_of(&mut row, sums);
        row
    };
    named.iter().map(line).collect()
}

/// Count, sum, least, average and longest time.
fn times(sums: &TimeSums) -> [Value; 5] {
    let average = sums.wait_ns.checked_div(sums.count).unwrap_or(0);
    let [sum, min, average, max] =
        [sums.wait_ns, sums.wait_ns_min, average, sums.wait_ns_max].map(|ns| cell(ns.saturating_mul(PS_PER_NS)));
    [cell(sums.count), sum, min, average, max]
}

fn transaction_line(sums: &TransactionSums) -> Row {
    let mut all = sums.read_write;
    all.add_all(&sums.read_only);
    let mut row = row!["transaction"];
    row.extend([&all, &sums.read_write, &sums.read_only].into_iter().flat_map(times));
    row
}

/// A line for each error there is; the first for those beyond. A division has those that it met.
fn errors(cx: &SystemContext<'_>, sums: &Sums, only_met: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    if !only_met {
        rows.push(row![NULL, NULL, NULL, 0u64, 0u64, NULL, NULL]);
    }
    for def in errno::ALL {
        let met = sums.errors.binary_search_by_key(&def.code, |met| met.code).ok().map(|at| &sums.errors[at]);
        if only_met && met.is_none() {
            continue;
        }
        let state = String::from_utf8_lossy(def.sqlstate).into_owned();
        let (raised, handled) = met.map_or((0, 0), |met| (met.raised, met.handled));
        let times = met.map_or((NULL, NULL), |met| (cx.time(met.first_seen_us), cx.time(met.last_seen_us)));
        rows.push(row![u64::from(def.code), def.name, state, raised, handled, times.0, times.1]);
    }
    rows
}

/// Without the counts of statements, as MySQL's tables.
fn status(owned: &OwnedSums) -> Vec<Row> {
    let counted = owned.status.iter().filter(|(name, _)| !name.starts_with("Com_"));
    let counted = counted.map(|(name, count)| row![*name, count.to_string()]);
    counted.chain(owned.texts.iter().map(|(name, text)| row![*name, text.as_str()])).collect()
}

macro_rules! tables_by {
    ($($name:ident: $by:ident, |$cx:ident, $owned:ident| $lines:expr;)*) => {
        $(pub fn $name($cx: &SystemContext<'_>) -> Result<Vec<Row>> { lines($cx, By::$by, |$owned| $lines) })*
    };
}

tables_by! {
    statements_by_thread: Thread, |cx, owned| kinds(&owned.sums);
    statements_by_account: Account, |cx, owned| kinds(&owned.sums);
    statements_by_user: User, |cx, owned| kinds(&owned.sums);
    statements_by_host: Host, |cx, owned| kinds(&owned.sums);
    transactions_by_thread: Thread, |cx, owned| vec![transaction_line(&owned.sums.transactions)];
    transactions_by_account: Account, |cx, owned| vec![transaction_line(&owned.sums.transactions)];
    transactions_by_user: User, |cx, owned| vec![transaction_line(&owned.sums.transactions)];
    transactions_by_host: Host, |cx, owned| vec![transaction_line(&owned.sums.transactions)];
    errors_by_thread: Thread, |cx, owned| errors(cx, &owned.sums, true);
    errors_by_account: Account, |cx, owned| errors(cx, &owned.sums, true);
    errors_by_user: User, |cx, owned| errors(cx, &owned.sums, true);
    errors_by_host: Host, |cx, owned| errors(cx, &owned.sums, true);
    status_by_thread: Thread, |cx, owned| status(owned);
    status_by_account: Account, |cx, owned| status(owned);
    status_by_user: User, |cx, owned| status(owned);
    status_by_host: Host, |cx, owned| status(owned);
    memory_by_thread: Thread, |cx, owned| vec![memory_line(owned)];
    memory_by_account: Account, |cx, owned| vec![memory_line(owned)];
    memory_by_user: User, |cx, owned| vec![memory_line(owned)];
    memory_by_host: Host, |cx, owned| vec![memory_line(owned)];
    accounts: Account, |cx, owned| vec![connections(owned)];
    users: User, |cx, owned| vec![connections(owned)];
    hosts: Host, |cx, owned| vec![connections(owned)];
}

/// Memory of a session is not counted apart.
fn memory_line(_: &OwnedSums) -> Row {
    let mut row = row![resources::STATEMENT_MEMORY];
    resources::memory_sums(&mut row, 0);
    row
}

fn connections(owned: &OwnedSums) -> Row {
    row![owned.connections_now, owned.connections, 0u64, 0u64]
}

pub fn statements(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    Ok(kinds(&of_server(cx)))
}

pub fn transactions(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    Ok(vec![transaction_line(&of_server(cx).transactions)])
}

pub fn all_errors(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    Ok(errors(cx, &of_server(cx), false))
}
