//! Catalog records: descriptors to bytes and back.
//!
//! Each record starts with a format byte (now 4; 1, 2 and 3 are read too) and has its fields in the order of the functions
//! below, written with the primitives of `wire`. Tags are fixed numbers: those of `TypeKind` and
//! `IndexKind` are their discriminants; those of values and defaults stand beside each case.

use std::sync::Arc;

use vaquita_types::Value;
use vaquita_types::charset::{CollationId, TextParser};
use vaquita_types::datatype::{ColumnType, TypeKind};
use vaquita_types::decimal::Decimal;
use vaquita_types::json::Json;
use vaquita_types::schema::{
    CheckDef, ColumnDef, ColumnDefault, ColumnId, DatabaseDef, DatabaseId, ForeignKeyDef, Generated, IndexDef, IndexId,
    IndexKind, IndexPart, Layout, LayoutColumn, LayoutVersion, MatchOption, QualifiedName, ReferentialAction, TableDef, TableId,
    TableOptions,
};
use vaquita_types::temporal::{Date, DateTime, Time};

use super::partition;
use super::primitives::{Reader, Writer};

const FORMAT: u8 = 4;
/// The same without multi-valued indexes. What a table has not its record has not either, so that an older server reads it.
const FORMAT_WITHOUT_ARRAYS: u8 = 3;
/// The same without partitions.
const FORMAT_WITHOUT_PARTITIONS: u8 = 2;
/// The same without what foreign keys need.
const FORMAT_WITHOUT_FOREIGN_KEYS: u8 = 1;

pub(crate) fn encode_database(def: &DatabaseDef) -> Vec<u8> {
    let mut w = Writer::default();
    w.byte(FORMAT_WITHOUT_PARTITIONS);
    w.int(def.id.0 as u64);
    w.string(&def.name);
    w.int(def.collation.0 as u64);
    w.bytes
}

pub(crate) fn decode_database(bytes: &[u8]) -> Option<DatabaseDef> {
    let (ref mut r, _) = start(bytes)?;
    let def = DatabaseDef { id: DatabaseId(r.narrow()?), name: r.string()?, collation: CollationId(r.narrow()?) };
    r.rest.is_empty().then_some(def)
}

/// What follows the format, and that.
fn start(bytes: &[u8]) -> Option<(Reader<'_>, u8)> {
    let mut r = Reader { rest: bytes };
    let format = r.byte()?;
    (FORMAT_WITHOUT_FOREIGN_KEYS..=FORMAT).contains(&format).then_some((r, format))
}

pub(crate) fn encode_table(def: &TableDef) -> Vec<u8> {
    let mut w = Writer::default();
    let arrays: Vec<(&ColumnDef, &ColumnType)> = def.columns.iter().filter_map(|c| Some((c, c.element_type()?))).collect();
    w.byte(match &def.partitioning {
        _ if !arrays.is_empty() => FORMAT,
        Some(_) => FORMAT_WITHOUT_ARRAYS,
        None => FORMAT_WITHOUT_PARTITIONS,
    });
    w.int(def.id.0 as u64);
    w.string(&def.database);
    w.string(&def.name);
    w.int(def.schema_version);
    w.list(&def.columns, write_column);
    w.list(&def.indexes, write_index);
    w.flag(def.hidden_rowid);
    w.list(&def.layouts, write_layout);
    w.int(def.collation.0 as u64);
    write_options(&mut w, &def.options);
    w.int(def.next_column_id.0 as u64);
    w.int(def.created_us);
    w.list(&def.foreign_keys, write_foreign_key);
    match &def.partitioning {
        partitioning if !arrays.is_empty() => {
            w.list(&arrays, |w, (column, elements)| {
                w.int(column.id.0 as u64);
                write_type(w, elements);
            });
            w.option(partitioning.as_ref(), |w, partitioning| partition::write(w, partitioning));
        }
        Some(partitioning) => partition::write(&mut w, partitioning),
        None => {}
    }
    w.bytes
}

