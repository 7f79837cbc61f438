//! What is done to good traffic: bytes and packets are flipped, cut, doubled, swapped, given wrong lengths and numbers.

use super::traffic::Traffic;
use crate::random::Random;

/// Where bytes are changed: as packets, as frames of compression, as they leave the client (records, if there is TLS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Packets,
    Frames,
    Raw,
}

/// How a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// After all was said the server closes, told so by COM_QUIT; if it does not, the client does.
    Quit,
    Close,
    /// Closes one direction, and waits until the server closes the other.
    HalfClose,
    Reset,
}

/// What happens to the packets of one unit as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Sent,
    Doubled,
    Left,
    /// Sent after the next one.
    Swapped,
}

/// One session's deviation from good traffic, from its seed alone. Units are counted from the first bytes that the client sends.
pub struct Plan {
    pub changes: Vec<(usize, Level)>,
    pub fates: Vec<(usize, Fate)>,
    pub ending: Ending,
    /// The unit in which it ends, if not behind the last.
    pub end_in: Option<usize>,
    /// All is said at once, no answer awaited.
    pub hasty: bool,
    /// Bytes that are sent at a time, of the first ones.
    pub drip: Option<usize>,
    /// Reads nothing after the login.
    pub deaf: bool,
}

impl Plan {
    pub fn good() -> Plan {
        Plan { changes: Vec::new(), fates: Vec::new(), ending: Ending::Quit, end_in: None, hasty: false, drip: None, deaf: false }
    }

    pub fn draw(random: &mut Random, units: usize) -> Plan {
        let mut plan = Plan::good();
        for _ in 0..random.below(4) {
            let level = [Level::Packets, Level::Packets, Level::Frames, Level::Raw][random.below(4) as usize];
            plan.changes.push((random.below(units as u64) as usize, level));
        }
        if random.one_in(4) {
            let fate = [Fate::Doubled, Fate::Left, Fate::Swapped][random.below(3) as usize];
            plan.fates.push((random.below(units as u64) as usize, fate));
        }
        plan.ending = match random.below(8) {
            0 | 1 => Ending::Close,
            2 => Ending::HalfClose,
            3 => Ending::Reset,
            _ => Ending::Quit,
        };
        if plan.ending != Ending::Quit && !random.one_in(3) {
            plan.end_in = Some(random.below(units as u64) as usize);
        }
        plan.hasty = random.one_in(3);
        plan.drip = random.one_in(12).then(|| 1 + random.below(7) as usize);
        plan.deaf = random.one_in(12);
        plan
    }

    pub fn fate(&self, unit: usize) -> Fate {
        self.fates.iter().find(|(at, _)| *at == unit).map_or(Fate::Sent, |(_, fate)| *fate)
    }

    pub fn changes(&self, unit: usize, level: Level) -> usize {
        self.changes.iter().filter(|change| **change == (unit, level)).count()
    }
}

const EDGES: [u8; 10] = [0, 1, 0x7f, 0x80, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff];
const HEADER_BYTES: u64 = 4;

/// Changes `bytes`, which begin with the header of a packet, a frame or a record.
pub fn change(random: &mut Random, bytes: &mut Vec<u8>, others: &[Traffic]) {
    if bytes.is_empty() {
        return;
    }
    let at = random.below(bytes.len() as u64) as usize;
    let length = 1 + random.below((bytes.len() - at).min(64) as u64) as usize;
    let header = random.below(HEADER_BYTES.min(bytes.len() as u64)) as usize;
    match random.below(11) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = EDGES[random.below(EDGES.len() as u64) as usize],
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..at + length)),
        4 => {
            let again = bytes[at..at + length].to_vec();
            bytes.splice(at..at, again);
        }
        5 => {
            let other = random.below(bytes.len() as u64) as usize;
            bytes.swap(at, other);
        }
        // A wrong length, or a wrong number.
        6 => bytes[header] = bytes[header].wrapping_add(1 + random.below(3) as u8),
        7 => bytes[header] = random.next() as u8,
        8 => {
            let noise: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
            bytes.splice(at..at, noise);
        }
        9 => (0..1 + random.below(20)).for_each(|_| {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << random.below(8);
        }),
        // A piece of what another client says.
        _ => {
            let traffic = &others[random.below(others.len() as u64) as usize];
            let unit = &traffic.units[random.below(traffic.units.len() as u64) as usize];
            let piece = &unit.bytes[random.below(unit.bytes.len().min(1000) as u64) as usize..];
            bytes.splice(at..at, piece[..piece.len().min(1000)].iter().copied());
        }
    }
}
