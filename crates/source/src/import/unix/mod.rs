//! Solaris and kin, BSD and macOS.

mod times;

formats! { solaris_mpstat, solaris_vmstat, solaris_vmstat_s }
