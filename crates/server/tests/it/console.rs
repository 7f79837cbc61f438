//! The console as a browser sees it.

use std::time::Duration;

use crate::client::{Answer, Client};
use crate::http::{Response, ask, ask_over_tls, get, get_over_tls, start};
use crate::server::{PASSWORD, Server};

const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");
const ORIGIN: (&str, &str) = ("Origin", "http://localhost");

/// Somebody who is logged in.
pub struct Browser {
    port: u16,
    cookie: String,
}

impl Browser {
    pub fn log_in(port: u16, user: &str, password: &str) -> Browser {
        let response = send_login(port, user, password);
        assert_eq!((response.status, response.header("location")), (303, "/"), "{}", response.body);
        let cookie = response.header("set-cookie").split(';').next().expect("a cookie").to_string();
        Browser { port, cookie }
    }

    fn get(&self, path: &str) -> Response {
        get(self.port, path, &[("Cookie", &self.cookie)])
    }

    /// The body of a page that is there.
    pub fn page(&self, path: &str) -> String {
        let response = self.get(path);
        assert_eq!(response.status, 200, "{path}: {}", response.body);
        assert_eq!(response.header("cache-control"), "no-store", "{path}");
        response.body
    }

    fn token(&self) -> String {
        let page = self.page("/settings");
        let (_, behind) = page.split_once("name=\"token\" value=\"").expect("a token");
        behind.split('"').next().expect("a token").to_string()
    }

    /// A form of a page of ours.
    fn post(&self, path: &str, form: &str) -> Response {
        let body = format!("{form}&token={}", self.token());
        ask(self.port, "POST", path, &[("Cookie", &self.cookie), FORM, ORIGIN], &body)
    }
}

