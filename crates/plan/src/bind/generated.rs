//! Generated columns, of which the catalog has the text.
//!
//! Where a condition or ORDER BY has the expression of a generated column that an index has, the column takes its place, so that the optimizer
//! finds the index: with `c INT AS (a + 1)` and an index on c, `WHERE a + 1 = 5` becomes `WHERE c = 5`. A functional index is a hidden column
//! of this kind.

use vaquita_parser::{ParserOptions, ast, parse_expr};
use vaquita_types::charset::CollationId;
use vaquita_types::json::Json;
use vaquita_types::schema::{IndexDef, TableRef};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno};

use super::scope::Source;
use super::{Binder, Place, PlanContext, bind_functional, bind_over_row};
use crate::catalog::Catalog;
use crate::expr::{Expr, ExprKind};
use crate::func::{CAST_ARRAY, wanted_elements};
use crate::logical::Logical;
use crate::node::SortKey;
use crate::{text, typing, visit};

/// The generated columns of a table in their order, with their expressions over a row of it: slot n is the column at position n.
pub fn bind_generated(table: &TableRef, catalog: &dyn Catalog) -> Result<Vec<(usize, Expr)>> {
    let mut bound = Vec::new();
    for (position, column) in table.columns.iter().enumerate() {
        let Some(generated) = &column.generated else { continue };
        let parsed = parse_expr(generated.expr.as_bytes(), &ParserOptions::default())
            .map_err(|e| Error::internal(format_args!("stored expression {}: {e:?}", generated.expr)))?;
        let context = PlanContext::new(catalog, Place::Generated(&column.name));
        let has = |index: &&IndexDef| index.parts.iter().any(|part| part.column == column.id);
        let index = table.indexes.iter().find(has).filter(|_| column.element_type().is_some());
        bound.push((
            position,
            match index {
                Some(index) => bind_functional(&parsed, table, &index.name, &context)?,
                None => bind_over_row(&parsed, table, 0, &context)?,
            },
        ));
    }
    Ok(bound)
}

impl Binder<'_> {
    /// Error 3105 for a generated column that is given another value than DEFAULT.
    pub(super) fn refuse_generated(&self, table: &TableRef, column: usize) -> Result<()> {
        match table.columns.get(column) {
            Some(column) if column.generated.is_some() => {
                Err(Error::new(&errno::ER_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN, &[&column.name, &table.name]))
            }
            _ => Ok(()),
        }
    }
}

/// A generated column of a relation, and its expression over the slots of the frame.
struct Indexed {
    relation: usize,
    column: usize,
    /// Of a column of arrays: what it is the array of.
    expr: Expr,
    elements: Option<ColumnType>,
}

