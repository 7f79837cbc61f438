//! Aggregate functions: each becomes an `Aggregate` of the block with a slot for its result.
//!
//! Types follow MySQL: SUM and AVG of integers and decimals are DECIMAL (22 digits more, `div_precision_increment` more places), of
//! others DOUBLE; COUNT is BIGINT and never NULL; MIN and MAX keep the type of their argument.

use vaquita_parser as ast;
use vaquita_types::charset::CollationId;
use vaquita_types::datatype::DECIMALS_NOT_FIXED;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno, sql_mode};

use super::Binder;
use super::scope::Frame;
use super::window::aggregate_name;
use crate::expr::{Expr, ExprKind, Subquery, SubqueryState};
use crate::func::{as_bits, bits_as_number};
use crate::node::{Aggregate, AggregateKind, SortKey};
use crate::typing::{self, NumberClass, number_class};
use crate::{text, visit};

/// Bytes of GROUP_CONCAT's result in its metadata: `group_concat_max_len`'s default.
const GROUP_CONCAT_LENGTH: u32 = 1024;

/// An aggregate whose arguments are being bound.
pub(super) struct OpenAggregate {
    /// The block that it stands in.
    frame: usize,
    /// The innermost block, from there outwards, that columns of the arguments belong to. What is named as an output column of an
    /// enclosing block, and the columns of aggregates inside of the arguments, do not count.
    columns: Option<usize>,
    /// The innermost block, from there outwards, that computes an aggregate inside of the arguments.
    innermost_inside: Option<usize>,
}

