//! Which tables a statement names, and which privileges it needs on each: a walk over the syntax tree.
//!
//! Names of common table expressions in scope are no tables. Views count by their own name; what is behind
//! them was checked when they were made.

use vaquita_parser::ast::{
    AggregateCall, Assignment, ColumnRef, Cte, Delete, Expr, FrameBound, Insert, InsertSource, JoinOn, JsonOn, LeadLag,
    LockStrength, Name, OrderItem, Query, QueryBody, SelectItem, TableRef, Update, WindowCall, WindowFunc, WindowOver,
    WindowSpec, With,
};

use super::privilege::{Bits, DELETE, INSERT, SELECT, UPDATE};

/// One table that a statement names.
#[derive(Debug)]
pub struct Use {
    pub database: Option<String>,
    pub table: String,
    alias: Option<String>,
    pub need: Bits,
    /// INSERT and UPDATE: the columns written. Empty: all.
    pub written: Vec<String>,
    /// FOR UPDATE.
    pub locking: bool,
    /// Not a temporary table of that name.
    pub permanent: bool,
}

#[derive(Default)]
pub struct Tables {
    pub uses: Vec<Use>,
    /// Columns that are read, as written.
    columns: Vec<ColumnRef>,
    wildcard: bool,
    ctes: Vec<String>,
    locking: bool,
}

impl Tables {
    pub fn add(&mut self, name: &Name, need: Bits) {
        self.add_as(name, None, need, Vec::new());
    }

    /// A name that stands for a permanent table alone: what is created, and RENAME TABLE.
    pub fn add_permanent(&mut self, name: &Name, need: Bits) {
        self.add(name, need);
        if let Some(added) = self.uses.last_mut() {
            added.permanent = true;
        }
    }

    fn add_as(&mut self, name: &Name, alias: Option<&str>, need: Bits, written: Vec<String>) {
        if name.db.is_none() && self.ctes.iter().any(|cte| cte.eq_ignore_ascii_case(&name.name)) {
            return;
        }
        self.uses.push(Use {
            database: name.db.clone(),
            table: name.name.clone(),
            alias: alias.map(str::to_string),
            need,
            written,
            locking: self.locking,
            permanent: false,
        });
    }

    /// The columns that a statement reads and that may be those of `table`; `None`: all of them (`*`).
    pub fn read_columns(&self, table: &Use) -> Option<Vec<&str>> {
        let name = table.alias.as_deref().unwrap_or(&table.table);
        let mine = self.columns.iter().filter(|c| c.table.as_deref().is_none_or(|t| t.eq_ignore_ascii_case(name)));
        (!self.wildcard).then(|| mine.map(|c| c.name.as_str()).collect())
    }

    pub fn query(&mut self, query: &Query) {
        let depth = self.ctes.len();
        let locking = self.locking;
        self.with(query.with.as_ref());
        self.locking |= query.locks.iter().any(|lock| lock.strength == LockStrength::Update);
        self.body(&query.body);
        self.locking = locking;
        self.order(&query.order_by);
        if let Some(limit) = &query.limit {
            self.exprs(limit.offset.iter().chain([&limit.count]));
        }
        self.ctes.truncate(depth);
    }

    fn with(&mut self, with: Option<&With>) {
        let Some(with) = with else { return };
        for Cte { name, query, .. } in &with.ctes {
            if with.recursive {
                self.ctes.push(name.clone());
            }
            self.query(query);
            if !with.recursive {
                self.ctes.push(name.clone());
            }
        }
    }

    fn body(&mut self, body: &QueryBody) {
        match body {
            QueryBody::Select(select) => {
                for item in &select.items {
                    match item {
                        SelectItem::Wildcard | SelectItem::TableWildcard(_) => self.wildcard = true,
                        SelectItem::Expr { expr, .. } => self.expr(expr),
                    }
                }
                self.from(&select.from, SELECT);
                self.exprs(select.filter.iter().chain(&select.group_by).chain(&select.having));
                for (_, spec) in &select.windows {
                    self.window_spec(spec);
                }
            }
            QueryBody::SetOp { left, right, .. } => {
                self.body(left);
                self.body(right);
            }
            QueryBody::Values(rows) => self.exprs(rows.iter().flatten()),
            QueryBody::Table(name) => {
                self.wildcard = true;
                self.add(name, SELECT);
            }
            QueryBody::Nested(query) => self.query(query),
        }
    }

