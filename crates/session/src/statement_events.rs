//! Statement events: each statement is counted and timed when it ends, together with those that differ from it in literals only, and with
//! those of its kind that its connection has run.
//!
//! A `DigestStats` is a line of events_statements_summary_by_digest. A session keeps the lines of the statements that it repeats, and finds
//! them again without a lock.
//!
//! * EVENTS-1: what has no digest, because it is no statement, counts for its kind alone. What finds no place any more
//!   (`performance_schema_digests_size`) has a line for all.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use vaquita_exec::context::{Bucket, DigestInfo, StatementDigest, StatementEvent, StatementSample, StatementSums, Work};
use vaquita_parser::{ParserOptions, StatementKind, digest};
use vaquita_plan::settings::PlanSettings;

use crate::variables::{Globals, Var};

/// Connections that count the same statements at once do so in different places.
const STRIPES: usize = 4;
/// Events of a connection that events_statements_history has.
const HISTORY_EVENTS: usize = 10;
/// Of longer statements the beginning is read for their digest.
const LONG_BYTES: usize = 4 << 10;
const BEGINNING_BYTES: usize = 1 << 10;
/// What stands for the rows of VALUES behind the first.
const MORE_ROWS: &str = "/* , ... */";

/// What several connections add to.
struct Striped<T>([OnceLock<Box<Mutex<T>>>; STRIPES]);

impl<T: Default> Striped<T> {
    fn new() -> Striped<T> {
        Striped([const { OnceLock::new() }; STRIPES])
    }

    #[inline]
    fn of(&self, connection_id: u64) -> &Mutex<T> {
        self.0[connection_id as usize % STRIPES].get_or_init(Box::default)
    }

    fn each(&self, mut f: impl FnMut(&mut T)) {
        self.0.iter().filter_map(OnceLock::get).for_each(|stripe| f(&mut stripe.lock()));
    }
}

/// Statements that are the same but for their literals.
pub struct DigestStats {
    kind: Option<StatementKind>,
    digest: Option<StatementDigest>,
    /// Events that have no line count for their kind alone.
    line: Option<Striped<Line>>,
}

#[derive(Default)]
struct Line {
    sums: StatementSums,
    first_seen_us: u64,
    last_seen_us: u64,
    sample: Option<StatementSample>,
}

/// A statement that has ended.
pub struct Ended<'a> {
    pub connection_id: u64,
    pub text: Option<&'a Arc<str>>,
    pub wait_ns: u64,
    pub bucket: Bucket,
    /// When it began, in microseconds since 1970.
    pub began_us: u64,
    pub work: &'a Work,
}

impl Line {
    fn add(&mut self, ended: &Ended<'_>, limits: &Limits) {
        if self.sums.count == 0 {
            self.first_seen_us = ended.began_us;
        }
        self.last_seen_us = ended.began_us;
        self.sums.add(ended.wait_ns, ended.bucket, ended.work);
        let replaces = self.sample.as_ref().is_none_or(|sample| {
            ended.wait_ns > sample.wait_ns || ended.began_us.saturating_sub(sample.seen_us) > limits.sample_age_us
        });
        if replaces && let Some(text) = ended.text {
            let text = shortened(text, limits.text_bytes);
            self.sample = Some(StatementSample { text, seen_us: ended.began_us, wait_ns: ended.wait_ns });
        }
    }

    fn add_all(&mut self, other: &Line) {
        if other.sums.count == 0 {
            return;
        }
        let is_first = self.sums.count == 0;
        self.first_seen_us = if is_first { other.first_seen_us } else { self.first_seen_us.min(other.first_seen_us) };
        self.last_seen_us = self.last_seen_us.max(other.last_seen_us);
        self.sums.add_all(&other.sums);
        let wait_ns = |line: &Line| line.sample.as_ref().map_or(0, |sample| sample.wait_ns);
        if wait_ns(other) > wait_ns(self) {
            self.sample = other.sample.clone();
        }
    }
}

impl DigestStats {
    fn all(&self) -> Line {
        let mut all = Line::default();
        if let Some(line) = &self.line {
            line.each(|line| all.add_all(line));
        }
        all
    }
}

#[derive(PartialEq, Eq, Hash)]
struct Key {
    database: Option<Arc<str>>,
    digest: [u8; 32],
}

struct Limits {
    text_bytes: usize,
    sample_age_us: u64,
}

pub struct StatementEvents {
    globals: Arc<Globals>,
    digests: Mutex<HashMap<Key, Arc<DigestStats>>>,
    /// Those that found no place (`true`) and those without a digest, by kind.
    others: Mutex<HashMap<(bool, usize), Arc<DigestStats>>>,
    /// Of connections that are gone.
    kinds: Mutex<KindSums>,
    last_id: AtomicU64,
}

impl StatementEvents {
    pub fn new(globals: Arc<Globals>) -> StatementEvents {
        StatementEvents {
            globals,
            digests: Mutex::default(),
            others: Mutex::default(),
            kinds: Mutex::default(),
            last_id: AtomicU64::new(0),
        }
    }

