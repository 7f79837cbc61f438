//! ALTER TABLE of partitions, and what other ALTERs may not do to a partitioned table.
//!
//! | action | what happens |
//! |---|---|
//! | ADD (RANGE, LIST), DROP, TRUNCATE, EXCHANGE (`exchange`) | one commit of the catalog, whatever the partitions hold |
//! | REORGANIZE, REBUILD | the rows of the named partitions are copied to new ones |
//! | ADD and COALESCE (HASH, KEY), PARTITION BY, REMOVE PARTITIONING | all rows are copied |
//! | ANALYZE, CHECK, OPTIMIZE, REPAIR | as of the table, with MySQL's rows |
//!
//! While rows are copied others read, and writers wait.

use std::collections::BTreeSet;
use std::sync::Arc;

use vaquita_parser::ast::{AlterTable, MaintenanceKind, PartitionAction, PartitionNames};
use vaquita_plan::partition::{PartitionFunction, PartitionLevel};
use vaquita_storage::{AlterContext, RowChange, Table};
use vaquita_types::errno::*;
use vaquita_types::schema::{ColumnDef, PartitionDef, PartitionKey, PartitionValues, TableDef};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};

use super::algorithm::Way;
use super::branches::{Branch, branches, forget_ids, set_branches};
use super::partition_values::{bound_types, check_names, is_before};
use super::partitions::{check_keys, check_level, sliced};
use super::{Ddl, Outcome};

/// What an action makes of the partitions.
enum Change {
    /// Partitions come empty and go whole.
    Whole(Vec<Branch>),
    /// Rows of those that do not stay are copied.
    Copy(Vec<Branch>),
}

