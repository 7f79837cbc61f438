//! Records of stored objects: a format byte (now 1), then the fields in the order of `encode`, written with `primitives`.

use vaquita_types::charset::CollationId;
use vaquita_types::schema::{Definer, ObjectKind, SqlSecurity, StoredObject};

use super::primitives::{Reader, Writer};

const FORMAT: u8 = 1;

pub(crate) fn encode(object: &StoredObject) -> Vec<u8> {
    let mut w = Writer::default();
    w.byte(FORMAT);
    w.byte(object.kind as u8);
    w.string(&object.database);
    w.string(&object.name);
    w.int(object.version);
    w.string(&object.definer.user);
    w.string(&object.definer.host);
    w.byte(object.security as u8);
    w.int(object.sql_mode);
    for collation in [object.client_collation, object.connection_collation, object.database_collation] {
        w.int(collation.0 as u64);
    }
    w.int(object.created_us);
    w.int(object.altered_us);
    w.string(&object.comment);
    w.list(&object.characteristics, |w, (name, value)| {
        w.string(name);
        w.string(value);
    });
    w.string(&object.text);
    w.bytes
}

pub(crate) fn decode(bytes: &[u8]) -> Option<StoredObject> {
    let mut r = Reader { rest: bytes };
    if r.byte()? != FORMAT {
        return None;
    }
    let kind = r.byte()?;
    let object = StoredObject {
        kind: ObjectKind::ALL.into_iter().find(|known| *known as u8 == kind)?,
        database: r.string()?,
        name: r.string()?,
        version: r.int()?,
        definer: Definer { user: r.string()?, host: r.string()? },
        security: match r.byte()? {
            0 => SqlSecurity::Definer,
            1 => SqlSecurity::Invoker,
            _ => return None,
        },
        sql_mode: r.int()?,
        client_collation: CollationId(r.narrow()?),
        connection_collation: CollationId(r.narrow()?),
        database_collation: CollationId(r.narrow()?),
        created_us: r.int()?,
        altered_us: r.int()?,
        comment: r.string()?,
        characteristics: r.list(|r| Some((r.string()?, r.string()?)))?,
        text: r.string()?,
    };
    r.rest.is_empty().then_some(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_read_back_and_damaged_ones_are_refused() {
        for kind in ObjectKind::ALL {
            let object = StoredObject {
                kind,
                database: "db".into(),
                name: "ä".into(),
                version: u64::MAX,
                definer: Definer { user: "u".into(), host: "%".into() },
                security: SqlSecurity::Invoker,
                sql_mode: 1 << 40,
                client_collation: CollationId::UTF8MB4_BIN,
                connection_collation: CollationId(8),
                database_collation: CollationId::default(),
                created_us: 1 << 50,
                altered_us: 1 << 51,
                comment: "c".into(),
                characteristics: vec![("parameters".into(), "a INT".into())],
                text: "BEGIN END".into(),
            };
            let bytes = encode(&object);
            assert_eq!(decode(&bytes), Some(object));
            assert!((0..bytes.len()).all(|end| decode(&bytes[..end]).is_none()));
            assert_eq!(decode(&[&bytes[..], &[0]].concat()), None);
        }
    }
}
