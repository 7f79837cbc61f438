//! What clients of the HTTP front may make it keep and do.

use std::time::Duration;

/// Connections at once. Each takes a file descriptor and some kilobytes; a browser has six.
pub const CONNECTIONS_MAX: usize = 128;
/// Of them from one address that is not this machine's.
pub const CONNECTIONS_OF_ADDRESS_MAX: usize = 32;
/// A client has so long for the handshake, and for the headers of a request; an idle connection is closed after it as well.
pub const HEADERS_WAIT: Duration = Duration::from_secs(20);
/// The headers of a request; hyper counts what it has read so far.
pub const HEADERS_BYTES_MAX: usize = 64 << 10;
/// The body of a form.
pub const BODY_BYTES_MAX: usize = 64 << 10;
/// How long a form may take to arrive.
pub const BODY_WAIT: Duration = Duration::from_secs(10);
/// Threads that collect metrics and run statements.
pub const WORKERS_MAX: usize = 4;
/// Requests that wait for one of them; more are answered with 503.
pub const WAITING_MAX: usize = 64;
/// A worker that has nothing to do ends.
pub const WORKER_IDLE: Duration = Duration::from_secs(10);
/// Wrong passwords from one address within `ATTEMPTS_WITHIN`, before further ones are answered with 429.
pub const ATTEMPTS_MAX: u32 = 10;
pub const ATTEMPTS_WITHIN: Duration = Duration::from_secs(300);
/// Addresses whose wrong passwords are counted; the oldest are forgotten.
pub const ADDRESSES_MAX: usize = 1024;
/// People who are logged in at once; who was silent longest is logged out for the next.
pub const LOGINS_MAX: usize = 256;
/// A login ends after so long without a request, and in any case after `LOGIN_AGE_MAX`.
pub const LOGIN_IDLE: Duration = Duration::from_secs(30 * 60);
pub const LOGIN_AGE_MAX: Duration = Duration::from_secs(12 * 3600);
/// Rows of one statement that a page keeps.
pub const ROWS_MAX: usize = 2_000;
/// Bytes of them.
pub const ANSWER_BYTES_MAX: usize = 8 << 20;
/// What one statement of a page may take, in milliseconds: `max_execution_time`.
pub const STATEMENT_MS_MAX: u64 = 15_000;
/// A page that takes longer is given up, and what it runs is ended.
pub const PAGE_WAIT: Duration = Duration::from_secs(30);
/// Time between two samples of the history while somebody is logged in, and when nobody is.
pub const SAMPLE_EVERY: Duration = Duration::from_secs(2);
pub const SAMPLE_EVERY_UNWATCHED: Duration = Duration::from_secs(10);
/// Samples that are in memory: five minutes while somebody is logged in.
pub const RECENT_MAX: usize = 150;
/// Metrics that take longer to collect are not waited for, and nobody else begins to collect meanwhile.
pub const COLLECT_WAIT: Duration = Duration::from_secs(10);
