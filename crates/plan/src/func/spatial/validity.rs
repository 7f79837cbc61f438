//! ST_IsValid, ST_Validate and ST_IsSimple, by the rules of `geometry::topology`.

use vaquita_types::geometry::srs::Srs;
use vaquita_types::geometry::topology::{self, Work, geographic};
use vaquita_types::geometry::{Geometry, Shape};
use vaquita_types::{Error, Result, Value};

use super::{EvalCx, FuncCall, FuncDef, any_geometry, arg, boolean, check_finite, check_parameter, value, with_srs};
use crate::func::args::def;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("ST_ISVALID", 1, 1, boolean, |c, cx| Ok(Value::bool(arg!(tested(c, cx, "st_isvalid", topology::is_valid)).1))),
    def("ST_ISSIMPLE", 1, 1, boolean, |c, cx| Ok(Value::bool(arg!(tested(c, cx, "st_issimple", topology::is_simple)).1))),
    def("ST_VALIDATE", 1, 1, any_geometry, |c, cx| match arg!(tested(c, cx, "st_validate", topology::is_valid)) {
        (geometry, true) => value(&geometry, cx),
        (_, false) => Ok(Value::Null),
    }),
];

type Rule = fn(&Shape, f64, &mut Work<'_>) -> Result<bool>;

/// The geometry, and whether the rule holds for it.
fn tested(call: &FuncCall<'_>, cx: &EvalCx<'_>, function: &str, rule: Rule) -> Result<Option<(Geometry, bool)>> {
    let Some((geometry, srs)) = with_srs(call, 0, cx, function)? else { return Ok(None) };
    check_parameter(&geometry.shape, srs, function)?;
    check_finite(&geometry, function)?;
    let holds = holds(&geometry.shape, srs, function, rule, cx)?;
    Ok(Some((geometry, holds)))
}

fn holds(shape: &Shape, srs: &Srs, function: &str, rule: Rule, cx: &EvalCx<'_>) -> Result<bool> {
    let mut go_on = || cx.env.check_interrupt();
    let mut work = Work::new(&mut go_on);
    if !srs.is_geographic() || shape.dimension().is_none_or(|dimension| dimension == 0) {
        return rule(shape, 0.0, &mut work);
    }
    vaquita_types::memory::ask(shape.wkb_bytes())?;
    let too_far = || Error::unsupported(format_args!("{function} of what is on both halves of the earth"));
    let projection = geographic::Projection::of(&[shape]).ok_or_else(too_far)?;
    rule(&projection.project(shape).ok_or_else(too_far)?, geographic::TOLERANCE, &mut work)
}
