//! Printing queries, as a view's definition needs them. Names are not completed.

use super::Printer;
use vaquita_types::stack;

use crate::ast::*;

impl Printer<'_> {
    pub(super) fn query(&mut self, query: &Query) {
        let outputs = self.view.as_mut().map(|view| std::mem::take(&mut view.outputs));
        self.query_alone(query);
        if let (Some(view), Some(outputs)) = (&mut self.view, outputs) {
            view.outputs = outputs;
        }
    }

    fn query_alone(&mut self, query: &Query) {
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
        if self.view.is_none() {
            query.locks.iter().for_each(|lock| self.lock(lock));
        }
    }

    fn with(&mut self, with: &With) {
        // Hints stand in the query behind.
        let hints = self.view.as_mut().map(|view| std::mem::take(&mut view.hints));
        self.common_tables(with);
        if let (Some(view), Some(hints)) = (&mut self.view, hints) {
            view.hints = hints;
        }
    }

    fn common_tables(&mut self, with: &With) {
        let names = self.view.as_ref().and_then(|view| view.names);
        // What nothing reads was not bound: nobody knows what its names mean.
        let read = with.ctes.iter().filter(|cte| names.is_none_or(|names| names.is_read(&cte.query)));
        for (i, cte) in read.enumerate() {
            self.put(match i {
                0 if with.recursive => "with recursive ",
                0 => "with ",
                _ => ", ",
            });
            self.ident(&cte.name);
            if !cte.columns.is_empty() {
                self.put(" ");
                self.idents(&cte.columns);
            }
            self.put(" as (");
            self.with_names(|p| p.query(&cte.query));
            self.put(")");
        }
        if with.ctes.iter().any(|cte| names.is_none_or(|names| names.is_read(&cte.query))) {
            self.put(" ");
        }
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
                self.name_outputs();
                let outputs = self.view.as_mut().map(|view| std::mem::take(&mut view.outputs));
                self.put(match op {
                    SetOp::Union => " union ",
                    SetOp::Intersect => " intersect ",
                    SetOp::Except => " except ",
                });
                if *all {
                    self.put("all ");
                }
                self.operand(*op, right, *op == SetOp::Union);
                if let (Some(view), Some(outputs)) = (&mut self.view, outputs) {
                    view.outputs = outputs;
                }
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

    /// Runs `print` for a query whose columns have names.
    fn with_names(&mut self, print: impl FnOnce(&mut Self)) {
        let before = self.view.as_mut().map(|view| std::mem::take(&mut view.in_expression));
        print(self);
        if let (Some(view), Some(before)) = (&mut self.view, before) {
            view.in_expression = before;
        }
    }

    /// Behind a set operation its columns go by their names.
    fn name_outputs(&mut self) {
        for output in self.view.iter_mut().flat_map(|view| &mut view.outputs) {
            output.text = super::quote_ident(&output.name);
            output.is_column = false;
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
        self.hints(&select.hints);
        let options = &select.options;
        for (set, word) in [
            (options.straight_join, "straight_join "),
            (options.distinct, "distinct "),
            (options.high_priority, "high_priority "),
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
        if let Some(view) = &mut self.view {
            view.outputs.clear();
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
            for (i, expr) in select.group_by.iter().enumerate() {
                self.put(if i > 0 { "," } else { "" });
                self.order_expr(expr);
            }
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

    /// Of a view that is defined those that it keeps, in the first SELECT; of one that is there those that it has.
    fn hints(&mut self, hints: &[Hint]) {
        let Some(view) = &mut self.view else { return };
        let kept = match view.names {
            Some(_) => std::mem::take(&mut view.hints).to_string(),
            None => hints.iter().filter_map(index_use).collect::<Vec<_>>().join(" "),
        };
        if !kept.is_empty() {
            self.put(&format!("/*+ {kept} */ "));
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
            list if self.view.is_some() => {
                for (i, table) in list.iter().enumerate() {
                    self.put(if i > 0 { " join " } else { " from " });
                    self.table(table);
                }
            }
            list => {
                self.put(" from ");
                self.table_list(list);
            }
        }
    }

    /// A comma list, which MySQL prints as joins.
    fn table_list(&mut self, list: &[TableRef]) {
        if self.view.is_some() && list.len() == 1 {
            return self.table(&list[0]);
        }
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
        let columns = self.view.as_ref().and_then(|view| view.names).and_then(|names| names.star(item));
        match (item, columns) {
            (_, Some(columns)) => {
                for (i, (text, name)) in columns.into_iter().enumerate() {
                    if i > 0 {
                        self.put(",");
                    }
                    self.put(&text);
                    self.item_name(&name, text, true, false);
                }
            }
            (SelectItem::Wildcard, _) => self.put("*"),
            (SelectItem::TableWildcard(name), _) => {
                self.name(name);
                self.put(".*");
            }
            (SelectItem::Expr { expr, alias, source_text }, _) => {
                let start = self.out.len();
                self.expr(expr);
                let text = self.out[start..].to_string();
                let name = alias.as_deref().unwrap_or(source_text);
                self.item_name(name, text, matches!(expr, Expr::Column(_)), alias.is_some());
            }
        }
    }

    /// In the subquery of an expression only a name that was written: its HAVING and ORDER BY may use it.
    fn item_name(&mut self, name: &str, text: String, is_column: bool, is_written: bool) {
        let named = match &mut self.view {
            Some(view) => {
                view.outputs.push(super::Output { name: name.to_string(), text, is_column });
                view.in_expression == 0 || is_written
            }
            None => true,
        };
        if named {
            self.put(" AS ");
            self.ident(name);
        }
    }

    /// An expression of GROUP BY or ORDER BY: in a view a position is the expression there.
    fn order_expr(&mut self, expr: &Expr) {
        let at = match expr {
            Expr::Literal(Literal::Int(n)) => usize::try_from(*n).ok().and_then(|n| n.checked_sub(1)),
            _ => None,
        };
        let text = at.and_then(|at| self.view.as_ref()?.outputs.get(at).map(|output| output.text.clone()));
        match text {
            Some(text) => self.put(&text),
            None => self.expr(expr),
        }
    }

    pub(super) fn order_items(&mut self, items: &[OrderItem], upper: bool) {
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.put(",");
            }
            match upper {
                true => self.expr(&item.expr),
                false => self.order_expr(&item.expr),
            }
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
                self.with_names(|p| p.query(query));
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
        if let Some(database) = self.view.as_ref().and_then(|view| view.names).and_then(|names| names.database(factor)) {
            self.ident(&database);
            self.put(".");
            self.ident(&factor.name.name);
        } else {
            self.name(&factor.name);
        }
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

    /// As a view has it: RIGHT JOIN with its sides exchanged, USING and NATURAL as conditions.
    fn join_of_view(&mut self, join: &Join) {
        let (left, right) = if join.kind == JoinKind::Right { (&join.right, &join.left) } else { (&join.left, &join.right) };
        self.put("(");
        self.table(left);
        self.put(match join.kind {
            JoinKind::Inner => " join ",
            JoinKind::Straight => " straight_join ",
            JoinKind::Left | JoinKind::Right => " left join ",
        });
        self.table(right);
        let pairs = self.view.as_ref().and_then(|view| view.names).and_then(|names| names.joined(join)).unwrap_or_default();
        let pairs: Vec<String> = pairs.iter().map(|(a, b)| format!("({a} = {b})")).collect();
        match (&join.on, &pairs[..]) {
            (JoinOn::On(condition), _) => {
                self.put(" on(");
                self.expr(condition);
                self.put(")");
            }
            (_, []) => {}
            (_, [only]) => self.put(&format!(" on({only})")),
            (_, pairs) => self.put(&format!(" on(({}))", pairs.join(" and "))),
        }
        self.put(")");
    }

    fn join(&mut self, join: &Join) {
        if self.view.is_some() {
            return self.join_of_view(join);
        }
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
        self.text(&json.path);
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
                    self.text(path);
                    self.json_on(on_empty.as_ref(), " on empty");
                    self.json_on(on_error.as_ref(), " on error");
                }
                JsonTableColumn::Nested { path, columns } => {
                    self.put("nested path ");
                    self.text(path);
                    self.put(" columns (");
                    self.json_columns(columns);
                    self.put(")");
                }
            }
        }
    }

    pub(super) fn json_on(&mut self, on: Option<&JsonOn>, when: &str) {
        match on {
            None => return,
            Some(JsonOn::Error) => self.put(" error"),
            Some(JsonOn::Null) => self.put(" null"),
            Some(JsonOn::Default(value)) => {
                self.put(" default ");
                self.signed_literal(value);
            }
        }
        self.put(when);
    }

    /// A number with its sign is a literal here, which stands without parentheses.
    fn signed_literal(&mut self, value: &Expr) {
        match value {
            Expr::Unary { op: UnaryOp::Neg, expr } => {
                self.put("-");
                self.expr(expr);
            }
            _ => self.expr(value),
        }
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

/// The hint as a view's text has it.
fn index_use(hint: &Hint) -> Option<String> {
    let Hint::Plan(hint) = hint else { return None };
    let table = hint.tables.first()?;
    let block = table.block.as_ref().map_or_else(String::new, |block| format!("@{}", super::quote_ident(block)));
    let indexes: Vec<String> = hint.indexes.iter().map(|index| super::quote_ident(index)).collect();
    let space = if indexes.is_empty() { "" } else { " " };
    Some(format!("{}({}{block}{space}{})", hint.kind.name(hint.on), super::quote_ident(&table.name), indexes.join(", ")))
}
