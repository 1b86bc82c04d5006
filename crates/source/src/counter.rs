//! Counter-to-rate conversion of kernel counters, done here and only here.

/// Width of a counter in bits: it wraps round to 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 64 bits: it never wraps in practice, so a step back is a reset.
    Bits64,
    /// 32 bits, or 64 on other kernels: a step back from near 2^32 is a wrap.
    Bits32,
}

/// The previous value of one counter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counter {
    last: Option<u64>,
}

/// Change of a counter between two samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// No earlier value to compare with.
    First,
    /// It grew by so much.
    By(u64),
    /// It went back: the device or driver was reset.
    Reset,
}

impl Counter {
    /// Takes the counter's value now and returns the difference to the value before.
    pub fn step(&mut self, now: u64, width: Width) -> Step {
        let Some(last) = self.last.replace(now) else { return Step::First };
        if now >= last {
            return Step::By(now - last);
        }
        let wrapped = u64::from(u32::MAX) + 1 - last.min(u64::from(u32::MAX)) + now;
        // A wrap of a 32-bit counter: it was in the upper half and is now in the lower one.
        let near_wrap = last <= u64::from(u32::MAX) && last >= 1 << 31 && now < 1 << 31;
        if width == Width::Bits32 && near_wrap { Step::By(wrapped) } else { Step::Reset }
    }

    /// Growth per second over `dt`; None at the first value, after a reset, or without an interval.
    pub fn rate(&mut self, now: u64, width: Width, dt: Option<f64>) -> Option<f64> {
        match (self.step(now, width), dt) {
            (Step::By(n), Some(dt)) if dt > 0.0 => Some(n as f64 / dt),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Counter, Step, Width};

    fn steps(width: Width, values: &[u64]) -> Vec<Step> {
        let mut counter = Counter::default();
        values.iter().map(|v| counter.step(*v, width)).collect()
    }

    #[test]
    fn a_counter_grows_wraps_or_is_reset() {
        use Step::{By, First, Reset};
        assert_eq!(steps(Width::Bits64, &[5, 8, 8, 2]), [First, By(3), By(0), Reset]);
        assert_eq!(steps(Width::Bits32, &[u64::from(u32::MAX) - 1, 3]), [First, By(5)]);
        assert_eq!(steps(Width::Bits32, &[1000, 3]), [First, Reset]);
        assert_eq!(steps(Width::Bits32, &[1 << 40, 3]), [First, Reset]);
    }

    #[test]
    fn without_an_interval_there_is_no_rate() {
        let mut counter = Counter::default();
        assert_eq!(counter.rate(5, Width::Bits64, None), None);
        assert_eq!(counter.rate(9, Width::Bits64, Some(2.0)), Some(2.0));
        assert_eq!(counter.rate(9, Width::Bits64, Some(0.0)), None);
    }
}
