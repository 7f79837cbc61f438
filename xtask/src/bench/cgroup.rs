//! A cgroup with a memory limit, version 2 or 1, for one server and the page cache of its files.
//!
//! A program is started in it as a container would start it: its mount of the cgroup tree begins at its own group, so that
//! a server which sizes itself by `memory.max` or `memory.limit_in_bytes` finds the limit. Needs root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const V2: &str = "/sys/fs/cgroup";
const V1: &str = "/sys/fs/cgroup/memory";
const NAME: &str = "vaquita-bench";

pub struct Cgroup {
    dir: PathBuf,
    /// Where the memory controller's tree is mounted.
    root: &'static str,
}

impl Cgroup {
    /// Fails where no limit can be set, and says why.
    pub fn new(bytes: u64) -> Result<Cgroup, String> {
        let v2 = fs::read_to_string(Path::new(V2).join("cgroup.controllers")).is_ok_and(|list| list.contains("memory"));
        let root = if v2 { V2 } else { V1 };
        let dir = Path::new(root).join(NAME);
        if !v2 && !Path::new(V1).join("memory.limit_in_bytes").is_file() {
            return Err("no memory controller of cgroups at /sys/fs/cgroup".into());
        }
        if v2 {
            write(&Path::new(V2).join("cgroup.subtree_control"), "+memory")?;
        }
        // Of a run that was killed.
        let _ = fs::remove_dir(&dir);
        fs::create_dir(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        let cgroup = Cgroup { dir, root };
        write(&cgroup.dir.join(if v2 { "memory.max" } else { "memory.limit_in_bytes" }), &bytes.to_string())?;
        if v2 {
            // Absent without swap.
            let _ = write(&cgroup.dir.join("memory.swap.max"), "0");
        }
        Ok(cgroup)
    }

    /// A command that moves itself into the group and then becomes `program`; arguments may be added.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("sh");
        let inside = "mount --bind \"$1\" \"$2\"; shift 2; exec \"$@\"";
        command
            .args([
                "-c",
                &format!("echo $$ >\"$1/cgroup.procs\" && exec unshare --mount --cgroup sh -c '{inside}' sh \"$@\""),
                "sh",
            ])
            .arg(&self.dir)
            .arg(self.root)
            .arg(program);
        command
    }

    /// Whether its limit ended a process.
    pub fn killed(&self) -> bool {
        let events = ["memory.events", "memory.oom_control"];
        let text: String = events.iter().filter_map(|name| fs::read_to_string(self.dir.join(name)).ok()).collect();
        kills_of(&text) > 0
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // The group is busy for a moment after its last process ended.
        for _ in 0..50 {
            if fs::remove_dir(&self.dir).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn kills_of(text: &str) -> u64 {
    text.lines().filter_map(|line| line.strip_prefix("oom_kill ")?.trim().parse::<u64>().ok()).sum()
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn reads_both_versions() {
        assert_eq!(super::kills_of("low 0\nhigh 0\nmax 12\noom 2\noom_kill 1\noom_group_kill 0\n"), 1);
        assert_eq!(super::kills_of("oom_kill_disable 0\nunder_oom 0\noom_kill 0\n"), 0);
    }
}
