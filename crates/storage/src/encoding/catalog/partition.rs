//! The partitions of a table's record, behind its other fields.
//!
//! | field | bytes |
//! |---|---|
//! | method | 1, with `HAS_SUBPARTITIONS` set where the last field is there |
//! | key, listed, counted, partitions | as `write` has them |
//! | subpartitions | method, key, listed, counted, number, and the partitions that have them, without ids |

use vaquita_types::Value;
use vaquita_types::schema::{
    ColumnId, IndexId, PartitionDef, PartitionKey, PartitionMethod, PartitionValues, Partitioning, Subpartitioning, TableId,
};

use super::primitives::{Reader, Writer};
use super::record::{read_value, write_value};

const HAS_SUBPARTITIONS: u8 = 0x80;

pub(super) fn write(w: &mut Writer, by: &Partitioning) {
    let flag = if by.subpartitions.is_some() { HAS_SUBPARTITIONS } else { 0 };
    w.byte(by.method as u8 | flag);
    write_key(w, &by.key);
    w.flag(by.listed);
    w.flag(by.counted);
    w.list(&by.partitions, write_partition);
    if let Some(by) = &by.subpartitions {
        w.byte(by.method as u8);
        write_key(w, &by.key);
        w.flag(by.listed);
        w.flag(by.counted);
        w.int(by.count as u64);
        w.list(&by.partitions, write_partition);
    }
}

fn write_key(w: &mut Writer, key: &PartitionKey) {
    match key {
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
}

fn write_partition(w: &mut Writer, p: &PartitionDef) {
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
}

pub(super) fn read(r: &mut Reader<'_>) -> Option<Partitioning> {
    let first = r.byte()?;
    let mut by = Partitioning {
        method: method(first & !HAS_SUBPARTITIONS)?,
        key: read_key(r)?,
        listed: r.flag()?,
        counted: r.flag()?,
        partitions: r.list(read_partition)?,
        subpartitions: None,
    };
    if first & HAS_SUBPARTITIONS != 0 {
        let subpartitions = Subpartitioning {
            method: method(r.byte()?)?,
            key: read_key(r)?,
            listed: r.flag()?,
            counted: r.flag()?,
            count: usize::try_from(r.int()?).ok()?,
            partitions: r.list(read_partition)?,
        };
        let all = subpartitions.count.checked_mul(subpartitions.partitions.len())?;
        if all != by.partitions.len() {
            return None;
        }
        by.subpartitions = Some(subpartitions);
    }
    Some(by)
}

fn method(byte: u8) -> Option<PartitionMethod> {
    PartitionMethod::ALL.into_iter().find(|method| *method as u8 == byte)
}

fn read_key(r: &mut Reader<'_>) -> Option<PartitionKey> {
    Some(match r.byte()? {
        0 => PartitionKey::Expr(r.string()?),
        1 => PartitionKey::Columns(r.list(|r| Some(ColumnId(r.narrow()?)))?),
        2 => PartitionKey::PrimaryKey,
        _ => return None,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(by: &Partitioning) -> Vec<u8> {
        let mut w = Writer::default();
        write(&mut w, by);
        w.bytes
    }

    fn read_all(bytes: &[u8]) -> Option<Partitioning> {
        let mut r = Reader { rest: bytes };
        let by = read(&mut r)?;
        r.rest.is_empty().then_some(by)
    }

    /// HASH (`id`) with one partition.
    fn hashed() -> Partitioning {
        let mut partition = PartitionDef::new("p0".into(), PartitionValues::None);
        (partition.comment, partition.rows_max) = ("c".into(), Some(7));
        (partition.id, partition.indexes) = (TableId(5), vec![IndexId(6), IndexId(300)]);
        Partitioning {
            method: PartitionMethod::Hash,
            key: PartitionKey::Expr("`id`".into()),
            listed: true,
            counted: false,
            partitions: vec![partition],
            subpartitions: None,
        }
    }

    #[test]
    fn records_from_before_subpartitions_are_as_they_were() {
        let bytes = b"\x02\x00\x04`id`\x01\x00\x01\x02p0\x00\x01c\x01\x07\x00\x05\x02\x06\xac\x02";
        assert_eq!(bytes_of(&hashed()), bytes);
        assert_eq!(read_all(bytes), Some(hashed()));
    }

    #[test]
    fn subpartitions_are_read_back_and_their_number_is_checked() {
        let mut by = hashed();
        by.method = PartitionMethod::Range;
        let subpartitions = Subpartitioning {
            method: PartitionMethod::OldLinearKey,
            key: PartitionKey::Columns(vec![ColumnId(2)]),
            listed: false,
            counted: true,
            count: 1,
            partitions: vec![PartitionDef::new("p0".into(), PartitionValues::LessThan(vec![None]))],
        };
        by.subpartitions = Some(subpartitions);
        assert_eq!(read_all(&bytes_of(&by)), Some(by.clone()));
        by.subpartitions.iter_mut().for_each(|of| of.count = 2);
        assert_eq!(read_all(&bytes_of(&by)), None);
    }
}
