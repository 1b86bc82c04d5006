//! Lines about the system.

use fenxi_model::{
    AnySchema, Place, Table,
    catalog::{cpu, disk, mem, net, pressure, sched, tcp, udp, vm},
    place::F64,
};

use super::{super::joins::Joins, When};
use crate::{Fields, Out, number};

const SECTOR: f64 = 512.0;

/// A line with `label`; false when it is not known or not as it should be.
pub(super) fn line(label: &str, when: When, fields: &Fields<'_>, joins: &mut Joins, out: &mut Out<'_>) -> bool {
    let at = |i: usize| number(fields.get(i)).filter(|v| *v >= 0.0);
    match label {
        "CPU" => cpus(None, when, at, out),
        "cpu" => cpus(Some(fields.get(1)), when, at, out),
        "CPL" => {
            let mut row = out.row(&sched::TABLE, when.t, when.dt);
            row.f64(sched::cpus_online, at(0)).f64(sched::load1, at(1)).f64(sched::load5, at(2));
            row.f64(sched::load15, at(3)).f64(sched::context_switches_per_s, when.rate(at(4)));
            row.f64(sched::intr_per_s, when.rate(at(5)));
        }
        "MEM" => memory(when, at, joins, out),
        "SWP" => {
            let pages = |i: usize| at(i).zip(at(0)).map(|(n, page)| n * page);
            let used = pages(1).zip(pages(2)).map(|(total, free)| total - free);
            let places = [
                (mem::swap_total_bytes, pages(1)),
                (mem::swap_free_bytes, pages(2)),
                (mem::swap_used_bytes, used),
                (mem::swap_cached_bytes, pages(3)),
                (mem::committed_bytes, pages(4)),
                (mem::commit_limit_bytes, pages(5)),
            ];
            set(joins, &mem::TABLE, when, &places, out);
        }
        "PAG" => paging(when, at, out),
        "PSI" => pressures(when, fields, out),
        "LVM" | "MDD" | "DSK" => device(label, when, fields, out),
        "NET" if fields.get(0) == "upper" => upper(when, fields, joins, out),
        "NET" => interface(when, fields, out),
        _ => return others(label, when, fields, out),
    }
    fields.len() > 2
}

/// Sets columns of the sample's row of `table`.
fn set<S: AnySchema>(
    joins: &mut Joins,
    table: &'static Table<S>,
    when: When,
    places: &[(Place<S, F64>, Option<f64>)],
    out: &mut Out<'_>,
) {
    for (place, value) in places {
        joins.set(out, (when.t, when.dt), (table, place.index()), "", *value);
    }
}

/// Ticks of all CPUs or of one: ticks per second, count or number, then system, user, nice, idle,
/// wait, irq, soft irq, steal, guest (which is in user too), frequency.
fn cpus(number: Option<&str>, when: When, at: impl Fn(usize) -> Option<f64>, out: &mut Out<'_>) {
    let total: f64 = (2..10).filter_map(&at).sum();
    let share = |ticks: Option<f64>| ticks.filter(|_| total > 0.0).map(|t| t / total * 100.0);
    let user = at(3).map(|user| (user - at(10).unwrap_or(0.0)).max(0.0));
    // Of all CPUs together the frequency is a sum.
    let cpus = if number.is_some() { Some(1.0) } else { at(1).filter(|n| *n > 0.0) };
    let hertz = at(11).filter(|f| *f > 0.0).zip(cpus).map(|(megahertz, n)| megahertz * 1e6 / n);
    let mut row = out.row(&cpu::TABLE, when.t, when.dt);
    row.str(cpu::cpu, number).f64(cpu::sys, share(at(2))).f64(cpu::usr, share(user)).f64(cpu::nice, share(at(4)));
    row.f64(cpu::idle, share(at(5))).f64(cpu::iowait, share(at(6))).f64(cpu::irq, share(at(7)));
    row.f64(cpu::softirq, share(at(8))).f64(cpu::steal, share(at(9))).f64(cpu::guest, share(at(10)));
    row.f64(cpu::freq_hz, hertz);
}

