//! The HTTP front as Prometheus and a browser see it.

use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::server::{PASSWORD, Server, free_port};
use crate::tls;

/// Only a failure lasts as long.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Response {
    fn read(stream: &mut impl Read) -> Response {
        let mut bytes = Vec::new();
        // A server may close TLS without saying so.
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8(bytes).expect("UTF-8");
        let (head, body) = text.split_once("\r\n\r\n").expect("a response");
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok()).expect("a status");
        let headers = lines.filter_map(|line| line.split_once(": ")).map(|(name, value)| (name.to_lowercase(), value.into()));
        Response { status, headers: headers.collect(), body: body.to_string() }
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

/// A server with the HTTP front, and its port.
pub fn start(name: &str, options: &[&str]) -> (Server, u16) {
    for _ in 0..5 {
        let port = free_port();
        let option = format!("--http-port={port}");
        let server = Server::start_with(name, &[&[option.as_str()], options].concat());
        // Another test may have got the port.
        let log = std::fs::read_to_string(server.dir.with_extension("log")).unwrap_or_default();
        if !log.contains("there is no console") {
            return (server, port);
        }
    }
    panic!("no port for HTTP");
}

/// A request of the headers that are given, and Host.
fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if headers.iter().all(|(name, _)| *name != "Host") {
        text.push_str("Host: localhost\r\n");
    }
    headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
    format!("{text}Content-Length: {}\r\n\r\n{body}", body.len())
}

pub fn ask(port: u16, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("connects");
    stream.write_all(request(method, path, headers, body).as_bytes()).expect("sends");
    Response::read(&mut stream)
}

pub fn get(port: u16, path: &str, headers: &[(&str, &str)]) -> Response {
    ask(port, "GET", path, headers, "")
}

pub fn get_over_tls(port: u16, path: &str, headers: &[(&str, &str)]) -> Response {
    ask_over_tls(port, "GET", path, headers, "")
}

pub fn ask_over_tls(port: u16, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
    let name = "localhost".try_into().expect("a name");
    let connection = rustls::ClientConnection::new(tls::trusting_config().expect("TLS"), name).expect("TLS");
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("connects");
    let mut stream = rustls::StreamOwned::new(connection, stream);
    stream.write_all(request(method, path, headers, body).as_bytes()).expect("sends");
    Response::read(&mut stream)
}

fn basic(user: &str, password: &str) -> String {
    let mut text = b"Basic ".to_vec();
    vaquita_types::base64::encode(format!("{user}:{password}").as_bytes(), &mut text);
    String::from_utf8(text).expect("base64").replace('\n', "")
}

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0";

/// Samples by name and labels as they are written.
type Samples = HashMap<String, f64>;

/// Reads a text of metrics, and is strict about it.
fn parse(text: &str, is_open: bool) -> Samples {
    let mut samples = Samples::new();
    let mut families: HashSet<&str> = HashSet::new();
    let (mut family, mut kind, mut has_help) = ("", "", false);
    let text = match is_open {
        true => text.strip_suffix("# EOF\n").expect("the end"),
        false => text,
    };
    assert!(text.ends_with('\n'));
    let is_name = |name: &str| {
        let mut chars = name.chars();
        chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_') && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.splitn(3, ' ');
            let (what, name, rest) = (words.next(), words.next().expect("a name"), words.next().expect("more"));
            if name != family {
                assert!(families.insert(name), "{name} comes twice");
                assert!(is_name(name), "{name}");
                (family, kind, has_help) = (name, "", false);
            }
            match what {
                Some("TYPE") => kind = rest,
                Some("HELP") => has_help = !rest.is_empty(),
                Some("UNIT") => assert!(is_open && name.ends_with(&format!("_{rest}")), "{line}"),
                _ => panic!("{line}"),
            }
            continue;
        }
        assert!(has_help && !kind.is_empty(), "{line}: no TYPE and HELP before it");
        let (sample, value) = line.rsplit_once(' ').expect("a value");
        let (name, labels) = match sample.split_once('{') {
            Some((name, labels)) => (name, labels.strip_suffix('}').expect("the end of labels")),
            None => (sample, ""),
        };
        let suffix = name.strip_prefix(family).unwrap_or_else(|| panic!("{line}: not of {family}"));
        let suffixes: &[&str] = match (kind, is_open) {
            ("counter", true) => &["_total"],
            ("info", true) => &["_info"],
            ("histogram", _) => &["_bucket", "_sum", "_count"],
            ("unknown", true) | ("untyped", false) | ("counter", false) | ("gauge", _) => &[""],
            _ => panic!("{line}: {kind}"),
        };
        assert!(suffixes.contains(&suffix), "{line}: {kind} {family}");
        if kind == "counter" && !is_open {
            assert!(family.ends_with("_total"), "{line}");
        }
        check_labels(labels, line);
        let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line}"));
        if matches!(kind, "counter" | "histogram") {
            assert!(value >= 0.0, "{line}");
        }
        assert!(samples.insert(sample.to_string(), value).is_none(), "{line} comes twice");
    }
    check_histograms(&samples);
    samples
}

