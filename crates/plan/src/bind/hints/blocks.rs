//! The query blocks of a statement, with MySQL's numbers: in the order of the text, but those of a common table expression where it is named, for
//! each time. The hints of a block are read behind those of the blocks in it.

use vaquita_parser as ast;
use vaquita_types::limits::CTE_EXPANSIONS_MAX;
use vaquita_types::{Error, errno, stack};

use super::{Block, Hinted, Hints};

/// The hints, and warnings of those that are ignored. `is_view`: it is CREATE VIEW, of which few are kept. `in_program`: a stored program's.
pub(super) fn read(hinted: &Hinted<'_>, is_view: bool, in_program: bool) -> (Hints, Vec<Error>) {
    let reader = reader(hinted, is_view, in_program);
    (reader.hints, reader.warnings)
}

/// The variables of SET_VAR, each with its first value.
pub(super) fn variables(hinted: &Hinted<'_>) -> Vec<(String, ast::Expr)> {
    reader(hinted, false, false).set
}

fn reader<'s>(hinted: &Hinted<'s>, is_view: bool, in_program: bool) -> Reader<'s> {
    let mut reader = Reader {
        hints: Hints::default(),
        warnings: Vec::new(),
        ctes: Vec::new(),
        expansions: 0,
        is_view,
        resource_group: None,
        in_program,
        limits_time: matches!(hinted, Hinted::Query(_)) && !in_program,
        set: Vec::new(),
    };
    match hinted {
        Hinted::Query(query) => reader.query(query),
        Hinted::Insert(insert) => reader.insert(insert),
        Hinted::Update(update) => reader.update(update),
        Hinted::Delete(delete) => reader.delete(delete),
        Hinted::Scalar(expr) => {
            reader.new_block();
            reader.expr(expr);
        }
    }
    reader.warn_of_group();
    reader
}

pub(super) struct Reader<'s> {
    pub hints: Hints,
    pub warnings: Vec<Error>,
    /// Those that are visible, the innermost last.
    ctes: Vec<Cte<'s>>,
    expansions: usize,
    pub is_view: bool,
    pub in_program: bool,
    /// Variables of SET_VAR, each with its first value.
    pub set: Vec<(String, ast::Expr)>,
    pub resource_group: Option<String>,
    /// MAX_EXECUTION_TIME counts in the first block.
    pub limits_time: bool,
}

struct Cte<'s> {
    name: &'s str,
    /// None inside of itself.
    query: Option<&'s ast::Query>,
    recursive: bool,
}

impl<'s> Reader<'s> {
    /// There are no resource groups but those that every server has.
    fn warn_of_group(&mut self) {
        let is_own = |name: &&String| ["USR_default", "SYS_default"].iter().any(|own| own.eq_ignore_ascii_case(name));
        if let Some(name) = self.resource_group.as_ref().filter(|name| !is_own(name)) {
            self.warnings.push(Error::new(&errno::ER_RESOURCE_GROUP_NOT_EXISTS, &[name]));
        }
    }

    fn new_block(&mut self) -> usize {
        self.hints.blocks.push(Block::default());
        self.hints.blocks.len() - 1
    }

    /// A new block for this piece of syntax.
    fn block_of<T>(&mut self, syntax: &T) -> usize {
        let at = self.new_block();
        self.hints.of_syntax.entry(std::ptr::from_ref(syntax).cast()).or_default().0.push(at);
        at
    }

    fn insert(&mut self, insert: &'s ast::Insert) {
        let at = match &insert.source {
            ast::InsertSource::Query(query) => {
                self.query(query);
                0
            }
            ast::InsertSource::Values(rows) => {
                let at = self.block_of(insert);
                rows.iter().flatten().for_each(|value| self.expr(value));
                at
            }
            ast::InsertSource::Literals(_) => self.block_of(insert),
        };
        insert.on_duplicate.iter().for_each(|assignment| self.expr(&assignment.value));
        self.note(at, &insert.hints);
    }

