//! A bucket of an object store as a place: `s3://bucket/path`, `gs://bucket/path`, `az://container/path`.
//!
//! Credentials, region and endpoint come from the environment by the names that each store's own tools use (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT`, …).
//! An object appears when its upload is complete. Larger ones are sent in parts.

use std::io::{Error, Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, SystemTime};

use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, WriteMultipart};
use tokio::runtime::Runtime;

use crate::place::{FORMAT, LOCK, MARKER, Object, Place, Upload};
use crate::{Failure, Result};

const PART_BYTES: usize = 8 << 20;
/// Parts that are on their way at a time.
const PARTS_AHEAD: usize = 2;
/// A lock says so often that its holder lives.
const LOCK_RENEWED: Duration = Duration::from_secs(60);
/// A lock that was not renewed for so long is of somebody who is gone.
const LOCK_AGE_MAX: Duration = Duration::from_secs(600);

#[derive(Clone)]
pub struct Objects {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    runtime: Arc<Runtime>,
    address: String,
}

impl Objects {
    pub fn open(address: &str, create: bool) -> Result<Objects> {
        // Its client takes the process' provider of cryptography.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let url = url::Url::parse(address).map_err(|error| format!("{address}: {error}"))?;
        let environment = std::env::vars().map(|(name, value)| (name.to_ascii_lowercase(), value));
        let (store, prefix) = object_store::parse_url_opts(&url, environment).map_err(|error| format!("{address}: {error}"))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let objects = Objects {
            store: Arc::from(store),
            prefix,
            runtime: Arc::new(runtime),
            address: address.trim_end_matches('/').to_string(),
        };
        objects.check(create)?;
        Ok(objects)
    }

    fn check(&self, create: bool) -> Result<()> {
        let marker = self.path(MARKER);
        match self.runtime.block_on(async { self.store.get(&marker).await?.bytes().await }) {
            Ok(text) if text == FORMAT => Ok(()),
            Ok(_) => Err(format!("{} has backups of another format", self.address).into()),
            Err(object_store::Error::NotFound { .. }) if create => {
                if !self.list("")?.is_empty() {
                    return Err(format!("{} has something else in it: backups go to a path of their own", self.address).into());
                }
                self.runtime
                    .block_on(self.store.put(&marker, FORMAT.into()))
                    .map_err(|error| self.about(MARKER, &error))
                    .map(drop)
            }
            Err(object_store::Error::NotFound { .. }) => Err(format!("{} has no backups", self.address).into()),
            Err(error) => Err(self.about(MARKER, &error)),
        }
    }

    fn path(&self, name: &str) -> Path {
        Path::from(format!("{}/{name}", self.prefix))
    }

    fn about(&self, name: &str, error: &object_store::Error) -> Failure {
        format!("{}/{name}: {error}", self.address).into()
    }
}

impl Place for Objects {
    fn create(&self, name: &str) -> Result<Box<dyn Upload>> {
        Ok(Box::new(NewObject { objects: self.clone(), name: name.to_string(), buffer: Vec::new(), parts: None }))
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read>> {
        let found = self.runtime.block_on(self.store.get(&self.path(name)));
        let found = found.map_err(|error| match error {
            object_store::Error::NotFound { .. } => format!("{}/{name} is missing", self.address).into(),
            error => self.about(name, &error),
        })?;
        Ok(Box::new(Content { runtime: self.runtime.clone(), stream: found.into_stream(), piece: Vec::new(), taken: 0 }))
    }

    fn list(&self, prefix: &str) -> Result<Vec<Object>> {
        let path = self.path(prefix.trim_end_matches('/'));
        let found: std::result::Result<Vec<_>, _> = self.runtime.block_on(self.store.list(Some(&path)).try_collect());
        let name = |location: &Path| {
            let own = location.prefix_match(&self.prefix)?.map(|part| part.as_ref().to_string());
            Some(own.collect::<Vec<_>>().join("/"))
        };
        let found = found.map_err(|error| self.about(prefix, &error))?;
        let mut objects: Vec<Object> =
            found.iter().filter_map(|meta| Some(Object { name: name(&meta.location)?, bytes: meta.size })).collect();
        objects.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(objects)
    }

    fn remove(&self, name: &str) -> Result<()> {
        match self.runtime.block_on(self.store.delete(&self.path(name))) {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.about(name, &error)),
        }
    }

