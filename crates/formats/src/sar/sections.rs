//! What sysstat's `sar` and `sadf` report, section by section: the one place that says which column
//! of which table a figure is, whatever the report's form (text, semicolons, JSON, XML).
//!
//! A column that is not listed becomes a metric `sar.<header>`, so sections without a table of their
//! own (ICMP, NFS, IPv6 ...) are listed only where their JSON names need a word.

use fenxi_model::catalog::{cpu, disk, fs, mem, net, pressure, sched, tcp, udp, vm};

use super::section::{Key, PLAIN, Section, label, labelled, metric, part, place, set, set_part, skip};

/// Bytes of sysstat's kB.
const KB: f64 = 1024.0;
const MB: f64 = 1024.0 * 1024.0;
/// Bytes of a sector or block in sysstat's reports.
const SECTOR: f64 = 512.0;

const CPU: Key = Key { headers: &["CPU", "cpu", "number"], label: "cpu", places: &[place(&cpu::TABLE, cpu::cpu)] };
const IFACE: Key =
    Key { headers: &["IFACE", "iface"], label: "interface", places: &[place(&net::TABLE, net::interface)] };
/// The last column of sensors in text, the second in `sadf -d`.
const SENSOR: Key = Key { headers: &["DEVICE", "device"], label: "device", places: &[] };

