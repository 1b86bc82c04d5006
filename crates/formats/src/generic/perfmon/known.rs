//! Which counters of Windows and of ESXi are columns of tables.
//!
//! Only what means the same is among them. `% Processor Time` is what was not idle. `% Privileged Time` includes time in
//! interrupts and in deferred procedure calls; the kernel's time on behalf of tasks is what is left without both.

use fenxi_model::{
    AnySchema, Place, Table,
    catalog::{cpu, disk, mem, net, process, sched, vm},
    place::F64,
};

/// How the figure of a counter becomes that of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Make {
    /// It is multiplied.
    Times(f64),
    /// It is what is left of 100 %.
    Complement,
}

/// A counter that is a column.
pub(super) struct Known {
    pub(super) object: &'static str,
    pub(super) counter: &'static str,
    pub(super) table: &'static Table,
    pub(super) place: usize,
    pub(super) make: Make,
}

const fn known<S: AnySchema>(
    object: &'static str,
    counter: &'static str,
    table: &'static Table<S>,
    place: Place<S, F64>,
    make: Make,
) -> Known {
    Known { object, counter, table, place: place.index(), make }
}

const SAME: Make = Make::Times(1.0);
const MIB: Make = Make::Times(1_048_576.0);
const MS: Make = Make::Times(1000.0);
const MBIT: Make = Make::Times(1e6 / 8.0);

