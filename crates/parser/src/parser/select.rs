//! SELECT up to WINDOW, and optimizer hints.

use super::{Parser, Result};
use crate::ast::*;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};
use vaquita_types::charset::{Charset, CollationId, charset};
use vaquita_types::errno::{ER_NAME_BECOMES_EMPTY, ER_REMOVED_SPACES};
use vaquita_types::limits::{ALIAS_BYTES_MAX, COLUMN_TEXT_BYTES_MAX};

const CALC_FOUND_ROWS_TEXT: &str = "SQL_CALC_FOUND_ROWS is deprecated and will be removed in a future release. \
    Consider using two separate queries instead.";

impl Parser<'_> {
    pub(super) fn select(&mut self) -> Result<Select> {
        self.expect(Kw::SELECT)?;
        let mut select = Select { hints: self.hints(), ..Select::default() };
        self.select_options(&mut select.options)?;
        if self.eat_op(Op::Star) {
            select.items.push(SelectItem::Wildcard);
        } else {
            select.items.push(self.select_item()?);
        }
        while self.eat_op(Op::Comma) {
            select.items.push(self.select_item()?);
        }
        self.opt_into()?;
        if self.eat(Kw::FROM) {
            select.has_from = true;
            if !self.eat(Kw::DUAL) {
                select.from = self.table_refs()?;
            }
        }
        if self.eat(Kw::WHERE) {
            select.filter = Some(self.expr()?);
        }
        if self.eat(Kw::GROUP) {
            self.expect(Kw::BY)?;
            self.group_by(&mut select)?;
        }
        if self.eat(Kw::HAVING) {
            select.having = Some(self.expr()?);
        }
        if self.eat(Kw::WINDOW) {
            select.windows = self.comma_list(|p| {
                let name = p.ident()?;
                p.expect(Kw::AS)?;
                Ok((name, p.window_spec()?))
            })?;
        }
        Ok(select)
    }

    fn group_by(&mut self, select: &mut Select) -> Result<()> {
        if self.is(Kw::ROLLUP) && self.peek() == Tok::Op(Op::LParen) {
            self.bump();
            select.rollup = true;
            select.group_by = self.paren_list(Self::expr)?;
            return Ok(());
        }
        select.group_by = self.expr_list()?;
        // WITH may also begin a view's WITH CHECK OPTION.
        if self.eat2(Kw::WITH, Kw::ROLLUP) {
            select.rollup = true;
        }
        Ok(())
    }

    fn select_options(&mut self, options: &mut SelectOptions) -> Result<()> {
        let (mut all, mut distinct) = (false, false);
        while let Tok::Kw(kw) = self.tok.tok {
            let option = match kw {
                Kw::ALL => &mut all,
                Kw::DISTINCT | Kw::DISTINCTROW => &mut distinct,
                Kw::HIGH_PRIORITY => &mut options.high_priority,
                Kw::STRAIGHT_JOIN => &mut options.straight_join,
                Kw::SQL_SMALL_RESULT => &mut options.small_result,
                Kw::SQL_BIG_RESULT => &mut options.big_result,
                Kw::SQL_BUFFER_RESULT => &mut options.buffer_result,
                Kw::SQL_CALC_FOUND_ROWS => &mut options.calc_found_rows,
                Kw::SQL_NO_CACHE => &mut options.no_cache,
                _ => break,
            };
            *option = true;
            match kw {
                Kw::SQL_CALC_FOUND_ROWS => self.deprecate_with(CALC_FOUND_ROWS_TEXT),
                Kw::SQL_NO_CACHE => {
                    let def = &vaquita_types::errno::ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT;
                    self.warnings.push(vaquita_types::Error::new(def, &[&"SQL_NO_CACHE"]));
                }
                _ => {}
            }
            self.bump();
        }
        options.distinct = distinct;
        if all && distinct {
            let def = &vaquita_types::errno::ER_WRONG_USAGE;
            let message = "Incorrect usage of ALL and DISTINCT".to_string();
            return Err(crate::error::ParseError::other(def, message));
        }
        Ok(())
    }

    fn select_item(&mut self) -> Result<SelectItem> {
        if let Some(wild) = self.table_wildcard()? {
            return Ok(wild);
        }
        let start = self.start();
        let expr = self.expr()?;
        let end = self.prev_end;
        let alias = self.opt_select_alias()?.map(|written| self.column_alias(written));
        let source_text = if alias.is_some() {
            String::new()
        } else {
            match &expr {
                Expr::Column(column) => column.name.clone(),
                Expr::Literal(Literal::Null) => "NULL".to_string(),
                Expr::Literal(Literal::String(text)) => self.string_name(start, text.charset.as_deref()),
                Expr::Literal(Literal::Int(_) | Literal::Decimal(_) | Literal::Float(_)) => {
                    let text = as_name(&self.written(start, end));
                    text.trim_matches(|c: char| "+() \t\r\n".contains(c)).to_string()
                }
                _ => as_name(&self.written(start, end)),
            }
        };
        let source_text = cut(source_text, COLUMN_TEXT_BYTES_MAX);
        Ok(SelectItem::Expr { expr, alias, source_text })
    }

    /// The alias that is written as `written`: without what precedes its first visible character, and not too long.
    fn column_alias(&mut self, written: String) -> String {
        let kept = without_leading_blanks(&written);
        if kept.len() == written.len() && kept.len() <= ALIAS_BYTES_MAX {
            return written;
        }
        let warning = if kept.is_empty() { &ER_NAME_BECOMES_EMPTY } else { &ER_REMOVED_SPACES };
        self.warnings.push(vaquita_types::Error::new(warning, &[&written]));
        cut(kept.to_string(), ALIAS_BYTES_MAX)
    }

    /// The name of a column that is a string literal: the text of its first piece, in the charset of its introducer.
    fn string_name(&self, start: usize, introducer: Option<&str>) -> String {
        let mut p = Parser::new(self.slice(start, self.prev_end), self.opts);
        while !matches!(p.tok.tok, Tok::Str | Tok::NatStr | Tok::Eof) {
            p.bump();
        }
        let bytes = p.string_piece();
        let from = introducer.and_then(Charset::by_name).filter(|charset| charset.name != "binary");
        let name = match from {
            Some(from) => as_name(&from.convert(charset(CollationId::UTF8MB4_BIN), &bytes).bytes),
            None => as_name(&bytes),
        };
        without_leading_blanks(&name).to_string()
    }

    /// `t.*` and `db.t.*`
    fn table_wildcard(&mut self) -> Result<Option<SelectItem>> {
        if !self.at_ident() || self.peek() != Tok::Op(Op::Dot) {
            return Ok(None);
        }
        let mut tokens = self.peek_all().skip(1);
        let wild = match tokens.next() {
            Some(Tok::Op(Op::Star)) => true,
            Some(_) => tokens.next() == Some(Tok::Op(Op::Dot)) && tokens.next() == Some(Tok::Op(Op::Star)),
            None => false,
        };
        if !wild {
            return Ok(None);
        }
        let first = self.ident()?;
        self.expect_op(Op::Dot)?;
        let name = if self.eat_op(Op::Star) {
            Name { db: None, name: first }
        } else {
            let name = self.ident()?;
            self.expect_op(Op::Dot)?;
            self.expect_op(Op::Star)?;
            Name { db: Some(first), name }
        };
        Ok(Some(SelectItem::TableWildcard(name)))
    }

    /// `[AS] name`, where the name may be a string.
    pub(super) fn opt_select_alias(&mut self) -> Result<Option<String>> {
        if self.eat(Kw::AS) {
            return self.ident_or_text().map(Some);
        }
        if self.at_ident() || self.tok.tok == Tok::Str {
            return self.ident_or_text().map(Some);
        }
        Ok(None)
    }
}

fn without_leading_blanks(name: &str) -> &str {
    name.trim_start_matches(|c: char| c == ' ' || c.is_ascii_control())
}

/// As many whole characters of `name` as `bytes_max` bytes hold.
fn cut(mut name: String, bytes_max: usize) -> String {
    if name.len() > bytes_max {
        name.truncate(name.floor_char_boundary(bytes_max));
    }
    name
}

/// The text of an expression as the name of its column. Names are of the first plane of Unicode: a question mark stands for each other
/// character and for each byte that is of none.
fn as_name(bytes: &[u8]) -> String {
    let mut name = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        name.extend(chunk.valid().chars().map(|c| if u32::from(c) > 0xffff { '?' } else { c }));
        name.extend(chunk.invalid().iter().map(|_| '?'));
    }
    name
}
