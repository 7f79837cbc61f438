//! Values that a client sends in binary form: parameters of COM_STMT_EXECUTE and query attributes
//! ("COM_STMT_EXECUTE", "Binary Protocol Value").
//!
//! A statement's `StatementParams` lives as long as the statement, because a client sends the types only when they
//! change, and long data in packets of its own before. `read` fills the caller's vector of values, which it may reuse.
//! ```text
//! [count]  null bitmap  01  (type flag [name])*  value*        types bound anew
//! [count]  null bitmap  00  value*                             types as in the last execution
//! ```
//! The count and the names are there if QUERY_ATTRIBUTES was negotiated; what exceeds the statement's own
//! parameters are query attributes. Strings come in `character_set_client` and are not converted here.

use vaquita_types::charset::CollationId;
use vaquita_types::decimal::Decimal;
use vaquita_types::limits::LONG_DATA_BYTES_MAX;
use vaquita_types::temporal::{Date, DateTime, Time};
use vaquita_types::{ColumnType, TypeKind, Value};

use crate::caps::{client, mysql_type};
use crate::codec::{Bytes, Decoded};
use crate::error::ProtocolError;

/// `?` in one statement, and attributes of one query: the protocol counts both in 16 bits.
pub const PARAMETERS_MAX: usize = 65_535;

/// Length of the VARCHAR that stands for a string parameter.
const STRING_CHARS_MAX: u32 = 16_383;

const WRONG_COUNT: ProtocolError = ProtocolError::WrongArguments("COM_STMT_EXECUTE");
const WRONG_TYPE: ProtocolError = ProtocolError::WrongArguments("mysqld_stmt_execute");

/// COM_STMT_EXECUTE up to its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execute<'a> {
    pub statement_id: u32,
    /// `caps::cursor` flags without PARAMETER_COUNT_AVAILABLE.
    pub cursor: u8,
    pub(crate) has_parameter_count: bool,
    /// Null bitmap, types and values.
    pub(crate) parameters: &'a [u8],
}

/// A parameter's type as the client names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamType {
    /// A `caps::mysql_type`.
    pub code: u8,
    pub unsigned: bool,
}

impl ParamType {
    fn read(bytes: &mut Bytes<'_>) -> Decoded<Self> {
        let code = bytes.u8()?;
        let flags = bytes.u8()?;
        if !is_parameter_type(code) {
            return Err(WRONG_TYPE);
        }
        Ok(Self { code, unsigned: flags & 0x80 != 0 })
    }

    /// The SQL type that MySQL gives such a parameter: the widest of its family. The caller sets the collation
    /// of a VARCHAR to the connection's.
    pub fn column_type(self) -> ColumnType {
        match self.code {
            mysql_type::TINY | mysql_type::SHORT | mysql_type::LONG | mysql_type::LONGLONG => {
                if self.unsigned {
                    ColumnType::bigint_unsigned()
                } else {
                    ColumnType::bigint()
                }
            }
            mysql_type::FLOAT | mysql_type::DOUBLE => ColumnType::double(),
            mysql_type::DECIMAL | mysql_type::NEWDECIMAL => ColumnType::decimal(65, 30),
            mysql_type::DATE => ColumnType::temporal(TypeKind::Date, 0),
            mysql_type::TIME => ColumnType::temporal(TypeKind::Time, 6),
            mysql_type::DATETIME | mysql_type::TIMESTAMP => ColumnType::temporal(TypeKind::DateTime, 6),
            mysql_type::NULL => ColumnType::null(),
            mysql_type::TINY_BLOB..=mysql_type::BLOB => ColumnType::new(TypeKind::LongBlob),
            _ => ColumnType::varchar(STRING_CHARS_MAX, CollationId::default()),
        }
    }
}

