"""mysql-replication: reads the binary log, by GTID and by position, and goes on where it has stopped."""
import ssl
from datetime import date, datetime, timedelta
from decimal import Decimal

import pymysql
from common import DATABASE, HOST, PASSWORD, PORT, TLS, USER
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.event import QueryEvent
from pymysqlreplication.row_event import DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent

context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
SETTINGS = dict(host=HOST, port=PORT, user=USER, password=PASSWORD, charset="utf8mb4",
                **({"ssl": context} if TLS else {"ssl_disabled": True}))
SERVER_ID = 4_000_000_001 + TLS
ROWS = [WriteRowsEvent, UpdateRowsEvent, DeleteRowsEvent]
ROW = {"id": 1, "n": 18446744073709551615, "m": Decimal("1234567890123456.7891"), "f": 0.1, "s": "Grüße 🐄", "b": b"\x00\xff'\\\n\x1a",
       "d": date(2024, 2, 29), "ts": datetime(2024, 2, 29, 23, 59, 59, 123456), "tm": timedelta(hours=12, minutes=34, seconds=56),
       "e": "zwei", "z": None}


def changes(events, **where):
    """Rows as (table, before, after), and what DDL there is."""
    stream = BinLogStreamReader(SETTINGS, server_id=SERVER_ID, only_events=events, only_schemas=[DATABASE], blocking=False, **where)
    found = []
    for event in stream:
        if isinstance(event, QueryEvent):
            found.append(event.query)
            continue
        for row in event.rows:
            values = (row.get("before_values"), row.get("after_values"))
            if isinstance(event, WriteRowsEvent):
                values = (None, row["values"])
            elif isinstance(event, DeleteRowsEvent):
                values = (row["values"], None)
            found.append((event.table, *values))
    place = (stream.log_file, stream.log_pos)
    stream.close()
    return found, place


connection = pymysql.connect(**SETTINGS, autocommit=True)
cursor = connection.cursor()
cursor.execute("SHOW SESSION STATUS LIKE 'Ssl_cipher'")
cipher = cursor.fetchone()[1]
assert bool(cipher) == TLS, f"Ssl_cipher is {cipher!r}"
cursor.execute("SELECT @@gtid_mode, @@global.gtid_executed")
mode, known = cursor.fetchone()
# Without names and charsets of columns this library cannot tell texts from bytes.
cursor.execute("SELECT @@global.binlog_row_metadata")
metadata = cursor.fetchone()[0]
cursor.execute("SET GLOBAL binlog_row_metadata = 'FULL'")
cursor.execute("SHOW BINARY LOGS")
log, size = cursor.fetchall()[-1][:2]
begin = {"log_file": log, "log_pos": size, "resume_stream": True}
cursor.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
cursor.execute(f"CREATE DATABASE {DATABASE}")
cursor.execute(f"USE {DATABASE}")
cursor.execute("""CREATE TABLE t (id INT NOT NULL PRIMARY KEY, n BIGINT UNSIGNED, m DECIMAL(20,4), f DOUBLE, s VARCHAR(50), b BLOB,
    d DATE, ts DATETIME(6), tm TIME, e ENUM('eins','zwei'), z INT)""")
marks = ", ".join(["%s"] * len(ROW))
cursor.execute(f"INSERT INTO t VALUES ({marks})", list(ROW.values()))
cursor.execute("BEGIN")
cursor.execute("INSERT INTO t (id) VALUES (2)")
cursor.execute("ROLLBACK")
cursor.execute("FLUSH BINARY LOGS")
cursor.execute("UPDATE t SET s = 'changed' WHERE id = 1")
cursor.execute("ALTER TABLE t ADD COLUMN w INT NOT NULL DEFAULT 5 AFTER id")

first = [("t", None, ROW), ("t", ROW, {**ROW, "s": "changed"})]
found, place = changes(ROWS, **begin)
assert found == first, found
if mode == "ON":
    found, _ = changes([*ROWS, QueryEvent], auto_position=known or f"{'0' * 8}-0000-0000-0000-{'0' * 12}:1")
    rows = [change for change in found if isinstance(change, tuple)]
    assert rows == first, found
    assert found[-1].startswith("ALTER TABLE t ADD COLUMN w"), found

cursor.execute("DELETE FROM t WHERE id = 1")
found, _ = changes(ROWS, log_file=place[0], log_pos=place[1], resume_stream=True)
assert found == [("t", {**ROW, "s": "changed", "w": 5}, None)], found
cursor.execute("SET GLOBAL binlog_row_metadata = %s", (metadata,))
cursor.execute(f"DROP DATABASE {DATABASE}")
connection.close()
