//! One client connection: its bytes, its phase, its session.
//!
//! `run` is called by the pool whenever bytes may have arrived (or a parked session was resumed) and works
//! until nothing is left:
//! 1. `Transport::receive` fills the worker's buffer.
//! 2. `PacketReader` cuts packets out of it.
//! 3. In the connection phase `Login` consumes them, afterwards `Commands::command` does.
//! 4. Everything a command answers is collected in the worker's write buffer and sent at once.
//!
//! A command that waits for its commit group parks the connection: the rest of the input is kept in
//! `Body::pending`, the answer is written when the group is durable.

use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::Mutex;
use vaquita_storage::CommitWaiter;
use vaquita_types::errno::ER_CLIENT_INTERACTION_TIMEOUT;
use vaquita_types::{Error, Result, memory};
use vaquita_wire::error::ProtocolError;
use vaquita_wire::handshake::decode_change_user;
use vaquita_wire::packet::{PacketReader, PacketWriter, Payload, UNAUTHENTICATED_PAYLOAD_BYTES_MAX};
use vaquita_wire::result::{put_err, put_protocol_error};

use super::commands::{Asked, Commands, Next};
use super::copies::CopyConnection;
use super::dump::DumpConnection;
use super::front::Front;
use super::login::{Login, LoginStep, Origin};
use super::output::Output;
use super::own_thread::OwnThread;
use super::reply::Rows;
use super::transport::{Received, Transport};
use crate::pool::{Gate, Ran, Task, Worker};
use vaquita_session::answer::MakeWaiter;
use vaquita_session::counters::Counter;

pub struct Connection {
    gate: Gate,
    pub id: u64,
    front: Arc<Front>,
    body: Mutex<Body>,
    /// The outcome of the commit that this connection is parked for.
    commit_result: Mutex<Option<Result<()>>>,
    origin: Origin,
    /// The socket of a connection that has a thread of its own: KILL shuts it down, as the thread may wait for a client that does not read.
    own_socket: OnceLock<OwnedFd>,
    /// What other threads may see and do: processlist, KILL, time-outs.
    pub client: Arc<vaquita_session::clients::Client>,
}

struct Body {
    transport: Transport,
    reader: PacketReader,
    /// Input received behind a command that parked or that received by itself.
    pending: Vec<u8>,
    /// A command has received by itself: the socket's event may be used up.
    received_inside: bool,
    phase: Phase,
    /// Its own thread has served it, and nothing else follows.
    served: bool,
}

impl Body {
    /// The number of the first packet of an answer.
    fn answer_seq(&mut self) -> u8 {
        match self.transport.compression() {
            Some(compression) => compression.begin_answer(),
            None => self.reader.next_seq(),
        }
    }

    /// Error 1041 if what has arrived of a packet is more than the server has room for.
    fn ask_for_packet(&mut self) -> Result<()> {
        let packed = self.transport.compression().map_or(0, |compression| compression.held_bytes());
        memory::ask(self.reader.held_bytes() + packed)
    }

    /// The next packet must carry this number.
    fn expect_seq(&mut self, seq: u8) {
        self.reader.expect_seq(seq);
        if let Some(compression) = self.transport.compression() {
            compression.expect_seq(seq);
        }
    }
}

/// What writes an answer: a command, or the continuation of a parked one.
type Answer<'a> = &'a mut dyn FnMut(&mut Commands, &mut Output<'_>, MakeWaiter<'_>) -> Next;

enum Phase {
    Login(Box<Login>),
    Command(Box<Commands>),
    Closed,
}

impl Connection {
    pub fn new(
        front: Arc<Front>,
        transport: Transport,
        login: Login,
        seq: u8,
        client: Arc<vaquita_session::clients::Client>,
    ) -> Connection {
        let origin = login.origin().clone();
        let mut reader = PacketReader::new(UNAUTHENTICATED_PAYLOAD_BYTES_MAX);
        reader.expect_seq(seq);
        Connection {
            gate: Gate::default(),
            id: client.id,
            front,
            body: Mutex::new(Body {
                transport,
                reader,
                pending: Vec::new(),
                received_inside: false,
                phase: Phase::Login(Box::new(login)),
                served: false,
            }),
            commit_result: Mutex::new(None),
            origin,
            own_socket: OnceLock::new(),
            client,
        }
    }

