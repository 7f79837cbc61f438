//! User variables (`@a`): values with types, together no more than `USER_VARIABLES_BYTES_MAX`.
//!
//! What a statement that may run again has set is taken back before it does: `UPDATE t SET n = (@n := @n + 1)` that restarts on a fresh
//! snapshot numbers its rows from the same start.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use vaquita_types::charset::CollationId;
use vaquita_types::errno::ER_OUT_OF_RESOURCES;
use vaquita_types::limits::USER_VARIABLES_BYTES_MAX;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};

#[derive(Default)]
pub struct UserVariables {
    by_name: RefCell<HashMap<String, UserVariable>>,
    /// What they take.
    bytes: Cell<usize>,
    /// Of the statement that runs and may run again: variables that it has set, with what they were before. `None`: there is none.
    undo: RefCell<Option<Vec<(String, Option<UserVariable>)>>>,
}

#[derive(Clone)]
struct UserVariable {
    value: Value,
    ty: ColumnType,
}

impl UserVariable {
    /// Of memory.
    fn bytes(&self, key: &str) -> usize {
        let value = if let Value::Bytes(bytes) = &self.value { bytes.len() } else { 0 };
        size_of::<UserVariable>() + key.len() + value
    }
}

impl UserVariables {
    /// NULL if it is not set.
    pub fn get(&self, name: &str) -> Value {
        self.by_name.borrow().get(&key(name)).map_or(Value::Null, |variable| variable.value.clone())
    }

    /// All of them, by name.
    pub fn list(&self) -> Vec<(String, Value)> {
        let by_name = self.by_name.borrow();
        let shown = |(name, variable): (&String, &UserVariable)| match &variable.value {
            Value::Null => (name.clone(), Value::Null),
            value => (name.clone(), Value::Bytes(vaquita_types::convert::to_text(value, &variable.ty).into())),
        };
        let mut list: Vec<_> = by_name.iter().map(shown).collect();
        list.sort_by(|a, b| a.0.cmp(&b.0));
        list
    }

    /// `None`: it is not set.
    pub fn type_of(&self, name: &str) -> Option<ColumnType> {
        self.by_name.borrow().get(&key(name)).map(|variable| variable.ty.clone())
    }

    /// `@name = value`, where `ty` tells the type and collation of the value. Error 1041 if variables have too much.
    pub fn set(&self, name: &str, value: Value, ty: &ColumnType) -> Result<()> {
        let (value, ty) = kept(value, ty);
        let mut by_name = self.by_name.borrow_mut();
        let key = key(name);
        let variable = UserVariable { value, ty };
        vaquita_types::memory::ask(variable.bytes(&key))?;
        let freed = by_name.get(&key).map_or(0, |old| old.bytes(&key));
        let total = self.bytes.get() - freed + variable.bytes(&key);
        if total > USER_VARIABLES_BYTES_MAX {
            return Err(Error::new(&ER_OUT_OF_RESOURCES, &[]));
        }
        self.bytes.set(total);
        let before = by_name.insert(key.clone(), variable);
        if let Some(undo) = &mut *self.undo.borrow_mut()
            && !undo.iter().any(|(known, _)| *known == key)
        {
            undo.push((key, before));
        }
        Ok(())
    }

    /// A statement begins that may run again.
    pub fn begin_try(&self) {
        *self.undo.borrow_mut() = Some(Vec::new());
    }

    /// It does not.
    pub fn end_try(&self) {
        *self.undo.borrow_mut() = None;
    }

    /// It is about to run again. False: no statement is running that may.
    pub fn take_back(&self) -> bool {
        let mut undo = self.undo.borrow_mut();
        let Some(undo) = &mut *undo else { return false };
        let mut by_name = self.by_name.borrow_mut();
        for (key, before) in undo.drain(..) {
            match before {
                Some(before) => by_name.insert(key, before),
                None => by_name.remove(&key),
            };
        }
        self.bytes.set(by_name.iter().map(|(key, variable)| variable.bytes(key)).sum());
        true
    }
}

/// Names of user variables have no case.
fn key(name: &str) -> String {
    name.to_lowercase()
}

/// A user variable is an integer, a decimal, a double or a string: dates and JSON become strings.
fn kept(value: Value, ty: &ColumnType) -> (Value, ColumnType) {
    let collation =
        if ty.is_temporal() || ty.is_numeric() || ty.kind == TypeKind::Json { CollationId::default() } else { ty.collation };
    match value {
        Value::Int(_) => (value, ColumnType::bigint()),
        Value::UInt(_) if ty.is_integer() || matches!(ty.kind, TypeKind::Year | TypeKind::Bit) => {
            (value, ColumnType::bigint_unsigned())
        }
        Value::Float(_) => (value, ColumnType::double()),
        Value::Decimal(ref d) => {
            let ty = ColumnType::decimal(d.precision(), d.scale());
            (value, ty)
        }
        Value::Null => (Value::Null, type_of_null(ty, collation)),
        Value::Bytes(_) => (value, text_type(collation)),
        other => (vaquita_types::convert::to_text(&other, ty).into(), text_type(collation)),
    }
}

fn type_of_null(ty: &ColumnType, collation: CollationId) -> ColumnType {
    match ty.is_integer() || ty.kind == TypeKind::Bit {
        true if ty.unsigned || ty.kind == TypeKind::Bit => ColumnType::bigint_unsigned(),
        true => ColumnType::bigint(),
        false => text_type(collation),
    }
}

fn text_type(collation: CollationId) -> ColumnType {
    ColumnType { length: 16_777_215, collation, ..ColumnType::new(TypeKind::MediumText) }
}

/// Of a value whose expression is not at hand.
pub fn type_of_value(value: &Value, collation: CollationId) -> ColumnType {
    match value {
        Value::Int(_) => ColumnType::bigint(),
        Value::UInt(_) => ColumnType::bigint_unsigned(),
        Value::Float(_) => ColumnType::double(),
        Value::Decimal(d) => ColumnType::decimal(d.precision(), d.scale()),
        Value::Date(_) => ColumnType::temporal(TypeKind::Date, 0),
        Value::DateTime(_) => ColumnType::temporal(TypeKind::DateTime, 6),
        Value::Time(_) => ColumnType::temporal(TypeKind::Time, 6),
        Value::Json(_) => ColumnType::new(TypeKind::Json),
        Value::Null | Value::Bytes(_) => text_type(collation),
    }
}
