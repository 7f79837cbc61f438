//! DISTINCT: gives each different row when it is first seen.

use vaquita_plan::expr::Expr;
use vaquita_plan::node::Node;
use vaquita_types::Result;

use super::key;
use super::key_table::KeyTable;
use super::{Frame, Operator, build, build_again};

pub struct Distinct<'p> {
    input: Box<dyn Operator + 'p>,
    keys: &'p [Expr],
    seen: KeyTable,
    key: Vec<u8>,
}

impl<'p> Distinct<'p> {
    pub fn new(input: &'p Node, keys: &'p [Expr], again: bool) -> Distinct<'p> {
        Distinct { input: if again { build_again(input) } else { build(input) }, keys, seen: KeyTable::new(), key: Vec::new() }
    }
}

impl Operator for Distinct<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.seen.clear(frame.statement);
        self.input.open(frame)
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        while self.input.next(frame)? {
            self.key.clear();
            key::encode_all(self.keys, &frame.cx(), &mut self.key)?;
            if self.seen.insert(&self.key, frame.statement)?.1 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
