//! One table: its definition, its indexes and how they are used.

use maud::html;
use vaquita_types::Result;

use super::View;
use crate::fronts::http::console::layout::{Content, plain_table, section};
use crate::fronts::http::console::statements::{literal, quoted};

pub fn show(view: &mut View<'_>) -> Result<Content> {
    let (schema, name) = (view.part(0).to_string(), view.part(1).to_string());
    let definition = view.statements.rows(&format!("SHOW CREATE TABLE {}.{}", quoted(&schema), quoted(&name)));
    let of = format!("table_schema = {} AND table_name = {}", literal(&schema), literal(&name));
    let indexes = view.statements.rows(&format!(
        "SELECT index_name AS `index`, GROUP_CONCAT(COALESCE(column_name, expression) ORDER BY seq_in_index SEPARATOR ', ') AS columns, \
         IF(MAX(non_unique), '', 'unique') AS `unique`, MAX(cardinality) AS `different values`, MAX(is_visible) AS visible \
         FROM information_schema.statistics WHERE {of} GROUP BY index_name ORDER BY index_name <> 'PRIMARY', index_name"
    ));
    let used = view.statements.rows(&format!(
        "SELECT index_name AS `index`, rows_selected, select_latency, rows_inserted, rows_updated, rows_deleted \
         FROM sys.schema_index_statistics WHERE {of}"
    ));
    let body = html! {
        h1 { (schema) "." (name) }
        (section("Indexes", indexes, |rows| plain_table(rows, "It has none.")))
        (section("What they were used for since the start", used, |rows| plain_table(rows, "Nothing.")))
        (section("Definition", definition, |rows| html! {
            pre.sql { (rows.first().map_or("", |row| row.value("Create Table").unwrap_or_else(|| row.text("Create View")))) }
        }))
    };
    Ok(Content::new(&format!("{schema}.{name}"), body))
}
