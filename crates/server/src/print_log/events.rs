//! The text of one event after the other.

use std::io::Write;

use vaquita_types::charset::{Collation, CollationId, charset};
use vaquita_types::gtid::GtidSet;
use vaquita_types::temporal::DateTime;
use vaquita_wire::binlog::info::{Dialect, info};
use vaquita_wire::binlog::{
    BinlogError, Decoder, Event, EventReader, FormatDescription, GtidEvent, Query, RawEvent, StatusVar, TransactionPayload,
    event_name, event_type, text,
};

/// What is to be printed.
pub struct Wanted<'a> {
    pub start: u64,
    pub stop: u64,
    pub include: Option<&'a GtidSet>,
    pub exclude: Option<&'a GtidSet>,
}

pub struct Printer<'a> {
    wanted: Wanted<'a>,
    decoder: Decoder,
    dialect: Dialect,
    /// The transaction is one that is wanted.
    in_wanted: bool,
}

/// The log is damaged; the outer error is that of the output.
type Outcome = std::io::Result<Result<(), BinlogError>>;

/// `?` for an error of the log.
macro_rules! read {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return Ok(Err(error)),
        }
    };
}

impl<'a> Printer<'a> {
    pub fn new(wanted: Wanted<'a>) -> Printer<'a> {
        let in_wanted = wanted.include.is_none();
        Printer { wanted, decoder: Decoder::default(), dialect: Dialect::MySql, in_wanted }
    }

    pub fn stop(&self) -> u64 {
        self.wanted.stop
    }

    pub fn print(&mut self, raw: &RawEvent<'_>, out: &mut dyn Write) -> Outcome {
        let event = read!(self.decoder.decode(raw));
        match &event {
            Event::FormatDescription(format) => self.dialect = dialect(format),
            Event::Gtid(GtidEvent { gtid: Some(gtid), .. }) => {
                let has = |set: &GtidSet| set.contains(gtid.source, &gtid.tag, gtid.number);
                self.in_wanted = self.wanted.include.is_none_or(has) && !self.wanted.exclude.is_some_and(has);
            }
            Event::Gtid(_) => self.in_wanted = self.wanted.include.is_none(),
            _ => {}
        }
        let of_log = matches!(event, Event::FormatDescription(_) | Event::PreviousGtids(_) | Event::Rotate(_) | Event::Stop);
        if raw.position < self.wanted.start || !(self.in_wanted || of_log) {
            // Errors of what is not printed count, too, and so do the tables that it describes.
            if let Event::TransactionPayload(payload) = &event {
                return self.payload(payload, None);
            }
            return Ok(Ok(()));
        }
        writeln!(out, "# at {}", raw.position)?;
        self.event(raw, &event, out)
    }

    fn event(&mut self, raw: &RawEvent<'_>, event: &Event<'_>, out: &mut dyn Write) -> Outcome {
        let header = &raw.header;
        let name = event_name(header.event_type).map_or_else(|| format!("type {}", header.event_type), str::to_string);
        let ends = match header.end_position {
            0 => String::new(),
            end => format!(" ends at {end}"),
        };
        writeln!(out, "# {} server {}{ends}: {name}", utc(u64::from(header.timestamp) * 1_000_000), header.server_id)?;
        let words = info(event, header, self.dialect);
        match event {
            Event::Rows(rows) => {
                writeln!(out, "# {}", String::from_utf8_lossy(&words))?;
                let mut changes = Vec::new();
                let outcome = text::put_rows(rows, &mut changes);
                out.write_all(&changes)?;
                return Ok(outcome);
            }
            Event::TransactionPayload(payload) => {
                writeln!(out, "# {}", String::from_utf8_lossy(&words))?;
                return self.payload(payload, Some(out));
            }
            Event::Gtid(gtid) => {
                writeln!(out, "# {}", gtid_facts(gtid))?;
                writeln!(out, "{};", String::from_utf8_lossy(&words))?;
            }
            Event::Query(query) => print_query(query, &words, out)?,
            Event::ExecuteLoadQuery(load) => print_query(&load.query, &words, out)?,
            Event::RowsQuery(_) => {
                for line in String::from_utf8_lossy(&words).lines() {
                    writeln!(out, "# {}", line.trim_start_matches("# "))?;
                }
            }
            Event::Xid(_) | Event::XaPrepare(_) => writeln!(out, "{};", String::from_utf8_lossy(&words))?,
            Event::UserVar(_) | Event::IntVar(_) => writeln!(out, "SET {};", assigned(header.event_type, &words))?,
            _ => {
                for line in String::from_utf8_lossy(&words).lines() {
                    writeln!(out, "# {line}")?;
                }
            }
        }
        Ok(Ok(()))
    }

    /// The events of a compressed transaction, or nothing but their errors.
    fn payload(&mut self, payload: &TransactionPayload<'_>, mut out: Option<&mut dyn Write>) -> Outcome {
        let (mut unpacker, mut reader) = (payload.unpacker(), EventReader::of_payload());
        while let Some(piece) = read!(unpacker.next_piece()) {
            reader.feed(piece);
            while let Some(raw) = read!(reader.next_event()) {
                let event = read!(self.decoder.decode(&raw));
                if let Some(out) = &mut out {
                    writeln!(out, "# unpacked, at {}", raw.position)?;
                    read!(self.event(&raw, &event, *out)?);
                }
            }
        }
        Ok(reader.end())
    }
}

fn dialect(format: &FormatDescription<'_>) -> Dialect {
    if format.is_mariadb() { Dialect::MariaDb } else { Dialect::MySql }
}

fn utc(micros: u64) -> String {
    let time = i64::try_from(micros).ok().and_then(DateTime::from_unix_micros);
    time.map_or_else(|| format!("{micros} µs since 1970"), |time| time.to_string())
}

fn assigned(code: u8, words: &[u8]) -> String {
    let words = String::from_utf8_lossy(words);
    if code == event_type::INTVAR { format!("@@SESSION.{words}") } else { words.into_owned() }
}

fn gtid_facts(event: &GtidEvent) -> String {
    let mut facts = format!("last_committed {}, sequence_number {}", event.last_committed, event.sequence_number);
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            facts += &format!(", {name} {value}");
        }
    };
    add("committed", event.immediate_commit_micros.map(utc));
    add("first committed", event.original_commit_micros.map(utc));
    add("bytes", event.transaction_bytes.map(|bytes| bytes.to_string()));
    add("server version", event.immediate_server_version.map(|version| version.to_string()));
    add("first server version", event.original_server_version.map(|version| version.to_string()));
    add("commit group ticket", event.commit_group_ticket.map(|ticket| ticket.to_string()));
    facts
}

