//! The files that pages need: in the binary, so that nothing is built and nothing comes from elsewhere.

use std::sync::LazyLock;

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

const STYLE: &str = include_str!("assets/console.css");
const SCRIPT: &str = include_str!("assets/console.js");
const ICON: &str = include_str!("assets/icon.svg");

/// Stands in the files' addresses, which browsers may keep for ever.
pub fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let text = [STYLE, SCRIPT, ICON].concat();
        // FNV-1a.
        let hash =
            text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        format!("{hash:016x}")
    });
    &VERSION
}

fn file(kind: &'static str, text: &'static str) -> Response {
    ([(CONTENT_TYPE, kind), (CACHE_CONTROL, "public, max-age=31536000, immutable")], text).into_response()
}

pub async fn style() -> Response {
    file("text/css; charset=utf-8", STYLE)
}

pub async fn script() -> Response {
    file("text/javascript; charset=utf-8", SCRIPT)
}

pub async fn icon() -> Response {
    file("image/svg+xml", ICON)
}
