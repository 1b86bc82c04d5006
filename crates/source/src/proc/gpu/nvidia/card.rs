//! One GPU of NVIDIA, or one MIG instance of it.

use fenxi_model::{
    Row, Rows,
    catalog::{event, gpu, gpu_process},
};
use fenxi_procfs::Processes;
use nvml_wrapper::{
    Device, EventSet, Nvml,
    bitmasks::event::EventTypes,
    enum_wrappers::device::{Clock, EccCounter, MemoryError, TemperatureSensor, TemperatureThreshold},
    enums::{
        device::{SampleValue, UsedGpuMemory},
        event::XidError,
    },
    error::NvmlError,
    structs::device::FieldId,
    sys_exports::field_id::{
        NVML_FI_DEV_MEMORY_TEMP, NVML_FI_DEV_PCIE_COUNT_RX_BYTES, NVML_FI_DEV_PCIE_COUNT_TX_BYTES,
    },
};
use rustc_hash::FxHashMap;

use super::{held::Held, profiled::Profiled};
use crate::{
    Counter, Step, Tick, Width,
    proc::gpu::{GpuFacts, pcie_bytes_per_s, some, xid},
};

/// Events of one GPU that are taken in one interval.
const MOST_EVENTS: usize = 100;
/// A GPU that draws so much of its power limit does not idle.
const AT_WORK: f64 = 0.5;
/// Gigatransfers per second of a PCIe lane by its generation, from 1 on.
const GENERATIONS: [f64; 6] = [2.5, 5.0, 8.0, 16.0, 32.0, 64.0];

pub(super) struct Card {
    device: Device<'static>,
    /// The GPU of which it is an instance.
    whole: Option<Device<'static>>,
    /// Its number, and that of the instance.
    names: [Option<String>; 2],
    model: Option<String>,
    events: Option<EventSet<'static>>,
    profiled: Option<Profiled>,
    /// The number by which the driver knows the instance, once a process of it shows that.
    gpu_instance: Option<u32>,
    held: Held,
    counters: Counters,
    clock_limit_hz: Option<f64>,
    slowdown_c: Option<f64>,
    /// The last sample of processes that was seen.
    seen_us: u64,
    is_lost: bool,
}

/// A process that has memory of the GPU, or used it.
#[derive(Default)]
struct Holder {
    kind: Option<&'static str>,
    bytes: Option<f64>,
}

#[derive(Default)]
struct Counters {
    energy_mj: Counter,
    pcie_rx: Counter,
    pcie_tx: Counter,
    ecc: [Counter; 2],
    replays: Counter,
}

