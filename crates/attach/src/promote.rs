//! `vaquita promote`, the switch-over on a replica, and `vaquita demote`, the way back.
//!
//! Promote loses nothing only if nobody writes to the source any more when the last transaction has been applied: it says so, or makes the source
//! read-only itself (`--source-read-only`). What is applied is asked by GTID, or by the position at which the source's log ends.

use std::time::Duration;

use crate::channel::{self, Status, catch_up};
use crate::client::{Client, quoted};
use crate::server::{Kind, LogEnd, Server, log_end};
use crate::table_text::say;
use crate::{Failure, Result};
use vaquita_replication::address::Address;

pub struct PromoteOptions {
    pub target: Address,
    pub channel: String,
    /// How the source is asked; without a password the channel's account is, and what it may do.
    pub source: Option<Address>,
    pub source_read_only: bool,
    /// The channel's settings stay.
    pub keep_channel: bool,
    pub wait_s: u64,
}

pub struct DemoteOptions {
    pub target: Address,
    pub source: Address,
    pub channel: String,
    /// File and position at the new source, of a server without GTIDs.
    pub from: Option<(String, u64)>,
}

pub fn promote(options: &PromoteOptions) -> Result<()> {
    let mut target = Client::open(&options.target)?;
    let status = channel::status(&mut target, &options.channel)?
        .filter(|status| !status.source.host.is_empty())
        .ok_or_else(|| Failure::from(format!("this server follows nobody by {}", channel::shown(&options.channel))))?;
    if !status.runs() {
        return Err(format!("the channel does not run; nothing was done. {}", status.error).into());
    }
    let address = options.source.clone().unwrap_or_else(|| status.source.clone());
    let mut source = Client::open(&address).map_err(|error| {
        format!(
            "the source {address}: {error}. Give --source mysql://user:password@host, so that it can be asked where its log ends"
        )
    })?;
    let server = Server::ask(&mut source)?;
    let read_only = if server.kind == Kind::MariaDb { "read_only" } else { "super_read_only" };
    let before = ReadOnly::of(&mut source);
    if options.source_read_only {
        source.run(&format!("SET GLOBAL {read_only} = ON"))?;
        say(&format!("The source is {read_only}."));
    }
    let is_closed = is_on(&mut source, read_only);
    let done = hand_over(options, &mut source, &mut target, &server, is_closed);
    if done.is_err() && options.source_read_only {
        match before.put_back(&mut source) {
            Ok(()) => say("The source is read-only as far as it was before."),
            Err(error) => say(&format!("The source is still read-only: SET GLOBAL read_only = OFF there ({error}).")),
        }
    }
    done
}

fn is_on(client: &mut Client, variable: &str) -> bool {
    ["1", "ON"].contains(&client.variable(variable).as_str())
}

/// Of a server before it is changed.
struct ReadOnly {
    read_only: bool,
    super_read_only: bool,
}

impl ReadOnly {
    fn of(client: &mut Client) -> ReadOnly {
        ReadOnly { read_only: is_on(client, "read_only"), super_read_only: is_on(client, "super_read_only") }
    }

    /// Without `super_read_only` a server may still be `read_only`, not the other way round.
    fn put_back(&self, client: &mut Client) -> Result<()> {
        match (self.read_only, self.super_read_only) {
            (_, true) => {}
            (true, false) if client.variable("super_read_only").is_empty() => {}
            (true, false) => drop(client.run("SET GLOBAL super_read_only = OFF")?),
            (false, false) => drop(client.run("SET GLOBAL read_only = OFF")?),
        }
        Ok(())
    }
}

fn hand_over(options: &PromoteOptions, source: &mut Client, target: &mut Client, server: &Server, is_closed: bool) -> Result<()> {
    if !catch_up(source, target, server, &options.channel, Duration::from_secs(options.wait_s), false)? {
        return Err(format!("the replica has not applied all within {} s; nothing was changed here", options.wait_s).into());
    }
    // What was committed while the last was waited for.
    let end = log_end(source)?;
    if !catch_up(source, target, server, &options.channel, Duration::from_secs(options.wait_s), false)? {
        return Err("the source is written to faster than it is applied; nothing was changed here".into());
    }
    if !is_closed {
        say(
            "WARNING: the source can still be written to. What it commits from now on is not here (--source-read-only prevents it).",
        );
    }
    let for_channel = channel::of(&options.channel);
    target.run(&format!("STOP REPLICA{for_channel}"))?;
    if !options.keep_channel {
        target.run(&format!("RESET REPLICA ALL{for_channel}"))?;
    }
    // Where the way back begins: nobody has written here yet.
    let here = log_end(target)?;
    target.run("SET GLOBAL super_read_only = OFF")?;
    target.run("SET GLOBAL read_only = OFF")?;
    say(&format!("This server is the source now. All up to {}:{} of the old one is here.", end.file, end.pos));
    enable_events(target)?;
    say("The way back: the old source follows this server. On it, with an account that has REPLICATION SLAVE here:");
    say(&way_back(server, &options.target, &here));
    Ok(())
}

