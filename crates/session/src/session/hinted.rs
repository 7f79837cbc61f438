//! SET_VAR of optimizer hints: variables that have another value for one statement.
//!
//! They are set before the statement is planned, wherever in it the hint stands, and have their old values again when it has ended. What SET
//! would refuse is a warning here, and the hint is ignored.

use vaquita_parser::Statement as Ast;
use vaquita_parser::ast::{ExplainTarget, Expr, Literal, VarScope};
use vaquita_plan::bind::Hinted;
use vaquita_plan::env::Level;
use vaquita_types::errno::{
    ER_NOT_HINT_UPDATABLE_VARIABLE, ER_NOT_SUPPORTED_YET, ER_UNRESOLVED_HINT_NAME, ER_WRONG_TYPE_FOR_VAR,
};
use vaquita_types::{Error, Result, Value};

use super::Session;
use super::set::{Assignment, SetRules};
use crate::accounts::binds;
use crate::variables::{Def, Var, registry};

/// The variables that MySQL sets for a hint, of those that there are here.
const HINTABLE: [&str; 53] = [
    "auto_increment_increment",
    "auto_increment_offset",
    "big_tables",
    "bulk_insert_buffer_size",
    "cte_max_recursion_depth",
    "default_table_encryption",
    "default_tmp_storage_engine",
    "div_precision_increment",
    "enable_secondary_engine_statistics",
    "end_markers_in_json",
    "eq_range_index_dive_limit",
    "foreign_key_checks",
    "group_concat_max_len",
    "insert_id",
    "internal_tmp_mem_storage_engine",
    "join_buffer_size",
    "lock_wait_timeout",
    "max_error_count",
    "max_execution_time",
    "max_heap_table_size",
    "max_join_size",
    "max_length_for_sort_data",
    "max_points_in_geometry",
    "max_seeks_for_key",
    "max_sort_length",
    "optimizer_max_subgraph_pairs",
    "optimizer_prune_level",
    "optimizer_search_depth",
    "optimizer_switch",
    "range_alloc_block_size",
    "range_optimizer_max_mem_size",
    "read_buffer_size",
    "read_rnd_buffer_size",
    "select_into_buffer_size",
    "select_into_disk_sync",
    "select_into_disk_sync_delay",
    "set_operations_buffer_size",
    "sort_buffer_size",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_buffer_result",
    "sql_mode",
    "sql_require_primary_key",
    "sql_safe_updates",
    "sql_select_limit",
    "time_zone",
    "timestamp",
    "tmp_table_size",
    "unique_checks",
    "updatable_views_with_limit",
    "use_secondary_engine",
    "windowing_use_high_precision",
    "xa_detach_on_prepare",
];

impl Session {
    /// Sets what the statement's hints name, until `restore_hinted`. Error 1235 for a value that would change the statement and is not
    /// supported.
    #[inline]
    pub(super) fn set_hinted(&mut self, ast: &Ast) -> Result<()> {
        let variables = variables(ast);
        if variables.is_empty() { Ok(()) } else { self.set_variables(variables) }
    }

    /// As `set_hinted`.
    pub(super) fn set_variables(&mut self, variables: Vec<(String, Expr)>) -> Result<()> {
        for (def, value) in checked(variables, &self.set_rules())? {
            if self.env.set_id(def, &value) {
                continue;
            }
            self.hinted.push((def, self.env.settings.get(def)));
            self.assign_hinted(def, value);
        }
        Ok(())
    }

    /// How many are set.
    #[inline]
    pub(super) fn hinted(&self) -> usize {
        self.hinted.len()
    }

    /// All behind the first `kept` have the values again that they had.
    #[inline]
    pub(super) fn restore_hinted(&mut self, kept: usize) {
        while self.hinted.len() > kept
            && let Some((def, value)) = self.hinted.pop()
        {
            self.assign_hinted(def, value);
        }
    }

    fn assign_hinted(&mut self, def: &'static Def, value: Value) {
        self.env.settings.set(def, value);
        if def.var == Some(Var::Timestamp) {
            self.env.set_statement_time(self.env.settings.timestamp_us);
        }
    }
}

/// The variables that the hints of a statement set, each with its first value.
#[inline]
pub(super) fn variables(ast: &Ast) -> Vec<(String, Expr)> {
    match ast {
        Ast::Query(query) => Hinted::Query(query).variables(),
        Ast::Insert(insert) => Hinted::Insert(insert).variables(),
        Ast::Update(update) => Hinted::Update(update).variables(),
        Ast::Delete(delete) => Hinted::Delete(delete).variables(),
        other => variables_of_other(other),
    }
}

fn variables_of_other(ast: &Ast) -> Vec<(String, Expr)> {
    if let Ast::Explain(explain) = ast {
        return match &explain.target {
            ExplainTarget::Statement { statement, .. } => variables(statement),
            ExplainTarget::Connection(_) => Vec::new(),
        };
    }
    let query = binds::query(ast).map(Hinted::Query);
    query.into_iter().chain(binds::scalars(ast).into_iter().map(Hinted::Scalar)).flat_map(|hinted| hinted.variables()).collect()
}

/// What is set, as SET would check it.
pub(super) fn checked(variables: Vec<(String, Expr)>, rules: &SetRules<'_>) -> Result<Vec<(&'static Def, Value)>> {
    let mut set = Vec::new();
    for (name, value) in variables {
        match assignment(&name, &value, rules) {
            Ok(assignment) => set.push(assignment),
            Err(error) if error.is(&ER_NOT_SUPPORTED_YET) => return Err(error),
            Err(error) => rules.env.push_warning(Level::Warning, error),
        }
    }
    Ok(set)
}

fn assignment(name: &str, value: &Expr, rules: &SetRules<'_>) -> Result<(&'static Def, Value)> {
    let def =
        registry().find(name).ok_or_else(|| Error::new(&ER_UNRESOLVED_HINT_NAME, &[&format_args!("'{name}'"), &"SET_VAR"]))?;
    if !HINTABLE.contains(&def.name) {
        return Err(Error::new(&ER_NOT_HINT_UPDATABLE_VARIABLE, &[&format_args!("'{name}'")]));
    }
    let wrong = || Error::new(&ER_WRONG_TYPE_FOR_VAR, &[&def.name]);
    let given = match value {
        Expr::Literal(Literal::Int(n)) => Value::UInt(*n),
        Expr::Literal(Literal::String(text)) => {
            with_unit(&text.bytes).map_or_else(|| Value::from(text.bytes.clone()), Value::UInt)
        }
        _ => return Err(wrong()),
    };
    match rules.check(def, VarScope::Session, Some(given))? {
        Assignment::Session { def, value } => Ok((def, value)),
        _ => Err(wrong()),
    }
}

/// `16M` is 16,777,216.
fn with_unit(text: &[u8]) -> Option<u64> {
    let (unit, digits) = text.split_last()?;
    let shift = 10 * (1 + b"KMG".iter().position(|other| other == unit)?);
    let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    number.checked_mul(1 << shift)
}
