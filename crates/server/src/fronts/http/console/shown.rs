//! Numbers as people read them.

/// `1,234`, `12.3 k`, `4.56 M`.
pub fn count(number: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")];
    let unit = UNITS.iter().find(|(from, _)| number.abs() >= *from);
    match unit {
        Some((from, unit)) => {
            let size = if *from == 1e4 { 1e3 } else { *from };
            format!("{} {unit}", three_digits(number / size))
        }
        None if number.fract() == 0.0 || number.abs() >= 1000.0 => grouped(number),
        None => three_digits(number),
    }
}

/// With a comma before each three digits.
fn grouped(number: f64) -> String {
    let digits = format!("{:.0}", number.abs());
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if number < 0.0 { format!("-{out}") } else { out }
}

fn three_digits(number: f64) -> String {
    match number.abs() {
        size if size >= 100.0 => format!("{number:.0}"),
        size if size >= 10.0 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

/// `1.20 MiB`.
pub fn bytes(number: f64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let (mut size, mut at) = (number, 0);
    while size.abs() >= 1024.0 && at + 1 < UNITS.len() {
        size /= 1024.0;
        at += 1;
    }
    if at == 0 { format!("{size:.0} B") } else { format!("{} {}", three_digits(size), UNITS[at]) }
}

/// `350 µs`, `1.20 ms`, `3.00 s`, `2 h 5 min`.
pub fn time_s(seconds: f64) -> String {
    match seconds {
        s if s <= 0.0 => "0".to_string(),
        s if s < 1e-3 => format!("{} µs", three_digits(s * 1e6)),
        s if s < 1.0 => format!("{} ms", three_digits(s * 1e3)),
        s if s < 120.0 => format!("{} s", three_digits(s)),
        s if s < 7200.0 => format!("{:.0} min {:.0} s", (s / 60.0).floor(), s % 60.0),
        s if s < 172_800.0 => format!("{:.0} h {:.0} min", (s / 3600.0).floor(), (s % 3600.0 / 60.0).floor()),
        s => format!("{:.0} d {:.0} h", (s / 86_400.0).floor(), (s % 86_400.0 / 3600.0).floor()),
    }
}

/// Of performance_schema.
pub fn time_ps(picoseconds: f64) -> String {
    time_s(picoseconds / 1e12)
}

/// What a chart's numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Count,
    PerSecond,
    Bytes,
    BytesPerSecond,
    Seconds,
    Cores,
    /// Of a whole, shown in percent.
    Part,
}

impl Unit {
    pub fn show(self, number: f64) -> String {
        match self {
            Unit::Count => count(number),
            Unit::PerSecond => format!("{}/s", count(number)),
            Unit::Bytes => bytes(number),
            Unit::BytesPerSecond => format!("{}/s", bytes(number)),
            Unit::Seconds => time_s(number),
            Unit::Cores => three_digits(number),
            Unit::Part => format!("{}%", three_digits(number * 100.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let counts = [0.0, 7.0, 0.5, 1234.0, 9999.0, 12_345.0, 4_560_000.0, -1234.0].map(count);
        assert_eq!(counts, ["0", "7", "0.50", "1,234", "9,999", "12.3 k", "4.56 M", "-1,234"]);
        assert_eq!([0.0, 1023.0, 1536.0, 1_258_291_200.0].map(bytes), ["0 B", "1023 B", "1.50 KiB", "1.17 GiB"]);
        let times = [0.0, 3.5e-4, 0.0012, 3.0, 125.0, 7500.0, 200_000.0].map(time_s);
        assert_eq!(times, ["0", "350 µs", "1.20 ms", "3.00 s", "2 min 5 s", "2 h 5 min", "2 d 7 h"]);
    }
}