/// The types that MySQL accepts for a parameter. The others exist only in columns.
fn is_parameter_type(code: u8) -> bool {
    matches!(
        code,
        mysql_type::DECIMAL..=mysql_type::LONGLONG
            | mysql_type::DATE..=mysql_type::DATETIME
            | mysql_type::VARCHAR
            | mysql_type::VECTOR
            | mysql_type::JSON
            | mysql_type::NEWDECIMAL
            | mysql_type::TINY_BLOB..=mysql_type::STRING
    )
}

/// A query attribute: metadata that a client attaches to a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryAttribute {
    pub name: Box<[u8]>,
    pub value: Value,
}

/// What a prepared statement remembers of its parameters between executions.
#[derive(Clone, Debug, Default)]
pub struct StatementParams {
    count: usize,
    /// Empty until a client has bound types.
    types: Vec<ParamType>,
    /// Parts sent by COM_STMT_SEND_LONG_DATA, by parameter. Empty if there are none.
    long_data: Vec<Option<Vec<u8>>>,
    /// What was wrong with it.
    long_data_error: Option<ProtocolError>,
}

impl StatementParams {
    pub fn new(count: usize) -> Self {
        Self { count, ..Self::default() }
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// Types of the last execution; empty before the first.
    pub fn types(&self) -> &[ParamType] {
        &self.types
    }

    /// Appends to a long parameter. `bytes_max` (max_allowed_packet) bounds what one parameter may become,
    /// `LONG_DATA_BYTES_MAX` all of them. The command has no answer: what is wrong with it is the error of
    /// executions until the statement is reset.
    pub fn append_long_data(&mut self, parameter: u16, data: &[u8], bytes_max: usize) {
        if let Err(error) = self.try_append(parameter, data, bytes_max) {
            self.long_data_error.get_or_insert(error);
        }
    }

    fn try_append(&mut self, parameter: u16, data: &[u8], bytes_max: usize) -> Decoded<()> {
        let parameter = usize::from(parameter);
        if parameter >= self.count {
            return Err(ProtocolError::WrongArguments("mysqld_stmt_send_long_data"));
        }
        if self.long_data.is_empty() {
            self.long_data.resize(self.count, None);
        }
        let all: usize = self.long_data.iter().flatten().map(Vec::len).sum();
        let part = self.long_data[parameter].get_or_insert_default();
        if part.len() + data.len() > bytes_max || all + data.len() > LONG_DATA_BYTES_MAX.max(bytes_max) {
            return Err(ProtocolError::LongDataTooLarge);
        }
        part.extend_from_slice(data);
        Ok(())
    }

    /// COM_STMT_RESET, and the end of every execution.
    pub fn clear_long_data(&mut self) {
        self.long_data.clear();
        self.long_data_error = None;
    }

    /// Reads the parameters of an execution into `values`, which is cleared before, and returns the query
    /// attributes. Returns in `rebound` whether the types may differ from the last execution. Long data is used up.
    pub fn read(
        &mut self,
        execute: &Execute<'_>,
        caps: u32,
        values: &mut Vec<Value>,
        rebound: &mut bool,
    ) -> Decoded<Vec<QueryAttribute>> {
        values.clear();
        *rebound = false;
        if let Some(error) = self.long_data_error {
            return Err(error);
        }
        let named = caps & client::QUERY_ATTRIBUTES != 0;
        if self.count == 0 && !(named && execute.has_parameter_count) {
            return Ok(Vec::new());
        }
        let mut bytes = Bytes::new(execute.parameters);
        let mut count = self.count;
        if named {
            count = read_count(&mut bytes).map_err(|_| WRONG_COUNT)?;
            if count < self.count {
                return Err(WRONG_COUNT);
            }
        }
        if count == 0 {
            return Ok(Vec::new());
        }
        let nulls = bytes.take(count.div_ceil(8))?;
        let mut attributes = Vec::new();
        let mut attribute_types = Vec::new();
        match bytes.u8()? {
            0 if self.types.len() == self.count && count == self.count => {}
            0 => return Err(ProtocolError::MalformedPacket),
            _ => {
                *rebound = true;
                self.read_types(&mut bytes, count, named, &mut attributes, &mut attribute_types)?;
            }
        }
        self.read_values(&mut bytes, nulls, values)?;
        for (index, (attribute, param_type)) in attributes.iter_mut().zip(attribute_types).enumerate() {
            if !is_null(nulls, self.count + index) {
                attribute.value = read_value(&mut bytes, param_type)?;
            }
        }
        Ok(attributes)
    }

    fn read_types(
        &mut self,
        bytes: &mut Bytes<'_>,
        count: usize,
        named: bool,
        attributes: &mut Vec<QueryAttribute>,
        attribute_types: &mut Vec<ParamType>,
    ) -> Decoded<()> {
        self.types.clear();
        for index in 0..count {
            let param_type = ParamType::read(bytes)?;
            let name = if named { bytes.lenenc_bytes()? } else { &[] };
            if index < self.count {
                self.types.push(param_type);
            } else {
                attribute_types.push(param_type);
                attributes.push(QueryAttribute { name: name.into(), value: Value::Null });
            }
        }
        Ok(())
    }

    fn read_values(&mut self, bytes: &mut Bytes<'_>, nulls: &[u8], values: &mut Vec<Value>) -> Decoded<()> {
        let mut long_data = std::mem::take(&mut self.long_data);
        for (index, &param_type) in self.types.iter().enumerate() {
            if let Some(data) = long_data.get_mut(index).and_then(Option::take) {
                if !(mysql_type::TINY_BLOB..=mysql_type::STRING).contains(&param_type.code) {
                    return Err(WRONG_TYPE);
                }
                values.push(Value::Bytes(data.into_boxed_slice()));
            } else if is_null(nulls, index) {
                values.push(Value::Null);
            } else {
                values.push(read_value(bytes, param_type)?);
            }
        }
        Ok(())
    }
}

#[inline]
fn is_null(bitmap: &[u8], index: usize) -> bool {
    bitmap.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1)
}

