//! CREATE EVENT and ALTER EVENT.

use super::account::UserName;
use super::expr::{Expr, IntervalUnit};
use super::{Name, Program};

#[derive(Clone, Debug, PartialEq)]
pub struct CreateEvent {
    pub definer: Option<UserName>,
    pub if_not_exists: bool,
    pub name: Name,
    pub schedule: EventSchedule,
    pub said: EventClauses,
    pub program: Program,
    pub body: String,
}

/// What is not said stays.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterEvent {
    pub definer: Option<UserName>,
    pub name: Name,
    pub schedule: Option<EventSchedule>,
    pub rename_to: Option<Name>,
    pub said: EventClauses,
    pub body: Option<(Program, String)>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum EventSchedule {
    At(Expr),
    Every { value: Expr, unit: IntervalUnit, starts: Option<Expr>, ends: Option<Expr> },
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventClauses {
    /// ON COMPLETION PRESERVE.
    pub preserve: Option<bool>,
    pub status: Option<EventStatus>,
    pub comment: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventStatus {
    Enabled,
    Disabled,
    /// DISABLE ON REPLICA.
    ReplicaSideDisabled,
}

impl EventStatus {
    pub const ALL: [EventStatus; 3] = [EventStatus::Enabled, EventStatus::Disabled, EventStatus::ReplicaSideDisabled];

    /// As information_schema shows it.
    pub fn as_str(self) -> &'static str {
        match self {
            EventStatus::Enabled => "ENABLED",
            EventStatus::Disabled => "DISABLED",
            EventStatus::ReplicaSideDisabled => "REPLICA_SIDE_DISABLED",
        }
    }

    /// As it is written.
    pub fn clause(self) -> &'static str {
        match self {
            EventStatus::Enabled => "ENABLE",
            EventStatus::Disabled => "DISABLE",
            EventStatus::ReplicaSideDisabled => "DISABLE ON REPLICA",
        }
    }
}
