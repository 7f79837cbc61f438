//! `vaquita log`: binary logs recorded from MySQL and MariaDB, from files and from a server that speaks just enough to send them.
//!
//! What it prints of each is in `tests/golden/print_log`; `VAQUITA_RECORD=own cargo test -p vaquita-server --test it print_log` writes it anew. What the events
//! and rows mean is tested where they are decoded.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread::JoinHandle;

use vaquita_wire::binlog::{EventReader, event_type};
use vaquita_wire::handshake::{Greeting, NONCE_BYTES, put_greeting};
use vaquita_wire::packet::{PacketReader, PacketWriter};
use vaquita_wire::result::{OkPacket, parameter_definition, put_column_definition, put_eof, put_err, put_ok};

const RECORDINGS: [&str; 7] = [
    "mysql-control",
    "mysql-numbers",
    "mysql-images",
    "mysql-compressed",
    "mysql-statements",
    "mariadb-control",
    "mariadb-types",
];

fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../wire/src/golden/binlog/{name}.binlog"))
}

/// In the directory of the logs, so that no other path is printed.
fn log(arguments: &[&str]) -> Output {
    let dir = recorded("x");
    Command::new(env!("CARGO_BIN_EXE_vaquita"))
        .current_dir(dir.parent().expect("a directory"))
        .env_remove("MYSQL_PWD")
        .arg("log")
        .args(arguments)
        .output()
        .expect("vaquita runs")
}

