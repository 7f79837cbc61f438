//! What has been applied of a channel. The applier writes it with `Transaction::meta_put` in the batch that has the rows.
//!
//! | OFFSET | SIZE | DESCRIPTION |
//! |---|---|---|
//! | 0 | 1 | version of the format, 1 |
//! | 1 | 8 | the position in the source's file, behind the last transaction that is applied; numbers are little-endian |
//! | 9 | 4 | the length of the file's name |
//! | 13 | n | the file's name |
//! | 13 + n | 4 | the count of MariaDB's domains |
//! | | 16 | of each domain: domain, server (4 bytes each), sequence |
//! | | | the set of GTIDs, as `GtidSet::encode` writes it |
//!
//! The key is `applied/NAME`.

use std::collections::BTreeMap;

use vaquita_storage::meta_key;
use vaquita_types::gtid::{GtidSet, MariaGtid};

pub(super) const PREFIX: &[u8] = b"applied/";
const VERSION: u8 = 1;
const DOMAIN_BYTES: usize = 16;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Empty: the source's first file.
    pub file: String,
    /// 0 if nothing of the source was applied and no position was given.
    pub pos: u64,
    /// Of MySQL's transactions.
    pub executed: GtidSet,
    /// By domain, MariaDB's last transaction.
    pub domains: BTreeMap<u32, MariaGtid>,
}

/// The key, for `Transaction::meta_put`.
pub fn applied_key(channel: &str) -> Vec<u8> {
    meta_key(&own_key(channel))
}

/// The key, for `Catalog::meta_put`.
pub(super) fn own_key(channel: &str) -> Vec<u8> {
    [PREFIX, channel.as_bytes()].concat()
}

impl Applied {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + self.file.len() + self.domains.len() * DOMAIN_BYTES);
        out.push(VERSION);
        out.extend_from_slice(&self.pos.to_le_bytes());
        out.extend_from_slice(&(self.file.len() as u32).to_le_bytes());
        out.extend_from_slice(self.file.as_bytes());
        out.extend_from_slice(&(self.domains.len() as u32).to_le_bytes());
        for gtid in self.domains.values() {
            out.extend_from_slice(&gtid.domain.to_le_bytes());
            out.extend_from_slice(&gtid.server.to_le_bytes());
            out.extend_from_slice(&gtid.sequence.to_le_bytes());
        }
        self.executed.encode(&mut out);
        out
    }

    /// `None`: the bytes are damaged.
    pub fn decode(bytes: &[u8]) -> Option<Applied> {
        let (version, rest) = bytes.split_first()?;
        let (pos, rest) = rest.split_first_chunk::<8>()?;
        let (file_bytes, rest) = rest.split_first_chunk::<4>()?;
        let (file, rest) = rest.split_at_checked(u32::from_le_bytes(*file_bytes) as usize)?;
        let (count, mut rest) = rest.split_first_chunk::<4>()?;
        let mut domains = BTreeMap::new();
        for _ in 0..u32::from_le_bytes(*count) {
            let (domain, tail) = rest.split_first_chunk::<4>()?;
            let (server, tail) = tail.split_first_chunk::<4>()?;
            let (sequence, tail) = tail.split_first_chunk::<8>()?;
            let gtid = MariaGtid {
                domain: u32::from_le_bytes(*domain),
                server: u32::from_le_bytes(*server),
                sequence: u64::from_le_bytes(*sequence),
            };
            if domains.insert(gtid.domain, gtid).is_some() {
                return None;
            }
            rest = tail;
        }
        let file = String::from_utf8(file.to_vec()).ok()?;
        let executed = GtidSet::decode(rest).ok()?;
        (*version == VERSION).then_some(Applied { file, pos: u64::from_le_bytes(*pos), executed, domains })
    }
}
