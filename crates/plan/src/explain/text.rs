//! Expressions as EXPLAIN prints them: `(t1.a = 5)`, with columns named by their tables.

use std::collections::HashMap;
use std::fmt::Write;

use vaquita_types::Value;

use crate::eval::coerce::text_of;
use crate::eval::print::mode_text;
use crate::expr::{Expr, ExprKind, Slot, SubqueryKind};
use crate::function::FuncDef;
use crate::node::{Aggregate, Node, QueryPlan, WindowFunction};
use crate::visit;

/// Names of the slots of a frame and of the frames around it, innermost last.
#[derive(Default)]
pub struct Names {
    frames: Vec<HashMap<Slot, String>>,
}

impl Names {
    /// Those of one frame.
    pub fn of(frame: HashMap<Slot, String>) -> Names {
        Names { frames: vec![frame] }
    }

    /// Enters the frame that `root` fills.
    pub fn enter(&mut self, root: &Node) {
        let mut names = HashMap::new();
        collect(root, &mut names);
        self.frames.push(names);
    }

    pub fn leave(&mut self) {
        self.frames.pop();
    }

    fn name(&self, depth: usize, slot: Slot) -> String {
        let frame = self.frames.len().checked_sub(depth + 1).and_then(|at| self.frames.get(at));
        frame.and_then(|f| f.get(&slot)).cloned().unwrap_or_else(|| format!("#{slot}"))
    }

    pub fn list(&self, exprs: &[Expr]) -> String {
        exprs.iter().map(|e| self.print(e)).collect::<Vec<_>>().join(", ")
    }

    /// Conditions joined by `and`.
    pub fn conjunction(&self, exprs: &[Expr]) -> String {
        match exprs {
            [one] => self.print(one),
            _ => format!("({})", exprs.iter().map(|e| self.print(e)).collect::<Vec<_>>().join(" and ")),
        }
    }

    pub fn print(&self, expr: &Expr) -> String {
        let joined =
            |parts: &[Expr], word: &str| format!("({})", parts.iter().map(|p| self.print(p)).collect::<Vec<_>>().join(word));
        match &expr.kind {
            ExprKind::Literal(value) => literal(value, expr),
            ExprKind::Param(_) => "?".to_string(),
            ExprKind::Slot(slot) => self.name(0, *slot),
            ExprKind::Outer { depth, slot } => self.name(*depth, *slot),
            ExprKind::UserVar(name) => format!("@{name}"),
            ExprKind::AssignVar(name, value) => format!("(@{name}:={})", self.print(value)),
            ExprKind::SysVar(_, name) => format!("@@{name}"),
            ExprKind::And(parts) => joined(parts, " and "),
            ExprKind::Or(parts) => joined(parts, " or "),
            ExprKind::Not(inner) => match &inner.kind {
                ExprKind::IsNull(inner) => format!("({} is not null)", self.print(inner)),
                _ => format!("(not({}))", self.print(inner)),
            },
            ExprKind::IsNull(inner) => format!("({} is null)", self.print(inner)),
            ExprKind::Compare(op, a, b, _) => format!("({} {} {})", self.print(a), op.token(), self.print(b)),
            ExprKind::InList(value, list, _) => {
                format!("({} in ({}))", self.print(value), list.iter().map(|e| self.print(e)).collect::<Vec<_>>().join(","))
            }
            ExprKind::Case { operand, whens, otherwise } => {
                let mut out = "(case".to_string();
                if let Some(operand) = operand {
                    let _ = write!(out, " {}", self.print(&operand.0));
                }
                for (when, then) in whens {
                    let _ = write!(out, " when {} then {}", self.print(when), self.print(then));
                }
                if let Some(otherwise) = otherwise {
                    let _ = write!(out, " else {}", self.print(otherwise));
                }
                out + " end)"
            }
            ExprKind::Cast(inner) => format!("cast({} as {:?})", self.print(inner), expr.ty.kind).to_lowercase(),
            ExprKind::Call(def, args) if def.name == FuncDef::BETWEEN_ONCE => joined(args, " and "),
            ExprKind::Call(def, args) => match def.stored_call(args) {
                Some((name, given)) => format!("{name}({})", given.iter().map(|e| self.print(e)).collect::<Vec<_>>().join(",")),
                None => self.call(def.name, args),
            },
            ExprKind::Row(parts) => joined(parts, ","),
            ExprKind::Match(search) => {
                let mode = mode_text(search.mode);
                format!("(match {} against ({}{mode}))", search.columns.join(","), self.print(uncast(&search.against)))
            }
            ExprKind::Subquery(sub) => match &sub.kind {
                SubqueryKind::Scalar | SubqueryKind::Column(_) => format!("(select #{})", sub.id),
                SubqueryKind::Exists { negated } => format!("{}exists(select #{})", if *negated { "not " } else { "" }, sub.id),
                SubqueryKind::In { left, negated, .. } => {
                    format!("({} {}in (select #{}))", self.print(left), if *negated { "not " } else { "" }, sub.id)
                }
                SubqueryKind::Row { left, op, .. } => format!("({} {} (select #{}))", self.print(left), op.token(), sub.id),
                SubqueryKind::Quantified { left, op, all, .. } => {
                    format!("({} {} {} (select #{}))", self.print(left), op.token(), if *all { "all" } else { "any" }, sub.id)
                }
            },
        }
    }

