//! The results of a window function for the rows of one partition.

use vaquita_plan::env::Env;
use vaquita_plan::eval::cast::integer;
use vaquita_plan::eval::coerce;
use vaquita_plan::node::{AggregateKind, WindowFunction};
use vaquita_types::errno::ER_WRONG_ARGUMENTS;
use vaquita_types::{Error, Result, Value};

use super::frame::FrameOf;
use crate::context::Rows;
use crate::op::aggregate::state::State;
use crate::op::sort::Keys;

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

/// Rows of one partition in window order.
pub struct Partition<'a> {
    pub rows: &'a [u32],
    /// For each row, where its peers begin and end.
    peers: Vec<(u32, u32)>,
}

impl<'a> Partition<'a> {
    pub fn new(rows: &'a [u32], keys: &Keys) -> Partition<'a> {
        let mut peers = Vec::with_capacity(rows.len());
        while let Some(&first) = rows.get(peers.len()) {
            let start = peers.len();
            let count = rows[start..].iter().take_while(|row| keys.key(**row) == keys.key(first)).count();
            peers.resize(start + count, (start as u32, (start + count) as u32));
        }
        Partition { rows, peers }
    }

    pub fn peers(&self, i: usize) -> (usize, usize) {
        let (start, end) = self.peers[i];
        (start as usize, end as usize)
    }
}

/// A function with what it needs of the operator.
pub struct Call<'a> {
    pub window: &'a WindowFunction,
    pub kind: Kind,
    pub frame: &'a FrameOf,
    /// All functions' arguments; this one's begin at `first_arg`.
    pub args: &'a Rows,
    pub first_arg: usize,
}

impl Call<'_> {
    /// Writes the results by row number.
    pub fn run(
        &self,
        partition: &Partition<'_>,
        results: &mut [Value],
        env: &dyn Env,
        pulse: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        if let Kind::Aggregate(kind) = self.kind {
            return self.aggregate(kind, partition, results, env, pulse);
        }
        let count = partition.rows.len();
        let mut dense = 0i128;
        for (i, &row) in partition.rows.iter().enumerate() {
            pulse()?;
            let (peers_start, peers_end) = partition.peers(i);
            dense += i128::from(peers_start == i);
            results[row as usize] = match self.kind {
                Kind::RowNumber => self.number(i as i128 + 1),
                Kind::Rank => self.number(peers_start as i128 + 1),
                Kind::DenseRank => self.number(dense),
                Kind::PercentRank if count == 1 => Value::Float(0.0),
                Kind::PercentRank => Value::Float(peers_start as f64 / (count - 1) as f64),
                Kind::CumeDist => Value::Float(peers_end as f64 / count as f64),
                Kind::Ntile => self.ntile(i, row, count, env)?,
                Kind::Lag | Kind::Lead => self.neighbour(i, partition, env)?,
                Kind::FirstValue | Kind::LastValue | Kind::NthValue => self.of_frame(i, partition, env)?,
                Kind::Aggregate(_) => Value::Null,
            };
        }
        Ok(())
    }

    fn number(&self, n: i128) -> Value {
        integer(n, self.window.ty.unsigned)
    }

    fn arg(&self, row: u32, n: usize) -> &Value {
        self.args.row(row as usize).get(self.first_arg + n).unwrap_or(&Value::Null)
    }

    /// The n-th argument as a number; `None` if it is NULL or not given.
    fn count_arg(&self, row: u32, n: usize, env: &dyn Env) -> Result<Option<i128>> {
        match (self.arg(row, n), self.window.args.get(n)) {
            (Value::Null, _) | (_, None) => Ok(None),
            (value, Some(arg)) => coerce::to_int(value, &arg.ty, env).map(Some),
        }
    }

    fn ntile(&self, i: usize, row: u32, count: usize, env: &dyn Env) -> Result<Value> {
        let Some(buckets) = self.count_arg(row, 0, env)?.filter(|buckets| *buckets > 0) else {
            return Err(Error::new(&ER_WRONG_ARGUMENTS, &[&"ntile"]));
        };
        let (i, count) = (i as i128, count as i128);
        let (size, larger) = (count / buckets, count % buckets);
        // The first `larger` buckets have one row more.
        let bucket = if i < larger * (size + 1) { i / (size + 1) } else { larger + (i - larger * (size + 1)) / size.max(1) };
        Ok(self.number(bucket + 1))
    }

    fn neighbour(&self, i: usize, partition: &Partition<'_>, env: &dyn Env) -> Result<Value> {
        let row = partition.rows[i];
        let by = if self.window.args.len() > 1 { self.count_arg(row, 1, env)? } else { Some(1) };
        let Some(by) = by.filter(|by| (0..=i128::from(i64::MAX)).contains(by)) else {
            return Err(Error::new(&ER_WRONG_ARGUMENTS, &[&self.window.name.to_lowercase()]));
        };
        let at = if matches!(self.kind, Kind::Lag) { i as i128 - by } else { i as i128 + by };
        let found = usize::try_from(at).ok().and_then(|at| partition.rows.get(at));
        Ok(match found {
            Some(other) => self.arg(*other, 0).clone(),
            None if self.window.args.len() > 2 => self.arg(row, 2).clone(),
            None => Value::Null,
        })
    }

    fn of_frame(&self, i: usize, partition: &Partition<'_>, env: &dyn Env) -> Result<Value> {
        let (start, end) = self.frame.bounds(i, partition);
        let at = match self.kind {
            Kind::FirstValue => start,
            Kind::LastValue => end.saturating_sub(1),
            _ => match self.count_arg(partition.rows[i], 1, env)? {
                None => return Ok(Value::Null),
                Some(n) if n > 0 => start.saturating_add(usize::try_from(n - 1).unwrap_or(usize::MAX)),
                _ => return Err(Error::new(&ER_WRONG_ARGUMENTS, &[&"nth_value"])),
            },
        };
        if at < start || at >= end {
            return Ok(Value::Null);
        }
        Ok(partition.rows.get(at).map(|row| self.arg(*row, 0).clone()).unwrap_or_default())
    }

    /// A frame that only grows is added to; any other is added up anew.
    fn aggregate(
        &self,
        kind: AggregateKind,
        partition: &Partition<'_>,
        results: &mut [Value],
        env: &dyn Env,
        pulse: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let ty = &self.window.ty;
        let mut state = State::new(kind, ty);
        let mut added = (0, 0);
        let mut result = None;
        for (i, &row) in partition.rows.iter().enumerate() {
            let (start, end) = self.frame.bounds(i, partition);
            if start != added.0 || end < added.1 {
                state = State::new(kind, ty);
                added = (start, start);
                result = None;
            }
            for other in &partition.rows[added.1..end] {
                pulse()?;
                self.add(&mut state, kind, *other, env)?;
                result = None;
            }
            added.1 = end;
            results[row as usize] = result.get_or_insert_with(|| state.finish(kind, ty)).clone();
        }
        Ok(())
    }

    fn add(&self, state: &mut State, kind: AggregateKind, row: u32, env: &dyn Env) -> Result<()> {
        let ty = &self.window.ty;
        match self.window.args.as_slice() {
            [] => state.add(kind, &Value::Null, ty, ty, env)?,
            [name, value] if kind == AggregateKind::JsonObjectAgg => {
                state.add_member(self.arg(row, 0), &name.ty, self.arg(row, 1), &value.ty, env)?
            }
            [arg, ..] => state.add(kind, self.arg(row, 0), &arg.ty, ty, env)?,
        };
        Ok(())
    }
}
