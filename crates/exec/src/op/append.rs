//! Rows of several inputs, one input after the other.

use vaquita_plan::node::Node;
use vaquita_types::Result;

use super::{Builder, Frame, Operator};

pub struct Append<'p> {
    inputs: Vec<Box<dyn Operator + 'p>>,
    /// The input that is read.
    at: usize,
}

impl<'p> Append<'p> {
    pub fn new(inputs: &'p [Node], builder: Builder<'_>) -> Append<'p> {
        Append { inputs: inputs.iter().map(|input| builder.build(input)).collect(), at: 0 }
    }
}

impl Operator for Append<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.at = 0;
        self.inputs.first_mut().map_or(Ok(()), |first| first.open(frame))
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        while let Some(input) = self.inputs.get_mut(self.at) {
            if input.next(frame)? {
                return Ok(true);
            }
            self.at += 1;
            if let Some(next) = self.inputs.get_mut(self.at) {
                next.open(frame)?;
            }
        }
        Ok(false)
    }
}
