//! Stored procedures as information_schema and SHOW tell of them.

use vaquita_parser::ast::{CreateRoutine, ParameterMode, Statement as Ast};
use vaquita_parser::parse_one;
use vaquita_plan::settings::PlanSettings;
use vaquita_types::charset::{charset, collation};
use vaquita_types::schema::{ObjectKind, SqlSecurity, StoredObject};
use vaquita_types::{ColumnType, Error, Result, Value, sql_mode};

use super::row::{NULL, row, yes_no};
use super::{Row, SystemContext, columns, text};
use vaquita_plan::data_type::column_type;

fn kind_name(object: &StoredObject) -> &'static str {
    if object.kind == ObjectKind::Function { "FUNCTION" } else { "PROCEDURE" }
}

/// The type of a function, as its record says it.
fn returned(object: &StoredObject) -> Result<Option<ColumnType>> {
    let Some(returns) = read_routine(object)?.returns else { return Ok(None) };
    column_type(&object.name, &returns.ty, returns.collate.as_deref(), object.database_collation).map(Some)
}

/// A text that creates the routine again, as far as it can be run.
pub fn routine_text(object: &StoredObject) -> String {
    let parameters = object.characteristic("parameters").unwrap_or_default();
    let (kind, name) = (kind_name(object), object.name.replace('`', "``"));
    let returns = object.characteristic("returns").map(|returns| format!("RETURNS {returns} ")).unwrap_or_default();
    format!("CREATE {kind} `{name}`({parameters}) {returns}{}", object.text)
}

/// The tree of a routine's text.
pub fn read_routine(object: &StoredObject) -> Result<CreateRoutine> {
    let settings = PlanSettings { sql_mode: object.sql_mode, ..PlanSettings::DEFAULT };
    match parse_one(routine_text(object).as_bytes(), &settings.parser_options())?.0 {
        Ast::CreateRoutine(create) => Ok(*create),
        _ => Err(Error::internal("the text of a routine creates something else")),
    }
}

/// What SHOW CREATE prints.
pub fn create_text(object: &StoredObject) -> String {
    let quote = if object.sql_mode & sql_mode::ANSI_QUOTES != 0 { "\"" } else { "`" };
    let quoted = |name: &str| format!("{quote}{}{quote}", name.replace(quote, &quote.repeat(2)));
    let mut text = format!(
        "CREATE DEFINER={}@{} {} {}({})",
        quoted(&object.definer.user),
        quoted(&object.definer.host),
        kind_name(object),
        quoted(&object.name),
        object.characteristic("parameters").unwrap_or_default()
    );
    if let Ok(Some(ty)) = returned(object) {
        text += " RETURNS ";
        text += &text::type_text(&ty);
        if let Some(collation) = columns::collation_of(&ty) {
            text += &format!(" CHARSET {}", collation.charset.name);
            if !collation.is_default {
                text += &format!(" COLLATE {}", collation.name);
            }
        }
    }
    text.push('\n');
    if let Some(access) = object.characteristic("data access").filter(|access| *access != "CONTAINS SQL") {
        text += &format!("    {access}\n");
    }
    if object.characteristic("deterministic").is_some() {
        text += "    DETERMINISTIC\n";
    }
    if object.security == SqlSecurity::Invoker {
        text += "    SQL SECURITY INVOKER\n";
    }
    if !object.comment.is_empty() {
        text += &format!("    COMMENT {}\n", text::quoted(&object.comment));
    }
    text + &object.text
}

/// The names of `sql_mode`, as a text of the variable has them.
pub fn mode_text(bits: u64) -> String {
    let names: Vec<&str> = sql_mode::NAMES.iter().filter(|(_, bit)| bits & bit != 0).map(|(name, _)| *name).collect();
    names.join(",")
}

fn security(object: &StoredObject) -> &'static str {
    match object.security {
        SqlSecurity::Definer => "DEFINER",
        SqlSecurity::Invoker => "INVOKER",
    }
}

fn definer(object: &StoredObject) -> String {
    format!("{}@{}", object.definer.user, object.definer.host)
}

