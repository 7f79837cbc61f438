"""mysql-connector-python, both its C extension (MySQL's own client library) and its pure Python form.

Its prepared cursor uses statements prepared by the server.
"""
import mysql.connector
from common import HOST, PASSWORD, PORT, TLS, USER, Driver, scenario


def connect(pure):
    # Not compressed, not pooled: the defaults. utf8mb4 is the default too.
    return mysql.connector.connect(host=HOST, port=PORT, user=USER, password=PASSWORD, ssl_disabled=not TLS, use_pure=pure)


for use_pure in (False, True):
    print("pure Python" if use_pure else "C extension", flush=True)
    scenario(Driver(lambda: connect(use_pure), mysql.connector.IntegrityError, lambda error: error.errno,
                    prepared={"prepared": True}, has_prepared=True))