impl Binder<'_> {
    /// Puts columns in the place of their expressions, in conditions and in the keys that rows are sorted by.
    pub(super) fn name_generated(
        &mut self,
        tree: Option<&mut Logical>,
        filter: &mut [Expr],
        order_by: &mut [SortKey],
    ) -> Result<()> {
        let frame = self.frames.len() - 1;
        if self.frames[frame].relations.iter().all(|relation| relation.generated.is_empty()) {
            return Ok(());
        }
        let indexed = self.indexed(frame);
        if indexed.is_empty() {
            return Ok(());
        }
        if let Some(tree) = tree {
            tree.expressions_mut(&mut |expr| {
                self.name_in_condition(frame, expr, &indexed);
                Ok(())
            })?;
        }
        filter.iter_mut().for_each(|expr| self.name_in_condition(frame, expr, &indexed));
        order_by.iter_mut().for_each(|key| self.name_operand(frame, &mut key.expr, &indexed));
        Ok(())
    }

    /// What may be named. Of a table that may be missing in a row the column is NULL where the expression need not be.
    fn indexed(&self, frame: usize) -> Vec<Indexed> {
        let mut indexed = Vec::new();
        for (n, relation) in self.frames[frame].relations.iter().enumerate().filter(|(_, relation)| !relation.optional) {
            let Source::Base(table) = &relation.source else { continue };
            for (position, expr) in &relation.generated {
                let column = &table.columns[*position];
                let has = |index: &&vaquita_types::schema::IndexDef| index.parts.iter().any(|part| part.column == column.id);
                let elements = column.element_type().cloned();
                if !table.indexes.iter().any(|index| has(&index) && !index.invisible && !index.is_full_text())
                    || elements.is_none() && !holds_whole(&column.ty, &expr.ty)
                {
                    continue;
                }
                let is_another = match &expr.kind {
                    // A column by another collation than its own.
                    ExprKind::Slot(base) => table.columns.get(*base).is_some_and(|base| base.ty.collation != expr.ty.collation),
                    ExprKind::Literal(_) => false,
                    _ => true,
                };
                let mut expr = match (&expr.kind, &elements) {
                    (ExprKind::Call(_, args), Some(_)) => args.first().cloned().unwrap_or_else(|| expr.clone()),
                    _ => expr.clone(),
                };
                // If nothing reads what it is generated of, nothing is the expression.
                let is_read = visit::map_slots(&mut expr, &|base| relation.slot(base));
                if is_read && (elements.is_some() || is_another) {
                    plain_texts(&mut expr);
                    indexed.push(Indexed { relation: n, column: *position, expr, elements });
                }
            }
        }
        indexed
    }

    fn name_in_condition(&mut self, frame: usize, expr: &mut Expr, indexed: &[Indexed]) {
        match &mut expr.kind {
            ExprKind::And(parts) | ExprKind::Or(parts) => {
                parts.iter_mut().for_each(|part| self.name_in_condition(frame, part, indexed))
            }
            // MySQL looks for elements by an index only where that they are there is asked.
            ExprKind::Not(inner) if matches!(inner.kind, ExprKind::Call(..)) => {}
            ExprKind::Not(inner) => self.name_in_condition(frame, inner, indexed),
            ExprKind::Compare(_, left, right, _) => {
                self.name_operand(frame, left, indexed);
                self.name_operand(frame, right, indexed);
            }
            ExprKind::InList(value, _, _) => self.name_operand(frame, value, indexed),
            ExprKind::Call(def, args) => self.name_array(frame, def.name, args, indexed),
            _ => {}
        }
    }

    fn name_operand(&mut self, frame: usize, operand: &mut Expr, indexed: &[Indexed]) {
        if operand.is_leaf() && !matches!(operand.kind, ExprKind::Slot(_)) {
            return;
        }
        let mut plain = operand.clone();
        plain_texts(&mut plain);
        let columns = indexed.iter().filter(|one| one.elements.is_none());
        let found = columns.clone().find(|one| plain.ty.collation == one.expr.ty.collation && visit::same(&plain, &one.expr));
        if let Some(Indexed { relation, column, .. }) = found {
            // The account is asked for what the expression reads.
            *operand = self.slot_of(frame, *relation, *column);
        }
    }
}

impl Binder<'_> {
    /// `CAST(document AS ty ARRAY)` in the index of that name.
    pub(super) fn array_cast(&mut self, document: &ast::Expr, ty: &ast::CastType, index: &str) -> Result<Expr> {
        let document = self.scalar(document)?;
        let elements = Expr::literal(Value::Null, element_type(&document, ty)?);
        let name = Expr::literal(Value::from(index), ColumnType::varchar(64, CollationId::default()));
        self.call(CAST_ARRAY, vec![document, elements, name])
    }

    /// Where a condition looks for elements in what a multi-valued index is of, the column of arrays takes its place, as in MySQL: if what it
    /// looks for has the elements' type. So `7 MEMBER OF (j)` finds `["7"]` by an UNSIGNED ARRAY.
    fn name_array(&mut self, frame: usize, function: &str, args: &mut [Expr], indexed: &[Indexed]) {
        let [left, right] = args else { return };
        let sides = match function {
            "MEMBER OF" => vec![(right, &*left)],
            "JSON_CONTAINS" => vec![(left, &*right)],
            "JSON_OVERLAPS" if matches!(left.kind, ExprKind::Literal(_)) => vec![(right, &*left)],
            "JSON_OVERLAPS" => vec![(left, &*right)],
            _ => return,
        };
        for (array, wanted) in sides {
            let mut plain = array.clone();
            plain_texts(&mut plain);
            let fits = |one: &&Indexed| one.elements.as_ref().is_some_and(|ty| may_find(function, wanted, ty));
            if let Some(found) = indexed.iter().filter(fits).find(|one| visit::same(&plain, &one.expr)) {
                *array = self.slot_of(frame, found.relation, found.column);
            }
        }
    }
}

