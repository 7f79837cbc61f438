"""SQLAlchemy over PyMySQL: a declared table created, written, and reflected from the server (it parses SHOW CREATE TABLE)."""
import ssl

from sqlalchemy import (JSON, URL, Column, Date, Index, Integer, LargeBinary, MetaData, Numeric, String, Table, create_engine,
                        func, inspect, select, text)
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import IntegrityError

from common import COLUMNS, DATABASE, DOCUMENT, HOST, MANY, PASSWORD, PORT, ROW, TLS, USER

context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
arguments = {"ssl": context} if TLS else {"ssl_disabled": True}


def engine(database):
    url = URL.create("mysql+pymysql", USER, PASSWORD, HOST, PORT, database, query={"charset": "utf8mb4"})
    return create_engine(url, connect_args=arguments)


declared = MetaData()
t = Table(
    "t", declared,
    Column("id", Integer, primary_key=True),
    Column("n", mysql.BIGINT(unsigned=True)), Column("m", Numeric(20, 4)), Column("f", mysql.DOUBLE(asdecimal=False)), Column("s", String(50), unique=True),
    Column("b", LargeBinary), Column("d", Date), Column("ts", mysql.DATETIME(fsp=6)), Column("tm", mysql.TIME), Column("j", JSON), Column("z", Integer),
    Index("by_date", "d", "n"))
many = Table("many", declared, Column("id", Integer, primary_key=True, autoincrement=False), Column("s", String(50), nullable=False))

server = engine(None)
with server.begin() as connection:
    cipher = connection.execute(text("SHOW SESSION STATUS LIKE 'Ssl_cipher'")).one()[1]
    assert bool(cipher) == TLS, f"Ssl_cipher is {cipher!r}"
    connection.execute(text(f"DROP DATABASE IF EXISTS {DATABASE}"))
    connection.execute(text(f"CREATE DATABASE {DATABASE}"))
db = engine(DATABASE)
declared.create_all(db)

values = dict(zip(COLUMNS.split(", "), ROW), j=DOCUMENT)
with db.begin() as connection:
    assert connection.execute(t.insert(), values).inserted_primary_key == (1,)
    row = connection.execute(select(t)).mappings().one()
time = (ROW[7].seconds // 3600, ROW[7].seconds // 60 % 60, ROW[7].seconds % 60)
for name, value in row.items():
    if name == "tm":
        assert (value.hour, value.minute, value.second) == time, value
    elif name != "id":
        assert value == values[name], f"{name} read back as {value!r}"

try:
    with db.begin() as connection:
        connection.execute(t.insert(), values)
    raise AssertionError("a duplicate key was accepted")
except IntegrityError as error:
    assert error.orig.args[0] == 1062, repr(error)

with db.connect() as connection:
    connection.execute(t.insert(), {"s": "rolled back"})
    connection.rollback()
    assert connection.execute(select(func.count()).select_from(t)).scalar_one() == 1

with db.begin() as connection:
    connection.execute(many.insert(), [{"id": i, "s": f"row {i}"} for i in range(MANY)])
    rows = connection.execute(select(many).order_by(many.c.id)).all()
assert [tuple(row) for row in rows] == [(i, f"row {i}") for i in range(MANY)]

reflected = MetaData()
reflected.reflect(db)
assert set(reflected.tables) == {"t", "many"}, reflected.tables.keys()
r = reflected.tables["t"]
types = {column.name: str(column.type.compile(db.dialect)) for column in r.columns}
assert types == {"id": "INTEGER", "n": "BIGINT UNSIGNED", "m": "DECIMAL(20, 4)", "f": "DOUBLE", "s": "VARCHAR(50)", "b": "BLOB", "d": "DATE",
                 "ts": "DATETIME(6)", "tm": "TIME", "j": "JSON", "z": "INTEGER"}, types
assert r.primary_key.columns.keys() == ["id"] and r.c.id.autoincrement is True and not r.c.id.nullable
indexes = {index["name"]: (index["column_names"], index["unique"]) for index in inspect(db).get_indexes("t")}
assert indexes == {"by_date": (["d", "n"], False), "s": (["s"], True)}, indexes
with server.begin() as connection:
    connection.execute(text(f"DROP DATABASE {DATABASE}"))
