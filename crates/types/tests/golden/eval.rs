//! The evaluator of the golden files: literals, casts and the functions they use.

use std::convert::Infallible;

use vaquita_types::charset::{Charset, CollationId};
use vaquita_types::convert::{StoreContext, to_date, to_datetime, to_decimal, to_f64, to_i64, to_time, write_text};
use vaquita_types::datatype::DECIMALS_NOT_FIXED;
use vaquita_types::decimal::Decimal;
use vaquita_types::json::{Edit, Json, JsonError, JsonPath, quote, unquote};
use vaquita_types::temporal::{Date, Interval, IntervalUnit, TimeZone, parse_datetime};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno, sql_mode};

#[derive(Clone, Debug)]
pub struct Operand {
    pub value: Value,
    pub ty: ColumnType,
    /// x'…' and b'…': a number where a number is wanted.
    is_hex: bool,
}

impl Operand {
    fn new(value: Value, ty: ColumnType) -> Operand {
        Operand { value, ty, is_hex: false }
    }

    fn text_value(s: &str) -> Operand {
        Operand::new(Value::from(s), ColumnType::varchar(1000, CollationId::UTF8MB4_0900_AI_CI))
    }

    fn int(n: i64) -> Operand {
        Operand::new(Value::Int(n), ColumnType::bigint())
    }

    fn decimal(d: Decimal) -> Operand {
        let ty = ColumnType::decimal(65, d.scale());
        Operand::new(Value::Decimal(d), ty)
    }

    fn json(j: Option<Json>) -> Operand {
        Operand::new(j.map_or(Value::Null, Value::Json), ColumnType::new(TypeKind::Json))
    }

    fn null() -> Operand {
        Operand::new(Value::Null, ColumnType::null())
    }

    /// The value that an INSERT of this literal into a column hands over.
    pub fn for_column(&self, to: &ColumnType) -> Operand {
        match &self.value {
            Value::Bytes(b) if self.is_hex && to.is_numeric() && to.kind != TypeKind::Bit => {
                let n = b.iter().fold(0u64, |n, b| n << 8 | *b as u64);
                Operand::new(Value::UInt(n), ColumnType::bigint_unsigned())
            }
            _ => self.clone(),
        }
    }

    pub fn text(&self) -> Option<Vec<u8>> {
        if self.value.is_null() {
            return None;
        }
        let mut out = Vec::new();
        write_text(&self.value, &self.ty, &mut out);
        Some(out)
    }

    fn string(&self) -> String {
        String::from_utf8(self.text().unwrap_or_default()).expect("UTF-8")
    }

    fn as_json(&self) -> Result<Json> {
        match &self.value {
            Value::Json(j) => Ok(j.clone()),
            Value::Date(d) => Ok(Json::Date(*d)),
            Value::Time(t) => Ok(Json::Time(*t)),
            Value::DateTime(dt) => Ok(Json::DateTime(*dt, false)),
            Value::Int(i) => Ok(Json::Int(*i)),
            _ => Json::parse(self.string().as_bytes()).map_err(|e| match e {
                JsonError::Syntax { message, position } => {
                    Error::new(&errno::ER_INVALID_JSON_TEXT_IN_PARAM, &[&1, &"cast_as_json", &message, &position])
                }
                JsonError::TooDeep => Error::new(&errno::ER_JSON_DOCUMENT_TOO_DEEP, &[]),
            }),
        }
    }

    fn as_decimal(&self) -> Decimal {
        to_decimal(&self.value, &self.ty).value
    }
}

