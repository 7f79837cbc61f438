//! SHOW CREATE TABLE: a definition as the statement that makes it, byte for byte as MySQL prints it.
//!
//! ```text
//! CREATE TABLE `t` (
//!   `id` int NOT NULL AUTO_INCREMENT,
//!   `name` varchar(20) CHARACTER SET latin1 COLLATE latin1_bin DEFAULT 'x',
//!   PRIMARY KEY (`id`),
//!   KEY `name` (`name`(5) DESC)
//! ) ENGINE=InnoDB AUTO_INCREMENT=7 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci
//! ```
//!
//! A column's CHARACTER SET is printed if it is not the table's or was written; its COLLATE if it is not
//! the default of the charset or was written, or is utf8mb4's. It knows nothing of views.

use std::fmt::Write;

use vaquita_parser::keyword::is_quoted_word;
use vaquita_types::charset::{Collation, CollationId, TextParser, charset, collation};
use vaquita_types::schema::{ColumnDef, ColumnDefault, ForeignKeyDef, IndexDef, IndexKind, ReferentialAction, TableDef};
use vaquita_types::{ColumnType, TypeKind, Value, sql_mode};

use super::show_partitions::partitions_text;
use crate::system::text::{quoted, type_text, utf8_of, written_value};

/// How SHOW CREATE writes names.
#[derive(Clone, Copy, Debug)]
pub struct Quoting {
    /// `"` instead of backquotes: ANSI_QUOTES.
    ansi: bool,
    /// Off: only where a name needs it (`sql_quote_show_create`).
    always: bool,
    /// What no other database has is left out: sql_mode ANSI.
    pub(super) bare: bool,
}

impl Quoting {
    pub fn new(mode: u64, sql_quote_show_create: bool) -> Quoting {
        Quoting { ansi: mode & sql_mode::ANSI_QUOTES != 0, always: sql_quote_show_create, bare: mode & sql_mode::ANSI != 0 }
    }

    /// The same for names that MySQL quotes only where they need it.
    pub(super) fn where_needed(self) -> Quoting {
        Quoting { always: false, ..self }
    }

    pub fn name(self, name: &str) -> String {
        if !self.always && !needs_quotes(name) {
            return name.to_string();
        }
        let quote = if self.ansi { '"' } else { '`' };
        let doubled: String = [quote, quote].iter().collect();
        format!("{quote}{}{quote}", name.replace(quote, &doubled))
    }
}

fn needs_quotes(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$' || !c.is_ascii();
    !name.chars().all(plain) || name.chars().all(|c| c.is_ascii_digit()) || is_quoted_word(name.as_bytes())
}

/// `auto_increment` is the next value of the counter.
pub fn show_create_table(def: &TableDef, auto_increment: Option<u64>, quoting: Quoting) -> String {
    let temporary = if def.options.temporary { "TEMPORARY " } else { "" };
    let mut out = format!("CREATE {temporary}TABLE {} (\n", quoting.name(&def.name));
    let columns = def.columns.iter().filter(|c| !c.is_hidden()).map(|c| column_text(def, c, quoting));
    let indexes = def.indexes.iter().filter(|i| !i.parts.is_empty()).map(|i| index_text(def, i, quoting));
    let mut checks: Vec<_> = def.options.checks.iter().collect();
    checks.sort_by_key(|check| check.name.to_lowercase());
    let checks = checks.into_iter().map(|check| {
        let enforced = if check.enforced { "" } else { " /*!80016 NOT ENFORCED */" };
        format!("CONSTRAINT {} CHECK ({}){enforced}", quoting.name(&check.name), check.expr)
    });
    let keys = def.foreign_keys.iter().map(|key| foreign_key_text(def, key, quoting));
    let lines: Vec<String> = columns.chain(indexes).chain(keys).chain(checks).map(|line| format!("  {line}")).collect();
    out.push_str(&lines.join(",\n"));
    out.push_str("\n)");
    if !quoting.bare {
        options_text(def, auto_increment, &mut out);
    }
    if let Some(by) = &def.partitioning {
        partitions_text(def, by, quoting, &mut out);
    }
    out
}

