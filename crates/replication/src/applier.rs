//! The applier of a channel: takes events from the queue and carries them out, a transaction at a time, each with the position behind it.
//!
//! A transaction that fails in a way that another try may help (a deadlock, a lock that was not free) is undone and received again, up to
//! `replica_transaction_retries` times. Any other error stops the applier, which leaves nothing of the transaction.
//!
//! Transactions of rows that wait are committed together, since each commit waits for the disk: the *group* is what is applied and not yet
//! committed. It is committed when nothing waits, when it is large, and before anything that is not just rows. If a transaction of it fails, all are
//! undone and received again, and each is committed alone until the one that failed is behind.
//!
//! * APPLIER-1: what was applied and where the channel stands are one commit (`CommitNote`), so that after a crash nothing is lost or done again.
//! * APPLIER-2: a transaction whose GTID was executed, by whichever channel, is passed by. One that waits in the group counts as executed, since a
//!   receiver that begins again asks for it once more. One that another channel has begun is waited for, with nothing of one's own uncommitted.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use vaquita_exec::dml::images::{ImageRules, SourceTable};
use vaquita_session::binary_log_commits::{GtidNext, Origin};
use vaquita_session::clients::Client;
use vaquita_session::replication::{
    Applied, Channel, Filters, PrimaryKeyCheck, ThreadError, TransactionTimes, Until, applied_key,
};
use vaquita_session::server::Server;
use vaquita_session::session::{Session, Subject};
use vaquita_session::variables::registry;
use vaquita_storage::CommitNote;
use vaquita_types::errno::{ER_BAD_DB_ERROR, ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT};
use vaquita_types::gtid::GtidSet;
use vaquita_types::{Error, Result, Value};
use vaquita_wire::binlog::info::xa_id;
use vaquita_wire::binlog::rows::rows_flags;
use vaquita_wire::binlog::{
    BinlogError, Decoder, Event, EventReader, ExecuteLoadQuery, Header, LoadBlock, MariaGtidEvent, Query, RawEvent, Rows,
    RowsKind, TableMap, TransactionPayload, XaPrepare,
};

use crate::acks::AckedPlace;
use crate::boundaries::{Name, Step, step_of};
use crate::errors;
use crate::queue::{Queue, Queued, SourceEvent};
use crate::receiver::{commit_us, now_s, shown};
use crate::settings::{Settings, conversions, set_user_variable};
use crate::tables::{image_change, source_table};
use vaquita_storage::now_us;

/// MySQL shows so much of a statement that failed.
const SHOWN_STATEMENT_BYTES: usize = 1024;
/// The longest sleep before a transaction is tried again.
const RETRY_SLEEP_MAX: Duration = Duration::from_secs(5);
const NOTHING_YET: u8 = MariaGtidEvent::EXTRA_START_ALTER | MariaGtidEvent::EXTRA_ROLLBACK_ALTER;
/// A group has no more transactions, and is committed once it has so many bytes of events.
const GROUP_MAX: usize = 256;
const GROUP_BYTES: usize = 1 << 20;
/// How often is looked whether another channel has done with a transaction.
const OWNED_LOOK: Duration = Duration::from_millis(10);
/// Files that statements load are kept in memory.
const FILES_BYTES_MAX: usize = 1 << 30;
/// What follows CREATE TABLE in the log of a CREATE TABLE … SELECT.
const START_TRANSACTION: &[u8] = b" START TRANSACTION";

pub struct Applier {
    server: Arc<Server>,
    channel: Arc<Channel>,
    queue: Arc<Queue>,
    client: Arc<Client>,
    session: Session,
    settings: Settings,
    decoder: Decoder,
    tables: HashMap<u64, (Arc<TableMap>, Arc<SourceTable>)>,
    /// The transaction that events belong to.
    transaction: Transaction,
    until: Until,
    retries: u64,
    group: Group,
    /// Transactions that are committed alone, because one of a group failed.
    alone: usize,
    /// The source logs changes as statements.
    statements_come: bool,
    /// Files that statements load, by the source's number.
    files: HashMap<u32, Vec<u8>>,
    /// The source is told when what was applied is committed (ACK-1).
    ack: Option<AckedPlace>,
    /// What of `Replication::own` is this applier's.
    owned: GtidSet,
}

/// Transactions that were applied and are not committed.
#[derive(Default)]
struct Group {
    /// What is applied with them, in the order of the log.
    applied: Option<Applied>,
    transactions: usize,
    bytes: usize,
    last: TransactionTimes,
}

#[derive(Default)]
struct Transaction {
    name: Name,
    /// Its GTID event or its first statement was seen.
    begun: bool,
    /// It was executed before, or is to be left out.
    skips: bool,
    /// BEGIN was seen.
    needs_commit: bool,
    /// MariaDB announces an ALTER, or takes it back: what is done comes with its commit.
    is_announced: bool,
    times: TransactionTimes,
}

