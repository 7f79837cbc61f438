//! Entry points for fuzzers: each takes arbitrary bytes as something a peer could send, and panics if a
//! codec breaks one of its promises (a panic, a wrong round trip, memory beyond the stated bound).
//!
//! They are used by proptest here, by `examples/fuzz_wire.rs` on stable Rust, and by cargo-fuzz targets. The first bytes of
//! the input choose the parameters (limits, cuts, capabilities), so that a fuzzer can vary those too.

use vaquita_types::Value;

use crate::binlog::header::HEADER_BYTES;
use crate::binlog::info::{Dialect, info};
use crate::binlog::reader::MAGIC;
use crate::binlog::{BinlogError, Decoder, Event, EventReader, Header, RawEvent, Rows, TableMap, event_type};
use crate::caps::SERVER_CAPABILITIES;
use crate::codec::Bytes;
use crate::commands::Command;
use crate::compress::{Algorithm, CompressedReader, Workspace};
use crate::copy::{CopyAnswer, CopyRequest};
use crate::handshake::{
    CONNECT_ATTRIBUTES_BYTES_MAX, ClientHello, decode_change_user, decode_greeting, decode_handshake_response,
    put_handshake_response,
};
use crate::packet::{PacketReader, UNAUTHENTICATED_PAYLOAD_BYTES_MAX};
use crate::params::StatementParams;
use crate::result::{decode_ok, decode_response};

/// The framing: however the bytes are cut, the same packets or the same error come out, and the
/// reader holds no more than its limit.
pub fn fuzz_packet(data: &[u8]) {
    let mut head = Bytes::new(data);
    let (Ok(limit), Ok(cut)) = (head.u16(), head.u8()) else {
        return;
    };
    let limit = usize::from(limit).min(UNAUTHENTICATED_PAYLOAD_BYTES_MAX);
    let whole = read_packets(head.rest(), limit, usize::MAX);
    let pieces = read_packets(head.rest(), limit, usize::from(cut).max(1));
    assert_eq!(whole, pieces);
}

type Packets = (Vec<Vec<u8>>, Option<crate::ProtocolError>);

fn read_packets(data: &[u8], limit: usize, piece: usize) -> Packets {
    let mut reader = PacketReader::new(limit);
    let mut packets = Vec::new();
    for mut input in data.chunks(piece) {
        loop {
            match reader.next(&mut input) {
                Ok(Some(payload)) => {
                    assert!(payload.is_empty() || payload.len() < limit);
                    packets.push(payload.to_vec());
                }
                Ok(None) => break,
                Err(error) => return (packets, Some(error)),
            }
        }
        assert!(input.is_empty());
        assert!(reader.held_bytes() <= limit);
    }
    (packets, None)
}

/// COM_CLONE and its answers: what decodes is encoded to the same bytes again.
pub fn fuzz_copy(data: &[u8]) {
    if let Ok(request) = CopyRequest::decode(data) {
        assert_eq!(request.encode().get(1..), Some(data));
    }
    if let Ok(answer) = CopyAnswer::decode(data) {
        let mut packet = Vec::new();
        answer.encode(&mut packet);
        assert_eq!(CopyAnswer::decode(&packet), Ok(answer));
    }
}

/// The connection phase: what decodes can be encoded and decodes to the same again.
pub fn fuzz_handshake(data: &[u8]) {
    let mut head = Bytes::new(data);
    let Ok(offered) = head.u32() else {
        return;
    };
    let payload = head.rest();
    for offered in [SERVER_CAPABILITIES, offered, u32::MAX] {
        if let Ok(ClientHello::Response(response)) = decode_handshake_response(payload, offered) {
            let attributes: Vec<_> = response.attributes.iter().collect();
            let attribute_bytes: usize = attributes.iter().map(|(n, v)| n.len() + v.len()).sum();
            assert!(attribute_bytes <= CONNECT_ATTRIBUTES_BYTES_MAX);
            let mut again = Vec::new();
            put_handshake_response(&mut again, &response, &attributes);
        }
    }
    let _ = decode_change_user(payload, offered);
    let _ = decode_greeting(payload);
}

/// The command phase, with the parameters of a statement that has up to 255 of them, executed twice.
pub fn fuzz_commands(data: &[u8]) {
    let mut head = Bytes::new(data);
    let (Ok(caps), Ok(parameter_count)) = (head.u32(), head.u8()) else {
        return;
    };
    let payload = head.rest();
    let mut params = StatementParams::new(usize::from(parameter_count));
    let mut values: Vec<Value> = Vec::new();
    for caps in [SERVER_CAPABILITIES, caps] {
        match Command::decode(payload, caps) {
            Ok(Command::Execute(execute)) => {
                let mut rebound = false;
                for _ in 0..2 {
                    let read = params.read(&execute, caps, &mut values, &mut rebound);
                    if read.is_ok() {
                        assert_eq!(values.len(), params.count());
                    }
                    let bytes: usize = values.iter().map(value_bytes).sum();
                    assert!(bytes <= payload.len());
                }
            }
            Ok(Command::SendLongData { parameter, data, .. }) => {
                params.append_long_data(parameter, data, 1 << 16);
            }
            _ => {}
        }
    }
    let _ = decode_response(payload, caps);
    let _ = decode_ok(payload, caps);
}

