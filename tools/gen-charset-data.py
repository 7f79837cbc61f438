#!/usr/bin/env python3
"""Records MySQL's charsets and collations and writes what crates/types/src/charset needs.

usage: tools/gen-charset-data.py 'mysql -h127.0.0.1 -uroot' crates/types/src/charset

Weights are what WEIGHT_STRING() returns for every code point, case mappings what
UPPER() and LOWER() return, 8-bit charsets what CONVERT() returns. Written files:

    tables.rs            SHOW CHARACTER SET and SHOW COLLATION
    data/uca900.z        weights of utf8mb4_0900_as_cs, three levels
    data/uca520.z        weights of utf8mb4_unicode_520_ci
    data/uca400.z        weights of utf8mb4_unicode_ci
    data/unicode.z       utf8mb4_general_ci's weights and three sets of case mappings
    data/single_byte.z   8-bit charsets and their collations
    data/word_chars.z    characters that InnoDB's full-text search takes for parts of words
    data/golden.txt      digests of the recorded weights per 256 code points, for the test

A database `charset_recording` is made on the server and dropped. The formats are
described in `blob.rs` and where each is read. Each .z file is a raw deflate stream.
"""
import sys

import recording
from recording import OUT, Stream, deflate

DB = "charset_recording"


def query(sql, db=None):
    return recording.query(sql, db)


def write(name, stream):
    recording.write(name, deflate(stream))


# ---------------------------------------------------------------- UCA weights

def words(h):
    return [int(h[i:i + 4], 16) for i in range(0, len(h), 4)]


def levels_of(h, levels):
    out = [[]]
    for w in words(h):
        if w:
            out[-1].append(w)
        else:
            out.append([])
    out += [[] for _ in range(levels - len(out))]
    assert len(out) == levels, h
    return [tuple(x) for x in out]


def pair(base, cp):
    return (base + (cp >> 15), cp & 0x7FFF | 0x8000)


def algorithmic(cp, levels):
    """What `uca.rs` computes for a code point without an entry; see `implicit` there."""
    base = 0xFBC0
    supplementary = 0x20000 <= cp <= 0x2A6D6 or 0x2A700 <= cp <= 0x2B734 or 0x2B740 <= cp <= 0x2B81D
    if 0x3400 <= cp <= 0x4DB5 or supplementary and levels == 3:
        base = 0xFB80
    elif 0x4E00 <= cp <= 0x9FA5:
        base = 0xFB40
    return [pair(base, cp)] + [(0x20,), (2,)][:levels - 1]


