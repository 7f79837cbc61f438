//! Workloads whose transactions are recorded: lists, registers and predicates.
//!
//! A few keys are in use at a time, so that transactions meet; a key that was written often enough makes room for the
//! next. Rows are found by primary key, by secondary index and by range, as each way has locks of its own.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

use vaquita_checker::Mop;

use super::session::{Session, Stop, Tx};
use super::{Plant, Workload};
use crate::random::Random;

const KEYS: u32 = 8;
const WRITES_PER_KEY: u32 = 48;
const OPERATIONS_MAX: u64 = 4;

/// The keys in use, and how often each was written.
struct Keys {
    active: Mutex<Vec<(u32, u32)>>,
    next: AtomicU32,
    next_value: AtomicI64,
}

impl Keys {
    fn new() -> Keys {
        let active = (0..KEYS).map(|key| (key, 0)).collect();
        Keys { active: Mutex::new(active), next: AtomicU32::new(KEYS), next_value: AtomicI64::new(1) }
    }

    /// A key, to be written or not.
    fn pick(&self, random: &mut Random, write: bool) -> Result<u32, Stop> {
        let mut active = self.active.lock().map_err(|_| Stop::Failed("a client panicked".into()))?;
        let slot = &mut active[random.below(u64::from(KEYS)) as usize];
        let key = slot.0;
        if write {
            slot.1 += 1;
            if slot.1 == WRITES_PER_KEY {
                *slot = (self.next.fetch_add(1, Ordering::Relaxed), 0);
            }
        }
        Ok(key)
    }

    fn value(&self) -> i64 {
        self.next_value.fetch_add(1, Ordering::Relaxed)
    }

    fn all(&self) -> std::ops::Range<u32> {
        0..self.next.load(Ordering::Relaxed)
    }
}

fn number(text: &str) -> Result<i64, Stop> {
    text.parse().map_err(|_| Stop::Failed(format!("not a number: {text}")))
}

/// By primary key, by secondary index or by a range.
fn condition(key: u32, random: &mut Random) -> String {
    match random.below(5) {
        0 | 1 => format!("id = {key}"),
        2 | 3 => format!("sk = {key}"),
        _ => format!("id > {} AND id <= {key}", i64::from(key) - 1),
    }
}

/// Reads that lock, one in four, see what plain ones see.
fn locking(random: &mut Random) -> &'static str {
    match random.below(8) {
        0 => " FOR UPDATE",
        1 => " FOR SHARE",
        _ => "",
    }
}

/// Lists in a text column, appended to with CONCAT.
pub struct ListAppend {
    keys: Keys,
}

impl ListAppend {
    pub fn new() -> ListAppend {
        ListAppend { keys: Keys::new() }
    }

    fn read(&self, key: u32, tx: &mut Tx, random: &mut Random) -> Result<Vec<i64>, Stop> {
        let rows = tx.rows(&format!("SELECT v FROM lists WHERE {}{}", condition(key, random), locking(random)))?;
        match rows.as_slice() {
            [] => Ok(Vec::new()),
            [row] => row.iter().flat_map(|v| v.split(',')).map(number).collect(),
            _ => Err(Stop::Failed(format!("{} rows of key {key}", rows.len()))),
        }
    }

    fn append(&self, key: u32, value: i64, tx: &mut Tx, random: &mut Random) -> Result<(), Stop> {
        tx.mops.push(Mop::Append(key, value));
        if random.one_in(2) {
            let changed = tx.run(&format!("UPDATE lists SET v = CONCAT(v, ',{value}') WHERE {}", condition(key, random)))?;
            if changed > 0 {
                return Ok(());
            }
        }
        let new = format!("INSERT INTO lists VALUES ({key}, {key}, '{value}')");
        tx.run(&format!("{new} ON DUPLICATE KEY UPDATE v = CONCAT(v, ',{value}')")).map(|_| ())
    }

