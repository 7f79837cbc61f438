//! The ratios as a grouped bar chart in SVG, readable on a light and on a dark page.
//!
//! One group per script, one horizontal bar per number of threads, and a line at 1, where the best peer stands.
//! The background is transparent; the text and the line follow the reader's colour scheme.

use std::fmt::Write;

use super::{Plan, Results};

const WIDTH: f64 = 860.0;
const LABELS: f64 = 190.0;
const RIGHT: f64 = 60.0;
const TOP: f64 = 76.0;
const BAR: f64 = 12.0;
const GROUP_GAP: f64 = 14.0;
/// From few threads to many.
const COLOURS: [&str; 6] = ["#7fb8e6", "#3f8fd2", "#2a6db0", "#7a5cc2", "#b0559a", "#d0743c"];

const STYLE: &str = "\
text { font: 12px system-ui, sans-serif; fill: #24292f }
.title { font-size: 15px; font-weight: 600 }
.value { font-size: 10px }
.grid { stroke: #d0d7de }
.peer { stroke: #24292f; stroke-width: 1.5; stroke-dasharray: 4 3 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.grid { stroke: #3d444d }
.peer { stroke: #e6edf3 }
}
";

pub fn svg(plan: &Plan, results: &Results) -> String {
    let group = BAR * plan.threads.len() as f64 + GROUP_GAP;
    let bottom = TOP + group * plan.scripts.len() as f64;
    let scale = Scale::new(plan, results);
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_frame(&mut out, plan, bottom, &scale);
    for (i, script) in plan.scripts.iter().enumerate() {
        let _ = write_group(&mut out, plan, results, script, TOP + group * i as f64, &scale);
    }
    let at = scale.x(1.0);
    let _ =
        writeln!(out, "<line class=\"peer\" x1=\"{at:.1}\" y1=\"{:.1}\" x2=\"{at:.1}\" y2=\"{bottom:.1}\"/>\n</svg>", TOP - 6.0);
    out
}

/// From a ratio to a place.
struct Scale {
    ratio_max: f64,
    step: f64,
}

impl Scale {
    fn new(plan: &Plan, results: &Results) -> Scale {
        let ratios =
            plan.scripts.iter().flat_map(|script| plan.threads.iter().filter_map(|threads| results.ratio(script, *threads)));
        let highest = ratios.fold(1.5, f64::max);
        let step = [0.5, 1.0, 2.0, 5.0, 10.0].into_iter().find(|step| highest / step <= 8.0).unwrap_or(20.0);
        Scale { ratio_max: (highest / step).ceil() * step, step }
    }

    fn x(&self, ratio: f64) -> f64 {
        LABELS + (WIDTH - LABELS - RIGHT) * ratio / self.ratio_max
    }
}

fn write_frame(out: &mut String, plan: &Plan, bottom: f64, scale: &Scale) -> std::fmt::Result {
    let height = bottom + 30.0;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" height=\"{height:.0}\" role=\"img\">"
    )?;
    writeln!(
        out,
        "<title>Throughput of Vaquita relative to the best of MySQL InnoDB, MariaDB InnoDB and MariaDB MyRocks</title>"
    )?;
    writeln!(out, "<style>\n{STYLE}</style>")?;
    writeln!(out, "<text class=\"title\" x=\"8\" y=\"22\">Throughput of Vaquita, the best peer being 1</text>")?;
    let mut at = 8.0;
    for (i, threads) in plan.threads.iter().enumerate() {
        let label = if *threads == 1 { "1 thread".to_string() } else { format!("{threads} threads") };
        writeln!(out, "<rect x=\"{at:.1}\" y=\"37\" width=\"12\" height=\"12\" fill=\"{}\"/>", colour(i))?;
        writeln!(out, "<text x=\"{:.1}\" y=\"47\">{label}</text>", at + 17.0)?;
        at += 105.0;
    }
    let mut ratio = 0.0;
    while ratio <= scale.ratio_max + 1e-9 {
        let x = scale.x(ratio);
        writeln!(out, "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>", TOP - 6.0)?;
        writeln!(out, "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{ratio}</text>", bottom + 18.0)?;
        ratio += scale.step;
    }
    Ok(())
}

fn write_group(out: &mut String, plan: &Plan, results: &Results, script: &str, top: f64, scale: &Scale) -> std::fmt::Result {
    let middle = top + BAR * plan.threads.len() as f64 / 2.0 + 4.0;
    writeln!(out, "<text x=\"{:.1}\" y=\"{middle:.1}\" text-anchor=\"end\">{script}</text>", LABELS - 10.0)?;
    for (i, threads) in plan.threads.iter().enumerate() {
        let y = top + BAR * i as f64;
        let Some(ratio) = results.ratio(script, *threads) else { continue };
        let width = scale.x(ratio) - LABELS;
        writeln!(
            out,
            "<rect x=\"{LABELS}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{}\"/>",
            BAR - 1.5,
            colour(i)
        )?;
        writeln!(out, "<text x=\"{:.1}\" y=\"{:.1}\" class=\"value\">{ratio:.2}</text>", LABELS + width + 5.0, y + BAR - 2.5)?;
    }
    Ok(())
}

fn colour(i: usize) -> &'static str {
    COLOURS[i % COLOURS.len()]
}
