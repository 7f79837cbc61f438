#!/bin/bash
# Everything that CI runs: tests, lints, repository rules, licences and advisories of dependencies, the manual and links, instructions per statement, a minute of each fuzzer, isolation levels, faults of the disk, kill points, a source that is killed,
# histories under many configurations, random queries in other words, the clients.
# With CHECK_INVARIANTS=1 the servers from the isolation levels on are built with the feature check-invariants: numbered invariants are executed.
# A client whose runtime the machine lacks is skipped by name in the summary, the instructions where valgrind is missing, the dependencies where cargo-deny is, the book where mdbook is; with CI=true all must be there.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { echo; echo "== $* ($(date -u +%H:%M:%S))"; }

# Programs are built with the whole workspace, as the tests are: `cargo run -p` of one package would compile the crates below it again, with
# other features of their dependencies.
programs=${CARGO_TARGET_DIR:-target}/debug
export HARNESS=$programs/harness XTASK=$programs/xtask
build() { cargo build --locked -q --workspace --bins --examples "$@"; }

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
step programs
build
step manual
tools/manual.sh
step instructions
"$XTASK" instructions
step fuzzers
seconds=${FUZZ_SECONDS:-60}
# A fuzzer that does not end is a finding too.
fuzz() {
  local status=0
  timeout $((seconds + 60)) "$programs/examples/$1" "${@:2}" || status=$?
  [ "$status" != 124 ] || echo "$1 did not end" >&2
  return "$status"
}
fuzz_bytes() {
  fuzz fuzz_wire packet "$seconds" &&
    fuzz fuzz_wire handshake "$seconds" &&
    fuzz fuzz_wire binlog "$seconds"
}
fuzz_texts() {
  fuzz fuzz_sql "$seconds" &&
    fuzz fuzz_geometry "$seconds" &&
    fuzz fuzz_xml "$seconds"
}
# A fuzzer has one thread: two at a time.
fuzz_bytes &
bytes=$!
texts=0
fuzz_texts || texts=$?
wait "$bytes"
test "$texts" = 0
if [ -n "${CHECK_INVARIANTS:-}" ]; then build --features vaquita-server/check-invariants; else build; fi
step isolation
tools/isolation.sh
step faults
tools/faults.sh
step kill points
"$HARNESS" kill-points --seconds 30
step source
"$HARNESS" source-test --kills 5
if "$HARNESS" source-test --kills 1 --plant; then
  echo "the planted row was not missed" >&2
  exit 1
fi
step metamorphic
"$HARNESS" metamorphic --histories 2
# The same rounds each time; what other seeds find is looked for by hand (docs/reliability.md).
step queries
"$HARNESS" query-test --seed 9000 --rounds 2
if "$HARNESS" query-test --seed 9000 --rounds 1 --show 0 --only secondary --plant; then
  echo "the planted rows were not missed" >&2
  exit 1
fi
step clients
tools/clients/run.sh
