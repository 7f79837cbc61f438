//! Why a request gets no page.

use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use vaquita_types::Error;

use super::super::routes::busy;

pub enum Refusal {
    /// The server starts or stops.
    NotReady,
    /// A password must not cross this connection in clear; this is where it may.
    UseHttps(String),
    LogIn,
    NoForm,
    /// The form comes from a page of somebody else's.
    Foreign,
    /// It has no token of this login.
    TooOld,
    TooLarge,
    TooSlow,
    Busy,
    /// The page took too long to make.
    TookTooLong,
    /// It has no session.
    Failed(Error),
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Refusal::NotReady => (StatusCode::SERVICE_UNAVAILABLE, "The server starts or stops.\n").into_response(),
            Refusal::UseHttps(to) => (StatusCode::PERMANENT_REDIRECT, [(LOCATION, to)], "Use https.\n").into_response(),
            Refusal::LogIn => see_other("/login"),
            Refusal::NoForm => (StatusCode::FORBIDDEN, "This is no form.\n").into_response(),
            Refusal::Foreign => (StatusCode::FORBIDDEN, "The form comes from another site.\n").into_response(),
            Refusal::TooOld => (StatusCode::FORBIDDEN, "The form is too old. Load the page again.\n").into_response(),
            Refusal::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "The form is too large.\n").into_response(),
            Refusal::TooSlow => (StatusCode::REQUEST_TIMEOUT, "The form took too long.\n").into_response(),
            Refusal::Busy => busy(),
            Refusal::TookTooLong => (StatusCode::GATEWAY_TIMEOUT, "The page took too long.\n").into_response(),
            Refusal::Failed(error) => {
                (StatusCode::SERVICE_UNAVAILABLE, format!("Error {}: {}\n", error.code(), error.message())).into_response()
            }
        }
    }
}

pub fn see_other(path: &str) -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, path.to_string())]).into_response()
}
