//! Records read back, and damaged ones are told.

use vaquita_parser::ast::GivenFilter;
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

fn given(filters: &[GivenFilter]) -> Filters {
    let mut taken = Filters::default();
    filters.iter().for_each(|filter| taken.take(filter, 1, false).unwrap());
    taken
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

fn tables(tables: &[(&str, &str)]) -> Vec<(String, String)> {
    tables.iter().map(|(database, table)| (database.to_string(), table.to_string())).collect()
}

fn like(patterns: &[&str]) -> Vec<Vec<u8>> {
    patterns.iter().map(|pattern| pattern.as_bytes().to_vec()).collect()
}

/// "Evaluation of Database-Level Replication and Binary Logging Options".
#[test]
fn rules_of_databases() {
    let none = Filters::default();
    assert!(none.database_is_wanted("a") && none.database_is_wanted(""));
    let only = given(&[GivenFilter::DoDb(names(&["a", "b"]))]);
    assert!(only.database_is_wanted("a") && only.database_is_wanted("b"));
    assert!(!only.database_is_wanted("c") && !only.database_is_wanted("A") && !only.database_is_wanted(""));
    let but = given(&[GivenFilter::IgnoreDb(names(&["a"]))]);
    assert!(!but.database_is_wanted("a") && but.database_is_wanted("b") && !but.database_is_wanted(""));
    // What is to be done goes first; then nothing asks what is ignored.
    let both = given(&[GivenFilter::DoDb(names(&["a"])), GivenFilter::IgnoreDb(names(&["a", "b"]))]);
    assert!(both.database_is_wanted("a") && !both.database_is_wanted("b") && !both.database_is_wanted("c"));
    assert!(both.table_is_wanted("a", "t") && !both.table_is_wanted("b", "t"));
    // A list that is given again takes the place of the one before.
    let again = given(&[GivenFilter::DoDb(names(&["a"])), GivenFilter::DoDb(Vec::new())]);
    assert!(again.is_empty() && again.database_is_wanted("b"));
}

/// "Evaluation of Table-Level Replication Options".
#[test]
fn rules_of_tables() {
    let only = given(&[GivenFilter::DoTable(tables(&[("a", "t"), ("a", "t"), ("B", "u")]))]);
    assert_eq!(only.rules(FilterKind::DoTable), ["B.u", "a.t"]);
    assert!(only.table_is_wanted("a", "t") && !only.table_is_wanted("a", "u") && !only.table_is_wanted("b", "u"));
    let but = given(&[GivenFilter::IgnoreTable(tables(&[("a", "t")]))]);
    assert!(!but.table_is_wanted("a", "t") && but.table_is_wanted("a", "u") && but.table_is_wanted("b", "t"));
    // The first rule that knows the table decides, in this order.
    let all = given(&[
        GivenFilter::WildIgnoreTable(like(&["a.%"])),
        GivenFilter::WildDoTable(like(&["a.wild%"])),
        GivenFilter::IgnoreTable(tables(&[("a", "wild_not"), ("a", "both")])),
        GivenFilter::DoTable(tables(&[("a", "both")])),
    ]);
    assert!(all.table_is_wanted("a", "both") && all.table_is_wanted("a", "wild"));
    assert!(!all.table_is_wanted("a", "wild_not") && !all.table_is_wanted("a", "t") && !all.table_is_wanted("b", "t"));
    let wild = given(&[GivenFilter::WildIgnoreTable(like(&["a.%"]))]);
    assert!(!wild.table_is_wanted("a", "t") && wild.table_is_wanted("b", "t"));
    // Of a statement the first table that a rule knows decides; without tables that change, only where no rule of tables is.
    assert!(all.tables_are_wanted([("b", "t"), ("a", "wild"), ("a", "t")]));
    assert!(!all.tables_are_wanted([("a", "t"), ("a", "wild")]));
    assert!(!wild.tables_are_wanted([]) && Filters::default().tables_are_wanted([]));
    // Rules of databases go first for rows, and are asked of the current database for statements.
    let mixed = given(&[GivenFilter::DoDb(names(&["a"])), GivenFilter::IgnoreTable(tables(&[("a", "t")]))]);
    assert!(!mixed.table_is_wanted("b", "u") && mixed.tables_are_wanted([("b", "u")]));
}

#[test]
fn wildcards_and_escapes() {
    let wild = given(&[GivenFilter::WildDoTable(like(&[r"a\_b%.t_", "Ä.%"]))]);
    assert!(wild.table_is_wanted("a_b", "t1") && wild.table_is_wanted("A_bcd", "T1") && wild.table_is_wanted("ä", "x"));
    assert!(!wild.table_is_wanted("axb", "t1") && !wild.table_is_wanted("a_b", "t12"));
    // A database itself is known by patterns that match `name.`.
    assert!(wild.database_may_change("ä") && !wild.database_may_change("a_b"));
    let but = given(&[GivenFilter::WildIgnoreTable(like(&["a.%"]))]);
    assert!(!but.database_may_change("a") && but.database_may_change("b"));
    assert!(Filters::default().database_may_change("a"));
}

#[test]
fn databases_are_rewritten() {
    let filters = given(&[GivenFilter::RewriteDb(tables(&[("a", "b"), ("a", "c"), ("b", "d")]))]);
    assert_eq!(["a", "b", "c", ""].map(|database| filters.rewritten(database)), ["b", "d", "c", ""]);
    assert_eq!(filters.rules(FilterKind::RewriteDb), ["(a,b)", "(a,c)", "(b,d)"]);
    assert!(check_filters(&[GivenFilter::WildDoTable(like(&["a"]))]).is_err());
    assert!(check_filters(&[GivenFilter::DoTable(tables(&[("a ", "t")]))]).is_err());
}
