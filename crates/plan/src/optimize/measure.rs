//! How many rows of a sample meet the conditions of a table.
//!
//! Statistics know nothing of columns without an index, of texts that begin somehow, or of conditions that hang together. A plan that will take
//! long is worth a look at some rows: the conditions are evaluated for them, each and all together.

use vaquita_types::{Result, Value};

use crate::env::EvalCx;
use crate::expr::{Expr, ExprKind};
use crate::logical::{Source, Tables};
use crate::partition::Fixed;
use crate::visit;

/// Rows that a sample must have to say anything.
const ROWS_MIN: usize = 8;
/// After so many rows each it looks whether that is enough: so many that meet each condition, and so many that meet all. A share is then right
/// by a quarter.
const LOOK_ROWS: usize = 128;
const MET_ENOUGH: usize = 32;
const ALL_MET_ENOUGH: usize = 16;

pub struct Measured {
    /// Hashes of conditions, and the share of rows that meet each.
    shares: Vec<(u64, f64)>,
    /// The share of rows that meet all, by the product of those.
    pub together: f64,
}

impl Measured {
    pub fn share(&self, condition: &Expr) -> Option<f64> {
        let hash = visit::hash(condition);
        self.shares.iter().find(|(other, _)| *other == hash).map(|(_, share)| *share)
    }
}

/// What a sample of a relation says of its own conditions, if any of them can be evaluated now.
pub fn of(tables: &Tables<'_>, relation: usize, conditions: &[&Expr]) -> Result<Option<Measured>> {
    let conditions: Vec<&Expr> = conditions.iter().copied().filter(|condition| is_known(condition)).collect();
    let rel = &tables.relations[relation];
    let Source::Base(table) = &rel.source else { return Ok(None) };
    if conditions.is_empty() || table.indexes.is_empty() || rel.partitions.is_some() {
        return Ok(None);
    }
    let slots = visit::unique(conditions.iter().flat_map(|condition| visit::slots(condition)).collect());
    let Some(columns) = slots.iter().map(|slot| rel.column_of(*slot)).collect::<Option<Vec<usize>>>() else { return Ok(None) };
    if columns.iter().any(|column| !table.columns[*column].is_in_row()) {
        return Ok(None);
    }
    let mut frame = vec![Value::Null; tables.owners.len()];
    let (mut rows, mut all, mut met) = (0usize, 0usize, vec![0usize; conditions.len()]);
    tables.catalog.sample(table, &columns, &mut |values| {
        slots.iter().zip(values).for_each(|(slot, value)| frame[*slot] = value.clone());
        let cx = EvalCx { frame: &frame, outer: None, params: &[], env: &Fixed };
        let mut meets_all = true;
        for (condition, met) in conditions.iter().zip(&mut met) {
            let meets = matches!(condition.eval_bool(&cx), Ok(Some(true)));
            *met += usize::from(meets);
            meets_all &= meets;
        }
        all += usize::from(meets_all);
        rows += 1;
        let is_enough = || all >= ALL_MET_ENOUGH && met.iter().all(|met| *met >= MET_ENOUGH);
        !(rows.is_multiple_of(LOOK_ROWS) && is_enough())
    })?;
    if rows < ROWS_MIN {
        return Ok(None);
    }
    // None in the sample may be some in the table.
    let share = |met: usize| (met as f64).max(0.5) / rows as f64;
    let shares: Vec<(u64, f64)> = conditions.iter().zip(&met).map(|(c, met)| (visit::hash(c), share(*met))).collect();
    let product: f64 = shares.iter().map(|(_, share)| share).product();
    Ok(Some(Measured { shares, together: share(all) / product }))
}

/// It can be evaluated before the statement runs.
fn is_known(condition: &Expr) -> bool {
    !visit::any(condition, &|e| match &e.kind {
        ExprKind::Call(def, _) => {
            def.is_stored() || !matches!(def.name, "LIKE" | "+" | "-" | "*" | "/" | "NEG" | "SUBSTR" | "SUBSTRING")
        }
        ExprKind::Literal(_) | ExprKind::Slot(_) | ExprKind::And(_) | ExprKind::Or(_) | ExprKind::Not(_) => false,
        ExprKind::IsNull(_) | ExprKind::Compare(..) | ExprKind::InList(..) | ExprKind::Cast(_) => false,
        _ => true,
    })
}
