//! Nanoseconds per statement of the digest and of the parser, for statements of sysbench's kind.
//!
//! `cargo run -p vaquita-parser --example parse_speed`

use std::hint::black_box;
use std::time::Instant;

use vaquita_parser::digest::{Digest, digest_into};
use vaquita_parser::{ParserOptions, parse_one};

const ROUNDS: u32 = 200_000;

fn main() {
    let opts = ParserOptions::default();
    for sql in [
        "SELECT c FROM sbtest1 WHERE id=5005",
        "SELECT c FROM sbtest1 WHERE id BETWEEN 100 AND 199 ORDER BY c",
        "UPDATE sbtest1 SET k=k+1 WHERE id=5005",
        "INSERT INTO sbtest1 (id, k, c, pad) VALUES (5005, 17, '68487932199-96439406143', 'x')",
        "SELECT a.x, COUNT(*) FROM a JOIN b ON a.id = b.id WHERE a.y IN (1, 2, 3) AND b.z LIKE 'q%' \
         GROUP BY a.x HAVING COUNT(*) > 1 ORDER BY 2 DESC LIMIT 10",
    ] {
        let mut digest = Digest { hash: 0, literals: Vec::new(), len: 0 };
        let start = Instant::now();
        for _ in 0..ROUNDS {
            black_box(digest_into(black_box(sql.as_bytes()), &opts, &mut digest));
        }
        let digested = start.elapsed() / ROUNDS;
        let start = Instant::now();
        for _ in 0..ROUNDS {
            black_box(parse_one(black_box(sql.as_bytes()), &opts).is_ok());
        }
        let parsed = start.elapsed() / ROUNDS;
        println!("digest {digested:>6.0?}  parse {parsed:>6.0?}  {sql}");
    }
}