impl Binder<'_> {
    pub(super) fn aggregate_call(&mut self, call: &ast::AggregateCall) -> Result<Expr> {
        if !self.frames.iter().any(|f| f.aggregates_allowed) {
            return Err(invalid_use());
        }
        let current = self.frames.len() - 1;
        let queries = self.frame().subqueries.len();
        self.open_aggregates.push(OpenAggregate { frame: current, columns: None, innermost_inside: None });
        let bound = self.aggregate_operands(call);
        let open = self.open_aggregates.pop();
        let (mut args, mut order_by) = bound?;
        let (columns, inside) = open.map_or((None, None), |open| (open.columns, open.innermost_inside));
        let stays = args.iter().chain(order_by.iter().map(|key| &key.expr)).any(|expr| self.stays_here(expr));
        let target = self.aggregating_frame(columns.max(stays.then_some(current)))?;
        let out = current - target;
        let reads_around = |part: &Expr| matches!(&part.kind, ExprKind::Subquery(sub) if sub.correlated && sub.depth < out);
        if args.iter().chain(order_by.iter().map(|key| &key.expr)).any(|expr| visit::any(expr, &reads_around)) {
            self.frame().subqueries.truncate(queries);
            return self.aggregate_around(call, target);
        }
        // The rows that an aggregate is computed of hold results of enclosing blocks only.
        if inside.is_some_and(|inside| inside >= target) {
            return Err(invalid_use());
        }
        if let Some(around) = self.open_aggregates.last_mut() {
            let counted = (target <= around.frame).then_some(target);
            around.innermost_inside = around.innermost_inside.max(inside).max(counted);
        }
        if target == current {
            let aggregate = self.typed_aggregate_ordered(call, args, order_by)?;
            return Ok(self.add_aggregate(aggregate));
        }
        for expr in args.iter_mut().chain(order_by.iter_mut().map(|key| &mut key.expr)) {
            self.plan_subqueries(current, expr)?;
        }
        // The enclosing block computes it: its arguments are seen from there.
        let inner = self.frames.split_off(target + 1);
        let args = args.into_iter().map(|a| visit::moved_out(a, out)).collect();
        let made = self.typed_aggregate_ordered(
            call,
            args,
            order_by.into_iter().map(|k| SortKey { expr: visit::moved_out(k.expr, out), descending: k.descending }).collect(),
        );
        let made = made.map(|aggregate| self.add_aggregate(aggregate));
        self.frames.extend(inner);
        Ok(self.from_frame(target, made?))
    }

    /// Binds an aggregate anew in the enclosing block that computes it: queries in its arguments are bound to the blocks around them.
    fn aggregate_around(&mut self, call: &ast::AggregateCall, target: usize) -> Result<Expr> {
        let inner = self.frames.split_off(target + 1);
        let outside = self.scopes.iter().position(|scope| scope.frame > target).unwrap_or(self.scopes.len());
        let scopes = self.scopes.split_off(outside);
        let made = self.aggregate_call(call);
        self.frames.extend(inner);
        self.scopes.extend(scopes);
        Ok(self.from_frame(target, made?))
    }

    fn aggregate_operands(&mut self, call: &ast::AggregateCall) -> Result<(Vec<Expr>, Vec<SortKey>)> {
        let mut args = call.args.iter().map(|a| self.aggregate_arg(a)).collect::<Result<Vec<_>>>()?;
        if let ast::AggregateFunc::BitAnd | ast::AggregateFunc::BitOr | ast::AggregateFunc::BitXor = call.func {
            args = args.into_iter().map(typing::checked_integer).collect::<Result<_>>()?;
        }
        let order_by = self.concat_order(call, &args)?;
        Ok((args, order_by))
    }

    /// The block that computes an aggregate. If one of its columns is of the block that it stands in, or it has no columns and may
    /// stand here, it is this one. Else it is the one that its innermost column belongs to, if that may aggregate at this place,
    /// else the next one around this that may.
    fn aggregating_frame(&self, columns: Option<usize>) -> Result<usize> {
        let current = self.frames.len() - 1;
        let may = |at: &usize| self.frames[*at].aggregates_allowed;
        if columns == Some(current) || columns.is_none() && may(&current) {
            return may(&current).then_some(current).ok_or_else(invalid_use);
        }
        if let Some(columns) = columns.filter(may) {
            return Ok(columns);
        }
        let outside = columns.map_or(0, |columns| columns + 1);
        let around = (outside..current).rev().find(may);
        // Standard SQL has no aggregate of an outer query's column that this query would compute.
        let here = may(&current) && !(columns.is_some() && self.mode(sql_mode::ANSI));
        around.or_else(|| here.then_some(current)).ok_or_else(invalid_use)
    }

    /// Tells the aggregate around a name what block its column belongs to.
    pub(super) fn note_aggregated_column(&mut self, frame: usize) {
        if let Some(open) = self.open_aggregates.last_mut()
            && frame <= open.frame
        {
            open.columns = open.columns.max(Some(frame));
        }
    }

    /// The expression has a meaning in this block only: it reads columns of it, also from inside of a query.
    fn stays_here(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Slot(slot) => self.owner(*slot).is_some(),
            ExprKind::Subquery(sub) if sub.depth == 0 && reads_its_block(sub) => true,
            _ => {
                let mut stays = false;
                visit::children(expr, &mut |child| stays |= self.stays_here(child));
                stays
            }
        }
    }

    /// ANY_VALUE: in a grouped block one row's value, else the value itself.
    pub(super) fn any_value(&mut self, call: &ast::FuncCall) -> Result<Expr> {
        let [arg] = call.args.as_slice() else {
            return Err(Error::new(&errno::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT, &[&"ANY_VALUE"]));
        };
        let frame = self.frame();
        frame.any_value_seen |= !frame.grouped;
        if !frame.grouped || !frame.aggregates_allowed || frame.inside_aggregate {
            let arg = self.scalar(arg)?;
            let ty = text::of_expression(bits_as_number(arg.ty.clone()));
            return Ok(typing::cast_to(arg, ty));
        }
        let mut arg = self.aggregate_arg(arg)?;
        if self.has_results(&arg) {
            self.pick_columns(&mut arg);
            return Ok(arg);
        }
        let ty = text::of_expression(text::without_hex(arg.ty.clone()));
        let aggregate = self.new_aggregate(AggregateKind::AnyValue, ty, vec![arg]);
        Ok(self.add_aggregate(aggregate))
    }

    /// `expr` reads an aggregate of this block.
    fn has_results(&mut self, expr: &Expr) -> bool {
        let slots = visit::slots(expr);
        self.frame().aggregates.iter().any(|a| a.kind != AggregateKind::Grouping && slots.contains(&a.slot))
    }

    /// Beside results of aggregates each column is that of one row of the group.
    fn pick_columns(&mut self, expr: &mut Expr) {
        match expr.kind {
            ExprKind::Slot(slot) if self.owner(slot).is_some() => {
                let column = expr.clone();
                let aggregate = self.new_aggregate(AggregateKind::AnyValue, column.ty.clone(), vec![column]);
                *expr = self.add_aggregate(aggregate);
            }
            ExprKind::Slot(_) => {}
            _ => visit::children_mut(expr, &mut |child| self.pick_columns(child)),
        }
    }

    /// One argument of GROUPING(): `place_groupings` finds its key later, when GROUP BY is bound.
    pub(super) fn grouping_bit(&mut self, arg: &ast::Expr) -> Result<Expr> {
        let arg = self.aggregate_arg(arg)?;
        let aggregate = self.new_aggregate(AggregateKind::Grouping, ColumnType::bigint(), vec![arg]);
        Ok(Expr { nullable: false, ..self.add_aggregate(aggregate) })
    }

    /// The bound aggregate with a new slot, not yet part of the block.
    pub(super) fn typed_aggregate(&mut self, call: &ast::AggregateCall, args: Vec<Expr>) -> Result<Aggregate> {
        let order_by = self.concat_order(call, &args)?;
        self.typed_aggregate_ordered(call, args, order_by)
    }

    fn typed_aggregate_ordered(
        &mut self,
        call: &ast::AggregateCall,
        args: Vec<Expr>,
        order_by: Vec<SortKey>,
    ) -> Result<Aggregate> {
        use ast::AggregateFunc as F;
        let mut args = args;
        if !matches!(call.func, F::Count | F::GroupConcat | F::BitAnd | F::BitOr | F::BitXor | F::StCollect) {
            typing::refuse_opaque(aggregate_name(call.func), &args.iter().collect::<Vec<_>>())?;
        }
        if !matches!(call.func, F::Count | F::GroupConcat) {
            typing::refuse_vectors(aggregate_name(call.func), &args.iter().collect::<Vec<_>>())?;
        }
        if call.distinct && matches!(call.func, F::Sum | F::Avg) {
            args = args.into_iter().map(typing::stored_number).collect::<Result<_>>()?;
        }
        if let F::Sum | F::Avg | F::StdPop | F::StdSamp | F::VarPop | F::VarSamp = call.func {
            args = args.into_iter().map(typing::as_number).collect::<Result<_>>()?;
        }
        if let F::BitAnd | F::BitOr | F::BitXor = call.func {
            args = args.into_iter().map(read_as_bits).collect::<Result<_>>()?;
            as_bits(&mut args);
        }
        let Some(first) = args.first() else {
            return Ok(self.new_aggregate(AggregateKind::CountStar, ColumnType::bigint(), Vec::new()));
        };
        let ty = first.ty.clone();
        let (kind, ty) = match call.func {
            // What is never NULL need not be looked at.
            F::Count if !call.distinct && args.len() == 1 && !first.nullable && matches!(first.kind, ExprKind::Literal(_)) => {
                return Ok(self.new_aggregate(AggregateKind::CountStar, ColumnType::bigint(), Vec::new()));
            }
            F::Count => (AggregateKind::Count, ColumnType::bigint()),
            F::Sum => (AggregateKind::Sum, sum_type(&ty)),
            F::Avg => (AggregateKind::Avg, average_type(&ty, self.cx.settings.division_decimals)),
            F::Min => (AggregateKind::Min, extreme_type(ty)),
            F::Max => (AggregateKind::Max, extreme_type(ty)),
            F::BitAnd => (AggregateKind::BitAnd, bits_type(first)?),
            F::BitOr => (AggregateKind::BitOr, bits_type(first)?),
            F::BitXor => (AggregateKind::BitXor, bits_type(first)?),
            F::StdPop => (AggregateKind::StdDevPop, ColumnType::double()),
            F::StdSamp => (AggregateKind::StdDevSamp, ColumnType::double()),
            F::VarPop => (AggregateKind::VarPop, ColumnType::double()),
            F::VarSamp => (AggregateKind::VarSamp, ColumnType::double()),
            F::GroupConcat => return self.group_concat(call, args, order_by),
            F::JsonArrayAgg => (AggregateKind::JsonArrayAgg, ColumnType::new(TypeKind::Json)),
            F::JsonObjectAgg => (AggregateKind::JsonObjectAgg, ColumnType::new(TypeKind::Json)),
            F::StCollect => (AggregateKind::StCollect, ColumnType::new(TypeKind::Geometry)),
        };
        if matches!(kind, AggregateKind::JsonArrayAgg | AggregateKind::JsonObjectAgg) {
            typing::as_truths_or_numbers(&mut args);
        }
        let mut aggregate = self.new_aggregate(kind, ty, args);
        aggregate.distinct = call.distinct;
        Ok(aggregate)
    }

    fn aggregate_arg(&mut self, arg: &ast::Expr) -> Result<Expr> {
        let outer = std::mem::replace(&mut self.frame().inside_aggregate, true);
        let windows = std::mem::replace(&mut self.frame().windows_allowed, false);
        let bound = self.scalar(arg);
        self.frame().inside_aggregate = outer;
        self.frame().windows_allowed = windows;
        bound
    }

    /// ORDER BY inside of GROUP_CONCAT.
    fn concat_order(&mut self, call: &ast::AggregateCall, args: &[Expr]) -> Result<Vec<SortKey>> {
        let mut order_by = Vec::with_capacity(call.order_by.len());
        for item in &call.order_by {
            let expr = match &item.expr {
                ast::Expr::Literal(ast::Literal::Int(n)) => {
                    match usize::try_from(*n).ok().and_then(|n| args.get(n.checked_sub(1)?)) {
                        Some(arg) => arg.clone(),
                        None => return Err(Error::new(&errno::ER_BAD_FIELD_ERROR, &[n, &"order clause"])),
                    }
                }
                other => self.aggregate_arg(other)?,
            };
            order_by.push(SortKey { expr, descending: item.desc });
        }
        Ok(order_by)
    }

    fn group_concat(&mut self, call: &ast::AggregateCall, args: Vec<Expr>, order_by: Vec<SortKey>) -> Result<Aggregate> {
        let refs: Vec<&Expr> = args.iter().collect();
        let collation = typing::aggregate_collations(&refs, "group_concat", false)?.collation;
        let numbers = !args.iter().any(|arg| typing::is_string(&arg.ty));
        let args = args.into_iter().map(|a| typing::as_string(a, collation)).collect();
        // Numbers are text in the client's charset.
        let charset = if numbers { self.cx.settings.connection_collation } else { collation };
        let char_bytes = u32::from(crate::text::bytes_per_char_max(charset));
        let ty = if collation == CollationId::BINARY {
            ColumnType { length: GROUP_CONCAT_LENGTH, ..ColumnType::new(TypeKind::LongBlob) }
        } else {
            // So many characters of the longest are announced.
            let keeps = charset == CollationId::BINARY || !vaquita_types::charset::charset(charset).is_ascii_compatible();
            let collation = if keeps { collation } else { charset };
            ColumnType { length: GROUP_CONCAT_LENGTH * char_bytes * char_bytes, collation, ..ColumnType::new(TypeKind::LongText) }
        };
        let mut aggregate = self.new_aggregate(AggregateKind::GroupConcat, ty, args);
        aggregate.distinct = call.distinct;
        aggregate.order_by = order_by;
        let separator = call.separator.as_deref().unwrap_or(b",");
        let separator = crate::text::convert(separator.into(), self.cx.settings.connection_collation, charset);
        aggregate.separator = Some(Value::bytes(separator.unwrap_or_else(|rest| rest.into())));
        Ok(aggregate)
    }

    fn new_aggregate(&mut self, kind: AggregateKind, ty: ColumnType, args: Vec<Expr>) -> Aggregate {
        let slot = self.new_slot();
        Aggregate { kind, args, distinct: false, order_by: Vec::new(), separator: None, ty, slot }
    }

    /// Makes it part of the block; an equal one is computed once.
    fn add_aggregate(&mut self, aggregate: Aggregate) -> Expr {
        let coercibility = if typing::is_string(&aggregate.ty) {
            aggregate.args.first().map_or(2, |a| a.coercibility)
        } else {
            typing::COERCIBILITY_NUMERIC
        };
        let nullable = !matches!(
            aggregate.kind,
            AggregateKind::CountStar
                | AggregateKind::Count
                | AggregateKind::BitAnd
                | AggregateKind::BitOr
                | AggregateKind::BitXor
        );
        let frame = self.frame();
        frame.grouped = true;
        let Frame { aggregates, aggregate_index, .. } = frame;
        let equal = |a: &Aggregate| {
            a.kind == aggregate.kind
                && a.distinct == aggregate.distinct
                && a.order_by.is_empty()
                && aggregate.order_by.is_empty()
                && a.separator == aggregate.separator
                && a.args.len() == aggregate.args.len()
                && a.args.iter().zip(&aggregate.args).all(|(x, y)| visit::same(x, y))
        };
        let hash = |a: &Aggregate| a.args.first().map_or(0, visit::hash);
        let hash_of = |at: usize| aggregates.get(at).map_or(0, hash);
        let is = |at: usize| aggregates.get(at).is_some_and(equal);
        let equal = aggregate_index.position(aggregates.len(), hash_of, || hash(&aggregate), is);
        let (slot, ty) = match equal.and_then(|at| aggregates.get(at)) {
            Some(a) => (a.slot, a.ty.clone()),
            None => {
                let made = (aggregate.slot, aggregate.ty.clone());
                aggregates.push(aggregate);
                made
            }
        };
        Expr { coercibility, ..Expr::slot(slot, ty, nullable) }
    }
}

