//! Figures of the GPU's own performance monitoring (GPM), which GPUs have since Hopper: shares of cycles between two samples.

use fenxi_model::{Place, Row, catalog::gpu, place::F64};
use nvml_wrapper::{Device, GpmSample, enums::gpm::GpmMetricId, gpm::gpm_metrics_get};

/// Metrics, their columns, and the factors of their values: amounts are in MiB.
const METRICS: [(GpmMetricId, Place<gpu::Schema, F64>, f64); 8] = [
    (GpmMetricId::SmUtil, gpu::sm_active, 1.0),
    (GpmMetricId::SmOccupancy, gpu::sm_occupancy, 1.0),
    (GpmMetricId::AnyTensorUtil, gpu::tensor_active, 1.0),
    (GpmMetricId::DramBwUtil, gpu::dram_active, 1.0),
    (GpmMetricId::PcieRxPerSec, gpu::pcie_rx_bytes_per_s, 1_048_576.0),
    (GpmMetricId::PcieTxPerSec, gpu::pcie_tx_bytes_per_s, 1_048_576.0),
    (GpmMetricId::NvlinkTotalRxPerSec, gpu::nvlink_rx_bytes_per_s, 1_048_576.0),
    (GpmMetricId::NvlinkTotalTxPerSec, gpu::nvlink_tx_bytes_per_s, 1_048_576.0),
];
const SM_ACTIVE: usize = 0;
const PCIE: std::ops::Range<usize> = 4..6;

/// The monitoring of one GPU or instance.
pub(super) struct Profiled {
    before: Option<GpmSample<'static>>,
}

/// Values in the order of [`METRICS`].
pub(super) struct Values([Option<f64>; METRICS.len()]);

impl Profiled {
    /// None where it has no such monitoring.
    pub(super) fn of(device: &Device<'static>) -> Option<Profiled> {
        device.gpm_support().is_ok_and(|supported| supported).then_some(Profiled { before: None })
    }

    /// Values since the sample before; of an instance its GPU is asked, with the number of the instance.
    pub(super) fn read(&mut self, device: &Device<'static>, instance: Option<u32>) -> Option<Values> {
        let now = match instance {
            None => device.gpm_sample(),
            Some(instance) => device.gpm_mig_sample(instance),
        };
        let before = std::mem::replace(&mut self.before, now.ok())?;
        let now = self.before.as_ref()?;
        let values = gpm_metrics_get(now.nvml(), &before, now, &METRICS.map(|(id, ..)| id)).ok()?;
        let mut read = [None; METRICS.len()];
        for ((value, (.., factor)), read) in values.into_iter().zip(&METRICS).zip(&mut read) {
            *read = value.ok().map(|value| value.value * factor).filter(|value| value.is_finite() && *value >= 0.0);
        }
        Some(Values(read))
    }
}

impl Values {
    /// Whether all of it is 0 while a kernel ran: then somebody else has the counters.
    pub(super) fn is_empty_beside(&self, util: Option<f64>) -> bool {
        util.is_some_and(|util| util > 0.0)
            && self.0[SM_ACTIVE] == Some(0.0)
            && self.0.iter().flatten().all(|value| *value == 0.0)
    }

    /// Whether bytes over PCIe are known.
    pub(super) fn has_pcie(&self) -> bool {
        self.0[PCIE].iter().all(Option::is_some)
    }

    pub(super) fn fill(&self, row: &mut Row<'_, gpu::Schema>) {
        for (value, (_, place, _)) in self.0.iter().zip(&METRICS) {
            row.f64(*place, *value);
        }
    }
}
