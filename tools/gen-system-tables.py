#!/usr/bin/env python3
"""Records the columns of MySQL's system tables and of its SHOW statements.

usage: tools/gen-system-tables.py 'mysql -h127.0.0.1 -uroot'

Writes crates/exec/src/system/tables.txt and setup.txt, and crates/exec/src/show/columns.txt and privileges.txt. Fields are separated by tabs:

    = database.table <TAB> type of the table
    name, type, nullable, collation, key, default or \\N, extra

    = SHOW form
    name, type, nullable, collation

    = table of performance_schema that sets it up
    the values of a row of a new server, or \\N
"""
import re
import shlex
import subprocess
import sys

CLIENT = shlex.split(sys.argv[1])
TABLES = "crates/exec/src/system/tables.txt"
SHOWS = "crates/exec/src/show/columns.txt"
SETUP = "crates/exec/src/system/setup.txt"
PRIVILEGES = "crates/exec/src/show/privileges.txt"

# Tables of single plugins.
LEFT_OUT = re.compile(
    r"^(information_schema\.(TP_THREAD.*|MYSQL_FIREWALL.*)"
    r"|performance_schema\.(tp_.*|firewall.*|clone_.*|ndb_.*)"
    r"|mysql\.(firewall.*|ndb_.*|innodb_ddl_log|innodb_dynamic_metadata))$"
)

# Rows of setup tables. What is left out stands for nothing here: mutexes, and what other engines take of memory.
SETUP_ROWS = [
    ("setup_actors", "SELECT * FROM performance_schema.setup_actors"),
    ("setup_consumers", "SELECT * FROM performance_schema.setup_consumers"),
    (
        "setup_instruments",
        """SELECT NAME, ENABLED, TIMED, PROPERTIES, FLAGS, VOLATILITY, NULL FROM performance_schema.setup_instruments
        WHERE NAME NOT LIKE 'wait/synch/%'
        AND (NAME NOT LIKE 'memory/%' OR NAME LIKE 'memory/sql/%' OR NAME LIKE 'memory/performance\\_schema/%')""",
    ),
    ("setup_loggers", "SELECT NAME, LEVEL, NULL FROM performance_schema.setup_loggers"),
    ("setup_objects", "SELECT * FROM performance_schema.setup_objects"),
    ("setup_threads", "SELECT NAME, ENABLED, HISTORY, PROPERTIES, VOLATILITY, NULL FROM performance_schema.setup_threads"),
]

# A name for the form, and a statement whose result has its columns.
SHOW_FORMS = [
    ("DATABASES", "SHOW DATABASES"),
    ("TABLES", "SHOW TABLES FROM mysql"),
    ("FULL TABLES", "SHOW FULL TABLES FROM mysql"),
    ("TABLE STATUS", "SHOW TABLE STATUS FROM mysql"),
    ("OPEN TABLES", "SHOW OPEN TABLES"),
    ("COLUMNS", "SHOW COLUMNS FROM mysql.user"),
    ("FULL COLUMNS", "SHOW FULL COLUMNS FROM mysql.user"),
    ("INDEX", "SHOW INDEX FROM mysql.user"),
    ("VARIABLES", "SHOW VARIABLES"),
    ("STATUS", "SHOW STATUS"),
    ("PROCESSLIST", "SHOW PROCESSLIST"),
    ("FULL PROCESSLIST", "SHOW FULL PROCESSLIST"),
    ("WARNINGS", "SHOW WARNINGS"),
    ("COUNT WARNINGS", "SHOW COUNT(*) WARNINGS"),
    ("COUNT ERRORS", "SHOW COUNT(*) ERRORS"),
    ("ENGINES", "SHOW ENGINES"),
    ("ENGINE", "SHOW ENGINE INNODB STATUS"),
    ("COLLATION", "SHOW COLLATION"),
    ("CHARSET", "SHOW CHARACTER SET"),
    ("GRANTS", "SHOW GRANTS"),
    ("PRIVILEGES", "SHOW PRIVILEGES"),
    ("PLUGINS", "SHOW PLUGINS"),
    ("TRIGGERS", "SHOW TRIGGERS FROM mysql"),
    ("EVENTS", "SHOW EVENTS FROM mysql"),
    ("ROUTINE STATUS", "SHOW FUNCTION STATUS WHERE Db = ''"),
    ("PROFILE", "SHOW PROFILE"),
    ("PROFILES", "SHOW PROFILES"),
    ("BINARY LOGS", "SHOW BINARY LOGS"),
    ("BINARY LOG STATUS", "SHOW BINARY LOG STATUS"),
    ("BINLOG EVENTS", "SHOW BINLOG EVENTS"),
    ("RELAYLOG EVENTS", "SHOW RELAYLOG EVENTS"),
    ("REPLICAS", "SHOW REPLICAS"),
    ("REPLICA STATUS", "SHOW REPLICA STATUS"),
    ("CREATE DATABASE", "SHOW CREATE DATABASE mysql"),
    ("CREATE TABLE", "SHOW CREATE TABLE mysql.user"),
    ("CREATE USER", "SHOW CREATE USER"),
]


