//! Commands whose answering packets were recorded from a real MySQL: session tracking, cursors.
//!
//! `tests/golden/packets/*.test` hold commands, each after `> `, and the packets of the answer, escaped. A script has a database, `packets_` with its name. Besides SQL text, of whose answer only the last packet is kept:
//! ```text
//! > connect eof                    a new connection, of a client without DEPRECATE_EOF
//! > prepare 0 SELECT 1             0: the answer's id is called 0 from here on
//! > describe 0 SELECT ?            the same, with the packets of the answer
//! > execute 0 1                    with the flags 1
//! > bind 0 i5 f1.5 sabc x616200 n  executed with these parameters: BIGINT, DOUBLE, VAR_STRING, its bytes in hex, NULL
//! > columns SELECT 1               a query, with all packets of the answer
//! > rows SELECT 1                  the rows alone
//! > values 0 i5                    as bind, the rows alone
//! > fetch 0 10      > reset 0      > close 0
//! ```

use std::collections::HashMap;
use std::fmt::Write;

use vaquita_scripts::{Script, Target};

use crate::client::{Client, more_follows};

pub fn replay(script: &Script, target: &Target) -> String {
    let connect = |eof| Client::connect_tracking(target.port, &target.user, &target.password, eof).expect("connect");
    let name = format!("packets_{}", script.name);
    let mut client = connect(false);
    client.query(&format!("DROP DATABASE IF EXISTS {name}"));
    client.query(&format!("CREATE DATABASE {name}"));
    let mut eof = false;
    let mut ids: HashMap<String, [u8; 4]> = HashMap::new();
    let mut out = String::new();
    for line in script.text.lines() {
        if line.starts_with('#') {
            let _ = writeln!(out, "{line}");
        }
        let Some(command) = line.strip_prefix("> ") else { continue };
        let _ = writeln!(out, "> {command}");
        let words: Vec<&str> = command.splitn(3, ' ').collect();
        let id_of = |name: &str| ids.get(name).copied().unwrap_or([99, 0, 0, 0]);
        let packets = match words[..] {
            ["connect", kind] => {
                eof = kind == "eof";
                client = connect(eof);
                continue;
            }
            ["prepare", name, sql] => {
                let answer = run(&mut client, eof, &[b"\x16", sql.as_bytes()]);
                let id = answer.first().and_then(|ok| ok.get(1..5)).and_then(|id| id.try_into().ok()).expect("an id");
                ids.insert(name.to_string(), id);
                continue;
            }
            ["describe", name, sql] => {
                let mut answer = run(&mut client, eof, &[b"\x16", sql.as_bytes()]);
                if let Some(ok) = answer.first_mut().filter(|ok| ok[0] == 0) {
                    ids.insert(name.to_string(), ok[1..5].try_into().expect("an id"));
                    ok[1..5].fill(0);
                }
                answer
            }
            ["bind", name, values] => run(&mut client, eof, &[b"\x17", &id_of(name), &[0, 1, 0, 0, 0], &parameters(values)]),
            ["rows", ..] => rows_of(run(&mut client, eof, &[b"\x03", &command.as_bytes()["rows ".len()..]])),
            ["values", name, values] => {
                rows_of(run(&mut client, eof, &[b"\x17", &id_of(name), &[0, 1, 0, 0, 0], &parameters(values)]))
            }
            ["columns", ..] => run(&mut client, eof, &[b"\x03", &command.as_bytes()["columns ".len()..]]),
            ["execute", name, flags] => {
                let flags: u8 = flags.parse().expect("flags");
                run(&mut client, eof, &[b"\x17", &id_of(name), &[flags, 1, 0, 0, 0]])
            }
            ["fetch", name, rows] => {
                let rows: u32 = rows.parse().expect("rows");
                run(&mut client, eof, &[b"\x1c", &id_of(name), &rows.to_le_bytes()])
            }
            ["reset", name] => run(&mut client, eof, &[b"\x1a", &id_of(name)]),
            ["close", name] => {
                client.command(&[&b"\x19"[..], &id_of(name)].concat()).expect("send");
                continue;
            }
            ["init_db", name] => run(&mut client, eof, &[b"\x02", name.as_bytes()]),
            ["reset_connection"] => run(&mut client, eof, &[b"\x1f"]),
            _ => run(&mut client, eof, &[b"\x03", command.as_bytes()]).pop().into_iter().collect(),
        };
        for packet in packets {
            let _ = writeln!(out, "{}", packet.escape_ascii());
        }
    }
    client.query(&format!("DROP DATABASE {name}"));
    out
}

