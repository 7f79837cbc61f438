//! What the fuzzers of texts share: numbers that a seed repeats, and inputs made of others.

const INPUT_BYTES_MAX: usize = 4096;

/// splitmix64 (G. Steele et al., "Fast Splittable Pseudorandom Number Generators").
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound.max(1) as u64) as usize
    }
}

/// An input of the corpus after some changes; `edges` are the bytes that mean something to the reader.
pub fn mutate(random: &mut Random, corpus: &[Vec<u8>], edges: &[u8]) -> Vec<u8> {
    let mut data = corpus[random.below(corpus.len())].clone();
    for _ in 0..random.below(8) {
        let at = random.below(data.len() + 1);
        match random.below(6) {
            0 => data.truncate(at),
            1 => data.insert(at, edges[random.below(edges.len())]),
            2 if at < data.len() => data[at] = random.below(256) as u8,
            3 if at < data.len() => {
                let end = (at + random.below(12)).min(data.len());
                data.drain(at..end);
            }
            4 => {
                let again = data[..at].to_vec();
                data.splice(at..at, again);
            }
            _ => {
                let other = &corpus[random.below(corpus.len())];
                let piece = other[random.below(other.len())..].to_vec();
                data.splice(at..at, piece);
            }
        }
        data.truncate(INPUT_BYTES_MAX);
    }
    data
}
