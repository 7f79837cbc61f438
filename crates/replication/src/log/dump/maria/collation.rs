//! Collations that MariaDB does not have, as the nearest of those that every MariaDB since 10.2 has.
//!
//! What is equal there should be equal here and the other way round, since a unique key that is stricter on the replica stops it: the collations
//! of UCA 9.0.0 do not pad with spaces, and tell supplementary characters apart. So does UCA 5.2.0 without padding. Where accents or case count,
//! bytes do there.

use vaquita_types::charset::{Collation, CollationId, collation};

const UCA: (&str, u16) = ("utf8mb4_unicode_520_nopad_ci", 1270);
const BINARY: (&str, u16) = ("utf8mb4_nopad_bin", 1070);
/// utf8mb4_bin: that of JSON documents.
pub const OF_DOCUMENTS: u32 = 46;

fn nearest(name: &str) -> Option<(&'static str, u16)> {
    let rest = name.strip_prefix("utf8mb4_").filter(|rest| rest.contains("0900"))?;
    Some(if rest.ends_with("_ai_ci") { UCA } else { BINARY })
}

/// The name for one that MariaDB does not have.
pub fn nearest_name(name: &str) -> Option<&'static str> {
    let known = Collation::by_name(name)?;
    nearest(known.name).map(|(name, _)| name)
}

/// The number that MariaDB knows.
pub fn nearest_id(id: u16) -> u16 {
    // What is beyond MySQL's numbers is no number of ours.
    match id {
        255..=323 => nearest(collation(CollationId(id)).name).map_or(id, |(_, id)| id),
        _ => id,
    }
}

/// That of utf8mb4 where none is named.
pub fn of_utf8mb4() -> &'static str {
    UCA.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest() {
        for (name, id, near, near_id) in [
            ("utf8mb4_0900_ai_ci", 255, "utf8mb4_unicode_520_nopad_ci", 1270),
            ("UTF8MB4_de_pb_0900_AI_ci", 256, "utf8mb4_unicode_520_nopad_ci", 1270),
            ("utf8mb4_0900_as_cs", 278, "utf8mb4_nopad_bin", 1070),
            ("utf8mb4_0900_bin", 309, "utf8mb4_nopad_bin", 1070),
        ] {
            assert_eq!((nearest_name(name), nearest_id(id)), (Some(near), near_id));
        }
        assert_eq!((nearest_name("utf8mb4_bin"), nearest_id(46), nearest_id(45)), (None, 46, 45));
    }
}
