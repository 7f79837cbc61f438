//! `Part`: one column of a key, to bytes and back.

use std::borrow::Cow;

use vaquita_types::charset::CollationId;
use vaquita_types::datatype::{ColumnType, TypeKind};
use vaquita_types::{Error, Result, Value};

use super::escape::{ESCAPE, SPACE, SPACES_THEN_END, TERMINATOR, escape, invert, pad_space, terminated, unescape, unpad_space};
use crate::encoding::collate;
use crate::encoding::form;
use crate::encoding::form::{Fixed, FixedKind, Form};
use crate::encoding::value_ref::ValueRef;

const NULL: u8 = 0x00;
const NOT_NULL: u8 = 0x01;

/// How the value of a part is written, NULL marker and direction aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartForm {
    Fixed(Fixed),
    WideDecimal { precision: u8, scale: u8 },
    FixedBytes(u16),
    Raw,
    PadSpace,
    Collated(CollationId),
}

/// One column of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Position in `TableDef::columns`.
    pub position: usize,
    pub(crate) form: PartForm,
    pub(crate) nullable: bool,
    pub descending: bool,
    /// Characters (bytes for binary types) of a prefix part.
    pub prefix: Option<u32>,
    collation: CollationId,
    pub(crate) restorable: bool,
}

impl Part {
    pub(super) fn new(position: usize, ty: &ColumnType, nullable: bool, prefix: Option<u32>, descending: bool) -> Result<Part> {
        // A prefix as long as the column is no prefix.
        let prefix = prefix.filter(|n| ty.is_blob() || *n < ty.length);
        let form = match Form::of(ty) {
            Form::Fixed(f) => PartForm::Fixed(f),
            Form::WideDecimal { precision, scale } => PartForm::WideDecimal { precision, scale },
            Form::FixedBytes(n) => PartForm::FixedBytes(prefix.map_or(n, |p| p.min(n as u32) as u16)),
            Form::Bytes if !ty.is_text() || collate::is_raw(ty.collation) => PartForm::Raw,
            Form::Bytes if collate::is_raw_pad_space(ty.collation) => PartForm::PadSpace,
            Form::Bytes => PartForm::Collated(ty.collation),
            Form::Json => return Err(Error::unsupported("an index on a JSON column")),
        };
        let restorable = prefix.is_none()
            && match form {
                PartForm::Fixed(f) => !matches!(f.kind, FixedKind::Float | FixedKind::Double),
                PartForm::WideDecimal { .. } | PartForm::FixedBytes(_) | PartForm::Raw => true,
                // CHAR values have no trailing spaces to lose.
                PartForm::PadSpace => ty.kind == TypeKind::Char,
                PartForm::Collated(_) => false,
            };
        Ok(Part { position, form, nullable, descending, prefix, collation: ty.collation, restorable })
    }

    /// A word of a FULLTEXT index, or a cell of a SPATIAL one.
    pub(super) fn word(position: usize, form: PartForm, collation: CollationId) -> Part {
        Part { position, form, nullable: false, descending: false, prefix: None, collation, restorable: false }
    }

    /// Keys of both parts are the same bytes for the same value, and give back as much.
    pub(crate) fn writes_as(&self, other: &Part) -> bool {
        (self.form, self.nullable, self.descending, self.prefix, self.restorable)
            == (other.form, other.nullable, other.descending, other.prefix, other.restorable)
    }

    /// Bytes of the part if every value takes as many.
    pub(crate) fn width(&self) -> Option<usize> {
        match self.form {
            _ if self.nullable => None,
            PartForm::Fixed(f) => Some(f.width as usize),
            PartForm::WideDecimal { precision, scale } => Form::WideDecimal { precision, scale }.row_width(),
            PartForm::FixedBytes(n) => Some(n as usize),
            PartForm::Raw | PartForm::PadSpace | PartForm::Collated(_) => None,
        }
    }

    /// The number that the part's bytes are, in ascending order and without a marker before it.
    pub(crate) fn plain_number(&self) -> Option<Fixed> {
        match self.form {
            PartForm::Fixed(f) if !self.nullable && !self.descending => Some(f),
            _ => None,
        }
    }

    /// Appends a value of the column's type.
    #[inline]
    pub fn encode(&self, value: &Value, out: &mut Vec<u8>) -> Result<()> {
        // The common primary key: one integer, no marker, no inversion.
        if let PartForm::Fixed(f) = self.form
            && !self.nullable
            && !self.descending
        {
            let ordered = f.ordered(f.bits(value)?) << (64 - 8 * f.width as u32);
            out.extend_from_slice(&ordered.to_be_bytes()[..f.width as usize]);
            return Ok(());
        }
        let start = out.len();
        self.encode_ascending(value, out)?;
        if self.descending {
            invert(&mut out[start..]);
        }
        Ok(())
    }