fn printed(arguments: &[&str]) -> String {
    let output = log(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn logs_are_printed() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/print_log");
    for name in RECORDINGS {
        let text = printed(&[&format!("{name}.binlog")]);
        let golden = dir.join(format!("{name}.txt"));
        if std::env::var_os("VAQUITA_RECORD").is_some() {
            std::fs::write(&golden, &text).expect("written");
        }
        let expected = std::fs::read_to_string(&golden).expect("recorded");
        for (nth, (line, expected)) in text.lines().zip(expected.lines()).enumerate() {
            assert_eq!(line, expected, "{name}, line {}", nth + 1);
        }
        assert_eq!(text.len(), expected.len(), "{name}");
    }
}

#[test]
fn what_is_not_wanted_is_not_printed() {
    let all = printed(&["mysql-control.binlog"]);
    let source = all.lines().find_map(|line| line.strip_prefix("SET @@SESSION.GTID_NEXT= '")?.split(':').next()).expect("a GTID");
    let transactions = |text: &str| text.matches("SET @@SESSION.GTID_NEXT=").count();
    let some = printed(&["mysql-control.binlog", "--include-gtids", &format!("{source}:2-4:tag_1:1")]);
    assert_eq!(transactions(&some), 4);
    assert!(some.contains("'tagged'") && !some.contains("DROP TABLE"));
    let others = printed(&["mysql-control.binlog", "--exclude-gtids", &format!("{source}:2-4:tag_1:1")]);
    assert_eq!(transactions(&some) + transactions(&others), transactions(&all));
    let last = positions("mysql-control", event_type::GTID).pop().expect("a transaction").to_string();
    let end = printed(&["mysql-control.binlog", "--start-position", &last]);
    assert!(all.ends_with(&end.lines().skip(1).map(|line| format!("{line}\n")).collect::<String>()));
    let middle = printed(&["mysql-control.binlog", "mysql-numbers.binlog", "--start-position", &last, "--stop-position", "158"]);
    assert!(middle.starts_with(&end) && middle.len() > end.len() && !middle.contains("CREATE TABLE ints"));
    assert!(!log(&["mysql-control.binlog", "--include-gtids", "x"]).status.success());
}

#[test]
fn damage_is_named_by_file_and_position() {
    let dir = tempdir("damage");
    let whole = std::fs::read(recorded("mysql-numbers")).expect("recorded");
    let fails = |name: &str, bytes: &[u8], message: &str| {
        let file = dir.join(name);
        std::fs::write(&file, bytes).expect("written");
        let output = log(&[file.to_str().expect("UTF-8")]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains(&format!("{} {message}", file.display())), "{stderr}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    // The second description of a table.
    let at = positions("mysql-numbers", event_type::TABLE_MAP)[1];
    let byte = at as usize + 30;
    let mut changed = whole.clone();
    changed[byte] ^= 1;
    let shown = fails("changed", &changed, &format!("at {at}: the checksum is "));
    assert!(
        shown.contains("INSERT INTO `binlog_golden`.`ints`") && !shown.contains("`decimals`"),
        "what is in front of it is shown"
    );
    fails("cut", &whole[..byte], &format!("at {at}: the log ends inside an event"));
    fails("header", &[&whole[..at as usize], &[0; 40]].concat(), &format!("at {at}: malformed header of an event"));
    fails("text", b"no log", "at 0: this is no binary log");
    fails("empty", b"", "at 0: this is no binary log");
    fails("encrypted", b"\xfdbinxyz", "at 0: an encrypted binary log cannot be read");
    std::fs::remove_dir_all(dir).expect("removed");
}

/// Where the events of a type begin.
fn positions(name: &str, code: u8) -> Vec<u64> {
    let mut reader = EventReader::of_file();
    reader.feed(&std::fs::read(recorded(name)).expect("recorded"));
    let mut found = Vec::new();
    while let Some(raw) = reader.next_event().expect("a log") {
        if raw.header.event_type == code {
            found.push(raw.position);
        }
    }
    found
}

fn tempdir(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("vaquita-print-log-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("created");
    dir
}

/// A server that lets root in without a password, and sends one log.
struct Source {
    stream: TcpStream,
    reader: PacketReader,
    seq: u8,
}

impl Source {
    /// The port, and what the client asked.
    fn start(name: &'static str) -> (u16, JoinHandle<Vec<Vec<u8>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let port = listener.local_addr().expect("bound").port();
        let serve = move || {
            let (stream, _) = listener.accept().expect("a client");
            Source { stream, reader: PacketReader::new(1 << 20), seq: 0 }.serve(&std::fs::read(recorded(name)).expect("recorded"))
        };
        (port, std::thread::spawn(serve))
    }

    fn send(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        let mut writer = PacketWriter::with_buffer(Vec::new(), self.seq);
        writer.packet(fill);
        self.seq = writer.seq();
        self.stream.write_all(writer.bytes()).expect("sent");
    }

    fn receive(&mut self, seq: u8) -> Vec<u8> {
        self.reader.expect_seq(seq);
        let mut bytes = [0; 4096];
        loop {
            let len = self.stream.read(&mut bytes).expect("received");
            assert!(len > 0);
            if let Some(packet) = self.reader.next(&mut &bytes[..len]).expect("a packet") {
                self.seq = self.reader.next_seq();
                return packet.to_vec();
            }
        }
    }

    fn serve(mut self, log: &[u8]) -> Vec<Vec<u8>> {
        const CAPS: u32 = vaquita_wire::caps::SERVER_CAPABILITIES & !vaquita_wire::caps::client::DEPRECATE_EOF;
        let greeting = Greeting {
            server_version: "9.7.4",
            connection_id: 1,
            nonce: &[7; NONCE_BYTES],
            capabilities: CAPS,
            charset: 255,
            status: 2,
            auth_plugin: "caching_sha2_password",
        };
        self.send(|out| put_greeting(out, &greeting));
        self.receive(1);
        self.send(|out| put_ok(out, CAPS, &OkPacket::default()));
        let mut asked = Vec::new();
        loop {
            let command = self.receive(0);
            asked.push(command.clone());
            match command.first() {
                Some(0x12) => break,
                _ if command[1..].starts_with(b"SELECT") => {
                    self.send(|out| out.push(1));
                    self.send(|out| put_column_definition(out, &parameter_definition()));
                    self.send(|out| put_eof(out, 2, 0));
                    self.send(|out| out.extend_from_slice(b"\x05CRC32"));
                    self.send(|out| put_eof(out, 2, 0));
                }
                _ => self.send(|out| put_ok(out, CAPS, &OkPacket::default())),
            }
        }
        self.send_log(log);
        asked
    }

    fn send_log(&mut self, log: &[u8]) {
        let mut reader = EventReader::of_file();
        reader.feed(log);
        while let Some(raw) = reader.next_event().expect("a log") {
            self.send(|out| {
                out.push(0);
                out.extend_from_slice(raw.bytes);
            });
            if raw.header.event_type == event_type::ROTATE {
                break;
            }
        }
        self.send(|out| put_err(out, 1236, "HY000", "no more"));
    }
}

#[test]
fn logs_are_read_from_a_server() {
    let from_file = printed(&["mysql-images.binlog"]);
    let (port, source) = Source::start("mysql-images");
    let port_text = port.to_string();
    let remote = |name: &str| log(&["--read-from-remote-server", "--port", &port_text, name]);
    let output = remote("binlog.000004");
    let asked = source.join().expect("served");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(text.lines().next(), Some(&*format!("# binlog.000004 of 127.0.0.1:{port}. Times are UTC.")));
    assert!(text.lines().skip(1).eq(from_file.lines().skip(1)));
    assert_eq!(asked.last().map(|dump| &dump[..]), Some(&b"\x12\x04\0\0\0\x01\0\0\0\0\0binlog.000004"[..]));
    let gone = remote("binlog.000004");
    assert!(!gone.status.success() && String::from_utf8_lossy(&gone.stderr).contains(&format!("127.0.0.1:{port}: ")));
}
