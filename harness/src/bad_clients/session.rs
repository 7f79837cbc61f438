//! One session: a login by one of several methods, then one traffic, with what its plan does to them.
//!
//! ```text
//! GREETING -> LOGIN -> COMMANDS -> ENDING -> over
//! ```
//! The login answers what the server says, since proofs need its nonce. If the server says something else than a good client
//! hears, the session goes on with its commands nevertheless. Whoever has waited in vain (`impatient`) says all the rest at once, then ends.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

use rustix::event::epoll;
use vaquita_wire::caps::client as cap;
use vaquita_wire::codec::Bytes;
use vaquita_wire::compress::{Algorithm, CompressedReader, CompressedWriter, Workspace};
use vaquita_wire::handshake::{
    ConnectAttributes, HandshakeResponse, NONCE_BYTES, decode_greeting, put_handshake_response, put_ssl_request,
};
use vaquita_wire::packet::{PacketReader, PacketWriter};
use vaquita_wire::proof::{caching_sha2_proof, native_proof};

use super::channel::{Channel, Heard};
use super::mutation::{Ending, Fate, Level, Plan, change};
use super::traffic::{CHARSET, DATABASE, LAST_WORDS, Traffic};
use crate::client::seal;
use crate::random::Random;

const CAPS: u32 = cap::LONG_PASSWORD
    | cap::PROTOCOL_41
    | cap::SECURE_CONNECTION
    | cap::PLUGIN_AUTH
    | cap::PLUGIN_AUTH_LENENC_CLIENT_DATA
    | cap::CONNECT_WITH_DB
    | cap::CONNECT_ATTRS
    | cap::TRANSACTIONS
    | cap::MULTI_RESULTS
    | cap::MULTI_STATEMENTS
    | cap::LOCAL_FILES;
const PACKET_BYTES_MAX: u32 = 1 << 24;
/// Of units that the login may take: the request of TLS, the response, a switch or a key, a password.
const LOGIN_UNITS: usize = 4;
/// An ERR packet of error 1815, behind its header: something that the server did not foresee.
const INTERNAL_ERROR: &[u8] = b"\xff\x17\x07#HY000";
const HEARD_BYTES_KEPT: usize = 1 << 16;

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::default();
}

/// Which account, and how it proves itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Without a password.
    Trusting,
    /// Names the account's plugin at once.
    Native,
    /// Names another plugin, and is told to switch.
    NativeSwitched,
    Sha2,
    /// A wrong password, which has to be told in full: in TLS, or sealed for the server's key.
    Wrong,
}

/// All that sessions share.
pub struct World {
    pub port: u16,
    pub seed: u64,
    pub traffic: Vec<Traffic>,
    pub tls: Arc<rustls::ClientConfig>,
}

/// What kind of session it is.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub method: Method,
    pub tls: bool,
    pub compression: Option<Algorithm>,
    /// The place of its traffic.
    pub traffic: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Greeting,
    Login,
    Commands,
    Ending,
}

/// Whether the session goes on.
pub type Over = bool;

pub struct Session {
    pub number: u64,
    pub channel: Channel,
    pub kind: Kind,
    pub good: bool,
    pub logged_in: bool,
    /// The server has closed first.
    pub server_ended: bool,
    pub connection_id: u32,
    pub begun: Instant,
    pub progress: Instant,
    /// What epoll is asked for.
    pub wants: epoll::EventFlags,
    /// What must not have been heard.
    pub fault: Option<String>,
    plan: Plan,
    random: Random,
    phase: Phase,
    reader: PacketReader,
    nonce: [u8; NONCE_BYTES],
    /// The server's plaintext: of the login what is not decoded yet, of commands the last.
    heard: Vec<u8>,
    /// Units said, of the login too.
    said: usize,
    /// Of the traffic's.
    next: usize,
    unanswered: bool,
    compressing: bool,
    swapped: Option<Vec<u8>>,
    hurried: bool,
}

