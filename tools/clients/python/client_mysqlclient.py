"""mysqlclient (MySQLdb): wraps the C client library, interpolates parameters itself, has no prepared statements."""
import MySQLdb
from common import HOST, PASSWORD, PORT, TLS, USER, Driver, scenario


def connect():
    mode = "REQUIRED" if TLS else "DISABLED"
    return MySQLdb.connect(host=HOST, port=PORT, user=USER, password=PASSWORD, charset="utf8mb4", ssl_mode=mode)


scenario(Driver(connect, MySQLdb.IntegrityError, lambda error: error.args[0]))
