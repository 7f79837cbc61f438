//! Column definitions: attributes, defaults, and the indexes that attributes ask for.

use vaquita_parser::ast::{self, ColumnAttribute, DefaultValue};
use vaquita_plan::bind::{Place, PlanContext, bind_scalar};
use vaquita_plan::env::Level;
use vaquita_plan::settings::PlanSettings;
use vaquita_plan::text::{self, is_hex_literal};
use vaquita_types::charset::{CollationId, collation};
use vaquita_types::convert::{ProblemKind, to_text};
use vaquita_types::errno::{
    ER_AUTO_CONVERT, ER_BLOB_CANT_HAVE_DEFAULT, ER_INVALID_DEFAULT, ER_INVALID_ON_UPDATE, ER_PRIMARY_CANT_HAVE_NULL,
    ER_SRS_NOT_FOUND, ER_TOO_BIG_FIELDLENGTH, ER_TOO_LONG_FIELD_COMMENT, ER_WARN_DEPRECATED_SYNTAX,
    ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT, ER_WRONG_COLUMN_NAME, ER_WRONG_FIELD_SPEC, ER_WRONG_TABLE_NAME, ER_WRONG_USAGE,
};
use vaquita_types::geometry::srs;
use vaquita_types::limits::COLUMN_COMMENT_CHARS_MAX;
use vaquita_types::schema::{ColumnDef, ColumnDefault, ColumnId, Generated};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, sql_mode};

use super::generated::{check_attributes, forget_defaults};
use super::{Ddl, check_identifier, options};
use crate::context::Constants;
use crate::dml::implicit_default;
use vaquita_plan::data_type::{column_type, meant_collate};

/// A column and what its attributes say about indexes.
pub struct NewColumn {
    pub def: ColumnDef,
    pub primary: bool,
    pub unique: bool,
    /// NULL or NOT NULL was written.
    pub null_given: bool,
}

