//! The stored form of JSON columns: the binary form of `vaquita_types::json`.

use vaquita_types::json::Json;
use vaquita_types::{Error, Result};

pub(crate) fn encode(_json: &Json, _out: &mut Vec<u8>) -> Result<()> {
    Err(Error::unsupported("storing JSON"))
}

pub(crate) fn decode(_stored: &[u8]) -> Result<Json> {
    Err(Error::unsupported("storing JSON"))
}
