//! Functions whose name is a keyword: those with a syntax of their own, aggregates, and those
//! that merely share their name with a keyword, such as LEFT and DATE.
//!
//! MySQL's grammar knows how many arguments the latter take, so a wrong number is a syntax
//! error; for all other functions it is the planner's.

use super::{Parser, Result};
use crate::ast::*;
use crate::error::ParseError;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};

const VALUES_INSTEAD: &str = "an alias (INSERT INTO ... VALUES (...) AS alias) and replace VALUES(col) in the ON DUPLICATE KEY UPDATE \
    clause with alias.col";

/// Keywords that are ordinary functions before `(`: the smallest and largest number of arguments.
fn plain_function(kw: Kw) -> Option<(&'static str, usize, usize)> {
    const ANY: usize = usize::MAX;
    Some(match kw {
        Kw::ASCII => ("ascii", 1, 1),
        Kw::CHARSET => ("charset", 1, 1),
        Kw::COALESCE => ("coalesce", 1, ANY),
        Kw::COLLATION => ("collation", 1, 1),
        Kw::DATABASE | Kw::SCHEMA => ("database", 0, 0),
        Kw::DATE => ("date", 1, 1),
        Kw::DAY => ("dayofmonth", 1, 1),
        Kw::FORMAT => ("format", 2, 3),
        Kw::GEOMCOLLECTION | Kw::GEOMETRYCOLLECTION => ("geometrycollection", 0, ANY),
        Kw::GROUPING => ("grouping", 1, ANY),
        Kw::HOUR => ("hour", 1, 1),
        Kw::IF => ("if", 3, 3),
        Kw::INSERT => ("insert", 4, 4),
        Kw::LEFT => ("left", 2, 2),
        Kw::LINESTRING => ("linestring", 1, ANY),
        Kw::LOG => ("log", 1, 2),
        Kw::MICROSECOND => ("microsecond", 1, 1),
        Kw::MINUTE => ("minute", 1, 1),
        Kw::MONTH => ("month", 1, 1),
        Kw::MULTILINESTRING => ("multilinestring", 1, ANY),
        Kw::MULTIPOINT => ("multipoint", 1, ANY),
        Kw::MULTIPOLYGON => ("multipolygon", 1, ANY),
        Kw::PASSWORD => ("password", 1, 1),
        Kw::POINT => ("point", 2, 2),
        Kw::POLYGON => ("polygon", 1, ANY),
        Kw::QUARTER => ("quarter", 1, 1),
        Kw::REPEAT => ("repeat", 2, 2),
        Kw::REPLACE => ("replace", 3, 3),
        Kw::REVERSE => ("reverse", 1, 1),
        Kw::RIGHT => ("right", 2, 2),
        Kw::ROW_COUNT => ("row_count", 0, 0),
        Kw::SECOND => ("second", 1, 1),
        Kw::TIME => ("time", 1, 1),
        Kw::TIMESTAMP => ("timestamp", 1, 2),
        Kw::TRUNCATE => ("truncate", 2, 2),
        Kw::USER | Kw::SESSION_USER | Kw::SYSTEM_USER => ("user", 0, 0),
        Kw::WEEK => ("week", 1, 2),
        Kw::YEAR => ("year", 1, 1),
        _ => return None,
    })
}

/// Reserved words that can only begin a call: without `(` the error is behind them.
pub(super) fn needs_paren(kw: Kw) -> bool {
    plain_function(kw).is_some()
        || matches!(
            kw,
            Kw::ROW_NUMBER
                | Kw::RANK
                | Kw::DENSE_RANK
                | Kw::PERCENT_RANK
                | Kw::CUME_DIST
                | Kw::NTILE
                | Kw::LEAD
                | Kw::LAG
                | Kw::FIRST_VALUE
                | Kw::LAST_VALUE
                | Kw::NTH_VALUE
                | Kw::CONVERT
                | Kw::MOD
                | Kw::CHAR
                | Kw::VALUES
                | Kw::DEFAULT
                | Kw::ROW
        )
}

