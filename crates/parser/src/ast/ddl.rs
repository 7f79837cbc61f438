//! Statements that define schema objects: databases, tables, indexes, views.

use super::Name;
use super::account::UserName;
use super::expr::{Expr, Literal};
use super::partition::{PartitionAction, Partitioning};
use super::query::{OrderItem, Query};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseOption {
    Charset(String),
    Collate(String),
    /// ENCRYPTION 'Y'.
    Encryption(bool),
    /// READ ONLY; `None` for DEFAULT.
    ReadOnly(Option<bool>),
}

/// A column type with all that belongs to the type itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataType {
    pub name: TypeName,
    /// Length, precision, display width or fraction digits: the first number in parentheses.
    pub length: Option<u64>,
    /// The second number in parentheses.
    pub scale: Option<u64>,
    /// UNSIGNED, or ZEROFILL, which implies it.
    pub unsigned: bool,
    /// UNSIGNED is written.
    pub unsigned_given: bool,
    pub zerofill: bool,
    /// CHARACTER SET; also `ascii` (latin1), UNICODE (ucs2), BYTE (binary), NATIONAL (utf8mb3).
    pub charset: Option<String>,
    /// The BINARY attribute: the charset's `_bin` collation.
    pub binary: bool,
    /// The members of ENUM and SET.
    pub values: Vec<StringValue>,
}

/// A member of ENUM or SET.
pub type StringValue = Vec<u8>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeName {
    TinyInt,
    /// BOOL and BOOLEAN: TINYINT(1), without the warning of a display width.
    Bool,
    SmallInt,
    MediumInt,
    Int,
    BigInt,
    /// FLOAT, FLOAT(p <= 24), and REAL under REAL_AS_FLOAT.
    Float,
    Double,
    Decimal,
    Bit,
    Year,
    Date,
    Time,
    DateTime,
    Timestamp,
    Char,
    VarChar,
    Binary,
    VarBinary,
    TinyText,
    /// TEXT; a length picks the smallest of the four that holds it.
    Text,
    MediumText,
    LongText,
    TinyBlob,
    Blob,
    MediumBlob,
    LongBlob,
    Enum,
    Set,
    Json,
    Geometry,
    Point,
    LineString,
    Polygon,
    MultiPoint,
    MultiLineString,
    MultiPolygon,
    GeometryCollection,
    /// MySQL 9's; parsed so that the error is not a syntax error.
    Vector,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    pub temporary: bool,
    pub if_not_exists: bool,
    pub name: Name,
    /// `LIKE other`: everything below is empty.
    pub like: Option<Name>,
    /// Empty with neither `like` nor `select` is error 1113, which is the executor's.
    pub elements: Vec<TableElement>,
    pub options: Vec<TableOption>,
    pub partitioning: Option<Partitioning>,
    pub duplicates: Option<OnDuplicateRows>,
    pub select: Option<Box<Query>>,
}

/// IGNORE or REPLACE in `CREATE TABLE .. SELECT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnDuplicateRows {
    Ignore,
    Replace,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TableElement {
    Column(ColumnDef),
    Index(IndexDef),
    ForeignKey(ForeignKey),
    Check(CheckConstraint),
}

#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDef {
    pub name: String,
    pub ty: DataType,
    /// In the order written; a later one of the same kind overrides an earlier.
    pub attributes: Vec<ColumnAttribute>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ColumnAttribute {
    NotNull,
    Null,
    Default(DefaultValue),
    /// ON UPDATE CURRENT_TIMESTAMP, with its fraction digits.
    OnUpdateNow(Option<u64>),
    AutoIncrement,
    /// `SERIAL DEFAULT VALUE`: NOT NULL AUTO_INCREMENT UNIQUE.
    SerialDefaultValue,
    PrimaryKey,
    UniqueKey,
    Comment(Vec<u8>),
    Collate(String),
    ColumnFormat(String),
    Storage(String),
    EngineAttribute(Vec<u8>),
    SecondaryEngineAttribute(Vec<u8>),
    Srid(u64),
    Visible,
    Invisible,
    NotSecondary,
    Generated {
        expr: Expr,
        stored: bool,
    },
    Check(CheckConstraint),
    /// Parsed and ignored by MySQL before 9.0 when written on a column.
    References(Reference),
}

#[derive(Clone, Debug, PartialEq)]
pub enum DefaultValue {
    /// A literal, with its sign applied as `Expr::Unary`.
    Literal(Literal),
    /// `-1`
    Negative(Literal),
    /// CURRENT_TIMESTAMP and its synonyms, with fraction digits.
    Now(Option<u64>),
    /// `(expr)`
    Expr(Expr),
}