impl Card {
    /// The GPU of this number, and its instances.
    pub(super) fn with_instances(nvml: &'static Nvml, index: u32) -> Vec<Card> {
        let Ok(device) = nvml.device_by_index(index) else { return Vec::new() };
        let is_divided = device.mig_mode().is_ok_and(|mode| mode.current == 1);
        let most = if is_divided { device.mig_device_count().unwrap_or(0) } else { 0 };
        let instances: Vec<(u32, Device<'static>)> =
            (0..most).filter_map(|n| Some((n, device.mig_device_by_index(n).ok()?))).collect();
        let mut cards = vec![Card::new(nvml, index, device)];
        for (n, instance) in instances {
            let card = Card::new(nvml, index, instance);
            cards.push(Card {
                whole: nvml.device_by_index(index).ok(),
                names: [Some(index.to_string()), Some(n.to_string())],
                events: None,
                ..card
            });
        }
        cards
    }

    fn new(nvml: &'static Nvml, index: u32, device: Device<'static>) -> Card {
        let watched = EventTypes::CRITICAL_XID_ERROR | EventTypes::DOUBLE_BIT_ECC_ERROR;
        // A set is lost with the first device that refuses: each has its own.
        let events = nvml.create_event_set().ok().and_then(|set| device.register_events(watched, set).ok());
        Card {
            whole: None,
            names: [Some(index.to_string()), None],
            model: device.name().ok(),
            events,
            profiled: Profiled::of(&device),
            gpu_instance: None,
            held: Held::default(),
            counters: Counters::default(),
            clock_limit_hz: device.max_clock_info(Clock::SM).ok().and_then(hertz),
            slowdown_c: device.temperature_threshold(TemperatureThreshold::Slowdown).ok().and_then(positive),
            seen_us: 0,
            is_lost: false,
            device,
        }
    }

    pub(super) fn facts(&self, facts: &mut GpuFacts) {
        let name = self.name();
        let pci = self.device.pci_info().ok().map(|pci| pci.bus_id);
        let known = [("name", self.model.clone()), ("uuid", self.device.uuid().ok()), ("pci.bus_id", pci)];
        facts.extend(known.into_iter().filter_map(|(fact, value)| Some((format!("{name} {fact}"), value?))));
    }

    fn name(&self) -> String {
        let [index, instance] = self.names.each_ref().map(|name| name.as_deref().unwrap_or_default());
        if instance.is_empty() { format!("gpu={index}") } else { format!("gpu={index} instance={instance}") }
    }

    pub(super) fn sample(&mut self, tick: Tick, rows: &mut Rows) {
        let shares = self.held.read(&self.device, tick);
        let energy = self.device.total_energy_consumption().ok();
        let energy_mj = energy.and_then(|now| count(tick, &mut self.counters.energy_mj, now));
        let bytes = self.pcie_bytes(tick);
        let ecc = [MemoryError::Corrected, MemoryError::Uncorrected]
            .map(|kind| self.device.total_ecc_errors(kind, EccCounter::Volatile).ok());
        let [corrected, uncorrected] = &mut self.counters.ecc;
        let corrected = ecc[0].and_then(|now| count(tick, corrected, now));
        let uncorrected = ecc[1].and_then(|now| count(tick, uncorrected, now));
        let replays = self.device.pcie_replay_counter().ok().map(u64::from);
        let replays = replays.and_then(|now| count(tick, &mut self.counters.replays, now));
        let (asked, instance) = match &self.whole {
            None => (&self.device, None),
            Some(whole) => (whole, self.gpu_instance),
        };
        let is_known = self.whole.is_none() || instance.is_some();
        let profiled = self.profiled.as_mut().filter(|_| is_known).and_then(|of| of.read(asked, instance));
        let Some(dt) = tick.dt.filter(|dt| *dt > 0.0 && !tick.since_boot) else { return };

        let power_limit_w = self.device.enforced_power_limit().ok().and_then(watts);
        let power_w = energy_mj.map(|mj| mj / 1e3 / dt).and_then(some);
        let power_w = power_w.or_else(|| self.device.power_usage().ok().and_then(watts));
        let used = self.device.utilization_rates().ok();
        let is_at_work = power_w.zip(power_limit_w).is_some_and(|(power, limit)| power > AT_WORK * limit);
        let util = used.as_ref().map(|used| f64::from(used.gpu)).filter(|util| *util > 0.0 || !is_at_work);
        let memory_util = used.map(|used| f64::from(used.memory)).filter(|_| util.is_some());
        let [index, instance] = &self.names;
        let mut row = rows.row(&gpu::TABLE, tick.t, dt);
        row.str(gpu::gpu, index.as_deref())
            .str(gpu::instance, instance.as_deref())
            .str(gpu::model, self.model.as_deref());
        row.f64(gpu::util, util).f64(gpu::memory_util, memory_util).f64(gpu::power_w, power_w);
        row.f64(gpu::power_limit_w, power_limit_w).f64(gpu::video_util, video(&self.device).filter(|_| util.is_some()));
        let profiled = profiled.filter(|values| !values.is_empty_beside(util));
        if !profiled.as_ref().is_some_and(|values| values.has_pcie()) {
            let [rx, tx] = bytes.map(|bytes| bytes.map(|bytes| bytes / dt));
            row.f64(gpu::pcie_rx_bytes_per_s, rx).f64(gpu::pcie_tx_bytes_per_s, tx);
        }
        if let Some(values) = profiled {
            values.fill(&mut row);
        }
        shares.fill(&mut row);
        row.f64(gpu::ecc_corrected, corrected).f64(gpu::ecc_uncorrected, uncorrected).f64(gpu::pcie_replays, replays);
        row.f64(gpu::clock_limit_hz, self.clock_limit_hz).f64(gpu::slowdown_c, self.slowdown_c);
        gauges(&self.device, &mut row);
    }

    /// Bytes that were received and sent over PCIe; where the driver counts them.
    fn pcie_bytes(&mut self, tick: Tick) -> [Option<f64>; 2] {
        let ids = [NVML_FI_DEV_PCIE_COUNT_RX_BYTES, NVML_FI_DEV_PCIE_COUNT_TX_BYTES];
        let Counters { pcie_rx, pcie_tx, .. } = &mut self.counters;
        let [rx, tx] = fields(&self.device, ids);
        // The counters may wrap, at 32 bits.
        let grown = |counter: &mut Counter, now: Option<f64>| match tick.step(counter, now? as u64, Width::Bits32) {
            Step::By(bytes) => Some(bytes as f64),
            _ => None,
        };
        let both = [grown(pcie_rx, rx), grown(pcie_tx, tx)];
        // A link that carries nothing in either direction is none that counts.
        if both == [Some(0.0), Some(0.0)] && rx == Some(0.0) { [None, None] } else { both }
    }

    /// Adds the processes that use it.
    pub(super) fn processes(&mut self, tick: Tick, names: &Processes, rows: &mut Rows) {
        let compute = self.device.running_compute_processes().unwrap_or_default();
        let graphics = self.device.running_graphics_processes().unwrap_or_default();
        let kinds = compute.iter().map(|process| (process, "compute"));
        let mut held: FxHashMap<u32, Holder> = FxHashMap::default();
        for (process, kind) in kinds.chain(graphics.iter().map(|process| (process, "graphics"))) {
            if self.whole.is_some() {
                self.gpu_instance = self.gpu_instance.or(process.gpu_instance_id);
            } else if process.gpu_instance_id.is_some() {
                // It is one of an instance, in whose row it is.
                continue;
            }
            let bytes = match process.used_gpu_memory {
                UsedGpuMemory::Used(bytes) => Some(bytes as f64),
                UsedGpuMemory::Unavailable => None,
            };
            let holder = held.entry(process.pid).or_insert(Holder { kind: Some(kind), bytes });
            if holder.kind != Some(kind) {
                // Both lists have all of its memory.
                *holder = Holder { kind: Some("both"), bytes: holder.bytes.into_iter().chain(bytes).reduce(f64::max) };
            }
        }
        let used = self.used_by(&mut held, tick.dt.is_none());
        let Some(dt) = tick.dt.filter(|dt| *dt > 0.0 && !tick.since_boot) else { return };
        let mut held: Vec<(u32, Holder)> = held.into_iter().collect();
        held.sort_unstable_by_key(|(pid, _)| *pid);
        let [index, instance] = &self.names;
        for (pid, Holder { kind, bytes }) in held {
            let comm = names.comm(pid);
            let mut row = rows.row(&gpu_process::TABLE, tick.t, dt);
            row.str(gpu_process::gpu, index.as_deref()).str(gpu_process::instance, instance.as_deref());
            row.i64(gpu_process::pid, i64::from(pid)).str(gpu_process::comm, comm.as_deref());
            row.str(gpu_process::kind, kind).f64(gpu_process::memory_bytes, bytes);
            // One that used nothing has no sample.
            if let Some([sm, memory, video]) = used.as_ref().map(|used| used.get(&pid).copied().unwrap_or_default()) {
                row.f64(gpu_process::util, sm)
                    .f64(gpu_process::memory_util, memory)
                    .f64(gpu_process::video_util, video);
            }
        }
    }

    /// The use by process in percent, as mean of the samples since the last call; who used it and is gone is added to `held`. None
    /// where the driver has no such samples.
    fn used_by(&mut self, held: &mut FxHashMap<u32, Holder>, is_first: bool) -> Option<FxHashMap<u32, [f64; 3]>> {
        let since = self.seen_us;
        let samples = match self.device.process_utilization_stats(since) {
            Ok(samples) => samples,
            Err(NvmlError::NotFound) => Vec::new(),
            Err(_) => return None,
        };
        let mut sums: FxHashMap<u32, ([f64; 3], f64)> = FxHashMap::default();
        for sample in samples.iter().filter(|sample| sample.timestamp > since && sample.pid != 0) {
            self.seen_us = self.seen_us.max(sample.timestamp);
            let (sum, n) = sums.entry(sample.pid).or_default();
            let video = sample.enc_util.max(sample.dec_util);
            for (sum, part) in sum.iter_mut().zip([sample.sm_util, sample.mem_util, video]) {
                // Some drivers answer with more than all of it where they know nothing.
                *sum += if part <= 100 { f64::from(part) } else { 0.0 };
            }
            *n += 1.0;
            held.entry(sample.pid).or_default();
        }
        // Use from before the recording is no use in it.
        Some(sums.into_iter().filter(|_| !is_first).map(|(pid, (sum, n))| (pid, sum.map(|sum| sum / n))).collect())
    }

    /// Adds the errors that the driver reported, and that the GPU is gone.
    pub(super) fn errors(&mut self, tick: Tick, rows: &mut Rows) {
        let subject = self.name().replace('=', " ");
        let mut add = |message: &str| {
            let mut row = rows.row(&event::TABLE, tick.t, None);
            row.str(event::kind, "gpu error").str(event::subject, &*subject).str(event::priority, "err");
            row.text(event::message, message);
        };
        for _ in 0..MOST_EVENTS {
            let Some(Ok(happened)) = self.events.as_ref().map(|events| events.wait(0)) else { break };
            match happened.event_data {
                Some(XidError::Value(number)) => match xid::meaning(number) {
                    Some(meaning) => add(&format!("Xid {number}: {meaning}")),
                    None => add(&format!("Xid {number}")),
                },
                Some(XidError::Unknown) => add("Xid of no known number"),
                None => add("memory error that ECC could not correct"),
            }
        }
        let is_lost = matches!(self.device.temperature(TemperatureSensor::Gpu), Err(NvmlError::GpuLost));
        if is_lost && !self.is_lost {
            add("lost: the driver cannot reach the GPU any more");
        }
        self.is_lost = is_lost;
    }
}

/// Figures as they are now.
fn gauges(device: &Device<'_>, row: &mut Row<'_, gpu::Schema>) {
    let clock = |clock| device.clock_info(clock).ok().and_then(hertz);
    row.f64(gpu::clock_hz, clock(Clock::SM)).f64(gpu::memory_clock_hz, clock(Clock::Memory));
    row.f64(gpu::temperature_c, device.temperature(TemperatureSensor::Gpu).ok().and_then(positive));
    let [memory_c] = fields(device, [NVML_FI_DEV_MEMORY_TEMP]);
    row.f64(gpu::memory_temperature_c, memory_c.and_then(some));
    // One without memory is one of which the driver knows nothing, as of a chip that has the host's.
    if let Some(memory) = device.memory_info().ok().filter(|memory| memory.total > 0) {
        row.f64(gpu::memory_used_bytes, memory.used as f64).f64(gpu::memory_total_bytes, memory.total as f64);
    }
    let generation =
        device.current_pcie_link_gen().ok().and_then(|n| GENERATIONS.get(n.checked_sub(1)? as usize).copied());
    let lanes = device.current_pcie_link_width().ok().map(f64::from);
    let link = generation.zip(lanes).and_then(|(speed, lanes)| pcie_bytes_per_s(speed, lanes));
    row.f64(gpu::pcie_limit_bytes_per_s, link);
}

/// Use of the encoder and the decoder, of the busier one.
fn video(device: &Device<'_>) -> Option<f64> {
    let encoder = device.encoder_utilization().ok().map(|used| f64::from(used.utilization));
    let decoder = device.decoder_utilization().ok().map(|used| f64::from(used.utilization));
    [encoder, decoder].into_iter().flatten().reduce(f64::max)
}

/// Values that have a number instead of a function.
fn fields<const N: usize>(device: &Device<'_>, ids: [u32; N]) -> [Option<f64>; N] {
    let values = device.field_values_for(&ids.map(FieldId)).unwrap_or_default();
    let mut read = [None; N];
    for (value, read) in values.into_iter().zip(&mut read) {
        *read = value.and_then(|sample| sample.value).ok().map(|value| match value {
            SampleValue::F64(value) => value,
            SampleValue::U32(value) => f64::from(value),
            SampleValue::U64(value) => value as f64,
            SampleValue::I64(value) => value as f64,
        });
    }
    read
}

/// The growth of a counter in the interval.
fn count(tick: Tick, counter: &mut Counter, now: u64) -> Option<f64> {
    match tick.step(counter, now, Width::Bits64) {
        Step::By(n) => Some(n as f64),
        Step::First | Step::Reset => None,
    }
}

fn positive(value: u32) -> Option<f64> {
    some(f64::from(value))
}

fn watts(milliwatts: u32) -> Option<f64> {
    some(f64::from(milliwatts) / 1e3)
}

fn hertz(megahertz: u32) -> Option<f64> {
    some(f64::from(megahertz) * 1e6)
}
