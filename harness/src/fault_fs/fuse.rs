//! The kernel's side: answers FUSE requests from `State`.
//!
//! Every write reaches `State` at once, since the kernel's write-back cache stays off; the kernel caches what was read,
//! so a file system that lost power is mounted anew.

use std::ffi::OsStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use fuser::{
    AccessFlags, BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, KernelConfig,
    LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use super::content::PAGE_BYTES;
use super::fault::Class;
use super::state::{ENOSPC, Inode, Node, Result, State};

/// Only the kernel changes files, so that it may keep what it knows.
const TTL: Duration = Duration::from_secs(3600);
const WRITE_BYTES_MAX: u32 = 1 << 20;
/// What a file system without a limit says it has.
const PAGES_MAX_SHOWN: u64 = 1 << 28;
const S_IFMT: u32 = 0o170_000;
const S_IFSOCK: u32 = 0o140_000;

pub struct Fuse(pub Arc<Mutex<State>>);

impl Fuse {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn errno(refused: i32) -> Errno {
    Errno::from_i32(refused)
}

fn count(state: &mut State, class: Class) -> Result<()> {
    state.fault.as_mut().map_or(Ok(()), |fault| fault.count(class))
}

fn attributes(ino: u64, inode: &Inode) -> FileAttr {
    let (kind, size, pages) = match &inode.node {
        Node::File(content) => (FileType::RegularFile, content.size(), content.pages()),
        Node::Directory { .. } => (FileType::Directory, PAGE_BYTES as u64, 1),
        Node::Socket => (FileType::Socket, 0, 0),
    };
    FileAttr {
        ino: INodeNo(ino),
        size,
        blocks: pages * (PAGE_BYTES as u64 / 512),
        atime: inode.modified,
        mtime: inode.modified,
        ctime: inode.modified,
        crtime: inode.modified,
        kind,
        perm: (inode.mode & 0o7777) as u16,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: PAGE_BYTES as u32,
        flags: 0,
    }
}

fn attributes_of(state: &mut State, ino: u64) -> Result<FileAttr> {
    state.inode(ino).map(|inode| attributes(ino, inode))
}

fn make(state: &mut State, dir: INodeNo, name: &OsStr, inode: Inode) -> Result<FileAttr> {
    let ino = state.create(dir.0, name.into(), inode)?;
    attributes_of(state, ino)
}

fn open(state: &mut State, ino: u64) -> Result<()> {
    count(state, Class::Open)?;
    state.inode(ino)?.opens += 1;
    Ok(())
}

fn write(state: &mut State, ino: u64, offset: u64, data: &[u8]) -> Result<()> {
    count(state, Class::Write)?;
    if state.pages_max < u64::MAX {
        let missing = state.content(ino)?.pages_missing(offset, data.len());
        if missing > 0 && state.pages() + missing > state.pages_max {
            return Err(ENOSPC);
        }
    }
    state.inode(ino)?.modified = SystemTime::now();
    state.content(ino)?.write(offset, data);
    Ok(())
}

fn sync(state: &mut State, ino: u64) -> Result<()> {
    let counted = count(state, Class::Fsync);
    if state.lies {
        return Ok(());
    }
    let content = state.content(ino)?;
    if counted.is_ok() {
        content.sync();
        if state.journal {
            state.sync_all_entries();
        }
    } else {
        content.fail_sync();
    }
    told(state, counted)
}

/// What an fsync that ended so says.
fn told(state: &State, done: Result<()>) -> Result<()> {
    if state.fault.as_ref().is_some_and(|fault| fault.silent) { Ok(()) } else { done }
}

fn entry(done: Result<FileAttr>, reply: ReplyEntry) {
    match done {
        Ok(attributes) => reply.entry(&TTL, &attributes, Generation(0)),
        Err(refused) => reply.error(errno(refused)),
    }
}

fn empty(done: Result<()>, reply: ReplyEmpty) {
    match done {
        Ok(()) => reply.ok(),
        Err(refused) => reply.error(errno(refused)),
    }
}

fn attr(done: Result<FileAttr>, reply: ReplyAttr) {
    match done {
        Ok(attributes) => reply.attr(&TTL, &attributes),
        Err(refused) => reply.error(errno(refused)),
    }
}

impl Filesystem for Fuse {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        let _ = config.set_max_write(WRITE_BYTES_MAX);
        Ok(())
    }

    fn lookup(&self, _: &Request, dir: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let mut state = self.state();
        let found = state.find(dir.0, name).and_then(|ino| attributes_of(&mut state, ino));
        entry(found, reply);
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        attr(attributes_of(&mut self.state(), ino.0), reply);
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let mut state = self.state();
        let set = |state: &mut State| {
            if let Some(mode) = mode {
                state.inode(ino.0)?.mode = mode;
            }
            if let Some(size) = size {
                state.content(ino.0)?.truncate(size);
            }
            attributes_of(state, ino.0)
        };
        attr(set(&mut state), reply);
    }

    fn mknod(&self, _: &Request, dir: INodeNo, name: &OsStr, mode: u32, _: u32, _: u32, reply: ReplyEntry) {
        let inode = if mode & S_IFMT == S_IFSOCK { Inode::socket(mode) } else { Inode::file(mode) };
        entry(make(&mut self.state(), dir, name, inode), reply);
    }

    fn mkdir(&self, _: &Request, dir: INodeNo, name: &OsStr, mode: u32, _: u32, reply: ReplyEntry) {
        entry(make(&mut self.state(), dir, name, Inode::directory(mode)), reply);
    }

    fn unlink(&self, _: &Request, dir: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(self.state().remove(dir.0, name.into()), reply);
    }

    fn rmdir(&self, _: &Request, dir: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(self.state().remove(dir.0, name.into()), reply);
    }

    fn rename(&self, _: &Request, dir: INodeNo, name: &OsStr, to: INodeNo, new: &OsStr, _: RenameFlags, reply: ReplyEmpty) {
        let mut state = self.state();
        let done = count(&mut state, Class::Rename).and_then(|()| state.rename((dir.0, name.into()), (to.0, new.into())));
        empty(done, reply);
    }

    fn open(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match open(&mut self.state(), ino.0) {
            Ok(()) => reply.opened(FileHandle(0), FopenFlags::empty()),
            Err(refused) => reply.error(errno(refused)),
        }
    }

    fn create(&self, _: &Request, dir: INodeNo, name: &OsStr, mode: u32, _: u32, _: i32, reply: ReplyCreate) {
        let mut state = self.state();
        let made = count(&mut state, Class::Open).and_then(|()| {
            let attributes = make(&mut state, dir, name, Inode::file(mode))?;
            state.inode(attributes.ino.0)?.opens += 1;
            Ok(attributes)
        });
        match made {
            Ok(made) => reply.created(&TTL, &made, Generation(0), FileHandle(0), FopenFlags::empty()),
            Err(refused) => reply.error(errno(refused)),
        }
    }

    fn release(&self, _: &Request, ino: INodeNo, _: FileHandle, _: OpenFlags, _: Option<LockOwner>, _: bool, reply: ReplyEmpty) {
        let mut state = self.state();
        if let Ok(inode) = state.inode(ino.0) {
            inode.opens = inode.opens.saturating_sub(1);
        }
        state.sweep();
        reply.ok();
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let read = self.state().content(ino.0).map(|content| content.read(offset, size as usize));
        match read {
            Ok(bytes) => reply.data(&bytes),
            Err(refused) => reply.error(errno(refused)),
        }
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match write(&mut self.state(), ino.0, offset, data) {
            Ok(()) => reply.written(data.len() as u32),
            Err(refused) => reply.error(errno(refused)),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        empty(sync(&mut self.state(), ino.0), reply);
    }

    fn fsyncdir(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let mut state = self.state();
        let done = count(&mut state, Class::Fsync);
        if done.is_ok() && !state.lies {
            state.sync_directory(ino.0);
        }
        empty(told(&state, done), reply);
    }

    fn readdir(&self, _: &Request, ino: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let state = self.state();
        let entries = match state.entries(ino.0) {
            Ok(entries) => entries,
            Err(refused) => return reply.error(errno(refused)),
        };
        let dots = [(OsStr::new("."), ino.0), (OsStr::new(".."), ino.0)];
        let all = dots.into_iter().chain(entries.iter().map(|(name, ino)| (name.as_os_str(), *ino)));
        for (n, (name, ino)) in all.enumerate().skip(offset as usize) {
            let kind = state.inodes.get(&ino).map_or(FileType::RegularFile, |inode| attributes(ino, inode).kind);
            if reply.add(INodeNo(ino), n as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let state = self.state();
        let (all, used) = (state.pages_max.min(PAGES_MAX_SHOWN), state.pages());
        let free = all.saturating_sub(used);
        reply.statfs(all, free, free, 1 << 20, 1 << 19, PAGE_BYTES as u32, 255, PAGE_BYTES as u32);
    }

    fn access(&self, _: &Request, _: INodeNo, _: AccessFlags, reply: ReplyEmpty) {
        reply.ok();
    }
}
