//! The log as a stage of commits: what the leader of a group adds to its batch, and what becomes of a group.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use vaquita_storage::{
    Change, CommitRequest, Content, Family, GoOn, Held, LOG_PLACE, LogBuffer, LogError, Records, Stages, is_disk_full,
};
use vaquita_types::gtid::{Gtid, GtidSet};
use vaquita_types::{Error, Result};

use super::entries::{Control, Naming, Ready, ready};
use super::place::{FILES_END, Place, extent_key};
use super::start::pending_key;
use super::writer::{Group, Writer};
use super::{BinaryLog, elsewhere_key, render};
use vaquita_storage::now_us;

type Logged = (std::result::Result<(), LogError>, u64);

impl BinaryLog {
    /// Adds what the commits tell to the records of their group. `None`: they tell nothing.
    fn add(&self, commits: &[&CommitRequest], records: &mut Records) -> Result<Option<Added>> {
        self.semi_sync.logged(Place::default(), 0);
        if commits.iter().all(|commit| commit.log.is_empty()) {
            return Ok(None);
        }
        let mut leader = self.leader.lock();
        let Some(settings) = self.settings.get().filter(|_| self.is_open()) else { return Ok(None) };
        let (before, mut writer, mut added, mut reset) = (leader.writer.clone(), leader.writer.clone(), Vec::new(), false);
        let settings = settings.now();
        let mut group =
            Group { records, settings: &settings, executed: &mut leader.executed, added: &mut added, now_us: now_us() };
        writer.begin_group(&mut group)?;
        let (mut end, mut transactions, mut reports) = (writer.place, 0, Vec::new());
        for commit in commits {
            let mut follows = false;
            for unit in ready(&commit.log) {
                match unit? {
                    Ready::Unit(unit) => {
                        writer.add(&unit, follows, &mut group)?;
                        follows = true;
                        (end, transactions) = (writer.place, transactions + 1);
                        if unit.facts.report_to != 0 && unit.facts.naming != Naming::Anonymous {
                            reports.extend(group.added.last().map(|gtid| (unit.facts.report_to, gtid.clone())));
                        }
                    }
                    Ready::Control(Control::Rotate) => writer.rotate(&mut group)?,
                    Ready::Control(Control::Reset { first }) => {
                        self.remove_before(FILES_END)?;
                        *group.executed = GtidSet::default();
                        group.records.delete(Family::Catalog, &elsewhere_key());
                        group.added.clear();
                        (reset, transactions) = (true, 0);
                        writer.servers.clear();
                        writer.begin_file(first, 0, &mut group);
                    }
                }
            }
        }
        writer.end_group(&mut group)?;
        leader.writer = writer;
        Ok(Some(Added { before, added: added.iter().fold(GtidSet::default(), with), reset, end, transactions, reports }))
    }

    /// The group is written, or refused.
    fn settle(&self, added: &Added, written: bool) {
        let mut leader = self.leader.lock();
        if !written {
            leader.writer = added.before.clone();
            leader.executed = leader.executed.subtract(&added.added);
            return;
        }
        if !added.reports.is_empty() {
            let mut reported = self.reported.lock();
            for (connection, gtid) in &added.reports {
                reported.entry(*connection).or_default().add(gtid.source, gtid.tag.clone(), (gtid.number, gtid.number));
            }
        }
        if added.reset {
            self.hidden.lock().clear();
            self.semi_sync.reset();
        }
        self.semi_sync.logged(added.end, added.transactions);
        if self.semi_sync.holds() == Held::LocksAndWaiters {
            self.hidden.lock().push_back((added.end, added.added.clone()));
        }
        let mut published = self.published.lock();
        published.end = leader.writer.place;
        published.servers.clone_from(&leader.writer.servers);
        published.executed.union(&added.added);
        if added.reset {
            published.elsewhere = GtidSet::default();
            published.executed.clone_from(&leader.executed);
        }
        drop(published);
        self.tell_grown();
    }