    fn from(&mut self, tables: &[TableRef], need: Bits) {
        for table in tables {
            self.table(table, need);
        }
    }

    fn table(&mut self, table: &TableRef, need: Bits) {
        match table {
            TableRef::Table(factor) => self.add_as(&factor.name, factor.alias.as_deref(), need, Vec::new()),
            TableRef::Derived { query, .. } => self.query(query),
            TableRef::JsonTable(json) => self.expr(&json.doc),
            TableRef::Join(join) => {
                self.table(&join.left, need);
                self.table(&join.right, need);
                if let JoinOn::On(on) = &join.on {
                    self.expr(on);
                }
            }
            TableRef::List(list) => self.from(list, need),
        }
    }

    pub fn insert(&mut self, insert: &Insert) {
        let mut need = INSERT;
        if insert.replace {
            need |= DELETE;
        }
        if !insert.on_duplicate.is_empty() {
            need |= UPDATE;
        }
        let mut written: Vec<String> = insert.columns.iter().flatten().map(|c| c.name.clone()).collect();
        written.extend(insert.on_duplicate.iter().map(|a| a.column.name.clone()));
        self.add_as(&insert.table, None, need, written);
        match &insert.source {
            InsertSource::Values(rows) => {
                for expr in rows.iter().flatten().filter(|e| !matches!(e, Expr::Column(_))) {
                    self.expr(expr);
                }
            }
            InsertSource::Literals(_) => {}
            InsertSource::Query(query) => self.query(query),
        }
        for Assignment { value, .. } in &insert.on_duplicate {
            self.expr(value);
        }
    }

    pub fn update(&mut self, update: &Update) {
        let depth = self.ctes.len();
        self.with(update.with.as_ref());
        let first = self.uses.len();
        self.from(&update.tables, 0);
        let last = self.uses.len();
        let read = self.columns.len();
        for Assignment { value, .. } in &update.assignments {
            self.expr(value);
        }
        self.exprs(&update.filter);
        self.order(&update.order_by);
        let reads = self.columns.len() > read || last - first > 1;
        for assignment in &update.assignments {
            let qualifier = assignment.column.table.as_deref();
            for table in self.uses.get_mut(first..last).unwrap_or_default() {
                let name = table.alias.as_deref().unwrap_or(&table.table);
                if qualifier.is_none_or(|q| q.eq_ignore_ascii_case(name)) {
                    table.need |= UPDATE;
                    table.written.push(assignment.column.name.clone());
                }
            }
        }
        for table in self.uses.get_mut(first..last).unwrap_or_default().iter_mut().filter(|_| reads) {
            table.need |= SELECT;
        }
        self.ctes.truncate(depth);
    }

    pub fn delete(&mut self, delete: &Delete) {
        let depth = self.ctes.len();
        self.with(delete.with.as_ref());
        let first = self.uses.len();
        self.from(&delete.from, 0);
        let last = self.uses.len();
        let read = self.columns.len();
        self.exprs(&delete.filter);
        self.order(&delete.order_by);
        let reads = self.columns.len() > read || last - first > 1;
        for table in self.uses.get_mut(first..last).unwrap_or_default() {
            let name = table.alias.as_deref().unwrap_or(&table.table);
            if delete.targets.is_empty() || delete.targets.iter().any(|t| t.name.eq_ignore_ascii_case(name)) {
                table.need |= DELETE;
            }
            if reads {
                table.need |= SELECT;
            }
        }
        self.ctes.truncate(depth);
    }

    fn order(&mut self, order: &[OrderItem]) {
        self.exprs(order.iter().map(|item| &item.expr));
    }

