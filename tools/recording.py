"""What the recorders of charsets share: asking MySQL, and the byte streams that crates/types/src/charset reads (`blob.rs`).

The first argument of a recorder is the command of a client, the second the folder of the sources.
"""
import os
import shlex
import subprocess
import sys
import zlib

CLIENT = shlex.split(sys.argv[1]) + ["--default-character-set=utf8mb4", "-N", "-B"]
OUT = sys.argv[2]


def query(sql, db):
    """The rows of the answer, as texts, in the database `db` if there is one."""
    args = CLIENT + ([db] if db else [])
    run = subprocess.run(args, input=sql, stdout=subprocess.PIPE, check=True, text=True)
    return [line.split("\t") for line in run.stdout.splitlines()]


class Stream:
    def __init__(self):
        self.bytes = bytearray()

    def u8(self, n):
        self.bytes.append(n)

    def u16(self, n):
        self.bytes += n.to_bytes(2, "little")

    def varint(self, n):
        while n >= 0x80:
            self.bytes.append(n & 0x7F | 0x80)
            n >>= 7
        self.bytes.append(n)

    def signed(self, n):
        self.varint(n * 2 if n >= 0 else -n * 2 - 1)

    def section(self, data):
        self.varint(len(data))
        self.bytes += data

    def text(self, s):
        self.section(s.encode())


def deflate(stream):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(bytes(stream.bytes)) + packer.flush()


def write(name, data):
    os.makedirs(f"{OUT}/data", exist_ok=True)
    with open(f"{OUT}/data/{name}", "wb") as f:
        f.write(data)
    print(f"{name}: {len(data)} bytes", file=sys.stderr)
