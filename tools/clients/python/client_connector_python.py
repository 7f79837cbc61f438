"""mysql-connector-python, both its C extension (MySQL's own client library) and its pure Python form.

Its prepared cursor uses statements prepared by the server.
"""
import _mysql_connector  # noqa: F401  first: it brings a newer libssl than the one that Python's ssl would load, and needs it
import mysql.connector
from common import HOST, PASSWORD, PORT, TLS, USER, Driver, scenario


def connect(pure, tls=TLS):
    return mysql.connector.connect(host=HOST, port=PORT, user=USER, password=PASSWORD, ssl_disabled=not tls, use_pure=pure)


# This driver never asks for the server's RSA key: without TLS it can only log in when the server has the password cached.
connect(True, tls=True).close()
for use_pure in (False, True):
    print("pure Python" if use_pure else "C extension", flush=True)
    scenario(Driver(lambda: connect(use_pure), mysql.connector.IntegrityError, lambda error: error.errno,
                    prepared={"prepared": True}, has_prepared=True))