/// Without the number and the definitions of columns, and without the end, which says which indexes were used.
fn rows_of(mut answer: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let columns = answer.first().filter(|first| first.len() == 1).map_or(0, |first| usize::from(first[0]) + 1);
    let mut rows = answer.split_off(columns.min(answer.len()));
    if columns > 0 && rows.last().is_some_and(|end| end[0] == 0xfe) {
        rows.pop();
    }
    rows
}

/// NULL bits, types and values of COM_STMT_EXECUTE.
pub fn parameters(values: &str) -> Vec<u8> {
    let values: Vec<&str> = values.split(' ').collect();
    let (mut nulls, mut types, mut data) = (vec![0; values.len().div_ceil(8)], vec![], vec![]);
    for (n, value) in values.iter().enumerate() {
        let (kind, text) = value.split_at(1);
        let mut string = |bytes: &[u8]| {
            data.push(u8::try_from(bytes.len()).ok().filter(|len| *len < 251).expect("a short string"));
            data.extend_from_slice(bytes);
            0xfd
        };
        let ty = match kind {
            "i" => {
                data.extend_from_slice(&text.parse::<i64>().expect("an integer").to_le_bytes());
                8
            }
            "f" => {
                data.extend_from_slice(&text.parse::<f64>().expect("a number").to_le_bytes());
                5
            }
            "s" => string(text.as_bytes()),
            "x" => {
                let digits = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("hex");
                string(&(0..text.len()).step_by(2).map(digits).collect::<Vec<u8>>())
            }
            _ => {
                nulls[n / 8] |= 1 << (n % 8);
                6
            }
        };
        types.extend_from_slice(&[ty, 0]);
    }
    [nulls, vec![1], types, data].concat()
}

/// Sends a command and receives the packets that answer it.
fn run(client: &mut Client, eof: bool, parts: &[&[u8]]) -> Vec<Vec<u8>> {
    client.command(&parts.concat()).expect("send");
    let mut packets = Vec::new();
    let several = !matches!(parts[0], b"\x1c" | b"\x16");
    loop {
        packets.append(&mut result(client, eof, parts));
        let ends = |last: &Vec<u8>| !matches!(last.first(), Some(0 | 0xfe)) || !more_follows(last);
        if !several || packets.last().is_none_or(ends) {
            return packets;
        }
    }
}

/// The packets of one result.
fn result(client: &mut Client, eof: bool, parts: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut packets = vec![client.receive().expect("an answer")];
    let until_end = |client: &mut Client, packets: &mut Vec<Vec<u8>>| {
        while !packets.last().is_some_and(|packet| matches!(packet.first(), Some(0xfe | 0xff))) {
            packets.push(client.receive().expect("a packet"));
        }
    };
    match (parts[0], packets[0][0]) {
        (b"\x1c", _) => until_end(client, &mut packets),
        (_, 0xff) => {}
        (b"\x16", _) => {
            let (columns, parameters) = (packets[0][5], packets[0][7]);
            for count in [parameters, columns].into_iter().filter(|count| *count > 0) {
                for _ in 0..count + u8::from(eof) {
                    packets.push(client.receive().expect("a definition"));
                }
            }
        }
        (_, 0) => {}
        (_, columns) => {
            for _ in 0..columns {
                packets.push(client.receive().expect("a definition"));
            }
            packets.push(client.receive().expect("a packet"));
            // Behind the definitions' EOF come the rows, if there is no cursor.
            if eof && packets.last().is_some_and(|end| end[3] & 0x40 == 0) {
                packets.push(client.receive().expect("a packet"));
            }
            until_end(client, &mut packets);
        }
    }
    packets
}