impl Ddl<'_> {
    pub(super) fn alter_partitions(
        &self,
        alter: &AlterTable,
        way: Way,
        action: &PartitionAction,
        old: &Arc<Table>,
    ) -> Result<Outcome> {
        if let Some((kind, names)) = maintenance(action) {
            return self.maintain_partitions(kind, names, old);
        }
        if !old.def.is_partitioned() {
            return Err(Error::new(&ER_PARTITION_MGMT_ON_NONPARTITIONED, &[]));
        }
        if alter.algorithm.as_deref().is_some_and(|given| given.eq_ignore_ascii_case("INSTANT")) {
            return Err(Error::unsupported("ALGORITHM=INSTANT of an action on partitions"));
        }
        let mut new = (*old.def).clone();
        let change = self.changed_partitions(action, &mut new, &old.def)?;
        let (Change::Whole(branches) | Change::Copy(branches)) = &change;
        if let Some(by) = new.partitioning_mut() {
            set_branches(by, branches.clone())?;
        }
        self.check_partitions(&new)?;
        match change {
            Change::Whole(_) => drop(self.catalog.change_partitions(old, new, &self.context)?),
            Change::Copy(_) => drop(self.copy_to_partitions(old, new, way)?),
        }
        match action {
            PartitionAction::Truncate(_) => Ok(Outcome::affected(0)),
            _ => Ok(Outcome::records(0, self.session.warning_count())),
        }
    }

    /// Copies what has to move from the old partitions to the new ones; returns how many rows.
    pub(super) fn copy_to_partitions(&self, old: &Arc<Table>, new: TableDef, way: Way) -> Result<u64> {
        let partition = self.partition_of_rows(&new)?;
        let context = AlterContext {
            auto_increment: &|_| Ok(None),
            lock: way.table_lock(),
            validation: None,
            partition: Some(&*partition),
            ddl: &self.context,
        };
        let (_, copied) = self.catalog.alter_table_with(old, new, RowChange::Keep, &context)?;
        Ok(copied)
    }

    /// The number of the partition of a row as it is stored.
    pub(super) fn partition_of_rows(&self, def: &TableDef) -> Result<Box<dyn Fn(&[Value]) -> Result<usize> + '_>> {
        let function = match def.is_partitioned() {
            true => Some(self.function(def)?),
            false => None,
        };
        let generator = self.generator(def)?;
        let reads_computed = function.as_ref().is_some_and(|f| f.columns.iter().any(|at| !def.columns[*at].is_in_row()));
        Ok(Box::new(move |row: &[Value]| match &function {
            None => Ok(0),
            Some(function) if reads_computed => {
                let mut row = row.to_vec();
                generator.fill(&mut row)?;
                function.partition_of(&row)
            }
            Some(function) => function.partition_of(row),
        }))
    }

    fn changed_partitions(&self, action: &PartitionAction, new: &mut TableDef, old: &TableDef) -> Result<Change> {
        let Some(by) = old.partitioning.clone() else { return Err(Error::internal("a table without partitions")) };
        let mut branches = branches(&by);
        let (method, count) = (by.method, branches.len());
        let is_sliced = method.is_hash() || method.is_key();
        let all_new = |mut branches: Vec<Branch>| {
            branches.iter_mut().for_each(Branch::renew);
            Ok(Change::Copy(branches))
        };
        match action {
            PartitionAction::Add(list) => {
                let ends = by.first_level().last().is_some_and(|last| is_open(&last.values));
                let added = self.elements_of(list, &self.function(old)?.first, old)?;
                lists_subpartitions(new, &added, &ER_ADD_PARTITION_SUBPART_ERROR)?;
                if ends && !by.has_columns() {
                    return Err(Error::new(&ER_PARTITION_MAXVALUE_ERROR, &[]));
                }
                branches.extend(added);
                if !is_sliced {
                    return Ok(Change::Whole(branches));
                }
                // What is named is printed name by name.
                if let Some(by) = new.partitioning_mut() {
                    (by.listed, by.counted) = (true, false);
                }
                all_new(branches)
            }
            PartitionAction::AddCount(_) if !is_sliced => {
                Err(Error::new(&ER_PARTITIONS_MUST_BE_DEFINED_ERROR, &[&method.name()]))
            }
            PartitionAction::AddCount(0) => Err(Error::new(&ER_ADD_PARTITION_NO_NEW_PARTITION, &[])),
            PartitionAction::AddCount(added) => {
                if *added > vaquita_types::limits::PARTITIONS_MAX as u64 {
                    return Err(Error::new(&ER_TOO_MANY_PARTITIONS_ERROR, &[]));
                }
                if let Some(by) = new.partitioning_mut() {
                    by.counted = !by.listed;
                }
                branches.extend((count..count + *added as usize).map(|n| Branch::of(sliced(n))));
                all_new(branches)
            }
            PartitionAction::Coalesce(_) if !is_sliced => Err(Error::new(&ER_COALESCE_ONLY_ON_HASH_PARTITION, &[])),
            PartitionAction::Coalesce(0) => Err(Error::new(&ER_COALESCE_PARTITION_NO_PARTITION, &[])),
            PartitionAction::Coalesce(less) if *less >= count as u64 => Err(Error::new(&ER_DROP_LAST_PARTITION, &[])),
            PartitionAction::Coalesce(less) => {
                if let Some(by) = new.partitioning_mut() {
                    by.counted = !by.listed;
                }
                branches.truncate(count - *less as usize);
                all_new(branches)
            }
            PartitionAction::Drop(_) if is_sliced => Err(Error::new(&ER_ONLY_ON_RANGE_LIST_PARTITION, &[&"DROP"])),
            PartitionAction::Drop(names) => {
                if names.len() >= count {
                    return Err(Error::new(&ER_DROP_LAST_PARTITION, &[]));
                }
                let dropped = numbers(old, names, || Error::new(&ER_DROP_PARTITION_NON_EXISTENT, &[&"DROP"]))?;
                let kept = branches.into_iter().enumerate().filter(|(n, _)| !dropped.contains(n));
                Ok(Change::Whole(kept.map(|(_, branch)| branch).collect()))
            }
            PartitionAction::Truncate(names) => {
                let emptied = self.chosen(old, names, |name| Error::new(&ER_UNKNOWN_PARTITION, &[&name, &old.name]))?;
                let mut emptied_by = (*by).clone();
                emptied_by.partitions = renewed(&by.partitions, &emptied);
                Ok(Change::Whole(super::branches::branches(&emptied_by)))
            }
            PartitionAction::Rebuild(names) => {
                let unknown = || Error::new(&ER_DROP_PARTITION_NON_EXISTENT, &[&"REBUILD"]);
                let rebuilt = match names {
                    PartitionNames::All => (0..count).collect(),
                    PartitionNames::Named(names) => numbers(old, names, unknown)?,
                };
                branches.iter_mut().enumerate().filter(|(n, _)| rebuilt.contains(n)).for_each(|(_, branch)| branch.renew());
                Ok(Change::Copy(branches))
            }
            PartitionAction::Reorganize { names, .. } if names.is_empty() => match is_sliced {
                true => Ok(Change::Whole(branches)),
                false => Err(Error::new(&ER_REORG_NO_PARAM_ERROR, &[])),
            },
            PartitionAction::Reorganize { names, into } if is_sliced => self.renamed(names, into, old, new).map(Change::Whole),
            PartitionAction::Reorganize { names, into } => self.reorganized(names, into, old, new).map(Change::Copy),
            PartitionAction::Discard(_) => Err(Error::unsupported("DISCARD PARTITION")),
            PartitionAction::Import(_) => Err(Error::unsupported("IMPORT PARTITION")),
            PartitionAction::Remove
            | PartitionAction::Exchange { .. }
            | PartitionAction::Analyze(_)
            | PartitionAction::Check(_)
            | PartitionAction::Optimize(_)
            | PartitionAction::Repair(_) => Err(Error::internal("an action of another kind")),
        }
    }

    /// The numbers of partitions and subpartitions.
    fn chosen(&self, def: &TableDef, names: &PartitionNames, unknown: impl Fn(&str) -> Error) -> Result<BTreeSet<usize>> {
        let PartitionNames::Named(names) = names else { return Ok((0..def.partitions().len()).collect()) };
        let mut chosen = BTreeSet::new();
        for name in names {
            let named = def.partitioning.as_ref().and_then(|by| by.numbers_named(name));
            chosen.extend(named.ok_or_else(|| unknown(name))?);
        }
        Ok(chosen)
    }

    /// Partitions of HASH and KEY get other names and options, and keep their rows.
    fn renamed(
        &self,
        names: &[String],
        into: &[vaquita_parser::ast::PartitionElement],
        old: &TableDef,
        new: &mut TableDef,
    ) -> Result<Vec<Branch>> {
        let by = old.partitioning.as_ref().ok_or_else(|| Error::internal("a table without partitions"))?;
        if names.len() > by.partitions.len() {
            return Err(Error::new(&ER_REORG_PARTITION_NOT_EXIST, &[]));
        }
        if names.len() != into.len() {
            return Err(Error::new(&ER_REORG_HASH_ONLY_ON_SAME_NO, &[]));
        }
        let which = numbers(old, names, || Error::new(&ER_DROP_PARTITION_NON_EXISTENT, &[&"REORGANIZE"]))?;
        let is_consecutive = which.iter().zip(which.iter().skip(1)).all(|(a, b)| a + 1 == *b);
        if !is_consecutive {
            return Err(Error::new(&ER_CONSECUTIVE_REORG_PARTITIONS, &[]));
        }
        let made = self.elements_of(into, &self.function(old)?.first, old)?;
        lists_subpartitions(new, &made, &ER_PARTITION_WRONG_NO_SUBPART_ERROR)?;
        if let Some(by) = new.partitioning_mut() {
            (by.listed, by.counted) = (true, false);
        }
        let mut branches = branches(by);
        for (number, made) in which.into_iter().zip(made) {
            let Some(branch) = branches.get_mut(number) else { continue };
            let PartitionDef { id, indexes, .. } = std::mem::replace(&mut branch.partition, made.partition);
            (branch.partition.id, branch.partition.indexes) = (id, indexes);
        }
        Ok(branches)
    }

    fn reorganized(
        &self,
        names: &[String],
        into: &[vaquita_parser::ast::PartitionElement],
        old: &TableDef,
        new: &mut TableDef,
    ) -> Result<Vec<Branch>> {
        let by = old.partitioning.as_ref().ok_or_else(|| Error::internal("a table without partitions"))?;
        let mut before = branches(by);
        if names.len() > before.len() {
            return Err(Error::new(&ER_REORG_PARTITION_NOT_EXIST, &[]));
        }
        let gone = numbers(old, names, || Error::new(&ER_DROP_PARTITION_NON_EXISTENT, &[&"REORGANIZE"]))?;
        let (Some(first), Some(last)) = (gone.first().copied(), gone.last().copied()) else { return Ok(before) };
        let is_range = by.method == vaquita_types::schema::PartitionMethod::Range;
        if is_range && last - first + 1 != gone.len() {
            return Err(Error::new(&ER_CONSECUTIVE_REORG_PARTITIONS, &[]));
        }
        let made = self.elements_of(into, &self.function(old)?.first, old)?;
        lists_subpartitions(new, &made, &ER_PARTITION_WRONG_NO_SUBPART_ERROR)?;
        let keeps_range = !is_range || keeps_range(old, last, &made);
        let behind = before.split_off(first).into_iter().zip(first..).filter(|(_, n)| !gone.contains(n));
        let after: Vec<Branch> = before.into_iter().chain(made).chain(behind.map(|(branch, _)| branch)).collect();
        check_names(after.iter().flat_map(|branch| std::iter::once(&branch.partition).chain(&branch.subpartitions)))?;
        if keeps_range { Ok(after) } else { Err(Error::new(&ER_REORG_OUTSIDE_RANGE, &[])) }
    }

    fn maintain_partitions(&self, kind: MaintenanceKind, names: &PartitionNames, table: &Arc<Table>) -> Result<Outcome> {
        let full = format!("{}.{}", table.def.database, table.def.name);
        let chosen = self.chosen(&table.def, names, |_| Error::new(&ER_DROP_PARTITION_NON_EXISTENT, &[&full]));
        let wrong = match &chosen {
            _ if !table.def.is_partitioned() => Some(Error::new(&ER_PARTITION_MGMT_ON_NONPARTITIONED, &[])),
            Err(error) => Some(error.clone()),
            Ok(_) => None,
        };
        let messages = match wrong {
            Some(error) => vec![("Error", error.message().to_string()), ("status", "Operation failed".to_string())],
            None => {
                let chosen: Vec<usize> = chosen.into_iter().flatten().collect();
                self.messages(kind, table, false, Some(&chosen))?
            }
        };
        let messages = messages.into_iter().map(|(word, text)| match (kind, word) {
            (MaintenanceKind::Optimize, "note") => (word, OPTIMIZED.to_string()),
            _ => (word, text),
        });
        Ok(super::maintenance::outcome(&full, kind, messages))
    }

    /// What an ALTER may not do to a partitioned table. True: the columns that divide it change, so all rows are divided anew.
    pub(super) fn check_partitioned(&self, old: &TableDef, new: &mut TableDef) -> Result<bool> {
        let Some(by) = new.partitioning.clone() else { return Ok(false) };
        let before = self.function(old)?;
        let keys = [Some(&by.key), by.subpartitions.as_ref().map(|by| &by.key)];
        let follows_key = |column: &ColumnDef| {
            let named = |key: &PartitionKey| match key {
                PartitionKey::PrimaryKey => false,
                PartitionKey::Columns(ids) => ids.contains(&column.id),
                PartitionKey::Expr(_) => true,
            };
            !keys.iter().flatten().any(|key| named(key))
        };
        let mut changes = keys.iter().flatten().any(|key| old.columns_of_key(key) != new.columns_of_key(key));
        for column in before.columns.iter().filter_map(|at| old.columns.get(*at)) {
            let after = new.columns.iter().find(|after| after.id == column.id);
            let Some(after) = after.filter(|after| after.name == column.name) else {
                // KEY () follows its key.
                if follows_key(column) {
                    continue;
                }
                return Err(Error::new(&ER_DEPENDENT_BY_PARTITION_FUNC, &[&column.name]));
            };
            changes |= after.generated != column.generated || !divides_alike(&column.ty, &after.ty);
        }
        if keys.iter().flatten().any(|key| **key == PartitionKey::PrimaryKey) && new.key_of_rows().is_none() {
            return Err(Error::new(&ER_FIELD_NOT_FOUND_PART_ERROR, &[]));
        }
        if new.has_foreign_keys() {
            return Err(Error::new(&ER_FOREIGN_KEY_ON_PARTITIONED, &[]));
        }
        if new.options.engine != old.options.engine && !new.options.engine.eq_ignore_ascii_case("InnoDB") {
            return Err(Error::new(&ER_CHECK_NOT_IMPLEMENTED, &[&"native partitioning"]));
        }
        if changes {
            self.divide_anew(&before, old, new)?;
        }
        check_keys(new, &self.function(new)?)?;
        Ok(changes)
    }

    /// The values of partitions in the types that columns have now, and no partition keeps its rows.
    fn divide_anew(&self, before: &PartitionFunction, old: &TableDef, new: &mut TableDef) -> Result<()> {
        let function = self.function_without_values(new)?;
        check_level(&function.first, new, "PARTITION")?;
        function.second.as_ref().map_or(Ok(()), |level| check_level(level, new, "SUBPARTITION"))?;
        let types = |def: &TableDef| -> Vec<ColumnType> {
            def.partition_columns().iter().filter_map(|id| Some(def.columns.get(def.position_of(*id)?)?.ty.clone())).collect()
        };
        let (from, to) = (types(old), types(new));
        let has_columns = old.partitioning.as_ref().is_some_and(|by| by.has_columns());
        let retyped = |value: &mut Value, at: usize| match (from.get(at), to.get(at)) {
            (Some(from), Some(to)) if has_columns => self.retype_column_value(value, from, to),
            _ => retype_number(value, is_unsigned(&before.first), is_unsigned(&function.first)),
        };
        if let Some(by) = new.partitioning_mut() {
            let first = by.subpartitions.as_mut().map_or(&mut by.partitions, |by| &mut by.partitions);
            for partition in first {
                match &mut partition.values {
                    PartitionValues::None => {}
                    PartitionValues::LessThan(bounds) => {
                        let values = bounds.iter_mut().enumerate();
                        values.filter_map(|(at, bound)| Some((at, bound.as_mut()?))).try_for_each(|(at, v)| retyped(v, at))?;
                    }
                    PartitionValues::In(rows) => {
                        let values = rows.iter_mut().flat_map(|row| row.iter_mut().enumerate());
                        values.map(|(at, v)| (v, at)).try_for_each(|(v, at)| retyped(v, at))?;
                    }
                }
            }
            by.partitions.iter_mut().for_each(forget_ids);
        }
        self.check_partitions(new)
    }
}

