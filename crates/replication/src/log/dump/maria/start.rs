//! Where a dump by MariaDB's GTIDs begins, and why it cannot. The texts of the errors are MariaDB's.

use vaquita_types::gtid::MariaGtid;

use super::super::super::source::LogSource;
use super::super::super::{FIRST_POS, LogFile, Place};
use super::super::{Step, fatal, of_log};
use super::DOMAIN;

const TOO_OLD: &str = "Could not find GTID state requested by slave in any binlog files. Probably the slave state is too old and required binlog \
    files have been purged.";

/// `0-1-100,2-7-5`; `None` if it is no list of GTIDs.
pub fn parse_gtids(text: &str) -> Option<Vec<MariaGtid>> {
    let gtid = |text: &str| {
        let mut numbers = text.trim().split('-');
        let gtid = MariaGtid {
            domain: numbers.next()?.parse().ok()?,
            server: numbers.next()?.parse().ok()?,
            sequence: numbers.next()?.parse().ok()?,
        };
        numbers.next().is_none().then_some(gtid)
    };
    text.split(',').map(str::trim).filter(|text| !text.is_empty()).map(gtid).collect()
}

/// The file that is read, and where its transactions go on. Domains that are not this server's are those of others that the replica follows.
pub(in super::super) fn find(log: &dyn LogSource, state: &[MariaGtid]) -> Step<(LogFile, Place)> {
    let asked = state.iter().find(|gtid| gtid.domain == DOMAIN);
    let number = asked.map_or(0, |gtid| gtid.sequence);
    let files = of_log(log.files())?;
    let before = |file: &LogFile| file.servers.last().map_or(0, |(_, number)| *number);
    let Some(file) = files.into_iter().rev().find(|file| before(file) <= number) else { return fatal(TOO_OLD) };
    let start = Place { file: file.number, pos: FIRST_POS };
    let Some(asked) = asked.filter(|_| number > 0) else { return Ok((file, start)) };
    let found = match number - before(&file) {
        0 => file.servers.last().map(|(server, _)| (start, *server)),
        nth => of_log(log.end_of_transaction(file.number, nth))?,
    };
    match found {
        Some((place, server)) if server == asked.server => Ok((file, place)),
        Some(_) => fatal(format!(
            "Error: connecting slave requested to start from GTID {asked}, which is not in the master's binlog. Since the master's binlog contains \
             GTIDs with higher sequence numbers, it probably means that the slave has diverged due to executing extra erroneous transactions"
        )),
        None => {
            fatal(format!("Error: connecting slave requested to start from GTID {asked}, which is not in the master's binlog"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_gtids() {
        let gtid = |domain, server, sequence| MariaGtid { domain, server, sequence };
        assert_eq!(parse_gtids(""), Some(Vec::new()));
        assert_eq!(parse_gtids("0-1-100, 2-7-18446744073709551615"), Some(vec![gtid(0, 1, 100), gtid(2, 7, u64::MAX)]));
        for text in ["0-1", "0-1-2-3", "x-1-2", "0-1-2;1-1-1", "4294967296-1-1"] {
            assert_eq!(parse_gtids(text), None, "{text}");
        }
    }
}
