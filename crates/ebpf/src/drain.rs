//! Sums that are taken out of hash maps as they are read, many at a time: the default way to read sums, apart from
//! [`crate::sums`].

use std::os::fd::{AsFd, AsRawFd};

use libbpf_rs::{MapCore, MapHandle};
use libbpf_sys::bpf_map_lookup_and_delete_batch;

use crate::{EbpfError, bytes::Bytes, sums::Added};

/// A hash map whose values begin with `N` sums (`u64`); what follows them (a name) is kept as it is.
///
/// Reading empties it, so that keys of ended processes do not fill it, and takes one system call for a thousand keys.
/// A program that has found a key just before it is taken out adds to what is no longer read: an event for each CPU at
/// most.
pub(crate) struct Drain<const N: usize> {
    name: &'static str,
    map: MapHandle,
    /// Bytes of a key; of a value on all CPUs; of a value on one.
    key: usize,
    value: usize,
    of_cpu: usize,
    keys: Vec<u8>,
    values: Vec<u8>,
}

/// Keys that are read at a time, of a map that has room for so many; a bucket with more of them makes it more.
const BATCH: usize = 1024;

/// Result of one step of reading.
struct Step {
    /// Entries read.
    n: usize,
    /// Whether these were the last.
    last: bool,
}

impl<const N: usize> Drain<N> {
    pub(crate) fn new(name: &'static str, map: MapHandle) -> Result<Drain<N>, EbpfError> {
        let of_cpu = map.value_size() as usize;
        let (of_cpu, cpus) = if map.map_type().is_percpu() {
            let cpus =
                libbpf_rs::num_possible_cpus().map_err(|source| EbpfError::Map { map: name.to_owned(), source })?;
            (of_cpu.next_multiple_of(8), cpus)
        } else {
            (of_cpu, 1)
        };
        let (key, value) = (map.key_size() as usize, of_cpu * cpus);
        let batch = BATCH.min(map.max_entries() as usize);
        Ok(Drain { name, map, key, value, of_cpu, keys: vec![0; key * batch], values: vec![0; value * batch] })
    }

    /// Calls `each` for every key to which something was added since the last time.
    pub(crate) fn added(&mut self, mut each: impl FnMut(Added<'_, N>)) -> Result<(), EbpfError> {
        // Where the last step ended, as the kernel names it: for hash maps a number of a bucket.
        let mut place: Option<Vec<u8>> = None;
        loop {
            let mut next = vec![0; self.key.max(8)];
            let step = match self.step(place.as_deref(), &mut next) {
                Ok(step) => step,
                Err(libc::ENOSPC) => {
                    self.keys.resize(self.keys.len() * 2, 0);
                    self.values.resize(self.values.len() * 2, 0);
                    continue;
                }
                Err(error) => {
                    let source = libbpf_rs::Error::from_raw_os_error(error);
                    return Err(EbpfError::Map { map: self.name.to_owned(), source });
                }
            };
            let entries = self.keys.chunks_exact(self.key).zip(self.values.chunks_exact(self.value));
            for (key, value) in entries.take(step.n) {
                let mut sums = [0; N];
                let mut rest: &[u8] = &[];
                for of_cpu in value.chunks_exact(self.of_cpu) {
                    let mut at = Bytes(of_cpu);
                    sums.iter_mut().for_each(|sum| *sum += at.u64());
                    if rest.is_empty() && at.0.iter().any(|byte| *byte != 0) {
                        rest = at.0;
                    }
                }
                each(Added { key, sums, rest });
            }
            if step.last {
                return Ok(());
            }
            place = Some(next);
        }
    }

    /// Reads one step; the error is a number of the system.
    #[allow(unsafe_code, reason = "libbpf-rs has no batches of per-CPU maps")]
    fn step(&mut self, place: Option<&[u8]>, next: &mut [u8]) -> Result<Step, i32> {
        let room = self.keys.len() / self.key.max(1);
        let mut n = u32::try_from(room).unwrap_or(u32::MAX);
        let place = place.map_or(std::ptr::null_mut(), |place| place.as_ptr().cast_mut().cast());
        // SAFETY: there is room for `n` keys and values of the map's sizes, on all possible CPUs; the kernel reads `place`
        // and writes `next`, at most as many bytes as a key has, or four.
        let failed = unsafe {
            bpf_map_lookup_and_delete_batch(
                self.map.as_fd().as_raw_fd(),
                place,
                next.as_mut_ptr().cast(),
                self.keys.as_mut_ptr().cast(),
                self.values.as_mut_ptr().cast(),
                &raw mut n,
                std::ptr::null(),
            )
        };
        let n = n as usize;
        match -failed {
            0 => Ok(Step { n, last: false }),
            libc::ENOENT => Ok(Step { n, last: true }),
            error => Err(error),
        }
    }
}
