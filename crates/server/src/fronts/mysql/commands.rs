//! The commands of a client that is logged in: packets to requests of its session, and what the session gives back to packets.
//!
//! What only the protocol knows of a prepared statement is kept here, by its id: the types that the client has bound, long data that came ahead,
//! and the values, whose memory the next execution uses again.

use rustc_hash::FxHashMap;
use vaquita_types::errno::ER_WRONG_ARGUMENTS;
use vaquita_types::{Error, Result, Value};
use vaquita_wire::caps::{client, cursor, mysql_type};
use vaquita_wire::commands::{Command, RegisterReplica};
use vaquita_wire::copy::CopyRequest;
use vaquita_wire::packet::PacketWriter;
use vaquita_wire::params::{Execute, ParamType, StatementParams};
use vaquita_wire::result::{
    OkPacket, put_column_definition, put_field_list_definition, put_ok, put_prepare_ok, put_protocol_error, put_result_set_end,
};

use super::dump::AskedDump;
use super::output::Output;
use super::reply::{definition, definition_of_parameter, encode_changes, put_definitions, put_eof_if_wanted, status_flags};
use vaquita_session::answer::{Flow, MakeWaiter, Request};
use vaquita_session::binary_log::RegisteredReplica;
use vaquita_session::counters::Counter;
use vaquita_session::session::PreparedShape;
use vaquita_session::session::{ClientOptions, Session};

/// What follows a command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Command,
    Parked,
    Close,
    /// COM_CHANGE_USER: the connection makes a new login.
    ChangeUser,
    /// A thread of its own serves the connection from here on, as `Commands::take_asked` says.
    Thread,
}

/// A session and what its client has agreed to.
pub struct Commands {
    pub session: Session,
    caps: u32,
    statements: FxHashMap<u32, ClientStatement>,
    asked: Option<Asked>,
}

/// What a thread of the connection's own does for it.
pub enum Asked {
    /// It sends the log.
    Dump(AskedDump),
    /// It makes a copy of the data, and sends it.
    Copy,
}

struct ClientStatement {
    params: StatementParams,
    values: Vec<Value>,
}

/// What a client's capabilities mean to its session.
pub fn client_options(caps: u32) -> ClientOptions {
    ClientOptions {
        found_rows: caps & client::FOUND_ROWS != 0,
        multi_statements: caps & client::MULTI_STATEMENTS != 0,
        multi_results: caps & client::MULTI_RESULTS != 0,
        out_parameters: caps & client::PS_MULTI_RESULTS != 0,
        local_files: caps & client::LOCAL_FILES != 0,
        ignore_space: caps & client::IGNORE_SPACE != 0,
    }
}

impl Commands {
    pub fn new(session: Session, caps: u32) -> Commands {
        Commands { session, caps, statements: FxHashMap::default(), asked: None }
    }

    pub fn caps(&self) -> u32 {
        self.caps
    }

    pub fn put_login_ok(&self, out: &mut PacketWriter) {
        let session_state = encode_changes(&self.session.take_changes());
        let ok = OkPacket { status: status_flags(self.session.status()), session_state: &session_state, ..OkPacket::default() };
        out.packet(|buffer| put_ok(buffer, self.caps, &ok));
    }

    /// Runs one command and writes its answer to `out`.
    pub fn command(&mut self, payload: &[u8], out: &mut Output<'_>, park: MakeWaiter<'_>) -> Next {
        let decoded = match Command::decode(payload, self.caps) {
            Ok(decoded) => decoded,
            Err(error) => {
                out.writer.packet(|buffer| put_protocol_error(buffer, error));
                return if error.closes_connection() { Next::Close } else { Next::Command };
            }
        };
        let mark = out.writer.mark();
        let flow = match decoded {
            Command::ChangeUser(_) => return Next::ChangeUser,
            Command::Query(query) => self.session.run(Request::Text(query.sql), out, park),
            Command::Execute(execute) => self.execute(&execute, out, park),
            Command::BinlogDump(dump) => {
                return self.ask_for_thread(Asked::Dump(AskedDump::of(&dump)), Session::may_read_the_log, out);
            }
            Command::Copy(CopyRequest::Begin) => return self.ask_for_thread(Asked::Copy, Session::may_back_up, out),
            other => self.do_at_once(other, out),
        };
        after(flow, mark, out)
    }

