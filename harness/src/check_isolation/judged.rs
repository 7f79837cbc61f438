//! Workloads whose transactions see by themselves whether something is wrong, as in Jepsen's tests of MySQL.

use vaquita_checker::{Kind, Level, bank};

use super::session::{Session, Stop, Tx};
use super::{Plant, Workload};

const ACCOUNTS: u64 = 10;
const TOTAL: i64 = 1_000;
const ROWS_PER_GROUP: u64 = 4;
const GROUPS: u64 = 4;

pub fn number(text: Option<&String>) -> Result<i64, Stop> {
    let text = text.ok_or_else(|| Stop::Failed("a row is missing".into()))?;
    text.parse().map_err(|_| Stop::Failed(format!("not a number: {text}")))
}

fn one(tx: &mut Tx, sql: &str) -> Result<i64, Stop> {
    number(tx.rows(sql)?.first().and_then(|row| row.first()))
}

pub fn found(session: &Session, kind: Kind, text: String) -> Result<(), Stop> {
    let mut report = session.run.report.lock().map_err(|_| Stop::Failed("a client panicked".into()))?;
    report.add(kind, || text);
    Ok(())
}

/// Money moves between accounts; every read of all accounts has the same total.
///
/// At READ COMMITTED, where updates may be lost and two statements see two states, balances are changed in place and
/// read by one statement. Above it, clients compute the balances, and read account by account.
pub struct Bank {
    pub level: Level,
}

impl Bank {
    fn read(&self, tx: &mut Tx, by_account: bool) -> Result<Vec<i64>, Stop> {
        if by_account {
            return (0..ACCOUNTS).map(|id| one(tx, &format!("SELECT balance FROM accounts WHERE id = {id}"))).collect();
        }
        let rows = tx.rows("SELECT balance FROM accounts ORDER BY id")?;
        rows.iter().map(|row| number(row.first())).collect()
    }

    fn transfer(&self, session: &mut Session, from: u64, to: u64, amount: i64) -> Result<(), Stop> {
        let spoiled = session.planted(Plant::LostUpdate);
        let in_place = self.level == Level::ReadCommitted && !spoiled;
        session.transaction(|tx, _| {
            if in_place {
                let take = format!("UPDATE accounts SET balance = balance - {amount} WHERE id = {from} AND balance >= {amount}");
                if tx.run(&take)? == 1 {
                    tx.run(&format!("UPDATE accounts SET balance = balance + {amount} WHERE id = {to}"))?;
                }
                return Ok(());
            }
            let has = one(tx, &format!("SELECT balance FROM accounts WHERE id = {from}"))?;
            let target = one(tx, &format!("SELECT balance FROM accounts WHERE id = {to}"))?;
            if spoiled {
                tx.run("COMMIT")?;
                std::thread::sleep(std::time::Duration::from_millis(2));
                tx.run("START TRANSACTION")?;
            }
            if has >= amount {
                tx.run(&format!("UPDATE accounts SET balance = {} WHERE id = {from}", has - amount))?;
                tx.run(&format!("UPDATE accounts SET balance = {} WHERE id = {to}", target + amount))?;
            }
            Ok(())
        })?;
        Ok(())
    }

    fn check(&self, session: &mut Session) -> Result<(), Stop> {
        let by_account = self.level != Level::ReadCommitted && session.random.one_in(2);
        let Some(balances) = session.transaction(|tx, _| self.read(tx, by_account))? else { return Ok(()) };
        let read = bank::Read { label: session.run.counts.ok() as u32, process: 0, balances };
        let mut report = session.run.report.lock().map_err(|_| Stop::Failed("a client panicked".into()))?;
        bank::check(&[read], Some(TOTAL), false, &mut report);
        Ok(())
    }
}

impl Workload for Bank {
    fn create(&self, session: &mut Session) -> Result<(), Stop> {
        session.execute("CREATE TABLE accounts (id INT NOT NULL PRIMARY KEY, balance BIGINT NOT NULL, KEY balance (balance))")?;
        let rows: Vec<String> = (0..ACCOUNTS).map(|id| format!("({id}, {})", TOTAL / ACCOUNTS as i64)).collect();
        session.execute(&format!("INSERT INTO accounts VALUES {}", rows.join(", ")))
    }

    fn transact(&self, session: &mut Session) -> Result<(), Stop> {
        if session.random.one_in(2) {
            return self.check(session);
        }
        let from = session.random.below(ACCOUNTS);
        let to = (from + 1 + session.random.below(ACCOUNTS - 1)) % ACCOUNTS;
        let amount = 1 + session.random.below(5) as i64;
        self.transfer(session, from, to, amount)
    }

    fn read_all(&self, session: &mut Session) -> Result<(), Stop> {
        self.check(session)
    }
}

