//! Names of figures of the tables `gpu` and `gpu_process` in NVIDIA's tools. Others stay metrics of the tool's name.

use fenxi_model::{
    Micros, Place,
    catalog::{gpu, gpu_process},
    place::F64,
};

use crate::Out;

/// Names of a figure in base units, its column, and by what it is multiplied.
type Figure = (&'static [&'static str], Place<gpu::Schema, F64>, f64);

/// A share of cycles, from 0 to 1; what is `Active` or not, as 1 or 0.
const PARTS: f64 = 100.0;
const MEGA: f64 = 1e6;
const MIB: f64 = 1_048_576.0;

/// Figures of `nvidia-smi`: of `--query-gpu` and `-q`, then the short ones of `dmon`. Of several that fill one column the largest counts.
pub(super) const NVIDIA_SMI: &[Figure] = &[
    (&["utilization.gpu", "sm"], gpu::util, 1.0),
    (&["utilization.memory", "mem"], gpu::memory_util, 1.0),
    (&["utilization.encoder", "utilization.decoder", "enc", "dec"], gpu::video_util, 1.0),
    (&["memory.used", "fb"], gpu::memory_used_bytes, 1.0),
    (&["memory.total"], gpu::memory_total_bytes, 1.0),
    (&["power.draw", "pwr"], gpu::power_w, 1.0),
    (&["power.limit", "enforced.power.limit"], gpu::power_limit_w, 1.0),
    (&["temperature.gpu", "gtemp", "temp"], gpu::temperature_c, 1.0),
    (&["temperature.memory", "mtemp"], gpu::memory_temperature_c, 1.0),
    (&["clocks.current.sm", "clocks.sm", "pclk"], gpu::clock_hz, 1.0),
    (&["clocks.max.sm"], gpu::clock_limit_hz, 1.0),
    (&["clocks.current.memory", "clocks.mem", "mclk"], gpu::memory_clock_hz, 1.0),
    (&["pcie.rx", "rxpci"], gpu::pcie_rx_bytes_per_s, 1.0),
    (&["pcie.tx", "txpci"], gpu::pcie_tx_bytes_per_s, 1.0),
    (&["pviol"], gpu::throttled_power, 1.0),
    (&["clocks_throttle_reasons.sw_power_cap", "clocks_event_reasons.sw_power_cap"], gpu::throttled_power, PARTS),
    (
        &[
            "tviol",
            "clocks_throttle_reasons.sw_thermal_slowdown",
            "clocks_throttle_reasons.hw_thermal_slowdown",
            "clocks_event_reasons.sw_thermal_slowdown",
            "clocks_event_reasons.hw_thermal_slowdown",
        ],
        gpu::throttled_heat,
        PARTS,
    ),
    (
        &["clocks_throttle_reasons.hw_power_brake_slowdown", "clocks_event_reasons.hw_power_brake_slowdown"],
        gpu::throttled_brake,
        PARTS,
    ),
    (&["clocks_throttle_reasons.sync_boost", "clocks_event_reasons.sync_boost"], gpu::throttled_sync, PARTS),
    (
        &["clocks_throttle_reasons.applications_clocks_setting", "clocks_event_reasons.applications_clocks_setting"],
        gpu::throttled_setting,
        PARTS,
    ),
];

/// Short names of fields of DCGM.
pub(super) const DCGM: &[Figure] = &[
    (&["GPUTL"], gpu::util, 1.0),
    (&["MCUTL"], gpu::memory_util, 1.0),
    (&["ENUTL", "DEUTL"], gpu::video_util, 1.0),
    (&["SMACT"], gpu::sm_active, PARTS),
    (&["SMOCC"], gpu::sm_occupancy, PARTS),
    (&["TENSO"], gpu::tensor_active, PARTS),
    (&["DRAMA"], gpu::dram_active, PARTS),
    (&["PCITX"], gpu::pcie_tx_bytes_per_s, 1.0),
    (&["PCIRX"], gpu::pcie_rx_bytes_per_s, 1.0),
    (&["NVLTX"], gpu::nvlink_tx_bytes_per_s, 1.0),
    (&["NVLRX"], gpu::nvlink_rx_bytes_per_s, 1.0),
    (&["POWER"], gpu::power_w, 1.0),
    (&["TMPTR"], gpu::temperature_c, 1.0),
    (&["MMTMP"], gpu::memory_temperature_c, 1.0),
    (&["SMCLK"], gpu::clock_hz, MEGA),
    (&["MMCLK"], gpu::memory_clock_hz, MEGA),
    (&["FBUSD"], gpu::memory_used_bytes, MIB),
];

