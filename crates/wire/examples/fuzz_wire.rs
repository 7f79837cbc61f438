//! A fuzzer for stable Rust: mutates recorded packets and random bytes and gives them to the entry points of
//! `vaquita_wire::fuzzing`.
//!
//! `cargo run -p vaquita-wire --example fuzz_wire -- <target> <seconds> [seed]` with target `packet`, `handshake`, `commands`,
//! `compressed`, `binlog` or `all`. A finding is a panic, after the seed and the input were printed; the seed repeats the run. It
//! is not guided by coverage: cargo-fuzz with the same entry points is, where nightly Rust is at hand.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use vaquita_wire::binlog::{Decoder, Event, EventReader, event_type};
use vaquita_wire::fuzzing::{fuzz_binlog, fuzz_commands, fuzz_compressed, fuzz_copy, fuzz_handshake, fuzz_packet};

const INPUT_BYTES_MAX: usize = 4096;

/// splitmix64 (G. Steele et al., "Fast Splittable Pseudorandom Number Generators").
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// The hexadecimal columns of the recordings.
fn corpus() -> Vec<Vec<u8>> {
    let recordings = [
        include_str!("../src/golden/packets.txt"),
        include_str!("../src/golden/handshakes.txt"),
        include_str!("../src/golden/commands.txt"),
    ];
    let lines = recordings.iter().flat_map(|text| text.lines()).filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.rsplit('\t').next())
        .map(|hex| {
            let pairs = hex.as_bytes().chunks_exact(2);
            pairs.filter_map(|p| u8::from_str_radix(std::str::from_utf8(p).ok()?, 16).ok()).collect()
        })
        .collect()
}

/// Each event of the recorded binary logs in the form of `fuzz_binlog`; the long ones only if they may be cut.
fn events() -> Vec<Vec<u8>> {
    let logs: [&[u8]; 12] = [
        include_bytes!("../src/golden/binlog/mysql-control.binlog"),
        include_bytes!("../src/golden/binlog/mysql-numbers.binlog"),
        include_bytes!("../src/golden/binlog/mysql-texts.binlog"),
        include_bytes!("../src/golden/binlog/mysql-images.binlog"),
        include_bytes!("../src/golden/binlog/mysql-compressed.binlog"),
        include_bytes!("../src/golden/binlog/mysql-statements.binlog"),
        include_bytes!("../src/golden/binlog/mariadb-control.binlog"),
        include_bytes!("../src/golden/binlog/mariadb-types.binlog"),
        include_bytes!("../src/golden/binlog/mariadb-old_times.binlog"),
        include_bytes!("../src/golden/binlog/mariadb-compressed.binlog"),
        include_bytes!("../src/golden/binlog/mariadb-bare.binlog"),
        include_bytes!("../src/golden/binlog/mariadb-statements.binlog"),
    ];
    let mut events = Vec::new();
    for log in logs {
        let (mut reader, mut decoder, mut map) = (EventReader::of_file(), Decoder::default(), Vec::new());
        reader.feed(log);
        while let Ok(Some(raw)) = reader.next_event() {
            if raw.header.event_type == event_type::TABLE_MAP {
                map = raw.data().to_vec();
            }
            let is_rows = matches!(decoder.decode(&raw), Ok(Event::Rows(_)));
            let table = if is_rows { &map[..] } else { &[] };
            let mut input = (table.len() as u16).to_le_bytes().to_vec();
            input.extend_from_slice(table);
            input.push(raw.header.event_type);
            input.extend_from_slice(raw.data());
            events.push(input);
        }
    }
    events
}

fn mutate(random: &mut Random, corpus: &[Vec<u8>], target: &str) -> Vec<u8> {
    const EDGES: [u8; 10] = [0, 1, 0x7f, 0x80, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff];
    // Parameters of the entry point, then a frame header in half of the inputs; events of binary logs have neither.
    let plain = target == "binlog";
    let parameters = if plain { 0 } else { random.below(8) };
    let mut data: Vec<u8> = (0..parameters).map(|_| random.next() as u8).collect();
    let seed = &corpus[random.below(corpus.len())];
    if !plain && random.below(2) == 0 {
        data.extend_from_slice(&[seed.len() as u8, (seed.len() >> 8) as u8, 0, 0]);
    }
    data.extend_from_slice(seed);
    for _ in 0..random.below(12) {
        let at = random.below(data.len() + 1);
        match random.below(6) {
            0 => data.truncate(at),
            1 => data.insert(at, EDGES[random.below(EDGES.len())]),
            2 if at < data.len() => data[at] = EDGES[random.below(EDGES.len())],
            3 if at < data.len() => data[at] = random.next() as u8,
            4 if at < data.len() => data[at] ^= 1 << random.below(8),
            _ => {
                let other = &corpus[random.below(corpus.len())];
                let from = random.below(other.len());
                let piece = other[from..].to_vec();
                data.splice(at..at, piece);
            }
        }
    }
    data.truncate(INPUT_BYTES_MAX);
    data
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let target = args.get(1).map_or("all", String::as_str);
    let seconds = args.get(2).and_then(|s| s.parse().ok()).unwrap_or(60);
    let seed = args.get(3).and_then(|s| s.parse().ok()).unwrap_or(u64::from(std::process::id()));
    let targets: Vec<fn(&[u8])> = match target {
        "packet" => vec![fuzz_packet],
        "handshake" => vec![fuzz_handshake],
        "commands" => vec![fuzz_commands],
        "compressed" => vec![fuzz_compressed],
        "binlog" => vec![fuzz_binlog],
        "copy" => vec![fuzz_copy],
        "all" => vec![fuzz_packet, fuzz_handshake, fuzz_commands, fuzz_compressed, fuzz_binlog, fuzz_copy],
        other => {
            eprintln!("unknown target {other}");
            std::process::exit(2);
        }
    };
    println!("fuzz {target}: {seconds} s, seed {seed}");
    let corpus = if target == "binlog" { events() } else { corpus() };
    let mut random = Random(seed);
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut runs = 0u64;
    while Instant::now() < end {
        for _ in 0..1000 {
            let data = mutate(&mut random, &corpus, target);
            for run in &targets {
                if catch_unwind(AssertUnwindSafe(|| run(&data))).is_err() {
                    eprintln!("finding: target {target}, seed {seed}, run {runs}, input {data:02x?}");
                    std::process::exit(1);
                }
            }
            runs += 1;
        }
    }
    println!("{runs} inputs, no finding");
}