/// Where an event ends.
#[derive(Clone)]
struct Place {
    file: Arc<str>,
    end: u64,
}

/// What becomes of the applier.
enum Outcome {
    GoOn,
    /// UNTIL has come, in front of the transaction that has begun, or behind the one that ended.
    Until,
    Stop,
}

impl Applier {
    pub fn new(server: &Arc<Server>, channel: &Arc<Channel>, queue: &Arc<Queue>, client: &Arc<Client>, until: Until) -> Applier {
        Applier {
            server: server.clone(),
            channel: channel.clone(),
            queue: queue.clone(),
            client: client.clone(),
            session: Session::of_applier(server.clone(), client.clone()),
            settings: Settings::default(),
            decoder: Decoder::default(),
            tables: HashMap::new(),
            transaction: Transaction::default(),
            until,
            retries: 0,
            group: Group::default(),
            alone: 0,
            statements_come: false,
            files: HashMap::new(),
            ack: None,
            owned: GtidSet::default(),
        }
    }

    /// Until it is told to stop, UNTIL has come, or a transaction fails.
    pub fn run(&mut self) {
        let prepared = self.prepare();
        let done = match prepared {
            Ok(()) if self.until_has_come() => Ok(()),
            Ok(()) => self.apply_all(),
            Err(error) => Err(error),
        };
        let grouped = if done.is_ok() && !self.transaction.begun { self.commit_group() } else { Ok(()) };
        let done = done.and(grouped);
        self.session.abandon_applying();
        self.give_back_all();
        if self.transaction.begun || self.group.transactions > 0 {
            self.queue.rewind();
        }
        self.session.close();
        // Whoever is told to stop is told by an error, too, if it waits for a lock.
        if let Err(error) = done
            && !self.queue.applier_stops()
        {
            self.fail(&error);
        }
    }

    /// As MySQL's applier, it sees what is committed, and locks no ranges.
    fn prepare(&mut self) -> Result<()> {
        let on = |on: bool| if on { "ON" } else { "OFF" };
        let check = self.channel.config().primary_key_check;
        // What this server's own clients begin with means nothing to the source's statements.
        let settings = [
            ("transaction_isolation", "'READ-COMMITTED'"),
            ("innodb_snapshot_isolation", "OFF"),
            ("sql_log_bin", "ON"),
            ("max_execution_time", "0"),
            ("transaction_read_only", "OFF"),
            ("sql_require_primary_key", on(check == PrimaryKeyCheck::On)),
            ("sql_generate_invisible_primary_key", on(check == PrimaryKeyCheck::Generate)),
        ];
        for (name, value) in settings {
            let done = self.settings.set(&mut self.session, name, value.to_string());
            if name == "transaction_isolation" {
                done?;
            }
        }
        Ok(())
    }

    fn apply_all(&mut self) -> Result<()> {
        loop {
            if self.queue.is_empty() {
                if !self.transaction.begun
                    && let Err(error) = self.commit_group()
                {
                    self.try_again(error)?;
                    continue;
                }
                self.set_state("Replica has read all relay log; waiting for more updates");
                self.channel.status.applier.lock().source_time_s = None;
            }
            let Some(queued) = self.queue.take() else { return Ok(()) };
            if self.client.must_close() {
                return Err(Error::new(&vaquita_types::errno::ER_QUERY_INTERRUPTED, &[]));
            }
            let event = match queued {
                Queued::Event(event) => event,
                Queued::Cut => {
                    if self.group.transactions > 0 {
                        self.queue.rewind();
                    }
                    self.drop_transaction();
                    continue;
                }
            };
            let outcome = self.event(&event);
            if outcome.is_ok() {
                self.note_ack(&event);
            }
            match outcome {
                Ok(Outcome::GoOn) => {}
                Ok(Outcome::Until | Outcome::Stop) => return Ok(()),
                Err(error) => self.try_again(error)?,
            }
        }
    }

    /// An event that the source wants an ack of was carried out.
    fn note_ack(&mut self, event: &SourceEvent) {
        if !event.wants_ack {
            return;
        }
        if let Ok(raw) = RawEvent::of_packet(&event.bytes, event.has_checksum) {
            self.ack = Some(AckedPlace { file: event.file.clone(), pos: u64::from(raw.header.end_position) });
        }
        if !self.transaction.begun && self.group.transactions == 0 {
            self.tell_ack();
        }
    }

    /// Nothing waits for its commit.
    fn tell_ack(&mut self) {
        if let Some(place) = self.ack.take() {
            self.queue.acks.committed(place);
        }
    }

