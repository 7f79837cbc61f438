//! The results of a window function for the rows of one partition.

use vaquita_plan::env::Env;
use vaquita_plan::eval::cast::integer;
use vaquita_plan::eval::coerce;
use vaquita_plan::node::{AggregateKind, WindowFunction};
use vaquita_types::errno::ER_WRONG_ARGUMENTS;
use vaquita_types::{Error, Result, Value};

use super::frame::{FrameOf, FrameState};
use super::partition::Partition;
use crate::op::aggregate::state::State;

#[derive(Clone, Copy)]
pub enum Kind {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    NthValue,
    Aggregate(AggregateKind),
}

impl Kind {
    pub fn of(window: &WindowFunction) -> Result<Kind> {
        use AggregateKind as A;
        Ok(match window.name.as_str() {
            "ROW_NUMBER" => Kind::RowNumber,
            "RANK" => Kind::Rank,
            "DENSE_RANK" => Kind::DenseRank,
            "PERCENT_RANK" => Kind::PercentRank,
            "CUME_DIST" => Kind::CumeDist,
            "NTILE" => Kind::Ntile,
            "LAG" => Kind::Lag,
            "LEAD" => Kind::Lead,
            "FIRST_VALUE" => Kind::FirstValue,
            "LAST_VALUE" => Kind::LastValue,
            "NTH_VALUE" => Kind::NthValue,
            "COUNT" if window.args.is_empty() => Kind::Aggregate(A::CountStar),
            "COUNT" => Kind::Aggregate(A::Count),
            "SUM" => Kind::Aggregate(A::Sum),
            "AVG" => Kind::Aggregate(A::Avg),
            "MIN" => Kind::Aggregate(A::Min),
            "MAX" => Kind::Aggregate(A::Max),
            "BIT_AND" => Kind::Aggregate(A::BitAnd),
            "BIT_OR" => Kind::Aggregate(A::BitOr),
            "BIT_XOR" => Kind::Aggregate(A::BitXor),
            "STD" | "STDDEV" | "STDDEV_POP" => Kind::Aggregate(A::StdDevPop),
            "STDDEV_SAMP" => Kind::Aggregate(A::StdDevSamp),
            "VARIANCE" | "VAR_POP" => Kind::Aggregate(A::VarPop),
            "VAR_SAMP" => Kind::Aggregate(A::VarSamp),
            "JSON_ARRAYAGG" => Kind::Aggregate(A::JsonArrayAgg),
            "ST_COLLECT" => Kind::Aggregate(A::StCollect),
            "JSON_OBJECTAGG" => Kind::Aggregate(A::JsonObjectAgg),
            other => return Err(Error::unsupported(format_args!("{other} as a window function"))),
        })
    }
}

/// A function with what it needs of the operator.
pub struct Call<'a> {
    pub window: &'a WindowFunction,
    pub kind: Kind,
    pub frame: &'a FrameOf,
}

