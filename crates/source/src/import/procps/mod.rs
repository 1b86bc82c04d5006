//! procps: `vmstat`, `free`, `top`, `ps`; and saved files of /proc.

formats! {
    vmstat,
}
