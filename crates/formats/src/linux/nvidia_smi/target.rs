//! The row of `gpu` or `gpu_process` that a line becomes.

use fenxi_model::Micros;

use super::super::gpus::{GpuRow, NVIDIA_SMI, ProcessRow};
use crate::Out;

/// Reasons by their bits, and the names that `nvidia-smi` has for each.
const REASONS: [(u64, &str); 6] = [
    (0x4, "clocks_event_reasons.sw_power_cap"),
    (0x20, "clocks_event_reasons.sw_thermal_slowdown"),
    (0x40, "clocks_event_reasons.hw_thermal_slowdown"),
    (0x80, "clocks_event_reasons.hw_power_brake_slowdown"),
    (0x10, "clocks_event_reasons.sync_boost"),
    (0x2, "clocks_event_reasons.applications_clocks_setting"),
];

/// A line as it is read: of a process, where it has one.
#[derive(Debug, Default)]
pub(super) struct Target {
    of_gpu: GpuRow,
    of_process: Option<ProcessRow>,
}

impl Target {
    /// Takes what the line is of; the GPU comes first.
    pub(super) fn label(&mut self, name: &str, value: &str) {
        match (name, &mut self.of_process) {
            ("gpu", _) => self.of_gpu.gpu = Some(value.to_owned()),
            ("model", _) => self.of_gpu.model = Some(value.to_owned()),
            ("pid", process) => {
                let gpu = self.of_gpu.gpu.clone();
                let of = |pid| ProcessRow { gpu, pid, name: None, kind: None, values: Vec::new() };
                *process = value.parse().ok().map(of);
            }
            ("process", Some(process)) => process.name = Some(value.to_owned()),
            ("type", Some(process)) => process.kind = Some(value.to_owned()),
            _ => {}
        }
    }

    /// Takes a figure in base units; false where there is no column for it.
    pub(super) fn take(&mut self, name: &str, value: f64) -> bool {
        match &mut self.of_process {
            Some(process) => process.take(name, value),
            None => self.of_gpu.take(NVIDIA_SMI, name, value),
        }
    }

    /// Takes the reasons for which clocks are held down, as bits.
    pub(super) fn reasons(&mut self, bits: f64) {
        for (bit, name) in REASONS {
            self.take(name, if bits as u64 & bit == 0 { 0.0 } else { 1.0 });
        }
    }

    pub(super) fn write(mut self, t: Micros, dt: Option<f64>, out: &mut Out<'_>) {
        match self.of_process {
            Some(process) => process.write(t, dt, out),
            None => self.of_gpu.write(t, dt, out),
        }
    }
}
