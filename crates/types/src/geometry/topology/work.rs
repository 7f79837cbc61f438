//! How long and how large a computation may become: it asks for interrupts and for memory as it goes on.

use crate::{Result, memory};

/// Steps between two looks at the interrupt.
const STEPS: u32 = 4096;

pub struct Work<'a> {
    go_on: &'a mut dyn FnMut() -> Result<()>,
    steps: u32,
}

impl<'a> Work<'a> {
    pub fn new(go_on: &'a mut dyn FnMut() -> Result<()>) -> Work<'a> {
        Work { go_on, steps: 0 }
    }

    #[inline]
    pub(super) fn step(&mut self) -> Result<()> {
        self.steps += 1;
        if self.steps < STEPS {
            return Ok(());
        }
        self.steps = 0;
        (self.go_on)()
    }

    /// Adds to what may become large: asks before it takes a larger block.
    #[inline]
    pub(super) fn push<T>(&self, list: &mut Vec<T>, item: T) -> Result<()> {
        if list.len() == list.capacity() {
            memory::ask(list.capacity() * 2 * size_of::<T>())?;
        }
        list.push(item);
        Ok(())
    }
}
