//! Numbers of NVIDIA's critical errors in words, as its documentation of Xid messages has them.

/// Meaning of an Xid; None of one that is rare.
pub(super) fn meaning(xid: u64) -> Option<&'static str> {
    Some(match xid {
        8 => "the GPU stopped processing",
        13 => "graphics engine exception: as a rule an error of the program",
        31 => "page fault in GPU memory: as a rule an error of the program",
        32 => "corrupted push buffer",
        43 => "the GPU stopped processing: as a rule an error of the program",
        45 => "a program's channels were removed: it ended, or failed before",
        48 => "memory error of two bits, which ECC cannot correct",
        61 | 62 => "internal microcontroller error",
        63 => "a bad row of memory is replaced at the next reset",
        64 => "a bad row of memory could not be replaced",
        69 => "graphics engine class error",
        74 => "NVLink error",
        79 => "the GPU has fallen off the bus",
        92 => "many memory errors that ECC corrected",
        94 => "contained memory error: the programs that used it end",
        95 => "uncontained memory error: the GPU needs a reset",
        109 => "a context switch timed out",
        119 | 120 => "the GPU's system processor (GSP) does not answer",
        140 => "memory error that ECC did not recover from",
        154 => "the GPU needs a reset or a reboot",
        _ => return None,
    })
}
