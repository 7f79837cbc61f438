//! Charts in SVG, readable on a light and on a dark page: ratios as grouped bars, and progress as lines.
//!
//! Bars: a group per row, a horizontal bar per series, and a line at 1, where the best peer stands.
//! The background is transparent; the text and the lines follow the reader's colour scheme.

use std::fmt::{Result as Written, Write};

use super::outcome::{Lines, Row, Table, Target};

const WIDTH: f64 = 860.0;
const LABELS: f64 = 230.0;
const RIGHT: f64 = 60.0;
const TOP: f64 = 76.0;
const BAR: f64 = 12.0;
const GROUP_GAP: f64 = 14.0;
/// From few threads to many; of lines, one for each server.
const COLOURS: [&str; 6] = ["#7fb8e6", "#3f8fd2", "#2a6db0", "#7a5cc2", "#b0559a", "#d0743c"];
const LINE_COLOURS: [&str; 4] = ["#3f8fd2", "#7a5cc2", "#b0559a", "#d0743c"];
const PLOT_HEIGHT: f64 = 320.0;
const PLOT_LEFT: f64 = 80.0;

const STYLE: &str = "\
text { font: 12px system-ui, sans-serif; fill: #24292f }
.title { font-size: 15px; font-weight: 600 }
.value { font-size: 10px }
.grid { stroke: #d0d7de }
.peer { stroke: #24292f; stroke-width: 1.5; stroke-dasharray: 4 3 }
.line { fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.grid { stroke: #3d444d }
.peer { stroke: #e6edf3 }
}
";

/// Ratios to the best peer.
pub struct Bars {
    pub title: String,
    pub series: Vec<String>,
    /// A row's name and its ratio in each series.
    pub groups: Vec<(String, Vec<Option<f64>>)>,
}

pub struct Line {
    pub name: &'static str,
    pub points: Vec<(f64, f64)>,
}

impl Bars {
    /// The rows that have a target relative to a peer, or all rows of the first table if there are none.
    pub fn of(title: &str, tables: &[Table]) -> Bars {
        let ratio = |table: &Table, row: &Row| Some((row.name.clone(), vec![Some(row.ratio(table.better)?)]));
        let is_relative = |row: &&Row| matches!(row.target, Target::Peer(_) | Target::InnoDb(_));
        let relative = tables.iter().flat_map(|table| table.rows.iter().filter(is_relative).filter_map(|row| ratio(table, row)));
        let mut groups: Vec<_> = relative.collect();
        if let (true, Some(first)) = (groups.is_empty(), tables.first()) {
            groups.extend(first.rows.iter().filter_map(|row| ratio(first, row)));
        }
        Bars { title: format!("{title}: Vaquita, the best peer being 1"), series: vec![String::new()], groups }
    }
}

pub fn bars(bars: &Bars) -> String {
    let group = BAR * bars.series.len() as f64 + GROUP_GAP;
    let bottom = TOP + group * bars.groups.len() as f64;
    let highest = bars.groups.iter().flat_map(|(_, ratios)| ratios.iter().flatten()).copied().fold(1.5, f64::max);
    let scale = Scale::new(highest, LABELS, WIDTH - LABELS - RIGHT);
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_frame(&mut out, bars, bottom, &scale);
    for (i, (name, ratios)) in bars.groups.iter().enumerate() {
        let _ = write_group(&mut out, name, ratios, TOP + group * i as f64, &scale);
    }
    let at = scale.at(1.0);
    let _ =
        writeln!(out, "<line class=\"peer\" x1=\"{at:.1}\" y1=\"{:.1}\" x2=\"{at:.1}\" y2=\"{bottom:.1}\"/>\n</svg>", TOP - 6.0);
    out
}

/// From a figure to a place.
struct Scale {
    max: f64,
    step: f64,
    from: f64,
    length: f64,
}

impl Scale {
    /// Steps are 1, 2 or 5 of some power of ten, or half a one, and at most eight.
    fn new(highest: f64, from: f64, length: f64) -> Scale {
        let highest = if highest > 0.0 { highest } else { 1.0 };
        let power = 10f64.powf((highest / 8.0).log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * power).find(|step| highest / step <= 8.0).unwrap_or(10.0 * power);
        Scale { max: (highest / step).ceil() * step, step, from, length }
    }

    fn at(&self, value: f64) -> f64 {
        self.from + self.length * value / self.max
    }

    fn marks(&self) -> Vec<f64> {
        (0..=(self.max / self.step).round() as u64).map(|n| n as f64 * self.step).collect()
    }
}

/// A mark without the noise of binary fractions.
fn mark_text(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn write_head(out: &mut String, title: &str, height: f64) -> Written {
    let title = escape(title);
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" height=\"{height:.0}\" role=\"img\">"
    )?;
    writeln!(out, "<title>{title}</title>\n<style>\n{STYLE}</style>")?;
    writeln!(out, "<text class=\"title\" x=\"8\" y=\"22\">{title}</text>")
}

fn write_legend<'a>(out: &mut String, names: impl Iterator<Item = &'a str>, colours: &[&str], width: f64) -> Written {
    let mut at = 8.0;
    for (i, name) in names.enumerate().filter(|(_, name)| !name.is_empty()) {
        let colour = colours[i % colours.len()];
        writeln!(out, "<rect x=\"{at:.1}\" y=\"37\" width=\"12\" height=\"12\" fill=\"{colour}\"/>")?;
        writeln!(out, "<text x=\"{:.1}\" y=\"47\">{}</text>", at + 17.0, escape(name))?;
        at += width;
    }
    Ok(())
}

fn write_frame(out: &mut String, bars: &Bars, bottom: f64, scale: &Scale) -> Written {
    write_head(out, &bars.title, bottom + 30.0)?;
    write_legend(out, bars.series.iter().map(String::as_str), &COLOURS, 105.0)?;
    for ratio in scale.marks() {
        let x = scale.at(ratio);
        writeln!(out, "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>", TOP - 6.0)?;
        writeln!(out, "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>", bottom + 18.0, mark_text(ratio))?;
    }
    Ok(())
}

fn write_group(out: &mut String, name: &str, ratios: &[Option<f64>], top: f64, scale: &Scale) -> Written {
    let middle = top + BAR * ratios.len() as f64 / 2.0 + 4.0;
    writeln!(out, "<text x=\"{:.1}\" y=\"{middle:.1}\" text-anchor=\"end\">{}</text>", LABELS - 10.0, escape(name))?;
    for (i, ratio) in ratios.iter().enumerate() {
        let y = top + BAR * i as f64;
        let Some(ratio) = *ratio else { continue };
        let width = scale.at(ratio) - LABELS;
        let colour = if ratios.len() == 1 { COLOURS[1] } else { COLOURS[i % COLOURS.len()] };
        writeln!(out, "<rect x=\"{LABELS}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{colour}\"/>", BAR - 1.5)?;
        writeln!(out, "<text x=\"{:.1}\" y=\"{:.1}\" class=\"value\">{ratio:.2}</text>", LABELS + width + 5.0, y + BAR - 2.5)?;
    }
    Ok(())
}

pub fn lines(chart: &Lines) -> String {
    let points = || chart.lines.iter().flat_map(|line| &line.points);
    let x = Scale::new(points().map(|p| p.0).fold(0.0, f64::max), PLOT_LEFT, WIDTH - PLOT_LEFT - RIGHT);
    let y = Scale::new(points().map(|p| p.1).fold(0.0, f64::max), TOP + PLOT_HEIGHT, -PLOT_HEIGHT);
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_plot(&mut out, chart, &x, &y);
    out
}

fn write_plot(out: &mut String, chart: &Lines, x: &Scale, y: &Scale) -> Written {
    let bottom = TOP + PLOT_HEIGHT;
    write_head(out, &chart.title, bottom + 50.0)?;
    write_legend(out, chart.lines.iter().map(|line| line.name), &LINE_COLOURS, 160.0)?;
    for mark in x.marks() {
        let at = x.at(mark);
        writeln!(out, "<line class=\"grid\" x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{bottom:.1}\"/>")?;
        writeln!(out, "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>", bottom + 18.0, mark_text(mark))?;
    }
    for mark in y.marks() {
        let at = y.at(mark);
        writeln!(out, "<line class=\"grid\" x1=\"{PLOT_LEFT}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\"/>", WIDTH - RIGHT)?;
        writeln!(out, "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>", PLOT_LEFT - 6.0, at + 4.0, mark_text(mark))?;
    }
    writeln!(out, "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>", WIDTH - RIGHT, bottom + 38.0, escape(chart.x))?;
    writeln!(out, "<text x=\"8\" y=\"{:.1}\">{}</text>", TOP - 12.0, escape(chart.y))?;
    for (i, line) in chart.lines.iter().enumerate() {
        write!(out, "<polyline class=\"line\" stroke=\"{}\" points=\"", LINE_COLOURS[i % LINE_COLOURS.len()])?;
        for (px, py) in &line.points {
            write!(out, "{:.1},{:.1} ", x.at(*px), y.at(*py))?;
        }
        writeln!(out, "\"/>")?;
    }
    writeln!(out, "</svg>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::outcome::Better;
    use crate::bench::server::Kind;

    #[test]
    fn a_scale_has_few_round_marks() {
        for (highest, max, step) in
            [(1.5, 1.6, 0.2), (3.2, 3.5, 0.5), (7.0, 7.0, 1.0), (81.0, 100.0, 20.0), (45_000.0, 50_000.0, 10_000.0)]
        {
            let scale = Scale::new(highest, 0.0, 1.0);
            assert!(
                (scale.max - max).abs() < 1e-9 && (scale.step - step).abs() < 1e-9,
                "{highest}: {} {}",
                scale.max,
                scale.step
            );
            assert!((scale.at(max) - 1.0).abs() < 1e-9);
            assert!(scale.marks().len() <= 10);
        }
        assert_eq!(mark_text(0.6000000000001), "0.6");
        assert_eq!(mark_text(20.0), "20");
    }

    #[test]
    fn rows_relative_to_a_peer_come_first() {
        let table = |name: &str, target, own| {
            let mut table = Table::new("", "", Better::More);
            table.row(name, target);
            table.add(name, Kind::MySql, 1.0);
            table.add(name, Kind::Vaquita, own);
            table
        };
        let (absolute, relative) = (table("a", Target::AtLeast(1.0), 3.0), table("b", Target::Peer(2.0), 2.0));
        let group = |name: &str, ratio| (name.to_owned(), vec![Some(ratio)]);
        let other = table("c", Target::None, 4.0);
        assert_eq!(Bars::of("", &[absolute, relative]).groups, [group("b", 2.0)]);
        assert_eq!(Bars::of("", &[table("a", Target::AtLeast(1.0), 3.0), other]).groups, [group("a", 3.0)]);
    }

    #[test]
    fn charts_are_whole() {
        let bars_of = Bars {
            title: "a < b".into(),
            series: vec!["1".into(), "8".into()],
            groups: vec![("r".into(), vec![Some(2.0), None])],
        };
        let svg = bars(&bars_of);
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>") && svg.contains("a &lt; b"));
        assert_eq!(svg.matches("<rect").count(), 2 + 1);
        let plot =
            Lines { title: "t".into(), x: "x", y: "y", lines: vec![Line { name: "n", points: vec![(0.0, 1.0), (2.0, 3.0)] }] };
        assert_eq!(lines(&plot).matches("<polyline").count(), 1);
    }
}