pub(crate) fn decode_table(bytes: &[u8]) -> Option<TableDef> {
    let (ref mut r, format) = start(bytes)?;
    let has_foreign_keys = format >= FORMAT_WITHOUT_PARTITIONS;
    let mut def = TableDef {
        id: TableId(r.narrow()?),
        database: r.string()?,
        name: r.string()?,
        schema_version: r.int()?,
        columns: r.list(read_column)?,
        indexes: r.list(|r| read_index(r, has_foreign_keys))?,
        hidden_rowid: r.flag()?,
        layouts: r.list(read_layout)?,
        collation: CollationId(r.narrow()?),
        options: read_options(r)?,
        next_column_id: ColumnId(r.narrow()?),
        created_us: r.int()?,
        foreign_keys: if has_foreign_keys { r.list(read_foreign_key)? } else { Vec::new() },
        referenced_by: Vec::new(),
        triggers: Vec::new(),
        partitioning: None,
    };
    if format == FORMAT {
        for (column, elements) in r.list(|r| Some((ColumnId(r.narrow()?), read_type(r)?)))? {
            let of_column = def.columns.iter_mut().find(|c| c.id == column)?;
            of_column.generated.as_mut()?.elements = Some(elements);
            let has = |part: &IndexPart| part.column == column;
            def.indexes.iter_mut().filter(|index| index.parts.iter().any(has)).for_each(|index| index.multi_valued = true);
        }
        def.partitioning = r.option(partition::read)?.map(Arc::new);
    } else if format == FORMAT_WITHOUT_ARRAYS {
        def.partitioning = Some(Arc::new(partition::read(r)?));
    }
    r.rest.is_empty().then_some(def)
}

fn write_foreign_key(w: &mut Writer, key: &ForeignKeyDef) {
    w.string(&key.name);
    w.list(&key.columns, |w, id| w.int(id.0 as u64));
    w.string(&key.parent.database);
    w.string(&key.parent.name);
    w.list(&key.parent_columns, |w, name| w.string(name));
    w.byte(key.on_delete as u8);
    w.byte(key.on_update as u8);
    w.byte(key.match_option as u8);
}

fn read_foreign_key(r: &mut Reader<'_>) -> Option<ForeignKeyDef> {
    Some(ForeignKeyDef {
        name: r.string()?,
        columns: r.list(|r| Some(ColumnId(r.narrow()?)))?,
        parent: QualifiedName { database: r.string()?, name: r.string()? },
        parent_columns: r.list(Reader::string)?,
        on_delete: read_action(r)?,
        on_update: read_action(r)?,
        match_option: match r.byte()? {
            0 => MatchOption::None,
            1 => MatchOption::Simple,
            2 => MatchOption::Partial,
            3 => MatchOption::Full,
            _ => return None,
        },
    })
}

fn read_action(r: &mut Reader<'_>) -> Option<ReferentialAction> {
    Some(match r.byte()? {
        0 => ReferentialAction::NoAction,
        1 => ReferentialAction::Restrict,
        2 => ReferentialAction::Cascade,
        3 => ReferentialAction::SetNull,
        4 => ReferentialAction::SetDefault,
        _ => return None,
    })
}

fn write_options(w: &mut Writer, o: &TableOptions) {
    w.string(&o.engine);
    w.string(&o.comment);
    w.option(o.row_format.as_ref(), |w, f| w.string(f));
    w.list(&o.others, |w, (key, value)| {
        w.string(key);
        w.string(value);
    });
    w.flag(o.temporary);
    w.list(&o.collations_given, |w, id| w.int(id.0 as u64));
    w.list(&o.checks, |w, check| {
        w.string(&check.name);
        w.string(&check.expr);
        w.flag(check.enforced);
    });
}

fn read_options(r: &mut Reader<'_>) -> Option<TableOptions> {
    Some(TableOptions {
        engine: r.string()?,
        comment: r.string()?,
        row_format: r.option(Reader::string)?,
        others: r.list(|r| Some((r.string()?, r.string()?)))?,
        temporary: r.flag()?,
        collations_given: r.list(|r| Some(ColumnId(r.narrow()?)))?,
        checks: r.list(|r| Some(CheckDef { name: r.string()?, expr: r.string()?, enforced: r.flag()? }))?,
    })
}