impl Ddl<'_> {
    /// Outside of strict mode, a VARCHAR or VARBINARY that is too long and has no default is a TEXT or BLOB, with note 1246.
    fn long_text(&self, column: &ast::ColumnDef, collate: Option<&str>, table: CollationId) -> Result<Option<ColumnType>> {
        let (text, name, long) = match column.ty.name {
            ast::TypeName::VarChar => (ast::TypeName::Text, "VARCHAR", "TEXT"),
            ast::TypeName::VarBinary => (ast::TypeName::Blob, "VARBINARY", "BLOB"),
            _ => return Ok(None),
        };
        let has_default = column.attributes.iter().any(|a| matches!(a, ColumnAttribute::Default(_)));
        if has_default || sql_mode::is_strict(self.session.sql_mode()) {
            return Ok(None);
        }
        let as_text = ast::DataType { name: text, ..column.ty.clone() };
        match column_type(&column.name, &column.ty, collate, table) {
            Err(error) if error.is(&ER_TOO_BIG_FIELDLENGTH) => {
                let ty = column_type(&column.name, &as_text, collate, table)?;
                self.session.warn(Level::Note, Error::new(&ER_AUTO_CONVERT, &[&column.name, &name, &long]));
                Ok(Some(ty))
            }
            _ => Ok(None),
        }
    }

    pub fn column(&self, column: &ast::ColumnDef, table_collation: CollationId) -> Result<NewColumn> {
        check_identifier(&column.name)
            .map_err(|e| if e.is(&ER_WRONG_TABLE_NAME) { Error::new(&ER_WRONG_COLUMN_NAME, &[&column.name]) } else { e })?;
        check_attributes(column)?;
        let collate = column.attributes.iter().rev().find_map(|a| match a {
            ColumnAttribute::Collate(name) => Some(name.as_str()),
            _ => None,
        });
        let collate = match column.ty.binary {
            true => collate,
            false => meant_collate(column.ty.charset.as_deref(), collate, self.session.utf8mb4_collation()),
        };
        let ty = match self.long_text(column, collate, table_collation)? {
            Some(ty) => ty,
            None => column_type(&column.name, &column.ty, collate, table_collation)?,
        };
        self.warn_of_type(&column.ty);
        let mut new = NewColumn {
            def: ColumnDef {
                id: ColumnId(0),
                name: column.name.clone(),
                ty,
                nullable: true,
                default: ColumnDefault::None,
                on_update_now: false,
                auto_increment: false,
                comment: String::new(),
                invisible: false,
                added_default: Value::Null,
                generated: None,
            },
            primary: false,
            unique: false,
            null_given: false,
        };
        let last_default = column.attributes.iter().rposition(|a| matches!(a, ColumnAttribute::Default(_)));
        for (at, attribute) in column.attributes.iter().enumerate() {
            if !matches!(attribute, ColumnAttribute::Default(_)) || Some(at) == last_default {
                self.attribute(attribute, &mut new)?;
            }
        }
        self.check(&mut new)?;
        Ok(new)
    }

    fn attribute(&self, attribute: &ColumnAttribute, new: &mut NewColumn) -> Result<()> {
        let def = &mut new.def;
        match attribute {
            ColumnAttribute::NotNull => (def.nullable, new.null_given) = (false, true),
            ColumnAttribute::Null => (def.nullable, new.null_given) = (true, true),
            ColumnAttribute::Default(default) => {
                if !self.drops_empty_default(default, def) {
                    self.default(default, def)?;
                }
            }
            ColumnAttribute::OnUpdateNow(fsp) => {
                if !has_now(def.ty.kind) || fsp.unwrap_or(0) != u64::from(def.ty.decimals) {
                    return Err(Error::new(&ER_INVALID_ON_UPDATE, &[&def.name]));
                }
                def.on_update_now = true;
            }
            ColumnAttribute::AutoIncrement => {
                if !def.ty.is_integer() {
                    return Err(Error::new(&ER_WRONG_FIELD_SPEC, &[&def.name]));
                }
                def.auto_increment = true;
                def.nullable = false;
            }
            ColumnAttribute::SerialDefaultValue => {
                if !def.ty.is_integer() {
                    return Err(Error::new(&ER_WRONG_FIELD_SPEC, &[&def.name]));
                }
                (def.auto_increment, def.nullable, new.unique) = (true, false, true);
            }
            ColumnAttribute::PrimaryKey => new.primary = true,
            ColumnAttribute::UniqueKey => new.unique = true,
            ColumnAttribute::Comment(text) => {
                let too_long = Error::new(&ER_TOO_LONG_FIELD_COMMENT, &[&def.name, &COLUMN_COMMENT_CHARS_MAX]);
                def.comment = options::comment(text, COLUMN_COMMENT_CHARS_MAX, too_long, self.session)?;
            }
            ColumnAttribute::Visible => def.invisible = false,
            ColumnAttribute::Invisible => def.invisible = true,
            ColumnAttribute::Generated { expr, stored } => {
                let expr = self.expression_text(expr);
                def.generated = Some(Generated { expr, stored: *stored, in_row: *stored, hidden: false, elements: None });
            }
            ColumnAttribute::Srid(srid) => {
                if !def.ty.is_geometry() {
                    return Err(Error::new(&ER_WRONG_USAGE, &[&"SRID", &"non-geometry column"]));
                }
                let known = u32::try_from(*srid).ok().and_then(srs::find);
                let srs = known.ok_or_else(|| Error::new(&ER_SRS_NOT_FOUND, &[srid]))?;
                def.ty = ColumnType::geometry(def.ty.geometry_kind(), Some(srs.id));
            }
            // Hints for other engines. CHECK and REFERENCES are the table's.
            ColumnAttribute::Collate(_)
            | ColumnAttribute::References(_)
            | ColumnAttribute::Check(_)
            | ColumnAttribute::ColumnFormat(_)
            | ColumnAttribute::Storage(_)
            | ColumnAttribute::EngineAttribute(_)
            | ColumnAttribute::SecondaryEngineAttribute(_)
            | ColumnAttribute::NotSecondary => {}
        }
        Ok(())
    }

    /// Outside of strict mode `DEFAULT ''` of a TEXT or BLOB column means nothing, and a warning says so.
    fn drops_empty_default(&self, default: &DefaultValue, def: &ColumnDef) -> bool {
        let empty = match default {
            DefaultValue::Literal(ast::Literal::String(text)) => text.bytes.is_empty(),
            DefaultValue::Literal(ast::Literal::Hex { bytes, .. } | ast::Literal::Bit { bytes, .. }) => bytes.is_empty(),
            _ => false,
        };
        let opaque = matches!(def.ty.kind, TypeKind::Json | TypeKind::Geometry | TypeKind::Vector);
        let drops = empty && def.ty.is_blob() && !opaque && !sql_mode::is_strict(self.session.sql_mode());
        if drops {
            self.session.warn(Level::Warning, Error::new(&ER_BLOB_CANT_HAVE_DEFAULT, &[&def.name]));
        }
        drops
    }

    /// The DEFAULT clause, converted to the column's type.
    pub fn default(&self, default: &DefaultValue, def: &mut ColumnDef) -> Result<()> {
        let invalid = |name: &str| Error::new(&ER_INVALID_DEFAULT, &[&name]);
        let expr = match default {
            DefaultValue::Now(fsp) => {
                if !has_now(def.ty.kind) || fsp.unwrap_or(0) != u64::from(def.ty.decimals) {
                    return Err(invalid(&def.name));
                }
                def.default = ColumnDefault::Now;
                return Ok(());
            }
            DefaultValue::Expr(expr) => {
                def.default = ColumnDefault::Expr(self.expression_text(expr));
                return Ok(());
            }
            DefaultValue::Literal(literal) => ast::Expr::Literal(literal.clone()),
            DefaultValue::Negative(literal) => {
                ast::Expr::Unary { op: ast::UnaryOp::Neg, expr: Box::new(ast::Expr::Literal(literal.clone())) }
            }
        };
        let constants = Constants { session: self.session };
        let catalog = crate::catalog::PlanCatalog::new(self.catalog);
        let mut context = PlanContext::new(&catalog, Place::Default(&def.name));
        let settings = PlanSettings { sql_mode: self.session.sql_mode(), ..PlanSettings::DEFAULT };
        context.settings = &settings;
        let bound = bind_scalar(&expr, &context)?;
        let value = bound.eval(&constants.cx())?.into_owned();
        if value.is_null() {
            def.default = ColumnDefault::Value(Value::Null);
            return Ok(());
        }
        if def.ty.is_blob() {
            return Err(Error::new(&ER_BLOB_CANT_HAVE_DEFAULT, &[&def.name]));
        }
        use TypeKind::{Binary, Char, VarBinary, VarChar};
        let (value, ty) = match value {
            // A label, not its number.
            value if matches!(def.ty.kind, TypeKind::Enum | TypeKind::Set) && !bound.ty.is_bytes() => {
                let text = to_text(&value, &bound.ty);
                let ty = ColumnType::varchar(text.len() as u32, CollationId::UTF8MB4_BIN);
                (Value::from(text), ty)
            }
            // A floating point number does not lose digits to fit.
            value @ Value::Float(_) if matches!(def.ty.kind, Char | VarChar | Binary | VarBinary) => {
                let text = to_text(&value, &bound.ty);
                let ty = ColumnType::varchar(text.len() as u32, CollationId::UTF8MB4_BIN);
                (Value::from(text), ty)
            }
            Value::Bytes(bytes) if bytes.is_empty() && def.ty.kind == TypeKind::Time => return Err(invalid(&def.name)),
            // 0x61 is a number to a number.
            Value::Bytes(bytes) if is_hex_literal(&bound.ty) && def.ty.is_numeric() && bytes.len() <= size_of::<u64>() => {
                let number = bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
                (Value::UInt(number), ColumnType::bigint_unsigned())
            }
            // Neither dates nor times are numbers.
            _ if bound.ty.is_temporal() && def.ty.is_numeric() && def.ty.kind != TypeKind::Bit => return Err(invalid(&def.name)),
            value => (value, bound.ty.clone()),
        };
        let zone = self.session.time_zone();
        let mode = self.session.sql_mode();
        let store = |sql_mode, value| {
            let today = vaquita_types::temporal::Date::ZERO;
            let context = vaquita_types::convert::StoreContext { sql_mode, time_zone: zone, today };
            vaquita_types::convert::store(value, &ty, &def.ty, &context)
        };
        // Outside of strict mode NO_ZERO_DATE and NO_ZERO_IN_DATE only warn.
        let lenient = |value| !sql_mode::is_strict(mode) && store(mode & !ZERO_DATE_MODES, value).is_ok();
        match store(mode, value.clone()) {
            Ok(stored) if is_other_label(&stored, &def.ty, &value, &ty) => return Err(invalid(&def.name)),
            Ok(value) => def.default = ColumnDefault::Value(value),
            Err(problem) if sql_mode::is_strict(mode) && matches!(problem.kind, ProblemKind::DecimalJunk { .. }) => {
                return Err(problem.report("", &def.name, 1, true));
            }
            Err(problem) if problem.is_note(false) => {
                if def.ty.kind == TypeKind::Decimal {
                    self.session.warn(Level::Note, problem.report("", &def.name, 1, false));
                }
                def.default = ColumnDefault::Value(problem.adjusted);
            }
            Err(problem) if def.ty.is_temporal() && lenient(value) => {
                self.session.warn(Level::Warning, problem.report("", &def.name, 1, false));
                def.default = ColumnDefault::Value(problem.adjusted);
            }
            Err(_) => return Err(invalid(&def.name)),
        }
        Ok(())
    }

    fn check(&self, new: &mut NewColumn) -> Result<()> {
        let def = &mut new.def;
        let null_default = matches!(&def.default, ColumnDefault::Value(Value::Null));
        if def.auto_increment && !matches!(def.default, ColumnDefault::None) {
            return Err(Error::new(&ER_INVALID_DEFAULT, &[&def.name]));
        }
        if null_default && (!def.nullable || new.primary) {
            return Err(Error::new(&ER_INVALID_DEFAULT, &[&def.name]));
        }
        if new.primary && new.null_given && def.nullable {
            return Err(Error::new(&ER_PRIMARY_CANT_HAVE_NULL, &[]));
        }
        if new.primary {
            def.nullable = false;
        }
        if def.nullable && matches!(def.default, ColumnDefault::None) {
            def.default = ColumnDefault::Value(Value::Null);
        }
        def.added_default = match &def.default {
            ColumnDefault::Value(value) => value.clone(),
            _ => implicit_default(def),
        };
        forget_defaults(def);
        Ok(())
    }
}

