//! System activity reports: `sar` and `sadf` of sysstat, and the `sar` of Solaris, AIX and HP-UX.

mod moment;
mod plan;
mod sample;
mod section;
mod stamp;
mod sysv;
mod write;

formats! {
    sar,
    sadf_d,
    sadf_p,
    sadf_j,
    sadf_x,
    sar_solaris,
    sar_aix,
    sar_hpux,
}