/// ``CONSTRAINT `c` FOREIGN KEY (`a`) REFERENCES `p` (`b`) ON DELETE CASCADE``
fn foreign_key_text(def: &TableDef, key: &ForeignKeyDef, quoting: Quoting) -> String {
    let list = |names: &mut dyn Iterator<Item = &str>| names.map(|name| quoting.name(name)).collect::<Vec<_>>().join(", ");
    let mut own = key.columns.iter().filter_map(|id| def.columns.get(def.position_of(*id)?)).map(|column| column.name.as_str());
    let other_database = key.parent.database != def.database;
    let database = if other_database { format!("{}.", quoting.name(&key.parent.database)) } else { String::new() };
    let mut out = format!(
        "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {database}{} ({})",
        quoting.name(&key.name),
        list(&mut own),
        quoting.name(&key.parent.name),
        list(&mut key.parent_columns.iter().map(String::as_str)),
    );
    for (event, action) in [("DELETE", key.on_delete), ("UPDATE", key.on_update)] {
        if action != ReferentialAction::NoAction {
            let _ = write!(out, " ON {event} {}", action.name());
        }
    }
    out
}

fn column_text(def: &TableDef, column: &ColumnDef, quoting: Quoting) -> String {
    let ty = &column.ty;
    let declared = match &ty.members {
        Some(members) => labelled_text(ty, members),
        None => type_text(ty),
    };
    let mut out = format!("{} {declared}", quoting.name(&column.name));
    if ty.is_text() || matches!(ty.kind, TypeKind::Enum | TypeKind::Set) {
        collation_text(def, column, &mut out);
    }
    if let Some(generated) = &column.generated {
        let kind = if generated.stored { "STORED" } else { "VIRTUAL" };
        let _ = write!(out, " GENERATED ALWAYS AS ({}) {kind}", generated.expr);
    }
    if let (true, Some(srid)) = (column.nullable, ty.srid()) {
        let _ = write!(out, " /*!80003 SRID {srid} */");
    }
    if !column.nullable {
        out.push_str(" NOT NULL");
        if let Some(srid) = ty.srid() {
            let _ = write!(out, " /*!80003 SRID {srid} */");
        }
    } else if ty.kind == TypeKind::Timestamp {
        out.push_str(" NULL");
    }
    default_text(column, &mut out);
    if column.on_update_now {
        let _ = write!(out, " ON UPDATE {}", now_text(ty));
    }
    if column.auto_increment {
        out.push_str(" AUTO_INCREMENT");
    }
    if column.invisible {
        out.push_str(" /*!80023 INVISIBLE */");
    }
    if !column.comment.is_empty() {
        let _ = write!(out, " COMMENT {}", quoted(&column.comment));
    }
    out
}

/// ENUM and SET with their labels escaped, which `type_text` does not do.
fn labelled_text(ty: &ColumnType, members: &[Box<[u8]>]) -> String {
    let labels: Vec<String> = members.iter().map(|label| quoted(&utf8_of(label, charset(ty.collation)))).collect();
    let name = if ty.kind == TypeKind::Enum { "enum" } else { "set" };
    format!("{name}({})", labels.join(","))
}

fn is_utf8mb4_default(rule: &Collation) -> bool {
    rule.id == CollationId::default()
}

fn collation_text(def: &TableDef, column: &ColumnDef, out: &mut String) {
    let rule = collation(column.ty.collation);
    let given = def.options.collations_given.contains(&column.id);
    let differs = column.ty.collation != def.collation;
    if differs || given {
        let _ = write!(out, " CHARACTER SET {}", rule.charset.name);
    }
    if !rule.is_default || given || (differs && is_utf8mb4_default(rule)) {
        let _ = write!(out, " COLLATE {}", rule.name);
    }
}

fn default_text(column: &ColumnDef, out: &mut String) {
    let ty = &column.ty;
    // TEXT and BLOB have no NULL default to speak of; JSON, spatial types and vectors do.
    let is_silent = ty.is_blob() && ty.is_bytes() && !ty.is_geometry() && !ty.is_vector();
    match &column.default {
        _ if column.generated.is_some() || column.auto_increment => {}
        ColumnDefault::None => {}
        ColumnDefault::Value(Value::Null) if is_silent => {}
        ColumnDefault::Value(Value::Null) => out.push_str(" DEFAULT NULL"),
        ColumnDefault::Now => {
            let _ = write!(out, " DEFAULT {}", now_text(ty));
        }
        ColumnDefault::Expr(text) => {
            let _ = write!(out, " DEFAULT ({text})");
        }
        ColumnDefault::Value(value) => {
            let _ = write!(out, " DEFAULT {}", written_value(value, ty));
        }
    }
}

