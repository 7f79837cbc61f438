//! Which request is answered by what, and who may ask it.
//!
//! | path | who | answer |
//! |---|---|---|
//! | `/healthz` | everybody | the process answers |
//! | `/readyz` | everybody | 200 while statements run, else 503 |
//! | all others | who is logged in, and `/login` | the console |
//! | `/metrics` | everybody on this machine, if nobody else can connect; else HTTP Basic with an account that has PROCESS | metrics |

use std::sync::Arc;

use axum::Router;
use axum::extract::{Extension, State};
use axum::http::header::{ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HOST, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::account::{self, Credentials};
use super::limits::{ATTEMPTS_WITHIN, COLLECT_WAIT};
use super::metrics::Format;
use super::{HttpFront, Origin, console};

pub type Front = State<Arc<HttpFront>>;

pub fn router(front: Arc<HttpFront>) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .merge(console::routes())
        .fallback(|| async { (StatusCode::NOT_FOUND, "There is nothing here.\n") })
        .layer(axum::middleware::map_response(console::with_security_headers))
        .with_state(front)
}

async fn ready(State(front): Front) -> Response {
    match front.server() {
        Some(_) => "ready\n".into_response(),
        None if front.front.get().is_some() => (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response(),
        None => (StatusCode::SERVICE_UNAVAILABLE, "starting\n").into_response(),
    }
}

pub fn header(headers: &HeaderMap, name: impl axum::http::header::AsHeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// The request comes from this machine, nobody else could have sent it, and no browser was talked into it: pages of others may have given this
/// machine a name of their own (DNS rebinding), but not one of these.
fn is_from_here(front: &HttpFront, origin: &Origin, headers: &HeaderMap) -> bool {
    let is_passed_on = ["forwarded", "x-forwarded-for", "x-real-ip"].into_iter().any(|name| headers.contains_key(name));
    front.is_local && origin.peer.ip().is_loopback() && !is_passed_on && is_local_name(header(headers, HOST))
}

fn is_local_name(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

async fn metrics(State(front): Front, Extension(origin): Extension<Origin>, headers: HeaderMap) -> Response {
    let Some(mysql) = front.server().cloned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "The server starts or stops.\n").into_response();
    };
    if !is_from_here(&front, &origin, &headers) {
        if origin.tls.is_none() && (!origin.peer.ip().is_loopback() || mysql.requires_secure_transport()) {
            return (StatusCode::FORBIDDEN, "Use https.\n").into_response();
        }
        let address = origin.peer.ip();
        let Some(credentials) = Credentials::basic(header(&headers, AUTHORIZATION)) else { return who_are_you() };
        if !front.attempts.admit(address) {
            return too_many();
        }
        let server = mysql.server.clone();
        let checked = front.workers.run(move || {
            let account = account::check(&server, &credentials, &origin)?;
            Some(account::sees_the_server(&server, &account))
        });
        match checked.await {
            None => return busy(),
            Some(None) => return who_are_you(),
            Some(Some(sees_the_server)) => {
                front.attempts.succeeded(address);
                if !sees_the_server {
                    return (StatusCode::FORBIDDEN, "The account needs the PROCESS privilege.\n").into_response();
                }
            }
        }
    }
    let format = Format::of(header(&headers, ACCEPT));
    let collecting = front.clone();
    let collect = move || collecting.collector.collect(&mysql.server, format);
    match front.workers.run_alone(&front.collecting, COLLECT_WAIT, collect).await {
        Some(text) => ([(CONTENT_TYPE, format.content_type()), (CACHE_CONTROL, "no-store")], text).into_response(),
        None => busy(),
    }
}

pub fn busy() -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "1")], "Too many requests wait already.\n").into_response()
}

pub fn too_many() -> Response {
    let wait_s = ATTEMPTS_WITHIN.as_secs().to_string();
    (StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, wait_s)], "Too many wrong passwords. Wait a few minutes.\n").into_response()
}

fn who_are_you() -> Response {
    let headers = [(WWW_AUTHENTICATE, "Basic realm=\"Vaquita metrics\", charset=\"UTF-8\"")];
    (StatusCode::UNAUTHORIZED, headers, "An account with the PROCESS privilege is needed.\n").into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine() {
        assert!(
            ["localhost", "LocalHost:8306", "127.0.0.1:80", "127.8.9.1", "[::1]:8306", "[::1]"].into_iter().all(is_local_name)
        );
        assert!(!["", "example.org", "localhost.example.org:80", "192.0.2.1", "[2001:db8::1]:1"].into_iter().any(is_local_name));
    }
}
