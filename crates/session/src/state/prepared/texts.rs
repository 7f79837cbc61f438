//! The plan cache of COM_QUERY: statements that differ in literals only share a plan, as if they had been prepared.
//!
//! 1. One pass of the lexer takes the literals out (`vaquita_parser::digest`); its hash is the key. Nothing is parsed.
//! 2. When a hash comes the second time, the statement is parsed with `?` for those literals that are compared in WHERE with a column or with an
//!    expression of columns, as `LOWER(name)`. Planned, it must show that each is of the kind of what it is compared with: an integer with an
//!    integer, a string with a string. The same for values that UPDATE gives to columns. Numbers that UPDATE adds to columns, takes away or
//!    multiplies by (`s = s + 12.50`), what MEMBER OF looks for, and texts and coordinates that geometries are made of are parameters of their
//!    own type. The other literals stay as they are and must be the same the next time.
//! 3. From then on the literals become the parameters' values.
//!
//! Whatever does not fit runs the ordinary way, and that decides errors and warnings: only plain SELECT, UPDATE and DELETE come here at all.
//! A plan is made again after a second, since tables grow, and whenever a prepared statement's would be: also if it was chosen by the values
//! that it was made for, and has looked at many rows (`Guessed::is_outgrown`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use vaquita_parser::ast::{BinaryOp, Expr, Query, QueryBody, UnaryOp};
use vaquita_parser::digest::{Digest, DigestLiteral, LiteralKind, digest_into};
use vaquita_parser::{Hint, ParserOptions, Statement as Ast, parse_prepared_noting};
use vaquita_plan::params::{parameter_types, text_parameter};
use vaquita_plan::settings::PlanSettings;
use vaquita_types::charset::charset;
use vaquita_types::decimal::Decimal;
use vaquita_types::{ColumnType, TypeKind, Value};

use super::CachedPlan;
use crate::statement_events::KeptLine;

/// Longer statements spend their time elsewhere.
const TEXT_BYTES_MAX: usize = 4 << 10;
/// Statements of a session; when there are more, it begins anew.
const STATEMENTS_MAX: usize = 48;
const LINES_MAX: usize = 128;
const PLAN_AGE_MAX: Duration = Duration::from_secs(1);
/// Digits of a decimal literal that may vary: sums and products of some have a type that holds them.
const DIGITS_MAX: u32 = 18;

#[derive(Default)]
pub struct TextPlans {
    /// Trees and plans of statements by their digest, all read under `settings`.
    known: FxHashMap<u128, Known>,
    settings: Option<Arc<PlanSettings>>,
    digest: Digest,
    /// The digest is that of the statement that was looked for last.
    digested: bool,
    values: Vec<Value>,
    /// Where statements are counted, by their digest.
    lines: FxHashMap<u128, Arc<KeptLine>>,
}

enum Known {
    Once,
    /// It runs the ordinary way.
    Unfit,
    Fit(Box<Fit>),
}

struct Fit {
    ast: Arc<Ast>,
    /// Of each literal, in the order of the text.
    literals: Vec<Use>,
    plan: Arc<CachedPlan>,
    planned: Instant,
}

#[derive(Clone, PartialEq)]
enum Use {
    /// Of the kind of the column that it is compared with or stored in.
    Parameter,
    /// Of its own type, with as many digits behind the point.
    Number {
        scale: u8,
    },
    /// Of its own type.
    Text,
    Fixed(Box<[u8]>),
}

/// What the syntax allows a literal to be.
#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Fixed,
    Parameter,
    /// A parameter, if it is of the kind of the expression that it is compared with.
    Operand,
    Number,
    /// A number, or a text.
    Own,
}

impl TextPlans {
    /// A tree that was read under other settings is that of another statement.
    fn begin_under(&mut self, settings: &Arc<PlanSettings>) {
        let same = self.settings.as_ref().is_some_and(|own| Arc::ptr_eq(own, settings) || own == settings);
        if !same {
            self.known.clear();
            self.lines.clear();
            self.settings = Some(Arc::clone(settings));
        }
    }
}