fn read_count(bytes: &mut Bytes<'_>) -> Decoded<usize> {
    usize::try_from(bytes.lenenc_int()?).ok().filter(|&count| count <= PARAMETERS_MAX).ok_or(ProtocolError::MalformedPacket)
}

/// The attributes in front of the text of COM_QUERY.
pub fn read_query_attributes(bytes: &mut Bytes<'_>) -> Decoded<Vec<QueryAttribute>> {
    let count = read_count(bytes)?;
    // Number of parameter sets, always 1.
    if bytes.lenenc_int()? != 1 {
        return Err(ProtocolError::MalformedPacket);
    }
    if count == 0 {
        return Ok(Vec::new());
    }
    let nulls = bytes.take(count.div_ceil(8))?;
    if bytes.u8()? != 1 {
        return Err(ProtocolError::MalformedPacket);
    }
    let mut attributes = Vec::new();
    let mut types = Vec::new();
    for _ in 0..count {
        types.push(ParamType::read(bytes)?);
        attributes.push(QueryAttribute { name: bytes.lenenc_bytes()?.into(), value: Value::Null });
    }
    for (index, (attribute, param_type)) in attributes.iter_mut().zip(types).enumerate() {
        if !is_null(nulls, index) {
            attribute.value = read_value(bytes, param_type)?;
        }
    }
    Ok(attributes)
}

