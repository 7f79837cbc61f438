//! The names in a client's certificate, as accounts are compared with them (REQUIRE SUBJECT, ISSUER).
//!
//! The handshake has verified the certificate; here only its two names are found (DER, X.690; RFC 5280, section 4.1):
//!
//! | element | what |
//! |---|---|
//! | SEQUENCE | the certificate |
//! | · SEQUENCE | what is signed: [0] version (may be left out), serial number, algorithm, *issuer*, validity, *subject*, … |
//! | name: SEQUENCE of SET of SEQUENCE | of each attribute its OID and its text |
//!
//! A name's text is `X509_NAME_oneline`'s, which MySQL compares with: `/C=DE/O=a b/CN=x`, bytes that are not printable as `\xC3`.

use vaquita_session::accounts::PeerCertificate;

const INTEGER: u8 = 0x02;
const OID: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const VERSION: u8 = 0xa0;

/// OpenSSL's short names of attributes; others are written as numbers.
const SHORT_NAMES: [(&str, &str); 22] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.4", "SN"),
    ("2.5.4.5", "serialNumber"),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.9", "street"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("2.5.4.12", "title"),
    ("2.5.4.13", "description"),
    ("2.5.4.15", "businessCategory"),
    ("2.5.4.17", "postalCode"),
    ("2.5.4.41", "name"),
    ("2.5.4.42", "GN"),
    ("2.5.4.43", "initials"),
    ("2.5.4.44", "generationQualifier"),
    ("2.5.4.46", "dnQualifier"),
    ("2.5.4.65", "pseudonym"),
    ("1.2.840.113549.1.9.1", "emailAddress"),
    ("0.9.2342.19200300.100.1.1", "UID"),
    ("0.9.2342.19200300.100.1.25", "DC"),
];

/// Elements one behind the other.
struct Elements<'a>(&'a [u8]);

impl<'a> Elements<'a> {
    /// The next one's tag and content.
    fn any(&mut self) -> Option<(u8, &'a [u8])> {
        let (tag, rest) = self.0.split_first()?;
        let (first, rest) = rest.split_first()?;
        let (len, rest) = match *first {
            short @ 0..0x80 => (usize::from(short), rest),
            long => {
                let (len, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
                // No certificate that a handshake takes in has lengths of more than four bytes.
                let wide = len.len() <= 4;
                (wide.then(|| len.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))?, rest)
            }
        };
        let (content, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        Some((*tag, content))
    }

    fn of(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.any().filter(|(found, _)| *found == tag).map(|(_, content)| content)
    }
}

/// `None`: it is no certificate.
pub fn names(certificate: &[u8]) -> Option<PeerCertificate> {
    let certificate = Elements(certificate).of(SEQUENCE)?;
    let mut signed = Elements(Elements(certificate).of(SEQUENCE)?);
    if signed.0.first() == Some(&VERSION) {
        signed.any()?;
    }
    signed.of(INTEGER)?;
    signed.of(SEQUENCE)?;
    let issuer = one_line(signed.of(SEQUENCE)?)?;
    signed.of(SEQUENCE)?;
    Some(PeerCertificate { issuer, subject: one_line(signed.of(SEQUENCE)?)? })
}

fn one_line(name: &[u8]) -> Option<String> {
    let mut text = String::new();
    let mut sets = Elements(name);
    while !sets.0.is_empty() {
        let mut attributes = Elements(sets.of(SET)?);
        while !attributes.0.is_empty() {
            let mut attribute = Elements(attributes.of(SEQUENCE)?);
            let oid = dotted(attribute.of(OID)?)?;
            let short = SHORT_NAMES.iter().find(|(number, _)| *number == oid).map_or(oid.as_str(), |(_, short)| short);
            text.push_str(&format!("/{short}="));
            for byte in attribute.any()?.1 {
                match byte {
                    b' '..=b'~' => text.push(char::from(*byte)),
                    other => text.push_str(&format!("\\x{other:02X}")),
                }
            }
        }
    }
    Some(text)
}

/// `2.5.4.3`: the first number holds two, each is in groups of seven bits.
fn dotted(oid: &[u8]) -> Option<String> {
    let mut numbers = Vec::new();
    let mut number = 0u64;
    for byte in oid {
        number = number.checked_mul(128)?.checked_add(u64::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            numbers.push(number);
            number = 0;
        }
    }
    let (first, rest) = numbers.split_first()?;
    let root = (*first / 40).min(2);
    let all = [root, first - root * 40].into_iter().chain(rest.iter().copied());
    Some(all.map(|number| number.to_string()).collect::<Vec<_>>().join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate() -> Vec<u8> {
        let key = rcgen::KeyPair::generate().expect("a key");
        let mut ca = rcgen::CertificateParams::new(Vec::<String>::new()).expect("parameters");
        ca.distinguished_name = rcgen::DistinguishedName::new();
        ca.distinguished_name.push(rcgen::DnType::CountryName, "DE");
        ca.distinguished_name.push(rcgen::DnType::CommonName, "the CA");
        let issuer = rcgen::Issuer::new(ca, &key);
        let mut client = rcgen::CertificateParams::new(Vec::<String>::new()).expect("parameters");
        client.distinguished_name = rcgen::DistinguishedName::new();
        client.distinguished_name.push(rcgen::DnType::OrganizationName, "a/b c");
        client.distinguished_name.push(rcgen::DnType::CustomDnType(vec![1, 2, 840, 113_549, 1, 9, 1]), "x@y");
        client.distinguished_name.push(rcgen::DnType::CustomDnType(vec![2, 999, 3]), "z");
        client.distinguished_name.push(rcgen::DnType::CommonName, "ä");
        client.signed_by(&key, &issuer).expect("a certificate").der().to_vec()
    }

    #[test]
    fn names_are_openssls() {
        let names = names(&certificate()).expect("names");
        assert_eq!(names.issuer, "/C=DE/CN=the CA");
        assert_eq!(names.subject, "/O=a/b c/emailAddress=x@y/2.999.3=z/CN=\\xC3\\xA4");
    }

    #[test]
    fn what_is_cut_or_changed_is_no_panic() {
        let whole = certificate();
        for end in 0..whole.len() {
            assert!(names(&whole[..end]).is_none());
            let mut changed = whole.clone();
            changed[end] ^= 0xff;
            let _ = names(&changed);
        }
    }
}
