//! Printing queries, as a view's definition needs them. Names are not completed.

use super::Printer;
use vaquita_types::stack;

use crate::ast::*;

impl Printer<'_> {
    pub(super) fn query(&mut self, query: &Query) {
        if let Some(with) = &query.with {
            self.with(with);
        }
        self.body(&query.body);
        if !query.order_by.is_empty() {
            self.put(" order by ");
            self.order_items(&query.order_by, false);
        }
        if let Some(limit) = &query.limit {
            self.put(" limit ");
            if let Some(offset) = &limit.offset {
                self.expr(offset);
                self.put(",");
            }
            self.expr(&limit.count);
        }
        for lock in &query.locks {
            self.lock(lock);
        }
    }

    fn with(&mut self, with: &With) {
        self.put(if with.recursive { "with recursive " } else { "with " });
        for (i, cte) in with.ctes.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            self.ident(&cte.name);
            if !cte.columns.is_empty() {
                self.put(" ");
                self.idents(&cte.columns);
            }
            self.put(" as (");
            self.query(&cte.query);
            self.put(")");
        }
        self.put(" ");
    }

    /// `(a,b)`
    fn idents(&mut self, names: &[String]) {
        self.put("(");
        for (i, name) in names.iter().enumerate() {
            if i > 0 {
                self.put(",");
            }
            self.ident(name);
        }
        self.put(")");
    }

    fn lock(&mut self, lock: &LockClause) {
        self.put(match lock.strength {
            LockStrength::Share => " for share",
            LockStrength::Update => " for update",
        });
        for (i, table) in lock.of.iter().enumerate() {
            self.put(if i == 0 { " of " } else { "," });
            self.name(table);
        }
        self.put(match lock.wait {
            LockWait::Wait => "",
            LockWait::NoWait => " nowait",
            LockWait::SkipLocked => " skip locked",
        });
    }

    fn body(&mut self, body: &QueryBody) {
        stack::deeper(|| self.any_body(body));
    }

    fn any_body(&mut self, body: &QueryBody) {
        match body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::SetOp { op, all, left, right } => {
                self.operand(*op, left, true);
                self.put(match op {
                    SetOp::Union => " union ",
                    SetOp::Intersect => " intersect ",
                    SetOp::Except => " except ",
                });
                if *all {
                    self.put("all ");
                }
                self.operand(*op, right, *op == SetOp::Union);
            }
            QueryBody::Values(rows) => {
                self.put("values ");
                for (i, row) in rows.iter().enumerate() {
                    self.put(if i == 0 { "row(" } else { ",row(" });
                    self.list(row);
                    self.put(")");
                }
            }
            QueryBody::Table(name) => {
                self.put("table ");
                self.name(name);
            }
            QueryBody::Nested(query) => {
                self.put("(");
                self.query(query);
                self.put(")");
            }
        }
    }

    /// An operand of a set operation; another set operation inside needs parentheses unless it
    /// is the same one, printed in order.
    fn operand(&mut self, outer: SetOp, body: &QueryBody, in_order: bool) {
        match body {
            QueryBody::SetOp { op, .. } if !(in_order && *op == outer) => {
                self.put("(");
                self.body(body);
                self.put(")");
            }
            _ => self.body(body),
        }
    }

    fn select(&mut self, select: &Select) {
        self.put("select ");
        let options = &select.options;
        for (set, word) in [
            (options.distinct, "distinct "),
            (options.high_priority, "high_priority "),
            (options.straight_join, "straight_join "),
            (options.small_result, "sql_small_result "),
            (options.big_result, "sql_big_result "),
            (options.buffer_result, "sql_buffer_result "),
            (options.calc_found_rows, "sql_calc_found_rows "),
            (options.no_cache, "sql_no_cache "),
        ] {
            if set {
                self.put(word);
            }
        }
        for (i, item) in select.items.iter().enumerate() {
            if i > 0 {
                self.put(",");
            }
            self.item(item);
        }
        self.tables(select);
        if let Some(filter) = &select.filter {
            self.put(" where ");
            self.expr(filter);
        }
        if !select.group_by.is_empty() {
            self.put(" group by ");
            self.list(&select.group_by);
            if select.rollup {
                self.put(" with rollup");
            }
        }
        if let Some(having) = &select.having {
            self.put(" having ");
            self.expr(having);
        }
        for (i, (name, spec)) in select.windows.iter().enumerate() {
            self.put(if i == 0 { " window " } else { ", " });
            self.ident(name);
            self.put(" AS ");
            self.window_spec(spec);
        }
    }

    fn tables(&mut self, select: &Select) {
        match select.from.as_slice() {
            [] if select.has_from => self.put(" from DUAL "),
            [] => {}
            [only] => {
                self.put(" from ");
                self.table(only);
            }
            list => {
                self.put(" from ");
                self.table_list(list);
            }
        }
    }

    /// A comma list, which MySQL prints as joins.
    fn table_list(&mut self, list: &[TableRef]) {
        for _ in 1..list.len() {
            self.put("(");
        }
        for (i, table) in list.iter().enumerate() {
            if i > 0 {
                self.put(" join ");
            }
            self.table(table);
            if i > 0 {
                self.put(")");
            }
        }
    }

    fn item(&mut self, item: &SelectItem) {
        match item {
            SelectItem::Wildcard => self.put("*"),
            SelectItem::TableWildcard(name) => {
                self.name(name);
                self.put(".*");
            }
            SelectItem::Expr { expr, alias, source_text } => {
                self.expr(expr);
                self.put(" AS ");
                self.ident(alias.as_deref().unwrap_or(source_text));
            }
        }
    }

    pub(super) fn order_items(&mut self, items: &[OrderItem], upper: bool) {
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.put(",");
            }
            self.expr(&item.expr);
            match (item.desc, upper) {
                (true, true) => self.put(" DESC"),
                (true, false) => self.put(" desc"),
                (false, true) => self.put(" ASC"),
                (false, false) => {}
            }
        }
    }

    fn table(&mut self, table: &TableRef) {
        stack::deeper(|| self.any_table(table));
    }

    fn any_table(&mut self, table: &TableRef) {
        match table {
            TableRef::Table(factor) => self.factor(factor),
            TableRef::Derived { query, lateral, alias, columns } => {
                self.put(if *lateral { "lateral (" } else { "(" });
                self.query(query);
                self.put(")");
                if let Some(alias) = alias {
                    self.put(" ");
                    self.ident(alias);
                }
                if !columns.is_empty() {
                    self.put(" ");
                    self.idents(columns);
                }
            }
            TableRef::JsonTable(json) => self.json_table(json),
            TableRef::Join(join) => self.join(join),
            TableRef::List(list) => self.table_list(list),
        }
    }

    fn factor(&mut self, factor: &TableFactor) {
        self.name(&factor.name);
        if !factor.partitions.is_empty() {
            self.put(" PARTITION ");
            self.idents(&factor.partitions);
        }
        if let Some(alias) = &factor.alias {
            self.put(" ");
            self.ident(alias);
        }
        for hint in &factor.index_hints {
            self.put(match hint.kind {
                IndexHintKind::Use => " USE INDEX ",
                IndexHintKind::Force => " FORCE INDEX ",
                IndexHintKind::Ignore => " IGNORE INDEX ",
            });
            self.put(match hint.scope {
                IndexHintScope::All => "",
                IndexHintScope::Join => "FOR JOIN ",
                IndexHintScope::OrderBy => "FOR ORDER BY ",
                IndexHintScope::GroupBy => "FOR GROUP BY ",
            });
            self.idents(&hint.indexes);
        }
    }

    fn join(&mut self, join: &Join) {
        self.put("(");
        self.table(&join.left);
        let natural = join.on == JoinOn::Natural;
        self.put(match (natural, join.kind) {
            (false, JoinKind::Inner) => " join ",
            (false, JoinKind::Straight) => " straight_join ",
            (false, JoinKind::Left) => " left join ",
            (false, JoinKind::Right) => " right join ",
            (true, JoinKind::Left) => " natural left join ",
            (true, JoinKind::Right) => " natural right join ",
            (true, _) => " natural join ",
        });
        self.table(&join.right);
        match &join.on {
            JoinOn::On(condition) => {
                self.put(" on(");
                self.expr(condition);
                self.put(")");
            }
            JoinOn::Using(columns) => {
                self.put(" using ");
                self.idents(columns);
            }
            JoinOn::None | JoinOn::Natural => {}
        }
        self.put(")");
    }

    fn json_table(&mut self, json: &JsonTable) {
        self.put("json_table(");
        self.expr(&json.doc);
        self.put(", ");
        self.string(&json.path, self.style.charset);
        self.put(" columns (");
        self.json_columns(&json.columns);
        self.put("))");
        if let Some(alias) = &json.alias {
            self.put(" ");
            self.ident(alias);
        }
    }

    fn json_columns(&mut self, columns: &[JsonTableColumn]) {
        for (i, column) in columns.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            match column {
                JsonTableColumn::Ordinality(name) => {
                    self.ident(name);
                    self.put(" for ordinality");
                }
                JsonTableColumn::Path { name, ty, collation, exists, path, on_empty, on_error } => {
                    self.ident(name);
                    self.put(" ");
                    self.data_type(ty);
                    if let Some(collation) = collation {
                        self.put(" collate ");
                        self.put(collation);
                    }
                    self.put(if *exists { " exists path " } else { " path " });
                    self.string(path, self.style.charset);
                    self.json_on(on_empty.as_ref(), " on empty");
                    self.json_on(on_error.as_ref(), " on error");
                }
                JsonTableColumn::Nested { path, columns } => {
                    self.put("nested path ");
                    self.string(path, self.style.charset);
                    self.put(" columns (");
                    self.json_columns(columns);
                    self.put(")");
                }
            }
        }
    }

    fn json_on(&mut self, on: Option<&JsonOn>, when: &str) {
        match on {
            None => return,
            Some(JsonOn::Error) => self.put(" error"),
            Some(JsonOn::Null) => self.put(" null"),
            Some(JsonOn::Default(value)) => {
                self.put(" default ");
                self.expr(value);
            }
        }
        self.put(when);
    }

    fn data_type(&mut self, ty: &DataType) {
        let name = format!("{:?}", ty.name).to_ascii_lowercase();
        self.put(&name);
        if let Some(length) = ty.length {
            let scale = ty.scale.map_or(String::new(), |s| format!(",{s}"));
            self.put(&format!("({length}{scale})"));
        }
        for (set, word) in [(ty.unsigned, " unsigned"), (ty.zerofill, " zerofill")] {
            if set {
                self.put(word);
            }
        }
        if let Some(charset) = &ty.charset {
            self.put(" character set ");
            self.put(charset);
        }
    }
}