/// One value in binary form.
fn read_value(bytes: &mut Bytes<'_>, param_type: ParamType) -> Decoded<Value> {
    let unsigned = param_type.unsigned;
    Ok(match param_type.code {
        mysql_type::TINY => {
            let n = bytes.u8()?;
            integer(u64::from(n), i64::from(n as i8), unsigned)
        }
        mysql_type::SHORT => {
            let n = bytes.u16()?;
            integer(u64::from(n), i64::from(n as i16), unsigned)
        }
        mysql_type::LONG => {
            let n = bytes.u32()?;
            integer(u64::from(n), i64::from(n as i32), unsigned)
        }
        mysql_type::LONGLONG => {
            let n = bytes.u64()?;
            integer(n, n as i64, unsigned)
        }
        mysql_type::FLOAT => finite(f64::from(f32::from_le_bytes(bytes.array()?)))?,
        mysql_type::DOUBLE => finite(f64::from_le_bytes(bytes.array()?))?,
        mysql_type::DECIMAL | mysql_type::NEWDECIMAL => Value::Decimal(Decimal::parse(bytes.lenenc_bytes()?).value),
        mysql_type::DATE => Value::Date(read_date(bytes)?),
        mysql_type::DATETIME | mysql_type::TIMESTAMP => Value::DateTime(read_datetime(bytes)?),
        mysql_type::TIME => Value::Time(read_time(bytes)?),
        // A NULL is told by the bitmap; the type has no values.
        mysql_type::NULL => return Err(ProtocolError::MalformedPacket),
        _ => Value::bytes(bytes.lenenc_bytes()?),
    })
}

#[inline]
fn integer(unsigned_value: u64, signed_value: i64, unsigned: bool) -> Value {
    if unsigned { Value::UInt(unsigned_value) } else { Value::Int(signed_value) }
}

/// NaN and infinities are no SQL values. MySQL lets them in, and they then break every order; here they are refused.
fn finite(x: f64) -> Decoded<Value> {
    if x.is_finite() { Ok(Value::Float(x)) } else { Err(ProtocolError::ParameterOutOfRange("DOUBLE")) }
}

/// DATE: 0 or 4 bytes.
fn read_date(bytes: &mut Bytes<'_>) -> Decoded<Date> {
    match bytes.u8()? {
        0 => Ok(Date::ZERO),
        4 => read_calendar_fields(bytes)?.ok_or(ProtocolError::ParameterOutOfRange("DATE")),
        _ => Err(ProtocolError::MalformedPacket),
    }
}

fn read_calendar_fields(bytes: &mut Bytes<'_>) -> Decoded<Option<Date>> {
    let (year, month, day) = (bytes.u16()?, bytes.u8()?, bytes.u8()?);
    Ok(Date::new(u32::from(year), u32::from(month), u32::from(day)))
}

/// DATETIME and TIMESTAMP: 0, 4, 7 or 11 bytes.
fn read_datetime(bytes: &mut Bytes<'_>) -> Decoded<DateTime> {
    let len = bytes.u8()?;
    if len == 0 {
        return Ok(DateTime::ZERO);
    }
    if !matches!(len, 4 | 7 | 11) {
        return Err(ProtocolError::MalformedPacket);
    }
    let date = read_calendar_fields(bytes)?;
    let mut hms = [0; 3];
    if len >= 7 {
        hms = bytes.array()?;
    }
    let micros = if len == 11 { bytes.u32()? } else { 0 };
    let [hour, minute, second] = hms.map(u32::from);
    date.and_then(|date| DateTime::new(date, hour, minute, second, micros)).ok_or(ProtocolError::ParameterOutOfRange("DATETIME"))
}

/// TIME: 0, 8 or 12 bytes. Hours may exceed 23.
fn read_time(bytes: &mut Bytes<'_>) -> Decoded<Time> {
    let len = bytes.u8()?;
    if len == 0 {
        return Ok(Time::ZERO);
    }
    if !matches!(len, 8 | 12) {
        return Err(ProtocolError::MalformedPacket);
    }
    let negative = bytes.u8()? != 0;
    let days = bytes.u32()?;
    let [hour, minute, second] = bytes.array::<3>()?.map(u32::from);
    let micros = if len == 12 { bytes.u32()? } else { 0 };
    days.checked_mul(24)
        .and_then(|hours| hours.checked_add(hour))
        .and_then(|hours| Time::new(negative, hours, minute, second, micros))
        .ok_or(ProtocolError::ParameterOutOfRange("TIME"))
}
