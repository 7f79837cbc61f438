#!/usr/bin/env python3
"""Records how MySQL sorts, groups, matches, maps and weighs some thousand strings under each of its collations.

usage: tools/gen-collation-answers.py 'mysql -h127.0.0.1 -uroot' crates/types/src/charset/data
       tools/gen-collation-answers.py 'mysql -h127.0.0.1 -uroot' lines COLLATION order|match|case|weights

The first form writes `answers-strings.txt`, the strings (UTF-8 in hex, one a line), and `answers.txt`: per collation how
many of the strings its charset can hold and FNV-1a digests of four lists of lines. The second form prints such a list, to
be compared with what the test of `golden_answers.rs` prints for the same collation (see there).

    order    number of the string and of its group, in the order of the collation
    match    of pairs of strings: STRCMP(a, b), a LIKE b, a LIKE 'b…%', LOCATE of b's first character in a, of b in a+b+a
    case     UPPER and LOWER of the string and four spaces
    weights  WEIGHT_STRING

A database `charset_answers` is made on the server and dropped.
"""
import random
import shlex
import subprocess
import sys

CLIENT = shlex.split(sys.argv[1]) + ["--default-character-set=utf8mb4", "-N", "-B"]
DB = "charset_answers"
KINDS = ["order", "match", "case", "weights"]

# Letters of languages with the strings that some of them sort as one, and what is hard elsewhere.
ALPHABETS = [
    "aAbBcCdDeEzZ", "aàáâãäåāăąǎAÀÁÂÃÄÅĀĂĄæÆǽ", "cçćčĉċCÇĆČ ch Ch CH cs Cs", "dďđðDĎĐÐ dž Dž DŽ ǆǅǄ dz dzs Ddzs ddz",
    "eèéêëēĕėęěEÈÉÊËĒĖĘĚəƏ", "gğǧģĝGĞĢ gy ggy Ggy", "iìíîïīĭįıİIÌÍÎÏĪĮi̇ì í", "lľłļĺLŁĻ ll Ll LL ly lj Lj LJ ǉ",
    "nñńňņNÑŃŇŅ ny nny nj NJ ǌn̄ŉ", "oòóôõöøōŏőOÒÓÔÕÖØŌŐœŒǫǒ", "sśšşșßſSŚŠŞȘẞ sz ssz st", "tťţțTŤŢȚþÞ ty tty", "uùúûüūŭůűųUÙÚÛÜŪŮŰŲưƯǖǘ",
    "yýÿỳYÝŸ", "zźžżZŹŽŻ zs zzs Zs", "aa AA Aa aA åÅ", "aạảấầẩẫậắằẳẵặ ơớờởỡợ ăâđêôư", "a\u0301a\u0308o\u0308u\u030ac\u030c\u0327e\u0301\u0323",
    "абвгдеёжзийклАБВГДЕЁЖЗИЙЇЄҐіїєґђћљњџўө ү Ө Ү", "αβγδεζηθάέήίόύώΑΒΓΣσςΐΰ", "אבגדהוזחטיכךלמםשׁשׂ", "اأإآبتثجحخدذرزژسكکگیىيپچ",
    "กขคงจเแโไใาะิีึุู่้๊๋์ำฯๆ๐", "日本語中文字漢一二三丁七萬上下亜唖娃阿", "啊阿埃挨哎唉哀皑癌蔼矮艾碍爱隘丂丄丅丆", "가각나다라마바사아자차카타파하힣ㄱㄴ\u1100\u1161\u11a8",
    "あいうえおかきくけこがぎぱアイウエオカキクケコガパー\u30fc\u309d\u309e\u30fd\u30feｱｲｳｰｶﾞ\u3099\u309aぁァっッ", "ｱｲｳｴｵｶｷｸｹｺABCａｂｃＡＢＣ０１２",
    "😀😁🎉🇩🇪👍𝐀𝔸𐐀𐐨𠀀𠮷𝄞", "\u0001\u0002\u200b\u200d\u00ad\u2060\ufeffa b", "a \t!b~ -_.,'\"", "0123456789①½²Ⅷ㍿ﬁﬂ", "\u0378\u0e3b\ufdd0\uffff\U0001fffe\U000e0001a",
    "කඛගඝඞඟචඡ\u0d82\u0d83\u0dca", "ກຂຄງເແໂາະ", "ကခဂဃငစ\u1031\u103a", "अआइईकखगघ\u094d\u093c", "აბგდեզէըաბ", "ሀለሐመ\u0f40\u0f71\u0f72",
    "ĉĝĥĵŝŭĈĜĤĴŜŬ", "m\u0300m\u0304M\u030cn\u0304ňǹ", "aA\u00a0 \u3000\u2003b", "abcdeABCDE abc ABC", "i\u0307\u0300i\u0307\u0301j\u0307į\u0307",
]
SINGLE = {"armscii8": None, "ascii": "ascii", "cp1250": "cp1250", "cp1251": "cp1251", "cp1256": "cp1256", "cp1257": "cp1257", "cp850": "cp850",
          "cp852": "cp852", "cp866": "cp866", "greek": "iso8859_7", "hebrew": "iso8859_8", "koi8r": "koi8_r", "koi8u": "koi8_u", "latin1": "cp1252",
          "latin2": "iso8859_2", "latin5": "iso8859_9", "latin7": "iso8859_13", "macce": "mac_latin2", "macroman": "mac_roman", "tis620": "tis_620",
          "big5": "big5", "cp932": "cp932", "euckr": "euc_kr", "gb18030": "gb18030", "gb2312": "gb2312", "gbk": "gbk", "sjis": "shift_jis", "ujis": "euc_jp"}
STRINGS_PER_ALPHABET = 44
STRINGS_PER_CHARSET = 40


