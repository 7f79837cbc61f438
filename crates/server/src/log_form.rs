//! How lines of the server's own log are written: as text, or as MySQL's `log_sink_json` writes them, if `log_error_services` names that.
//!
//! ```text
//! { "prio" : 1, "err_code" : 0, "source_line" : 12, "source_file" : "serve.rs", "msg" : "…", "time" : "2026-11-27T08:59:43.971388Z",
//!   "ts" : 1795769983971, "thread" : "events", "SQL_state" : "HY000", "subsystem" : "Server", "label" : "Error" }
//! ```
//! Our lines have no numbers: `err_code` is 0, as in performance_schema.error_log.

use std::fmt::{self, Write as _};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::{Format, Full, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;
use vaquita_session::log_lines;
use vaquita_session::logs::audit::put_json_string;
use vaquita_session::logs::format::put_time;
use vaquita_storage::now_us;

#[derive(Default)]
pub struct Form {
    text: Format<Full>,
}

impl<S, N> FormatEvent<S, N> for Form
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        if log_lines::is_json() {
            return writer.write_str(&json(event));
        }
        self.text.format_event(context, writer, event)
    }
}

/// MySQL's name of a level, and its number.
pub fn priority(level: Level) -> (&'static str, u8) {
    match level {
        Level::ERROR => ("Error", 1),
        Level::WARN => ("Warning", 2),
        Level::INFO => ("System", 0),
        _ => ("Note", 3),
    }
}

/// The message and, behind it, other fields.
pub fn text(event: &Event<'_>) -> String {
    let mut text = Text(String::new());
    event.record(&mut text);
    text.0
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.0, "{value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

fn json(event: &Event<'_>) -> String {
    const MICROS_PER_MILLI: u64 = 1_000;
    let about = event.metadata();
    let (label, prio) = priority(*about.level());
    let at_us = now_us();
    let quoted = |text: &str| {
        let mut out = Vec::new();
        put_json_string(&mut out, text);
        String::from_utf8_lossy(&out).into_owned()
    };
    let mut time = Vec::new();
    put_time(&mut time, at_us, false);
    let file = about.file().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    let thread = std::thread::current();
    format!(
        "{{ \"prio\" : {prio}, \"err_code\" : 0, \"source_line\" : {}, \"source_file\" : {}, \"msg\" : {}, \"time\" : \"{}\", \"ts\" : {}, \
         \"thread\" : {}, \"SQL_state\" : \"HY000\", \"subsystem\" : \"Server\", \"label\" : \"{label}\" }}\n",
        about.line().unwrap_or_default(),
        quoted(file),
        quoted(&text(event)),
        String::from_utf8_lossy(&time),
        at_us / MICROS_PER_MILLI,
        quoted(thread.name().unwrap_or_default()),
    )
}
