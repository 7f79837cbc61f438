//! The value of an expression for a document.
//!
//! Every expression is a set of nodes or a scalar. A set that stands where a scalar is wanted is its texts, with spaces between them; in
//! a comparison with a scalar one of its texts must compare so, and in a condition there must be one node.

use std::cmp::Ordering;

use super::document::Document;
use super::expr::{Base, Expr, Function, Operator, Step};
use super::path::Path;
use super::scalar::{Scalar, arithmetic};
use super::select::{Found, Walk};
use crate::charset::{CollationId, charset, collation};
use crate::{Error, Result, convert, stack};

/// What an evaluation asks of whoever runs it.
pub trait Host {
    /// An error once the statement shall end.
    fn check(&self) -> Result<()>;
    fn warn(&self, warning: Error);
    fn user_variable(&self, name: &str) -> Scalar;
}

pub struct Evaluation<'a> {
    document: &'a Document<'a>,
    host: &'a dyn Host,
    /// That of the texts.
    collation: CollationId,
}

const DOCUMENT: Found = Found { node: 0, place: 0, size: 0 };

impl<'a> Evaluation<'a> {
    pub fn new(document: &'a Document<'a>, collation: CollationId, host: &'a dyn Host) -> Evaluation<'a> {
        Evaluation { document, host, collation }
    }

    /// The value as a text.
    pub fn text(&self, path: &Path) -> Result<Option<Vec<u8>>> {
        Ok(self.scalar(&path.expr, DOCUMENT)?.text().map(|text| text.into_owned()))
    }

    /// The node that a path selects, if it is the only one.
    pub fn lone_node(&self, path: &Path) -> Result<Option<u32>> {
        let found = self.nodes(&path.expr, DOCUMENT)?;
        Ok(if let [lone] = found.as_slice() { Some(lone.node) } else { None })
    }

    fn nodes(&self, expr: &Expr, context: Found) -> Result<Vec<Found>> {
        stack::deeper(|| self.nodes_here(expr, context))
    }

    fn nodes_here(&self, expr: &Expr, context: Found) -> Result<Vec<Found>> {
        let check = || self.host.check();
        match expr {
            Expr::Union(sets) => {
                let sets = sets.iter().map(|set| self.nodes(set, context)).collect::<Result<Vec<_>>>()?;
                Walk::new(self.document, &check).union(sets)
            }
            Expr::Path(base, steps) => {
                let mut found = match base {
                    Base::Context => vec![context],
                    Base::Document => vec![DOCUMENT],
                    Base::Nodes(inner) => self.nodes(inner, context)?,
                };
                for step in steps {
                    found = match step {
                        Step::To(axis, name) => Walk::new(self.document, &check).step(&found, *axis, name.as_deref())?,
                        Step::Where(condition) => self.filtered(&found, condition, true)?,
                        Step::At(place) => self.filtered(&found, place, false)?,
                    };
                }
                Ok(found)
            }
            _ => Ok(Vec::new()),
        }
    }

    fn filtered(&self, from: &[Found], predicate: &Expr, is_condition: bool) -> Result<Vec<Found>> {
        let warn = |warning| self.host.warn(warning);
        let mut kept: Vec<Found> = Vec::new();
        for found in from {
            self.host.check()?;
            let context = Found { size: from.len() as u32, ..*found };
            let holds = if is_condition {
                self.truth(predicate, context)? == Some(true)
            } else {
                self.scalar(predicate, context)?.integer(&warn) == i64::from(found.place) + 1
            };
            if holds {
                kept.push(Found { node: found.node, place: kept.len() as u32, size: 0 });
            }
        }
        Ok(kept)
    }

    /// The value as a condition; `None` for NULL.
    fn truth(&self, expr: &Expr, context: Found) -> Result<Option<bool>> {
        if expr.is_nodes() {
            // As in MySQL several nodes are none.
            return Ok(Some(self.nodes(expr, context)?.len() == 1));
        }
        Ok(self.scalar(expr, context)?.is_true(&|warning| self.host.warn(warning)))
    }

    fn scalar(&self, expr: &Expr, context: Found) -> Result<Scalar> {
        stack::deeper(|| self.scalar_here(expr, context))
    }

    fn scalar_here(&self, expr: &Expr, context: Found) -> Result<Scalar> {
        let three_valued = |truth: Option<bool>| truth.map_or(Scalar::Null, Scalar::truth);
        Ok(match expr {
            Expr::Int(n) => Scalar::Int(*n),
            Expr::Float(x, decimals) => Scalar::Float(*x, Some(*decimals)),
            Expr::Text(text) => Scalar::Text(text.clone()),
            Expr::UserVariable(name) => self.host.user_variable(name),
            Expr::Any(conditions) => three_valued(self.decided(conditions, context, true)?),
            Expr::All(conditions) => three_valued(self.decided(conditions, context, false)?),
            Expr::Chain(first, rest) => self.chain(first, rest, context)?,
            Expr::Negative(inner) => self.scalar(inner, context)?.negative(&|warning| self.host.warn(warning))?,
            Expr::Call(function, args) => self.call(*function, args, context)?,
            Expr::Union(_) | Expr::Path(..) => Scalar::Text(self.joined_texts(&self.nodes(expr, context)?)?),
        })
    }

    /// Conditions of which one that is `by` decides.
    fn decided(&self, conditions: &[Expr], context: Found, by: bool) -> Result<Option<bool>> {
        let mut result = Some(!by);
        for condition in conditions {
            match self.truth(condition, context)? {
                Some(truth) if truth == by => return Ok(Some(by)),
                Some(_) => {}
                None => result = None,
            }
        }
        Ok(result)
    }

    fn joined_texts(&self, found: &[Found]) -> Result<Vec<u8>> {
        let check = || self.host.check();
        let mut out = Vec::new();
        for (i, n) in Walk::new(self.document, &check).texts(found)?.into_iter().enumerate() {
            if i > 0 {
                out.push(b' ');
            }
            out.extend_from_slice(self.document.node(n).map_or(&[], |node| self.document.name(node)));
        }
        Ok(out)
    }

    fn chain(&self, first: &Expr, rest: &[(Operator, Expr)], context: Found) -> Result<Scalar> {
        let mut value = None;
        for (operator, right) in rest {
            self.host.check()?;
            let left_nodes = if value.is_none() && first.is_nodes() { Some(first) } else { None };
            let result = match operator {
                Operator::Plus | Operator::Minus | Operator::Times | Operator::Div | Operator::Mod => {
                    let left = match value.take() {
                        Some(value) => value,
                        None => self.scalar(first, context)?,
                    };
                    arithmetic(*operator, &left, &self.scalar(right, context)?, &|warning| self.host.warn(warning))?
                }
                _ => match (left_nodes, right.is_nodes()) {
                    (Some(nodes), _) => self.one_compares(*operator, nodes, &self.scalar(right, context)?, false, context)?,
                    (None, is_nodes) => {
                        let left = match value.take() {
                            Some(value) => value,
                            None => self.scalar(first, context)?,
                        };
                        if is_nodes {
                            self.one_compares(*operator, right, &left, true, context)?
                        } else {
                            let order = self.order(&left, &self.scalar(right, context)?);
                            order.map_or(Scalar::Null, |order| Scalar::truth(holds(*operator, order)))
                        }
                    }
                },
            };
            value = Some(result);
        }
        value.map_or_else(|| self.scalar(first, context), Ok)
    }

    /// Whether a text of the nodes compares so with the other side.
    fn one_compares(&self, operator: Operator, nodes: &Expr, other: &Scalar, reversed: bool, context: Found) -> Result<Scalar> {
        let check = || self.host.check();
        let mut walk = Walk::new(self.document, &check);
        for n in walk.texts(&self.nodes(nodes, context)?)? {
            let text = self.document.node(n).map_or(&[][..], |node| self.document.name(node));
            let order = self.order(&Scalar::Text(text.to_vec()), other);
            if order.is_some_and(|order| holds(operator, if reversed { order.reverse() } else { order })) {
                return Ok(Scalar::truth(true));
            }
        }
        Ok(Scalar::truth(false))
    }

    /// Texts are compared as such, everything else as numbers; `None` beside NULL.
    fn order(&self, a: &Scalar, b: &Scalar) -> Option<Ordering> {
        let warn = |warning| self.host.warn(warning);
        match (a, b) {
            (Scalar::Null, _) | (_, Scalar::Null) => None,
            (Scalar::Text(a), Scalar::Text(b)) => Some(collation(self.collation).compare(a, b)),
            (Scalar::Int(a), Scalar::Int(b)) => Some(a.cmp(b)),
            _ => a.double("DOUBLE", &warn).partial_cmp(&b.double("DOUBLE", &warn)),
        }
    }

    fn call(&self, function: Function, args: &[Expr], context: Found) -> Result<Scalar> {
        let warn = |warning| self.host.warn(warning);
        let arg = |n: usize| args.get(n).map_or(Ok(Scalar::Null), |arg| self.scalar(arg, context));
        let round = |number| Ok(arg(0)?.rounded(number, &warn));
        match function {
            Function::True => Ok(Scalar::truth(true)),
            Function::False => Ok(Scalar::truth(false)),
            Function::Last => Ok(Scalar::Int(i64::from(context.size))),
            Function::Position => Ok(Scalar::Int(i64::from(context.place) + 1)),
            Function::Floor => round(f64::floor),
            Function::Ceiling => round(f64::ceil),
            Function::Round => round(f64::round),
            Function::Count | Function::Sum => self.of_nodes(function, args.first(), context),
            Function::Boolean | Function::Not => {
                let truth = args.first().map_or(Ok(None), |arg| self.truth(arg, context))?;
                Ok(match function {
                    Function::Boolean => Scalar::truth(truth == Some(true)),
                    _ => truth.map_or(Scalar::Null, |truth| Scalar::truth(!truth)),
                })
            }
            Function::Number => Ok(Scalar::Float(self.arg_or_context(args, context)?.double("DOUBLE", &warn), None)),
            Function::StringLength => {
                let value = self.arg_or_context(args, context)?;
                let Some(text) = value.text() else { return Ok(Scalar::Null) };
                Ok(Scalar::Int(charset(self.collation).char_count(&text) as i64))
            }
            Function::Contains => {
                let (text, part) = (arg(0)?, arg(1)?);
                let (Some(text), Some(part)) = (text.text(), part.text()) else { return Ok(Scalar::truth(false)) };
                let found = collation(self.collation).find_while(&text, &part, 0, &mut || self.host.check())?;
                Ok(Scalar::truth(found.is_some()))
            }
            Function::Concat => {
                let mut out = Vec::new();
                // MySQL passes over all but the first two.
                for arg in args.iter().take(2) {
                    self.host.check()?;
                    let value = self.scalar(arg, context)?;
                    let Some(text) = value.text() else { return Ok(Scalar::Null) };
                    crate::memory::ask(out.len() + text.len())?;
                    out.extend_from_slice(&text);
                }
                Ok(Scalar::Text(out))
            }
            Function::Substring => {
                let (text, from) = (arg(0)?, arg(1)?);
                let length = if args.len() > 2 { arg(2)? } else { Scalar::Int(i64::MAX) };
                let null = [&from, &length].iter().any(|value| matches!(value, Scalar::Null));
                let Some(text) = text.text().filter(|_| !null) else { return Ok(Scalar::Null) };
                Ok(Scalar::Text(self.substring(&text, from.integer(&warn), length.integer(&warn))))
            }
        }
    }

    fn arg_or_context(&self, args: &[Expr], context: Found) -> Result<Scalar> {
        match args.first() {
            Some(arg) => self.scalar(arg, context),
            None => Ok(Scalar::Text(self.joined_texts(&[context])?)),
        }
    }

    fn of_nodes(&self, function: Function, nodes: Option<&Expr>, context: Found) -> Result<Scalar> {
        let found = nodes.map_or(Ok(Vec::new()), |nodes| self.nodes(nodes, context))?;
        if function == Function::Count {
            // The node of a predicate counts for all that it is one of.
            let count = if let [Found { size: size @ 1.., .. }] = found.as_slice() { *size as usize } else { found.len() };
            return Ok(Scalar::Int(count as i64));
        }
        let check = || self.host.check();
        let mut walk = Walk::new(self.document, &check);
        let (mut sum, mut texts) = (0.0, Vec::new());
        for start in found {
            texts.clear();
            walk.texts_of(start.node, &mut texts)?;
            let names = texts.iter().filter_map(|n| self.document.node(*n)).map(|node| self.document.name(node));
            sum += names.map(|text| convert::bytes_to_f64(text).value).sum::<f64>();
        }
        Ok(Scalar::Float(sum, None))
    }

    /// As SUBSTRING has it: characters from 1, from the end if the place is negative.
    fn substring(&self, text: &[u8], from: i64, length: i64) -> Vec<u8> {
        let charset = charset(self.collation);
        let count = charset.char_count(text) as i64;
        let from = if from < 0 { count.saturating_add(from) } else { from - 1 };
        if from < 0 || from >= count || length <= 0 {
            return Vec::new();
        }
        let rest = text.get(charset.prefix_len(text, from as usize)..).unwrap_or_default();
        rest.get(..charset.prefix_len(rest, length as usize)).unwrap_or(rest).to_vec()
    }
}

fn holds(operator: Operator, order: Ordering) -> bool {
    match operator {
        Operator::Eq => order.is_eq(),
        Operator::Ne => order.is_ne(),
        Operator::Lt => order.is_lt(),
        Operator::Le => order.is_le(),
        Operator::Gt => order.is_gt(),
        _ => order.is_ge(),
    }
}
