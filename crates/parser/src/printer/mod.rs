//! From the tree back to text, as MySQL prints expressions in SHOW CREATE TABLE and views.
//!
//! `a+1 > 2 AND b` becomes ``(((`a` + 1) > 2) and (0 <> `b`))``: every operator in parentheses,
//! names in backquotes, keywords and functions in lower case. Where MySQL prints what it rewrote
//! the expression to, so does this: AND, OR, XOR and NOT compare operands that are no truth
//! values with 0, NOT is pushed into comparisons, `x IN (1)` is `x = 1`.
//!
//! It does not know types: what MySQL rewrites by type (casts between charsets, say) is not seen.

mod call;
mod logic;
mod query;

use std::borrow::Cow;
use std::fmt::Write as _;

use vaquita_types::charset::Charset;
use vaquita_types::stack;

use crate::ast::*;

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style<'a> {
    /// The introducer of strings that have none.
    pub charset: Option<&'a str>,
    /// The charset of CAST AS CHAR without one.
    pub cast_charset: Option<&'a str>,
    /// Leave out table names in front of columns, as in SHOW CREATE TABLE.
    pub unqualified: bool,
}

/// The text of `expr`.
pub fn print_expr(expr: &Expr, style: Style<'_>) -> String {
    let mut p = Printer::new(style);
    p.expr(expr);
    p.out
}

/// The text of `query`. Names are printed as they were written, not completed.
pub fn print_query(query: &Query, style: Style<'_>) -> String {
    let mut p = Printer::new(style);
    p.query(query);
    p.out
}

/// What names in a view's query turned out to mean.
pub trait Names {
    /// The text of a column, with its table's name or alias.
    fn column(&self, column: &ColumnRef) -> Option<String>;
    /// The same by what is written alone, for window specifications.
    fn column_as_written(&self, column: &ColumnRef) -> Option<String>;
    /// The texts and names of the columns that a star stands for.
    fn star(&self, item: &SelectItem) -> Option<Vec<(String, String)>>;
    /// The database of a table; none of a CTE.
    fn database(&self, table: &TableFactor) -> Option<String>;
    /// The pairs of columns that USING and NATURAL compare.
    fn joined(&self, join: &Join) -> Option<Vec<(String, String)>>;
    /// Something reads the common table expression of that query.
    fn is_read(&self, query: &Query) -> bool;
    /// It is a stored function that is called.
    fn is_stored(&self, call: &FuncCall) -> bool;
}

/// The text of a view's query, with names as `names` completes them.
/// `hints` are those that it keeps.
pub fn print_view(query: &Query, style: Style<'_>, names: &dyn Names, hints: &str) -> String {
    let mut p = Printer::new(style);
    p.view = Some(View { names: Some(names), hints, ..View::default() });
    p.query(query);
    p.out
}

/// The text of a view's query that is complete, leaving out `database` where it is named.
pub fn print_complete_view(query: &Query, style: Style<'_>, database: Option<&str>) -> String {
    let mut p = Printer::new(style);
    p.view = Some(View { left_out: database, ..View::default() });
    p.query(query);
    p.out
}

/// Printing a view.
#[derive(Default)]
struct View<'a> {
    names: Option<&'a dyn Names>,
    /// Hints that are to be printed in the first SELECT.
    hints: &'a str,
    /// The database that is not named.
    left_out: Option<&'a str>,
    /// Subqueries of expressions around what is printed, whose columns have no names.
    in_expression: usize,
    in_window: bool,
    /// The columns of the block that is printed.
    outputs: Vec<Output>,
}

struct Output {
    name: String,
    text: String,
    is_column: bool,
}

