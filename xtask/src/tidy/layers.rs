//! Which crate of the workspace may depend on which, read from the manifests.
//!
//! The rules are the architecture: `parser` never knows storage, `plan` sees a catalog trait only, one crate knows
//! RocksDB, and no tool links it. Development dependencies count too, except where a rule below allows them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::Findings;

/// What each crate may use of the workspace. A crate that is not listed here fails the check: add it with its rule.
const MAY_USE: &[(&str, &[&str])] = &[
    ("vaquita-types", &[]),
    ("vaquita-parser", &["vaquita-types"]),
    ("vaquita-password", &[]),
    ("vaquita-wire", &["vaquita-password", "vaquita-types"]),
    ("vaquita-plan", &["vaquita-parser", "vaquita-types", "vaquita-scripts"]),
    ("vaquita-storage", &["vaquita-types"]),
    ("vaquita-exec", &["vaquita-storage", "vaquita-plan", "vaquita-parser", "vaquita-types", "vaquita-scripts"]),
    (
        "vaquita-session",
        &[
            "vaquita-exec",
            "vaquita-storage",
            "vaquita-plan",
            "vaquita-parser",
            "vaquita-password",
            "vaquita-types",
            "vaquita-scripts",
        ],
    ),
    ("vaquita-replication", &["vaquita-session", "vaquita-exec", "vaquita-storage", "vaquita-wire", "vaquita-types"]),
    ("vaquita-attach", &["vaquita-replication", "vaquita-types"]),
    ("vaquita-replay", &["vaquita-replication", "vaquita-parser"]),
    ("vaquita-backup", &["vaquita-replication", "vaquita-session", "vaquita-wire", "vaquita-types"]),
    (
        "vaquita-server",
        &[
            "vaquita-session",
            "vaquita-replication",
            "vaquita-attach",
            "vaquita-replay",
            "vaquita-backup",
            "vaquita-exec",
            "vaquita-storage",
            "vaquita-plan",
            "vaquita-parser",
            "vaquita-password",
            "vaquita-wire",
            "vaquita-types",
            "vaquita-scripts",
        ],
    ),
    ("vaquita-scripts", &[]),
    ("vaquita-checker", &[]),
    ("vaquita-models", &["vaquita-types"]),
    ("vaquita-harness", &["vaquita-checker", "vaquita-wire", "vaquita-parser", "vaquita-types"]),
    ("xtask", &["vaquita-harness", "vaquita-wire", "vaquita-parser", "vaquita-types"]),
];

/// The storage engine's own crates, and the only one that may name them.
const ENGINE: &[&str] = &["rocksdb", "librocksdb-sys"];
const ENGINE_OWNER: &str = "vaquita-storage";

/// Crates that must not reach the engine through anybody.
fn is_tool(name: &str, dir: &Path) -> bool {
    matches!(name, "xtask" | "vaquita-harness") || dir.starts_with("tools") || dir.starts_with("fuzz")
}

pub fn check(root: &Path, findings: &mut Findings) -> Result<(), String> {
    let manifest = read(&root.join("Cargo.toml"))?;
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut tools = Vec::new();
    for dir in members(&manifest) {
        let manifest = read(&root.join(&dir).join("Cargo.toml"))?;
        let Some(name) = package_name(&manifest) else {
            findings.fail(format!("{dir}/Cargo.toml"), "has no package name");
            continue;
        };
        if is_tool(&name, Path::new(&dir)) {
            tools.push(name.clone());
        }
        uses.insert(name, dependencies(&manifest));
    }
    for (name, used) in &uses {
        let Some((_, allowed)) = MAY_USE.iter().find(|(known, _)| known == name) else {
            findings.fail(name, "is not in the table of xtask/src/tidy/layers.rs: say there what it may use");
            continue;
        };
        for other in used.iter().filter(|other| uses.contains_key(*other)) {
            if !allowed.contains(&other.as_str()) {
                findings.fail(name, format!("must not depend on {other}"));
            }
        }
        if name != ENGINE_OWNER {
            for engine in ENGINE.iter().filter(|engine| used.contains(**engine)) {
                findings.fail(name, format!("must not depend on {engine}: only {ENGINE_OWNER} does"));
            }
        }
    }
    for tool in &tools {
        if reaches(&uses, tool, ENGINE_OWNER) {
            findings.fail(tool, "links RocksDB");
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn reaches(uses: &BTreeMap<String, BTreeSet<String>>, from: &str, to: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(name) = open.pop() {
        if name == to {
            return true;
        }
        if seen.insert(name) {
            open.extend(uses.get(name).into_iter().flatten().map(String::as_str));
        }
    }
    false
}

/// The strings of `members = [...]`.
fn members(manifest: &str) -> Vec<String> {
    let Some((_, rest)) = manifest.split_once("members") else { return Vec::new() };
    let list = rest.split(']').next().unwrap_or("");
    list.split('"').skip(1).step_by(2).map(str::to_string).collect()
}

fn package_name(manifest: &str) -> Option<String> {
    let (_, package) = manifest.split_once("[package]")?;
    let line = package.lines().find(|line| line.trim_start().starts_with("name"))?;
    line.split('"').nth(1).map(str::to_string)
}

/// The names under every `[…dependencies]` and of every `[…dependencies.name]`.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut inside = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            inside = section.ends_with("dependencies");
            if let Some((_, name)) = section.split_once("dependencies.") {
                found.insert(name.trim_matches('"').to_string());
            }
        } else if inside
            && !line.starts_with('#')
            && let Some((name, _)) = line.split_once('=')
        {
            let name = name.trim().split('.').next().unwrap_or("");
            found.insert(name.trim_matches('"').to_string());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_a_manifest_says() {
        let manifest = "[package]\nname = \"a\"\n[dependencies]\n# no\nb = \"1\"\nc.workspace = true\n[dev-dependencies.d]\npath = \"x\"\n[features]\ne = []\n";
        assert_eq!(package_name(manifest).as_deref(), Some("a"));
        assert_eq!(dependencies(manifest).into_iter().collect::<Vec<_>>(), ["b", "c", "d"]);
        assert_eq!(members("[workspace]\nmembers = [\"a/b\", \"c\"]\n"), ["a/b", "c"]);
    }
}