    fn may_retry(&self, error: &Error) -> bool {
        let most = self.number("replica_transaction_retries", 10);
        (error.is(&ER_LOCK_DEADLOCK) || error.is(&ER_LOCK_WAIT_TIMEOUT)) && self.retries < most && !self.queue.applier_stops()
    }

    /// After an error: what is to be received and applied again, or the error that ends the applier.
    fn try_again(&mut self, error: Error) -> Result<()> {
        if self.group.transactions > 0 && !self.queue.applier_stops() {
            // Which one it was is seen when each is alone.
            self.alone = self.group.transactions + 1;
            self.drop_transaction();
            self.queue.rewind();
            return Ok(());
        }
        if self.may_retry(&error) {
            self.retry(&error);
            return Ok(());
        }
        Err(error)
    }

    fn retry(&mut self, error: &Error) {
        self.retries += 1;
        {
            let mut status = self.channel.status.applier.lock();
            status.retries += 1;
            status.alone.applying_retries.count += 1;
            status.alone.applying_retries.last_error = ThreadError::new(error, now_us());
        }
        self.drop_transaction();
        self.queue.rewind();
        let sleep = Duration::from_millis(50).saturating_mul(1 << self.retries.min(8)).min(RETRY_SLEEP_MAX);
        self.queue.applier_sleeps(sleep);
    }

    /// What has begun is not to be.
    fn drop_transaction(&mut self) {
        self.session.abandon_applying();
        self.give_back_all();
        self.transaction = Transaction::default();
        self.group = Group::default();
        self.decoder = Decoder::default();
        self.tables.clear();
        self.files.clear();
        self.ack = None;
    }

    fn event(&mut self, source: &SourceEvent) -> Result<Outcome> {
        let raw = RawEvent::of_packet(&source.bytes, source.has_checksum).map_err(damaged)?;
        let place = Place { file: source.file.clone(), end: u64::from(raw.header.end_position) };
        self.group.bytes += source.bytes.len();
        let event = self.decoder.decode(&raw).map_err(damaged)?;
        if self.begins(&event) {
            match self.begin(&event, &raw.header)? {
                Outcome::GoOn => {}
                outcome => return Ok(outcome),
            }
        }
        if self.transaction.skips {
            if source.ends {
                self.pass_by(&place)?;
                return Ok(self.outcome());
            }
            return Ok(Outcome::GoOn);
        }
        let applied = self.step(&raw.header, event, &place);
        if let Err(error) = applied {
            if !self.is_skipped_error(&error) {
                return Err(self.named(error, &place));
            }
            tracing::warn!("replication channel '{}': skipped: {}", self.channel.name, error.message());
        }
        if source.ends {
            // An end that no event before has told: what was left out by the receiver, or an error that was skipped.
            if self.transaction.begun || self.group.transactions == 0 && !self.is_noted(&place) {
                self.commit(&place)?;
            }
            return Ok(self.outcome());
        }
        Ok(Outcome::GoOn)
    }

    fn begins(&self, event: &Event<'_>) -> bool {
        match event {
            Event::Gtid(_) | Event::MariaGtid(_) => true,
            Event::Query(_) | Event::TransactionPayload(_) | Event::IntVar(_) | Event::Rand(..) | Event::UserVar(_) => {
                !self.transaction.begun
            }
            _ => false,
        }
    }

    /// A transaction comes: whether it is to be applied, and when.
    fn begin(&mut self, event: &Event<'_>, header: &Header) -> Result<Outcome> {
        let name = match event {
            Event::Gtid(gtid) => gtid.gtid.clone().map_or(Name::Anonymous, Name::Gtid),
            Event::MariaGtid(gtid) => Name::Maria(gtid.gtid),
            _ => Name::None,
        };
        // A large one would keep the group waiting.
        let is_of_rows = match event {
            Event::Gtid(gtid) => {
                !gtid.may_have_statements && gtid.transaction_bytes.is_none_or(|bytes| bytes <= GROUP_BYTES as u64)
            }
            Event::MariaGtid(gtid) => gtid.flags & MariaGtidEvent::STANDALONE == 0 && gtid.xid.is_none(),
            _ => true,
        };
        if !is_of_rows || self.channel.config().delay_s > 0 {
            self.commit_group()?;
        }
        let (original_commit_us, immediate_commit_us) = commit_us(event);
        self.transaction = Transaction {
            times: TransactionTimes {
                name: shown(&name),
                original_commit_us,
                immediate_commit_us,
                start_us: now_us(),
                end_us: 0,
            },
            name,
            begun: true,
            skips: false,
            needs_commit: false,
            is_announced: matches!(event, Event::MariaGtid(gtid) if gtid.flags_extra & NOTHING_YET != 0),
        };
        if let (Name::Gtid(gtid), Until::BeforeGtids(set)) = (&self.transaction.name, &self.until)
            && set.contains(gtid.source, &gtid.tag, gtid.number)
        {
            return Ok(Outcome::Until);
        }
        {
            let mut status = self.channel.status.applier.lock();
            status.alone.applying = self.transaction.times.clone();
            status.source_time_s = Some(u64::from(header.timestamp));
        }
        let Some(is_done) = self.is_done()? else { return Ok(Outcome::Stop) };
        self.transaction.skips = is_done || self.takes_skip()?;
        match self.transaction.skips {
            true => self.session.pass_applied(),
            false => self.session.begin_applied(self.next_gtid(), origin(header, event)),
        }
        if !self.wait_for_delay(header)? {
            return Ok(Outcome::Stop);
        }
        self.set_state("Executing event");
        Ok(Outcome::GoOn)
    }

