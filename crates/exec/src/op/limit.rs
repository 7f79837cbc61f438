//! LIMIT.

use vaquita_plan::eval::coerce;
use vaquita_plan::expr::Expr;
use vaquita_plan::node;
use vaquita_types::errno::ER_WRONG_ARGUMENTS;
use vaquita_types::{Error, Result, Value};

use super::{Frame, Operator};

/// The numbers of rows to leave out and to give.
pub fn bounds(limit: &node::Limit, frame: &Frame<'_>) -> Result<(u64, u64)> {
    Ok((number(&limit.offset, 0, frame)?, number(&limit.count, u64::MAX, frame)?))
}

fn number(expr: &Option<Expr>, absent: u64, frame: &Frame<'_>) -> Result<u64> {
    let Some(expr) = expr else { return Ok(absent) };
    let value = expr.eval(&frame.cx())?.into_owned();
    let wrong = || Error::new(&ER_WRONG_ARGUMENTS, &[&"LIMIT"]);
    match &value {
        Value::UInt(n) => Ok(*n),
        // As MySQL: of a parameter or a variable.
        Value::Null => Ok(0),
        other => u64::try_from(coerce::to_int(other, &expr.ty, frame.statement)?).map_err(|_| wrong()),
    }
}

pub struct Limit<'p> {
    input: Box<dyn Operator + 'p>,
    limit: &'p node::Limit,
    skip: u64,
    skipped: u64,
    left: u64,
}

impl<'p> Limit<'p> {
    pub fn over(input: Box<dyn Operator + 'p>, limit: &'p node::Limit) -> Limit<'p> {
        Limit { input, limit, skip: 0, skipped: 0, left: 0 }
    }
}

impl Operator for Limit<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        (self.skip, self.left) = bounds(self.limit, frame)?;
        self.skipped = 0;
        if self.left == 0 {
            return Ok(());
        }
        self.input.open(frame)
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        if self.left == 0 {
            return Ok(false);
        }
        while self.skip > 0 {
            if !self.input.next(frame)? {
                self.left = 0;
                return Ok(false);
            }
            self.skip -= 1;
            self.skipped += 1;
        }
        self.left -= 1;
        self.input.next(frame)
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }
}
