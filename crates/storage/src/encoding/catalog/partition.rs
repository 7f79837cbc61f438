//! The partitions of a table's record, behind its other fields.

use vaquita_types::Value;
use vaquita_types::schema::{
    ColumnId, IndexId, PartitionDef, PartitionKey, PartitionMethod, PartitionValues, Partitioning, TableId,
};

use super::primitives::{Reader, Writer};
use super::record::{read_value, write_value};

pub(super) fn write(w: &mut Writer, by: &Partitioning) {
    w.byte(by.method as u8);
    match &by.key {
        PartitionKey::Expr(text) => {
            w.byte(0);
            w.string(text);
        }
        PartitionKey::Columns(columns) => {
            w.byte(1);
            w.list(columns, |w, id| w.int(id.0 as u64));
        }
        PartitionKey::PrimaryKey => w.byte(2),
    }
    w.flag(by.listed);
    w.flag(by.counted);
    w.list(&by.partitions, |w, p| {
        w.string(&p.name);
        match &p.values {
            PartitionValues::None => w.byte(0),
            PartitionValues::LessThan(bounds) => {
                w.byte(1);
                w.list(bounds, |w, bound| w.option(bound.as_ref(), write_value));
            }
            PartitionValues::In(rows) => {
                w.byte(2);
                w.list(rows, |w, row| w.list(row, write_value));
            }
        }
        w.string(&p.comment);
        w.option(p.rows_max, Writer::int);
        w.option(p.rows_min, Writer::int);
        w.int(p.id.0 as u64);
        w.list(&p.indexes, |w, id| w.int(id.0 as u64));
    });
}

pub(super) fn read(r: &mut Reader<'_>) -> Option<Partitioning> {
    let method = r.byte()?;
    Some(Partitioning {
        method: PartitionMethod::ALL.into_iter().find(|m| *m as u8 == method)?,
        key: match r.byte()? {
            0 => PartitionKey::Expr(r.string()?),
            1 => PartitionKey::Columns(r.list(|r| Some(ColumnId(r.narrow()?)))?),
            2 => PartitionKey::PrimaryKey,
            _ => return None,
        },
        listed: r.flag()?,
        counted: r.flag()?,
        partitions: r.list(read_partition)?,
    })
}

fn read_partition(r: &mut Reader<'_>) -> Option<PartitionDef> {
    Some(PartitionDef {
        name: r.string()?,
        values: match r.byte()? {
            0 => PartitionValues::None,
            1 => PartitionValues::LessThan(r.list(|r| r.option(read_value))?),
            2 => PartitionValues::In(r.list(|r| r.list(read_value) as Option<Vec<Value>>)?),
            _ => return None,
        },
        comment: r.string()?,
        rows_max: r.option(Reader::int)?,
        rows_min: r.option(Reader::int)?,
        id: TableId(r.narrow()?),
        indexes: r.list(|r| Some(IndexId(r.narrow()?)))?,
    })
}