fn write_column(w: &mut Writer, c: &ColumnDef) {
    w.int(c.id.0 as u64);
    w.string(&c.name);
    write_type(w, &c.ty);
    w.flag(c.nullable);
    match &c.default {
        ColumnDefault::None => w.byte(0),
        ColumnDefault::Value(v) => {
            w.byte(1);
            write_value(w, v);
        }
        ColumnDefault::Now => w.byte(2),
        ColumnDefault::Expr(e) => {
            w.byte(3);
            w.string(e);
        }
    }
    w.flag(c.on_update_now);
    w.flag(c.auto_increment);
    w.string(&c.comment);
    w.flag(c.invisible);
    write_value(w, &c.added_default);
    w.option(c.generated.as_ref(), |w, g| {
        w.string(&g.expr);
        w.flag(g.stored);
        w.flag(g.in_row);
        w.flag(g.hidden);
    });
}

fn read_column(r: &mut Reader<'_>) -> Option<ColumnDef> {
    Some(ColumnDef {
        id: ColumnId(r.narrow()?),
        name: r.string()?,
        ty: read_type(r)?,
        nullable: r.flag()?,
        default: match r.byte()? {
            0 => ColumnDefault::None,
            1 => ColumnDefault::Value(read_value(r)?),
            2 => ColumnDefault::Now,
            3 => ColumnDefault::Expr(r.string()?),
            _ => return None,
        },
        on_update_now: r.flag()?,
        auto_increment: r.flag()?,
        comment: r.string()?,
        invisible: r.flag()?,
        added_default: read_value(r)?,
        generated: r.option(|r| {
            Some(Generated { expr: r.string()?, stored: r.flag()?, in_row: r.flag()?, hidden: r.flag()?, elements: None })
        })?,
    })
}

fn write_type(w: &mut Writer, ty: &ColumnType) {
    w.byte(ty.kind as u8);
    w.flag(ty.unsigned);
    w.flag(ty.zerofill);
    w.byte(ty.decimals);
    w.int(ty.length as u64);
    w.int(ty.collation.0 as u64);
    w.option(ty.members.as_ref(), |w, m| w.list(m, |w, label| w.string(label)));
}

fn read_type(r: &mut Reader<'_>) -> Option<ColumnType> {
    Some(ColumnType {
        kind: type_kind(r.byte()?)?,
        unsigned: r.flag()?,
        zerofill: r.flag()?,
        decimals: r.byte()?,
        length: r.narrow()?,
        collation: CollationId(r.narrow()?),
        members: r.option(|r| r.list(|r| r.bytes().map(Box::from)))?.map(Arc::from),
    })
}

fn type_kind(tag: u8) -> Option<TypeKind> {
    use TypeKind::*;
    const KINDS: [TypeKind; 32] = [
        Null, TinyInt, SmallInt, MediumInt, Int, BigInt, Decimal, Float, Double, Bit, Year, Date, Time, DateTime, Timestamp,
        Char, VarChar, TinyText, Text, MediumText, LongText, Binary, VarBinary, TinyBlob, Blob, MediumBlob, LongBlob, Enum, Set,
        Json, Geometry, Vector,
    ];
    // Each kind stands at its tag.
    const _: () = {
        let mut i = 0;
        while i < KINDS.len() {
            assert!(KINDS[i] as usize == i);
            i += 1;
        }
    };
    KINDS.get(tag as usize).copied()
}

/// Beside the numbers of `IndexKind`: FULLTEXT WITH PARSER ngram.
const FULL_TEXT_NGRAM: u8 = 5;

fn write_index(w: &mut Writer, i: &IndexDef) {
    w.int(i.id.0 as u64);
    w.string(&i.name);
    w.byte(if i.parser == TextParser::Ngram { FULL_TEXT_NGRAM } else { i.kind as u8 });
    w.list(&i.parts, |w, p| {
        w.int(p.column.0 as u64);
        w.option(p.prefix, |w, n| w.int(n as u64));
        w.flag(p.descending);
    });
    w.string(&i.comment);
    w.flag(i.invisible);
    w.option(i.using.as_ref(), |w, u| w.string(u));
    w.flag(i.generated);
}