/// Figures of a process, in base units.
const OF_PROCESS: &[(&[&str], Place<gpu_process::Schema, F64>)] = &[
    (&["sm"], gpu_process::util),
    (&["mem"], gpu_process::memory_util),
    (&["enc", "dec"], gpu_process::video_util),
    (&["used_gpu_memory", "used_memory", "fb"], gpu_process::memory_bytes),
];

/// The row of one GPU at one moment, as it is read.
#[derive(Debug, Default)]
pub(super) struct GpuRow {
    /// The GPU, and the instance on it.
    pub(super) gpu: Option<String>,
    pub(super) instance: Option<String>,
    pub(super) model: Option<String>,
    pub(super) values: Vec<(Place<gpu::Schema, F64>, f64)>,
}

impl GpuRow {
    /// Takes a figure; false where the table has no column for it.
    pub(super) fn take(&mut self, figures: &[Figure], name: &str, value: f64) -> bool {
        let Some((_, place, factor)) = figures.iter().find(|(names, ..)| names.contains(&name)) else { return false };
        largest(&mut self.values, *place, value * factor);
        true
    }

    /// Writes the row, if it has a figure, and begins another.
    pub(super) fn write(&mut self, t: Micros, dt: Option<f64>, out: &mut Out<'_>) {
        let GpuRow { gpu, instance, model, values } = std::mem::take(self);
        if values.is_empty() {
            return;
        }
        let mut row = out.row(&gpu::TABLE, t, dt);
        row.str(gpu::gpu, gpu.as_deref()).str(gpu::instance, instance.as_deref()).str(gpu::model, model.as_deref());
        for (place, value) in values {
            row.f64(place, value);
        }
    }
}

/// The row of one process on one GPU at one moment.
#[derive(Debug)]
pub(super) struct ProcessRow {
    pub(super) gpu: Option<String>,
    pub(super) pid: i64,
    /// Its name, or the path of its program.
    pub(super) name: Option<String>,
    /// `C`, `G` or `C+G`.
    pub(super) kind: Option<String>,
    pub(super) values: Vec<(Place<gpu_process::Schema, F64>, f64)>,
}

impl ProcessRow {
    /// Takes a figure; false where the table has no column for it.
    pub(super) fn take(&mut self, name: &str, value: f64) -> bool {
        let Some((_, place)) = OF_PROCESS.iter().find(|(names, _)| names.contains(&name)) else { return false };
        largest(&mut self.values, *place, value);
        true
    }

    pub(super) fn write(self, t: Micros, dt: Option<f64>, out: &mut Out<'_>) {
        let comm = self.name.as_deref().map(|name| name.rsplit('/').next().unwrap_or(name));
        let kind = self.kind.as_deref().and_then(|kind| match kind {
            "C" => Some("compute"),
            "G" => Some("graphics"),
            "C+G" => Some("both"),
            _ => None,
        });
        let mut row = out.row(&gpu_process::TABLE, t, dt);
        row.str(gpu_process::gpu, self.gpu.as_deref()).i64(gpu_process::pid, self.pid).str(gpu_process::comm, comm);
        row.str(gpu_process::kind, kind);
        for (place, value) in self.values {
            row.f64(place, value);
        }
    }
}

fn largest<S>(values: &mut Vec<(Place<S, F64>, f64)>, place: Place<S, F64>, value: f64) {
    match values.iter_mut().find(|(known, _)| known.index() == place.index()) {
        Some((_, known)) => *known = known.max(value),
        None => values.push((place, value)),
    }
}
