# Shared by install.sh and run.sh: where the clients' libraries live and how each toolchain is called. Sourced.

CLIENTS_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# Outside the checkout, so that all checkouts share one installation.
CLIENTS_CACHE=${VAQUITA_CLIENTS_CACHE:-$HOME/.cache/vaquita/clients}
CLIENTS_VENV=$CLIENTS_CACHE/venv
CLIENTS_JARS=$CLIENTS_CACHE/java
CLIENTS_DEBEZIUM=$CLIENTS_CACHE/debezium
CLIENTS_NODE=$CLIENTS_CACHE/node
CLIENTS_CARGO_TARGET=${VAQUITA_CLIENTS_TARGET:-$CLIENTS_CACHE/cargo}
PATH=$HOME/.cargo/bin:$PATH
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-mod=mod"

# As python/browser.py looks for it. Ubuntu has it as a snap only, which containers cannot install: there a browser of the machine is used.
has_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null

# The current go-sql-driver wants Go 1.24; go1.18.mod holds the last release that Debian 12's and Ubuntu's Go compiles.
go_modfile() {
  local minor
  minor=$(go env GOVERSION | sed -n 's/^go1\.\([0-9]*\).*/\1/p')
  if [ "${minor:-0}" -ge 24 ]; then echo go.mod; else echo go1.18.mod; fi
}

# The mysql program of MySQL itself, as the words of a command in MYSQL; empty if there is none. Debian 12 has no package
# of it and its `mysql` is MariaDB's, so: MYSQL_CLIENT from the environment (it may be several words), a `mysql` in the
# path that says Ver 8 or later, the one that install.sh unpacked, or one in a chroot with a later Debian.
find_mysql() {
  local candidate
  local candidates=("mysql" "$CLIENTS_CACHE/mysql/usr/bin/mysql")
  [ -z "${MYSQL_CLIENT:-}" ] || candidates=("$MYSQL_CLIENT")
  [ ! -x /opt/sid/usr/bin/mysql ] || [ "$(id -u)" != 0 ] || candidates+=("chroot /opt/sid mysql")
  for candidate in "${candidates[@]}"; do
    read -r -a MYSQL <<<"$candidate"
    "${MYSQL[@]}" --version 2>/dev/null | grep -Eq 'Ver ([89]|[1-9][0-9]+)\.' &&
      ! "${MYSQL[@]}" --version | grep -q MariaDB && return
  done
  MYSQL=()
}
