//! REQUIRE of accounts at a login: without TLS, with it, and with a certificate.

use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::client::Answer;
use crate::layers::{Client, Layers};
use crate::server::Server;
use crate::tls::{config_with, trusting_config};

const ISSUER: &str = "/CN=Vaquita_Auto_Generated_CA_Certificate";
const SUBJECT: &str = "/CN=Vaquita_Auto_Generated_Client_Certificate";
const CIPHER: &str = "TLS_AES_256_GCM_SHA384";
const PLAIN: Layers = Layers { tls: false, compression: None };
const TLS: Layers = Layers { tls: true, compression: None };

/// `ok`, the number of the error, or `closed`.
fn outcome(server: &Server, user: &str, layers: Layers, config: &Arc<rustls::ClientConfig>) -> String {
    match Client::log_in(server.port, user, layers, config.clone()) {
        Ok(_) => "ok".into(),
        Err(answer) if answer.first() == Some(&0xff) => u16::from_le_bytes([answer[1], answer[2]]).to_string(),
        Err(_) => "closed".into(),
    }
}

#[test]
fn logins_need_what_their_accounts_require() {
    let server = Server::start("certificates");
    let file = |name: &str| server.dir.join(name);
    let own = CertificateDer::from_pem_file(file("client-cert.pem")).expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(file("client-key.pem")).expect("a key");
    let (bare, known) = (trusting_config().expect("TLS"), config_with(Some((own, key))).expect("TLS"));
    let mut root = server.connect();
    let accounts = [
        ("NONE".to_string(), ["ok", "ok", "ok"]),
        ("SSL".into(), ["1045", "ok", "ok"]),
        ("X509".into(), ["1045", "1045", "ok"]),
        (format!("SUBJECT '{SUBJECT}'"), ["1045", "1045", "ok"]),
        (format!("ISSUER '{ISSUER}' AND SUBJECT '{SUBJECT}' AND CIPHER '{CIPHER}'"), ["1045", "1045", "ok"]),
        (format!("CIPHER '{CIPHER}'"), ["1045", "ok", "ok"]),
        (format!("SUBJECT '{SUBJECT}' CIPHER 'AES128-SHA'"), ["1045", "1045", "1045"]),
        (format!("SUBJECT '{ISSUER}'"), ["1045", "1045", "1045"]),
        (format!("ISSUER '{SUBJECT}'"), ["1045", "1045", "1045"]),
    ];
    for (at, (require, _)) in accounts.iter().enumerate() {
        root.query(&format!("CREATE USER u{at} REQUIRE {require}"));
    }
    let check = |server: &Server| {
        for (at, (require, wanted)) in accounts.iter().enumerate() {
            let user = format!("u{at}");
            let got =
                [(PLAIN, &bare), (TLS, &bare), (TLS, &known)].map(|(layers, config)| outcome(server, &user, layers, config));
            assert_eq!(got, *wanted, "{require}");
        }
    };
    check(&server);
    drop(root);
    // As stored.
    let (_, _, dir) = server.terminate();
    check(&Server::start_in(dir));
}

#[test]
fn a_certificate_that_leads_nowhere_ends_the_handshake() {
    let server = Server::start("certificates-of-strangers");
    server.connect().query("CREATE USER nobody");
    let strange = rcgen::generate_simple_self_signed(vec!["localhost".into()]).expect("a certificate");
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(strange.signing_key.serialize_der()));
    let config = config_with(Some((strange.cert.der().clone(), key))).expect("TLS");
    assert_eq!(outcome(&server, "nobody", TLS, &config), "closed");
    assert_eq!(outcome(&server, "nobody", TLS, &trusting_config().expect("TLS")), "ok");
}

/// ALTER INSTANCE RELOAD TLS: what the variables name now counts for connections from then on, and what cannot be read changes nothing.
#[test]
fn tls_is_reloaded_without_a_restart() {
    let server = Server::start("certificates-reloaded");
    let mut root = server.connect();
    root.query("CREATE USER nobody");
    let ca_key = rcgen::KeyPair::generate().expect("a key");
    let mut ca = rcgen::CertificateParams::new(Vec::<String>::new()).expect("parameters");
    ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    ca.distinguished_name.push(rcgen::DnType::CommonName, "other authority");
    std::fs::write(server.dir.join("other-ca.pem"), ca.self_signed(&ca_key).expect("a certificate").pem()).expect("written");
    let issuer = rcgen::Issuer::new(ca, &ca_key);
    let key = rcgen::KeyPair::generate().expect("a key");
    let client = rcgen::CertificateParams::new(Vec::<String>::new()).expect("parameters").signed_by(&key, &issuer);
    let client = client.expect("a certificate").der().clone();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let known = config_with(Some((client, key))).expect("TLS");
    let mut ask = |sql: &str| match root.query(sql) {
        Answer::Err { code, .. } => code.to_string(),
        _ => "ok".to_string(),
    };
    assert_eq!(outcome(&server, "nobody", TLS, &known), "closed");
    assert_eq!(ask("SET GLOBAL ssl_ca = 'other-ca.pem'"), "ok");
    assert_eq!(outcome(&server, "nobody", TLS, &known), "closed");
    assert_eq!(ask("ALTER INSTANCE RELOAD TLS"), "ok");
    assert_eq!(outcome(&server, "nobody", TLS, &known), "ok");
    assert_eq!(ask("SET GLOBAL ssl_ca = 'nothing.pem'"), "ok");
    assert_eq!(ask("ALTER INSTANCE RELOAD TLS FOR CHANNEL mysql_main"), "3888");
    assert_eq!(ask("ALTER INSTANCE RELOAD TLS NO ROLLBACK ON ERROR"), "ok");
    assert_eq!(outcome(&server, "nobody", TLS, &known), "ok");
    assert_eq!(ask("ALTER INSTANCE RELOAD TLS FOR CHANNEL other"), "1149");
}
