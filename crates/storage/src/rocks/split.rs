//! Cuts a key range into pieces of about the same number of bytes, for scans on several threads.
//!
//! A range is halved at the middle of its keys, taken as numbers, until RocksDB estimates a piece to be small enough.
//! Keys that are spread unevenly need more halvings and still give even pieces.

use vaquita_types::Result;

use super::{Db, read_error};
use crate::encoding::KeyRange;

/// Halvings of one range, also if its keys are spread so unevenly that most of them find nothing.
const DEPTH_MAX: u32 = 40;
/// Bytes of a key, after what both ends have in common, that its middle is computed from.
const MIDDLE_BYTES: usize = 12;

/// Neighbouring ranges in ascending order that together are `range`, of at most about `piece_bytes` each.
pub fn split(db: &Db, range: &KeyRange, piece_bytes: u64) -> Result<Vec<KeyRange>> {
    let mut pieces = Vec::new();
    halve(db, range.clone(), piece_bytes.max(1), DEPTH_MAX, &mut pieces)?;
    Ok(pieces)
}

fn halve(db: &Db, range: KeyRange, piece_bytes: u64, depth: u32, out: &mut Vec<KeyRange>) -> Result<()> {
    let bytes = db.range_bytes(&range.lower, &range.upper).map_err(read_error)?;
    match (middle(&range.lower, &range.upper), out.last_mut()) {
        (Some(middle), _) if bytes > piece_bytes && depth > 0 => {
            halve(db, KeyRange { lower: range.lower, upper: middle.clone() }, piece_bytes, depth - 1, out)?;
            halve(db, KeyRange { lower: middle, upper: range.upper }, piece_bytes, depth - 1, out)?;
        }
        // Nothing is in many halves of an uneven range.
        (_, Some(last)) if bytes == 0 => last.upper = range.upper,
        _ => out.push(range),
    }
    Ok(())
}

/// A key between two others, in the middle as far as `MIDDLE_BYTES` say; `None` if they have no room or no end.
fn middle(lower: &[u8], upper: &[u8]) -> Option<Vec<u8>> {
    let common = lower.iter().zip(upper).take_while(|(a, b)| a == b).count();
    let number = |key: &[u8]| {
        (common..common + MIDDLE_BYTES).fold(0u128, |sum, at| sum << 8 | u128::from(key.get(at).copied().unwrap_or(0)))
    };
    let (low, high) = (number(lower), number(upper));
    let middle = low + high.checked_sub(low)? / 2;
    let mut key = lower[..common].to_vec();
    key.extend_from_slice(&middle.to_be_bytes()[16 - MIDDLE_BYTES..]);
    let kept = key.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    key.truncate(kept.max(common));
    (lower < key.as_slice() && key.as_slice() < upper).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::middle;

    #[test]
    fn the_middle_is_between() {
        let cases: [(&[u8], &[u8], Option<&[u8]>); 7] = [
            (&[0, 0, 0, 1], &[0, 0, 0, 2], Some(&[0, 0, 0, 1, 128])),
            (&[1, 10], &[1, 20], Some(&[1, 15])),
            (&[1], &[2], Some(&[1, 128])),
            (&[1, 255, 255], &[2], Some(&[1, 255, 255, 128])),
            (&[7, 7], &[7, 7, 0], None),
            (&[7, 7], &[7, 7], None),
            (&[7], &[], None),
        ];
        for (lower, upper, expected) in cases {
            assert_eq!(middle(lower, upper).as_deref(), expected, "{lower:?} {upper:?}");
        }
    }
}