def hangul(table, cp, levels):
    if levels != 3 or not 0xAC00 <= cp <= 0xD7A3:
        return None
    at = cp - 0xAC00
    jamo = [0x1100 + at // 588, 0x1161 + at % 588 // 28]
    if at % 28:
        jamo.append(0x11A7 + at % 28)
    return [sum((table[j][level] for j in jamo), ()) for level in range(levels)]


def uca(name, rows, levels):
    """Sections: page numbers, entry shapes, then one stream of weights per level."""
    table = {int(cp): levels_of(h, levels) for cp, h in rows}
    explicit = {}
    for cp, lists in table.items():
        if lists != algorithmic(cp, levels) and lists != hangul(table, cp, levels):
            if levels == 1 and cp > 0xFFFF and lists == [(0xFFFD,)]:
                continue
            explicit[cp] = lists
    shapes = sorted({tuple(map(len, lists)) for lists in explicit.values()})
    pages = sorted({cp >> 8 for cp in explicit})
    out, kinds, streams = Stream(), Stream(), [Stream() for _ in range(levels)]
    out.u8(levels)
    out.varint(len(shapes))
    for shape in shapes:
        for n in shape:
            out.u8(n)
    out.varint(len(pages))
    last, previous = 0, [0] * levels
    for page in pages:
        out.varint(page - last)
        last = page
        for cp in range(page << 8, (page + 1) << 8):
            lists = explicit.get(cp)
            kinds.u8(0 if lists is None else 1 + shapes.index(tuple(map(len, lists))))
            for level, weights in enumerate(lists or ()):
                for w in weights:
                    streams[level].signed(w - previous[level])
                    previous[level] = w
    out.section(kinds.bytes)
    for stream in streams:
        out.section(stream.bytes)
    print(f"{name}: {len(explicit)} explicit code points, {len(shapes)} shapes, {len(pages)} pages", file=sys.stderr)
    write(name, out)


# ---------------------------------------------------------------- general_ci and case

def code_point(h):
    return ord(bytes.fromhex(h).decode("utf-8"))


def unicode_tables(general, cases):
    out = Stream()
    moved = [(int(cp), int(h, 16)) for cp, h in general if int(cp) != int(h, 16) and int(cp) <= 0xFFFF]
    assert all(int(h, 16) == 0xFFFD for cp, h in general if int(cp) > 0xFFFF)
    out.varint(len(moved))
    last = 0
    for cp, w in moved:
        out.varint(cp - last)
        out.signed(w - cp)
        last = cp
    for rows in cases:
        changed = [(int(cp), code_point(u), code_point(l)) for cp, u, l in rows]
        changed = [c for c in changed if c[1] != c[0] or c[2] != c[0]]
        out.varint(len(changed))
        last = 0
        for cp, upper, lower in changed:
            out.varint(cp - last)
            out.signed(upper - cp)
            out.signed(lower - cp)
            last = cp
    write("unicode.z", out)


# ---------------------------------------------------------------- 8-bit charsets

# More than one level, expansions or reordering: no table of 256 weights describes them.
NOT_A_TABLE = {"latin1_german2_ci", "latin2_czech_cs", "cp1250_czech_cs", "tis620_thai_ci"}


def single_byte(charsets, collations):
    out = Stream()
    names = [c[0] for c in charsets if c[3] == "1" and c[0] != "binary"]
    out.varint(len(names))
    for name in names:
        out.text(name)
        sql = "".join(f"select hex(convert(_{name} x'{b:02X}' using utf32)),hex(upper(_{name} x'{b:02X}')),hex(lower(_{name} x'{b:02X}'));"
                      for b in range(256))
        for b, (u, upper, lower) in enumerate(query(sql)):
            cp = int(u, 16)
            # '?' stands for a byte without a character.
            out.u16(0xFFFF if cp == 0x3F and b != 0x3F else cp)
            out.u8(int(upper, 16))
            out.u8(int(lower, 16))
    tables = [c for c in collations if c[1] in names and not c[0].endswith("_bin") and c[0] not in NOT_A_TABLE]
    out.varint(len(tables))
    for name, charset, ident in (c[:3] for c in tables):
        out.varint(int(ident))
        weights = query("".join(f"select hex(weight_string(_{charset} x'{b:02X}' collate {name}));" for b in range(256)))
        for row in weights:
            assert len(row[0]) == 2, (name, row)
            out.u8(int(row[0], 16))
    write("single_byte.z", out)


# ---------------------------------------------------------------- characters of words

def separators(charset, texts):
    """What of the marks `qa…` in texts is a word of its own, because the character behind it is no part of words."""
    rows = "".join(f"insert into words values ({n}, _{charset} x'{text.hex()}');" for n, text in enumerate(texts))
    query(f"drop table if exists words; create table words (id int primary key, t text character set {charset} collate {charset}_bin, fulltext (t));"
          f"{rows} set global innodb_ft_aux_table='{DB}/words'; set global innodb_optimize_fulltext_only=on; optimize table words;"
          "set global innodb_optimize_fulltext_only=off;", DB)
    found = query("select word from information_schema.INNODB_FT_INDEX_CACHE union select word from information_schema.INNODB_FT_INDEX_TABLE")
    return {int(row[0][2:], 16) for row in found if len(row[0]) == 7 and row[0].startswith("qa")}


def word_chars(charsets):
    out = Stream()
    marked = lambda n, char: f"qa{n:05x}".encode() + char + f"qb{n:05x} ".encode()
    # No character beyond the basic plane is a part of words.
    cps = [cp for cp in range(1, 0x10000) if not 0xD800 <= cp <= 0xDFFF]
    separate = separators("utf8mb4", [b"".join(marked(cp, chr(cp).encode()) for cp in cps[at:at + 256]) for at in range(0, len(cps), 256)])
    ranges = []
    for cp in cps:
        if cp in separate:
            continue
        if ranges and ranges[-1][1] == cp - 1:
            ranges[-1][1] = cp
        else:
            ranges.append([cp, cp])
    out.varint(len(ranges))
    at = 0
    for first, last in ranges:
        out.varint(first - at)
        out.varint(last - first)
        at = last
    names = sorted(c[0] for c in charsets if c[3] == "1" and c[0] != "binary")
    out.varint(len(names))
    for name in names:
        count = 128 if name == "ascii" else 256
        separate = separators(name, [b"".join(marked(b, bytes([b])) for b in range(count))])
        bits = bytearray(32)
        for b in range(count):
            if b not in separate:
                bits[b >> 3] |= 1 << (b & 7)
        out.text(name)
        for byte in bits:
            out.u8(byte)
    write("word_chars.z", out)


# ---------------------------------------------------------------- tables.rs and golden digests

def quote(s):
    return '"' + s.replace("\\", "\\\\").replace('"', '\\"') + '"'


def tables(charsets, collations):
    with open(f"{OUT}/tables.rs", "w") as f:
        f.write("//! The rows of SHOW CHARACTER SET and SHOW COLLATION.\n//!\n"
                "//! Generated by `tools/gen-charset-data.py` from MySQL "
                f"{query('select version()')[0][0]}; do not edit.\n\n")
        f.write("/// Name, default collation, description, bytes per character at most; ascending by name.\n"
                f"pub(super) static CHARSETS: &[(&str, u16, &str, u8)] = &[\n")
        ids = {c[0]: c[2] for c in collations}
        for name, default, description, maxlen in sorted(charsets):
            f.write(f"    ({quote(name)}, {ids[default]}, {quote(description)}, {maxlen}),\n")
        f.write("];\n\n/// Id, name, charset, default of its charset, sort length, pads with spaces; ascending by id.\n"
                "pub(super) static COLLATIONS: &[(u16, &str, &str, bool, u8, bool)] = &[\n")
        for name, charset, ident, default, compiled, sortlen, pad in sorted(collations, key=lambda c: int(c[2])):
            assert compiled == "Yes", name
            f.write(f"    ({ident}, {quote(name)}, {quote(charset)}, {str(default == 'Yes').lower()}, {sortlen}, {str(pad == 'PAD SPACE').lower()}),\n")
        f.write("];\n")


def fnv1a(data):
    h = 0xCBF29CE484222325
    for b in data:
        h = (h ^ b) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def golden(recorded):
    """Per collation and 256 code points: FNV-1a of the concatenated WEIGHT_STRINGs, equal blocks named once."""
    with open(f"{OUT}/data/golden.txt", "w") as f:
        f.write("# collation, first code point, FNV-1a 64 of the WEIGHT_STRINGs of 256 code points; by tools/gen-charset-data.py\n")
        for name, rows in recorded:
            blocks = {}
            for cp, h in rows:
                # Above the CJK extensions every 16th block is enough: all is computed there.
                page = int(cp) >> 8
                if page < 0x300 or page % 16 == 0:
                    blocks.setdefault(page, bytearray()).extend(bytes.fromhex(h))
            for page, data in sorted(blocks.items()):
                f.write(f"{name} {page << 8:x} {fnv1a(data):016x}\n")


SETUP = f"""
drop database if exists {DB}; create database {DB}; use {DB};
set session cte_max_recursion_depth=2000000;
create table cps (cp int primary key, c varchar(60) character set utf8mb4 collate utf8mb4_bin not null);
insert into cps with recursive r(n) as (select 0 union all select n+1 from r where n<1114111)
  select n, convert(char(n using utf32) using utf8mb4) from r where n<55296 or n>57343;
"""


def main():
    charsets = query("select CHARACTER_SET_NAME, DEFAULT_COLLATE_NAME, DESCRIPTION, MAXLEN from information_schema.CHARACTER_SETS")
    collations = query("select COLLATION_NAME, CHARACTER_SET_NAME, ID, IS_DEFAULT, IS_COMPILED, SORTLEN, PAD_ATTRIBUTE from information_schema.COLLATIONS")
    tables(charsets, collations)
    single_byte(charsets, collations)
    query(SETUP)
    weights = lambda name: query(f"select cp, hex(weight_string(c collate {name})) from cps order by cp", DB)
    # The blanks make room: alone, a character whose other case has more bytes is cut off.
    case = lambda name: query(f"select cp, hex(left(upper(concat(c, '    ') collate {name}), 1)), "
                              f"hex(left(lower(concat(c, '    ') collate {name}), 1)) from cps order by cp", DB)
    general = weights("utf8mb4_general_ci")
    as_cs = weights("utf8mb4_0900_as_cs")
    u520, u400 = weights("utf8mb4_unicode_520_ci"), weights("utf8mb4_unicode_ci")
    unicode_tables(general, [case(c) for c in ("utf8mb4_general_ci", "utf8mb4_unicode_520_ci", "utf8mb4_0900_ai_ci")])
    uca("uca900.z", as_cs, 3)
    uca("uca520.z", u520, 1)
    uca("uca400.z", u400, 1)
    golden([("utf8mb4_0900_as_cs", as_cs), ("utf8mb4_unicode_520_ci", u520), ("utf8mb4_unicode_ci", u400), ("utf8mb4_general_ci", general)])
    word_chars(charsets)
    query(f"drop database {DB}")


main()
