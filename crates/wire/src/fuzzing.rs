//! Entry points for fuzzers: each takes arbitrary bytes as something a peer could send, and panics if a
//! codec breaks one of its promises (a panic, a wrong round trip, memory beyond the stated bound).
//!
//! They are used by proptest here, by `examples/fuzz_wire.rs` on stable Rust, and by cargo-fuzz targets. The first bytes of
//! the input choose the parameters (limits, cuts, capabilities), so that a fuzzer can vary those too.

use vaquita_types::Value;

use crate::caps::SERVER_CAPABILITIES;
use crate::codec::Bytes;
use crate::commands::Command;
use crate::compress::{Algorithm, CompressedReader, Workspace};
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
                let _ = params.append_long_data(parameter, data, 1 << 16);
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn garbage_is_harmless(data in prop::collection::vec(any::<u8>(), 0..400)) {
            fuzz_packet(&data);
            fuzz_handshake(&data);
            fuzz_commands(&data);
            fuzz_compressed(&data);
        }

        /// Small numbers are more often meaningful than random ones.
        #[test]
        fn plausible_garbage_is_harmless(data in prop::collection::vec(prop_oneof![0u8..32, any::<u8>()], 0..200)) {
            fuzz_packet(&data);
            fuzz_handshake(&data);
            fuzz_commands(&data);
            fuzz_compressed(&data);
        }
    }
}
