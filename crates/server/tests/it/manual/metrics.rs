//! Metrics: the families that `/metrics` of a replica with a table and an error has.

use std::time::{Duration, Instant};

use super::{PageText, code, compare, ok, plain};
use crate::http;
use crate::server::{PASSWORD, Server};

const ABOUT: &str = "\
What `GET /metrics` answers, see [Metrics and health](../metrics.md). Names are those of OpenMetrics; in Prometheus' older text a counter's has `_total` at its end, and that of *info* `_info`. Those of channels are there on a replica only.";
const OWN: &str = "";
const PROCESS: &str = "Under the names that all clients of Prometheus use.";
const MYSQL: &str = "\
Under the names of mysqld_exporter, for dashboards and alerts made for MySQL. Each [status variable](status.md) that is a number is `mysql_global_status_` and its name in small letters, or has a label in one of the families below; each
[system variable](variables.md) that is a number, a switch, or a word for one is `mysql_global_variables_` and its name.";

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0";
/// Each status and system variable has a family of its own, which says so.
const OF_VARIABLES: [&str; 2] = ["A status variable, see", "A system variable, see"];
/// Only a failure lasts as long.
const PATIENCE: Duration = Duration::from_secs(120);
/// Samples of these are there when a replica has caught up. One collection asks for them one after the other, so that it may have one of both.
const LAST_TO_COME: [&str; 2] = ["mysql_slave_status_seconds_behind_master{", "vaquita_replication_behind_seconds{"];

struct Family {
    name: String,
    kind: String,
    help: String,
    labels: Vec<String>,
}

fn families(text: &str) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    for line in text.lines() {
        if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            families.push(Family { name: name.into(), kind: kind.into(), help: String::new(), labels: Vec::new() });
        } else if let Some((_, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            families.last_mut().expect("a type").help = help.replace("\\\"", "\"").replace("\\\\", "\\");
        } else if let (false, Some((_, rest))) = (line.starts_with('#'), line.split_once('{')) {
            // Values of labels may have anything in them; what stands before `="` is a name.
            let labels = rest.split("=\"").map(|part| part.rsplit([',', '"']).next().unwrap_or(part).to_string());
            let mut labels: Vec<String> = labels.filter(|label| label != "le").collect();
            // Behind the last label is the value.
            labels.pop();
            families.last_mut().expect("a type").labels = labels;
        }
    }
    families
}

fn row(family: &Family) -> [String; 4] {
    let labels = family.labels.iter().map(|label| code(label)).collect::<Vec<_>>().join(", ");
    [code(&family.name), family.kind.clone(), labels, plain(&family.help)]
}

#[test]
fn metrics_are_those_of_a_server() {
    let source = Server::start_with("manual-metrics-source", &["--server-id=1"]);
    let mut client = source.connect();
    ok(&mut client, "CREATE DATABASE d");
    ok(&mut client, "CREATE TABLE d.t (a INT PRIMARY KEY)");
    let (replica, port) = http::start("manual-metrics", &["--server-id=2"]);
    let mut client = replica.connect();
    client.query("SELECT no_such_column");
    let source = format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {}, SOURCE_USER = 'root', SOURCE_PASSWORD = '{}', SOURCE_SSL = 1, \
         SOURCE_AUTO_POSITION = 1",
        source.port,
        PASSWORD.replace('\'', "''")
    );
    ok(&mut client, &source);
    ok(&mut client, "START REPLICA");
    let began = Instant::now();
    let all = loop {
        client.query("SELECT * FROM d.t");
        let text = http::get(port, "/metrics", &[("Accept", OPEN_METRICS)]).body;
        if LAST_TO_COME.iter().chain(&["vaquita_table_rows{"]).all(|sample| text.contains(sample)) {
            break families(&text);
        }
        assert!(began.elapsed() < PATIENCE, "no sample of {LAST_TO_COME:?} or of a table: {text}");
        std::thread::sleep(Duration::from_millis(50));
    };
    let mut page = PageText::new("Metrics", ABOUT);
    for (title, about, beginning) in
        [("Vaquita's own", OWN, "vaquita_"), ("The process", PROCESS, "process_"), ("Those of MySQL", MYSQL, "mysql_")]
    {
        page.section(title, about);
        let of_it = all.iter().filter(|family| family.name.starts_with(beginning));
        let single = of_it.filter(|family| !OF_VARIABLES.iter().any(|help| family.help.starts_with(help)));
        page.table(["metric", "type", "labels", "what it is"], single.map(row));
    }
    compare("metrics.md", &page.0);
}

#[test]
fn the_page_of_alerts_has_each_alert() {
    let rules = include_str!("../../../../../docs/manual/src/monitoring/alerts.yml");
    let page = include_str!("../../../../../docs/manual/src/alerts.md");
    let alerts: Vec<&str> = rules.lines().filter_map(|line| line.trim_start().strip_prefix("- alert: ")).collect();
    assert!(alerts.len() > 10, "{alerts:?}");
    let rows: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next()).collect();
    let explained: Vec<&str> = rows.iter().flat_map(|row| row.split(", ")).filter(|name| name.starts_with("Vaquita")).collect();
    assert_eq!(explained, alerts);
}
