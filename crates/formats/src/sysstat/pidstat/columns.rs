//! The columns of pidstat in all its versions, and where their values go.

use fenxi_model::{
    Place,
    catalog::{process, thread},
    place::F64,
};

const KB: f64 = 1024.0;

/// Values of a task that are gathered over the sections of a block, in the order of [`PLACES`].
pub(super) const USR: usize = 0;
pub(super) const SYS: usize = 1;
pub(super) const GUEST: usize = 2;
pub(super) const CPU: usize = 3;
pub(super) const N_VALUES: usize = 17;

/// Where a value goes in `process` and, if that has the column, in `thread`.
type Places = (Place<process::Schema, F64>, Option<Place<thread::Schema, F64>>);

/// The places of each value.
pub(super) const PLACES: [Places; N_VALUES] = [
    (process::usr, Some(thread::usr)),
    (process::sys, Some(thread::sys)),
    (process::guest, Some(thread::guest)),
    (process::cpu, Some(thread::cpu)),
    (process::run_queue_wait, Some(thread::run_queue_wait)),
    (process::minor_faults_per_s, None),
    (process::major_faults_per_s, None),
    (process::rss_bytes, None),
    (process::vsz_bytes, None),
    (process::read_bytes_per_s, None),
    (process::write_bytes_per_s, None),
    (process::cancelled_write_bytes_per_s, None),
    (process::io_wait, None),
    (process::voluntary_switches_per_s, Some(thread::voluntary_switches_per_s)),
    (process::involuntary_switches_per_s, Some(thread::involuntary_switches_per_s)),
    (process::threads, None),
    (process::fds, None),
];

/// Role of a column.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) enum Column {
    Uid,
    /// The process; `-` or 0 in rows of threads.
    Pid,
    Tid,
    LastCpu,
    /// A value of the task, times a scale.
    Value(usize, f64),
    /// Clock ticks that the task waited for block I/O.
    Delay(usize),
    /// Repeats a value of a process in the rows of all its threads.
    OfProcess(usize, f64),
    /// Wanted nowhere.
    Skip,
    /// A number without its own column, by its name.
    Metric(String),
}

/// Role of the column headed `header`.
pub(in super::super) fn column(header: &str) -> Column {
    use Column::{Delay, LastCpu, Metric, OfProcess, Pid, Skip, Tid, Uid, Value};
    match header {
        "UID" | "USER" => Uid,
        "PID" | "TGID" => Pid,
        "TID" => Tid,
        "CPU" => LastCpu,
        "%usr" | "%user" => Value(USR, 1.0),
        "%system" => Value(SYS, 1.0),
        "%guest" => Value(GUEST, 1.0),
        "%CPU" => Value(CPU, 1.0),
        "%wait" => Value(4, 1.0),
        "minflt/s" => Value(5, 1.0),
        "majflt/s" => Value(6, 1.0),
        "RSS" => OfProcess(7, KB),
        "VSZ" => OfProcess(8, KB),
        "kB_rd/s" => Value(9, KB),
        "kB_wr/s" => Value(10, KB),
        "kB_ccwr/s" => Value(11, KB),
        "iodelay" => Delay(12),
        "cswch/s" => Value(13, 1.0),
        "nvcswch/s" => Value(14, 1.0),
        "threads" => OfProcess(15, 1.0),
        "fd-nr" => OfProcess(16, 1.0),
        // The share of memory follows from the resident memory.
        "%MEM" | "policy" => Skip,
        other => Metric(format!("pidstat.{other}")),
    }
}
