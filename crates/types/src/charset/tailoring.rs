//! Language-specific collations: what each changes in a table of the UCA.
//!
//! A table of Swedish is a copy of the Unicode one in which å, ä and ö weigh more than z. Beyond entries, a language
//! may move whole scripts (Russian has Cyrillic before Latin), have other weights for case (Danish sorts upper case
//! first), strings that weigh as one ("ch" in Czech, "dzs" in Hungarian), and characters that weigh something else
//! behind certain others (the Japanese length mark repeats the vowel before it).
//!
//! `data/tailorings.z`, written by `tools/gen-tailorings.py` from what MySQL answered: a count, then for each tailoring
//! its name as a section and its data as a section that is itself a deflate stream:
//!
//! ```text
//! base u8, levels u8
//! ranges        count, then first, last, prefix, signed difference
//! tertiary      count, then from, to
//! shapes        count, then four counts of weights each, u8
//! overrides     count; sections: differences of code points, numbers of shapes, a section of weights per level
//! strings       1 if the last character weighs something else behind the first, else 0; count; for each
//!               its length, its code points, and per level a count and weights
//! ```

use std::collections::HashMap;
use std::sync::LazyLock;

use super::blob::{Blob, Reader};
use super::codec::Encoding;
use super::uca::{LEVELS_MAX, Lists, Stream, UCA400, UCA520, UCA900, UcaTable};

/// Primary weights that move together.
struct Range {
    first: u16,
    last: u16,
    /// A weight to stand before the moved one; 0 for none.
    prefix: u16,
    difference: i32,
}

/// What a table of a language has besides entries.
#[derive(Default)]
pub(super) struct Tailored {
    ranges: Vec<Range>,
    tertiary: Vec<(u16, u16)>,
    /// Strings that weigh as one, by their first character; what follows it, longest first.
    contractions: HashMap<u32, Vec<(Vec<u32>, Lists)>>,
    /// Weights of a character behind another: by (other, character).
    contexts: HashMap<(u32, u32), Lists>,
}

impl Tailored {
    pub(super) fn move_primary(&self, w: u16, mut push: impl FnMut(u16)) {
        let Some(range) = self.ranges.iter().find(|r| (r.first..=r.last).contains(&w)) else { return push(w) };
        if range.prefix != 0 {
            push(range.prefix);
        }
        push((i32::from(w) + range.difference) as u16);
    }

    pub(super) fn tertiary(&self, w: u16) -> u16 {
        self.tertiary.iter().find(|(from, _)| *from == w).map_or(w, |(_, to)| *to)
    }

    fn moved(&self, mut lists: Lists) -> Lists {
        let mut primaries = Vec::with_capacity(lists[0].len());
        lists[0].iter().for_each(|w| self.move_primary(*w, |w| primaries.push(w)));
        lists[0] = primaries;
        lists[2].iter_mut().for_each(|w| *w = self.tertiary(*w));
        lists
    }

    /// The character weighs something else before certain others.
    pub(super) fn begins_string(&self, cp: u32) -> bool {
        self.contractions.contains_key(&cp)
    }

    /// What `cp` weighs together with its neighbours, and the bytes of `after` that this takes.
    ///
    /// `before` ends with the character before it. `None` if it weighs what it does alone.
    pub(super) fn in_context(&self, encoding: Encoding, before: &[u8], cp: u32, after: &[u8]) -> Option<(&Lists, usize)> {
        if !self.contexts.is_empty()
            && let Some(lists) = last_char(encoding, before).and_then(|other| self.contexts.get(&(other, cp)))
        {
            return Some((lists, 0));
        }
        let begins_with = |tail: &[u32]| {
            let mut at = 0;
            for expected in tail {
                let rest = after.get(at..).filter(|rest| !rest.is_empty())?;
                let (cp, len) = encoding.decode(rest);
                if cp != Some(*expected) {
                    return None;
                }
                at += len;
            }
            Some(at)
        };
        self.contractions.get(&cp)?.iter().find_map(|(tail, lists)| Some((lists, begins_with(tail)?)))
    }
}

/// The last character of a string in utf8mb4, the only charset of collations with contexts.
fn last_char(encoding: Encoding, bytes: &[u8]) -> Option<u32> {
    let start = bytes.iter().rposition(|b| b & 0xC0 != 0x80)?;
    encoding.decode(&bytes[start..]).0
}

macro_rules! tailorings {
    ($($name:literal)*) => {
        static TABLES: [(&str, LazyLock<UcaTable>); [$($name),*].len()] = [$(($name, LazyLock::new(|| load($name)))),*];
    };
}