fn send_login(port: u16, user: &str, password: &str) -> Response {
    let body = format!("user={}&password={}", encoded(user), encoded(password));
    ask(port, "POST", "/login", &[FORM, ORIGIN], &body)
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

pub fn run(client: &mut Client, statements: &[&str]) {
    for sql in statements {
        let answer = client.query(sql);
        assert!(!matches!(answer, Answer::Err { .. }), "{sql}: {answer:?}");
    }
}

/// What pages show.
fn shop(name: &str, options: &[&str]) -> (Server, u16, Client) {
    let (server, port) = start(name, options);
    let mut client = server.connect();
    run(
        &mut client,
        &[
            "CREATE DATABASE shop",
            "USE shop",
            "CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(20), KEY by_name (name), KEY longer (name, id))",
            "CREATE TABLE `<b>bold` (id INT PRIMARY KEY)",
            "INSERT INTO item VALUES (1, 'a'), (2, 'b'), (3, 'c')",
            "SELECT name FROM item WHERE id = 2",
            "SELECT '<script>alert(1)</script>' FROM item",
            "CREATE USER ana@'%' IDENTIFIED BY 'an&a=%'",
            "GRANT SELECT ON shop.* TO ana@'%'",
        ],
    );
    (server, port, client)
}

#[test]
fn who_is_not_logged_in_sees_the_login() {
    let (_server, port) = start("console-login", &[]);
    for path in ["/", "/statements", "/sessions", "/tables/a/b", "/settings"] {
        let response = get(port, path, &[]);
        assert_eq!((response.status, response.header("location")), (303, "/login"), "{path}");
        let forged = get(port, path, &[("Cookie", &format!("vaquita-{port}={}", "0".repeat(64)))]);
        assert_eq!((forged.status, forged.header("location")), (303, "/login"), "{path}");
    }
    let login = get(port, "/login", &[]);
    assert!(login.status == 200 && login.body.contains("name=\"password\""));
    let policy = login.header("content-security-policy");
    assert!(policy.contains("default-src 'self'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(!policy.contains("unsafe"));
    assert_eq!([login.header("x-content-type-options"), login.header("x-frame-options")], ["nosniff", "DENY"]);
    // All that a page needs comes from here, and no part of it stands in the page.
    assert!(!login.body.contains("<style") && !login.body.contains("style=") && !login.body.contains("http"), "{}", login.body);
    for (file, kind) in [("/console.css", "text/css"), ("/console.js", "text/javascript"), ("/icon.svg", "image/svg+xml")] {
        let response = get(port, file, &[]);
        assert!(response.status == 200 && response.header("content-type").starts_with(kind), "{file}");
        assert!(response.body.len() < 16_000 && login.body.contains(file), "{file}");
    }
    assert_eq!(get(port, "/nothing", &[]).status, 404);
}

#[test]
fn a_login_and_its_end() {
    let (_server, port, mut client) = shop("console-session", &[]);
    for (user, password) in [("root", "no"), ("root", ""), ("nobody", "x"), ("", "")] {
        let refused = send_login(port, user, password);
        assert!(refused.status == 401 && refused.body.contains("Access denied"), "{user}");
        assert_eq!(refused.header("set-cookie"), "");
    }
    let response = send_login(port, "root", PASSWORD);
    let cookie = response.header("set-cookie");
    for part in [&format!("vaquita-{port}="), "; HttpOnly", "; SameSite=Strict", "; Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Secure"));
    let root = Browser::log_in(port, "root", PASSWORD);
    assert!(root.page("/").contains("Overview"));
    // Logging out ends it here, not only in the browser.
    assert_eq!(root.post("/logout", "").header("location"), "/login");
    assert_eq!(root.get("/").status, 303);
    // So does what becomes of the account.
    for change in [
        "ALTER USER ana@'%' IDENTIFIED BY 'other'",
        "ALTER USER ana@'%' ACCOUNT LOCK",
        "ALTER USER ana@'%' PASSWORD EXPIRE",
        "ALTER USER ana@'%' REQUIRE SSL",
        "DROP USER ana@'%'",
    ] {
        let ana = Browser::log_in(port, "ana", "an&a=%");
        assert_eq!(ana.get("/").status, 200);
        run(&mut client, &[change]);
        assert_eq!(ana.get("/").status, 303, "{change}");
        if change.starts_with("ALTER") && !change.contains("other") {
            assert_eq!(send_login(port, "ana", "an&a=%").status, 401, "{change}");
        }
        run(&mut client, &["DROP USER IF EXISTS ana@'%'", "CREATE USER ana@'%' IDENTIFIED BY 'an&a=%'"]);
    }
}

#[test]
fn passwords_cannot_be_guessed_for_ever() {
    let (_server, port) = start("console-guess", &[]);
    let last: Vec<u16> = (0..12).map(|n| send_login(port, "root", &format!("guess {n}")).status).collect();
    assert_eq!((last[0], last[9], last[10]), (401, 401, 429));
    assert_eq!(send_login(port, "root", PASSWORD).status, 429);
}

#[test]
fn over_tls_the_cookie_is_for_tls() {
    let (server, port) = start("console-tls", &[]);
    run(&mut server.connect(), &["SET GLOBAL require_secure_transport = ON"]);
    // Plain HTTP is told to come back, with its password not yet sent.
    let plain = get(port, "/login?x=1", &[("Host", "db:1")]);
    assert_eq!((plain.status, plain.header("location")), (308, "https://db:1/login?x=1"));
    let body = format!("user=root&password={}", encoded(PASSWORD));
    let response = ask_over_tls(port, "POST", "/login", &[FORM, ("Origin", "https://localhost")], &body);
    assert_eq!(response.status, 303);
    let cookie = response.header("set-cookie");
    assert!(cookie.starts_with(&format!("__Host-vaquita-{port}=")) && cookie.contains("; Secure"), "{cookie}");
    let cookie = cookie.split(';').next().expect("a cookie");
    assert_eq!(get_over_tls(port, "/", &[("Cookie", cookie)]).status, 200);
    assert_eq!(get(port, "/", &[("Cookie", cookie)]).status, 308);
}

#[test]
fn forms_of_others_are_refused() {
    let (_server, port, mut client) = shop("console-forms", &[]);
    let root = Browser::log_in(port, "root", PASSWORD);
    let id = client.query("SELECT CONNECTION_ID()").rows()[0][0].clone();
    let (form, cookie) = (format!("id={id}&what=connection"), ("Cookie", root.cookie.as_str()));
    let with_token = format!("{form}&token={}", root.token());
    for (headers, body) in [
        (vec![cookie, FORM, ORIGIN], form.clone()),
        (vec![cookie, FORM, ORIGIN], format!("{form}&token=")),
        (vec![cookie, FORM, ORIGIN], format!("{form}&token={}", Browser::log_in(port, "root", PASSWORD).token())),
        (vec![cookie, FORM, ("Origin", "http://example.org")], with_token.clone()),
        (vec![cookie, FORM, ("Origin", "null")], with_token.clone()),
        (vec![cookie, FORM, ("Sec-Fetch-Site", "cross-site")], with_token.clone()),
        (vec![cookie, ("Content-Type", "text/plain"), ORIGIN], with_token.clone()),
    ] {
        for path in ["/sessions/kill", "/logout", "/statements/abc"] {
            let response = ask(port, "POST", path, &headers, &body);
            assert_eq!(response.status, 403, "{path} {headers:?} {body}");
        }
    }
    let login = format!("user=root&password={}", encoded(PASSWORD));
    assert_eq!(ask(port, "POST", "/login", &[FORM, ("Origin", "http://example.org")], &login).status, 403);
    assert_eq!(ask(port, "POST", "/sessions/kill", &[FORM, ORIGIN], &with_token).header("location"), "/login");
    assert_eq!(ask(port, "POST", "/login", &[FORM, ORIGIN], &"x".repeat(100_000)).status, 413);
    // A GET does nothing, whatever it says.
    assert_eq!(root.get(&format!("/sessions/kill?{with_token}")).status, 405);
    assert_eq!(client.query("SELECT 1").rows(), [["1"]]);
}

#[test]
fn pages_show_what_they_are_for() {
    let (_server, port, mut client) = shop("console-pages", &["--log-bin"]);
    let root = Browser::log_in(port, "root", PASSWORD);
    let mut waiting = Client::connect(_server.port, "root", PASSWORD).expect("connects");
    run(&mut client, &["BEGIN", "UPDATE item SET name = 'z' WHERE id = 1"]);
    let holder = client.query("SELECT CONNECTION_ID()").rows()[0][0].clone();
    let waiter = waiting.query("SELECT CONNECTION_ID()").rows()[0][0].clone();
    let waits = std::thread::spawn(move || waiting.query("UPDATE shop.item SET name = 'y' WHERE id = 1"));
    let start = std::time::Instant::now();
    while !root.page("/locks").contains("UPDATE shop.item SET name") && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(50));
    }
    // The charts, and some tiles, come with the first sample.
    let start = std::time::Instant::now();
    while !root.page("/").contains("<polyline") && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(200));
    }
    for (path, texts) in [
        ("/", vec!["Statements/s", "Connections", "Uptime", "Memory"]),
        ("/statements", vec!["SELECT NAME FROM", "shop", "aria-sort"]),
        ("/statements?sort=count&q=item", vec!["by count", "item"]),
        ("/statements?sort=nonsense&q='\\", vec!["There are none."]),
        ("/sessions", vec!["SHOW FULL PROCESSLIST", holder.as_str(), "End…", "a lock on"]),
        (
            "/locks",
            vec!["UPDATE shop.item SET name", holder.as_str(), waiter.as_str(), "item", "The last deadlock", "class=\"edge\""],
        ),
        ("/tables", vec!["item", "by_name", "Indexes that another has already", "longer", "&lt;b&gt;bold"]),
        ("/tables/shop/item", vec!["CREATE TABLE `item`", "by_name", "PRIMARY"]),
        ("/tables/shop/%3Cb%3Ebold", vec!["CREATE TABLE `&lt;b&gt;bold`"]),
        ("/tables/shop/nothing", vec!["Error 1146"]),
        ("/storage", vec!["Block cache", "Space amplification", "found in memory", "Levels", "SHOW ENGINE ROCKSDB STATUS"]),
        ("/log", vec!["Commits", "binlog.000001", "sync_binlog", "ready for connections"]),
        ("/work", vec!["Compactions", "Changes of schemas", "Statements that last"]),
        ("/replication", vec!["binlog.000001", "This server follows none."]),
        ("/backups", vec!["The server takes none by itself.", "vaquita_backup_interval", "86400"]),
        ("/tuning", vec!["vaquita_tuning", "write_buffer", "Nothing yet.", "goal_memory_bytes"]),
        ("/settings", vec!["max_connections", "12000", "Address to listen on."]),
        ("/settings?q=max_conn", vec!["max_connections"]),
        ("/settings?changed=1", vec!["datadir"]),
    ] {
        let page = root.page(path);
        for text in texts {
            assert!(page.contains(text), "{path}: {text} is not in {page}");
        }
        assert!(!page.contains("<script>alert") && !page.contains("<b>bold") && !page.contains("style="), "{path}");
        if !path.contains("nothing") {
            assert!(!page.contains("class=\"error\""), "{path}: {page}");
        }
    }
    assert!(!root.page("/settings?changed=1").contains("<b>sort_buffer_size</b>"));
    assert!(root.page("/").contains("Memory by owner"));
    run(&mut client, &["ROLLBACK"]);
    assert!(matches!(waits.join().expect("ends"), Answer::Ok { .. }));
}