    /// Whether what has begun is here already (APPLIER-2), and else its own; `None` if the applier shall stop.
    fn is_done(&mut self) -> Result<Option<bool>> {
        let gtid = match &self.transaction.name {
            Name::Gtid(gtid) => gtid.clone(),
            Name::Maria(gtid) => {
                let has =
                    |applied: &Applied| applied.domains.get(&gtid.domain).is_some_and(|last| last.sequence >= gtid.sequence);
                return Ok(Some(self.group.applied.as_ref().is_some_and(has) || self.channel.with_applied(has)));
            }
            Name::None | Name::Anonymous => return Ok(Some(false)),
        };
        // What is its own already waits in the group.
        if self.owned.contains(gtid.source, &gtid.tag, gtid.number) {
            return Ok(Some(true));
        }
        while !self.server.replication.own(&gtid) {
            self.commit_group()?;
            self.set_state("Waiting for another channel that executes the same transaction");
            if !self.queue.applier_sleeps(OWNED_LOOK) {
                return Ok(None);
            }
        }
        let one = GtidSet::of(&gtid);
        // Asked for last: whoever owned it has committed it before giving it back.
        if self.server.has_executed(&gtid) {
            self.server.replication.give_back(&one);
            return Ok(Some(true));
        }
        self.owned.union(&one);
        Ok(Some(false))
    }

    fn give_back_all(&mut self) {
        self.server.replication.give_back(&std::mem::take(&mut self.owned));
    }

    /// What our log calls it: a transaction without a GTID of MySQL gets one of this server's.
    fn next_gtid(&self) -> GtidNext {
        match &self.transaction.name {
            Name::Gtid(gtid) => GtidNext::Given(gtid.clone()),
            Name::Maria(_) | Name::None | Name::Anonymous => GtidNext::Automatic,
        }
    }

    /// `sql_replica_skip_counter`: one transaction less to be left out.
    fn takes_skip(&self) -> Result<bool> {
        let left = self.number("sql_replica_skip_counter", 0);
        let Some(def) = registry().find("sql_replica_skip_counter").filter(|_| left > 0) else { return Ok(false) };
        self.server.globals.set(def, Value::UInt(left - 1), &self.server.engine)?;
        Ok(true)
    }

    /// SOURCE_DELAY; false if the applier shall stop.
    fn wait_for_delay(&self, header: &Header) -> Result<bool> {
        loop {
            let delay = i64::from(self.channel.config().delay_s);
            if delay == 0 || header.timestamp == 0 {
                return Ok(true);
            }
            let ahead = self.channel.status.receiver.lock().clock_ahead_s;
            let left = i64::from(header.timestamp) - ahead + delay - now_s();
            let left = u64::try_from(left).unwrap_or(0);
            self.channel.status.applier.lock().remaining_delay_s = (left > 0).then_some(left);
            if left == 0 {
                return Ok(true);
            }
            self.set_state("Waiting until SOURCE_DELAY seconds after source executed event");
            if !self.queue.applier_sleeps(Duration::from_secs(1)) {
                return Ok(false);
            }
        }
    }

