//! MATCH (columns) AGAINST (text): which index it is, and what identifies a row in what the search finds.
//!
//! The search is the same for all rows, so that the executor does it once. What it finds are clustered keys: the relation gets a slot for
//! that of its row, as the relations have that are changed.

use vaquita_parser as ast;
use vaquita_parser::ast::MatchMode;
use vaquita_types::schema::{TableDef, TableRef};
use vaquita_types::{ColumnType, Error, Result, errno};

use super::scope::plain_slot;
use super::select::Block;
use super::{Binder, Source};
use crate::expr::{Expr, ExprKind, FullTextMatch, Slot};
use crate::{typing, visit};

/// Searches of a statement among which one that is the same is looked for.
const SEARCHES_COMPARED: usize = 16;

impl Binder<'_> {
    pub(super) fn match_against(&mut self, columns: &[ast::ColumnRef], against: &ast::Expr, mode: MatchMode) -> Result<Expr> {
        let against = self.scalar(against)?;
        let bound = columns.iter().map(|column| self.scalar(&ast::Expr::Column(column.clone()))).collect::<Result<Vec<_>>>()?;
        if !is_constant(&against) {
            return Err(Error::new(&errno::ER_WRONG_ARGUMENTS, &[&"AGAINST"]));
        }
        let (relation, positions) = self.columns_matched(&bound)?;
        let frame = self.frames.len() - 1;
        let Source::Base(table) = &self.frame().relations[relation].source else {
            return Err(Error::new(&errno::ER_TABLE_CANT_HANDLE_FT, &[]));
        };
        let table = TableRef::clone(table);
        let index = index_of(&table, &positions).ok_or_else(|| Error::new(&errno::ER_FT_MATCHING_KEY_NOT_FOUND, &[]))?;
        let collation = table.columns[positions[0]].ty.collation;
        let against = typing::convert_using(against, collation);
        let slot = self.key_slot(frame, relation);
        let key = Expr::slot(slot, ColumnType::varbinary(0), true);
        let alias = &self.frame().relations[relation].alias;
        let columns = columns.iter().map(|column| format!("{alias}.{}", column.name)).collect();
        let mut search = FullTextMatch { table, index, key, against, mode, id: 0, columns };
        search.id = self.search_id(&search);
        let kind = ExprKind::Match(Box::new(search));
        Ok(Expr { kind, ty: ColumnType::double(), nullable: true, coercibility: typing::COERCIBILITY_NUMERIC })
    }

    /// The relation of the columns, of this block, and their positions.
    fn columns_matched(&mut self, columns: &[Expr]) -> Result<(usize, Vec<usize>)> {
        let wrong = || Error::new(&errno::ER_WRONG_ARGUMENTS, &[&"MATCH"]);
        let mut of = None;
        let mut positions = Vec::with_capacity(columns.len());
        for column in columns {
            let slot = plain_slot(column).ok_or_else(wrong)?;
            let relation = self.owner(slot).ok_or_else(wrong)?;
            if of.is_some_and(|of| of != relation) {
                return Err(wrong());
            }
            of = Some(relation);
            let rel = &self.frame().relations[relation];
            positions.push(rel.column_of(slot).ok_or_else(wrong)?);
        }
        Ok((of.ok_or_else(wrong)?, positions))
    }

    /// Error 4075: the super rows of ROLLUP have no such column.
    pub(super) fn refuse_rolled_up(&mut self, block: &Block) -> Result<()> {
        if !block.rollup {
            return Ok(());
        }
        let frame = self.frame();
        let is_rolled_up = |e: &Expr| {
            let ExprKind::Match(search) = &e.kind else { return false };
            let owner = plain_slot(&search.key).and_then(|slot| frame.slot_owner.get(slot).copied().flatten());
            let Some((relation, index)) = owner.map(|at| &frame.relations[at]).zip(search.table.indexes.get(search.index)) else {
                return false;
            };
            let slots = index.parts.iter().filter_map(|part| relation.slot(search.table.position_of(part.column)?));
            let keys: Vec<Slot> = block.group_by.iter().filter_map(plain_slot).collect();
            slots.into_iter().any(|slot| keys.contains(&slot))
        };
        let outputs = block.output.iter().map(|column| &column.expr);
        let mut above = outputs.chain(&block.having).chain(block.order_by.iter().map(|key| &key.expr));
        if above.any(|e| visit::any(e, &is_rolled_up)) {
            return Err(Error::new(&errno::ER_FULLTEXT_WITH_ROLLUP, &[]));
        }
        Ok(())
    }

    /// The slot of the clustered key of a relation's row.
    pub(super) fn key_slot(&mut self, frame: usize, relation: usize) -> Slot {
        let frame = &mut self.frames[frame];
        if let Some(slot) = frame.relations[relation].key_slot {
            return slot;
        }
        let slot = frame.new_slot_of(Some(relation));
        frame.relations[relation].key_slot = Some(slot);
        slot
    }

    /// The first column of the search that asks for this clustered key, for errors.
    pub(super) fn first_matched(&self, slot: Slot) -> Option<usize> {
        let search = self.searches.iter().find(|search| plain_slot(&search.key) == Some(slot))?;
        search.table.position_of(search.table.indexes.get(search.index)?.parts.first()?.column)
    }

    /// That of a search before which finds the same, or a new one.
    fn search_id(&mut self, search: &FullTextMatch) -> usize {
        let is_same = |other: &&FullTextMatch| {
            (other.table.id, other.index, other.mode) == (search.table.id, search.index, search.mode)
                && visit::same(&other.against, &search.against)
        };
        if let Some(other) = self.searches.iter().find(is_same) {
            return other.id;
        }
        let id = self.new_id();
        if self.searches.len() < SEARCHES_COMPARED {
            self.searches.push(FullTextMatch { id, ..search.clone() });
        }
        id
    }
}

/// The FULLTEXT index of these columns, in any order.
fn index_of(table: &TableDef, columns: &[usize]) -> Option<usize> {
    let position = |part: &vaquita_types::schema::IndexPart| table.position_of(part.column);
    table.indexes.iter().position(|index| {
        index.is_full_text()
            && !index.invisible
            && index.parts.iter().all(|part| position(part).is_some_and(|at| columns.contains(&at)))
            && columns.iter().all(|at| index.parts.iter().any(|part| position(part) == Some(*at)))
    })
}

/// It has one value throughout the statement.
fn is_constant(expr: &Expr) -> bool {
    !visit::any(expr, &|e| match &e.kind {
        ExprKind::Slot(_) | ExprKind::Outer { .. } | ExprKind::AssignVar(..) | ExprKind::Match(_) | ExprKind::Row(_) => true,
        ExprKind::Call(def, _) => !def.is_steady(),
        ExprKind::Subquery(sub) => sub.correlated,
        _ => false,
    })
}
