//! Other statistics tools of Linux: networks, nmon, collectl, atop, hardware.

pub(crate) mod counters;
mod gpus;
mod joins;

formats! {
    nicstat,
    ifstat,
    pstime,
    bwm_ng,
    proc_memory,
    dstat,
    nmon,
    collectl,
    atop,
    turbostat,
    nvidia_smi,
    sysctl,
    package_list,
    ss,
    ethtool_s,
    df,
    docker_stats,
    iotop,
    zpool_iostat,
    zpool_status,
    zfs_list,
    nfsstat,
    nvidia_smi_q,
    dcgmi,
    syslog,
    journal_json,
    json_log,
    pcp2json,
    dmesg,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::fixtures::read;

    /// Figures that no tool means to print.
    const ODD: [&str; 14] = [
        "1e300",
        "-1e300",
        "99999999999999999999",
        "-9223372036854775808",
        "-0.0",
        "T99999999999999999999",
        "T4294967297",
        "23:59:60",
        "31-DEC-9999",
        "9999/12/31",
        "(",
        "-",
        "",
        "\u{fffd}é",
    ];

    /// The separators of figures.
    const ENDS: [char; 6] = [' ', ',', ':', '\n', '|', '\t'];

    fn fixtures() -> Vec<(&'static crate::Format, String)> {
        let folder = std::path::Path::new("fixtures");
        let mut all = Vec::new();
        for format in super::FORMATS {
            for entry in fs_err::read_dir(folder.join(format.name)).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_none_or(|e| e != "rows") {
                    all.push((*format, fs_err::read_to_string(path).unwrap()));
                }
            }
        }
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn odd_figures_are_read_without_a_panic(picks in prop::collection::vec((1usize..40, 0usize..ODD.len()), 1..6)) {
            for (format, text) in fixtures() {
                let mut changed = String::new();
                let mut picks = picks.iter().cycle();
                let mut left = 0;
                for word in text.split_inclusive(ENDS) {
                    if left == 0 {
                        let (next, which) = picks.next().copied().unwrap_or((1, 0));
                        left = next;
                        changed.push_str(ODD[which]);
                        changed.push_str(&word[word.trim_end_matches(ENDS).len()..]);
                    } else {
                        left -= 1;
                        changed.push_str(word);
                    }
                }
                read(format, changed.as_bytes());
            }
        }
    }
}