    fn step(&mut self, header: &Header, event: Event<'_>, place: &Place) -> Result<()> {
        match event {
            Event::MariaGtid(gtid) if gtid.flags & MariaGtidEvent::STANDALONE == 0 && gtid.xid.is_none() => {
                self.transaction.needs_commit = true;
                self.session.begin_applying()
            }
            // MariaDB's begins the branch; its end and what becomes of it are statements.
            Event::MariaGtid(MariaGtidEvent { xid: Some(xid), flags, .. }) if flags & MariaGtidEvent::PREPARED_XA != 0 => {
                self.transaction.needs_commit = true;
                self.session.apply_text(format!("XA START {}", xa_id(&xid)).as_bytes())
            }
            Event::Query(query) => self.query(header, &query, place),
            Event::TransactionPayload(payload) => self.payload(&payload, place),
            Event::Rows(rows) => self.rows(&rows, place),
            Event::RowsQuery(text) => {
                self.client.begin_command("Query", Some(String::from_utf8_lossy(text).into()));
                Ok(())
            }
            Event::Xid(_) => self.end_of_rows(place),
            Event::XaPrepare(prepare) => self.xa_prepare(&prepare, place),
            Event::IntVar(var) => self.settings.int_var(&mut self.session, var),
            Event::Rand(first, second) => self.settings.rand(&mut self.session, (first, second)),
            Event::UserVar(var) => set_user_variable(&mut self.session, &var),
            Event::Incident(incident) => {
                let message = String::from_utf8_lossy(incident.message);
                Err(Error::new(&errors::REPLICA_INCIDENT, &[&incident.name(), &message]))
            }
            Event::BeginLoadQuery(block) => {
                self.files.insert(block.file, Vec::new());
                self.add_to_file(&block)
            }
            Event::AppendBlock(block) => self.add_to_file(&block),
            Event::DeleteFile(file) => {
                self.files.remove(&file);
                Ok(())
            }
            Event::ExecuteLoadQuery(load) => self.load(header, &load),
            _ => Ok(()),
        }
    }

    fn payload(&mut self, payload: &TransactionPayload<'_>, place: &Place) -> Result<()> {
        let mut unpacker = payload.unpacker();
        let mut reader = EventReader::of_payload();
        let mut decoder = Decoder::default();
        loop {
            match unpacker.next_piece().map_err(damaged)? {
                Some(piece) => reader.feed(piece),
                None => return reader.end().map_err(damaged),
            }
            while let Some(raw) = reader.next_event().map_err(damaged)? {
                let header = raw.header;
                let event = decoder.decode(&raw).map_err(damaged)?;
                self.step(&header, event, place)?;
            }
        }
    }

    fn query(&mut self, header: &Header, query: &Query<'_>, place: &Place) -> Result<()> {
        let is_xa = query.statement.get(..3).is_some_and(|head| head.eq_ignore_ascii_case(b"XA "));
        match step_of(query) {
            Step::Begin if !is_xa => {
                self.transaction.needs_commit = true;
                return self.session.begin_applying();
            }
            Step::Begin => {
                self.commit_group()?;
                self.transaction.needs_commit = true;
                return self.session.apply_text(&query.statement);
            }
            Step::Commit => return self.end_of_rows(place),
            Step::Rollback => return self.undo(place),
            Step::Other => {}
        }
        if is_xa {
            return self.xa_statement(query, place);
        }
        if self.transaction.is_announced {
            return self.commit(place);
        }
        let created = query.statement.strip_suffix(START_TRANSACTION).filter(|_| self.transaction.needs_commit);
        let filters = self.channel.filters();
        let named = String::from_utf8_lossy(query.database);
        let database = filters.rewritten(&named).to_string();
        if !filters.is_empty() && !is_of_savepoint(query) && !self.is_wanted(query, &database, &filters) {
            return if self.transaction.needs_commit { Ok(()) } else { self.commit(place) };
        }
        self.client.begin_command("Query", Some(String::from_utf8_lossy(&query.statement).into()));
        if self.transaction.needs_commit && !is_of_savepoint(query) {
            self.statements_come = true;
            if self.group.transactions > 0 {
                // A statement that fails undoes more than itself.
                return Err(Error::new(&ER_LOCK_DEADLOCK, &[]));
            }
        }
        self.enter(&database)?;
        self.settings.follow(&mut self.session, query, header.timestamp)?;
        let done = match created {
            // The rows of CREATE TABLE … SELECT follow, in the transaction that has begun.
            Some(create) => self.session.apply_created(create),
            None if self.transaction.needs_commit => self.session.apply_text(&query.statement),
            None => {
                self.commit_group()?;
                let (note, applied) = self.note(place);
                let done = self.session.apply_alone(&query.statement, note);
                if done.is_ok() {
                    self.applied(applied);
                }
                done
            }
        };
        match done {
            // The same error as the source's is what the source's tables came of.
            Err(error) if query.error != 0 && error.code() == query.error => {
                if self.transaction.needs_commit {
                    Ok(())
                } else {
                    self.commit(place)
                }
            }
            Err(error) => Err(failed_statement(&error, query)),
            Ok(()) => Ok(()),
        }
    }