fn reads_its_block(sub: &Subquery) -> bool {
    match &sub.query {
        SubqueryState::Bound(bound) => bound.reads.iter().any(|(depth, _)| *depth == 1),
        SubqueryState::Planned(_) => sub.correlated,
    }
}

fn invalid_use() -> Error {
    Error::new(&errno::ER_INVALID_GROUP_FUNC_USE, &[])
}

/// Bytes of the longest binary string that is aggregated bit by bit.
const BIT_STRING_BYTES_MAX: u32 = 511;

/// A binary string is taken as it is, also one that a hexadecimal literal was chosen for.
fn read_as_bits(arg: Expr) -> Result<Expr> {
    let is_itself = matches!(arg.kind, ExprKind::Literal(_) | ExprKind::Param(_) | ExprKind::Subquery(_));
    if is_itself || !arg.ty.is_bytes() || arg.ty.collation != CollationId::BINARY {
        return typing::as_number(arg);
    }
    let ty = text::without_hex(arg.ty.clone());
    Ok(Expr { ty, ..arg })
}

/// Binary strings, but for hexadecimal literals, give one of their length; one byte more is announced. Error 3514 if they may be too long.
fn bits_type(arg: &Expr) -> Result<ColumnType> {
    let ty = &arg.ty;
    if !ty.is_bytes() || ty.collation != CollationId::BINARY || typing::is_hex_literal(ty) {
        return Ok(ColumnType::bigint_unsigned());
    }
    // A parameter's value may be short.
    if matches!(arg.kind, ExprKind::Param(_)) {
        return Ok(text::unsigned_varbinary(BIT_STRING_BYTES_MAX + 1));
    }
    if typing::char_length(ty) > BIT_STRING_BYTES_MAX {
        return Err(Error::new(&errno::ER_INVALID_BITWISE_AGGREGATE_OPERANDS_SIZE, &[]));
    }
    Ok(text::unsigned_varbinary(ty.length + 1))
}

