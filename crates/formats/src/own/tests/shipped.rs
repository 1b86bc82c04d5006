//! Shipped descriptions: what their fixtures alone do not show.

use proptest::prelude::*;

use crate::{Format, Head, Sure, detect, fixtures::read, format, load::tests::result};

fn of(name: &str) -> &'static Format {
    format(name).unwrap()
}

/// The drive was given 120 writes of 256 KiB a second, which take 0.4 s.
#[test]
fn a_tape_drive_moves_what_its_counters_grew_by() {
    let path = "fixtures/tapestat/12.6-m-y.txt";
    let text = read(of("tapestat"), &fs_err::read(path).unwrap()).text;
    let writes = "\tst0\t8\t120\t1048576\t31457280\t60";
    assert!(text.contains(writes), "{text}");
    assert!(text.contains("tapestat.%Wr\tdevice=st0\t40\t%"), "{text}");
}

#[test]
fn titles_of_kubectl_without_a_row_are_nobodys() {
    let text = "NAME CPU(cores) MEMORY(bytes)\nwhat follows is something else entirely\n";
    assert_eq!((of("kubectl-top").sniff)(&Head { text }), Sure::No);
}

#[test]
fn cores_are_thousandths_or_whole() {
    let text = "NAME CPU(cores) MEMORY(bytes)\na 250m 60Mi\nb 2 1Gi\nc <unknown> 1Mi\nd x 1Mi\n";
    let read = read(of("kubectl-top"), text.as_bytes());
    for row in ["\ta\t25\t62914560\n", "\tb\t200\t1073741824\n", "\tc\t\t1048576\n"] {
        assert!(read.text.contains(row), "{row} {}", read.text);
    }
    assert_eq!(read.tally.notes, 1, "{}", read.text);
}

#[test]
fn headed_lines_of_lscpu_are_named_with_their_heading() {
    let text = "Architecture:   x86_64\n  Byte Order:   Little Endian\nCPU(s):         2\n  CPU MHz:      2300.1\n\
        Caches (sum of all):\n  L1d:          64 KiB (2 instances)\nNUMA:\n  NUMA node(s): 1\nVirtualization: VT-x\n";
    let read = read(of("lscpu"), text.as_bytes());
    let lines: Vec<_> = read.text.lines().filter(|line| line.contains("lscpu")).collect();
    let ends = [
        "Architecture\tx86_64",
        "Byte Order\tLittle Endian",
        "CPU(s)\t2",
        "Caches (sum of all): L1d\t64 KiB (2 instances)",
        "NUMA: NUMA node(s)\t1",
        "Virtualization\tVT-x",
    ];
    assert_eq!(lines.len(), ends.len(), "{lines:?}");
    for (line, end) in lines.iter().zip(ends) {
        assert!(line.ends_with(end), "{line}");
    }
}

#[test]
fn nodes_of_a_cluster_are_nobodys() {
    for text in ["available: 3 nodes\nnode 1 up\n", "available: yes\nnode 0 size: big\n"] {
        assert!(detect(&Head { text }).is_none(), "{text}");
    }
}

#[test]
fn processes_of_several_nodes_keep_their_names() {
    let text = "Per-node process memory usage (in MBs)\nPID              Node 0 Node 1 Total\n---------------  ----- ----- -----\n\
        12 (my db)     1.00 2.00 3.00\n---------------  ----- ----- -----\nTotal     1.50 2.00 3.50\nTotal     1.50 2.00\n";
    let read = read(of("numastat"), text.as_bytes());
    for cells in ["pid=12,comm=my db,node=1\t2097152\tB", "pid=12,comm=my db\t3145728\tB", "node=0\t1572864\tB"] {
        assert!(read.text.contains(&format!("numastat.process_Total\t{cells}")), "{cells} {}", read.text);
    }
    assert!(read.text.contains("one group has more parts than another"), "{}", read.text);
    assert_eq!(read.tally.notes, 1);
}

