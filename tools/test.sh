#!/bin/bash
# Everything that CI runs: tests, lints, repository rules, licences and advisories of dependencies, the manual and links, instructions per statement, a minute of each fuzzer, isolation levels, faults of the disk, kill points, a source that is killed,
# histories under many configurations, random queries in other words, the clients.
# With CHECK_INVARIANTS=1 the servers from the isolation levels on are built with the feature check-invariants: numbered invariants are executed.
# A client whose runtime the machine lacks is skipped by name in the summary, the instructions where valgrind is missing, the dependencies where cargo-deny is, the book where mdbook is; with CI=true all must be there.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { echo; echo "== $* ($(date -u +%H:%M:%S))"; }

step tests
cargo test --locked --workspace --no-fail-fast
step invariants
# Unit tests of the storage and the models execute them anyhow.
cargo test --locked -q -p vaquita-storage --features check-invariants --tests
step lints
cargo clippy --locked --workspace --all-targets -- -D warnings
step formatting
cargo fmt --check
step dependencies
tools/dependencies.sh
step manual
tools/manual.sh
step instructions
cargo run --locked -q -p xtask -- instructions
step fuzzers
seconds=${FUZZ_SECONDS:-60}
cargo build --locked -q -p vaquita-wire -p vaquita-parser -p vaquita-types --examples
# A fuzzer that does not end is a finding too.
fuzz() { timeout $((seconds + 60)) cargo run --locked -q "$@"; }
fuzz_bytes() {
  fuzz -p vaquita-wire --example fuzz_wire -- packet "$seconds" &&
    fuzz -p vaquita-wire --example fuzz_wire -- handshake "$seconds" &&
    fuzz -p vaquita-wire --example fuzz_wire -- binlog "$seconds"
}
fuzz_texts() {
  fuzz -p vaquita-parser --example fuzz_sql -- "$seconds" &&
    fuzz -p vaquita-types --example fuzz_geometry -- "$seconds" &&
    fuzz -p vaquita-types --example fuzz_xml -- "$seconds"
}
# A fuzzer has one thread: two at a time.
fuzz_bytes &
bytes=$!
texts=0
fuzz_texts || texts=$?
wait "$bytes"
test "$texts" = 0
features=()
if [ -n "${CHECK_INVARIANTS:-}" ]; then features=(--features check-invariants); fi
cargo build --locked -q -p vaquita-server "${features[@]}"
step isolation
tools/isolation.sh
step faults
tools/faults.sh
step kill points
cargo run --locked -q -p vaquita-harness -- kill-points --seconds 30
step source
cargo run --locked -q -p vaquita-harness -- source-test --kills 5
if cargo run --locked -q -p vaquita-harness -- source-test --kills 1 --plant; then
  echo "the planted row was not missed" >&2
  exit 1
fi
step metamorphic
cargo run --locked -q -p vaquita-harness -- metamorphic --histories 2
# The same rounds each time; what other seeds find is looked for by hand (docs/reliability.md).
step queries
cargo run --locked -q -p vaquita-harness -- query-test --seed 9000 --rounds 2
if cargo run --locked -q -p vaquita-harness -- query-test --seed 9000 --rounds 1 --show 0 --only secondary --plant; then
  echo "the planted rows were not missed" >&2
  exit 1
fi
step clients
tools/clients/run.sh
