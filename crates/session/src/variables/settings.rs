//! The variables of one session.
//!
//! Values are those that were global at login, shared by reference, and over them what the session has set. What a
//! statement reads each time stands beside them as a plain field, changed by `set` only.
//!
//! SET-1: a plain field always agrees with the value of its variable.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use vaquita_exec::context::RowImage;
use vaquita_plan::locale;
use vaquita_plan::settings::{PlanSettings, RunSettings};
use vaquita_storage::Isolation;
use vaquita_types::Value;
use vaquita_types::charset::{Charset, Collation, CollationId, collation};
use vaquita_types::temporal::TimeZone;

use super::live::{Kept, LIVE};
use super::{Def, Var, registry, sql_mode_value};
use crate::binary_log_commits::GtidNext;

/// What variables say of traces.
#[derive(Clone, Copy)]
pub struct TraceLimits {
    pub offset: i64,
    pub count: usize,
    pub bytes: usize,
}

#[derive(Clone)]
pub struct Settings {
    at_login: Arc<Vec<Value>>,
    own: HashMap<usize, Value>,
    pub autocommit: bool,
    /// Those that reading and planning statements depend on; plans that are kept hold the ones they were made for.
    pub plan: Arc<PlanSettings>,
    /// Those that running statements read.
    pub run: RunSettings,
    pub isolation: Isolation,
    pub read_only: bool,
    pub snapshot_isolation: bool,
    /// The current database's, whatever `collation_database` was set to.
    database_collation: CollationId,
    /// A collation of `character_set_results`; 0 if results are sent as stored.
    pub results_collation: u16,
    pub lock_wait: Duration,
    pub metadata_lock_wait: Duration,
    /// `net_write_timeout`.
    pub write_wait: Duration,
    pub auto_increment: (u64, u64),
    pub warnings_max: usize,
    pub notes: bool,
    pub execution_ms_max: u64,
    /// `timestamp`, in microseconds, if it was set.
    pub timestamp_us: Option<i64>,
    pub track: Track,
    /// `long_query_time`, in microseconds.
    pub slow_us: u64,
    /// `min_examined_row_limit`.
    pub slow_rows_min: u64,
    /// `sql_log_off`.
    pub general_log_off: bool,
    pub completion: Completion,
    /// `optimizer_trace`: plans are traced.
    pub traces: bool,
    pub explain_format: String,
    pub profiling: bool,
    pub profiles_max: usize,
    pub log: LogSettings,
}

/// What of the session goes to the binary log.
#[derive(Clone, Debug)]
pub struct LogSettings {
    /// `sql_log_bin`.
    pub on: bool,
    pub image: RowImage,
    /// `binlog_rows_query_log_events`.
    pub rows_query: bool,
    /// `binlog_transaction_compression`, and its level.
    pub compression: bool,
    pub compression_level: u8,
    pub unique_checks: bool,
    /// `gtid_next`.
    pub next: GtidNext,
}

impl Default for LogSettings {
    fn default() -> LogSettings {
        LogSettings {
            on: true,
            image: RowImage::Full,
            rows_query: false,
            compression: false,
            compression_level: 3,
            unique_checks: true,
            next: GtidNext::Automatic,
        }
    }
}

/// What the client wants to be told of its session.
#[derive(Clone, Debug, Default)]
pub struct Track {
    pub schema: bool,
    pub state_change: bool,
    pub transaction: TrackTransaction,
    pub gtids: TrackGtids,
    pub all_variables: bool,
    pub variables: Vec<String>,
}

/// `session_track_transaction_info`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrackTransaction {
    #[default]
    Off,
    State,
    Characteristics,
}

/// `session_track_gtids`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrackGtids {
    #[default]
    Off,
    /// Those of the session's own transactions.
    Own,
    /// All that are executed.
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    NoChain,
    Chain,
    Release,
}

impl Track {
    /// `session_track_system_variables`: names separated by commas, or `*`.
    pub(super) fn set_variables(&mut self, list: &str) {
        self.variables = list.split(',').map(|name| name.trim().to_ascii_lowercase()).collect();
        self.all_variables = self.variables.iter().any(|name| name == "*");
    }
}

