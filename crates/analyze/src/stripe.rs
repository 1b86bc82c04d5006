//! Throughput by stripe unit or record size: a model of disks, of their interconnect, and of the requests that come.
//!
//! Each request becomes pieces on disks, a piece takes time of a disk, and disks times seconds over that time is the
//! throughput. A small unit divides requests over several disks, a large one makes small requests read and write more than
//! they ask for (records), or leaves disks idle during one request (stripes).

/// Requests of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Requests {
    /// At random places, aligned to their size where that is a power of two, and to 4 KiB otherwise; or in order.
    pub random: bool,
    /// Writes; otherwise reads.
    pub write: bool,
    /// Bytes of one.
    pub bytes: u64,
    /// Their share of all requests.
    pub share: f64,
}

/// Measured performance of one disk at one request size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Bytes of a request.
    pub bytes: f64,
    /// Seconds of a request that is alone.
    pub alone_s: f64,
    /// Requests per second of many at once.
    pub per_s: f64,
}

/// One disk.
#[derive(Clone, Debug, PartialEq)]
pub enum Disk {
    /// One request after the other: a rotating disk.
    Serial {
        /// Requests per second, but for the time of transfer.
        iops: f64,
        /// Bytes per second of a transfer; None where it takes no time.
        bytes_per_s: Option<f64>,
    },
    /// Many at once, up to limits: flash, or a volume of a cloud.
    Limited {
        /// Seconds of a request, but for the time of transfer.
        latency_s: f64,
        /// At most so many requests per second.
        iops: f64,
        /// At most so many bytes per second.
        bytes_per_s: Option<f64>,
    },
    /// As measured, smallest first; writes as reads where they were not.
    Measured {
        /// Random reads.
        reads: Vec<Point>,
        /// Random writes.
        writes: Vec<Point>,
    },
}

/// RAID layout of disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Each byte once.
    Striped,
    /// Each byte twice.
    Mirrored,
    /// So many disks of parity in each stripe: RAID 5, 6 and RAID-Z.
    Parity(u32),
}

/// Size that is chosen: stripe unit or record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The part of a stripe on one disk; requests read and write what they ask for.
    Stripe,
    /// A record that is read and written as a whole.
    Record,
}

/// Storage, and what it has to do.
#[derive(Clone, Debug)]
pub struct Storage {
    /// Disks in all.
    pub disks: u32,
    /// Each of them.
    pub disk: Disk,
    /// How they are joined.
    pub layout: Layout,
    /// Size that is chosen: stripe unit or record.
    pub unit: Unit,
    /// Bytes per second that come through what connects them; None without a limit.
    pub bus: Option<f64>,
    /// Random requests at a time.
    pub in_flight: u32,
}

/// Bottleneck of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The number of requests that disks do.
    Iops,
    /// Transfers of the disks.
    Disks,
    /// The interconnect of the disks.
    Bus,
}

/// Predicted performance at one size. None where there are no requests of the kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The size.
    pub bytes: u64,
    /// Bytes per second of a scan by requests of this size.
    pub scan_bytes_per_s: f64,
    /// Its bottleneck.
    pub limit: Limit,
    /// Seconds of a random request that is alone.
    pub random_s: Option<f64>,
    /// The share of random requests that touch more than one unit.
    pub crossing: Option<f64>,
    /// The share of writes for which something is read first.
    pub read_first: Option<f64>,
    /// Random requests per second.
    pub random_per_s: Option<f64>,
    /// Requests of the whole mix per second, when disks have no rest.
    pub mix_per_s: f64,
    /// No other size is better for scans and as good for random requests, or the reverse.
    pub is_front: bool,
}

/// Places in the list of choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BestSizes {
    /// For random requests: the largest size that does nearly as many as any.
    pub random: Option<usize>,
    /// For scans: the smallest size with four fifths of the highest throughput.
    pub scan: usize,
    /// For the mix.
    pub mix: usize,
}

