//! XXH32, the checksum of LZ4 frames.
//!
//! The algorithm is that of the xxHash specification (xxhash_spec.md, version 0.2.0); LZ4 uses seed 0.

const P1: u32 = 0x9E37_79B1;
const P2: u32 = 0x85EB_CA77;
const P3: u32 = 0xC2B2_AE3D;
const P4: u32 = 0x27D4_EB2F;
const P5: u32 = 0x1656_67B1;

/// Bytes that one step over all four lanes takes.
const STRIPE: usize = 16;

/// A checksum in progress, with seed 0.
#[derive(Clone, Debug)]
pub struct Xxh32 {
    lanes: [u32; 4],
    rest: [u8; STRIPE],
    rest_len: usize,
    total: u64,
}

impl Default for Xxh32 {
    fn default() -> Xxh32 {
        let lanes = [P1.wrapping_add(P2), P2, 0, 0u32.wrapping_sub(P1)];
        Xxh32 { lanes, rest: [0; STRIPE], rest_len: 0, total: 0 }
    }
}

impl Xxh32 {
    /// Takes more bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        self.total += bytes.len() as u64;
        if self.rest_len > 0 {
            let wanted = (STRIPE - self.rest_len).min(bytes.len());
            self.rest[self.rest_len..self.rest_len + wanted].copy_from_slice(&bytes[..wanted]);
            self.rest_len += wanted;
            bytes = &bytes[wanted..];
            if self.rest_len < STRIPE {
                return;
            }
            let stripe = self.rest;
            self.lanes = steps(self.lanes, &stripe);
            self.rest_len = 0;
        }
        let whole = bytes.len() / STRIPE * STRIPE;
        self.lanes = steps(self.lanes, &bytes[..whole]);
        let rest = &bytes[whole..];
        self.rest[..rest.len()].copy_from_slice(rest);
        self.rest_len = rest.len();
    }

    /// The checksum of all bytes so far.
    pub fn sum(&self) -> u32 {
        let [a, b, c, d] = self.lanes;
        let mut hash = if self.total >= STRIPE as u64 {
            a.rotate_left(1)
                .wrapping_add(b.rotate_left(7))
                .wrapping_add(c.rotate_left(12))
                .wrapping_add(d.rotate_left(18))
        } else {
            P5
        };
        // The specification adds the length modulo 2^32.
        hash = hash.wrapping_add(self.total as u32);
        let mut words = self.rest[..self.rest_len].chunks_exact(4);
        for word in &mut words {
            hash = hash.wrapping_add(word_of(word).wrapping_mul(P3)).rotate_left(17).wrapping_mul(P4);
        }
        for &byte in words.remainder() {
            hash = hash.wrapping_add(u32::from(byte).wrapping_mul(P5)).rotate_left(11).wrapping_mul(P1);
        }
        hash = (hash ^ (hash >> 15)).wrapping_mul(P2);
        hash = (hash ^ (hash >> 13)).wrapping_mul(P3);
        hash ^ (hash >> 16)
    }
}

/// The checksum of `bytes`.
pub fn xxh32(bytes: &[u8]) -> u32 {
    let mut state = Xxh32::default();
    state.update(bytes);
    state.sum()
}

/// Takes whole stripes. The lanes are four variables: as an array the compiler makes them a vector, whose
/// 32-bit products take longer than four scalar ones.
fn steps(lanes: [u32; 4], stripes: &[u8]) -> [u32; 4] {
    let [mut a, mut b, mut c, mut d] = lanes;
    for stripe in stripes.chunks_exact(STRIPE) {
        a = round(a, word_of(&stripe[0..4]));
        b = round(b, word_of(&stripe[4..8]));
        c = round(c, word_of(&stripe[8..12]));
        d = round(d, word_of(&stripe[12..16]));
    }
    [a, b, c, d]
}

fn round(lane: u32, word: u32) -> u32 {
    lane.wrapping_add(word.wrapping_mul(P2)).rotate_left(13).wrapping_mul(P1)
}

fn word_of(bytes: &[u8]) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(bytes);
    u32::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_sums_are_those_of_the_specification() {
        assert_eq!(xxh32(b""), 0x02CC_5D05);
        assert_eq!(xxh32(b"a"), 0x550D_7456);
        assert_eq!(xxh32(b"abc"), 0x32D1_53FF);
        assert_eq!(xxh32(b"Nobody inspects the spammish repetition"), 0xE229_3B2F);
    }

    #[test]
    fn pieces_give_the_sum_of_the_whole() {
        let bytes: Vec<u8> = (0..1000u32).map(|i| (i * 7 + i / 13) as u8).collect();
        for cut in [0, 1, 3, 15, 16, 17, 31, 500, 999, 1000] {
            let mut state = Xxh32::default();
            state.update(&bytes[..cut]);
            state.update(&bytes[cut..]);
            assert_eq!(state.sum(), xxh32(&bytes), "cut at {cut}");
        }
    }
}
