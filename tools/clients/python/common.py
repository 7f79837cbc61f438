"""What the Python clients have in common: where the server is, the typed row, and one scenario over DB-API 2.0.

A client program describes its driver as a `Driver` and calls `scenario`; an assertion that fails ends it with a traceback.
"""
import json
import os
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Callable

HOST = os.environ["DB_HOST"]
PORT = int(os.environ["DB_PORT"])
USER = os.environ["DB_USER"]
PASSWORD = os.environ["DB_PASSWORD"]
DATABASE = os.environ["DB_NAME"]
TLS = os.environ["DB_TLS"] == "1"

TABLE = """CREATE TABLE t (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  n BIGINT UNSIGNED, m DECIMAL(20,4), f DOUBLE, s VARCHAR(50), b BLOB,
  d DATE, ts DATETIME(6), tm TIME, j JSON, z INT,
  UNIQUE KEY s_unique (s))"""
COLUMNS = "n, m, f, s, b, d, ts, tm, j, z"
DOCUMENT = {"a": [1, 2.5, None], "k": "🐄"}
ROW = (18446744073709551615, Decimal("1234567890123456.7891"), 0.1, "Grüße 🐄", b"\x00\xff'\\\n\x1a",
       date(2024, 2, 29), datetime(2024, 2, 29, 23, 59, 59, 123456), timedelta(hours=12, minutes=34, seconds=56),
       json.dumps(DOCUMENT), None)
MANY = 10_000


@dataclass
class Driver:
    """A DB-API driver, as far as the drivers differ."""
    connect: Callable[[], Any]
    error: type
    number: Callable[[Exception], int]
    prepared: dict = field(default_factory=dict)  # arguments of cursor() for a statement prepared by the server
    has_prepared: bool = False


def check_row(row):
    """The row as written; JSON is compared as a document, since the server normalizes its text."""
    assert row[:8] == ROW[:8], f"read back {row!r}"
    assert json.loads(row[8]) == DOCUMENT, f"JSON read back as {row[8]!r}"
    assert row[9] is None, f"NULL read back as {row[9]!r}"


def scenario(driver):
    connection = driver.connect()
    cursor = connection.cursor()
    cursor.execute("SHOW SESSION STATUS LIKE 'Ssl_cipher'")
    cipher = cursor.fetchone()[1]
    assert bool(cipher) == TLS, f"Ssl_cipher is {cipher!r}"
    cursor.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
    cursor.execute(f"CREATE DATABASE {DATABASE}")
    cursor.execute(f"USE {DATABASE}")
    cursor.execute(TABLE)

    marks = ", ".join(["%s"] * len(ROW))
    cursor.execute(f"INSERT INTO t ({COLUMNS}) VALUES ({marks})", ROW)
    assert (cursor.rowcount, cursor.lastrowid) == (1, 1), (cursor.rowcount, cursor.lastrowid)
    connection.commit()
    cursor.execute(f"SELECT {COLUMNS} FROM t")
    check_row(cursor.fetchone())
    assert cursor.fetchone() is None

    if driver.has_prepared:
        # What the C extension of mysql-connector-python cannot do is left out: it binds and reads integers as signed,
        # binds floats in single precision, and fails to bind TIME.
        prepared = connection.cursor(**driver.prepared)
        prepared.execute(f"INSERT INTO t ({COLUMNS}) VALUES ({marks})", (2**63 - 1, ROW[1], 0.5, "second", *ROW[4:7], str(ROW[7]), *ROW[8:]))
        connection.commit()
        for _ in range(2):
            prepared.execute(f"SELECT {COLUMNS} FROM t WHERE s = %s", ("second",))
            row = prepared.fetchone()
            assert (row[0], row[2], row[3]) == (2**63 - 1, 0.5, "second"), row
            check_row((ROW[0], row[1], *ROW[2:4], *row[4:]))
            assert prepared.fetchone() is None
        prepared.close()

    try:
        cursor.execute("INSERT INTO t (s) VALUES (%s)", (ROW[3],))
        raise AssertionError("a duplicate key was accepted")
    except driver.error as error:
        assert driver.number(error) == 1062, repr(error)
    connection.rollback()

    cursor.execute("SELECT COUNT(*) FROM t")
    before = cursor.fetchone()
    cursor.execute("INSERT INTO t (s) VALUES ('rolled back')")
    connection.rollback()
    cursor.execute("SELECT COUNT(*) FROM t")
    assert cursor.fetchone() == before

    cursor.execute("CREATE TABLE many (id INT PRIMARY KEY, s VARCHAR(50))")
    cursor.executemany("INSERT INTO many VALUES (%s, %s)", [(i, f"row {i}") for i in range(MANY)])
    connection.commit()
    cursor.execute("SELECT id, s FROM many ORDER BY id")
    assert list(cursor.fetchall()) == [(i, f"row {i}") for i in range(MANY)]
    cursor.execute(f"DROP DATABASE {DATABASE}")
    connection.close()
