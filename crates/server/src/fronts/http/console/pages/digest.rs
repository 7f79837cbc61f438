//! One kind of statement: its sums, how long they took, a sample, and the sample's plan.

use maud::{Markup, html};
use vaquita_types::Result;

use super::View;
use crate::fronts::http::console::layout::{Content, failure, section, tile, token};
use crate::fronts::http::console::shown::{count, time_ps};
use crate::fronts::http::console::statements::{Row, Rows, literal, quoted};

/// What is asked of the sample's plan.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Plan,
    Why,
    Analyze,
}

pub fn show(view: &mut View<'_>) -> Result<Content> {
    let asked = match view.form.get("explain") {
        "1" => Some(Asked::Plan),
        "why" => Some(Asked::Why),
        _ => None,
    };
    page(view, asked)
}

/// A form asks for it: the sample runs, though in a transaction that may not write.
pub fn analyze(view: &mut View<'_>) -> Result<Content> {
    page(view, Some(Asked::Analyze))
}

fn page(view: &mut View<'_>, asked: Option<Asked>) -> Result<Content> {
    let schema = view.form.get("schema").to_string();
    let of = format!(
        "WHERE digest = {} AND {}",
        literal(view.part(0)),
        if schema.is_empty() { "schema_name IS NULL".to_string() } else { format!("schema_name = {}", literal(&schema)) }
    );
    let found = view.statements.rows(&format!("SELECT * FROM performance_schema.events_statements_summary_by_digest {of}"))?;
    let Some(row) = found.first() else {
        let body = html! { h1 { "Statement" } p.hint { "It is not known any more, or this account may not see it." } };
        return Ok(Content::new("Statement", body));
    };
    let buckets = view.statements.rows(&format!(
        "SELECT bucket_timer_high, count_bucket FROM performance_schema.events_statements_histogram_by_digest {of} AND count_bucket > 0 \
         ORDER BY bucket_number"
    ));
    let plans = view.statements.rows(&format!("SELECT * FROM vaquita.statement_plans {of} ORDER BY last_seen DESC"));
    let sample = row.text("query_sample_text").to_string();
    let is_whole = !sample.is_empty() && !sample.ends_with("...");
    let plan = asked.filter(|_| is_whole).map(|asked| (asked, plan(view, &schema, &sample, asked)));
    let body = html! {
        h1 { "Statement" }
        pre.sql { (row.text("digest_text")) }
        p.hint {
            "Schema " (if schema.is_empty() { "–" } else { &schema }) ", first seen " (row.text("first_seen")) ", last " (row.text("last_seen"))
        }
        div.tiles { (tiles(&row)) }
        (section("How long they took", buckets, histogram))
        (section("Plans by which they ran", plans, all_plans))
        section {
            h2 { "Sample" }
            pre.sql { (sample) }
            p.hint { "Of " (row.text("query_sample_seen")) ", took " (time_ps(row.number("query_sample_timer_wait"))) "." }
            @if is_whole {
                div.buttons {
                    form method="get" {
                        input type="hidden" name="schema" value=(schema);
                        input type="hidden" name="explain" value="1";
                        button { "EXPLAIN" }
                    }
                    form method="get" {
                        input type="hidden" name="schema" value=(schema);
                        input type="hidden" name="explain" value="why";
                        button title="What the plan was chosen among, and indexes that are missing" { "Why this plan" }
                    }
                    form method="post" {
                        (token(view.login))
                        input type="hidden" name="schema" value=(schema);
                        button title="Runs the statement, in a transaction that may not write" { "EXPLAIN ANALYZE" }
                    }
                }
            } @else {
                p.hint { "Only its beginning is kept (performance_schema_max_sql_text_length), so that it cannot be explained." }
            }
        }
        @if let Some((asked, plan)) = plan {
            section {
                h2 {
                    @match asked {
                        Asked::Plan => "Its plan",
                        Asked::Why => "Why this plan",
                        Asked::Analyze => "Its plan, as it ran just now",
                    }
                }
                @match plan {
                    Ok(rows) => pre.plan { @for row in rows.iter() { @for (_, value) in row.pairs() { (value.unwrap_or_default().trim_end()) "\n" } } },
                    Err(error) => (failure(&error)),
                }
            }
        }
    };
    Ok(Content::new("Statement", body))
}

