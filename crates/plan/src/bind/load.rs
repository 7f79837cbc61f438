//! LOAD DATA and LOAD XML.
//!
//! A row of the file is inserted as a row of VALUES would be: the frame is an INSERT's, and `LoadPlan::insert` says
//! what becomes of the row. Fields fill columns and user variables first, SET is evaluated over the new row.

use vaquita_parser as ast;
use vaquita_types::schema::TableRef;
use vaquita_types::{ColumnType, Error, Result, errno};

use super::through_view::Inserted;
use super::{Binder, PlanContext};
use crate::node::{Assignment, LoadPlan, LoadTarget, Plan};
use crate::uses::INSERT;

/// The plan of LOAD DATA; `fields_have_ends` is false for rows of fixed size.
pub fn plan_load(load: &ast::LoadData, fields_have_ends: bool, cx: &PlanContext<'_>) -> Result<LoadPlan> {
    // A variable that a field fills is a string, whatever it was before.
    let filled = |name: &str| {
        load.columns.iter().any(|target| matches!(target, ast::LoadTarget::UserVar(var) if var.eq_ignore_ascii_case(name)))
    };
    let text = ColumnType { length: 65_535, ..ColumnType::varchar(65_535, cx.settings.connection_collation) };
    let var_type = |name: &str| match (filled(name), cx.user_var_type) {
        (true, _) => Some(text.clone()),
        (false, Some(types)) => types(name),
        (false, None) => None,
    };
    let cx = PlanContext { user_var_type: Some(&var_type), ..*cx };
    Binder::new(&cx).load(load, fields_have_ends)
}

impl Binder<'_> {
    fn load(&mut self, load: &ast::LoadData, fields_have_ends: bool) -> Result<LoadPlan> {
        self.operation = "LOAD";
        let into = self.insert_target(&load.table, INSERT, None, false)?;
        let table = into.table.clone();
        if table.indexes.is_empty() {
            return Err(Error::new(&errno::ER_NON_INSERTABLE_TABLE, &[&table.name, &"LOAD"]));
        }
        let targets = self.load_targets(&load.columns, &into)?;
        if !fields_have_ends && targets.iter().any(|target| matches!(target, LoadTarget::UserVar(_))) {
            return Err(Error::new(&errno::ER_LOAD_FROM_FIXED_SIZE_ROWS_TO_VAR, &[]));
        }
        let assigned = load.set.iter().map(|a| self.position_of(&into, &a.column)).collect::<Result<Vec<_>>>()?;
        // As MySQL, SET of a generated column is left out.
        let is_given = |column: &usize| table.columns.get(*column).is_some_and(|column| column.generated.is_none());
        let mut given: Vec<usize> = Vec::new();
        let fields = targets.iter().filter_map(|target| match target {
            LoadTarget::Column(column) => Some(*column),
            LoadTarget::Generated(_) | LoadTarget::UserVar(_) => None,
        });
        for column in fields.chain(assigned.iter().copied().filter(is_given)) {
            if !given.contains(&column) {
                given.push(column);
            }
        }
        let insert = ast::Insert {
            replace: load.on_duplicate == ast::LoadDuplicate::Replace,
            hints: Vec::new(),
            hinted: false,
            priority: None,
            // The client has sent the file already: LOCAL goes on where others fail.
            ignore: load.on_duplicate == ast::LoadDuplicate::Ignore
                || load.local && load.on_duplicate == ast::LoadDuplicate::Error,
            table: load.table.clone(),
            partitions: load.partitions.clone(),
            columns: Some(Vec::new()),
            source: ast::InsertSource::Values(Vec::new()),
            row_alias: None,
            on_duplicate: Vec::new(),
        };
        let Plan::Insert(mut insert) = self.insert_into(&insert, &into, given)? else {
            return Err(Error::internal("LOAD DATA inserts"));
        };
        let relation = self.push_inserted_scope(&into, table.columns.len());
        let mut set = Vec::with_capacity(load.set.len());
        for (assignment, column) in load.set.iter().zip(assigned).filter(|(_, column)| is_given(column)) {
            set.push(Assignment { column, value: self.assigned(&assignment.value, &table, relation, column)? });
        }
        self.scopes.pop();
        insert.frame_width = insert.frame_width.max(self.frame().width);
        insert.tables.append(&mut self.tables);
        let names = match load.columns.as_slice() {
            [] => table_names(&targets, &table),
            written => written.iter().map(written_name).collect(),
        };
        let xml_rows = load.xml.then(|| load.rows_identified_by.clone().unwrap_or_else(|| b"<row>".to_vec()));
        Ok(LoadPlan { insert, targets, names, xml_rows, set, ignore_lines: load.ignore_lines })
    }

    fn load_targets(&mut self, written: &[ast::LoadTarget], into: &Inserted) -> Result<Vec<LoadTarget>> {
        if written.is_empty() {
            let columns = self.insert_columns(into, None)?;
            return Ok(columns.into_iter().map(|column| load_column(column, &into.table)).collect());
        }
        let target = |target: &ast::LoadTarget| match target {
            ast::LoadTarget::Column(name) => self.position_of(into, name).map(|column| load_column(column, &into.table)),
            ast::LoadTarget::UserVar(name) => Ok(LoadTarget::UserVar(name.clone())),
        };
        written.iter().map(target).collect()
    }
}

fn written_name(target: &ast::LoadTarget) -> String {
    match target {
        ast::LoadTarget::Column(column) => column.name.clone(),
        ast::LoadTarget::UserVar(name) => name.clone(),
    }
}

fn table_names(targets: &[LoadTarget], table: &TableRef) -> Vec<String> {
    let name = |column: usize| table.columns.get(column).map_or_else(String::new, |column| column.name.clone());
    let of = |target: &LoadTarget| match target {
        LoadTarget::Column(column) | LoadTarget::Generated(column) => name(*column),
        LoadTarget::UserVar(name) => name.clone(),
    };
    targets.iter().map(of).collect()
}

fn load_column(column: usize, table: &TableRef) -> LoadTarget {
    let is_generated = table.columns.get(column).is_some_and(|column| column.generated.is_some());
    if is_generated { LoadTarget::Generated(column) } else { LoadTarget::Column(column) }
}
