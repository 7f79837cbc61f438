//! Column definitions: the type, and the attributes behind it.

use super::{Parser, Result};
use crate::ast::*;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};

/// CURRENT_TIMESTAMP and its synonyms.
const NOW: [Kw; 4] = [Kw::CURRENT_TIMESTAMP, Kw::LOCALTIME, Kw::LOCALTIMESTAMP, Kw::NOW];

impl Parser<'_> {
    pub(super) fn column_def(&mut self) -> Result<ColumnDef> {
        let name = self.column_ref()?.name;
        self.column_def_named(name)
    }

    /// The definition behind the name.
    pub(super) fn column_def_named(&mut self, name: String) -> Result<ColumnDef> {
        let mut attributes = Vec::new();
        let ty = if self.eat(Kw::SERIAL) {
            attributes.push(ColumnAttribute::SerialDefaultValue);
            DataType {
                name: TypeName::BigInt,
                length: None,
                scale: None,
                unsigned: true,
                unsigned_given: false,
                zerofill: false,
                charset: None,
                binary: false,
                values: Vec::new(),
            }
        } else {
            self.data_type(&name)?
        };
        // AS comes before all other attributes.
        while self.is(Kw::COLLATE) || self.is(Kw::GENERATED) || self.is(Kw::AS) {
            if !self.is(Kw::COLLATE) {
                attributes.push(self.generated()?);
                break;
            }
            attributes.extend(self.column_attribute()?);
        }
        while let Some(attribute) = self.column_attribute()? {
            attributes.push(attribute);
        }
        if self.is(Kw::REFERENCES) {
            attributes.push(ColumnAttribute::References(self.reference()?));
        }
        Ok(ColumnDef { name, ty, attributes })
    }

    fn column_attribute(&mut self) -> Result<Option<ColumnAttribute>> {
        let Tok::Kw(kw) = self.tok.tok else { return Ok(None) };
        if let Some(attribute) = self.column_constraint(kw)? {
            return Ok(Some(attribute));
        }
        self.column_property(kw)
    }

    /// NULL, keys, CHECK.
    fn column_constraint(&mut self, kw: Kw) -> Result<Option<ColumnAttribute>> {
        Ok(Some(match kw {
            Kw::NULL => {
                self.bump();
                ColumnAttribute::Null
            }
            Kw::NOT => {
                self.bump();
                match self.expect_any(&[Kw::NULL, Kw::SECONDARY])? {
                    Kw::NULL => ColumnAttribute::NotNull,
                    _ => ColumnAttribute::NotSecondary,
                }
            }
            Kw::PRIMARY => {
                self.bump();
                self.expect(Kw::KEY)?;
                ColumnAttribute::PrimaryKey
            }
            Kw::KEY => {
                self.bump();
                ColumnAttribute::PrimaryKey
            }
            Kw::UNIQUE => {
                self.bump();
                self.eat(Kw::KEY);
                ColumnAttribute::UniqueKey
            }
            Kw::CONSTRAINT => {
                self.bump();
                let name = if self.is(Kw::CHECK) { None } else { Some(self.ident()?) };
                if !self.is(Kw::CHECK) {
                    return self.fail();
                }
                ColumnAttribute::Check(self.check(name)?)
            }
            Kw::CHECK => ColumnAttribute::Check(self.check(None)?),
            _ => return Ok(None),
        }))
    }

    fn column_property(&mut self, kw: Kw) -> Result<Option<ColumnAttribute>> {
        let next = match kw {
            Kw::ON if self.peek() == Tok::Kw(Kw::UPDATE) => {
                self.bump();
                self.bump();
                return match self.opt_now()? {
                    Some(digits) => Ok(Some(ColumnAttribute::OnUpdateNow(digits))),
                    None => self.fail(),
                };
            }
            Kw::DEFAULT
            | Kw::AUTO_INCREMENT
            | Kw::SERIAL
            | Kw::COMMENT
            | Kw::COLLATE
            | Kw::COLUMN_FORMAT
            | Kw::STORAGE
            | Kw::ENGINE_ATTRIBUTE
            | Kw::SECONDARY_ENGINE_ATTRIBUTE
            | Kw::SRID
            | Kw::VISIBLE
            | Kw::INVISIBLE => kw,
            _ => return Ok(None),
        };
        self.bump();
        Ok(Some(match next {
            Kw::DEFAULT => ColumnAttribute::Default(self.default_value()?),
            Kw::AUTO_INCREMENT => ColumnAttribute::AutoIncrement,
            Kw::SERIAL => {
                self.expect_all(&[Kw::DEFAULT, Kw::VALUE])?;
                ColumnAttribute::SerialDefaultValue
            }
            Kw::COMMENT => ColumnAttribute::Comment(self.string()?),
            Kw::COLLATE => {
                let name = self.collation_name()?;
                self.deprecate_collation(&name);
                ColumnAttribute::Collate(name)
            }
            Kw::COLUMN_FORMAT => ColumnAttribute::ColumnFormat(self.upper_word()?),
            Kw::STORAGE => ColumnAttribute::Storage(self.upper_word()?),
            Kw::ENGINE_ATTRIBUTE => {
                self.eat_op(Op::Eq);
                ColumnAttribute::EngineAttribute(self.string()?)
            }
            Kw::SECONDARY_ENGINE_ATTRIBUTE => {
                self.eat_op(Op::Eq);
                ColumnAttribute::SecondaryEngineAttribute(self.string()?)
            }
            Kw::SRID => ColumnAttribute::Srid(self.number()?),
            Kw::VISIBLE => ColumnAttribute::Visible,
            _ => ColumnAttribute::Invisible,
        }))
    }

    /// `[GENERATED ALWAYS] AS (expr) [VIRTUAL|STORED]`
    fn generated(&mut self) -> Result<ColumnAttribute> {
        if self.eat(Kw::GENERATED) {
            self.expect(Kw::ALWAYS)?;
        }
        self.expect(Kw::AS)?;
        self.expect_op(Op::LParen)?;
        let expr = self.expr()?;
        self.expect_op(Op::RParen)?;
        let stored = self.eat_any(&[Kw::VIRTUAL, Kw::STORED]) == Some(Kw::STORED);
        Ok(ColumnAttribute::Generated { expr, stored })
    }

    /// The value behind DEFAULT.
    pub(super) fn default_value(&mut self) -> Result<DefaultValue> {
        if self.eat_op(Op::LParen) {
            let expr = self.expr()?;
            self.expect_op(Op::RParen)?;
            return Ok(DefaultValue::Expr(expr));
        }
        if let Some(digits) = self.opt_now()? {
            return Ok(DefaultValue::Now(digits));
        }
        let negative = self.eat_op(Op::Minus);
        let signed = negative || self.eat_op(Op::Plus);
        if signed && !matches!(self.tok.tok, Tok::Int | Tok::Decimal | Tok::Float) {
            return self.fail();
        }
        match self.opt_literal()? {
            Some(literal) if negative => Ok(DefaultValue::Negative(literal)),
            Some(literal) => Ok(DefaultValue::Literal(literal)),
            None => self.fail(),
        }
    }

    /// The value behind SET DEFAULT: a literal is one in parentheses too, and CURRENT_TIMESTAMP stands only there.
    pub(super) fn set_default_value(&mut self) -> Result<DefaultValue> {
        if self.is_any(&NOW) {
            return self.fail();
        }
        Ok(match self.default_value()? {
            DefaultValue::Expr(Expr::Literal(literal)) => DefaultValue::Literal(literal),
            value => value,
        })
    }

    /// CURRENT_TIMESTAMP and its synonyms, with the digits in parentheses.
    fn opt_now(&mut self) -> Result<Option<Option<u64>>> {
        if self.eat_any(&NOW).is_none() {
            return Ok(None);
        }
        if !self.eat_op(Op::LParen) {
            return Ok(Some(None));
        }
        let digits = if self.is_op(Op::RParen) { None } else { Some(self.number()?) };
        self.expect_op(Op::RParen)?;
        Ok(Some(digits))
    }

    /// `CHECK (expr) [[NOT] ENFORCED]`
    pub(super) fn check(&mut self, name: Option<String>) -> Result<CheckConstraint> {
        self.expect(Kw::CHECK)?;
        self.expect_op(Op::LParen)?;
        let expr = self.expr()?;
        self.expect_op(Op::RParen)?;
        let enforced = self.opt_enforced()?.unwrap_or(true);
        Ok(CheckConstraint { name, expr, enforced })
    }

    /// `[NOT] ENFORCED`; NOT may also begin NOT NULL.
    pub(super) fn opt_enforced(&mut self) -> Result<Option<bool>> {
        if self.eat(Kw::ENFORCED) {
            return Ok(Some(true));
        }
        Ok(if self.eat2(Kw::NOT, Kw::ENFORCED) { Some(false) } else { None })
    }
}