/// Calls `f` with each routine that the session sees, and whether it sees the body.
fn for_each(cx: &SystemContext<'_>, kinds: &[ObjectKind], mut f: impl FnMut(&StoredObject, bool) -> Result<()>) -> Result<()> {
    for database in cx.statement.catalog.databases()?.iter().filter(|database| cx.wants_database(&database.name)) {
        cx.statement.interrupt.check()?;
        for kind in kinds {
            for object in cx.statement.catalog.objects(&database.name, *kind)? {
                if let Some(whole) = cx.statement.server.sees_routine(&object) {
                    f(&object, whole)?;
                }
            }
        }
    }
    Ok(())
}

/// Both kinds, as information_schema lists them.
const ROUTINES: [ObjectKind; 2] = [ObjectKind::Function, ObjectKind::Procedure];

pub fn routines(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for_each(cx, &ROUTINES, |object, whole| {
        let mut row = row![object.name.as_str(), "def", object.database.as_str(), object.name.as_str(), kind_name(object)];
        match returned(object)? {
            // DATA_TYPE to DTD_IDENTIFIER.
            Some(ty) => {
                row.extend(columns::described_type(&ty));
                row.push(text::type_text(&ty).into());
            }
            None => {
                row.extend(row!["", NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL]);
            }
        }
        row.extend(row![
            "SQL",
            whole.then_some(object.text.as_str()),
            NULL,
            "SQL",
            "SQL",
            yes_no(object.characteristic("deterministic").is_some()),
            object.characteristic("data access").unwrap_or("CONTAINS SQL"),
            NULL,
            security(object),
            cx.time(object.created_us),
            cx.time(object.altered_us),
            mode_text(object.sql_mode),
            object.comment.as_str(),
            definer(object),
            charset(object.client_collation).name,
            collation(object.connection_collation).name,
            collation(object.database_collation).name,
        ]);
        rows.push(row);
        Ok(())
    })?;
    Ok(rows)
}

pub fn parameters(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for_each(cx, &ROUTINES, |object, _| {
        let create = read_routine(object)?;
        // What a function gives is its parameter 0.
        if let Some(ty) = returned(object)? {
            let mut row = row!["def", object.database.as_str(), object.name.as_str(), 0u64, NULL, NULL];
            row.extend(columns::described_type(&ty));
            row.extend(row![text::type_text(&ty), kind_name(object)]);
            rows.push(row);
        }
        for (n, variable) in create.program.variables.iter().take(create.parameters).enumerate() {
            let Some(declared) = &variable.ty else { continue };
            let ty = column_type(&variable.name, &declared.ty, declared.collate.as_deref(), object.database_collation)?;
            let mut row = row![
                "def",
                object.database.as_str(),
                object.name.as_str(),
                n as u64 + 1,
                variable.mode.unwrap_or(ParameterMode::In).as_str(),
                variable.name.as_str(),
            ];
            row.extend(columns::described_type(&ty));
            row.extend(row![text::type_text(&ty), kind_name(object)]);
            rows.push(row);
        }
        Ok(())
    })?;
    Ok(rows)
}

/// The rows of SHOW PROCEDURE STATUS and SHOW FUNCTION STATUS.
pub fn status(kind: ObjectKind, cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for_each(cx, &[kind], |object, _| {
        rows.push(row![
            object.database.as_str(),
            object.name.as_str(),
            kind_name(object),
            "SQL",
            definer(object),
            cx.time(object.altered_us),
            cx.time(object.created_us),
            security(object),
            object.comment.as_str(),
            charset(object.client_collation).name,
            collation(object.connection_collation).name,
            collation(object.database_collation).name,
        ]);
        Ok(())
    })?;
    Ok(rows)
}

/// The row of SHOW CREATE PROCEDURE.
pub fn create_row(object: &StoredObject, whole: bool) -> Row {
    let text = whole.then(|| create_text(object));
    row![
        object.name.as_str(),
        mode_text(object.sql_mode),
        text.map_or(Value::Null, Value::from),
        charset(object.client_collation).name,
        collation(object.connection_collation).name,
        collation(object.database_collation).name,
    ]
}
