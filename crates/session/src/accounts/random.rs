//! IDENTIFIED BY RANDOM PASSWORD and SET PASSWORD TO RANDOM: passwords that the server makes, and the result set that tells them.

use std::cell::RefCell;

use rand::seq::{IndexedRandom, SliceRandom};
use vaquita_exec::ddl::ResultRows;
use vaquita_plan::expr::Expr;
use vaquita_plan::node::OutputColumn;
use vaquita_types::charset::CollationId;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};

/// A password has characters of each kind.
const KINDS: [&[u8]; 4] = [b"abcdefghijklmnopqrstuvwxyz", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"0123456789", b",.-+*;:_!%&/(){}[]<>@"];

/// What a statement has made: user, host, password.
pub struct RandomPasswords {
    /// `generated_random_password_length`
    pub chars: usize,
    made: RefCell<Vec<[String; 3]>>,
}

impl RandomPasswords {
    pub fn new(chars: usize) -> RandomPasswords {
        RandomPasswords { chars, made: RefCell::default() }
    }

    /// Makes one for an account.
    pub fn make(&self, user: &str, host: &str) -> Result<String> {
        let mut random = rand::rng();
        let all = KINDS.concat();
        let mut bytes: Vec<u8> = KINDS.iter().take(self.chars).filter_map(|kind| kind.choose(&mut random).copied()).collect();
        while bytes.len() < self.chars {
            bytes.extend(all.choose(&mut random));
        }
        bytes.shuffle(&mut random);
        let password = String::from_utf8(bytes).map_err(Error::internal)?;
        self.made.borrow_mut().push([user.to_string(), host.to_string(), password.clone()]);
        Ok(password)
    }

    /// The result set; `None` if none was made.
    pub fn rows(&self, collation: CollationId) -> Option<ResultRows> {
        let made = self.made.take();
        if made.is_empty() {
            return None;
        }
        let column = |at: usize, name: &str, ty: ColumnType| OutputColumn {
            expr: Expr::slot(at, ty, false),
            name: name.to_string(),
            origin: None,
        };
        // MySQL announces texts as long as the names of their columns.
        let text = |at: usize, name: &str| column(at, name, ColumnType::varchar(name.len().max(4) as u32, collation));
        let number = ColumnType { unsigned: true, length: 13, ..ColumnType::new(TypeKind::BigInt) };
        let columns = vec![text(0, "user"), text(1, "host"), text(2, "generated password"), column(3, "auth_factor", number)];
        let row = |texts: [String; 3]| texts.into_iter().map(Value::from).chain([Value::UInt(1)]).collect();
        Some(ResultRows { columns, rows: made.into_iter().map(row).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_have_characters_of_each_kind() {
        let passwords = RandomPasswords::new(5);
        for _ in 0..100 {
            let password = passwords.make("u", "%").expect("a password");
            assert_eq!(password.len(), 5);
            assert!(KINDS.iter().all(|kind| password.bytes().any(|b| kind.contains(&b))), "{password}");
        }
        assert_eq!(passwords.rows(CollationId::default()).map(|rows| rows.rows.len()), Some(100));
        assert!(passwords.rows(CollationId::default()).is_none());
    }
}