    pub fn exprs<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) {
        for expr in exprs {
            self.expr(expr);
        }
    }

    pub fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Literal(_) | Expr::Param(_) | Expr::UserVar(_) | Expr::SysVar(_) | Expr::Values(_) | Expr::Default => {}
            Expr::Column(column) | Expr::DefaultOf(column) => self.columns.push(column.clone()),
            Expr::Assign { value: expr, .. }
            | Expr::Unary { expr, .. }
            | Expr::IsNull { expr, .. }
            | Expr::IsTruth { expr, .. }
            | Expr::Cast { expr, .. }
            | Expr::ConvertUsing { expr, .. }
            | Expr::Collate { expr, .. }
            | Expr::Extract { expr, .. }
            | Expr::GetFormat { format: expr, .. }
            | Expr::WeightString { expr, .. } => self.expr(expr),
            Expr::Binary { left, right, .. } => self.exprs([&**left, &**right]),
            Expr::Between { expr, low, high, .. } => self.exprs([&**expr, &**low, &**high]),
            Expr::InList { expr, list, .. } => self.exprs(list.iter().chain([&**expr])),
            Expr::InSubquery { expr, query, .. } | Expr::Quantified { left: expr, query, .. } => {
                self.expr(expr);
                self.query(query);
            }
            Expr::Like { expr, pattern, escape, .. } => self.exprs([&**expr, &**pattern].into_iter().chain(escape.as_deref())),
            Expr::Regexp { expr, pattern, .. } => self.exprs([&**expr, &**pattern]),
            Expr::MemberOf { value, array } => self.exprs([&**value, &**array]),
            Expr::Exists(query) => {
                // EXISTS (SELECT * ..) reads no column.
                let wildcard = self.wildcard;
                self.query(query);
                self.wildcard = wildcard;
            }
            Expr::Subquery(query) => self.query(query),
            Expr::Row(list) | Expr::Char { args: list, .. } => self.exprs(list),
            Expr::Case { operand, whens, otherwise } => {
                self.exprs(operand.as_deref().into_iter().chain(otherwise.as_deref()));
                self.exprs(whens.iter().flat_map(|(when, then)| [when, then]));
            }
            Expr::DateArith { date, value, .. } => self.exprs([&**date, &**value]),
            Expr::Func(call) => self.exprs(&call.args),
            Expr::Aggregate(call) => self.aggregate(call),
            Expr::Window(call) => self.window(call),
            Expr::Trim { remove, expr, .. } => self.exprs([&**expr].into_iter().chain(remove.as_deref())),
            Expr::TimestampAdd { amount, date, .. } => self.exprs([&**amount, &**date]),
            Expr::TimestampDiff { from, to, .. } => self.exprs([&**from, &**to]),
            Expr::MatchAgainst { columns, against, .. } => {
                self.columns.extend(columns.iter().cloned());
                self.expr(against);
            }
            Expr::JsonValue(json) => {
                self.expr(&json.doc);
                for on in [&json.on_empty, &json.on_error].into_iter().flatten() {
                    if let JsonOn::Default(expr) = on {
                        self.expr(expr);
                    }
                }
            }
        }
    }

    fn aggregate(&mut self, call: &AggregateCall) {
        self.exprs(&call.args);
        self.order(&call.order_by);
    }

    fn window(&mut self, call: &WindowCall) {
        match &call.func {
            WindowFunc::Aggregate(aggregate) => self.aggregate(aggregate),
            WindowFunc::RowNumber | WindowFunc::Rank | WindowFunc::DenseRank | WindowFunc::PercentRank | WindowFunc::CumeDist => {
            }
            WindowFunc::Ntile(expr) | WindowFunc::FirstValue { expr, .. } | WindowFunc::LastValue { expr, .. } => self.expr(expr),
            WindowFunc::Lead(LeadLag { expr, offset, default, .. }) | WindowFunc::Lag(LeadLag { expr, offset, default, .. }) => {
                self.exprs([expr].into_iter().chain(offset).chain(default));
            }
            WindowFunc::NthValue { expr, n, .. } => self.exprs([expr, n]),
        }
        if let WindowOver::Spec(spec) = &call.over {
            self.window_spec(spec);
        }
    }

    fn window_spec(&mut self, spec: &WindowSpec) {
        self.exprs(&spec.partition_by);
        self.order(&spec.order_by);
        let bounds = spec.frame.iter().flat_map(|frame| [Some(&frame.start), frame.end.as_ref()]).flatten();
        for bound in bounds {
            match bound {
                FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing | FrameBound::CurrentRow => {}
                FrameBound::Preceding(expr)
                | FrameBound::Following(expr)
                | FrameBound::PrecedingInterval(expr, _)
                | FrameBound::FollowingInterval(expr, _) => self.expr(expr),
            }
        }
    }
}
