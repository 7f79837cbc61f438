//! Types: of columns, and of CAST. Also the names of character sets and collations.

use vaquita_types::errno;

use super::{Parser, Result};
use crate::ast::{CastType, DataType, TypeName};
use crate::error::ParseError;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};

/// As MySQL: precisions of seconds and pairs of lengths take no longer numbers.
const SHORT_MAX: u64 = i32::MAX as u64;

impl Parser<'_> {
    /// A character set: a name, a string, or the word BINARY.
    pub(super) fn charset_name(&mut self) -> Result<String> {
        if self.eat(Kw::BINARY) {
            return Ok("binary".to_string());
        }
        Ok(self.ident_or_text()?.to_ascii_lowercase())
    }

    /// A collation: a name, a string, or the word BINARY.
    pub(super) fn collation_name(&mut self) -> Result<String> {
        self.charset_name()
    }

    /// `CHARACTER SET` or `CHARSET`, eaten.
    pub(super) fn eat_character_set(&mut self) -> bool {
        self.eat(Kw::CHARSET) || self.eat2(Kw::CHARACTER, Kw::SET) || self.eat2(Kw::CHAR, Kw::SET)
    }

    pub(super) fn cast_type(&mut self) -> Result<CastType> {
        let Tok::Kw(kw) = self.tok.tok else { return self.fail() };
        self.bump();
        Ok(match kw {
            Kw::SIGNED | Kw::UNSIGNED => {
                self.eat_any(&[Kw::INT, Kw::INTEGER]);
                if kw == Kw::SIGNED { CastType::Signed } else { CastType::Unsigned }
            }
            Kw::BINARY => CastType::Binary(self.opt_paren_number()?),
            Kw::CHAR | Kw::CHARACTER => {
                let length = self.opt_paren_number()?;
                let before = self.binary_attribute();
                let charset = self.charset_attribute()?;
                let binary = before || self.binary_attribute();
                match charset {
                    Some(name) if name.eq_ignore_ascii_case("binary") => CastType::Binary(length),
                    charset => CastType::Char { length, charset, binary },
                }
            }
            Kw::NCHAR => {
                self.deprecate_national();
                let length = self.opt_paren_number()?;
                CastType::Char { length, charset: Some("utf8mb3".to_string()), binary: false }
            }
            Kw::NATIONAL => {
                self.expect_any(&[Kw::CHAR, Kw::CHARACTER])?;
                self.deprecate_national();
                let length = self.opt_paren_number()?;
                CastType::Char { length, charset: Some("utf8mb3".to_string()), binary: false }
            }
            Kw::DATE => CastType::Date,
            Kw::YEAR => CastType::Year,
            Kw::TIME => CastType::Time(self.opt_paren_number()?),
            Kw::DATETIME => CastType::DateTime(self.opt_paren_number()?),
            Kw::DECIMAL | Kw::DEC => {
                let (precision, scale) = self.opt_precision()?;
                CastType::Decimal { precision, scale }
            }
            Kw::JSON => CastType::Json,
            Kw::REAL => {
                if self.opts.real_as_float {
                    CastType::Float(None)
                } else {
                    CastType::Real
                }
            }
            Kw::DOUBLE | Kw::FLOAT8 => {
                self.eat(Kw::PRECISION);
                CastType::Double
            }
            Kw::FLOAT | Kw::FLOAT4 => CastType::Float(self.opt_paren_number()?),
            Kw::POINT
            | Kw::LINESTRING
            | Kw::POLYGON
            | Kw::MULTIPOINT
            | Kw::MULTILINESTRING
            | Kw::MULTIPOLYGON
            | Kw::GEOMETRYCOLLECTION
            | Kw::GEOMCOLLECTION => CastType::Spatial(kw.as_str().to_ascii_lowercase()),
            _ => return self.fail_at(kw),
        })
    }

    /// Error 1064 at the keyword just eaten.
    fn fail_at<T>(&self, kw: Kw) -> Result<T> {
        let at = self.prev_end.saturating_sub(kw.as_str().len());
        Err(ParseError::syntax(self.src, at))
    }

    /// `(p)` or `(p, s)`
    fn opt_precision(&mut self) -> Result<(Option<u64>, Option<u64>)> {
        if !self.eat_op(Op::LParen) {
            return Ok((None, None));
        }
        let precision = self.paren_integer()?;
        // Only what stands alone may be long.
        if self.is_op(Op::Comma) && precision > SHORT_MAX {
            return self.fail();
        }
        let scale = if self.eat_op(Op::Comma) { Some(self.short_integer()?) } else { None };
        self.expect_op(Op::RParen)?;
        Ok((Some(precision), scale))
    }

    fn paren_integer(&mut self) -> Result<u64> {
        if self.tok.tok == Tok::Int { self.number() } else { self.fail() }
    }

    fn short_integer(&mut self) -> Result<u64> {
        let start = self.start();
        match self.paren_integer()? {
            n if n <= SHORT_MAX => Ok(n),
            _ => Err(ParseError::syntax(self.src, start)),
        }
    }

    /// The type of a column, whose name errors say. SERIAL is the caller's.
    pub(super) fn data_type(&mut self, column: &str) -> Result<DataType> {
        let ty = self.any_type()?;
        match ty.length {
            Some(n) if ty.name == TypeName::Year && n != 4 => self.refuse(&errno::ER_INVALID_YEAR_COLUMN_LENGTH, &[]),
            Some(n) if n > u64::from(u32::MAX) => self.refuse(&errno::ER_TOO_BIG_DISPLAYWIDTH, &[&column, &u32::MAX]),
            _ => {}
        }
        Ok(ty)
    }

    fn any_type(&mut self) -> Result<DataType> {
        let Tok::Kw(kw) = self.tok.tok else { return self.fail() };
        let mut ty = DataType {
            name: TypeName::Int,
            length: None,
            scale: None,
            unsigned: false,
            unsigned_given: false,
            zerofill: false,
            charset: None,
            binary: false,
            values: Vec::new(),
        };
        if self.number_type(kw, &mut ty)? || self.time_type(kw, &mut ty)? {
            return Ok(ty);
        }
        if self.string_type(kw, &mut ty)? || self.spatial_type(kw, &mut ty) {
            return Ok(ty);
        }
        self.fail()
    }

    fn number_type(&mut self, kw: Kw, ty: &mut DataType) -> Result<bool> {
        ty.name = match kw {
            Kw::TINYINT | Kw::INT1 => TypeName::TinyInt,
            Kw::SMALLINT | Kw::INT2 => TypeName::SmallInt,
            Kw::MEDIUMINT | Kw::MIDDLEINT | Kw::INT3 => TypeName::MediumInt,
            Kw::INT | Kw::INTEGER | Kw::INT4 => TypeName::Int,
            Kw::BIGINT | Kw::INT8 => TypeName::BigInt,
            Kw::FLOAT | Kw::FLOAT4 => TypeName::Float,
            Kw::DOUBLE | Kw::FLOAT8 => TypeName::Double,
            Kw::REAL if self.opts.real_as_float => TypeName::Float,
            Kw::REAL => TypeName::Double,
            Kw::DECIMAL | Kw::DEC | Kw::NUMERIC | Kw::FIXED => TypeName::Decimal,
            Kw::BOOL | Kw::BOOLEAN => {
                self.bump();
                ty.name = TypeName::Bool;
                ty.length = Some(1);
                return Ok(true);
            }
            Kw::BIT => {
                self.bump();
                ty.name = TypeName::Bit;
                ty.length = self.opt_paren_number()?;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        self.bump();
        if matches!(kw, Kw::DOUBLE) {
            self.eat(Kw::PRECISION);
        }
        match ty.name {
            TypeName::Float | TypeName::Decimal => {
                (ty.length, ty.scale) = self.opt_precision()?;
            }
            TypeName::Double => {
                if self.is_op(Op::LParen) {
                    (ty.length, ty.scale) = self.opt_precision()?;
                    if ty.scale.is_none() {
                        // DOUBLE(p) does not exist.
                        return Err(ParseError::syntax(self.src, self.prev_end.saturating_sub(1)));
                    }
                }
            }
            _ => ty.length = self.opt_paren_number()?,
        }
        while let Some(option) = self.eat_any(&[Kw::UNSIGNED, Kw::SIGNED, Kw::ZEROFILL]) {
            ty.unsigned |= option != Kw::SIGNED;
            ty.unsigned_given |= option == Kw::UNSIGNED;
            ty.zerofill |= option == Kw::ZEROFILL;
        }
        if ty.name == TypeName::Float && ty.scale.is_none() && ty.length.is_some_and(|p| p > 24) {
            // FLOAT(p) only chooses between the two types.
            ty.name = TypeName::Double;
        }
        Ok(true)
    }

    fn time_type(&mut self, kw: Kw, ty: &mut DataType) -> Result<bool> {
        ty.name = match kw {
            Kw::DATE => TypeName::Date,
            Kw::TIME => TypeName::Time,
            Kw::DATETIME => TypeName::DateTime,
            Kw::TIMESTAMP => TypeName::Timestamp,
            Kw::YEAR => TypeName::Year,
            _ => return Ok(false),
        };
        self.bump();
        if kw != Kw::DATE && kw != Kw::YEAR && self.eat_op(Op::LParen) {
            ty.length = Some(self.short_integer()?);
            self.expect_op(Op::RParen)?;
        }
        if kw == Kw::YEAR {
            ty.length = self.opt_paren_number()?;
            while let Some(option) = self.eat_any(&[Kw::UNSIGNED, Kw::SIGNED, Kw::ZEROFILL]) {
                ty.unsigned |= option != Kw::SIGNED;
            }
        }
        Ok(true)
    }

    fn string_type(&mut self, kw: Kw, ty: &mut DataType) -> Result<bool> {
        match kw {
            Kw::CHAR | Kw::CHARACTER | Kw::NCHAR | Kw::NATIONAL | Kw::VARCHAR | Kw::VARCHARACTER | Kw::NVARCHAR => {
                self.char_type(kw, ty)?
            }
            Kw::BINARY => {
                self.bump();
                ty.name = TypeName::Binary;
                ty.length = self.opt_paren_number()?;
            }
            Kw::VARBINARY => {
                self.bump();
                ty.name = TypeName::VarBinary;
                ty.length = Some(self.length()?);
            }
            Kw::TINYBLOB | Kw::MEDIUMBLOB | Kw::LONGBLOB => {
                self.bump();
                ty.name = match kw {
                    Kw::TINYBLOB => TypeName::TinyBlob,
                    Kw::MEDIUMBLOB => TypeName::MediumBlob,
                    _ => TypeName::LongBlob,
                };
            }
            Kw::BLOB => {
                self.bump();
                ty.name = TypeName::Blob;
                ty.length = self.opt_paren_number()?;
            }
            Kw::TINYTEXT | Kw::TEXT | Kw::MEDIUMTEXT | Kw::LONGTEXT => {
                self.bump();
                ty.name = match kw {
                    Kw::TINYTEXT => TypeName::TinyText,
                    Kw::TEXT => TypeName::Text,
                    Kw::MEDIUMTEXT => TypeName::MediumText,
                    _ => TypeName::LongText,
                };
                if kw == Kw::TEXT {
                    ty.length = self.opt_paren_number()?;
                }
                self.type_charset(ty)?;
            }
            Kw::LONG => self.long_type(ty)?,
            Kw::ENUM | Kw::SET => {
                self.bump();
                ty.name = if kw == Kw::ENUM { TypeName::Enum } else { TypeName::Set };
                ty.values = self.paren_list(Self::text_or_hex)?;
                self.type_charset(ty)?;
            }
            Kw::JSON => {
                self.bump();
                ty.name = TypeName::Json;
            }
            Kw::VECTOR => {
                self.bump();
                ty.name = TypeName::Vector;
                ty.length = self.opt_paren_number()?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// CHAR, VARCHAR and their national and long-winded forms.
    fn char_type(&mut self, kw: Kw, ty: &mut DataType) -> Result<()> {
        self.bump();
        let mut national = matches!(kw, Kw::NCHAR | Kw::NVARCHAR);
        let mut varying = matches!(kw, Kw::VARCHAR | Kw::VARCHARACTER | Kw::NVARCHAR);
        if kw == Kw::NATIONAL {
            national = true;
            let word = self.expect_any(&[Kw::CHAR, Kw::CHARACTER, Kw::VARCHAR, Kw::VARCHARACTER])?;
            varying = matches!(word, Kw::VARCHAR | Kw::VARCHARACTER);
        }
        if !varying && self.eat_any(&[Kw::VARYING, Kw::VARCHAR, Kw::VARCHARACTER]).is_some() {
            varying = true;
        }
        ty.name = if varying { TypeName::VarChar } else { TypeName::Char };
        ty.length = if varying { Some(self.length()?) } else { self.opt_paren_number()? };
        if national {
            self.deprecate_national();
            ty.charset = Some("utf8mb3".to_string());
            ty.binary = self.binary_attribute();
            return Ok(());
        }
        self.type_charset(ty)
    }

    fn length(&mut self) -> Result<u64> {
        match self.opt_paren_number()? {
            Some(n) => Ok(n),
            None => self.fail(),
        }
    }

    /// LONG, LONG VARCHAR and LONG VARBINARY: MEDIUMTEXT and MEDIUMBLOB.
    fn long_type(&mut self, ty: &mut DataType) -> Result<()> {
        self.bump();
        if self.eat(Kw::VARBINARY) {
            ty.name = TypeName::MediumBlob;
            return Ok(());
        }
        if self.eat_any(&[Kw::CHAR, Kw::CHARACTER]).is_some() {
            self.expect(Kw::VARYING)?;
        } else {
            self.eat_any(&[Kw::VARCHAR, Kw::VARCHARACTER]);
        }
        ty.name = TypeName::MediumText;
        self.type_charset(ty)
    }

    /// `[CHARACTER SET x] [BINARY]` and the one-word forms, in either order.
    fn type_charset(&mut self, ty: &mut DataType) -> Result<()> {
        ty.binary = self.binary_attribute();
        ty.charset = self.charset_attribute()?;
        ty.binary |= !ty.binary && self.binary_attribute();
        Ok(())
    }

    /// BINARY behind a type of texts: its charset's `_bin` collation.
    fn binary_attribute(&mut self) -> bool {
        let given = self.eat(Kw::BINARY);
        if given {
            self.deprecate("BINARY as attribute of a type", "a CHARACTER SET clause with _bin collation");
        }
        given
    }

    /// CHARACTER SET x and its short forms.
    fn charset_attribute(&mut self) -> Result<Option<String>> {
        if self.eat_character_set() {
            let name = self.charset_name()?;
            self.deprecate_charset(&name);
            return Ok(Some(name));
        }
        let Some(kw) = self.eat_any(&[Kw::ASCII, Kw::UNICODE, Kw::BYTE]) else { return Ok(None) };
        if kw != Kw::BYTE {
            self.deprecate(kw.as_str(), "CHARACTER SET charset_name");
        }
        let charset = match kw {
            Kw::ASCII => "latin1",
            Kw::UNICODE => "ucs2",
            _ => "binary",
        };
        Ok(Some(charset.to_string()))
    }

    fn spatial_type(&mut self, kw: Kw, ty: &mut DataType) -> bool {
        ty.name = match kw {
            Kw::GEOMETRY => TypeName::Geometry,
            Kw::POINT => TypeName::Point,
            Kw::LINESTRING => TypeName::LineString,
            Kw::POLYGON => TypeName::Polygon,
            Kw::MULTIPOINT => TypeName::MultiPoint,
            Kw::MULTILINESTRING => TypeName::MultiLineString,
            Kw::MULTIPOLYGON => TypeName::MultiPolygon,
            Kw::GEOMETRYCOLLECTION | Kw::GEOMCOLLECTION => TypeName::GeometryCollection,
            _ => return false,
        };
        self.bump();
        true
    }
}
