//! Tracers and profilers: perf, strace, truss, and the DTrace family.

formats! {}
