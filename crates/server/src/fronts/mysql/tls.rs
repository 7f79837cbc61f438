//! The server's keys: TLS certificates and the RSA key for passwords over plain connections.
//!
//! Like MySQL, the first start writes `ca.pem`, `ca-key.pem`, `server-cert.pem`, `server-key.pem`,
//! `private_key.pem` and `public_key.pem` into the data directory; later starts read them.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rsa::pkcs1::DecodeRsaPrivateKey;
use rsa::pkcs8::{DecodePrivateKey, EncodePrivateKey, EncodePublicKey, LineEnding};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

type Failure = Box<dyn std::error::Error + Send + Sync>;

pub struct Keys {
    pub tls: Arc<rustls::ServerConfig>,
    rsa: rsa::RsaPrivateKey,
    pub public_key_pem: String,
}

/// Several times what a decryption takes.
const DECRYPTION_TIME: Duration = Duration::from_millis(10);

/// Bits of the RSA key pair, as in MySQL.
const RSA_BITS: usize = 2048;

impl Keys {
    /// Reads the files in `dir`, making those that are missing.
    pub fn load_or_create(dir: &Path) -> Result<Keys, Failure> {
        if !dir.join("server-cert.pem").exists() {
            create_certificates(dir)?;
        }
        if !dir.join("private_key.pem").exists() {
            create_rsa_pair(dir)?;
        }
        let private = std::fs::read_to_string(dir.join("private_key.pem"))?;
        let rsa = rsa::RsaPrivateKey::from_pkcs8_pem(&private).or_else(|_| rsa::RsaPrivateKey::from_pkcs1_pem(&private))?;
        let public_key_pem = rsa.to_public_key().to_public_key_pem(LineEnding::LF)?;
        Ok(Keys { tls: Arc::new(tls_config(dir)?), rsa, public_key_pem })
    }

    /// The password that a client without TLS sent, masked. Takes milliseconds.
    ///
    /// The library's arithmetic takes a time that depends on what it computes (RUSTSEC-2023-0071), from which a key, or a recorded password, can
    /// be found with many thousand measured attempts. So the ciphertext is blinded by a random factor, and the answer is
    /// known only at a multiple of `DECRYPTION_TIME` after the question; whether it failed shows nowhere later (`wire::auth`, AUTH-4).
    pub fn decrypt(&self, ciphertext: &[u8]) -> Option<Vec<u8>> {
        let began = Instant::now();
        let padding = rsa::Oaep::new::<sha1::Sha1>();
        let password = self.rsa.decrypt_blinded(&mut rsa::rand_core::OsRng, padding, ciphertext).ok();
        let due = DECRYPTION_TIME * (began.elapsed().as_nanos() / DECRYPTION_TIME.as_nanos() + 1) as u32;
        std::thread::sleep(due.saturating_sub(began.elapsed()));
        password
    }
}

fn tls_config(dir: &Path) -> Result<rustls::ServerConfig, Failure> {
    let certificates = CertificateDer::pem_file_iter(dir.join("server-cert.pem"))?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(dir.join("server-key.pem"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS12, &rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(certificates, key)?;
    Ok(config)
}

fn create_certificates(dir: &Path) -> Result<(), Failure> {
    let ca_key = rcgen::KeyPair::generate()?;
    let mut ca = rcgen::CertificateParams::new(Vec::<String>::new())?;
    ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    ca.distinguished_name.push(rcgen::DnType::CommonName, "Vaquita_Auto_Generated_CA_Certificate");
    let ca_certificate = ca.self_signed(&ca_key)?;
    let issuer = rcgen::Issuer::new(ca, &ca_key);
    let server_key = rcgen::KeyPair::generate()?;
    let names = vec!["localhost".to_string(), "127.0.0.1".to_string(), "::1".to_string()];
    let mut server = rcgen::CertificateParams::new(names)?;
    server.distinguished_name.push(rcgen::DnType::CommonName, "Vaquita_Auto_Generated_Server_Certificate");
    let server_certificate = server.signed_by(&server_key, &issuer)?;
    write(dir, "ca.pem", &ca_certificate.pem(), 0o644)?;
    write(dir, "ca-key.pem", &ca_key.serialize_pem(), 0o600)?;
    write(dir, "server-key.pem", &server_key.serialize_pem(), 0o600)?;
    write(dir, "server-cert.pem", &server_certificate.pem(), 0o644)
}

fn create_rsa_pair(dir: &Path) -> Result<(), Failure> {
    let key = rsa::RsaPrivateKey::new(&mut rsa::rand_core::OsRng, RSA_BITS)?;
    write(dir, "public_key.pem", &key.to_public_key().to_public_key_pem(LineEnding::LF)?, 0o644)?;
    write(dir, "private_key.pem", &key.to_pkcs8_pem(LineEnding::LF)?, 0o600)
}

/// Whole or not at all, whenever the process ends.
fn write(dir: &Path, name: &str, text: &str, mode: u32) -> Result<(), Failure> {
    crate::durable::write(dir, name, text, mode).map_err(|e| format!("{name}: {e}").into())
}

/// Version and cipher suite as OpenSSL, and so MySQL, calls them.
pub fn names(tls: &rustls::ServerConnection) -> (&'static str, String) {
    let version = match tls.protocol_version() {
        Some(rustls::ProtocolVersion::TLSv1_3) => "TLSv1.3",
        _ => "TLSv1.2",
    };
    let suite = tls.negotiated_cipher_suite().and_then(|suite| suite.suite().as_str());
    (version, suite.unwrap_or_default().replace("TLS13_", "TLS_"))
}
