//! The protocol over real sockets: logins, malformed packets, limits.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::client::{Answer, Client};
use crate::server::Server;

#[test]
fn wrong_passwords_are_refused_and_right_ones_accepted() {
    let server = Server::start("login");
    for password in ["", "wrong", "it's a tesT"] {
        let error = Client::connect(server.port, "root", password).err().expect("refused").to_string();
        assert!(error.contains("1045"), "{error}");
    }
    let error = Client::connect(server.port, "nobody", "x").err().expect("refused").to_string();
    assert!(error.contains("1045"), "{error}");
    assert_eq!(server.connect().query("SELECT 1").rows(), [["1"]]);
}

/// Garbage ends that connection and nothing else.
#[test]
fn garbage_hurts_nobody_else() {
    let server = Server::start("garbage");
    let mut healthy = server.connect();
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..200 {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("connect");
        stream.set_read_timeout(Some(Duration::from_millis(50))).expect("timeout");
        let mut greeting = [0; 256];
        let _ = stream.read(&mut greeting);
        let mut bytes = Vec::new();
        for _ in 0..(seed % 300) {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            bytes.push((seed >> 33) as u8);
        }
        seed = seed.wrapping_add(1);
        let _ = stream.write_all(&bytes);
    }
    assert_eq!(healthy.query("SELECT 1").rows(), [["1"]]);
}

#[test]
fn out_of_order_and_unknown_commands() {
    let server = Server::start("order");
    let mut client = server.connect();
    client.command(&[0x77]).expect("send");
    assert!(matches!(client.answer().expect("answer"), Answer::Err { code: 1047, .. }));
    assert_eq!(client.query("SELECT 1").rows(), [["1"]]);
    client.send_raw(&[1, 0, 0, 9, 14]).expect("send");
    let closed = client.receive().and_then(|_| client.receive());
    assert!(closed.is_err());
}

/// A packet of more than 16 MiB in both directions.
#[test]
fn long_packets() {
    let server = Server::start("long");
    let mut client = server.connect();
    let text = "x".repeat(20 << 20);
    let rows = client.query(&format!("SELECT LENGTH('{text}'), '{text}'")).rows();
    assert_eq!(rows[0][0], (20 << 20).to_string());
    assert!(rows[0][1] == text);
}

#[test]
fn several_statements_in_one_packet_stop_at_the_first_error() {
    let server = Server::start("multi");
    let mut client = server.connect();
    client.command(b"\x03SELECT 1; SELECT nothing; SELECT 3").expect("send");
    assert_eq!(client.answer().expect("first").rows(), [["1"]]);
    assert!(matches!(client.answer().expect("second"), Answer::Err { code: 1054, .. }));
    assert_eq!(client.query("SELECT 4").rows(), [["4"]]);
}

/// Sixty-four clients increment one row in autocommit: no error, no lost update.
#[test]
fn hot_counter() {
    let server = Server::start("counter");
    let mut client = server.connect();
    client.query("CREATE DATABASE d");
    client.query("CREATE TABLE d.c (id INT PRIMARY KEY, n INT NOT NULL)");
    client.query("INSERT INTO d.c VALUES (1, 0)");
    let port = server.port;
    let start = Instant::now();
    let threads: Vec<_> = (0..64)
        .map(|_| {
            std::thread::spawn(move || {
                let mut client = Client::connect(port, "root", crate::server::PASSWORD).expect("connect");
                for _ in 0..20 {
                    let answer = client.query("UPDATE d.c SET n = n + 1 WHERE id = 1");
                    assert!(matches!(answer, Answer::Ok { affected: 1, .. }), "{answer:?}");
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("client");
    }
    assert_eq!(client.query("SELECT n FROM d.c").rows(), [["1280"]], "after {:?}", start.elapsed());
}
