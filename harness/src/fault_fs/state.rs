//! The tree of the file system: what programs see, and what a power loss leaves.
//!
//! A file's sync makes its bytes and size durable, a directory's its entries, and nothing else is promised. Changes
//! of entries wait in `changes`, in the order in which they were made; a power loss keeps a prefix of them, as a file
//! system with a journal does.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::time::SystemTime;

use super::content::{Content, Tear};
use super::fault::Fault;
use crate::random::Random;

pub const ROOT: u64 = 1;

type Entries = BTreeMap<OsString, u64>;

#[derive(Clone)]
pub enum Node {
    File(Content),
    Directory { live: Entries, durable: Entries },
    Socket,
}

#[derive(Clone)]
pub struct Inode {
    pub node: Node,
    pub mode: u32,
    pub modified: SystemTime,
    pub opens: u64,
}

/// One or, for a rename, two entries that change together; `None` removes.
#[derive(Clone)]
struct Change(Vec<(u64, OsString, Option<u64>)>);

#[derive(Clone)]
pub struct State {
    pub inodes: BTreeMap<u64, Inode>,
    changes: Vec<Change>,
    last_inode: u64,
    pub fault: Option<Fault>,
    /// Syncs do nothing.
    pub lies: bool,
    /// The sync of a file, too, makes all changes of entries durable that came before.
    pub journal: bool,
    /// Pages that files may take together.
    pub pages_max: u64,
}

/// An errno.
pub type Refused = i32;
pub type Result<T> = std::result::Result<T, Refused>;

pub const ENOENT: Refused = 2;
pub const EIO: Refused = 5;
pub const EEXIST: Refused = 17;
pub const ENOTDIR: Refused = 20;
pub const EISDIR: Refused = 21;
pub const ENOSPC: Refused = 28;
pub const ENOTEMPTY: Refused = 39;

impl Inode {
    fn new(node: Node, mode: u32) -> Inode {
        Inode { node, mode, modified: SystemTime::now(), opens: 0 }
    }

    pub fn directory(mode: u32) -> Inode {
        Inode::new(Node::Directory { live: Entries::new(), durable: Entries::new() }, mode)
    }

    pub fn file(mode: u32) -> Inode {
        Inode::new(Node::File(Content::default()), mode)
    }

    pub fn socket(mode: u32) -> Inode {
        Inode::new(Node::Socket, mode)
    }
}

impl State {
    pub fn new() -> State {
        let inodes = BTreeMap::from([(ROOT, Inode::directory(0o755))]);
        State { inodes, changes: Vec::new(), last_inode: ROOT, fault: None, lies: false, journal: false, pages_max: u64::MAX }
    }

    pub fn inode(&mut self, ino: u64) -> Result<&mut Inode> {
        self.inodes.get_mut(&ino).ok_or(ENOENT)
    }

    pub fn content(&mut self, ino: u64) -> Result<&mut Content> {
        match &mut self.inode(ino)?.node {
            Node::File(content) => Ok(content),
            _ => Err(EISDIR),
        }
    }

    pub fn entries(&self, dir: u64) -> Result<&Entries> {
        match self.inodes.get(&dir).map(|inode| &inode.node) {
            Some(Node::Directory { live, .. }) => Ok(live),
            Some(_) => Err(ENOTDIR),
            None => Err(ENOENT),
        }
    }

    pub fn find(&self, dir: u64, name: &std::ffi::OsStr) -> Result<u64> {
        self.entries(dir)?.get(name).copied().ok_or(ENOENT)
    }

    pub fn create(&mut self, dir: u64, name: OsString, inode: Inode) -> Result<u64> {
        if self.entries(dir)?.contains_key(&name) {
            return Err(EEXIST);
        }
        self.last_inode += 1;
        let ino = self.last_inode;
        self.inodes.insert(ino, inode);
        self.change(vec![(dir, name, Some(ino))]);
        Ok(ino)
    }

    pub fn remove(&mut self, dir: u64, name: OsString) -> Result<()> {
        let ino = self.find(dir, &name)?;
        if self.entries(ino).is_ok_and(|entries| !entries.is_empty()) {
            return Err(ENOTEMPTY);
        }
        self.change(vec![(dir, name, None)]);
        self.sweep();
        Ok(())
    }

    pub fn rename(&mut self, from: (u64, OsString), to: (u64, OsString)) -> Result<()> {
        let ino = self.find(from.0, &from.1)?;
        self.entries(to.0)?;
        self.change(vec![(from.0, from.1, None), (to.0, to.1, Some(ino))]);
        self.sweep();
        Ok(())
    }

    fn change(&mut self, edits: Vec<(u64, OsString, Option<u64>)>) {
        for (dir, name, ino) in &edits {
            if let Some(Inode { node: Node::Directory { live, .. }, .. }) = self.inodes.get_mut(dir) {
                edit(live, name, *ino);
            }
        }
        self.changes.push(Change(edits));
    }

    fn make_durable(&mut self, change: &Change) {
        for (dir, name, ino) in &change.0 {
            if let Some(Inode { node: Node::Directory { durable, .. }, .. }) = self.inodes.get_mut(dir) {
                edit(durable, name, *ino);
            }
        }
    }

    pub fn sync_directory(&mut self, dir: u64) {
        let touches = |change: &Change| change.0.iter().any(|(of, _, _)| *of == dir);
        let (synced, waiting) = std::mem::take(&mut self.changes).into_iter().partition(touches);
        self.changes = waiting;
        let synced: Vec<Change> = synced;
        synced.iter().for_each(|change| self.make_durable(change));
        self.sweep();
    }

