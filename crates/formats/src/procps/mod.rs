//! procps: `vmstat`, `free`, `top`, `ps`; and saved files of /proc.

mod load;
pub(crate) mod moments;
mod tasks;

formats! {
    vmstat,
    free,
    uptime,
    top,
    ps,
    pid_status,
    collectl_raw,
    proc,
}