impl Session {
    pub fn begin(world: &World, number: u64, good: bool, kind: Option<Kind>) -> std::io::Result<Session> {
        let mut random = Random::new(world.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let kind = kind.unwrap_or_else(|| draw_kind(world, &mut random));
        let units = world.traffic[kind.traffic].units.len() + LOGIN_UNITS;
        let plan = if good { Plan::good() } else { Plan::draw(&mut random, units) };
        let now = Instant::now();
        Ok(Session {
            number,
            channel: Channel::connect(number, world.port, &plan)?,
            kind,
            good,
            logged_in: false,
            server_ended: false,
            connection_id: 0,
            begun: now,
            progress: now,
            wants: epoll::EventFlags::IN,
            fault: None,
            plan,
            random,
            phase: Phase::Greeting,
            reader: PacketReader::new(1 << 20),
            nonce: [0; NONCE_BYTES],
            heard: Vec::new(),
            said: 0,
            next: 0,
            unanswered: false,
            compressing: false,
            swapped: None,
            hurried: false,
        })
    }

    /// It waits for the server to close, for as long as that takes.
    pub fn waits_for_end(&self) -> bool {
        self.phase == Phase::Ending && self.plan.ending == Ending::HalfClose
    }

    pub fn reads(&self) -> bool {
        !self.plan.deaf || matches!(self.phase, Phase::Greeting | Phase::Login) || self.waits_for_end()
    }

    /// Bytes may have come or may go.
    pub fn turn(&mut self, world: &World, buffer: &mut [u8]) -> Over {
        if self.reads() {
            let before = self.heard.len();
            match self.channel.receive(buffer, &mut self.heard) {
                Heard::End => {
                    self.server_ended = true;
                    return true;
                }
                Heard::Nothing => {}
                Heard::Bytes => {
                    self.progress = Instant::now();
                    self.hear(world, before);
                }
            }
        }
        self.go_on(world)
    }

    /// Nothing has happened for a while.
    pub fn impatient(&mut self, world: &World) -> Over {
        self.progress = Instant::now();
        if self.good || self.waits_for_end() {
            return false;
        }
        if self.hurried || matches!(self.phase, Phase::Greeting | Phase::Ending) {
            return self.end();
        }
        self.hurried = true;
        self.phase = Phase::Commands;
        self.go_on(world)
    }

    fn hear(&mut self, world: &World, before: usize) {
        match self.phase {
            Phase::Greeting => self.greeting(world),
            Phase::Login => self.login(world),
            Phase::Commands | Phase::Ending => {
                let new = self.heard.get(before..).unwrap_or_default();
                if !self.compressing && new.get(4..).is_some_and(|packet| packet.starts_with(INTERNAL_ERROR)) {
                    self.fault = Some(format!("an internal error: {}", new.get(4..).unwrap_or_default().escape_ascii()));
                }
                self.unanswered = false;
                if !self.good {
                    self.heard.clear();
                } else if self.heard.len() > 2 * HEARD_BYTES_KEPT && !self.compressing {
                    self.heard.drain(..self.heard.len() - HEARD_BYTES_KEPT);
                }
            }
        }
    }

    fn packet(&mut self) -> Option<Vec<u8>> {
        let mut rest = &self.heard[..];
        let packet = self.reader.next(&mut rest).ok()?.map(|packet| packet.to_vec());
        let used = self.heard.len() - rest.len();
        self.heard.drain(..used);
        packet
    }

    fn greeting(&mut self, world: &World) {
        let Some(packet) = self.packet() else { return };
        let Ok(hello) = decode_greeting(&packet) else {
            self.fault = Some(format!("instead of a greeting: {}", packet.escape_ascii()));
            return;
        };
        self.nonce = hello.nonce;
        self.connection_id = hello.connection_id;
        self.phase = Phase::Login;
        let mut caps = CAPS | if self.random.one_in(2) { cap::DEPRECATE_EOF } else { 0 };
        let mut zstd_level = 0;
        match self.kind.compression {
            Some(Algorithm::Zlib) => caps |= cap::COMPRESS,
            Some(Algorithm::Zstd { level }) => {
                caps |= cap::ZSTD_COMPRESSION_ALGORITHM;
                zstd_level = level;
            }
            None => {}
        }
        if self.kind.tls {
            caps |= cap::SSL;
            self.answer(world, |out| put_ssl_request(out, caps, PACKET_BYTES_MAX, CHARSET));
            self.channel.start_tls(&world.tls);
        }
        let native = native_proof(b"secret", &self.nonce);
        let sha2 = caching_sha2_proof(if self.kind.method == Method::Wrong { b"wrong" } else { b"secret" }, &self.nonce);
        let (user, plugin, proof): (&[u8], &[u8], &[u8]) = match self.kind.method {
            Method::Trusting => (b"trusting", b"caching_sha2_password", &[]),
            Method::Native => (b"native", b"mysql_native_password", &native),
            Method::NativeSwitched => (b"native", b"caching_sha2_password", &sha2),
            Method::Sha2 | Method::Wrong => (b"sha2", b"caching_sha2_password", &sha2),
        };
        let response = HandshakeResponse {
            capabilities: caps,
            packet_bytes_max: PACKET_BYTES_MAX,
            charset: CHARSET,
            user,
            auth_response: proof,
            database: Some(DATABASE.as_bytes()),
            auth_plugin: Some(plugin),
            attributes: ConnectAttributes::default(),
            zstd_level,
        };
        let attributes: [(&[u8], &[u8]); 2] = [(b"program_name", b"a bad client"), (b"_os", b"any")];
        self.answer(world, |out| put_handshake_response(out, &response, &attributes));
    }

    fn login(&mut self, world: &World) {
        while let (Phase::Login, Some(packet)) = (self.phase, self.packet()) {
            match packet.split_first() {
                Some((0, _)) => {
                    self.logged_in = true;
                    self.compressing = self.kind.compression.is_some();
                    self.phase = Phase::Commands;
                }
                Some((0xfe, rest)) => {
                    let mut bytes = Bytes::new(rest);
                    let plugin = bytes.nul_bytes().unwrap_or_default().to_vec();
                    self.nonce = bytes.array().unwrap_or_default();
                    let native = plugin == b"mysql_native_password";
                    let nonce = self.nonce;
                    match self.kind.method {
                        Method::Trusting => self.answer(world, |_| {}),
                        _ if native => self.answer(world, |out| out.extend_from_slice(&native_proof(b"secret", &nonce))),
                        _ => self.answer(world, |out| out.extend_from_slice(&caching_sha2_proof(b"secret", &nonce))),
                    }
                }
                Some((1, [3])) => {}
                Some((1, [4])) if self.channel.has_tls() => {
                    let password: &[u8] = if self.kind.method == Method::Wrong { b"wrong\0" } else { b"secret\0" };
                    self.answer(world, |out| out.extend_from_slice(password));
                }
                Some((1, [4])) => self.answer(world, |out| out.push(2)),
                Some((1, pem)) => {
                    let password = if self.kind.method == Method::Wrong { "wrong" } else { "secret" };
                    let sealed = seal(pem, password, &self.nonce).unwrap_or_default();
                    self.answer(world, |out| out.extend_from_slice(&sealed));
                }
                // Refused: the server closes.
                _ => self.phase = Phase::Commands,
            }
        }
    }

    /// Says a packet of the login.
    fn answer(&mut self, world: &World, fill: impl FnOnce(&mut Vec<u8>)) {
        let mut writer = PacketWriter::new();
        writer.set_seq(self.reader.next_seq());
        writer.packet(fill);
        self.reader.expect_seq(writer.seq());
        self.say(world, writer.bytes().to_vec(), None);
    }

    /// Says one unit, to which is done what the plan has for it; `seq` is a frame's.
    fn say(&mut self, world: &World, mut bytes: Vec<u8>, seq: Option<u8>) {
        let unit = self.said;
        self.said += 1;
        if self.phase == Phase::Ending {
            return;
        }
        for _ in 0..self.plan.changes(unit, Level::Packets) {
            change(&mut self.random, &mut bytes, &world.traffic);
        }
        if let (true, Some(algorithm)) = (self.compressing, self.kind.compression) {
            let mut frames = Vec::new();
            let mut writer = CompressedWriter::new(algorithm);
            writer.set_seq(seq.unwrap_or(0));
            WORKSPACE.with_borrow_mut(|workspace| writer.write(&bytes, &mut frames, workspace));
            bytes = frames;
        }
        for _ in 0..self.plan.changes(unit, Level::Frames) {
            change(&mut self.random, &mut bytes, &world.traffic);
        }
        let held = self.swapped.take();
        match self.plan.fate(unit) {
            Fate::Sent => {}
            Fate::Doubled => bytes.extend_from_within(..),
            Fate::Left => bytes.clear(),
            Fate::Swapped => self.swapped = Some(std::mem::take(&mut bytes)),
        }
        bytes.extend(held.unwrap_or_default());
        self.channel.say(&bytes, unit, &self.plan, &mut self.random, &world.traffic);
        if self.plan.end_in == Some(unit) {
            self.phase = Phase::Ending;
        }
    }

    fn go_on(&mut self, world: &World) -> Over {
        while self.phase == Phase::Commands && !(self.unanswered && !self.hurried && !self.plan.hasty) {
            let Some(unit) = world.traffic[self.kind.traffic].units.get(self.next) else {
                if self.plan.ending != Ending::Quit {
                    self.phase = Phase::Ending;
                }
                break;
            };
            self.next += 1;
            self.unanswered = unit.answered;
            self.say(world, unit.bytes.clone(), Some(unit.seq));
        }
        if !self.channel.send() {
            self.server_ended = true;
            return true;
        }
        self.phase == Phase::Ending && !self.channel.is_full() && self.end()
    }

    fn end(&mut self) -> Over {
        match self.plan.ending {
            Ending::HalfClose => {
                self.phase = Phase::Ending;
                self.channel.shut();
                return false;
            }
            Ending::Reset => self.channel.will_reset(),
            Ending::Quit | Ending::Close => {}
        }
        true
    }

    /// What a good client misses; asked when it is over.
    pub fn missed(&self) -> Option<String> {
        let heard = match self.kind.compression.filter(|_| self.compressing) {
            Some(algorithm) => unpacked(algorithm, &self.heard),
            None => self.heard.clone(),
        };
        if self.kind.method == Method::Wrong {
            return None;
        }
        let last = heard.windows(LAST_WORDS.len()).any(|words| words == LAST_WORDS.as_bytes());
        let tail = &heard[heard.len().saturating_sub(300)..];
        (!last || !self.server_ended).then(|| format!("it ended with {}", tail.escape_ascii()))
    }
}

fn unpacked(algorithm: Algorithm, mut frames: &[u8]) -> Vec<u8> {
    let mut reader = CompressedReader::new(algorithm);
    let (mut out, mut workspace) = (Vec::new(), Workspace::default());
    while let Some(seq) = frames.get(3) {
        // Each answer has numbers of its own.
        reader.expect_seq(*seq);
        if !reader.next(&mut frames, &mut out, &mut workspace).unwrap_or(false) {
            break;
        }
    }
    out
}

fn draw_kind(world: &World, random: &mut Random) -> Kind {
    let traffic = loop {
        let place = random.below(world.traffic.len() as u64) as usize;
        if random.one_in(world.traffic[place].rarity) {
            break place;
        }
    };
    let method = match random.below(400) {
        0 => Method::Wrong,
        1..80 => Method::Native,
        80..120 => Method::NativeSwitched,
        120..240 => Method::Sha2,
        _ => Method::Trusting,
    };
    let compression = match random.below(4) {
        0 => Some(Algorithm::Zlib),
        1 => Some(Algorithm::Zstd { level: 1 + random.below(5) as u8 }),
        _ => None,
    };
    Kind { method, tls: random.one_in(4), compression, traffic }
}
