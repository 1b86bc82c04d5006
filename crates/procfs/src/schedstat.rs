//! `schedstat` of a process or a thread, as the scheduler counts.

/// Nanoseconds on a CPU, nanoseconds runnable without one, and turns on a CPU; None where the text has no such numbers.
pub fn times(text: &str) -> Option<[u64; 3]> {
    let mut numbers = text.split_ascii_whitespace().map(|number| number.parse().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

#[cfg(test)]
mod tests {
    use super::times;

    #[test]
    fn three_numbers_are_read_and_fewer_are_none() {
        assert_eq!(times("12 34 5\n"), Some([12, 34, 5]));
        for text in ["", "1 2", "1 x 3", "-1 2 3"] {
            assert_eq!(times(text), None, "{text}");
        }
    }
}
