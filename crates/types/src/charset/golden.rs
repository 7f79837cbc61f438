//! Compares this module with what MySQL answered.
//!
//! `data/golden.txt` holds digests of WEIGHT_STRING() for every block of 256 code points
//! (see `tools/gen-charset-data.py`); `data/strings.txt` comparisons, LIKE and
//! LOCATE of random strings (see `tools/gen-charset-strings.py`).

use std::cmp::Ordering;

use super::*;

pub(super) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01B3))
}

#[test]
fn weights_are_mysqls() {
    let mut wrong = Vec::new();
    for line in include_str!("data/golden.txt").lines().filter(|l| !l.starts_with('#')) {
        let [name, first, digest] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("bad line {line}") };
        let collation = Collation::by_name(name).unwrap();
        let first = u32::from_str_radix(first, 16).unwrap();
        let block: Vec<u8> = (first..first + 256)
            .filter_map(char::from_u32)
            .flat_map(|c| collation.weight_string(c.to_string().as_bytes()))
            .collect();
        if fnv1a(&block) != u64::from_str_radix(digest, 16).unwrap() {
            wrong.push(format!("{name} {first:x}"));
        }
    }
    assert!(wrong.is_empty(), "{} blocks differ from MySQL: {:?}", wrong.len(), &wrong[..wrong.len().min(20)]);
}

pub(super) fn unhex(s: &str) -> Vec<u8> {
    (0..s.len() / 2).filter_map(|i| u8::from_str_radix(&s[i * 2..i * 2 + 2], 16).ok()).collect()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02X}")).collect()
}

#[test]
fn strings_compare_match_and_map_as_in_mysql() {
    let mut wrong = Vec::new();
    for line in include_str!("data/strings.txt").lines().filter(|l| !l.starts_with('#')) {
        let fields: Vec<&str> = line.split(' ').collect();
        let c = Collation::by_name(fields[0]).unwrap();
        let (a, b) = (unhex(fields[1]), unhex(fields[2]));
        let mut check = |what: &str, ours: String, mysqls: &str| {
            if ours != mysqls {
                wrong.push(format!("{what} {line}: {ours}"));
            }
        };
        let order = c.compare(&a, &b);
        check("compare", (order as i8).to_string(), fields[3]);
        let (mut key_a, mut key_b) = (Vec::new(), Vec::new());
        c.sort_key(&a, &mut key_a);
        c.sort_key(&b, &mut key_b);
        check("sort key", (key_a.cmp(&key_b) as i8).to_string(), fields[3]);
        check("equal", c.equal(&a, &b).to_string(), if order == Ordering::Equal { "true" } else { "false" });
        check("hash", (c.hash(&a) == c.hash(&b)).to_string(), if order == Ordering::Equal { "true" } else { "false" });
        check("like", u8::from(c.like(&a, &b, Some(LIKE_ESCAPE))).to_string(), fields[4]);
        check("locate", c.find(&a, &b, 0).map_or(0, |at| at + 1).to_string(), fields[5]);
        let hex = |s: Vec<u8>| if s.is_empty() { "-".to_string() } else { s.iter().map(|b| format!("{b:02X}")).collect() };
        check("weights", hex(c.weight_string(&a)), fields[6]);
        let mut padded = a.clone();
        (0..4).for_each(|_| assert!(c.charset.encode(0x20, &mut padded)));
        check("upper", hex(c.upper(&padded)), fields[7]);
        check("lower", hex(c.lower(&padded)), fields[8]);
    }
    assert!(wrong.is_empty(), "{} answers differ from MySQL:\n{}", wrong.len(), wrong[..wrong.len().min(30)].join("\n"));
}
