//! Reasons that hold the clocks of a GPU down, and how long.

use fenxi_model::{Place, Row, catalog::gpu, place::F64};
use nvml_wrapper::{Device, bitmasks::device::ThrottleReasons, enum_wrappers::device::PerformancePolicy};

use crate::{Counter, Step, Tick, Width};

/// One reason: its column, its signs at a moment, and the counter of its time where there is one.
struct Reason {
    place: Place<gpu::Schema, F64>,
    signs: ThrottleReasons,
    policy: Option<PerformancePolicy>,
}

const REASONS: [Reason; 5] = [
    Reason {
        place: gpu::throttled_power,
        signs: ThrottleReasons::SW_POWER_CAP,
        policy: Some(PerformancePolicy::Power),
    },
    Reason {
        place: gpu::throttled_heat,
        signs: ThrottleReasons::SW_THERMAL_SLOWDOWN.union(ThrottleReasons::HW_THERMAL_SLOWDOWN),
        policy: Some(PerformancePolicy::Thermal),
    },
    Reason { place: gpu::throttled_brake, signs: ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, policy: None },
    Reason {
        place: gpu::throttled_sync,
        signs: ThrottleReasons::SYNC_BOOST,
        policy: Some(PerformancePolicy::SyncBoost),
    },
    Reason { place: gpu::throttled_setting, signs: ThrottleReasons::APPLICATIONS_CLOCKS_SETTING, policy: None },
];

/// The reasons of one GPU.
#[derive(Default)]
pub(super) struct Held {
    counters: [Violation; REASONS.len()],
}

/// The time that a reason was in force.
#[derive(Default)]
struct Violation {
    held_ns: Counter,
    until_us: Counter,
    /// The counter does not move while the reason is in force: it counts nothing here.
    is_dead: bool,
}

/// The shares of an interval in percent, in the order of [`REASONS`].
pub(super) struct Shares([Option<f64>; REASONS.len()]);

impl Held {
    /// Reads the reasons.
    pub(super) fn read(&mut self, device: &Device<'_>, tick: Tick) -> Shares {
        let now = device.current_throttle_reasons().ok();
        let mut shares = Shares([None; REASONS.len()]);
        for ((reason, counter), share) in REASONS.iter().zip(&mut self.counters).zip(&mut shares.0) {
            let counted = reason.policy.and_then(|policy| counter.share(device, policy, tick));
            let sign = now.map(|now| if now.intersects(reason.signs) { 100.0 } else { 0.0 });
            counter.is_dead |= sign == Some(100.0) && counted == Some(0.0);
            *share = counted.filter(|_| !counter.is_dead).or(sign);
        }
        shares
    }
}

impl Shares {
    pub(super) fn fill(&self, row: &mut Row<'_, gpu::Schema>) {
        for (reason, share) in REASONS.iter().zip(&self.0) {
            row.f64(reason.place, *share);
        }
    }
}

impl Violation {
    /// The share of the interval in percent.
    fn share(&mut self, device: &Device<'_>, policy: PerformancePolicy, tick: Tick) -> Option<f64> {
        let now = device.violation_status(policy).ok()?;
        let held = tick.step(&mut self.held_ns, now.violation_time, Width::Bits64);
        let passed = tick.step(&mut self.until_us, now.reference_time, Width::Bits64);
        match (held, passed) {
            (Step::By(held_ns), Step::By(passed_us)) if passed_us > 0 => {
                Some((held_ns as f64 / (passed_us as f64 * 1e3) * 100.0).min(100.0))
            }
            _ => None,
        }
    }
}
