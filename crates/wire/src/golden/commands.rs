//! Replays `commands.txt`: commands that MySQL accepted, and the values that they carry.

use vaquita_types::Value;

use super::{hex, lines};
use crate::commands::Command;
use crate::error::ProtocolError;
use crate::params::{QueryAttribute, StatementParams};

#[test]
fn commands_decode() {
    for line in lines(include_str!("commands.txt")) {
        let [name, caps, values, payload] = line[..] else {
            panic!("bad line {line:?}");
        };
        let caps = u32::from_str_radix(caps, 16).unwrap();
        let payload = hex(payload);
        let command = Command::decode(&payload, caps).unwrap_or_else(|e| panic!("{name}: {e}"));
        match command {
            Command::Execute(execute) => {
                check_execute(name, &execute, caps, values);
                continue;
            }
            Command::Query(query) => {
                assert_eq!(query.sql, b"select 1", "{name}");
                assert_eq!(show_attributes(&query.attributes), values, "{name}");
            }
            Command::Ping => assert_eq!(name, "ping"),
            Command::InitDb { database } => assert_eq!(database, b"mysql"),
            Command::Statistics => assert_eq!(name, "statistics"),
            Command::ResetConnection => assert_eq!(name, "reset"),
            Command::SetMultiStatements(on) => assert!(on),
            other => panic!("{name}: {other:?}"),
        }
    }
}

fn check_execute(name: &str, execute: &crate::params::Execute<'_>, caps: u32, expected: &str) {
    let (expected, has_attribute) = match expected.strip_suffix(",attr") {
        Some(rest) => (rest, true),
        None => (expected, false),
    };
    let count = expected.split(',').filter(|v| !v.is_empty()).count();
    let mut params = StatementParams::new(count);
    let mut values = Vec::new();
    let mut rebound = false;
    let attributes = params.read(execute, caps, &mut values, &mut rebound).unwrap();
    assert_eq!(rebound, count > 0 || has_attribute, "{name}");
    let shown: Vec<String> = values.iter().map(show).collect();
    assert_eq!(shown.join(","), expected, "{name}");
    assert_eq!(show_attributes(&attributes), if has_attribute { "traceparent=val" } else { "" });
    // Every truncation is an error and not a panic.
    for len in 0..execute.parameters.len() {
        let mut cut = *execute;
        cut.parameters = &execute.parameters[..len];
        let read = StatementParams::new(count).read(&cut, caps, &mut values, &mut rebound);
        assert!(matches!(read, Err(ProtocolError::MalformedPacket | ProtocolError::WrongArguments(_))), "{name} cut at {len}");
    }
}

fn show(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_string(),
        Value::Int(n) => n.to_string(),
        Value::UInt(n) => format!("u{n}"),
        Value::Float(x) => format!("f{x}"),
        Value::Decimal(d) => {
            let mut text = b"d".to_vec();
            d.write_text(&mut text, d.scale());
            String::from_utf8(text).unwrap()
        }
        Value::Bytes(bytes) => {
            let hex: Vec<String> = bytes.iter().map(|b| format!("{b:02x}")).collect();
            format!("s{}", hex.concat())
        }
        Value::Date(date) => date.to_string(),
        Value::DateTime(datetime) => datetime.to_string(),
        Value::Time(time) => time.to_string(),
        Value::Json(_) => unreachable!("no parameter is JSON"),
    }
}

fn show_attributes(attributes: &[QueryAttribute]) -> String {
    let pairs = attributes.iter().map(|attribute| {
        let name = String::from_utf8_lossy(&attribute.name);
        match &attribute.value {
            Value::Bytes(bytes) => format!("{name}={}", String::from_utf8_lossy(bytes)),
            value => format!("{name}={}", show(value)),
        }
    });
    pairs.collect::<Vec<_>>().join(",")
}

