//! Solaris and kin, BSD and macOS, AIX, HP-UX.

mod iostat;
mod times;
mod vmstat;

formats! {
    solaris_mpstat, solaris_vmstat, solaris_vmstat_s, solaris_iostat, prstat, bsd_iostat, bsd_vmstat, vm_stat, aix_vmstat,
    aix_lparstat, aix_mpstat, aix_iostat, hpux_vmstat, hpux_iostat, netstat_interval, netstat_i, netstat_s, cpustat, trapstat,
    mdb_memstat, solaris_iopattern, util_old_new,
}
