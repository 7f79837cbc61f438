//! Compares this module with what MySQL answered.
//!
//! `data/golden.txt` holds digests of WEIGHT_STRING() for every block of 256 code points
//! (see `tools/gen-charset-data.py`); `data/strings.txt` comparisons, LIKE and
//! LOCATE of random strings (see `tools/gen-charset-strings.py`).

use std::cmp::Ordering;

use super::*;

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01B3))
}

#[test]
fn weights_are_mysqls() {
    let mut wrong = Vec::new();
    for line in include_str!("data/golden.txt").lines().filter(|l| !l.starts_with('#')) {
        let [name, first, digest] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("bad line {line}") };
        let collation = Collation::by_name(name).unwrap();
        let first = u32::from_str_radix(first, 16).unwrap();
        let block: Vec<u8> = (first..first + 256).filter_map(char::from_u32).flat_map(|c| collation.weight_string(c.to_string().as_bytes())).collect();
        if fnv1a(&block) != u64::from_str_radix(digest, 16).unwrap() {
            wrong.push(format!("{name} {first:x}"));
        }
    }
    assert!(wrong.is_empty(), "{} blocks differ from MySQL: {:?}", wrong.len(), &wrong[..wrong.len().min(20)]);
}
