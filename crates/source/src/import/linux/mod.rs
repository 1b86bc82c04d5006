//! Other statistics tools of Linux: networks, nmon, collectl, atop, hardware.

formats! {
    nicstat,
    dstat,
    nmon,
}
