#!/bin/bash
# Installs the runtimes and libraries of every client that run.sh tests: Debian's packages, and below ~/.cache/vaquita/clients
# what pip, npm, Maven, Go and Cargo fetch. For Debian 12, Ubuntu 22.04 and later.
# Quick when everything is there: a stamp holds the digest of this folder's lists of dependencies.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$CLIENTS_DIR"

digest=$(cat install.sh lib.sh python/requirements.txt node/package-lock.json java/pom.xml java-debezium/pom.xml go/go*.mod go-reader/go.mod rust-sqlx/Cargo.lock | sha256sum)
commands=(mariadb pt-query-digest php go java javac mvn node npm pkg-config cc prometheus-mysqld-exporter)
missing() { for c in "${commands[@]}"; do command -v "$c" >/dev/null || echo "$c"; done; has_chromium || echo chromium; }
if [ "$(cat "$CLIENTS_CACHE/stamp" 2>/dev/null)" = "$digest" ] && [ -z "$(missing)" ] && [ -x "$CLIENTS_VENV/bin/python" ]; then
  exit
fi
mkdir -p "$CLIENTS_CACHE"
rm -f "$CLIENTS_CACHE/stamp"

need=()
want() { command -v "$1" >/dev/null || need+=("${@:2}"); }
package() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'install ok' || need+=("$1"); }
want mariadb mariadb-client
want php php-cli
want go golang-go
want javac default-jdk-headless
want mvn maven
want node nodejs
want npm npm
want pkg-config pkg-config
want cc build-essential
want pt-query-digest percona-toolkit
# A browser for the console and an exporter for the metrics.
want prometheus-mysqld-exporter prometheus-mysqld-exporter
if ! has_chromium; then need+=(chromium); fi
for p in php-mysql python3-dev python3-venv libmariadb-dev ca-certificates; do package "$p"; done
if [ ${#need[@]} -gt 0 ]; then
  sudo=; [ "$(id -u)" = 0 ] || sudo=sudo
  echo "clients: installing ${need[*]}"
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 update -q >/dev/null
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends "${need[@]}" >/dev/null
fi

# MySQL's own client cannot be installed beside MariaDB's; it is unpacked instead, where the distribution has it.
find_mysql
if [ ${#MYSQL[@]} = 0 ]; then
  core=$(apt-cache depends mysql-client 2>/dev/null | sed -n 's/.*Depends: mysql-client-\([0-9.]*\)$/mysql-client-core-\1/p' | head -1)
  if [ -n "$core" ]; then
    echo "clients: unpacking $core"
    (cd "$CLIENTS_CACHE" && apt-get download -q "$core" >/dev/null && dpkg -x "$core"_*.deb mysql && rm -f "$core"_*.deb)
  else
    echo "clients: this distribution has no package of MySQL's own client; set MYSQL_CLIENT to test with one"
  fi
fi

echo "clients: Python"
python=/usr/bin/python3   # the one whose headers python3-dev brings; mysqlclient is compiled
[ -x "$CLIENTS_VENV/bin/python" ] || "$python" -m venv "$CLIENTS_VENV"
"$CLIENTS_VENV/bin/pip" install -q --disable-pip-version-check -r python/requirements.txt

echo "clients: Node"
mkdir -p "$CLIENTS_NODE"
cp node/package.json node/package-lock.json "$CLIENTS_NODE/"
(cd "$CLIENTS_NODE" && npm ci --silent --no-audit --no-fund)

echo "clients: Java"
mvn -q -B -f java/pom.xml dependency:copy-dependencies -DoutputDirectory="$CLIENTS_JARS"
mvn -q -B -f java-debezium/pom.xml dependency:copy-dependencies -DoutputDirectory="$CLIENTS_DEBEZIUM"

echo "clients: Go"
(cd go && go build -modfile="$(go_modfile)" -o "$CLIENTS_CACHE/go-client" .)
# go-mysql has no release for the Go of older distributions: there it is left out.
[ "$(go_modfile)" != go.mod ] || (cd go-reader && go build -o "$CLIENTS_CACHE/go-reader" .)

echo "clients: Rust"
command -v cargo >/dev/null || ../install-deps.sh
CARGO_TARGET_DIR=$CLIENTS_CARGO_TARGET cargo build -q --locked --manifest-path rust-sqlx/Cargo.toml

echo "$digest" >"$CLIENTS_CACHE/stamp"
