//! Clocks of a recording, all in one place.

use fenxi_model::Micros;
use rustix::time::{ClockId, clock_gettime};

/// Wall-clock time, which may step.
pub fn wall() -> Micros {
    let now = clock_gettime(ClockId::Realtime);
    Micros(now.tv_sec * 1_000_000 + now.tv_nsec / 1_000)
}

/// Seconds on a clock that never steps.
pub fn monotonic() -> f64 {
    seconds(ClockId::Monotonic)
}

/// CPU seconds that this thread has used.
pub fn thread_cpu() -> f64 {
    seconds(ClockId::ThreadCPUTime)
}

/// CPU seconds that this process has used, all threads.
pub fn process_cpu() -> f64 {
    seconds(ClockId::ProcessCPUTime)
}

fn seconds(id: ClockId) -> f64 {
    let now = clock_gettime(id);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Gives how far the wall clock stepped against the steady one since the last look.
#[derive(Debug)]
pub struct StepWatch {
    offset_s: f64,
    seen_at: f64,
}

/// Steps below this are noise of reading two clocks one after the other.
const MIN_STEP_S: f64 = 0.01;
/// Clock discipline may slew by 500 parts per million; twice that is still no step.
const SLEW_PER_S: f64 = 0.001;

impl StepWatch {
    /// Begins watching: the wall clock shows `wall` when the steady one shows `steady` seconds.
    pub fn new(wall: Micros, steady: f64) -> StepWatch {
        StepWatch { offset_s: offset(wall, steady), seen_at: steady }
    }

    /// Seconds by which the wall clock stepped since the last call; None when it did not.
    pub fn step(&mut self, wall: Micros, steady: f64) -> Option<f64> {
        let now = offset(wall, steady);
        let step = now - self.offset_s;
        let allowed = MIN_STEP_S + SLEW_PER_S * (steady - self.seen_at);
        self.offset_s = now;
        self.seen_at = steady;
        (step.abs() > allowed).then_some(step)
    }
}

fn offset(wall: Micros, steady: f64) -> f64 {
    wall.0 as f64 / 1e6 - steady
}

#[cfg(test)]
mod tests {
    use super::StepWatch;
    use fenxi_model::Micros;

    #[test]
    fn a_step_is_told_from_slewing() {
        let mut watch = StepWatch::new(Micros(1_000_000_000), 10.0);
        assert_eq!(watch.step(Micros(1_001_000_400), 11.0), None);
        let back = watch.step(Micros(998_000_400), 12.0).unwrap();
        assert!((back + 4.0).abs() < 1e-6, "{back}");
        assert_eq!(watch.step(Micros(999_000_400), 13.0), None);
    }
}
