//! A database in memory that is what its level says, run by simulated clients: its histories have known anomalies.
//!
//! Clients take turns, one operation each. READ COMMITTED reads the latest committed lists, locks what it appends to
//! and appends to the latest; REPEATABLE READ reads a snapshot and lets the first committer win; SERIALIZABLE aborts
//! also when anything that was read has changed. `broken` forgets to compare, as MySQL's REPEATABLE READ does.

use std::collections::HashMap;

use vaquita_checker::{Builder, History, Level, Mop, Outcome};

pub struct Simulation {
    pub level: Level,
    pub broken: bool,
    pub txns: u32,
    pub clients: u32,
    pub seed: u64,
}

/// Keys in use at a time, and appends after which a key makes room for a new one.
const KEYS: u64 = 10;
const APPENDS_PER_KEY: usize = 32;
/// One commit of so many is never acknowledged; as many are rolled back.
const UNKNOWN_ONE_IN: u64 = 100;

#[derive(Default)]
struct List {
    values: Vec<i64>,
    /// When each was committed.
    commits: Vec<u64>,
    locked_by: Option<usize>,
}

#[derive(Default)]
struct Client {
    process: u32,
    begun: u64,
    snapshot: u64,
    left: u64,
    mops: Vec<Mop>,
    /// Key number, own appends.
    appends: HashMap<u64, Vec<i64>>,
    /// Key number, length seen.
    reads: HashMap<u64, usize>,
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

struct World {
    options: Simulation,
    random: Random,
    now: u64,
    lists: HashMap<u64, List>,
    active: Vec<u64>,
    next_key: u64,
    next_value: i64,
    next_process: u32,
    builder: Builder,
}

pub fn run(options: Simulation) -> History {
    let clients = options.clients;
    let mut world = World {
        random: Random(options.seed.wrapping_mul(2).wrapping_add(1)),
        options,
        now: 0,
        lists: HashMap::new(),
        active: (0..KEYS).collect(),
        next_key: KEYS,
        next_value: 0,
        next_process: clients,
        builder: Builder::new(),
    };
    let mut states: Vec<Client> = (0..clients).map(|process| Client { process, ..Client::default() }).collect();
    while world.builder.txn_count() < world.options.txns as usize {
        let at = world.random.below(u64::from(clients)) as usize;
        world.now += 1;
        world.turn(at, &mut states[at]);
    }
    world.builder.finish().unwrap()
}

impl World {
    fn turn(&mut self, at: usize, client: &mut Client) {
        if client.begun == 0 {
            let left = 1 + self.random.below(4);
            let process = client.process;
            *client = Client { process, begun: self.now, snapshot: self.now, left, ..Client::default() };
        } else if client.left == 0 {
            self.end(client);
        } else if self.operate(at, client) {
            client.left -= 1;
        }
    }

    /// False if it has to wait.
    fn operate(&mut self, at: usize, client: &mut Client) -> bool {
        let key = self.active[self.random.below(KEYS) as usize];
        let id = self.builder.key(&key.to_string());
        let list = self.lists.entry(key).or_default();
        let own = client.appends.get(&key);
        if self.random.below(2) == 0 {
            let until = if self.options.level == Level::ReadCommitted { u64::MAX } else { client.snapshot };
            let visible = list.commits.partition_point(|commit| *commit <= until);
            let mut values = list.values[..visible].to_vec();
            client.reads.entry(key).or_insert(visible);
            values.extend(own.into_iter().flatten());
            client.mops.push(Mop::ReadList(id, values));
            return true;
        }
        if self.options.level == Level::ReadCommitted {
            if list.locked_by.is_some_and(|owner| owner != at) {
                // Waiting could be for ever: the next operation takes another key.
                return false;
            }
            list.locked_by = Some(at);
        }
        self.next_value += 1;
        client.appends.entry(key).or_default().push(self.next_value);
        client.mops.push(Mop::Append(id, self.next_value));
        true
    }

    fn end(&mut self, client: &mut Client) {
        let fate = self.random.below(UNKNOWN_ONE_IN);
        let changed = |key: &u64, lists: &HashMap<u64, List>| {
            lists.get(key).and_then(|list| list.commits.last()).is_some_and(|commit| *commit > client.snapshot)
        };
        let conflict = match self.options.level {
            Level::ReadCommitted => false,
            _ if self.options.broken => false,
            Level::RepeatableRead => client.appends.keys().any(|key| changed(key, &self.lists)),
            Level::Serializable => client.appends.keys().chain(client.reads.keys()).any(|key| changed(key, &self.lists)),
        };
        let aborted = conflict || fate == 0;
        for (key, values) in &client.appends {
            let list = self.lists.entry(*key).or_default();
            list.locked_by = None;
            if !aborted {
                list.values.extend(values);
                list.commits.resize(list.values.len(), self.now);
                if list.values.len() >= APPENDS_PER_KEY
                    && let Some(place) = self.active.iter().position(|active| active == key)
                {
                    self.active[place] = self.next_key;
                    self.next_key += 1;
                }
            }
        }
        let unknown = fate == 1;
        let outcome = match (aborted, unknown) {
            (_, true) => Outcome::Info,
            (true, _) => Outcome::Fail,
            _ => Outcome::Ok,
        };
        let label = self.builder.txn_count() as u32;
        self.builder.push(label, client.process, outcome, client.begun, Some(self.now), &client.mops);
        let process = if unknown { self.next_process } else { client.process };
        self.next_process += u32::from(unknown);
        *client = Client { process, ..Client::default() };
    }
}