/// `tinyint unsigned`, `enum('a','b')`, `char(3) charset latin1` …
pub fn column_type(text: &str) -> ColumnType {
    let word_end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    let (word, rest) = text.split_at(word_end);
    let inner = rest.strip_prefix('(').and_then(|r| r.split_once(')')).map(|(inner, _)| inner);
    let kind = match word {
        "tinyint" => TypeKind::TinyInt,
        "smallint" => TypeKind::SmallInt,
        "mediumint" => TypeKind::MediumInt,
        "int" => TypeKind::Int,
        "bigint" | "signed" => TypeKind::BigInt,
        "decimal" => TypeKind::Decimal,
        "float" => TypeKind::Float,
        "double" => TypeKind::Double,
        "bit" => TypeKind::Bit,
        "year" => TypeKind::Year,
        "date" => TypeKind::Date,
        "time" => TypeKind::Time,
        "datetime" => TypeKind::DateTime,
        "timestamp" => TypeKind::Timestamp,
        "char" => TypeKind::Char,
        "varchar" => TypeKind::VarChar,
        "tinytext" => TypeKind::TinyText,
        "text" => TypeKind::Text,
        "binary" => TypeKind::Binary,
        "varbinary" => TypeKind::VarBinary,
        "tinyblob" => TypeKind::TinyBlob,
        "enum" => TypeKind::Enum,
        "set" => TypeKind::Set,
        "json" => TypeKind::Json,
        other => panic!("unknown type {other}"),
    };
    let zerofill = kind == TypeKind::Year;
    let mut ty = ColumnType { unsigned: rest.contains("unsigned"), zerofill, ..ColumnType::new(kind) };
    let numbers: Vec<u32> = inner.unwrap_or("").split(',').filter_map(|n| n.parse().ok()).collect();
    ty.length = numbers.first().copied().unwrap_or(0);
    match kind {
        TypeKind::Decimal => ty.decimals = numbers.get(1).copied().unwrap_or(0) as u8,
        TypeKind::Float | TypeKind::Double => ty.decimals = numbers.get(1).map_or(DECIMALS_NOT_FIXED, |n| *n as u8),
        TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp => ty.decimals = ty.length as u8,
        TypeKind::TinyText | TypeKind::TinyBlob => ty.length = 255,
        TypeKind::Text => ty.length = 65535,
        TypeKind::Enum | TypeKind::Set => {
            let labels = inner.unwrap_or("").split(',').map(|l| l.trim_matches('\'').as_bytes().into());
            ty.members = Some(labels.collect::<Vec<Box<[u8]>>>().into());
        }
        _ => {}
    }
    let is_character = ((TypeKind::Char as u8)..=(TypeKind::LongText as u8)).contains(&(kind as u8));
    if is_character || matches!(kind, TypeKind::Enum | TypeKind::Set) {
        let name = rest.split_once("charset ").map_or("utf8mb4", |(_, name)| name);
        ty.collation = Charset::by_name(name).expect("charset").default_collation;
    }
    ty
}

pub fn expression(text: &str) -> Result<Operand> {
    Reader::new(text).whole()
}

