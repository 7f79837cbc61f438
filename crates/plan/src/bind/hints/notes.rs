//! What each hint says is noted with its block, unless it names no block (warning 3127) or something was said before that it contradicts or
//! repeats (3126): the first hint counts.

use vaquita_parser::printer::{Style, print_expr, quote_ident};
use vaquita_parser::{Expr, Hint, HintArguments, HintKind, HintTable, Literal, PlanHint};
use vaquita_types::errno::ErrorDef;
use vaquita_types::{Error, errno};

use super::blocks::Reader;
use super::{Block, Table, said};
use crate::logical::hints::IndexUse;

impl Reader<'_> {
    /// The hints of the block `at`.
    pub(super) fn note(&mut self, at: usize, hints: &[Hint]) {
        if !hints.is_empty() {
            self.hints.read.push(at);
        }
        for hint in hints {
            match hint {
                Hint::Plan(hint) if self.is_view && !hint.kind.is_of_index_use() => {}
                Hint::Plan(hint) => self.note_plan(at, hint),
                _ if self.is_view => {}
                Hint::QueryBlockName(name) => self.name_block(at, name),
                Hint::MaxExecutionTimeMs(ms) => self.note_time(at, *ms),
                Hint::ResourceGroup(name) => self.note_group(at, name),
                Hint::SetVar { name, value } => self.note_variable(name, value),
            }
        }
    }

    fn block(&mut self, at: usize) -> &mut Block {
        &mut self.hints.blocks[at]
    }

    fn warn(&mut self, def: &'static ErrorDef, what: &str) {
        self.warnings.push(Error::new(def, &[&what]));
    }

    fn warn_of_conflict(&mut self, what: &str) {
        self.warn(&errno::ER_WARN_CONFLICTING_HINT, what);
    }

    /// The session sets the variables, of which the planner alone needs `optimizer_switch`.
    fn note_variable(&mut self, name: &str, value: &Expr) {
        let text = match value {
            Expr::Literal(Literal::String(text)) => String::from_utf8_lossy(&text.bytes).into_owned(),
            other => print_expr(other, Style { charset: None, cast_charset: None, unqualified: true }),
        };
        if self.set.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
            let quote = if matches!(value, Expr::Literal(Literal::String(_))) { "'" } else { "" };
            return self.warn_of_conflict(&format!("SET_VAR({name}={quote}{text}{quote}) "));
        }
        if name.eq_ignore_ascii_case("optimizer_switch") {
            self.hints.switches = Some(text);
        }
        self.set.push((name.to_string(), value.clone()));
    }

    fn name_block(&mut self, at: usize, name: &str) {
        if self.block(at).name.is_some() || self.hints.find(name).is_some() {
            return self.warn_of_conflict(&format!("QB_NAME({})", quote_ident(name)));
        }
        self.block(at).name = Some(name.to_string());
    }

    fn note_time(&mut self, at: usize, ms: u64) {
        if at > 0 || !self.limits_time {
            return self.warnings.push(Error::new(&errno::ER_WARN_UNSUPPORTED_MAX_EXECUTION_TIME, &[]));
        }
        if std::mem::replace(&mut self.block(at).has_time_limit, true) {
            self.warn_of_conflict(&format!("MAX_EXECUTION_TIME({ms})"));
        }
    }

    /// The last one counts.
    fn note_group(&mut self, at: usize, name: &str) {
        if at > 0 || self.in_program {
            return self
                .warnings
                .push(Error::new(&errno::ER_WARN_UNSUPPORTED_HINT, &[&"Subquery or Stored procedure or Trigger"]));
        }
        self.resource_group = Some(name.to_string());
    }

    /// The block of that name, or warning 3127.
    fn find_block(&mut self, name: Option<&String>, or: usize, hint: &PlanHint) -> Option<usize> {
        let Some(name) = name else { return Some(or) };
        let found = self.hints.find(name);
        if found.is_none() {
            let def = &errno::ER_WARN_UNKNOWN_QB_NAME;
            self.warnings.push(Error::new(def, &[&quote_ident(name), &hint.kind.name(hint.on)]));
        }
        found
    }

    fn note_plan(&mut self, at: usize, hint: &PlanHint) {
        if hint.kind.arguments() == HintArguments::Indexes {
            return self.note_indexes(at, hint);
        }
        let Some(at) = self.find_block(hint.block.as_ref(), at, hint) else { return };
        match hint.kind {
            HintKind::Semijoin | HintKind::Subquery => self.note_subquery(at, hint),
            HintKind::JoinFixedOrder | HintKind::JoinOrder | HintKind::JoinPrefix | HintKind::JoinSuffix => {
                self.note_order(at, hint)
            }
            _ if hint.tables.is_empty() => {
                if said(&self.block(at).whole, hint.kind).is_some() {
                    return self.warn_of_conflict(&shown(hint, &format!("{} ", shown_block(hint.block.as_ref()))));
                }
                self.block(at).whole.push((hint.kind, hint.on));
            }
            _ => hint.tables.iter().for_each(|table| self.note_table(at, hint, table)),
        }
    }

    fn note_table(&mut self, at: usize, hint: &PlanHint, table: &HintTable) {
        let own_block = table.block.as_ref().filter(|_| hint.block.is_none());
        let Some(at) = self.find_block(own_block, at, hint) else { return };
        let block = self.block(at);
        let is_said = said(&block.whole, hint.kind).is_some();
        let of_table = table_of(block, &table.name);
        if is_said || said(&of_table.own, hint.kind).is_some() {
            let name = format!("{}{} ", quote_ident(&table.name), shown_block(own_block));
            return self.warn_of_conflict(&shown(hint, &name));
        }
        of_table.own.push((hint.kind, hint.on));
    }

    fn note_indexes(&mut self, at: usize, hint: &PlanHint) {
        let [table] = hint.tables.as_slice() else { return };
        let Some(at) = self.find_block(table.block.as_ref(), at, hint) else { return };
        let name = format!("{}{}", quote_ident(&table.name), shown_block(table.block.as_ref()));
        if hint.kind.is_of_index_set() {
            return self.note_index_set(at, hint, &name);
        }
        let of_table = table_of(self.block(at), &table.name);
        let (own, mut conflicts) = (said(&of_table.own, hint.kind).is_some(), Vec::new());
        if hint.indexes.is_empty() {
            match own {
                true => conflicts.push(format!("{name} ")),
                false => of_table.own.push((hint.kind, hint.on)),
            }
        }
        for index in &hint.indexes {
            let of_index = index_of(of_table, index);
            match own || said(of_index, hint.kind).is_some() {
                true => conflicts.push(format!("{name} {} ", quote_ident(index))),
                false => of_index.push((hint.kind, hint.on)),
            }
        }
        conflicts.into_iter().for_each(|conflict| self.warn_of_conflict(&shown(hint, &conflict)));
    }

    /// A hint whose indexes are one choice. INDEX is the three others of its family at once.
    fn note_index_set(&mut self, at: usize, hint: &PlanHint, name: &str) {
        let indexes: Vec<String> = hint.indexes.iter().map(|index| quote_ident(index)).collect();
        let arguments = format!("{name} {}{}", if indexes.is_empty() { "" } else { " " }, indexes.join(", "));
        if hint.kind == HintKind::IndexMerge && hint.on && hint.indexes.len() == 1 {
            return self.warn(&errno::ER_WARN_INVALID_HINT, &shown(hint, &arguments));
        }
        let of_table = table_of(self.block(at), &hint.tables[0].name);
        let is_related = |other: HintKind| {
            other != hint.kind
                && other.is_of_index_use()
                && hint.kind.is_of_index_use()
                && (other == HintKind::Index || hint.kind == HintKind::Index)
        };
        let shares = |rule: &&IndexUse| hint.indexes.is_empty() || rule.indexes.iter().any(|index| hint.indexes.contains(index));
        let is_said = said(&of_table.own, hint.kind).is_some()
            || of_table.uses.iter().filter(|rule| is_related(rule.kind)).any(|rule| shares(&rule));
        if is_said {
            return self.warn_of_conflict(&shown(hint, &arguments));
        }
        of_table.own.push((hint.kind, hint.on));
        if hint.kind.is_of_index_use() {
            of_table.uses.push(IndexUse { kind: hint.kind, on: hint.on, indexes: hint.indexes.clone() });
        }
        for index in &hint.indexes {
            let of_index = index_of(of_table, index);
            if said(of_index, hint.kind).is_none() {
                of_index.push((hint.kind, hint.on));
            }
        }
    }

    fn note_subquery(&mut self, at: usize, hint: &PlanHint) {
        let block = self.block(at);
        if block.semijoin.is_some() || block.is_subquery {
            let mut strategies = hint.strategies.clone();
            strategies.sort();
            let names: Vec<&str> = strategies.iter().map(|strategy| strategy.name()).collect();
            let space = if names.is_empty() { " " } else { "  " };
            let arguments = format!("{}{space}{}", shown_block(hint.block.as_ref()), names.join(", "));
            return self.warn_of_conflict(&shown(hint, &arguments));
        }
        match hint.kind {
            HintKind::Semijoin => block.semijoin = Some((hint.on, hint.strategies.clone())),
            _ => block.is_subquery = true,
        }
    }

    fn note_order(&mut self, at: usize, hint: &PlanHint) {
        let block = self.block(at);
        let is_said = match hint.kind {
            HintKind::JoinFixedOrder => block.has_fixed_order || !block.orders.is_empty(),
            HintKind::JoinOrder => block.has_fixed_order,
            kind => block.has_fixed_order || block.orders.iter().any(|(other, _)| *other == kind),
        };
        if is_said {
            let table = |table: &HintTable| format!("{}{}", quote_ident(&table.name), shown_block(table.block.as_ref()));
            let tables: Vec<String> = hint.tables.iter().map(table).collect();
            let arguments = format!("{} {}", shown_block(hint.block.as_ref()), tables.join(","));
            return self.warn_of_conflict(&shown(hint, &arguments));
        }
        match hint.kind {
            HintKind::JoinFixedOrder => block.has_fixed_order = true,
            kind => block.orders.push((kind, hint.tables.clone())),
        }
    }
}

fn shown(hint: &PlanHint, arguments: &str) -> String {
    format!("{}({arguments})", hint.kind.name(hint.on))
}

fn shown_block(block: Option<&String>) -> String {
    block.map_or_else(String::new, |name| format!("@{}", quote_ident(name)))
}

fn table_of<'b>(block: &'b mut Block, name: &str) -> &'b mut Table {
    let at = block.tables.iter().position(|table| table.name == name).unwrap_or_else(|| {
        block.tables.push(Table { name: name.to_string(), ..Table::default() });
        block.tables.len() - 1
    });
    &mut block.tables[at]
}

fn index_of<'t>(table: &'t mut Table, name: &str) -> &'t mut Vec<(HintKind, bool)> {
    let at = table.indexes.iter().position(|(index, _)| index.eq_ignore_ascii_case(name)).unwrap_or_else(|| {
        table.indexes.push((name.to_string(), Vec::new()));
        table.indexes.len() - 1
    });
    &mut table.indexes[at].1
}
