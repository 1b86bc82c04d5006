//! Latency and bandwidth of each level of memory, measured on this machine.
//!
//! Latency is that of loads that depend on each other, in random order over a buffer of half the level's size, so that no prefetcher helps.
//! Bandwidth is that of reading, and of copying from one half of a buffer to the other; of one CPU, and of all at once, each with its own buffer.

use std::{
    hint::black_box,
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use fenxi_model::Random;
use fenxi_procfs::Root;

/// Bytes of a line of all caches that matter.
const LINE: usize = 64;
/// Words of a line.
const STEP: usize = LINE / size_of::<u32>();
/// How long each figure is measured.
const TIME: Duration = Duration::from_millis(150);
/// Memory is measured in a buffer of this many last-level caches, between these limits.
const BEYOND: usize = 4;
const MEMORY: std::ops::RangeInclusive<usize> = 64 << 20..=512 << 20;

/// A level of memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// `L1`, `L2`, `L3` or `memory`.
    pub name: String,
    /// Its bytes; None for memory.
    pub bytes: Option<usize>,
    /// Bytes of the buffer that is measured.
    pub buffer: usize,
}

/// Latency and bandwidth of a level.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Seconds of a load that depends on the one before.
    pub latency_s: f64,
    /// Bytes per second that one CPU reads.
    pub read: f64,
    /// Bytes per second that one CPU copies: each counts once.
    pub copy: f64,
    /// Bytes per second that all CPUs copy together.
    pub copy_all: f64,
}

/// The caches of data of the first CPU, smallest first, and memory.
pub fn levels(root: &Root) -> Vec<Level> {
    let cache = |n: usize| {
        let get = |file: &str| root.read_text(&format!("/sys/devices/system/cpu/cpu0/cache/index{n}/{file}"));
        let (level, kind, size) = (get("level")?, get("type")?, get("size")?);
        Some((level, kind, bytes(&size)?))
    };
    let mut levels: Vec<Level> = (0..8)
        .map_while(cache)
        .filter(|(_, kind, bytes)| kind != "Instruction" && *bytes >= 4 * LINE)
        .map(|(level, _, bytes)| Level { name: format!("L{level}"), bytes: Some(bytes), buffer: bytes / 2 })
        .collect();
    levels.sort_by_key(|level| level.bytes);
    let last = levels.last().and_then(|level| level.bytes).unwrap_or_default();
    let buffer = (BEYOND * last).clamp(*MEMORY.start(), *MEMORY.end());
    levels.push(Level { name: "memory".to_owned(), bytes: None, buffer });
    levels
}

/// `32K`, `1024K` or `8M`.
fn bytes(text: &str) -> Option<usize> {
    let (number, shift) = match text.strip_suffix('K') {
        Some(number) => (number, 10),
        None => (text.strip_suffix('M')?, 20),
    };
    number.parse::<usize>().ok().filter(|number| *number < 1 << 30).map(|number| number << shift)
}

/// Measures a level on `cpus` CPUs.
pub fn measure(level: &Level, cpus: usize) -> Figures {
    let buffer = level.buffer;
    let words = (buffer / size_of::<u64>()).max(16);
    let latency_s = latency(buffer);
    let source: Vec<u64> = (0..words as u64).collect();
    let read = rate(|| {
        black_box(sum(black_box(&source)));
        words * size_of::<u64>()
    });
    // Several CPUs may share the level: each has its part of it then.
    let share = words / cpus.max(1);
    let barrier = Barrier::new(cpus.max(1));
    let copy_all = thread::scope(|scope| {
        let all: Vec<_> = (0..cpus.max(1))
            .map(|_| {
                scope.spawn(|| {
                    let mut own = vec![1_u64; share.max(16)];
                    barrier.wait();
                    copying(&mut own)
                })
            })
            .collect();
        all.into_iter().filter_map(|one| one.join().ok()).sum()
    });
    let mut own = source;
    Figures { latency_s, read, copy: copying(&mut own), copy_all }
}

fn copying(buffer: &mut [u64]) -> f64 {
    let (from, to) = buffer.split_at_mut(buffer.len() / 2);
    let (n, bytes) = (from.len(), size_of_val(&*from));
    rate(|| {
        black_box(&mut *to)[..n].copy_from_slice(black_box(&*from));
        bytes
    })
}

/// Sums that do not wait for each other.
fn sum(words: &[u64]) -> u64 {
    let mut sums = [0_u64; 8];
    for chunk in words.chunks_exact(8) {
        sums.iter_mut().zip(chunk).for_each(|(sum, word)| *sum = sum.wrapping_add(*word));
    }
    sums.iter().fold(0, |sum, one| sum.wrapping_add(*one))
}

/// Bytes per second of what moves some; the first time does not count, as pages are new.
fn rate(mut once: impl FnMut() -> usize) -> f64 {
    once();
    let (begin, mut bytes) = (Instant::now(), 0_usize);
    while begin.elapsed() < TIME {
        bytes += once();
    }
    bytes as f64 / begin.elapsed().as_secs_f64()
}

/// Seconds of a load, in a buffer of so many bytes.
fn latency(buffer: usize) -> f64 {
    let chain = chain((buffer / LINE).max(4));
    let (mut at, mut loads) = (0_u32, 0_u64);
    // Once around, so that the buffer is where it will be.
    let once = chain.len() / STEP;
    for _ in 0..once {
        at = chain[at as usize];
    }
    let begin = Instant::now();
    while begin.elapsed() < TIME {
        for _ in 0..10_000 {
            at = chain[at as usize];
        }
        loads += 10_000;
    }
    let seconds = begin.elapsed().as_secs_f64();
    black_box(at);
    seconds / loads as f64
}

/// One cycle through all lines in random order (Sattolo): each line's first word has the place of the next.
fn chain(lines: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..lines as u32).collect();
    let mut random = Random::new(0x0063_6861_7365);
    for i in (1..lines).rev() {
        order.swap(i, random.below(i));
    }
    let mut chain = vec![0; lines * STEP];
    for (line, next) in order.iter().enumerate() {
        chain[line * STEP] = next * STEP as u32;
    }
    chain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_visits_every_line_once() {
        for lines in [4, 1000] {
            let chain = chain(lines);
            let (mut at, mut seen) = (0_u32, std::collections::BTreeSet::new());
            for _ in 0..lines {
                assert!(seen.insert(at) && (at as usize).is_multiple_of(STEP));
                at = chain[at as usize];
            }
            assert_eq!((at, seen.len()), (0, lines));
        }
    }

    #[test]
    fn levels_are_the_caches_of_data_and_memory() {
        let given = fenxi_procfs::Given::default();
        assert_eq!(bytes("32K"), Some(32 << 10));
        assert_eq!((bytes("8M"), bytes("x"), bytes("999999999999K")), (Some(8 << 20), None, None));
        // Where nothing is known, memory.
        let none = levels(&Root::given(&given));
        assert_eq!(none, [Level { name: "memory".to_owned(), bytes: None, buffer: 64 << 20 }]);
    }

    #[test]
    fn figures_are_of_this_world() {
        let small = Level { name: "L1".to_owned(), bytes: Some(32 << 10), buffer: 16 << 10 };
        let figures = measure(&small, 1);
        assert!((1e-10..1e-6).contains(&figures.latency_s), "{figures:?}");
        assert!(figures.read > 1e6 && figures.copy > 1e6 && figures.copy_all > 1e6, "{figures:?}");
    }
}
