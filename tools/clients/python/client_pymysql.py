"""PyMySQL: pure Python, interpolates parameters itself, has no prepared statements."""
import ssl

import pymysql
from common import HOST, PASSWORD, PORT, TLS, USER, Driver, scenario


def connect():
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    tls = {"ssl": context} if TLS else {"ssl_disabled": True}
    return pymysql.connect(host=HOST, port=PORT, user=USER, password=PASSWORD, charset="utf8mb4", **tls)


scenario(Driver(connect, pymysql.err.IntegrityError, lambda error: error.args[0]))
