//! Solaris and kin, BSD and macOS.

mod times;

formats! { solaris_mpstat }
