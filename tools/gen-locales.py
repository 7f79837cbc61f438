#!/usr/bin/env python3
"""Records MySQL's locales: names of months and days (lc_time_names), and how FORMAT writes numbers.

usage: tools/gen-locales.py 'mysql -h127.0.0.1 -uroot'

Writes crates/plan/src/locales.txt, one locale per line in the order of MySQL's numbers, fields separated by tabs: its name,
twelve months as full and short name (%M, %b), seven days from Monday on (%W, %a), FORMAT's decimal point, its separator of
thousands (empty: none), and how many digits stand between two separators left of the first.
"""
import shlex
import subprocess
import sys

CLIENT = shlex.split(sys.argv[1])
TABLE = "crates/plan/src/locales.txt"
NUMBERS_TRIED = 200
NUMBER = "FORMAT(1234567.5, 1, @@lc_time_names)"


def of_number(text):
    """1.234.567,5: the point, the separator, the digits of a group."""
    point, separator = text[-2], text[-6]
    return [point] + (["", "3"] if separator.isdigit() else [separator, str(len(text.split(separator)[1]))])


def main():
    dates = [(f"2024-{n:02d}-01", "%M", "%b") for n in range(1, 13)] + [(f"2024-01-{n:02d}", "%W", "%a") for n in range(1, 8)]
    names = ", ".join(f"DATE_FORMAT('{date}', '{form}')" for date, *forms in dates for form in forms)
    sql = "".join(f"SET lc_time_names = {n}; SELECT {n}, @@lc_time_names, {names}, {NUMBER};\n" for n in range(NUMBERS_TRIED))
    client = CLIENT + ["-N", "-B", "-f", "--raw", "--default-character-set=utf8mb4"]
    rows = [line.split("\t") for line in subprocess.run(client, input=sql, capture_output=True, text=True).stdout.splitlines()]
    # Beyond the last number SET fails, and the last locale is selected again.
    locales = {}
    for row in rows:
        locales.setdefault(row[1], row[1:-1] + of_number(row[-1]))
    with open(TABLE, "w") as out:
        out.writelines("\t".join(row) + "\n" for row in locales.values())


main()
