//! `SubPlan`: a nested query plan whose rows an operator pulls one by one.
//!
//! It has a frame of its own; the slots rest here between rows, and the containing block's frame is
//! `outer` while it runs.

use vaquita_plan::env::EvalCx;
use vaquita_plan::eval::print::name_columns;
use vaquita_plan::expr::ExprKind;
use vaquita_plan::node::QueryPlan;
use vaquita_types::{Result, Value, stack};

use super::slots::refills;
use super::{Builder, Frame, Operator};
use crate::context::Execution;

pub struct SubPlan<'p> {
    pub plan: &'p QueryPlan,
    root: Box<dyn Operator + 'p>,
    slots: Vec<Value>,
    /// Output columns that can be moved out of their slots.
    takes: Vec<bool>,
}

impl<'p> SubPlan<'p> {
    pub fn new(plan: &'p QueryPlan, builder: Builder<'_>) -> SubPlan<'p> {
        stack::deeper(|| SubPlan::build(plan, builder.once()))
    }

    fn build(plan: &'p QueryPlan, builder: Builder<'_>) -> SubPlan<'p> {
        let mut used = vec![0usize; plan.frame_width];
        let plain = plan.output.iter().all(|o| match &o.expr.kind {
            ExprKind::Slot(slot) => {
                if let Some(uses) = used.get_mut(*slot) {
                    *uses += 1;
                }
                true
            }
            ExprKind::Literal(_) | ExprKind::Param(_) | ExprKind::Outer { .. } => true,
            _ => false,
        });
        let movable = plain && refills(&plan.root);
        let takes = plan
            .output
            .iter()
            .map(|o| movable && matches!(o.expr.kind, ExprKind::Slot(slot) if used.get(slot) == Some(&1)))
            .collect();
        SubPlan { plan, root: builder.build(&plan.root), slots: vec![Value::Null; plan.frame_width], takes }
    }

    pub fn open(&mut self, statement: &Execution<'_>, outer: Option<&EvalCx<'_>>) -> Result<()> {
        let mut frame = Frame { statement, outer, slots: std::mem::take(&mut self.slots) };
        let opened = stack::deeper(|| self.root.open(&mut frame));
        self.slots = frame.slots;
        opened.map_err(|e| name_columns(e, &self.plan.root))
    }

    /// Appends the next row's output to `row`; false when there is none.
    pub fn next(&mut self, statement: &Execution<'_>, outer: Option<&EvalCx<'_>>, row: &mut Vec<Value>) -> Result<bool> {
        let mut frame = Frame { statement, outer, slots: std::mem::take(&mut self.slots) };
        let found = stack::deeper(|| self.root.next(&mut frame)).and_then(|found| {
            if found {
                output(self.plan, &self.takes, &mut frame, row)?;
            }
            Ok(found)
        });
        self.slots = frame.slots;
        found.map_err(|e| name_columns(e, &self.plan.root))
    }
}

fn output(plan: &QueryPlan, takes: &[bool], frame: &mut Frame<'_>, row: &mut Vec<Value>) -> Result<()> {
    for (column, takes) in plan.output.iter().zip(takes) {
        let value = match (&column.expr.kind, takes) {
            (ExprKind::Slot(slot), true) => frame.slots.get_mut(*slot).map(std::mem::take).unwrap_or_default(),
            _ => column.expr.eval(&frame.cx())?.into_owned(),
        };
        row.push(value);
    }
    Ok(())
}