    fn add_to_file(&mut self, block: &LoadBlock<'_>) -> Result<()> {
        let bytes: usize = self.files.values().map(Vec::len).sum();
        let file = self.files.get_mut(&block.file).filter(|_| bytes + block.block.len() <= FILES_BYTES_MAX);
        let file = file.ok_or_else(|| Error::unsupported("LOAD DATA of a file beyond 1 GiB as a statement"))?;
        file.extend_from_slice(block.block);
        Ok(())
    }

    /// A LOAD DATA statement, of which events before have brought the file.
    fn load(&mut self, header: &Header, load: &ExecuteLoadQuery<'_>) -> Result<()> {
        let query = &load.query;
        let (start, end) = (load.name_start as usize, load.name_end as usize);
        let parts = query.statement.get(..start).zip(query.statement.get(end..)).filter(|_| start <= end);
        let (Some((head, tail)), Some(file)) = (parts, self.files.remove(&load.file)) else {
            return Err(damaged(BinlogError::Malformed("statement that loads a file")));
        };
        let duplicates: &[u8] = match load.duplicates {
            1 => b" IGNORE",
            2 => b" REPLACE",
            _ => b"",
        };
        let text = [head, b" LOCAL INFILE 'file'", duplicates, b" INTO", tail].concat();
        self.statements_come = true;
        self.enter(&String::from_utf8_lossy(query.database))?;
        self.settings.follow(&mut self.session, query, header.timestamp)?;
        self.session.apply_loading(&text, Some(file)).map_err(|error| failed_statement(&error, query))
    }

    /// Whether the channel's filters let a statement be; its current database is `database`, as it is called here.
    fn is_wanted(&self, query: &Query<'_>, database: &str, filters: &Filters) -> bool {
        match self.session.subject_of(&query.statement) {
            Subject::Database(name) => filters.database_may_change(filters.rewritten(&name)),
            subject if !filters.database_is_wanted(database) => {
                drop(subject);
                false
            }
            Subject::Tables(tables) => {
                let named = |(named, table): &(Option<String>, String)| {
                    let name = named.as_deref().map_or(database, |name| filters.rewritten(name));
                    (name.to_string(), table.clone())
                };
                let tables: Vec<(String, String)> = tables.iter().map(named).collect();
                filters.tables_are_wanted(tables.iter().map(|(database, table)| (database.as_str(), table.as_str())))
            }
            Subject::Other => true,
        }
    }

    /// The statement's current database; one that does not exist is none.
    fn enter(&mut self, name: &str) -> Result<()> {
        if name.is_empty() {
            self.session.leave_database();
            return Ok(());
        }
        match self.session.use_database(name) {
            Err(error) if error.is(&ER_BAD_DB_ERROR) => {
                self.session.leave_database();
                Ok(())
            }
            entered => entered,
        }
    }

    fn xa_statement(&mut self, query: &Query<'_>, place: &Place) -> Result<()> {
        let ends = |word: &[u8]| query.statement.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
        let done = self.session.apply_text(&query.statement);
        if let Err(error) = done {
            return Err(failed_statement(&error, query));
        }
        if ends(b"XA END") { Ok(()) } else { self.commit(place) }
    }

    fn xa_prepare(&mut self, prepare: &XaPrepare<'_>, place: &Place) -> Result<()> {
        let id = xa_id(&prepare.xid);
        let statement = if prepare.one_phase { format!("XA COMMIT {id} ONE PHASE") } else { format!("XA PREPARE {id}") };
        self.session.apply_text(statement.as_bytes())?;
        self.commit(place)
    }

    fn rows(&mut self, rows: &Rows<'_>, place: &Place) -> Result<()> {
        let table = self.source_table(&rows.table);
        if !self.channel.filters().table_is_wanted(&table.database, &table.name) {
            return Ok(());
        }
        self.session.begin_applying()?;
        let foreign_keys = rows.flags & rows_flags::NO_FOREIGN_KEY_CHECKS == 0;
        self.settings.set_flag(&mut self.session, "foreign_key_checks", foreign_keys)?;
        let mode = self.word("replica_exec_mode");
        let rules = ImageRules {
            idempotent: mode.eq_ignore_ascii_case("IDEMPOTENT"),
            // An applier that does not know where it will stop is strict: what does not fit is to be seen.
            convergent: mode.eq_ignore_ascii_case("CONVERGENT") && self.until != Until::Never,
            conversions: conversions(&self.server),
            cascades_are_logged: rows.flags & rows_flags::CASCADES_FOLLOW != 0,
        };
        let changes = |take: &mut dyn FnMut(vaquita_exec::dml::images::ImageChange) -> Result<()>| {
            for change in rows.changes() {
                take(image_change(change.map_err(damaged)?, &table))?;
            }
            Ok(())
        };
        self.session.apply_rows(&table, rules, &changes).map_err(|error| failed_rows(error, rows, &table, place))
    }

