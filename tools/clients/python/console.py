"""The console in headless Chromium: every page under load, each action, at the width of a desk and of a phone, in the light and in the dark.

No page may complain (scripts, the Content-Security-Policy), ask anything of elsewhere, or be wider than the window. With CONSOLE_SCREENSHOTS=folder
pictures of the pages are left there, which is how those in docs/console are made.
"""

import os
import sys
import threading

import pymysql

from browser import Page
from own_server import PASSWORD, OwnServer, wait_for

TLS = os.environ["DB_TLS"] == "1"
PICTURES = os.environ.get("CONSOLE_SCREENSHOTS")
DESK, PHONE = (1280, 900), (390, 844)
PAGES = {
    "/": "Uptime",
    "/?last=hour": "1 hour",
    "/?last=day": "1 day",
    "/?last=weeks": "2 weeks",
    "/statements": "share of time",
    "/sessions": "waits for",
    "/locks": "The last deadlocks",
    "/tables": "orders",
    "/tables/shop/orders": "CREATE TABLE",
    "/storage": "Levels",
    "/log": "The error log",
    "/work": "Changes of schemas",
    "/replication": "Binary log",
    "/backups": "Settings",
    "/settings": "max_connections",
}
WRONG_PASSWORDS_MAX = 10
LIGHT, DARK = "rgb(244, 246, 248)", "rgb(17, 22, 28)"


class Load:
    """A small shop: some threads that read and write until it is left."""

    def __init__(self, server):
        self.server = server
        self.stops = threading.Event()
        self.failed = []
        cursor = server.connect().cursor()
        cursor.execute("CREATE DATABASE shop")
        cursor.execute("""CREATE TABLE shop.orders (id INT PRIMARY KEY AUTO_INCREMENT, customer INT NOT NULL, state VARCHAR(10), total DECIMAL(10,2),
                          KEY by_customer (customer), KEY by_customer_again (customer, state), KEY never_used (total))""")
        cursor.execute("CREATE TABLE shop.stock (id INT PRIMARY KEY, n INT NOT NULL)")
        cursor.execute("INSERT INTO shop.stock VALUES (1, 100), (2, 100), (3, 100)")
        rows = ",".join(f"({n % 97}, 'new', {n}.50)" for n in range(3000))
        cursor.execute(f"INSERT INTO shop.orders (customer, state, total) VALUES {rows}")
        self.threads = [threading.Thread(target=self.work, args=(n,)) for n in range(3)]

    def work(self, n):
        try:
            cursor = self.server.connect(database="shop").cursor()
            while not self.stops.wait(0.002):
                cursor.execute(f"SELECT total, state FROM orders WHERE id = {n * 37 % 3000 + 1}")
                cursor.execute(f"SELECT COUNT(*), SUM(total) FROM orders WHERE customer = {n % 97}")
                cursor.execute(f"INSERT INTO orders (customer, state, total) VALUES ({n % 97}, 'new', 1.25)")
                cursor.execute(f"UPDATE orders SET state = 'paid' WHERE id = {n * 91 % 3000 + 1}")
                n += 1
        except pymysql.Error as error:
            self.failed.append(error)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stops.set()
        for thread in self.threads:
            thread.join()


def in_thread(connection, statement):
    """Runs a statement that waits; its outcome is the thread's `outcome`."""
    def run():
        try:
            connection.cursor().execute(statement)
            thread.outcome = None
        except pymysql.Error as error:
            thread.outcome = error.args[0]
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def waits(server, count):
    cursor = server.connect().cursor()
    cursor.execute("SELECT COUNT(*) FROM performance_schema.data_locks WHERE lock_status = 'WAITING'")
    return cursor.fetchone()[0] >= count