#[test]
fn totals_at_assumed_times_give_no_rates() {
    let report = |hits: u32| format!("           node0           node1\nnuma_hit  {hits}   7\n");
    let text = read(of("numastat"), format!("{}{}", report(1), report(9)).as_bytes()).text;
    assert!(text.contains("numastat.numa_hit\tnode=1\t7") && !text.contains("per_s"), "{text}");
}

#[test]
fn what_openssl_was_built_without_has_no_rate() {
    let text = "+H:16:64\n+F:1:a:0.00:0.50\ntype   16 bytes     64 bytes\nb c      0.00k    2.00k\n";
    let read = read(of("openssl-speed"), text.as_bytes());
    for (name, value) in [("a 16 B", None), ("a 64 B", Some(0.5)), ("b c 16 B", None), ("b c 64 B", Some(2000.0))] {
        assert_eq!(result(&read.text, &format!("transfer_bytes_per_s[{name}]")), value, "{}", read.text);
    }
    for other in ["type size\nint 4 bytes\n", "type 4 apples\nred 5k\n", "Doing dishes for 3s: 5 plates in 3s\n"] {
        assert!(detect(&Head { text: other }).is_none(), "{other}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn rows_are_those_that_were_printed(
        rows in prop::collection::vec((prop::array::uniform20(0u32..20_000_000), 0u32..60, 0u32..40), 2..45),
        stamps: bool,
    ) {
        let mut text = String::new();
        for (n, (v, us, sy)) in rows.iter().enumerate() {
            if n == 0 || n >= 18 && (n - 18) % 19 == 0 {
                text += " kthr      memory            page            disk          faults      cpu\n";
                text += " r b w   swap  free  re  mf pi po fr de sr s0 s1 -- --   in   sy   cs us sy id\n";
            }
            if stamps {
                text += &format!("{}\n", 1_500_000_000 + n * 5);
            }
            text += &format!(" {} {} {} {:6} {:5} {:3} {:3}", v[0], v[1], v[2], v[3], v[4], v[5], v[6]);
            text += &format!(" {:2} {:2} {:2} {:2} {:2} {:2} {:2}  0  0", v[7], v[8], v[9], v[10], v[11], v[12], v[13]);
            text += &format!(" {:4} {:4} {:4} {us:2} {sy:2} {:2}\n", v[14], v[15], v[16], 100 - us - sy);
        }
        let read = read(of("solaris-vmstat"), text.as_bytes());
        prop_assert_eq!(read.tally.notes, 0, "{}", read.text);
        let table = |name: &str| {
            let mut lines = read.text.lines().skip_while(|l| *l != format!("# {name}")).skip(1);
            let header: Vec<_> = lines.next().unwrap_or_default().split('\t').map(str::to_owned).collect();
            let rows: Vec<Vec<_>> =
                lines.take_while(|l| !l.starts_with('#')).map(|l| l.split('\t').map(str::to_owned).collect()).collect();
            (header, rows)
        };
        for (name, column, of) in [
            ("cpu", "sys", (|r| f64::from(r.2)) as fn(&([u32; 20], u32, u32)) -> f64),
            ("cpu", "idle", |r| f64::from(100 - r.1 - r.2)),
            ("sched", "syscalls_per_s", |r| f64::from(r.0[15])),
            ("mem", "free_bytes", |r| f64::from(r.0[4]) * 1024.0),
            ("vm", "page_out_bytes_per_s", |r| f64::from(r.0[8]) * 1024.0),
        ] {
            let (header, cells) = table(name);
            let at = header.iter().position(|h| h == column).unwrap();
            let found: Vec<f64> = cells.iter().map(|row| row[at].parse().unwrap()).collect();
            let want: Vec<f64> = rows[1..].iter().map(of).collect();
            prop_assert_eq!(found, want);
        }
        prop_assert_eq!(table("disk").1.len(), 2 * (rows.len() - 1));
    }
}
