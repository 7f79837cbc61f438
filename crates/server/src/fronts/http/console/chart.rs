//! Charts as SVG, which the server draws: lines or areas over time, the last values beside their names.

use maud::{Markup, html};

use super::shown::{Unit, time_s};

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 120.0;
const ALONE_WIDTH: f64 = 3.0;
/// The part of its time from which on a chart is whole.
const ALL_KNOWN: f64 = 0.95;
/// Colours of the style sheet.
const COLOURS: usize = 6;

pub struct Series {
    pub name: &'static str,
    /// One for each time; a gap where it is not finite.
    pub values: Vec<f64>,
}

pub struct Chart<'a> {
    pub title: &'a str,
    pub unit: Unit,
    /// Seconds before now of each value, the oldest first.
    pub ages_s: &'a [f64],
    /// What the chart goes back to at most, in seconds and in words.
    pub since: (f64, &'a str),
    pub series: Vec<Series>,
    /// Areas above each other instead of lines.
    pub is_stacked: bool,
}

impl Chart<'_> {
    pub fn draw(self) -> Markup {
        let drawn = if self.is_stacked { stacked(&self.series) } else { self.series.iter().map(|s| s.values.clone()).collect() };
        let largest = drawn.iter().flatten().copied().filter(|value| value.is_finite()).fold(0.0, f64::max);
        let top = round_up(largest, self.unit);
        let known = self.known_s();
        let (oldest, words) = if known < ALL_KNOWN * self.since.0 {
            (known, time_s(known.round()))
        } else {
            (self.since.0, self.since.1.to_string())
        };
        let x = |age: f64| WIDTH * (1.0 - age / oldest).max(0.0);
        let y = |value: f64| HEIGHT * (1.0 - value / top);
        html! {
            figure.chart {
                figcaption {
                    h3 { (self.title) }
                    ul.legend {
                        @for (at, series) in self.series.iter().enumerate() {
                            li { i.swatch.{ "c" (at % COLOURS) } {} (series.name) " " b { (last(&series.values, self.unit)) } }
                        }
                    }
                }
                div.plot {
                    svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img" aria-label=(self.title) {
                        @for part in [0.0, 0.5, 1.0] {
                            line.grid x1="0" x2=(WIDTH) y1=(HEIGHT * part) y2=(HEIGHT * part) {}
                        }
                        // The upper areas first, so that the lower ones cover them.
                        @for (at, values) in drawn.iter().enumerate().rev() {
                            @for points in runs(values, self.ages_s).iter().map(|run| points(run, x, y)) {
                                @if self.is_stacked {
                                    polygon.area.{ "c" (at % COLOURS) } points=(closed(&points)) {}
                                } @else {
                                    polyline.line.{ "c" (at % COLOURS) } points=(points) {}
                                }
                            }
                        }
                    }
                    span.top { (self.unit.show(top)) }
                    span.from { (words) " ago" }
                    span.to { "now" }
                }
            }
        }
    }
}

impl Chart<'_> {
    /// How long ago the first value was.
    fn known_s(&self) -> f64 {
        let is_known = |at: usize| self.series.iter().any(|series| series.values.get(at).is_some_and(|value| value.is_finite()));
        let ages = self.ages_s.iter().enumerate().filter(|(at, _)| is_known(*at)).map(|(_, age)| *age);
        ages.fold(1.0, f64::max)
    }
}

fn last(values: &[f64], unit: Unit) -> String {
    values.last().filter(|value| value.is_finite()).map_or("–".to_string(), |value| unit.show(*value))
}

/// Each with those before it.
fn stacked(series: &[Series]) -> Vec<Vec<f64>> {
    let mut sums = vec![0.0; series.first().map_or(0, |first| first.values.len())];
    let mut add = |series: &Series| -> Vec<f64> {
        sums.iter_mut().zip(&series.values).for_each(|(sum, value)| *sum += value);
        sums.clone()
    };
    series.iter().map(&mut add).collect()
}

/// Neighbours without a gap, as age and value.
fn runs(values: &[f64], ages_s: &[f64]) -> Vec<Vec<(f64, f64)>> {
    let points: Vec<(f64, f64)> = ages_s.iter().copied().zip(values.iter().copied()).collect();
    points.split(|(_, value)| !value.is_finite()).filter(|run| !run.is_empty()).map(<[_]>::to_vec).collect()
}

/// A point that stands alone is as wide as a stroke.
fn points(run: &[(f64, f64)], x: impl Fn(f64) -> f64, y: impl Fn(f64) -> f64) -> String {
    let point = |age: f64, value: f64, right: f64| format!("{:.1},{:.1}", x(age) + right, y(value));
    match run {
        [(age, value)] => [point(*age, *value, 0.0), point(*age, *value, ALONE_WIDTH)].join(" "),
        run => run.iter().map(|(age, value)| point(*age, *value, 0.0)).collect::<Vec<_>>().join(" "),
    }
}

/// The area below a line.
fn closed(points: &str) -> String {
    let x = |point: Option<&str>| point.and_then(|point| point.split(',').next()).unwrap_or("0").to_string();
    let (first, last) = (x(points.split(' ').next()), x(points.rsplit(' ').next()));
    format!("{first},{HEIGHT} {points} {last},{HEIGHT}")
}

/// The next of 1, 2, 5, 10, … ; of bytes the next power of two; of parts the whole.
fn round_up(largest: f64, unit: Unit) -> f64 {
    if largest <= 0.0 || unit == Unit::Part {
        return 1.0;
    }
    if matches!(unit, Unit::Bytes | Unit::BytesPerSecond) {
        return largest.log2().ceil().exp2();
    }
    let power = 10f64.powf(largest.log10().floor());
    let step = [1.0, 2.0, 5.0].into_iter().find(|step| step * power >= largest * 0.9999);
    step.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_is_round() {
        assert_eq!([0.0, 0.3, 1.0, 1.2, 7.0, 4900.0].map(|n| round_up(n, Unit::Count)), [1.0, 0.5, 1.0, 2.0, 10.0, 5000.0]);
        assert_eq!(round_up(3e6, Unit::Bytes), 4_194_304.0);
    }

    #[test]
    fn gaps_are_left_out() {
        let series = vec![Series { name: "a", values: vec![1.0, f64::NAN, 2.0, 2.0] }];
        let chart = Chart {
            title: "t",
            unit: Unit::Count,
            ages_s: &[6.0, 4.0, 2.0, 0.0],
            since: (6.0, "6 seconds"),
            series,
            is_stacked: false,
        };
        let text = chart.draw().into_string();
        assert!(text.contains("points=\"0.0,60.0 3.0,60.0\"") && text.contains("points=\"400.0,0.0 600.0,0.0\""), "{text}");
    }
}
