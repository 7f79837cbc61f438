//! Who asks, and whether a form is one of ours.

use std::sync::Arc;

use axum::http::header::{CONTENT_TYPE, COOKIE, HOST, ORIGIN, SET_COOKIE};
use axum::http::{HeaderMap, Uri};

use super::super::routes::header;
use super::super::{HttpFront, Origin};
use super::form::Form;
use super::logins::Login;
use super::refusal::Refusal;
use crate::fronts::mysql::front::Front;

/// Whoever is logged in.
pub struct Asker {
    pub mysql: Arc<Front>,
    pub login: Login,
    pub secret: String,
}

/// Who sends a request, or what is answered instead.
pub fn asker(front: &HttpFront, origin: &Origin, uri: &Uri, headers: &HeaderMap) -> Result<Asker, Refusal> {
    let mysql = reachable(front, origin, uri, headers)?;
    let name = cookie_name(front, origin);
    let secret = cookies(headers).find(|(known, _)| *known == name).map(|(_, secret)| secret.to_string());
    let login = secret.and_then(|secret| Some((front.logins.find(&mysql.server, &secret, origin)?, secret)));
    match login {
        Some((login, secret)) => Ok(Asker { mysql, login, secret }),
        None => Err(Refusal::LogIn),
    }
}

/// The server, unless it does not run statements, or a password must not cross this connection in clear.
pub fn reachable(front: &HttpFront, origin: &Origin, uri: &Uri, headers: &HeaderMap) -> Result<Arc<Front>, Refusal> {
    let mysql = front.server().ok_or(Refusal::NotReady)?;
    if origin.tls.is_none() && (!origin.peer.ip().is_loopback() || mysql.requires_secure_transport()) {
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        return Err(Refusal::UseHttps(format!("https://{}{path}", header(headers, HOST))));
    }
    Ok(mysql.clone())
}

/// A form that a page of ours has sent: the browser says so, and who is logged in has its token.
pub fn check_form(headers: &HeaderMap, form: &Form, login: Option<&Login>) -> Result<(), Refusal> {
    if !header(headers, CONTENT_TYPE).starts_with("application/x-www-form-urlencoded") {
        return Err(Refusal::NoForm);
    }
    let is_ours = match headers.get(ORIGIN) {
        Some(_) => header(headers, ORIGIN).split_once("://").is_some_and(|(_, host)| host == header(headers, HOST)),
        // Browsers send it with every form; others tell in another way.
        None => matches!(header(headers, "sec-fetch-site"), "" | "same-origin"),
    };
    if !is_ours {
        return Err(Refusal::Foreign);
    }
    match login {
        Some(login) if !login.is_form_token(form.get("token")) => Err(Refusal::TooOld),
        _ => Ok(()),
    }
}

/// Cookies are for all ports of a machine, so that they have the port in their name.
fn cookie_name(front: &HttpFront, origin: &Origin) -> String {
    // The prefix makes browsers refuse such a cookie over HTTP, or for other hosts.
    let prefix = if origin.tls.is_some() { "__Host-" } else { "" };
    format!("{prefix}vaquita-{}", front.port)
}

/// The header that gives a cookie, or takes it away.
pub fn set_cookie(front: &HttpFront, origin: &Origin, secret: Option<&str>) -> [(axum::http::HeaderName, String); 1] {
    let name = cookie_name(front, origin);
    let secure = if origin.tls.is_some() { "; Secure" } else { "" };
    let (secret, end) = secret.map_or(("", "; Max-Age=0"), |secret| (secret, ""));
    [(SET_COOKIE, format!("{name}={secret}; Path=/; HttpOnly; SameSite=Strict{secure}{end}"))]
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let texts = headers.get_all(COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='))
}
