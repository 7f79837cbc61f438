#!/bin/bash
# Faults under a running server: tools/faults.sh [short|long [SEED]]
# short (CI, about 90 s) samples; long is what docs/reliability.md reports. Each harness must also find its planted bug.
# The file system of these tests is mounted through /dev/fuse: without it they are skipped, or, with CI=true, fail.
set -euo pipefail
cd "$(dirname "$0")/.."
size=${1:-short}
seed=${2:-1}
run() { ${HARNESS:-cargo run --locked -q -p vaquita-harness --} "$@" --seed "$seed"; }

said=$(mktemp)
trap 'rm -f "$said"' EXIT
must_fail() {
  if run "$@" > "$said" 2>&1; then
    cat "$said"
    echo "the planted bug was not found: $*" >&2
    exit 1
  fi
  echo "found: $*"
}

run out-of-files --cycles 2
if [ "$size" = long ]; then run bad-clients --sessions 1000000; else run bad-clients --sessions 6000; fi
must_fail bad-clients --sessions 1200 --plant memory
if [ "$size" = long ]; then
  run backup-test --backups 200 --points 50 --flips 100
else
  run backup-test --backups 6 --points 4 --flips 10
fi
must_fail backup-test --backups 2 --points 0 --flips 0 --plant lost-row
if ! { [ "$(id -u)" = 0 ] && [ -r /dev/fuse ] && [ -w /dev/fuse ] && grep -qw fuse /proc/filesystems; }; then
  echo "skipped: /dev/fuse cannot be used here, so no power loss, I/O errors, bit flips, full disk" >&2
  [ "${CI:-}" != true ]
  exit
fi
if [ "$size" = long ]; then
  run power-loss --cycles 200
  run io-errors --upto 1000
  run bit-flips --flips 1000
  run disk-full --cycles 30
else
  run power-loss --cycles 8
  run io-errors --upto 200 --runs 2
  run bit-flips --flips 12
  run disk-full --cycles 3
fi
must_fail power-loss --cycles 40 --plant flush-mode-2
must_fail power-loss --cycles 40 --plant lying-fsync
must_fail io-errors --class fsync --upto 40 --runs 16 --plant silent-fsync
must_fail bit-flips --flips 1 --plant wrong-row
