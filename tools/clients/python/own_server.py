"""A server of a client's own, with the HTTP front: that of the other clients has none."""

import os
import socket
import subprocess
import tempfile
import time
import urllib.request

import pymysql

PASSWORD = "root-of-console"
START_SECONDS_MAX = 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class OwnServer:
    def __init__(self, *options):
        self.dir = tempfile.TemporaryDirectory()
        self.port, self.http = free_port(), free_port()
        self.options = options
        self.start()

    def start(self):
        work = self.dir.name
        with open(f"{work}/log", "ab") as log:
            self.process = subprocess.Popen(
                [os.environ["VAQUITA"], "serve", "--data-dir", f"{work}/data", "--port", str(self.port), "--socket", f"{work}/socket",
                 "--http-port", str(self.http), "--initial-root-password", PASSWORD, *self.options],
                stdout=log, stderr=log, env={name: value for name, value in os.environ.items() if name != "VAQUITA_HTTP"},
            )
        until = time.monotonic() + START_SECONDS_MAX
        while not self.is_ready():
            assert self.process.poll() is None and time.monotonic() < until, self.log()
            time.sleep(0.05)

    def is_ready(self):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.http}/readyz", timeout=5).status == 200
        except OSError:
            return False

    def log(self):
        with open(f"{self.dir.name}/log") as log:
            return log.read()[-4000:]

    def connect(self, **settings):
        login = dict(host="127.0.0.1", port=self.port, user="root", password=PASSWORD, autocommit=True)
        return pymysql.connect(**{**login, **settings})

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        self.dir.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def wait_for(what, condition, seconds_max=30):
    until = time.monotonic() + seconds_max
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < until, f"in {seconds_max} s there was no {what}"
        time.sleep(0.05)