/// The type of the elements; error 1235 for one that they cannot have.
fn element_type(document: &Expr, ty: &ast::CastType) -> Result<ColumnType> {
    let unsupported = |what: &str| Err(Error::unsupported(format_args!("CAST-ing data to array of {what}")));
    let long = "char/binary BLOBs";
    match ty {
        ast::CastType::Char { charset: Some(_), .. } => Err(Error::unsupported("specifying charset for multi-valued index")),
        ast::CastType::Char { length: Some(n), .. } if *n <= ELEMENT_CHARS_MAX => {
            Ok(ColumnType::varchar(*n as u32, CollationId::UTF8MB4_0900_BIN))
        }
        ast::CastType::Binary(Some(n)) if *n <= ELEMENT_CHARS_MAX => Ok(ColumnType::varbinary(*n as u32)),
        ast::CastType::Char { .. } | ast::CastType::Binary(_) => unsupported(long),
        ast::CastType::Json => unsupported("JSON"),
        ast::CastType::Year => unsupported("YEAR"),
        ast::CastType::Float(_) => unsupported("FLOAT"),
        ast::CastType::Double | ast::CastType::Real => unsupported("DOUBLE"),
        ast::CastType::Spatial(name) => unsupported(name),
        _ => Ok(typing::explicit_cast(document.clone(), ty, CollationId::default())?.ty),
    }
}

/// Longer texts are TEXT to MySQL.
const ELEMENT_CHARS_MAX: u64 = 512;

/// Whether a column of such elements answers the condition.
fn may_find(function: &str, wanted: &Expr, elements: &ColumnType) -> bool {
    if function == "MEMBER OF" {
        let ty = &wanted.ty;
        return match elements.kind {
            // TRUE and FALSE are no numbers to JSON.
            _ if elements.is_integer() => ty.is_integer() && ty.length != 1,
            TypeKind::Decimal => ty.is_integer() && ty.length != 1 || ty.kind == TypeKind::Decimal,
            TypeKind::Date | TypeKind::DateTime | TypeKind::Time => ty.kind == elements.kind,
            _ => {
                elements.is_text() && ty.is_text() && matches!(text::charset_name(ty.collation), "utf8mb4" | "utf8mb3" | "ascii")
            }
        };
    }
    let Some(wanted) = wanted_elements(wanted) else { return false };
    wanted.iter().all(|item| match item {
        Json::Int(_) | Json::UInt(_) => elements.is_integer() || elements.kind == TypeKind::Decimal,
        Json::Decimal(_) => elements.kind == TypeKind::Decimal,
        Json::String(_) => elements.is_text(),
        _ => false,
    })
}

/// The column has every value of the expression, and compares as it.
fn holds_whole(column: &ColumnType, expr: &ColumnType) -> bool {
    match column.kind {
        _ if column.is_integer() => expr.is_integer() && column.unsigned == expr.unsigned,
        TypeKind::Decimal => expr.kind == TypeKind::Decimal && column.decimals == expr.decimals,
        TypeKind::VarChar => {
            matches!(expr.kind, TypeKind::VarChar | TypeKind::Char | TypeKind::LongText)
                && column.collation == expr.collation
                && column.length >= expr.length
        }
        TypeKind::Time | TypeKind::DateTime => expr.kind == column.kind && expr.decimals == column.decimals,
        TypeKind::Date | TypeKind::Double => expr.kind == column.kind,
        _ => false,
    }
}

/// Texts of ASCII are the same in all charsets that connections have; their types are made so.
fn plain_texts(expr: &mut Expr) {
    if let ExprKind::Literal(Value::Bytes(text)) = &expr.kind
        && expr.ty.is_text()
        && text.is_ascii()
    {
        expr.ty = ColumnType::varchar(text.len() as u32, CollationId::default());
    }
    visit::children_mut(expr, &mut plain_texts);
}