tailorings! {
    "icelandic" "latvian" "romanian" "slovenian" "polish" "estonian" "spanish" "swedish" "turkish" "czech" "danish"
    "lithuanian" "slovak" "spanish2" "roman" "persian" "esperanto" "hungarian" "sinhala" "german2" "croatian" "vietnamese"
    "de_pb_0900" "is_0900" "lv_0900" "ro_0900" "sl_0900" "pl_0900" "et_0900" "es_0900" "sv_0900" "tr_0900" "cs_0900"
    "da_0900" "lt_0900" "sk_0900" "es_trad_0900" "la_0900" "eo_0900" "hu_0900" "hr_0900" "vi_0900" "ja_0900" "ja_0900_ks"
    "ru_0900" "zh_0900" "nb_0900" "nn_0900" "sr_latn_0900" "bs_0900" "bg_0900" "gl_0900" "mn_cyrl_0900"
}

/// The table of a collation's language, and its levels; `suffix` is the collation's name without the charset's.
pub(super) fn table(suffix: &str) -> Option<(&'static LazyLock<UcaTable>, usize)> {
    let name = suffix.strip_prefix('_')?;
    let (name, levels) = match name {
        "ja_0900_as_cs_ks" => ("ja_0900_ks", 4),
        _ => {
            let endings = [("_as_cs", 3), ("_0900_ai_ci", 1), ("_ci", 1)];
            let (ending, levels) = endings.into_iter().find(|(ending, _)| name.ends_with(ending))?;
            (name.strip_suffix(ending.trim_start_matches("_0900")).unwrap_or(name), levels)
        }
    };
    TABLES.iter().find(|t| t.0 == name).map(|t| (&t.1, levels))
}

fn load(name: &str) -> UcaTable {
    let mut file = Reader::new(include_bytes!("data/tailorings.z"));
    for _ in 0..file.varint() {
        let found = file.text() == name;
        let len = file.varint() as usize;
        let packed = file.bytes(len);
        if found {
            return read(&mut Blob::inflate(packed).reader());
        }
    }
    // The golden tests load every name.
    UCA900.copy(Tailored::default()).finish()
}

fn read(r: &mut Reader<'_>) -> UcaTable {
    let base: &UcaTable = match r.u8() {
        0 => &UCA400,
        1 => &UCA520,
        _ => &UCA900,
    };
    // Levels follow from the collation.
    r.u8();
    let mut tailored = Tailored::default();
    for _ in 0..r.varint() {
        let (first, last, prefix) = (r.varint() as u16, r.varint() as u16, r.varint() as u16);
        tailored.ranges.push(Range { first, last, prefix, difference: r.signed() });
    }
    for _ in 0..r.varint() {
        tailored.tertiary.push((r.varint() as u16, r.varint() as u16));
    }
    let overrides = read_overrides(r);
    let is_context = r.varint() == 1;
    let mut dependent = Vec::new();
    for _ in 0..r.varint() {
        let string: Vec<u32> = (0..r.varint()).map(|_| r.varint()).collect();
        let lists = std::array::from_fn(|_| (0..r.varint()).map(|_| r.varint() as u16).collect());
        let [first, tail @ ..] = string.as_slice() else { continue };
        match (is_context, tail) {
            (true, [last]) => {
                dependent.push(*last);
                tailored.contexts.insert((*first, *last), lists);
            }
            _ => {
                dependent.push(*first);
                tailored.contractions.entry(*first).or_default().push((tail.to_vec(), lists));
            }
        }
    }
    for strings in tailored.contractions.values_mut() {
        strings.sort_by_key(|(tail, _)| std::cmp::Reverse(tail.len()));
    }
    let moves = !tailored.ranges.is_empty() || !tailored.tertiary.is_empty();
    let mut table = base.copy(tailored);
    if moves {
        let Some(tailored) = table.tailored.take() else { return table };
        table.change_entries(|lists| tailored.moved(lists));
        table.tailored = Some(tailored);
    }
    for (cp, lists) in overrides {
        table.set(cp, &lists);
    }
    for cp in dependent {
        let lists = table.lists(cp);
        table.set_lists(cp, &lists);
    }
    table.finish()
}

fn read_overrides(r: &mut Reader<'_>) -> Vec<(u32, Lists)> {
    let shapes: Vec<[u8; LEVELS_MAX]> = (0..r.varint()).map(|_| std::array::from_fn(|_| r.u8())).collect();
    let count = r.varint();
    let (mut cps, mut kinds) = (r.section(), r.section());
    let mut streams: [Stream<'_>; LEVELS_MAX] = std::array::from_fn(|_| Stream { reader: r.section(), last: 0 });
    let mut cp = 0;
    let one = |_| {
        cp += cps.varint();
        let shape = shapes.get(kinds.varint() as usize).copied().unwrap_or_default();
        let mut lists = Lists::default();
        for ((list, stream), weights) in lists.iter_mut().zip(&mut streams).zip(shape) {
            list.extend((0..weights).map(|_| stream.next()));
        }
        (cp, lists)
    };
    (0..count).map(one).collect()
}