    fn source_table(&mut self, map: &Arc<TableMap>) -> Arc<SourceTable> {
        if let Some((known, table)) = self.tables.get(&map.id)
            && known == map
        {
            return table.clone();
        }
        let filters = self.channel.filters();
        let table = Arc::new(source_table(map, filters.rewritten(&String::from_utf8_lossy(&map.database))));
        self.tables.insert(map.id, (map.clone(), table.clone()));
        table
    }

    /// What the channel has applied when the transaction is, with its record.
    fn note(&self, place: &Place) -> (CommitNote, Applied) {
        let mut applied = match &self.group.applied {
            Some(applied) => applied.clone(),
            None => self.channel.applied(),
        };
        applied.file = place.file.to_string();
        applied.pos = place.end;
        match &self.transaction.name {
            Name::Gtid(gtid) => applied.executed.add(gtid.source, gtid.tag.clone(), (gtid.number, gtid.number)),
            Name::Maria(gtid) => {
                applied.domains.insert(gtid.domain, *gtid);
            }
            Name::None | Name::Anonymous => {}
        }
        (CommitNote::new(applied_key(&self.channel.name), applied.encode()), applied)
    }

    /// The end of a transaction that may be committed with those behind it.
    fn end_of_rows(&mut self, place: &Place) -> Result<()> {
        self.session.end_applied()?;
        let (_, applied) = self.note(place);
        let mut times = std::mem::take(&mut self.transaction.times);
        times.end_us = now_us();
        self.transaction = Transaction::default();
        self.group.applied = Some(applied);
        self.group.transactions += 1;
        self.group.last = times;
        self.alone = self.alone.saturating_sub(1);
        let is_full = self.group.transactions >= GROUP_MAX || self.group.bytes >= GROUP_BYTES;
        let ends = match (&self.until, &self.group.applied) {
            (Until::Never, _) => false,
            (Until::Source { file, pos }, Some(applied)) => has_come_to(applied, file, *pos),
            // UNTIL is asked behind each transaction.
            _ => true,
        };
        let commits = is_full || ends || self.alone > 0 || self.statements_come || self.session.in_branch();
        if commits { self.commit_group() } else { Ok(()) }
    }

    /// Commits what is applied with the position behind it.
    fn commit_group(&mut self) -> Result<()> {
        let Some(applied) = self.group.applied.clone() else { return Ok(()) };
        let note = CommitNote::new(applied_key(&self.channel.name), applied.encode());
        self.session.commit_noting(&note)?;
        let group = std::mem::take(&mut self.group);
        let begun = std::mem::take(&mut self.transaction);
        self.transaction.times = group.last;
        self.applied(applied);
        self.transaction = begun;
        Ok(())
    }

    /// A transaction that the source has undone: it has its place and its name. The group is before it.
    fn undo(&mut self, place: &Place) -> Result<()> {
        if self.group.transactions > 0 {
            // Its rows are in the same transaction here as those of the group.
            return Err(Error::new(&ER_LOCK_DEADLOCK, &[]));
        }
        self.session.undo_applying();
        self.commit(place)
    }

    fn is_noted(&self, place: &Place) -> bool {
        self.channel.with_applied(|applied| applied.pos == place.end && *applied.file == *place.file)
    }

    /// Commits what is open, the group included, with the position behind it.
    fn commit(&mut self, place: &Place) -> Result<()> {
        self.session.end_applied()?;
        let (note, applied) = self.note(place);
        self.session.commit_noting(&note)?;
        self.applied(applied);
        Ok(())
    }

    /// A transaction that was left out: its GTID was executed, or will not be.
    fn pass_by(&mut self, place: &Place) -> Result<()> {
        self.commit(place)
    }

    /// The transaction is durable.
    fn applied(&mut self, applied: Applied) {
        self.group = Group::default();
        let left = self.owned.subtract(&applied.executed);
        self.channel.note_applied(|known| *known = applied);
        self.server.replication.give_back(&self.owned.subtract(&left));
        self.owned = left;
        self.tell_ack();
        let mut status = self.channel.status.applier.lock();
        let mut times = std::mem::take(&mut self.transaction.times);
        times.end_us = now_us();
        status.alone.last_applied = times;
        status.alone.applying = TransactionTimes::default();
        status.alone.last_applied_retries = std::mem::take(&mut status.alone.applying_retries);
        drop(status);
        self.transaction = Transaction::default();
        self.retries = 0;
        self.client.begin_command("Query", None);
    }

    fn outcome(&self) -> Outcome {
        if self.until_has_come() { Outcome::Until } else { Outcome::GoOn }
    }