fn memory(when: When, at: impl Fn(usize) -> Option<f64>, joins: &mut Joins, out: &mut Out<'_>) {
    let pages = |i: usize| at(i).zip(at(0)).map(|(n, page)| n * page);
    let huge = |i: usize| at(i).zip(at(12)).map(|(n, page)| n * page);
    let unreclaimable = pages(5).zip(pages(7)).map(|(slab, reclaimable)| (slab - reclaimable).max(0.0));
    let places = [
        (mem::total_bytes, pages(1)),
        (mem::free_bytes, pages(2)),
        (mem::cached_bytes, pages(3)),
        (mem::buffers_bytes, pages(4)),
        (mem::dirty_bytes, pages(6)),
        (mem::slab_reclaimable_bytes, pages(7)),
        (mem::slab_unreclaimable_bytes, unreclaimable),
        (mem::shmem_bytes, pages(9)),
        (mem::huge_total_bytes, huge(13)),
        (mem::huge_free_bytes, huge(14)),
        (mem::page_tables_bytes, pages(20)),
    ];
    set(joins, &mem::TABLE, when, &places, out);
    if pages(18).is_some() {
        set(joins, &tcp::TABLE, when, &[(tcp::socket_mem_bytes, pages(18))], out);
        set(joins, &udp::TABLE, when, &[(udp::socket_mem_bytes, pages(19))], out);
    }
    for (name, i) in [("vmware_balloon", 8), ("shm_resident", 10), ("shm_swapped", 11), ("zfs_arc", 15)] {
        if let Some(bytes) = pages(i).filter(|b| *b > 0.0) {
            out.metric(when.t, when.dt, &format!("atop.MEM.{name}"), "", bytes, "B");
        }
    }
}

fn paging(when: When, at: impl Fn(usize) -> Option<f64>, out: &mut Out<'_>) {
    let rate = |i: usize| when.rate(at(i));
    let bytes = |i: usize| rate(i).zip(at(0)).map(|(n, page)| n * page);
    let mut row = out.row(&vm::TABLE, when.t, when.dt);
    row.f64(vm::direct_reclaims_per_s, rate(2)).f64(vm::swap_in_pages_per_s, rate(4));
    row.f64(vm::swap_out_pages_per_s, rate(5)).f64(vm::oom_kills, at(6)).f64(vm::compact_stalls_per_s, rate(7));
    row.f64(vm::numa_migrated_pages_per_s, rate(9)).f64(vm::page_in_bytes_per_s, bytes(10));
    row.f64(vm::page_out_bytes_per_s, bytes(11));
    // Pages that were scanned by either: the table distinguishes the two.
    if let Some(scans) = rate(1) {
        out.metric(when.t, when.dt, "atop.PAG.scans", "", scans, "");
    }
}

/// `y`, then for each kind three averages and the microseconds of the interval.
fn pressures(when: When, fields: &Fields<'_>, out: &mut Out<'_>) {
    if fields.get(0) != "y" {
        return;
    }
    let share = |i: usize| when.rate(number(fields.get(i))).map(|us| us / 1e6 * 100.0);
    for (resource, some, full) in [("cpu", 4, None), ("memory", 8, Some(12)), ("io", 16, Some(20))] {
        let mut row = out.row(&pressure::TABLE, when.t, when.dt);
        row.str(pressure::resource, resource)
            .f64(pressure::some, share(some))
            .f64(pressure::full, full.and_then(share));
    }
}

fn device(label: &str, when: When, fields: &Fields<'_>, out: &mut Out<'_>) {
    let at = |i: usize| number(fields.get(i)).filter(|v| *v >= 0.0);
    let (rate, bytes) = (|i: usize| when.rate(at(i)), |i: usize| when.rate(at(i)).map(|n| n * SECTOR));
    let class = match label {
        "LVM" => "dm",
        "MDD" => "md",
        _ => "disk",
    };
    let util = when.rate(at(1)).map(|ms| (ms / 10.0).min(100.0));
    let requests = at(2).zip(at(4)).map(|(r, w)| r + w).filter(|n| *n > 0.0);
    let size = |sectors: usize, n: usize| at(sectors).zip(at(n)).filter(|(_, n)| *n > 0.0).map(|(s, n)| s * SECTOR / n);
    let name = fields.get(0);
    let mut row = out.row(&disk::TABLE, when.t, when.dt);
    row.str(disk::device, name).str(disk::class, class).f64(disk::util, util);
    row.f64(disk::reads_per_s, rate(2)).f64(disk::read_bytes_per_s, bytes(3)).f64(disk::read_size_bytes, size(3, 2));
    row.f64(disk::writes_per_s, rate(4)).f64(disk::write_bytes_per_s, bytes(5)).f64(disk::write_size_bytes, size(5, 4));
    row.f64(disk::discards_per_s, rate(6)).f64(disk::discard_bytes_per_s, bytes(7)).f64(disk::in_flight, at(8));
    row.f64(disk::svctm_ms, at(1).zip(requests).map(|(ms, n)| ms / n));
    if let Some(depth) = at(9) {
        let labels = format!("device={name}");
        out.metric(when.t, when.dt, "atop.queue_depth_while_busy", &labels, depth, "");
    }
}