def deadlock(server):
    """Two that change the same rows in another order."""
    one, other = server.connect(autocommit=False), server.connect(autocommit=False)
    one.cursor().execute("UPDATE shop.stock SET n = n - 1 WHERE id = 1")
    other.cursor().execute("UPDATE shop.stock SET n = n - 1 WHERE id = 2")
    waiting = in_thread(one, "UPDATE shop.stock SET n = n - 5 WHERE id = 2")
    wait_for("wait for a lock", lambda: waits(server, 1))
    try:
        other.cursor().execute("UPDATE shop.stock SET n = n - 7 WHERE id = 1")
        failed = None
    except pymysql.Error as error:
        failed = error.args[0]
    other.rollback()
    waiting.join(30)
    one.rollback()
    assert 1213 in (failed, waiting.outcome), (failed, waiting.outcome)


def log_in(page, user, password):
    page.go("/login")
    page.fill("[name=user]", user)
    page.fill("[name=password]", password)
    page.click("button.main")


def is_narrow(page, what):
    widths = page.run("[document.documentElement.scrollWidth, innerWidth]")
    assert widths[0] <= widths[1], f"{what} is {widths[0]} pixels wide in a window of {widths[1]}"


def picture(page, name):
    if PICTURES:
        page.screenshot(os.path.join(PICTURES, f"{name}.png"))


def check_login(page):
    """Wrong passwords, and that one is not heard any more after some."""
    page.expected = ["401", "429"]
    for n in range(2):
        log_in(page, "root", "wrong")
        assert "Access denied" in page.text()
    picture(page, "login")
    log_in(page, "root", PASSWORD)
    assert "Overview" in page.text()
    page.click("form.who button:not(.theme)")
    assert "MySQL account" in page.text()
    page.go("/sessions")
    assert "MySQL account" in page.text(), "who has logged out is logged out"
    page.expected = []
    log_in(page, "root", PASSWORD)


def check_pages(page):
    for (width, height), dark, name in [(DESK, False, "desk"), (PHONE, True, "phone")]:
        page.view(width, height, dark)
        for path, text in PAGES.items():
            page.go(path)
            assert text in page.text(), f"{path}: {text!r} is not in {page.text()}"
            assert not page.run("Boolean(document.querySelector('.error'))"), f"{path}: {page.text()}"
            is_narrow(page, f"{path} on a {name}")
            picture(page, f"{name}-{path.strip('/').replace('/', '-').replace('?last=', '') or 'overview'}")
        back = page.run("getComputedStyle(document.body).backgroundColor")
        assert back == (DARK if dark else LIGHT), back
    page.view(*DESK)


def check_refresh(page):
    """The overview is fetched again, and its charts move."""
    page.go("/")
    wait_for("chart", lambda: page.run("document.querySelectorAll('svg polyline, svg polygon').length") > 5)
    before = page.run("document.querySelector('.charts').innerHTML")
    wait_for("other chart", lambda: page.run("document.querySelector('.charts').innerHTML") != before)
    assert not page.run("document.body.classList.contains('stale')")
    page.go("/settings")
    page.run("(() => { const f = document.querySelector('input[type=search]'); f.value = 'max_conn'; f.dispatchEvent(new Event('input')); })()")
    shown = page.run("[...document.querySelectorAll('#variables tbody tr')].filter((row) => !row.hidden).length")
    assert 0 < shown < 10, shown


def check_theme(page):
    """What one chooses holds against what the system has, and on the next page."""
    back = "getComputedStyle(document.body).backgroundColor"
    page.view(*DESK, dark=False)
    page.go("/log")
    assert page.run(back) == LIGHT
    page.run("document.querySelector('button.theme').click()")
    assert page.run(back) == DARK
    page.go("/tables")
    assert page.run(back) == DARK
    page.run("document.querySelector('button.theme').click()")
    assert page.run(back) == LIGHT
    page.run("localStorage.removeItem('theme')")


