//! Load generators and benchmarks.

formats! {}
