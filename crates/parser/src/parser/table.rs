//! CREATE TABLE, table options; CREATE and ALTER DATABASE.

use std::ops::RangeInclusive;

use vaquita_types::charset::{Charset, Collation};
use vaquita_types::errno::{ER_COLLATION_CHARSET_MISMATCH, ER_CONFLICTING_DECLARATIONS, ER_TOO_LONG_IDENT};
use vaquita_types::limits::IDENTIFIER_CHARS_MAX;

use super::{Parser, Result};
use crate::ParseError;
use crate::ast::*;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};

impl Parser<'_> {
    pub(super) fn create_table(&mut self, temporary: bool) -> Result<Statement> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let mut table = CreateTable {
            temporary,
            if_not_exists,
            name: self.name()?,
            like: None,
            elements: Vec::new(),
            options: Vec::new(),
            partitioning: None,
            duplicates: None,
            select: None,
        };
        if self.eat(Kw::LIKE) {
            table.like = Some(self.name()?);
            return Ok(Statement::CreateTable(Box::new(table)));
        }
        if self.is_op(Op::LParen) && self.peek() == Tok::Kw(Kw::LIKE) {
            self.bump();
            self.bump();
            table.like = Some(self.name()?);
            self.expect_op(Op::RParen)?;
            return Ok(Statement::CreateTable(Box::new(table)));
        }
        let select_in_parens =
            matches!(self.peek(), Tok::Kw(Kw::SELECT | Kw::WITH | Kw::TABLE | Kw::VALUES) | Tok::Op(Op::LParen));
        if self.is_op(Op::LParen) && !select_in_parens {
            table.elements = self.paren_list(Self::table_element)?;
        }
        table.options = self.table_options()?;
        if self.is(Kw::PARTITION) {
            table.partitioning = Some(self.partitioning()?);
        }
        self.create_select(&mut table)?;
        Ok(Statement::CreateTable(Box::new(table)))
    }

    /// `[IGNORE|REPLACE] [AS] query`
    fn create_select(&mut self, table: &mut CreateTable) -> Result<()> {
        table.duplicates = match self.eat_any(&[Kw::IGNORE, Kw::REPLACE]) {
            Some(Kw::IGNORE) => Some(OnDuplicateRows::Ignore),
            Some(_) => Some(OnDuplicateRows::Replace),
            None => None,
        };
        let needed = self.eat(Kw::AS) || table.duplicates.is_some();
        if needed || self.at_query() || self.is_op(Op::LParen) {
            let into_allowed = std::mem::replace(&mut self.into_allowed, false);
            table.select = Some(Box::new(self.query()?));
            self.into_allowed = into_allowed;
        }
        Ok(())
    }

    fn table_element(&mut self) -> Result<TableElement> {
        match self.kind() {
            Tok::Kw(
                Kw::CONSTRAINT
                | Kw::PRIMARY
                | Kw::UNIQUE
                | Kw::INDEX
                | Kw::KEY
                | Kw::FULLTEXT
                | Kw::SPATIAL
                | Kw::FOREIGN
                | Kw::CHECK,
            ) => self.table_constraint(),
            _ => Ok(TableElement::Column(self.column_def()?)),
        }
    }

    fn row_format(&mut self) -> Result<String> {
        const FORMATS: [Kw; 6] = [Kw::DEFAULT, Kw::FIXED, Kw::DYNAMIC, Kw::COMPRESSED, Kw::REDUNDANT, Kw::COMPACT];
        Ok(self.expect_any(&FORMATS)?.as_str().to_string())
    }

    /// A comma- or space-separated list of table options.
    pub(super) fn table_options(&mut self) -> Result<Vec<TableOption>> {
        let mut options = Vec::new();
        while let Some(option) = self.table_option()? {
            options.push(option);
            if self.eat_op(Op::Comma) && !self.at_table_option() {
                return self.fail();
            }
        }
        let clauses = options.iter().filter_map(|option| match option {
            TableOption::Charset(name) => Some((true, name.as_str())),
            TableOption::Collate(name) => Some((false, name.as_str())),
            _ => None,
        });
        self.check_charsets(clauses);
        Ok(options)
    }

    /// CHARACTER SET and COLLATE clauses (`true`, `false`) that name two charsets: error 1302 or 1253, which MySQL tells before it asks
    /// for privileges.
    fn check_charsets<'n>(&mut self, clauses: impl Iterator<Item = (bool, &'n str)>) {
        let mut before: Option<&str> = None;
        for (is_charset, name) in clauses {
            let named = match is_charset {
                true => Charset::by_name(name).map(|charset| charset.name),
                false => Collation::by_name(name).map(|collation| collation.charset.name),
            };
            let Some(named) = named else { continue };
            match before {
                Some(before) if before != named && is_charset => {
                    let clause = "CHARACTER SET ";
                    return self.refuse(&ER_CONFLICTING_DECLARATIONS, &[&clause, &before, &clause, &named]);
                }
                Some(before) if before != named => return self.refuse(&ER_COLLATION_CHARSET_MISMATCH, &[&name, &before]),
                _ => before = Some(named),
            }
        }
    }

    /// The name of a database, which MySQL measures before it asks for privileges.
    pub(super) fn database_name(&mut self) -> Result<String> {
        let name = self.ident()?;
        if name.chars().count() > IDENTIFIER_CHARS_MAX {
            self.refuse(&ER_TOO_LONG_IDENT, &[&name]);
        }
        Ok(name)
    }

    /// Whether a table option begins here. ALTER TABLE needs to know.
    pub(super) fn at_table_option(&mut self) -> bool {
        let Tok::Kw(kw) = self.tok.tok else { return false };
        match kw {
            Kw::DEFAULT | Kw::CHARACTER | Kw::CHAR | Kw::CHARSET | Kw::COLLATE | Kw::UNION => true,
            Kw::DATA | Kw::INDEX => self.peek() == Tok::Kw(Kw::DIRECTORY),
            Kw::START => self.peek() == Tok::Kw(Kw::TRANSACTION),
            _ => is_option_word(kw),
        }
    }

    fn opt_equal(&mut self) {
        self.eat_op(Op::Eq);
    }

    pub(super) fn table_option(&mut self) -> Result<Option<TableOption>> {
        if !self.at_table_option() {
            return Ok(None);
        }
        if self.eat(Kw::DEFAULT) {
            return self.charset_option().map(Some);
        }
        let Tok::Kw(kw) = self.tok.tok else { return self.fail() };
        match kw {
            Kw::CHARACTER | Kw::CHAR | Kw::CHARSET | Kw::COLLATE => {
                return self.charset_option().map(Some);
            }
            Kw::START => {
                self.expect_all(&[Kw::START, Kw::TRANSACTION])?;
                return Ok(Some(TableOption::StartTransaction));
            }
            _ => {}
        }
        self.bump();
        if matches!(kw, Kw::DATA | Kw::INDEX) {
            self.expect(Kw::DIRECTORY)?;
        }
        self.opt_equal();
        if let Some(option) = self.number_option(kw)? {
            return Ok(Some(option));
        }
        self.text_option(kw).map(Some)
    }

    /// `CHARACTER SET [=] x`, `COLLATE [=] x`
    fn charset_option(&mut self) -> Result<TableOption> {
        if self.eat(Kw::COLLATE) {
            self.opt_equal();
            let name = self.collation_name()?;
            self.deprecate_collation(&name);
            return Ok(TableOption::Collate(name));
        }
        if !self.eat_character_set() {
            return self.fail();
        }
        self.opt_equal();
        let name = self.charset_name()?;
        self.deprecate_charset(&name);
        Ok(TableOption::Charset(name))
    }

    fn number_option(&mut self, kw: Kw) -> Result<Option<TableOption>> {
        Ok(Some(match kw {
            Kw::AUTO_INCREMENT => TableOption::AutoIncrement(self.decimal_number()?),
            Kw::AVG_ROW_LENGTH => TableOption::AvgRowLength(self.number_within(
                "avg_row_length",
                Self::decimal_number,
                0..=u64::from(u32::MAX),
                "[0,4294967295]",
            )?),
            Kw::CHECKSUM => TableOption::Checksum(self.whole_part()?),
            Kw::TABLE_CHECKSUM => TableOption::TableChecksum(self.whole_part()?),
            Kw::DELAY_KEY_WRITE => TableOption::DelayKeyWrite(self.whole_part()?),
            Kw::KEY_BLOCK_SIZE => TableOption::KeyBlockSize(self.decimal_number()?),
            Kw::MAX_ROWS => TableOption::MaxRows(self.decimal_number()?),
            Kw::MIN_ROWS => TableOption::MinRows(self.decimal_number()?),
            Kw::PACK_KEYS => TableOption::PackKeys(self.switch()?),
            Kw::STATS_AUTO_RECALC => TableOption::StatsAutoRecalc(self.switch()?),
            Kw::STATS_PERSISTENT => TableOption::StatsPersistent(self.switch()?),
            Kw::STATS_SAMPLE_PAGES => TableOption::StatsSamplePages(match self.eat(Kw::DEFAULT) {
                true => None,
                false => {
                    Some(self.number_within("stats_sample_pages", Self::whole_part, 1..=u64::from(u16::MAX), "[1, 65535]")?)
                }
            }),
            _ => return Ok(None),
        }))
    }

    fn number_or_default(&mut self) -> Result<Option<u64>> {
        if self.eat(Kw::DEFAULT) { Ok(None) } else { self.whole_part().map(Some) }
    }

    /// What `number` reads; a syntax error if it is not in `range`, which is printed as `text`.
    fn number_within(
        &mut self,
        option: &str,
        number: fn(&mut Self) -> Result<u64>,
        range: RangeInclusive<u64>,
        text: &str,
    ) -> Result<u64> {
        let at = self.tok.at as usize;
        let value = number(self)?;
        if range.contains(&value) {
            return Ok(value);
        }
        Err(ParseError::syntax_as(&format!("The valid range for {option} is {text}. Error"), self.src, at))
    }

    /// 0, 1 or DEFAULT.
    fn switch(&mut self) -> Result<Option<u64>> {
        let at = self.tok.at as usize;
        match self.number_or_default()? {
            Some(2..) => Err(ParseError::syntax(self.src, at)),
            value => Ok(value),
        }
    }

    /// A number of the options for which 0x10 is none.
    fn decimal_number(&mut self) -> Result<u64> {
        if self.kind() == Tok::Hex { self.fail() } else { self.whole_part() }
    }

    fn text_option(&mut self, kw: Kw) -> Result<TableOption> {
        Ok(match kw {
            Kw::ENGINE => TableOption::Engine(self.ident_or_text()?),
            Kw::SECONDARY_ENGINE => {
                let none = self.eat(Kw::NULL);
                TableOption::SecondaryEngine(if none { None } else { Some(self.ident_or_text()?) })
            }
            Kw::COMMENT => TableOption::Comment(self.string()?),
            Kw::COMPRESSION => TableOption::Compression(self.string()?),
            Kw::CONNECTION => TableOption::Connection(self.string()?),
            Kw::DATA => TableOption::DataDirectory(self.string()?),
            Kw::INDEX => TableOption::IndexDirectory(self.string()?),
            Kw::ENCRYPTION => TableOption::Encryption(self.string()?),
            Kw::ENGINE_ATTRIBUTE => TableOption::EngineAttribute(self.string()?),
            Kw::SECONDARY_ENGINE_ATTRIBUTE => TableOption::SecondaryEngineAttribute(self.string()?),
            Kw::INSERT_METHOD => {
                if !matches!(self.kind(), Tok::Kw(Kw::NO | Kw::FIRST | Kw::LAST)) {
                    return self.fail();
                }
                TableOption::InsertMethod(self.upper_word()?)
            }
            Kw::PASSWORD => TableOption::Password(self.string()?),
            Kw::ROW_FORMAT => TableOption::RowFormat(self.row_format()?),
            Kw::STORAGE => TableOption::Storage(self.upper_word()?),
            Kw::TABLESPACE => TableOption::Tablespace(self.ident()?),
            Kw::AUTOEXTEND_SIZE => {
                let start = self.start();
                self.bump();
                TableOption::AutoextendSize(self.text_since(start))
            }
            _ => {
                self.expect_op(Op::LParen)?;
                let tables = if self.is_op(Op::RParen) { Vec::new() } else { self.name_list()? };
                self.expect_op(Op::RParen)?;
                TableOption::Union(tables)
            }
        })
    }

    pub(super) fn create_database(&mut self) -> Result<Statement> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let name = self.database_name()?;
        let options = self.database_options()?;
        Ok(Statement::CreateDatabase { if_not_exists, name, options })
    }

    pub(super) fn alter_database(&mut self) -> Result<Statement> {
        self.bump();
        let option = self.at_database_option();
        let name = if option { None } else { Some(self.database_name()?) };
        let options = self.database_options()?;
        if options.is_empty() {
            return self.fail();
        }
        Ok(Statement::AlterDatabase { name, options })
    }

    fn at_database_option(&mut self) -> bool {
        match self.kind() {
            Tok::Kw(Kw::DEFAULT | Kw::CHARACTER | Kw::CHAR | Kw::COLLATE | Kw::READ) => true,
            Tok::Kw(Kw::CHARSET | Kw::ENCRYPTION) => {
                matches!(self.peek(), Tok::Op(Op::Eq) | Tok::Str | Tok::Ident)
            }
            _ => false,
        }
    }

    fn database_options(&mut self) -> Result<Vec<DatabaseOption>> {
        let mut options = Vec::new();
        while self.at_database_option() {
            if self.eat(Kw::READ) {
                self.expect(Kw::ONLY)?;
                self.opt_equal();
                let value = self.number_or_default()?;
                options.push(DatabaseOption::ReadOnly(value.map(|v| v != 0)));
                continue;
            }
            self.eat(Kw::DEFAULT);
            if self.eat(Kw::ENCRYPTION) {
                self.opt_equal();
                let value = self.string()?;
                options.push(DatabaseOption::Encryption(value.eq_ignore_ascii_case(b"y")));
                continue;
            }
            options.push(match self.charset_option()? {
                TableOption::Collate(collation) => DatabaseOption::Collate(collation),
                TableOption::Charset(charset) => DatabaseOption::Charset(charset),
                _ => return self.fail(),
            });
        }
        let clauses = options.iter().filter_map(|option| match option {
            DatabaseOption::Charset(name) => Some((true, name.as_str())),
            DatabaseOption::Collate(name) => Some((false, name.as_str())),
            _ => None,
        });
        self.check_charsets(clauses);
        Ok(options)
    }
}

/// Words that are table options wherever a table option may stand.
fn is_option_word(kw: Kw) -> bool {
    matches!(
        kw,
        Kw::ENGINE
            | Kw::SECONDARY_ENGINE
            | Kw::AUTO_INCREMENT
            | Kw::AVG_ROW_LENGTH
            | Kw::CHECKSUM
            | Kw::TABLE_CHECKSUM
            | Kw::COMMENT
            | Kw::COMPRESSION
            | Kw::CONNECTION
            | Kw::DELAY_KEY_WRITE
            | Kw::ENCRYPTION
            | Kw::ENGINE_ATTRIBUTE
            | Kw::SECONDARY_ENGINE_ATTRIBUTE
            | Kw::INSERT_METHOD
            | Kw::KEY_BLOCK_SIZE
            | Kw::MAX_ROWS
            | Kw::MIN_ROWS
            | Kw::PACK_KEYS
            | Kw::PASSWORD
            | Kw::ROW_FORMAT
            | Kw::STATS_AUTO_RECALC
            | Kw::STATS_PERSISTENT
            | Kw::STATS_SAMPLE_PAGES
            | Kw::STORAGE
            | Kw::TABLESPACE
            | Kw::AUTOEXTEND_SIZE
    )
}
