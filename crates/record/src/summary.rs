//! Progress summary of a running recording.

use fenxi_model::{
    Place, Rows, RowsOf, TableRows,
    catalog::{HOST, cpu, disk, net},
    place::F64,
};

/// The state of a recording after a tick, for a progress line.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Seconds since the recording began.
    pub elapsed_s: f64,
    /// Seconds it shall last, when that is known.
    pub planned_s: Option<f64>,
    /// Ticks taken so far.
    pub ticks: u64,
    /// Ticks that could not be taken in time.
    pub missed: u64,
    /// Busy share of all CPUs together, percent.
    pub cpu_busy: Option<f64>,
    /// Bytes per second read and written by whole disks.
    pub disk_bytes_per_s: Option<f64>,
    /// Bytes per second received and sent by interfaces that are not loopback.
    pub net_bytes_per_s: Option<f64>,
}

impl Progress {
    /// Takes the small summary of this host out of the rows of one tick, before they are stored.
    pub fn look(&mut self, rows: &Rows) {
        let ours = |table: &TableRows, row: &usize| table.str(*row, HOST) == Some(rows.host());
        if let Some(cpus) = rows.of(&cpu::TABLE) {
            let all = (0..cpus.n_rows()).find(|row| ours(&cpus, row) && cpus.str(*row, cpu::cpu).is_none());
            self.cpu_busy = all.and_then(|row| busy(|place| cpus.f64(row, place)));
        }
        if let Some(disks) = rows.of(&disk::TABLE) {
            let whole =
                (0..disks.n_rows()).filter(|row| ours(&disks, row) && disks.str(*row, disk::class) == Some("disk"));
            let places = [disk::read_bytes_per_s, disk::write_bytes_per_s];
            self.disk_bytes_per_s = Some(whole.map(|row| sum(disks, row, places)).sum());
        }
        if let Some(interfaces) = rows.of(&net::TABLE) {
            let real = (0..interfaces.n_rows())
                .filter(|row| ours(&interfaces, row) && interfaces.str(*row, net::class) != Some("loopback"));
            let places = [net::rx_bytes_per_s, net::tx_bytes_per_s];
            self.net_bytes_per_s = Some(real.map(|row| sum(interfaces, row, places)).sum());
        }
    }
}

fn sum<S>(table: RowsOf<'_, S>, row: usize, places: [Place<S, F64>; 2]) -> f64 {
    places.into_iter().filter_map(|place| table.f64(row, place)).sum()
}

fn busy(value: impl Fn(Place<cpu::Schema, F64>) -> Option<f64>) -> Option<f64> {
    let idle = value(cpu::idle)? + value(cpu::iowait).unwrap_or(0.0);
    Some((100.0 - idle).max(0.0))
}
