//! Literals with the types that MySQL gives them.
//!
//! `42` is BIGINT of two digits, `1.50` DECIMAL(3,2), `1e3` DOUBLE, `'abc'` VARCHAR(3) in the collation of the
//! connection or of its introducer, `x'41'` VARBINARY that may count as a number, `DATE '2024-01-31'` a DATE.

use std::borrow::Cow;

use vaquita_parser as ast;
use vaquita_types::charset::{Charset, CollationId, charset as charset_of};
use vaquita_types::decimal::Decimal;
use vaquita_types::temporal::{DateFlags, DateTime, MICROS_PER_SECOND, parse_datetime, parse_time};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno, sql_mode};

use super::Binder;
use crate::expr::{Expr, ExprKind};
use crate::{text, typing};

impl Binder<'_> {
    pub fn literal(&self, literal: &ast::Literal) -> Result<Expr> {
        Ok(match literal {
            ast::Literal::Null => Expr::literal(Value::Null, ColumnType::null()),
            ast::Literal::True => Expr::literal(Value::Int(1), ColumnType { length: 1, ..ColumnType::bigint() }),
            ast::Literal::False => Expr::literal(Value::Int(0), ColumnType { length: 1, ..ColumnType::bigint() }),
            ast::Literal::Int(n) => integer(*n, false),
            ast::Literal::Decimal(text) => decimal(text, false),
            ast::Literal::Float(text) => float(text, false)?,
            ast::Literal::String(s) => self.string(&s.bytes, s.charset.as_deref())?,
            ast::Literal::Hex { bytes, charset } | ast::Literal::Bit { bytes, charset } => match charset {
                Some(charset) => {
                    let collation = self.introduced(charset)?;
                    let bytes = charset_of(collation).whole_units(bytes);
                    check_text(&bytes, collation)?;
                    text_literal(&bytes, collation)
                }
                None => {
                    let ty = ColumnType { unsigned: true, ..ColumnType::varbinary(bytes.len() as u32) };
                    Expr::literal(Value::bytes(bytes), ty)
                }
            },
            ast::Literal::Date(text) | ast::Literal::Time(text) | ast::Literal::Timestamp(text) => {
                self.temporal(literal, text)?
            }
        })
    }

    /// `-literal` as one literal, so that `-1` has the type and the value of a number.
    pub fn negative_literal(&self, literal: &ast::Literal) -> Result<Option<Expr>> {
        Ok(match literal {
            ast::Literal::Int(n) => Some(integer(*n, true)),
            ast::Literal::Decimal(text) => Some(decimal(text, true)),
            ast::Literal::Float(text) => Some(float(text, true)?),
            _ => None,
        })
    }

    /// The collation of an introducer; error 1115.
    fn introduced(&self, charset: &str) -> Result<CollationId> {
        let known = text::default_collation(charset).ok_or_else(|| Error::new(&errno::ER_UNKNOWN_CHARACTER_SET, &[&charset]))?;
        Ok(if known == CollationId::default() { self.cx.settings.utf8mb4_collation } else { known })
    }

    /// A text as the statement has it, which is in utf8mb4, in the charset of the connection; after an introducer it is
    /// the bytes that the client sent.
    fn string(&self, bytes: &[u8], charset: Option<&str>) -> Result<Expr> {
        let collation = charset.map_or(Ok(self.cx.settings.connection_collation), |charset| self.introduced(charset))?;
        let target = if charset.is_some() { self.cx.settings.client_charset } else { self.string_charset(collation) };
        // Half a character at the start becomes whole.
        let whole = |bytes: &[u8]| charset_of(collation).whole_units(bytes).into_owned();
        if charset.is_some() && charset_of(collation).mbminlen > 1 {
            let sent =
                target.map_or(Cow::Borrowed(bytes), |target| charset_of(CollationId::UTF8MB4_BIN).convert(target, bytes).bytes);
            return Ok(text_literal(&whole(&sent), collation));
        }
        Ok(match target {
            Some(target) => text_literal(&charset_of(CollationId::UTF8MB4_BIN).convert(target, bytes).bytes, collation),
            None => text_literal(bytes, collation),
        })
    }

    /// What a text in utf8mb4 has to become to have the connection's collation; none: it is that already.
    pub(super) fn string_charset(&self, collation: CollationId) -> Option<&'static Charset> {
        if collation == CollationId::BINARY {
            return self.cx.settings.client_charset;
        }
        (!text::charset_name(collation).starts_with("utf8mb")).then(|| charset_of(collation))
    }

    /// A time with an offset in the session's time zone.
    fn local(&self, value: DateTime, offset_seconds: Option<i32>) -> Option<DateTime> {
        let Some(offset) = offset_seconds else { return Some(value) };
        let utc = value.add_micros(-i64::from(offset) * MICROS_PER_SECOND)?;
        self.cx.settings.time_zone.from_utc(utc)
    }

    fn temporal(&self, literal: &ast::Literal, written: &[u8]) -> Result<Expr> {
        let flags = DateFlags {
            no_zero_date: self.mode(sql_mode::NO_ZERO_DATE),
            no_zero_in_date: self.mode(sql_mode::NO_ZERO_IN_DATE),
            invalid_dates: self.mode(sql_mode::ALLOW_INVALID_DATES),
        };
        let cut = self.mode(sql_mode::TIME_TRUNCATE_FRACTIONAL);
        let wrong = |kind: &str| Error::new(&errno::ER_WRONG_VALUE, &[&kind, &String::from_utf8_lossy(written)]);
        match literal {
            ast::Literal::Date(_) => match parse_datetime(written, flags) {
                Ok(p) if !p.truncated && p.date_only => {
                    Ok(Expr::literal(Value::Date(p.value.date()), ColumnType::new(TypeKind::Date)))
                }
                _ => Err(wrong("DATE")),
            },
            ast::Literal::Time(_) => match parse_time(written) {
                Ok(p) if !p.truncated && !p.out_of_range && p.from_datetime.is_none() =>
                // Rounded, as in MySQL, also under TIME_TRUNCATE_FRACTIONAL.
                {
                    Ok(Expr::literal(
                        Value::Time(p.to_fsp(6, false)),
                        ColumnType::temporal(TypeKind::Time, p.fraction_digits.min(6)),
                    ))
                }
                _ => Err(wrong("TIME")),
            },
            _ => match parse_datetime(written, flags) {
                Ok(p) if !p.truncated && !p.date_only => {
                    let value = p.to_fsp(6, cut).and_then(|value| self.local(value, p.offset_seconds));
                    let value = value.ok_or_else(|| wrong("DATETIME"))?;
                    let ty = ColumnType::temporal(TypeKind::DateTime, p.fraction_digits.min(6));
                    Ok(Expr::literal(Value::DateTime(value), ty))
                }
                _ => Err(wrong("DATETIME")),
            },
        }
    }
}