    /// Reads in one transaction, and writes what follows from it in another.
    fn lose_update(&self, session: &mut Session) -> Result<(), Stop> {
        let key = self.keys.pick(&mut session.random, true)?;
        session.transaction(|tx, random| {
            let mut list = self.read(key, tx, random)?;
            tx.mops.push(Mop::ReadList(key, list.clone()));
            tx.run("COMMIT")?;
            sleep(Duration::from_millis(2));
            let value = self.keys.value();
            list.push(value);
            tx.mops.push(Mop::Append(key, value));
            let text: Vec<String> = list.iter().map(i64::to_string).collect();
            let text = text.join(",");
            tx.run(&format!("INSERT INTO lists VALUES ({key}, {key}, '{text}') ON DUPLICATE KEY UPDATE v = '{text}'"))
        })?;
        Ok(())
    }
}

impl Workload for ListAppend {
    fn create(&self, session: &mut Session) -> Result<(), Stop> {
        session.execute("CREATE TABLE lists (id INT NOT NULL PRIMARY KEY, sk INT NOT NULL, v TEXT NOT NULL, KEY sk (sk))")
    }

    fn transact(&self, session: &mut Session) -> Result<(), Stop> {
        if session.planted(Plant::LostUpdate) {
            return self.lose_update(session);
        }
        session.transaction(|tx, random| {
            for _ in 0..=random.below(OPERATIONS_MAX) {
                let write = random.one_in(2);
                let key = self.keys.pick(random, write)?;
                if write {
                    self.append(key, self.keys.value(), tx, random)?;
                } else {
                    let list = self.read(key, tx, random)?;
                    tx.mops.push(Mop::ReadList(key, list));
                }
            }
            Ok(())
        })?;
        Ok(())
    }