    /// Hands the connection to the pool.
    pub fn register(self: &Arc<Self>) -> std::io::Result<()> {
        let body = self.body.lock();
        self.front.pool().add(self.clone(), body.transport.socket())
    }

    /// Whoever ends `client` wakes this connection.
    pub fn wakes(self: &Arc<Self>, client: &vaquita_session::clients::Client) {
        let connection = Arc::downgrade(self);
        client.set_waker(Box::new(move || {
            if let Some(connection) = connection.upgrade() {
                connection.poke();
            }
        }));
    }

    /// Makes a pool thread look at this connection now.
    fn poke(self: Arc<Self>) {
        if let Some(socket) = self.own_socket.get().filter(|_| self.client.must_close()) {
            let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Both);
        }
        let pool = self.front.pool().clone();
        pool.poke(self);
    }

    /// The commit that this connection waits for is over; called by the thread that completed the group.
    pub fn commit_done(self: Arc<Self>, result: Result<()>) {
        *self.commit_result.lock() = Some(result);
        let pool = self.front.pool().clone();
        pool.push(self);
    }

    fn process(self: &Arc<Self>, body: &mut Body, input: &[u8], write_buffer: &mut Vec<u8>) -> Step {
        let mut step = self.consume(body, input, write_buffer);
        // A command that receives by itself may have received more than was its own.
        while matches!(step, Step::NeedInput) && !body.pending.is_empty() {
            let pending = std::mem::take(&mut body.pending);
            step = self.consume(body, &pending, write_buffer);
        }
        step
    }

    fn consume(self: &Arc<Self>, body: &mut Body, input: &[u8], write_buffer: &mut Vec<u8>) -> Step {
        let mut rest = input;
        loop {
            let payload = match body.reader.next(&mut rest) {
                Ok(Some(payload)) => payload,
                Ok(None) => return Step::NeedInput,
                Err(error) => return self.protocol_error(body, error, write_buffer),
            };
            let step = match &mut body.phase {
                Phase::Login(_) => self.login(body, &payload, &mut rest, write_buffer),
                Phase::Command(_) => self.command(body, payload, &mut rest, write_buffer),
                Phase::Closed => Step::Close,
            };
            match step {
                Step::NeedInput => {}
                Step::Parked => {
                    body.pending.extend_from_slice(rest);
                    return Step::Parked;
                }
                Step::Close => return Step::Close,
            }
        }
    }

    fn protocol_error(&self, body: &mut Body, error: ProtocolError, write_buffer: &mut Vec<u8>) -> Step {
        let mut writer = PacketWriter::with_buffer(std::mem::take(write_buffer), body.answer_seq());
        writer.packet(|out| put_protocol_error(out, error));
        let _ = body.transport.send(writer.bytes(), &|wait| wait());
        Step::Close
    }

    fn login(self: &Arc<Self>, body: &mut Body, payload: &[u8], rest: &mut &[u8], write_buffer: &mut Vec<u8>) -> Step {
        let mut writer = PacketWriter::with_buffer(std::mem::take(write_buffer), body.answer_seq());
        let Phase::Login(login) = &mut body.phase else { return Step::Close };
        let step = login.packet(&self.front, &self.client, &body.transport, payload, &mut writer);
        self.login_step(body, step, writer, rest, write_buffer)
    }

    /// Sends what the login answered and goes on as it says.
    fn login_step(
        &self,
        body: &mut Body,
        step: LoginStep,
        writer: PacketWriter,
        rest: &mut &[u8],
        write_buffer: &mut Vec<u8>,
    ) -> Step {
        let sent = body.transport.send(writer.bytes(), &|wait| self.front.pool().blocking(wait));
        body.expect_seq(writer.seq());
        *write_buffer = writer.into_buffer();
        write_buffer.clear();
        if sent.is_err() {
            return Step::Close;
        }
        match step {
            LoginStep::More => Step::NeedInput,
            LoginStep::StartTls => {
                let early = std::mem::take(rest);
                match self.front.tls_config().map(|config| body.transport.start_tls(&config, early)) {
                    Some(Ok(())) => Step::NeedInput,
                    _ => Step::Close,
                }
            }
            LoginStep::Done(commands, algorithm) => {
                body.reader.set_payload_bytes_max(commands.session.max_allowed_packet());
                if let Some(algorithm) = algorithm.filter(|_| body.transport.compression().is_none()) {
                    body.transport.start_compression(algorithm, std::mem::take(rest));
                    body.reader.ignore_inner_seq();
                }
                body.expect_seq(0);
                body.phase = Phase::Command(commands);
                Step::NeedInput
            }
            LoginStep::Refused => Step::Close,
        }
    }

    fn command(self: &Arc<Self>, body: &mut Body, payload: Payload<'_>, rest: &mut &[u8], write_buffer: &mut Vec<u8>) -> Step {
        let mut run =
            |commands: &mut Commands, output: &mut Output<'_>, park: MakeWaiter<'_>| commands.command(&payload, output, park);
        self.answer(body, rest, write_buffer, &mut run, Some(&payload))
    }

    /// Lets the session answer and sends what it wrote. A panic ends this session and nothing else.
    fn answer(
        self: &Arc<Self>,
        body: &mut Body,
        rest: &mut &[u8],
        write_buffer: &mut Vec<u8>,
        run: Answer<'_>,
        payload: Option<&[u8]>,
    ) -> Step {
        let seq = body.answer_seq();
        let Phase::Command(commands) = &mut body.phase else { return Step::Close };
        let writer = PacketWriter::with_buffer(std::mem::take(write_buffer), seq);
        let mut output = Output {
            try_began: writer.mark(),
            writer,
            transport: &mut body.transport,
            reader: &mut body.reader,
            rest,
            pending: &mut body.pending,
            received_inside: &mut body.received_inside,
            front: &self.front,
            caps: commands.caps(),
            client: &self.client,
            broken: false,
            rows: Rows::default(),
            sent: false,
        };
        let connection = self.clone();
        let mut parked = false;
        let mut park = || -> CommitWaiter {
            parked = true;
            crate::pool::park(&connection.gate);
            let connection = connection.clone();
            Box::new(move |result| connection.commit_done(result))
        };
        let ran = catch_unwind(AssertUnwindSafe(|| run(commands, &mut output, &mut park)));
        let flow = match ran {
            Ok(flow) => flow,
            Err(_) if parked => {
                // The commit's owner has the connection now; it will find the session broken.
                tracing::error!(connection = self.id, "a statement panicked while its commit waited");
                self.client.kill(true);
                Next::Parked
            }
            Err(_) => {
                tracing::error!(connection = self.id, "a statement panicked; its session is closed");
                output.writer.cancel_packet();
                output.put_error(&Error::internal("the statement failed in an unforeseen way; the server's log has more"));
                Next::Close
            }
        };
        if let Next::ChangeUser = flow {
            *write_buffer = output.writer.into_buffer();
            return self.change_user(body, payload.unwrap_or_default(), seq, write_buffer);
        }
        if let Next::Thread = flow {
            let asked = commands.take_asked();
            *write_buffer = output.writer.into_buffer();
            return self.start_thread(body, asked, seq, write_buffer);
        }
        *rest = rest.get(rest.len() - output.rest.len()..).unwrap_or_default();
        finish(flow, output, write_buffer)
    }

    /// Gives the connection to a thread of its own.
    fn start_thread(self: &Arc<Self>, body: &mut Body, asked: Option<Asked>, seq: u8, write_buffer: &mut Vec<u8>) -> Step {
        let connection = self.clone();
        let socket = body.transport.socket().try_clone_to_owned();
        let name = if matches!(asked, Some(Asked::Copy)) { "copy" } else { "dump" };
        let started = socket.and_then(|socket| {
            let _ = self.own_socket.set(socket);
            // It waits until this thread lets go of `body`, and so begins after the connection is parked.
            std::thread::Builder::new().name(name.into()).spawn(move || connection.serve_alone(asked, seq))
        });
        if let Err(error) = started {
            let error = Error::internal(format_args!("no thread can be made for the connection: {error}"));
            let mut writer = PacketWriter::with_buffer(std::mem::take(write_buffer), seq);
            writer.packet(|out| put_err(out, error.code(), error.sqlstate(), error.message()));
            let _ = body.transport.send(writer.bytes(), &|wait| self.front.pool().blocking(wait));
            return Step::Close;
        }
        crate::pool::park(&self.gate);
        Step::Parked
    }

    fn serve_alone(self: Arc<Self>, asked: Option<Asked>, seq: u8) {
        let mut body = self.body.lock();
        let Body { transport, phase, served, .. } = &mut *body;
        if let (Some(asked), Phase::Command(commands)) = (asked, phase) {
            let session = &commands.session;
            let own = OwnThread::new(transport, &self.front, &self.client, &self.gate, seq);
            let ran = catch_unwind(AssertUnwindSafe(|| match asked {
                Asked::Dump(dump) => DumpConnection::new(own).run(&dump, session),
                Asked::Copy => CopyConnection::new(own).run(session),
            }));
            if ran.is_err() {
                tracing::error!(connection = self.id, "the connection's own thread panicked; the connection is closed");
            }
        }
        *served = true;
        drop(body);
        self.front.pool().clone().resume(self);
    }

    /// COM_CHANGE_USER: the session ends, and a login begins with a fresh nonce.
    fn change_user(self: &Arc<Self>, body: &mut Body, payload: &[u8], seq: u8, write_buffer: &mut Vec<u8>) -> Step {
        let Phase::Command(commands) = &mut body.phase else { return Step::Close };
        let caps = commands.caps();
        let change = match decode_change_user(payload.get(1..).unwrap_or_default(), caps) {
            Ok(change) => change,
            Err(error) => return self.protocol_error(body, error, write_buffer),
        };
        commands.session.close();
        self.client.set_database(None);
        self.client.counters.flush();
        let mut writer = PacketWriter::with_buffer(std::mem::take(write_buffer), seq);
        let (login, step) =
            Login::change_user(&self.origin, &self.front, &self.client, &body.transport, caps, &change, &mut writer);
        body.phase = Phase::Login(Box::new(login));
        self.login_step(body, step, writer, &mut &[][..], write_buffer)
    }

    /// Writes the answer of a command whose commit is over.
    fn resume(self: &Arc<Self>, body: &mut Body, result: Result<()>, write_buffer: &mut Vec<u8>) -> Step {
        let mut run = |commands: &mut Commands, output: &mut Output<'_>, park: MakeWaiter<'_>| {
            commands.resume(result.clone(), output, park)
        };
        self.answer(body, &mut &[][..], write_buffer, &mut run, None)
    }

    /// Error 4031, numbered as the answer to a command that was not sent.
    fn say_timed_out(&self, body: &mut Body) {
        body.expect_seq(0);
        self.refuse(body, &Error::new(&ER_CLIENT_INTERACTION_TIMEOUT, &[]));
    }

    /// The last words before the connection is closed.
    fn refuse(&self, body: &mut Body, error: &Error) {
        let mut writer = PacketWriter::with_buffer(Vec::new(), body.answer_seq());
        writer.packet(|out| put_err(out, error.code(), error.sqlstate(), error.message()));
        let _ = body.transport.send(writer.bytes(), &|wait| self.front.pool().blocking(wait));
    }

    fn work(self: &Arc<Self>, body: &mut Body, worker: &mut Worker) -> Step {
        if body.served {
            return Step::Close;
        }
        if let Some(result) = self.commit_result.lock().take() {
            match self.resume(body, result, &mut worker.write_buffer) {
                Step::NeedInput => {}
                other => return other,
            }
            if !body.pending.is_empty() {
                let pending = std::mem::take(&mut body.pending);
                match self.process(body, &pending, &mut worker.write_buffer) {
                    Step::NeedInput => {}
                    other => return other,
                }
            }
        }
        loop {
            if self.client.must_close() {
                if self.client.timed_out() {
                    self.say_timed_out(body);
                }
                return Step::Close;
            }
            match body.transport.receive(&mut worker.read_buffer) {
                Ok(Received::Bytes(n)) => {
                    self.client.counters.add(Counter::BytesReceived, n as u64);
                    self.client.waits_for_login();
                    let full = n == worker.read_buffer.len();
                    let buffer = std::mem::take(&mut worker.read_buffer);
                    let step = self.process(body, &buffer[..n], &mut worker.write_buffer);
                    worker.read_buffer = buffer;
                    self.client.waits_for_login();
                    if matches!(step, Step::NeedInput)
                        && let Err(error) = body.ask_for_packet()
                    {
                        self.refuse(body, &error);
                        return Step::Close;
                    }
                    match step {
                        // The socket is edge-triggered: a short read has emptied it, later bytes make a new event. So does the end,
                        // but for one that came with the bytes, which the event has told.
                        Step::NeedInput if std::mem::take(&mut body.received_inside) => {}
                        Step::NeedInput if !full && !body.transport.is_layered() && !self.gate.hung_up() => {
                            return Step::NeedInput;
                        }
                        Step::NeedInput => {}
                        other => return other,
                    }
                }
                Ok(Received::Later) if self.client.is_overdue() => return Step::Close,
                Ok(Received::Later) => return Step::NeedInput,
                Ok(Received::Closed) | Err(_) => return Step::Close,
            }
        }
    }
}

