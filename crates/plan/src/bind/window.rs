//! Window functions: `f(…) OVER (…)` becomes a `WindowFunction` of the block with a slot for its result.
//!
//! A named window is resolved here: `OVER (w ORDER BY x)` takes w's partitioning and adds an order. Types are MySQL's:
//! ranks and counts are BIGINT, PERCENT_RANK and CUME_DIST DOUBLE, the rest has the type of its argument.

use vaquita_parser as ast;
use vaquita_types::{ColumnType, Error, Result, errno};

use super::early::is_constant;
use super::window_frame::check_whole;
use super::{Binder, Clause};
use crate::expr::{Expr, ExprKind};
use crate::node::{AggregateKind, SortKey, WindowFunction};
use crate::{text, typing};

/// What errors call a window without a name.
const UNNAMED: &str = "<unnamed window>";

impl Binder<'_> {
    pub(super) fn window_call(&mut self, call: &ast::WindowCall) -> Result<Expr> {
        if let Some(window) = &self.frame().window_keys_of {
            return Err(Error::new(&errno::ER_WINDOW_NESTED_WINDOW_FUNC_USE_IN_WINDOW_SPEC, &[window]));
        }
        if !self.frame().windows_allowed {
            return Err(Error::new(&errno::ER_WINDOW_INVALID_WINDOW_FUNC_USE, &[&name_of(&call.func)]));
        }
        self.frame().windows_allowed = false;
        let made = self.window(call);
        self.frame().windows_allowed = true;
        let (window, nullable) = made?;
        let coercibility = if typing::is_string(&window.ty) { 2 } else { typing::COERCIBILITY_NUMERIC };
        let expr = Expr { coercibility, ..Expr::slot(window.slot, window.ty.clone(), nullable) };
        self.frame().windows.push(window);
        Ok(expr)
    }

    fn window(&mut self, call: &ast::WindowCall) -> Result<(WindowFunction, bool)> {
        let (args, ty, nullable) = self.window_args(&call.func)?;
        let (spec, name) = match &call.over {
            ast::WindowOver::Named(name) => (self.named_window(name, 0)?, name.clone()),
            ast::WindowOver::Spec(spec) => (self.merged_spec(spec, UNNAMED, 0)?, UNNAMED.to_string()),
        };
        let (partition_by, order_by) = self.window_keys(&spec, &name)?;
        let frame = spec.frame.as_ref().map(|f| self.window_frame(f, &name, &order_by)).transpose()?;
        frame.as_ref().map_or(Ok(()), |frame| check_whole(frame, &name))?;
        let slot = self.new_slot();
        let function = name_of(&call.func).to_uppercase();
        Ok((WindowFunction { name: function, window: name, args, partition_by, order_by, frame, ty, slot }, nullable))
    }

    /// Binds the named windows that no function uses: as in MySQL they must be right, too. Error 3591 for two of one name.
    pub(super) fn unused_windows(&mut self) -> Result<()> {
        let windows = self.frame().named_windows.clone();
        let used = std::mem::take(&mut self.frame().used_windows);
        let is_used = |name: &str| used.iter().any(|used| used.eq_ignore_ascii_case(name));
        let mut keys_of = Vec::new();
        for (name, spec) in windows.iter().filter(|(name, _)| !is_used(name)) {
            keys_of.push((name, spec, self.window_keys(spec, name)?));
        }
        for (n, (name, _)) in windows.iter().enumerate() {
            if let Some((first, _)) = windows[..n].iter().find(|(before, _)| before.eq_ignore_ascii_case(name)) {
                return Err(Error::new(&errno::ER_WINDOW_DUPLICATE_NAME, &[first]));
            }
        }
        for (name, spec, (partition_by, order_by)) in keys_of {
            let merged = self.merged_spec(spec, name, 0)?;
            if let Some(frame) = &merged.frame {
                let inherited = if spec.order_by.is_empty() { self.window_keys(&merged, name)?.1 } else { Vec::new() };
                let early = self.early.len();
                self.window_frame(frame, name, if inherited.is_empty() { &order_by } else { &inherited })?;
                // The values of its bounds are never asked for.
                self.early.truncate(early);
            }
            let keys = partition_by.into_iter().chain(order_by.into_iter().map(|key| key.expr)).collect();
            self.frame().unused_windows.push((name.clone(), keys));
        }
        Ok(())
    }

    fn window_keys(&mut self, spec: &ast::WindowSpec, name: &str) -> Result<(Vec<Expr>, Vec<SortKey>)> {
        let around = self.frame().window_keys_of.replace(name.to_string());
        let keys = self.partition_and_order(spec, name);
        self.frame().window_keys_of = around;
        keys
    }

    fn partition_and_order(&mut self, spec: &ast::WindowSpec, name: &str) -> Result<(Vec<Expr>, Vec<SortKey>)> {
        let partition_by =
            spec.partition_by.iter().map(|e| self.window_key(e, name, Clause::Window)).collect::<Result<Vec<_>>>()?;
        let mut order_by = Vec::with_capacity(spec.order_by.len());
        for item in &spec.order_by {
            order_by.push(SortKey { expr: self.window_key(&item.expr, name, Clause::WindowOrder)?, descending: item.desc });
        }
        Ok((partition_by, order_by))
    }

    fn window_key(&mut self, expr: &ast::Expr, window: &str, clause: Clause) -> Result<Expr> {
        if let ast::Expr::Literal(ast::Literal::Int(_)) = expr {
            return Err(Error::new(&errno::ER_WINDOW_ILLEGAL_ORDER_BY, &[&window]));
        }
        self.in_clause(clause, |b| b.scalar(expr))
    }

    fn window_args(&mut self, func: &ast::WindowFunc) -> Result<(Vec<Expr>, ColumnType, bool)> {
        use ast::WindowFunc as W;
        let rank = || ColumnType::bigint_unsigned();
        Ok(match func {
            W::RowNumber | W::Rank | W::DenseRank => (Vec::new(), rank(), false),
            W::PercentRank | W::CumeDist => (Vec::new(), ColumnType::double(), false),
            W::Ntile(buckets) => {
                refuse_column(buckets)?;
                (vec![self.scalar(buckets)?], rank(), true)
            }
            W::Lead(call) | W::Lag(call) => return self.lead_lag(call, name_of(func)),
            W::FirstValue { expr, ignore_nulls } | W::LastValue { expr, ignore_nulls } => {
                refuse(*ignore_nulls, "IGNORE NULLS")?;
                let arg = self.scalar(expr)?;
                typing::refuse_vectors(name_of(func), &[&arg])?;
                let ty = kept_type(&arg.ty);
                (vec![arg], ty, true)
            }
            W::NthValue { expr, n, from_last, ignore_nulls } => {
                refuse(*ignore_nulls, "IGNORE NULLS")?;
                refuse(*from_last, "FROM LAST")?;
                let (arg, n) = (self.scalar(expr)?, self.scalar(n)?);
                typing::refuse_vectors(name_of(func), &[&arg])?;
                let is_given = matches!(n.kind, ExprKind::Param(_) | ExprKind::UserVar(_));
                if !(is_given || is_constant(&n) && n.ty.is_integer()) {
                    return Err(Error::new(&errno::ER_WRONG_ARGUMENTS, &[&"nth_value"]));
                }
                let ty = kept_type(&arg.ty);
                (vec![arg, n], ty, true)
            }
            W::Aggregate(call) => return self.window_aggregate(call),
        })
    }

    fn lead_lag(&mut self, call: &ast::LeadLag, name: &str) -> Result<(Vec<Expr>, ColumnType, bool)> {
        refuse(call.ignore_nulls, "IGNORE NULLS")?;
        call.offset.as_ref().map_or(Ok(()), refuse_column)?;
        let mut args = vec![self.scalar(&call.expr)?];
        typing::refuse_vectors(name, &args.iter().collect::<Vec<_>>())?;
        let one = ast::Expr::Literal(ast::Literal::Int(1));
        args.push(self.scalar(call.offset.as_ref().unwrap_or(&one))?);
        let Some(default) = &call.default else {
            let ty = kept_type(&args[0].ty);
            return Ok((args, ty, true));
        };
        let mut pair = [args.remove(0), self.scalar(default)?];
        let merged = typing::unify(&mut pair, "lead")?;
        let [value, default] = pair;
        args.insert(0, value);
        args.push(default);
        Ok((args, merged.ty, merged.nullable))
    }

    fn window_aggregate(&mut self, call: &ast::AggregateCall) -> Result<(Vec<Expr>, ColumnType, bool)> {
        refuse(call.distinct, "<window function>(DISTINCT ..)")?;
        if matches!(call.func, ast::AggregateFunc::GroupConcat) {
            return Err(Error::unsupported("group_concat as window function"));
        }
        // The arguments may hold aggregates of the block: `SUM(SUM(x)) OVER ()`.
        let args = call.args.iter().map(|a| self.scalar(a)).collect::<Result<Vec<_>>>()?;
        let aggregate = self.typed_aggregate(call, args)?;
        let nullable = !matches!(aggregate.kind, AggregateKind::CountStar | AggregateKind::Count);
        Ok((aggregate.args, aggregate.ty, nullable))
    }

    fn named_window(&mut self, name: &str, depth: usize) -> Result<ast::WindowSpec> {
        let found = self.frame().named_windows.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, s)| s.clone());
        let Some(spec) = found else { return Err(Error::new(&errno::ER_WINDOW_NO_SUCH_WINDOW, &[&name])) };
        self.frame().used_windows.push(name.to_string());
        self.merged_spec(&spec, name, depth)
    }

    /// The window of that name with what it takes from the one it extends.
    fn merged_spec(&mut self, spec: &ast::WindowSpec, name: &str, depth: usize) -> Result<ast::WindowSpec> {
        let Some(base_name) = &spec.base else { return Ok(spec.clone()) };
        if depth > self.frame().named_windows.len() {
            return Err(Error::new(&errno::ER_WINDOW_CIRCULARITY_IN_WINDOW_GRAPH, &[]));
        }
        let base = self.named_window(base_name, depth + 1)?;
        if !spec.partition_by.is_empty() {
            return Err(Error::new(&errno::ER_WINDOW_NO_CHILD_PARTITIONING, &[]));
        }
        if base.frame.is_some() {
            return Err(Error::new(&errno::ER_WINDOW_NO_INHERIT_FRAME, &[base_name]));
        }
        if !base.order_by.is_empty() && !spec.order_by.is_empty() {
            return Err(Error::new(&errno::ER_WINDOW_NO_REDEFINE_ORDER_BY, &[&name, base_name]));
        }
        let order_by = if spec.order_by.is_empty() { base.order_by } else { spec.order_by.clone() };
        Ok(ast::WindowSpec { base: None, partition_by: base.partition_by, order_by, frame: spec.frame.clone() })
    }
}

