//! Where a replica of MariaDB takes itself to be, from the events that it has got.

use vaquita_wire::binlog::Header;
use vaquita_wire::binlog::event_type::{FORMAT_DESCRIPTION, HEARTBEAT, HEARTBEAT_V2, MARIA_GTID_LIST, ROTATE, STOP};

#[derive(Clone, Copy, Debug, Default)]
pub struct Position(pub u64);

impl Position {
    /// `header` is that of an event which is sent, `rotated` the position that a ROTATE tells.
    pub fn sent(&mut self, header: &Header, rotated: u64) {
        let end = u64::from(header.end_position);
        let len = u64::from(header.length);
        match header.event_type {
            ROTATE => self.0 = rotated,
            STOP | HEARTBEAT | HEARTBEAT_V2 => {}
            FORMAT_DESCRIPTION if end == 0 => {}
            MARIA_GTID_LIST => self.0 = self.0.max(end),
            _ => self.0 = (self.0 + len).max(end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_count_where_they_are_further() {
        let header =
            |event_type, length, end_position| Header { timestamp: 0, event_type, server_id: 1, length, end_position, flags: 0 };
        let mut position = Position(4);
        for (event_type, length, end, expected) in [
            (FORMAT_DESCRIPTION, 252, 0, 4),
            (MARIA_GTID_LIST, 40, 200, 200),
            (2, 50, 300, 300),
            (2, 50, 310, 350),
            (MARIA_GTID_LIST, 40, 340, 350),
            (STOP, 23, 363, 350),
        ] {
            position.sent(&header(event_type, length, end), 0);
            assert_eq!(position.0, expected);
        }
        position.sent(&header(ROTATE, 40, 0), 340);
        assert_eq!(position.0, 340);
    }
}
