"""A page of headless Chromium, driven over its DevTools protocol; what goes wrong on it is collected in `complaints`."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request

import websocket

from own_server import wait_for

WAIT_SECONDS_MAX = 30


def chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page:
    def __init__(self, base):
        """`base`: what every request of the page must begin with."""
        self.base = base
        self.complaints = []
        self.expected = []
        self.loads = 0
        self.last_id = 0
        self.profile = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [chromium(), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-dev-shm-usage", "--hide-scrollbars", "--ignore-certificate-errors",
             "--remote-debugging-port=0", f"--user-data-dir={self.profile.name}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )
        told = f"{self.profile.name}/DevToolsActivePort"
        wait_for("Chromium", lambda: os.path.exists(told) and open(told).read().count("\n"))
        port = open(told).readline().strip()
        pages = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list"))
        address = next(page["webSocketDebuggerUrl"] for page in pages if page["type"] == "page")
        self.socket = websocket.create_connection(address, timeout=WAIT_SECONDS_MAX, suppress_origin=True)
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(30)
        # The browser's other processes end after it, and write to the profile until then.
        wait_for("the end of Chromium", self.has_ended)
        self.profile.cleanup()

    def has_ended(self):
        """No process of its session runs; those that nobody has waited for do not count."""
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                fields = open(f"/proc/{name}/stat").read().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[3]) == self.process.pid and fields[0] not in "ZX":
                return False
        return True

    def send(self, method, **parameters):
        self.last_id += 1
        own = self.last_id
        self.socket.send(json.dumps({"id": own, "method": method, "params": parameters}))
        while True:
            message = self.receive()
            if message.get("id") == own:
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]

    def receive(self):
        message = json.loads(self.socket.recv())
        event, told = message.get("method"), message.get("params", {})
        if event == "Page.loadEventFired":
            self.loads += 1
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(f"script: {told['exceptionDetails']}")
        elif event == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.complaints.append(f"console: {told['args']}")
        elif event == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            text = told["entry"]["text"]
            if not any(part in text for part in self.expected):
                self.complaints.append(f"log: {text} {told['entry'].get('url')}")
        elif event == "Network.requestWillBeSent":
            address = told["request"]["url"]
            if not address.startswith((self.base, "data:", "about:")):
                self.complaints.append(f"a request to elsewhere: {address}")
        return message

    def loaded(self, action):
        """Does what loads a page, and waits for it."""
        before = self.loads
        action()
        until = time.monotonic() + WAIT_SECONDS_MAX
        while self.loads == before:
            assert time.monotonic() < until, "no page was loaded"
            self.receive()

    def go(self, path):
        self.loaded(lambda: self.send("Page.navigate", url=self.base + path))

    def run(self, script):
        done = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, f"{script}: {done}"
        return done["result"].get("value")

    def click(self, such):
        """On the first element of the selector."""
        self.loaded(lambda: self.run(f"setTimeout(() => document.querySelector({json.dumps(such)}).click())"))

    def fill(self, such, text):
        self.run(f"document.querySelector({json.dumps(such)}).value = {json.dumps(text)}")

    def text(self):
        return self.run("document.body.innerText")

    def wait_for_text(self, text):
        wait_for(f"{text!r} on the page", lambda: text in self.text())

    def view(self, width, height, dark=False):
        mobile = width < 700
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if mobile else 1, mobile=mobile)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))
