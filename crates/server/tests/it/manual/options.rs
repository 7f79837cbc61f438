//! Options: what `vaquita help` and `vaquita COMMAND --help` print.

use std::process::Command;

use super::{PageText, compare};

const ABOUT: &str = "\
`vaquita help` and `vaquita COMMAND --help` print what follows. An option of `vaquita serve` is taken from the command line; else from the environment under the name in brackets; else from the TOML file of `--config`, whose keys are the long names:

```toml
data-dir = \"/var/lib/vaquita\"
port = 3306
bind = \"0.0.0.0\"
```";

fn help(arguments: &[&str]) -> String {
    // Options show what the environment gives them.
    let output = Command::new(env!("CARGO_BIN_EXE_vaquita")).env_clear().args(arguments).output().expect("vaquita runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn options_are_those_that_the_command_prints() {
    let all = help(&["help"]);
    let mut page = PageText::new("Commands and options", ABOUT);
    page.section("vaquita", "");
    page.0.push_str(&format!("```text\n{all}```\n"));
    let commands = all.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| line.starts_with("  "));
    let names: Vec<&str> = commands.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect();
    assert!(names.contains(&"serve"), "{names:?}");
    for name in names {
        page.section(&format!("vaquita {name}"), "");
        page.0.push_str(&format!("```text\n{}```\n", help(&[name, "--help"])));
    }
    compare("options.md", &page.0);
}
