//! The optimizer trace: what became of a statement on its way to a plan, as information_schema.OPTIMIZER_TRACE tells it.
//!
//! The outline is MySQL's: `join_preparation` with the statement, a `join_optimization` for each query block, `join_execution`. What they hold is
//! this optimizer's: the trees that rewrites made, the ways to read each table with their costs, the orders that were considered. The statement is
//! planned once more for it.

use std::cell::RefCell;
use std::fmt::Write;

use vaquita_parser as ast;
use vaquita_types::Result;
use vaquita_types::json::Json;

use crate::bind::PlanContext;
use crate::choices::{BlockChoices, OrderChoice, TableChoices};
use crate::why::choices_of;

pub fn trace(statement: &ast::Statement, text: &str, one_line: bool, cx: &PlanContext<'_>) -> Result<String> {
    let trees = RefCell::new(Vec::new());
    let watch = |what: &str, tree: &str| trees.borrow_mut().push((what.to_string(), tree.to_string()));
    let blocks = choices_of(statement, &PlanContext { watch: Some(&watch), ..*cx })?;
    let mut out = Text { out: String::new(), depth: 0, one_line, is_first: true };
    out.inside("", '{', |out| {
        out.inside("steps", '[', |out| {
            out.step("join_preparation", 1, |out| {
                out.inside("", '{', |out| out.text("expanded_query", text));
                for (what, tree) in &trees.take() {
                    out.inside("", '{', |out| {
                        out.text("transformation", what);
                        out.inside("tree", '[', |out| tree.lines().for_each(|line| out.text("", line)));
                    });
                }
            });
            for (n, block) in blocks.iter().enumerate() {
                out.step("join_optimization", n + 1, |out| put_block(out, block));
            }
            out.step("join_execution", 1, |_| {});
        });
    });
    Ok(out.out)
}

fn put_block(out: &mut Text, block: &BlockChoices) {
    out.inside("", '{', |out| {
        out.inside("rows_estimation", '[', |out| block.tables.iter().for_each(|table| put_table(out, table)));
    });
    out.inside("", '{', |out| {
        out.inside("considered_execution_plans", '[', |out| {
            block.orders.iter().enumerate().for_each(|(n, order)| put_order(out, order, n == 0));
        });
    });
}

fn put_table(out: &mut Text, table: &TableChoices) {
    out.inside("", '{', |out| {
        out.text("table", &table.alias);
        out.inside("considered_access_paths", '[', |out| {
            for (n, way) in table.ways.iter().enumerate() {
                out.inside("", '{', |out| {
                    out.text("access_type", &way.name);
                    out.number("rows_to_scan", way.rows);
                    out.number("cost", way.cost);
                    out.value("chosen", if n == 0 { "true" } else { "false" });
                });
            }
        });
        out.number("resulting_rows", table.rows_out);
    });
}

fn put_order(out: &mut Text, order: &OrderChoice, chosen: bool) {
    out.inside("", '{', |out| {
        out.inside("plan", '[', |out| order.steps.iter().for_each(|step| out.text("", step)));
        out.number("rows_for_plan", order.rows);
        out.number("cost_for_plan", order.cost);
        out.value("chosen", if chosen { "true" } else { "false" });
    });
}

/// JSON whose members keep their order.
struct Text {
    out: String,
    depth: usize,
    one_line: bool,
    is_first: bool,
}

impl Text {
    fn step(&mut self, name: &str, select: usize, put: impl FnOnce(&mut Text)) {
        self.inside("", '{', |out| {
            out.inside(name, '{', |out| {
                out.number("select#", select as f64);
                out.inside("steps", '[', put);
            });
        });
    }

    /// `open` is `{` or `[`; an element of an array has no name.
    fn inside(&mut self, name: &str, open: char, put: impl FnOnce(&mut Text)) {
        self.begin(name);
        self.out.push(open);
        (self.depth, self.is_first) = (self.depth + 1, true);
        put(self);
        self.depth -= 1;
        if !self.is_first {
            self.new_line();
        }
        self.out.push(if open == '{' { '}' } else { ']' });
        self.is_first = false;
    }

    fn text(&mut self, name: &str, text: &str) {
        self.value(name, &Json::String(text.to_string().into()).to_string());
    }

    fn number(&mut self, name: &str, number: f64) {
        let shown = if number.fract() == 0.0 && number.abs() < 1e15 { format!("{number:.0}") } else { format!("{number:.4}") };
        self.value(name, if number.is_finite() { &shown } else { "null" });
    }

    fn value(&mut self, name: &str, shown: &str) {
        self.begin(name);
        self.out.push_str(shown);
    }

    fn begin(&mut self, name: &str) {
        if !self.is_first {
            self.out.push(',');
        }
        if self.depth > 0 {
            self.new_line();
        }
        self.is_first = false;
        if !name.is_empty() {
            let _ = write!(self.out, "\"{name}\": ");
        }
    }

    fn new_line(&mut self) {
        if !self.one_line {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n("  ", self.depth));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(one_line: bool) -> String {
        let mut out = Text { out: String::new(), depth: 0, one_line, is_first: true };
        out.inside("", '{', |out| {
            out.inside("steps", '[', |out| {
                out.text("", "a \"b\"\n");
                out.inside("", '{', |out| out.number("cost", 1.25));
                out.inside("", '[', |_| {});
            });
            out.number("rows", 3.0);
        });
        out.out
    }

    #[test]
    fn members_keep_their_order_and_are_json() {
        assert_eq!(written(true), r#"{"steps": ["a \"b\"\n",{"cost": 1.2500},[]],"rows": 3}"#);
        let lines = written(false);
        assert_eq!(lines.lines().count(), 10, "{lines}");
        assert!(lines.starts_with("{\n  \"steps\": [\n    \"a"), "{lines}");
        assert!(
            Json::parse(lines.as_bytes())
                .is_ok_and(|json| Json::parse(written(true).as_bytes()).is_ok_and(|other| json == other))
        );
    }
}