    /// Where the statement is counted. `verb` is what MySQL puts before the digest of a prepared one.
    pub fn line_of(&self, (verb, sql): (&str, &[u8]), settings: &PlanSettings, kind: StatementKind) -> Arc<DigestStats> {
        let text = digest_text(sql, &settings.parser_options());
        if text.is_empty() {
            return self.without_digest(Some(kind));
        }
        let text = format!("{verb}{text}");
        let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        let key = Key { database: settings.current_database.as_deref().map(Arc::from), digest: hash };
        let places = self.globals.number(Var::PerformanceSchemaDigestsSize) as usize;
        let mut digests = self.digests.lock();
        if let Some(known) = digests.get(&key) {
            return known.clone();
        }
        if digests.len() >= places {
            drop(digests);
            return self.other(true, Some(kind));
        }
        let text_bytes = self.globals.number(Var::PerformanceSchemaMaxDigestLength) as usize;
        let digest = StatementDigest {
            database: key.database.clone(),
            digest: hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into(),
            text: shortened(&text.into(), text_bytes),
        };
        let stats = Arc::new(DigestStats { kind: Some(kind), digest: Some(digest), line: Some(Striped::new()) });
        digests.insert(key, stats.clone());
        stats
    }

    /// Of what is no statement, the kind is not known either.
    pub fn without_digest(&self, kind: Option<StatementKind>) -> Arc<DigestStats> {
        self.other(false, kind)
    }

    fn other(&self, has_line: bool, kind: Option<StatementKind>) -> Arc<DigestStats> {
        let mut others = self.others.lock();
        others
            .entry((has_line, place_of(kind)))
            .or_insert_with(|| Arc::new(DigestStats { kind, digest: None, line: has_line.then(Striped::new) }))
            .clone()
    }

    pub fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn count(&self, stats: &DigestStats, ended: &Ended<'_>) {
        let Some(line) = &stats.line else { return };
        let limits = Limits {
            text_bytes: self.globals.number(Var::PerformanceSchemaMaxSqlTextLength) as usize,
            sample_age_us: self.globals.number(Var::PerformanceSchemaMaxDigestSampleAge).saturating_mul(1_000_000),
        };
        line.of(ended.connection_id).lock().add(ended, &limits);
    }

    /// The lines of digests, the oldest first; before them one for the statements that found no place.
    pub fn digests(&self) -> Vec<DigestInfo> {
        let info = |digest: Option<&StatementDigest>, line: Line| {
            let Line { sums, first_seen_us, last_seen_us, sample } = line;
            (sums.count != 0).then(|| DigestInfo { digest: digest.cloned(), sums, first_seen_us, last_seen_us, sample })
        };
        let known: Vec<Arc<DigestStats>> = self.digests.lock().values().cloned().collect();
        let mut lines: Vec<DigestInfo> = known.iter().filter_map(|stats| info(stats.digest.as_ref(), stats.all())).collect();
        lines.sort_by_key(|line| line.first_seen_us);
        let mut without_place = Line::default();
        self.others.lock().values().for_each(|stats| without_place.add_all(&stats.all()));
        info(None, without_place).into_iter().chain(lines).collect()
    }

    /// A connection is gone.
    pub fn keep_kinds(&self, connection: &mut ConnectionEvents) {
        self.kinds.lock().add_all(&std::mem::take(&mut connection.kinds));
    }

    /// Sums of the kinds that connections have run which are gone.
    pub fn kinds_of_the_gone(&self) -> KindSums {
        let mut all = KindSums::default();
        all.add_all(&self.kinds.lock());
        all
    }

    pub fn forget_kinds_of_the_gone(&self) {
        self.kinds.lock().0.clear();
    }

    /// Lines that no session keeps are gone, the others begin anew.
    pub fn forget_digests(&self) {
        let mut digests = self.digests.lock();
        digests.retain(|_, stats| Arc::strong_count(stats) > 1);
        for stats in digests.values().chain(self.others.lock().values()) {
            if let Some(line) = &stats.line {
                line.each(|line| *line = Line::default());
            }
        }
    }
}

/// Sums of the kinds of which there were any.
#[derive(Default)]
pub struct KindSums(pub Vec<(Option<StatementKind>, StatementSums)>);

