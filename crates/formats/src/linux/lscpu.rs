//! `lscpu`: what the processors are, as facts.

use crate::{Family, Format, Head, Input, Out, Sure};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "lscpu",
    summary: "lscpu: what the processors are, as facts",
    family: Family::Linux,
    tables: &[&fenxi_model::catalog::text::TABLE],
    example: "\
Architecture:            x86_64
  CPU op-mode(s):        32-bit, 64-bit
  Byte Order:            Little Endian
CPU(s):                  8
  On-line CPU(s) list:   0-7
",
    sniff,
    read,
};

/// Clocks and their scale are those of the moment.
const OF_THE_MOMENT: [&str; 3] = ["CPU MHz", "CPU(s) scaling MHz", "BogoMIPS"];

fn sniff(head: &Head<'_>) -> Sure {
    let has = |name: &str| head.any(|line| line.split_once(':').is_some_and(|(key, _)| key == name));
    Sure::Certain.when(head.first().starts_with("Architecture:") && has("Byte Order") && has("CPU(s)"))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut section = String::new();
    while input.line().is_some() {
        let (line, text) = (input.number(), input.text());
        let Some((key, value)) = text.split_once(':') else {
            if !text.trim().is_empty() {
                out.unknown(line, text, "no name and value");
            }
            continue;
        };
        let (name, value) = (key.trim(), value.trim());
        if value.is_empty() {
            // `Caches (sum of all):`, `NUMA:`, `Vulnerabilities:` head what is indented below them.
            section = name.to_owned();
            continue;
        }
        if !key.starts_with(' ') {
            section.clear();
        }
        if OF_THE_MOMENT.contains(&name) {
            continue;
        }
        let name = if section.is_empty() { name.to_owned() } else { format!("{section}: {name}") };
        out.fact("lscpu", &name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::read;

    #[test]
    fn headed_lines_are_named_with_their_heading() {
        let text = "Architecture:   x86_64\n  Byte Order:   Little Endian\nCPU(s):         2\n  CPU MHz:      2300.1\n\
            Caches (sum of all):\n  L1d:          64 KiB (2 instances)\nNUMA:\n  NUMA node(s): 1\nVirtualization: VT-x\n";
        let read = read(&FORMAT, text.as_bytes());
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
}