fn upper(when: When, fields: &Fields<'_>, joins: &mut Joins, out: &mut Out<'_>) {
    let at = |i: usize| number(fields.get(i)).filter(|v| *v >= 0.0);
    let rate = |i: usize| when.rate(at(i));
    let places = [
        (tcp::in_segments_per_s, rate(1)),
        (tcp::out_segments_per_s, rate(2)),
        (tcp::active_opens_per_s, rate(11)),
        (tcp::passive_opens_per_s, rate(12)),
        (tcp::established, at(13)),
        (tcp::retransmits_per_s, rate(14)),
        (tcp::in_errors_per_s, rate(15)),
        (tcp::out_resets_per_s, rate(16)),
    ];
    set(joins, &tcp::TABLE, when, &places, out);
    let places = [
        (udp::in_datagrams_per_s, rate(3)),
        (udp::out_datagrams_per_s, rate(4)),
        (udp::in_errors_per_s, rate(9)),
        (udp::no_ports_per_s, rate(10)),
    ];
    set(joins, &udp::TABLE, when, &places, out);
    for (name, i) in [("in", 5), ("out", 6), ("delivered", 7), ("forwarded", 8)] {
        out.metric(when.t, when.dt, &format!("atop.ip.{name}"), "", rate(i), "");
    }
}

fn interface(when: When, fields: &Fields<'_>, out: &mut Out<'_>) {
    let rate = |i: usize| when.rate(number(fields.get(i)));
    let speed = number(fields.get(5)).filter(|s| *s > 0.0);
    let duplex = match fields.get(6) {
        "1" => Some("full"),
        "0" => Some("half"),
        _ => None,
    };
    let mut row = out.row(&net::TABLE, when.t, when.dt);
    row.str(net::interface, fields.get(0)).f64(net::rx_packets_per_s, rate(1)).f64(net::rx_bytes_per_s, rate(2));
    row.f64(net::tx_packets_per_s, rate(3)).f64(net::tx_bytes_per_s, rate(4)).f64(net::speed_mbps, speed);
    row.str(net::duplex, duplex.filter(|_| speed.is_some()));
}

/// Labels without a table: which thing a line is of, the number of its fields, and what the fields
/// behind it are; a name with `/` is a count of the interval.
type Other = (&'static str, &'static str, usize, &'static [&'static str]);

const OTHERS: &[Other] = &[
    ("GPU", "gpu", 3, &["busy", "mem_busy", "mem_total_kib", "mem_used_kib"]),
    (
        "NFM",
        "mount",
        1,
        &[
            "read_bytes/",
            "write_bytes/",
            "read_call_bytes/",
            "write_call_bytes/",
            "direct_read_bytes/",
            "direct_write_bytes/",
            "mapped_read_pages/",
            "mapped_write_pages/",
        ],
    ),
    ("NFC", "", 0, &["rpc/", "rpc_read/", "rpc_write/", "retransmits/", "auth_refreshes/"]),
    (
        "NFS",
        "",
        0,
        &[
            "rpc/",
            "rpc_read/",
            "rpc_write/",
            "read_bytes/",
            "write_bytes/",
            "bad_format/",
            "bad_auth/",
            "bad_client/",
            "net/",
            "net_tcp/",
            "net_udp/",
            "tcp_connections/",
            "cache_hits/",
            "cache_misses/",
            "uncached/",
        ],
    ),
    ("IFB", "port", 2, &["lanes", "max_mbps", "rx_bytes/", "tx_bytes/", "rx_packets/", "tx_packets/"]),
    ("LLC", "llc", 1, &["used", "bandwidth", "local_bandwidth"]),
    (
        "NUM",
        "node",
        1,
        &[
            "page_bytes",
            "fragmentation",
            "total_pages",
            "free_pages",
            "active_pages",
            "inactive_pages",
            "file_pages",
            "dirty_pages",
            "slab_pages",
            "slab_reclaimable_pages",
            "shmem_pages",
            "huge_pages",
        ],
    ),
    (
        "NUC",
        "node",
        1,
        &[
            "cpus",
            "sys_ticks/",
            "usr_ticks/",
            "nice_ticks/",
            "idle_ticks/",
            "iowait_ticks/",
            "irq_ticks/",
            "softirq_ticks/",
            "steal_ticks/",
            "guest_ticks/",
        ],
    ),
];

fn others(label: &str, when: When, fields: &Fields<'_>, out: &mut Out<'_>) -> bool {
    let Some((_, thing, keys, names)) = OTHERS.iter().find(|(l, ..)| *l == label) else { return false };
    let key = fields.iter().take(*keys).collect::<Vec<_>>().join(":").replace(',', "_");
    let labels = if thing.is_empty() { String::new() } else { format!("{thing}={key}") };
    for (name, cell) in names.iter().zip(fields.from(*keys).iter()) {
        let Some(value) = number(cell).filter(|v| *v >= 0.0) else { continue };
        let (name, value) = match name.strip_suffix('/') {
            Some(name) => (format!("atop.{label}.{name}_per_s"), when.rate(Some(value))),
            None => (format!("atop.{label}.{name}"), Some(value)),
        };
        out.metric(when.t, when.dt, &name, &labels, value, "");
    }
    true
}