impl TrackTransaction {
    pub(super) fn of(word: &str) -> TrackTransaction {
        match word {
            "STATE" => TrackTransaction::State,
            "CHARACTERISTICS" => TrackTransaction::Characteristics,
            _ => TrackTransaction::Off,
        }
    }
}

impl TrackGtids {
    pub(super) fn of(word: &str) -> TrackGtids {
        match word {
            "OWN_GTID" => TrackGtids::Own,
            "ALL_GTIDS" => TrackGtids::All,
            _ => TrackGtids::Off,
        }
    }
}

impl Completion {
    pub(super) fn of(word: &str) -> Completion {
        match word {
            "CHAIN" => Completion::Chain,
            "RELEASE" => Completion::Release,
            _ => Completion::NoChain,
        }
    }
}

impl Settings {
    /// `auto_increment_increment`, and the offset of the numbers within it: what a greater offset adds to whole steps is left out.
    pub fn steps(&self) -> (u64, u64) {
        let (increment, offset) = self.auto_increment;
        (increment, (offset - 1) % increment + 1)
    }

    /// Of a session that logs in; `charset` is the collation of its handshake.
    pub fn new(globals: Arc<Vec<Value>>, charset: u16) -> Settings {
        let mut settings = Settings {
            at_login: globals,
            own: HashMap::new(),
            autocommit: true,
            plan: Arc::new(PlanSettings::DEFAULT),
            run: RunSettings::DEFAULT,
            isolation: Isolation::RepeatableRead,
            read_only: false,
            snapshot_isolation: true,
            database_collation: CollationId::default(),
            results_collation: 0,
            lock_wait: Duration::ZERO,
            metadata_lock_wait: Duration::ZERO,
            write_wait: Duration::ZERO,
            auto_increment: (1, 1),
            warnings_max: 0,
            notes: true,
            execution_ms_max: 0,
            timestamp_us: None,
            track: Track::default(),
            slow_us: u64::MAX,
            slow_rows_min: 0,
            general_log_off: false,
            completion: Completion::NoChain,
            traces: false,
            explain_format: String::new(),
            profiling: false,
            profiles_max: 0,
            log: LogSettings::default(),
        };
        for row in LIVE.iter().filter(|row| !matches!(row.kept, Kept::AsValue)) {
            let value = settings.get(registry().of(row.var));
            settings.note(row.var, &value);
        }
        let handshake = Collation::by_id(CollationId(charset)).filter(|c| c.is_supported() && c.charset.may_be_client());
        // Who names the server's own collation gets what the server has for its clients.
        let own = text(&settings.of(Var::CharacterSetClient)).and_then(Charset::by_name).map(|own| own.default_collation);
        if let Some(collation) = handshake.filter(|named| Some(named.id) != own) {
            settings.set_names(collation);
        }
        settings
    }

    pub fn get(&self, def: &Def) -> Value {
        match self.own.get(&def.id) {
            Some(value) => value.clone(),
            None => self.at_login.get(def.id).cloned().unwrap_or_default(),
        }
    }

    pub fn of(&self, var: Var) -> Value {
        self.get(registry().of(var))
    }

    /// Keeps a checked value, and what follows from it.
    pub fn set(&mut self, def: &Def, value: Value) {
        let Some(var) = def.var else {
            if let Some(other) = def.other_name() {
                self.own.insert(other.id, value.clone());
            }
            self.own.insert(def.id, value);
            return;
        };
        match var {
            Var::CharacterSetConnection
            | Var::CollationConnection
            | Var::CharacterSetServer
            | Var::CollationServer
            | Var::CharacterSetDatabase
            | Var::CollationDatabase
            | Var::MaxJoinSize => {
                if let Some((other, value)) = with_it(var, &value) {
                    self.keep(other, value);
                }
            }
            Var::TransactionIsolation | Var::TxIsolation => {
                self.keep(Var::TxIsolation, value.clone());
                self.keep(Var::TransactionIsolation, value);
                return;
            }
            Var::TransactionReadOnly | Var::TxReadOnly => {
                self.keep(Var::TxReadOnly, value.clone());
                self.keep(Var::TransactionReadOnly, value);
                return;
            }
            _ => {}
        }
        self.keep(var, value);
    }

