#!/usr/bin/env python3
"""Loads a folder of make.py into servers, or runs its queries on them in turn and compares rows and times.

    tools/queries/run.py load FOLDER DATABASE SERVER…
    tools/queries/run.py run FOLDER DATABASE SERVER… [--runs 3] [--seconds-max 60] [--only NAME,…]

A SERVER is NAME=PORT:USER:PASSWORD[:PIDFILE], on 127.0.0.1; with a pid file, the CPU time of the process is told, too. The last one is what the
others are compared with. Rows are compared in order, then as a multiset. Package pymysql.
"""
import argparse, glob, os, re, statistics, threading, time

import pymysql


class Server:
    def __init__(self, text):
        self.name, rest = text.split("=", 1)
        self.port, self.user, self.password, *pid_file = rest.split(":")
        self.pid_file = pid_file[0] if pid_file else None

    def connect(self, database=None):
        return pymysql.connect(host="127.0.0.1", port=int(self.port), user=self.user, password=self.password, database=database,
                               local_infile=True, conv={}, autocommit=True)

    def is_mariadb(self, cursor):
        cursor.execute("SELECT VERSION()")
        return "Maria" in cursor.fetchone()[0]

    def cpu_s(self):
        if not self.pid_file:
            return 0.0
        fields = open(f"/proc/{open(self.pid_file).read().strip()}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def adapted(text):
    """What DuckDB's texts have and MySQL's grammar has not."""
    text = text.strip().rstrip(";")
    text = re.sub(r"\bNULLS (FIRST|LAST)\b", "", text, flags=re.I)
    text = re.sub(r"as (integer|int|bigint)\)", "as signed)", text, flags=re.I)
    text = re.sub(r"as varchar\((\d+)\)\)", r"as char(\1))", text, flags=re.I)
    text = re.sub(r"(\d+) days\b", r"\1 day", text, flags=re.I)
    text = re.sub(r",\s*\*\s*FROM\s+(\w+)", r", \1.* FROM \1", text, flags=re.I)
    text = re.sub(r"AS character\b", "AS character_", text)
    return re.sub(r"\) *catalog\b", ") catalog_", re.sub(r"\bcatalog\.", "catalog_.", text), flags=re.I)


def load(folder, database, servers):
    for server in servers:
        cursor = server.connect().cursor()
        cursor.execute(f"DROP DATABASE IF EXISTS {database}")
        cursor.execute(f"CREATE DATABASE {database}")
        cursor.execute(f"USE {database}")
        start = time.time()
        for create in filter(str.strip, open(f"{folder}/schema.sql")):
            table = create.split()[2]
            cursor.execute(create)
            cursor.execute(f"LOAD DATA LOCAL INFILE '{folder}/{table}.tsv' INTO TABLE {table}")
            cursor.execute(f"ANALYZE TABLE {table}")
        print(f"{server.name}: {database} is filled and analyzed in {time.time() - start:.1f} s")


def timed(server, database, text, seconds_max):
    """Rows or an error's text, seconds, seconds of CPU."""
    connection = server.connect(database)
    cursor = connection.cursor()
    cursor.execute("SET SESSION sql_mode = 'IGNORE_SPACE,PIPES_AS_CONCAT,ANSI_QUOTES,STRICT_TRANS_TABLES,ONLY_FULL_GROUP_BY'")
    cursor.execute("SET SESSION join_buffer_size = 67108864")
    if server.is_mariadb(cursor):
        cursor.execute("SET SESSION join_buffer_space_limit = 268435456, join_cache_level = 4")
    kill = threading.Timer(seconds_max, lambda: server.connect().cursor().execute(f"KILL QUERY {connection.thread_id()}"))
    kill.start()
    cpu, start = server.cpu_s(), time.time()
    try:
        cursor.execute(text)
        rows = cursor.fetchall()
    except Exception as error:
        rows = str(error)[:120]
    seconds = time.time() - start
    kill.cancel()
    return (rows if seconds < seconds_max else f"more than {seconds_max} s"), seconds, server.cpu_s() - cpu


def run(folder, database, servers, runs, seconds_max, only):
    for path in sorted(glob.glob(f"{folder}/queries/*.sql")):
        name = os.path.basename(path)[:-4]
        if only and name not in only:
            continue
        text = adapted(open(path).read())
        times, rows = {server.name: [] for server in servers}, {}
        for _ in range(runs):
            for server in servers:
                if not isinstance(rows.get(server.name), str):
                    rows[server.name], *spent = timed(server, database, text, seconds_max)
                    times[server.name].append(spent)
        median = {name: [statistics.median(column) for column in zip(*spent)] for name, spent in times.items()}
        own = servers[-1].name
        others = [server.name for server in servers[:-1] if not isinstance(rows[server.name], str)]
        line = name + "".join(f" | {server} {s:.3f} s {cpu:.2f} s CPU" for server, (s, cpu) in median.items())
        if others and not isinstance(rows[own], str):
            line += f" | {min(median[name][0] for name in others) / median[own][0]:.2f} times the best"
            line += f" | {len(rows[own])} rows"
            for other in others:
                if rows[other] != rows[own] and sorted(map(repr, rows[other])) != sorted(map(repr, rows[own])):
                    line += f", DIFFERENT from {other}"
        print(line + "".join(f" | {server}: {found}" for server, found in rows.items() if isinstance(found, str)), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["load", "run"])
    parser.add_argument("folder")
    parser.add_argument("database")
    parser.add_argument("servers", nargs="+", type=Server)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds-max", type=float, default=60)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    if args.what == "load":
        load(args.folder, args.database, args.servers)
    else:
        run(args.folder, args.database, args.servers, args.runs, args.seconds_max, set(filter(None, args.only.split(","))))