pub struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    pub fn new(text: &'a str) -> Reader<'a> {
        Reader { rest: text }
    }

    pub fn whole(&mut self) -> Result<Operand> {
        let operand = self.binary()?;
        assert!(self.rest.is_empty(), "cannot read {:?}", self.rest);
        Ok(operand)
    }

    fn eat(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !accept(c)).unwrap_or(self.rest.len());
        let (head, tail) = self.rest.split_at(end);
        self.rest = tail;
        head
    }

    fn binary(&mut self) -> Result<Operand> {
        let left = self.primary()?;
        for op in ["+", "-", "*", "/", "%", "div", "=", "<"] {
            if self.eat(op) {
                let right = self.primary()?;
                return Ok(operate(op, &left, &right));
            }
        }
        Ok(left)
    }

    fn quoted(&mut self) -> String {
        assert!(self.eat("'"));
        let mut out = String::new();
        loop {
            let c = self.rest.chars().next().expect("closing quote");
            self.rest = &self.rest[c.len_utf8()..];
            match c {
                '\'' => return out,
                '\\' => {
                    let escaped = self.rest.chars().next().expect("escape");
                    self.rest = &self.rest[escaped.len_utf8()..];
                    out.push(match escaped {
                        '0' => '\0',
                        'n' => '\n',
                        't' => '\t',
                        'r' => '\r',
                        'b' => '\u{8}',
                        other => other,
                    });
                }
                other => out.push(other),
            }
        }
    }

    fn primary(&mut self) -> Result<Operand> {
        self.rest = self.rest.trim_start();
        if self.rest.starts_with('\'') {
            return Ok(Operand::text_value(&self.quoted()));
        }
        if self.rest.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.') {
            return Ok(self.number());
        }
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        if self.rest.starts_with('\'') {
            let text = self.quoted();
            return Ok(prefixed(name, &text));
        }
        if name == "true" {
            return Ok(Operand::int(1));
        }
        assert!(self.eat("("), "unknown literal {name}");
        self.call(name)
    }

    fn number(&mut self) -> Operand {
        let start = self.rest;
        self.eat("-");
        self.take_while(|c| c.is_ascii_digit() || c == '.');
        let mut is_float = false;
        if self.rest.starts_with('e') {
            is_float = true;
            self.eat("e");
            let _ = self.eat("-") || self.eat("+");
            self.take_while(|c| c.is_ascii_digit());
        }
        let text = &start[..start.len() - self.rest.len()];
        if is_float {
            return Operand::new(Value::Float(text.parse().expect("float")), ColumnType::double());
        }
        if let Ok(n) = text.parse::<i64>() {
            return Operand::int(n);
        }
        if let Ok(n) = text.parse::<u64>() {
            return Operand::new(Value::UInt(n), ColumnType::bigint_unsigned());
        }
        Operand::decimal(Decimal::parse(text.as_bytes()).value)
    }

    fn call(&mut self, name: &str) -> Result<Operand> {
        if name == "date_add" {
            return Ok(self.date_add());
        }
        if name == "timestampdiff" {
            let unit = self.take_while(|c| c != ',');
            self.eat(",");
            let unit = IntervalUnit::from_keyword(unit).expect("unit");
            let args = self.arguments()?;
            return Ok(timestamp_diff(unit, &args));
        }
        if name == "cast" {
            let operand = self.binary()?;
            assert!(self.eat("as "));
            let start = self.rest;
            self.take_while(|c| c.is_ascii_alphabetic());
            if self.eat("(") {
                self.take_while(|c| c != ')');
                self.eat(")");
            }
            let ty = column_type(&start[..start.len() - self.rest.len()]);
            assert!(self.eat(")"));
            return cast(&operand, &ty);
        }
        let args = self.arguments()?;
        call(name, &args)
    }

    fn arguments(&mut self) -> Result<Vec<Operand>> {
        let mut args = Vec::new();
        loop {
            args.push(self.binary()?);
            if self.eat(")") {
                return Ok(args);
            }
            assert!(self.eat(","), "cannot read {:?}", self.rest);
        }
    }

    fn date_add(&mut self) -> Operand {
        let text = self.quoted();
        assert!(self.eat(",") && self.eat("interval "));
        let amount = self.primary().expect("amount");
        self.rest = self.rest.trim_start();
        let unit = IntervalUnit::from_keyword(self.take_while(|c| c != ')')).expect("unit");
        self.eat(")");
        let parsed = parse_datetime(text.as_bytes(), Default::default()).expect("datetime");
        let interval = match &amount.value {
            Value::Bytes(b) => Interval::parse(b, unit),
            _ => Interval::from_decimal(&amount.as_decimal(), unit),
        };
        let Some(sum) = interval.and_then(|i| parsed.value.add_interval(i)) else { return Operand::null() };
        if parsed.date_only && !unit.has_time() {
            return Operand::new(Value::Date(sum.date()), ColumnType::new(TypeKind::Date));
        }
        // A text argument gives text, with a fraction only if there is one.
        Operand::text_value(&sum.to_string())
    }
}

fn prefixed(name: &str, text: &str) -> Operand {
    let flags = Default::default();
    match name {
        "_latin1" => Operand { ty: ColumnType::varchar(10, CollationId::LATIN1_SWEDISH_CI), ..Operand::text_value(text) },
        "date" => {
            let d = parse_datetime(text.as_bytes(), flags).expect("date").value.date();
            Operand::new(Value::Date(d), ColumnType::new(TypeKind::Date))
        }
        "timestamp" => {
            let p = parse_datetime(text.as_bytes(), flags).expect("timestamp");
            Operand::new(Value::DateTime(p.value), ColumnType::temporal(TypeKind::DateTime, p.fraction_digits))
        }
        "time" => {
            let p = vaquita_types::temporal::parse_time(text.as_bytes()).expect("time");
            Operand::new(Value::Time(p.value), ColumnType::temporal(TypeKind::Time, p.fraction_digits))
        }
        "x" | "b" => {
            let radix = if name == "x" { 16 } else { 2 };
            let width = if name == "x" { 2 } else { 8 };
            let padded = format!("{}{text}", "0".repeat((width - text.len() % width) % width));
            let byte = |c: &[u8]| u8::from_str_radix(std::str::from_utf8(c).expect("ASCII"), radix).expect("digits");
            let bytes: Vec<u8> = padded.as_bytes().chunks(width).map(byte).collect();
            Operand { value: Value::from(bytes), ty: ColumnType::varbinary(10), is_hex: true }
        }
        other => panic!("unknown literal {other}"),
    }
}

