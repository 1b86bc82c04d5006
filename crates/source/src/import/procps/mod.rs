//! procps: `vmstat`, `free`, `top`, `ps`; and saved files of /proc.

mod load;
mod moments;

formats! {
    vmstat,
    free,
    uptime,
}
