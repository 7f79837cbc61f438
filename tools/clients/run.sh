#!/bin/bash
# Runs every MySQL client below against a Vaquita of its own, over TCP without TLS and with it.
#
#   tools/clients/run.sh [PATTERN]      only the clients whose name contains PATTERN
#   VAQUITA=path                        the server's binary; $CARGO_TARGET_DIR/debug/vaquita if not given
#   CLIENTS_SERVER=host:port:user:pw    test this server instead (the expectations are MySQL's: all clients pass there)
#   MYSQL_CLIENT='words of a command'   MySQL's own mysql program, which Debian 12 does not offer
#   CI=true                             a runtime that is missing is a failure
#
# Each client is a program that reads DB_HOST, DB_PORT, DB_USER, DB_PASSWORD, DB_NAME and DB_TLS (0 or 1) from the environment, checks
# that its connection is encrypted or not as asked, creates the database DB_NAME with a table, writes typed values, reads
# them back and compares, uses statements prepared by the server if it can, expects error 1062, rolls a transaction back, reads a result
# of 10,000 rows, drops the database and exits with 0. Each gets an account of its own, so that each
# makes the full exchange of caching_sha2_password (RSA without TLS) and not only the fast one.
#
# The readers of the binary log (mysql-replication, go-mysql, zongji, Debezium) do instead what they are for: they read inserts, updates, deletes
# and DDL as rows, not what was rolled back, and go on where they have stopped. "backup to S3" backs the server up to an object store and restores it. pt-query-digest reads the slow log and the general log.
# "metrics" and "console" start servers with an HTTP front: /metrics as Prometheus and mysqld_exporter read it, and every page and action of the console in a browser.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
cd "$CLIENTS_DIR"
pattern=${1:-}
client_seconds_max=120   # seconds per client; the slowest (the console in Chromium) needs about thirty
passed=0 failed=0 skipped=0 names=()

# ---- the server

work=$(mktemp -d)
server_pid=
finish() {
  if [ -n "$server_pid" ]; then kill "$server_pid" 2>/dev/null; wait "$server_pid" 2>/dev/null; fi
  rm -rf "$work"
}
trap finish EXIT
answers() { (exec 3<>"/dev/tcp/$DB_HOST/$DB_PORT") 2>/dev/null; }

start_server() {
  local binary=${VAQUITA:-${CARGO_TARGET_DIR:-$HOME/.cache/vaquita/target}/debug/vaquita}
  [ -x "$binary" ] || { echo "no server at $binary; build it or set VAQUITA"; exit 2; }
  DB_HOST=127.0.0.1 DB_PORT=0
  for _ in $(seq 50); do DB_PORT=$((20000 + RANDOM % 10000)); answers || break; done
  ADMIN_USER=root ADMIN_PASSWORD=root-of-clients
  VAQUITA_HTTP=off "$binary" serve --data-dir "$work/data" --port "$DB_PORT" --socket "$work/socket" --initial-root-password "$ADMIN_PASSWORD" >"$work/log" 2>&1 &
  server_pid=$!
  for _ in $(seq 300); do
    [ -f "$work/data/client.cnf" ] && answers && return
    kill -0 "$server_pid" 2>/dev/null || break
    sleep 0.1
  done
  echo "the server did not start:"; tail -20 "$work/log"; exit 2
}

if [ -n "${CLIENTS_SERVER:-}" ]; then
  IFS=: read -r DB_HOST DB_PORT ADMIN_USER ADMIN_PASSWORD <<<"$CLIENTS_SERVER"
else
  start_server
fi
export DB_HOST DB_PORT DB_USER DB_PASSWORD DB_NAME DB_TLS

# ---- the clients: for each a name, whether its runtime is there, and its command

python_has() { [ -x "$CLIENTS_VENV/bin/python" ] && "$CLIENTS_VENV/bin/python" -c "import $1" 2>/dev/null; }
python() { PYTHONDONTWRITEBYTECODE=1 "$CLIENTS_VENV/bin/python" "python/$1.py"; }