    pub fn sync_all_entries(&mut self) {
        let changes = std::mem::take(&mut self.changes);
        changes.iter().for_each(|change| self.make_durable(change));
        self.sweep();
    }

    /// Forgets files that can neither be reached nor come back, and what only reads through a name could see.
    pub fn sweep(&mut self) {
        let (mut live, mut durable) = (BTreeSet::from([ROOT]), BTreeSet::from([ROOT]));
        for inode in self.inodes.values() {
            if let Node::Directory { live: now, durable: then } = &inode.node {
                live.extend(now.values());
                durable.extend(then.values());
            }
        }
        durable.extend(self.changes.iter().flat_map(|change| change.0.iter().filter_map(|(_, _, ino)| *ino)));
        self.inodes.retain(|ino, inode| live.contains(ino) || durable.contains(ino) || inode.opens > 0);
        for (ino, inode) in &mut self.inodes {
            if let (false, 0, Node::File(content)) = (live.contains(ino), inode.opens, &mut inode.node) {
                content.drop_live();
            }
        }
    }

    /// Everything that was not synced is lost or torn; nobody has files open afterwards.
    pub fn lose_power(&mut self, random: &mut Random) -> String {
        let tear = [Tear::Forget, Tear::Prefix, Tear::Scatter, Tear::SizeOnly][random.below(4) as usize];
        let changes = std::mem::take(&mut self.changes);
        let kept = match (tear, random.below(3)) {
            (Tear::Forget, _) | (_, 0) => 0,
            (_, 1) => changes.len(),
            _ => random.below(changes.len() as u64 + 1) as usize,
        };
        changes[..kept].iter().for_each(|change| self.make_durable(change));
        for inode in self.inodes.values_mut() {
            inode.opens = 0;
            match &mut inode.node {
                Node::File(content) => content.lose_power(tear, random),
                Node::Directory { live, durable } => *live = durable.clone(),
                Node::Socket => {}
            }
        }
        self.sweep();
        format!("{tear:?}, {kept} of {} changes of entries kept", changes.len())
    }

    /// The processes that had files open are gone; the machine is not.
    pub fn close_all(&mut self) {
        self.inodes.values_mut().for_each(|inode| inode.opens = 0);
        self.sweep();
    }

    pub fn pages(&self) -> u64 {
        let pages = |inode: &Inode| if let Node::File(content) = &inode.node { content.pages() } else { 0 };
        self.inodes.values().map(pages).sum()
    }

    /// All files below `dir`, by their paths.
    pub fn files(&self, dir: u64, path: &str, out: &mut Vec<(String, u64)>) {
        let Ok(entries) = self.entries(dir) else { return };
        for (name, ino) in entries {
            let path = format!("{path}/{}", name.to_string_lossy());
            match self.inodes.get(ino).map(|inode| &inode.node) {
                Some(Node::Directory { .. }) => self.files(*ino, &path, out),
                Some(Node::File(_)) => out.push((path, *ino)),
                _ => {}
            }
        }
    }
}

fn edit(entries: &mut Entries, name: &OsString, ino: Option<u64>) {
    match ino {
        Some(ino) => entries.insert(name.clone(), ino),
        None => entries.remove(name),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(state: &State) -> Vec<String> {
        let mut files = Vec::new();
        state.files(ROOT, "", &mut files);
        files.into_iter().map(|(path, _)| path).collect()
    }

    #[test]
    fn entries_survive_if_their_directory_was_synced() {
        let mut random = Random::new(1);
        let mut state = State::new();
        let dir = state.create(ROOT, "d".into(), Inode::directory(0o755)).unwrap();
        let a = state.create(dir, "a".into(), Inode::file(0o644)).unwrap();
        state.content(a).unwrap().write(0, b"abc");
        state.content(a).unwrap().sync();
        let mut lost = state.clone();
        while !lost.lose_power(&mut random).starts_with("Forget") {
            lost = state.clone();
        }
        assert!(names(&lost).is_empty(), "neither entry was synced");
        state.sync_directory(dir);
        state.sync_directory(ROOT);
        state.rename((dir, "a".into()), (dir, "b".into())).unwrap();
        let mut seen = BTreeSet::new();
        for _ in 0..100 {
            let mut lost = state.clone();
            lost.lose_power(&mut random);
            seen.insert(names(&lost));
            assert_eq!(lost.content(a).unwrap().read(0, 9), b"abc");
        }
        assert_eq!(seen, BTreeSet::from([vec!["/d/a".to_string()], vec!["/d/b".to_string()]]));
    }

    #[test]
    fn a_removed_file_comes_back_unless_the_removal_was_synced() {
        let mut state = State::new();
        let a = state.create(ROOT, "a".into(), Inode::file(0o644)).unwrap();
        state.content(a).unwrap().write(0, &[1; 8192]);
        state.content(a).unwrap().sync();
        state.sync_directory(ROOT);
        state.remove(ROOT, "a".into()).unwrap();
        assert_eq!(state.pages(), 0);
        for seed in 0..50 {
            let mut lost = state.clone();
            lost.lose_power(&mut Random::new(seed));
            assert!(lost.content(a).is_err() || lost.content(a).unwrap().read(0, 9000) == [1; 8192]);
        }
        state.sync_directory(ROOT);
        assert!(state.inodes.len() == 1 && names(&state).is_empty());
    }
}