/// Who makes the plans: the session.
pub trait Planner {
    fn settings(&self) -> &Arc<PlanSettings>;

    /// A plan for such values that was made without a word.
    fn quiet_plan(&self, ast: &Ast, types: &[ColumnType], values: &[Value]) -> Option<CachedPlan>;

    /// The plan would be made the same again.
    fn is_current(&self, plan: &CachedPlan) -> bool;

    /// The plan was made for values like these.
    fn is_for(&self, plan: &CachedPlan, values: &[Value]) -> bool;
}

impl TextPlans {
    /// The tree and plan of a statement that is known, or that can be planned for others like it; `values` has the literals then.
    pub fn find(&mut self, sql: &[u8], planner: &impl Planner) -> Option<(Arc<Ast>, Arc<CachedPlan>)> {
        self.digested = false;
        if sql.len() > TEXT_BYTES_MAX || !may_fit(sql) {
            return None;
        }
        let settings = planner.settings();
        self.begin_under(settings);
        let options = settings.parser_options();
        let TextPlans { known, digest, values, digested, .. } = self;
        if !digest_into(sql, &options, digest) || digest.len != sql.len() {
            return None;
        }
        *digested = true;
        if known.len() >= STATEMENTS_MAX && !known.contains_key(&digest.hash) {
            known.clear();
        }
        let entry = match known.entry(digest.hash) {
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(Known::Once);
                return None;
            }
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
        };
        if let Known::Once = entry {
            let fit = make_fit(sql, &digest.literals, &options, planner);
            *entry = fit.map_or(Known::Unfit, |fit| Known::Fit(Box::new(fit)));
        }
        let Known::Fit(fit) = entry else { return None };
        fit.bind(sql, &digest.literals, values)?;
        let is_good = planner.is_current(&fit.plan) && planner.is_for(&fit.plan, values) && !fit.plan.guessed.is_outgrown();
        if !is_good || fit.planned.elapsed() >= PLAN_AGE_MAX {
            let plan = planner.quiet_plan(&fit.ast, &fit.plan.types, values);
            let Some(plan) = plan.filter(|plan| suits(plan, &fit.literals, &digest.literals)) else {
                // DDL has changed the columns.
                *entry = Known::Once;
                return None;
            };
            (fit.plan, fit.planned) = (Arc::new(plan), Instant::now());
        }
        Some((Arc::clone(&fit.ast), Arc::clone(&fit.plan)))
    }

    /// Where a statement is counted, which `make` tells of those that are new here.
    pub fn line_of(&mut self, sql: &[u8], settings: &Arc<PlanSettings>, make: impl FnOnce() -> Arc<KeptLine>) -> Arc<KeptLine> {
        self.begin_under(settings);
        let known = std::mem::take(&mut self.digested)
            || sql.len() <= TEXT_BYTES_MAX && digest_into(sql, &settings.parser_options(), &mut self.digest);
        if !known {
            return make();
        }
        let hash = self.digest.hash;
        if let Some(line) = self.lines.get(&hash) {
            return line.clone();
        }
        if self.lines.len() >= LINES_MAX {
            self.lines.clear();
        }
        self.lines.entry(hash).or_insert_with(make).clone()
    }

    /// The literals of the statement that was found last.
    pub fn values(&self) -> &[Value] {
        &self.values
    }
}

