//! Tests of the whole road: the real binary on the real kernel.

#![allow(clippy::print_stderr, reason = "a test prints what it compared, and what it could not")]
#![allow(clippy::zombie_processes, reason = "a failing test ends with its children")]

mod agree;
mod always_on;
mod answers;
mod archive;
mod average;
mod boards;
mod ci;
mod ci_pack;
mod compact;
mod compare;
mod completions;
mod copies;
mod crash;
mod db_figures;
mod db_report;
mod dbstat;
mod eio;
mod ending;
mod explain;
mod fence;
mod gpu;
mod honesty;
mod hostile;
mod hostile_root;
mod hosts;
mod hosts_ssh;
mod import;
mod inspect;
mod liars;
mod load;
mod load_fit;
mod load_team;
mod lsync;
mod manual;
mod mcp;
mod memstat;
mod mpstat;
mod net;
mod nicstat;
mod own_formats;
mod peers;
mod periods;
mod pstime;
mod push;
mod record;
mod renamed;
mod rolled;
mod runs;
mod secrets;
mod serve;
mod stripe;
mod study;
mod support;
mod tamp;
mod trace;
mod trace_util;
mod tune;
mod util;
mod vault;
mod vault_flips;
mod vault_kills;

use fenxi_test_support::{database as server, liar, stub};