fn aggregate(kw: Kw) -> Option<AggregateFunc> {
    Some(match kw {
        Kw::SUM => AggregateFunc::Sum,
        Kw::AVG => AggregateFunc::Avg,
        Kw::MIN => AggregateFunc::Min,
        Kw::MAX => AggregateFunc::Max,
        Kw::BIT_AND => AggregateFunc::BitAnd,
        Kw::BIT_OR => AggregateFunc::BitOr,
        Kw::BIT_XOR => AggregateFunc::BitXor,
        Kw::STD | Kw::STDDEV | Kw::STDDEV_POP => AggregateFunc::StdPop,
        Kw::STDDEV_SAMP => AggregateFunc::StdSamp,
        Kw::VARIANCE | Kw::VAR_POP => AggregateFunc::VarPop,
        Kw::VAR_SAMP => AggregateFunc::VarSamp,
        Kw::JSON_ARRAYAGG => AggregateFunc::JsonArrayAgg,
        Kw::JSON_OBJECTAGG => AggregateFunc::JsonObjectAgg,
        Kw::ST_COLLECT => AggregateFunc::StCollect,
        _ => return None,
    })
}

const EMPTY_AFTER_ERROR_TEXT: &str = "Specifying an ON EMPTY clause after the ON ERROR clause in a JSON_TABLE column definition is deprecated \
    syntax and will be removed in a future release. Specify ON EMPTY before ON ERROR instead.";