fn finish(flow: Next, mut output: Output<'_>, write_buffer: &mut Vec<u8>) -> Step {
    let step = match flow {
        Next::Parked => {
            // The commit's owner may be running this connection's next step already: touch nothing but the buffer.
            *write_buffer = output.writer.into_buffer();
            return Step::Parked;
        }
        Next::Command => Step::NeedInput,
        Next::Close | Next::ChangeUser | Next::Thread => Step::Close,
    };
    if !output.writer.is_empty() && output.flush().is_err() {
        return Step::Close;
    }
    let broken = output.broken;
    let output_transport = output.transport;
    *write_buffer = output.writer.into_buffer();
    write_buffer.clear();
    output.reader.expect_seq(0);
    if let Some(compression) = output_transport.compression() {
        compression.expect_seq(0);
    }
    if broken { Step::Close } else { step }
}

enum Step {
    NeedInput,
    Parked,
    Close,
}

impl Task for Connection {
    fn run(self: Arc<Self>, worker: &mut Worker) -> Ran {
        let mut body = self.body.lock();
        self.client.touch(Instant::now());
        match self.work(&mut body, worker) {
            Step::NeedInput => Ran::Idle,
            Step::Parked => Ran::Parked,
            Step::Close => {
                if let Phase::Command(commands) = &mut body.phase {
                    // After a panic its transaction may be in any state.
                    let _ = catch_unwind(AssertUnwindSafe(|| commands.session.close()));
                }
                body.phase = Phase::Closed;
                body.transport.shutdown();
                Ran::Closed
            }
        }
    }

    fn gate(&self) -> &Gate {
        &self.gate
    }

    fn hold(&self, held: bool) {
        if held {
            self.client.interrupt.hold();
        } else {
            self.client.interrupt.go();
        }
    }

    fn hung_up(&self) {
        self.client.hung_up();
        self.front.server.clients().note_abandoned();
    }

    fn closed(&self) {
        self.front.server.clients().remove(self.id);
    }
}
