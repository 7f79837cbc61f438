#!/bin/bash
# The servers that Vaquita is measured against, on loopback, durable, with as much cache as it has.
#
#   tools/peers.sh install              Debian's MariaDB, MyRocks and sysbench; MySQL from Debian unstable, in a chroot
#   tools/peers.sh start mysql [options of the server]
#   tools/peers.sh start mariadb [options of the server]       InnoDB, and MyRocks as ENGINE=ROCKSDB
#   tools/peers.sh stop mysql|mariadb
#   tools/peers.sh where mysql|mariadb  prints the data directory and the file that holds the server's process id
#
# User sb, password sb, may do everything. Run it as root. Environment:
#   SID            the chroot of MySQL                    (default /opt/sid)
#   RUN            data of MariaDB, logs, process ids     (default ~/.cache/vaquita/peers)
#   MEM            buffer pool, block cache               (default 2G)
#   MYSQL_PORT     (default 13306)      MARIADB_PORT      (default 13307)
# What is not set here is at the server's default: a commit is synced before it is acknowledged, MySQL writes its binary log.
set -euo pipefail

SID=${SID:-/opt/sid}
RUN=${RUN:-${XDG_CACHE_HOME:-$HOME/.cache}/vaquita/peers}
MEM=${MEM:-2G}
MYSQL_PORT=${MYSQL_PORT:-13306}
MARIADB_PORT=${MARIADB_PORT:-13307}
START_SECONDS_MAX=120
STOP_SECONDS_MAX=120
CONNECTIONS_MAX=12000
STATEMENTS_MAX=1000000

mysql_data=/var/lib/mysql-peer-$MYSQL_PORT # inside the chroot
mysql_socket=/tmp/mysql-peer-$MYSQL_PORT.sock
mariadb_data=$RUN/mariadb-data
mariadb_socket=$RUN/mariadb-$MARIADB_PORT.sock
mkdir -p "$RUN"

usage() { sed -n '2,/^set /{/^#/p}' "$0" >&2; exit 2; }

pid_file() { case $1 in mysql) echo "$RUN/mysql-$MYSQL_PORT.pid" ;; mariadb) echo "$RUN/mariadb-$MARIADB_PORT.pid" ;; *) usage ;; esac; }

# run_sql SERVER STATEMENTS, as root over the socket
run_sql() {
  case $1 in
    mysql) chroot "$SID" mysql -S "$mysql_socket" -uroot -e "$2" ;;
    mariadb) mariadb -S "$mariadb_socket" -uroot -e "$2" ;;
  esac
}

wait_until_up() {
  local pid end=$((SECONDS + START_SECONDS_MAX))
  pid=$(cat "$(pid_file "$1")")
  until run_sql "$1" 'SELECT 1' >/dev/null 2>&1; do
    if ! kill -0 "$pid" 2>/dev/null || [ "$SECONDS" -ge "$end" ]; then
      echo "$1 did not start:" >&2
      tail -n 20 "$RUN/$1.log" >&2
      exit 1
    fi
    sleep 0.2
  done
}

create_user() {
  run_sql "$1" "CREATE USER IF NOT EXISTS sb@'%' IDENTIFIED BY 'sb'; GRANT ALL ON *.* TO sb@'%' WITH GRANT OPTION"
}

install_debian_packages() {
  export DEBIAN_FRONTEND=noninteractive
  local apt=(apt-get -q -y -o DPkg::Lock::Timeout=300)
  "${apt[@]}" update >/dev/null
  "${apt[@]}" install debootstrap mariadb-server mariadb-plugin-rocksdb sysbench >/dev/null
}

install_mysql() {
  [ ! -x "$SID/usr/sbin/mysqld" ] || return 0
  local mirror
  # The mirror that this machine takes its own packages from.
  mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' | awk -v own="$(. /etc/os-release && echo "$VERSION_CODENAME")" '$2 == own { print $1; exit }')
  debootstrap --variant=minbase --no-check-gpg sid "$SID" "$mirror" >/dev/null
  # A mirror may be weeks behind unstable, whose lists then count as expired.
  chroot "$SID" sh -c 'apt-get -q -o Acquire::Check-Valid-Until=false update && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends mysql-server mysql-client' >/dev/null
}

start_mysql() {
  if [ ! -d "$SID$mysql_data/mysql" ]; then
    rm -rf "${SID:?}$mysql_data"
    chroot "$SID" mysqld --no-defaults --user=root --initialize-insecure --datadir="$mysql_data" 2>"$RUN/mysql.log"
  fi
  chroot "$SID" mysqld --no-defaults --user=root --datadir="$mysql_data" --socket="$mysql_socket" \
    --port="$MYSQL_PORT" --bind-address=127.0.0.1 --mysqlx=0 \
    --innodb-buffer-pool-size="$MEM" --innodb-redo-log-capacity=2G \
    --max-connections=$CONNECTIONS_MAX --max-prepared-stmt-count=$STATEMENTS_MAX --local-infile=1 "$@" >"$RUN/mysql.log" 2>&1 &
  echo $! >"$(pid_file mysql)"
}

start_mariadb() {
  if [ ! -d "$mariadb_data" ]; then
    mariadb-install-db --no-defaults --user=root --datadir="$mariadb_data" --skip-test-db --auth-root-authentication-method=normal >"$RUN/mariadb.log" 2>&1
  fi
  mariadbd --no-defaults --user=root --datadir="$mariadb_data" --socket="$mariadb_socket" \
    --port="$MARIADB_PORT" --bind-address=127.0.0.1 --plugin-load-add=ha_rocksdb \
    --innodb-buffer-pool-size="$MEM" --innodb-log-file-size=2G --rocksdb-block-cache-size="$MEM" \
    --max-connections=$CONNECTIONS_MAX --max-prepared-stmt-count=$STATEMENTS_MAX "$@" >"$RUN/mariadb.log" 2>&1 &
  echo $! >"$(pid_file mariadb)"
}

start() {
  local server=$1 pid
  shift
  pid=$(cat "$(pid_file "$server")" 2>/dev/null || true)
  if [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; then
    echo "$server runs already, process $pid" >&2
    exit 1
  fi
  "start_$server" "$@"
  wait_until_up "$server"
  # An anonymous user would be preferred to sb@'%' on localhost.
  [ "$server" != mariadb ] || run_sql mariadb "DELETE FROM mysql.global_priv WHERE User=''; FLUSH PRIVILEGES"
  create_user "$server"
}

stop() {
  local file pid
  file=$(pid_file "$1")
  pid=$(cat "$file" 2>/dev/null || true)
  [ -n "$pid" ] || return 0
  kill "$pid" 2>/dev/null || true
  for _ in $(seq $((STOP_SECONDS_MAX * 10))); do
    kill -0 "$pid" 2>/dev/null || { rm -f "$file"; return 0; }
    sleep 0.1
  done
  echo "$1 did not stop, process $pid" >&2
  exit 1
}

where() {
  case $1 in mysql) echo "$SID$mysql_data" ;; mariadb) echo "$mariadb_data" ;; *) usage ;; esac
  pid_file "$1"
}

case "${1:-} ${2:-}" in
  "install ") install_debian_packages; install_mysql ;;
  "start mysql" | "start mariadb") shift; start "$@" ;;
  "stop mysql" | "stop mariadb") stop "$2" ;;
  "where mysql" | "where mariadb") where "$2" ;;
  *) usage ;;
esac
