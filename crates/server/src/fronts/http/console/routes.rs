//! The console's addresses.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use maud::Markup;
use tokio::time::timeout;
use vaquita_session::clients::Client;
use vaquita_types::Result;

use super::super::account::{self, Credentials};
use super::super::limits::{BODY_BYTES_MAX, BODY_WAIT, PAGE_WAIT};
use super::super::routes::{busy, too_many};
use super::super::{HttpFront, Origin};
use super::assets;
use super::form::Form;
use super::guard::{self, Asker, asker};
use super::layout::{self, Content, failure};
use super::pages::{self, View};
use super::refusal::{Refusal, see_other};
use super::statements::Statements;

type Front = State<Arc<HttpFront>>;

pub fn routes() -> Router<Arc<HttpFront>> {
    Router::new()
        .route("/console.css", get(assets::style))
        .route("/console.js", get(assets::script))
        .route("/icon.svg", get(assets::icon))
        .route("/login", get(ask_login).post(log_in))
        .route("/logout", post(log_out))
        .route("/", page(pages::overview::show))
        .route("/statements", page(pages::statements::list))
        .route("/statements/{digest}", page(pages::digest::show).merge(page_of_form(pages::digest::analyze)))
        .route("/sessions", page(pages::sessions::list))
        .route("/sessions/{id}", page(pages::sessions::confirm))
        .route("/sessions/kill", post_to("/sessions", pages::sessions::kill))
        .route("/locks", page(pages::locks::show))
        .route("/tables", page(pages::tables::list))
        .route("/tables/{schema}/{table}", page(pages::table::show))
        .route("/storage", page(pages::storage::show))
        .route("/log", page(pages::log::show))
        .route("/work", page(pages::work::show))
        .route("/replication", page(pages::replication::show))
        .route("/backups", page(pages::backups::show))
        .route("/tuning", page(pages::tuning::show))
        .route("/settings", page(pages::settings::list))
}

