//! Sets against sets of numbers, and their two forms against each other. What MySQL answers is in the script `gtids`.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const SOURCES: [Uuid; 2] = [Uuid([0x3e; 16]), Uuid([0x11; 16])];

type Model = BTreeSet<(u8, u8, u64)>;

fn tag(i: u8) -> Tag {
    Tag::new([&b""[..], b"b", b"a_1"][usize::from(i)]).unwrap()
}

fn build(ranges: &[(u8, u8, u64, u64)]) -> (GtidSet, Model) {
    let mut set = GtidSet::default();
    let mut model = Model::new();
    for (source, t, first, len) in ranges {
        set.add(SOURCES[usize::from(*source)], tag(*t), (*first, first + len));
        model.extend((*first..=first + len).map(|n| (*source, *t, n)));
    }
    (set, model)
}

fn same(set: &GtidSet, model: &Model) {
    let mut read = Model::new();
    for (source, t, intervals) in set.iter() {
        let source = SOURCES.iter().position(|s| s == source).unwrap() as u8;
        let t = (0..3).find(|i| tag(*i) == *t).unwrap();
        assert!(!intervals.is_empty() && intervals.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0));
        read.extend(intervals.iter().flat_map(|(first, last)| (*first..=*last).map(|n| (source, t, n))));
    }
    assert_eq!(&read, model);
}

fn ranges() -> impl Strategy<Value = Vec<(u8, u8, u64, u64)>> {
    prop::collection::vec((0..2u8, 0..3u8, 1..40u64, 0..8u64), 0..12)
}

proptest! {
    #[test]
    fn sets_are_sets(a in ranges(), b in ranges()) {
        let ((a, model_a), (b, model_b)) = (build(&a), build(&b));
        same(&a, &model_a);
        let mut both = a.clone();
        both.union(&b);
        same(&both, &(&model_a | &model_b));
        let left = a.subtract(&b);
        same(&left, &(&model_a - &model_b));
        prop_assert_eq!(left.is_empty(), a.is_subset_of(&b));
        for n in 1..50 {
            prop_assert_eq!(a.contains(SOURCES[1], &tag(2), n), model_a.contains(&(1, 2, n)));
        }
    }

    #[test]
    fn both_forms_read_back(ranges in ranges()) {
        let (set, _) = build(&ranges);
        prop_assert_eq!(GtidSet::parse(set.to_string().as_bytes()).unwrap(), set.clone());
        let mut bytes = Vec::new();
        set.encode(&mut bytes);
        prop_assert_eq!(GtidSet::decode(&bytes).unwrap(), set.clone());
        bytes.clear();
        set.encode_for_all(&mut bytes);
        prop_assert_eq!(GtidSet::decode(&bytes).unwrap(), set);
        bytes.push(0);
        prop_assert_eq!(GtidSet::decode(&bytes), Err(GtidSetError));
    }

    #[test]
    fn garbage_is_harmless(bytes in prop::collection::vec(any::<u8>(), 0..100), text in "[0-9a-f:, {}-]{0,60}") {
        let _ = GtidSet::decode(&bytes);
        if let Err(problem) = GtidSet::parse(text.as_bytes()) {
            problem.message(text.as_bytes());
        }
    }
}
