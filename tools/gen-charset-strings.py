#!/usr/bin/env python3
"""Writes crates/types/src/charset/data/strings.txt: what MySQL says about random strings.

usage: tools/gen-charset-strings.py 'mysql -h127.0.0.1 -uroot' > crates/types/src/charset/data/strings.txt

Each line: collation, two strings in hex (`-` if empty), STRCMP, `a LIKE b`, LOCATE(b, a),
WEIGHT_STRING(a), UPPER(a), LOWER(a); the seed is fixed.
"""
import random
import shlex
import subprocess
import sys

CLIENT = shlex.split(sys.argv[1]) + ["--default-character-set=utf8mb4", "-N", "-B"]
COLLATIONS = {
    "utf8mb4": ["utf8mb4_0900_ai_ci", "utf8mb4_0900_as_ci", "utf8mb4_0900_as_cs", "utf8mb4_0900_bin", "utf8mb4_bin",
                "utf8mb4_general_ci", "utf8mb4_unicode_ci", "utf8mb4_unicode_520_ci"],
    "utf8mb3": ["utf8mb3_general_ci", "utf8mb3_bin", "utf8mb3_unicode_ci"],
    "latin1": ["latin1_swedish_ci", "latin1_general_ci", "latin1_bin", "latin1_danish_ci"],
    "ascii": ["ascii_general_ci", "ascii_bin"],
    "cp1251": ["cp1251_general_ci"],
    "utf16": ["utf16_general_ci", "utf16_unicode_ci", "utf16_bin"],
    "utf16le": ["utf16le_general_ci", "utf16le_bin"],
    "utf32": ["utf32_general_ci", "utf32_bin"],
    "ucs2": ["ucs2_general_ci", "ucs2_bin"],
    "binary": ["binary"],
}
ALPHABETS = ["abcABC", "aàáâäåAÀÄsSßſ", "a \t!", "ab \x01\x1f~", "eé\u0301\u0308EÉ", "日本語中文", "가각나\u1100\u1161\u11a8", "абвАБВё",
             "ﬁﬂfiǆǄdz½㍿株式会社", "😀😁a🎉", "IıiİÿŸŒœÐđłø", "a%_\\", "αβςσΣά", "0123ab-_ .", "กขเาะ", "あアかガカ\u3099ー"]
CODEC = {"utf8mb4": "utf-8", "utf8mb3": "utf-8", "latin1": "cp1252", "ascii": "ascii", "cp1251": "cp1251", "utf16": "utf-16-be",
         "utf16le": "utf-16-le", "utf32": "utf-32-be", "ucs2": "utf-16-be", "binary": "utf-8"}


def text(rng, alphabet, base=""):
    kind = rng.random()
    s = "".join(rng.choice(alphabet) for _ in range(rng.randrange(6)))
    if kind < 0.3:
        return base[:rng.randrange(len(base) + 1)] + s[:2]
    if kind < 0.4:
        return base.swapcase() + " " * rng.randrange(3)
    if kind < 0.5:
        return base[rng.randrange(len(base) + 1):][:2]
    return s


def encoded(s, charset):
    if charset in ("utf8mb3", "ucs2"):
        s = "".join(c for c in s if ord(c) < 0x10000)
    return s.encode(CODEC[charset], "ignore").hex().upper()


def main():
    rng = random.Random(19)
    sql, keys = [], []
    for charset, collations in COLLATIONS.items():
        for name in collations:
            for n in range(160 if charset == "utf8mb4" else 64):
                alphabet = ALPHABETS[n % len(ALPHABETS)] + ("" if n % 3 else "abc")
                a = text(rng, alphabet)
                b = text(rng, alphabet, a)
                a, b = encoded(a, charset), encoded(b, charset)
                keys.append((name, a or "-", b or "-"))
                x, y = (f"_{charset} x'{s}'" + ("" if name == "binary" else f" collate {name}") for s in (a, b))
                sql.append(f"select strcmp({x}, {y}), {x} like {y}, locate({y}, {x}), hex(weight_string({x})), "
                           f"hex(upper(concat({x}, convert('    ' using {charset})) )), hex(lower(concat({x}, convert('    ' using {charset}))));")
    out = subprocess.run(CLIENT, input="\n".join(sql), check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    assert len(out) == len(keys), (len(out), len(keys))
    print("# by tools/gen-charset-strings.py: collation a b strcmp like locate weights upper(a+4 spaces) lower(a+4 spaces)")
    for key, row in zip(keys, out):
        print(*key, *[f or "-" for f in row.split("\t")])


main()
