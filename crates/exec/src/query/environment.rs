//! A running statement as the environment of its expressions: they reach the session through it, and it runs their subqueries.

use std::sync::Arc;

use vaquita_plan::env::{Env, EvalCx, Level, RowsOfSubquery, StoredCall, SubqueryRows, VarScope, give_rows};
use vaquita_plan::expr::{FullTextMatch, Subquery, SubqueryKind};
use vaquita_plan::settings::RunSettings;
use vaquita_types::temporal::TimeZone;
use vaquita_types::{Error, Result, Value};

use super::collect_some;
use super::members::Members;
use crate::context::{Execution, forward_to_session};
use crate::full_text;
use crate::op::{Builder, SubPlan};

impl Env for Execution<'_> {
    forward_to_session!();

    fn warn(&self, level: Level, error: Error) {
        Execution::warn(self, level, error);
    }

    fn check_interrupt(&self) -> Result<()> {
        self.interrupt.check()
    }

    fn stored_function(&self, call: &StoredCall<'_>) -> Result<Value> {
        self.functions.call(call, self)
    }

    fn seeded_random(&self, site: usize, seed: u32) -> f64 {
        self.seeded_number(site, seed)
    }

    fn subquery(&self, subquery: &Subquery, cx: &EvalCx<'_>) -> Result<SubqueryRows> {
        if !subquery.correlated
            && let Some(rows) = self.subqueries.borrow().get(&subquery.id)
        {
            return Ok(rows.clone());
        }
        let rows_max = match subquery.kind {
            SubqueryKind::Exists { .. } => 1,
            // A second row is error 1242.
            SubqueryKind::Scalar | SubqueryKind::Column(_) | SubqueryKind::Row { .. } => 2,
            SubqueryKind::In { .. } | SubqueryKind::Quantified { .. } => usize::MAX,
        };
        self.check_whole()?;
        let plan = subquery.plan().ok_or_else(|| Error::internal("a subquery without a plan"))?;
        let rows = Arc::new(collect_some(plan, self, Some(cx), rows_max)?);
        if !subquery.correlated {
            self.subqueries.borrow_mut().insert(subquery.id, rows.clone());
        }
        Ok(rows)
    }

    /// Those of a row outside are made one by one.
    fn each_row(&self, subquery: &Subquery, cx: &EvalCx<'_>, f: &mut dyn FnMut(&[Value]) -> Result<bool>) -> Result<()> {
        if !subquery.correlated {
            return give_rows(&self.subquery(subquery, cx)?, f);
        }
        let plan = subquery.plan().ok_or_else(|| Error::internal("a subquery without a plan"))?;
        let mut source = SubPlan::new(plan, Builder::of(self));
        source.open(self, Some(cx))?;
        let mut row = Vec::with_capacity(plan.output.len());
        while source.next(self, Some(cx), &mut row)? {
            self.interrupt.check_in_turn()?;
            if !f(&row)? {
                break;
            }
            row.clear();
        }
        Ok(())
    }

    fn rows_of_subquery(&self, subquery: &Subquery, cx: &EvalCx<'_>) -> Result<Option<Arc<dyn RowsOfSubquery>>> {
        if subquery.correlated {
            return Ok(None);
        }
        if let Some(members) = self.members.borrow().get(&subquery.id) {
            return Ok(members.clone());
        }
        self.check_whole()?;
        let members = Members::of(subquery, self, cx)?.map(|members| Arc::new(members) as Arc<dyn RowsOfSubquery>);
        self.members.borrow_mut().insert(subquery.id, members.clone());
        Ok(members)
    }

    fn full_text_rank(&self, search: &FullTextMatch, key: &[u8], cx: &EvalCx<'_>) -> Result<f32> {
        full_text::rank(self, search, key, cx)
    }
}
