//! Files of rows: LOAD DATA reads them, SELECT … INTO OUTFILE and DUMPFILE write them.
//!
//! `FileFormat` is the FIELDS and LINES clauses with their defaults, `reader` cuts a stream of bytes into fields,
//! `load` inserts them, `chunks` several
//! threads at once where it can, `writer` is the sink of a query's rows. Which files may be touched is the session's to say;
//! nothing here opens one.

mod chunks;
mod format;
mod load;
mod reader;
mod writer;
mod xml;

pub use format::FileFormat;
pub use load::load;
pub use reader::{FileSource, Transcoded};
pub use writer::{DumpWriter, FileWriter};
