//! REQUIRE of an account: what its connection must be, beside its password.
//!
//! | written | a login needs |
//! |---|---|
//! | NONE | nothing |
//! | SSL | TLS |
//! | X509 | TLS with a certificate of the client. The handshake has verified it: a client with one that does not lead to `ssl_ca` has no connection |
//! | CIPHER | TLS with exactly this cipher suite, by OpenSSL's name |
//! | SUBJECT, ISSUER | the same as X509, and the certificate has exactly this name, as OpenSSL writes names in one line: `/C=DE/O=a b/CN=x` |

use vaquita_parser::ast::Require;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Requirement {
    #[default]
    None,
    Tls,
    Certificate,
    Specified(Specified),
}

/// What was written of CIPHER, ISSUER and SUBJECT.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Specified {
    pub cipher: Option<Vec<u8>>,
    pub issuer: Option<Vec<u8>>,
    pub subject: Option<Vec<u8>>,
}

/// A connection over TLS.
#[derive(Clone, Debug, Default)]
pub struct TlsPeer {
    /// OpenSSL's name of the cipher suite.
    pub cipher: String,
    pub certificate: Option<PeerCertificate>,
}

/// The names in a verified certificate, in one line each.
#[derive(Clone, Debug, Default)]
pub struct PeerCertificate {
    pub issuer: String,
    pub subject: String,
}

impl Requirement {
    pub fn of(require: &Require) -> Requirement {
        match require {
            Require::None => Requirement::None,
            Require::Ssl => Requirement::Tls,
            Require::X509 => Requirement::Certificate,
            Require::Specific { subject, issuer, cipher } => {
                let [cipher, issuer, subject] = [cipher, issuer, subject].map(Clone::clone);
                Requirement::Specified(Specified { cipher, issuer, subject })
            }
        }
    }

    /// Whether a connection may log in; `None`: it does not use TLS.
    pub fn is_met(&self, peer: Option<&TlsPeer>) -> bool {
        let Some(peer) = peer else { return *self == Requirement::None };
        match self {
            Requirement::None | Requirement::Tls => true,
            Requirement::Certificate => peer.certificate.is_some(),
            Requirement::Specified(wanted) => wanted.is_met(peer),
        }
    }

    /// As SHOW CREATE USER has it behind REQUIRE.
    pub fn text(&self) -> String {
        let Requirement::Specified(wanted) = self else {
            return match self {
                Requirement::Tls => "SSL",
                Requirement::Certificate => "X509",
                _ => "NONE",
            }
            .to_string();
        };
        let quoted = |text: &[u8]| String::from_utf8_lossy(text).replace('\\', "\\\\").replace('\'', "\\'");
        let words = [("SUBJECT", &wanted.subject), ("ISSUER", &wanted.issuer), ("CIPHER", &wanted.cipher)];
        let words = words.iter().filter_map(|(word, text)| text.as_ref().map(|text| format!("{word} '{}'", quoted(text))));
        words.collect::<Vec<_>>().join(" ")
    }

    /// The columns `ssl_type`, `ssl_cipher`, `x509_issuer` and `x509_subject` of mysql.user.
    pub fn columns(&self) -> (&'static str, [Vec<u8>; 3]) {
        match self {
            Requirement::None => ("", Default::default()),
            Requirement::Tls => ("ANY", Default::default()),
            Requirement::Certificate => ("X509", Default::default()),
            Requirement::Specified(Specified { cipher, issuer, subject }) => {
                ("SPECIFIED", [cipher, issuer, subject].map(|text| text.clone().unwrap_or_default()))
            }
        }
    }
}

impl Specified {
    fn is_met(&self, peer: &TlsPeer) -> bool {
        let is = |wanted: &Option<Vec<u8>>, has: &str| wanted.as_ref().is_none_or(|wanted| wanted == has.as_bytes());
        let has_names = match &peer.certificate {
            Some(names) => is(&self.issuer, &names.issuer) && is(&self.subject, &names.subject),
            None => self.issuer.is_none() && self.subject.is_none(),
        };
        is(&self.cipher, &peer.cipher) && has_names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specified(cipher: Option<&str>, issuer: Option<&str>, subject: Option<&str>) -> Requirement {
        let [cipher, issuer, subject] = [cipher, issuer, subject].map(|text| text.map(|text| text.as_bytes().to_vec()));
        Requirement::Specified(Specified { cipher, issuer, subject })
    }

    #[test]
    fn logins_need_what_is_required() {
        let bare = TlsPeer { cipher: "A".into(), certificate: None };
        let names = PeerCertificate { issuer: "/CN=i".into(), subject: "/CN=s".into() };
        let known = TlsPeer { certificate: Some(names), ..bare.clone() };
        let rows = [
            (Requirement::None, [true, true, true]),
            (Requirement::Tls, [false, true, true]),
            (Requirement::Certificate, [false, false, true]),
            (specified(Some("A"), None, None), [false, true, true]),
            (specified(Some("B"), None, None), [false, false, false]),
            (specified(None, Some("/CN=i"), None), [false, false, true]),
            (specified(None, Some("/CN=i"), Some("/CN=s")), [false, false, true]),
            (specified(None, Some("/CN=i"), Some("/CN=")), [false, false, false]),
            (specified(None, None, Some("")), [false, false, false]),
            (specified(Some("B"), Some("/CN=i"), Some("/CN=s")), [false, false, false]),
        ];
        for (requirement, met) in rows {
            assert_eq!([None, Some(&bare), Some(&known)].map(|peer| requirement.is_met(peer)), met, "{requirement:?}");
        }
    }
}