fn operate(op: &str, left: &Operand, right: &Operand) -> Operand {
    if let (Value::Json(a), Value::Json(b)) = (&left.value, &right.value) {
        return Operand::int(if op == "=" { a == b } else { a < b } as i64);
    }
    let (a, b) = (left.as_decimal(), right.as_decimal());
    let result = match op {
        "+" => a.add(&b),
        "-" => a.sub(&b),
        "*" => a.mul(&b),
        "/" => a.div(&b, 4),
        "%" => a.rem(&b),
        "=" => return Operand::int((a == b) as i64),
        "<" => return Operand::int((a < b) as i64),
        _ => a.int_div(&b),
    };
    result.map_or(Operand::null(), Operand::decimal)
}

fn context() -> StoreContext<'static> {
    let mode = sql_mode::NO_ZERO_IN_DATE | sql_mode::NO_ZERO_DATE | sql_mode::STRICT_TRANS_TABLES;
    StoreContext { sql_mode: mode, time_zone: &TimeZone::Utc, today: Date::new(2026, 11, 21).expect("date") }
}

fn cast(operand: &Operand, ty: &ColumnType) -> Result<Operand> {
    let (value, from) = (&operand.value, &operand.ty);
    let or_null = |v: Option<Value>| Operand::new(v.unwrap_or(Value::Null), ty.clone());
    Ok(match ty.kind {
        TypeKind::Json => Operand::json(Some(operand.as_json()?)),
        TypeKind::BigInt => Operand::int(to_i64(value, from).value),
        TypeKind::Double => Operand::new(Value::Float(to_f64(value, from).value), ty.clone()),
        TypeKind::Decimal => {
            let d = to_decimal(value, from).value;
            let (Ok(fitted) | Err(fitted)) = d.fit(ty.length, ty.decimals);
            or_null(Some(Value::Decimal(fitted)))
        }
        TypeKind::Date => or_null(to_date(value, from, &context()).ok().map(|d| Value::Date(d.value))),
        TypeKind::DateTime => {
            let dt = to_datetime(value, from, &context()).ok().and_then(|dt| dt.value.to_fsp(ty.decimals, false, 0));
            or_null(dt.map(Value::DateTime))
        }
        TypeKind::Time => {
            let time = to_time(value, from, &context()).ok();
            let is_number = !matches!(value, Value::Bytes(_));
            // A number out of range is NULL, a text is clamped.
            let time = time.filter(|t| !(is_number && t.out_of_range));
            or_null(time.map(|t| Value::Time(t.value.to_fsp(ty.decimals, false, 0))))
        }
        _ => panic!("no cast to {:?}", ty.kind),
    })
}

fn timestamp_diff(unit: IntervalUnit, args: &[Operand]) -> Operand {
    let at = |i: usize| parse_datetime(args[i].string().as_bytes(), Default::default()).expect("datetime").value;
    Operand::int(at(0).units_until(at(1), unit))
}

fn path(operand: &Operand) -> Result<JsonPath> {
    JsonPath::parse(&operand.string()).map_err(|e| Error::new(&errno::ER_INVALID_JSON_PATH, &[&e.position, &""]))
}

