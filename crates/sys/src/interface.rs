//! Which network interface has an address, by getifaddrs(3), which `rustix` lacks.

use std::{
    ffi::CStr,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    ptr,
};

/// The name of the interface of this network namespace that has `address`; None where none has.
///
/// # Errors
/// When the kernel does not list them.
pub fn of_address(address: IpAddr) -> io::Result<Option<String>> {
    let mut list: *mut libc::ifaddrs = ptr::null_mut();
    // SAFETY: the head of a list is written to a variable that outlives the call.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let (mut found, mut next) = (None, list);
    while !next.is_null() && found.is_none() {
        // SAFETY: entries of the list are valid until it is freed below, and so are names; an address that is not null is as long
        // as its family wants.
        unsafe {
            let entry = &*next;
            if address_of(entry.ifa_addr) == Some(address.to_canonical()) {
                found = Some(CStr::from_ptr(entry.ifa_name).to_string_lossy().into_owned());
            }
            next = entry.ifa_next;
        }
    }
    // SAFETY: the list comes from getifaddrs, and nothing points into it any more.
    unsafe { libc::freeifaddrs(list) };
    Ok(found)
}

/// # Safety
/// A pointer that is not null leads to an address of the length of its family.
unsafe fn address_of(address: *const libc::sockaddr) -> Option<IpAddr> {
    if address.is_null() {
        return None;
    }
    // SAFETY: as the caller promises; addresses need not be aligned.
    unsafe {
        match i32::from(ptr::read_unaligned(address).sa_family) {
            libc::AF_INET => {
                let address = ptr::read_unaligned(address.cast::<libc::sockaddr_in>());
                Some(IpAddr::V4(Ipv4Addr::from(address.sin_addr.s_addr.to_ne_bytes())))
            }
            libc::AF_INET6 => {
                let address = ptr::read_unaligned(address.cast::<libc::sockaddr_in6>());
                Some(IpAddr::V6(Ipv6Addr::from(address.sin6_addr.s6_addr)).to_canonical())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::of_address;

    #[test]
    fn the_loopback_address_is_that_of_lo() {
        assert_eq!(of_address("127.0.0.1".parse().unwrap()).unwrap().as_deref(), Some("lo"));
        assert_eq!(of_address("192.0.2.77".parse().unwrap()).unwrap(), None);
    }
}