fn sum_type(ty: &ColumnType) -> ColumnType {
    match number_class(ty) {
        _ if ty.kind == TypeKind::Null => typing::double_type(0),
        NumberClass::Double => typing::double_type(typing::decimals_meta(ty)),
        _ => typing::decimal_type((typing::precision(ty) + 22).min(65), typing::scale(ty), false),
    }
}

fn average_type(ty: &ColumnType, decimals: u8) -> ColumnType {
    match number_class(ty) {
        _ if ty.kind == TypeKind::Null => typing::double_type(decimals),
        NumberClass::Double => typing::double_type((typing::decimals_meta(ty) + decimals).min(DECIMALS_NOT_FIXED)),
        _ => {
            let scale = (typing::scale(ty) + decimals).min(30);
            typing::decimal_type((typing::precision(ty) + u32::from(decimals)).min(65), scale, false)
        }
    }
}

/// MIN and MAX: ENUM and SET become strings.
fn extreme_type(ty: ColumnType) -> ColumnType {
    match ty.kind {
        TypeKind::Enum | TypeKind::Set => {
            ColumnType { kind: TypeKind::Char, ..typing::string_type(u64::from(typing::char_length(&ty)), ty.collation) }
        }
        // Only the literal itself counts as a number.
        _ => text::of_expression(text::without_hex(ty)),
    }
}
