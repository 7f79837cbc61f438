#!/bin/bash
# The scenario of run.sh with a command line client: cli.sh mariadb|mysql COMMAND...
# Output is compared as text, in the batch format that both programs share; prepared statements are SQL's PREPARE and EXECUTE.
set -euo pipefail
kind=$1; shift
case $kind$DB_TLS in
  mariadb0) tls=(--skip-ssl) ;;
  mariadb1) tls=(--ssl) ;;
  mysql0) tls=(--ssl-mode=DISABLED --get-server-public-key) ;;
  mysql1) tls=(--ssl-mode=REQUIRED) ;;
esac
export MYSQL_PWD=$DB_PASSWORD
client=("$@" --no-defaults --protocol=tcp -h "$DB_HOST" -P "$DB_PORT" -u "$DB_USER" "${tls[@]}" --default-character-set=utf8mb4 --batch)
expect() {   # what, expected, got
  [ "$2" = "$3" ] || { printf '%s\nexpected: %s\ngot:      %s\n' "$1" "$2" "$3" >&2; echo "$1: wrong output: $(echo "$3" | tail -1)" >&2; exit 1; }
}

cipher=$("${client[@]}" -N -e "SHOW SESSION STATUS LIKE 'Ssl_cipher'" | cut -f2)
[ "$DB_TLS" = "$([ -n "$cipher" ] && echo 1 || echo 0)" ] || { echo "Ssl_cipher is '$cipher'" >&2; exit 1; }

"${client[@]}" <<SQL
DROP DATABASE IF EXISTS $DB_NAME; CREATE DATABASE $DB_NAME; USE $DB_NAME;
CREATE TABLE t (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  n BIGINT UNSIGNED, m DECIMAL(20,4), f DOUBLE, s VARCHAR(50), b BLOB, -- a comment
  d DATE, ts DATETIME(6), tm TIME, j JSON, z INT, UNIQUE KEY s_unique (s));
INSERT INTO t (n, m, f, s, b, d, ts, tm, j, z) VALUES (18446744073709551615, 1234567890123456.7891, 0.1, 'Grüße 🐄', x'00FF275C0A1A',
  '2024-02-29', '2024-02-29 23:59:59.123456', '12:34:56', '{"a": [1, 2.5, null], "k": "🐄"}', NULL);
SQL
client+=(-D "$DB_NAME")

expect "the row" \
  $'1\t18446744073709551615\t1234567890123456.7891\t0.1\tGrüße 🐄\t00FF275C0A1A\t2024-02-29\t2024-02-29 23:59:59.123456\t12:34:56\t{"a": [1, 2.5, null], "k": "🐄"}\tNULL' \
  "$("${client[@]}" -N -e 'SELECT id, n, m, f, s, HEX(b), d, ts, tm, j, z FROM t')"
expect "names of columns" $'s\tchars' "$("${client[@]}" -e 'SELECT s, CHAR_LENGTH(s) AS chars FROM t' | head -1)"

expect "prepared statements" $'Grüße 🐄\t18446744073709551615\nsecond\t7' "$("${client[@]}" -N <<'SQL'
PREPARE ins FROM 'INSERT INTO t (s, n) VALUES (?, ?)';
SET @s = 'second', @n = 7;
EXECUTE ins USING @s, @n;
PREPARE sel FROM 'SELECT s, n FROM t WHERE n >= ? ORDER BY id';
EXECUTE sel USING @n;
DEALLOCATE PREPARE sel;
SQL
)"

expect "a duplicate key" "ERROR 1062 (23000) at line 1: Duplicate entry 'second' for key 't.s_unique'" \
  "$("${client[@]}" -e "INSERT INTO t (s) VALUES ('second')" 2>&1 | grep ERROR)"

expect "a transaction rolled back" $'3\n2' "$("${client[@]}" -N <<'SQL'
START TRANSACTION; INSERT INTO t (s) VALUES ('rolled back'); SELECT COUNT(*) FROM t; ROLLBACK; SELECT COUNT(*) FROM t;
SQL
)"

{
  echo "CREATE TABLE many (id INT PRIMARY KEY, s VARCHAR(50));"
  for thousand in $(seq 0 9); do
    seq $((thousand * 1000)) $((thousand * 1000 + 999)) | sed "s/.*/(&, 'row &')/" | paste -sd, | sed 's/^/INSERT INTO many VALUES /; s/$/;/'
  done
} | "${client[@]}"
expect "10,000 rows" "$(seq 0 9999 | sed $'s/.*/&\trow &/' | md5sum)" "$("${client[@]}" -N -e 'SELECT id, s FROM many ORDER BY id' | md5sum)"
"${client[@]}" -e "DROP DATABASE $DB_NAME"
