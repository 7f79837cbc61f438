//! Statement events: each statement is counted and timed when it ends, together with those that differ from it in literals only, and with
//! those of its kind that its connection has run (`connection_events`).
//!
//! A `DigestStats` is a line of events_statements_summary_by_digest. A session keeps the lines of the statements that it repeats, and finds
//! them again without a lock.
//!
//! * EVENTS-1: what has no digest, because it is no statement, counts for its kind alone. What finds no place any more
//!   (`performance_schema_digests_size`) has a line for all.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use vaquita_exec::context::{Bucket, DigestInfo, PlanInfo, StatementDigest, StatementSample, StatementSums, Work};
use vaquita_parser::{ParserOptions, StatementKind, digest};
use vaquita_plan::settings::PlanSettings;
use vaquita_types::memory::{self, BLOCK_BYTES_MIN};

use crate::variables::{Globals, Var};

/// Connections that count the same statements at once do so in different places.
const STRIPES: usize = 4;
/// Of longer statements the beginning is read for their digest.
const LONG_BYTES: usize = 4 << 10;
const BEGINNING_BYTES: usize = 1 << 10;
/// What a line takes without its texts, for the server's account of memory.
const LINE_BYTES: usize = 4 << 10;
/// Numbers of statements that a connection takes at once, so that connections seldom meet there.
const IDS_AT_ONCE: u64 = 64;
/// Plans of a digest that are kept, and what is kept of each as a text.
const PLANS_MAX: usize = 8;
const PLAN_BYTES_MAX: usize = 4 << 10;
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
    /// Plans by their shape, as EXPLAIN FORMAT=TREE shows one of each: the first that was seen.
    plans: Mutex<Vec<(NonZeroU64, Arc<str>)>>,
    /// In the server's account.
    bytes: usize,
}

impl Drop for DigestStats {
    fn drop(&mut self) {
        memory::freed(self.bytes + self.plans.get_mut().iter().map(|(_, text)| text.len()).sum::<usize>());
    }
}

/// A line as one session keeps it: its uses are counted apart from those of other sessions, which run on other cores.
pub struct KeptLine {
    stats: Arc<DigestStats>,
    /// The shape of the plan by which the statement ran last.
    last_plan: AtomicU64,
}

impl KeptLine {
    pub fn kind(&self) -> Option<StatementKind> {
        self.stats.kind
    }

    pub fn digest(&self) -> Option<&StatementDigest> {
        self.stats.digest.as_ref()
    }

    fn new(stats: Arc<DigestStats>) -> Arc<KeptLine> {
        Arc::new(KeptLine { stats, last_plan: AtomicU64::new(0) })
    }

    /// The session runs it by another plan than before.
    #[inline]
    pub fn is_other_plan(&self, shape: NonZeroU64) -> bool {
        self.last_plan.load(Ordering::Relaxed) != shape.get()
    }
}

#[derive(Default)]
struct Line {
    sums: StatementSums,
    first_seen_us: u64,
    last_seen_us: u64,
    sample: Option<StatementSample>,
    /// By the shapes of plans, of which there are at most `PLANS_MAX`.
    plans: Vec<PlanSums>,
}

/// What statements took that ran by one plan.
#[derive(Clone, Copy)]
struct PlanSums {
    shape: NonZeroU64,
    count: u64,
    wait_ns: u64,
    wait_ns_max: u64,
    first_seen_us: u64,
    last_seen_us: u64,
}

impl PlanSums {
    fn add(&mut self, other: &PlanSums) {
        self.count += other.count;
        self.wait_ns += other.wait_ns;
        self.wait_ns_max = self.wait_ns_max.max(other.wait_ns_max);
        self.first_seen_us = self.first_seen_us.min(other.first_seen_us);
        self.last_seen_us = self.last_seen_us.max(other.last_seen_us);
    }
}

