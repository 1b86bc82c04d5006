//! Solaris and kin, BSD and macOS, AIX, HP-UX.

pub(crate) mod iostat;
pub(crate) mod times;

formats! {
    solaris_mpstat, solaris_vmstat_s, prstat, vm_stat, aix_mpstat, aix_iostat,
    netstat_interval, netstat_i, netstat_s, cpustat, mdb_memstat,
}
