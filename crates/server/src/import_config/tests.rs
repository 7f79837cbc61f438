//! Option files as they are found, and the reports on them: `golden/NAME.cnf` and `golden/NAME.txt`.
//!
//! `VAQUITA_RECORD=own cargo test -p vaquita-server import_config` writes the reports anew.

use std::path::{Path, PathBuf};

use super::meaning::{Verdict, meaning};
use super::{Def, Imported, Value, import};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/import_config/golden")
}

fn check(name: &str) -> Imported {
    let imported = import(&golden().join(format!("{name}.cnf")), &[]).unwrap();
    let mut told = imported.report.to_string().replace(&format!("{}/", golden().display()), "");
    told.push('\n');
    for (long, value) in &imported.options {
        told.push_str(&format!("--{long}={value}\n"));
    }
    for (def, value) in &imported.variables {
        told.push_str(&format!("SET GLOBAL {} = {}\n", def.name, def.show(value)));
    }
    // The width of the first column follows from where the checkout is.
    let told: String = told
        .lines()
        .map(|line| line.split("  ").filter(|p| !p.is_empty()).map(str::trim).collect::<Vec<_>>().join("  ") + "\n")
        .collect();
    let path = golden().join(format!("{name}.txt"));
    if std::env::var("VAQUITA_RECORD").is_ok() {
        std::fs::write(&path, &told).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(told == expected, "{name}: the report differs from {}:\n{told}", path.display());
    imported
}

#[test]
fn debian_mysql() {
    assert!(check("debian_mysql").refusal().is_none());
}

#[test]
fn debian_mariadb() {
    assert!(check("debian_mariadb").refusal().is_none());
}

#[test]
fn tuned_in_2012() {
    assert!(check("tuned_in_2012").refusal().is_none());
}

#[test]
fn shop_on_mysql_8() {
    assert!(check("shop_on_mysql_8").refusal().is_none());
}

#[test]
fn replica() {
    let refusal = check("replica").refusal().unwrap();
    assert!(
        refusal.ends_with("--ignore-settings=replicate-ignore-db,replicate-wild-ignore-table,slave_skip_errors"),
        "{refusal}"
    );
}

#[test]
fn galera() {
    assert!(check("galera").refusal().unwrap().contains("wsrep_on"));
}

#[test]
fn encrypted_and_audited() {
    let ignored = ["early-plugin-load".to_string(), "audit_log_policy".to_string()];
    let all = check("encrypted_and_audited").refusal().unwrap();
    let rest = import(&golden().join("encrypted_and_audited.cnf"), &ignored).unwrap().refusal().unwrap();
    assert!(all.contains("early-plugin-load") && all.contains("audit_log_policy"), "{all}");
    assert!(
        !rest.contains("early-plugin-load") && !rest.contains("audit_log_policy") && rest.contains("binlog_encryption"),
        "{rest}"
    );
}

#[test]
fn ways_to_write() {
    check("ways_to_write");
}

#[test]
fn a_character_set_brings_its_collation_and_the_other_way_round() {
    let path = std::env::temp_dir().join(format!("vaquita-charset-{}.cnf", std::process::id()));
    let variables = |text: &str| {
        std::fs::write(&path, format!("[mysqld]\nbind-address = ::1\n{text}\n")).unwrap();
        let imported = import(&path, &[]).unwrap();
        let shown = |(def, value): &(&'static Def, Value)| format!("{} = {}", def.name, def.show(value));
        (imported.variables.iter().map(shown).skip(1).collect::<Vec<_>>(), imported.refusal().is_some())
    };
    let both = vec!["character_set_server = latin1".to_string(), "collation_server = latin1_swedish_ci".to_string()];
    assert_eq!(variables("character-set-server = latin1"), (both.clone(), false));
    assert_eq!(variables("collation-server = latin1_swedish_ci"), (vec![both[1].clone(), both[0].clone()], false));
    assert_eq!(variables("character-set-server = latin1\ncollation-server = latin1_swedish_ci"), (both, false));
    assert!(variables("character-set-server = latin1\ncollation-server = utf8mb4_bin").1);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn every_option_of_mysql_and_mariadb_is_known() {
    let options = include_str!("golden/options.txt").lines().filter(|line| !line.starts_with('#'));
    let unknown: Vec<&str> = options.filter(|name| meaning(name, Some("1")).verdict == Verdict::Unknown).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
