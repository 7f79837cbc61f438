//! The MySQL front: accepts clients, greets them and gives their connections to the pool.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock, Weak};

use rustix::net::sockopt;
use vaquita_storage::{LogLevel, OperatorLog, Statements, Threads};
use vaquita_types::Error;
use vaquita_types::errno::{ER_CON_COUNT_ERROR, ER_HOST_NOT_PRIVILEGED};
use vaquita_wire::caps::{SERVER_CAPABILITIES, client, status};
use vaquita_wire::handshake::{Greeting, NONCE_BYTES, nonce_from_random, put_greeting};
use vaquita_wire::packet::PacketWriter;
use vaquita_wire::result::put_err_without_sqlstate;

use super::connection::Connection;
use super::login::Login;
use super::tls::Keys;
use super::transport::Transport;
use crate::pool::Pool;
use vaquita_replication::log::source::LogSource;
use vaquita_session::clients::Client;
use vaquita_session::server::{Server, VERSION, VERSION_FOR_MARIADB};
use vaquita_session::variables::Var;

/// Over what a client came.
#[derive(Clone, Copy, Debug)]
pub enum Origin {
    Tcp(SocketAddr),
    /// The address for administrators: there connections are not counted.
    Admin(SocketAddr),
    /// The port where the server greets with the version of a MariaDB.
    MariaDb(SocketAddr),
    /// The Unix socket, with the user of the process at the other end.
    Unix(u32),
}

/// File descriptors of the engine's share that administrators may use.
const ADMIN_SOCKETS: u64 = 8;

pub struct Front {
    pub server: Arc<Server>,
    pool: Arc<Pool>,
    keys: Option<Arc<Keys>>,
    /// Connections that there are file descriptors for.
    sockets_max: u64,
    pub stopping: AtomicBool,
    /// What replicas read, if there is one.
    pub binary_log: OnceLock<Arc<dyn LogSource>>,
}

/// Tells the pool when the engine blocks a thread; set once the pool exists.
#[derive(Default)]
pub struct Hooks {
    pub pool: OnceLock<Arc<Pool>>,
    /// Set once the server exists.
    pub server: OnceLock<Weak<Server>>,
}

impl Threads for Hooks {
    fn blocking(&self, wait: &mut dyn FnMut()) {
        match self.pool.get() {
            Some(pool) => pool.blocking(wait),
            None => wait(),
        }
    }

    fn group_completed(&self) {
        if let Some(pool) = self.pool.get() {
            pool.wake_sleeper();
        }
    }
}

impl Statements for Hooks {
    fn statement(&self, session_id: u64) -> Option<String> {
        let server = self.server.get()?.upgrade()?;
        server.clients().get(session_id)?.snapshot().info.map(|text| text.trim().to_string())
    }
}

impl OperatorLog for Hooks {
    fn log(&self, level: LogLevel, text: &str) {
        match level {
            LogLevel::Note => tracing::info!("{text}"),
            LogLevel::Warning => tracing::warn!("{text}"),
            LogLevel::Error => tracing::error!("{text}"),
        }
    }
}

impl Front {
    pub fn new(server: Arc<Server>, pool: Arc<Pool>, keys: Option<Keys>, sockets_max: u64) -> Arc<Front> {
        let keys = keys.map(Arc::new);
        if let Some(keys) = keys.clone() {
            let _ = server.tls.set(Box::new(move |globals| keys.reload(globals)));
        }
        Arc::new(Front { server, pool, keys, sockets_max, stopping: AtomicBool::new(false), binary_log: OnceLock::new() })
    }

    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    pub fn requires_secure_transport(&self) -> bool {
        self.server.globals.is_on(Var::RequireSecureTransport)
    }

    pub fn public_key_pem(&self) -> Option<String> {
        self.keys.as_ref().map(|keys| keys.public_key_pem.clone())
    }

    pub fn decrypt(&self, ciphertext: &[u8]) -> Option<Vec<u8>> {
        self.keys.as_ref()?.decrypt(ciphertext)
    }