def query(sql, db=DB):
    args = CLIENT + ([db] if db else [])
    run = subprocess.run(args, input=sql, stdout=subprocess.PIPE, check=True, text=True)
    return run.stdout.split("\n")[:-1]


def characters(codec, rng):
    """Characters of a charset: all of an 8-bit one, some of a larger one."""
    found = set()
    for first in range(256):
        for tail in [b""] + ([bytes([rng.randrange(256)]) for _ in range(6)] if first >= 0x80 else []):
            try:
                text = (bytes([first]) + tail).decode(codec)
            except UnicodeDecodeError:
                continue
            found.update(c for c in text if ord(c) >= 0x20)
    return sorted(found)


def strings():
    rng = random.Random(1911)
    out = {"", " ", "a", "A", "a ", "ab", "Ab", "aB", "a b"}
    for alphabet in ALPHABETS:
        parts = alphabet.split(" ") if " " in alphabet.strip() else []
        for n in range(STRINGS_PER_ALPHABET):
            letters = [c for c in alphabet] + parts * 3 + (["a", "b", " "] if n % 3 == 0 else [])
            s = "".join(rng.choice(letters) for _ in range(rng.randrange(1, 6)))
            out.add(s + " " * rng.randrange(2) if n % 7 == 0 else s)
            out.add(rng.choice(alphabet))
    for codec in SINGLE.values():
        pool = characters(codec, rng) if codec else []
        for n in range(STRINGS_PER_CHARSET if pool else 0):
            out.add("".join(rng.choice(pool) for _ in range(rng.randrange(1, 5))) + ("a" if n % 5 == 0 else ""))
    # MySQL's WEIGHT_STRING takes the last character for the one before a Japanese length or repetition mark at the start.
    return sorted(s for s in out if s[:1] not in tuple("\u30fc\u309d\u309e\u30fd\u30fe\uff70"))


def fnv1a(data):
    h = 0xCBF29CE484222325
    for b in data:
        h = (h ^ b) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def setup(texts):
    query(f"drop database if exists {DB}; create database {DB}", None)
    rows = ",".join(f"({n}, _utf8mb4 x'{s.encode().hex()}')" for n, s in enumerate(texts))
    query("create table strings (id int primary key, s varchar(80) character set utf8mb4 collate utf8mb4_bin not null);"
          f"insert into strings values {rows}")


def held(charset):
    """The strings that the charset can hold, in it: table `held` with numbers n from 0; returns their count."""
    column = "varbinary(320)" if charset == "binary" else f"varchar(80) character set {charset}"
    query(f"drop table if exists held; create table held (n int primary key, id int, s {column} not null);"
          "set sql_mode='';"
          f"insert into held select row_number() over (order by id) - 1, id, convert(s using {charset}) from strings "
          f"where cast(convert(convert(s using {charset}) using utf8mb4) as binary) = cast(s as binary)")
    return int(query("select count(*) from held")[0])


# MySQL's ORDER BY takes strings apart or together that its comparison and its indexes do not: the latter is recorded.
COMPARED = {"big5_chinese_ci", "cp1250_czech_cs", "gb18030_chinese_ci", "latin7_estonian_cs", "latin7_general_ci", "latin7_general_cs", "utf8mb4_lt_0900_as_cs"}


def order_compared(s):
    rows = [r.split("\t") for r in query(f"select a.id, sum({s('b')} < {s('a')}) less from held a join held b group by a.id order by less, a.id")]
    groups = {less: n + 1 for n, less in enumerate(dict.fromkeys(less for _, less in rows))}
    return [f"{number}\t{groups[less]}" for number, less in rows]


def lines(collation, charset, kind, count):
    s = lambda t: f"({t}.s collate {collation})" if collation != "binary" else f"{t}.s"
    partner = f"held a join held b on b.n = (a.n * 7919 + 131) % {count}"
    if kind == "order" and collation in COMPARED:
        return order_compared(s)
    sql = {
        "order": f"select id, dense_rank() over (order by {s('a')}) g from held a order by g, id",
        "match": f"select strcmp({s('a')}, {s('b')}), {s('a')} like {s('b')}, {s('a')} like concat(left({s('b')}, 1), convert('%' using {charset})), "
                 f"locate(left({s('b')}, 1), {s('a')}), locate({s('b')}, concat({s('a')}, {s('b')}, {s('a')})) from {partner} order by a.n",
        "case": f"select hex(upper(concat({s('a')}, convert('    ' using {charset})))), hex(lower(concat({s('a')}, convert('    ' using {charset})))) from held a order by n",
        "weights": f"select hex(weight_string({s('a')})) from held a order by n",
    }[kind]
    return query(sql)


def main():
    texts = strings()
    setup(texts)
    collations = [r.split("\t") for r in query("select collation_name, character_set_name from information_schema.collations order by character_set_name, id")]
    if sys.argv[2] == "lines":
        charset = dict(collations)[sys.argv[3]]
        print("\n".join(lines(sys.argv[3], charset, sys.argv[4], held(charset))))
    else:
        with open(f"{sys.argv[2]}/answers-strings.txt", "w") as f:
            f.writelines(s.encode().hex() + "\n" for s in texts)
        previous, count = None, 0
        with open(f"{sys.argv[2]}/answers.txt", "w") as f:
            f.write("# collation, strings, FNV-1a 64 of the lists order, match, case, weights; by tools/gen-collation-answers.py\n")
            for collation, charset in collations:
                if charset != previous:
                    previous, count = charset, held(charset)
                digests = [fnv1a("".join(line + "\n" for line in lines(collation, charset, kind, count)).encode()) for kind in KINDS]
                f.write(f"{collation} {count} " + " ".join(f"{d:016x}" for d in digests) + "\n")
    query(f"drop database {DB}", None)


main()
