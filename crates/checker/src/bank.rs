//! Accounts between which money moves: every read of all of them adds up to the same.

use crate::Report;
use crate::anomaly::Kind;
use crate::history::list_text;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    pub label: u32,
    pub process: u32,
    pub balances: Vec<i64>,
}

/// Without `total`, the first read gives it.
pub fn check(reads: &[Read], total: Option<i64>, negative_allowed: bool, report: &mut Report) {
    let sum = |read: &Read| read.balances.iter().sum::<i64>();
    let Some(total) = total.or_else(|| reads.first().map(sum)) else { return };
    for read in reads {
        let describe = || format!("T{} (client {}) read {}", read.label, read.process, list_text(&read.balances));
        if sum(read) != total {
            report.add(Kind::WrongTotal, || format!("{}: {}, not {total}", describe(), sum(read)));
        }
        if !negative_allowed && read.balances.iter().any(|balance| *balance < 0) {
            report.add(Kind::NegativeBalance, describe);
        }
    }
}
