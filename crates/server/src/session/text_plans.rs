//! The plan cache of COM_QUERY: statements that differ in literals only share a plan, as if they had been prepared.
//!
//! 1. One pass of the lexer takes the literals out (`vaquita_parser::digest`); its hash is the key. Nothing is parsed.
//! 2. When a hash comes the second time, the statement is parsed with `?` for those literals that are compared with a column in WHERE. Planned,
//!    it must show that each is of its column's kind: an integer with an integer, a string with a string. The same for values that UPDATE
//!    gives to columns. The other literals, such as the 1 of `k = k + 1`, stay as they are and must be the same the next time.
//! 3. From then on the literals become the parameters' values.
//!
//! Whatever does not fit runs the ordinary way, and that decides errors and warnings: only plain SELECT, UPDATE and DELETE come here at all.
//! A plan is made again after a second, since tables grow, and whenever a prepared statement's would be.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use vaquita_parser::ast::{BinaryOp, Expr, Query, QueryBody, UnaryOp};
use vaquita_parser::digest::{Digest, DigestLiteral, LiteralKind, digest_into};
use vaquita_parser::{ParserOptions, Statement as Ast, parse_prepared_noting};
use vaquita_plan::params::parameter_types;
use vaquita_types::charset::charset;
use vaquita_types::{ColumnType, TypeKind, Value};

use super::prepared::CachedPlan;
use super::query::parser_options;
use super::run::Planned;
use super::{Flow, MakeWaiter, Session};
use crate::connection::Output;

/// Longer statements spend their time elsewhere.
const TEXT_BYTES_MAX: usize = 4 << 10;
/// Statements of a session; when there are more, it begins anew.
const STATEMENTS_MAX: usize = 48;
const PLAN_AGE_MAX: Duration = Duration::from_secs(1);

#[derive(Default)]
pub struct TextPlans {
    known: HashMap<u128, Known>,
    digest: Digest,
    values: Vec<Value>,
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
    plan: Option<Arc<CachedPlan>>,
    planned: Instant,
}

#[derive(Clone, PartialEq)]
enum Use {
    Parameter,
    Fixed(Box<[u8]>),
}

impl Session {
    /// Runs a statement whose plan is known, or that can be planned for others like it. `None`: nothing has happened.
    pub(super) fn run_known(&mut self, sql: &[u8], out: &mut Output<'_>, park: MakeWaiter<'_>) -> Option<Flow> {
        if sql.len() > TEXT_BYTES_MAX || !may_fit(sql) {
            return None;
        }
        let mut plans = std::mem::take(&mut self.text_plans);
        let fit = self.find(&mut plans, sql);
        let flow = fit.map(|(ast, plan)| {
            self.server.counters.statement(self.client.id, &ast);
            match self.authorize(&ast) {
                Ok(()) => {
                    let planned = Planned { plan: &plan.plan, ast: Some(&ast), params: &plans.values, binary: false };
                    self.run_plan(planned, &[], out, park)
                }
                Err(error) => {
                    self.error(&error, out);
                    Flow::Next
                }
            }
        });
        self.text_plans = plans;
        flow
    }

    fn find(&mut self, plans: &mut TextPlans, sql: &[u8]) -> Option<(Arc<Ast>, Arc<CachedPlan>)> {
        let options = parser_options(self.state.sql_mode_bits());
        let TextPlans { known, digest, values } = plans;
        if !digest_into(sql, &options, digest) || digest.len != sql.len() {
            return None;
        }
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
            let fit = self.make_fit(sql, &digest.literals, &options);
            *entry = fit.map_or(Known::Unfit, |fit| Known::Fit(Box::new(fit)));
        }
        let Known::Fit(fit) = entry else { return None };
        fit.bind(sql, &digest.literals, values)?;
        let plan = match &fit.plan {
            Some(plan) if self.is_current(plan) && fit.planned.elapsed() < PLAN_AGE_MAX => Arc::clone(plan),
            _ => {
                let plan = self.quiet_plan(&fit.ast).filter(|plan| fit.suits(plan, &digest.literals));
                let Some(plan) = plan else {
                    // DDL has changed the columns.
                    *entry = Known::Once;
                    return None;
                };
                fit.planned = Instant::now();
                Arc::clone(fit.plan.insert(Arc::new(plan)))
            }
        };
        Some((Arc::clone(&fit.ast), plan))
    }

    fn make_fit(&mut self, sql: &[u8], literals: &[DigestLiteral], options: &ParserOptions) -> Option<Fit> {
        // The types of variables are their values'.
        if sql.contains(&b'@') || !charset(self.state.connection_collation()).is_ascii_compatible() {
            return None;
        }
        let (ast, _) = parse_with_parameters(sql, literals, &vec![true; literals.len()], options)?;
        let mut marked = vec![false; literals.len()];
        mark_parameters(&ast, &mut marked)?;
        let (ast, parameters) = parse_with_parameters(sql, literals, &marked, options)?;
        let plan = self.quiet_plan(&ast)?;
        let uses = literals.iter().enumerate().map(|(n, literal)| match parameters.binary_search(&n) {
            Ok(_) => Use::Parameter,
            Err(_) => Use::Fixed(text_of(sql, literal).into()),
        });
        let mut fit = Fit { ast: Arc::new(ast), literals: uses.collect(), plan: None, planned: Instant::now() };
        if !fit.suits(&plan, literals) {
            return None;
        }
        fit.plan = Some(Arc::new(plan));
        Some(fit)
    }

    /// A plan that was made without a word.
    fn quiet_plan(&mut self, ast: &Ast) -> Option<CachedPlan> {
        let plan = self.authorize(ast).and_then(|()| self.fresh_plan(ast)).ok();
        if self.state.warnings_u16() > 0 {
            self.state.begin_statement();
            return None;
        }
        plan
    }
}

