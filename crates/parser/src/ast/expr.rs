//! Expressions: literals, names, operators, functions, subqueries.
//!
//! Syntax that MySQL itself rewrites while parsing is rewritten here too: `a -> '$.x'` is the
//! function `json_extract`, `POSITION(x IN y)` is `locate(x,y)`, `BINARY x` is a cast.
//! Parentheses are not kept; the printer puts its own.

use super::query::{OrderItem, Query};

/// An expression.
#[derive(Debug, PartialEq)]
pub enum Expr {
    Literal(Literal),
    /// `?`, numbered from 0 in the order of the text.
    Param(usize),
    Column(ColumnRef),
    /// `@name`, without the `@`.
    UserVar(String),
    SysVar(SysVar),
    /// `@name := value`.
    Assign {
        var: String,
        value: Box<Expr>,
    },
    Unary {
        op: UnaryOp,
        expr: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    IsNull {
        expr: Box<Expr>,
        negated: bool,
    },
    /// `expr IS [NOT] TRUE|FALSE|UNKNOWN`.
    IsTruth {
        expr: Box<Expr>,
        value: Truth,
        negated: bool,
    },
    Between {
        expr: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        negated: bool,
    },
    InList {
        expr: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    InSubquery {
        expr: Box<Expr>,
        query: Box<Query>,
        negated: bool,
    },
    Like {
        expr: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<Box<Expr>>,
        negated: bool,
    },
    Regexp {
        expr: Box<Expr>,
        pattern: Box<Expr>,
        negated: bool,
    },
    /// `value MEMBER OF (array)`.
    MemberOf {
        value: Box<Expr>,
        array: Box<Expr>,
    },
    /// `left op ALL|ANY (query)`.
    Quantified {
        op: BinaryOp,
        left: Box<Expr>,
        quantifier: Quantifier,
        query: Box<Query>,
    },
    Exists(Box<Query>),
    Subquery(Box<Query>),
    /// `(a, b)` or `ROW(a, b)`.
    Row(Vec<Expr>),
    Case {
        operand: Option<Box<Expr>>,
        whens: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    Cast {
        expr: Box<Expr>,
        ty: CastType,
        /// `CAST(x AS type ARRAY)`, in a multi-valued index.
        array: bool,
    },
    /// `x AT TIME ZONE 'zone'`, the operand of a CAST; `interval` as it is written before the zone.
    AtTimeZone {
        expr: Box<Expr>,
        zone: Vec<u8>,
        interval: bool,
    },
    ConvertUsing {
        expr: Box<Expr>,
        charset: String,
    },
    Collate {
        expr: Box<Expr>,
        collation: String,
    },
    /// `date + INTERVAL value unit`, and DATE_ADD, DATE_SUB, ADDDATE, SUBDATE.
    DateArith {
        date: Box<Expr>,
        value: Box<Expr>,
        unit: IntervalUnit,
        subtract: bool,
    },
    /// An ordinary function; also those whose syntax is only a spelling of arguments.
    Func(FuncCall),
    Aggregate(AggregateCall),
    Window(Box<WindowCall>),
    Extract {
        unit: IntervalUnit,
        expr: Box<Expr>,
    },
    Trim {
        side: TrimSide,
        remove: Option<Box<Expr>>,
        expr: Box<Expr>,
    },
    TimestampAdd {
        unit: IntervalUnit,
        amount: Box<Expr>,
        date: Box<Expr>,
    },
    TimestampDiff {
        unit: IntervalUnit,
        from: Box<Expr>,
        to: Box<Expr>,
    },
    GetFormat {
        /// `DATE`, `TIME` or `DATETIME`.
        kind: String,
        format: Box<Expr>,
    },
    /// `CHAR(n, .. [USING charset])`.
    Char {
        args: Vec<Expr>,
        charset: Option<String>,
    },
    WeightString {
        expr: Box<Expr>,
        form: WeightForm,
    },
    MatchAgainst {
        columns: Vec<ColumnRef>,
        against: Box<Expr>,
        mode: MatchMode,
    },
    /// `VALUES(col)` in ON DUPLICATE KEY UPDATE.
    Values(ColumnRef),
    /// `DEFAULT(col)`.
    DefaultOf(ColumnRef),
    /// The bare word DEFAULT where a value may stand (INSERT, UPDATE).
    Default,
    JsonValue(Box<JsonValue>),
}

/// `[db.][table.]name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ColumnRef {
    pub db: Option<String>,
    pub table: Option<String>,
    pub name: String,
}

/// A literal with MySQL's typing.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    Null,
    True,
    False,
    /// An integer that fits 64 bits unsigned. The sign is a `UnaryOp::Neg` around it.
    Int(u64),
    /// `1.5`, `.5`, or an integer beyond 64 bits: the text as written.
    Decimal(String),
    /// `1e5`: the text as written.
    Float(String),
    String(StringLiteral),
    /// `x'4142'`, `X'..'`, `0x4142`: the bytes it stands for.
    Hex {
        bytes: Vec<u8>,
        charset: Option<String>,
    },
    /// `b'101'`, `0b101`: the bytes it stands for, left padded with zero bits.
    Bit {
        bytes: Vec<u8>,
        charset: Option<String>,
    },
    /// `DATE '2024-01-01'` and its kind: the text between the quotes, not yet checked.
    Date(Vec<u8>),
    Time(Vec<u8>),
    Timestamp(Vec<u8>),
}

/// What WEIGHT_STRING does to the text first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightForm {
    Whole,
    /// `AS CHAR(n)`
    Chars(u64),
    /// `AS BINARY(n)`
    Binary(u64),
    /// `WEIGHT_STRING(text, length, chars, flags)`, which only MySQL's own tests use.
    Raw {
        /// Bytes of the result; 0 for as many as there are.
        length: u64,
        chars: u64,
        flags: u64,
    },
}

