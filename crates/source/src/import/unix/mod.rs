//! Solaris and kin, BSD and macOS.

formats! {}