/// Adds to the sums of the plan. A new one takes the place of that which was seen longest ago, if there are too many.
fn add_plan(plans: &mut Vec<PlanSums>, plan: &PlanSums, plans_max: usize) {
    if let Some(known) = plans.iter_mut().find(|known| known.shape == plan.shape) {
        known.add(plan);
        return;
    }
    if plans.len() >= plans_max
        && let Some(oldest) = plans.iter_mut().min_by_key(|known| known.last_seen_us)
    {
        *oldest = *plan;
        return;
    }
    plans.push(*plan);
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
    /// The shape of its plan, if it has one.
    pub plan: Option<NonZeroU64>,
}

impl Line {
    fn add(&mut self, ended: &Ended<'_>, limits: &Limits) {
        if self.sums.count == 0 {
            self.first_seen_us = ended.began_us;
        }
        self.last_seen_us = ended.began_us;
        self.sums.add(ended.wait_ns, ended.bucket, ended.work);
        if let Some(shape) = ended.plan {
            let Ended { wait_ns, began_us, .. } = *ended;
            let seen =
                PlanSums { shape, count: 1, wait_ns, wait_ns_max: wait_ns, first_seen_us: began_us, last_seen_us: began_us };
            add_plan(&mut self.plans, &seen, PLANS_MAX);
        }
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
        other.plans.iter().for_each(|plan| add_plan(&mut self.plans, plan, PLANS_MAX));
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
    last_id: AtomicU64,
}

impl StatementEvents {
    pub fn new(globals: Arc<Globals>) -> StatementEvents {
        StatementEvents { globals, digests: Mutex::default(), others: Mutex::default(), last_id: AtomicU64::new(0) }
    }

    /// Where the statement is counted. `verb` is what MySQL puts before the digest of a prepared one.
    pub fn line_of(&self, (verb, sql): (&str, &[u8]), settings: &PlanSettings, kind: StatementKind) -> Arc<KeptLine> {
        let text = digest_text(sql, &settings.parser_options());
        if text.is_empty() {
            return self.without_digest(Some(kind));
        }
        KeptLine::new(self.digest_of((verb, &text), settings, kind))
    }

    fn digest_of(&self, (verb, text): (&str, &str), settings: &PlanSettings, kind: StatementKind) -> Arc<DigestStats> {
        let text = format!("{verb}{text}");
        let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        let key = Key { database: settings.current_database.as_deref().map(Arc::from), digest: hash };
        let places = self.globals.number(Var::PerformanceSchemaDigestsSize) as usize;
        let mut digests = self.digests.lock();
        if let Some(known) = digests.get(&key) {
            return known.clone();
        }
        let text_bytes = self.globals.number(Var::PerformanceSchemaMaxDigestLength) as usize;
        let bytes = LINE_BYTES + text.len().min(text_bytes) + self.text_bytes_max();
        if digests.len() >= places || memory::ask(BLOCK_BYTES_MIN + bytes).is_err() {
            drop(digests);
            return self.other(true, Some(kind));
        }
        memory::allocated(bytes);
        let digest = StatementDigest {
            database: key.database.clone(),
            digest: hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into(),
            text: shortened(&text.into(), text_bytes),
        };
        let stats = Arc::new(DigestStats {
            kind: Some(kind),
            digest: Some(digest),
            line: Some(Striped::new()),
            plans: Mutex::default(),
            bytes,
        });
        digests.insert(key, stats.clone());
        stats
    }

    /// Of what is no statement, the kind is not known either.
    pub fn without_digest(&self, kind: Option<StatementKind>) -> Arc<KeptLine> {
        KeptLine::new(self.other(false, kind))
    }

    fn other(&self, has_line: bool, kind: Option<StatementKind>) -> Arc<DigestStats> {
        let mut others = self.others.lock();
        others
            .entry((has_line, place_of(kind)))
            .or_insert_with(|| {
                let line = has_line.then(Striped::new);
                Arc::new(DigestStats { kind, digest: None, line, plans: Mutex::default(), bytes: 0 })
            })
            .clone()
    }

