#!/bin/bash
# pt-query-digest reads the slow log and the general log of a server on this machine: it must find the statements that were run, by their fingerprints,
# with their accounts, times and rows.
set -euo pipefail

statements_each=7   # how often a statement runs
sql() { mariadb --no-defaults -h"$DB_HOST" -P"$DB_PORT" -u"$DB_USER" -p"$DB_PASSWORD" -N "$@"; }
fail() { echo "$1"; exit 1; }

dir=$(sql -e "SELECT @@datadir")
slow=$dir/digest-$DB_TLS-slow.log general=$dir/digest-$DB_TLS-general.log
[ "$DB_TLS" = 0 ] || sql() { mariadb --no-defaults --ssl -h"$DB_HOST" -P"$DB_PORT" -u"$DB_USER" -p"$DB_PASSWORD" -N "$@"; }
sql -e "SET GLOBAL slow_query_log_file = '$slow', GLOBAL general_log_file = '$general', GLOBAL log_slow_extra = $DB_TLS,
  GLOBAL long_query_time = 0, GLOBAL slow_query_log = ON, GLOBAL general_log = ON"
{
  echo "CREATE DATABASE $DB_NAME; USE $DB_NAME; CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(50));"
  for n in $(seq $statements_each); do
    echo "INSERT INTO t VALUES ($n, 'it''s; number $n\n# Time: none');"
    echo "SELECT a FROM t WHERE id = $n;"
  done
  echo "PREPARE s FROM 'SELECT id, a FROM t WHERE id = ?'; SET @id = 3; EXECUTE s USING @id; DROP DATABASE $DB_NAME;"
} | sql >/dev/null
sql -e "SET GLOBAL slow_query_log = OFF, GLOBAL general_log = OFF, GLOBAL long_query_time = DEFAULT, GLOBAL log_slow_extra = OFF,
  GLOBAL slow_query_log_file = DEFAULT, GLOBAL general_log_file = DEFAULT"

for kind in slowlog genlog; do
  file=$slow; [ $kind = slowlog ] || file=$general
  report=$(pt-query-digest --type $kind --no-version-check --limit 100% --output json "$file")
  [ "$(grep -o '"fingerprint" *:' <<<"$report" | wc -l)" -gt 5 ] || { echo "$report" | head -20; fail "$kind: few fingerprints"; }
  fingerprints=('insert into t values(?+)' 'select a from t where id = ?')
  # It takes executions in the general log for commands of administrators.
  [ $kind = genlog ] || fingerprints+=('select id, a from t where id = ?')
  for fingerprint in "${fingerprints[@]}"; do
    grep -qF "\"fingerprint\" : \"$fingerprint\"" <<<"$report" || grep -qF "\"fingerprint\":\"$fingerprint\"" <<<"$report" || {
      grep -o '"fingerprint" *: *"[^"]*"' <<<"$report"; fail "$kind: $fingerprint is missing"; }
  done
done
text=$(pt-query-digest --type slowlog --no-version-check --limit 100% "$slow")
grep -qE "^# Overall: [0-9]+ total" <<<"$text" || fail "no summary"
grep -qF "$DB_USER" <<<"$text" || fail "the account is missing"
grep -qE "^# Count .* $statements_each\$" <<<"$text" || fail "the statements that ran $statements_each times are not counted"
rm -f "$slow" "$general"
