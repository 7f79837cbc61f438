//! The FIELDS and LINES clauses of LOAD DATA and INTO OUTFILE ("LOAD DATA Statement", "Field and Line Handling").

use vaquita_parser as ast;
use vaquita_plan::env::Level;
use vaquita_types::errno::{ER_WRONG_FIELD_TERMINATORS, WARN_NON_ASCII_SEPARATOR_NOT_IMPLEMENTED};
use vaquita_types::{Error, Result, sql_mode};

use crate::context::SessionEnv;

/// How fields and lines are set apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFormat {
    /// FIELDS TERMINATED BY.
    pub field_end: Vec<u8>,
    /// FIELDS ENCLOSED BY.
    pub enclosed: Option<u8>,
    /// OPTIONALLY: only strings are written enclosed.
    pub optionally: bool,
    /// FIELDS ESCAPED BY.
    pub escape: Option<u8>,
    /// LINES STARTING BY.
    pub line_start: Vec<u8>,
    /// LINES TERMINATED BY.
    pub line_end: Vec<u8>,
}

impl FileFormat {
    /// Error 1083 if a quote or escape is longer than a character; warning 1638 for what is not ASCII.
    pub fn new(clauses: &ast::FileFormat, session: &dyn SessionEnv) -> Result<FileFormat> {
        let given = [
            &clauses.fields_terminated,
            &clauses.fields_enclosed,
            &clauses.fields_escaped,
            &clauses.lines_starting,
            &clauses.lines_terminated,
        ];
        let single = |text: &Option<Vec<u8>>, default: Option<u8>| match text.as_deref() {
            None => Ok(default),
            Some([]) => Ok(None),
            Some([byte]) => Ok(Some(*byte)),
            Some(_) => Err(Error::new(&ER_WRONG_FIELD_TERMINATORS, &[])),
        };
        let plain = session.sql_mode() & sql_mode::NO_BACKSLASH_ESCAPES != 0;
        let escape = single(&clauses.fields_escaped, (!plain).then_some(b'\\'))?;
        let enclosed = single(&clauses.fields_enclosed, None)?;
        if given.iter().any(|text| text.as_ref().is_some_and(|bytes| !bytes.is_ascii())) {
            session.warn(Level::Warning, Error::new(&WARN_NON_ASCII_SEPARATOR_NOT_IMPLEMENTED, &[]));
        }
        Ok(FileFormat {
            field_end: clauses.fields_terminated.clone().unwrap_or_else(|| b"\t".to_vec()),
            enclosed,
            optionally: clauses.optionally_enclosed,
            escape,
            line_start: clauses.lines_starting.clone().unwrap_or_default(),
            line_end: clauses.lines_terminated.clone().unwrap_or_else(|| b"\n".to_vec()),
        })
    }

    /// Neither ends nor quotes: fields have the width of their columns.
    pub fn is_fixed_size(&self) -> bool {
        self.field_end.is_empty() && self.enclosed.is_none()
    }
}