    fn encode_ascending(&self, value: &Value, out: &mut Vec<u8>) -> Result<()> {
        if self.nullable {
            if value.is_null() {
                out.push(NULL);
                return Ok(());
            }
            out.push(NOT_NULL);
        }
        match self.form {
            PartForm::Fixed(f) => {
                let ordered = f.ordered(f.bits(value)?) << (64 - 8 * f.width as u32);
                out.extend_from_slice(&ordered.to_be_bytes()[..f.width as usize]);
            }
            PartForm::WideDecimal { precision, scale } => {
                Form::WideDecimal { precision, scale }.write_wide_decimal(value, precision, scale, out)?;
            }
            PartForm::FixedBytes(n) => {
                let bytes = self.prefix_of(value)?;
                let start = out.len();
                out.extend_from_slice(bytes.get(..n as usize).unwrap_or(bytes));
                out.resize(start + n as usize, 0);
            }
            PartForm::Raw => {
                let start = out.len();
                out.extend_from_slice(self.prefix_of(value)?);
                escape(out, start);
            }
            PartForm::PadSpace => pad_space(self.prefix_of(value)?, out),
            PartForm::Collated(collation) => {
                let start = out.len();
                collate::sort_key(collation, self.prefix_of(value)?, out)?;
                escape(out, start);
            }
        }
        Ok(())
    }

    /// The value as far as the part knows it, if it is a prefix.
    pub(crate) fn cut(&self, value: &Value) -> Option<Value> {
        match value {
            Value::Bytes(_) if self.prefix.is_some() => self.prefix_of(value).ok().map(Value::bytes),
            _ => None,
        }
    }

    fn prefix_of<'v>(&self, value: &'v Value) -> Result<&'v [u8]> {
        let Value::Bytes(bytes) = value else { return Err(form::mismatch(Form::Bytes, value)) };
        Ok(match self.prefix {
            Some(chars) => collate::char_prefix(self.collation, bytes, chars as usize),
            None => bytes,
        })
    }

    /// The length of this part at the start of `bytes`.
    pub(crate) fn len_at(&self, bytes: &[u8]) -> Option<usize> {
        let flip = if self.descending { 0xFF } else { 0 };
        let marker = self.nullable as usize;
        if self.nullable && *bytes.first()? ^ flip == NULL {
            return Some(1);
        }
        let len = match self.form {
            PartForm::Fixed(f) => f.width as usize,
            PartForm::WideDecimal { precision, scale } => Form::WideDecimal { precision, scale }.row_width()?,
            PartForm::FixedBytes(n) => n as usize,
            PartForm::Raw | PartForm::Collated(_) => terminated(bytes.get(marker..)?, ESCAPE ^ flip, TERMINATOR ^ flip)?,
            PartForm::PadSpace => terminated(bytes.get(marker..)?, SPACE ^ flip, SPACES_THEN_END ^ flip)?,
        };
        (marker + len <= bytes.len()).then_some(marker + len)
    }

    /// The value of exactly this part's bytes; `None` if they are damaged or not `restorable`.
    pub(crate) fn decode<'a>(&self, bytes: &'a [u8]) -> Option<ValueRef<'a>> {
        if self.descending {
            let mut ascending = bytes.to_vec();
            invert(&mut ascending);
            return Some(match self.decode_ascending(&ascending)? {
                ValueRef::Bytes(b) => ValueRef::Bytes(Cow::Owned(b.into_owned())),
                ValueRef::Json(_) => return None,
                ValueRef::Null => ValueRef::Null,
                ValueRef::Int(v) => ValueRef::Int(v),
                ValueRef::UInt(v) => ValueRef::UInt(v),
                ValueRef::Float(v) => ValueRef::Float(v),
                ValueRef::Decimal(v) => ValueRef::Decimal(v),
                ValueRef::Date(v) => ValueRef::Date(v),
                ValueRef::DateTime(v) => ValueRef::DateTime(v),
                ValueRef::Time(v) => ValueRef::Time(v),
            });
        }
        self.decode_ascending(bytes)
    }

    #[inline]
    fn decode_ascending<'a>(&self, mut bytes: &'a [u8]) -> Option<ValueRef<'a>> {
        if self.nullable {
            let (marker, rest) = bytes.split_first()?;
            match *marker {
                NULL if rest.is_empty() => return Some(ValueRef::Null),
                NOT_NULL => bytes = rest,
                _ => return None,
            }
        }
        match self.form {
            PartForm::Fixed(f) if bytes.len() == f.width as usize => {
                let ordered = match *bytes {
                    [a, b, c, d] => u64::from(u32::from_be_bytes([a, b, c, d])),
                    _ => bytes.iter().fold(0u64, |n, b| n << 8 | *b as u64),
                };
                f.value(f.unordered(ordered))
            }
            PartForm::Fixed(_) => None,
            PartForm::WideDecimal { precision, scale } => Form::WideDecimal { precision, scale }.read_fixed(bytes),
            PartForm::FixedBytes(n) => (bytes.len() == n as usize).then_some(ValueRef::Bytes(Cow::Borrowed(bytes))),
            PartForm::Raw => unescape(bytes).map(ValueRef::Bytes),
            PartForm::PadSpace => unpad_space(bytes).map(|b| ValueRef::Bytes(Cow::Owned(b))),
            PartForm::Collated(_) => None,
        }
    }
}
