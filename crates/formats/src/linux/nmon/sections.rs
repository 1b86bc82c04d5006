//! Which column of which section is which column of the tables.

use fenxi_model::{
    AnySchema, Place, Table,
    catalog::{cpu, disk, fs, mem, net, sched, vm},
    place::F64,
};

use crate::Fields;

const KB: f64 = 1024.0;
const MB: f64 = 1024.0 * 1024.0;
const PAGE: f64 = 4096.0;

/// Where a column goes.
pub(super) enum Target {
    /// To a table, in the row of `key`.
    Join {
        table: &'static Table,
        key: String,
        place: usize,
        scale: f64,
    },
    Metric {
        name: String,
        labels: String,
    },
    /// It follows from others.
    Skip,
}

pub(super) struct Column {
    pub(super) target: Target,
    /// Its figures are counts in the interval.
    pub(super) over_interval: bool,
}

/// The columns of one section.
pub(super) struct Section {
    pub(super) columns: Vec<Column>,
}

/// A section, a title in it, and where that goes.
type Known = (&'static str, &'static str, &'static Table, usize, f64);

const fn known<S: AnySchema>(
    section: &'static str,
    title: &'static str,
    table: &'static Table<S>,
    place: Place<S, F64>,
    scale: f64,
) -> Known {
    (section, title, table, place.index(), scale)
}

const KNOWN: &[Known] = &[
    known("CPU", "User%", &cpu::TABLE, cpu::usr, 1.0),
    known("CPU", "Sys%", &cpu::TABLE, cpu::sys, 1.0),
    known("CPU", "Wait%", &cpu::TABLE, cpu::iowait, 1.0),
    known("CPU", "Idle%", &cpu::TABLE, cpu::idle, 1.0),
    known("CPU", "Steal%", &cpu::TABLE, cpu::steal, 1.0),
    known("CPU", "CPUs", &sched::TABLE, sched::cpus_online, 1.0),
    known("PROC", "Runnable", &sched::TABLE, sched::runnable, 1.0),
    known("PROC", "Blocked", &sched::TABLE, sched::blocked, 1.0),
    known("PROC", "pswitch", &sched::TABLE, sched::context_switches_per_s, 1.0),
    known("PROC", "syscall", &sched::TABLE, sched::syscalls_per_s, 1.0),
    known("PROC", "fork", &sched::TABLE, sched::forks_per_s, 1.0),
    known("MEM", "memtotal", &mem::TABLE, mem::total_bytes, MB),
    known("MEM", "memfree", &mem::TABLE, mem::free_bytes, MB),
    known("MEM", "memshared", &mem::TABLE, mem::shmem_bytes, MB),
    known("MEM", "cached", &mem::TABLE, mem::cached_bytes, MB),
    known("MEM", "active", &mem::TABLE, mem::active_bytes, MB),
    known("MEM", "inactive", &mem::TABLE, mem::inactive_bytes, MB),
    known("MEM", "buffers", &mem::TABLE, mem::buffers_bytes, MB),
    known("MEM", "swapcached", &mem::TABLE, mem::swap_cached_bytes, MB),
    known("MEM", "swaptotal", &mem::TABLE, mem::swap_total_bytes, MB),
    known("MEM", "swapfree", &mem::TABLE, mem::swap_free_bytes, MB),
    known("MEM", "Real total(MB)", &mem::TABLE, mem::total_bytes, MB),
    known("MEM", "Real free(MB)", &mem::TABLE, mem::free_bytes, MB),
    known("MEM", "Virtual total(MB)", &mem::TABLE, mem::swap_total_bytes, MB),
    known("MEM", "Virtual free(MB)", &mem::TABLE, mem::swap_free_bytes, MB),
    // AIX: pages of 4096 bytes.
    known("PAGE", "faults", &vm::TABLE, vm::faults_per_s, 1.0),
    known("PAGE", "pgin", &vm::TABLE, vm::page_in_bytes_per_s, PAGE),
    known("PAGE", "pgout", &vm::TABLE, vm::page_out_bytes_per_s, PAGE),
    known("PAGE", "pgsin", &vm::TABLE, vm::swap_in_pages_per_s, 1.0),
    known("PAGE", "pgsout", &vm::TABLE, vm::swap_out_pages_per_s, 1.0),
    known("PAGE", "scans", &vm::TABLE, vm::scan_kswapd_pages_per_s, 1.0),
    // Linux: counts in the interval.
    known("VM", "pgpgin", &vm::TABLE, vm::page_in_bytes_per_s, KB),
    known("VM", "pgpgout", &vm::TABLE, vm::page_out_bytes_per_s, KB),
    known("VM", "pswpin", &vm::TABLE, vm::swap_in_pages_per_s, 1.0),
    known("VM", "pswpout", &vm::TABLE, vm::swap_out_pages_per_s, 1.0),
    known("VM", "pgfree", &vm::TABLE, vm::freed_pages_per_s, 1.0),
    known("VM", "pgfault", &vm::TABLE, vm::faults_per_s, 1.0),
    known("VM", "pgmajfault", &vm::TABLE, vm::major_faults_per_s, 1.0),
    known("VM", "allocstall", &vm::TABLE, vm::direct_reclaims_per_s, 1.0),
];

/// Linux: pages at the end of the interval.
const PAGES: &[(&str, Place<mem::Schema, F64>)] = &[
    ("nr_dirty", mem::dirty_bytes),
    ("nr_writeback", mem::writeback_bytes),
    ("nr_page_table_pages", mem::page_tables_bytes),
    ("nr_mapped", mem::mapped_bytes),
    ("nr_slab_reclaimable", mem::slab_reclaimable_bytes),
];

/// Sections whose columns are devices or mount points.
const DEVICES: &[Known] = &[
    known("DISKBUSY", "", &disk::TABLE, disk::util, 1.0),
    known("DISKREAD", "", &disk::TABLE, disk::read_bytes_per_s, KB),
    known("DISKWRITE", "", &disk::TABLE, disk::write_bytes_per_s, KB),
    known("DISKRXFER", "", &disk::TABLE, disk::reads_per_s, 1.0),
    known("DISKXFER", "", &disk::TABLE, disk::transfers_per_s, 1.0),
    known("DISKBSIZE", "", &disk::TABLE, disk::transfer_size_bytes, KB),
    known("DISKSERV", "", &disk::TABLE, disk::svctm_ms, 1.0),
    known("JFSFILE", "", &fs::TABLE, fs::used, 1.0),
    known("JFSINODE", "", &fs::TABLE, fs::inodes_used, 1.0),
];

/// Ends of titles that begin with the name of an interface.
const INTERFACES: &[(&str, &str, Place<net::Schema, F64>, f64)] = &[
    ("NET", "-read-KB/s", net::rx_bytes_per_s, KB),
    ("NET", "-write-KB/s", net::tx_bytes_per_s, KB),
    ("NETPACKET", "-reads/s", net::rx_packets_per_s, 1.0),
    ("NETPACKET", "-writes/s", net::tx_packets_per_s, 1.0),
    ("NETPACKET", "-read/s", net::rx_packets_per_s, 1.0),
    ("NETPACKET", "-write/s", net::tx_packets_per_s, 1.0),
    ("NETSIZE", "-readsize", net::rx_packet_bytes, 1.0),
    ("NETSIZE", "-writesize", net::tx_packet_bytes, 1.0),
];

/// Titles that follow from other columns.
const FOLLOW: &[(&str, &str)] = &[
    ("CPU", "Busy"),
    ("MEM", "Real Free %"),
    ("MEM", "Virtual free %"),
    ("MEM", "hightotal"),
    ("MEM", "lowtotal"),
    ("MEM", "highfree"),
    ("MEM", "lowfree"),
    ("MEM", "bigfree"),
    ("NET", "total-read-KB/s"),
    ("NET", "total-write-KB/s"),
];

impl Section {
    /// From a line of titles: the section, what it is of, then the columns.
    pub(super) fn new(titles: &Fields<'_>, small_pages: bool) -> Section {
        let full = titles.get(0);
        // Where there are many disks, a section comes in parts: DISKREAD, DISKREAD1, DISKREAD2.
        let name = full.trim_end_matches(|c: char| c.is_ascii_digit());
        let number: Option<u32> = full.get(name.len()..).and_then(|n| n.parse().ok());
        let columns = titles.from(2);
        let columns = columns.iter().map(|title| column(name, number, title, small_pages)).collect();
        Section { columns }
    }
}

fn column(section: &str, number: Option<u32>, title: &str, small_pages: bool) -> Column {
    let kind = if section == "CPU_ALL" { "CPU" } else { section };
    let over_interval = section == "VM" && !title.starts_with("nr_");
    let to = |table: &'static Table, key: &str, place, scale| Column {
        target: Target::Join { table, key: key.to_owned(), place, scale },
        over_interval,
    };
    if FOLLOW.contains(&(kind, title)) || title.is_empty() {
        return Column { target: Target::Skip, over_interval };
    }
    if let Some((.., table, place, scale)) = KNOWN.iter().find(|(s, t, ..)| *s == kind && *t == title) {
        // CPU001 is the first, which systems call 0.
        let cpu = number.filter(|_| table.id == cpu::TABLE.id).map(|n| n.saturating_sub(1).to_string());
        return to(table, cpu.as_deref().unwrap_or(""), *place, *scale);
    }
    if let Some((_, place)) = PAGES.iter().find(|(t, _)| section == "VM" && small_pages && *t == title) {
        return to(&mem::TABLE, "", place.index(), PAGE);
    }
    if let Some((.., table, place, scale)) = DEVICES.iter().find(|(s, ..)| *s == section) {
        return to(table, title, *place, *scale);
    }
    let interface = INTERFACES.iter().filter(|(s, ..)| *s == section);
    if let Some((device, place, scale)) =
        interface.filter_map(|(_, end, place, scale)| Some((title.strip_suffix(end)?, *place, *scale))).next()
    {
        return to(&net::TABLE, device, place.index(), scale);
    }
    Column { target: metric(section, number, title), over_interval }
}

/// A column of no table: of a device where the section has one column a device.
fn metric(section: &str, number: Option<u32>, title: &str) -> Target {
    if section.starts_with("DISK") || section.starts_with("DG") || section.starts_with("VG") {
        return Target::Metric {
            name: format!("nmon.{section}"),
            labels: format!("device={}", title.replace(',', "_")),
        };
    }
    let labels = match number {
        Some(n) if section.ends_with("CPU") => format!("cpu={}", n.saturating_sub(1)),
        Some(n) => format!("number={n}"),
        None => String::new(),
    };
    Target::Metric { name: format!("nmon.{section}.{title}"), labels }
}
