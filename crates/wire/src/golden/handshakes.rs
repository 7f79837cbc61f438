//! Replays `handshakes.txt`: MySQL's greeting, and what real clients answered to it.

use vaquita_password::fast_digest;

use super::{hex, lines};
use crate::caps::{SERVER_CAPABILITIES, client};
use crate::handshake::{ClientHello, Greeting, decode_greeting, decode_handshake_response, put_greeting, put_handshake_response};
use crate::proof::verify_caching_sha2_proof;

fn recorded(name: &str) -> (u32, Vec<u8>) {
    let line = lines(include_str!("handshakes.txt")).find(|line| line[0] == name).unwrap();
    (u32::from_str_radix(line[1], 16).unwrap(), hex(line[2]))
}

#[test]
fn greeting_is_byte_exact() {
    let (_, payload) = recorded("greeting");
    let hello = decode_greeting(&payload).unwrap();
    assert_eq!(hello.auth_plugin, b"caching_sha2_password");
    let mut out = Vec::new();
    put_greeting(
        &mut out,
        &Greeting {
            server_version: std::str::from_utf8(&hello.server_version).unwrap(),
            connection_id: hello.connection_id,
            nonce: &hello.nonce,
            capabilities: hello.capabilities,
            charset: hello.charset,
            status: hello.status,
            auth_plugin: "caching_sha2_password",
        },
    );
    assert_eq!(out, payload);
}

#[test]
fn real_clients_are_understood() {
    let nonce = decode_greeting(&recorded("greeting").1).unwrap().nonce;
    for (name, zstd_level, program) in [
        ("mariadb-cli", 0, "libmariadb"),
        ("mariadb-cli --compress", 0, "libmariadb"),
        ("mysql-cli", 0, "libmysql"),
        ("mysql-cli zstd", 7, "libmysql"),
    ] {
        let (offered, payload) = recorded(name);
        let Ok(ClientHello::Response(response)) = decode_handshake_response(&payload, offered) else {
            panic!("{name}");
        };
        assert_eq!(response.user, b"sb", "{name}");
        assert_eq!(response.database, Some(&b"wiregold"[..]), "{name}");
        assert_eq!(response.auth_plugin, Some(&b"caching_sha2_password"[..]), "{name}");
        assert_eq!(response.zstd_level, zstd_level, "{name}");
        assert!(verify_caching_sha2_proof(response.auth_response, &nonce, &fast_digest(b"sb")));
        let attributes: Vec<_> = response.attributes.iter().collect();
        assert!(attributes.contains(&(b"_client_name", program.as_bytes())), "{name}");
        let mut out = Vec::new();
        put_handshake_response(&mut out, &response, &attributes);
        assert_eq!(out, payload, "{name}");
        // Every truncation is an error or a shorter response, never a panic.
        for len in 0..payload.len() {
            let _ = decode_handshake_response(&payload[..len], offered);
        }
    }
}

#[test]
fn tls_request_is_told_from_a_response() {
    let (offered, payload) = recorded("mysql-cli tls");
    let hello = decode_handshake_response(&payload, offered).unwrap();
    assert!(matches!(hello, ClientHello::TlsRequest { capabilities } if capabilities & client::SSL != 0));
    assert!(decode_handshake_response(&payload, SERVER_CAPABILITIES).is_err());
}
