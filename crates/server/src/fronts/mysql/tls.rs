//! The server's keys: TLS certificates and the RSA key for passwords over plain connections.
//!
//! Like MySQL, the first start writes `ca.pem`, `ca-key.pem`, `server-cert.pem`, `server-key.pem`, `client-cert.pem`,
//! `client-key.pem`, `private_key.pem` and `public_key.pem` into the data directory; later starts read them, or what `ssl_ca`,
//! `ssl_cert` and `ssl_key` name. A client may send a certificate; one that does not lead to `ssl_ca` ends the handshake.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use rsa::pkcs1::DecodeRsaPrivateKey;
use rsa::pkcs8::{DecodePrivateKey, EncodePrivateKey, EncodePublicKey, LineEnding};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use vaquita_session::accounts::TlsPeer;
use vaquita_session::variables::{Globals, Var};

use super::certificate;

type Failure = Box<dyn std::error::Error + Send + Sync>;

pub struct Keys {
    tls: RwLock<Arc<rustls::ServerConfig>>,
    dir: PathBuf,
    rsa: rsa::RsaPrivateKey,
    pub public_key_pem: String,
}

/// Several times what a decryption takes.
const DECRYPTION_TIME: Duration = Duration::from_millis(10);

/// Bits of the RSA key pair, as in MySQL.
const RSA_BITS: usize = 2048;

/// The files that TLS is made of.
struct TlsFiles {
    ca: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
}

impl TlsFiles {
    fn made_in(dir: &Path) -> TlsFiles {
        TlsFiles { ca: dir.join("ca.pem"), certificate: dir.join("server-cert.pem"), key: dir.join("server-key.pem") }
    }

    /// Those that variables name.
    fn of(dir: &Path, globals: &Globals) -> TlsFiles {
        let file = |var| dir.join(globals.text(var));
        TlsFiles { ca: file(Var::SslCa), certificate: file(Var::SslCert), key: file(Var::SslKey) }
    }
}

impl Keys {
    /// Reads the files in `dir`, making those that are missing, or those that variables name. Where these cannot be read, TLS is
    /// made of those in `dir`, so that a wrong name leaves no server without TLS.
    pub fn load_or_create(dir: &Path, globals: &Globals) -> Result<Keys, Failure> {
        if !dir.join("server-cert.pem").exists() {
            create_certificates(dir)?;
        }
        if !dir.join("private_key.pem").exists() {
            create_rsa_pair(dir)?;
        }
        let private = std::fs::read_to_string(dir.join("private_key.pem"))?;
        let rsa = rsa::RsaPrivateKey::from_pkcs8_pem(&private).or_else(|_| rsa::RsaPrivateKey::from_pkcs1_pem(&private))?;
        let public_key_pem = rsa.to_public_key().to_public_key_pem(LineEnding::LF)?;
        let tls = tls_config(&TlsFiles::of(dir, globals)).or_else(|error| {
            tracing::error!("cannot use the files of ssl_ca, ssl_cert and ssl_key: {error}");
            tls_config(&TlsFiles::made_in(dir))
        });
        Ok(Keys { tls: RwLock::new(Arc::new(tls?)), dir: dir.to_path_buf(), rsa, public_key_pem })
    }

    /// What new connections use.
    pub fn tls(&self) -> Arc<rustls::ServerConfig> {
        self.tls.read().clone()
    }

    /// ALTER INSTANCE RELOAD TLS: the files that variables name, as they are now. If they cannot be used, nothing changes.
    pub fn reload(&self, globals: &Globals) -> Result<(), String> {
        let config = tls_config(&TlsFiles::of(&self.dir, globals)).map_err(|error| error.to_string())?;
        *self.tls.write() = Arc::new(config);
        Ok(())
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

fn tls_config(files: &TlsFiles) -> Result<rustls::ServerConfig, Failure> {
    let certificates = CertificateDer::pem_file_iter(&files.certificate)?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(&files.key)?;
    let mut roots = rustls::RootCertStore::empty();
    for root in CertificateDer::pem_file_iter(&files.ca)? {
        roots.add(root?)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let clients =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).allow_unauthenticated().build()?;
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS12, &rustls::version::TLS13])?
        .with_client_cert_verifier(clients)
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
    let client_key = rcgen::KeyPair::generate()?;
    let mut client = rcgen::CertificateParams::new(Vec::<String>::new())?;
    client.distinguished_name.push(rcgen::DnType::CommonName, "Vaquita_Auto_Generated_Client_Certificate");
    let client_certificate = client.signed_by(&client_key, &issuer)?;
    write(dir, "ca.pem", &ca_certificate.pem(), 0o644)?;
    write(dir, "ca-key.pem", &ca_key.serialize_pem(), 0o600)?;
    write(dir, "client-key.pem", &client_key.serialize_pem(), 0o600)?;
    write(dir, "client-cert.pem", &client_certificate.pem(), 0o644)?;
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
    (version, openssl_name(suite.unwrap_or_default()))
}

/// TLS 1.3: `TLS_AES_256_GCM_SHA384`; before: `ECDHE-RSA-AES256-GCM-SHA384`.
fn openssl_name(suite: &str) -> String {
    if let Some(name) = suite.strip_prefix("TLS13_") {
        return format!("TLS_{name}");
    }
    let name = suite.trim_start_matches("TLS_").replace("_WITH_", "_").replace("AES_", "AES");
    name.replace("POLY1305_SHA256", "POLY1305").replace('_', "-")
}

/// What REQUIRE of accounts asks of a connection.
pub fn peer(tls: &rustls::ServerConnection) -> TlsPeer {
    let certificate = tls.peer_certificates().and_then(|chain| certificate::names(chain.first()?));
    TlsPeer { cipher: names(tls).1, certificate }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_have_openssls_names() {
        for (suite, name) in [
            ("TLS13_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"),
            ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
            ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ] {
            assert_eq!(openssl_name(suite), name);
        }
    }
}
