//! System activity reports: `sar` and `sadf` of sysstat, and the `sar` of Solaris, AIX and HP-UX.

mod plan;
mod section;
mod sections;
mod stamp;
mod write;

formats! {
    sar,
}
