//! Frames of windows: `ROWS 1 PRECEDING`, `RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW`.
//!
//! RANGE with a distance wants one ORDER BY key: a number, from which the distance is a number, or a date or time, from which it is an INTERVAL.
//! A bound by INTERVAL becomes the date itself, `key - INTERVAL 1 DAY`.

use vaquita_parser as ast;
use vaquita_types::{Error, Result, TypeKind, errno};

use super::Binder;
use super::literal::word;
use crate::expr::{Expr, ExprKind, SubqueryState};
use crate::func::TIME_FROM_TODAY;
use crate::node::{FrameBound, SortKey, WindowFrame};
use crate::{typing, visit};

impl Binder<'_> {
    pub(super) fn window_frame(&mut self, frame: &ast::WindowFrame, name: &str, order_by: &[SortKey]) -> Result<WindowFrame> {
        if frame.exclude.is_some() {
            return Err(Error::unsupported("EXCLUDE"));
        }
        let rows = match frame.unit {
            ast::FrameUnit::Rows => true,
            ast::FrameUnit::Range => false,
            ast::FrameUnit::Groups => return Err(Error::unsupported("GROUPS")),
        };
        if matches!(frame.start, ast::FrameBound::UnboundedFollowing) {
            return Err(Error::new(&errno::ER_WINDOW_FRAME_START_ILLEGAL, &[&name]));
        }
        let end = frame.end.as_ref().unwrap_or(&ast::FrameBound::CurrentRow);
        if matches!(end, ast::FrameBound::UnboundedPreceding) {
            return Err(Error::new(&errno::ER_WINDOW_FRAME_END_ILLEGAL, &[&name]));
        }
        let distances: Vec<Distance> = [&frame.start, end].into_iter().filter_map(Distance::of).collect();
        match rows {
            true => check_rows(&distances, name)?,
            false => check_range(&distances, order_by, name)?,
        }
        let (start, end) = (self.frame_bound(&frame.start, order_by, name)?, self.frame_bound(end, order_by, name)?);
        let backwards = matches!(
            (&start, &end),
            (FrameBound::Following(_), FrameBound::Preceding(_) | FrameBound::CurrentRow)
                | (FrameBound::CurrentRow, FrameBound::Preceding(_))
        );
        if backwards {
            return Err(Error::new(&errno::ER_WINDOW_FRAME_ILLEGAL, &[&name]));
        }
        Ok(WindowFrame { rows, start, end })
    }

    fn frame_bound(&mut self, bound: &ast::FrameBound, order_by: &[SortKey], name: &str) -> Result<FrameBound> {
        Ok(match bound {
            ast::FrameBound::UnboundedPreceding => FrameBound::UnboundedPreceding,
            ast::FrameBound::UnboundedFollowing => FrameBound::UnboundedFollowing,
            ast::FrameBound::CurrentRow => FrameBound::CurrentRow,
            ast::FrameBound::Preceding(e) => FrameBound::Preceding(self.scalar(e)?),
            ast::FrameBound::Following(e) => FrameBound::Following(self.scalar(e)?),
            ast::FrameBound::PrecedingInterval(by, unit) => {
                FrameBound::Preceding(self.interval_bound(by, *unit, order_by, name, true)?)
            }
            ast::FrameBound::FollowingInterval(by, unit) => {
                FrameBound::Following(self.interval_bound(by, *unit, order_by, name, false)?)
            }
        })
    }

    /// The date or time that lies an interval before (in descending order: after) the row's own.
    fn interval_bound(
        &mut self,
        by: &ast::Expr,
        unit: ast::IntervalUnit,
        order_by: &[SortKey],
        name: &str,
        preceding: bool,
    ) -> Result<Expr> {
        let [key] = order_by else { return Err(Error::new(&errno::ER_WINDOW_RANGE_FRAME_ORDER_TYPE, &[&name])) };
        let by = self.scalar(by)?;
        if !is_fixed(&by) {
            return Err(Error::new(&errno::ER_WINDOW_RANGE_BOUND_NOT_CONSTANT, &[&name]));
        }
        if !visit::has_subquery(&by) {
            let check = self.call("FRAME INTERVAL", vec![by.clone(), Self::unit(unit), word(name)])?;
            self.early.push(check);
        }
        let args = vec![key.expr.clone(), by, Self::unit(unit)];
        let bound = self.call(if preceding != key.descending { "DATE_SUB" } else { "DATE_ADD" }, args)?;
        // With days in the interval a time becomes a moment of today, but it is compared with times.
        let is_of_today = key.expr.ty.kind == TypeKind::Time && bound.ty.kind != TypeKind::Time;
        if is_of_today { typing::call(&TIME_FROM_TODAY, vec![bound]) } else { Ok(bound) }
    }
}

