//! Printing functions, casts, CASE, aggregates and windows.

use std::fmt::Write as _;

use vaquita_types::charset::Charset;

use super::Printer;
use crate::ast::*;

/// Functions that MySQL prints under another name.
fn printed_name(name: &str) -> &str {
    match name {
        "ucase" => "upper",
        "lcase" => "lower",
        "ceil" => "ceiling",
        "power" => "pow",
        "character_length" => "char_length",
        "octet_length" => "length",
        "sha1" => "sha",
        "substring" | "mid" => "substr",
        "day" => "dayofmonth",
        "atan2" => "atan",
        "json_merge" => "json_merge_preserve",
        "session_user" | "system_user" => "user",
        "geometrycollection" => "geomcollection",
        "st_asbinary" => "st_aswkb",
        "st_aswkt" => "st_astext",
        "st_numinteriorring" => "st_numinteriorrings",
        name => name,
    }
}

fn bytes_per_char(charset: &str) -> u64 {
    Charset::by_name(charset).map_or(1, |charset| u64::from(charset.mbmaxlen))
}

impl Printer<'_> {
    pub(super) fn call(&mut self, expr: &Expr) {
        match expr {
            Expr::Func(call) => self.func(call),
            Expr::Aggregate(call) => self.aggregate(call),
            Expr::Window(call) => self.window_call(call),
            Expr::Case { operand, whens, otherwise } => {
                self.case(operand.as_deref(), whens, otherwise.as_deref());
            }
            Expr::Cast { expr, ty, array } => {
                self.put("cast(");
                self.expr(expr);
                self.put(" as ");
                if *array {
                    self.element_type(ty);
                    self.put(" array)");
                } else {
                    self.cast_type(ty);
                    self.put(")");
                }
            }
            Expr::AtTimeZone { expr, zone, .. } => {
                self.expr(expr);
                let _ = write!(self.out, " AT TIME ZONE '{}'", String::from_utf8_lossy(zone).replace('\'', "\\'"));
            }
            Expr::ConvertUsing { expr, charset } => {
                self.put("convert(");
                self.expr(expr);
                let _ = write!(self.out, " using {charset})");
            }
            Expr::Collate { expr, collation } => {
                self.put("(");
                self.expr(expr);
                let _ = write!(self.out, " collate {collation})");
            }
            Expr::DateArith { date, value, unit, subtract } => {
                self.date_arith(date, value, *unit, *subtract);
            }
            Expr::TimestampAdd { unit, amount, date } => {
                self.date_arith(date, amount, *unit, false);
            }
            _ => self.special(expr),
        }
    }

    fn date_arith(&mut self, date: &Expr, value: &Expr, unit: IntervalUnit, subtract: bool) {
        self.put("(");
        self.expr(date);
        self.put(if subtract { " - interval " } else { " + interval " });
        self.interval_value(value);
        self.put(" ");
        self.put(unit.as_str());
        self.put(")");
    }

    /// A row keeps its word: `interval (1,2)` is a call of the function.
    fn interval_value(&mut self, value: &Expr) {
        if let Expr::Row(_) = value {
            self.put("row");
        }
        self.expr(value);
    }

    fn special(&mut self, expr: &Expr) {
        match expr {
            Expr::Extract { unit, expr } => {
                let _ = write!(self.out, "extract({} from ", unit.as_str());
                self.expr(expr);
                self.put(")");
            }
            Expr::Trim { side, remove, expr } => {
                self.put("trim(");
                if let Some(remove) = remove {
                    self.put(match side {
                        TrimSide::Both => "both ",
                        TrimSide::Leading => "leading ",
                        TrimSide::Trailing => "trailing ",
                    });
                    self.expr(remove);
                    self.put(" from ");
                }
                self.expr(expr);
                self.put(")");
            }
            Expr::TimestampDiff { unit, from, to } => {
                let _ = write!(self.out, "timestampdiff({},", unit.as_str().to_ascii_uppercase());
                self.expr(from);
                self.put(",");
                self.expr(to);
                self.put(")");
            }
            Expr::GetFormat { kind, format } => {
                let _ = write!(self.out, "get_format({kind}, ");
                self.expr(format);
                self.put(")");
            }
            Expr::Char { args, charset } => {
                self.put("char(");
                self.list(args);
                if let Some(charset) = charset {
                    let _ = write!(self.out, " using {charset}");
                }
                self.put(")");
            }
            Expr::WeightString { expr, form } => {
                self.put("weight_string(");
                self.expr(expr);
                let _ = match form {
                    WeightForm::Whole => Ok(()),
                    WeightForm::Chars(n) => write!(self.out, " as char({n})"),
                    WeightForm::Binary(n) => write!(self.out, " as binary({n})"),
                    WeightForm::Raw { length, chars, flags } => write!(self.out, ",{length},{chars},{flags}"),
                };
                self.put(")");
            }
            Expr::MatchAgainst { columns, against, mode } => self.full_text(columns, against, *mode),
            Expr::Values(column) | Expr::DefaultOf(column) => {
                let values = matches!(expr, Expr::Values(_));
                self.put(if values { "values(" } else { "default(" });
                self.column(column);
                self.put(")");
            }
            Expr::JsonValue(call) => self.json_value(call),
            _ => {}
        }
    }

    fn full_text(&mut self, columns: &[ColumnRef], against: &Expr, mode: MatchMode) {
        self.put("(match ");
        for (i, column) in columns.iter().enumerate() {
            if i > 0 {
                self.put(",");
            }
            self.column(column);
        }
        self.put(" against (");
        self.expr(against);
        self.put(match mode {
            MatchMode::NaturalLanguage => "",
            MatchMode::NaturalLanguageWithExpansion => " with query expansion",
            MatchMode::Boolean => " in boolean mode",
        });
        self.put("))");
    }

    fn func(&mut self, call: &FuncCall) {
        let args = call.args.as_slice();
        let is_stored = self.view.as_ref().is_some_and(|view| match view.names {
            Some(names) => names.is_stored(call),
            None => call.quoted,
        });
        if call.db.is_none() && !is_stored && self.rewritten(&call.name, args) {
            return;
        }
        if let Some(db) = &call.db {
            self.ident(db);
            self.put(".");
        }
        match is_stored || call.db.is_some() {
            true => self.ident(&call.written),
            false => self.put(printed_name(&call.name)),
        }
        self.put("(");
        self.list(args);
        // Arguments that MySQL adds.
        if call.db.is_none() && !is_stored && matches!((call.name.as_str(), args.len()), ("round" | "week" | "yearweek", 1)) {
            self.put(",0");
        }
        self.put(")");
    }

    /// Functions that are printed as something else.
    fn rewritten(&mut self, name: &str, args: &[Expr]) -> bool {
        if let ("datediff", [to, from]) = (name, args) {
            self.put("(to_days(");
            self.expr(to);
            self.put(") - to_days(");
            self.expr(from);
            self.put("))");
            return true;
        }
        let [arg] = args else { return false };
        let (before, after) = match name {
            "weekofyear" => ("week(", ",3)"),
            "isnull" => ("(", " is null)"),
            "date" => ("cast(", " as date)"),
            "time" => ("cast(", " as time)"),
            "timestamp" => ("cast(", " as datetime)"),
            "bin" => ("conv(", ",10,2)"),
            "oct" => ("conv(", ",10,8)"),
            _ => return false,
        };
        self.put(before);
        self.expr(arg);
        self.put(after);
        true
    }

    fn case(&mut self, operand: Option<&Expr>, whens: &[(Expr, Expr)], otherwise: Option<&Expr>) {
        self.put("(case");
        if let Some(operand) = operand {
            self.put(" ");
            self.expr(operand);
        }
        for (when, then) in whens {
            self.put(" when ");
            self.expr(when);
            self.put(" then ");
            self.expr(then);
        }
        if let Some(otherwise) = otherwise {
            self.put(" else ");
            self.expr(otherwise);
        }
        self.put(" end)");
    }

    /// Of the elements of a multi-valued index, which MySQL prints in its own way.
    fn element_type(&mut self, ty: &CastType) {
        match ty {
            CastType::Char { length: Some(n), charset: None, .. } => self.put(&format!("char({n})")),
            CastType::Char { length: None, charset: None, .. } => self.put("char"),
            CastType::Binary(Some(n)) => self.put(&format!("binary({n})")),
            CastType::Binary(None) => self.put("binary"),
            CastType::Decimal { precision, scale } => {
                self.put(&format!("decimal({}, {})", precision.unwrap_or(10), scale.unwrap_or(0)))
            }
            _ => self.cast_type(ty),
        }
    }

    fn cast_type(&mut self, ty: &CastType) {
        let length = |n: &Option<u64>| n.map_or(String::new(), |n| format!("({n})"));
        let text = match ty {
            CastType::Signed => "signed".to_string(),
            CastType::Unsigned => "unsigned".to_string(),
            // As MySQL, without BINARY.
            CastType::Char { length: n, charset, .. } => {
                let charset = charset.as_deref().or(self.style.cast_charset);
                let charset = charset.map_or(String::new(), |c| format!(" charset {c}"));
                format!("char{}{charset}", length(n))
            }
            CastType::Binary(n) => format!("char{} charset binary", length(n)),
            CastType::Decimal { precision, scale } => {
                format!("decimal({},{})", precision.unwrap_or(10), scale.unwrap_or(0))
            }
            CastType::Float(Some(25..)) | CastType::Double | CastType::Real => "double".to_string(),
            CastType::Float(_) => "float".to_string(),
            CastType::Date => "date".to_string(),
            CastType::Time(n) => format!("time{}", length(n)),
            CastType::DateTime(n) => format!("datetime{}", length(n)),
            CastType::Year => "year".to_string(),
            CastType::Json => "json".to_string(),
            CastType::Spatial(name) => name.clone(),
        };
        self.put(&text);
    }

    fn json_value(&mut self, call: &JsonValue) {
        self.put("json_value(");
        self.expr(&call.doc);
        self.put(", ");
        self.text(&call.path);
        self.put(" returning ");
        match &call.returning {
            Some(ty) => self.returned_type(ty),
            None => self.put("char(512)"),
        }
        self.json_on(call.on_empty.as_ref(), " on empty");
        self.json_on(call.on_error.as_ref(), " on error");
        self.put(")");
    }

    /// The type of JSON_VALUE, whose texts have a length and show the charset that they were given.
    fn returned_type(&mut self, ty: &CastType) {
        match ty {
            CastType::Char { length, charset, .. } => {
                let bytes_max = charset.as_deref().map_or(4, bytes_per_char);
                let length = length.unwrap_or(u64::from(u32::MAX) / bytes_max);
                let _ = match charset.as_deref() {
                    Some("binary") => write!(self.out, "binary({length})"),
                    Some(charset) => write!(self.out, "char({length}) character set {charset}"),
                    None => write!(self.out, "char({length})"),
                };
            }
            CastType::Binary(length) => {
                let _ = write!(self.out, "binary({})", length.unwrap_or(u64::from(u32::MAX)));
            }
            CastType::Float(_) => self.put("float"),
            _ => self.element_type(ty),
        }
    }

    fn aggregate(&mut self, call: &AggregateCall) {
        self.put(match call.func {
            AggregateFunc::Count => "count(",
            AggregateFunc::Sum => "sum(",
            AggregateFunc::Avg => "avg(",
            AggregateFunc::Min => "min(",
            AggregateFunc::Max => "max(",
            AggregateFunc::BitAnd => "bit_and(",
            AggregateFunc::BitOr => "bit_or(",
            AggregateFunc::BitXor => "bit_xor(",
            AggregateFunc::GroupConcat => "group_concat(",
            AggregateFunc::JsonArrayAgg => "json_arrayagg(",
            AggregateFunc::JsonObjectAgg => "json_objectagg(",
            AggregateFunc::StdPop => "std(",
            AggregateFunc::StdSamp => "stddev_samp(",
            AggregateFunc::VarPop => "variance(",
            AggregateFunc::VarSamp => "var_samp(",
            AggregateFunc::StCollect => "st_collect(",
        });
        if call.distinct {
            self.put("distinct ");
        }
        if call.args.is_empty() {
            self.put("0");
        }
        self.list(&call.args);
        if call.func == AggregateFunc::GroupConcat {
            if !call.order_by.is_empty() {
                self.put(" order by ");
                self.order_items(&call.order_by, true);
            }
            self.put(" separator ");
            self.string(call.separator.as_deref().unwrap_or(b","), None);
        }
        self.put(")");
    }

    fn window_call(&mut self, call: &WindowCall) {
        self.window_function(&call.func);
        self.put(" OVER ");
        match &call.over {
            WindowOver::Named(name) => self.ident(name),
            WindowOver::Spec(spec) => self.window_spec(spec),
        }
    }

    fn window_function(&mut self, func: &WindowFunc) {
        match func {
            WindowFunc::Aggregate(call) => self.aggregate(call),
            WindowFunc::RowNumber => self.put("row_number()"),
            WindowFunc::Rank => self.put("rank()"),
            WindowFunc::DenseRank => self.put("dense_rank()"),
            WindowFunc::PercentRank => self.put("percent_rank()"),
            WindowFunc::CumeDist => self.put("cume_dist()"),
            WindowFunc::Ntile(n) => self.named_call("ntile", &[Some(n)]),
            WindowFunc::Lead(args) => {
                self.named_call("lead", &[Some(&args.expr), args.offset.as_ref(), args.default.as_ref()]);
            }
            WindowFunc::Lag(args) => {
                self.named_call("lag", &[Some(&args.expr), args.offset.as_ref(), args.default.as_ref()]);
            }
            WindowFunc::FirstValue { expr, .. } => self.named_call("first_value", &[Some(expr)]),
            WindowFunc::LastValue { expr, .. } => self.named_call("last_value", &[Some(expr)]),
            WindowFunc::NthValue { expr, n, .. } => {
                self.named_call("nth_value", &[Some(expr), Some(n)]);
            }
        }
    }

    fn named_call(&mut self, name: &str, args: &[Option<&Expr>]) {
        self.put(name);
        self.put("(");
        for (i, arg) in args.iter().flatten().enumerate() {
            if i > 0 {
                self.put(",");
            }
            self.expr(arg);
        }
        self.put(")");
    }

    pub(super) fn window_spec(&mut self, spec: &WindowSpec) {
        let before = self.view.as_mut().map(|view| std::mem::replace(&mut view.in_window, true));
        self.window_parts(spec);
        if let (Some(view), Some(before)) = (&mut self.view, before) {
            view.in_window = before;
        }
    }

    fn window_parts(&mut self, spec: &WindowSpec) {
        self.put("(");
        if let Some(base) = &spec.base {
            self.ident(base);
            self.put(" ");
        }
        if !spec.partition_by.is_empty() {
            self.put("PARTITION BY ");
            self.list(&spec.partition_by);
            self.put(" ");
        }
        if !spec.order_by.is_empty() {
            self.put("ORDER BY ");
            self.order_items(&spec.order_by, false);
            self.put(" ");
        }
        if let Some(frame) = &spec.frame {
            self.frame(frame);
        }
        self.put(if self.view.is_some() { ") " } else { ")" });
    }

    fn frame(&mut self, frame: &WindowFrame) {
        self.put(match frame.unit {
            FrameUnit::Rows => "ROWS ",
            FrameUnit::Range => "RANGE ",
            FrameUnit::Groups => "GROUPS ",
        });
        self.put("BETWEEN ");
        self.frame_bound(&frame.start);
        self.put(" AND ");
        self.frame_bound(frame.end.as_ref().unwrap_or(&FrameBound::CurrentRow));
    }

    fn frame_bound(&mut self, bound: &FrameBound) {
        match bound {
            FrameBound::UnboundedPreceding => self.put("UNBOUNDED PRECEDING"),
            FrameBound::UnboundedFollowing => self.put("UNBOUNDED FOLLOWING"),
            FrameBound::CurrentRow => self.put("CURRENT ROW"),
            FrameBound::Preceding(n) => {
                self.expr(n);
                self.put(" PRECEDING");
            }
            FrameBound::Following(n) => {
                self.expr(n);
                self.put(" FOLLOWING");
            }
            FrameBound::PrecedingInterval(n, unit) => {
                self.put("INTERVAL ");
                self.interval_value(n);
                let _ = write!(self.out, " {} PRECEDING", unit.as_str());
            }
            FrameBound::FollowingInterval(n, unit) => {
                self.put("INTERVAL ");
                self.interval_value(n);
                let _ = write!(self.out, " {} FOLLOWING", unit.as_str());
            }
        }
    }
}
