//! `gpu`: GPUs and who uses them.
//!
//! NVIDIA's are asked through the library of their driver (NVML), which is looked for when a recording begins: the same program
//! runs where there is none. Those of AMD and Intel are read from /sys/class/drm, and their users from /proc/PID/fdinfo.
//! Unknown values are NULL, also where a driver answers 0 for them: a chip that is on has temperature, clock, memory.

mod drm;
mod engines;
mod nvidia;
mod users;
mod xid;

use fenxi_model::{
    Micros, Rows,
    catalog::{gpu, gpu_process, text},
};

use crate::{Collector, Root, Source, SourceError, Spec, Take, Tick};

/// The `gpu` source.
pub static SOURCE: Gpus = Gpus { asked: true };
/// The same where it was not asked for: a machine without a GPU is no reason for a note.
pub static IF_THERE: Gpus = Gpus { asked: false };

static SPEC: Spec = Spec {
    name: "gpu",
    summary: "GPUs: use, clocks and what holds them down, power, memory, errors, processes",
    tables: &[&gpu::TABLE, &gpu_process::TABLE],
    // Drivers renew most figures a few times a second, and some take milliseconds to answer.
    take: Take::Every { seconds: 1 },
    default: true,
    live: true,
};

/// Collects the tables `gpu` and `gpu_process`.
#[derive(Debug)]
pub struct Gpus {
    asked: bool,
}

impl Source for Gpus {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let nvidia = nvidia::find(root);
        let cards = drm::find(root);
        match nvidia {
            Ok(nvidia) => Ok(Box::new(Reader::new(Some(nvidia), cards))),
            Err(_) if !cards.is_empty() => Ok(Box::new(Reader::new(None, cards))),
            // Where its driver is loaded, there is a GPU that is not seen.
            Err(why) if self.asked || nvidia::has_driver(root) => {
                Err(SourceError::Unavailable { what: "a GPU", why: format!("{why}; {}", drm::NONE) })
            }
            Err(_) => Ok(Box::new(Reader::new(None, cards))),
        }
    }
}

/// Facts of a GPU for the whole run: names and values.
type GpuFacts = Vec<(String, String)>;

struct Reader {
    nvidia: Option<nvidia::Nvidia>,
    cards: Option<drm::Cards>,
    reported: bool,
}

impl Reader {
    fn new(nvidia: Option<nvidia::Nvidia>, cards: drm::Cards) -> Reader {
        Reader { nvidia, cards: Some(cards).filter(|cards| !cards.is_empty()), reported: false }
    }

    fn report(&mut self, t: Micros, rows: &mut Rows) {
        self.reported = true;
        let nvidia = self.nvidia.as_ref().map(nvidia::Nvidia::facts);
        let cards = self.cards.as_ref().map(drm::Cards::facts);
        for (name, value) in nvidia.into_iter().chain(cards).flatten() {
            rows.row(&text::TABLE, t, None).str(text::topic, "gpu").str(text::name, &*name).text(text::value, &*value);
        }
    }
}

impl Collector for Reader {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        if !self.reported {
            self.report(tick.t, rows);
        }
        if let Some(nvidia) = &mut self.nvidia {
            nvidia.sample(tick, rows);
        }
        if let Some(cards) = &mut self.cards {
            cards.sample(tick, rows);
        }
        Ok(())
    }

    fn begin_next(&mut self, t: Micros, rows: &mut Rows) {
        self.report(t, rows);
    }
}

/// The figure, unless it is nothing: of what a chip that is on cannot have none of.
fn some(value: f64) -> Option<f64> {
    (value > 0.0).then_some(value)
}

/// Bytes per second that a PCIe link carries in each direction, by the speed of a lane in GT/s.
fn pcie_bytes_per_s(gigatransfers: f64, lanes: f64) -> Option<f64> {
    // Of 10 bits 8 are data up to 5 GT/s, then 128 of 130; from 64 GT/s on 236 of 256 bytes.
    let data = if gigatransfers <= 5.0 {
        0.8
    } else if gigatransfers < 64.0 {
        128.0 / 130.0
    } else {
        236.0 / 256.0
    };
    some(gigatransfers * 1e9 / 8.0 * data * lanes)
}

#[cfg(test)]
mod tests;