fn way_back(server: &Server, address: &Address, here: &LogEnd) -> String {
    let host = if address.host.starts_with('/') { "THIS_HOST" } else { &address.host };
    let port = if address.port == 0 { 3306 } else { address.port };
    match (server.kind, server.has_gtids) {
        (Kind::MariaDb, _) => format!(
            "  CHANGE MASTER TO MASTER_HOST = '{host}', MASTER_PORT = {port}, MASTER_USER = '…', MASTER_PASSWORD = '…', MASTER_USE_GTID = no, MASTER_LOG_FILE = '{}', MASTER_LOG_POS = {}; START SLAVE;   (an account with mysql_native_password)",
            here.file, here.pos
        ),
        (Kind::Vaquita, _) => {
            format!("  vaquita demote mysql://ACCOUNT:PASSWORD@{host}:{port}   (with --to or --defaults of the old source)")
        }
        (Kind::MySql, true) => format!(
            "  CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{host}', SOURCE_PORT = {port}, SOURCE_USER = '…', SOURCE_PASSWORD = '…', SOURCE_SSL = 1, SOURCE_AUTO_POSITION = 1; START REPLICA;"
        ),
        (Kind::MySql, false) => format!(
            "  first gtid_mode = ON_PERMISSIVE there, then CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{host}', SOURCE_PORT = {port}, SOURCE_USER = '…', SOURCE_PASSWORD = '…', SOURCE_SSL = 1, SOURCE_LOG_FILE = '{}', SOURCE_LOG_POS = {}; START REPLICA;",
            here.file, here.pos
        ),
    }
}

/// Events that ran on the source.
fn enable_events(target: &mut Client) -> Result<()> {
    let events = target.rows("SELECT event_schema, event_name FROM information_schema.events WHERE status = 'SLAVESIDE_DISABLED' OR status = 'REPLICA_SIDE_DISABLED'")?;
    for row in events {
        let [database, event] = &row[..] else { continue };
        let named = format!("{}.{}", crate::client::name(database), crate::client::name(event));
        match target.run(&format!("ALTER EVENT {named} ENABLE")) {
            Ok(_) => say(&format!("Event {database}.{event} runs here now.")),
            Err(error) => say(&format!("Event {database}.{event} does not run here: {error}")),
        }
    }
    Ok(())
}

pub fn demote(options: &DemoteOptions) -> Result<()> {
    let mut target = Client::open(&options.target)?;
    let mut source = Client::open(&options.source).map_err(|error| format!("the new source {}: {error}", options.source))?;
    let (here, there) = (Server::ask(&mut target)?, Server::ask(&mut source)?);
    if here.server_id == there.server_id || !here.uuid.is_empty() && here.uuid == there.uuid {
        return Err("both are the same server, or have the same server_id".into());
    }
    if let Some(Status { receiver, .. }) =
        channel::status(&mut target, &options.channel)?.filter(|status| status.receiver != "No")
    {
        return Err(format!(
            "this server follows another already by {} (receiver: {receiver})",
            channel::shown(&options.channel)
        )
        .into());
    }
    let before = ReadOnly::of(&mut target);
    target.run("SET GLOBAL super_read_only = ON")?;
    let done = point_at(options, &mut source, &mut target, &there);
    if done.is_err() {
        before.put_back(&mut target)?;
        say("Nothing was changed here.");
    }
    done
}

fn point_at(options: &DemoteOptions, source: &mut Client, target: &mut Client, there: &Server) -> Result<()> {
    let place = match (&options.from, there.has_gtids) {
        (_, true) => {
            let executed = target.variable("gtid_executed").replace('\n', "");
            let missing =
                source.value(&format!("SELECT GTID_SUBTRACT({}, @@GLOBAL.gtid_executed)", quoted(&executed)))?.replace('\n', "");
            if !missing.is_empty() {
                return Err(
                    format!("this server has transactions that the new source has not: {missing}. They would be lost").into()
                );
            }
            let own = quoted(&executed);
            let purged = source.value(&format!("SELECT GTID_SUBTRACT(@@GLOBAL.gtid_purged, {own})"))?.replace('\n', "");
            if !purged.is_empty() {
                return Err(
                    format!("the new source has purged transactions that this server lacks: {purged}. Attach anew").into()
                );
            }
            LogEnd::default()
        }
        (Some((file, pos)), false) => LogEnd { file: file.clone(), pos: *pos, executed: String::new() },
        (None, false) => return Err("the new source has no GTIDs: give --from FILE:POSITION, where both have the same".into()),
    };
    channel::change(target, &options.channel, &options.source, there, &place)?;
    target.run(&format!("START REPLICA{}", channel::of(&options.channel)))?;
    catch_up(source, target, there, &options.channel, Duration::from_secs(600), true)?;
    say("This server is a replica now, and super_read_only.");
    Ok(())
}