/// `CURRENT_TIMESTAMP(3)`
fn now_text(ty: &ColumnType) -> String {
    if ty.decimals > 0 { format!("CURRENT_TIMESTAMP({})", ty.decimals) } else { "CURRENT_TIMESTAMP".to_string() }
}

fn index_text(def: &TableDef, index: &IndexDef, quoting: Quoting) -> String {
    let mut out = match index.kind {
        IndexKind::Primary => "PRIMARY KEY (".to_string(),
        IndexKind::Unique => format!("UNIQUE KEY {} (", quoting.name(&index.name)),
        IndexKind::Secondary => format!("KEY {} (", quoting.name(&index.name)),
        IndexKind::FullText => format!("FULLTEXT KEY {} (", quoting.name(&index.name)),
        IndexKind::Spatial => format!("SPATIAL KEY {} (", quoting.name(&index.name)),
    };
    for (n, part) in index.parts.iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        let column = def.position_of(part.column).and_then(|at| def.columns.get(at));
        match column.and_then(|column| column.generated.as_ref()).filter(|generated| generated.hidden) {
            Some(generated) => {
                let _ = write!(out, "({})", generated.expr);
            }
            None => out.push_str(&quoting.name(column.map_or("", |column| column.name.as_str()))),
        }
        if let Some(prefix) = part.prefix {
            let _ = write!(out, "({prefix})");
        }
        if part.descending {
            out.push_str(" DESC");
        }
    }
    out.push(')');
    if quoting.bare {
        out.push_str(&parser_text(index, quoting));
        return out;
    }
    if let Some(using) = &index.using {
        let _ = write!(out, " USING {using}");
    }
    if !index.comment.is_empty() {
        let _ = write!(out, " COMMENT {}", quoted(&index.comment));
    }
    if index.invisible {
        out.push_str(" /*!80000 INVISIBLE */");
    }
    out.push_str(&parser_text(index, quoting));
    out
}

fn parser_text(index: &IndexDef, quoting: Quoting) -> String {
    match index.parser {
        TextParser::Ngram => format!(" /*!50100 WITH PARSER {} */ ", quoting.name("ngram")),
        _ => String::new(),
    }
}

/// Options in the order in which MySQL prints them; ROW_FORMAT stands between the two halves.
const BEFORE_ROW_FORMAT: &[&str] = &[
    "MIN_ROWS",
    "MAX_ROWS",
    "AVG_ROW_LENGTH",
    "PACK_KEYS",
    "STATS_PERSISTENT",
    "STATS_AUTO_RECALC",
    "STATS_SAMPLE_PAGES",
    "CHECKSUM",
    "DELAY_KEY_WRITE",
];
const AFTER_ROW_FORMAT: &[&str] = &["KEY_BLOCK_SIZE", "COMPRESSION"];

fn options_text(def: &TableDef, auto_increment: Option<u64>, out: &mut String) {
    let options = &def.options;
    if let Some((_, size)) = options.others.iter().find(|(key, _)| key == "AUTOEXTEND_SIZE") {
        let _ = write!(out, " /*!80023 AUTOEXTEND_SIZE={size} */");
    }
    let engine = if options.engine.is_empty() { "InnoDB" } else { &options.engine };
    let _ = write!(out, " ENGINE={engine}");
    if let Some(next) = auto_increment.filter(|n| *n > 1 && engine != "BLACKHOLE" && def.auto_increment_column().is_some()) {
        let _ = write!(out, " AUTO_INCREMENT={next}");
    }
    let rule = collation(def.collation);
    let _ = write!(out, " DEFAULT CHARSET={}", rule.charset.name);
    if !rule.is_default || is_utf8mb4_default(rule) {
        let _ = write!(out, " COLLATE={}", rule.name);
    }
    let others = |names: &[&str], out: &mut String| {
        for name in names {
            for (key, value) in options.others.iter().filter(|(key, _)| key == name) {
                let _ = write!(out, " {key}={value}");
            }
        }
    };
    others(BEFORE_ROW_FORMAT, out);
    if let Some(format) = &options.row_format {
        let _ = write!(out, " ROW_FORMAT={format}");
    }
    others(AFTER_ROW_FORMAT, out);
    if !options.comment.is_empty() {
        let _ = write!(out, " COMMENT={}", quoted(&options.comment));
    }
    others(&["CONNECTION"], out);
}