    /// The commit that the session waited for is over.
    pub fn resume(&mut self, result: Result<()>, out: &mut Output<'_>, park: MakeWaiter<'_>) -> Next {
        let mark = out.writer.mark();
        let flow = self.session.resume(result, out, park);
        after(flow, mark, out)
    }

    fn execute(&mut self, execute: &Execute<'_>, out: &mut Output<'_>, park: MakeWaiter<'_>) -> Flow {
        let id = execute.statement_id;
        let mut values: &[Value] = &[];
        let mut binaries = Vec::new();
        // One that is not here is not the session's either, which says so.
        if let Some(ClientStatement { params, values: read }) = self.statements.get_mut(&id) {
            let mut rebound = false;
            if let Err(error) = params.read(execute, self.caps, read, &mut rebound) {
                out.writer.packet(|buffer| put_protocol_error(buffer, error));
                return self.session.command(|session| {
                    let _ = session.close_cursor(id);
                    Flow::Next
                });
            }
            let types = params.types();
            let is_blob = |ty: &ParamType| (mysql_type::TINY_BLOB..=mysql_type::BLOB).contains(&ty.code);
            if types.iter().any(is_blob) {
                binaries = types.iter().map(is_blob).collect();
            }
            self.session.read_texts(read, |at| binaries.get(at) != Some(&true));
            values = read;
        }
        let request = Request::Prepared { id, values, binaries, cursor: execute.cursor & cursor::READ_ONLY != 0 };
        self.session.run(request, out, park)
    }

    fn ask_for_thread(&mut self, asked: Asked, may: impl FnOnce(&Session) -> Result<()>, out: &mut Output<'_>) -> Next {
        let mark = out.writer.mark();
        let mut allowed = None;
        let flow = self.session.command(|session| {
            match may(session) {
                Ok(()) => allowed = Some(asked),
                Err(error) => session.error(&error, out),
            }
            Flow::Next
        });
        self.asked = allowed;
        match after(flow, mark, out) {
            Next::Command if self.asked.is_some() => Next::Thread,
            next => next,
        }
    }

    /// What `Next::Thread` is about.
    pub fn take_asked(&mut self) -> Option<Asked> {
        self.asked.take()
    }

    /// Commands that run no statement.
    fn do_at_once(&mut self, command: Command<'_>, out: &mut Output<'_>) -> Flow {
        let Commands { session, caps, statements, .. } = self;
        session.command(|session| {
            match command {
                Command::Quit => {
                    session.log_command("Quit");
                    session.log_argument("Quit", b"");
                    session.quit();
                    return Flow::Close;
                }
                Command::Prepare { sql } => match session.prepare(sql) {
                    Ok(shape) => {
                        put_prepared(session, &shape, out);
                        let params = StatementParams::new(shape.parameters.len());
                        statements.insert(shape.id, ClientStatement { params, values: Vec::new() });
                    }
                    Err(error) => session.error(&error, out),
                },
                Command::SendLongData { statement_id, parameter, data } => {
                    session.log_command("Long Data");
                    let bytes_max = session.long_data_bytes_max();
                    if let Some(statement) = statements.get_mut(&statement_id) {
                        statement.params.append_long_data(parameter, data, bytes_max);
                    }
                }
                Command::CloseStatement { statement_id } => {
                    session.log_command("Close stmt");
                    session.log_argument("Close stmt", b"");
                    statements.remove(&statement_id);
                    session.close_statement(statement_id);
                }
                Command::ResetStatement { statement_id } => {
                    session.log_command("Reset stmt");
                    session.log_argument("Reset stmt", b"");
                    if let Some(statement) = statements.get_mut(&statement_id) {
                        statement.params.clear_long_data();
                    }
                    let reset = session.reset_statement(statement_id);
                    session.answer(reset, out);
                }
                Command::Fetch { statement_id, rows_max } => {
                    session.log_command("Fetch");
                    session.fetch(statement_id, rows_max, out);
                }
                Command::Ping => {
                    session.log_command("Ping");
                    session.count(Counter::AdminCommands, 1);
                    session.ok(out);
                }
                Command::InitDb { database } => {
                    session.log_command("Init DB");
                    let used = session.use_database(&String::from_utf8_lossy(database));
                    if used.is_ok() {
                        session.log_argument("Init DB", database);
                    }
                    session.answer(used, out);
                }
                Command::FieldList { table, wildcard } => {
                    session.log_command("Field List");
                    session.log_argument("Field List", &[table, b" ", wildcard].concat());
                    if let Err(error) = put_fields(session, table, wildcard, out) {
                        session.error(&error, out);
                    }
                }
                Command::Statistics => {
                    session.log_command("Statistics");
                    session.log_argument("Statistics", b"");
                    session.count(Counter::AdminCommands, 1);
                    let text = session.statistics();
                    out.writer.packet(|buffer| buffer.extend_from_slice(text.as_bytes()));
                }
                Command::Debug => {
                    session.log_command("Debug");
                    session.log_argument("Debug", b"");
                    session.count(Counter::AdminCommands, 1);
                    match session.log_statistics() {
                        Ok(()) => put_end(session, out),
                        Err(error) => session.error(&error, out),
                    }
                }
                Command::ProcessKill { connection_id } => {
                    session.log_command("Kill");
                    let killed = session.kill(u64::from(connection_id), false);
                    session.answer(killed, out);
                }
                Command::SetMultiStatements(on) => {
                    session.log_command("Set option");
                    *caps = if on { *caps | client::MULTI_STATEMENTS } else { *caps & !client::MULTI_STATEMENTS };
                    session.set_multi_statements(on);
                    put_end(session, out);
                }
                Command::ResetConnection => {
                    session.log_command("Reset Connection");
                    session.reset();
                    statements.clear();
                    session.ok(out);
                }
                Command::RegisterReplica(replica) => {
                    let registered = session.register_replica(registered(&replica));
                    session.answer(registered, out);
                }
                Command::Copy(_) => session.error(&Error::new(&ER_WRONG_ARGUMENTS, &[&"COM_CLONE"]), out),
                Command::Query(_) | Command::Execute(_) | Command::ChangeUser(_) | Command::BinlogDump(_) => {
                    session.error(&Error::internal("a command that is run elsewhere"), out);
                }
            }
            Flow::Next
        })
    }
}

