//! mysqltest's commands on files, which scripts use beside LOAD DATA and INTO OUTFILE. Only files below the script's own directory and
//! the server's data directory are touched.

use std::fs;
use std::path::{Component, Path};

use super::side::unquoted;

pub fn is_command(word: &str) -> bool {
    matches!(word, "write_file" | "append_file" | "remove_file" | "mkdir" | "rmdir" | "force-rmdir" | "copy_file" | "move_file")
}

/// Whether it succeeds shows in what the servers make of the files.
pub fn run(word: &str, text: &str, dirs: &[&Path]) {
    let is_ours = |path: &Path| dirs.iter().any(|dir| is_inside(path, dir));
    let (head, lines) = text.split_once('\n').unwrap_or((text, ""));
    let mut paths = head.split_whitespace().map(unquoted).map(Path::new);
    let Some(first) = paths.next().filter(|path| is_ours(path)) else { return };
    let second = paths.next().filter(|path| is_ours(path));
    let _ = match (word, second) {
        ("write_file", _) => fs::write(first, bytes(lines)),
        ("append_file", _) => {
            let before = fs::read(first).unwrap_or_default();
            fs::write(first, [before, bytes(lines)].concat())
        }
        ("remove_file", _) => fs::remove_file(first),
        ("mkdir", _) => fs::create_dir(first),
        ("rmdir", _) => fs::remove_dir(first),
        ("force-rmdir", _) => fs::remove_dir_all(first),
        ("copy_file", Some(to)) => fs::copy(first, to).map(drop),
        ("move_file", Some(to)) => fs::rename(first, to),
        _ => Ok(()),
    };
}

fn bytes(lines: &str) -> Vec<u8> {
    let mut bytes: Vec<u8> = lines.chars().map(|c| u8::try_from(c).unwrap_or(b'?')).collect();
    bytes.push(b'\n');
    bytes
}

fn is_inside(path: &Path, dir: &Path) -> bool {
    !dir.as_os_str().is_empty()
        && path.starts_with(dir)
        && path != dir
        && !path.components().any(|part| part == Component::ParentDir)
}

/// The suite's data files where both servers find them.
pub fn copy_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else if !target.exists() {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