/// `a="b",c="d"`.
fn check_labels(labels: &str, line: &str) {
    let mut rest = labels;
    let mut names = HashSet::new();
    while !rest.is_empty() {
        let (name, behind) = rest.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
        assert!(names.insert(name), "{line}: {name} comes twice");
        let mut is_escaped = false;
        let end = behind.find(|c| {
            let is_end = c == '"' && !is_escaped;
            assert!(!is_escaped || matches!(c, 'n' | '"' | '\\'), "{line}");
            is_escaped = c == '\\' && !is_escaped;
            is_end
        });
        rest = &behind[end.unwrap_or_else(|| panic!("{line}")) + 1..];
        if let Some(next) = rest.strip_prefix(',') {
            assert!(!next.is_empty(), "{line}");
            rest = next;
        } else {
            assert!(rest.is_empty(), "{line}");
        }
    }
}

/// Buckets grow, and the last has all.
fn check_histograms(samples: &Samples) {
    for (count, all) in samples.iter().filter(|(name, _)| name.contains("_count{kind=")) {
        let (name, labels) = count.split_once("_count{").expect("labels");
        let start = format!("{name}_bucket{{{},le=\"", labels.trim_end_matches('}'));
        let mut buckets: Vec<(f64, f64)> = samples
            .iter()
            .filter_map(|(name, value)| Some((name.strip_prefix(&start)?.trim_end_matches("\"}").parse().ok()?, *value)))
            .collect();
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(buckets.is_sorted_by_key(|(_, below)| *below), "{count}: {buckets:?}");
        assert_eq!(buckets.last(), Some(&(f64::INFINITY, *all)), "{count}");
    }
}

