//! The text of an option as a value that SET could give its variable.

use vaquita_session::variables::{Def, Kind, check};
use vaquita_types::Value;

/// Whether the text turns a switch on; `None`: it is neither on nor off. An option without a value is on.
pub fn switch(text: Option<&str>) -> Option<bool> {
    match text.map(str::to_ascii_lowercase).as_deref() {
        None | Some("on" | "true" | "1" | "yes") => Some(true),
        Some("off" | "false" | "0" | "no") => Some(false),
        Some(_) => None,
    }
}

/// A number with a unit of MySQL's: `16M` are 16777216.
pub fn integer(text: &str) -> Option<i128> {
    let (digits, shift) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 10),
        (at, 'm' | 'M') => (&text[..at], 20),
        (at, 'g' | 'G') => (&text[..at], 30),
        (at, 't' | 'T') => (&text[..at], 40),
        (at, 'p' | 'P') => (&text[..at], 50),
        (at, 'e' | 'E') => (&text[..at], 60),
        _ => (text, 0),
    };
    digits
        .trim()
        .parse::<i64>()
        .ok()
        .map(i128::from)
        .or_else(|| digits.trim().parse::<u64>().ok().map(i128::from))
        .map(|n| n << shift)
}

/// The value of a variable, and the warning that it is another than what was given.
pub fn checked(def: &Def, text: Option<&str>) -> Result<(Value, Option<String>), String> {
    let given = given(def, text)?;
    // A start may set any mode of GTIDs; SET goes from one to the next only.
    let now = if def.name == "gtid_mode" { &given } else { &def.default };
    let checked = check(def, &given, now, 0).map_err(|error| error.message().to_string())?;
    let (given, value) = (def.show(&given), def.show(&checked.value));
    let differs = matches!(def.kind, Kind::Int { .. } | Kind::Number { .. }) && given != value;
    Ok((checked.value, differs.then(|| format!("{given} is out of its range"))))
}

fn given(def: &Def, text: Option<&str>) -> Result<Value, String> {
    let needed = || text.ok_or_else(|| "it has no value".to_string());
    match &def.kind {
        Kind::Bool => switch(text).map(Value::bool).ok_or_else(|| "it is ON or OFF".to_string()),
        Kind::Int { .. } => {
            let text = needed()?;
            let number = integer(text).ok_or_else(|| format!("'{text}' is no number"))?;
            Ok(match u64::try_from(number) {
                Ok(number) => Value::UInt(number),
                Err(_) if number < 0 => Value::Int(i64::try_from(number).unwrap_or(i64::MIN)),
                Err(_) => Value::UInt(u64::MAX),
            })
        }
        Kind::Number { .. } => {
            let text = needed()?;
            text.trim().parse().map(Value::Float).map_err(|_| format!("'{text}' is no number"))
        }
        // Names of switches that became words, as event_scheduler.
        Kind::Enum(_) => Ok(number_or_text(text.unwrap_or("ON"))),
        Kind::Set(_) | Kind::SqlMode => Ok(number_or_text(needed()?)),
        Kind::Flags(_) | Kind::Text => Ok(Value::from(needed()?)),
    }
}

fn number_or_text(text: &str) -> Value {
    text.parse().map_or_else(|_| Value::from(text), Value::Int)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_session::variables::registry;

    #[test]
    fn units() {
        let cases = [("16M", Some(16 << 20)), ("1k", Some(1024)), ("2T", Some(2 << 40)), ("-1", Some(-1)), ("0", Some(0))];
        for (text, number) in cases {
            assert_eq!(integer(text), number, "{text}");
        }
        assert_eq!([integer(""), integer("M"), integer("1.5G"), integer("1MB"), integer("x")], [None; 5]);
        assert_eq!(integer("18446744073709551615"), Some(i128::from(u64::MAX)));
    }

    #[test]
    fn texts_are_values_of_variables() {
        let of = |name: &str, text: Option<&str>| {
            let def = registry().find(name).unwrap();
            checked(def, text).map(|(value, warning)| (def.show(&value), warning.is_some()))
        };
        let is = |value: &str| Ok((value.to_string(), false));
        assert_eq!(of("max_allowed_packet", Some("16M")), is("16777216"));
        assert_eq!(of("max_allowed_packet", Some("4G")), Ok(("1073741824".to_string(), true)));
        assert_eq!(of("autocommit", None), is("ON"));
        assert_eq!(of("autocommit", Some("off")), is("OFF"));
        assert_eq!(of("autocommit", Some("perhaps")), Err("it is ON or OFF".to_string()));
        assert_eq!(of("wait_timeout", Some("soon")), Err("'soon' is no number".to_string()));
        assert_eq!(of("wait_timeout", None), Err("it has no value".to_string()));
        assert_eq!(of("long_query_time", Some("0.5")), is("0.500000"));
        assert_eq!(of("transaction_isolation", Some("READ-COMMITTED")), is("READ-COMMITTED"));
        assert_eq!(of("transaction_isolation", Some("1")), is("READ-COMMITTED"));
        assert_eq!(of("gtid_mode", Some("OFF")), is("OFF"));
        assert_eq!(of("character_set_server", Some("latin1")), is("latin1"));
        assert!(of("character_set_server", Some("klingon")).is_err());
        assert_eq!(of("sql_mode", Some("NO_AUTO_CREATE_USER,STRICT_TRANS_TABLES")), is("STRICT_TRANS_TABLES"));
    }
}
