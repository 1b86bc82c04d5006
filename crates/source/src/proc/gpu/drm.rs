//! GPUs of AMD and Intel, as their drivers (amdgpu, i915, xe) show them in /sys/class/drm.

use fenxi_model::{Row, Rows, catalog::gpu};

use super::{GpuFacts, pcie_bytes_per_s, some, users::Users};
use crate::{Counter, Root, Step, Tick, Width, proc::facts::names};

const DRM: &str = "/sys/class/drm";
/// The message where there is none.
pub(super) const NONE: &str = "/sys/class/drm has no card of AMD or Intel";
/// Vendors by their number on the PCI bus.
const VENDORS: [(&str, &str); 2] = [("0x1002", "AMD"), ("0x8086", "Intel")];
/// A reason of Intel's: the files of i915 and of xe that are 1 while it holds clocks down.
const POWER: [&str; 3] = ["pl1", "pl2", "pl4"];
const HEAT: [&str; 5] = ["thermal", "prochot", "ratl", "vr_thermalert", "soc_thermal"];

/// The GPUs of AMD and Intel at `root`.
pub(super) fn find(root: &Root) -> Cards {
    let is_card = |name: &&String| name.strip_prefix("card").is_some_and(|n| n.parse::<u32>().is_ok());
    let all = names(root, DRM);
    let cards: Vec<Card> = all.iter().filter(is_card).filter_map(|name| Card::of(root, name)).collect();
    Cards { root: root.clone(), users: Users::new(root), cards }
}

pub(super) struct Cards {
    root: Root,
    users: Users,
    cards: Vec<Card>,
}

impl Cards {
    pub(super) fn is_empty(&self) -> bool {
        self.cards.is_empty()
    }

    pub(super) fn facts(&self) -> GpuFacts {
        let mut facts = Vec::new();
        for card in &self.cards {
            let known =
                [("name", Some(&card.model)), ("driver", card.driver.as_ref()), ("pci.bus_id", card.pci.as_ref())];
            let named =
                |(fact, value): (&str, Option<&String>)| Some((format!("gpu={} {fact}", card.name), value?.clone()));
            facts.extend(known.into_iter().filter_map(named));
        }
        facts
    }

    pub(super) fn sample(&mut self, tick: Tick, rows: &mut Rows) {
        let used = self.users.sample(tick, &self.cards, rows);
        for (card, used) in self.cards.iter_mut().zip(used) {
            card.sample(&self.root, tick, used, rows);
        }
    }
}

/// One GPU.
pub(super) struct Card {
    /// Its name in /sys/class/drm.
    pub(super) name: String,
    /// Its address, by which the files of processes name it.
    pub(super) pci: Option<String>,
    model: String,
    driver: Option<String>,
    device: String,
    /// The folder of its sensors.
    hwmon: Option<String>,
    /// The folder of its clocks: of i915, or of xe.
    clocks: Option<Clocks>,
    /// Files of temperatures: of the chip and of the memory.
    temperatures: [Option<String>; 2],
    energy_uj: Counter,
    ecc: [Counter; 2],
}

/// Where a driver of Intel shows clocks.
struct Clocks {
    now: String,
    limit: String,
    /// Beginning of the paths of files of reasons.
    reasons: String,
}

impl Card {
    /// The GPU of this name; None of one of another vendor, or of which there is nothing to read.
    fn of(root: &Root, name: &str) -> Option<Card> {
        let device = format!("{DRM}/{name}/device");
        let read = |file: &str| root.read_text(&format!("{device}/{file}")).filter(|text| !text.is_empty());
        let vendor = read("vendor")?;
        let (_, vendor) = VENDORS.iter().find(|(number, _)| *number == vendor)?;
        let last = |link: &str| Some(root.read_link(link)?.file_name()?.to_string_lossy().into_owned());
        let hwmon = names(root, &format!("{device}/hwmon")).first().map(|name| format!("{device}/hwmon/{name}"));
        let clocks = Clocks::of(root, &format!("{DRM}/{name}"));
        if clocks.is_none() && read("gpu_busy_percent").or_else(|| read("mem_info_vram_total")).is_none() {
            return None;
        }
        let temperatures = hwmon.as_ref().map_or([None, None], |folder| temperatures(root, folder));
        Some(Card {
            name: name.to_owned(),
            pci: last(&device),
            model: read("product_name").unwrap_or_else(|| format!("{vendor} {}", read("device").unwrap_or_default())),
            driver: last(&format!("{device}/driver")),
            device,
            hwmon,
            clocks,
            temperatures,
            energy_uj: Counter::default(),
            ecc: [Counter::default(); 2],
        })
    }

