//! Properties of JSON values: text and stored form round-trip, no input panics.

use proptest::prelude::*;

use super::*;

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<i64>().prop_map(Json::Int),
        (i64::MAX as u64 + 1..).prop_map(Json::UInt),
        any::<f64>().prop_filter("finite", |d| d.is_finite()).prop_map(Json::Double),
        any::<String>().prop_map(Json::string),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Json::array),
            proptest::collection::vec((any::<String>(), inner), 0..5)
                .prop_map(|m| Json::object(JsonObject::from_members(m.into_iter().map(|(k, v)| (k.into(), v)).collect()))),
        ]
    })
}

proptest! {
    #[test]
    fn text_round_trips(j in json()) {
        prop_assert_eq!(Json::parse(j.to_string().as_bytes()).unwrap().to_string(), j.to_string());
    }

    #[test]
    fn stored_form_round_trips(j in json()) {
        let mut bytes = Vec::new();
        j.encode(&mut bytes);
        let back = Json::decode(&bytes).unwrap();
        prop_assert_eq!(back.to_string(), j.to_string());
        prop_assert_eq!(&back, &j);
        bytes.pop();
        prop_assert!(Json::decode(&bytes).is_none());
    }

    #[test]
    fn decoding_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = Json::decode(&bytes);
    }

    #[test]
    fn parsing_never_panics(text in proptest::collection::vec(any::<u8>(), 0..64), path in "[$.a\\[\\]*0-9lasto \"-]{0,20}") {
        let _ = Json::parse(&text);
        let _ = JsonPath::parse(&format!("${path}"));
    }

    #[test]
    fn order_is_total(a in json(), b in json()) {
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        prop_assert_eq!(&a, &a.clone());
    }
}

#[test]
fn search_gives_paths() {
    let doc = Json::parse(br#"{"a": "abc", "b": ["xabcx", "abc"], "1k": "abc"}"#).unwrap();
    let found = |one, within: &[&str]| {
        let within: Vec<JsonPath> = within.iter().map(|p| JsonPath::parse(p).unwrap()).collect();
        doc.search(&|s| Ok(s == "abc"), one, &within, &mut || Ok(())).expect("no end").map(|j| j.to_string())
    };
    assert_eq!(found(true, &[]).unwrap(), r#""$.a""#);
    assert_eq!(found(false, &[]).unwrap(), r#"["$.a", "$.b[1]", "$.\"1k\""]"#);
    assert_eq!(found(false, &["$.b"]).unwrap(), r#""$.b[1]""#);
    assert_eq!(found(false, &["$.c"]), None);
}

#[test]
fn long_paths_are_bounded() {
    let doc = Json::parse(b"[[[1]]]").unwrap();
    let path = |n| JsonPath::parse(&format!("${}", "[0]".repeat(n)));
    let longest = path(JSON_PATH_LEGS_MAX).unwrap();
    assert_eq!(doc.extract(&[longest], &mut || Ok(())).unwrap().unwrap().to_string(), "1");
    assert!(path(JSON_PATH_LEGS_MAX + 1).is_err());
    let many = JsonPath::parse(&format!("$**{}", "**[0]".repeat(50)).replace("$****", "$**"));
    assert_eq!(doc.seek(&many.unwrap()).len(), 1);
}

/// Each ellipsis begins at all values that the one before found, which are inside of each other.
#[test]
fn an_ellipsis_looks_at_each_value_once() {
    let chain = format!("{}1{}", "[".repeat(90), "]".repeat(90));
    let doc = Json::parse(format!("[{}]", vec![chain; 200].join(",")).as_bytes()).unwrap();
    let path = JsonPath::parse(&format!("${}", "**[0]".repeat(40))).unwrap();
    let mut legs = 0u32;
    let mut count = || {
        legs += 1;
        Ok(())
    };
    assert_eq!(doc.seek_while(&path, &mut count).unwrap().len(), 200 * 51 + 1);
    assert!(legs > 80, "one look for each leg, and more for many values: {legs}");
    let stop = &mut || Err(crate::Error::new(&crate::errno::ER_QUERY_INTERRUPTED, &[]));
    assert!(doc.seek_while(&path, stop).is_err());
}