/// What promtool has against a text; nothing if it is not installed.
fn complaints(text: &str) -> String {
    let started = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = started else { return String::new() };
    child.stdin.take().expect("stdin").write_all(text.as_bytes()).expect("writes");
    let output = child.wait_with_output().expect("ends");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

fn fill(server: &Server) {
    let mut client = server.connect();
    for sql in [
        "CREATE DATABASE shop",
        "CREATE TABLE shop.item (id INT PRIMARY KEY, name VARCHAR(20), KEY (name))",
        "INSERT INTO shop.item VALUES (1, 'a'), (2, 'b'), (3, 'c')",
        "SELECT * FROM shop.item WHERE id = 2",
        "SELECT * FROM shop.item WHERE name = 'no \"such\\\\ name'",
        "UPDATE shop.item SET name = 'd' WHERE id = 3",
        "SELECT nothing FROM shop.item",
        "COMMIT",
    ] {
        client.query(sql);
    }
}

#[test]
fn metrics_are_those_of_the_server() {
    let (server, port) = start("metrics", &[]);
    fill(&server);
    let old = get(port, "/metrics", &[]);
    assert_eq!((old.status, old.header("content-type")), (200, "text/plain; version=0.0.4; charset=utf-8"));
    let samples = parse(&old.body, false);
    assert_eq!(complaints(&old.body).lines().filter(|line| !line.contains("mysql_global")).collect::<Vec<_>>(), [""; 0]);
    let open = get(port, "/metrics", &[("Accept", OPEN_METRICS)]);
    assert_eq!((open.status, open.header("content-type")), (200, "application/openmetrics-text; version=1.0.0; charset=utf-8"));
    let of_open = parse(&open.body, true);
    let names = |samples: &Samples| {
        samples.keys().map(|name| name.split('{').next().unwrap_or_default().to_string()).collect::<HashSet<_>>()
    };
    assert_eq!(names(&samples), names(&of_open));
    for (name, value) in [
        ("mysql_up", 1.0),
        ("vaquita_table_rows{schema=\"shop\",table=\"item\"}", 3.0),
        ("mysql_global_status_commands_total{command=\"insert\"}", 1.0),
        ("mysql_global_status_commands_total{command=\"update\"}", 1.0),
        ("mysql_global_variables_max_connections", 12_000.0),
        ("mysql_global_variables_local_infile", 0.0),
        ("vaquita_statement_seconds_count{kind=\"insert\"}", 1.0),
        ("vaquita_statement_errors_total", 1.0),
        ("vaquita_errors_total{number=\"1054\"}", 1.0),
        ("vaquita_deadlocks_total", 0.0),
    ] {
        assert_eq!(samples.get(name), Some(&value), "{name}");
    }
    for name in [
        "mysql_global_status_threads_connected",
        "mysql_global_status_uptime",
        "mysql_global_status_queries",
        "mysql_global_status_bytes_sent",
        "mysql_global_status_buffer_pool_pages{state=\"free\"}",
        "mysql_global_status_handlers_total{handler=\"read_key\"}",
        "mysql_global_status_innodb_row_ops_total{operation=\"inserted\"}",
        "mysql_global_variables_table_open_cache",
        "vaquita_connections{state=\"idle\"}",
        "vaquita_commits_total",
        "vaquita_memory_bytes{owner=\"statements\"}",
        "vaquita_disk_free_bytes",
        "vaquita_storage_files_bytes",
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "process_open_fds",
        "process_start_time_seconds",
    ] {
        assert!(samples.contains_key(name), "{name}");
    }
    // Connections that are gone still count.
    for _ in 0..3 {
        server.connect().query("SELECT 1");
    }
    let later = parse(&get(port, "/metrics", &[]).body, false);
    let selects = "vaquita_statement_seconds_count{kind=\"select\"}";
    assert!(later[selects] >= samples[selects] + 3.0);
    assert!(later["mysql_global_status_connections"] >= samples["mysql_global_status_connections"] + 3.0);
}

/// The dashboard and the alerts name metrics that there are. Those of channels are there with a channel only.
#[test]
fn what_the_dashboard_and_the_alerts_name_is_there() {
    let (server, port) = start("metrics-named", &["--log-bin"]);
    fill(&server);
    let samples = parse(&get(port, "/metrics", &[]).body, false);
    let there: HashSet<&str> = samples.keys().filter_map(|sample| sample.split('{').next()).collect();
    let of_channels = include_str!("../../src/fronts/http/metrics/own.rs");
    let files = [
        include_str!("../../../../docs/manual/src/monitoring/grafana.json"),
        include_str!("../../../../docs/manual/src/monitoring/alerts.yml"),
    ];
    let words = files.iter().flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
    let is_metric = |word: &&str| ["vaquita_", "mysql_", "process_"].iter().any(|beginning| word.starts_with(beginning));
    let named: HashSet<&str> = words.filter(is_metric).collect();
    assert!(named.len() > 30, "{named:?}");
    for name in named {
        let is_of_channel = name.starts_with("vaquita_replication_") && of_channels.contains(&format!("\"{name}\""));
        assert!(there.contains(name) || is_of_channel, "{name}");
    }
}

/// Connections that end while they are counted are counted once, by whoever adds up.
#[test]
fn counters_only_grow_while_clients_come_and_go() {
    const CLIENTS: usize = 3;
    const ROUNDS: usize = 60;
    let (server, port) = start("metrics-grow", &[]);
    let names =
        ["vaquita_statement_seconds_count{kind=\"select\"}", "mysql_global_status_questions", "mysql_global_status_bytes_sent"];
    let look = || {
        let samples = parse(&get(port, "/metrics", &[]).body, false);
        names.map(|name| samples.get(name).copied().unwrap_or(0.0))
    };
    let before = look();
    let (mysql_port, mut seen) = (server.port, vec![before]);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                scope.spawn(move || {
                    for _ in 0..ROUNDS {
                        let mut client = Client::connect(mysql_port, "root", PASSWORD).expect("connects");
                        client.query("SELECT 1");
                    }
                })
            })
            .collect();
        while clients.iter().any(|client| !client.is_finished()) {
            seen.push(look());
        }
    });
    for at in 0..names.len() {
        assert!(seen.is_sorted_by_key(|values| values[at]), "{}: {seen:?}", names[at]);
    }
    let run = (CLIENTS * ROUNDS) as f64;
    let start = Instant::now();
    while look()[0] < before[0] + run && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(look()[0], before[0] + run);
}

