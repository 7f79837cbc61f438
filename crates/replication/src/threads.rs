//! Starts and stops the threads of channels (CHANNEL-3).

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use vaquita_exec::context::thread_id;
use vaquita_session::clients::Client;
use vaquita_session::replication::{Channel, ChannelConfig, LoggedEvents, ReplicaThreads, Running, ThreadError, Threads, Until};
use vaquita_session::server::Server;
use vaquita_types::errno::{ER_NOT_SUPPORTED_YET, ER_REPLICA_THREAD};
use vaquita_types::{Error, Result, stack};

use crate::applier::Applier;
use crate::binlog_statement::StatementEvents;
use crate::queue::Queue;
use crate::receiver::Receiver;

/// How long the end of a thread is waited for at a time, between looks at whether it hears.
const LOOK: Duration = Duration::from_millis(100);

pub struct ChannelThreads {
    server: Weak<Server>,
    channels: Mutex<HashMap<String, Arc<Between>>>,
}

/// The threads of one channel, and what is between them.
#[derive(Default)]
pub(crate) struct Between {
    pub(crate) queue: Arc<Queue>,
    receiver: Mutex<Option<Thread>>,
    applier: Mutex<Option<Thread>>,
}

struct Thread {
    handle: JoinHandle<()>,
    client: Arc<Client>,
}

impl ChannelThreads {
    /// Registers itself with the server's channels.
    pub fn register(server: &Arc<Server>) {
        let threads = ChannelThreads { server: Arc::downgrade(server), channels: Mutex::default() };
        server.replication.register(Arc::new(threads));
    }

    fn of(&self, channel: &Channel) -> Arc<Between> {
        self.channels.lock().entry(channel.name.clone()).or_default().clone()
    }

    fn server(&self) -> Result<Arc<Server>> {
        self.server.upgrade().ok_or_else(|| Error::internal("the server is going"))
    }
}

impl ReplicaThreads for ChannelThreads {
    fn start(&self, channel: &Arc<Channel>, threads: Threads, until: Until) -> Result<()> {
        check_config(&channel.config())?;
        if matches!(until, Until::Relay { .. }) {
            return Err(Error::new(&ER_NOT_SUPPORTED_YET, &[&"START REPLICA UNTIL RELAY_LOG_FILE"]));
        }
        let server = self.server()?;
        let of = self.of(channel);
        of.queue.tell(&channel.status.queue_bytes);
        let running = channel.running();
        if !running.receiver && !running.applier {
            // What was received may be of another place of the log than the channel is told to begin at now.
            of.queue.rewind();
        }
        if threads.receiver {
            start_receiver(&server, channel, &of)?;
        }
        if threads.applier {
            start_applier(&server, channel, &of, until)?;
        }
        Ok(())
    }

    fn stop(&self, channel: &Arc<Channel>, threads: Threads) -> Result<()> {
        let of = self.of(channel);
        of.queue.set_stops(threads.receiver.then_some(true), threads.applier.then_some(true));
        if threads.applier {
            join(&of.applier, true);
        }
        if threads.receiver {
            join(&of.receiver, false);
        }
        Ok(())
    }

    fn events(&self) -> Box<dyn LoggedEvents> {
        Box::new(StatementEvents::new(self.server.clone()))
    }
}

impl Between {
    /// The applier has ended.
    pub(crate) fn has_stopped(&self) -> bool {
        self.applier.lock().as_ref().is_none_or(|thread| thread.handle.is_finished())
    }

    /// Ends an applier that has nothing to do.
    pub(crate) fn stop_applier(&self) {
        self.queue.set_stops(None, Some(true));
        join(&self.applier, false);
    }
}

/// Options that nothing here carries out are refused, not ignored.
fn check_config(config: &ChannelConfig) -> Result<()> {
    let refused = |what: &str| Err(Error::new(&ER_NOT_SUPPORTED_YET, &[&what]));
    match config {
        _ if config.privilege_checks_user.is_some() => refused("PRIVILEGE_CHECKS_USER"),
        _ if config.auto_failover => refused("SOURCE_CONNECTION_AUTO_FAILOVER"),
        _ if !config.network_namespace.is_empty() => refused("NETWORK_NAMESPACE"),
        _ if !config.bind.is_empty() => refused("SOURCE_BIND"),
        _ if !config.public_key_path.is_empty() => refused("SOURCE_PUBLIC_KEY_PATH"),
        _ if !config.tls.crl.is_empty() || !config.tls.crl_path.is_empty() => refused("SOURCE_SSL_CRL"),
        _ if !config.tls.ca_path.is_empty() => refused("SOURCE_SSL_CAPATH"),
        _ => Ok(()),
    }
}