fn plan(view: &mut View<'_>, schema: &str, sample: &str, asked: Asked) -> Result<Rows> {
    if !schema.is_empty() {
        view.statements.run(&format!("USE {}", quoted(schema)))?;
    }
    match asked {
        Asked::Plan => return view.statements.rows(&format!("EXPLAIN FORMAT=TREE {sample}")),
        Asked::Why => return view.statements.rows(&format!("EXPLAIN FORMAT=WHY {sample}")),
        Asked::Analyze => {}
    }
    view.statements.run("START TRANSACTION READ ONLY")?;
    let rows = view.statements.rows(&format!("EXPLAIN ANALYZE {sample}"));
    view.statements.run("ROLLBACK")?;
    rows
}

fn tiles(row: &Row<'_>) -> Markup {
    let per = |name: &str| row.number(name) / row.number("count_star").max(1.0);
    html! {
        (tile("Count", &count(row.number("count_star")), ""))
        (tile("Total time", &time_ps(row.number("sum_timer_wait")), ""))
        (tile("Mean", &time_ps(row.number("avg_timer_wait")), &format!("95%: {}", time_ps(row.number("quantile_95")))))
        (tile("Slowest", &time_ps(row.number("max_timer_wait")), &format!("99%: {}", time_ps(row.number("quantile_99")))))
        (tile("Rows sent", &count(row.number("sum_rows_sent")), &format!("{} each", count(per("sum_rows_sent")))))
        (tile("Rows examined", &count(row.number("sum_rows_examined")), &format!("{} each", count(per("sum_rows_examined")))))
        (tile("Rows changed", &count(row.number("sum_rows_affected")), ""))
        (tile("Errors", &count(row.number("sum_errors")), &format!("{} warnings", count(row.number("sum_warnings")))))
        (tile("Waited for locks", &time_ps(row.number("sum_lock_time")), ""))
        (tile("Without an index", &count(row.number("sum_no_index_used")), &format!("{} full scans", count(row.number("sum_select_scan")))))
        (tile("Rows sorted", &count(row.number("sum_sort_rows")), &format!("{} temporary tables", count(row.number("sum_created_tmp_tables")))))
    }
}

/// The one that ran last in full, the others folded.
fn all_plans(rows: &Rows) -> Markup {
    if rows.is_empty() {
        return html! { p.hint { "None has run that has one." } };
    }
    html! {
        div.scroll {
            table {
                thead { tr { th { "plan" } th.n { "count" } th.n { "mean" } th.n { "slowest" } th { "first seen" } th { "last seen" } } }
                tbody {
                    @for row in rows.iter() {
                        tr {
                            td { code { (row.text("PLAN_DIGEST")) } }
                            td.n { (count(row.number("COUNT_STAR"))) }
                            td.n { (time_ps(row.number("AVG_TIMER_WAIT"))) }
                            td.n { (time_ps(row.number("MAX_TIMER_WAIT"))) }
                            td { (row.text("FIRST_SEEN")) }
                            td { (row.text("LAST_SEEN")) }
                        }
                    }
                }
            }
        }
        @for (at, row) in rows.iter().enumerate() {
            details open[at == 0] {
                summary { "Plan " (row.text("PLAN_DIGEST")) }
                pre.plan { (row.value("PLAN_TEXT").map_or("It is not kept any more.", str::trim_end)) }
            }
        }
    }
}

/// Bars that are joined into at most so many.
const BARS_MAX: usize = 24;

fn histogram(rows: &Rows) -> Markup {
    let buckets: Vec<(f64, f64)> = rows.iter().map(|row| (row.number("bucket_timer_high"), row.number("count_bucket"))).collect();
    let bars: Vec<(f64, f64)> = buckets
        .chunks(buckets.len().div_ceil(BARS_MAX).max(1))
        .map(|some| (some.last().map_or(0.0, |(high, _)| *high), some.iter().map(|(_, count)| count).sum()))
        .collect();
    let most = bars.iter().map(|(_, count)| *count).fold(1.0, f64::max);
    html! {
        div.bars {
            @for (high, number) in bars {
                span { "≤ " (time_ps(high)) }
                meter min="0" max=(most) value=(number) {}
                span.n { (count(number)) }
            }
        }
    }
}