/// How far a bound is from the row.
#[derive(PartialEq)]
enum Distance {
    Number,
    Interval,
}

impl Distance {
    fn of(bound: &ast::FrameBound) -> Option<Distance> {
        match bound {
            ast::FrameBound::Preceding(_) | ast::FrameBound::Following(_) => Some(Distance::Number),
            ast::FrameBound::PrecedingInterval(..) | ast::FrameBound::FollowingInterval(..) => Some(Distance::Interval),
            ast::FrameBound::UnboundedPreceding | ast::FrameBound::UnboundedFollowing | ast::FrameBound::CurrentRow => None,
        }
    }
}

/// Error 3596.
fn check_rows(distances: &[Distance], name: &str) -> Result<()> {
    match distances.contains(&Distance::Interval) {
        true => Err(Error::new(&errno::ER_WINDOW_ROWS_INTERVAL_USE, &[&name])),
        false => Ok(()),
    }
}

/// Error 3586 for a literal that is no number of rows. Of a window that no function uses MySQL does not ask that.
pub(super) fn check_whole(frame: &WindowFrame, name: &str) -> Result<()> {
    let is_whole = |bound: &FrameBound| match bound {
        FrameBound::Preceding(expr) | FrameBound::Following(expr) => {
            !matches!(expr.kind, ExprKind::Literal(_)) || expr.ty.is_integer()
        }
        _ => true,
    };
    match !frame.rows || is_whole(&frame.start) && is_whole(&frame.end) {
        true => Ok(()),
        false => Err(Error::new(&errno::ER_WINDOW_FRAME_ILLEGAL, &[&name])),
    }
}

/// Errors 3587, 3588 and 3589.
fn check_range(distances: &[Distance], order_by: &[SortKey], name: &str) -> Result<()> {
    if distances.is_empty() {
        return Ok(());
    }
    let ty = match order_by {
        [key] => &key.expr.ty,
        _ => return Err(Error::new(&errno::ER_WINDOW_RANGE_FRAME_ORDER_TYPE, &[&name])),
    };
    let is_number = ty.is_integer()
        || matches!(ty.kind, TypeKind::Decimal | TypeKind::Float | TypeKind::Double | TypeKind::Year | TypeKind::Bit);
    if !is_number && !ty.is_temporal() {
        return Err(Error::new(&errno::ER_WINDOW_RANGE_FRAME_ORDER_TYPE, &[&name]));
    }
    for distance in distances {
        match (distance, is_number) {
            (Distance::Number, false) => return Err(Error::new(&errno::ER_WINDOW_RANGE_FRAME_TEMPORAL_TYPE, &[&name])),
            (Distance::Interval, true) => return Err(Error::new(&errno::ER_WINDOW_RANGE_FRAME_NUMERIC_TYPE, &[&name])),
            _ => {}
        }
    }
    Ok(())
}

/// It has one value throughout the statement.
fn is_fixed(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Slot(_) | ExprKind::Outer { .. } => return false,
        ExprKind::Call(def, _) if !def.is_steady() => return false,
        ExprKind::Subquery(sub) => {
            return !sub.correlated && matches!(&sub.query, SubqueryState::Bound(bound) if bound.of_no_table);
        }
        _ => {}
    }
    let mut fixed = true;
    visit::children(expr, &mut |child| fixed &= is_fixed(child));
    fixed
}
