//! procps: `vmstat`, `free`, `top`, `ps`; and saved files of /proc.

pub(crate) mod load;
pub(crate) mod moments;
mod tasks;

formats! {
    vmstat,
    free,
    uptime,
    top,
    ps,
    pid_status,
    pid_sched,
    collectl_raw,
    proc,
}
