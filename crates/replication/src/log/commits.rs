//! What sessions tell the log of statements and commits, as entries.

use std::borrow::Cow;

use vaquita_exec::context::RowLog;
use vaquita_session::binary_log_commits::{CommitForm, CommitLog, GtidNext, LogSink, LoggedCommit, LoggedContext, LoggedQuery};
use vaquita_types::Result;
use vaquita_types::gtid::{Gtid, GtidSet, Tag};
use vaquita_wire::binlog::{Query, StatusVar, XaId, XaPrepare};

use super::BinaryLog;
use super::entries::{Facts, Naming, kind};

/// Bits of `Flags2` (OPTION_... of MySQL).
mod flags {
    pub const NOT_AUTOCOMMIT: u32 = 1 << 19;
    pub const NO_FOREIGN_KEY_CHECKS: u32 = 1 << 26;
    pub const RELAXED_UNIQUE_CHECKS: u32 = 1 << 27;
}

/// The catalog of all databases.
const CATALOG: &[u8] = b"std";
/// More names are not told (MAX_DBS_IN_EVENT_MTS).
const DATABASES_MAX: usize = 16;

impl CommitLog for BinaryLog {
    fn is_open(&self) -> bool {
        BinaryLog::is_open(self)
    }

    fn rows(&self) -> &dyn RowLog {
        &self.rows
    }

    fn full_metadata(&self) -> bool {
        self.now().full_metadata
    }

    fn query(&self, sink: &mut dyn LogSink, query: &LoggedQuery<'_>) -> Result<()> {
        let LoggedQuery { context, database, text, changed, invoker } = query;
        let mut vars = status_vars(context, true);
        if let Some((user, host)) = invoker {
            StatusVar::Invoker { user: user.as_bytes(), host: host.as_bytes() }.encode(&mut vars);
        }
        let names: Vec<u8> = changed.iter().flat_map(|name| name.bytes().chain([0])).collect();
        if !changed.is_empty() {
            StatusVar::UpdatedDatabases((changed.len() <= DATABASES_MAX).then_some(&names)).encode(&mut vars);
        }
        put_times(context, &mut vars);
        sink.put(kind::QUERY, &encoded(context, database, &vars, text))
    }

    fn commit(&self, sink: &mut dyn LogSink, commit: &LoggedCommit<'_>) -> Result<()> {
        let LoggedCommit { context, next, origin, form } = commit;
        let began = |text: &[u8]| {
            let mut vars = status_vars(context, false);
            put_times(context, &mut vars);
            encoded(context, "", &vars, text)
        };
        let mut has_statements = true;
        let begin = match form {
            CommitForm::Begin => {
                has_statements = false;
                began(b"BEGIN")
            }
            CommitForm::Statement => Vec::new(),
            CommitForm::Branch { xid, parts: (format, global, branch), one_phase } => {
                let end = format!("XA END {xid}");
                sink.put(kind::QUERY, &began(end.as_bytes()))?;
                let mut prepare = Vec::new();
                let id = XaId { format: *format, global, branch };
                XaPrepare { one_phase: *one_phase, xid: id }.encode(&mut prepare);
                sink.put(kind::XA_PREPARE, &prepare)?;
                began(format!("XA START {xid}").as_bytes())
            }
        };
        let settings = self.now();
        let own_timestamp = (context.began_us / 1_000_000) as u32;
        let facts = Facts {
            naming: match next {
                GtidNext::Automatic if settings.names_transactions => Naming::Automatic(Tag::default()),
                GtidNext::Tagged(tag) => Naming::Automatic(tag.clone()),
                GtidNext::Given(gtid) => Naming::Given(gtid.clone()),
                GtidNext::Automatic | GtidNext::Anonymous | GtidNext::Undefined => Naming::Anonymous,
            },
            timestamp: origin.map_or(own_timestamp, |origin| origin.timestamp),
            server_id: origin.map_or(settings.server_id, |origin| origin.server_id),
            has_statements,
            original_commit_us: origin.and_then(|origin| origin.commit_us),
            original_version: origin.and_then(|origin| origin.version),
            begin,
            compression: context.compression.unwrap_or(0),
            report_to: if context.reports { context.connection } else { 0 },
        };
        let mut content = Vec::with_capacity(64 + facts.begin.len());
        facts.encode(&mut content);
        sink.put(kind::COMMIT, &content)
    }

    fn executed(&self) -> GtidSet {
        BinaryLog::visible(self)
    }

    fn purged(&self) -> Result<GtidSet> {
        BinaryLog::purged(self)
    }

    fn add_executed(&self, gtids: &GtidSet) -> Result<()> {
        BinaryLog::add_executed(self, gtids)
    }

    fn take_reported(&self, connection: u64) -> GtidSet {
        self.reported.lock().remove(&(connection as u32)).unwrap_or_default()
    }

    fn has_executed(&self, gtid: &Gtid) -> bool {
        self.published.lock().executed.contains(gtid.source, &gtid.tag, gtid.number)
    }
}

fn encoded(context: &LoggedContext, database: &str, vars: &[u8], text: &[u8]) -> Vec<u8> {
    let mut data = Vec::with_capacity(64 + vars.len() + text.len());
    let query = Query {
        connection: context.connection,
        seconds: 0,
        error: 0,
        status_vars: vars,
        database: database.as_bytes(),
        statement: Cow::Borrowed(text),
    };
    query.encode(&mut data);
    data
}

/// In the order in which MySQL writes them.
fn status_vars(context: &LoggedContext, of_statement: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    let flag = |on: bool, flag: u32| if on { flag } else { 0 };
    let flags = flag(!context.autocommit, flags::NOT_AUTOCOMMIT)
        | flag(!context.foreign_key_checks, flags::NO_FOREIGN_KEY_CHECKS)
        | flag(!context.unique_checks, flags::RELAXED_UNIQUE_CHECKS);
    StatusVar::Flags2(flags).encode(&mut out);
    StatusVar::SqlMode(context.sql_mode).encode(&mut out);
    StatusVar::Catalog(CATALOG).encode(&mut out);
    let (increment, offset) = context.auto_increment;
    if of_statement && (increment, offset) != (1, 1) {
        StatusVar::AutoIncrement { increment: increment as u16, offset: offset as u16 }.encode(&mut out);
    }
    let [client, connection, server] = context.charsets;
    StatusVar::Charset { client, connection, server }.encode(&mut out);
    if let Some(zone) = &context.time_zone {
        StatusVar::TimeZone(zone.as_bytes()).encode(&mut out);
    }
    out
}

fn put_times(context: &LoggedContext, out: &mut Vec<u8>) {
    let micros = context.began_us.rem_euclid(1_000_000) as u32;
    if micros != 0 {
        StatusVar::Microseconds(micros).encode(out);
    }
    StatusVar::ExplicitDefaultsForTimestamp(true).encode(out);
    StatusVar::DefaultCollationForUtf8mb4(context.utf8mb4_collation).encode(out);
}
