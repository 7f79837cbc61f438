//! Every collation against what MySQL answered: `data/answers.txt`, by `tools/gen-collation-answers.py`.
//!
//! A digest that differs is named. To see where, print our lines and MySQL's:
//!
//! ```text
//! COLLATION_LINES='utf8mb4_sv_0900_ai_ci order' cargo test -p vaquita-types answers_are -- --nocapture > ours
//! tools/gen-collation-answers.py 'mysql -h127.0.0.1 -uroot' lines utf8mb4_sv_0900_ai_ci order > theirs
//! ```

use std::fmt::Write;

use super::golden::{fnv1a, hex, unhex};
use super::*;

/// Not as in MySQL, where UPPER of U+E0001 is a control character under the first, and ı, ſ and what weighs as a character
/// of one byte have no one place among strings under the second.
const OTHERWISE: [&str; 2] = ["gb18030_unicode_520_ci case", "gb18030_chinese_ci order"];

const KINDS: [&str; 4] = ["order", "match", "case", "weights"];

/// The strings that a charset can hold, in it, each with its number.
fn held(charset: &Charset) -> Vec<(usize, Vec<u8>)> {
    let utf8 = Charset::by_name("utf8mb4").unwrap();
    let mut out = Vec::new();
    for (number, line) in include_str!("data/answers-strings.txt").lines().enumerate() {
        let text = unhex(line);
        let converted = utf8.convert(charset, &text).bytes.into_owned();
        if charset.convert(utf8, &converted).bytes[..] == text[..] {
            out.push((number, converted));
        }
    }
    out
}

fn order_lines(c: &Collation, strings: &[(usize, Vec<u8>)]) -> String {
    let key = |s: &[u8]| {
        let mut key = Vec::new();
        c.sort_key(s, &mut key);
        key
    };
    let mut sorted: Vec<_> = strings.iter().map(|(number, s)| (s, key(s), *number)).collect();
    sorted.sort_by(|a, b| c.compare(a.0, b.0).then(a.2.cmp(&b.2)));
    let (mut out, mut group) = (String::new(), 0);
    for (at, (s, key, number)) in sorted.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| &sorted[at]);
        let order = before.map_or(std::cmp::Ordering::Less, |(b, ..)| c.compare(b, s));
        group += usize::from(order.is_lt());
        if let Some((b, before_key, _)) = before {
            assert_eq!(before_key.cmp(key), order, "sort keys of {} {:?} {:?}", c.name, hex(b), hex(s));
            assert_eq!(c.hash(b) == c.hash(s), order.is_eq(), "hashes of {} {:?} {:?}", c.name, hex(b), hex(s));
        }
        writeln!(out, "{number}\t{group}").unwrap();
    }
    out
}

fn match_lines(c: &Collation, strings: &[(usize, Vec<u8>)]) -> String {
    let mut out = String::new();
    for (n, (_, a)) in strings.iter().enumerate() {
        let b = &strings[(n * 7919 + 131) % strings.len()].1;
        let first = c.charset.prefix(b, 1);
        let mut begins = first.to_vec();
        assert!(c.charset.encode('%'.into(), &mut begins));
        let around = [&a[..], b, a].concat();
        let at = |s: &[u8], what: &[u8]| c.find(s, what, 0).map_or(0, |at| at + 1);
        let like = |pattern: &[u8]| u8::from(c.like(a, pattern, Some(LIKE_ESCAPE)));
        writeln!(out, "{}\t{}\t{}\t{}\t{}", c.compare(a, b) as i8, like(b), like(&begins), at(a, first), at(&around, b)).unwrap();
    }
    out
}

fn lines(c: &Collation, kind: &str, strings: &[(usize, Vec<u8>)]) -> String {
    let mut out = String::new();
    match kind {
        "order" => return order_lines(c, strings),
        "match" => return match_lines(c, strings),
        "case" => {
            for (_, s) in strings {
                let mut padded = s.clone();
                (0..4).for_each(|_| assert!(c.charset.encode(' '.into(), &mut padded)));
                writeln!(out, "{}\t{}", hex(&c.upper(&padded)), hex(&c.lower(&padded))).unwrap();
            }
        }
        _ => strings.iter().for_each(|(_, s)| writeln!(out, "{}", hex(&c.weight_string(s))).unwrap()),
    }
    out
}

#[test]
fn answers_are_mysqls() {
    let wanted = std::env::var("COLLATION_LINES").unwrap_or_default();
    let mut wrong = Vec::new();
    let mut strings: (&str, Vec<(usize, Vec<u8>)>) = ("", Vec::new());
    for line in include_str!("data/answers.txt").lines().filter(|l| !l.starts_with('#')) {
        let fields: Vec<&str> = line.split(' ').collect();
        let c = Collation::by_name(fields[0]).unwrap();
        if !c.is_supported() {
            wrong.push(format!("{} unsupported", c.name));
            continue;
        }
        if strings.0 != c.charset.name {
            strings = (c.charset.name, held(c.charset));
        }
        if strings.1.len().to_string() != fields[1] {
            wrong.push(format!("{} holds {} of {} strings", c.name, strings.1.len(), fields[1]));
            continue;
        }
        for (kind, digest) in KINDS.iter().zip(&fields[2..]) {
            let lines = lines(c, kind, &strings.1);
            if format!("{} {kind}", c.name) == wanted {
                println!("{lines}");
            }
            let list = format!("{} {kind}", c.name);
            if (format!("{:016x}", fnv1a(lines.as_bytes())) != *digest) != OTHERWISE.contains(&list.as_str()) {
                wrong.push(list);
            }
        }
    }
    assert!(wrong.is_empty(), "{} lists differ from MySQL's:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn weights_of_languages_are_mysqls() {
    let mut wrong = Vec::new();
    for line in include_str!("data/tailorings.txt").lines().filter(|l| !l.starts_with('#')) {
        let [name, digest] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("bad line {line}") };
        let collation = Collation::by_name(name).unwrap();
        let weights: Vec<u8> = (0..0x3_0000u32)
            .step_by(7)
            .filter_map(char::from_u32)
            .flat_map(|c| collation.weight_string(c.encode_utf8(&mut [0; 4]).as_bytes()))
            .collect();
        if format!("{:016x}", fnv1a(&weights)) != digest {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "{} tailorings differ from MySQL's: {wrong:?}", wrong.len());
}

/// What begins with a prefix lies below the prefix and U+FFFD: reads by LIKE rely on it.
#[test]
fn nothing_weighs_more_than_the_greatest_character() {
    for c in Collation::all().filter(|c| c.name.contains("_0900_")) {
        let Order::Uca(table, _) = c.order else { continue };
        let greatest = table.weights(0xFFFD, 0).as_slice().to_vec();
        let heavier = (0..0x11_0000).find(|cp| table.weights(*cp, 0).as_slice() > greatest.as_slice());
        assert_eq!(heavier, None, "{}", c.name);
    }
}

/// Codes of a table's weights ascend with them, none begins another, and lower levels keep their order.
#[test]
fn codes_of_every_language_are_in_order() {
    for c in Collation::all() {
        let Order::Uca(table, levels) = c.order else { continue };
        table.coder.check(c.name);
        let escaped = (0..0x3_0000).flat_map(|cp| (1..levels).map(move |level| table.weights(cp, level)));
        assert!(escaped.into_iter().all(|w| !w.as_slice().contains(&0x1FE)), "{}: push_lower_level cannot order 0x1FE", c.name);
    }
}