/// Every counter that is a column. Of two that make one column the later one wins.
pub(super) const KNOWN: &[Known] = &[
    known("Processor", "% Processor Time", &cpu::TABLE, cpu::idle, Make::Complement),
    known("Processor", "% Idle Time", &cpu::TABLE, cpu::idle, SAME),
    known("Processor", "% User Time", &cpu::TABLE, cpu::usr, SAME),
    known("Processor", "% Interrupt Time", &cpu::TABLE, cpu::irq, SAME),
    known("Processor", "% DPC Time", &cpu::TABLE, cpu::softirq, SAME),
    known("Processor", "Interrupts/sec", &cpu::TABLE, cpu::intr_per_s, SAME),
    known("System", "Context Switches/sec", &sched::TABLE, sched::context_switches_per_s, SAME),
    known("System", "System Calls/sec", &sched::TABLE, sched::syscalls_per_s, SAME),
    known("System", "Threads", &sched::TABLE, sched::tasks, SAME),
    known("Memory", "Available MBytes", &mem::TABLE, mem::available_bytes, MIB),
    known("Memory", "Available KBytes", &mem::TABLE, mem::available_bytes, Make::Times(1024.0)),
    known("Memory", "Available Bytes", &mem::TABLE, mem::available_bytes, SAME),
    known("Memory", "Free & Zero Page List Bytes", &mem::TABLE, mem::free_bytes, SAME),
    known("Memory", "Committed Bytes", &mem::TABLE, mem::committed_bytes, SAME),
    known("Memory", "Commit Limit", &mem::TABLE, mem::commit_limit_bytes, SAME),
    known("Memory", "Page Faults/sec", &vm::TABLE, vm::faults_per_s, SAME),
    // ESXi.
    known("Memory", "Machine MBytes", &mem::TABLE, mem::total_bytes, MIB),
    known("Memory", "Free MBytes", &mem::TABLE, mem::free_bytes, MIB),
    known("PhysicalDisk", "Disk Reads/sec", &disk::TABLE, disk::reads_per_s, SAME),
    known("PhysicalDisk", "Disk Writes/sec", &disk::TABLE, disk::writes_per_s, SAME),
    known("PhysicalDisk", "Disk Transfers/sec", &disk::TABLE, disk::transfers_per_s, SAME),
    known("PhysicalDisk", "Disk Read Bytes/sec", &disk::TABLE, disk::read_bytes_per_s, SAME),
    known("PhysicalDisk", "Disk Write Bytes/sec", &disk::TABLE, disk::write_bytes_per_s, SAME),
    known("PhysicalDisk", "Disk Bytes/sec", &disk::TABLE, disk::transfer_bytes_per_s, SAME),
    known("PhysicalDisk", "Avg. Disk sec/Read", &disk::TABLE, disk::read_await_ms, MS),
    known("PhysicalDisk", "Avg. Disk sec/Write", &disk::TABLE, disk::write_await_ms, MS),
    known("PhysicalDisk", "Avg. Disk sec/Transfer", &disk::TABLE, disk::await_ms, MS),
    known("PhysicalDisk", "Avg. Disk Bytes/Read", &disk::TABLE, disk::read_size_bytes, SAME),
    known("PhysicalDisk", "Avg. Disk Bytes/Write", &disk::TABLE, disk::write_size_bytes, SAME),
    known("PhysicalDisk", "Avg. Disk Bytes/Transfer", &disk::TABLE, disk::transfer_size_bytes, SAME),
    known("PhysicalDisk", "Avg. Disk Queue Length", &disk::TABLE, disk::queue_depth, SAME),
    known("PhysicalDisk", "Current Disk Queue Length", &disk::TABLE, disk::in_flight, SAME),
    known("PhysicalDisk", "% Idle Time", &disk::TABLE, disk::util, Make::Complement),
    known("Physical Disk SCSI Device", "Reads/sec", &disk::TABLE, disk::reads_per_s, SAME),
    known("Physical Disk SCSI Device", "Writes/sec", &disk::TABLE, disk::writes_per_s, SAME),
    known("Physical Disk SCSI Device", "MBytes Read/sec", &disk::TABLE, disk::read_bytes_per_s, MIB),
    known("Physical Disk SCSI Device", "MBytes Written/sec", &disk::TABLE, disk::write_bytes_per_s, MIB),
    known("Physical Disk SCSI Device", "Average Guest MilliSec/Command", &disk::TABLE, disk::await_ms, SAME),
    known("Physical Disk SCSI Device", "Average Guest MilliSec/Read", &disk::TABLE, disk::read_await_ms, SAME),
    known("Physical Disk SCSI Device", "Average Guest MilliSec/Write", &disk::TABLE, disk::write_await_ms, SAME),
    known("Network Interface", "Bytes Received/sec", &net::TABLE, net::rx_bytes_per_s, SAME),
    known("Network Interface", "Bytes Sent/sec", &net::TABLE, net::tx_bytes_per_s, SAME),
    known("Network Interface", "Packets Received/sec", &net::TABLE, net::rx_packets_per_s, SAME),
    known("Network Interface", "Packets Sent/sec", &net::TABLE, net::tx_packets_per_s, SAME),
    known("Network Interface", "Current Bandwidth", &net::TABLE, net::speed_mbps, Make::Times(1e-6)),
    known("Network Port", "MBits Received/sec", &net::TABLE, net::rx_bytes_per_s, MBIT),
    known("Network Port", "MBits Transmitted/sec", &net::TABLE, net::tx_bytes_per_s, MBIT),
    known("Network Port", "Packets Received/sec", &net::TABLE, net::rx_packets_per_s, SAME),
    known("Network Port", "Packets Transmitted/sec", &net::TABLE, net::tx_packets_per_s, SAME),
    known("Process", "% Processor Time", &process::TABLE, process::cpu, SAME),
    known("Process", "% User Time", &process::TABLE, process::usr, SAME),
    known("Process", "% Privileged Time", &process::TABLE, process::sys, SAME),
    known("Process", "Working Set", &process::TABLE, process::rss_bytes, SAME),
    known("Process", "Virtual Bytes", &process::TABLE, process::vsz_bytes, SAME),
    known("Process", "Thread Count", &process::TABLE, process::threads, SAME),
    known("Process", "Elapsed Time", &process::TABLE, process::lived_s, SAME),
    known("Process", "IO Read Bytes/sec", &process::TABLE, process::read_call_bytes_per_s, SAME),
    known("Process", "IO Write Bytes/sec", &process::TABLE, process::write_call_bytes_per_s, SAME),
];

/// The tables that these counters fill.
pub(super) const TABLES: &[&Table] =
    &[&cpu::TABLE, &sched::TABLE, &mem::TABLE, &vm::TABLE, &disk::TABLE, &net::TABLE, &process::TABLE];

/// The counter that makes a column; sums over devices and processes make none.
pub(super) fn find(object: &str, instance: &str, counter: &str) -> Option<&'static Known> {
    let object = if object == "Processor Information" { "Processor" } else { object };
    let known = KNOWN.iter().find(|known| known.object == object && known.counter == counter)?;
    let sum = instance == "_Total" || object == "Process" && instance == "Idle";
    (known.table.id == cpu::TABLE.id || !sum).then_some(known)
}

/// The unit of a counter that no table has, by its name.
pub(super) fn unit(counter: &str) -> &'static str {
    let words = |end: &str| counter.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with(' '));
    if counter.starts_with("% ") {
        "%"
    } else if words("Bytes/sec") || words("Bytes Received/sec") || words("Bytes Sent/sec") || words("Bytes Total/sec") {
        "B/s"
    } else if counter.ends_with("/sec") && !counter.contains("MBytes") && !counter.contains("MBits") {
        "/s"
    } else if words("Bytes") {
        "B"
    } else {
        ""
    }
}