/// The type of a row's value that a window keeps: a hexadecimal literal is no number any more.
fn kept_type(ty: &ColumnType) -> ColumnType {
    if text::is_hex_literal(ty) { text::unsigned_varbinary(ty.length) } else { ty.clone() }
}

/// Error 1327: a number or a variable is wanted, and a name that is no variable of a program was written.
fn refuse_column(expr: &ast::Expr) -> Result<()> {
    match expr {
        ast::Expr::Column(variable) => Err(Error::new(&errno::ER_SP_UNDECLARED_VAR, &[&variable.name])),
        _ => Ok(()),
    }
}

fn refuse(present: bool, what: &str) -> Result<()> {
    if present { Err(Error::unsupported(what)) } else { Ok(()) }
}

/// The name as errors print it.
fn name_of(func: &ast::WindowFunc) -> &'static str {
    use ast::WindowFunc as W;
    match func {
        W::RowNumber => "row_number",
        W::Rank => "rank",
        W::DenseRank => "dense_rank",
        W::PercentRank => "percent_rank",
        W::CumeDist => "cume_dist",
        W::Ntile(_) => "ntile",
        W::Lead(_) => "lead",
        W::Lag(_) => "lag",
        W::FirstValue { .. } => "first_value",
        W::LastValue { .. } => "last_value",
        W::NthValue { .. } => "nth_value",
        W::Aggregate(call) => aggregate_name(call.func),
    }
}

/// The name of an aggregate function as errors print it.
pub(super) fn aggregate_name(func: ast::AggregateFunc) -> &'static str {
    use ast::AggregateFunc as F;
    match func {
        F::Count => "count",
        F::Sum => "sum",
        F::Avg => "avg",
        F::Min => "min",
        F::Max => "max",
        F::BitAnd => "bit_and",
        F::BitOr => "bit_or",
        F::BitXor => "bit_xor",
        F::GroupConcat => "group_concat",
        F::JsonArrayAgg => "json_arrayagg",
        F::JsonObjectAgg => "json_objectagg",
        F::StdPop => "std",
        F::StdSamp => "stddev_samp",
        F::VarPop => "variance",
        F::VarSamp => "var_samp",
        F::StCollect => "st_collect",
    }
}
