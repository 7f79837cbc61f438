//! Carries out a log that comes from an archive, with the applier of channels: as if its server were a source.
//!
//! The channel exists while it is carried out. What it has applied is in the same commits as the rows, as ever.

use std::sync::Arc;
use std::time::{Duration, Instant};

use vaquita_session::replication::{ChannelConfig, Until};
use vaquita_session::server::Server;
use vaquita_types::gtid::Gtid;
use vaquita_wire::binlog::{Decoder, Event, RawEvent, event_type};

use crate::boundaries::{Boundaries, Lies, Name, Step, step_of};
use crate::queue::{Interrupted, Queue, ReceivedTo, SourceEvent};
use crate::receiver::{commit_us, tells_boundaries};
use crate::threads::{Between, start_applier};

/// No name that CHANGE REPLICATION SOURCE gives.
const CHANNEL: &str = "vaquita restore";
/// How long the applier is waited for between looks at whether it still runs.
const LOOK: Duration = Duration::from_millis(100);

/// A place in the log that is carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayFrom {
    pub file: String,
    pub pos: u64,
}

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What is given one event after the other, with the file that it is of; false: no more are wanted.
pub type EachEvent<'a> = &'a mut dyn FnMut(&str, &RawEvent<'_>) -> std::result::Result<bool, Failure>;

/// Gives the events behind a place of the log, up to where it is to be carried out. It may be asked more than once.
pub type Events<'a> = &'a dyn Fn(&ReplayFrom, EachEvent<'_>) -> std::result::Result<(), Failure>;

/// A transaction of a log, whole.
pub struct Seen {
    pub gtid: Option<Gtid>,
    /// When its server committed it.
    pub committed_us: u64,
    pub end: ReplayFrom,
    /// What it does: the first statement that is none of BEGIN and COMMIT, of DDL or of rows whose statement was logged.
    pub statement: Option<String>,
}

/// Looks through a log, until `each` says that it is enough.
pub fn transactions(
    from: &ReplayFrom,
    events: Events<'_>,
    each: &mut dyn FnMut(Seen) -> std::result::Result<bool, Failure>,
) -> std::result::Result<(), Failure> {
    let mut boundaries = Boundaries::default();
    let (mut committed_us, mut statement) = (0, None);
    events(from, &mut |file, raw| {
        let code = raw.header.event_type;
        if !tells_boundaries(code) && code != event_type::ROWS_QUERY {
            return Ok(true);
        }
        let event = Decoder::default().decode(raw)?;
        let lies = boundaries.see(&event);
        if lies == Lies::Begins {
            let (_, immediate_us) = commit_us(&event);
            committed_us = if immediate_us > 0 { immediate_us } else { u64::from(raw.header.timestamp) * 1_000_000 };
            statement = None;
        }
        match &event {
            Event::Query(query) if step_of(query) == Step::Other => {
                statement.get_or_insert_with(|| String::from_utf8_lossy(&query.statement).into_owned());
            }
            Event::RowsQuery(text) => {
                statement.get_or_insert_with(|| String::from_utf8_lossy(text).into_owned());
            }
            _ => {}
        }
        if lies != Lies::Ends {
            return Ok(true);
        }
        let gtid = match boundaries.take_name() {
            Name::Gtid(gtid) => Some(gtid),
            _ => None,
        };
        let end = ReplayFrom { file: file.to_string(), pos: raw.end_position() };
        each(Seen { gtid, committed_us, end, statement: statement.take() })
    })
}

/// Carries out what `events` gives: whole transactions, as `transactions` finds them. Those that were executed are passed by.
pub fn replay(server: &Arc<Server>, from: &ReplayFrom, events: Events<'_>) -> std::result::Result<(), Failure> {
    let config = ChannelConfig { log_file: from.file.clone(), log_pos: from.pos, ..ChannelConfig::default() };
    let channel = server.replication.create(&server.catalog, CHANNEL, config)?;
    let between = Arc::new(Between::default());
    start_applier(server, &channel, &between, Until::Never)?;
    let mut start = from.clone();
    let done = loop {
        let queue = &between.queue;
        queue.begin_receiving(None);
        let mut feeding = Feeding { between: &between, boundaries: Boundaries::default(), to: start.clone() };
        let fed = events(&start, &mut |file, event| feeding.event(file, event));
        let to = feeding.to.clone();
        let applied = || channel.with_applied(|applied| ReplayFrom { file: applied.file.clone(), pos: applied.pos });
        match fed {
            Err(error) if error.is::<Again>() => {}
            Err(error) => break Err(error),
            Ok(()) => match wait(server, &between, queue, &|| to == start || applied() == to) {
                Waited::Applied | Waited::Stopped => break Ok(()),
                Waited::Again => {}
            },
        }
        let reached = applied();
        if reached.pos > 0 {
            start = reached;
        }
    };
    between.stop_applier();
    let error = channel.status.applier.lock().last_error.clone();
    let done = match (done, error.number) {
        (Ok(()), 0) => Ok(()),
        (Err(error), 0) => Err(error),
        (_, number) => Err(format!("the log cannot be carried out: error {number}: {}", error.text).into()),
    };
    server.replication.remove(&server.catalog, &channel)?;
    done
}

/// The applier begins again behind what it has applied.
#[derive(Debug)]
struct Again;

impl std::fmt::Display for Again {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the log is read again")
    }
}

impl std::error::Error for Again {}

struct Feeding<'b> {
    between: &'b Between,
    boundaries: Boundaries,
    /// Behind the last whole transaction.
    to: ReplayFrom,
}

impl Feeding<'_> {
    fn event(&mut self, file: &str, raw: &RawEvent<'_>) -> std::result::Result<bool, Failure> {
        if self.between.has_stopped() {
            return Ok(false);
        }
        let lies = match tells_boundaries(raw.header.event_type) {
            true => self.boundaries.see(&Decoder::default().decode(raw)?),
            false if self.boundaries.is_within() => Lies::Within,
            false => Lies::Between,
        };
        let is_whole = lies == Lies::Ends || !self.boundaries.is_within();
        if lies == Lies::Ends {
            self.to = ReplayFrom { file: file.to_string(), pos: raw.end_position() };
        }
        let event = SourceEvent {
            bytes: raw.bytes.to_vec(),
            has_checksum: raw.has_checksum(),
            wants_ack: false,
            file: Arc::from(file),
            ends: lies == Lies::Ends,
        };
        let to = ReceivedTo { file: file.to_string(), pos: raw.end_position(), ..ReceivedTo::default() };
        match self.between.queue.push(event, is_whole.then_some(to)) {
            Ok(_) => Ok(true),
            Err(Interrupted::Rewind) => Err(Again.into()),
            Err(Interrupted::Stop) => Ok(false),
        }
    }
}

enum Waited {
    Applied,
    Again,
    Stopped,
}

/// Waits until everything is applied.
fn wait(server: &Server, between: &Between, queue: &Queue, is_applied: &dyn Fn() -> bool) -> Waited {
    loop {
        let seen = server.replication.progress();
        match () {
            () if between.has_stopped() => return Waited::Stopped,
            () if queue.is_rewound() => return Waited::Again,
            () if queue.is_empty() && is_applied() => return Waited::Applied,
            () => server.replication.wait_for_progress(seen, Instant::now() + LOOK),
        }
    }
}