fn registered(replica: &RegisterReplica<'_>) -> RegisteredReplica {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    RegisteredReplica {
        server_id: replica.server_id,
        host: text(replica.host),
        user: text(replica.user),
        password: text(replica.password),
        port: replica.port,
        source_id: replica.source_id,
        ..RegisteredReplica::default()
    }
}

/// A connection that was killed closes without an answer.
fn after(flow: Flow, mark: vaquita_wire::packet::Mark, out: &mut Output<'_>) -> Next {
    match flow {
        Flow::Next => Next::Command,
        Flow::Parked => Next::Parked,
        Flow::Close => Next::Close,
        Flow::Killed => {
            out.writer.rewind(mark);
            Next::Close
        }
    }
}

fn put_prepared(session: &Session, shape: &PreparedShape, out: &mut Output<'_>) {
    let (caps, status, charset) = (out.caps, session.status(), session.result_charset());
    let (columns, parameters, warnings) = (shape.columns.len(), shape.parameters.len(), session.warnings());
    out.writer.packet(|buffer| put_prepare_ok(buffer, caps, shape.id, columns as u16, parameters as u16, warnings));
    if parameters > 0 {
        for ty in &shape.parameters {
            out.writer.packet(|buffer| put_column_definition(buffer, &definition_of_parameter(ty.as_ref())));
        }
        put_eof_if_wanted(out, status);
    }
    if columns > 0 {
        put_definitions(out, &shape.columns, status, charset);
    }
}

fn put_fields(session: &mut Session, table: &[u8], wildcard: &[u8], out: &mut Output<'_>) -> Result<()> {
    let fields = session.list_fields(table, wildcard)?;
    let charset = session.result_charset();
    for (column, default) in &fields {
        let definition = definition(column, charset);
        out.writer.packet(|buffer| put_field_list_definition(buffer, &definition, default.as_deref().map(str::as_bytes)));
    }
    put_end(session, out);
    Ok(())
}

/// What MySQL sends behind rows, and as the whole answer to some commands.
fn put_end(session: &Session, out: &mut Output<'_>) {
    let caps = out.caps;
    let (status, warnings) = (status_flags(session.status()), session.warnings());
    let end = OkPacket { status, warnings, ..OkPacket::default() };
    out.writer.packet(|buffer| put_result_set_end(buffer, caps, &end));
}
