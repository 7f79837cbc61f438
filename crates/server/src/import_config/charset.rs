//! The character set and the collation of new databases: whoever writes one means the other, too.

use vaquita_session::variables::{Def, registry};
use vaquita_types::Value;
use vaquita_types::charset::{Charset, Collation, collation};

use super::Judged;
use super::meaning::{Does, Meaning, Verdict};

const CHARSET: &str = "character_set_server";
const COLLATION: &str = "collation_server";

/// What follows from the lines that count. A collation of another character set is refused, as MySQL does.
pub fn complete(judged: &mut [(Judged, Meaning)]) -> Option<(&'static Def, Value)> {
    let of = |name: &str, judged: &[(Judged, Meaning)]| {
        judged.iter().position(|(line, meaning)| match &meaning.does {
            Does::Variable(def, _) => line.verdict == Verdict::Taken && def.name == name,
            _ => false,
        })
    };
    let text = |at: usize, judged: &[(Judged, Meaning)]| match &judged.get(at)?.1.does {
        Does::Variable(def, value) => Some(def.show(value)),
        _ => None,
    };
    match (of(CHARSET, judged), of(COLLATION, judged)) {
        (Some(at), None) => {
            let charset = Charset::by_name(&text(at, judged)?)?;
            Some((registry().find(COLLATION)?, Value::from(collation(charset.default_collation).name)))
        }
        (None, Some(at)) => Some((registry().find(CHARSET)?, Value::from(Collation::by_name(&text(at, judged)?)?.charset.name))),
        (Some(charset), Some(at)) => {
            let (charset, name) = (text(charset, judged)?, text(at, judged)?);
            if Collation::by_name(&name)?.charset.name != Charset::by_name(&charset)?.name {
                let line = &mut judged.get_mut(at)?.0;
                (line.verdict, line.text) = (Verdict::Refused, format!("{name} is no collation of {charset}"));
            }
            None
        }
        (None, None) => None,
    }
}