impl Parser<'_> {
    /// The call that the present keyword begins; `None` if it begins none.
    pub(super) fn keyword_call(&mut self, kw: Kw) -> Result<Option<Expr>> {
        if let Some(expr) = self.now_function(kw)? {
            return Ok(Some(expr));
        }
        if self.peek() != Tok::Op(Op::LParen) {
            return Ok(None);
        }
        if let Some((name, min, max)) = plain_function(kw) {
            self.bump();
            let args = self.counted_args(min, max)?;
            return Ok(Some(Expr::func(name, args)));
        }
        if let Some(func) = aggregate(kw) {
            return self.aggregate_call(func).map(Some);
        }
        self.special_call(kw)
    }

    #[inline(never)]
    fn special_call(&mut self, kw: Kw) -> Result<Option<Expr>> {
        Ok(Some(match kw {
            Kw::COUNT => self.count()?,
            Kw::GROUP_CONCAT => self.group_concat()?,
            Kw::ROW_NUMBER
            | Kw::RANK
            | Kw::DENSE_RANK
            | Kw::PERCENT_RANK
            | Kw::CUME_DIST
            | Kw::NTILE
            | Kw::LEAD
            | Kw::LAG
            | Kw::FIRST_VALUE
            | Kw::LAST_VALUE
            | Kw::NTH_VALUE => self.nested(|p| p.window_function(kw))?,
            Kw::CAST => self.cast()?,
            Kw::CONVERT => self.convert()?,
            Kw::MOD => {
                self.bump();
                let mut args = self.counted_args(2, 2)?.into_iter();
                match (args.next(), args.next()) {
                    (Some(left), Some(right)) => Expr::Binary { op: BinaryOp::Mod, left: Box::new(left), right: Box::new(right) },
                    _ => return self.fail(),
                }
            }
            Kw::CHAR => self.char_function()?,
            Kw::EXTRACT => self.extract()?,
            Kw::POSITION => self.position()?,
            Kw::SUBSTR | Kw::SUBSTRING | Kw::MID => self.substring()?,
            Kw::TRIM => self.trim()?,
            Kw::ADDDATE | Kw::SUBDATE | Kw::DATE_ADD | Kw::DATE_SUB => self.date_add(kw)?,
            Kw::TIMESTAMPADD | Kw::TIMESTAMPDIFF => self.timestamp_add(kw)?,
            Kw::GET_FORMAT => self.get_format()?,
            Kw::WEIGHT_STRING => self.weight_string()?,
            Kw::MATCH => self.match_against()?,
            Kw::VALUES | Kw::DEFAULT => {
                self.bump();
                self.bump();
                let column = self.column_ref()?;
                self.expect_op(Op::RParen)?;
                if kw == Kw::VALUES {
                    self.deprecate_values();
                    Expr::Values(column)
                } else {
                    Expr::DefaultOf(column)
                }
            }
            Kw::JSON_VALUE => self.json_value()?,
            _ => return Ok(None),
        }))
    }

    /// Functions of the present moment and user, most of which need no parentheses.
    #[inline(never)]
    fn now_function(&mut self, kw: Kw) -> Result<Option<Expr>> {
        let (name, digits) = match kw {
            Kw::CURRENT_TIMESTAMP | Kw::LOCALTIME | Kw::LOCALTIMESTAMP | Kw::NOW => ("now", true),
            Kw::CURRENT_TIME | Kw::CURTIME => ("curtime", true),
            Kw::CURRENT_DATE | Kw::CURDATE => ("curdate", false),
            Kw::UTC_TIMESTAMP => ("utc_timestamp", true),
            Kw::UTC_TIME => ("utc_time", true),
            Kw::UTC_DATE => ("utc_date", false),
            Kw::SYSDATE => ("sysdate", true),
            Kw::CURRENT_USER => ("current_user", false),
            Kw::MATCH => return self.match_against().map(Some),
            _ => return Ok(None),
        };
        self.bump();
        let mut args = Vec::new();
        if self.eat_op(Op::LParen) {
            if digits && self.tok.tok == Tok::Int {
                args.push(Expr::Literal(Literal::Int(self.number()?)));
            }
            self.expect_op(Op::RParen)?;
        }
        Ok(Some(Expr::func(name, args)))
    }

    /// `( expr, .. )` with `min` to `max` arguments.
    fn counted_args(&mut self, min: usize, max: usize) -> Result<Vec<Expr>> {
        self.expect_op(Op::LParen)?;
        let mut args = Vec::with_capacity(min);
        if min > 0 || (max > 0 && !self.is_op(Op::RParen)) {
            args.push(self.expr()?);
            while args.len() < max {
                if args.len() < min {
                    self.expect_op(Op::Comma)?;
                } else if !self.eat_op(Op::Comma) {
                    break;
                }
                args.push(self.expr()?);
            }
        }
        self.expect_op(Op::RParen)?;
        Ok(args)
    }

    #[inline(never)]
    fn aggregate_call(&mut self, func: AggregateFunc) -> Result<Expr> {
        use AggregateFunc::{Avg, JsonArrayAgg, JsonObjectAgg, Max, Min, StCollect, Sum};
        self.bump();
        self.bump();
        let distinct = matches!(func, Min | Max | Sum | Avg | StCollect) && self.eat(Kw::DISTINCT);
        if !distinct && !matches!(func, JsonArrayAgg | JsonObjectAgg) {
            self.eat(Kw::ALL);
        }
        let mut args = vec![self.expr()?];
        if func == JsonObjectAgg {
            self.expect_op(Op::Comma)?;
            args.push(self.expr()?);
        }
        self.expect_op(Op::RParen)?;
        self.opt_over(AggregateCall { func, distinct, args, order_by: Vec::new(), separator: None })
    }

    #[inline(never)]
    fn count(&mut self) -> Result<Expr> {
        self.bump();
        self.bump();
        let mut call = AggregateCall {
            func: AggregateFunc::Count,
            distinct: false,
            args: Vec::new(),
            order_by: Vec::new(),
            separator: None,
        };
        if self.eat(Kw::DISTINCT) {
            call.distinct = true;
            call.args = self.expr_list()?;
        } else {
            self.eat(Kw::ALL);
            if !self.eat_op(Op::Star) {
                call.args.push(self.expr()?);
            }
        }
        self.expect_op(Op::RParen)?;
        self.opt_over(call)
    }

    #[inline(never)]
    fn group_concat(&mut self) -> Result<Expr> {
        self.bump();
        self.bump();
        let distinct = self.eat(Kw::DISTINCT);
        let args = self.expr_list()?;
        let order_by = if self.is(Kw::ORDER) { self.order_by()? } else { Vec::new() };
        let separator = if self.eat(Kw::SEPARATOR) { Some(self.text_or_hex()?) } else { None };
        self.expect_op(Op::RParen)?;
        let func = AggregateFunc::GroupConcat;
        self.opt_over(AggregateCall { func, distinct, args, order_by, separator })
    }

    #[inline(never)]
    fn cast(&mut self) -> Result<Expr> {
        self.bump();
        self.bump();
        let expr = self.boxed_expr()?;
        if self.is(Kw::AT) {
            return self.cast_at_time_zone(expr);
        }
        self.expect(Kw::AS)?;
        let ty = self.cast_type()?;
        let array = self.eat(Kw::ARRAY);
        self.expect_op(Op::RParen)?;
        Ok(Expr::Cast { expr, ty, array })
    }

    /// `AT TIME ZONE 'zone' AS DATETIME)`, at its AT.
    fn cast_at_time_zone(&mut self, expr: Box<Expr>) -> Result<Expr> {
        self.bump();
        if self.eat(Kw::LOCAL) {
            self.refuse(&vaquita_types::errno::ER_NOT_SUPPORTED_YET, &[&"AT LOCAL"]);
            self.expect(Kw::AS)?;
            let ty = self.cast_type()?;
            self.expect_op(Op::RParen)?;
            return Ok(Expr::Cast { expr, ty, array: false });
        }
        self.expect(Kw::TIME)?;
        self.expect(Kw::ZONE)?;
        let interval = self.eat(Kw::INTERVAL);
        if self.kind() != Tok::Str {
            return self.fail();
        }
        let zone = self.string_piece();
        self.expect(Kw::AS)?;
        if !self.is(Kw::DATETIME) {
            return self.fail();
        }
        let ty = self.cast_type()?;
        self.expect_op(Op::RParen)?;
        Ok(Expr::Cast { expr: Box::new(Expr::AtTimeZone { expr, zone, interval }), ty, array: false })
    }

    fn deprecate_values(&mut self) {
        if self.in_duplicate_update {
            self.deprecate("VALUES function", VALUES_INSTEAD);
        } else {
            let def = &vaquita_types::errno::ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT;
            self.warnings.push(vaquita_types::Error::new(def, &[&"VALUES function"]));
        }
    }

    #[inline(never)]
    fn convert(&mut self) -> Result<Expr> {
        self.bump();
        self.bump();
        let expr = self.boxed_expr()?;
        if self.eat(Kw::USING) {
            let charset = self.charset_name()?;
            self.deprecate_charset(&charset);
            self.expect_op(Op::RParen)?;
            return Ok(Expr::ConvertUsing { expr, charset });
        }
        self.expect_op(Op::Comma)?;
        let ty = self.cast_type()?;
        self.expect_op(Op::RParen)?;
        Ok(Expr::Cast { expr, ty, array: false })
    }

    #[inline(never)]
    fn char_function(&mut self) -> Result<Expr> {
        self.bump();
        self.bump();
        let args = self.expr_list()?;
        let charset = if self.eat(Kw::USING) { Some(self.charset_name()?) } else { None };
        charset.iter().for_each(|name| self.deprecate_charset(name));
        self.expect_op(Op::RParen)?;
        Ok(Expr::Char { args, charset })
    }

    #[inline(never)]
    fn extract(&mut self) -> Result<Expr> {
        self.bump();
        self.bump();
        let unit = self.interval_unit()?;
        self.expect(Kw::FROM)?;
        let expr = self.boxed_expr()?;
        self.expect_op(Op::RParen)?;
        Ok(Expr::Extract { unit, expr })
    }

    #[inline(never)]
    fn position(&mut self) -> Result<Expr> {
        self.bump();
        self.bump();
        let needle = self.nested(|p| p.bit_expr(0))?;
        self.expect(Kw::IN)?;
        let text = self.expr()?;
        self.expect_op(Op::RParen)?;
        Ok(Expr::func("locate", vec![needle, text]))
    }

    #[inline(never)]
    fn substring(&mut self) -> Result<Expr> {
        self.bump();
        self.bump();
        let mut args = vec![self.expr()?];
        let separator = if self.eat(Kw::FROM) {
            Tok::Kw(Kw::FOR)
        } else {
            self.expect_op(Op::Comma)?;
            Tok::Op(Op::Comma)
        };
        args.push(self.expr()?);
        if self.tok.tok == separator {
            self.bump();
            args.push(self.expr()?);
        }
        self.expect_op(Op::RParen)?;
        Ok(Expr::func("substr", args))
    }

    #[inline(never)]
    fn trim(&mut self) -> Result<Expr> {
        self.bump();
        self.bump();
        let side = match self.eat_any(&[Kw::BOTH, Kw::LEADING, Kw::TRAILING]) {
            Some(Kw::LEADING) => Some(TrimSide::Leading),
            Some(Kw::TRAILING) => Some(TrimSide::Trailing),
            Some(_) => Some(TrimSide::Both),
            None => None,
        };
        let mut remove = None;
        if side.is_some() && self.eat(Kw::FROM) {
            // TRIM(LEADING FROM x)
        } else {
            let first = self.boxed_expr()?;
            if side.is_none() && self.eat_op(Op::RParen) {
                return Ok(Expr::Trim { side: TrimSide::Both, remove: None, expr: first });
            }
            self.expect(Kw::FROM)?;
            remove = Some(first);
        }
        let expr = self.boxed_expr()?;
        self.expect_op(Op::RParen)?;
        Ok(Expr::Trim { side: side.unwrap_or(TrimSide::Both), remove, expr })
    }

    #[inline(never)]
    fn date_add(&mut self, kw: Kw) -> Result<Expr> {
        self.bump();
        self.bump();
        let date = self.boxed_expr()?;
        self.expect_op(Op::Comma)?;
        let days_allowed = matches!(kw, Kw::ADDDATE | Kw::SUBDATE);
        let (value, unit) = if self.is(Kw::INTERVAL) && !(days_allowed && self.at_interval_function()) {
            self.interval()?
        } else if days_allowed {
            (self.expr()?, IntervalUnit::Day)
        } else {
            return self.fail();
        };
        self.expect_op(Op::RParen)?;
        let subtract = matches!(kw, Kw::SUBDATE | Kw::DATE_SUB);
        Ok(Expr::DateArith { date, value: Box::new(value), unit, subtract })
    }

    #[inline(never)]
    fn timestamp_add(&mut self, kw: Kw) -> Result<Expr> {
        self.bump();
        self.bump();
        let at = self.tok.start as usize;
        let unit = self.interval_unit()?;
        // One of two units, such as HOUR_MINUTE, is for INTERVAL.
        if unit.as_str().contains('_') {
            return Err(ParseError::syntax(self.src, at));
        }
        self.expect_op(Op::Comma)?;
        let first = self.boxed_expr()?;
        self.expect_op(Op::Comma)?;
        let second = self.boxed_expr()?;
        self.expect_op(Op::RParen)?;
        Ok(if kw == Kw::TIMESTAMPADD {
            Expr::TimestampAdd { unit, amount: first, date: second }
        } else {
            Expr::TimestampDiff { unit, from: first, to: second }
        })
    }

    #[inline(never)]
    fn get_format(&mut self) -> Result<Expr> {
        self.bump();
        self.bump();
        let kind = match self.expect_any(&[Kw::DATE, Kw::TIME, Kw::DATETIME, Kw::TIMESTAMP])? {
            Kw::TIMESTAMP => Kw::DATETIME,
            kw => kw,
        };
        self.expect_op(Op::Comma)?;
        let format = self.boxed_expr()?;
        self.expect_op(Op::RParen)?;
        Ok(Expr::GetFormat { kind: kind.as_str().to_string(), format })
    }

    #[inline(never)]
    fn weight_string(&mut self) -> Result<Expr> {
        self.bump();
        self.bump();
        let expr = self.boxed_expr()?;
        let mut form = WeightForm::Whole;
        if self.eat(Kw::AS) {
            let binary = self.expect_any(&[Kw::CHAR, Kw::BINARY])? == Kw::BINARY;
            self.expect_op(Op::LParen)?;
            let at = self.tok.at as usize;
            if self.kind() != Tok::Int {
                return self.fail();
            }
            form = match self.number()? {
                0 => return Err(ParseError::syntax(self.src, at)),
                n if binary => WeightForm::Binary(n),
                n => WeightForm::Chars(n),
            };
            self.expect_op(Op::RParen)?;
        } else if self.eat_op(Op::Comma) {
            let length = self.plain_number()?;
            self.expect_op(Op::Comma)?;
            let chars = self.plain_number()?;
            self.expect_op(Op::Comma)?;
            form = WeightForm::Raw { length, chars, flags: self.plain_number()? };
        }
        self.expect_op(Op::RParen)?;
        Ok(Expr::WeightString { expr, form })
    }

    /// A number without a sign in any notation, of which the whole part counts.
    fn plain_number(&mut self) -> Result<u64> {
        if !matches!(self.kind(), Tok::Int | Tok::Decimal | Tok::Float | Tok::Hex) {
            return self.fail();
        }
        let whole = |text: &str| text.parse::<f64>().map_or(0, |n| n as u64);
        match self.opt_literal()? {
            Some(Literal::Int(n)) => Ok(n),
            Some(Literal::Decimal(text) | Literal::Float(text)) => Ok(whole(&text)),
            Some(Literal::Hex { bytes, .. }) => Ok(bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b))),
            _ => self.fail(),
        }
    }

    #[inline(never)]
    fn match_against(&mut self) -> Result<Expr> {
        self.bump();
        let columns =
            if self.is_op(Op::LParen) { self.paren_list(Self::column_ref)? } else { self.comma_list(Self::column_ref)? };
        self.expect(Kw::AGAINST)?;
        self.expect_op(Op::LParen)?;
        let against = Box::new(self.nested(|p| p.bit_expr(0))?);
        let mut mode = MatchMode::NaturalLanguage;
        let mut boolean = false;
        if self.eat(Kw::IN) {
            if self.eat(Kw::BOOLEAN) {
                boolean = true;
                mode = MatchMode::Boolean;
            } else {
                self.expect_all(&[Kw::NATURAL, Kw::LANGUAGE])?;
            }
            self.expect(Kw::MODE)?;
        }
        if !boolean && self.eat(Kw::WITH) {
            self.expect_all(&[Kw::QUERY, Kw::EXPANSION])?;
            mode = MatchMode::NaturalLanguageWithExpansion;
        }
        self.expect_op(Op::RParen)?;
        Ok(Expr::MatchAgainst { columns, against, mode })
    }

    #[inline(never)]
    fn json_value(&mut self) -> Result<Expr> {
        self.bump();
        self.bump();
        let doc = self.expr()?;
        self.expect_op(Op::Comma)?;
        let path = self.text_literal()?;
        let returning = if self.eat(Kw::RETURNING) { Some(self.cast_type()?) } else { None };
        let (on_empty, on_error) = self.json_on(false)?;
        self.expect_op(Op::RParen)?;
        Ok(Expr::JsonValue(Box::new(JsonValue { doc, path, returning, on_empty, on_error })))
    }

    /// `[.. ON EMPTY] [.. ON ERROR]`
    pub(super) fn json_on(&mut self, in_table: bool) -> Result<(Option<JsonOn>, Option<JsonOn>)> {
        let (mut on_empty, mut on_error) = (None, None);
        while (on_error.is_none() || in_table && on_empty.is_none()) && self.is_any(&[Kw::ERROR, Kw::NULL, Kw::DEFAULT]) {
            let response = match self.eat_any(&[Kw::ERROR, Kw::NULL]) {
                Some(Kw::ERROR) => JsonOn::Error,
                Some(_) => JsonOn::Null,
                None => {
                    self.bump();
                    JsonOn::Default(Box::new(self.signed_literal()?))
                }
            };
            self.expect(Kw::ON)?;
            if on_empty.is_none() && self.eat(Kw::EMPTY) {
                if on_error.is_some() {
                    self.deprecate_with(EMPTY_AFTER_ERROR_TEXT);
                }
                on_empty = Some(response);
            } else {
                self.expect(Kw::ERROR)?;
                on_error = Some(response);
            }
        }
        Ok((on_empty, on_error))
    }
}
