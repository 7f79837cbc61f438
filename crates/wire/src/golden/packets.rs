//! Replays `packets.txt`: what `decode_response` reads from a recorded packet, the encoders write again.

use super::{hex, lines};
use crate::caps::charset_id;
use crate::result::{
    ColumnDefinition, OkPacket, Response, decode_ok, decode_response, parameter_definition, put_column_definition, put_eof,
    put_err, put_ok, put_prepare_ok, put_result_set_end, put_result_set_header, put_session_schema, put_session_state_change,
    put_session_transaction_characteristics, put_session_transaction_state, put_session_variable,
};

#[test]
fn packets_are_byte_exact() {
    for line in lines(include_str!("packets.txt")) {
        let [name, caps, statement, payload] = line[..] else {
            panic!("bad line {line:?}");
        };
        let caps = u32::from_str_radix(caps, 16).unwrap();
        let payload = hex(payload);
        let mut out = Vec::new();
        match name {
            "end_eof" => put_eof(&mut out, u16::from_le_bytes([payload[3], payload[4]]), 0),
            "parameter" => {
                let definition = ColumnDefinition { charset: charset_id::UTF8MB4_GENERAL_CI, ..parameter_definition() };
                put_column_definition(&mut out, &definition);
            }
            "prepare" if statement.starts_with("select") => {
                put_prepare_ok(&mut out, caps, 1, 5, 2, 0);
            }
            "prepare" => put_prepare_ok(&mut out, caps, 1, 0, 0, 0),
            "header" => {
                let columns = statement.split(',').count();
                put_result_set_header(&mut out, caps, columns, true);
            }
            _ if name.starts_with("end") => again(&mut out, decode_ok(&payload, caps).unwrap(), caps, true),
            _ => again(&mut out, decode_response(&payload, caps).unwrap(), caps, false),
        }
        assert_eq!(out, payload, "{name}: {statement}");
    }
}

fn again(out: &mut Vec<u8>, response: Response<'_>, caps: u32, ends_rows: bool) {
    match response {
        Response::Ok { affected_rows, last_insert_id, status, warnings, info, session_state } => {
            let ok = OkPacket { affected_rows, last_insert_id, status, warnings, info, session_state };
            if ends_rows {
                put_result_set_end(out, caps, &ok);
            } else {
                put_ok(out, caps, &ok);
            }
        }
        Response::Err { errno, sqlstate, text } => {
            put_err(out, errno, std::str::from_utf8(sqlstate).unwrap(), std::str::from_utf8(text).unwrap())
        }
        other => panic!("{other:?}"),
    }
}

/// Session state changes, built from their parts, against those inside the recorded OK packets.
#[test]
fn session_state_is_byte_exact() {
    type Build = fn(&mut Vec<u8>);
    let cases: [(&str, Build); 7] = [
        ("ok_schema", |out| put_session_schema(out, b"mysql")),
        ("ok_autocommit", |out| put_session_variable(out, b"autocommit", b"OFF")),
        ("ok_names", |out| {
            for name in ["client", "connection", "results"] {
                let name = format!("character_set_{name}");
                put_session_variable(out, name.as_bytes(), b"latin1");
            }
        }),
        ("ok_state_change", put_session_state_change),
        ("ok_trx_state", |out| put_session_transaction_state(out, b"T_______")),
        ("ok_trx_chars", |out| {
            put_session_transaction_state(out, b"T_______");
            put_session_transaction_characteristics(out, b"START TRANSACTION;");
        }),
        ("ok_trx_write", |out| put_session_transaction_state(out, b"T___W___")),
    ];
    for (name, build) in cases {
        let line = lines(include_str!("packets.txt")).find(|line| line[0] == name).unwrap();
        let caps = u32::from_str_radix(line[1], 16).unwrap();
        let payload = hex(line[3]);
        let Ok(Response::Ok { session_state, .. }) = decode_response(&payload, caps) else {
            panic!("{name}");
        };
        let mut out = Vec::new();
        build(&mut out);
        assert_eq!(out, session_state, "{name}");
    }
}
