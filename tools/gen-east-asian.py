#!/usr/bin/env python3
"""Records MySQL's East Asian charsets and their collations, and 8-bit and general collations that are no plain table.

usage: tools/gen-east-asian.py 'mysql -h127.0.0.1 -uroot' crates/types/src/charset

Characters are what INSERT accepts, code points what CONVERT() returns, case what UPPER() and LOWER() return, weights
what WEIGHT_STRING() returns. Written: `data/east_asian.z` (form in `east_asian.rs`), `data/special.z` (in `special.rs`),
`data/general.z` (in `general.rs`). A database `east_asian_recording` is made on the server and dropped.
"""
import sys

import recording
from recording import Stream, deflate, write

DB = "east_asian_recording"
CHARSETS = {"big5": "big5_chinese_ci", "cp932": "cp932_japanese_ci", "eucjpms": "eucjpms_japanese_ci", "euckr": "euckr_korean_ci",
            "gb18030": "gb18030_chinese_ci", "gb2312": "gb2312_chinese_ci", "gbk": "gbk_chinese_ci", "sjis": "sjis_japanese_ci",
            "ujis": "ujis_japanese_ci"}
SPECIAL = [("latin1", "latin1_german2_ci"), ("tis620", "tis620_thai_ci"), ("latin2", "latin2_czech_cs"), ("cp1250", "cp1250_czech_cs")]
# Codes of four bytes are numbered from here, in their order.
FOUR = 0x1000000
# Numbers of four-byte codes in the basic plane.
FOUR_BASIC = 39420


def query(sql, db=DB):
    return recording.query(sql, db)


def code_of(h):
    b = bytes.fromhex(h)
    if len(b) == 4:
        return FOUR + ((b[0] - 0x81) * 10 + b[1] - 0x30) * 1260 + (b[2] - 0x81) * 10 + b[3] - 0x30
    return int(h, 16)


def setup():
    query(f"drop database if exists {DB}; create database {DB}", None)
    query("""set session cte_max_recursion_depth=2000000; set sql_mode='';
        create table codes (n int primary key, b varbinary(4));
        insert into codes with recursive r(n) as (select 0 union all select n+1 from r where n<65535) select n, char(n) from r;
        insert into codes select 0x8F0000 + n, concat(x'8F', char(n)) from codes where n >= 0x8080 and n % 256 >= 0x80 and n < 65536;
        create table cps (cp int primary key, c varchar(4) character set utf8mb4 collate utf8mb4_bin not null);
        insert into cps with recursive r(n) as (select 0 union all select n+1 from r where n<65535)
            select n, convert(char(n using utf32) using utf8mb4) from r where n<55296 or n>57343""")


def characters(charset, collation):
    """(code, code point or None, upper, lower, weight) of every character, ascending by code."""
    fields = f"hex(s), hex(convert(s using utf32)), hex(left(upper(concat(s, s)), 1)), hex(left(lower(concat(s, s)), 1)), hex(weight_string(s collate {collation}))"
    table = (f"drop table if exists taken; create table taken (n int, s varchar(4) character set {charset}) character set {charset}; set sql_mode='';")
    rows = query(table + "insert ignore into taken select n, b from codes;"
                 f"select {fields} from taken join codes using (n) where hex(s) = hex(b) and char_length(s) = 1 order by n")
    if charset == "gb18030":
        # Of the other planes, those that do not weigh and map as their numbers say.
        rows += query(table + f"insert ignore into taken select cp, convert(c using {charset}) from cps;"
                      f"insert ignore into taken select plane * 65536 + n, convert(convert(unhex(lpad(hex(plane * 65536 + n), 8, '0')) using utf32) "
                      f"using {charset}) from codes join (select 1 plane union select 2) p where n < 65536;"
                      f"select {fields} from taken where length(s) = 4 order by hex(s)")
        rows = [r for r in rows if len(r[0]) < 8 or int(r[1], 16) < 65536 or r[2] != r[0] or r[3] != r[0] or int(r[4], 16) != natural_weight(code_of(r[0]))]
    out = []
    for code, cp, upper, lower, weight in rows:
        cp = int(cp, 16)
        w = int(weight, 16)
        assert len(weight) // 2 == max(1, (w.bit_length() + 7) // 8), (charset, code, weight)
        out.append((code_of(code), None if cp == 0x3F and code != "3F" else cp, code_of(upper), code_of(lower), w))
    return sorted(out)


def natural_weight(code):
    return 0xFF000000 + code - FOUR if code >= FOUR else code


