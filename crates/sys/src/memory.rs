//! Memory of other processes by process_vm_readv(2), which `rustix` lacks.

use std::io;

/// Where in a process's memory, and how many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The first address.
    pub at: u64,
    /// Bytes.
    pub len: usize,
}

/// Places that are handed to the kernel at a time; it takes 1024 at most.
const AT_A_TIME: usize = 128;

/// Reads places of a process's memory one after the other, in their order, and puts them side by side. Nothing is stopped, so
/// that two of them may be of different moments.
///
/// # Errors
/// When the process is gone, its memory may not be read, a place is not mapped, or `into` has less room than all have bytes.
pub fn read(pid: u32, places: &[Place], into: &mut [u8]) -> io::Result<()> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
    let mut rest = into;
    for places in places.chunks(AT_A_TIME) {
        let mut remote = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; AT_A_TIME];
        let mut length = 0_usize;
        for (vector, place) in remote.iter_mut().zip(places) {
            let at = usize::try_from(place.at).map_err(|_| io::Error::from_raw_os_error(libc::EFAULT))?;
            *vector = libc::iovec { iov_base: std::ptr::without_provenance_mut(at), iov_len: place.len };
            length = length.saturating_add(place.len);
        }
        let room = std::mem::take(&mut rest);
        let Some((now, later)) = room.split_at_mut_checked(length) else {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        };
        rest = later;
        let local = libc::iovec { iov_base: now.as_mut_ptr().cast(), iov_len: length };
        // SAFETY: the kernel writes `length` bytes at most, to memory that is ours for the time of the call; addresses of the
        // other process are looked up in its memory only.
        let got = unsafe {
            libc::process_vm_readv(pid, &raw const local, 1, remote.as_ptr(), places.len() as libc::c_ulong, 0)
        };
        if got < 0 {
            return Err(io::Error::last_os_error());
        }
        if got.unsigned_abs() != length {
            return Err(io::Error::from_raw_os_error(libc::EFAULT));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_in_their_order_however_many_they_are() {
        let words: Vec<u32> = (0..1000).collect();
        let places: Vec<Place> = words.iter().rev().map(|word| Place { at: &raw const *word as u64, len: 4 }).collect();
        let mut into = vec![0; 4000];
        read(std::process::id(), &places, &mut into).unwrap();
        let read_back: Vec<u32> = into.chunks(4).map(|bytes| u32::from_ne_bytes(bytes.try_into().unwrap())).collect();
        assert_eq!(read_back, (0..1000).rev().collect::<Vec<_>>());
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let mut into = [0; 8];
        let own = std::process::id();
        assert!(read(own, &[Place { at: 8, len: 8 }], &mut into).is_err());
        assert!(read(own, &[Place { at: &raw const into as u64, len: 9 }], &mut [0; 8]).is_err());
        assert!(read(u32::MAX, &[Place { at: 8, len: 8 }], &mut into).is_err());
    }
}
