//! The last statements of a session that has `profiling` on, with the times of their stages.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use vaquita_exec::context::ProfileInfo;

/// MySQL keeps as much of a statement.
const TEXT_BYTES_MAX: usize = 300;

#[derive(Default)]
pub struct Profiles {
    kept: RefCell<VecDeque<ProfileInfo>>,
    last_id: Cell<u64>,
    is_running: Cell<bool>,
    /// The statement that runs: its text, and when a stage of it began.
    running: RefCell<Option<(Arc<str>, Vec<(&'static str, Instant)>)>>,
}

impl Profiles {
    pub fn begin(&self, text: &Arc<str>) {
        let end = text.floor_char_boundary(TEXT_BYTES_MAX);
        let text = if end == text.len() { text.clone() } else { text.get(..end).unwrap_or_default().into() };
        *self.running.borrow_mut() = Some((text, vec![("starting", Instant::now())]));
        self.is_running.set(true);
    }

    #[inline]
    pub fn is_idle(&self) -> bool {
        !self.is_running.get()
    }

    /// The next stage of what runs, if it is profiled.
    #[inline]
    pub fn stage(&self, name: &'static str) {
        if self.is_idle() {
            return;
        }
        if let Some((_, stages)) = &mut *self.running.borrow_mut() {
            stages.push((name, Instant::now()));
        }
    }

    /// The statement has ended. It is kept if `count` of them are, and it is none that shows profiles.
    pub fn end(&self, is_kept: bool, count: usize) {
        self.is_running.set(false);
        let Some((text, stages)) = self.running.borrow_mut().take() else { return };
        let mut kept = self.kept.borrow_mut();
        if is_kept && count > 0 {
            self.last_id.set(self.last_id.get() + 1);
            let ends = stages.iter().skip(1).map(|(_, at)| *at).chain([Instant::now()]);
            let took = stages.iter().zip(ends).map(|((name, from), to)| (*name, (to - *from).as_nanos() as u64));
            kept.push_back(ProfileInfo { id: self.last_id.get(), text, stages: took.collect() });
        }
        while kept.len() > count {
            kept.pop_front();
        }
    }

    pub fn list(&self, count: usize) -> Vec<ProfileInfo> {
        let kept = self.kept.borrow();
        kept.iter().skip(kept.len().saturating_sub(count)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_are_kept() {
        let profiles = Profiles::default();
        for n in 0..5 {
            profiles.begin(&format!("select {n}").into());
            profiles.stage("executing");
            profiles.end(n != 2, 3);
        }
        let kept: Vec<_> = profiles.list(2).into_iter().map(|profile| (profile.id, profile.text.to_string())).collect();
        assert_eq!(kept, [(3, "select 3".to_string()), (4, "select 4".to_string())]);
        assert_eq!(profiles.list(9)[0].stages.len(), 2);
    }
}
