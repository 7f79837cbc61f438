//! Tables with what they take, and indexes that nobody uses or needs.

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
        "" => "AND table_schema NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')".to_string(),
        text => format!("AND (INSTR(table_name, {0}) OR table_schema = {0})", literal(text)),
    };
    let rows = view.statements.rows(&format!(
        "SELECT table_schema AS `schema`, table_name AS name, table_rows AS `rows`, data_length AS data, index_length AS indexes, \
         avg_row_length AS mean, auto_increment, table_collation AS collation FROM information_schema.tables \
         WHERE table_type = 'BASE TABLE' {such} ORDER BY data_length + index_length DESC LIMIT {ROWS}"
    ));
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
        (section("The largest", rows, table))
        (section("Indexes that no statement has used since the start", unused, indexes))
        (section("Indexes that another has already", redundant, redundant_indexes))
    };
    Ok(Content::new("Tables", body))
}

fn address(schema: &str, name: &str) -> String {
    format!("/tables/{}/{}", encoded(schema), encoded(name))
}

fn table(rows: &Rows) -> Markup {
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
                        th.n { "bytes a row" } th.n { "next AUTO_INCREMENT" } th { "collation" }
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