    fn until_has_come(&self) -> bool {
        match &self.until {
            Until::Source { file, pos } => self.channel.with_applied(|applied| has_come_to(applied, file, *pos)),
            Until::AfterGtids(set) => set.is_subset_of(&self.server.executed()),
            Until::Never | Until::BeforeGtids(_) | Until::Relay { .. } | Until::AfterGaps => false,
        }
    }

    /// `replica_skip_errors`.
    fn is_skipped_error(&self, error: &Error) -> bool {
        let skipped = self.word("replica_skip_errors");
        let code = error.code().to_string();
        skipped.eq_ignore_ascii_case("all") || skipped.split(',').any(|number| number.trim() == code)
    }

    /// The error with the transaction that met it.
    fn named(&self, error: Error, place: &Place) -> Error {
        tracing::error!(
            "replication channel '{}': transaction '{}' at {}:{}: {} {}",
            self.channel.name,
            shown(&self.transaction.name),
            place.file,
            place.end,
            error.code(),
            error.message()
        );
        error
    }

    fn fail(&self, error: &Error) {
        let told = ThreadError::new(error, now_us());
        let mut status = self.channel.status.applier.lock();
        status.alone.last_error = told.clone();
        status.last_error = told;
    }

    fn set_state(&self, state: &'static str) {
        self.client.set_state(state);
        self.channel.status.applier.lock().state = state.into();
    }

    fn number(&self, name: &str, otherwise: u64) -> u64 {
        match registry().find(name).map(|def| self.server.globals.get(def)) {
            Some(Value::UInt(n)) => n,
            Some(Value::Int(n)) => u64::try_from(n).unwrap_or(otherwise),
            _ => otherwise,
        }
    }

    fn word(&self, name: &str) -> String {
        match registry().find(name).map(|def| self.server.globals.get(def)) {
            Some(Value::Bytes(text)) => String::from_utf8_lossy(&text).into_owned(),
            _ => String::new(),
        }
    }
}

fn has_come_to(applied: &Applied, file: &str, pos: u64) -> bool {
    applied.pos != 0 && (applied.file.as_str(), applied.pos) >= (file, pos)
}

/// A statement that goes with the rows of its transaction.
fn is_of_savepoint(query: &Query<'_>) -> bool {
    ["SAVEPOINT ", "ROLLBACK TO ", "RELEASE "]
        .iter()
        .any(|word| query.statement.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word.as_bytes())))
}

fn damaged(error: BinlogError) -> Error {
    Error::new(&errors::RELAY_LOG_READ_FAILURE, &[&format!("the source has sent a damaged event: {error}")])
}

/// The error of a statement, as MySQL's status tells it.
fn failed_statement(error: &Error, query: &Query<'_>) -> Error {
    let shown = query.statement.get(..query.statement.len().min(SHOWN_STATEMENT_BYTES)).unwrap_or_default();
    let text = format!(
        "Error '{}' on query. Default database: '{}'. Query: '{}'",
        error.message(),
        String::from_utf8_lossy(query.database),
        String::from_utf8_lossy(shown),
    );
    error.clone().with_text(text)
}

/// The error of rows.
fn failed_rows(error: Error, rows: &Rows<'_>, table: &SourceTable, place: &Place) -> Error {
    let event = match rows.kind {
        RowsKind::Write => "Write_rows",
        RowsKind::Update => "Update_rows",
        RowsKind::Delete => "Delete_rows",
    };
    let handler = match error.code() {
        1032 => "; handler error HA_ERR_KEY_NOT_FOUND",
        1062 => "; handler error HA_ERR_FOUND_DUPP_KEY",
        1451 => "; handler error HA_ERR_ROW_IS_REFERENCED",
        1452 => "; handler error HA_ERR_NO_REFERENCED_ROW",
        1205 => "; handler error HA_ERR_LOCK_WAIT_TIMEOUT",
        1213 => "; handler error HA_ERR_LOCK_DEADLOCK",
        _ => "",
    };
    if error.code() == vaquita_exec::dml::images::REPLICA_CONVERSION_FAILED.code {
        return error;
    }
    let text = format!(
        "Could not execute {event} event on table {}.{}; {}, Error_code: {}{handler}; the event's source log {}, end_log_pos {}",
        table.database,
        table.name,
        error.message(),
        error.code(),
        place.file,
        place.end,
    );
    error.with_text(text)
}

/// Where a transaction comes from, as our log tells it.
fn origin(header: &Header, event: &Event<'_>) -> Origin {
    let (commit_us, version) = match event {
        Event::Gtid(gtid) => (
            gtid.original_commit_micros.or(gtid.immediate_commit_micros),
            gtid.original_server_version.or(gtid.immediate_server_version),
        ),
        _ => (None, None),
    };
    Origin { server_id: header.server_id, timestamp: header.timestamp, commit_us, version }
}
