//! The two text formats in which metrics are given: OpenMetrics 1.0, and Prometheus' older one for who does not ask for it.
//!
//! ```text
//! OpenMetrics                               Prometheus (0.0.4)
//! # TYPE vaquita_commits counter            # HELP vaquita_commits_total Transactions committed.
//! # HELP vaquita_commits Transactions …     # TYPE vaquita_commits_total counter
//! vaquita_commits_total 17                  vaquita_commits_total 17
//! # EOF
//! ```
//! The older one names a counter as its sample, knows no `info` and no `unknown`, and has no end. Samples of a family stand together in both,
//! which the borrow of `Family` sees to.

use std::fmt::Write;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Prometheus,
    OpenMetrics,
}

impl Format {
    /// What a client's Accept header asks for.
    pub fn of(accept: &str) -> Format {
        let wants = |kind: &str| kind.split(';').next().is_some_and(|name| name.trim() == "application/openmetrics-text");
        if accept.split(',').any(wants) { Format::OpenMetrics } else { Format::Prometheus }
    }

    pub fn content_type(self) -> &'static str {
        match self {
            Format::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Its samples are called `…_total`.
    Counter,
    Gauge,
    Unknown,
    Histogram,
    /// Its sample is called `…_info`, and is 1.
    Info,
}

impl Kind {
    fn name(self, format: Format) -> &'static str {
        match (self, format) {
            (Kind::Counter, _) => "counter",
            (Kind::Gauge, _) | (Kind::Info, Format::Prometheus) => "gauge",
            (Kind::Unknown, Format::Prometheus) => "untyped",
            (Kind::Unknown, Format::OpenMetrics) => "unknown",
            (Kind::Histogram, _) => "histogram",
            (Kind::Info, Format::OpenMetrics) => "info",
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Kind::Counter => "_total",
            Kind::Info => "_info",
            _ => "",
        }
    }
}

/// A value of a sample.
pub enum Number {
    Whole(u64),
    Float(f64),
}

impl From<u64> for Number {
    fn from(number: u64) -> Number {
        Number::Whole(number)
    }
}

impl From<usize> for Number {
    fn from(number: usize) -> Number {
        Number::Whole(number as u64)
    }
}

impl From<bool> for Number {
    fn from(is: bool) -> Number {
        Number::Whole(u64::from(is))
    }
}

impl From<f64> for Number {
    fn from(number: f64) -> Number {
        Number::Float(number)
    }
}

pub type Labels<'a> = &'a [(&'a str, &'a str)];

pub struct Metrics {
    out: String,
    format: Format,
}

/// A family whose samples follow.
pub struct Family<'a> {
    metrics: &'a mut Metrics,
    name: &'a str,
    kind: Kind,
    help: &'a str,
    has_head: bool,
}

impl Metrics {
    pub fn new(format: Format) -> Metrics {
        Metrics { out: String::with_capacity(64 << 10), format }
    }

    /// `name` without the suffix of its kind. A family without samples is not there.
    pub fn family<'a>(&'a mut self, name: &'a str, kind: Kind, help: &'a str) -> Family<'a> {
        Family { metrics: self, name, kind, help, has_head: false }
    }

    pub fn counter(&mut self, name: &str, help: &str, value: impl Into<Number>) {
        self.family(name, Kind::Counter, help).sample(&[], value);
    }

    pub fn gauge(&mut self, name: &str, help: &str, value: impl Into<Number>) {
        self.family(name, Kind::Gauge, help).sample(&[], value);
    }

    pub fn finish(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.out.push_str("# EOF\n");
        }
        self.out
    }

    fn line(&mut self, name: &str, suffix: &str, labels: Labels<'_>, value: Number) {
        self.out.push_str(name);
        self.out.push_str(suffix);
        for (at, (label, value)) in labels.iter().enumerate() {
            let _ = write!(self.out, "{}{label}=\"", if at == 0 { '{' } else { ',' });
            escape(&mut self.out, value);
            self.out.push('"');
        }
        self.out.push_str(if labels.is_empty() { " " } else { "} " });
        let _ = match value {
            Number::Whole(number) => writeln!(self.out, "{number}"),
            Number::Float(number) if number.is_infinite() => writeln!(self.out, "{}Inf", if number > 0.0 { '+' } else { '-' }),
            Number::Float(number) => writeln!(self.out, "{number}"),
        };
    }
}

