//! Records read back, and damaged ones are told.

use vaquita_types::gtid::{GtidSet, MariaGtid, Uuid};

use super::*;

fn config() -> ChannelConfig {
    ChannelConfig {
        host: "a.example".to_string(),
        port: 65_535,
        user: "replica".to_string(),
        password: "geheim ü".to_string(),
        retry_count: u64::MAX,
        log_file: "binlog.000007".to_string(),
        log_pos: 157,
        auto_position: true,
        tls: TlsConfig { ca: "/ca.pem".to_string(), ciphersuites: Some(String::new()), ..TlsConfig::default() },
        ignore_server_ids: vec![1, u32::MAX],
        privilege_checks_user: Some(("u".to_string(), "%".to_string())),
        primary_key_check: PrimaryKeyCheck::Generate,
        assign_gtids: AssignGtids::Uuid(Uuid([7; 16])),
        use_gtid: UseGtid::CurrentPos,
        ..ChannelConfig::default()
    }
}

fn filters() -> Filters {
    Filters {
        do_db: vec!["a".to_string(), String::new()],
        ignore_table: vec![("a".to_string(), "t".to_string())],
        wild_do_table: vec!["a%.t".to_string()],
        rewrite_db: vec![("a".to_string(), "b".to_string()), ("c".to_string(), "d".to_string())],
        since_us: [1, 2, 3, 4, 5, 6, u64::MAX],
        for_channel: [true, false, true, false, true, false, true],
        ..Filters::default()
    }
}

fn applied() -> Applied {
    let gtid = |domain| MariaGtid { domain, server: 9, sequence: u64::MAX };
    Applied {
        file: "binlog.000007".to_string(),
        pos: 4711,
        executed: GtidSet::parse(b"3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:7:tag:1-3").unwrap(),
        domains: [0, 7].map(|domain| (domain, gtid(domain))).into(),
    }
}

/// Each cut and each changed byte is read as something or told, and never a panic.
fn damage(bytes: &[u8], decode: &dyn Fn(&[u8]) -> bool) {
    assert!(decode(bytes));
    for len in 0..bytes.len() {
        decode(&bytes[..len]);
        for flip in [1, 0x80, 0xFF] {
            let mut changed = bytes.to_vec();
            changed[len] ^= flip;
            decode(&changed);
        }
    }
    let longer = [bytes, &[0]].concat();
    assert!(!decode(&longer) && !decode(&[]) && !decode(&[2]));
}

#[test]
fn records_read_back() {
    assert_eq!(ChannelConfig::decode(&config().encode()), Some(config()));
    assert_eq!(ChannelConfig::decode(&ChannelConfig::default().encode()), Some(ChannelConfig::default()));
    assert_eq!(Filters::decode(&filters().encode()), Some(filters()));
    assert_eq!(Applied::decode(&applied().encode()), Some(applied()));
    assert_eq!(Applied::decode(&Applied::default().encode()), Some(Applied::default()));
}

#[test]
fn damaged_records_are_told() {
    damage(&config().encode(), &|bytes| ChannelConfig::decode(bytes).is_some());
    damage(&filters().encode(), &|bytes| Filters::decode(bytes).is_some());
    damage(&applied().encode(), &|bytes| Applied::decode(bytes).is_some());
    // A field of a newer version.
    let newer = [&config().encode()[..], &[200, 0, 0, 0, 0]].concat();
    assert_eq!(ChannelConfig::decode(&newer), None);
}

/// What is not stored has its default: records of versions that had fewer fields.
#[test]
fn older_records_are_read() {
    assert_eq!(ChannelConfig::decode(&[1]), Some(ChannelConfig::default()));
    assert_eq!(Filters::decode(&[1]), Some(Filters::default()));
}
