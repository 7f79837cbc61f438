//! A file system in memory that fails on demand: it loses power, refuses operations, is full.
//!
//! `FaultFs::mount` shows it to the server through /dev/fuse; the server is one like every other process to it. A test
//! mounts, runs a server on `dir()`, kills it, unmounts, damages, and mounts again:
//! 1. `lose_power` leaves what was synced and, torn, some of what was not (`state`, `content`);
//! 2. `set_fault` makes the Nth fsync, write, open or rename fail (`fault`);
//! 3. `set_space` limits the space, while mounted, too;
//! 4. `flip` damages a bit; `Image`s are copies, which share pages with the original.
//!
//! It is no model of one file system: it promises what POSIX promises and ext4's journal orders, and no more. Not
//! supported, because the server does not use them: links, extended attributes, preallocation, several writers' locks
//! across mounts.

mod content;
mod fault;
mod fuse;
mod state;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use fuser::{BackgroundSession, Config, MountOption};

use crate::random::Random;
use content::PAGE_BYTES;
pub use fault::{Class, Fault};
use state::State;
pub use state::{EIO, ENOSPC};

/// Processes that were killed may keep files open for a moment.
const UNMOUNT_TRIES: u32 = 200;

pub struct FaultFs {
    state: Arc<Mutex<State>>,
    at: PathBuf,
    mounted: Option<BackgroundSession>,
}

/// A copy of the whole file system.
#[derive(Clone)]
pub struct Image(State);

impl FaultFs {
    /// An empty file system that will be shown at `at`.
    pub fn new(at: &Path) -> Result<FaultFs, String> {
        fs::create_dir_all(at).map_err(|e| format!("{}: {e}", at.display()))?;
        Ok(FaultFs { state: Arc::new(Mutex::new(State::new())), at: at.to_path_buf(), mounted: None })
    }

    /// A directory in it for a server.
    pub fn dir(&self) -> PathBuf {
        self.at.join("data")
    }

    pub fn mount(&mut self) -> Result<(), String> {
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("faultfs".into()), MountOption::NoAtime];
        let session = fuser::spawn_mount(fuse::Fuse(self.state.clone()), &self.at, &config);
        self.mounted = Some(session.map_err(|e| format!("cannot mount a file system through /dev/fuse: {e}"))?);
        Ok(())
    }

    /// All processes that use it must have ended.
    pub fn unmount(&mut self) -> Result<(), String> {
        let Some(session) = self.mounted.take() else { return Ok(()) };
        for _ in 0..UNMOUNT_TRIES {
            let done = std::process::Command::new("umount").arg(&self.at).stderr(std::process::Stdio::null()).status();
            if done.is_ok_and(|status| status.success()) {
                session.join().map_err(|e| e.to_string())?;
                self.state().close_all();
                return Ok(());
            }
            sleep(Duration::from_millis(10));
        }
        Err(format!("cannot unmount {}", self.at.display()))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// While nobody uses it. Says what was kept.
    pub fn lose_power(&mut self, random: &mut Random) -> Result<String, String> {
        self.unmount()?;
        let kept = self.state().lose_power(random);
        self.mount()?;
        Ok(kept)
    }

    pub fn set_fault(&self, fault: Option<Fault>) {
        self.state().fault = fault;
    }

    pub fn fault_was_hit(&self) -> bool {
        self.state().fault.as_ref().is_some_and(Fault::was_hit)
    }

    /// From now on fsync does nothing and says that it did: what a test on it must notice.
    pub fn lie(&self) {
        self.state().lies = true;
    }

    /// From now on the sync of a file makes entries durable, too, as a journal does that has one order for all (ext4).
    /// POSIX does not promise it, and Vaquita does not need it.
    pub fn keep_journal(&self) {
        self.state().journal = true;
    }

    /// Bytes that files take.
    pub fn used(&self) -> u64 {
        self.state().pages() * PAGE_BYTES as u64
    }

    /// Bytes that files may take; `None` for no limit.
    pub fn set_space(&self, bytes: Option<u64>) {
        self.state().pages_max = bytes.map_or(u64::MAX, |bytes| bytes / PAGE_BYTES as u64);
    }

    pub fn image(&self) -> Image {
        Image(self.state().clone())
    }

    /// Goes back to an image; unmounts before and mounts after.
    pub fn restore(&mut self, image: &Image) -> Result<(), String> {
        self.unmount()?;
        *self.state() = image.0.clone();
        self.mount()
    }

    /// Writes the files to a directory of the disk, to look at after a failure.
    pub fn save(&self, to: &Path) -> Result<(), String> {
        let mut state = self.state();
        for (path, ino) in paths(&state) {
            let to = to.join(path.trim_start_matches('/'));
            let content = state.content(ino).map(|content| content.read(0, content.size() as usize)).unwrap_or_default();
            let made = fs::create_dir_all(to.parent().unwrap_or(&to));
            made.and_then(|()| fs::write(&to, content)).map_err(|e| format!("{}: {e}", to.display()))?;
        }
        Ok(())
    }
}

impl Drop for FaultFs {
    fn drop(&mut self) {
        let _ = self.unmount();
        let _ = fs::remove_dir(&self.at);
    }
}

impl Image {
    /// The files, with the pages of each that hold something.
    pub fn files(&mut self) -> Vec<(String, Vec<u64>)> {
        let files = paths(&self.0);
        let mut with_pages = Vec::new();
        for (path, ino) in files {
            let pages = self.0.content(ino).map(|content| content.pages_in_use()).unwrap_or_default();
            with_pages.push((path, pages.into_iter().map(|page| (page * PAGE_BYTES) as u64).collect()));
        }
        with_pages
    }

    /// Bytes of a file.
    pub fn size(&mut self, path: &str) -> u64 {
        self.content(path).map_or(0, |content| content.size())
    }

    pub fn flip(&mut self, path: &str, offset: u64, bit: u8) {
        if let Some(content) = self.content(path) {
            content.flip(offset, 1 << bit);
        }
    }

    fn content(&mut self, path: &str) -> Option<&mut content::Content> {
        let ino = paths(&self.0).into_iter().find(|(name, _)| name == path)?.1;
        self.0.content(ino).ok()
    }
}

fn paths(state: &State) -> Vec<(String, u64)> {
    let mut files = Vec::new();
    state.files(state::ROOT, "", &mut files);
    files
}