    fn keep(&mut self, var: Var, value: Value) {
        self.note(var, &value);
        self.own.insert(registry().of(var).id, value);
    }

    /// SET NAMES.
    pub fn set_names(&mut self, collation: &'static Collation) {
        let charset = Value::from(collation.charset.name);
        self.keep(Var::CharacterSetClient, charset.clone());
        self.keep(Var::CharacterSetResults, charset.clone());
        self.keep(Var::CharacterSetConnection, charset);
        self.keep(Var::CollationConnection, collation.name.into());
        // Definitions carry the collation that was named.
        if self.results_collation != 0 {
            self.results_collation = collation.id.0;
        }
    }

    /// SET CHARACTER SET: the connection's charset becomes that of the current database.
    pub fn set_charset(&mut self, charset: &'static Charset) {
        self.keep(Var::CharacterSetClient, charset.name.into());
        self.keep(Var::CharacterSetResults, charset.name.into());
        let (database_charset, database_collation) = (self.of(Var::CharacterSetDatabase), self.of(Var::CollationDatabase));
        self.keep(Var::CharacterSetConnection, database_charset);
        self.keep(Var::CollationConnection, database_collation);
    }

    /// What DEFAULT is for a variable that tells of the current database.
    pub fn of_database(&self, def: &Def) -> Option<Value> {
        let collation = collation(self.database_collation);
        match def.var? {
            Var::CharacterSetDatabase => Some(collation.charset.name.into()),
            Var::CollationDatabase => Some(collation.name.into()),
            _ => None,
        }
    }

    /// The current database's.
    pub fn set_database_collation(&mut self, id: CollationId) {
        self.database_collation = id;
        let collation = collation(id);
        self.keep(Var::CharacterSetDatabase, collation.charset.name.into());
        self.keep(Var::CollationDatabase, collation.name.into());
    }

    pub fn trace_limits(&self) -> TraceLimits {
        let offset = match self.of(Var::OptimizerTraceOffset) {
            Value::Int(offset) => offset,
            other => i64::try_from(number(&other)).unwrap_or(i64::MAX),
        };
        let [count, bytes] = [Var::OptimizerTraceLimit, Var::OptimizerTraceMaxMemSize].map(|var| size(&self.of(var)));
        TraceLimits { offset, count, bytes }
    }

    /// The current database, as names without one mean it.
    pub fn set_database(&mut self, name: Option<&str>) {
        self.plan().current_database = name.map(str::to_string);
    }

    /// The same session's with others for planning, which differ in what a routine has of its own.
    pub fn under(&self, plan: &Arc<PlanSettings>) -> Settings {
        let mut settings = self.clone();
        settings.read_under(plan.sql_mode, plan.connection_collation);
        settings.plan = plan.clone();
        settings
    }

    /// As a routine was created.
    pub fn read_under(&mut self, sql_mode: u64, connection_collation: CollationId) {
        if self.plan.sql_mode != sql_mode {
            self.set(registry().of(Var::SqlMode), sql_mode_value(sql_mode));
        }
        if self.plan.connection_collation != connection_collation {
            self.set(registry().of(Var::CollationConnection), collation(connection_collation).name.into());
        }
    }

    /// To change them: plans keep theirs.
    fn plan(&mut self) -> &mut PlanSettings {
        Arc::make_mut(&mut self.plan)
    }

    /// Plans have the lengths of names, running statements write them.
    pub(super) fn set_time_names(&mut self, name: &str) {
        let locale = locale::by_name(name).filter(|l| !std::ptr::eq(*l, locale::english()));
        self.plan().time_names = locale;
        self.run.time_names = locale;
    }

    /// The field that follows from a value, as the variable's row says.
    fn note(&mut self, var: Var, value: &Value) {
        match var.kept() {
            Kept::AsValue => {}
            Kept::ForPlans(keep) => keep(self.plan(), value),
            Kept::ForRuns(keep) => keep(&mut self.run, value),
            Kept::ForSession(keep) | Kept::ForTransactions(keep) => keep(self, value),
        }
    }
}

