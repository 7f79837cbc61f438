#!/usr/bin/env python3
"""Records binary logs and what their server says of them, for the tests of crates/wire/src/binlog.

    tools/record-binlog.py NAME LOG_DIR CLIENT ARGS...

NAME.sql of crates/wire/src/golden/binlog has the statements (NAME is mysql or mariadb), LOG_DIR the server's binary logs. The server is one of your
own that writes row events with all metadata, by GTID; its logs are deleted first. docs/hacking.md has the commands.

For each file that NAME.sql begins (@file F): NAME-F.binlog is the log, NAME-F.events what SHOW BINLOG EVENTS says, NAME-F.rows each row that a
statement wrote (W), changed (U before, V after) or deleted (D), as the server shows it: the table, then its columns. Strings,
geometries and vectors are in hexadecimal, ENUM and SET are numbers, FLOAT is the DOUBLE that it is.
Of a field longer than 1,000 characters there is its SHA1.
"""
import hashlib, pathlib, re, shutil, subprocess, sys

name, log_dir, client = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
golden = pathlib.Path(__file__).resolve().parent.parent / "crates/wire/src/golden/binlog"
TEXTS = {"char", "varchar", "tinytext", "text", "mediumtext", "longtext", "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob",
         "geometry", "point", "polygon", "geomcollection", "linestring", "vector", "inet6", "uuid"}


class Session:
    """One connection through the ordinary client, statement by statement."""

    def __init__(self):
        self.process = subprocess.Popen(client + ["--default-character-set=utf8mb4", "-N", "-B", "--unbuffered", "--local-infile=1"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=golden)

    def run(self, sql):
        self.process.stdin.write((sql + ";\nSELECT '#end';\n").encode())
        self.process.stdin.flush()
        lines = []
        while True:
            line = self.process.stdout.readline()
            if not line:
                sys.exit("the client ended at: " + sql)
            line = line.decode().rstrip("\n")
            if line == "#end":
                return lines
            lines.append(line)


def rows(session, table):
    """The rows of a table by their id, which is the first column."""
    columns = session.run("SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'binlog_golden' "
                          f"AND table_name = '{table}' ORDER BY ordinal_position")
    if not columns:
        return None
    shown = []
    for column in columns:
        column, kind = column.split("\t")
        column = "`" + column + "`"
        shown.append({"enum": f"{column}+0", "set": f"{column}+0", "bit": f"{column}+0", "float": f"CAST({column} AS DOUBLE)", "double": f"CAST({column} AS DOUBLE)",
                      "json": f"HEX(CAST({column} AS CHAR))"}.get(kind, f"HEX({column})" if kind in TEXTS else column))
    short = lambda field: "sha1:" + hashlib.sha1(field.encode()).hexdigest() if len(field) > 1000 else field
    lines = ["\t".join(map(short, line.split("\t"))) for line in session.run(f"SELECT {', '.join(shown)} FROM binlog_golden.`{table}`")]
    return {line.split("\t")[0]: line for line in lines}


def record():
    # Statements of the recording itself write nothing; the rows are read by a connection of their own.
    session, reader = Session(), Session()
    session.run("DROP DATABASE IF EXISTS binlog_golden")
    session.run("RESET BINARY LOGS AND GTIDS" if name == "mysql" else "RESET MASTER")
    session.run("SET SESSION time_zone = '+00:00'")
    reader.run("SET SESSION time_zone = '+00:00'")
    files, logs, found = [], [], []
    status = "BINARY LOG" if name == "mysql" else "MASTER"
    for line in (golden / f"{name}.sql").read_text().splitlines():
        if line.startswith("#") or not line:
            continue
        if line.startswith("@file "):
            if files:
                logs.append(session.run(f"SHOW {status} STATUS")[0].split("\t")[0])
                session.run("FLUSH BINARY LOGS")
            files.append(line.split()[1])
            found.append([])
            continue
        table = re.match(r"(?:INSERT INTO|UPDATE|DELETE FROM|LOAD DATA.*INTO TABLE) (\w+)", line)
        before = rows(session, table[1]) if table else None
        session.run(line)
        after = rows(session, table[1]) if table else None
        if table and "statements" not in files[-1]:
            found[-1] += changes(table[1], before, after)
    # The last file only ends the one before.
    for number, (file, log) in enumerate(zip(files, logs)):
        shutil.copyfile(log_dir / log, golden / f"{name}-{file}.binlog")
        events = session.run(f"SHOW BINLOG EVENTS IN '{log}'")
        (golden / f"{name}-{file}.events").write_text("\n".join(line.split("\t", 1)[1] for line in events) + "\n")
        (golden / f"{name}-{file}.rows").write_text("".join(line + "\n" for line in found[number]))


def changes(table, before, after):
    by_id = lambda ids: sorted(ids, key=int)
    for key in by_id(set(before) & set(after)):
        if before[key] != after[key]:
            yield f"U\t{table}\t{before[key]}"
            yield f"V\t{table}\t{after[key]}"
    gone, new = by_id(set(before) - set(after)), by_id(set(after) - set(before))
    if len(gone) == len(new) == 1:
        yield f"U\t{table}\t{before[gone[0]]}"
        yield f"V\t{table}\t{after[new[0]]}"
        return
    for key in gone:
        yield f"D\t{table}\t{before[key]}"
    for key in new:
        yield f"W\t{table}\t{after[key]}"


record()
