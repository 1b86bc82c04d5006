//! Solaris and kin, BSD and macOS, AIX, HP-UX.

mod iostat;
pub(crate) mod times;

formats! {
    solaris_mpstat, solaris_vmstat_s, solaris_iostat, prstat, bsd_iostat, vm_stat, aix_mpstat, aix_iostat, hpux_iostat,
    netstat_interval, netstat_i, netstat_s, cpustat, trapstat, mdb_memstat, solaris_iopattern, util_old_new,
}