mariadb_has() { command -v mariadb >/dev/null; }
mariadb_run() { ./cli.sh mariadb mariadb; }
mysql_has() { [ ${#MYSQL[@]} -gt 0 ]; }
mysql_run() { ./cli.sh mysql "${MYSQL[@]}"; }
pymysql_has() { python_has pymysql; }
pymysql_run() { python client_pymysql; }
mysqlclient_has() { python_has MySQLdb; }
mysqlclient_run() { python client_mysqlclient; }
connector_python_has() { python_has mysql.connector; }
connector_python_run() { python client_connector_python; }
sqlalchemy_has() { python_has sqlalchemy,pymysql; }
sqlalchemy_run() { python client_sqlalchemy; }
go_has() { command -v go >/dev/null && (cd go && GOPROXY=off go list -modfile="$(go_modfile)" -deps . >/dev/null 2>&1); }
go_run() { (cd go && GOPROXY=off go build -modfile="$(go_modfile)" -o "$CLIENTS_CACHE/go-client" .) && "$CLIENTS_CACHE/go-client"; }
java_has() { command -v javac >/dev/null && compgen -G "$CLIENTS_JARS/mysql-connector-j-*.jar" >/dev/null; }
java_run() { java -XX:TieredStopAtLevel=1 -cp "$CLIENTS_JARS/*" java/Client.java; }
node_has() { command -v node >/dev/null && [ -d "$CLIENTS_NODE/node_modules/mysql2" ]; }
node_run() { NODE_PATH=$CLIENTS_NODE/node_modules node node/client.js; }
mysqli_has() { command -v php >/dev/null && php -m | grep -x mysqli >/dev/null; }
mysqli_run() { php php/mysqli.php; }
pdo_has() { command -v php >/dev/null && php -m | grep -x >/dev/null pdo_mysql; }
pdo_run() { php php/pdo.php; }
sqlx() { CARGO_TARGET_DIR=$CLIENTS_CARGO_TARGET cargo "$@" --locked --offline -q --manifest-path rust-sqlx/Cargo.toml; }
sqlx_has() { command -v cargo >/dev/null && sqlx fetch --target "$(rustc -vV | sed -n 's/^host: //p')" >/dev/null 2>&1; }
sqlx_run() { sqlx build && "$CLIENTS_CARGO_TARGET/debug/vaquita-client-sqlx"; }

reader_python_has() { python_has pymysqlreplication; }
reader_python_run() { python reader_mysql_replication; }
reader_go_has() { command -v go >/dev/null && (cd go-reader && GOPROXY=off go list -deps . >/dev/null 2>&1); }
reader_go_run() { (cd go-reader && GOPROXY=off go build -o "$CLIENTS_CACHE/go-reader" .) && "$CLIENTS_CACHE/go-reader"; }
reader_node_has() { command -v node >/dev/null && [ -d "$CLIENTS_NODE/node_modules/@vlasky/zongji" ]; }
reader_node_run() { NODE_PATH=$CLIENTS_NODE/node_modules node node/reader.js; }
debezium_has() { command -v javac >/dev/null && compgen -G "$CLIENTS_DEBEZIUM/debezium-connector-mysql-*.jar" >/dev/null; }
debezium_run() { java -XX:TieredStopAtLevel=1 -cp "$CLIENTS_DEBEZIUM/*" java-debezium/Reader.java; }

# The server's binary is the client here, and an object store in Python is what it writes to.
backup_s3_has() { [ -z "${CLIENTS_SERVER:-}" ] && python_has moto.server,boto3,pymysql; }
backup_s3_run() { VAQUITA=${VAQUITA:-${CARGO_TARGET_DIR:-$HOME/.cache/vaquita/target}/debug/vaquita} python backup_s3; }

# It reads files of the server.
digest_has() { [ -z "${CLIENTS_SERVER:-}" ] && command -v pt-query-digest >/dev/null && mariadb_has; }
digest_run() { ./digest.sh; }
# Servers of their own, with the HTTP front: Prometheus' parsers and mysqld_exporter, and a browser.
own_server() { VAQUITA=${VAQUITA:-${CARGO_TARGET_DIR:-$HOME/.cache/vaquita/target}/debug/vaquita} python "$1"; }
metrics_has() { [ -z "${CLIENTS_SERVER:-}" ] && command -v prometheus-mysqld-exporter >/dev/null && python_has prometheus_client,pymysql; }
metrics_run() { own_server metrics; }
console_has() { [ -z "${CLIENTS_SERVER:-}" ] && has_chromium && python_has websocket,pymysql; }
console_run() { own_server console; }

clients=(
  "mariadb:mariadb CLI" "mysql:mysql CLI" "pymysql:PyMySQL" "mysqlclient:mysqlclient" "connector_python:mysql-connector-python"
  "sqlalchemy:SQLAlchemy" "go:go-sql-driver" "java:Connector/J" "node:node mysql2" "mysqli:PHP mysqli" "pdo:PHP PDO" "sqlx:Rust sqlx"
  "reader_python:mysql-replication" "reader_go:go-mysql" "reader_node:zongji" "debezium:Debezium"
  "backup_s3:backup to S3" "digest:pt-query-digest" "metrics:metrics" "console:console in Chromium"
)

# ---- running them

report_failure() {   # name, file with the output
  failed=$((failed + 1))
  echo "FAILED $1: $(grep -v '^[[:space:]]*$' "$2" | tail -1 | cut -c1-300)"
  sed 's/^/    | /' "$2" | tail -25
}

# One statement stream as administrator; over the Unix socket with the password file that the server wrote, where it is ours.
admin() {
  if [ -n "$server_pid" ]; then
    mariadb --defaults-file="$work/data/client.cnf" --protocol=socket -S "$work/socket"
  else
    mariadb --no-defaults -h"$DB_HOST" -P"$DB_PORT" -u"$ADMIN_USER" -p"$ADMIN_PASSWORD"
  fi
}

create_accounts() {
  mariadb_has || { echo "note: no mariadb CLI to create accounts with; every client uses $ADMIN_USER"; return 1; }
  for entry in "${clients[@]}"; do
    for tls in 0 1; do
      local user="client_${entry%%:*}_$tls"
      echo "DROP USER IF EXISTS $user@'%'; CREATE USER $user@'%' IDENTIFIED BY 'pw of $user'; GRANT ALL ON *.* TO $user@'%';"
    done
  done | admin >"$work/out" 2>&1 && { passed=$((passed + 1)); echo "ok accounts"; return; }
  report_failure accounts "$work/out"
  return 1
}

drop_accounts() {
  for entry in "${clients[@]}"; do echo "DROP USER client_${entry%%:*}_0@'%', client_${entry%%:*}_1@'%';"; done | admin
}

run_client() {   # key, name, 0 or 1
  local key=$1 name=$2
  DB_TLS=$3 DB_NAME=client_${key}_$3 DB_USER=$ADMIN_USER DB_PASSWORD=$ADMIN_PASSWORD
  [ "$own_accounts" = 0 ] || DB_USER=client_${key}_$3 DB_PASSWORD="pw of client_${key}_$3"
  [ "$DB_TLS" = 0 ] || name="$name (TLS)"
  (set -m; "${key}_run" & pid=$!
   (sleep "$client_seconds_max"; echo "no end after $client_seconds_max s"; kill -- -"$pid") & watchdog=$!
   wait "$pid"; status=$?
   kill -- -"$watchdog" 2>/dev/null; exit "$status") >"$work/out" 2>&1
  if [ $? = 0 ]; then passed=$((passed + 1)); echo "ok $name"; else report_failure "$name" "$work/out"; fi
}

find_mysql
own_accounts=1
create_accounts || own_accounts=0
for entry in "${clients[@]}"; do
  key=${entry%%:*} name=${entry#*:}
  [[ $name == *"$pattern"* ]] || continue
  if "${key}_has"; then
    run_client "$key" "$name" 0
    run_client "$key" "$name" 1
  # MySQL's own client, and Go for go-mysql, are what install.sh cannot get on every distribution.
  elif [ "${CI:-}" = true ] && [ "$key" != mysql ] && [ "$key" != reader_go ]; then
    echo "missing" >"$work/out"; report_failure "$name: no runtime" "$work/out"
  else
    skipped=$((skipped + 1)); names+=("$name")
    echo "skipped $name: no runtime"
  fi
done
if [ -n "${CLIENTS_SERVER:-}" ] && [ "$own_accounts" = 1 ]; then drop_accounts; fi
if [ -n "$server_pid" ] && ! kill -0 "$server_pid" 2>/dev/null; then
  tail -20 "$work/log" >"$work/out"; report_failure "server: it ended" "$work/out"
fi

if [[ " ${names[*]-} " == *" mysql CLI "* ]]; then
  echo "mysql CLI: Debian 12 has no package of MySQL's own client, so it is skipped in CI too; name one with MYSQL_CLIENT"
fi
[ ${#names[@]} = 0 ] || echo "skipped: $(printf '%s, ' "${names[@]}" | sed 's/, $//') (tools/clients/install.sh installs what the distribution offers)"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