    fn read_all(&self, session: &mut Session) -> Result<(), Stop> {
        for key in self.keys.all() {
            session.transaction(|tx, random| {
                let list = self.read(key, tx, random)?;
                tx.mops.push(Mop::ReadList(key, list));
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Rows with one value, often read before they are written, so that the order of versions is known.
pub struct Register {
    keys: Keys,
}

impl Register {
    pub fn new() -> Register {
        Register { keys: Keys::new() }
    }

    fn read(&self, key: u32, tx: &mut Tx, random: &mut Random) -> Result<(), Stop> {
        let rows = tx.rows(&format!("SELECT v FROM registers WHERE {}{}", condition(key, random), locking(random)))?;
        let value = rows.first().and_then(|row| row.first()).map(|text| number(text)).transpose()?;
        tx.mops.push(Mop::Read(key, value));
        Ok(())
    }

    fn write(&self, key: u32, tx: &mut Tx, random: &mut Random) -> Result<(), Stop> {
        let value = self.keys.value();
        tx.mops.push(Mop::Write(key, value));
        if random.one_in(2) && tx.run(&format!("UPDATE registers SET v = {value} WHERE {}", condition(key, random)))? > 0 {
            return Ok(());
        }
        let new = format!("INSERT INTO registers VALUES ({key}, {key}, {value})");
        tx.run(&format!("{new} ON DUPLICATE KEY UPDATE v = {value}")).map(|_| ())
    }
}

impl Workload for Register {
    fn create(&self, session: &mut Session) -> Result<(), Stop> {
        session.execute(
            "CREATE TABLE registers (id INT NOT NULL PRIMARY KEY, sk INT NOT NULL, v INT NOT NULL, KEY sk (sk), KEY v (v))",
        )
    }

    fn transact(&self, session: &mut Session) -> Result<(), Stop> {
        let spoiled = session.planted(Plant::LostUpdate);
        session.transaction(|tx, random| {
            for _ in 0..=random.below(OPERATIONS_MAX) {
                let write = spoiled || random.one_in(2);
                let key = self.keys.pick(random, write)?;
                if !write || random.below(4) > 0 {
                    self.read(key, tx, random)?;
                }
                if spoiled {
                    tx.run("COMMIT")?;
                    sleep(Duration::from_millis(2));
                }
                if write {
                    self.write(key, tx, random)?;
                }
            }
            Ok(())
        })?;
        Ok(())
    }

    fn read_all(&self, session: &mut Session) -> Result<(), Stop> {
        for key in self.keys.all() {
            session.transaction(|tx, random| self.read(key, tx, random))?;
        }
        Ok(())
    }
}

/// Elements of a group; more make every read more expensive to check.
const GROUP: i64 = 8;
/// Groups in use at a time.
const GROUPS: usize = 4;

/// Rows that begin to satisfy a condition: half of them by INSERT, half by an UPDATE of a row that is there already.
pub struct Predicate {
    /// Group and elements that were given out.
    active: Mutex<Vec<(u32, i64)>>,
    next: AtomicU32,
}

impl Predicate {
    pub fn new() -> Predicate {
        let active = (0..GROUPS as u32).map(|group| (group, 0)).collect();
        Predicate { active: Mutex::new(active), next: AtomicU32::new(GROUPS as u32) }
    }

    /// The rows of a group that an UPDATE will move into it.
    fn open(&self, group: u32, session: &mut Session) -> Result<(), Stop> {
        let rows: Vec<String> = (0..GROUP).step_by(2).map(|at| format!("({}, -1)", i64::from(group) * GROUP + at)).collect();
        session.execute(&format!("INSERT IGNORE INTO elements VALUES {}", rows.join(", ")))
    }

    fn find(&self, group: u32, tx: &mut Tx, random: &mut Random) -> Result<(), Stop> {
        let low = i64::from(group) * GROUP;
        let high = low + GROUP - 1;
        let condition = match random.below(3) {
            0 => format!("grp BETWEEN {low} AND {high}"),
            1 => format!("id BETWEEN {low} AND {high} AND grp >= 0"),
            _ => format!("grp >= {low} AND grp < {}", high + 1),
        };
        let rows = tx.rows(&format!("SELECT id FROM elements WHERE {condition}{}", locking(random)))?;
        let ids = rows.iter().flatten().map(|text| number(text)).collect::<Result<Vec<i64>, Stop>>()?;
        tx.mops.push(Mop::ReadSet(group, ids));
        Ok(())
    }

    fn add(&self, group: u32, at: i64, tx: &mut Tx, random: &mut Random) -> Result<(), Stop> {
        let low = i64::from(group) * GROUP;
        let (id, value) = (low + at, low + random.below(GROUP as u64) as i64);
        tx.mops.push(Mop::Add(group, id));
        if at % 2 == 1 {
            return tx.run(&format!("INSERT INTO elements VALUES ({id}, {value})")).map(|_| ());
        }
        match tx.run(&format!("UPDATE elements SET grp = {value} WHERE id = {id}"))? {
            1 => Ok(()),
            changed => Err(Stop::Failed(format!("an UPDATE of one row changed {changed}: element {id}"))),
        }
    }
}

impl Workload for Predicate {
    fn create(&self, session: &mut Session) -> Result<(), Stop> {
        session.execute("CREATE TABLE elements (id INT NOT NULL PRIMARY KEY, grp INT NOT NULL, KEY grp (grp))")?;
        (0..GROUPS as u32).try_for_each(|group| self.open(group, session))
    }

    fn transact(&self, session: &mut Session) -> Result<(), Stop> {
        let broken = |_| Stop::Failed("a client panicked".into());
        let slot = session.random.below(GROUPS as u64) as usize;
        let (group, at) = {
            let mut active = self.active.lock().map_err(broken)?;
            active[slot].1 += 1;
            (active[slot].0, active[slot].1 - 1)
        };
        if at >= GROUP {
            if at == GROUP {
                let next = self.next.fetch_add(1, Ordering::Relaxed);
                self.open(next, session)?;
                self.active.lock().map_err(broken)?[slot] = (next, 0);
            }
            return Ok(());
        }
        let other = self.active.lock().map_err(broken)?[session.random.below(GROUPS as u64) as usize].0;
        session.transaction(|tx, random| match random.below(4) {
            0 => {
                self.find(group, tx, random)?;
                self.find(other, tx, random)?;
                self.add(group, at, tx, random)
            }
            1 if other != group => {
                self.find(other, tx, random)?;
                self.add(group, at, tx, random)
            }
            2 => {
                self.add(group, at, tx, random)?;
                self.find(group, tx, random)
            }
            _ => {
                self.find(group, tx, random)?;
                self.add(group, at, tx, random)?;
                self.find(group, tx, random)
            }
        })?;
        Ok(())
    }

    fn read_all(&self, session: &mut Session) -> Result<(), Stop> {
        for group in 0..self.next.load(Ordering::Relaxed) {
            session.transaction(|tx, random| self.find(group, tx, random))?;
        }
        Ok(())
    }
}
