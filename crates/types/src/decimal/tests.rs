//! Properties of decimals: encodings, order, arithmetic against each other.

use std::hash::{DefaultHasher, Hash, Hasher};

use proptest::prelude::*;

use super::*;

fn hash_of(d: &Decimal) -> u64 {
    let mut hasher = DefaultHasher::new();
    d.hash(&mut hasher);
    hasher.finish()
}

/// Numbers of every width, as text of at most `integer` and `fraction` digits.
fn decimal(integer: usize, fraction: usize) -> impl Strategy<Value = Decimal> {
    let digits = |max: usize| proptest::collection::vec(b'0'..=b'9', 0..=max).prop_map(|d| String::from_utf8(d).unwrap());
    (any::<bool>(), digits(integer), digits(fraction)).prop_map(|(negative, i, f)| {
        let d = Decimal::parse(format!("0{i}.{f}").as_bytes()).value;
        if negative { d.neg() } else { d }
    })
}

proptest! {
    #[test]
    fn text_round_trips(d in decimal(45, 20)) {
        let text = d.to_string();
        let parsed = Decimal::parse(text.as_bytes());
        prop_assert_eq!(parsed.used, text.len());
        prop_assert_eq!(parsed.value.to_string(), text);
    }

    #[test]
    fn stored_form_round_trips_and_keeps_the_order(a in decimal(35, 30), b in decimal(35, 30)) {
        for (precision, scale) in [(65, 30), (40, 5), (18, 9), (10, 0)] {
            let (Ok(a) | Err(a)) = a.fit(precision, scale);
            let (Ok(b) | Err(b)) = b.fit(precision, scale);
            let (mut x, mut y) = (Vec::new(), Vec::new());
            a.encode(precision, scale, &mut x);
            b.encode(precision, scale, &mut y);
            prop_assert_eq!(x.len(), stored_len(precision, scale));
            prop_assert_eq!(x.cmp(&y), a.cmp(&b));
            let back = Decimal::decode(&x, precision, scale).unwrap();
            prop_assert_eq!(back.to_string(), a.to_string());
        }
    }

    #[test]
    fn decoding_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..32), precision in 1u32..66, scale in 0u8..31) {
        let scale = scale.min(precision as u8);
        if let Some(d) = Decimal::decode(&bytes, precision, scale) {
            let mut again = Vec::new();
            d.encode(precision, scale, &mut again);
            prop_assert_eq!(again.len(), stored_len(precision, scale));
        }
    }

    #[test]
    fn any_text_and_any_operation_are_safe(text in "[-+0-9.eE ]{0,90}", other in "[1-9]{1,40}[.][0-9]{0,80}(e-?[0-9]{1,4})?", places in any::<i32>()) {
        let (a, b) = (Decimal::parse(text.as_bytes()).value, Decimal::parse(other.as_bytes()).value);
        prop_assert!(a.scale() <= SCALE_INTERNAL_MAX && b.scale() <= SCALE_INTERNAL_MAX);
        let results = [a.add(&b), a.sub(&b), a.mul(&b), a.div(&b, 4), b.div(&a, 30), a.rem(&b), a.int_div(&b), Some(b.round(places))];
        for d in results.into_iter().flatten() {
            prop_assert!(d.scale() <= SCALE_INTERNAL_MAX);
            let _ = (d.to_string(), d.to_f64(), d.to_i64(), d.to_u64(), d.fit(65, 30), d.cmp(&a));
        }
    }

    #[test]
    fn equal_numbers_are_equal_at_any_scale(d in decimal(30, 10), more in 0u8..20) {
        let padded = d.rescale(d.scale() + more).unwrap();
        prop_assert_eq!(&padded, &d);
        prop_assert_eq!(hash_of(&padded), hash_of(&d));
    }

    #[test]
    fn narrow_and_wide_arithmetic_agree(a in any::<i64>(), b in any::<i64>(), s in 0u8..10, t in 0u8..10) {
        // Adding and taking away a wide number forces the wide paths.
        let wide = Decimal::parse(b"1000000000000000000000000000000").value;
        let (x, y) = (Decimal::new(a, s), Decimal::new(b, t));
        let sum = x.add(&y).unwrap();
        let through_wide = x.add(&wide).unwrap().add(&y).unwrap().sub(&wide).unwrap();
        prop_assert_eq!(&sum, &through_wide);
        prop_assert_eq!(x.sub(&y).unwrap(), y.sub(&x).unwrap().neg());
        if !y.is_zero() {
            let whole = x.int_div(&y).unwrap().mul(&y).unwrap();
            prop_assert_eq!(whole.add(&x.rem(&y).unwrap()).unwrap(), x);
        }
    }

    #[test]
    fn i64_and_f64_round_trip(i in any::<i64>(), f in -1e15f64..1e15) {
        prop_assert_eq!(Decimal::from(i).to_i64(), (i, false));
        prop_assert_eq!(Decimal::from_f64(f).0.to_f64(), f);
    }
}
