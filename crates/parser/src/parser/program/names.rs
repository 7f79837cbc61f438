//! Names that blocks declare, each hiding the same name of the blocks around it. To look one up takes as long in a program of a million names as in one
//! of ten.

use std::collections::HashMap;

/// What each name means, and in which block, the innermost last.
pub struct Names<T> {
    known: HashMap<String, Vec<(usize, T)>>,
    /// In the order of their declarations, with their blocks.
    declared: Vec<(usize, String)>,
}

impl<T> Default for Names<T> {
    fn default() -> Names<T> {
        Names { known: HashMap::new(), declared: Vec::new() }
    }
}

impl<T: Copy> Names<T> {
    pub fn find(&self, name: &str) -> Option<T> {
        self.known.get(&name.to_lowercase())?.last().map(|(_, it)| *it)
    }

    /// `false`: the block has declared it already.
    pub fn declare(&mut self, block: usize, name: &str, it: T) -> bool {
        let key = name.to_lowercase();
        let known = self.known.entry(key.clone()).or_default();
        if known.last().is_some_and(|(in_block, _)| *in_block == block) {
            return false;
        }
        known.push((block, it));
        self.declared.push((block, key));
        true
    }

    /// The block declares something.
    pub fn has_any_of(&self, block: usize) -> bool {
        self.declared.last().is_some_and(|(in_block, _)| *in_block == block)
    }

    /// The end of the block.
    pub fn end(&mut self, block: usize) {
        while let Some((_, key)) = self.declared.pop_if(|(in_block, _)| *in_block == block) {
            if let Some(known) = self.known.get_mut(&key) {
                known.pop();
            }
        }
    }
}