impl KindSums {
    fn of(&mut self, kind: Option<StatementKind>) -> &mut StatementSums {
        let at = self.0.iter().position(|(known, _)| *known == kind).unwrap_or_else(|| {
            self.0.push((kind, StatementSums::default()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    fn add_all(&mut self, other: &KindSums) {
        other.0.iter().for_each(|(kind, sums)| self.of(*kind).add_all(sums));
    }
}

/// A key of the kind.
fn place_of(kind: Option<StatementKind>) -> usize {
    kind.map_or(0, |kind| kind as usize + 1)
}

/// The statement without its literals.
fn digest_text(sql: &[u8], options: &ParserOptions) -> String {
    if sql.len() <= LONG_BYTES {
        return digest::normalize(sql, options);
    }
    let mut text = digest::normalize(&sql[..BEGINNING_BYTES], options);
    match text.rfind(MORE_ROWS) {
        // The next row is not there as a whole.
        Some(rows) => text.truncate(rows + MORE_ROWS.len()),
        None => text.push_str("..."),
    }
    text
}

/// At most so many bytes, whole characters, and `...` if something is missing.
fn shortened(text: &Arc<str>, bytes_max: usize) -> Arc<str> {
    if text.len() <= bytes_max {
        return text.clone();
    }
    let end = text.floor_char_boundary(bytes_max.saturating_sub(3));
    format!("{}...", text.get(..end).unwrap_or_default()).into()
}

/// The events of one connection, which others read.
#[derive(Default)]
pub struct ConnectionEvents {
    /// How many there were, the running one included.
    number: u64,
    /// The last ones: number n is at n modulo its size, which leaves a place for the one that runs.
    events: Vec<Event>,
    kinds: KindSums,
}

const EVENTS: usize = HISTORY_EVENTS + 1;

/// A statement that runs or has ended.
#[derive(Default)]
struct Event {
    /// 0: none, or it is not to be shown any more.
    number: u64,
    statement_id: u64,
    began: Option<Instant>,
    text: Option<Arc<str>>,
    stats: Option<Arc<DigestStats>>,
    /// `None` while it runs.
    wait_ns: Option<u64>,
    error: Option<Box<Failure>>,
    work: Work,
}

/// Number, SQLSTATE and message of an error.
pub type Failure = (u16, String, String);

impl ConnectionEvents {
    pub fn begin(&mut self, statement_id: u64, began: Instant, text: &Arc<str>, stats: Option<&Arc<DigestStats>>) {
        if self.events.is_empty() {
            self.events.resize_with(EVENTS, Event::default);
        }
        self.number += 1;
        let number = self.number;
        let Some(event) = self.running() else { return };
        event.number = number;
        event.statement_id = statement_id;
        event.began = Some(began);
        event.text = Some(text.clone());
        event.stats = stats.cloned();
        event.wait_ns = None;
        event.error = None;
    }

    fn running(&mut self) -> Option<&mut Event> {
        self.events.get_mut(self.number as usize % EVENTS)
    }

    /// What runs is known by now.
    pub fn identify(&mut self, stats: &Arc<DigestStats>) {
        if let Some(event) = self.running() {
            event.stats = Some(stats.clone());
        }
    }

    /// It took so long, having begun so many microseconds after 1970.
    pub fn end(
        &mut self,
        connection_id: u64,
        (wait_ns, began_us): (u64, u64),
        (work, error): (&Work, Option<Box<Failure>>),
        all: &StatementEvents,
    ) {
        let Some(event) = self.events.get_mut(self.number as usize % EVENTS) else { return };
        event.work = *work;
        event.error = error;
        event.wait_ns = Some(wait_ns);
        let stats = event.stats.get_or_insert_with(|| all.without_digest(None));
        let bucket = Bucket::of(wait_ns);
        self.kinds.of(stats.kind).add(wait_ns, bucket, work);
        all.count(stats, &Ended { connection_id, text: event.text.as_ref(), wait_ns, bucket, began_us, work });
    }

    pub fn add_kinds_to(&self, all: &mut KindSums) {
        all.add_all(&self.kinds);
    }

    pub fn forget_kinds(&mut self) {
        self.kinds.0.clear();
    }

    /// What runs, or ran last.
    pub fn current(&self, connection_id: u64, server_began: Instant) -> Option<StatementEvent> {
        let event = self.events.get(self.number as usize % EVENTS)?;
        (event.number != 0).then(|| event.shown(connection_id, server_began))
    }

    /// The oldest first.
    pub fn history(&self, connection_id: u64, server_began: Instant) -> Vec<StatementEvent> {
        let mut ended: Vec<&Event> = self.events.iter().filter(|event| event.number != 0 && event.wait_ns.is_some()).collect();
        ended.sort_by_key(|event| event.number);
        let first = ended.len().saturating_sub(HISTORY_EVENTS);
        ended.iter().skip(first).map(|event| event.shown(connection_id, server_began)).collect()
    }

    pub fn forget_history(&mut self) {
        self.events.iter_mut().filter(|event| event.wait_ns.is_some()).for_each(|event| event.number = 0);
    }
}

impl Event {
    fn shown(&self, connection_id: u64, server_began: Instant) -> StatementEvent {
        let digest = self.stats.as_ref().and_then(|stats| stats.digest.clone());
        let began = self.began.unwrap_or(server_began);
        StatementEvent {
            connection_id,
            number: self.number,
            statement_id: self.statement_id,
            kind: self.stats.as_ref().and_then(|stats| stats.kind),
            start_ns: began.saturating_duration_since(server_began).as_nanos() as u64,
            wait_ns: self.wait_ns.unwrap_or_else(|| began.elapsed().as_nanos() as u64),
            ended: self.wait_ns.is_some(),
            text: self.text.clone(),
            database: digest.as_ref().and_then(|digest| digest.database.clone()),
            digest,
            error: self.error.as_deref().cloned(),
            work: if self.wait_ns.is_some() { self.work } else { Work::default() },
        }
    }
}