    fn update(&mut self, update: &'s ast::Update) {
        self.with(update.with.as_ref());
        let at = self.block_of(update);
        update.tables.iter().for_each(|table| self.table(table));
        update.assignments.iter().for_each(|assignment| self.expr(&assignment.value));
        update.filter.iter().for_each(|filter| self.expr(filter));
        update.order_by.iter().for_each(|item| self.expr(&item.expr));
        self.note(at, &update.hints);
    }

    fn delete(&mut self, delete: &'s ast::Delete) {
        self.with(delete.with.as_ref());
        let at = self.block_of(delete);
        delete.from.iter().for_each(|table| self.table(table));
        delete.filter.iter().for_each(|filter| self.expr(filter));
        delete.order_by.iter().for_each(|item| self.expr(&item.expr));
        self.note(at, &delete.hints);
    }

    fn query(&mut self, query: &'s ast::Query) {
        let visible = self.ctes.len();
        self.with(query.with.as_ref());
        self.body(&query.body);
        query.order_by.iter().for_each(|item| self.expr(&item.expr));
        self.ctes.truncate(visible);
    }

    fn with(&mut self, with: Option<&'s ast::With>) {
        for cte in with.iter().flat_map(|with| &with.ctes) {
            let recursive = with.is_some_and(|with| with.recursive);
            self.ctes.push(Cte { name: &cte.name, query: Some(&cte.query), recursive });
        }
    }

    fn body(&mut self, body: &'s ast::QueryBody) {
        stack::deeper(|| match body {
            ast::QueryBody::Select(select) => self.select(select),
            ast::QueryBody::SetOp { left, right, .. } => {
                self.body(left);
                self.body(right);
            }
            ast::QueryBody::Values(rows) => {
                self.new_block();
                rows.iter().flatten().for_each(|value| self.expr(value));
            }
            ast::QueryBody::Table(name) => {
                self.new_block();
                self.name(name);
            }
            ast::QueryBody::Nested(query) => self.query(query),
        });
    }

    fn select(&mut self, select: &'s ast::Select) {
        let at = self.block_of(select);
        for item in &select.items {
            if let ast::SelectItem::Expr { expr, .. } = item {
                self.expr(expr);
            }
        }
        select.from.iter().for_each(|table| self.table(table));
        select.filter.iter().chain(&select.group_by).chain(&select.having).for_each(|expr| self.expr(expr));
        for (_, window) in &select.windows {
            window.queries(&mut |query| self.query(query));
        }
        self.note(at, &select.hints);
    }

    fn expr(&mut self, expr: &'s ast::Expr) {
        expr.queries(&mut |query| self.query(query));
    }

    fn table(&mut self, table: &'s ast::TableRef) {
        stack::deeper(|| match table {
            ast::TableRef::Table(factor) => self.name(&factor.name),
            ast::TableRef::Derived { query, .. } => self.query(query),
            ast::TableRef::JsonTable(table) => self.expr(&table.doc),
            ast::TableRef::List(tables) => tables.iter().for_each(|table| self.table(table)),
            ast::TableRef::Join(join) => {
                self.table(&join.left);
                self.table(&join.right);
                if let ast::JoinOn::On(condition) = &join.on {
                    self.expr(condition);
                }
            }
        });
    }

    /// The name of a table, or of a common table expression, which sees those before it only.
    fn name(&mut self, name: &'s ast::Name) {
        let is_named = |cte: &Cte<'_>| name.db.is_none() && cte.name == name.name;
        let Some(at) = self.ctes.iter().rposition(is_named) else { return };
        let Some(query) = self.ctes[at].query else { return };
        self.expansions += 1;
        if self.expansions > CTE_EXPANSIONS_MAX {
            return;
        }
        let behind = self.ctes.split_off(at);
        if let Some(Cte { name, recursive: true, .. }) = behind.first() {
            self.ctes.push(Cte { name, query: None, recursive: true });
        }
        self.query(query);
        self.ctes.truncate(at);
        self.ctes.extend(behind);
    }
}
