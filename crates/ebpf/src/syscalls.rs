//! System call names and numbers.

use std::borrow::Cow;

/// Added to the number of a call that was made as a 32-bit program makes it (`IS_32_BIT` of `procsystime.bpf.c`).
const IS_32_BIT: u32 = 1 << 31;

/// The name of system call `number` of this machine's architecture. Those of 32-bit programs have their own numbers, and
/// `32-bit` before their names.
pub(crate) fn name(number: u32) -> Cow<'static, str> {
    let (own, is_32_bit) = (number & !IS_32_BIT, number & IS_32_BIT != 0);
    let place = usize::try_from(own).ok();
    let known = if is_32_bit { place.and_then(name_32_bit) } else { place.and_then(name_64_bit) };
    match (known, is_32_bit) {
        (Some(name), false) => name.into(),
        (None, false) => format!("syscall {own}").into(),
        (Some(name), true) => format!("32-bit {name}").into(),
        (None, true) => format!("32-bit syscall {own}").into(),
    }
}

fn name_64_bit(number: usize) -> Option<&'static str> {
    syscalls::Sysno::new(number).map(|call| call.name())
}

#[cfg(target_arch = "x86_64")]
fn name_32_bit(number: usize) -> Option<&'static str> {
    syscalls::x86::Sysno::new(number).map(|call| call.name())
}

#[cfg(not(target_arch = "x86_64"))]
fn name_32_bit(_: usize) -> Option<&'static str> {
    None
}

/// The number of the system call of this name; None when this architecture has none.
pub(crate) fn number(name: &str) -> Option<u32> {
    let call: syscalls::Sysno = name.parse().ok()?;
    u32::try_from(call.id()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_number_of_a_32_bit_program_is_another_call() {
        assert_eq!([name(20), name(IS_32_BIT | 20)], ["writev", "32-bit getpid"]);
        assert_eq!([name(100_000), name(IS_32_BIT | 100_000)], ["syscall 100000", "32-bit syscall 100000"]);
    }
}
