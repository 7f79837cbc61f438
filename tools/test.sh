#!/bin/bash
# Everything that CI runs: formatting, lints, unit, golden and integration tests, client tests, fuzzing.
# A client whose runtime the machine lacks is skipped by name in the summary; with CI=true all are installed.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "== tests"
cargo test --locked --workspace --no-fail-fast
echo "== lints"
cargo clippy --locked --workspace --all-targets -- -D warnings
echo "== clients"
tools/clients/run.sh