fn make_fit(sql: &[u8], literals: &[DigestLiteral], options: &ParserOptions, planner: &impl Planner) -> Option<Fit> {
    // The types of variables are their values'.
    if sql.contains(&b'@') || !charset(planner.settings().connection_collation).is_ascii_compatible() {
        return None;
    }
    let ast = parse_with_parameters(sql, literals, &vec![Mark::Parameter; literals.len()], options)?;
    let mut marks = vec![Mark::Fixed; literals.len()];
    mark_parameters(&ast, literals, &mut marks)?;
    let fit = fit_with(sql, literals, &mut marks, options, planner)?;
    let unsuited = unsuited(&fit.plan, &fit.literals, literals);
    if unsuited.is_empty() {
        return Some(fit);
    }
    if unsuited.iter().any(|n| marks[*n] != Mark::Operand) {
        return None;
    }
    unsuited.into_iter().for_each(|n| marks[n] = Mark::Fixed);
    let fit = fit_with(sql, literals, &mut marks, options, planner)?;
    suits(&fit.plan, &fit.literals, literals).then_some(fit)
}

/// A plan with parameters for the literals that are marked; what cannot be one becomes fixed.
fn fit_with(
    sql: &[u8],
    literals: &[DigestLiteral],
    marks: &mut [Mark],
    options: &ParserOptions,
    planner: &impl Planner,
) -> Option<Fit> {
    let (mut uses, mut types, mut values) = (Vec::with_capacity(literals.len()), Vec::new(), Vec::new());
    for (literal, mark) in literals.iter().zip(&mut *marks) {
        let text = text_of(sql, literal);
        let number = if matches!(*mark, Mark::Number | Mark::Own) { number_of(literal.kind, text) } else { None };
        uses.push(match (*mark, number) {
            (Mark::Parameter | Mark::Operand, _) => {
                types.push(ColumnType::null());
                values.push(value_of(literal.kind, text).unwrap_or_default());
                Use::Parameter
            }
            (_, Some((value, scale))) => {
                types.push(operand_type(&value, scale));
                values.push(value);
                Use::Number { scale }
            }
            (Mark::Own, None) if literal.kind == LiteralKind::String => {
                types.push(text_parameter(planner.settings().connection_collation));
                values.push(value_of(literal.kind, text).unwrap_or_default());
                Use::Text
            }
            _ => {
                *mark = Mark::Fixed;
                Use::Fixed(text.into())
            }
        });
    }
    let ast = parse_with_parameters(sql, literals, marks, options)?;
    let plan = planner.quiet_plan(&ast, &types, &values)?;
    Some(Fit { ast: Arc::new(ast), literals: uses, plan: Arc::new(plan), planned: Instant::now() })
}

/// Each parameter is of the kind of what it is compared with or stored in.
fn suits(plan: &CachedPlan, uses: &[Use], literals: &[DigestLiteral]) -> bool {
    unsuited(plan, uses, literals).is_empty()
}

/// The literals of parameters that are not.
fn unsuited(plan: &CachedPlan, uses: &[Use], literals: &[DigestLiteral]) -> Vec<usize> {
    let types = parameter_types(&plan.plan, plan.types.len());
    let parameters = literals.iter().zip(uses).enumerate().filter(|(_, (_, known))| !matches!(known, Use::Fixed(_)));
    let unsuited = parameters.zip(types).filter(|((_, (literal, known)), ty)| {
        **known == Use::Parameter && !ty.as_ref().is_some_and(|ty| is_of_kind(literal.kind, ty))
    });
    unsuited.map(|((n, _), _)| n).collect()
}

impl Fit {
    /// The parameters' values; `None` if a literal is another than the plan has, or needs the parser.
    fn bind(&self, sql: &[u8], literals: &[DigestLiteral], values: &mut Vec<Value>) -> Option<()> {
        values.clear();
        for (known, literal) in self.literals.iter().zip(literals) {
            let text = text_of(sql, literal);
            match known {
                Use::Fixed(fixed) if **fixed == *text => {}
                Use::Fixed(_) => return None,
                Use::Parameter => values.push(value_of(literal.kind, text)?),
                Use::Text if literal.kind == LiteralKind::String => values.push(value_of(literal.kind, text)?),
                Use::Text => return None,
                Use::Number { scale } => {
                    let (value, _) = number_of(literal.kind, text).filter(|(_, same)| same == scale)?;
                    values.push(value);
                }
            }
        }
        Some(())
    }
}