/// Sizes within this share of the best are as good for random requests.
const AS_GOOD: f64 = 0.95;
/// Sizes within this share of the best are alike for a mix.
const ALIKE: f64 = 0.99;
/// Beyond this share of the highest throughput a doubled size costs more than it gives.
const MOST_OF: f64 = 0.8;

/// Parts of one request: how many, of how many bytes each.
struct Pieces {
    n: f64,
    bytes: f64,
    /// The share of requests that need more than one unit.
    crossing: f64,
}

impl Disk {
    fn points(&self, write: bool) -> &[Point] {
        match self {
            Disk::Measured { writes, .. } if write && !writes.is_empty() => writes,
            Disk::Measured { reads, .. } => reads,
            _ => &[],
        }
    }

    /// Seconds of a request of `bytes` that is alone.
    pub fn alone_s(&self, bytes: f64, write: bool) -> f64 {
        match self {
            Disk::Serial { iops, bytes_per_s } => 1.0 / iops + bytes_per_s.map_or(0.0, |rate| bytes / rate),
            Disk::Limited { latency_s, bytes_per_s, .. } => latency_s + bytes_per_s.map_or(0.0, |rate| bytes / rate),
            Disk::Measured { .. } => between(self.points(write), bytes, |point| point.alone_s),
        }
    }

    /// Requests of `bytes` per second, of many at once.
    pub fn per_s(&self, bytes: f64, write: bool) -> f64 {
        match self {
            Disk::Serial { .. } => 1.0 / self.alone_s(bytes, write),
            Disk::Limited { iops, bytes_per_s, .. } => bytes_per_s.map_or(*iops, |rate| iops.min(rate / bytes)),
            Disk::Measured { .. } => 1.0 / between(self.points(write), bytes, |point| 1.0 / point.per_s),
        }
    }

    /// Whether the number of requests limits it, at this size, rather than their bytes.
    fn is_iops(&self, bytes: f64) -> bool {
        match self {
            Disk::Serial { iops, bytes_per_s } => bytes_per_s.is_none_or(|rate| bytes / rate <= 1.0 / iops),
            Disk::Limited { iops, bytes_per_s, .. } => bytes_per_s.is_none_or(|rate| rate / bytes >= *iops),
            // Twice the bytes take less than half as long again.
            Disk::Measured { .. } => self.per_s(bytes, false) / self.per_s(2.0 * bytes, false) < 1.5,
        }
    }
}

/// A time at a size between measured ones: a straight line, as a time is a constant and a transfer. Below the smallest it is
/// that of the smallest, beyond the largest it grows with the bytes.
fn between(points: &[Point], bytes: f64, time: impl Fn(&Point) -> f64) -> f64 {
    let after = points.partition_point(|point| point.bytes < bytes);
    match (after.checked_sub(1).map(|before| &points[before]), points.get(after)) {
        (Some(a), Some(b)) => time(a) + (time(b) - time(a)) * (bytes - a.bytes) / (b.bytes - a.bytes),
        (None, Some(first)) => time(first),
        (Some(last), None) => time(last) * bytes / last.bytes,
        (None, None) => f64::NAN,
    }
}

/// Units that a random request touches in the mean, and the share of requests that touch more than one.
pub fn touched(request: u64, unit: u64) -> (f64, f64) {
    let (request, unit) = (request.max(1), unit.max(1));
    let step = if request.is_power_of_two() { request } else { 4096 };
    // Places repeat after so many.
    let places = (unit / step.min(unit)).max(1);
    let (mut sum, mut crossing) = (0, 0);
    for place in 0..places {
        let n = ((place * step) % unit + request).div_ceil(unit);
        sum += n;
        crossing += u64::from(n > 1);
    }
    (sum as f64 / places as f64, crossing as f64 / places as f64)
}

impl Storage {
    fn data_disks(&self) -> f64 {
        match self.layout {
            Layout::Parity(parity) => f64::from(self.disks.saturating_sub(parity).max(1)),
            _ => f64::from(self.disks),
        }
    }

