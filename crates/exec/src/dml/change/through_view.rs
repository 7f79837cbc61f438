//! WITH CHECK OPTION: whether a view has a new row that comes through it.
//!
//! The row is put into the frame of the view's conditions, with what they read of other tables. Example: `UPDATE v SET b = 9` of
//! `v AS SELECT b FROM t WHERE b < 9 WITH CHECK OPTION` puts 9 where `b < 9` reads b, which is not true: error 1369.

use vaquita_plan::node::{ViewCheck, ViewOrigin};
use vaquita_storage::Table;
use vaquita_types::errno::ER_VIEW_CHECK_FAILED;
use vaquita_types::{Error, Result, Value};

use crate::context::{Execution, Frame};

pub(super) struct ThroughView<'a> {
    view: &'a ViewOrigin,
    check: &'a ViewCheck,
    frame: Frame<'a>,
}

impl<'a> ThroughView<'a> {
    /// None: every row may come.
    pub fn new(view: &'a ViewOrigin, statement: &'a Execution<'a>) -> Option<ThroughView<'a>> {
        let check = view.check.as_ref()?;
        Some(ThroughView { view, check, frame: Frame::new(statement, None, check.width) })
    }

    /// `row`: of the table; `slots`: the statement's frame, with the rows of other tables.
    pub fn has(&mut self, row: &[Value], slots: &[Value], table: &Table) -> Result<bool> {
        for (position, slot) in &self.check.row {
            self.frame.slots[*slot].clone_from(&row[*position]);
            // A row that has no number yet has 0, as in MySQL.
            if row[*position].is_null() && table.def.columns[*position].auto_increment {
                self.frame.slots[*slot] = Value::Int(0);
            }
        }
        for (from, to) in &self.check.others {
            if let Some(value) = slots.get(*from) {
                self.frame.slots[*to].clone_from(value);
            }
        }
        self.frame.all_true(&self.check.conditions)
    }

    pub fn error(&self) -> Error {
        Error::new(&ER_VIEW_CHECK_FAILED, &[&self.view.database, &self.view.name])
    }
}