impl Fit {
    /// Whether each parameter is of the kind of what it is compared with.
    fn suits(&self, plan: &CachedPlan, literals: &[DigestLiteral]) -> bool {
        let parameters = literals.iter().zip(&self.literals).filter(|(_, known)| **known == Use::Parameter);
        let kinds: Vec<LiteralKind> = parameters.map(|(literal, _)| literal.kind).collect();
        let types = parameter_types(&plan.plan, kinds.len());
        kinds.iter().zip(types).all(|(kind, ty)| ty.is_some_and(|ty| is_of_kind(*kind, &ty)))
    }

    /// The parameters' values; `None` if a literal is another than the plan has, or needs the parser.
    fn bind(&self, sql: &[u8], literals: &[DigestLiteral], values: &mut Vec<Value>) -> Option<()> {
        values.clear();
        for (known, literal) in self.literals.iter().zip(literals) {
            let text = text_of(sql, literal);
            match known {
                Use::Fixed(fixed) if **fixed == *text => {}
                Use::Fixed(_) => return None,
                Use::Parameter => values.push(value_of(literal.kind, text)?),
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

fn is_of_kind(kind: LiteralKind, ty: &ColumnType) -> bool {
    match kind {
        LiteralKind::Int => ty.is_integer(),
        LiteralKind::String => matches!(ty.kind, TypeKind::Char | TypeKind::VarChar),
        _ => false,
    }
}

/// Parses the statement with `?` for the literals that are `taken`; also which literal each `?` is.
fn parse_with_parameters(
    sql: &[u8],
    literals: &[DigestLiteral],
    taken: &[bool],
    options: &ParserOptions,
) -> Option<(Ast, Vec<usize>)> {
    let mut text = Vec::with_capacity(sql.len());
    let (mut parameters, mut at) = (Vec::new(), 0);
    for (n, literal) in literals.iter().enumerate().filter(|(n, _)| taken.get(*n) == Some(&true)) {
        text.extend_from_slice(sql.get(at..literal.start as usize)?);
        text.push(b'?');
        at = literal.end as usize;
        parameters.push(n);
    }
    text.extend_from_slice(sql.get(at..)?);
    let mut deprecated = Vec::new();
    let (ast, count) = parse_prepared_noting(&text, options, &mut deprecated).ok()?;
    (count == parameters.len() && deprecated.is_empty()).then_some((ast, parameters))
}

/// Marks the parameters that are compared with a column or become one's value. `None`: the statement is not simple enough.
fn mark_parameters(ast: &Ast, marked: &mut [bool]) -> Option<()> {
    let filter = match ast {
        Ast::Query(query) => match &**query {
            Query { with: None, body: QueryBody::Select(select), into: None, .. } if select.hints.is_empty() => &select.filter,
            _ => return None,
        },
        Ast::Update(update) if update.with.is_none() && update.hints.is_empty() => {
            update.assignments.iter().for_each(|assignment| mark(&assignment.value, marked));
            &update.filter
        }
        Ast::Delete(delete) if delete.with.is_none() && delete.hints.is_empty() => &delete.filter,
        _ => return None,
    };
    if let Some(filter) = filter {
        compared_with_columns(filter, marked);
    }
    Some(())
}

fn mark(expr: &Expr, marked: &mut [bool]) {
    if let Expr::Param(n) = expr
        && let Some(place) = marked.get_mut(*n)
    {
        *place = true;
    }
}

fn compared_with_columns(filter: &Expr, marked: &mut [bool]) {
    use BinaryOp as B;
    match filter {
        Expr::Binary { op: B::And | B::Or, left, right } => {
            compared_with_columns(left, marked);
            compared_with_columns(right, marked);
        }
        Expr::Unary { op: UnaryOp::Not, expr } => compared_with_columns(expr, marked),
        Expr::Binary { op: B::Eq | B::Ne | B::Lt | B::Le | B::Gt | B::Ge, left, right } => match (&**left, &**right) {
            (Expr::Column(_), other) | (other, Expr::Column(_)) => mark(other, marked),
            _ => {}
        },
        Expr::Between { expr, low, high, .. } if matches!(**expr, Expr::Column(_)) => {
            mark(low, marked);
            mark(high, marked);
        }
        Expr::InList { expr, list, .. } if matches!(**expr, Expr::Column(_)) => list.iter().for_each(|item| mark(item, marked)),
        _ => {}
    }
}
