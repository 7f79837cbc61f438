//! The table of built-in functions.
//!
//! A family file (`func/string.rs`, `func/date.rs` …) holds `FuncDef`s: the name, the
//! number of arguments, how the result is typed, and how it is computed. Operators
//! such as `+` are functions named by their token. What needs the session goes through `Env`.
//!
//! Names and arguments where SQL has syntax of its own (a unit is a literal string such as `'DAY_HOUR'`):
//! `+ - * / DIV % & | ^ << >> ~`, `NEG(x)`, `XOR(a,b)`, `IS TRUE(x)`, `IS FALSE(x)`,
//! `LIKE(x, pattern[, escape])`, `REGEXP(x, pattern)`, `SOUNDS LIKE` is a comparison of SOUNDEX,
//! `FULL YEAR(x)` (what a YEAR column takes x for), `DATE_ADD(date, value, unit)`, `DATE_SUB(…)`, `EXTRACT(unit, x)`, `TIMESTAMPADD(unit, n, date)`,
//! `TIMESTAMPDIFF(unit, a, b)`, `GET_FORMAT('DATE', 'ISO')`, `TRIM(x[, remove])`, `LTRIM(…)`, `RTRIM(…)`,
//! `CHAR(n, …)` gives a binary string, `MEMBER OF(value, array)`, `WEIGHT_STRING(x[, 'CHAR'|'BINARY', n])`.
//! CASE, COLLATE, CONVERT USING and CAST are built by `typing`.

// `FuncDef::resolve` may add arguments; most functions do not and still have its signature.
#![allow(clippy::ptr_arg)]

mod aes;
mod args;
mod arith;
mod array_cast;
mod ask_session;
mod constant;
mod control;
mod crypto;
mod date;
mod date_arith;
mod date_format;
mod digest;
mod encode;
mod exact;
mod json;
mod json_schema;
pub(crate) mod json_value;
mod logic;
mod names;
mod native;
mod net;
mod numeric;
pub(crate) mod period;
mod regexp;
mod replication;
mod roles;
mod search;
mod spatial;
mod string;
mod vector;
mod xml;

use crate::function::{FuncCall, FuncDef, FuncType};
pub use arith::{DIVISION_DECIMALS, retype_difference, retype_quotient};
pub use array_cast::{CAST_ARRAY, wanted_elements};
pub use constant::json_warning;
pub use control::bits_as_number;
pub use date_arith::{TIME_FROM_TODAY, interval_of};
pub use logic::as_bits;
pub use names::retype as retype_names;
pub use names::retype_text;
pub use native::is_of_dictionary;
pub use search::{is_escape, like_collation};
use std::collections::HashMap;
use std::sync::LazyLock;

/// The functions of all families, by name.
static TABLE: LazyLock<HashMap<&'static str, &'static FuncDef>> = LazyLock::new(|| {
    let families: &[&'static [FuncDef]] = &[
        arith::FUNCTIONS,
        array_cast::FUNCTIONS,
        constant::FUNCTIONS,
        logic::FUNCTIONS,
        json::FUNCTIONS,
        json_schema::FUNCTIONS,
        json_value::FUNCTIONS,
        digest::FUNCTIONS,
        control::FUNCTIONS,
        numeric::FUNCTIONS,
        string::FUNCTIONS,
        search::FUNCTIONS,
        encode::FUNCTIONS,
        date::FUNCTIONS,
        date_arith::FUNCTIONS,
        date_format::FUNCTIONS,
        regexp::FUNCTIONS,
        crypto::FUNCTIONS,
        net::FUNCTIONS,
        ask_session::FUNCTIONS,
        aes::FUNCTIONS,
        xml::FUNCTIONS,
        roles::FUNCTIONS,
        replication::FUNCTIONS,
        vector::FUNCTIONS,
    ];
    families.iter().chain(&spatial::FAMILIES).flat_map(|family| family.iter()).map(|def| (def.name, def)).collect()
});

/// The operator that has a name in place of a token, which `-` already is.
pub const NEGATION: &str = "NEG";

/// A built-in function by name in any case, or an operator by its token.
pub fn lookup(name: &str) -> Option<&'static FuncDef> {
    TABLE.get(name).copied().or_else(|| TABLE.get(name.to_ascii_uppercase().as_str()).copied())
}

/// Every built-in function and operator, by name: for tests that leave none out.
pub fn all() -> Vec<&'static FuncDef> {
    let mut all: Vec<_> = TABLE.values().copied().collect();
    all.sort_unstable_by_key(|def| def.name);
    all
}

/// Functions whose text is NULL, outside of strict mode, only if an argument is.
pub const NULL_IF_ARGUMENTS_ARE: [&str; 35] = [
    "CHAR",
    "CONCAT",
    "CONCAT_WS",
    "EXPORT_SET",
    "FORMAT",
    "HEX",
    "INSERT",
    "LEFT",
    "LOWER",
    "LCASE",
    "LPAD",
    "LTRIM",
    "MID",
    "QUOTE",
    "REPEAT",
    "REPLACE",
    "REVERSE",
    "RIGHT",
    "RPAD",
    "RTRIM",
    "SOUNDEX",
    "SPACE",
    "SUBSTRING",
    "SUBSTR",
    "SUBSTRING_INDEX",
    "TO_BASE64",
    "TRIM",
    "TRIM LEADING",
    "TRIM TRAILING",
    "UPPER",
    "UCASE",
    "COMPRESS",
    "AES_ENCRYPT",
    "FORMAT_BYTES",
    "UUID",
];