#[test]
fn a_statement_is_explained_and_runs_without_writing() {
    let (_server, port, mut client) = shop("console-explain", &[]);
    run(
        &mut client,
        &["CREATE FUNCTION writes() RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN DELETE FROM shop.item; RETURN 1; END"],
    );
    run(&mut client, &["SELECT writes()", "INSERT INTO item VALUES (1, 'a')"]);
    let root = Browser::log_in(port, "root", PASSWORD);
    let mut path_of = |such: &str| {
        let sql = format!(
            "SELECT digest FROM performance_schema.events_statements_summary_by_digest WHERE schema_name = 'shop' AND query_sample_text LIKE '{such}'"
        );
        format!("/statements/{}?schema=shop", client.query(&sql).rows()[0][0])
    };
    let read = path_of("SELECT name FROM item%");
    let page = root.page(&read);
    assert!(page.contains("SELECT name FROM item WHERE id = 2") && !page.contains("Its plan"));
    assert!(root.page(&format!("{read}&explain=1")).contains("-&gt; "));
    let analyzed = root.post(&read.replace("?schema=shop", ""), "schema=shop");
    assert!(analyzed.status == 200 && analyzed.body.contains("actual time="), "{}", analyzed.body);
    let written = root.post(&path_of("SELECT writes()%").replace("?schema=shop", ""), "schema=shop");
    assert!(written.body.contains("Error 1792"), "{}", written.body);
    let insert = path_of("INSERT INTO item VALUES (1%");
    assert!(root.page(&format!("{insert}&explain=1")).contains("Insert"), "EXPLAIN of a change");
    let _ = root.post(&insert.replace("?schema=shop", ""), "schema=shop");
    assert_eq!(client.query("SELECT COUNT(*) FROM item").rows(), [["1"]]);
    assert!(root.page("/statements/0000").contains("not known any more"));
}