fn no_thread(error: &std::io::Error) -> Error {
    tracing::error!("no thread for replication: {error}");
    Error::new(&ER_REPLICA_THREAD, &[])
}

/// A thread in SHOW PROCESSLIST, as MySQL shows it.
fn connect(server: &Arc<Server>, queue: &Arc<Queue>, is_applier: bool) -> Arc<Client> {
    let client = Arc::new(Client::in_background(server.new_connection_id(), "connecting host"));
    client.authenticated("system user", ("", ""), false);
    client.begin_command(if is_applier { "Query" } else { "Connect" }, None);
    // KILL ends it as STOP REPLICA does.
    let queue = Arc::downgrade(queue);
    let killed = Arc::downgrade(&client);
    client.set_waker(Box::new(move || {
        let is_killed = killed.upgrade().is_some_and(|client| client.must_close());
        if let Some(queue) = queue.upgrade().filter(|_| is_killed) {
            queue.set_stops((!is_applier).then_some(true), is_applier.then_some(true));
        }
    }));
    server.clients().add(client.clone());
    client
}

fn start_receiver(server: &Arc<Server>, channel: &Arc<Channel>, of: &Arc<Between>) -> Result<()> {
    let mut thread = of.receiver.lock();
    if channel.running().receiver {
        return Ok(());
    }
    of.queue.set_stops(Some(false), None);
    let client = connect(server, &of.queue, false);
    {
        let mut status = channel.status.receiver.lock();
        status.running = Running::Connecting;
        status.state = "Connecting to source".into();
        status.last_error = ThreadError::default();
        status.thread_id = Some(thread_id(client.id));
    }
    let receiver = Receiver { server: server.clone(), channel: channel.clone(), queue: of.queue.clone() };
    let (ending, server, shown) = (channel.clone(), server.clone(), client.clone());
    let spawned = std::thread::Builder::new().name("receiver".into()).spawn(move || {
        receiver.run();
        drop(receiver);
        server.clients().remove(shown.id);
        let mut status = ending.status.receiver.lock();
        status.running = Running::No;
        status.state = "".into();
        status.thread_id = None;
    });
    let failed = |error: std::io::Error| {
        channel.status.receiver.lock().running = Running::No;
        no_thread(&error)
    };
    *thread = Some(Thread { handle: spawned.map_err(failed)?, client });
    Ok(())
}

pub(crate) fn start_applier(server: &Arc<Server>, channel: &Arc<Channel>, of: &Arc<Between>, until: Until) -> Result<()> {
    let mut thread = of.applier.lock();
    if channel.running().applier {
        return Ok(());
    }
    of.queue.set_stops(None, Some(false));
    let client = connect(server, &of.queue, true);
    {
        let mut status = channel.status.applier.lock();
        status.is_running = true;
        status.state = "Starting".into();
        status.last_error = ThreadError::default();
        status.alone.last_error = ThreadError::default();
        status.alone.is_running = true;
        status.thread_id = Some(thread_id(client.id));
        status.alone.thread_id = status.thread_id;
    }
    let (ending, server, shown, queue) = (channel.clone(), server.clone(), client.clone(), of.queue.clone());
    let spawned = std::thread::Builder::new().name("applier".into()).stack_size(stack::THREAD_BYTES).spawn(move || {
        Applier::new(&server, &ending, &queue, &shown, until).run();
        server.clients().remove(shown.id);
        let mut status = ending.status.applier.lock();
        status.is_running = false;
        status.state = "".into();
        status.thread_id = None;
        status.source_time_s = None;
        status.remaining_delay_s = None;
        status.alone.is_running = false;
        status.alone.thread_id = None;
    });
    let failed = |error: std::io::Error| {
        channel.status.applier.lock().is_running = false;
        no_thread(&error)
    };
    *thread = Some(Thread { handle: spawned.map_err(failed)?, client });
    Ok(())
}

/// Waits until a thread has ended. What waits for a lock is ended; a statement that commits itself runs to its end.
fn join(thread: &Mutex<Option<Thread>>, interrupts: bool) {
    let Some(Thread { handle, client }) = thread.lock().take() else { return };
    while !handle.is_finished() {
        if interrupts {
            client.interrupt.abandon();
        }
        std::thread::sleep(LOOK);
    }
    let _ = handle.join();
}