    fn sample(&mut self, root: &Root, tick: Tick, used: Option<f64>, rows: &mut Rows) {
        let number = |path: String| -> Option<f64> { root.read_text(&path)?.parse().ok() };
        let own = |file: &str| number(format!("{}/{file}", self.device));
        let sensor = |file: &str| number(format!("{}/{file}", self.hwmon.as_deref()?));
        let energy_uj = sensor("energy1_input").and_then(|now| grown(tick, &mut self.energy_uj, now));
        let errors = root.read_text(&format!("{}/ras/umc_err_count", self.device)).unwrap_or_default();
        let [corrected, uncorrected] = &mut self.ecc;
        let corrected = errors_in(&errors, "ce").and_then(|now| grown(tick, corrected, now));
        let uncorrected = errors_in(&errors, "ue").and_then(|now| grown(tick, uncorrected, now));
        let Some(dt) = tick.dt.filter(|dt| *dt > 0.0 && !tick.since_boot) else { return };

        let mut row = rows.row(&gpu::TABLE, tick.t, dt);
        row.str(gpu::gpu, &*self.name).str(gpu::model, &*self.model);
        row.f64(gpu::util, own("gpu_busy_percent").or(used)).f64(gpu::memory_util, own("mem_busy_percent"));
        row.f64(gpu::ecc_corrected, corrected).f64(gpu::ecc_uncorrected, uncorrected);
        let total = own("mem_info_vram_total").and_then(some);
        row.f64(gpu::memory_total_bytes, total);
        row.f64(gpu::memory_used_bytes, own("mem_info_vram_used").filter(|_| total.is_some()));
        // Microwatts.
        let power = energy_uj.map(|uj| uj / dt).or_else(|| sensor("power1_average")).or_else(|| sensor("power1_input"));
        row.f64(gpu::power_w, power.and_then(some).map(|uw| uw / 1e6));
        let limit = sensor("power1_cap").or_else(|| sensor("power1_max"));
        row.f64(gpu::power_limit_w, limit.and_then(some).map(|uw| uw / 1e6));
        // Thousandths of a degree.
        let degrees = |value: Option<f64>| value.and_then(some).map(|value| value / 1e3);
        let [chip, memory] = self.temperatures.each_ref();
        let read = |file: &Option<String>, what: &str| degrees(number(format!("{}_{what}", file.as_ref()?)));
        row.f64(gpu::temperature_c, read(chip, "input")).f64(gpu::memory_temperature_c, read(memory, "input"));
        row.f64(gpu::slowdown_c, read(chip, "crit"));
        self.clocks(root, &mut row);
        let speed = root.read_text(&format!("{}/current_link_speed", self.device));
        let speed = speed.as_deref().and_then(|text| text.split(' ').next()?.parse().ok());
        let link = speed.zip(own("current_link_width")).and_then(|(speed, lanes)| pcie_bytes_per_s(speed, lanes));
        row.f64(gpu::pcie_limit_bytes_per_s, link);
    }

