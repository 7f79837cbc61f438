#!/bin/bash
# Records what a MySQL answers to the statements of crates/server/tests/golden/load_xml: tools/record-load-xml.sh CLIENT ARGS...
# The client runs in that directory, or one with the same files, and may send files: --local-infile=1.
set -euo pipefail
cd "$(dirname "$0")/../crates/server/tests/golden/load_xml"
{
  sed 's/$/;/' tables.sql
  while IFS= read -r statement; do
    printf "%s;\nshow warnings;\n" "$statement"
    echo "select id, name, base, deep from t; select id, name, '', '' from n; delete from t;"
    echo "select '#';"
  done < statements.sql
  echo "drop database load_xml;"
} | "$@" --default-character-set=utf8mb4 -N -B | python3 -c '
import sys
statements = open("statements.sql").read().splitlines()
parts = sys.stdin.read().split("#\n")
for statement, part in zip(statements, parts):
    print("> " + statement)
    sys.stdout.write(part)
' > answers.txt
