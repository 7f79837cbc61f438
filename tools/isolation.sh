#!/bin/bash
# Checks every isolation level with every workload: tools/isolation.sh [TRANSACTIONS [SEED]]
# 20,000 transactions of lists per level (CI) by default, 1,000,000 for a nightly run; half as many more across kill -9,
# and a tenth of each other workload. Then the positive control: each planted bug must be found.
set -euo pipefail
cd "$(dirname "$0")/.."
# Each read that the row cache or a span answers is compared with RocksDB's answer.
export VAQUITA_STORAGE_TEST_OPTION=check-cached-reads=on
count=${1:-20000}
seed=${2:-1}
few=$((count / 10))
run() { ${HARNESS:-cargo run --locked -q -p vaquita-harness --} check-isolation "$@" --seed "$seed"; }

for level in RC RR SER; do
  run --level $level --workload list-append --transactions "$count"
  run --level $level --workload list-append --transactions $((count / 2)) --kill-every 1
  for workload in register predicate bank mav nonrepeatable moves; do
    run --level $level --workload $workload --transactions "$few"
  done
  run --level $level --workload predicate --transactions "$few" --kill-every 1
done

must_fail() {
  if run "$@" > /dev/null 2>&1; then
    echo "the planted bug was not found: check-isolation $*" >&2
    exit 1
  fi
  echo "found: $*"
}
must_fail --level RR --workload list-append --transactions 4000 --plant lost-update
must_fail --level RR --workload register --transactions 4000 --plant lost-update
must_fail --level RR --workload bank --transactions 4000 --plant lost-update
must_fail --level RR --workload list-append --transactions 4000 --plant no-transaction
must_fail --level RR --workload bank --transactions 4000 --plant no-transaction
must_fail --level SER --workload predicate --transactions 4000 --plant no-transaction
must_fail --level RC --workload list-append --transactions 4000 --plant forgotten-commit