    fn clocks(&self, root: &Root, row: &mut Row<'_, gpu::Schema>) {
        let number = |path: &str| -> Option<f64> { root.read_text(path)?.parse().ok() };
        if let Some(clocks) = &self.clocks {
            row.f64(gpu::clock_hz, number(&clocks.now).and_then(some).map(|mhz| mhz * 1e6));
            row.f64(gpu::clock_limit_hz, number(&clocks.limit).and_then(some).map(|mhz| mhz * 1e6));
            let share = |reasons: &[&str]| {
                let signs: Vec<f64> =
                    reasons.iter().filter_map(|reason| number(&format!("{}{reason}", clocks.reasons))).collect();
                signs.into_iter().reduce(f64::max).map(|sign| if sign > 0.0 { 100.0 } else { 0.0 })
            };
            row.f64(gpu::throttled_power, share(&POWER)).f64(gpu::throttled_heat, share(&HEAT));
            return;
        }
        for (table, now, limit) in
            [("pp_dpm_sclk", gpu::clock_hz, Some(gpu::clock_limit_hz)), ("pp_dpm_mclk", gpu::memory_clock_hz, None)]
        {
            let levels = root.read_text(&format!("{}/{table}", self.device)).unwrap_or_default();
            let (current, highest) = clocks_in(&levels);
            row.f64(now, current);
            if let Some(limit) = limit {
                row.f64(limit, highest);
            }
        }
    }
}

impl Clocks {
    fn of(root: &Root, card: &str) -> Option<Clocks> {
        let i915 = format!("{card}/gt/gt0");
        let xe = format!("{card}/device/tile0/gt0/freq0");
        let ways = [
            Clocks {
                now: format!("{i915}/rps_act_freq_mhz"),
                limit: format!("{i915}/rps_RP0_freq_mhz"),
                reasons: format!("{i915}/throttle_reason_"),
            },
            Clocks {
                now: format!("{card}/gt_act_freq_mhz"),
                limit: format!("{card}/gt_RP0_freq_mhz"),
                reasons: format!("{card}/throttle_reason_"),
            },
            Clocks {
                now: format!("{xe}/act_freq"),
                limit: format!("{xe}/rp0_freq"),
                reasons: format!("{xe}/throttle/reason_"),
            },
        ];
        ways.into_iter().find(|clocks| root.exists(&clocks.now))
    }
}

/// Beginnings of the paths of files of the temperatures of chip and memory.
fn temperatures(root: &Root, hwmon: &str) -> [Option<String>; 2] {
    let begins: Vec<String> = names(root, hwmon)
        .iter()
        .filter_map(|name| name.strip_prefix("temp")?.strip_suffix("_input").map(|n| format!("{hwmon}/temp{n}")))
        .collect();
    let label = |begin: &String| root.read_text(&format!("{begin}_label")).unwrap_or_default();
    let named = |names: &[&str]| begins.iter().find(|begin| names.contains(&label(begin).as_str())).cloned();
    let chip = named(&["edge", "pkg"]).or_else(|| begins.iter().find(|begin| label(begin).is_empty()).cloned());
    [chip, named(&["mem", "vram"])]
}

/// The clock in force and the highest one, in hertz: `0: 500Mhz`, `1: 2475Mhz *`.
fn clocks_in(levels: &str) -> (Option<f64>, Option<f64>) {
    let hertz = |line: &str| -> Option<f64> {
        let (_, clock) = line.split_once(": ")?;
        let end = clock.find(|c: char| !c.is_ascii_digit())?;
        clock[end..]
            .to_ascii_lowercase()
            .starts_with("mhz")
            .then(|| clock[..end].parse().ok())?
            .map(|mhz: f64| mhz * 1e6)
    };
    let current = levels.lines().find(|line| line.trim_end().ends_with('*')).and_then(hertz);
    (current.and_then(some), levels.lines().filter_map(hertz).reduce(f64::max).and_then(some))
}

/// The number of errors of a kind: `ue: 0`, `ce: 3`.
fn errors_in(text: &str, kind: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(kind)?.strip_prefix(':')?.trim().parse().ok())
}

fn grown(tick: Tick, counter: &mut Counter, now: f64) -> Option<f64> {
    match tick.step(counter, now as u64, Width::Bits64) {
        Step::By(n) => Some(n as f64),
        Step::First | Step::Reset => None,
    }
}
