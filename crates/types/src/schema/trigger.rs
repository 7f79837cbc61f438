//! Triggers of a table: stored objects that run for each row that a statement changes.
//!
//! The object of a trigger has its body as text, and its table, time, event and place among those of the same time and event as
//! characteristics. Example: `CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 1` is kept with the text `SET NEW.a = 1`, the table
//! `t`, the time `BEFORE`, the event `INSERT` and the order `1`.

use std::sync::Arc;

use super::object::StoredObject;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TriggerEvent {
    Insert = 0,
    Update = 1,
    Delete = 2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TriggerTime {
    Before = 0,
    After = 1,
}

impl TriggerEvent {
    pub const ALL: [TriggerEvent; 3] = [TriggerEvent::Insert, TriggerEvent::Update, TriggerEvent::Delete];

    pub fn as_str(self) -> &'static str {
        match self {
            TriggerEvent::Insert => "INSERT",
            TriggerEvent::Update => "UPDATE",
            TriggerEvent::Delete => "DELETE",
        }
    }
}

impl TriggerTime {
    pub const ALL: [TriggerTime; 2] = [TriggerTime::Before, TriggerTime::After];

    pub fn as_str(self) -> &'static str {
        match self {
            TriggerTime::Before => "BEFORE",
            TriggerTime::After => "AFTER",
        }
    }
}

/// A trigger among those of its table.
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    pub event: TriggerEvent,
    pub time: TriggerTime,
    /// From 1, among those of the same event and time; what was dropped leaves gaps.
    pub order: u32,
    pub object: Arc<StoredObject>,
}

impl Trigger {
    /// What the object of a trigger says; `None`: it says something else.
    pub fn of(object: &Arc<StoredObject>) -> Option<Trigger> {
        let event = object.characteristic("event")?;
        let time = object.characteristic("time")?;
        Some(Trigger {
            event: TriggerEvent::ALL.into_iter().find(|known| known.as_str() == event)?,
            time: TriggerTime::ALL.into_iter().find(|known| known.as_str() == time)?,
            order: object.characteristic("order")?.parse().ok()?,
            object: Arc::clone(object),
        })
    }

    /// The table that the object of a trigger belongs to.
    pub fn table_of(object: &StoredObject) -> &str {
        object.characteristic("table").unwrap_or_default()
    }

    /// By event and time, and in the order in which they run.
    pub fn sort(triggers: &mut [Trigger]) {
        triggers.sort_by_key(|trigger| (trigger.event, trigger.time, trigger.order));
    }
}
