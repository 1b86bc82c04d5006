//! Users by name and by number, as the C library finds them: in /etc/passwd, or where else the system keeps them.

use std::{
    ffi::{CStr, CString},
    mem::MaybeUninit,
    ptr,
};

/// Bytes for the texts of an entry at first, and at most.
const ROOM: usize = 16 << 10;
const MOST: usize = 1 << 20;

/// The number of the user who is called `name`; None where none is known.
pub fn uid(name: &str) -> Option<u32> {
    let name = CString::new(name).ok()?;
    let ask = |entry, texts, n, found| {
        // SAFETY: the name ends in NUL; the rest is of `entry`.
        unsafe { libc::getpwnam_r(name.as_ptr(), entry, texts, n, found) }
    };
    entry(ask, |entry| Some(entry.pw_uid))
}

/// The name of the user `uid`; None where none is known.
pub fn name(uid: u32) -> Option<String> {
    let ask = |entry, texts, n, found| {
        // SAFETY: the pointers are those of `entry`.
        unsafe { libc::getpwuid_r(uid, entry, texts, n, found) }
    };
    entry(ask, |entry| {
        // SAFETY: the name of an entry that was found is null or a text that ends in NUL.
        (!entry.pw_name.is_null()).then(|| unsafe { CStr::from_ptr(entry.pw_name) }.to_string_lossy().into_owned())
    })
}

/// The value that `take` reads from the entry found by `ask`, which is given room for an entry, for its texts and
/// their number of bytes, and for a pointer to the entry, null when there is none.
fn entry<T>(
    ask: impl Fn(*mut libc::passwd, *mut libc::c_char, usize, *mut *mut libc::passwd) -> libc::c_int,
    take: impl FnOnce(&libc::passwd) -> Option<T>,
) -> Option<T> {
    let mut texts: Vec<libc::c_char> = vec![0; ROOM];
    let mut entry = MaybeUninit::uninit();
    let mut found = ptr::null_mut();
    loop {
        match ask(entry.as_mut_ptr(), texts.as_mut_ptr(), texts.len(), &raw mut found) {
            // SAFETY: it is null, or points to `entry`, which was written, with its texts in `texts`.
            0 => return unsafe { found.as_ref() }.and_then(take),
            libc::ERANGE if texts.len() < MOST => texts.resize(texts.len() * 2, 0),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{name, uid};

    #[test]
    fn root_is_found_both_ways_and_who_does_not_exist_is_not() {
        assert_eq!((uid("root"), name(0).as_deref()), (Some(0), Some("root")));
        assert_eq!((uid("no such user"), uid("ro\0ot"), name(u32::MAX - 7)), (None, None, None));
    }
}