def charset_stream(charset, collation):
    chars = characters(charset, collation)
    out = Stream()
    # Runs of codes.
    runs, cps, weights, cases = [], Stream(), Stream(), []
    kinds = bytearray()
    last_cp = last_weight = 0
    for code, cp, upper, lower, weight in chars:
        if runs and runs[-1][0] + runs[-1][1] == code:
            runs[-1][1] += 1
        else:
            runs.append([code, 1])
        kinds.append((cp is not None) + 2 * (weight != natural_weight(code)))
        if cp is not None:
            cps.signed(cp - last_cp)
            last_cp = cp
        if weight != natural_weight(code):
            # Differences modulo 2**32.
            weights.signed((weight - last_weight + (1 << 31)) % (1 << 32) - (1 << 31))
            last_weight = weight
        if upper != code or lower != code:
            cases.append((code, upper, lower))
    out.varint(len(runs))
    end = 0
    for first, count in runs:
        out.varint(first - end)
        out.varint(count)
        end = first + count
    for section in (kinds, cps.bytes, weights.bytes):
        out.section(bytes(section))
    out.varint(len(cases))
    last = 0
    for code, upper, lower in cases:
        out.varint(code - last)
        out.signed(upper - code)
        out.signed(lower - code)
        last = code
    # Code points that become another code than the first that means them.
    first_code = {}
    for code, cp, *_ in chars:
        if cp is not None:
            first_code.setdefault(cp, code)
    wrong = []
    for cp, h in query(f"select cp, hex(convert(c using {charset})) from cps"):
        code = None if h == "3F" and int(cp) != 0x3F else code_of(h)
        if code != first_code.get(int(cp)):
            wrong.append((int(cp), code))
    out.varint(len(wrong))
    last = 0
    for cp, code in sorted(wrong):
        out.varint(cp - last)
        out.varint(0 if code is None else code + 1)
        last = cp
    data = deflate(out)
    print(f"{charset}: {len(chars)} characters, {len(runs)} runs, {len(cases)} with case, {len(wrong)} other codes, {len(data)} bytes", file=sys.stderr)
    return data


def east_asian():
    out = Stream()
    out.varint(len(CHARSETS))
    for charset, collation in CHARSETS.items():
        out.section(charset.encode())
        out.section(charset_stream(charset, collation))
    write("east_asian.z", bytes(out.bytes))


def general():
    """Where two collations like general_ci weigh a code point otherwise."""
    out = Stream()
    for name in ("utf8mb3_general_mysql500_ci", "utf8mb3_tolower_ci"):
        rows = query(f"select cp, hex(weight_string(convert(c using utf8mb3) collate {name})) from cps where "
                     f"weight_string(convert(c using utf8mb3) collate {name}) <> weight_string(convert(c using utf8mb3) collate utf8mb3_general_ci) order by cp")
        out.varint(len(rows))
        last = 0
        for cp, h in rows:
            assert len(h) == 4, (name, cp, h)
            out.varint(int(cp) - last)
            out.varint(int(h, 16))
            last = int(cp)
        print(f"{name}: {len(rows)} other weights", file=sys.stderr)
    write("general.z", deflate(out))


def weigh(charset, collation, strings):
    sql = "".join(f"select hex(weight_string(_{charset} x'{s.hex()}' collate {collation}));" for s in strings)
    return [bytes.fromhex(row[0]) for row in query(sql)]


def special():
    """8-bit collations with several levels or weights per character; how they are put together is in `special.rs`."""
    out = Stream()
    singles = [bytes([b]) for b in range(256)]
    for w in weigh("latin1", "latin1_german2_ci", singles):
        out.section(w)
    for w in weigh("tis620", "tis620_thai_ci", singles):
        out.bytes += w
    # Four levels, each ended by 1, 0 at the end; a level may lack the character. "ch" is one.
    for w in weigh("latin2", "latin2_czech_cs", singles + [b"ch", b"Ch", b"CH"]):
        levels = w[:-1].split(b"\1")
        assert len(levels) == 4 and all(len(level) <= 1 for level in levels), w
        for level in levels:
            out.bytes += level or b"\0"
    for w in weigh("cp1250", "cp1250_czech_cs", singles + [b"ch", b"Ch", b"CH"]):
        assert len(w) == 2, w
        out.bytes += w
    for charset, collation in SPECIAL:
        # LIKE and LOCATE compare bytes; the first that a byte is taken for stands for it.
        a, b = (f"convert({t}.b using {charset}) collate {collation}" for t in "ab")
        for same in (f"{a} like concat(convert(x'5C' using {charset}), {b})", f"locate({b}, {a})"):
            pairs = f"select a.n, min(b.n) from codes a join codes b on {same} where a.n < 256 and b.n < 256 group by a.n order by a.n"
            first = {int(x): int(y) for x, y in query(pairs)}
            out.bytes += bytes(first.get(byte, byte) for byte in range(256))
        for case in ("upper", "lower"):
            out.bytes += bytes(int(h, 16) for h, in query(f"select hex({case}({a})) from codes a where n < 256 order by n"))
    write("special.z", deflate(out))


setup()
general()
special()
east_asian()
query(f"drop database {DB}", None)
