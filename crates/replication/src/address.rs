//! Where a server is and who we are there: `mysql://user:password@host:port`, `mysql://user@/path/of.sock`, or the file that
//! `mysql --defaults-file=` reads.
//!
//! What is special in a URL is written as `%XX`. A password that is not in the URL is taken from `MYSQL_PWD` by the caller.

use std::path::Path;
use std::time::Duration;

use crate::connection::Target;

/// No statement of a copy is silent for so long.
const SILENCE_MAX: Duration = Duration::from_secs(3600);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// A path of a Unix socket begins with a slash.
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: String,
}

impl Address {
    pub fn parse(text: &str) -> std::result::Result<Address, String> {
        let rest = text.strip_prefix("mysql://").ok_or("an address is mysql://user[:password]@host[:port]")?;
        let (login, place) = rest.rsplit_once('@').unwrap_or(("root", rest));
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let (user, password) = (unescape(user)?, unescape(password)?);
        if place.starts_with('/') {
            return Ok(Address { host: unescape(place)?, port: 0, user, password });
        }
        let place = place.trim_end_matches('/');
        let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':').unwrap_or("3306")),
            None => place.split_once(':').unwrap_or((place, "3306")),
        };
        let port = port.parse().map_err(|_| format!("'{port}' is no port"))?;
        if host.is_empty() {
            return Err("the address has no host".to_string());
        }
        Ok(Address { host: unescape(host)?, port, user, password })
    }

    pub fn target(&self) -> Target {
        Target::new((&self.host, self.port), &self.user, &self.password, SILENCE_MAX)
    }
}

impl std::fmt::Display for Address {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.host.starts_with('/') {
            true => write!(f, "{}@{}", self.user, self.host),
            false => write!(f, "{}@{}:{}", self.user, self.host, self.port),
        }
    }
}

fn unescape(text: &str) -> std::result::Result<String, String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut digit = || bytes.next().and_then(|digit| char::from(digit).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err("a % in an address is followed by two hexadecimal digits".to_string());
        };
        out.push((high * 16 + low) as u8);
    }
    String::from_utf8(out).map_err(|_| "an address is UTF-8".to_string())
}

/// The section `[client]` of an option file. The socket is preferred, since it needs neither TLS nor a port.
pub fn read_defaults(path: &Path) -> Result<Address, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let mut address = Address { host: "127.0.0.1".into(), port: 3306, user: "root".into(), password: String::new() };
    let mut inside = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line == "[client]";
        }
        let Some((key, value)) = line.split_once('=').filter(|_| inside && !line.starts_with('#')) else { continue };
        let value = unquoted(value.trim());
        match key.trim() {
            "user" => address.user = value,
            "password" => address.password = value,
            "host" => address.host = value,
            "port" => address.port = value.parse().map_err(|_| format!("{}: '{value}' is no port", path.display()))?,
            "socket" if Path::new(&value).exists() => address.host = value,
            _ => {}
        }
    }
    Ok(address)
}

fn unquoted(value: &str) -> String {
    let inner = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.map_or_else(|| value.to_string(), |inner| inner.replace("\\\\", "\\"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let read = |text: &str| Address::parse(text).map(|a| (a.user, a.password, a.host, a.port));
        let of = |user: &str, password: &str, host: &str, port| Ok((user.into(), password.into(), host.into(), port));
        assert_eq!(read("mysql://root@db"), of("root", "", "db", 3306));
        assert_eq!(read("mysql://a:p%40ss@10.0.0.1:3307"), of("a", "p@ss", "10.0.0.1", 3307));
        assert_eq!(read("mysql://a@[::1]:3307"), of("a", "", "::1", 3307));
        assert_eq!(read("mysql://a@/run/v.sock"), of("a", "", "/run/v.sock", 0));
        assert!(read("db:3306").is_err() && read("mysql://a@db:x").is_err() && read("mysql://a%4@db").is_err());
    }
}