/// Transactions add one to every row of a group; who has seen n in one row sees at least n in the rows read after it.
pub struct MonotonicView;

impl Workload for MonotonicView {
    fn create(&self, session: &mut Session) -> Result<(), Stop> {
        session.execute("CREATE TABLE mav (id INT NOT NULL PRIMARY KEY, grp INT NOT NULL, v INT NOT NULL, KEY grp (grp, v))")?;
        let rows = (0..GROUPS).flat_map(|group| (0..ROWS_PER_GROUP).map(move |at| (group, at)));
        let rows: Vec<String> = rows.map(|(group, at)| format!("({}, {group}, 0)", group * ROWS_PER_GROUP + at)).collect();
        session.execute(&format!("INSERT INTO mav VALUES {}", rows.join(", ")))
    }

    fn transact(&self, session: &mut Session) -> Result<(), Stop> {
        let group = session.random.below(GROUPS);
        let first = group * ROWS_PER_GROUP;
        let exact = session.run.level != Level::ReadCommitted;
        if session.random.one_in(2) {
            session.transaction(|tx, random| {
                if random.one_in(2) {
                    return tx.run(&format!("UPDATE mav SET v = v + 1 WHERE grp = {group}")).map(|_| ());
                }
                (first..first + ROWS_PER_GROUP)
                    .try_for_each(|id| tx.run(&format!("UPDATE mav SET v = v + 1 WHERE id = {id}")).map(|_| ()))
            })?;
            return Ok(());
        }
        let offset = session.random.below(ROWS_PER_GROUP);
        let seen = session.transaction(|tx, random| {
            let ids = (0..ROWS_PER_GROUP).map(|at| first + (at + offset) % ROWS_PER_GROUP);
            let how = |id: u64, random: &mut crate::random::Random| {
                if random.one_in(2) { format!("id = {id}") } else { format!("grp = {group} AND id = {id}") }
            };
            ids.map(|id| one(tx, &format!("SELECT v FROM mav WHERE {}", how(id, random)))).collect::<Result<Vec<_>, _>>()
        })?;
        if let Some(seen) = seen
            && seen.windows(2).any(|pair| if exact { pair[1] != pair[0] } else { pair[1] < pair[0] })
        {
            let backwards = seen.windows(2).any(|pair| pair[1] < pair[0]);
            let kind = if backwards { Kind::NonMonotonicView } else { Kind::GSingle };
            found(session, kind, format!("rows of group {group}, all equal after every commit, read one by one: {seen:?}"))?;
        }
        Ok(())
    }

    fn read_all(&self, session: &mut Session) -> Result<(), Stop> {
        let rows = session.transaction(|tx, _| tx.rows("SELECT grp, COUNT(DISTINCT v) FROM mav GROUP BY grp"))?;
        for row in rows.into_iter().flatten().filter(|row| row.get(1).is_some_and(|count| count != "1")) {
            found(session, Kind::G0, format!("at the end the rows of group {row:?} differ"))?;
        }
        Ok(())
    }
}

/// A transaction reads a name, changes another column of the row, and reads the name again.
pub struct NonRepeatable {
    pub level: Level,
}

impl Workload for NonRepeatable {
    fn create(&self, session: &mut Session) -> Result<(), Stop> {
        session.execute(
            "CREATE TABLE people (id INT NOT NULL PRIMARY KEY, name INT NOT NULL, mark INT NOT NULL, KEY name (name), KEY mark (mark))",
        )?;
        session.execute("INSERT INTO people VALUES (0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0)")
    }

    fn transact(&self, session: &mut Session) -> Result<(), Stop> {
        let id = session.random.below(4);
        let new = session.random.below(1_000_000_000);
        if session.random.one_in(2) {
            session.transaction(|tx, _| tx.run(&format!("UPDATE people SET name = {new} WHERE id = {id}")))?;
            return Ok(());
        }
        let seen = session.transaction(|tx, _| {
            let name = format!("SELECT name FROM people WHERE id = {id}");
            let before = one(tx, &name)?;
            tx.run(&format!("UPDATE people SET mark = {new} WHERE id = {id}"))?;
            let after = one(tx, &name)?;
            Ok((before, after, one(tx, &format!("SELECT mark FROM people WHERE id = {id}"))?))
        })?;
        let Some((before, after, mark)) = seen else { return Ok(()) };
        if mark != new as i64 {
            found(session, Kind::Internal, format!("row {id}: wrote mark {new}, then read {mark}"))?;
        }
        if before != after && self.level != Level::ReadCommitted {
            let text = format!("row {id}: read name {before}, changed mark, then read name {after}");
            found(session, Kind::NonRepeatableRead, text)?;
        }
        Ok(())
    }

    fn read_all(&self, _: &mut Session) -> Result<(), Stop> {
        Ok(())
    }
}
