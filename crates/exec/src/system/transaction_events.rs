//! events_transactions_current and its history.

use vaquita_types::Result;

use super::row::{NULL, row, yes_no};
use super::statements::PS_PER_NS;
use super::transactions::isolation_text;
use super::{Row, SystemContext};
use crate::context::{StatementEvents, TransactionEvent, TransactionState, thread_id};

pub fn current(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    Ok(rows(cx.statement.server.statement_events().map(StatementEvents::transactions)))
}

pub fn history(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    Ok(rows(cx.statement.server.statement_events().map(StatementEvents::transaction_history)))
}

fn rows(events: Option<Vec<TransactionEvent>>) -> Vec<Row> {
    events.unwrap_or_default().iter().map(event_row).collect()
}

fn event_row(event: &TransactionEvent) -> Row {
    let (start, wait) = (event.start_ns * PS_PER_NS, event.wait_ns * PS_PER_NS);
    let xa = event.xa.as_ref();
    let [set, rolled_back_to, released] = event.savepoints;
    row![
        thread_id(event.connection_id),
        event.number,
        event.end_number,
        "transaction",
        match event.state {
            TransactionState::Active => "ACTIVE",
            TransactionState::Committed => "COMMITTED",
            TransactionState::RolledBack => "ROLLED BACK",
        },
        (event.id != 0).then_some(event.id),
        "AUTOMATIC",
        xa.map(|xa| xa.format_id),
        xa.map(|xa| xa.gtrid.as_str()),
        xa.map(|xa| xa.bqual.as_str()),
        xa.map(|xa| xa.state),
        NULL,
        start,
        start.saturating_add(wait),
        wait,
        if event.characteristics.read_only { "READ ONLY" } else { "READ WRITE" },
        isolation_text(event.characteristics.isolation),
        yes_no(event.characteristics.autocommit),
        set,
        rolled_back_to,
        released,
        NULL,
        event.statement,
        "STATEMENT",
    ]
}