#[test]
fn an_account_sees_and_does_what_it_may() {
    let (server, port, mut client) = shop("console-account", &[]);
    let ana = Browser::log_in(port, "ana", "an&a=%");
    let mut own = Client::connect(server.port, "ana", "an&a=%").expect("connects");
    let (own_id, id) =
        (own.query("SELECT CONNECTION_ID()").rows()[0][0].clone(), client.query("SELECT CONNECTION_ID()").rows()[0][0].clone());
    let sessions = ana.page("/sessions");
    assert!(
        sessions.contains(&format!("/sessions/{own_id}\"")) && !sessions.contains(&format!("/sessions/{id}\"")),
        "{sessions}"
    );
    assert!(!sessions.contains("event_scheduler"));
    let overview = ana.page("/");
    assert!(overview.contains("need the PROCESS privilege") && !overview.contains("<svg"), "{overview}");
    assert!(ana.page("/locks").contains("Error 1"));
    assert!(ana.page("/statements").contains("Error 1142") && ana.page("/storage").contains("Error 1227"));
    assert!(ana.page("/tables").contains("item") && ana.page("/tables/shop/item").contains("CREATE TABLE `item`"));
    assert!(ana.page("/tables/mysql/user").contains("Error 1142"));
    // It ends its own connections, and nobody else's.
    let refused = ana.post("/sessions/kill", &format!("id={id}&what=connection"));
    assert!(refused.status == 200 && refused.body.contains("Error 1095"), "{}", refused.body);
    assert_eq!(client.query("SELECT 1").rows(), [["1"]]);
    assert!(ana.page(&format!("/sessions/{own_id}")).contains("KILL QUERY"));
    assert!(ana.page(&format!("/sessions/{id}")).contains("no such connection"));
    assert_eq!(ana.post("/sessions/kill", &format!("id={own_id}&what=connection")).status, 303);
    assert!(ana.post("/sessions/kill", "id=1%20OR%201&what=connection").body.contains("Error 1094"));
    let root = Browser::log_in(port, "root", PASSWORD);
    let start = std::time::Instant::now();
    while root.page("/sessions").contains(&format!("/sessions/{own_id}\"")) && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!root.page("/sessions").contains(&format!("/sessions/{own_id}\"")));
    // With PROCESS it sees the others, from the next page on.
    run(&mut client, &["GRANT PROCESS ON *.* TO ana@'%'"]);
    assert!(ana.page("/sessions").contains(&format!("/sessions/{id}\"")));
}