/// Rows are where they were: the types are the same, or the new one is longer where the length says nothing.
fn divides_alike(before: &ColumnType, after: &ColumnType) -> bool {
    let is_varying = matches!(after.kind, TypeKind::VarChar | TypeKind::VarBinary);
    let grows = is_varying && after.length >= before.length;
    before == after || grows && *before == ColumnType { length: before.length, ..after.clone() }
}

fn is_unsigned(level: &PartitionLevel) -> bool {
    matches!(&level.key, vaquita_plan::partition::PartitionKey::Expr { expr, .. } if expr.ty.unsigned)
}

/// A value of a function whose result may be unsigned now, or may not; error 1563.
fn retype_number(value: &mut Value, from_unsigned: bool, to_unsigned: bool) -> Result<()> {
    let out_of_domain = || Error::new(&ER_PARTITION_CONST_DOMAIN_ERROR, &[]);
    *value = match (from_unsigned != to_unsigned, &*value) {
        (true, Value::Int(n)) if to_unsigned => Value::UInt(u64::try_from(*n).map_err(|_| out_of_domain())?),
        (true, Value::UInt(n)) if !to_unsigned => Value::Int(i64::try_from(*n).map_err(|_| out_of_domain())?),
        _ => return Ok(()),
    };
    Ok(())
}

