//! System variables: values, defaults, where they come from, and what they do.

use maud::{Markup, html};
use vaquita_session::variables::{Change, Effect, registry};
use vaquita_types::Result;

use super::View;
use crate::fronts::http::console::layout::{Content, section};
use crate::fronts::http::console::statements::Rows;

pub fn list(view: &mut View<'_>) -> Result<Content> {
    let search = view.form.get("q").to_lowercase();
    let is_for_changed = view.form.get("changed") == "1";
    let rows = view.statements.rows(
        "SELECT i.variable_name AS name, v.variable_value AS value, i.variable_source AS source, i.min_value, i.max_value, i.set_time, i.set_user, i.set_host \
         FROM performance_schema.variables_info i JOIN performance_schema.global_variables v USING (variable_name) ORDER BY name",
    );
    let body = html! {
        h1 { "Settings" }
        form.filter method="get" {
            input type="search" name="q" value=(search) placeholder="Part of a name, or of what it does" aria-label="Search" data-rows="#variables";
            label { input type="checkbox" name="changed" value="1" checked[is_for_changed]; "Only those that were set" }
            button { "Search" }
        }
        (section("System variables", rows, |rows| table(rows, &search, is_for_changed)))
    };
    Ok(Content::new("Settings", body))
}

fn table(rows: &Rows, search: &str, is_for_changed: bool) -> Markup {
    html! {
        div.scroll {
            table id="variables" {
                thead { tr { th { "name" } th { "value" } th { "default" } th { "source" } th { "what it does" } } }
                tbody {
                    @for row in rows.iter() {
                        @let name = row.text("name");
                        @let def = registry().find(name);
                        @let prose = def.map_or("", |def| def.prose);
                        @let is_set = row.text("source") != "COMPILED";
                        @if (!is_for_changed || is_set) && (name.contains(search) || prose.to_lowercase().contains(search)) {
                            tr {
                                td { b { (name) } @if def.is_some_and(|def| def.change == Change::ReadOnly) { span.more { "read only" } } }
                                td.value { (row.text("value")) }
                                td.value { (def.map_or_else(String::new, |def| def.show(&def.default))) }
                                td {
                                    @if is_set { b { (row.text("source").to_lowercase()) } } @else { "default" }
                                    @if let Some(user) = row.value("set_user") { span.more { (user) "@" (row.text("set_host")) ", " (row.text("set_time").split('.').next().unwrap_or_default()) } }
                                }
                                td.prose.idle[def.is_some_and(|def| def.effect != Effect::Acts)] { (prose) }
                            }
                        }
                    }
                }
            }
        }
    }
}
