#!/bin/bash
# Checks the links of all Markdown files, and builds the manual (docs/manual) into the target directory, manual/index.html.
# mdBook is taken from the path, or is installed once into ~/.cache/vaquita/mdbook (a minute of CPU): at the first run with CI=true,
# or by `tools/manual.sh install`. Without it the links are checked all the same.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.5.4
cache=${VAQUITA_MDBOOK_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vaquita/mdbook}
PATH=$PATH:$cache/bin

${XTASK:-cargo run --locked -q -p xtask --} links
if ! command -v mdbook >/dev/null; then
  if [ "${CI:-}" != true ] && [ "${1:-}" != install ]; then
    echo "skipped: the book is not built, mdbook is not installed (tools/manual.sh install)" >&2
    exit
  fi
  CARGO_TARGET_DIR=$cache/target nice cargo install --locked --quiet --debug --root "$cache" --version "$version" --no-default-features --features search mdbook
  rm -rf "$cache/target"
fi
book=$(realpath -m "${CARGO_TARGET_DIR:-target}")/manual
# Mistakes that it goes on after are lines of ERROR.
out=$(mdbook build docs/manual --dest-dir "$book" 2>&1) || { echo "$out" >&2; exit 1; }
echo "$out"
if grep -q 'ERROR\|WARN' <<<"$out"; then exit 1; fi
