//! Tables with what they take, and indexes that nobody uses or needs.

use std::collections::HashMap;

use maud::{Markup, html};
use vaquita_types::Result;

use super::View;
use crate::fronts::http::console::form::encoded;
use crate::fronts::http::console::layout::{Content, section};
use crate::fronts::http::console::shown::{bytes, count};
use crate::fronts::http::console::statements::{Rows, literal};

const ROWS: usize = 500;

pub fn list(view: &mut View<'_>) -> Result<Content> {
    let search = view.form.get("q").to_string();
    let such = match search.as_str() {
        "" => "AND t.table_schema NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')".to_string(),
        text => format!("AND (INSTR(t.table_name, {0}) OR t.table_schema = {0})", literal(text)),
    };
    let rows = view.statements.rows(&format!(
        "SELECT t.table_schema AS `schema`, t.table_name AS name, t.table_rows AS `rows`, t.data_length AS data, t.index_length AS indexes, \
         t.avg_row_length AS mean, t.auto_increment, t.table_collation AS collation FROM information_schema.tables t \
         WHERE t.table_type = 'BASE TABLE' {such} ORDER BY t.data_length + t.index_length DESC LIMIT {ROWS}"
    ));
    // Not everybody who sees a table may see what is done with it.
    let uses = view.statements.rows(
        "SELECT object_schema, object_name, count_read, count_write FROM performance_schema.table_io_waits_summary_by_table \
         WHERE count_star > 0 ORDER BY count_star DESC LIMIT 2000",
    );
    let uses: HashMap<(String, String), (f64, f64)> = uses
        .iter()
        .flat_map(Rows::iter)
        .map(|row| {
            let name = (row.text("object_schema").to_string(), row.text("object_name").to_string());
            (name, (row.number("count_read"), row.number("count_write")))
        })
        .collect();
    let unused = view.statements.rows("SELECT object_schema AS object_schema, object_name AS object_name, index_name AS index_name FROM sys.schema_unused_indexes LIMIT 200");
    let redundant = view.statements.rows(
        "SELECT table_schema AS table_schema, table_name AS table_name, redundant_index_name AS redundant, redundant_index_columns AS columns, \
         dominant_index_name AS dominant, dominant_index_columns AS dominant_columns FROM sys.schema_redundant_indexes LIMIT 200",
    );
    let body = html! {
        h1 { "Tables" }
        form.filter method="get" {
            input type="search" name="q" value=(search) placeholder="Part of a name, or a schema" aria-label="Search";
            button { "Search" }
        }
        (section("The largest", rows, |rows| table(rows, &uses)))
        (section("Indexes that no statement has used since the start", unused, indexes))
        (section("Indexes that another has already", redundant, redundant_indexes))
    };
    Ok(Content::new("Tables", body))
}

fn address(schema: &str, name: &str) -> String {
    format!("/tables/{}/{}", encoded(schema), encoded(name))
}

fn table(rows: &Rows, uses: &HashMap<(String, String), (f64, f64)>) -> Markup {
    if rows.is_empty() {
        return html! { p.hint { "There are none that this account may see." } };
    }
    let size = |row: &crate::fronts::http::console::statements::Row<'_>| row.number("data") + row.number("indexes");
    let largest = rows.iter().map(|row| size(&row)).fold(1.0, f64::max);
    html! {
        div.scroll {
            table {
                thead {
                    tr {
                        th { "schema" } th { "table" } th.n { "rows" } th.n { "data" } th.n { "indexes" } th { "together" }
                        th.n { "bytes a row" } th.n { "rows read" } th.n { "written" } th.n { "next AUTO_INCREMENT" } th { "collation" }
                    }
                }
                tbody {
                    @for row in rows.iter() {
                        tr {
                            td { (row.text("schema")) }
                            td { a href=(address(row.text("schema"), row.text("name"))) { (row.text("name")) } }
                            td.n { (count(row.number("rows"))) }
                            td.n { (bytes(row.number("data"))) }
                            td.n { (bytes(row.number("indexes"))) }
                            td { meter min="0" max=(largest) value=(size(&row)) {} " " (bytes(size(&row))) }
                            td.n { (count(row.number("mean"))) }
                            @match uses.get(&(row.text("schema").to_string(), row.text("name").to_string())) {
                                Some((read, written)) => { td.n { (count(*read)) } td.n { (count(*written)) } },
                                None => { td.n { "–" } td.n { "–" } },
                            }
                            td.n { (row.value("auto_increment").unwrap_or("–")) }
                            td { (row.text("collation")) }
                        }
                    }
                }
            }
        }
    }
}

fn indexes(rows: &Rows) -> Markup {
    if rows.is_empty() {
        return html! { p.hint { "There are none among the tables that were used." } };
    }
    html! {
        ul.columns {
            @for row in rows.iter() {
                li {
                    a href=(address(row.text("object_schema"), row.text("object_name"))) { (row.text("object_schema")) "." (row.text("object_name")) }
                    " " b { (row.text("index_name")) }
                }
            }
        }
    }
}

fn redundant_indexes(rows: &Rows) -> Markup {
    if rows.is_empty() {
        return html! { p.hint { "There are none." } };
    }
    html! {
        ul {
            @for row in rows.iter() {
                li {
                    a href=(address(row.text("table_schema"), row.text("table_name"))) { (row.text("table_schema")) "." (row.text("table_name")) }
                    ": " b { (row.text("redundant")) } " (" (row.text("columns")) ") is in "
                    b { (row.text("dominant")) } " (" (row.text("dominant_columns")) ")"
                }
            }
        }
    }
}
