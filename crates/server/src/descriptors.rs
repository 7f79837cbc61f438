//! File descriptors: how many there are, and who may have them.
//!
//! A connection takes one, the engine one per file. The engine's share is kept for it: a server whose clients could take
//! the last descriptor could neither flush nor start a log, and would have to stop. So connections beyond
//! `connections_max` are refused with error 1040, as those beyond `max_connections` are.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors that are kept for files; half of all where there are fewer than twice as many.
const FILES: u64 = 4096;
/// Of them: the listening sockets, epoll, what the server itself opens.
const FILES_BESIDE_ENGINE: u64 = 32;

pub struct Descriptors {
    pub connections_max: u64,
    /// `None`: as many as it wants.
    pub engine_files_max: Option<u64>,
}

/// Raises the limit as far as this process may, and divides it.
pub fn claim() -> Descriptors {
    let limit = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    divide(if raised.is_ok() { limit.maximum } else { limit.current })
}

fn divide(limit: Option<u64>) -> Descriptors {
    let Some(limit) = limit else { return Descriptors { connections_max: u64::MAX, engine_files_max: None } };
    let files = FILES.min(limit / 2);
    let engine_files_max = (files < FILES).then(|| files.saturating_sub(FILES_BESIDE_ENGINE).max(FILES_BESIDE_ENGINE));
    Descriptors { connections_max: limit - files, engine_files_max }
}

#[cfg(test)]
mod tests {
    use super::divide;

    #[test]
    fn files_have_their_share() {
        let shares = |limit| {
            let all = divide(limit);
            (all.connections_max, all.engine_files_max)
        };
        assert_eq!(shares(None), (u64::MAX, None));
        assert_eq!(shares(Some(1 << 20)), ((1 << 20) - 4096, None));
        assert_eq!(shares(Some(1024)), (512, Some(480)));
        assert_eq!(shares(Some(64)), (32, Some(32)));
    }
}