/// Statements that look as if a plan could be kept.
fn may_fit(sql: &[u8]) -> bool {
    let begins = |word: &[u8]| {
        sql.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
            && sql.get(word.len()).is_some_and(u8::is_ascii_whitespace)
    };
    begins(b"SELECT") || begins(b"UPDATE") || begins(b"DELETE")
}

fn text_of<'s>(sql: &'s [u8], literal: &DigestLiteral) -> &'s [u8] {
    sql.get(literal.start as usize..literal.end as usize).unwrap_or(&[])
}

/// An integer, or a string that says what it is without escapes.
fn value_of(kind: LiteralKind, text: &[u8]) -> Option<Value> {
    match kind {
        LiteralKind::Int => std::str::from_utf8(text).ok()?.parse().ok().map(Value::Int),
        LiteralKind::String => {
            let (quote, rest) = text.split_first()?;
            let (_, inner) = rest.split_last()?;
            let plain = inner.iter().all(|byte| byte.is_ascii() && *byte != 0 && *byte != b'\\' && byte != quote);
            plain.then(|| Value::bytes(inner))
        }
        _ => None,
    }
}

/// A number as the planner takes the literal, and its digits behind the point.
fn number_of(kind: LiteralKind, text: &[u8]) -> Option<(Value, u8)> {
    match kind {
        LiteralKind::Int => Some((value_of(kind, text)?, 0)),
        LiteralKind::Decimal => {
            let value = Decimal::parse(text).value;
            let scale = value.scale();
            (value.precision().max(u32::from(scale)) <= DIGITS_MAX).then_some((Value::Decimal(value), scale))
        }
        _ => None,
    }
}

/// The type of all numbers like it.
fn operand_type(value: &Value, scale: u8) -> ColumnType {
    match value {
        Value::Decimal(_) => ColumnType::decimal(DIGITS_MAX + u32::from(scale), scale),
        _ => ColumnType::bigint(),
    }
}

fn is_of_kind(kind: LiteralKind, ty: &ColumnType) -> bool {
    match kind {
        LiteralKind::Int => ty.is_integer(),
        LiteralKind::String => matches!(ty.kind, TypeKind::Char | TypeKind::VarChar),
        _ => false,
    }
}

/// Parses the statement with `?` for the literals that are not fixed.
fn parse_with_parameters(sql: &[u8], literals: &[DigestLiteral], marks: &[Mark], options: &ParserOptions) -> Option<Ast> {
    let mut text = Vec::with_capacity(sql.len());
    let (mut parameters, mut at) = (0, 0);
    for (literal, _) in literals.iter().zip(marks).filter(|(_, mark)| **mark != Mark::Fixed) {
        text.extend_from_slice(sql.get(at..literal.start as usize)?);
        text.push(b'?');
        at = literal.end as usize;
        parameters += 1;
    }
    text.extend_from_slice(sql.get(at..)?);
    let mut deprecated = Vec::new();
    let (ast, count) = parse_prepared_noting(&text, options, &mut deprecated).ok()?;
    (count == parameters && deprecated.is_empty()).then_some(ast)
}

/// They are only about the plan, which is kept.
fn are_of_plan(hints: &[Hint]) -> bool {
    hints.iter().all(|hint| matches!(hint, Hint::Plan(_) | Hint::QueryBlockName(_)))
}