fn read_index(r: &mut Reader<'_>, has_generated: bool) -> Option<IndexDef> {
    let (id, name, kind) = (IndexId(r.narrow()?), r.string()?, r.byte()?);
    let mut index = IndexDef {
        id,
        name,
        kind: match kind {
            0 => IndexKind::Primary,
            1 => IndexKind::Unique,
            2 => IndexKind::Secondary,
            3 => IndexKind::FullText,
            4 => IndexKind::Spatial,
            FULL_TEXT_NGRAM => IndexKind::FullText,
            _ => return None,
        },
        parts: r.list(|r| {
            Some(IndexPart { column: ColumnId(r.narrow()?), prefix: r.option(Reader::narrow)?, descending: r.flag()? })
        })?,
        comment: r.string()?,
        invisible: r.flag()?,
        using: r.option(Reader::string)?,
        generated: has_generated && r.flag()?,
        multi_valued: false,
        parser: if kind == FULL_TEXT_NGRAM { TextParser::Ngram } else { TextParser::Words },
    };
    index.multi_valued = index.kind == IndexKind::Spatial;
    Some(index)
}

fn write_layout(w: &mut Writer, l: &Layout) {
    w.int(l.version.0 as u64);
    w.list(&l.columns, |w, c| {
        w.int(c.id.0 as u64);
        write_type(w, &c.ty);
        w.flag(c.nullable);
    });
}

fn read_layout(r: &mut Reader<'_>) -> Option<Layout> {
    let version = LayoutVersion(r.narrow()?);
    let columns = r.list(|r| Some(LayoutColumn { id: ColumnId(r.narrow()?), ty: read_type(r)?, nullable: r.flag()? }))?;
    Some(Layout { version, columns })
}

pub(super) fn write_value(w: &mut Writer, value: &Value) {
    match value {
        Value::Null => w.byte(0),
        Value::Int(i) => {
            w.byte(1);
            w.signed(*i);
        }
        Value::UInt(u) => {
            w.byte(2);
            w.int(*u);
        }
        Value::Float(f) => {
            w.byte(3);
            w.bytes.extend_from_slice(&f.to_bits().to_le_bytes());
        }
        Value::Decimal(d) => {
            w.byte(4);
            let mut text = Vec::new();
            d.write_text(&mut text, d.scale());
            w.string(text);
        }
        Value::Bytes(b) => {
            w.byte(5);
            w.string(b);
        }
        Value::Date(d) => {
            w.byte(6);
            w.int(d.to_number() as u64);
        }
        Value::DateTime(t) => {
            w.byte(7);
            w.int(t.to_number());
            w.int(t.micros() as u64);
        }
        Value::Time(t) => {
            w.byte(8);
            w.signed(t.micros_total());
        }
        Value::Json(j) => {
            w.byte(9);
            let mut bytes = Vec::new();
            j.encode(&mut bytes);
            w.string(bytes);
        }
    }
}