pub(super) fn number(value: &Value) -> u64 {
    match value {
        Value::Int(i) => *i as u64,
        Value::UInt(u) => *u,
        _ => 0,
    }
}

pub(super) fn size(value: &Value) -> usize {
    usize::try_from(number(value)).unwrap_or(usize::MAX)
}

pub(super) fn is_on(value: &Value) -> bool {
    number(value) != 0
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}

/// A text; NULL is the empty one.
pub fn word(value: &Value) -> &str {
    text(value).unwrap_or_default()
}

/// Of a number of seconds.
pub(super) fn microseconds(value: &Value) -> u64 {
    let seconds = match value {
        Value::Float(seconds) => *seconds,
        other => vaquita_types::convert::to_f64(other, &vaquita_types::ColumnType::double()).value,
    };
    (seconds * 1e6) as u64
}

/// 0 is the clock.
pub(super) fn timestamp_us(value: &Value) -> Option<i64> {
    match value {
        Value::Float(seconds) if *seconds > 0.0 => Some((seconds * 1e6).round() as i64),
        _ => None,
    }
}

/// Statements in it must be brought to utf8mb4 to be read.
pub(super) fn needs_reading(charset: &Charset) -> bool {
    !matches!(charset.name, "utf8mb4" | "utf8mb3" | "binary")
}

pub(super) fn results_collation(charset: &Charset) -> u16 {
    if charset.is_binary() { 0 } else { charset.default_collation.0 }
}

/// The collation that is set with a character set, and the character set that is set with a collation.
pub fn with_it(var: Var, value: &Value) -> Option<(Var, Value)> {
    let of_name = |other: Var| {
        let charset = text(value).and_then(Charset::by_name);
        Some((other, charset.map_or(Value::Null, |charset| collation(charset.default_collation).name.into())))
    };
    let of_collation = |other: Var| {
        let collation = text(value).and_then(Collation::by_name);
        Some((other, collation.map_or(Value::Null, |collation| collation.charset.name.into())))
    };
    match var {
        Var::CharacterSetConnection => of_name(Var::CollationConnection),
        Var::CharacterSetServer => of_name(Var::CollationServer),
        Var::CharacterSetDatabase => of_name(Var::CollationDatabase),
        Var::CollationConnection => of_collation(Var::CharacterSetConnection),
        Var::CollationServer => of_collation(Var::CharacterSetServer),
        Var::CollationDatabase => of_collation(Var::CharacterSetDatabase),
        Var::MaxJoinSize => Some((Var::SqlBigSelects, Value::bool(*value == Value::UInt(u64::MAX)))),
        _ => None,
    }
}

pub fn isolation_of(name: &str) -> Isolation {
    match name {
        "READ-UNCOMMITTED" => Isolation::ReadUncommitted,
        "READ-COMMITTED" => Isolation::ReadCommitted,
        "SERIALIZABLE" => Isolation::Serializable,
        _ => Isolation::RepeatableRead,
    }
}

/// Whether `event_scheduler` is DISABLED, as only a start can make it.
pub fn events_are_disabled(value: &Value) -> bool {
    matches!(value, Value::Bytes(word) if word.eq_ignore_ascii_case(b"DISABLED"))
}

pub fn zone(name: &str) -> TimeZone {
    static SYSTEM: std::sync::LazyLock<TimeZone> = std::sync::LazyLock::new(|| TimeZone::system(&super::system_time_zone()));
    TimeZone::parse(name, &SYSTEM).unwrap_or(TimeZone::Utc)
}

pub(super) fn row_image(word: &str) -> RowImage {
    match word {
        "MINIMAL" => RowImage::Minimal,
        "NOBLOB" => RowImage::NoBlob,
        _ => RowImage::Full,
    }
}

/// `gtid_next`, which is checked.
pub(super) fn gtid_next(word: &str) -> GtidNext {
    GtidNext::parse(word).unwrap_or_default()
}