/// Marks the parameters that are compared with columns, become a column's value, or have a type of their own. `None`: the
/// statement is not simple enough.
fn mark_parameters(ast: &Ast, literals: &[DigestLiteral], marks: &mut [Mark]) -> Option<()> {
    let filter = match ast {
        Ast::Query(query) => match &**query {
            Query { with: None, body: QueryBody::Select(select), into: None, .. } if are_of_plan(&select.hints) => &select.filter,
            _ => return None,
        },
        Ast::Update(update) if update.with.is_none() && are_of_plan(&update.hints) => {
            for assignment in &update.assignments {
                match &assignment.value {
                    Expr::Param(n) if literals.get(*n).is_none_or(|literal| literal.kind != LiteralKind::Decimal) => {
                        mark(&assignment.value, Mark::Parameter, marks);
                    }
                    value => computed_with(value, marks),
                }
            }
            &update.filter
        }
        Ast::Delete(delete) if delete.with.is_none() && are_of_plan(&delete.hints) => &delete.filter,
        _ => return None,
    };
    if let Some(filter) = filter {
        conditions(filter, marks);
    }
    Some(())
}

fn mark(expr: &Expr, as_what: Mark, marks: &mut [Mark]) {
    if let Expr::Param(n) = expr
        && let Some(place) = marks.get_mut(*n)
    {
        *place = as_what;
    }
}

/// Operands of what arithmetic gives an exact number of.
fn computed_with(value: &Expr, marks: &mut [Mark]) {
    use BinaryOp as B;
    match value {
        Expr::Param(_) => mark(value, Mark::Number, marks),
        Expr::Binary { op: B::Add | B::Sub | B::Mul, left, right } => {
            computed_with(left, marks);
            computed_with(right, marks);
        }
        Expr::Unary { op: UnaryOp::Neg, expr } => computed_with(expr, marks),
        _ => {}
    }
}

fn conditions(filter: &Expr, marks: &mut [Mark]) {
    use BinaryOp as B;
    match filter {
        Expr::Binary { op: B::And | B::Or, left, right } => {
            conditions(left, marks);
            conditions(right, marks);
        }
        Expr::Unary { op: UnaryOp::Not, expr } => conditions(expr, marks),
        Expr::Binary { op: B::Eq | B::Ne | B::Lt | B::Le | B::Gt | B::Ge, left, right } => {
            compared(left, std::iter::once(&**right), marks);
            compared(right, std::iter::once(&**left), marks);
        }
        Expr::Between { expr, low, high, .. } => compared(expr, [&**low, high].into_iter(), marks),
        Expr::InList { expr, list, .. } => compared(expr, list.iter(), marks),
        Expr::MemberOf { value, array } => {
            mark(value, Mark::Own, marks);
            made_of(array, marks);
        }
        condition => made_of(condition, marks),
    }
}

fn compared<'e>(with: &Expr, others: impl Iterator<Item = &'e Expr>, marks: &mut [Mark]) {
    made_of(with, marks);
    let as_what = match with {
        Expr::Column(_) => Mark::Parameter,
        _ if reads_columns(with) => Mark::Operand,
        _ => return,
    };
    others.for_each(|other| mark(other, as_what, marks));
}

fn reads_columns(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_) => true,
        Expr::Func(call) => call.args.iter().any(reads_columns),
        Expr::Binary { left, right, .. } => reads_columns(left) || reads_columns(right),
        Expr::Unary { expr, .. } | Expr::Cast { expr, .. } | Expr::Extract { expr, .. } => reads_columns(expr),
        _ => false,
    }
}

/// Marks the texts and the coordinates that geometries are made of: whatever they are, the type of what is made is the same.
fn made_of(expr: &Expr, marks: &mut [Mark]) {
    let Expr::Func(call) = expr else { return };
    let name = call.name.to_ascii_uppercase();
    if name == "POINT" {
        return call.args.iter().for_each(|coordinate| computed_with(coordinate, marks));
    }
    let is_text = name.starts_with("ST_") && (name.ends_with("FROMTEXT") || name.ends_with("FROMTXT"));
    match call.args.first() {
        Some(text @ Expr::Param(_)) if is_text => mark(text, Mark::Own, marks),
        _ => call.args.iter().for_each(|arg| made_of(arg, marks)),
    }
}
