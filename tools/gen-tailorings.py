#!/usr/bin/env python3
"""Records how MySQL's language-specific collations differ from the Unicode ones they are made from.

usage: tools/gen-tailorings.py 'mysql -h127.0.0.1 -uroot' crates/types/src/charset

Everything comes from WEIGHT_STRING() of a running server. What a tailoring changes:

    ranges        runs of primary weights that move together (a script that sorts first), found by majority
    tertiary      tertiary weights that are others (Danish sorts upper case first)
    overrides     code points whose weights do not follow from those two
    contractions  strings of 2 to 4 characters that weigh something else than their characters one by one
    contexts      characters that weigh something else behind certain others (the Japanese length mark)

Contractions are searched for: every pair within a script, and of every character with a combining mark, is compared with
the same pair around U+0001, which weighs nothing but separates; longer ones are made of characters of pairs.

Written files: `data/tailorings.z` (see `tailoring.rs` for the form) and `data/tailorings.txt`, one digest of all
WEIGHT_STRINGs per tailoring, for the test. A database `tailoring_recording` is made on the server and dropped.
"""
import sys
from collections import Counter, defaultdict

import recording
from recording import OUT, Stream, deflate

DB = "tailoring_recording"
BASES = {0: "utf8mb4_unicode_ci", 1: "utf8mb4_unicode_520_ci", 2: "utf8mb4_0900_as_cs"}
LEVELS_MAX = 4


def query(sql, db=DB):
    return recording.query(sql, db)


# ---------------------------------------------------------------- weights

def levels_of(h):
    out = [[]]
    for i in range(0, len(h), 4):
        w = int(h[i:i + 4], 16)
        out[-1].append(w) if w else out.append([])
    out += [[] for _ in range(LEVELS_MAX - len(out))]
    return tuple(tuple(level) for level in out)


def weights_of_string(h):
    """As `levels_of`, but a contraction may have a primary weight of 0 that MySQL does not leave out."""
    zeros = sum(h[i:i + 4] == "0000" for i in range(0, len(h), 4)) if len(h) > 8 else 0
    literal = zeros - 2 if h.startswith("0000") and zeros > 2 else 0
    lists = levels_of(h[4 * literal:])
    return ((0,) * literal + lists[0],) + lists[1:]


def is_implicit(cp, lists):
    primaries = lists[0]
    return len(primaries) == 2 and 0xFB00 <= primaries[0] and primaries[1] == cp & 0x7FFF | 0x8000


def is_syllable(cp, base):
    return base == 2 and 0xAC00 <= cp <= 0xD7A3


def learn_ranges(table, tailored):
    """(first, last, prefix, delta) of primary weights that moved together."""
    votes = defaultdict(Counter)
    for cp, new in tailored.items():
        old = table[cp]
        if old[1:3] != new[1:3] and len(old[1]) != len(new[1]) or old[0] == new[0] or is_syllable(cp, 2):
            continue
        if len(new[0]) == len(old[0]):
            pairs = [(w, (0, x - w)) for w, x in zip(old[0], new[0])]
        elif len(new[0]) == 2 * len(old[0]):
            pairs = [(w, (new[0][2 * i], new[0][2 * i + 1] - w)) for i, w in enumerate(old[0])]
        else:
            continue
        for w, change in pairs[:1] if is_implicit(cp, old) else pairs:
            if w < 0x8000 or w >= 0xFB00:
                votes[w][change] += 1
    runs = []
    for w in sorted(votes):
        change, count = votes[w].most_common(1)[0]
        if runs and runs[-1][2] == change and all(x not in unmoved(table, tailored) for x in range(runs[-1][1] + 1, w)):
            runs[-1][1] = w
            runs[-1][3] += count
        else:
            runs.append([w, w, change, count])
    return [(a, b, change[0], change[1]) for a, b, change, count in runs if change != (0, 0) and (b - a >= 7 or count >= 200)]


