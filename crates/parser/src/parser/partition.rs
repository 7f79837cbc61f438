//! PARTITION BY, and ALTER TABLE .. PARTITION.

use vaquita_types::errno;
use vaquita_types::limits::IDENTIFIER_CHARS_MAX;

use super::{Parser, Result};
use crate::ast::*;
use crate::error::ParseError;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};

impl Parser<'_> {
    /// PARTITION BY ..
    pub(super) fn partitioning(&mut self) -> Result<Partitioning> {
        self.expect_all(&[Kw::PARTITION, Kw::BY])?;
        let by = self.partition_by(true)?;
        let count = self.part_count(Kw::PARTITIONS, "partitions")?;
        let mut subpartition = None;
        if self.eat(Kw::SUBPARTITION) {
            self.expect(Kw::BY)?;
            if self.is_any(&[Kw::RANGE, Kw::LIST]) {
                return self.fail();
            }
            let by = self.partition_by(false)?;
            subpartition = Some(SubpartitionBy { by, count: self.part_count(Kw::SUBPARTITIONS, "subpartitions")? });
        }
        let listed = self.is_op(Op::LParen) && self.peek() == Tok::Kw(Kw::PARTITION);
        let at = self.start();
        let each = subpartition.as_ref().and_then(|by| by.count);
        let partitions = if listed { self.partition_elements(each)? } else { Vec::new() };
        self.check_partitions(&by, count, &partitions, at)?;
        Ok(Partitioning { by, count, subpartition, partitions })
    }

    /// What MySQL's parser says of a list of partitions, at its beginning.
    fn check_partitions(&self, by: &PartitionBy, count: Option<u64>, list: &[PartitionElement], at: usize) -> Result<()> {
        let fail = |text: &str| Err(ParseError::syntax_as(text, self.src, at));
        let requires = match by {
            PartitionBy::Range(_) => Some(("RANGE", "LESS THAN")),
            PartitionBy::List(_) => Some(("LIST", "IN")),
            PartitionBy::Hash { .. } | PartitionBy::Key { .. } => None,
        };
        if let Some((method, values)) = requires
            && list.iter().any(|element| element.values == PartitionValues::None)
        {
            let text = errno::ER_PARTITION_REQUIRES_VALUES_ERROR.format;
            return fail(&text.replacen("%-.64s", method, 1).replacen("%-.64s", values, 1));
        }
        if count.is_some_and(|count| !list.is_empty() && count != list.len() as u64) {
            return fail(errno::ER_PARTITION_WRONG_NO_PART_ERROR.format);
        }
        let other = |def: &'static errno::ErrorDef, words: [&str; 2]| {
            let text = def.format.replacen("%-.64s", words[0], 1).replacen("%-.64s", words[1], 1);
            Err(ParseError::other(def, text))
        };
        match requires {
            Some((method, _)) if list.is_empty() => return other(&errno::ER_PARTITIONS_MUST_BE_DEFINED_ERROR, [method, ""]),
            _ => {}
        }
        let by_columns =
            matches!(by, PartitionBy::Range(PartitionedBy::Columns(_)) | PartitionBy::List(PartitionedBy::Columns(_)));
        for element in list {
            match (&element.values, by) {
                (PartitionValues::LessThan(values), PartitionBy::Range(_)) if !by_columns && values.len() > 1 => {
                    return other(&errno::ER_TOO_MANY_VALUES_ERROR, ["RANGE", ""]);
                }
                (PartitionValues::None, _)
                | (PartitionValues::LessThan(_), PartitionBy::Range(_))
                | (PartitionValues::In { .. }, PartitionBy::List(_)) => {}
                (PartitionValues::LessThan(_), _) => {
                    return other(&errno::ER_PARTITION_WRONG_VALUES_ERROR, ["RANGE", "LESS THAN"]);
                }
                (PartitionValues::In { .. }, _) => return other(&errno::ER_PARTITION_WRONG_VALUES_ERROR, ["LIST", "IN"]),
            }
        }
        Ok(())
    }

    /// Of partitions, or of subpartitions, whose KEY names columns.
    fn partition_by(&mut self, whole: bool) -> Result<PartitionBy> {
        let linear = self.eat(Kw::LINEAR);
        Ok(match self.kind() {
            Tok::Kw(Kw::HASH) => {
                self.bump();
                PartitionBy::Hash { linear, expr: self.partition_expr()? }
            }
            Tok::Kw(Kw::KEY) => {
                self.bump();
                let mut algorithm = None;
                if self.eat(Kw::ALGORITHM) {
                    self.expect_op(Op::Eq)?;
                    algorithm = Some(self.number()?);
                    if !matches!(algorithm, Some(1 | 2)) {
                        return self.fail();
                    }
                }
                self.expect_op(Op::LParen)?;
                let columns = if whole && self.is_op(Op::RParen) { Vec::new() } else { self.comma_list(Self::ident)? };
                self.expect_op(Op::RParen)?;
                PartitionBy::Key { linear, algorithm, columns }
            }
            Tok::Kw(kw @ (Kw::RANGE | Kw::LIST)) if !linear => {
                self.bump();
                let by = match self.eat(Kw::COLUMNS) {
                    true => PartitionedBy::Columns(self.paren_list(Self::ident)?),
                    false => PartitionedBy::Expr(self.partition_expr()?),
                };
                if kw == Kw::RANGE { PartitionBy::Range(by) } else { PartitionBy::List(by) }
            }
            _ => return self.fail(),
        })
    }

    fn partition_expr(&mut self) -> Result<Expr> {
        self.expect_op(Op::LParen)?;
        let expr = self.nested(|p| p.bit_expr(0))?;
        self.expect_op(Op::RParen)?;
        Ok(expr)
    }

    /// `PARTITIONS n`; error 1504 for 0.
    fn part_count(&mut self, kw: Kw, what: &str) -> Result<Option<u64>> {
        if !self.eat(kw) {
            return Ok(None);
        }
        match self.number()? {
            0 => Err(no_parts(what)),
            count => Ok(Some(count)),
        }
    }

    /// `each`: SUBPARTITIONS n.
    fn partition_elements(&mut self, mut each: Option<u64>) -> Result<Vec<PartitionElement>> {
        let mut listed = None;
        self.paren_list(|p| {
            p.expect(Kw::PARTITION)?;
            let mut element = p.partition_element(true)?;
            element.subpartitions = p.subpartitions(&mut listed, &mut each)?;
            Ok(element)
        })
    }

    /// The subpartitions of a partition. All partitions list as many as the first one, or none; MySQL's places of the error.
    fn subpartitions(&mut self, listed: &mut Option<bool>, each: &mut Option<u64>) -> Result<Vec<PartitionElement>> {
        let wrong =
            |p: &Self, at: usize| Err(ParseError::syntax_as(errno::ER_PARTITION_WRONG_NO_SUBPART_ERROR.format, p.src, at));
        let lists = self.is_op(Op::LParen);
        let begin = self.start();
        match *listed.get_or_insert(lists) {
            true if !lists => return wrong(self, self.prev_end),
            false if lists => {
                self.bump();
                return wrong(self, self.start());
            }
            _ if !lists => return Ok(Vec::new()),
            _ => {}
        }
        let list = self.paren_list(|p| {
            p.expect(Kw::SUBPARTITION)?;
            p.partition_element(false)
        })?;
        if *each.get_or_insert(list.len() as u64) != list.len() as u64 {
            return wrong(self, begin);
        }
        Ok(list)
    }

    fn partition_element(&mut self, whole: bool) -> Result<PartitionElement> {
        let name = self.ident_or_text()?;
        // MySQL measures these names where it reads them, before it asks for privileges.
        if name.chars().count() > IDENTIFIER_CHARS_MAX {
            let message = vaquita_types::Error::new(&errno::ER_TOO_LONG_IDENT, &[&name]).message().to_string();
            return Err(ParseError::other(&errno::ER_TOO_LONG_IDENT, message));
        }
        let values = if whole { self.partition_values()? } else { PartitionValues::None };
        let mut options = Vec::new();
        while let Some(option) = self.partition_option()? {
            options.push(option);
        }
        Ok(PartitionElement { name, values, options, subpartitions: Vec::new() })
    }

    fn partition_option(&mut self) -> Result<Option<TableOption>> {
        let storage = self.eat(Kw::STORAGE);
        match self.kind() {
            Tok::Kw(Kw::ENGINE) => self.table_option(),
            _ if storage => self.fail(),
            Tok::Kw(Kw::COMMENT | Kw::MAX_ROWS | Kw::MIN_ROWS | Kw::DATA | Kw::INDEX | Kw::TABLESPACE) => self.table_option(),
            Tok::Kw(Kw::NODEGROUP) => {
                self.bump();
                self.eat_op(Op::Eq);
                self.number()?;
                self.partition_option()
            }
            _ => Ok(None),
        }
    }

    fn partition_values(&mut self) -> Result<PartitionValues> {
        if !self.eat(Kw::VALUES) {
            return Ok(PartitionValues::None);
        }
        if self.eat(Kw::LESS) {
            self.expect(Kw::THAN)?;
            if self.eat(Kw::MAXVALUE) {
                return Ok(PartitionValues::LessThan(Vec::new()));
            }
            return Ok(PartitionValues::LessThan(self.paren_list(Self::partition_value)?));
        }
        self.expect(Kw::IN)?;
        // `(1, 2)` are two rows of one value, `((1, 2))` is one of two; `((1) + 2)` is an expression.
        let nested = self.is_op(Op::LParen) && self.peek() == Tok::Op(Op::LParen) && self.holds_rows();
        let rows = match nested {
            true => self.paren_list(|p| p.paren_list(Self::partition_value))?,
            false => self.paren_list(|p| Ok(vec![p.partition_value()?]))?,
        };
        Ok(PartitionValues::In { rows, nested })
    }

    /// Behind the parentheses at which the second one of `((` opens, a comma or the end of the list follows.
    fn holds_rows(&self) -> bool {
        let mut depth = 0u32;
        let mut tokens = self.peek_all();
        for tok in tokens.by_ref() {
            match tok {
                Tok::Op(Op::LParen) => depth += 1,
                Tok::Op(Op::RParen) if depth <= 1 => break,
                Tok::Op(Op::RParen) => depth -= 1,
                Tok::Eof | Tok::Bad => return false,
                _ => {}
            }
        }
        matches!(tokens.next(), Some(Tok::Op(Op::Comma | Op::RParen)))
    }

    fn partition_value(&mut self) -> Result<PartitionValue> {
        if self.eat(Kw::MAXVALUE) {
            return Ok(PartitionValue::Max);
        }
        self.nested(|p| p.bit_expr(0)).map(PartitionValue::Expr)
    }

    /// ADD PARTITION .., DROP PARTITION ..: `kw` is the word before PARTITION, at which the parser stands.
    pub(super) fn partition_action(&mut self) -> Result<AlterAction> {
        let Tok::Kw(kw) = self.kind() else { return self.fail() };
        self.bump();
        if kw == Kw::REMOVE {
            self.expect(Kw::PARTITIONING)?;
            return Ok(AlterAction::Partition(PartitionAction::Remove));
        }
        self.expect(Kw::PARTITION)?;
        if !matches!(kw, Kw::DROP | Kw::TRUNCATE | Kw::CHECK | Kw::EXCHANGE | Kw::DISCARD | Kw::IMPORT) {
            self.eat_any(&[Kw::NO_WRITE_TO_BINLOG, Kw::LOCAL]);
        }
        let action = match kw {
            Kw::ADD if self.eat(Kw::PARTITIONS) => PartitionAction::AddCount(self.number()?),
            Kw::ADD => PartitionAction::Add(self.partition_elements(None)?),
            Kw::DROP => PartitionAction::Drop(self.comma_list(Self::ident)?),
            Kw::COALESCE => PartitionAction::Coalesce(self.number()?),
            Kw::TRUNCATE => PartitionAction::Truncate(self.partition_names()?),
            Kw::REBUILD => PartitionAction::Rebuild(self.partition_names()?),
            Kw::OPTIMIZE => PartitionAction::Optimize(self.partition_names()?),
            Kw::ANALYZE => PartitionAction::Analyze(self.partition_names()?),
            Kw::CHECK => {
                let names = self.partition_names()?;
                while let Some(option) = self.eat_any(&[Kw::FOR, Kw::QUICK, Kw::FAST, Kw::MEDIUM, Kw::EXTENDED, Kw::CHANGED]) {
                    if option == Kw::FOR {
                        self.expect(Kw::UPGRADE)?;
                    }
                }
                PartitionAction::Check(names)
            }
            Kw::REPAIR => {
                let names = self.partition_names()?;
                while self.eat_any(&[Kw::QUICK, Kw::EXTENDED, Kw::USE_FRM]).is_some() {}
                PartitionAction::Repair(names)
            }
            Kw::REORGANIZE => self.reorganize()?,
            Kw::EXCHANGE => self.exchange()?,
            Kw::DISCARD | Kw::IMPORT => {
                let names = self.partition_names()?;
                self.expect(Kw::TABLESPACE)?;
                if kw == Kw::DISCARD { PartitionAction::Discard(names) } else { PartitionAction::Import(names) }
            }
            _ => return self.fail(),
        };
        Ok(AlterAction::Partition(action))
    }

    fn partition_names(&mut self) -> Result<PartitionNames> {
        if self.eat(Kw::ALL) {
            return Ok(PartitionNames::All);
        }
        self.comma_list(Self::ident).map(PartitionNames::Named)
    }

    fn reorganize(&mut self) -> Result<PartitionAction> {
        if matches!(self.kind(), Tok::Eof | Tok::Op(Op::Semicolon)) {
            return Ok(PartitionAction::Reorganize { names: Vec::new(), into: Vec::new() });
        }
        let names = self.comma_list(Self::ident)?;
        self.expect(Kw::INTO)?;
        Ok(PartitionAction::Reorganize { names, into: self.partition_elements(None)? })
    }

    fn exchange(&mut self) -> Result<PartitionAction> {
        let partition = self.ident()?;
        self.expect_all(&[Kw::WITH, Kw::TABLE])?;
        let table = self.name()?;
        let validation = match self.eat_any(&[Kw::WITH, Kw::WITHOUT]) {
            Some(kw) => {
                self.expect(Kw::VALIDATION)?;
                kw == Kw::WITH
            }
            None => true,
        };
        Ok(PartitionAction::Exchange { partition, table, validation })
    }
}

/// Error 1504.
fn no_parts(what: &str) -> ParseError {
    let def = &errno::ER_NO_PARTS_ERROR;
    ParseError::other(def, def.format.replace("%-.64s", what))
}