/// What MySQL says when it has rebuilt a table to optimize a partition.
const OPTIMIZED: &str = "Table does not support optimize on partitions. All partitions will be rebuilt and analyzed.";

fn maintenance(action: &PartitionAction) -> Option<(MaintenanceKind, &PartitionNames)> {
    Some(match action {
        PartitionAction::Analyze(names) => (MaintenanceKind::Analyze, names),
        PartitionAction::Check(names) => (MaintenanceKind::Check, names),
        PartitionAction::Optimize(names) => (MaintenanceKind::Optimize, names),
        PartitionAction::Repair(names) => (MaintenanceKind::Repair, names),
        _ => return None,
    })
}

fn number(def: &TableDef, name: &str) -> Option<usize> {
    def.partitioning.as_ref()?.position(name)
}

/// A name that stands there twice is as wrong as one that is not there.
fn numbers(def: &TableDef, names: &[String], unknown: impl Fn() -> Error) -> Result<BTreeSet<usize>> {
    let found = names.iter().map(|name| number(def, name).ok_or_else(&unknown)).collect::<Result<BTreeSet<usize>>>()?;
    if found.len() == names.len() { Ok(found) } else { Err(unknown()) }
}

/// Subpartitions that were written: as many as each partition has, else the error; from then on all are printed name by name.
fn lists_subpartitions(new: &mut TableDef, written: &[Branch], wrong_number: &'static ErrorDef) -> Result<()> {
    let Some(by) = new.partitioning_mut() else { return Ok(()) };
    let mut written = written.iter().map(|branch| branch.subpartitions.len()).filter(|count| *count > 0).peekable();
    if written.peek().is_none() {
        return Ok(());
    }
    let Some(of) = &mut by.subpartitions else { return Err(Error::new(&ER_SUBPARTITION_ERROR, &[])) };
    if written.any(|count| count != of.count) {
        return Err(Error::new(wrong_number, &[]));
    }
    (of.listed, of.counted) = (true, false);
    Ok(())
}

/// The partitions, of which some are to have new ids.
pub(super) fn renewed(partitions: &[PartitionDef], which: &BTreeSet<usize>) -> Vec<PartitionDef> {
    let mut partitions = partitions.to_vec();
    partitions.iter_mut().enumerate().filter(|(n, _)| which.contains(n)).for_each(|(_, p)| forget_ids(p));
    partitions
}

fn is_open(values: &PartitionValues) -> bool {
    matches!(values, PartitionValues::LessThan(bounds) if bounds.iter().all(Option::is_none))
}

/// The new partitions end where the last of the old ones did, or behind it if that was the last of all.
fn keeps_range(old: &TableDef, last: usize, made: &[Branch]) -> bool {
    let bound = |partition: Option<&PartitionDef>| match partition.map(|p| &p.values) {
        Some(PartitionValues::LessThan(bounds)) => bounds.clone(),
        _ => Vec::new(),
    };
    let before = old.partitioning.as_ref().map_or(&[][..], |by| by.first_level());
    let is_last = last + 1 == before.len();
    let (before, after) = (bound(before.get(last)), bound(made.last().map(|branch| &branch.partition)));
    before == after || is_last && is_before(&before, &after, &bound_types(old))
}
