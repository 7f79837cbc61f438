//! `storage::base::kill_points` for models, which do not die.

pub fn kill_point(_name: &'static str) {}
