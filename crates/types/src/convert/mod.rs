//! Conversions between values, as expressions do them and as columns do them.
//!
//! `number` and `temporal` turn any value into a number, a truth value or a temporal value
//! for an expression; they give the converted value and whether something was lost,
//! and the caller raises warning 1292 (`truncated_warning`). `text` is the reverse.
//! `store` turns a value into what a column holds and gives MySQL's problem if it
//! does not fit: in strict mode the statement fails with it, else the adjusted value is
//! stored and it becomes a warning. Comparing strings and sorting are not here.

mod json;
mod number;
mod store;
mod store_temporal;
mod store_text;
mod strings;
mod temporal;
mod text;

pub use json::{JsonMisfit, from_json, from_json_of_table, to_json};
pub use number::{Converted, bytes_to_decimal, bytes_to_f64, bytes_to_i64, to_bool, to_decimal, to_f64, to_i64, to_u64};
pub use store::{ProblemKind, StoreContext, StoreProblem, greatest_integer, store};
pub use temporal::{to_date, to_datetime, to_time};
pub use text::{message_text, to_text, truncated_warning, write_text};
