#!/bin/bash
# What is wrong with dependencies: licences, versions that are there twice, sources, known advisories (deny.toml says what may be).
# cargo-deny is taken from the path, or is installed once into ~/.cache/vaquita/cargo-deny (minutes of CPU): at the first run with CI=true,
# or by `tools/dependencies.sh install`. The database of advisories comes from the network: where it cannot be reached a copy that was
# fetched before is used, and where there is none the step says so and checks the rest.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.20.2
cache=${VAQUITA_DENY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vaquita/cargo-deny}
PATH=$PATH:$cache/bin

if ! command -v cargo-deny >/dev/null; then
  if [ "${CI:-}" != true ] && [ "${1:-}" != install ]; then
    echo "skipped: cargo-deny is not installed (tools/dependencies.sh install)" >&2
    exit
  fi
  CARGO_TARGET_DIR=$cache/target nice cargo install --locked --quiet --root "$cache" --version "$version" cargo-deny
  rm -rf "$cache/target"
fi

# A build fetches only what its own platform needs, cargo-deny reads the packages of all of them.
cargo fetch --locked --quiet
cargo deny --locked --offline check licenses bans sources
copies=("${CARGO_HOME:-$HOME/.cargo}"/advisory-dbs/advisory-db-*/crates)
if ! timeout 120 cargo deny --locked fetch db >/dev/null 2>&1; then
  if [ ! -d "${copies[0]}" ]; then
    echo "advisories: NOT checked, the database cannot be reached and was never fetched" >&2
    exit
  fi
  echo "advisories: the database cannot be reached; this is the copy that was fetched before" >&2
fi
cargo deny --locked --offline check advisories
