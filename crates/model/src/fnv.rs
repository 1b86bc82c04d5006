//! FNV-1a: a hash that is stable over versions and machines, which `std`'s hasher does not promise.

/// FNV-1a with 64 bits over `bytes`.
pub fn fnv1a(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
