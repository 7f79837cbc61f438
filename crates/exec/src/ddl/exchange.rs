//! ALTER TABLE … EXCHANGE PARTITION … WITH TABLE: what it asks of both tables, and of their rows.
//!
//! CHECK constraints hold for the rows that come, in both directions and also WITHOUT VALIDATION, which only lets rows stay in a
//! partition that their values do not say. Such rows are *misplaced*: CHECK TABLE finds them, REPAIR TABLE moves them.

use vaquita_parser::ast::Name;
use vaquita_plan::expr::Expr;
use vaquita_storage::{RowCheck, stores_alike};
use vaquita_types::errno::*;
use vaquita_types::schema::{ColumnDef, IndexDef, PartitionDef, TableDef, TableOptions};
use vaquita_types::{Error, Result, Value};

use super::convert::check_row;
use super::generated::Generator;
use super::misplaced::place_of;
use super::{Ddl, Outcome};
use crate::dml::stored_exprs::bind_checks;

impl Ddl<'_> {
    pub(super) fn exchange_partition(&self, name: &Name, partition: &str, with: &Name, validation: bool) -> Result<Outcome> {
        let no_view = |error: Error| if error.is(&ER_WRONG_OBJECT) { Error::new(&ER_CHECK_NO_SUCH_TABLE, &[]) } else { error };
        let old = self.table(name).map_err(no_view)?;
        let is_same = self.database_of(with)? == old.def.database && with.name == old.def.name;
        if is_same && !old.def.options.temporary {
            return Err(Error::new(&ER_NONUNIQ_TABLE, &[&with.name]));
        }
        let other = self.table(with).map_err(no_view)?;
        let Some(by) = &old.def.partitioning else {
            return Err(Error::new(&ER_PARTITION_MGMT_ON_NONPARTITIONED, &[]));
        };
        if other.def.is_partitioned() {
            return Err(Error::new(&ER_PARTITION_EXCHANGE_PART_TABLE, &[&with.name]));
        }
        if other.def.options.temporary {
            return Err(Error::new(&ER_PARTITION_EXCHANGE_TEMP_TABLE, &[&with.name]));
        }
        if other.def.has_foreign_keys() {
            return Err(Error::new(&ER_PARTITION_EXCHANGE_FOREIGN_KEY, &[&with.name]));
        }
        if by.subpartitions.is_some() && by.position(partition).is_some() {
            return Err(Error::new(&ER_PARTITION_INSTEAD_OF_SUBPARTITION, &[]));
        }
        let number = by.numbers_named(partition).map(|numbers| numbers.start);
        let number = number.ok_or_else(|| Error::new(&ER_UNKNOWN_PARTITION, &[&partition, &old.def.name]))?;
        let place = by.partitions.get(number).ok_or_else(|| Error::internal("a partition without a place"))?;
        self.check_alike(&old.def, place, &other.def)?;

        let of_row = self.partition_of_rows(&old.def)?;
        let (mut enters, mut leaves) = (Constraints::of(self, &old.def)?, Constraints::of(self, &other.def)?);
        let looks = validation || !enters.checks.is_empty();
        let leaves_checked = !leaves.checks.is_empty();
        let mut of_table = |row: &[Value]| {
            if validation && place_of(of_row(row))? != Some(number) {
                return Err(Error::new(&ER_ROW_DOES_NOT_MATCH_PARTITION, &[]));
            }
            enters.check(row)
        };
        let mut of_partition = |row: &[Value]| leaves.check(row);
        let of_table = looks.then_some(&mut of_table as RowCheck<'_>);
        let of_partition = leaves_checked.then_some(&mut of_partition as RowCheck<'_>);
        self.catalog.exchange_partition((&old, number), &other, (of_table, of_partition), &self.context)?;
        Ok(Outcome::affected(0))
    }

    /// Errors 1497, 1731 and 1736 for tables that cannot have each other's rows. Defaults, comments, checks and what is invisible may differ.
    fn check_alike(&self, table: &TableDef, place: &PartitionDef, other: &TableDef) -> Result<()> {
        let engine =
            |def: &TableDef| if def.options.engine.is_empty() { "InnoDB".to_string() } else { def.options.engine.clone() };
        if !engine(table).eq_ignore_ascii_case(&engine(other)) {
            return Err(Error::new(&ER_MIX_HANDLER_ERROR, &[]));
        }
        let same = table.columns.len() == other.columns.len()
            && table.indexes.len() == other.indexes.len()
            && table.hidden_rowid == other.hidden_rowid
            && table.columns.iter().zip(&other.columns).all(|(a, b)| is_same_column(a, b))
            && table.indexes.iter().zip(&other.indexes).all(|(a, b)| is_same_index((table, a), (other, b)));
        if !same {
            return Err(Error::new(&ER_TABLES_DIFFERENT_METADATA, &[]));
        }
        let differs = |what: &str| Err(Error::new(&ER_PARTITION_EXCHANGE_DIFFERENT_OPTION, &[&what]));
        let (a, b) = (&table.options, &other.options);
        if row_format(a) != row_format(b) {
            return differs("ROW_FORMAT");
        }
        if option(a, "AVG_ROW_LENGTH") != option(b, "AVG_ROW_LENGTH") {
            return differs("AVG_ROW_LENGTH");
        }
        if FLAGS.iter().any(|flag| option(a, flag) != option(b, flag)) {
            return differs("TABLE OPTION");
        }
        if table.collation != other.collation {
            return differs("CHARACTER SET");
        }
        for (what, of_partition) in [("MAX_ROWS", place.rows_max), ("MIN_ROWS", place.rows_min)] {
            let of_table = option(b, what).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
            if of_partition.unwrap_or(0) != of_table {
                return differs(what);
            }
        }
        // One of them has rows from before a column was added, dropped or widened.
        if !stores_alike(table, other) { differs("INSTANT COLUMN(s)") } else { Ok(()) }
    }
}

/// Options that MySQL compares as one.
const FLAGS: [&str; 4] = ["PACK_KEYS", "STATS_PERSISTENT", "CHECKSUM", "DELAY_KEY_WRITE"];

fn option<'o>(options: &'o TableOptions, name: &str) -> Option<&'o str> {
    options.others.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// As InnoDB would store rows.
