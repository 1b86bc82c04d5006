//! Progress summary of a running recording.

use fenxi_model::{
    Rows, TableId,
    catalog::{cpu, disk, net},
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
    /// Takes the small summary out of the rows of one tick, before they are stored.
    pub fn look(&mut self, rows: &Rows) {
        for table in rows.tables() {
            let n = table.n_rows();
            match table.table().id {
                TableId::cpu => {
                    let all = (0..n).find(|row| table.str(*row, cpu::cpu).is_none());
                    self.cpu_busy = all.and_then(|row| busy(|place| table.f64(row, place)));
                }
                TableId::disk => {
                    let whole = (0..n).filter(|row| table.str(*row, disk::class) == Some("disk"));
                    self.disk_bytes_per_s =
                        Some(whole.map(|r| sum(table, r, [disk::read_bytes_per_s, disk::write_bytes_per_s])).sum());
                }
                TableId::net => {
                    let real = (0..n).filter(|row| table.str(*row, net::class) != Some("loopback"));
                    self.net_bytes_per_s =
                        Some(real.map(|r| sum(table, r, [net::rx_bytes_per_s, net::tx_bytes_per_s])).sum());
                }
                _ => {}
            }
        }
    }
}

fn sum(table: &fenxi_model::TableRows, row: usize, places: [usize; 2]) -> f64 {
    places.into_iter().filter_map(|place| table.f64(row, place)).sum()
}

fn busy(value: impl Fn(usize) -> Option<f64>) -> Option<f64> {
    let idle = value(cpu::idle)? + value(cpu::iowait).unwrap_or(0.0);
    Some((100.0 - idle).max(0.0))
}