    fn call(&self, name: &str, args: &[Expr]) -> String {
        let operator = !name.starts_with(|c: char| c.is_ascii_alphabetic()) || matches!(name, "DIV" | "XOR" | "LIKE" | "REGEXP");
        match args {
            [a, b] if operator => format!("({} {} {})", self.print(a), name.to_lowercase(), self.print(b)),
            [a] if name == "NEG" => format!("-({})", self.print(a)),
            _ => format!("{}({})", name.to_lowercase(), args.iter().map(|e| self.print(e)).collect::<Vec<_>>().join(",")),
        }
    }
}

/// What is searched for, as it was given.
pub fn uncast(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Cast(inner) => inner,
        _ => expr,
    }
}

fn literal(value: &Value, expr: &Expr) -> String {
    match value {
        Value::Null => "NULL".to_string(),
        Value::Bytes(b)
            if std::str::from_utf8(b).is_err() || expr.ty.collation == vaquita_types::charset::CollationId::BINARY =>
        {
            b.iter().fold("0x".to_string(), |mut s, b| {
                let _ = write!(s, "{b:02x}");
                s
            })
        }
        Value::Bytes(_) => format!("'{}'", String::from_utf8_lossy(&text_of(value, &expr.ty))),
        Value::Date(_) => format!("DATE'{}'", String::from_utf8_lossy(&text_of(value, &expr.ty))),
        Value::DateTime(_) => format!("TIMESTAMP'{}'", String::from_utf8_lossy(&text_of(value, &expr.ty))),
        Value::Time(_) => format!("TIME'{}'", String::from_utf8_lossy(&text_of(value, &expr.ty))),
        _ => String::from_utf8_lossy(&text_of(value, &expr.ty)).into_owned(),
    }
}

fn collect(node: &Node, names: &mut HashMap<Slot, String>) {
    match node {
        Node::Scan(scan) => {
            let computed = scan.computed.iter().map(|column| (&column.position, &column.slot));
            for (column, slot) in scan.columns.iter().map(|(column, slot)| (column, slot)).chain(computed) {
                if let Some(def) = scan.table.columns.get(*column) {
                    let name = match &def.generated {
                        Some(generated) if generated.hidden => generated.expr.replace('`', ""),
                        _ => format!("{}.{}", scan.alias, def.name),
                    };
                    names.insert(*slot, name);
                }
            }
        }
        Node::Derived { plan, slots, .. } => outputs(plan, slots, names),
        Node::RecursiveCte { seed, slots, .. } => outputs(seed, slots, names),
        Node::SetOp { inputs, slots, .. } => {
            if let Some(first) = inputs.first() {
                outputs(first, slots, names);
            }
        }
        Node::Aggregate { input, keys, aggregates, .. } => {
            collect(input, names);
            let inner = Names::of(names.clone());
            for (key, slot) in keys {
                names.insert(*slot, inner.print(key));
            }
            names.extend(aggregates.iter().map(|a| (a.slot, aggregate_name(a, &inner))));
            return;
        }
        Node::RowCount { slot, .. } => {
            names.insert(*slot, "count(*)".to_string());
        }
        Node::Compute { values, input } => {
            collect(input, names);
            let inner = Names::of(names.clone());
            names.extend(values.iter().map(|(value, slot)| (*slot, inner.print(value))));
            return;
        }
        Node::Window { windows, input, .. } => {
            collect(input, names);
            let inner = Names::of(names.clone());
            names.extend(windows.iter().map(|w| (w.slot, window_name(w, &inner))));
            return;
        }
        _ => {}
    }
    visit::inputs(node, &mut |input| collect(input, names));
}

/// `count(distinct t.a)`.
pub fn aggregate_name(aggregate: &Aggregate, names: &Names) -> String {
    let name = format!("{:?}", aggregate.kind).to_lowercase();
    let args = if aggregate.args.is_empty() { "*".to_string() } else { names.list(&aggregate.args) };
    let name = name.strip_suffix("star").unwrap_or(&name);
    format!("{name}({}{args})", if aggregate.distinct { "distinct " } else { "" })
}

pub fn window_name(window: &WindowFunction, names: &Names) -> String {
    format!("{}({}) OVER ()", window.name.to_lowercase(), names.list(&window.args))
}

fn outputs(plan: &QueryPlan, slots: &[Slot], names: &mut HashMap<Slot, String>) {
    for (output, slot) in plan.output.iter().zip(slots) {
        names.insert(*slot, output.name.clone());
    }
}
