//! Solaris and kin, BSD and macOS.

mod iostat;
mod times;

formats! { solaris_mpstat, solaris_vmstat, solaris_vmstat_s, solaris_iostat, prstat, bsd_iostat }
