//! Window functions and OVER.

use super::{Parser, Result};
use crate::ast::*;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};

impl Parser<'_> {
    /// ROW_NUMBER, RANK, LEAD and the others that must have OVER.
    pub(super) fn window_function(&mut self, kw: Kw) -> Result<Expr> {
        self.bump();
        self.expect_op(Op::LParen)?;
        let func = match kw {
            Kw::ROW_NUMBER => WindowFunc::RowNumber,
            Kw::RANK => WindowFunc::Rank,
            Kw::DENSE_RANK => WindowFunc::DenseRank,
            Kw::PERCENT_RANK => WindowFunc::PercentRank,
            Kw::CUME_DIST => WindowFunc::CumeDist,
            Kw::NTILE => WindowFunc::Ntile(self.number_or_variable()?),
            _ => return self.value_window_function(kw),
        };
        self.expect_op(Op::RParen)?;
        self.over(func)
    }

    fn value_window_function(&mut self, kw: Kw) -> Result<Expr> {
        let expr = self.expr()?;
        let func = match kw {
            Kw::LEAD | Kw::LAG => {
                let offset = if self.eat_op(Op::Comma) { Some(self.number_or_variable()?) } else { None };
                let default = if offset.is_some() && self.eat_op(Op::Comma) { Some(self.expr()?) } else { None };
                self.expect_op(Op::RParen)?;
                let ignore_nulls = self.ignore_nulls()?;
                let args = LeadLag { expr, offset, default, ignore_nulls };
                if kw == Kw::LEAD { WindowFunc::Lead(args) } else { WindowFunc::Lag(args) }
            }
            Kw::NTH_VALUE => {
                self.expect_op(Op::Comma)?;
                let n = self.expr()?;
                self.expect_op(Op::RParen)?;
                let from_last = if self.eat(Kw::FROM) { self.expect_any(&[Kw::FIRST, Kw::LAST])? == Kw::LAST } else { false };
                WindowFunc::NthValue { expr, n, from_last, ignore_nulls: self.ignore_nulls()? }
            }
            _ => {
                self.expect_op(Op::RParen)?;
                let ignore_nulls = self.ignore_nulls()?;
                if kw == Kw::FIRST_VALUE {
                    WindowFunc::FirstValue { expr, ignore_nulls }
                } else {
                    WindowFunc::LastValue { expr, ignore_nulls }
                }
            }
        };
        self.over(func)
    }

    fn ignore_nulls(&mut self) -> Result<bool> {
        match self.eat_any(&[Kw::RESPECT, Kw::IGNORE]) {
            Some(kw) => {
                self.expect(Kw::NULLS)?;
                Ok(kw == Kw::IGNORE)
            }
            None => Ok(false),
        }
    }

    /// An aggregate, which OVER makes a window function.
    pub(super) fn opt_over(&mut self, call: AggregateCall) -> Result<Expr> {
        if self.is(Kw::OVER) {
            return self.over(WindowFunc::Aggregate(call));
        }
        Ok(Expr::Aggregate(call))
    }

    fn over(&mut self, func: WindowFunc) -> Result<Expr> {
        self.expect(Kw::OVER)?;
        let over = if self.is_op(Op::LParen) { WindowOver::Spec(self.window_spec()?) } else { WindowOver::Named(self.ident()?) };
        Ok(Expr::Window(Box::new(WindowCall { func, over })))
    }

    /// `( [base] [PARTITION BY ..] [ORDER BY ..] [frame] )`
    pub(super) fn window_spec(&mut self) -> Result<WindowSpec> {
        self.expect_op(Op::LParen)?;
        let mut spec = WindowSpec::default();
        if self.at_ident() {
            spec.base = Some(self.ident()?);
        }
        if self.eat(Kw::PARTITION) {
            self.expect(Kw::BY)?;
            spec.partition_by = self.expr_list()?;
        }
        if self.is(Kw::ORDER) {
            spec.order_by = self.order_by()?;
        }
        spec.frame = self.window_frame()?;
        self.expect_op(Op::RParen)?;
        Ok(spec)
    }

    fn window_frame(&mut self) -> Result<Option<WindowFrame>> {
        let unit = match self.eat_any(&[Kw::ROWS, Kw::RANGE, Kw::GROUPS]) {
            Some(Kw::ROWS) => FrameUnit::Rows,
            Some(Kw::RANGE) => FrameUnit::Range,
            Some(_) => FrameUnit::Groups,
            None => return Ok(None),
        };
        let both = [Kw::PRECEDING, Kw::FOLLOWING];
        let (start, end) = if self.eat(Kw::BETWEEN) {
            let start = self.frame_bound(&both)?;
            self.expect(Kw::AND)?;
            (start, Some(self.frame_bound(&both)?))
        } else {
            (self.frame_bound(&[Kw::PRECEDING])?, None)
        };
        let exclude = if self.eat(Kw::EXCLUDE) { Some(self.frame_exclude()?) } else { None };
        Ok(Some(WindowFrame { unit, start, end, exclude }))
    }

    fn frame_exclude(&mut self) -> Result<FrameExclude> {
        Ok(match self.expect_any(&[Kw::CURRENT, Kw::GROUP, Kw::TIES, Kw::NO])? {
            Kw::CURRENT => {
                self.expect(Kw::ROW)?;
                FrameExclude::CurrentRow
            }
            Kw::GROUP => FrameExclude::Group,
            Kw::TIES => FrameExclude::Ties,
            _ => {
                self.expect(Kw::OTHERS)?;
                FrameExclude::NoOthers
            }
        })
    }

    /// `sides`: PRECEDING, FOLLOWING or both.
    fn frame_bound(&mut self, sides: &[Kw]) -> Result<FrameBound> {
        if self.eat(Kw::CURRENT) {
            self.expect(Kw::ROW)?;
            return Ok(FrameBound::CurrentRow);
        }
        if self.eat(Kw::UNBOUNDED) {
            return Ok(match self.expect_any(sides)? {
                Kw::PRECEDING => FrameBound::UnboundedPreceding,
                _ => FrameBound::UnboundedFollowing,
            });
        }
        if self.is(Kw::INTERVAL) {
            let (value, unit) = self.interval()?;
            return Ok(match self.expect_any(sides)? {
                Kw::PRECEDING => FrameBound::PrecedingInterval(value, unit),
                _ => FrameBound::FollowingInterval(value, unit),
            });
        }
        let value = match self.kind() {
            Tok::Op(Op::Param) => self.param()?,
            Tok::Int | Tok::Decimal | Tok::Float => match self.opt_literal()? {
                Some(number) => Expr::Literal(number),
                None => return self.fail(),
            },
            _ => return self.fail(),
        };
        Ok(match self.expect_any(sides)? {
            Kw::PRECEDING => FrameBound::Preceding(value),
            _ => FrameBound::Following(value),
        })
    }
}