/// Error 1300 for bytes after an introducer that are no text in its charset.
fn check_text(bytes: &[u8], collation: CollationId) -> Result<()> {
    let charset = charset_of(collation);
    // Of ASCII MySQL takes any bytes.
    if charset.is_binary() || charset.name == "ascii" {
        return Ok(());
    }
    let Err(at) = charset.validate(bytes) else { return Ok(()) };
    let hex: String = bytes[at..].iter().take(3).map(|b| format!("{b:02X}")).collect();
    Err(Error::new(&errno::ER_INVALID_CHARACTER_STRING, &[&charset.name, &hex]))
}

fn text_literal(bytes: &[u8], collation: CollationId) -> Expr {
    let ty = if collation == CollationId::BINARY {
        ColumnType::varbinary(bytes.len() as u32)
    } else {
        ColumnType::varchar(text::char_count(bytes, collation) as u32, collation)
    };
    Expr::literal(Value::bytes(bytes), ty)
}

fn integer(n: u64, negative: bool) -> Expr {
    let digits = n.checked_ilog10().unwrap_or(0) + 1;
    if negative {
        return match i64::try_from(n).map(|n| -n).or(if n == 1 << 63 { Ok(i64::MIN) } else { Err(()) }) {
            Ok(n) => Expr::literal(Value::Int(n), ColumnType { length: digits + 1, ..ColumnType::bigint() }),
            Err(()) => decimal(&n.to_string(), true),
        };
    }
    match i64::try_from(n) {
        Ok(n) => Expr::literal(Value::Int(n), ColumnType { length: digits + 1, ..ColumnType::bigint() }),
        Err(_) => Expr::literal(Value::UInt(n), ColumnType { length: digits, ..ColumnType::bigint_unsigned() }),
    }
}

fn decimal(written: &str, negative: bool) -> Expr {
    let d = Decimal::parse(written.as_bytes()).value;
    let d = if negative { d.neg() } else { d };
    let ty = typing::decimal_type(
        d.precision().max(u32::from(d.scale()) + u32::from(written.starts_with(|c: char| c.is_ascii_digit()))),
        d.scale(),
        false,
    );
    Expr::literal(Value::Decimal(d), ty)
}

fn float(written: &str, negative: bool) -> Result<Expr> {
    let f: f64 = written.parse().unwrap_or(f64::INFINITY);
    if !f.is_finite() {
        return Err(Error::new(&errno::ER_ILLEGAL_VALUE_FOR_TYPE, &[&"double", &written]));
    }
    Ok(Expr::literal(
        Value::Float(if negative { -f } else { f }),
        ColumnType { length: written.len() as u32, ..ColumnType::double() },
    ))
}

/// A word of SQL syntax (a unit, a kind) as an argument.
pub fn word(text: &str) -> Expr {
    let ty = ColumnType::varchar(text.len() as u32, CollationId::UTF8MB3_GENERAL_CI);
    Expr { kind: ExprKind::Literal(Value::from(text)), ty, nullable: false, coercibility: 4 }
}

/// A collation by name; error 1273.
pub fn collation(name: &str) -> Result<CollationId> {
    let known = vaquita_types::charset::Collation::by_name(name).filter(|c| c.is_supported());
    known.map(|c| c.id).ok_or_else(|| Error::new(&errno::ER_UNKNOWN_COLLATION, &[&name]))
}
