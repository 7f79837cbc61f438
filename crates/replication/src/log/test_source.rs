//! A server for tests, whose log is written.

use std::sync::Arc;

use vaquita_session::accounts::Accounts;
use vaquita_session::clients::Client;
use vaquita_session::variables::{Fixed, Globals, server_uuid};
use vaquita_session::{Server, Session, VERSION};
use vaquita_storage::{Catalog, Engine, EngineHooks, EngineOptions, Threads};
use vaquita_types::Value;

use super::{BinaryLog, GlobalSettings, Place};

/// The test's thread waits where a pool would let another one take its place.
struct OneThread;

impl Threads for OneThread {}

/// A server without listeners whose binary log is written.
pub struct Source {
    pub server: Arc<Server>,
    pub log: Arc<BinaryLog>,
    pub session: Session,
    _dir: tempfile::TempDir,
}

impl Source {
    pub fn start() -> Source {
        let dir = tempfile::tempdir().unwrap();
        let mut log = None;
        let engine =
            Engine::open_with(&dir.path().join("rocksdb"), EngineOptions::default(), EngineHooks::default(), |rocks, store| {
                let opened = BinaryLog::open(rocks, store)?;
                log = Some(opened.clone());
                Ok(opened)
            })
            .unwrap();
        let log = log.unwrap();
        let catalog = Catalog::open(&engine).unwrap();
        let accounts = Accounts::open(catalog.clone()).unwrap();
        let fixed = Fixed {
            version: VERSION,
            data_dir: dir.path().to_path_buf(),
            port: 0,
            bind: String::new(),
            socket: dir.path().join("no.sock"),
            server_uuid: server_uuid(&catalog).unwrap(),
            options: vec![("log_bin", Value::Int(1)), ("server_id", Value::UInt(7))],
        };
        let server = Server::new(engine, catalog, Arc::new(Globals::new(&fixed)), accounts, Arc::new(OneThread));
        log.begin(GlobalSettings::new(server.globals.clone()), &Default::default()).unwrap();
        let _ = server.commit_log.set(log.clone());
        let client = Arc::new(Client::new(server.new_connection_id(), "".into(), None));
        server.clients().add(client.clone());
        let session = Session::of_applier(server.clone(), client);
        let mut source = Source { server, log, session, _dir: dir };
        source.run("SET GLOBAL binlog_row_metadata = FULL, time_zone = '+00:00', local_infile = ON");
        source.run("SET SESSION time_zone = '+00:00'");
        source
    }

    pub fn run(&mut self, sql: &str) {
        self.session.apply_text(sql.as_bytes()).unwrap_or_else(|error| panic!("{}: {sql}", error.message()));
    }

    pub fn fails(&mut self, sql: &str) {
        self.session.apply_text(sql.as_bytes()).expect_err(sql);
    }

    /// The events from a place on, without checksums.
    pub fn events(&self, from: Place) -> Vec<Vec<u8>> {
        let mut reader = self.log.reader(from).unwrap();
        let mut events = Vec::new();
        while let Some(event) = reader.next_event().unwrap() {
            events.push(event.bytes.to_vec());
        }
        events
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.session.close();
        self.server.catalog.close();
        let _ = self.server.engine.shutdown();
    }
}