/// `'..'`, `_charset'..'`, `N'..'`: escapes undone, adjacent literals joined.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StringLiteral {
    pub bytes: Vec<u8>,
    /// The introducer without the underscore; `utf8mb3` for `N'..'`.
    pub charset: Option<String>,
}

/// `@@[scope.][component.]name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SysVar {
    pub scope: VarScope,
    /// The part before the dot of `@@component.name`.
    pub component: Option<String>,
    pub name: String,
}

/// Where a system variable is read or set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VarScope {
    /// No scope written.
    Default,
    Global,
    /// SESSION or LOCAL.
    Session,
    Persist,
    PersistOnly,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-x`
    Neg,
    /// `+x`
    Plus,
    /// `NOT x` and `!x`.
    Not,
    /// `~x`
    BitNot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    Or,
    Xor,
    And,
    Eq,
    /// `<=>`
    NullSafeEq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    BitOr,
    BitAnd,
    ShiftLeft,
    ShiftRight,
    Add,
    Sub,
    Mul,
    Div,
    /// `DIV`
    IntDiv,
    Mod,
    BitXor,
    /// `a SOUNDS LIKE b`
    SoundsLike,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Truth {
    True,
    False,
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantifier {
    All,
    /// ANY and SOME.
    Any,
}

/// The type of CAST and CONVERT.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CastType {
    Signed,
    Unsigned,
    Char {
        length: Option<u64>,
        charset: Option<String>,
        /// With the `_bin` collation of its charset.
        binary: bool,
    },
    Binary(Option<u64>),
    Decimal {
        precision: Option<u64>,
        scale: Option<u64>,
    },
    Float(Option<u64>),
    Double,
    Real,
    Date,
    Time(Option<u64>),
    DateTime(Option<u64>),
    Year,
    Json,
    /// A spatial type by name: `POINT`, ...
    Spatial(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrimSide {
    Both,
    Leading,
    Trailing,
}

/// `[db.]name(args)`; `name` is in lower case, `written` is as the statement has it.
#[derive(Clone, Debug, PartialEq)]
pub struct FuncCall {
    pub db: Option<Box<str>>,
    pub name: String,
    pub written: String,
    /// The name is in quotes. Only a view's text says by them that a function is a stored one.
    pub quoted: bool,
    pub args: Vec<Expr>,
}

/// An aggregate function without OVER.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateCall {
    pub func: AggregateFunc,
    pub distinct: bool,
    /// Empty for `COUNT(*)`.
    pub args: Vec<Expr>,
    /// GROUP_CONCAT's.
    pub order_by: Vec<OrderItem>,
    /// GROUP_CONCAT's; `None` means a comma.
    pub separator: Option<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AggregateFunc {
    Count,
    Sum,
    Avg,
    Min,
    Max,
    BitAnd,
    BitOr,
    BitXor,
    GroupConcat,
    JsonArrayAgg,
    JsonObjectAgg,
    /// STD, STDDEV, STDDEV_POP.
    StdPop,
    StdSamp,
    /// VARIANCE, VAR_POP.
    VarPop,
    VarSamp,
    StCollect,
}

/// A function with OVER.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowCall {
    pub func: WindowFunc,
    pub over: WindowOver,
}

#[derive(Clone, Debug, PartialEq)]
pub enum WindowFunc {
    Aggregate(AggregateCall),
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile(Expr),
    Lead(LeadLag),
    Lag(LeadLag),
    FirstValue { expr: Expr, ignore_nulls: bool },
    LastValue { expr: Expr, ignore_nulls: bool },
    NthValue { expr: Expr, n: Expr, from_last: bool, ignore_nulls: bool },
}

#[derive(Clone, Debug, PartialEq)]
pub struct LeadLag {
    pub expr: Expr,
    pub offset: Option<Expr>,
    pub default: Option<Expr>,
    pub ignore_nulls: bool,
}

#[allow(clippy::large_enum_variant)] // rare, and never kept in numbers
#[derive(Clone, Debug, PartialEq)]
pub enum WindowOver {
    /// `OVER w`
    Named(String),
    /// `OVER (..)`
    Spec(WindowSpec),
}

#[derive(Clone, Debug, PartialEq, Default)]
pub struct WindowSpec {
    /// The window that this one extends.
    pub base: Option<String>,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<OrderItem>,
    pub frame: Option<WindowFrame>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct WindowFrame {
    pub unit: FrameUnit,
    pub start: FrameBound,
    /// `None` when BETWEEN is not written: CURRENT ROW.
    pub end: Option<FrameBound>,
    pub exclude: Option<FrameExclude>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameUnit {
    Rows,
    Range,
    Groups,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameExclude {
    CurrentRow,
    Group,
    Ties,
    NoOthers,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    UnboundedPreceding,
    UnboundedFollowing,
    CurrentRow,
    Preceding(Expr),
    Following(Expr),
    PrecedingInterval(Expr, IntervalUnit),
    FollowingInterval(Expr, IntervalUnit),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatchMode {
    NaturalLanguage,
    NaturalLanguageWithExpansion,
    Boolean,
}

/// `JSON_VALUE(doc, path [RETURNING type] [.. ON EMPTY] [.. ON ERROR])`.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonValue {
    pub doc: Expr,
    pub path: StringLiteral,
    pub returning: Option<CastType>,
    pub on_empty: Option<JsonOn>,
    pub on_error: Option<JsonOn>,
}

/// What JSON_VALUE and JSON_TABLE do on an empty result or an error.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonOn {
    Error,
    Null,
    Default(Box<Expr>),
}

impl Expr {
    /// The column `name` without qualifiers.
    pub fn column(name: impl Into<String>) -> Expr {
        Expr::Column(ColumnRef { db: None, table: None, name: name.into() })
    }

    /// The function `name`, which must be in lower case.
    pub fn func(name: impl Into<String>, args: Vec<Expr>) -> Expr {
        let name = name.into();
        Expr::Func(FuncCall { db: None, written: name.clone(), quoted: false, name, args })
    }
}

impl IntervalUnit {
    /// The lower-case word of SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            IntervalUnit::Microsecond => "microsecond",
            IntervalUnit::Second => "second",
            IntervalUnit::Minute => "minute",
            IntervalUnit::Hour => "hour",
            IntervalUnit::Day => "day",
            IntervalUnit::Week => "week",
            IntervalUnit::Month => "month",
            IntervalUnit::Quarter => "quarter",
            IntervalUnit::Year => "year",
            IntervalUnit::SecondMicrosecond => "second_microsecond",
            IntervalUnit::MinuteMicrosecond => "minute_microsecond",
            IntervalUnit::MinuteSecond => "minute_second",
            IntervalUnit::HourMicrosecond => "hour_microsecond",
            IntervalUnit::HourSecond => "hour_second",
            IntervalUnit::HourMinute => "hour_minute",
            IntervalUnit::DayMicrosecond => "day_microsecond",
            IntervalUnit::DaySecond => "day_second",
            IntervalUnit::DayMinute => "day_minute",
            IntervalUnit::DayHour => "day_hour",
            IntervalUnit::YearMonth => "year_month",
        }
    }
}
