//! Sums that stay in hash maps, and what was added to them since the last tick.
//!
//! [`crate::drain::Drain`] is cheaper, and right wherever a program can begin an entry anew at any time. Sums stay where the
//! user part makes entries (to count what finds no room), or where what each CPU put beside them is asked for.

use std::collections::hash_map::Entry;

use libbpf_rs::{MapCore, MapFlags, MapHandle};
use rustc_hash::FxHashMap;

use crate::{EbpfError, bytes::Bytes};

/// A hash map whose values begin with `N` sums (`u64`); what follows them (a name) is kept as it is.
///
/// A key that nothing was added to for [`IDLE`] ticks is taken out of the map, so that those of ended processes do not
/// fill it. What a program adds between the reading and the taking out would be lost: the sums of a taken-out key are
/// read again in the same step, which leaves the time of one system call in which a key that was idle for so long may lose
/// an addition.
pub(crate) struct Sums<const N: usize> {
    name: &'static str,
    map: MapHandle,
    per_cpu: bool,
    before: FxHashMap<Vec<u8>, Before<N>>,
    turn: u64,
}

/// Ticks without an addition after which a key is taken out.
const IDLE: u64 = 30;

struct Before<const N: usize> {
    sums: [u64; N],
    /// The tick when something was last added.
    changed: u64,
    seen: u64,
}

/// The sums of a value, and the bytes after them, of each CPU.
type Value<const N: usize> = ([u64; N], Vec<Vec<u8>>);

/// Additions under one key. `R` is what follows the sums: of one CPU as [`crate::drain::Drain`] reads it, of each as
/// [`Sums`] does.
pub(crate) struct Added<'a, const N: usize, R: ?Sized = [u8]> {
    /// The key's bytes.
    pub key: &'a [u8],
    /// The additions.
    pub sums: [u64; N],
    /// The bytes of the value after the sums: of a CPU where they are not all 0, or of each CPU.
    pub rest: &'a R,
}

impl<const N: usize> Sums<N> {
    pub(crate) fn new(name: &'static str, map: MapHandle) -> Sums<N> {
        let per_cpu = map.map_type().is_percpu();
        Sums { name, map, per_cpu, before: FxHashMap::default(), turn: 0 }
    }

    /// Calls `each` for every key to which something was added since the last time.
    pub(crate) fn added(&mut self, mut each: impl FnMut(Added<'_, N, [Vec<u8>]>)) -> Result<(), EbpfError> {
        self.turn += 1;
        let mut idle = Vec::new();
        for key in self.map.keys() {
            let Some((sums, rests)) = self.read(&key)? else { continue };
            let before = match self.before.entry(key.clone()) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(Before { sums: [0; N], changed: self.turn, seen: 0 }),
            };
            // A key that was taken out and came back began anew: its sums are smaller than before.
            let anew = sums.iter().zip(&before.sums).any(|(now, then)| now < then);
            let mut added = sums;
            if !anew {
                added.iter_mut().zip(before.sums).for_each(|(now, then)| *now -= then);
            }
            (before.sums, before.seen) = (sums, self.turn);
            if added.iter().any(|n| *n > 0) {
                before.changed = self.turn;
                each(Added { key: &key, sums: added, rest: &rests[..] });
            } else if self.turn - before.changed >= IDLE {
                idle.push(key);
            }
        }
        for key in idle {
            let last = self.read(&key)?.map(|(sums, _)| sums);
            if last == self.before.get(&key).map(|before| before.sums) {
                let _ = self.map.delete(&key);
                self.before.remove(&key);
            }
        }
        // Keys that the kernel itself took out (of maps that drop the least recently used).
        let turn = self.turn;
        self.before.retain(|_, before| before.seen == turn);
        Ok(())
    }

    /// The value of a key, added up over CPUs; None when it is gone meanwhile.
    fn read(&self, key: &[u8]) -> Result<Option<Value<N>>, EbpfError> {
        let failed = |source| EbpfError::Map { map: self.name.to_owned(), source };
        let values = if self.per_cpu {
            self.map.lookup_percpu(key, MapFlags::ANY).map_err(failed)?
        } else {
            self.map.lookup(key, MapFlags::ANY).map_err(failed)?.map(|value| vec![value])
        };
        Ok(values.map(|values| {
            let mut sums = [0; N];
            let rest_of = |value: &Vec<u8>| {
                let mut at = Bytes(value);
                sums.iter_mut().for_each(|sum| *sum += at.u64());
                at.0.to_vec()
            };
            let rests = values.iter().map(rest_of).collect();
            (sums, rests)
        }))
    }
}

/// A per-CPU array of `u64`: each element added up over CPUs.
pub(crate) fn array(name: &str, map: &MapHandle) -> Result<Vec<u64>, EbpfError> {
    (0..map.max_entries())
        .map(|place| {
            let values = map
                .lookup_percpu(&place.to_ne_bytes(), MapFlags::ANY)
                .map_err(|source| EbpfError::Map { map: name.to_owned(), source })?;
            Ok(values.unwrap_or_default().iter().map(|value| Bytes(value).u64()).sum())
        })
        .collect()
}
