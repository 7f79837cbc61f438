//! Statements that differ only in literals, with what they take together.

use maud::{Markup, html};
use vaquita_types::Result;

use super::View;
use crate::fronts::http::console::form::encoded;
use crate::fronts::http::console::layout::{Content, section};
use crate::fronts::http::console::shown::{count, time_ps};
use crate::fronts::http::console::statements::{Row, Rows, literal};

/// A column of the table: what the address calls it, its heading, the column it sorts by, and its text.
type Column = (&'static str, &'static str, &'static str, fn(&Row<'_>) -> String);

const COLUMNS: &[Column] = &[
    ("count", "count", "count_star", |row| count(row.number("count_star"))),
    ("total", "total time", "sum_timer_wait", |row| time_ps(row.number("sum_timer_wait"))),
    ("mean", "mean", "avg_timer_wait", |row| time_ps(row.number("avg_timer_wait"))),
    ("p95", "95%", "quantile_95", |row| time_ps(row.number("quantile_95"))),
    ("max", "slowest", "max_timer_wait", |row| time_ps(row.number("max_timer_wait"))),
    ("sent", "rows sent", "sum_rows_sent", |row| count(row.number("sum_rows_sent"))),
    ("examined", "examined", "sum_rows_examined", |row| count(row.number("sum_rows_examined"))),
    ("affected", "changed", "sum_rows_affected", |row| count(row.number("sum_rows_affected"))),
    ("errors", "errors", "sum_errors", |row| count(row.number("sum_errors"))),
];
const SORTED_BY: &str = "total";
const ROWS: usize = 200;

pub fn list(view: &mut View<'_>) -> Result<Content> {
    let wanted = view.form.get("sort");
    let column = COLUMNS.iter().find(|(name, ..)| *name == wanted);
    let (sort, _, by, _) = column.or_else(|| COLUMNS.iter().find(|(name, ..)| *name == SORTED_BY)).unwrap_or(&COLUMNS[0]);
    let search = view.form.get("q").to_string();
    let such = match search.as_str() {
        "" => String::new(),
        text => format!("WHERE INSTR(digest_text, {0}) OR INSTR(query_sample_text, {0}) OR schema_name = {0}", literal(text)),
    };
    let rows = view.statements.rows(&format!(
        "SELECT schema_name, digest, digest_text, count_star, sum_timer_wait, avg_timer_wait, max_timer_wait, quantile_95, sum_rows_sent, \
         sum_rows_examined, sum_rows_affected, sum_errors FROM performance_schema.events_statements_summary_by_digest {such} \
         ORDER BY {by} DESC LIMIT {ROWS}"
    ));
    let all = view.statements.rows(
        "SELECT SUM(sum_timer_wait) AS total, COUNT(*) AS digests FROM performance_schema.events_statements_summary_by_digest",
    );
    let (total, digests) =
        all.ok().and_then(|all| all.first().map(|row| (row.number("total"), row.number("digests")))).unwrap_or_default();
    let body = html! {
        h1 { "Statements" }
        form.filter method="get" {
            input type="search" name="q" value=(search) placeholder="Text or schema" aria-label="Search";
            input type="hidden" name="sort" value=(sort);
            button { "Search" }
        }
        (section(&format!("{} kinds of statements, by {}", count(digests), title_of(sort)), rows, |rows| table(rows, sort, &search, total)))
    };
    Ok(Content::new("Statements", body))
}

fn title_of(sort: &str) -> &'static str {
    COLUMNS.iter().find(|(name, ..)| *name == sort).map_or("", |(_, title, ..)| title)
}

fn table(rows: &Rows, sort: &str, search: &str, total: f64) -> Markup {
    if rows.is_empty() {
        return html! { p.hint { "There are none." } };
    }
    html! {
        div.scroll {
            table {
                thead {
                    tr {
                        th { "statement" }
                        th { "schema" }
                        @for (name, title, ..) in COLUMNS {
                            th.n aria-sort=[(*name == sort).then_some("descending")] {
                                a href={ "/statements?sort=" (name) "&q=" (encoded(search)) } { (title) }
                            }
                        }
                        th { "share of time" }
                    }
                }
                tbody {
                    @for row in rows.iter() {
                        @let share = if total > 0.0 { row.number("sum_timer_wait") / total } else { 0.0 };
                        tr {
                            td.sql {
                                div {
                                    @match row.value("digest") {
                                        Some(digest) => a href={ "/statements/" (digest) "?schema=" (encoded(row.text("schema_name"))) } {
                                            (row.text("digest_text"))
                                        },
                                        None => "all for which there was no place",
                                    }
                                }
                            }
                            td { (row.value("schema_name").unwrap_or("–")) }
                            @for (_, _, _, text) in COLUMNS { td.n { (text(&row)) } }
                            td.share { meter min="0" max="1" value=(format!("{share:.4}")) {} " " (format!("{:.1}%", share * 100.0)) }
                        }
                    }
                }
            }
        }
    }
}