    /// LOG-5.
    fn log_files(&self, commits: &[&CommitRequest], content: Content<'_>, sync: bool) -> Logged {
        let Content::Files { files, counters, records } = content else {
            return self.rocks.log(Change { commits, content }, sync);
        };
        let mut for_log = Records::with_capacity(0);
        let added = match self.add(commits, &mut for_log) {
            Ok(added) => added,
            Err(e) => return self.failed(&e),
        };
        if let Some(added) = &added {
            // A place comes again after RESET BINARY LOGS AND GTIDS, a time does not.
            let token = [&added.before.place.key()[..], &now_us().to_be_bytes()].concat();
            if let Err(e) = self.store_pending(&token, &mut for_log) {
                self.settle(added, false);
                return self.failed(&e);
            }
            counters.put(Family::Data, &LOG_PLACE, &token);
            records.append(&for_log);
            records.delete(Family::Catalog, &pending_key());
        }
        let (done, sequence) = self.rocks.log(Change { commits, content: Content::Files { files, counters, records } }, sync);
        if let Some(added) = &added {
            self.settle(added, done.is_ok());
        }
        (done, sequence)
    }

    /// Nothing of the group was written.
    fn failed(&self, error: &Error) -> Logged {
        let text = error.message().to_owned();
        let error = if is_disk_full(error) { LogError::NoSpace(text) } else { LogError::Unknown(text) };
        (Err(error), self.rocks.settled_sequence())
    }

    fn store_pending(&self, token: &[u8], for_log: &mut Records) -> Result<()> {
        let mut pending = Records::with_capacity(for_log.bytes());
        pending.put(Family::Catalog, &pending_key(), &[token, for_log.as_batch()].concat());
        self.store.write(pending.as_batch(), true)
    }
}

struct Added {
    before: Writer,
    added: GtidSet,
    /// RESET BINARY LOGS AND GTIDS is among it.
    reset: bool,
    /// Behind the last of its transactions.
    end: Place,
    transactions: u64,
    /// Who is told the GTID of its transaction.
    reports: Vec<(u32, Gtid)>,
}

fn with(mut set: GtidSet, gtid: &Gtid) -> GtidSet {
    set.add(gtid.source, gtid.tag.clone(), (gtid.number, gtid.number));
    set
}

impl render::Extents for BinaryLog {
    fn begin(&self) -> Result<u64> {
        Ok(self.next_extent.fetch_add(1, Ordering::Relaxed))
    }

    /// They mean nothing before their commit, which syncs them with the log.
    fn add(&self, extent: u64, at: u64, events: &[u8]) -> Result<()> {
        let mut records = Records::with_capacity(events.len() + 32);
        records.put(Family::Log, &extent_key(extent, at), events);
        self.store.write(records.as_batch(), false)
    }
}

impl Stages for BinaryLog {
    fn prepare(&self, told: &LogBuffer) -> Result<Vec<u8>> {
        render::prepare(told, self.now().row_event_bytes_max, self)
    }

    fn holds(&self) -> Held {
        self.semi_sync.holds()
    }

    fn hides(&self) -> bool {
        self.semi_sync.hides()
    }

    fn waits(&self) -> bool {
        self.semi_sync.waits()
    }

    /// `gtid_executed` has what readers see.
    fn hold(&self, go_on: GoOn) {
        let hidden = Arc::clone(&self.hidden);
        let last = hidden.lock().back().map(|(place, _)| *place);
        let show = Box::new(move || {
            (go_on.show)();
            let mut hidden = hidden.lock();
            while hidden.front().is_some_and(|(place, _)| Some(*place) <= last) {
                hidden.pop_front();
            }
        });
        self.semi_sync.hold(GoOn { show, end: go_on.end });
    }

    fn end(&self) {
        self.semi_sync.stop();
        if let Err(error) = self.stop() {
            tracing::error!("the end of the binary log cannot be written: {}", error.message());
        }
    }

    fn certify(&self, request: &CommitRequest) -> Result<()> {
        self.rocks.certify(request)
    }

    fn log(&self, change: Change<'_>, sync: bool) -> Logged {
        let Change { commits, content } = change;
        let Content::Batch(records) = content else { return self.log_files(commits, content, sync) };
        let added = match self.add(commits, records) {
            Ok(added) => added,
            Err(e) => return self.failed(&e),
        };
        let (done, sequence) = self.rocks.log(Change { commits, content: Content::Batch(records) }, sync);
        if let Some(added) = &added {
            self.settle(added, done.is_ok());
        }
        (done, sequence)
    }

    fn sync(&self) -> std::result::Result<(), LogError> {
        self.rocks.sync()
    }
}