    pub fn tls_config(&self) -> Option<Arc<rustls::ServerConfig>> {
        self.keys.as_ref().map(|keys| keys.tls())
    }

    fn offered(&self) -> u32 {
        let mut caps = SERVER_CAPABILITIES
            | client::LOCAL_FILES
            | client::CAN_HANDLE_EXPIRED_PASSWORDS
            | client::COMPRESS
            | client::ZSTD_COMPRESSION_ALGORITHM;
        if self.keys.is_some() {
            caps |= client::SSL;
        }
        caps
    }

    fn connections_max(&self) -> u64 {
        self.server.globals.number(Var::MaxConnections).min(self.sockets_max - 1)
    }

    /// Only the one connection that is kept for administrators is left, and the one that asks has it.
    pub fn is_full(&self) -> bool {
        self.server.clients().connected() as u64 > self.connections_max()
    }

    /// Greets a new client and gives it to the pool.
    pub fn accept(self: &Arc<Front>, socket: OwnedFd, origin: Origin) {
        let mut transport = Transport::new(socket);
        let mut out = PacketWriter::new();
        let (peer, peer_uid, most) = match origin {
            // As in MySQL one more is let in, for an administrator: the login says whether it is one.
            Origin::Tcp(peer) | Origin::MariaDb(peer) => (Some(peer), None, self.connections_max()),
            Origin::Unix(uid) => (None, Some(uid), self.connections_max()),
            Origin::Admin(peer) => (Some(peer), None, self.sockets_max.saturating_add(ADMIN_SOCKETS)),
        };
        if self.server.clients().connected() as u64 > most {
            self.server.clients().counts.note_too_many();
            let error = Error::new(&ER_CON_COUNT_ERROR, &[]);
            out.packet(|buffer| put_err_without_sqlstate(buffer, error.code(), error.message()));
            let _ = transport.send(out.bytes(), &|wait| wait());
            transport.shutdown();
            return;
        }
        if peer.is_some() {
            let _ = sockopt::set_tcp_nodelay(transport.socket(), true);
            let _ = sockopt::set_socket_keepalive(transport.socket(), true);
        }
        let id = self.server.new_connection_id();
        let host = match peer {
            Some(address) if address.ip().is_loopback() => "localhost".to_string(),
            Some(address) => address.ip().to_string(),
            None => "localhost".to_string(),
        };
        if !self.server.accounts().admits(&host, peer.map(|address| address.ip())) {
            let error = Error::new(&ER_HOST_NOT_PRIVILEGED, &[&host]);
            out.packet(|buffer| put_err_without_sqlstate(buffer, error.code(), error.message()));
            let _ = transport.send(out.bytes(), &|wait| wait());
            transport.shutdown();
            return;
        }
        let mut random = [0u8; NONCE_BYTES];
        rand::fill(&mut random);
        let nonce = nonce_from_random(random);
        let offered = self.offered();
        out.packet(|buffer| {
            let greeting = Greeting {
                server_version: if matches!(origin, Origin::MariaDb(_)) { VERSION_FOR_MARIADB } else { VERSION },
                connection_id: id as u32,
                nonce: &nonce,
                capabilities: offered,
                charset: 255,
                status: status::AUTOCOMMIT,
                auth_plugin: "caching_sha2_password",
            };
            put_greeting(buffer, &greeting);
        });
        if transport.send(out.bytes(), &|wait| wait()).is_err() {
            return;
        }
        let client = Arc::new(Client::new(id, host.clone(), peer.map(|address| address.port())));
        if let Some(address) = peer {
            let _ = client.ip.set(address.ip().to_string());
        }
        let login =
            Login::new(nonce, offered, host, peer.map(|address| address.ip()), peer_uid, matches!(origin, Origin::Admin(_)));
        let connection = Arc::new(Connection::new(self.clone(), transport, login, out.seq(), client.clone()));
        connection.wakes(&client);
        self.server.clients().add(client);
        if let Err(error) = connection.register() {
            tracing::warn!(%error, "cannot watch a new connection");
            self.server.clients().remove(id);
        }
    }
}