pub(super) fn read_value(r: &mut Reader<'_>) -> Option<Value> {
    let date = |n: u64| Date::new((n / 10_000) as u32, (n / 100 % 100) as u32, (n % 100) as u32);
    Some(match r.byte()? {
        0 => Value::Null,
        1 => Value::Int(r.signed()?),
        2 => Value::UInt(r.int()?),
        3 => Value::Float(f64::from_bits(u64::from_le_bytes(r.array()?))),
        4 => {
            let text = r.bytes()?;
            let parsed = Decimal::parse(text);
            (!text.is_empty() && !parsed.overflow).then_some(Value::Decimal(parsed.value))?
        }
        5 => Value::Bytes(r.bytes()?.into()),
        6 => Value::Date(date(r.int()?)?),
        7 => {
            let n = r.int()?;
            let (hour, minute, second) = ((n / 10_000 % 100) as u32, (n / 100 % 100) as u32, (n % 100) as u32);
            Value::DateTime(DateTime::new(date(n / 1_000_000)?, hour, minute, second, r.narrow()?)?)
        }
        8 => Value::Time(Time::from_micros(r.signed()?)?),
        9 => Value::Json(Json::decode(r.bytes()?)?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TableDef {
        let values = [
            Value::Null,
            Value::Int(-5),
            Value::UInt(u64::MAX),
            Value::Float(-0.5),
            Value::Decimal(Decimal::parse(b"-12345678901234567890.120").value),
            Value::from("text"),
            Value::Date(Date::MAX),
            Value::DateTime(DateTime::new(Date::MAX, 23, 59, 58, 7).unwrap_or(DateTime::ZERO)),
            Value::Time(Time::MIN),
            Value::Json(Json::Bool(true)),
        ];
        let defaults = [ColumnDefault::None, ColumnDefault::Now, ColumnDefault::Expr("(uuid())".into())];
        let columns = values.iter().enumerate().map(|(i, v)| ColumnDef {
            id: ColumnId(i as u16 + 1),
            name: format!("c{i}"),
            ty: ColumnType { members: (i == 3).then(|| [Box::from(&b"a"[..])].into()), ..ColumnType::decimal(i as u32, 2) },
            nullable: i % 2 == 0,
            default: defaults.get(i).cloned().unwrap_or(ColumnDefault::Value(v.clone())),
            on_update_now: i == 1,
            auto_increment: i == 2,
            comment: "ä".into(),
            invisible: i == 4,
            added_default: v.clone(),
            generated: (i == 5).then(|| Generated {
                expr: "a + 1".into(),
                stored: true,
                in_row: true,
                hidden: false,
                elements: None,
            }),
        });
        let columns: Vec<ColumnDef> = columns.collect();
        let part = |prefix, descending| IndexPart { column: ColumnId(2), prefix, descending };
        let index = |id, kind| IndexDef {
            id: IndexId(id),
            name: format!("i{id}"),
            kind,
            parts: vec![part(None, false), part(Some(300), true)],
            comment: String::new(),
            invisible: id == 2,
            using: (id == 3).then(|| "HASH".into()),
            generated: id == 3,
            multi_valued: false,
            parser: Default::default(),
        };
        let layout_columns = columns.iter().map(|c| LayoutColumn { id: c.id, ty: c.ty.clone(), nullable: c.nullable }).collect();
        TableDef {
            id: TableId(70_000),
            database: "db".into(),
            name: "t".into(),
            schema_version: u64::MAX,
            indexes: vec![
                index(1, IndexKind::Primary),
                index(2, IndexKind::Unique),
                index(3, IndexKind::Secondary),
                index(4, IndexKind::FullText),
                IndexDef { multi_valued: true, ..index(5, IndexKind::Spatial) },
                IndexDef { parser: TextParser::Ngram, ..index(6, IndexKind::FullText) },
            ],
            hidden_rowid: false,
            layouts: vec![Layout { version: LayoutVersion(3), columns: layout_columns }],
            collation: CollationId::UTF8MB4_BIN,
            options: TableOptions {
                engine: "InnoDB".into(),
                others: vec![("STATS_PERSISTENT".into(), "0".into())],
                ..TableOptions::default()
            },
            next_column_id: ColumnId(99),
            created_us: 1 << 50,
            foreign_keys: vec![ForeignKeyDef {
                name: "t_ibfk_1".into(),
                columns: vec![ColumnId(1), ColumnId(2)],
                parent: QualifiedName { database: "db".into(), name: "p".into() },
                parent_columns: vec!["a".into(), "b".into()],
                on_delete: ReferentialAction::SetDefault,
                on_update: ReferentialAction::Cascade,
                match_option: MatchOption::Full,
            }],
            referenced_by: Vec::new(),
            triggers: Vec::new(),
            partitioning: None,
            columns,
        }
    }

    #[test]
    fn tables_read_back() {
        let bytes = encode_table(&table());
        assert_eq!(decode_table(&bytes), Some(table()));
        let mut arrays = table();
        if let Some(generated) = &mut arrays.columns[5].generated {
            generated.elements = Some(ColumnType::decimal(5, 2));
        }
        arrays.indexes[1].parts[0].column = ColumnId(6);
        arrays.indexes[1].multi_valued = true;
        let bytes = encode_table(&arrays);
        assert_eq!((bytes[0], decode_table(&bytes)), (FORMAT, Some(arrays)));
    }

    #[test]
    fn damaged_records_are_refused() {
        let bytes = encode_table(&table());
        for end in 0..bytes.len() {
            assert_eq!(decode_table(&bytes[..end]), None);
        }
        for at in 0..bytes.len() {
            for flip in [1, 0x80, 0xFF] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                // Another definition or none, and no panic.
                let _ = decode_table(&damaged);
            }
        }
    }
}
