//! What the server derives from the machine and its goals, and who may see and change it.

use std::time::{Duration, Instant};

use crate::client::{Answer, Client};
use crate::server::Server;

const MIB: u64 = 1 << 20;

fn ok(client: &mut Client, statement: &str) {
    let answer = client.query(statement);
    assert!(matches!(answer, Answer::Ok { .. }), "{statement}: {answer:?}");
}

fn value_of(client: &mut Client, name: &str) -> u64 {
    let rows = client.query(&format!("SELECT value FROM vaquita.tuning WHERE name = '{name}'")).rows();
    rows.first().and_then(|row| row[0].trim().parse().ok()).unwrap_or(0)
}

/// The tuner looks at its goals each second.
fn wait_for(client: &mut Client, name: &str, wanted: u64) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while value_of(client, name) != wanted {
        assert!(Instant::now() < deadline, "{name} is {}, not {wanted}", value_of(client, name));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn settings_follow_from_the_goals() {
    let server = Server::start("tuning");
    let mut client = server.connect();
    ok(&mut client, "SET PERSIST vaquita_goal_memory = 402653184");
    // 384 MiB are three quarters of 512.
    wait_for(&mut client, "caches", 512 * MIB / 5 * 2);
    wait_for(&mut client, "write_buffer", 16 * MIB);
    assert_eq!(value_of(&mut client, "level0_files"), 4);
    let facts =
        client.query("SELECT name, value FROM vaquita.machine WHERE name IN ('cores', 'goal_memory_bytes') ORDER BY name").rows();
    assert_eq!(facts[1][1].trim(), "402653184", "{facts:?}");
    // The start takes the goal, too.
    let server = Server::start_in(server.terminate().2);
    let mut client = server.connect();
    wait_for(&mut client, "caches", 512 * MIB / 5 * 2);
    ok(&mut client, "SET PERSIST vaquita_goal_memory = DEFAULT");
    ok(&mut client, "SET GLOBAL vaquita_goal_background_cpu = 50, vaquita_tuning = ADVISE");
    let rows = client.query("SELECT @@vaquita_tuning, @@vaquita_goal_memory").rows();
    assert_eq!(rows[0].iter().map(|cell| cell.trim()).collect::<Vec<_>>(), ["ADVISE", "0"]);
    let Answer::Err { code, .. } = client.query("SET GLOBAL vaquita_tuning = 'PERHAPS'") else {
        panic!("a wrong value is taken")
    };
    assert_eq!(code, 1231);
}

#[test]
fn its_schema_is_there_and_in_no_list() {
    let server = Server::start("tuning-schema");
    let mut client = server.connect();
    for listing in [
        "SHOW DATABASES",
        "SELECT schema_name FROM information_schema.schemata",
        "SELECT DISTINCT table_schema FROM information_schema.tables",
    ] {
        let rows = client.query(listing).rows();
        assert!(rows.iter().all(|row| row[0].trim() != "vaquita"), "{listing}");
    }
    let names: Vec<String> =
        client.query("SHOW TABLES FROM vaquita").rows().iter().map(|row| row[0].trim().to_string()).collect();
    assert_eq!(names, ["deadlocks", "machine", "statement_plans", "tuning", "tuning_log"]);
    let mut code = |statement: &str| match client.query(statement) {
        Answer::Err { code, .. } => code,
        _ => 0,
    };
    assert_eq!(code("DROP TABLE vaquita.tuning_log"), code("DROP TABLE performance_schema.threads"));
    assert_eq!(code("CREATE DATABASE vaquita"), code("CREATE DATABASE mysql"));
    ok(&mut client, "CREATE USER eve");
    let mut eve = Client::connect(server.port, "eve", "").expect("eve connects");
    for statement in ["SELECT * FROM vaquita.tuning_log", "SET GLOBAL vaquita_tuning = OFF"] {
        let Answer::Err { code, .. } = eve.query(statement) else { panic!("{statement} is not refused") };
        assert!([1142, 1227].contains(&code), "{statement}: {code}");
    }
    ok(&mut client, "GRANT SELECT ON vaquita.* TO eve");
    assert!(matches!(eve.query("SELECT * FROM vaquita.tuning_log"), Answer::Rows { .. }));
}
