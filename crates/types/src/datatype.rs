//! `ColumnType`: the declared type of a column, a parameter or an expression result.
//!
//! One struct serves the catalog, the planner and the wire. `length` and `decimals`
//! follow MySQL's result metadata:
//!
//! | kind                     | `length`                              | `decimals`            |
//! |--------------------------|---------------------------------------|-----------------------|
//! | integers                 | display width                         | 0                     |
//! | DECIMAL(p,s)             | p (digits)                            | s                     |
//! | FLOAT/DOUBLE(m,d)        | m, or the default width               | d, or 31 = not fixed  |
//! | CHAR/VARCHAR/TEXT family | characters (TEXT family: bytes)       | 0                     |
//! | BINARY/VARBINARY/BLOB    | bytes                                 | 0                     |
//! | BIT(n)                   | n bits                                | 0                     |
//! | VECTOR(n)                | 4n bytes                              | 0                     |
//! | spatial types            | the SRID attribute and 1, 0 without   | WKB's code, 0 for any |
//! | TIME/DATETIME/TIMESTAMP  | unused                                | fractional digits 0–6 |

mod geometry_kind;

use std::sync::Arc;

use crate::charset::CollationId;
use crate::vector;
pub use geometry_kind::GeometryKind;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum TypeKind {
    /// The type of a bare NULL.
    Null = 0,
    TinyInt = 1,
    SmallInt = 2,
    MediumInt = 3,
    Int = 4,
    BigInt = 5,
    Decimal = 6,
    Float = 7,
    Double = 8,
    Bit = 9,
    Year = 10,
    Date = 11,
    Time = 12,
    DateTime = 13,
    Timestamp = 14,
    Char = 15,
    VarChar = 16,
    TinyText = 17,
    Text = 18,
    MediumText = 19,
    LongText = 20,
    Binary = 21,
    VarBinary = 22,
    TinyBlob = 23,
    Blob = 24,
    MediumBlob = 25,
    LongBlob = 26,
    Enum = 27,
    Set = 28,
    Json = 29,
    /// All spatial types; `ColumnType::geometry_kind` says which.
    Geometry = 30,
    /// FLOATs, as their bytes; `length` counts bytes.
    Vector = 31,
}

/// `decimals` of a FLOAT or DOUBLE without a declared scale (MySQL's NOT_FIXED_DEC).
pub const DECIMALS_NOT_FIXED: u8 = 31;

#[derive(Clone, Debug, PartialEq)]
pub struct ColumnType {
    pub kind: TypeKind,
    pub unsigned: bool,
    pub zerofill: bool,
    pub decimals: u8,
    pub length: u32,
    /// Collation of character types, ENUM and SET; `CollationId::BINARY` for all others.
    pub collation: CollationId,
    /// The labels of ENUM and SET, in the charset of `collation`.
    pub members: Option<Arc<[Box<[u8]>]>>,
}

impl ColumnType {
    pub fn new(kind: TypeKind) -> ColumnType {
        ColumnType {
            kind,
            unsigned: false,
            zerofill: false,
            decimals: 0,
            length: 0,
            collation: CollationId::BINARY,
            members: None,
        }
    }

    pub fn null() -> ColumnType {
        ColumnType::new(TypeKind::Null)
    }

    /// BIGINT, the type of integer expressions.
    pub fn bigint() -> ColumnType {
        ColumnType { length: 21, ..ColumnType::new(TypeKind::BigInt) }
    }

    pub fn bigint_unsigned() -> ColumnType {
        ColumnType { length: 21, unsigned: true, ..ColumnType::new(TypeKind::BigInt) }
    }

    /// The type of predicates: MySQL reports INT(1).
    pub fn boolean() -> ColumnType {
        ColumnType { length: 1, ..ColumnType::new(TypeKind::BigInt) }
    }

    pub fn double() -> ColumnType {
        ColumnType { length: 23, decimals: DECIMALS_NOT_FIXED, ..ColumnType::new(TypeKind::Double) }
    }

    pub fn decimal(precision: u32, scale: u8) -> ColumnType {
        ColumnType { length: precision, decimals: scale, ..ColumnType::new(TypeKind::Decimal) }
    }

    pub fn varchar(chars_max: u32, collation: CollationId) -> ColumnType {
        ColumnType { length: chars_max, collation, ..ColumnType::new(TypeKind::VarChar) }
    }

    pub fn varbinary(bytes_max: u32) -> ColumnType {
        ColumnType { length: bytes_max, ..ColumnType::new(TypeKind::VarBinary) }
    }

    pub fn temporal(kind: TypeKind, fsp: u8) -> ColumnType {
        ColumnType { decimals: fsp, ..ColumnType::new(kind) }
    }

    /// A spatial type, whose values have this SRID if it is given.
    pub fn geometry(kind: GeometryKind, srid: Option<u32>) -> ColumnType {
        let length = srid.map_or(0, |srid| srid.saturating_add(1));
        ColumnType { length, decimals: kind as u8, ..ColumnType::new(TypeKind::Geometry) }
    }

    pub fn vector(dimensions: u32) -> ColumnType {
        ColumnType { length: dimensions.saturating_mul(vector::ELEMENT_BYTES as u32), ..ColumnType::new(TypeKind::Vector) }
    }

    pub fn is_vector(&self) -> bool {
        self.kind == TypeKind::Vector
    }

    /// Of a spatial type.
    pub fn geometry_kind(&self) -> GeometryKind {
        GeometryKind::from_code(u32::from(self.decimals)).unwrap_or(GeometryKind::Geometry)
    }

    /// The SRID attribute of a spatial column.
    pub fn srid(&self) -> Option<u32> {
        if self.kind == TypeKind::Geometry { self.length.checked_sub(1) } else { None }
    }

    pub fn is_geometry(&self) -> bool {
        self.kind == TypeKind::Geometry
    }

    pub fn is_integer(&self) -> bool {
        matches!(self.kind, TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int | TypeKind::BigInt)
    }

    /// Integers, YEAR, BIT, DECIMAL, FLOAT and DOUBLE.
    pub fn is_numeric(&self) -> bool {
        self.is_integer()
            || matches!(self.kind, TypeKind::Decimal | TypeKind::Float | TypeKind::Double | TypeKind::Bit | TypeKind::Year)
    }

    pub fn is_temporal(&self) -> bool {
        matches!(self.kind, TypeKind::Date | TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp)
    }

    /// Values of this type are `Value::Bytes` (character or binary strings, geometries, vectors).
    pub fn is_bytes(&self) -> bool {
        (TypeKind::Char as u8..=TypeKind::LongBlob as u8).contains(&(self.kind as u8))
            || matches!(self.kind, TypeKind::Geometry | TypeKind::Vector)
    }

    /// TEXT and BLOB families, spatial types, vectors and JSON: they have no default and need a prefix in an index.
    pub fn is_blob(&self) -> bool {
        matches!(
            self.kind,
            TypeKind::TinyText
                | TypeKind::Text
                | TypeKind::MediumText
                | TypeKind::LongText
                | TypeKind::TinyBlob
                | TypeKind::Blob
                | TypeKind::MediumBlob
                | TypeKind::LongBlob
                | TypeKind::Json
                | TypeKind::Geometry
                | TypeKind::Vector
        )
    }

    /// Character types with a charset other than binary (CHAR … LONGTEXT).
    pub fn is_text(&self) -> bool {
        self.is_bytes() && (self.kind as u8) < TypeKind::Binary as u8 && self.collation != CollationId::BINARY
    }
}