    pub fn next_ids(&self) -> std::ops::Range<u64> {
        let first = self.last_id.fetch_add(IDS_AT_ONCE, Ordering::Relaxed) + 1;
        first..first + IDS_AT_ONCE
    }

    /// Bytes of a statement's text that are kept.
    pub fn text_bytes_max(&self) -> usize {
        self.globals.number(Var::PerformanceSchemaMaxSqlTextLength) as usize
    }

    #[inline]
    pub fn count(&self, line: &KeptLine, ended: &Ended<'_>) {
        let Some(line) = &line.stats.line else { return };
        let limits = Limits {
            text_bytes: self.text_bytes_max(),
            sample_age_us: self.globals.number(Var::PerformanceSchemaMaxDigestSampleAge).saturating_mul(1_000_000),
        };
        line.of(ended.connection_id).lock().add(ended, &limits);
    }

    /// The lines of digests, the oldest first; before them one for the statements that found no place.
    pub fn digests(&self) -> Vec<DigestInfo> {
        let info = |digest: Option<&StatementDigest>, line: Line| {
            let Line { sums, first_seen_us, last_seen_us, sample, .. } = line;
            (sums.count != 0).then(|| DigestInfo { digest: digest.cloned(), sums, first_seen_us, last_seen_us, sample })
        };
        let known: Vec<Arc<DigestStats>> = self.digests.lock().values().cloned().collect();
        let mut lines: Vec<DigestInfo> = known.iter().filter_map(|stats| info(stats.digest.as_ref(), stats.all())).collect();
        lines.sort_by_key(|line| line.first_seen_us);
        let mut without_place = Line::default();
        self.others.lock().values().for_each(|stats| without_place.add_all(&stats.all()));
        info(None, without_place).into_iter().chain(lines).collect()
    }

    /// The session runs the line's statement by a plan of this shape from now on.
    pub fn know_plan(&self, line: &KeptLine, shape: NonZeroU64, text: impl FnOnce() -> String) {
        line.last_plan.store(shape.get(), Ordering::Relaxed);
        let mut plans = line.stats.plans.lock();
        // Of those without a digest nobody asks.
        if line.stats.digest.is_none() || plans.iter().any(|(known, _)| *known == shape) {
            return;
        }
        let text = shortened(&text().into(), PLAN_BYTES_MAX);
        if memory::ask(BLOCK_BYTES_MIN + text.len()).is_err() {
            return;
        }
        memory::allocated(text.len());
        if plans.len() >= PLANS_MAX {
            memory::freed(plans.remove(0).1.len());
        }
        plans.push((shape, text));
    }

    /// Plans of digests, in the order in which these were seen; those of a digest, too.
    pub fn plans(&self) -> Vec<PlanInfo> {
        let known: Vec<Arc<DigestStats>> = self.digests.lock().values().cloned().collect();
        let mut lines: Vec<(&Arc<DigestStats>, Line)> = known.iter().map(|stats| (stats, stats.all())).collect();
        lines.sort_by_key(|(_, line)| line.first_seen_us);
        let mut all = Vec::new();
        for (stats, mut line) in lines {
            let Some(digest) = &stats.digest else { continue };
            line.plans.sort_by_key(|plan| plan.first_seen_us);
            let texts = stats.plans.lock();
            let text = |shape| texts.iter().find(|(known, _)| *known == shape).map(|(_, text)| text.clone());
            all.extend(line.plans.iter().map(|plan| PlanInfo {
                digest: digest.clone(),
                shape: plan.shape.get(),
                count: plan.count,
                wait_ns: plan.wait_ns,
                wait_ns_max: plan.wait_ns_max,
                first_seen_us: plan.first_seen_us,
                last_seen_us: plan.last_seen_us,
                text: text(plan.shape),
            }));
        }
        all
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
pub fn shortened(text: &Arc<str>, bytes_max: usize) -> Arc<str> {
    if text.len() <= bytes_max {
        return text.clone();
    }
    let end = text.floor_char_boundary(bytes_max.saturating_sub(3));
    format!("{}...", text.get(..end).unwrap_or_default()).into()
}