fn row_format(options: &TableOptions) -> String {
    match (&options.row_format, option(options, "KEY_BLOCK_SIZE")) {
        (Some(format), _) if !format.eq_ignore_ascii_case("DEFAULT") => format.to_ascii_uppercase(),
        (_, Some(_)) => "COMPRESSED".into(),
        _ => "DYNAMIC".into(),
    }
}

fn is_same_column(a: &ColumnDef, b: &ColumnDef) -> bool {
    a.name.eq_ignore_ascii_case(&b.name)
        && a.ty == b.ty
        && a.nullable == b.nullable
        && a.auto_increment == b.auto_increment
        && a.generated == b.generated
}

fn is_same_index((of_a, a): (&TableDef, &IndexDef), (of_b, b): (&TableDef, &IndexDef)) -> bool {
    let parts = |def: &TableDef, index: &IndexDef| -> Vec<(Option<usize>, Option<u32>, bool)> {
        index.parts.iter().map(|part| (def.position_of(part.column), part.prefix, part.descending)).collect()
    };
    a.name == b.name && a.kind == b.kind && parts(of_a, a) == parts(of_b, b)
}

/// The CHECK constraints of a table, for stored rows of another.
struct Constraints<'a> {
    ddl: &'a Ddl<'a>,
    columns: &'a [ColumnDef],
    checks: Vec<(String, Expr)>,
    generator: Generator<'a>,
    row: Vec<Value>,
}

impl<'a> Constraints<'a> {
    fn of(ddl: &'a Ddl<'a>, def: &'a TableDef) -> Result<Constraints<'a>> {
        let (checks, generator) = (bind_checks(def, ddl.catalog)?, ddl.generator(def)?);
        Ok(Constraints { ddl, columns: &def.columns, checks, generator, row: Vec::new() })
    }

    /// Error 3819.
    fn check(&mut self, row: &[Value]) -> Result<()> {
        if self.checks.is_empty() {
            return Ok(());
        }
        self.row.clear();
        self.row.extend_from_slice(row);
        self.generator.fill(&mut self.row)?;
        check_row(&self.checks, &self.row, self.columns, self.ddl.session)
    }
}