/// All sections but the interrupts, which have their CPUs in columns. Those with a key come first.
pub(super) static SECTIONS: &[Section] = &[
    Section {
        names: &["cpu-load", "cpu-load-all", "cpu"],
        keys: &[CPU],
        columns: &[
            set("%usr", &cpu::TABLE, cpu::usr),
            set("%user", &cpu::TABLE, cpu::usr),
            set("%nice", &cpu::TABLE, cpu::nice),
            set("%sys", &cpu::TABLE, cpu::sys),
            set("%system", &cpu::TABLE, cpu::sys),
            set("%iowait", &cpu::TABLE, cpu::iowait),
            set("%steal", &cpu::TABLE, cpu::steal),
            set("%irq", &cpu::TABLE, cpu::irq),
            set("%soft", &cpu::TABLE, cpu::softirq),
            set("%guest", &cpu::TABLE, cpu::guest),
            set("%gnice", &cpu::TABLE, cpu::guest_nice),
            set("%idle", &cpu::TABLE, cpu::idle),
        ],
        ..PLAIN
    },
    Section {
        names: &["cpu-frequency", "cpufreq"],
        keys: &[CPU],
        columns: &[set("MHz", &cpu::TABLE, cpu::freq_hz).times(1e6).alias("frequency")],
        ..PLAIN
    },
    Section {
        names: &["cpu-weighted-frequency", "cpuwfreq"],
        keys: &[CPU],
        columns: &[metric("wghMHz").alias("weighted-frequency")],
        ..PLAIN
    },
    Section {
        names: &["softnet"],
        keys: &[CPU],
        columns: &[metric("total/s"), metric("dropd/s"), metric("squeezd/s"), metric("blg_len")],
        suffix: "/s",
        ..PLAIN
    },
    Section {
        names: &["disk", "disk-device"],
        keys: &[Key {
            headers: &["DEV", "disk-device", "dev"],
            label: "device",
            places: &[place(&disk::TABLE, disk::device)],
        }],
        columns: &[
            set("tps", &disk::TABLE, disk::transfers_per_s),
            set("rd_sec/s", &disk::TABLE, disk::read_bytes_per_s).times(SECTOR),
            set("wr_sec/s", &disk::TABLE, disk::write_bytes_per_s).times(SECTOR),
            set("dc_sec/s", &disk::TABLE, disk::discard_bytes_per_s).times(SECTOR),
            set("rkB/s", &disk::TABLE, disk::read_bytes_per_s).times(KB),
            set("wkB/s", &disk::TABLE, disk::write_bytes_per_s).times(KB),
            set("dkB/s", &disk::TABLE, disk::discard_bytes_per_s).times(KB),
            set("sect/s", &disk::TABLE, disk::transfer_bytes_per_s).times(SECTOR),
            set("blks/s", &disk::TABLE, disk::transfer_bytes_per_s).times(SECTOR),
            set("avgrq-sz", &disk::TABLE, disk::transfer_size_bytes).times(SECTOR),
            set("areq-sz", &disk::TABLE, disk::transfer_size_bytes).times(KB),
            set("avgqu-sz", &disk::TABLE, disk::queue_depth),
            set("aqu-sz", &disk::TABLE, disk::queue_depth),
            set("await", &disk::TABLE, disk::await_ms),
            set("svctm", &disk::TABLE, disk::svctm_ms),
            set("%util", &disk::TABLE, disk::util),
        ],
        suffix: "/s",
        ..PLAIN
    },
    Section {
        names: &["net-dev"],
        keys: &[IFACE],
        columns: &[
            set("rxpck/s", &net::TABLE, net::rx_packets_per_s),
            set("txpck/s", &net::TABLE, net::tx_packets_per_s),
            set("rxbyt/s", &net::TABLE, net::rx_bytes_per_s),
            set("txbyt/s", &net::TABLE, net::tx_bytes_per_s),
            set("rxkB/s", &net::TABLE, net::rx_bytes_per_s).times(KB),
            set("txkB/s", &net::TABLE, net::tx_bytes_per_s).times(KB),
            set("rxcmp/s", &net::TABLE, net::rx_compressed_per_s),
            set("txcmp/s", &net::TABLE, net::tx_compressed_per_s),
            set("rxmcst/s", &net::TABLE, net::multicast_per_s),
            set("%ifutil", &net::TABLE, net::util),
        ],
        suffix: "/s",
        ..PLAIN
    },
    Section {
        names: &["net-edev"],
        keys: &[IFACE],
        columns: &[
            set("rxerr/s", &net::TABLE, net::rx_errors_per_s),
            set("txerr/s", &net::TABLE, net::tx_errors_per_s),
            set("coll/s", &net::TABLE, net::collisions_per_s),
            set("rxdrop/s", &net::TABLE, net::rx_drops_per_s),
            set("txdrop/s", &net::TABLE, net::tx_drops_per_s),
            set("txcarr/s", &net::TABLE, net::carrier_errors_per_s),
            set("rxfram/s", &net::TABLE, net::frame_errors_per_s),
            set("rxfifo/s", &net::TABLE, net::rx_fifo_per_s),
            set("txfifo/s", &net::TABLE, net::tx_fifo_per_s),
        ],
        suffix: "/s",
        ..PLAIN
    },
    // `-F` names devices and `-F MOUNT` mount points; rows are told apart by the mount point.
    Section {
        names: &["filesystems", "filesystem"],
        keys: &[
            Key {
                headers: &["FILESYSTEM", "filesystem", "fsname"],
                label: "device",
                places: &[place(&fs::TABLE, fs::mount), place(&fs::TABLE, fs::device)],
            },
            Key {
                headers: &["MOUNTPOINT", "mountpoint", "mountp"],
                label: "mount",
                places: &[place(&fs::TABLE, fs::mount)],
            },
        ],
        columns: &[
            // `MBfsfree` includes what is kept for root: not the column of what users can have.
            part("MBfsfree", &fs::TABLE, fs::total_bytes, MB),
            set_part("MBfsused", &fs::TABLE, fs::used_bytes, fs::total_bytes).times(MB),
            set_part("Ifree", &fs::TABLE, fs::inodes_free, fs::inodes_total),
            part("Iused", &fs::TABLE, fs::inodes_total, 1.0),
            set("%Iused", &fs::TABLE, fs::inodes_used),
        ],
        ..PLAIN
    },
    Section {
        names: &["serial", "tty"],
        keys: &[label(&["TTY", "line"], "tty")],
        columns: &[metric("rcvin/s"), metric("xmtin/s"), metric("txmtin/s"), metric("framerr/s")],
        suffix: "/s",
        ..PLAIN
    },
    Section {
        names: &["fan-speed", "fan"],
        keys: &[label(&["FAN", "number"], "fan"), SENSOR],
        columns: &[metric("rpm"), metric("drpm")],
        ..PLAIN
    },
    Section {
        names: &["temperature", "temp"],
        keys: &[label(&["TEMP", "number"], "temp"), SENSOR],
        columns: &[metric("degC"), metric("%temp")],
        ..PLAIN
    },
    Section {
        names: &["voltage-input", "in"],
        keys: &[label(&["IN", "number"], "in"), SENSOR],
        columns: &[metric("inV"), metric("%in")],
        ..PLAIN
    },
    Section {
        names: &["battery", "bat"],
        keys: &[label(&["BAT", "number"], "battery")],
        columns: &[metric("%cap").alias("percent-capacity"), metric("cap/min").alias("variation"), skip("status")],
        ..PLAIN
    },
    Section {
        names: &["usb-devices", "usb"],
        keys: &[
            label(&["BUS", "bus_number"], "bus"),
            label(&["idvendor"], "idvendor"),
            label(&["idprod"], "idprod"),
            label(&["manufact", "product"], "product"),
        ],
        columns: &[metric("maxpower")],
        ..PLAIN
    },
    Section {
        names: &["fchosts", "fchost"],
        keys: &[label(&["FCHOST", "fchost", "name"], "fchost")],
        columns: &[metric("fch_rxf/s"), metric("fch_txf/s"), metric("fch_rxw/s"), metric("fch_txw/s")],
        suffix: "/s",
        ..PLAIN
    },
    Section {
        names: &["process-and-context-switch", "processes", "context-switch"],
        columns: &[
            set("proc/s", &sched::TABLE, sched::forks_per_s),
            set("cswch/s", &sched::TABLE, sched::context_switches_per_s),
        ],
        suffix: "/s",
        ..PLAIN
    },
    Section {
        names: &["queue"],
        columns: &[
            set("runq-sz", &sched::TABLE, sched::runnable),
            set("plist-sz", &sched::TABLE, sched::tasks),
            set("ldavg-1", &sched::TABLE, sched::load1),
            set("ldavg-5", &sched::TABLE, sched::load5),
            set("ldavg-15", &sched::TABLE, sched::load15),
            set("blocked", &sched::TABLE, sched::blocked),
        ],
        ..PLAIN
    },
    Section {
        names: &["swap-pages"],
        columns: &[
            set("pswpin/s", &vm::TABLE, vm::swap_in_pages_per_s),
            set("pswpout/s", &vm::TABLE, vm::swap_out_pages_per_s),
        ],
        suffix: "/s",
        ..PLAIN
    },
    Section {
        names: &["paging"],
        columns: &[
            set("pgpgin/s", &vm::TABLE, vm::page_in_bytes_per_s).times(KB),
            set("pgpgout/s", &vm::TABLE, vm::page_out_bytes_per_s).times(KB),
            set("fault/s", &vm::TABLE, vm::faults_per_s),
            set("majflt/s", &vm::TABLE, vm::major_faults_per_s),
            set("pgfree/s", &vm::TABLE, vm::freed_pages_per_s),
            set("pgscank/s", &vm::TABLE, vm::scan_kswapd_pages_per_s),
            set("pgscand/s", &vm::TABLE, vm::scan_direct_pages_per_s),
            metric("%vmeff"),
        ],
        suffix: "/s",
        ..PLAIN
    },
    Section {
        names: &["io"],
        columns: &[
            metric("tps"),
            metric("rtps"),
            metric("wtps"),
            metric("dtps"),
            metric("bread/s"),
            metric("bwrtn/s"),
            metric("bdscd/s"),
        ],
        prefix: "io.",
        ..PLAIN
    },
    // Text prints memory and swap as two sections, JSON and XML as one.
    Section {
        names: &["memory"],
        columns: &[
            set("kbmemfree", &mem::TABLE, mem::free_bytes).times(KB),
            set("kbavail", &mem::TABLE, mem::available_bytes).times(KB),
            set("kbbuffers", &mem::TABLE, mem::buffers_bytes).times(KB),
            set("kbcached", &mem::TABLE, mem::cached_bytes).times(KB),
            set("kbcommit", &mem::TABLE, mem::committed_bytes).times(KB),
            set("kbactive", &mem::TABLE, mem::active_bytes).times(KB),
            set("kbinact", &mem::TABLE, mem::inactive_bytes).times(KB).alias("inactive"),
            set("kbdirty", &mem::TABLE, mem::dirty_bytes).times(KB),
            set("kbshmem", &mem::TABLE, mem::shmem_bytes).times(KB).alias("shared"),
            set("kbmemshrd", &mem::TABLE, mem::shmem_bytes).times(KB),
            set("kbanonpg", &mem::TABLE, mem::anon_bytes).times(KB),
            set("kbkstack", &mem::TABLE, mem::kernel_stack_bytes).times(KB),
            set("kbpgtbl", &mem::TABLE, mem::page_tables_bytes).times(KB),
            set_part("kbswpfree", &mem::TABLE, mem::swap_free_bytes, mem::swap_total_bytes).times(KB),
            set_part("kbswpused", &mem::TABLE, mem::swap_used_bytes, mem::swap_total_bytes).times(KB),
            set("kbswpcad", &mem::TABLE, mem::swap_cached_bytes).times(KB),
            // Used memory with or without caches, as the version has it.
            metric("kbmemused"),
            metric("%memused"),
            metric("%commit"),
            metric("kbslab"),
            metric("kbvmused"),
            skip("%swpused"),
            skip("%swpcad"),
            metric("frmpg/s"),
            metric("shmpg/s"),
            metric("bufpg/s"),
            metric("campg/s"),
        ],
        ..PLAIN
    },
    Section {
        names: &["hugepages"],
        columns: &[
            set_part("kbhugfree", &mem::TABLE, mem::huge_free_bytes, mem::huge_total_bytes).times(KB),
            part("kbhugused", &mem::TABLE, mem::huge_total_bytes, KB),
            skip("%hugused"),
            metric("kbhugrsvd"),
            metric("kbhugsurp"),
        ],
        ..PLAIN
    },
    Section {
        names: &["psi-cpu"],
        fixed: Some(labelled(&pressure::TABLE, pressure::resource, "cpu")),
        columns: &[
            set("%scpu", &pressure::TABLE, pressure::some).alias("some_avg"),
            metric("%scpu-10").alias("some_avg10"),
            metric("%scpu-60").alias("some_avg60"),
            metric("%scpu-300").alias("some_avg300"),
        ],
        ..PLAIN
    },
    Section {
        names: &["psi-io"],
        fixed: Some(labelled(&pressure::TABLE, pressure::resource, "io")),
        columns: &[
            set("%sio", &pressure::TABLE, pressure::some).alias("some_avg"),
            metric("%sio-10").alias("some_avg10"),
            metric("%sio-60").alias("some_avg60"),
            metric("%sio-300").alias("some_avg300"),
            set("%fio", &pressure::TABLE, pressure::full).alias("full_avg"),
            metric("%fio-10").alias("full_avg10"),
            metric("%fio-60").alias("full_avg60"),
            metric("%fio-300").alias("full_avg300"),
        ],
        ..PLAIN
    },
    Section {
        names: &["psi-mem"],
        fixed: Some(labelled(&pressure::TABLE, pressure::resource, "memory")),
        columns: &[
            set("%smem", &pressure::TABLE, pressure::some).alias("some_avg"),
            metric("%smem-10").alias("some_avg10"),
            metric("%smem-60").alias("some_avg60"),
            metric("%smem-300").alias("some_avg300"),
            set("%fmem", &pressure::TABLE, pressure::full).alias("full_avg"),
            metric("%fmem-10").alias("full_avg10"),
            metric("%fmem-60").alias("full_avg60"),
            metric("%fmem-300").alias("full_avg300"),
        ],
        ..PLAIN
    },
    Section {
        names: &["net-sock"],
        columns: &[
            set("tcpsck", &tcp::TABLE, tcp::sockets),
            set("tcp-tw", &tcp::TABLE, tcp::time_wait),
            set("udpsck", &udp::TABLE, udp::sockets),
            metric("totsck"),
        ],
        ..PLAIN
    },
    Section {
        names: &["net-tcp"],
        columns: &[
            set("active/s", &tcp::TABLE, tcp::active_opens_per_s),
            set("passive/s", &tcp::TABLE, tcp::passive_opens_per_s),
            set("iseg/s", &tcp::TABLE, tcp::in_segments_per_s),
            set("oseg/s", &tcp::TABLE, tcp::out_segments_per_s),
        ],
        suffix: "/s",
        ..PLAIN
    },
    // Before the errors of TCP, which also had a `retrans/s`.
    Section {
        names: &["net-nfs"],
        columns: &[metric("call/s"), metric("retrans/s")],
        prefix: "nfs.",
        suffix: "/s",
        ..PLAIN
    },
    Section { names: &["net-nfsd"], columns: &[metric("scall/s")], prefix: "nfsd.", suffix: "/s", ..PLAIN },
    Section {
        names: &["net-etcp"],
        columns: &[
            set("atmptf/s", &tcp::TABLE, tcp::attempt_fails_per_s),
            set("estres/s", &tcp::TABLE, tcp::estab_resets_per_s),
            set("retrans/s", &tcp::TABLE, tcp::retransmits_per_s),
            set("retrseg/s", &tcp::TABLE, tcp::retransmits_per_s),
            set("isegerr/s", &tcp::TABLE, tcp::in_errors_per_s),
            set("orsts/s", &tcp::TABLE, tcp::out_resets_per_s),
        ],
        suffix: "/s",
        ..PLAIN
    },
    Section {
        names: &["net-udp"],
        columns: &[
            set("idgm/s", &udp::TABLE, udp::in_datagrams_per_s),
            set("odgm/s", &udp::TABLE, udp::out_datagrams_per_s),
            set("noport/s", &udp::TABLE, udp::no_ports_per_s),
            set("idgmerr/s", &udp::TABLE, udp::in_errors_per_s),
        ],
        suffix: "/s",
        ..PLAIN
    },
    Section { names: &["net-sock6"], columns: &[metric("tcp6sck")], ..PLAIN },
    Section { names: &["kernel"], columns: &[metric("dentunusd")], ..PLAIN },
    Section { names: &["net-ip"], columns: &[metric("irec/s")], suffix: "/s", ..PLAIN },
    Section { names: &["net-eip"], columns: &[metric("ihdrerr/s")], suffix: "/s", ..PLAIN },
    Section { names: &["net-icmp"], columns: &[metric("imsg/s")], suffix: "/s", ..PLAIN },
    Section { names: &["net-eicmp"], columns: &[metric("ierr/s")], suffix: "/s", ..PLAIN },
    Section { names: &["net-ip6"], columns: &[metric("irec6/s")], suffix: "/s", ..PLAIN },
    Section { names: &["net-eip6"], columns: &[metric("ihdrer6/s")], suffix: "/s", ..PLAIN },
    Section { names: &["net-icmp6"], columns: &[metric("imsg6/s")], suffix: "/s", ..PLAIN },
    Section { names: &["net-eicmp6"], columns: &[metric("ierr6/s")], suffix: "/s", ..PLAIN },
    Section { names: &["net-udp6"], columns: &[metric("idgm6/s")], suffix: "/s", ..PLAIN },
];