impl Family<'_> {
    fn head(&mut self) {
        if std::mem::replace(&mut self.has_head, true) {
            return;
        }
        let Metrics { out, format } = &mut *self.metrics;
        let kind = self.kind.name(*format);
        let help = self.help.replace('\\', "\\\\").replace('\n', " ");
        let _ = match format {
            Format::Prometheus => {
                let (name, suffix) = (self.name, self.kind.suffix());
                writeln!(out, "# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {kind}")
            }
            Format::OpenMetrics => {
                let name = self.name;
                let _ = writeln!(out, "# TYPE {name} {kind}");
                let unit = ["seconds", "bytes"].into_iter().find(|unit| name.ends_with(&format!("_{unit}")));
                if let Some(unit) = unit.filter(|_| self.kind != Kind::Info) {
                    let _ = writeln!(out, "# UNIT {name} {unit}");
                }
                writeln!(out, "# HELP {name} {}", help.replace('"', "\\\""))
            }
        };
    }

    pub fn sample(&mut self, labels: Labels<'_>, value: impl Into<Number>) -> &mut Self {
        self.head();
        self.metrics.line(self.name, self.kind.suffix(), labels, value.into());
        self
    }

    /// A histogram: of each bound how many are not above it, and the number and the sum of all. `bounds` are as they are written.
    pub fn histogram(&mut self, labels: Labels<'_>, bounds: &[(&str, u64)], count: u64, sum: f64) {
        self.head();
        let mut with_bound = labels.to_vec();
        for (bound, below) in bounds.iter().copied().chain([("+Inf", count)]) {
            with_bound.push(("le", bound));
            self.metrics.line(self.name, "_bucket", &with_bound, below.into());
            with_bound.pop();
        }
        self.metrics.line(self.name, "_sum", labels, sum.into());
        self.metrics.line(self.name, "_count", labels, count.into());
    }
}

/// A label's value.
fn escape(out: &mut String, value: &str) {
    for char in value.chars() {
        match char {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: Format) -> String {
        let mut metrics = Metrics::new(format);
        metrics.counter("a_seconds", "Some \"time\".", 1.5);
        metrics.family("v", Kind::Info, "Version.").sample(&[("version", "8\\\"\n")], true);
        metrics.family("nothing", Kind::Gauge, "Has no samples.");
        metrics.family("h", Kind::Histogram, "Some.").histogram(&[("k", "v")], &[("0.5", 1), ("1.0", 2)], 3, 4.5);
        metrics.family("u", Kind::Unknown, "Any.").sample(&[], f64::INFINITY);
        metrics.finish()
    }

    #[test]
    fn both_formats() {
        assert_eq!(
            written(Format::Prometheus),
            "# HELP a_seconds_total Some \"time\".\n# TYPE a_seconds_total counter\na_seconds_total 1.5\n\
             # HELP v_info Version.\n# TYPE v_info gauge\nv_info{version=\"8\\\\\\\"\\n\"} 1\n\
             # HELP h Some.\n# TYPE h histogram\nh_bucket{k=\"v\",le=\"0.5\"} 1\nh_bucket{k=\"v\",le=\"1.0\"} 2\n\
             h_bucket{k=\"v\",le=\"+Inf\"} 3\nh_sum{k=\"v\"} 4.5\nh_count{k=\"v\"} 3\n\
             # HELP u Any.\n# TYPE u untyped\nu +Inf\n"
        );
        assert_eq!(
            written(Format::OpenMetrics),
            "# TYPE a_seconds counter\n# UNIT a_seconds seconds\n# HELP a_seconds Some \\\"time\\\".\na_seconds_total 1.5\n\
             # TYPE v info\n# HELP v Version.\nv_info{version=\"8\\\\\\\"\\n\"} 1\n\
             # TYPE h histogram\n# HELP h Some.\nh_bucket{k=\"v\",le=\"0.5\"} 1\nh_bucket{k=\"v\",le=\"1.0\"} 2\n\
             h_bucket{k=\"v\",le=\"+Inf\"} 3\nh_sum{k=\"v\"} 4.5\nh_count{k=\"v\"} 3\n\
             # TYPE u unknown\n# HELP u Any.\nu +Inf\n# EOF\n"
        );
    }

    #[test]
    fn the_format_is_what_was_asked_for() {
        let prometheus = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(Format::of(prometheus), Format::OpenMetrics);
        assert_eq!([Format::of(""), Format::of("*/*"), Format::of("text/plain")], [Format::Prometheus; 3]);
    }
}