#[derive(Clone, Debug, PartialEq)]
pub struct CheckConstraint {
    pub name: Option<String>,
    pub expr: Expr,
    pub enforced: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct IndexDef {
    pub kind: IndexKind,
    /// The index name; for a constraint without an index name, `None`.
    pub name: Option<String>,
    /// `CONSTRAINT name`; outer `None`: the word was not written.
    pub constraint: Option<Option<String>>,
    pub parts: Vec<KeyPart>,
    pub options: IndexOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexKind {
    Plain,
    Unique,
    Primary,
    FullText,
    Spatial,
}

impl IndexKind {
    /// Entries are in the order of values: USING and ASC mean something.
    pub fn is_ordered(self) -> bool {
        !matches!(self, IndexKind::FullText | IndexKind::Spatial)
    }
}

#[derive(Clone, Debug, PartialEq, Default)]
pub struct IndexOptions {
    /// USING BTREE|HASH|RTREE, as written.
    pub using: Option<String>,
    pub key_block_size: Option<u64>,
    pub comment: Option<Vec<u8>>,
    pub parser: Option<String>,
    pub visible: Option<bool>,
    pub engine_attribute: Option<Vec<u8>>,
    pub secondary_engine_attribute: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum KeyPart {
    Column {
        name: String,
        /// Prefix length: `name(10)`.
        length: Option<u64>,
        desc: bool,
    },
    Expr {
        expr: Expr,
        desc: bool,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct ForeignKey {
    /// `CONSTRAINT name`.
    pub constraint: Option<String>,
    /// The name after FOREIGN KEY.
    pub index_name: Option<String>,
    pub columns: Vec<KeyPart>,
    pub reference: Reference,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    pub table: Name,
    pub columns: Vec<String>,
    /// MATCH FULL|PARTIAL|SIMPLE, as written.
    pub match_kind: Option<String>,
    pub on_delete: Option<ReferenceAction>,
    pub on_update: Option<ReferenceAction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReferenceAction {
    Restrict,
    Cascade,
    SetNull,
    NoAction,
    SetDefault,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TableOption {
    Engine(String),
    SecondaryEngine(Option<String>),
    AutoIncrement(u64),
    AvgRowLength(u64),
    Charset(String),
    Checksum(u64),
    Collate(String),
    Comment(Vec<u8>),
    Compression(Vec<u8>),
    Connection(Vec<u8>),
    DataDirectory(Vec<u8>),
    IndexDirectory(Vec<u8>),
    DelayKeyWrite(u64),
    Encryption(Vec<u8>),
    EngineAttribute(Vec<u8>),
    SecondaryEngineAttribute(Vec<u8>),
    InsertMethod(String),
    KeyBlockSize(u64),
    MaxRows(u64),
    MinRows(u64),
    /// 0, 1, or `None` for DEFAULT.
    PackKeys(Option<u64>),
    Password(Vec<u8>),
    RowFormat(String),
    StartTransaction,
    StatsAutoRecalc(Option<u64>),
    StatsPersistent(Option<u64>),
    StatsSamplePages(Option<u64>),
    Storage(String),
    TableChecksum(u64),
    Tablespace(String),
    AutoextendSize(String),
    Union(Vec<Name>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    pub name: Name,
    pub actions: Vec<AlterAction>,
    /// ALGORITHM=, as written.
    pub algorithm: Option<String>,
    /// LOCK=, as written.
    pub lock: Option<String>,
    /// WITH (true) or WITHOUT (false) VALIDATION.
    pub validation: Option<bool>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AlterAction {
    AddColumn {
        column: ColumnDef,
        position: ColumnPosition,
    },
    AddIndex(IndexDef),
    AddForeignKey(ForeignKey),
    AddCheck(CheckConstraint),
    DropColumn(String),
    DropIndex(String),
    DropPrimaryKey,
    DropForeignKey(String),
    DropCheck(String),
    DropConstraint(String),
    ModifyColumn {
        column: ColumnDef,
        position: ColumnPosition,
    },
    ChangeColumn {
        old: String,
        column: ColumnDef,
        position: ColumnPosition,
    },
    AlterColumn {
        name: String,
        change: AlterColumn,
    },
    AlterIndexVisible {
        name: String,
        visible: bool,
    },
    AlterCheck {
        name: String,
        enforced: bool,
    },
    /// ALTER CONSTRAINT.
    AlterConstraint {
        name: String,
        enforced: bool,
    },
    RenameColumn {
        old: String,
        new: String,
    },
    RenameIndex {
        old: String,
        new: String,
    },
    RenameTo(Name),
    ConvertCharset {
        /// `None` for DEFAULT.
        charset: Option<String>,
        collate: Option<String>,
    },
    OrderBy(Vec<OrderItem>),
    Options(Vec<TableOption>),
    EnableKeys,
    DisableKeys,
    Force,
    DiscardTablespace,
    ImportTablespace,
    /// PARTITION BY.
    PartitionBy(Partitioning),
    /// ADD, DROP, TRUNCATE, .. PARTITION, REMOVE PARTITIONING.
    Partition(PartitionAction),
    SecondaryLoad,
    SecondaryUnload,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AlterColumn {
    SetDefault(DefaultValue),
    DropDefault,
    SetVisible(bool),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnPosition {
    Last,
    First,
    After(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndex {
    pub index: IndexDef,
    pub table: Name,
    pub algorithm: Option<String>,
    pub lock: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateView {
    pub or_replace: bool,
    /// ALTER VIEW: the view must exist.
    pub alter: bool,
    pub if_not_exists: bool,
    /// UNDEFINED, MERGE or TEMPTABLE, as written.
    pub algorithm: Option<String>,
    pub definer: Option<UserName>,
    /// SQL SECURITY INVOKER.
    pub invoker: Option<bool>,
    pub name: Name,
    pub columns: Vec<String>,
    pub query: Box<Query>,
    /// The text of the query as written.
    pub text: String,
    pub check_option: Option<CheckOption>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CheckOption {
    Cascaded,
    Local,
}
