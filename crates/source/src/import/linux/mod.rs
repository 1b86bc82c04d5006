//! Other statistics tools of Linux: networks, nmon, collectl, atop, hardware.

mod joins;

formats! {
    nicstat,
    dstat,
    nmon,
    collectl,
    atop,
    turbostat,
    nvidia_smi,
}
