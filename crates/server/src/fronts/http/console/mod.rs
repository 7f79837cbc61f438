//! The console: pages that show what the server does, and the few things that one does about it.
//!
//! 1. `guard` says who asks: a cookie names a login (`logins`), and a POST must come from a page of ours.
//! 2. A page (`pages`) is a function that runs statements (`statements`) as the account of the login and makes HTML of their rows. What the
//!    account may not see is an error of MySQL's in its place on the page.
//! 3. `layout` puts the frame around it. The script only fetches a page again that says how often, and filters rows that are there.
//!
//! * CONSOLE-1: what a page shows it has from SQL; the charts of the overview are numbers of `/metrics` over time (`history`), and as these for
//!   accounts with PROCESS.
//! * CONSOLE-2: nothing is changed by a GET.
//! * CONSOLE-3: texts of the server are escaped by `maud`; no page has a script or style of its own, and nothing comes from elsewhere (the
//!   Content-Security-Policy says so to the browser).
//!
//! It never knows packets, tables of the server or privileges.

mod assets;
mod chart;
mod form;
mod graph;
mod guard;
mod layout;
mod logins;
mod pages;
mod refusal;
mod routes;
mod shown;
mod statements;

pub use logins::Logins;
pub use routes::{routes, with_security_headers};
