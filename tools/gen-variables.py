#!/usr/bin/env python3
"""Records MySQL's system variables: name, scope, type, range, default, members.

usage: tools/gen-variables.py 'mysql -h127.0.0.1 -uroot'

The server must be a scratch one, without options: values are set and read back to learn the members of
enumerations and sets and the block sizes of integers. Writes crates/session/src/variables/table.txt, one
variable per line, fields separated by tabs:

    name, scope (G global, B both, S session), type, change (D dynamic, R read-only, g dynamic but only
    globally), minimum, maximum, block size, default or \\N, members separated by |, what Vaquita does with values if nothing acts on them (kept,
    refused: only the default can be set), and what setting a session's value needs; the last two are kept from the table that was there
"""
import re
import shlex
import subprocess
import sys

CLIENT = shlex.split(sys.argv[1])
TABLE = "crates/session/src/variables/table.txt"

# Variables of what Vaquita does not have and whose presence would make tools try it: plugins, components.
LEFT_OUT = re.compile(r"^(mysqlx.*|group_replication_.*|clone_.*|tp_.*|thread_pool_.*|rpl_semi_sync_.*|mysql_firewall_.*|audit_log.*|telemetry.*"
                      r"|authentication_.*_(?!proxy)\w*|keyring_.*|hypergraph_.*|innodb_validate_.*|xa_detach_on_prepare_never|ndb.*|"
                      r"debug|debug_sync|offline_mode_never|enterprise_.*|secondary_engine_.*|temptable_uses_mmap)$")
# Setting these does more than store a value.
NOT_PROBED = re.compile(r"^(innodb_buffer_pool_.*|innodb_redo_log.*|offline_mode|super_read_only|read_only|gtid_.*|pseudo_.*|innodb_monitor.*|"
                        r"innodb_fil_make.*|innodb_ft_.*|.*_now|sql_log_bin|binlog_.*|enforce_gtid_consistency|default_collation_for_utf8mb4|"
                        r"innodb_log_writer_threads|innodb_log_checkpoint.*|innodb_undo_.*|innodb_checksum_algorithm)$")


def run(sql):
    """The output of all statements, one list of fields per row; errors are rows ['ERROR', code, line]."""
    done = subprocess.run(CLIENT + ["-N", "-B", "-f", "--unbuffered"], input=sql, capture_output=True, text=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    errors = [(int(m[1]), int(m[2])) for m in re.finditer(r"^ERROR (\d+) \(\w+\) at line (\d+)", done.stderr, re.M)]
    return rows, errors


def main():
    meta, _ = run("SELECT variable_name, variable_scope, data_type, IFNULL(min_value,''), IFNULL(max_value,'') "
                  "FROM performance_schema.variables_metadata ORDER BY 1;")
    values = {name: value for name, value in run("SELECT * FROM performance_schema.session_variables;")[0]}
    values.update({name: value for name, value in run("SELECT * FROM performance_schema.global_variables;")[0]})
    variables = []
    for name, scope, kind, low, high in meta:
        if not LEFT_OUT.match(name):
            variables.append([name, {"GLOBAL": "G", "SESSION": "B", "SESSION_ONLY": "S"}[scope], kind, "D", low, high, "1", values.get(name, ""), ""])
    changes(variables)
    members(variables)
    blocks(variables)
    lines = [line.rstrip("\n").split("\t") for line in open(TABLE) if not line.startswith("#")]
    kept = {line[0]: line[9:] for line in lines if len(line) == 11}
    with open(TABLE, "w") as out:
        version = run("SELECT VERSION();")[0][0][0].split("-")[0]
        out.write(f"# Recorded from MySQL {version} by tools/gen-variables.py.\n")
        for v in variables:
            out.write("\t".join(v + kept.get(v[0], ["kept", ""])) + "\n")


def changes(variables):
    """The first assignment is refused if the variable is read-only, else the second one is."""
    for word, letter in (("GLOBAL", "R"), ("SESSION", "g")):
        asked = [v for v in variables if (v[1] != "S") if word == "GLOBAL" or v[1] == "B" and v[3] == "D"]
        if word == "SESSION":
            asked += [v for v in variables if v[1] == "S"]
        _, errors = run("\n".join(f"SET {word} `{v[0]}` = DEFAULT, {word} sort_buffer_size = 'x';" for v in asked))
        for code, line in errors:
            v = asked[line - 1]
            if code in (1238, 1621):
                v[3] = "R" if v[1] == "S" else letter


def members(variables):
    """Enumerations and sets take numbers: each gives a member back."""
    asked = [v for v in variables if v[2] in ("Enumeration", "Set") and v[3] != "R" and not NOT_PROBED.match(v[0])]
    for v in asked:
        scope = "GLOBAL" if v[1] == "G" else "SESSION"
        names = []
        if v[0].startswith("optimizer_") and v[2] == "Set":
            names = [pair.split("=")[0] for pair in v[7].split(",")]
        elif v[0] != "sql_mode":
            for i in range(24):
                number = i if v[2] == "Enumeration" else 1 << i
                rows, errors = run(f"SET @old = @@{scope}.{v[0]};\nSET {scope} {v[0]} = {number};\nSELECT @@{scope}.{v[0]};\nSET {scope} {v[0]} = @old;")
                if any(line == 2 for _, line in errors):
                    break
                names.append(rows[0][0])
        v[8] = "|".join(names)


def blocks(variables):
    asked = [v for v in variables if v[2] == "Integer" and v[3] != "R" and not NOT_PROBED.match(v[0])]
    for v in asked:
        scope = "GLOBAL" if v[1] == "G" or v[3] == "g" else "SESSION"
        # A default at the top leaves no room for the steps.
        base = min(int(v[7] or 0), int(v[5] or 1 << 63) - (1 << 21))
        if v[5] and int(v[5]) < 4096:
            continue
        steps = [1, 2, 4, 8, 10, 100, 128, 256, 512, 1024, 4096, 16384, 65536, 1 << 20]
        text = f"SET @old = @@{scope}.{v[0]};\n"
        text += "".join(f"SET {scope} {v[0]} = {base + s}; SELECT @@{scope}.{v[0]};\n" for s in steps)
        rows, _ = run(text + f"SET {scope} {v[0]} = @old;")
        got = [int(r[0]) for r in rows if r[0].isdigit()]
        for step, value in zip(steps, got):
            if value == base + step:
                v[6] = str(step)
                break


main()