    fn lock(&self) -> Result<Box<dyn Send>> {
        let path = self.path(LOCK);
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        let taken = self.runtime.block_on(self.store.put_opts(&path, "locked".into(), options));
        match taken {
            Ok(_) => {}
            Err(object_store::Error::AlreadyExists { .. }) => {
                let meta = self.runtime.block_on(self.store.head(&path)).map_err(|error| self.about(LOCK, &error))?;
                let age = SystemTime::now().duration_since(meta.last_modified.into()).unwrap_or_default();
                if age < LOCK_AGE_MAX {
                    return Err(format!(
                        "another backup is being written to {0}, or was interrupted less than ten minutes ago ({0}/{LOCK})",
                        self.address
                    )
                    .into());
                }
                self.runtime.block_on(self.store.put(&path, "locked".into())).map_err(|error| self.about(LOCK, &error))?;
            }
            Err(error) => return Err(self.about(LOCK, &error)),
        }
        Lock::hold(self)
    }

    fn shown(&self) -> String {
        self.address.clone()
    }
}

struct NewObject {
    objects: Objects,
    name: String,
    buffer: Vec<u8>,
    /// Once it is more than one part.
    parts: Option<WriteMultipart>,
}

impl NewObject {
    fn send(&mut self) -> object_store::Result<()> {
        let Objects { store, runtime, .. } = &self.objects;
        let path = self.objects.path(&self.name);
        runtime.block_on(async {
            let parts = match &mut self.parts {
                Some(parts) => parts,
                none => none.insert(WriteMultipart::new_with_chunk_size(store.put_multipart(&path).await?, PART_BYTES)),
            };
            parts.wait_for_capacity(PARTS_AHEAD).await?;
            parts.write(&self.buffer);
            self.buffer.clear();
            Ok(())
        })
    }
}

impl Write for NewObject {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= PART_BYTES {
            self.send().map_err(Error::other)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Upload for NewObject {
    fn finish(mut self: Box<Self>) -> Result<()> {
        let path = self.objects.path(&self.name);
        let buffer = std::mem::take(&mut self.buffer);
        let parts = self.parts.take();
        let Objects { store, runtime, .. } = &self.objects;
        let done = runtime.block_on(async {
            match parts {
                None => store.put(&path, buffer.into()).await.map(drop),
                Some(mut parts) => {
                    parts.write(&buffer);
                    parts.finish().await.map(drop)
                }
            }
        });
        done.map_err(|error| self.objects.about(&self.name, &error))
    }
}

impl Drop for NewObject {
    fn drop(&mut self) {
        if let Some(parts) = self.parts.take() {
            let _ = self.objects.runtime.block_on(parts.abort());
        }
    }
}

struct Content {
    runtime: Arc<Runtime>,
    stream: BoxStream<'static, object_store::Result<bytes::Bytes>>,
    piece: Vec<u8>,
    taken: usize,
}

impl Read for Content {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        while self.taken == self.piece.len() {
            match self.runtime.block_on(self.stream.next()) {
                None => return Ok(0),
                Some(piece) => self.piece = piece.map_err(Error::other)?.to_vec(),
            }
            self.taken = 0;
        }
        let len = into.len().min(self.piece.len() - self.taken);
        into[..len].copy_from_slice(&self.piece[self.taken..self.taken + len]);
        self.taken += len;
        Ok(len)
    }
}

/// Renews its object until it is dropped.
struct Lock {
    objects: Objects,
    ended: Option<Sender<()>>,
}

impl Lock {
    fn hold(objects: &Objects) -> Result<Box<dyn Send>> {
        let (ended, wait) = channel::<()>();
        let (store, path) = (objects.store.clone(), objects.path(LOCK));
        std::thread::Builder::new().name("lock".into()).spawn(move || {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
            while let Err(std::sync::mpsc::RecvTimeoutError::Timeout) = wait.recv_timeout(LOCK_RENEWED) {
                // A backup that cannot renew it fails by itself.
                let _ = runtime.block_on(store.put(&path, "locked".into()));
            }
        })?;
        Ok(Box::new(Lock { objects: objects.clone(), ended: Some(ended) }))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        drop(self.ended.take());
        let _ = self.objects.remove(LOCK);
    }
}
