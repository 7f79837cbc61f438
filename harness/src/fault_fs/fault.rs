//! A fault to come: the Nth operation of its class fails, once or from then on.

use super::state::{Refused, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Of files and of directories.
    Fsync,
    Write,
    /// With and without creating.
    Open,
    Rename,
}

impl Class {
    pub const ALL: [Class; 4] = [Class::Fsync, Class::Write, Class::Open, Class::Rename];
}

#[derive(Clone, Debug)]
pub struct Fault {
    pub class: Class,
    pub nth: u64,
    pub errno: Refused,
    /// Later operations of the class fail, too.
    pub lasting: bool,
    /// An fsync that fails says that it did not: what a test must notice.
    pub silent: bool,
    /// Operations of the class so far.
    pub seen: u64,
}

impl Fault {
    pub fn new(class: Class, nth: u64, errno: Refused, lasting: bool) -> Fault {
        Fault { class, nth, errno, lasting, silent: false, seen: 0 }
    }

    pub fn was_hit(&self) -> bool {
        self.seen >= self.nth
    }

    pub fn count(&mut self, class: Class) -> Result<()> {
        if class != self.class {
            return Ok(());
        }
        self.seen += 1;
        if self.seen == self.nth || self.lasting && self.seen > self.nth { Err(self.errno) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_operation_fails() {
        let failures = |lasting| {
            let mut fault = Fault::new(Class::Write, 3, 5, lasting);
            let _ = fault.count(Class::Fsync);
            (1..=5).filter(|_| fault.count(Class::Write).is_err()).count()
        };
        assert_eq!((failures(false), failures(true)), (1, 3));
    }
}
