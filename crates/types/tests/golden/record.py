#!/usr/bin/env python3
"""Records the golden files of this folder from a real MySQL server.

Usage: record.py CLIENT [CLIENT OPTIONS...]     (for example: record.py mysql -uroot)

Each `*.txt` holds cases, one per line, fields separated by tabs. The fields before
the separator `=>` are the case and are kept; what follows is replaced by what the
server answers. Needs a client that prints `SHOW WARNINGS` after errors with `-f`.
"""
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).parent
STRICT = "STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE"


def run(sql):
    """Rows of every result set; a result set starts with a row that SELECTs 'CASE <n>'."""
    command = sys.argv[1:] + ["-f", "-N", "-B", "--default-character-set=utf8mb4"]
    done = subprocess.run(command, input=sql.encode(), capture_output=True)
    cases, rows = {}, None
    for line in done.stdout.decode("utf8", "replace").split("\n")[:-1]:
        if line.startswith("CASE "):
            rows = cases.setdefault(line, [])
        else:
            rows.append(line.replace("\t", " "))
    return cases


def expression(fields):
    """`SQL expression` => value, or the error."""
    return lambda n: f"select 'CASE {n}'; select {fields[0]}; show warnings;\n"


def store(fields):
    """`column type`, `SQL expression`[, `sql_mode`] => warnings and stored value.

    Without a sql_mode there are two answers, strict and with no mode."""
    kind, expr = fields[:2]
    binary = any(w in kind for w in ("binary", "blob", "bit"))
    show = "hex(c)" if binary else "c"

    def script(n):
        out = ""
        for suffix, mode in zip("SL", fields[2:] or [STRICT, ""]):
            out += f"set sql_mode='{mode}'; drop temporary table if exists t; create temporary table t (c {kind});\n"
            out += f"select 'CASE {n}{suffix}'; insert into t values ({expr}); show warnings; select concat('=', {show}) from t;\n"
        return out
    return script


def answer(kind, cases, n):
    if kind is store:
        return "\t".join(" | ".join(cases[f"CASE {n}{s}"]) for s in "SL" if f"CASE {n}{s}" in cases)
    return " | ".join(cases[f"CASE {n}"])


def main():
    for path in sorted(FOLDER.glob("*.txt")):
        kind = store if path.name.startswith("store") else expression
        lines = path.read_text().split("\n")
        cases = [(i, l.split("\t=>")[0].split("\t")) for i, l in enumerate(lines) if l and not l.startswith("#")]
        sql = "create database if not exists golden; use golden; set time_zone='+00:00';\n"
        sql += "".join(kind(fields)(i) for i, fields in cases)
        answers = run(sql)
        for i, fields in cases:
            lines[i] = "\t".join(fields) + "\t=>\t" + answer(kind, answers, i)
        path.write_text("\n".join(lines))


main()