/// `name` in backquotes.
pub fn quote_ident(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// `bytes` in quotes with MySQL's escapes. Bytes that are no text are replaced.
pub fn quote_string(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push('\'');
    for c in String::from_utf8_lossy(bytes).chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\0"),
            '\'' => out.push_str("\\'"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\u{1a}' => out.push_str("\\Z"),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

pub(crate) struct Printer<'a> {
    out: String,
    style: Style<'a>,
    view: Option<View<'a>>,
}

impl<'a> Printer<'a> {
    fn new(style: Style<'a>) -> Printer<'a> {
        Printer { out: String::new(), style, view: None }
    }
}

impl Printer<'_> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn ident(&mut self, name: &str) {
        self.out.push('`');
        for c in name.chars() {
            if c == '`' {
                self.out.push('`');
            }
            self.out.push(c);
        }
        self.out.push('`');
    }

    fn name(&mut self, name: &Name) {
        if let Some(db) = name.db.as_ref().filter(|db| self.names_database(db)) {
            self.ident(db);
            self.put(".");
        }
        self.ident(&name.name);
    }

    fn list(&mut self, exprs: &[Expr]) {
        for (i, expr) in exprs.iter().enumerate() {
            if i > 0 {
                self.put(",");
            }
            self.expr(expr);
        }
    }

    pub(crate) fn expr(&mut self, expr: &Expr) {
        stack::deeper(|| self.any_expr(expr));
    }

    fn any_expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Literal(literal) => self.literal(literal),
            Expr::Param(_) => self.put("?"),
            Expr::Column(column) => self.column(column),
            Expr::UserVar(name) => {
                self.put("@");
                self.ident(name);
            }
            Expr::SysVar(var) => self.system_variable(var),
            Expr::Assign { var, value } => {
                self.put("(@");
                self.ident(var);
                self.put(":=");
                self.expr(value);
                self.put(")");
            }
            Expr::Unary { op, expr } => self.unary(*op, expr),
            Expr::Binary { op, left, right } => self.binary(*op, left, right),
            Expr::Subquery(query) => {
                self.put("(");
                self.query_in_expression(query);
                self.put(")");
            }
            Expr::Row(items) => {
                self.put("(");
                self.list(items);
                self.put(")");
            }
            Expr::Default => self.put("default"),
            Expr::IsNull { .. }
            | Expr::IsTruth { .. }
            | Expr::Between { .. }
            | Expr::InList { .. }
            | Expr::InSubquery { .. }
            | Expr::Like { .. }
            | Expr::Regexp { .. }
            | Expr::MemberOf { .. }
            | Expr::Quantified { .. }
            | Expr::Exists(_) => self.predicate(expr),
            _ => self.call(expr),
        }
    }

    fn column(&mut self, column: &ColumnRef) {
        if let Some(text) = self.view.as_ref().and_then(|view| view.column(column)) {
            return self.put(&text);
        }
        if !self.style.unqualified {
            let database = column.db.as_ref().filter(|db| self.names_database(db));
            for qualifier in [database, column.table.as_ref()].into_iter().flatten() {
                self.ident(qualifier);
                self.put(".");
            }
        }
        self.ident(&column.name);
    }

    fn names_database(&self, database: &str) -> bool {
        self.view.as_ref().is_none_or(|view| view.left_out != Some(database))
    }

    /// Begins a comparison with a subquery, which a view does not put in parentheses; returns how it ends.
    fn open(&mut self) -> &'static str {
        if self.view.is_some() {
            return "";
        }
        self.put("(");
        ")"
    }

    /// Its columns have no names.
    fn query_in_expression(&mut self, query: &Query) {
        if let Some(view) = &mut self.view {
            view.in_expression += 1;
        }
        self.query(query);
        if let Some(view) = &mut self.view {
            view.in_expression -= 1;
        }
    }

    fn system_variable(&mut self, var: &SysVar) {
        self.put("@@");
        self.put(match var.scope {
            VarScope::Default => "",
            VarScope::Global => "global.",
            VarScope::Session => "session.",
            VarScope::Persist => "persist.",
            VarScope::PersistOnly => "persist_only.",
        });
        if let Some(component) = &var.component {
            self.ident(component);
            self.put(".");
        }
        self.ident(&var.name);
    }

    fn unary(&mut self, op: UnaryOp, expr: &Expr) {
        match op {
            UnaryOp::Not => self.negated(expr),
            UnaryOp::Plus => self.expr(expr),
            UnaryOp::Neg | UnaryOp::BitNot => {
                self.put(if op == UnaryOp::Neg { "-(" } else { "~(" });
                self.expr(expr);
                self.put(")");
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr) {
        match (op, left, right) {
            (BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, _, _) => {
                self.connective(op, left, right);
            }
            (BinaryOp::SoundsLike, _, _) => {
                self.put("(soundex(");
                self.expr(left);
                self.put(") = soundex(");
                self.expr(right);
                self.put("))");
            }
            (BinaryOp::Eq, Expr::Row(a), Expr::Row(b)) if a.len() == b.len() => {
                self.put("(");
                self.equal_rows(a, b);
                self.put(")");
            }
            _ => {
                self.put("(");
                self.expr(left);
                self.put(" ");
                self.put(operator(op));
                self.put(" ");
                self.expr(right);
                self.put(")");
            }
        }
    }

    /// Equal rows are equal element by element, those of rows inside of them too.
    fn equal_rows(&mut self, left: &[Expr], right: &[Expr]) {
        for (i, (left, right)) in left.iter().zip(right).enumerate() {
            if i > 0 {
                self.put(" and ");
            }
            match (left, right) {
                (Expr::Row(a), Expr::Row(b)) if a.len() == b.len() => stack::deeper(|| self.equal_rows(a, b)),
                _ => self.binary(BinaryOp::Eq, left, right),
            }
        }
    }

    fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::Null => self.put("NULL"),
            Literal::True => self.put("true"),
            Literal::False => self.put("false"),
            Literal::Int(n) => {
                let _ = write!(self.out, "{n}");
            }
            Literal::Decimal(text) => self.decimal(text),
            Literal::Float(text) => self.put(text),
            Literal::String(s) => self.text(s),
            Literal::Hex { bytes, charset } | Literal::Bit { bytes, charset } => self.hex(bytes, charset.as_deref()),
            Literal::Date(text) => self.prefixed("DATE", text),
            Literal::Time(text) => self.prefixed("TIME", text),
            Literal::Timestamp(text) => self.prefixed("TIMESTAMP", text),
        }
    }

    /// `.5` is 0.5 and `1.` is 1.
    fn decimal(&mut self, text: &str) {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let whole = whole.trim_start_matches('0');
        self.put(if whole.is_empty() { "0" } else { whole });
        if !fraction.is_empty() {
            self.put(".");
            self.put(fraction);
        }
    }

    fn prefixed(&mut self, word: &str, text: &[u8]) {
        self.put(word);
        let quoted = quote_string(text);
        self.put(&quoted);
    }

    fn hex(&mut self, bytes: &[u8], charset: Option<&str>) {
        if let Some(charset) = charset {
            self.put("_");
            self.put(charset);
            self.put(" ");
        }
        self.put("0x");
        for b in bytes {
            let _ = write!(self.out, "{b:02X}");
        }
    }

    fn text(&mut self, text: &StringLiteral) {
        let charset = text.charset.as_deref().or(self.style.charset);
        match self.bytes_as_sent(text) {
            Some(bytes) => self.hex(&bytes, charset),
            None => self.string(&text.bytes, charset),
        }
    }

    /// The bytes of a text behind an introducer that says another charset than the printed text has. They are the same for every reader.
    fn bytes_as_sent<'t>(&self, text: &'t StringLiteral) -> Option<Cow<'t, [u8]>> {
        let connection = Charset::by_name(self.style.charset?)?;
        let is_utf8 = text.charset.as_deref().unwrap_or(connection.name).starts_with("utf8");
        let is_plain = text.bytes.is_ascii() && (text.charset.is_some() || connection.mbminlen == 1);
        if is_utf8 || is_plain {
            return None;
        }
        Some(Charset::by_name("utf8mb4")?.convert(connection, &text.bytes).bytes)
    }

    fn string(&mut self, bytes: &[u8], charset: Option<&str>) {
        if let Some(charset) = charset {
            self.put("_");
            self.put(charset);
        }
        let quoted = quote_string(bytes);
        self.put(&quoted);
    }
}

impl View<'_> {
    /// The text of a column that is more than its name.
    fn column(&self, column: &ColumnRef) -> Option<String> {
        let names = self.names?;
        if let Some(text) = names.column(column) {
            return Some(text);
        }
        if self.in_window {
            return names.column_as_written(column);
        }
        let output = self.outputs.iter().find(|output| output.name.eq_ignore_ascii_case(&column.name))?;
        (column.table.is_none() && output.is_column).then(|| output.text.clone())
    }
}

fn operator(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Or => "or",
        BinaryOp::Xor => "xor",
        BinaryOp::And => "and",
        BinaryOp::Eq => "=",
        BinaryOp::NullSafeEq => "<=>",
        BinaryOp::Ne => "<>",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        BinaryOp::BitOr => "|",
        BinaryOp::BitAnd => "&",
        BinaryOp::ShiftLeft => "<<",
        BinaryOp::ShiftRight => ">>",
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::IntDiv => "DIV",
        BinaryOp::Mod => "%",
        BinaryOp::BitXor => "^",
        BinaryOp::SoundsLike => "sounds like",
    }
}
