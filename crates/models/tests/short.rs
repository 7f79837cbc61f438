//! Both checkers on every scenario, short enough for each run of the tests. `cargo xtask models --full` does more.

use std::process::Command;

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}\n{}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn all_schedules_of_two_preemptions() {
    run(env!("CARGO_BIN_EXE_loom-models"), &["2"]);
}

#[test]
fn random_schedules() {
    run(env!("CARGO_BIN_EXE_shuttle-models"), &["50000"]);
}