def unmoved(table, tailored, cache={}):
    """Primary weights of characters of one weight that stayed as they were."""
    key = id(tailored)
    if key not in cache:
        cache.clear()
        cache[key] = {lists[0][0] for cp, lists in table.items() if cp not in tailored and len(lists[0]) == 1}
    return cache[key]


def learn_tertiary(table, tailored):
    votes = Counter()
    for cp, new in tailored.items():
        if table[cp][:2] == new[:2] and len(table[cp][2]) == len(new[2]):
            votes.update((a, b) for a, b in zip(table[cp][2], new[2]) if a != b)
    return sorted(pair for pair, count in votes.items() if count > 1) if sum(votes.values()) > 10000 else []


def moved(lists, ranges, tertiary, only_first):
    primaries = []
    for i, w in enumerate(lists[0]):
        hit = next((r for r in ranges if r[0] <= w <= r[1]), None) if i == 0 or not only_first else None
        if hit and hit[2]:
            primaries.append(hit[2])
        primaries.append(w + hit[3] if hit else w)
    tertiary = dict(tertiary)
    return (tuple(primaries), lists[1], tuple(tertiary.get(w, w) for w in lists[2]), lists[3])


def predicted(table, base, overrides, ranges, tertiary, cp):
    if is_syllable(cp, base):
        at = cp - 0xAC00
        letters = [0x1100 + at // 588, 0x1161 + at % 588 // 28] + ([0x11A7 + at % 28] if at % 28 else [])
        parts = [overrides.get(j) or moved(table[j], ranges, tertiary, False) for j in letters]
        return tuple(sum((p[level] for p in parts), ()) for level in range(LEVELS_MAX))
    return moved(table[cp], ranges, tertiary, is_implicit(cp, table[cp]))


# ---------------------------------------------------------------- contractions

def span(a, b):
    return set(range(a, b + 1))


LATIN = span(0x41, 0x5A) | span(0x61, 0x7A) | span(0xAA, 0x2AF) | span(0x1E00, 0x1EFF) | {0x27, 0x2019, 0x2BC, 0x2C} \
    | span(0xFF21, 0xFF5A) | span(0x24B6, 0x24E9)
MARKS = span(0x300, 0x36F) | span(0x483, 0x487) | span(0x1DC0, 0x1DFF) | span(0x20D0, 0x20F0) | span(0x5B0, 0x5C7) \
    | span(0x64B, 0x65F) | {0x3099, 0x309A, 0x30FC, 0x309D, 0x309E, 0x30FD, 0x30FE, 0xFF70, 0xFF9E, 0xFF9F, 0x200C, 0x200D}
SCRIPTS = [LATIN, span(0x370, 0x3FF) | span(0x1F00, 0x1FFF), span(0x400, 0x52F), span(0x590, 0x5FF), span(0x600, 0x6FF) | span(0x750, 0x77F),
           span(0x900, 0x97F), span(0x980, 0x9FF), span(0xB80, 0xBFF), span(0xC00, 0xD7F), span(0xD80, 0xDFF) | span(0x200B, 0x200F),
           span(0xE00, 0xEFF), span(0xF00, 0xFFF), span(0x1000, 0x109F), span(0x10A0, 0x10FF), span(0x1100, 0x11FF), span(0x1780, 0x17FF),
           span(0x3040, 0x30FF) | span(0x31F0, 0x31FF) | span(0xFF61, 0xFF9F)]
TOGETHER = LATIN | {0x300, 0x301, 0x303, 0x304, 0x307, 0x30C}
SEPARATOR = "_utf8mb4 x'01'"


def listed(cps):
    return ",".join(map(str, sorted(cps)))


def setup():
    query(f"drop database if exists {DB}; create database {DB}", None)
    query("""set session cte_max_recursion_depth=2000000;
        create table cps (cp int primary key, c varchar(60) character set utf8mb4 collate utf8mb4_bin not null);
        insert into cps with recursive r(n) as (select 0 union all select n+1 from r where n<1114111)
            select n, convert(char(n using utf32) using utf8mb4) from r where n<55296 or n>57343;
        create table script as select 0 g, cp, c from cps where false;
        create table known (n varchar(99) character set utf8mb4 collate utf8mb4_bin primary key);
        create table every as select cp, c from cps where cp<0x3400 or cp between 0xA000 and 0xABFF or cp between 0xF900 and 0x12000
            or cp between 0x1D000 and 0x1F200""")
    for g, cps in enumerate(SCRIPTS):
        query(f"insert into script select {g}, cp, c from cps where cp in ({listed(cps)})")
    query(f"create table mark as select cp, c from cps where cp in ({listed(MARKS)})")


def pairs(name):
    differ = f"concat(a.c, b.c) collate {name} <> concat(a.c, {SEPARATOR}, b.c)"
    rows = query(f"select a.cp, b.cp from script a join script b on a.g = b.g where {differ}")
    rows += query(f"select a.cp, b.cp from every a join mark b where {differ}")
    return {(int(a), int(b)) for a, b in rows}


def longer(name, known):
    """Strings of one character more that are none of `known` followed or preceded by something."""
    letters = {cp for s in known for cp in s}
    query(f"drop table if exists l1; drop table if exists l2; delete from known;"
          f"create table l1 as select c from cps where cp in ({listed(letters)});"
          f"create table l2 as select c from cps where cp in ({listed(letters | TOGETHER)});"
          "insert into known values " + ",".join(f"(convert(x'{''.join(map(chr, s)).encode().hex()}' using utf8mb4))" for s in known))
    length = max(map(len, known))
    found = set()
    # Strings of three begin or end with any letter, longer ones are made of characters of pairs.
    for wide in (0, 2) if length == 2 else (None,):
        # The longest known beginning is taken first; the rest follows as it would alone.
        tables = " join ".join(f"l{2 if i == wide else 1} t{i}" for i in range(length + 1))
        joins, alone = "", f"concat(t0.c, {SEPARATOR}, {','.join(f't{i}.c' for i in range(1, length + 1))})"
        for n in range(2, length + 1):
            head, tail = (",".join(f"t{i}.c" for i in r) for r in (range(n), range(n, length + 1)))
            joins += f" left join known k{n} on k{n}.n = concat({head})"
            alone = f"if(k{n}.n is not null, concat({head}, {SEPARATOR}, {tail}), {alone})"
        columns = ",".join(f"t{i}.c" for i in range(length + 1))
        found |= {tuple(map(ord, r)) for r in query(f"select {columns} from {tables} {joins} where concat({columns}) collate {name} <> {alone}")}
    return found


def contractions(name, is_context):
    known = found = pairs(name)
    while found and not is_context and max(map(len, known)) < 4:
        found = longer(name, known)
        known = known | found
    return sorted(known)


# ---------------------------------------------------------------- output

def write_weights(out, lists):
    for level in range(LEVELS_MAX):
        out.varint(len(lists[level]))
        for w in lists[level]:
            out.varint(w)


def write_overrides(out, overrides):
    shapes = sorted({tuple(map(len, lists)) for lists in overrides.values()})
    out.varint(len(shapes))
    for shape in shapes:
        out.bytes += bytes(shape)
    cps, kinds, streams = Stream(), Stream(), [Stream() for _ in range(LEVELS_MAX)]
    last, previous = 0, [0] * LEVELS_MAX
    for cp in sorted(overrides):
        cps.varint(cp - last)
        last = cp
        kinds.varint(shapes.index(tuple(map(len, overrides[cp]))))
        for level, weights in enumerate(overrides[cp]):
            for w in weights:
                streams[level].signed(w - previous[level])
                previous[level] = w
    out.varint(len(overrides))
    for stream in [cps, kinds] + streams:
        out.section(bytes(stream.bytes))


def fnv1a(data):
    h = 0xCBF29CE484222325
    for b in data:
        h = (h ^ b) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def weight_strings(names):
    """FNV-1a of the WEIGHT_STRINGs of every 7th code point up to U+2FFFF, digested on the server's order."""
    digests = {}
    for name in names:
        rows = query(f"select hex(weight_string(c collate {name})) from cps where cp < 0x30000 and cp % 7 = 0 order by cp")
        digests[name] = fnv1a(bytes.fromhex("".join(r[0] for r in rows)))
    return digests


def tailoring(key, name, base, table):
    rows = query(f"select cp, hex(weight_string(c collate {name})) from cps "
                 f"where weight_string(c collate {name}) <> weight_string(c collate {BASES[base]})")
    tailored = {int(cp): levels_of(h) for cp, h in rows}
    ranges, tertiary = learn_ranges(table, tailored), learn_tertiary(table, tailored)
    overrides = {}
    check = table if ranges or tertiary else tailored
    for syllables in (False, True):
        for cp in check:
            if is_syllable(cp, base) == syllables:
                lists = tailored.get(cp, table[cp])
                if lists != predicted(table, base, overrides, ranges, tertiary, cp):
                    overrides[cp] = lists
    is_context = key.startswith("ja")
    strings = contractions(name, is_context)
    out = Stream()
    out.bytes += bytes([base, 1 if base < 2 else 3 + key.endswith("ks")])
    out.varint(len(ranges))
    for first, last, prefix, delta in ranges:
        out.varint(first)
        out.varint(last)
        out.varint(prefix)
        out.signed(delta)
    out.varint(len(tertiary))
    for a, b in tertiary:
        out.varint(a)
        out.varint(b)
    write_overrides(out, overrides)
    hexes = lambda cps: "".join(map(chr, cps)).encode().hex()
    weigh = lambda cps: f"hex(weight_string(_utf8mb4 x'{hexes(cps)}' collate {name}))"
    weights = query("".join(f"select {weigh(s)}, {weigh(s[:1])};" for s in strings)) if strings else []
    out.varint(1 if is_context else 0)
    out.varint(len(strings))
    for cps, (together, first) in zip(strings, weights):
        out.varint(len(cps))
        for cp in cps:
            out.varint(cp)
        lists = weights_of_string(together)
        if is_context:
            alone = levels_of(first)
            assert all(a == b[:len(a)] for a, b in zip(alone, lists)), cps
            lists = tuple(b[len(a):] for a, b in zip(alone, lists))
        write_weights(out, lists)
    data = deflate(out)
    print(f"{key}: {len(ranges)} ranges, {len(tertiary)} tertiary, {len(overrides)} overrides, {len(strings)} strings, {len(data)} bytes",
          file=sys.stderr)
    return data


def key_of(name):
    return name.removeprefix("utf8mb4_").removesuffix("_ci").removesuffix("_as_cs").removesuffix("_as_cs_ks") + ("_ks" if name.endswith("_ks") else "")


def main():
    setup()
    names = [r[0] for r in query("select collation_name from information_schema.collations where character_set_name = 'utf8mb4' and "
                                 "(collation_name like '%0900_as_cs%' or collation_name not like '%0900%') and collation_name not like '%bin' "
                                 "and collation_name not like '%general%' and collation_name not like 'utf8mb4\\_unicode\\_%' "
                                 "and collation_name <> 'utf8mb4_0900_as_cs' order by id")]
    tables = {}
    for base, name in BASES.items():
        tables[base] = {int(cp): levels_of(h) for cp, h in query(f"select cp, hex(weight_string(c collate {name})) from cps order by cp")}
    out = Stream()
    out.varint(len(names))
    for name in names:
        base = 2 if "0900" in name else 0
        out.section(key_of(name).encode())
        out.section(tailoring(key_of(name), name, base, tables[base]))
    with open(f"{OUT}/data/tailorings.z", "wb") as f:
        f.write(out.bytes)
    with open(f"{OUT}/data/tailorings.txt", "w") as f:
        f.write("# collation, FNV-1a 64 of the WEIGHT_STRINGs of every 7th code point up to U+2FFFF; by tools/gen-tailorings.py\n")
        for name, digest in weight_strings(names).items():
            f.write(f"{name} {digest:016x}\n")
    query(f"drop database {DB}", None)


main()