def check_statement(page, load):
    """A digest, its plans, EXPLAIN and EXPLAIN ANALYZE; a plan that changes."""
    page.go("/statements?q=SUM&sort=count")
    page.click("td.sql a")
    assert "by_customer" in page.text() and "Plans by which they ran" in page.text(), page.text()
    page.click(".buttons form[method=get] button")
    assert "Its plan" in page.text() and "-> " in page.text()
    page.click(".buttons form[method=post] button")
    assert "actual time=" in page.text(), page.text()
    picture(page, "desk-digest")
    address = page.run("location.pathname + '?schema=shop'")
    cursor = load.server.connect(database="shop").cursor()
    cursor.execute("ALTER TABLE orders DROP KEY by_customer")
    cursor.execute("SELECT COUNT(*), SUM(total) FROM orders WHERE customer = 5")

    def plans():
        page.go(address)
        return page.run("[...document.querySelectorAll('pre.plan')].map((one) => one.textContent)")

    wait_for("second plan", lambda: len(plans()) == 2)
    assert any("by_customer_again" in plan for plan in plans()), plans()
    page.run("document.querySelector('pre.plan').closest('section').scrollIntoView()")
    picture(page, "desk-plans")
    cursor.execute("ALTER TABLE orders ADD KEY by_customer (customer)")


def check_locks(page, server):
    """Who waits for whom as a graph, the deadlock before, and KILL."""
    deadlock(server)
    holder = server.connect(autocommit=False)
    holder.cursor().execute("UPDATE shop.stock SET n = n - 1 WHERE id = 3")
    second, third = server.connect(), server.connect()
    waiting = [in_thread(one, "UPDATE shop.stock SET n = n + 1 WHERE id = 3") for one in (second, third)]
    wait_for("waits for a lock", lambda: waits(server, 2))
    altering = server.connect()
    holder.cursor().execute("SELECT COUNT(*) FROM shop.orders")
    changes = in_thread(altering, "ALTER TABLE shop.stock ADD COLUMN note VARCHAR(20)")
    page.go("/locks")
    page.wait_for_text(f"Connection {third.thread_id()}")
    drawn = page.run("[document.querySelectorAll('.graph .edge').length, document.querySelectorAll('.graph .victim').length]")
    assert drawn[0] >= 4 and drawn[1] == 1, drawn
    is_narrow(page, "/locks with waits")
    picture(page, "desk-locks")
    page.view(*PHONE, True)
    page.go("/locks")
    is_narrow(page, "/locks with waits on a phone")
    picture(page, "phone-locks")
    page.view(*DESK)
    page.go("/work")
    page.wait_for_text("ALTER TABLE shop.stock")
    picture(page, "desk-work")
    # It asks before it ends anything.
    page.go(f"/sessions/{second.thread_id()}")
    picture(page, "desk-kill")
    page.click("button[value=query]")
    assert page.run("location.pathname") == "/sessions"
    waiting[0].join(30)
    assert waiting[0].outcome == 1317, waiting[0].outcome
    page.go(f"/sessions/{third.thread_id()}")
    page.click("button[value=connection]")
    waiting[1].join(30)
    assert waiting[1].outcome in (2013, 1317), waiting[1].outcome
    holder.rollback()
    changes.join(30)
    assert changes.outcome is None, changes.outcome


def picture_of_some_time(page):
    """The overview when there is something to see on its charts."""
    page.view(*DESK)
    page.go("/")
    picture(page, "overview")
    page.view(*PHONE, True)
    page.go("/")
    picture(page, "phone")
    page.view(*DESK)


def check_limit(page):
    """After some wrong passwords also the right one is not heard."""
    page.click("form.who button:not(.theme)")
    page.expected = ["401", "429"]
    for n in range(WRONG_PASSWORDS_MAX):
        log_in(page, "root", f"wrong {n}")
    log_in(page, "root", PASSWORD)
    assert "Too many wrong passwords" in page.text(), page.text()


def main():
    with OwnServer("--log-bin") as server, Load(server) as load:
        server.connect().cursor().execute("SET PERSIST sort_buffer_size = 524288")
        page = Page(f"{'https' if TLS else 'http'}://127.0.0.1:{server.http}")
        try:
            page.view(*DESK)
            check_login(page)
            check_refresh(page)
            check_pages(page)
            check_theme(page)
            check_statement(page, load)
            check_locks(page, server)
            picture_of_some_time(page)
            check_limit(page)
        finally:
            page.close()
        assert not page.complaints, page.complaints
        assert not load.failed, load.failed


sys.exit(main())