    /// A record is on one disk, or over all disks that have no parity of it.
    fn record_disks(&self) -> f64 {
        if matches!(self.layout, Layout::Parity(_)) { self.data_disks() } else { 1.0 }
    }

    fn pieces(&self, requests: &Requests, unit: u64) -> Pieces {
        let (asked, size) = (requests.bytes as f64, unit as f64);
        let (touched, crossing) =
            if requests.random { touched(requests.bytes, unit) } else { ((asked / size).max(1.0), 0.0) };
        match self.unit {
            Unit::Stripe => Pieces { n: touched, bytes: asked / touched, crossing },
            Unit::Record => {
                // In order, the rest of a record is there already when the next request comes.
                let records = if requests.random { touched } else { asked / size };
                let disks = self.record_disks();
                Pieces { n: records * disks, bytes: size / disks, crossing }
            }
        }
    }

    /// Whether something has to be read before a write.
    fn reads_first(&self, requests: &Requests, unit: u64) -> bool {
        let whole = match (self.unit, self.layout) {
            (Unit::Record, _) => unit as f64,
            (Unit::Stripe, Layout::Parity(_)) => unit as f64 * self.data_disks(),
            (Unit::Stripe, _) => return false,
        };
        requests.write && requests.random && (requests.bytes as f64) < whole
    }

    /// Seconds of disks that one request takes, and the bytes that it moves.
    fn cost(&self, requests: &Requests, unit: u64) -> (f64, f64) {
        let pieces = self.pieces(requests, unit);
        let (n, bytes) = (pieces.n, pieces.bytes);
        let (mut reads, mut writes) = if requests.write { (0.0, n) } else { (n, 0.0) };
        if requests.write {
            let first = self.reads_first(requests, unit);
            match (self.layout, self.unit) {
                (Layout::Striped, _) => reads = if first { n } else { 0.0 },
                (Layout::Mirrored, _) => (reads, writes) = (if first { n } else { 0.0 }, 2.0 * n),
                (Layout::Parity(parity), Unit::Stripe) if first => {
                    let parity = f64::from(parity);
                    (reads, writes) = (n + parity, n + parity);
                }
                (Layout::Parity(parity), _) => {
                    let with_parity = 1.0 + f64::from(parity) / self.data_disks();
                    (reads, writes) = (if first { n } else { 0.0 }, n * with_parity);
                }
            }
        }
        let seconds = |n: f64, write| if n > 0.0 { n / self.disk.per_s(bytes, write) } else { 0.0 };
        (seconds(reads, false) + seconds(writes, true), (reads + writes) * bytes)
    }

    /// Seconds of one that is alone: pieces go at once, and what is read first comes before.
    fn alone_s(&self, requests: &Requests, unit: u64) -> f64 {
        let bytes = self.pieces(requests, unit).bytes;
        let first = if self.reads_first(requests, unit) { self.disk.alone_s(bytes, false) } else { 0.0 };
        first + self.disk.alone_s(bytes, requests.write)
    }

    /// Requests per second of `mix` when disks have no rest.
    fn most_per_s(&self, mix: &[Requests], unit: u64) -> f64 {
        let (mut seconds, mut bytes) = (0.0, 0.0);
        for requests in mix {
            let cost = self.cost(requests, unit);
            seconds += requests.share * cost.0;
            bytes += requests.share * cost.1;
        }
        let disks = f64::from(self.disks) / seconds;
        self.bus.map_or(disks, |bus| disks.min(bus / bytes))
    }

    /// Random requests per second of so many at a time.
    fn random_per_s(&self, random: &[Requests], unit: u64) -> f64 {
        let most = self.most_per_s(random, unit);
        let (n, disks) = (f64::from(self.in_flight.max(1)), f64::from(self.disks));
        if matches!(self.disk, Disk::Serial { .. }) {
            // Of n requests at a time some wait at one disk while another has none: a closed network of equal queues.
            return most * n / (n + disks - 1.0);
        }
        let alone: f64 = random.iter().map(|requests| requests.share * self.alone_s(requests, unit)).sum();
        most.min(n / alone)
    }

