//! NVIDIA's GPUs, asked through NVML.

mod card;
mod held;
mod profiled;

use std::{ffi::OsStr, sync::OnceLock};

use fenxi_model::Rows;
use fenxi_procfs::Processes;
use nvml_wrapper::{Nvml, error::NvmlError};

use self::card::Card;
use super::GpuFacts;
use crate::{Root, Tick};

/// The library, loaded once for the life of the program: it is costly to begin, and several recordings may use it.
static LIBRARY: OnceLock<&'static Nvml> = OnceLock::new();

/// The GPUs of this machine.
///
/// # Errors
/// Why there are none.
pub(super) fn find(root: &Root) -> Result<Nvidia, String> {
    if !root.is_live() {
        return Err("NVIDIA's are asked through a library, and these files are a saved copy".to_owned());
    }
    // A program without a dynamic loader can load no library.
    if cfg!(target_feature = "crt-static") {
        return Err("the static program cannot load NVIDIA's library; the other one can".to_owned());
    }
    let nvml = match LIBRARY.get() {
        Some(nvml) => nvml,
        None => {
            let nvml = load(None)?;
            LIBRARY.get_or_init(|| nvml)
        }
    };
    Nvidia::of(nvml, root)
}

/// Loads the library, by default that of the driver, and keeps it loaded.
fn load(path: Option<&OsStr>) -> Result<&'static Nvml, String> {
    let mut builder = Nvml::builder();
    if let Some(path) = path {
        builder.lib_path(path);
    }
    match builder.init() {
        Ok(nvml) => Ok(Box::leak(Box::new(nvml))),
        Err(NvmlError::LibloadingError(_)) => {
            Err("there is no library of NVIDIA's driver (libnvidia-ml.so.1)".to_owned())
        }
        Err(error) => Err(format!("NVIDIA's library refuses: {error}")),
    }
}

/// Whether the driver is loaded.
pub(super) fn has_driver(root: &Root) -> bool {
    root.is_dir("/sys/module/nvidia")
}

pub(super) struct Nvidia {
    nvml: &'static Nvml,
    cards: Vec<Card>,
    processes: Processes,
}

impl Nvidia {
    fn of(nvml: &'static Nvml, root: &Root) -> Result<Nvidia, String> {
        let count = nvml.device_count().map_err(|error| format!("NVIDIA's library lists no GPU: {error}"))?;
        let cards: Vec<Card> = (0..count).flat_map(|index| Card::with_instances(nvml, index)).collect();
        if cards.is_empty() {
            return Err("NVIDIA's library lists no GPU".to_owned());
        }
        Ok(Nvidia { nvml, cards, processes: Processes::of(root) })
    }

    pub(super) fn facts(&self) -> GpuFacts {
        let mut facts = Vec::new();
        if let Ok(version) = self.nvml.sys_driver_version() {
            facts.push(("driver_version".to_owned(), version));
        }
        if let Ok(version) = self.nvml.sys_cuda_driver_version() {
            facts.push(("cuda_version".to_owned(), format!("{}.{}", version / 1000, version % 1000 / 10)));
        }
        self.cards.iter().for_each(|card| card.facts(&mut facts));
        facts
    }

    pub(super) fn sample(&mut self, tick: Tick, rows: &mut Rows) {
        for card in &mut self.cards {
            card.sample(tick, rows);
            card.processes(tick, &self.processes, rows);
            card.errors(tick, rows);
        }
    }
}

#[cfg(test)]
impl Nvidia {
    /// The GPUs of the library at a path.
    pub(super) fn at(path: &std::path::Path) -> Nvidia {
        let nvml = load(Some(path.as_os_str())).unwrap();
        Nvidia::of(nvml, &Root::live()).unwrap()
    }
}
