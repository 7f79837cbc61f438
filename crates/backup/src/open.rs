//! A place by its address.

use std::path::Path;

use crate::Result;
use crate::directory::Directory;
use crate::objects::Objects;
use crate::place::Place;
use crate::sealed::{Key, Sealed, refuse_without_key};

/// Opens a place, and makes it if `create` says so. With a key everything but names is encrypted.
pub fn open_place(address: &str, create: bool, key: Option<Key>) -> Result<Box<dyn Place>> {
    let place: Box<dyn Place> = match address.split_once("://") {
        Some((scheme, _)) if scheme != "file" => Box::new(Objects::open(address, create)?),
        _ => Box::new(Directory::open(Path::new(address.strip_prefix("file://").unwrap_or(address)), create)?),
    };
    Ok(match key {
        Some(key) => Box::new(Sealed::new(place, key)?),
        None => {
            refuse_without_key(&*place)?;
            place
        }
    })
}