/// The text is no label of the ENUM or SET, which stores those of that number instead.
fn is_other_label(stored: &Value, to: &ColumnType, value: &Value, from: &ColumnType) -> bool {
    let Value::Bytes(text) = value else { return false };
    let text = text::to_utf8(text, from.collation);
    let label = text::to_utf8(&to_text(stored, to), to.collation);
    let compared = collation(CollationId::default());
    matches!(to.kind, TypeKind::Enum | TypeKind::Set)
        && !compared.equal(text.trim_end_matches(' ').as_bytes(), label.as_bytes())
        && text.trim().parse::<u64>().is_ok()
}

impl Ddl<'_> {
    /// What MySQL calls deprecated in a type.
    fn warn_of_type(&self, ty: &ast::DataType) {
        use ast::TypeName::{BigInt, Decimal, Double, Float, Int, MediumInt, SmallInt, TinyInt};
        let warn =
            |text: &str| self.session.warn(Level::Warning, Error::with_message(&ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT, text));
        let instead =
            |what: &str, other: &str| self.session.warn(Level::Warning, Error::new(&ER_WARN_DEPRECATED_SYNTAX, &[&what, &other]));
        if ty.zerofill {
            warn(ZEROFILL_TEXT);
        }
        match ty.name {
            TinyInt | SmallInt | MediumInt | Int | BigInt if ty.length.is_some() => warn(WIDTH_TEXT),
            Float | Double if ty.scale.is_some() => warn(DIGITS_TEXT),
            ast::TypeName::Year if ty.length.is_some() => instead("YEAR(4)", "YEAR"),
            _ => {}
        }
        if ty.unsigned_given && matches!(ty.name, Float | Double | Decimal) {
            warn(UNSIGNED_TEXT);
        }
    }

    /// The same of the type of a column that a query makes.
    pub(super) fn warn_of_made(&self, ty: &ColumnType) {
        let warn =
            |text: &str| self.session.warn(Level::Warning, Error::with_message(&ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT, text));
        let floats = matches!(ty.kind, TypeKind::Float | TypeKind::Double);
        if floats && ty.decimals < vaquita_types::datatype::DECIMALS_NOT_FIXED {
            warn(DIGITS_TEXT);
        }
        if ty.unsigned && (floats || ty.kind == TypeKind::Decimal) {
            warn(UNSIGNED_TEXT);
        }
        if ty.zerofill && ty.kind != TypeKind::Year {
            warn(ZEROFILL_TEXT);
        }
    }
}

/// Modes that take no date with zeros.
const ZERO_DATE_MODES: u64 = sql_mode::NO_ZERO_DATE | sql_mode::NO_ZERO_IN_DATE;

const ZEROFILL_TEXT: &str = "The ZEROFILL attribute is deprecated and will be removed in a future release. \
    Use the LPAD function to zero-pad numbers, or store the formatted numbers in a CHAR column.";
const WIDTH_TEXT: &str = "Integer display width is deprecated and will be removed in a future release.";
const DIGITS_TEXT: &str =
    "Specifying number of digits for floating point data types is deprecated and will be removed in a future release.";
const UNSIGNED_TEXT: &str =
    "UNSIGNED for decimal and floating point data types is deprecated and support for it will be removed in a future release.";

fn has_now(kind: TypeKind) -> bool {
    matches!(kind, TypeKind::DateTime | TypeKind::Timestamp)
}