fn call(name: &str, args: &[Operand]) -> Result<Operand> {
    if name.starts_with("json_") {
        return json_call(name, args);
    }
    let number = |i: usize| to_i64(&args[i].value, &args[i].ty).value;
    let date = || parse_datetime(args[0].string().as_bytes(), Default::default()).expect("date").value.date();
    let as_date = |d: Date| Operand::new(Value::Date(d), ColumnType::new(TypeKind::Date));
    Ok(match name {
        "round" => {
            let d = args[0].as_decimal();
            Operand::decimal(d.round(number(1) as i32))
        }
        "truncate" => Operand::decimal(args[0].as_decimal().truncate(number(1) as i32)),
        "ceil" => Operand::decimal(args[0].as_decimal().ceil()),
        "floor" => Operand::decimal(args[0].as_decimal().floor()),
        "abs" => Operand::decimal(args[0].as_decimal().abs()),
        "week" => Operand::int(date().week(number(1) as u32) as i64),
        "yearweek" => Operand::int(date().year_week(number(1) as u32) as i64),
        "to_days" => Operand::int(date().day_number()),
        "weekday" => Operand::int(date().weekday() as i64),
        "dayofweek" => Operand::int((date().weekday() as i64 + 1) % 7 + 1),
        "dayofyear" => Operand::int(date().day_of_year()),
        "quarter" => Operand::int(date().quarter() as i64),
        "last_day" => date().last_day().map_or(Operand::null(), as_date),
        "from_days" => match Date::from_day_number(number(0)) {
            Date::ZERO => Operand::null(),
            date => as_date(date),
        },
        "repeat" => Operand::text_value(&args[0].string().repeat(number(1) as usize)),
        "concat" => Operand::text_value(&args.iter().map(Operand::string).collect::<String>()),
        other => panic!("unknown function {other}"),
    })
}

fn json_call(name: &str, args: &[Operand]) -> Result<Operand> {
    if name == "json_quote" {
        return Ok(Operand::text_value(&String::from_utf8_lossy(&quote(args[0].string().as_bytes()))));
    }
    if name == "json_unquote" {
        let text = args[0].string();
        let unquoted = unquote(text.as_bytes()).map_err(|e| match e {
            JsonError::Syntax { message, position } => {
                Error::new(&errno::ER_INVALID_JSON_TEXT_IN_PARAM, &[&1, &"json_unquote", &message, &position])
            }
            JsonError::TooDeep => Error::new(&errno::ER_JSON_DOCUMENT_TOO_DEEP, &[]),
        })?;
        return Ok(Operand::text_value(&String::from_utf8_lossy(&unquoted)));
    }
    let mut doc = args[0].as_json()?;
    let edited = |edit: Edit| -> Result<Operand> {
        let mut doc = doc.clone();
        doc.edit(&path(&args[1])?, args[2].as_json()?, edit);
        Ok(Operand::json(Some(doc)))
    };
    Ok(match name {
        "json_extract" => Operand::json(doc.extract(&[path(&args[1])?], &mut || Ok(()))?),
        "json_set" => edited(Edit::Set)?,
        "json_insert" => edited(Edit::Insert)?,
        "json_replace" => edited(Edit::Replace)?,
        "json_remove" => {
            doc.remove(&path(&args[1])?);
            Operand::json(Some(doc))
        }
        "json_array_append" => {
            doc.array_append(&path(&args[1])?, args[2].as_json()?);
            Operand::json(Some(doc))
        }
        "json_array_insert" => {
            doc.array_insert(&path(&args[1])?, args[2].as_json()?);
            Operand::json(Some(doc))
        }
        "json_merge_preserve" => Operand::json(Some(doc.merge_preserve(args[1].as_json()?))),
        "json_merge_patch" => Operand::json(Some(doc.merge_patch(&args[1].as_json()?))),
        "json_depth" => Operand::int(doc.depth() as i64),
        "json_length" => Operand::int(doc.length() as i64),
        "json_type" => Operand::text_value(doc.type_name()),
        "json_keys" => Operand::json(doc.keys()),
        "json_contains" => {
            Operand::int(doc.contains(&args[1].as_json()?, &mut || Ok::<(), Infallible>(())).is_ok_and(|found| found) as i64)
        }
        "json_overlaps" => {
            Operand::int(doc.overlaps(&args[1].as_json()?, &mut || Ok::<(), Infallible>(())).is_ok_and(|found| found) as i64)
        }
        "json_pretty" => {
            let mut out = Vec::new();
            doc.write_pretty(&mut out, usize::MAX);
            Operand::text_value(&String::from_utf8_lossy(&out))
        }
        other => panic!("unknown function {other}"),
    })
}