/// What MySQL 9.7 answers to malformed executions of `SELECT ?`: flags and payload after the iteration count, in the order it was tried.
#[test]
fn malformed_executions_get_mysqls_errors() {
    let malformed = ProtocolError::MalformedPacket;
    let wrong = ProtocolError::WrongArguments("mysqld_stmt_execute");
    let cases: [(&[u8], ProtocolError); 15] = [
        (&[0, 1, 8, 0, 41, 0, 0, 0], malformed),
        (&[0], malformed),
        (&[0, 0], malformed),
        (&[0, 1, 8], malformed),
        (&[0, 1, 0x63, 0, 0], wrong),
        (&[0, 1, 0x0e, 0, 1, 0x31], wrong),
        (&[0, 1, 0x10, 0, 1, 0x31], wrong),
        (&[0, 1, 0xff, 0, 1, 0x31], wrong),
        (&[0, 1, 0x0d, 0, 0xe8, 7], wrong),
        (&[0, 1, 6, 0], malformed),
        (&[0, 1, 0x0a, 0, 3, 1, 2, 3], malformed),
        (&[0, 1, 0x0c, 0, 5, 0xe8, 7, 2, 1, 5], malformed),
        (&[0, 1, 0x0a, 0, 4, 0xe8, 7, 13, 1], ProtocolError::ParameterOutOfRange("DATE")),
        (&[0, 1, 0x0c, 0, 7, 0xe8, 7, 2, 1, 25, 2, 3], ProtocolError::ParameterOutOfRange("DATETIME")),
        (&[0, 1, 0x0b, 0, 8, 0, 0xe8, 3, 0, 0, 1, 2, 3], ProtocolError::ParameterOutOfRange("TIME")),
    ];
    for (parameters, expected) in cases {
        let mut payload = vec![0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0];
        payload.extend_from_slice(parameters);
        let Ok(Command::Execute(execute)) = Command::decode(&payload, 0) else {
            panic!("{parameters:x?}");
        };
        let read = StatementParams::new(1).read(&execute, 0, &mut Vec::new(), &mut false);
        assert_eq!(read, Err(expected), "{parameters:x?}");
    }
}

#[test]
fn types_are_kept_and_long_data_is_used_once() {
    let mut params = StatementParams::new(2);
    let mut values = Vec::new();
    let mut rebound = false;
    params.append_long_data(1, b"abc", 6);
    params.append_long_data(1, b"def", 6);
    let bound = [0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0xfc, 0, 7];
    let Ok(Command::Execute(execute)) = Command::decode(&bound, 0) else {
        panic!();
    };
    params.read(&execute, 0, &mut values, &mut rebound).unwrap();
    assert_eq!(values, [Value::Int(7), Value::bytes("abcdef")]);
    assert!(rebound);
    let again = [0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 9, 1, b'x'];
    let Ok(Command::Execute(execute)) = Command::decode(&again, 0) else {
        panic!();
    };
    params.read(&execute, 0, &mut values, &mut rebound).unwrap();
    assert_eq!(values, [Value::Int(9), Value::bytes("x")]);
    assert!(!rebound);
}

#[test]
fn wrong_long_data_fails_executions_until_the_statement_is_reset() {
    let bound = [0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0xfc, 0, 1, b'x'];
    let Ok(Command::Execute(execute)) = Command::decode(&bound, 0) else {
        panic!();
    };
    let mut params = StatementParams::new(1);
    let mut values = Vec::new();
    let mut read = |params: &mut StatementParams| params.read(&execute, 0, &mut values, &mut false).map(drop);
    params.append_long_data(0, b"abcdef", 6);
    params.append_long_data(0, b"g", 6);
    assert_eq!(read(&mut params), Err(ProtocolError::LongDataTooLarge));
    assert_eq!(read(&mut params), Err(ProtocolError::LongDataTooLarge));
    params.clear_long_data();
    params.append_long_data(1, b"", 6);
    assert_eq!(read(&mut params), Err(ProtocolError::WrongArguments("mysqld_stmt_send_long_data")));
    params.clear_long_data();
    assert_eq!(read(&mut params), Ok(()));
    assert_eq!(values, [Value::bytes("x")]);
}

#[test]
fn malformed_commands_get_mysqls_errors() {
    let cases: [(&[u8], ProtocolError); 9] = [
        (&[], ProtocolError::UnknownCommand),
        (&[0x40], ProtocolError::UnknownCommand),
        (&[0x17, 9, 0, 0], ProtocolError::MalformedPacket),
        (&[0x1a, 9, 0, 0], ProtocolError::MalformedPacket),
        (&[0x1b, 9], ProtocolError::MalformedPacket),
        (&[0x1b, 9, 0], ProtocolError::UnknownCommand),
        (&[0x0a], ProtocolError::UnknownCommand),
        (&[0x12], ProtocolError::MalformedPacket),
        (&[0x00], ProtocolError::UnknownCommand),
    ];
    for (payload, expected) in cases {
        assert_eq!(Command::decode(payload, 0), Err(expected), "{payload:x?}");
    }
}

/// Decimals arrive as text of any length and content.
#[test]
fn decimals_of_any_text_are_harmless() {
    let digits = "9".repeat(100_000);
    for text in ["", "-", ".", "1e999999999", "1e-999999999", "-1e99999999999999999999", "0x1", "1.2.3", &digits] {
        let mut payload = vec![0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0xf6, 0];
        crate::codec::put_lenenc_bytes(&mut payload, text.as_bytes());
        let Ok(Command::Execute(execute)) = Command::decode(&payload, 0) else {
            panic!("{text}");
        };
        let mut values = Vec::new();
        StatementParams::new(1).read(&execute, 0, &mut values, &mut false).unwrap();
        assert!(matches!(values[..], [Value::Decimal(_)]));
        show(&values[0]);
    }
}
