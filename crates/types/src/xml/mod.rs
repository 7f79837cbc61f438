//! XML documents, and the part of XPath 1.0 that EXTRACTVALUE and UPDATEXML know.
//!
//! `Document` is a list of nodes in the order of the text; `Path` is a parsed expression; `Evaluation` asks one of the other. Example:
//! of `<a><b>x</b><b>y</b></a>`, `/a/b[2]` selects the fifth node, `b`, whose text is the sixth, `y`.
//!
//! What MySQL accepts as XML is less and more than the standard: entities are not read, elements end with a name of the right length.
//! What it accepts as XPath is its own too: see `path`. Bytes are those of a charset that has ASCII in it.

mod document;
mod evaluate;
mod expr;
mod path;
mod scalar;
mod select;
mod token;

pub use document::{Document, Node, NodeKind, XmlError};
pub use evaluate::{Evaluation, Host};
pub use path::Path;
pub use scalar::Scalar;

#[cfg(test)]
mod tests;
