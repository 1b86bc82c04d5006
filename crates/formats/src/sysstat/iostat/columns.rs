//! The columns of iostat in all its versions.

use fenxi_model::{
    Place,
    catalog::{cpu, disk},
    place::F64,
};

use crate::{Field, col};

const SECTOR: f64 = 512.0;
const KB: f64 = 1024.0;
const MB: f64 = 1024.0 * 1024.0;

/// Columns of the avg-cpu report. Its system time has the interrupts in it.
pub(in super::super) const CPU: &[Field] = &[
    col("%user", &cpu::TABLE, cpu::usr),
    col("%nice", &cpu::TABLE, cpu::nice),
    col("%sys", &cpu::TABLE, cpu::sys),
    col("%system", &cpu::TABLE, cpu::sys),
    col("%iowait", &cpu::TABLE, cpu::iowait),
    col("%steal", &cpu::TABLE, cpu::steal),
    col("%idle", &cpu::TABLE, cpu::idle),
];

/// A column of the device reports.
const fn dev(header: &'static str, place: Place<disk::Schema, F64>) -> Field {
    col(header, &disk::TABLE, place)
}

/// Columns of the device reports. Sizes per request are in sectors up to version 11.5 (`avgrq-sz`)
/// and in kilobytes since.
pub(in super::super) const DEVICE: &[Field] = &[
    dev("tps", disk::transfers_per_s),
    dev("r/s", disk::reads_per_s),
    dev("w/s", disk::writes_per_s),
    dev("d/s", disk::discards_per_s),
    dev("f/s", disk::flushes_per_s),
    dev("rrqm/s", disk::reads_merged_per_s),
    dev("wrqm/s", disk::writes_merged_per_s),
    dev("drqm/s", disk::discards_merged_per_s),
    dev("rsec/s", disk::read_bytes_per_s).times(SECTOR),
    dev("wsec/s", disk::write_bytes_per_s).times(SECTOR),
    dev("dsec/s", disk::discard_bytes_per_s).times(SECTOR),
    dev("rkB/s", disk::read_bytes_per_s).times(KB),
    dev("wkB/s", disk::write_bytes_per_s).times(KB),
    dev("dkB/s", disk::discard_bytes_per_s).times(KB),
    dev("rMB/s", disk::read_bytes_per_s).times(MB),
    dev("wMB/s", disk::write_bytes_per_s).times(MB),
    dev("dMB/s", disk::discard_bytes_per_s).times(MB),
    dev("sec/s", disk::transfer_bytes_per_s).times(SECTOR),
    dev("kB/s", disk::transfer_bytes_per_s).times(KB),
    dev("MB/s", disk::transfer_bytes_per_s).times(MB),
    dev("Blk_read/s", disk::read_bytes_per_s).times(SECTOR),
    dev("Blk_wrtn/s", disk::write_bytes_per_s).times(SECTOR),
    dev("Blk_dscd/s", disk::discard_bytes_per_s).times(SECTOR),
    dev("kB_read/s", disk::read_bytes_per_s).times(KB),
    dev("kB_wrtn/s", disk::write_bytes_per_s).times(KB),
    dev("kB_dscd/s", disk::discard_bytes_per_s).times(KB),
    dev("MB_read/s", disk::read_bytes_per_s).times(MB),
    dev("MB_wrtn/s", disk::write_bytes_per_s).times(MB),
    dev("MB_dscd/s", disk::discard_bytes_per_s).times(MB),
    dev("r_await", disk::read_await_ms).mean_of(&["r/s"]),
    dev("w_await", disk::write_await_ms).mean_of(&["w/s"]),
    dev("d_await", disk::discard_await_ms).mean_of(&["d/s"]),
    dev("f_await", disk::flush_await_ms).mean_of(&["f/s"]),
    dev("await", disk::await_ms).mean_of(&["tps", "r/s", "w/s"]),
    dev("svctm", disk::svctm_ms).mean_of(&["r/s", "w/s"]),
    dev("rareq-sz", disk::read_size_bytes).times(KB).mean_of(&["r/s"]),
    dev("wareq-sz", disk::write_size_bytes).times(KB).mean_of(&["w/s"]),
    dev("areq-sz", disk::transfer_size_bytes).times(KB).mean_of(&["tps", "r/s", "w/s"]),
    dev("avgrq-sz", disk::transfer_size_bytes).times(SECTOR).mean_of(&["r/s", "w/s"]),
    dev("aqu-sz", disk::queue_depth),
    dev("avgqu-sz", disk::queue_depth),
    dev("%util", disk::util),
    // Shares of merged requests, and the size of discards.
    Field::metric("%rrqm", "%"),
    Field::metric("%wrqm", "%"),
    Field::metric("%drqm", "%"),
    Field::metric("dareq-sz", "B").times(KB).mean_of(&["d/s"]),
    // The others follow from these: what was moved in the interval.
    Field::skip("Blk_read"),
    Field::skip("Blk_wrtn"),
    Field::skip("Blk_dscd"),
    Field::skip("Blk_w+d"),
    Field::skip("kB_read"),
    Field::skip("kB_wrtn"),
    Field::skip("kB_dscd"),
    Field::skip("kB_w+d"),
    Field::skip("MB_read"),
    Field::skip("MB_wrtn"),
    Field::skip("MB_dscd"),
    Field::skip("MB_w+d"),
];

/// Columns of a device that its report has in several sections (`--pretty`, `-h`).
pub(in super::super) const JOINED: &[Place<disk::Schema, F64>] = &[
    disk::reads_per_s,
    disk::writes_per_s,
    disk::discards_per_s,
    disk::flushes_per_s,
    disk::reads_merged_per_s,
    disk::writes_merged_per_s,
    disk::discards_merged_per_s,
    disk::read_bytes_per_s,
    disk::write_bytes_per_s,
    disk::discard_bytes_per_s,
    disk::read_await_ms,
    disk::write_await_ms,
    disk::discard_await_ms,
    disk::flush_await_ms,
    disk::read_size_bytes,
    disk::write_size_bytes,
    disk::queue_depth,
    disk::util,
];