    fn scan(&self, unit: u64) -> (f64, Limit) {
        let bytes = match self.unit {
            Unit::Stripe => unit as f64,
            Unit::Record => unit as f64 / self.record_disks(),
        };
        let disks = self.data_disks() * bytes * self.disk.per_s(bytes, false);
        match self.bus {
            Some(bus) if bus <= disks => (bus, Limit::Bus),
            _ => (disks, if self.disk.is_iops(bytes) { Limit::Iops } else { Limit::Disks }),
        }
    }

    /// Predicted performance of `mix` at each of `sizes`. Shares are of all requests, of any sum.
    pub fn choices(&self, mix: &[Requests], sizes: &[u64]) -> Vec<Choice> {
        let mix = shares(mix.to_vec());
        let random = shares(mix.iter().copied().filter(|requests| requests.random).collect());
        let writes = shares(mix.iter().copied().filter(|requests| requests.write).collect());
        let sum = |of: &[Requests], value: &dyn Fn(&Requests) -> f64| {
            (!of.is_empty()).then(|| of.iter().map(|requests| requests.share * value(requests)).sum::<f64>())
        };
        let choice = |&bytes: &u64| {
            let (scan_bytes_per_s, limit) = self.scan(bytes);
            Choice {
                bytes,
                scan_bytes_per_s,
                limit,
                random_s: sum(&random, &|requests| self.alone_s(requests, bytes)),
                crossing: sum(&random, &|requests| self.pieces(requests, bytes).crossing),
                read_first: sum(&writes, &|requests| f64::from(u8::from(self.reads_first(requests, bytes)))),
                random_per_s: (!random.is_empty()).then(|| self.random_per_s(&random, bytes)),
                mix_per_s: self.most_per_s(&mix, bytes),
                is_front: false,
            }
        };
        let mut choices: Vec<Choice> = sizes.iter().map(choice).collect();
        for i in 0..choices.len() {
            choices[i].is_front = !choices.iter().any(|other| is_better(other, &choices[i]));
        }
        choices
    }
}

/// With shares of which the sum is 1.
fn shares(mut of: Vec<Requests>) -> Vec<Requests> {
    let sum: f64 = of.iter().map(|requests| requests.share).sum();
    of.iter_mut().for_each(|requests| requests.share /= sum);
    of
}

/// Whether `a` is as good as `b` for both, and better for one; a difference in the last digits is none.
fn is_better(a: &Choice, b: &Choice) -> bool {
    let pairs = [
        (a.scan_bytes_per_s, b.scan_bytes_per_s),
        (a.random_per_s.unwrap_or_default(), b.random_per_s.unwrap_or_default()),
    ];
    pairs.iter().all(|(a, b)| *a >= b * (1.0 - 1e-9)) && pairs.iter().any(|(a, b)| *a > b * (1.0 + 1e-9))
}

/// The sizes to take; None of no choices.
pub fn best_sizes(choices: &[Choice]) -> Option<BestSizes> {
    let most = |value: &dyn Fn(&Choice) -> f64| choices.iter().map(value).fold(0.0, f64::max);
    let scans = most(&|choice| choice.scan_bytes_per_s);
    let mixes = most(&|choice| choice.mix_per_s);
    let randoms = most(&|choice| choice.random_per_s.unwrap_or_default());
    // Of sizes that are alike for the mix, the one for scans.
    let of_mix = choices.iter().enumerate().filter(|(_, choice)| choice.mix_per_s >= ALIKE * mixes);
    let mix = of_mix.rev().max_by(|a, b| a.1.scan_bytes_per_s.total_cmp(&b.1.scan_bytes_per_s))?.0;
    let is_good = |choice: &Choice| choice.random_per_s.is_some_and(|per_s| per_s >= AS_GOOD * randoms);
    Some(BestSizes {
        random: choices.iter().rposition(is_good),
        scan: choices.iter().position(|choice| choice.scan_bytes_per_s >= MOST_OF * scans)?,
        mix,
    })
}

#[cfg(test)]
mod tests;
