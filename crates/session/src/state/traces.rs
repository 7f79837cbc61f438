//! The optimizer traces that a session keeps: information_schema.OPTIMIZER_TRACE.
//!
//! `optimizer_trace_offset` says which are kept: from 0 on the statements from that one on, below 0 the last so many; of them
//! `optimizer_trace_limit` are shown. Together they have `optimizer_trace_max_mem_size` bytes. They count as memory of the server
//! (`types::memory`); a trace for which there is none is left out.

use std::collections::VecDeque;

use vaquita_exec::context::OptimizerTrace;
use vaquita_types::memory::Reserve;

use crate::variables::settings::TraceLimits;

#[derive(Default)]
pub struct Traces {
    kept: VecDeque<OptimizerTrace>,
    /// Of the texts of `kept`.
    text_bytes: usize,
    reserve: Reserve,
    /// Statements that were traced since the offset or the limit was set.
    seen: i64,
}

impl Traces {
    pub fn clear(&mut self) {
        *self = Traces::default();
    }

    /// `trace`: none that the session may see.
    pub fn add(&mut self, query: String, trace: Option<String>, limits: TraceLimits) {
        let (hidden, mut trace) = (trace.is_none(), trace.unwrap_or_default());
        let number = self.seen;
        self.seen += 1;
        let count = i64::try_from(limits.count).unwrap_or(i64::MAX);
        if limits.offset >= 0 && !(limits.offset..limits.offset.saturating_add(count)).contains(&number) {
            return;
        }
        if limits.offset < 0 {
            while self.kept.len() as u64 >= limits.offset.unsigned_abs() {
                let Some(oldest) = self.kept.pop_front() else { break };
                self.text_bytes -= text_bytes(&oldest);
            }
        }
        let left = limits.bytes.saturating_sub(self.text_bytes);
        let mut query = if hidden { String::new() } else { query };
        let wanted = query.len() + trace.len();
        // As MySQL: a statement's text is there wholly, or it is missing with all of the trace.
        let end = left.checked_sub(query.len()).map(|left| trace.floor_char_boundary(left));
        if end.is_none() {
            query.clear();
        }
        query.shrink_to_fit();
        let end = end.unwrap_or(0);
        let missing = wanted - query.len() - end;
        trace.truncate(end);
        trace.shrink_to_fit();
        let added = OptimizerTrace { query, trace, missing_bytes: missing as u64, hidden };
        let text_bytes = self.text_bytes + text_bytes(&added);
        // The allocator counts texts that are large, too; they are rare.
        if self.reserve.keep(text_bytes + (self.kept.len() + 1) * size_of::<OptimizerTrace>()).is_ok() {
            self.text_bytes = text_bytes;
            self.kept.push_back(added);
        }
    }

    pub fn shown(&self, limits: TraceLimits) -> Vec<OptimizerTrace> {
        self.kept.iter().take(limits.count).cloned().collect()
    }
}

fn text_bytes(trace: &OptimizerTrace) -> usize {
    trace.query.len() + trace.trace.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(offset: i64, count: usize, bytes: usize) -> Vec<String> {
        let limits = TraceLimits { offset, count, bytes };
        let mut traces = Traces::default();
        for n in 0..5 {
            traces.add(format!("q{n}"), Some(format!("trace {n}")), limits);
        }
        traces.shown(limits).iter().map(|trace| format!("{} {} {}", trace.query, trace.trace, trace.missing_bytes)).collect()
    }

    #[test]
    fn offset_and_limit_say_which_are_kept_and_shown() {
        assert_eq!(shown(-1, 1, 1000), ["q4 trace 4 0"]);
        assert_eq!(shown(-3, 2, 1000), ["q2 trace 2 0", "q3 trace 3 0"]);
        assert_eq!(shown(1, 2, 1000), ["q1 trace 1 0", "q2 trace 2 0"]);
        assert!(shown(7, 2, 1000).is_empty() && shown(-2, 0, 1000).is_empty());
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        assert_eq!(shown(0, 2, 14), ["q0 trace 0 0", "q1 tra 4"]);
        assert_eq!(shown(0, 2, 2), ["q0  7", "  9"]);
    }
}