def run(sql, *options):
    done = subprocess.run([*CLIENT, "--default-character-set=utf8mb4", *options], input=sql, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"left out: {sql}: {done.stderr.strip()}", file=sys.stderr)
        return None
    return done.stdout


def record_tables():
    sql = """SELECT CONCAT_WS('\\t', c.TABLE_SCHEMA, c.TABLE_NAME, t.TABLE_TYPE, c.COLUMN_NAME, c.COLUMN_TYPE, c.IS_NULLABLE,
        IFNULL(c.COLLATION_NAME, ''), c.COLUMN_KEY, IFNULL(c.COLUMN_DEFAULT, '\\\\N'), c.EXTRA)
        FROM information_schema.COLUMNS c JOIN information_schema.TABLES t USING (TABLE_SCHEMA, TABLE_NAME)
        WHERE c.TABLE_SCHEMA IN ('information_schema', 'performance_schema', 'mysql')
        ORDER BY c.TABLE_SCHEMA, c.TABLE_NAME, c.ORDINAL_POSITION"""
    table = None
    lines = []
    for line in run(sql, "-N", "-r", "-B").splitlines():
        database, name, kind, *column = line.split("\t")
        if LEFT_OUT.match(f"{database}.{name}"):
            continue
        if table != (database, name):
            table = (database, name)
            lines.append(f"= {database}.{name}\t{kind}")
        lines.append("\t".join(column))
    with open(TABLES, "w") as out:
        out.write("\n".join(lines) + "\n")


def type_of(field):
    """The declared type with the metadata that the client saw."""
    code, length = field["Type"], int(field["Length"])
    binary = field["Collation"].startswith("binary")
    unsigned = " unsigned" if "UNSIGNED" in field["Flags"] else ""
    integers = {"TINY": "tinyint", "SHORT": "smallint", "LONG": "int", "LONGLONG": "bigint"}
    if code in integers:
        return f"{integers[code]}({length}){unsigned}"
    if code in ("VAR_STRING", "STRING"):
        return f"varbinary({length})" if binary else f"varchar({length // 4})"
    if code.endswith("BLOB"):
        kind = "blob" if binary else "text"
        chars = length if binary else length // 4
        size = "tiny" if chars <= 255 else "" if chars <= 65535 else "medium" if chars <= 16777215 else "long"
        return size + kind
    simple = {"TIMESTAMP": "timestamp", "DATETIME": "datetime", "DOUBLE": "double", "NULL": "varbinary(0)", "JSON": "json"}
    if code == "NEWDECIMAL":
        decimals = int(field["Decimals"])
        return f"decimal({length - 1 - (decimals > 0)},{decimals})"
    return simple[code]


def record_shows():
    lines = []
    for form, sql in SHOW_FORMS:
        text = run(sql + ";", "-t", "--column-type-info")
        if text is None:
            continue
        lines.append(f"= {form}")
        for block in re.findall(r"^Field +\d+:.*?\nFlags:[^\n]*$", text, re.M | re.S):
            field = dict(re.match(r"(\w+)[ \d]*: *(.*)", line).groups() for line in block.splitlines())
            field = {key: value.strip() for key, value in field.items()}
            nullable = "NO" if "NOT_NULL" in field["Flags"] else "YES"
            text = "utf8mb3_bin" if "BINARY" in field["Flags"] else "utf8mb3_general_ci"
            collation = "" if field["Collation"].startswith("binary") else text
            lines.append("\t".join([field["Field"].strip("`"), type_of(field), nullable, collation]))
    with open(SHOWS, "w") as out:
        out.write("\n".join(lines) + "\n")


def record_setup():
    with open(SETUP, "w") as out:
        for table, sql in SETUP_ROWS:
            out.write(f"= {table}\n")
            out.write(run(sql, "-N", "-B").replace("NULL", "\\N"))


record_tables()
record_shows()
record_setup()
with open(PRIVILEGES, "w") as out:
    out.write(run("SHOW PRIVILEGES", "-N", "-r", "-B"))