/// Makes a page; errors that are of one statement stand in their places on it.
type Show = fn(&mut View<'_>) -> Result<Content>;
/// Does what a form asks for.
type Act = fn(&mut View<'_>) -> Result<()>;
type Parts = Option<Path<Vec<(String, String)>>>;

fn page(show: Show) -> MethodRouter<Arc<HttpFront>> {
    get(move |State(front): Front, Extension(origin): Extension<Origin>, parts: Parts, uri: Uri, headers: HeaderMap| async move {
        let asker = match asker(&front, &origin, &uri, &headers) {
            Ok(asker) => asker,
            Err(refusal) => return refusal.into_response(),
        };
        let query = Form::parse(uri.query().unwrap_or_default());
        answer(front, origin, asker, (uri, parts), query, show).await
    })
}

/// A page that a form asks for, because what it shows has an effect.
fn page_of_form(show: Show) -> MethodRouter<Arc<HttpFront>> {
    post(
        move |State(front): Front,
              Extension(origin): Extension<Origin>,
              parts: Parts,
              uri: Uri,
              headers: HeaderMap,
              body: Body| async move {
            match form_of_asker(&front, &origin, &uri, &headers, body).await {
                Ok((asker, form)) => answer(front, origin, asker, (uri, parts), form, show).await,
                Err(refusal) => refusal.into_response(),
            }
        },
    )
}

/// Does something, and goes to a page.
fn post_to(next: &'static str, act: Act) -> MethodRouter<Arc<HttpFront>> {
    post(move |State(front): Front, Extension(origin): Extension<Origin>, uri: Uri, headers: HeaderMap, body: Body| async move {
        let (asker, form) = match form_of_asker(&front, &origin, &uri, &headers, body).await {
            Ok(asked) => asked,
            Err(refusal) => return refusal.into_response(),
        };
        let made = in_session(&front, &origin, &asker, (next.to_string(), Vec::new()), form, move |view| match act(view) {
            Ok(()) => None,
            Err(error) => Some(framed(view, &Content::new("It did not work", failure(&error)))),
        });
        match made.await {
            Ok(None) => see_other(next),
            Ok(Some(page)) => html(StatusCode::OK, &page),
            Err(refusal) => refusal.into_response(),
        }
    })
}

async fn answer(
    front: Arc<HttpFront>,
    origin: Origin,
    asker: Asker,
    (uri, parts): (Uri, Parts),
    form: Form,
    show: Show,
) -> Response {
    let parts = parts.map_or_else(Vec::new, |Path(parts)| parts.into_iter().map(|(_, value)| value).collect());
    let place = (uri.path().to_string(), parts);
    let made = in_session(&front, &origin, &asker, place, form, move |view| {
        let content = show(view).unwrap_or_else(|error| Content::new("Error", failure(&error)));
        framed(view, &content)
    });
    match made.await {
        Ok(page) => html(StatusCode::OK, &page),
        Err(refusal) => refusal.into_response(),
    }
}

fn framed(view: &View<'_>, content: &Content) -> Markup {
    layout::page(view.login, &view.path, content)
}

/// Runs `make` on a worker, in a session of the account. What takes too long, or nobody waits for any more, is ended.
async fn in_session<T: Send + 'static>(
    front: &Arc<HttpFront>,
    origin: &Origin,
    asker: &Asker,
    (path, parts): (String, Vec<String>),
    form: Form,
    make: impl FnOnce(&mut View<'_>) -> T + Send + 'static,
) -> std::result::Result<T, Refusal> {
    let server = asker.mysql.server.clone();
    let client = Statements::client(&server, origin);
    let _ended = EndWithPage(client.clone());
    let (login, serving) = (asker.login.clone(), front.clone());
    let job = front.workers.run(move || {
        let statements = Statements::open(&server, &client, &login)?;
        let sees_all = account::sees_the_server(&server, &login.account);
        let history = sees_all.then_some(&serving.history);
        let mut view = View { statements, login: &login, path, parts, form, history };
        Ok(make(&mut view))
    });
    match timeout(PAGE_WAIT, job).await {
        Ok(Some(Ok(made))) => Ok(made),
        Ok(Some(Err(error))) => Err(Refusal::Failed(error)),
        Ok(None) => Err(Refusal::Busy),
        Err(_) => Err(Refusal::TookTooLong),
    }
}

/// Ends the statement of a page that is given up.
struct EndWithPage(Arc<Client>);

impl Drop for EndWithPage {
    fn drop(&mut self) {
        self.0.kill(true);
    }
}

async fn form_of(body: Body) -> std::result::Result<Form, Refusal> {
    let bytes = match timeout(BODY_WAIT, axum::body::to_bytes(body, BODY_BYTES_MAX)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => return Err(Refusal::TooLarge),
        Err(_) => return Err(Refusal::TooSlow),
    };
    Ok(Form::parse(&String::from_utf8_lossy(&bytes)))
}

async fn form_of_asker(
    front: &HttpFront,
    origin: &Origin,
    uri: &Uri,
    headers: &HeaderMap,
    body: Body,
) -> std::result::Result<(Asker, Form), Refusal> {
    let asker = asker(front, origin, uri, headers)?;
    let form = form_of(body).await?;
    guard::check_form(headers, &form, Some(&asker.login))?;
    Ok((asker, form))
}

fn html(status: StatusCode, page: &Markup) -> Response {
    let headers = [(CONTENT_TYPE, "text/html; charset=utf-8"), (CACHE_CONTROL, "no-store")];
    (status, headers, page.0.clone()).into_response()
}

async fn ask_login(State(front): Front, Extension(origin): Extension<Origin>, uri: Uri, headers: HeaderMap) -> Response {
    if let Err(refusal) = guard::reachable(&front, &origin, &uri, &headers) {
        return refusal.into_response();
    }
    html(StatusCode::OK, &layout::login_page(None, ""))
}

async fn log_in(State(front): Front, Extension(origin): Extension<Origin>, uri: Uri, headers: HeaderMap, body: Body) -> Response {
    let mysql = match guard::reachable(&front, &origin, &uri, &headers) {
        Ok(mysql) => mysql,
        Err(refusal) => return refusal.into_response(),
    };
    let address = origin.peer.ip();
    let form = match form_of(body).await {
        Ok(form) => form,
        Err(refusal) => return refusal.into_response(),
    };
    if let Err(refusal) = guard::check_form(&headers, &form, None) {
        return refusal.into_response();
    }
    if !front.attempts.admit(address) {
        return too_many();
    }
    let user = form.get("user").to_string();
    let credentials = Credentials { user: user.clone(), password: form.get("password").as_bytes().to_vec() };
    let (server, from) = (mysql.server.clone(), origin.clone());
    match front.workers.run(move || account::check(&server, &credentials, &from)).await {
        None => busy(),
        Some(None) => {
            let message = "Access denied: this account does not exist, may not log in from here, or has another password.";
            html(StatusCode::UNAUTHORIZED, &layout::login_page(Some(message), &user))
        }
        Some(Some(account)) => {
            front.attempts.succeeded(address);
            // Whoever logs in again leaves what they had.
            if let Ok(before) = asker(&front, &origin, &uri, &headers) {
                front.logins.end(&before.secret);
            }
            let secret = front.logins.begin(account, &user, &origin);
            front.history.wake();
            (guard::set_cookie(&front, &origin, Some(&secret)), see_other("/")).into_response()
        }
    }
}

async fn log_out(
    State(front): Front,
    Extension(origin): Extension<Origin>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response {
    match form_of_asker(&front, &origin, &uri, &headers, body).await {
        Ok((asker, _)) => {
            front.logins.end(&asker.secret);
            (guard::set_cookie(&front, &origin, None), see_other("/login")).into_response()
        }
        Err(refusal) => refusal.into_response(),
    }
}

/// What every answer of the front tells browsers.
pub async fn with_security_headers(mut response: Response) -> Response {
    const HEADERS: [(&str, &str); 6] = [
        (
            "content-security-policy",
            "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        ),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        // Not no-referrer, with which browsers send no Origin with forms.
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ];
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