fn value_bytes(value: &Value) -> usize {
    match value {
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    }
}

/// Compressed frames of both algorithms.
pub fn fuzz_compressed(data: &[u8]) {
    let mut head = Bytes::new(data);
    let Ok(cut) = head.u8() else {
        return;
    };
    for algorithm in [Algorithm::Zlib, Algorithm::Zstd { level: 3 }] {
        let mut reader = CompressedReader::new(algorithm);
        let mut workspace = Workspace::default();
        let mut out = Vec::new();
        for mut input in head.rest().chunks(usize::from(cut).max(1)) {
            while let Ok(true) = reader.next(&mut input, &mut out, &mut workspace) {
                out.clear();
            }
        }
    }
}

/// A binary log: an event, perhaps behind the description of a table that its rows are of, and a file in pieces. The input is the length of
/// the description (u16), the description, the event's type, its data.
pub fn fuzz_binlog(data: &[u8]) {
    let mut head = Bytes::new(data);
    let Ok(len) = head.u16() else { return };
    let Ok(map) = head.take(usize::from(len)) else { return };
    let Ok(code) = head.u8() else { return };
    let mut decoder = Decoder::default();
    let mut put = |code: u8, data: &[u8]| {
        let mut packet = Vec::new();
        let length = (HEADER_BYTES + data.len()) as u32;
        Header { timestamp: 0, event_type: code, server_id: 1, length, end_position: 0, flags: 0 }.encode(&mut packet);
        packet.extend_from_slice(data);
        if let Ok(raw) = RawEvent::of_packet(&packet, false)
            && let Ok(event) = decoder.decode(&raw)
        {
            look_at(&event, &raw.header, data.len());
        }
    };
    put(event_type::TABLE_MAP, map);
    put(code, head.rest());
    let whole = read_log(data, usize::MAX);
    assert_eq!(whole, read_log(data, usize::from(len).max(1)));
}

fn look_at(event: &Event<'_>, header: &Header, len: usize) {
    for dialect in [Dialect::MySql, Dialect::MariaDb] {
        // Hexadecimal digits, quotes, numbers of GTIDs: a few times the event, if it is not compressed.
        let compressed = matches!(header.event_type, event_type::MARIA_QUERY_COMPRESSED..);
        assert!(info(event, header, dialect).len() <= 20 * len + 200 || compressed);
    }
    match event {
        Event::TableMap(map) => {
            let mut again = Vec::new();
            map.encode(&mut again);
            let map = TableMap::decode(&again);
            assert!(map.is_ok());
        }
        Event::Rows(rows) => {
            for change in rows.changes().flatten() {
                let [before, after] = rows.columns();
                let mut one = Rows::begin(rows.kind, rows.table.clone(), rows.flags, &before, &after);
                if one.push(&change).is_ok() {
                    // What was written reads as the same, as far as that can be compared: NaN is no NaN's equal.
                    let mut again = Rows::begin(rows.kind, rows.table.clone(), rows.flags, &before, &after);
                    for change in one.changes() {
                        assert_eq!(change.and_then(|change| again.push(&change)), Ok(()));
                    }
                    let encoded = [&one, &again].map(|rows| {
                        let mut out = Vec::new();
                        rows.encode(&mut out);
                        out
                    });
                    assert_eq!(encoded[0], encoded[1]);
                }
            }
        }
        Event::Query(query) => query.status_vars().for_each(drop),
        Event::TransactionPayload(payload) => {
            let (mut unpacker, mut reader) = (payload.unpacker(), EventReader::of_payload());
            let mut decoder = Decoder::default();
            let mut pieces = 0;
            while let Ok(Some(piece)) = unpacker.next_piece() {
                reader.feed(piece);
                while let Ok(Some(raw)) = reader.next_event() {
                    let _ = decoder.decode(&raw);
                }
                pieces += 1;
                if pieces > 100 {
                    break;
                }
            }
        }
        _ => {}
    }
}

/// The events of a file, by type and position, and how it ends.
fn read_log(data: &[u8], piece: usize) -> (Vec<(u8, u64)>, Result<(), BinlogError>) {
    let mut reader = EventReader::of_file();
    let mut events = Vec::new();
    let file = [&MAGIC, data].concat();
    for bytes in file.chunks(piece) {
        reader.feed(bytes);
        loop {
            match reader.next_event() {
                Ok(Some(raw)) => events.push((raw.header.event_type, raw.position)),
                Ok(None) => break,
                Err(error) => return (events, Err(error)),
            }
        }
    }
    let end = reader.end();
    (events, end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn garbage_is_harmless(data in prop::collection::vec(any::<u8>(), 0..400)) {
            fuzz_packet(&data);
            fuzz_copy(&data);
            fuzz_handshake(&data);
            fuzz_commands(&data);
            fuzz_compressed(&data);
            fuzz_binlog(&data);
        }

        /// Small numbers are more often meaningful than random ones.
        #[test]
        fn plausible_garbage_is_harmless(data in prop::collection::vec(prop_oneof![0u8..32, any::<u8>()], 0..200)) {
            fuzz_packet(&data);
            fuzz_copy(&data);
            fuzz_handshake(&data);
            fuzz_commands(&data);
            fuzz_compressed(&data);
            fuzz_binlog(&data);
        }
    }
}