#[test]
fn health_is_told_to_everybody() {
    let (server, port) = start("health", &["--http-bind=0.0.0.0"]);
    for path in ["/healthz", "/readyz"] {
        assert_eq!(get(port, path, &[]).status, 200, "{path}");
    }
    let mut dead = TcpStream::connect(("127.0.0.1", port)).expect("connects");
    dead.write_all(b"no HTTP\r\n\r\n").expect("sends");
    assert_eq!(Response::read(&mut dead).status, 400);
    assert_eq!(get_over_tls(port, "/healthz", &[]).status, 200);
    let (_, well, _) = server.terminate();
    assert!(well);
}

#[test]
fn a_port_that_is_taken_stops_no_server() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let option = format!("--http-port={}", taken.local_addr().expect("an address").port());
    let server = Server::start_with("taken", &[&option]);
    let log = std::fs::read_to_string(server.dir.with_extension("log")).expect("the log");
    assert!(log.contains("there is no console"), "{log}");
    assert_eq!(server.connect().query("SELECT 1").rows(), [["1"]]);
    let off = Server::start_with("off", &["--http-port=0"]);
    let log = std::fs::read_to_string(off.dir.with_extension("log")).expect("the log");
    assert!(!log.contains("console"), "{log}");
}

#[test]
fn metrics_need_a_login_where_others_can_connect() {
    let (server, port) = start("metrics-login", &["--http-bind=0.0.0.0"]);
    let mut client = server.connect();
    for sql in [
        "CREATE USER watcher@'%' IDENTIFIED BY 'w:a tch'",
        "GRANT PROCESS ON *.* TO watcher@'%'",
        "CREATE USER nobody@'%' IDENTIFIED BY 'n'",
        "CREATE USER sealed@'%' IDENTIFIED BY 's' REQUIRE SSL",
        "GRANT PROCESS ON *.* TO sealed@'%'",
    ] {
        client.query(sql);
    }
    let status = |user: &str, password: &str| get(port, "/metrics", &[("Authorization", &basic(user, password))]).status;
    let refused = get(port, "/metrics", &[]);
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, "Basic realm=\"Vaquita metrics\", charset=\"UTF-8\""));
    assert_eq!([status("watcher", "w:a tch"), status("watcher", "no"), status("watcher", "")], [200, 401, 401]);
    assert_eq!([status("nobody", "n"), status("never heard of", "n"), status("sealed", "s")], [403, 401, 401]);
    let sealed = [("Authorization", basic("sealed", "s"))];
    let sealed = [(sealed[0].0, sealed[0].1.as_str())];
    assert_eq!(get_over_tls(port, "/metrics", &sealed).status, 200);
    // Wrong passwords are not looked at for ever.
    let mut last = 0;
    for _ in 0..12 {
        last = status("watcher", "no");
    }
    assert_eq!([last, status("watcher", "w:a tch")], [429, 429]);
}

/// A page of somebody else's may have talked a browser on this machine into it, or a proxy passes it on.
#[test]
fn metrics_without_a_login_are_for_this_machine() {
    let (_server, port) = start("metrics-local", &[]);
    for host in ["localhost", "127.0.0.1:8306", "[::1]"] {
        assert_eq!(get(port, "/metrics", &[("Host", host)]).status, 200, "{host}");
    }
    assert_eq!(get(port, "/metrics", &[("Host", "example.org")]).status, 401);
    assert_eq!(get(port, "/metrics", &[("X-Forwarded-For", "192.0.2.1")]).status, 401);
}

/// Until statements run, the server says that it starts.
#[test]
fn a_server_that_starts_says_so() {
    let (server, _) = start("starting", &[]);
    let (_, _, dir) = server.terminate();
    let port = free_port();
    let mut child = Command::new(env!("CARGO_BIN_EXE_vaquita"))
        .args(["serve", "--port", &free_port().to_string(), &format!("--http-port={port}"), "--data-dir"])
        .arg(&dir)
        .stderr(Stdio::null())
        .spawn()
        .expect("vaquita starts");
    let (start, mut seen) = (Instant::now(), Vec::new());
    while seen.last() != Some(&200) && start.elapsed() < PATIENCE {
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
            stream.write_all(request("GET", "/readyz", &[], "").as_bytes()).expect("sends");
            seen.push(Response::read(&mut stream).status);
        }
    }
    child.kill().expect("kill");
    child.wait().expect("wait");
    assert_eq!(seen.last(), Some(&200));
    assert!(seen.iter().all(|status| matches!(status, 200 | 503)), "{seen:?}");
    let _ = std::fs::remove_dir_all(&dir);
    let _ = std::fs::remove_file(dir.with_extension("log"));
}