fn print_query(query: &Query<'_>, words: &[u8], out: &mut dyn Write) -> std::io::Result<()> {
    let mut facts = format!("connection {}, seconds {}, error {}", query.connection, query.seconds, query.error);
    let mut client = CollationId::UTF8MB4_BIN;
    for var in query.status_vars().flatten() {
        if let StatusVar::Charset { client: id, .. } = var {
            client = CollationId(id);
        }
        if let Some(fact) = status_var(&var) {
            facts += ", ";
            facts += &fact;
        }
    }
    writeln!(out, "# {facts}")?;
    let statement = match Collation::by_id(client) {
        Some(_) => charset(client).convert(charset(CollationId::UTF8MB4_BIN), words).bytes,
        None => words.into(),
    };
    out.write_all(&statement)?;
    out.write_all(b";\n")
}

/// What a statement ran under, as far as it is not there for the server alone.
fn status_var(var: &StatusVar<'_>) -> Option<String> {
    let name = |id: u16| Collation::by_id(CollationId(id)).map_or_else(|| id.to_string(), |collation| collation.name.to_string());
    let lossy = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    Some(match *var {
        StatusVar::SqlMode(mode) => format!("sql_mode {mode:#x}"),
        StatusVar::Flags2(flags) => format!("flags {flags:#x}"),
        StatusVar::AutoIncrement { increment, offset } => format!("auto_increment {increment} from {offset}"),
        StatusVar::Charset { client, connection, server } => {
            format!("collations {} {} {}", name(client), name(connection), name(server))
        }
        StatusVar::TimeZone(zone) => format!("time_zone {}", lossy(zone)),
        StatusVar::LcTimeNames(number) => format!("lc_time_names {number}"),
        StatusVar::CharsetDatabase(id) => format!("collation_database {}", name(id)),
        StatusVar::Invoker { user, host } => format!("invoker {}@{}", lossy(user), lossy(host)),
        StatusVar::Microseconds(micros) | StatusVar::HrNow(micros) => format!("microseconds {micros}"),
        StatusVar::ExplicitDefaultsForTimestamp(on) => format!("explicit_defaults_for_timestamp {}", u8::from(on)),
        StatusVar::DefaultCollationForUtf8mb4(id) => format!("default_collation_for_utf8mb4 {}", name(id)),
        StatusVar::RequirePrimaryKey(on) => format!("sql_require_primary_key {}", u8::from(on)),
        StatusVar::DefaultTableEncryption(on) => format!("default_table_encryption {}", u8::from(on)),
        StatusVar::NativeForeignKeys(on) => format!("innodb_native_foreign_keys {}", u8::from(on)),
        StatusVar::CatalogNul(_)
        | StatusVar::Catalog(_)
        | StatusVar::TableMapForUpdate(_)
        | StatusVar::MasterDataWritten(_)
        | StatusVar::UpdatedDatabases(_)
        | StatusVar::DdlXid(_)
        | StatusVar::Xid(_)
        | StatusVar::GtidFlags { .. }
        | StatusVar::CharsetCollations(_) => return None,
    })
}
