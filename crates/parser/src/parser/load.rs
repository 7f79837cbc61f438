//! LOAD DATA and LOAD XML, and the FIELDS and LINES clauses they share with INTO OUTFILE.

use super::{Parser, Result};
use crate::ast::*;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};

impl Parser<'_> {
    pub(super) fn load(&mut self) -> Result<Statement> {
        self.bump();
        if self.eat(Kw::INDEX) {
            return self.unsupported("LOAD INDEX INTO CACHE");
        }
        let xml = self.expect_any(&[Kw::DATA, Kw::XML])? == Kw::XML;
        let priority = match self.eat_any(&[Kw::LOW_PRIORITY, Kw::CONCURRENT]) {
            Some(Kw::LOW_PRIORITY) => Some(LoadPriority::Low),
            Some(_) => Some(LoadPriority::Concurrent),
            None => None,
        };
        let local = self.eat(Kw::LOCAL);
        self.expect(Kw::INFILE)?;
        let path = self.string()?;
        let on_duplicate = match self.eat_any(&[Kw::REPLACE, Kw::IGNORE]) {
            Some(Kw::REPLACE) => LoadDuplicate::Replace,
            Some(_) => LoadDuplicate::Ignore,
            None => LoadDuplicate::Error,
        };
        self.expect_all(&[Kw::INTO, Kw::TABLE])?;
        let table = self.name()?;
        let partitions = self.opt_partitions()?;
        let charset = if self.eat_character_set() { Some(self.charset_name()?) } else { None };
        let mut rows_identified_by = None;
        if xml && self.eat(Kw::ROWS) {
            self.expect_all(&[Kw::IDENTIFIED, Kw::BY])?;
            rows_identified_by = Some(self.text_or_hex()?);
        }
        let format = self.file_format()?;
        let mut ignore_lines = 0;
        if self.eat(Kw::IGNORE) {
            ignore_lines = self.number()?;
            self.expect_any(&[Kw::LINES, Kw::ROWS])?;
        }
        let columns = self.load_targets()?;
        let set = if self.eat(Kw::SET) { self.assignments()? } else { Vec::new() };
        Ok(Statement::LoadData(Box::new(LoadData {
            xml,
            priority,
            local,
            path,
            on_duplicate,
            table,
            partitions,
            charset,
            format,
            rows_identified_by,
            ignore_lines,
            columns,
            set,
        })))
    }

    fn load_targets(&mut self) -> Result<Vec<LoadTarget>> {
        if !self.eat_op(Op::LParen) {
            return Ok(Vec::new());
        }
        if self.eat_op(Op::RParen) {
            return Ok(Vec::new());
        }
        let targets = self.comma_list(|p| {
            if p.tok.tok == Tok::At {
                return p.at_name().map(LoadTarget::UserVar);
            }
            p.column_ref().map(LoadTarget::Column)
        })?;
        self.expect_op(Op::RParen)?;
        Ok(targets)
    }

    /// `[FIELDS ..] [LINES ..]`
    pub(super) fn file_format(&mut self) -> Result<FileFormat> {
        let mut format = FileFormat::default();
        if self.eat_any(&[Kw::FIELDS, Kw::COLUMNS]).is_some() {
            if !self.field_option(&mut format)? {
                return self.fail();
            }
            while self.field_option(&mut format)? {}
        }
        if self.eat(Kw::LINES) {
            if !self.line_option(&mut format)? {
                return self.fail();
            }
            while self.line_option(&mut format)? {}
        }
        Ok(format)
    }

    fn field_option(&mut self, format: &mut FileFormat) -> Result<bool> {
        if self.eat(Kw::TERMINATED) {
            self.expect(Kw::BY)?;
            format.fields_terminated = Some(self.text_or_hex()?);
        } else if self.eat(Kw::ESCAPED) {
            self.expect(Kw::BY)?;
            format.fields_escaped = Some(self.text_or_hex()?);
        } else if self.is_any(&[Kw::OPTIONALLY, Kw::ENCLOSED]) {
            format.optionally_enclosed = self.eat(Kw::OPTIONALLY);
            self.expect_all(&[Kw::ENCLOSED, Kw::BY])?;
            format.fields_enclosed = Some(self.text_or_hex()?);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn line_option(&mut self, format: &mut FileFormat) -> Result<bool> {
        if self.eat(Kw::TERMINATED) {
            self.expect(Kw::BY)?;
            format.lines_terminated = Some(self.text_or_hex()?);
        } else if self.eat(Kw::STARTING) {
            self.expect(Kw::BY)?;
            format.lines_starting = Some(self.text_or_hex()?);
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}