impl Call<'_> {
    /// Gives the results of the partition's rows, in their order, to `give`.
    pub fn run(
        &self,
        partition: &mut impl Partition,
        env: &dyn Env,
        pulse: &mut dyn FnMut() -> Result<()>,
        give: &mut dyn FnMut(Value) -> Result<()>,
    ) -> Result<()> {
        if let Kind::Aggregate(kind) = self.kind {
            return self.aggregate(kind, partition, env, pulse, give);
        }
        let count = partition.len();
        let mut state = FrameState::default();
        let mut dense = 0i128;
        for i in 0..count {
            pulse()?;
            let value = match self.kind {
                Kind::RowNumber => self.number(i as i128 + 1),
                Kind::Rank => self.number(state.peers(i, partition)?.0 as i128 + 1),
                Kind::DenseRank => {
                    dense += i128::from(state.peers(i, partition)?.0 == i);
                    self.number(dense)
                }
                Kind::PercentRank if count == 1 => Value::Float(0.0),
                Kind::PercentRank => Value::Float(state.peers(i, partition)?.0 as f64 / (count - 1) as f64),
                Kind::CumeDist => Value::Float(state.peers(i, partition)?.1 as f64 / count as f64),
                Kind::Ntile => self.ntile(i, partition, env)?,
                Kind::Lag | Kind::Lead => self.neighbour(i, partition, env)?,
                Kind::FirstValue | Kind::LastValue | Kind::NthValue => self.of_frame(i, &mut state, partition, env)?,
                Kind::Aggregate(_) => Value::Null,
            };
            give(value)?;
        }
        Ok(())
    }

    fn number(&self, n: i128) -> Value {
        integer(n, self.window.ty.unsigned)
    }

    /// The n-th argument as a number; `None` if it is NULL or not given.
    fn count_arg(&self, i: usize, n: usize, partition: &mut impl Partition, env: &dyn Env) -> Result<Option<i128>> {
        match (partition.args(i)?.get(n), self.window.args.get(n)) {
            (None | Some(Value::Null), _) | (_, None) => Ok(None),
            (Some(value), Some(arg)) => coerce::to_int(value, &arg.ty, env).map(Some),
        }
    }

    fn ntile(&self, i: usize, partition: &mut impl Partition, env: &dyn Env) -> Result<Value> {
        let Some(buckets) = self.count_arg(i, 0, partition, env)?.filter(|buckets| *buckets > 0) else {
            return Err(Error::new(&ER_WRONG_ARGUMENTS, &[&"ntile"]));
        };
        let (i, count) = (i as i128, partition.len() as i128);
        let (size, larger) = (count / buckets, count % buckets);
        // The first `larger` buckets have one row more.
        let bucket = if i < larger * (size + 1) { i / (size + 1) } else { larger + (i - larger * (size + 1)) / size.max(1) };
        Ok(self.number(bucket + 1))
    }

    fn neighbour(&self, i: usize, partition: &mut impl Partition, env: &dyn Env) -> Result<Value> {
        let by = if self.window.args.len() > 1 { self.count_arg(i, 1, partition, env)? } else { Some(1) };
        let Some(by) = by.filter(|by| (0..=i128::from(i64::MAX)).contains(by)) else {
            return Err(Error::new(&ER_WRONG_ARGUMENTS, &[&self.window.name.to_lowercase()]));
        };
        let at = if matches!(self.kind, Kind::Lag) { i as i128 - by } else { i as i128 + by };
        let found = usize::try_from(at).ok().filter(|at| *at < partition.len());
        let value = match found {
            Some(other) => partition.args(other)?.first(),
            None if self.window.args.len() > 2 => partition.args(i)?.get(2),
            None => None,
        };
        Ok(value.cloned().unwrap_or_default())
    }

    fn of_frame(&self, i: usize, state: &mut FrameState, partition: &mut impl Partition, env: &dyn Env) -> Result<Value> {
        let (start, end) = self.frame.bounds(i, state, partition)?;
        let at = match self.kind {
            Kind::FirstValue => start,
            Kind::LastValue => end.saturating_sub(1),
            _ => match self.count_arg(i, 1, partition, env)? {
                None => return Ok(Value::Null),
                Some(n) if n > 0 => start.saturating_add(usize::try_from(n - 1).unwrap_or(usize::MAX)),
                _ => return Err(Error::new(&ER_WRONG_ARGUMENTS, &[&"nth_value"])),
            },
        };
        if at < start || at >= end {
            return Ok(Value::Null);
        }
        Ok(partition.args(at)?.first().cloned().unwrap_or_default())
    }

    /// A frame that only grows is added to; any other is added up anew.
    fn aggregate(
        &self,
        kind: AggregateKind,
        partition: &mut impl Partition,
        env: &dyn Env,
        pulse: &mut dyn FnMut() -> Result<()>,
        give: &mut dyn FnMut(Value) -> Result<()>,
    ) -> Result<()> {
        let ty = &self.window.ty;
        let mut state = State::new(kind, ty);
        let mut frame = FrameState::default();
        let mut added = (0, 0);
        let mut result = None;
        for i in 0..partition.len() {
            let (start, end) = self.frame.bounds(i, &mut frame, partition)?;
            if start != added.0 || end < added.1 {
                state = State::new(kind, ty);
                added = (start, start);
                result = None;
            }
            for other in added.1..end {
                pulse()?;
                self.add(&mut state, kind, partition.args(other)?, env)?;
                result = None;
            }
            added.1 = end;
            give(result.get_or_insert_with(|| state.finish(kind, ty)).clone())?;
        }
        Ok(())
    }

    fn add(&self, state: &mut State, kind: AggregateKind, args: &[Value], env: &dyn Env) -> Result<()> {
        let ty = &self.window.ty;
        match (self.window.args.as_slice(), args) {
            ([name, value], [of_name, of_value, ..]) if kind == AggregateKind::JsonObjectAgg => {
                state.add_member(of_name, &name.ty, of_value, &value.ty, env)?
            }
            ([arg, ..], [of_arg, ..]) => state.add(kind, of_arg, &arg.ty, ty, env)?,
            _ => state.add(kind, &Value::Null, ty, ty, env)?,
        };
        Ok(())
    }
}
