//! Triggers as information_schema and SHOW tell of them.

use vaquita_parser::ast::{CreateTrigger, Statement as Ast};
use vaquita_parser::parse_one;
use vaquita_plan::settings::PlanSettings;
use vaquita_types::charset::{charset, collation};
use vaquita_types::schema::{ObjectKind, StoredObject, TableDef, Trigger};
use vaquita_types::{Error, Result, Value, sql_mode};

use super::routines::mode_text;
use super::row::{NULL, row};
use super::{Row, SystemContext};

/// CREATED has hundredths of a second.
const CREATED_US: u64 = 10_000;

/// The tree of a trigger's text.
pub fn read_trigger(object: &StoredObject) -> Result<CreateTrigger> {
    let settings = PlanSettings { sql_mode: object.sql_mode, ..PlanSettings::DEFAULT };
    match parse_one(definition(object, "`").as_bytes(), &settings.parser_options())?.0 {
        Ast::CreateTrigger(create) => Ok(*create),
        _ => Err(Error::internal("the text of a trigger creates something else")),
    }
}

/// Behind CREATE and the definer.
fn definition(object: &StoredObject, quote: &str) -> String {
    let quoted = |name: &str| format!("{quote}{}{quote}", name.replace(quote, &quote.repeat(2)));
    let said = |name| object.characteristic(name).unwrap_or_default();
    format!(
        "CREATE TRIGGER {} {} {} ON {} FOR EACH ROW {}",
        quoted(&object.name),
        said("time"),
        said("event"),
        quoted(Trigger::table_of(object)),
        object.text
    )
}

/// What SHOW CREATE prints, with the quotes of the session.
fn create_text(object: &StoredObject, mode: u64) -> String {
    let quote = if mode & sql_mode::ANSI_QUOTES != 0 { "\"" } else { "`" };
    let quoted = |name: &str| format!("{quote}{}{quote}", name.replace(quote, &quote.repeat(2)));
    let definer = format!("CREATE DEFINER={}@{}", quoted(&object.definer.user), quoted(&object.definer.host));
    let rest = definition(object, quote);
    format!("{definer}{}", rest.strip_prefix("CREATE").unwrap_or(&rest))
}

fn definer(object: &StoredObject) -> String {
    format!("{}@{}", object.definer.user, object.definer.host)
}

fn created(object: &StoredObject, cx: &SystemContext<'_>) -> Value {
    cx.exact_time(object.created_us / CREATED_US * CREATED_US)
}

/// Calls `f` with the triggers of each table of a database that the session sees, and with their places among those of the same event and time.
fn for_each(database: &str, cx: &SystemContext<'_>, mut f: impl FnMut(&TableDef, &Trigger, usize) -> Result<()>) -> Result<()> {
    let mut tables: Vec<String> = Vec::new();
    for object in cx.statement.catalog.objects(database, ObjectKind::Trigger)? {
        tables.push(Trigger::table_of(&object).to_string());
    }
    tables.sort();
    tables.dedup();
    for name in tables.iter().filter(|name| cx.statement.server.sees_triggers(database, name)) {
        cx.statement.interrupt.check()?;
        // A temporary table of its name hides none of them.
        let Some(table) = cx.statement.catalog.permanent(database, name)? else { continue };
        let mut place = 0;
        for (n, trigger) in table.def.triggers.iter().enumerate() {
            let before = n.checked_sub(1).and_then(|before| table.def.triggers.get(before));
            let follows = before.is_some_and(|before| (before.event, before.time) == (trigger.event, trigger.time));
            place = if follows { place + 1 } else { 1 };
            f(&table.def, trigger, place)?;
        }
    }
    Ok(())
}

/// information_schema.TRIGGERS: those of a database in the order in which they were created.
pub fn triggers(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for database in cx.statement.catalog.databases()?.iter().filter(|database| cx.wants_database(&database.name)) {
        let mut of_database: Vec<(u64, Row)> = Vec::new();
        for_each(&database.name, cx, |table, trigger, place| {
            let object = &trigger.object;
            let row = row![
                "def",
                database.name.as_str(),
                object.name.as_str(),
                trigger.event.as_str(),
                "def",
                database.name.as_str(),
                table.name.as_str(),
                place as u64,
                NULL,
                object.text.as_str(),
                "ROW",
                trigger.time.as_str(),
                NULL,
                NULL,
                "OLD",
                "NEW",
                created(object, cx),
                mode_text(object.sql_mode),
                definer(object),
                charset(object.client_collation).name,
                collation(object.connection_collation).name,
                collation(object.database_collation).name,
            ];
            of_database.push((object.created_us, row));
            Ok(())
        })?;
        of_database.sort_by_key(|(created_us, _)| *created_us);
        rows.extend(of_database.into_iter().map(|(_, row)| row));
    }
    Ok(rows)
}

/// The rows of SHOW TRIGGERS.
pub fn listed(database: &str, cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for_each(database, cx, |table, trigger, _| {
        let object = &trigger.object;
        rows.push(row![
            object.name.as_str(),
            trigger.event.as_str(),
            table.name.as_str(),
            object.text.as_str(),
            trigger.time.as_str(),
            created(object, cx),
            mode_text(object.sql_mode),
            definer(object),
            charset(object.client_collation).name,
            collation(object.connection_collation).name,
            collation(object.database_collation).name,
        ]);
        Ok(())
    })?;
    Ok(rows)
}

/// The row of SHOW CREATE TRIGGER.
pub fn create_row(object: &StoredObject, cx: &SystemContext<'_>) -> Row {
    row![
        object.name.as_str(),
        mode_text(object.sql_mode),
        create_text(object, cx.statement.session.sql_mode()),
        charset(object.client_collation).name,
        collation(object.connection_collation).name,
        collation(object.database_collation).name,
        created(object, cx),
    ]
}
