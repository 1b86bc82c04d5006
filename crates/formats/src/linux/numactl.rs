//! `numactl -H` (`--hardware`): CPUs, memory and distances of NUMA nodes.

use fenxi_model::{Micros, catalog::metric};

use crate::{
    Family, Format, Head, Input, Out, Sure,
    generic::labels::Labels,
    number,
    procps::moments::{Moments, is_prompt},
};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "numactl",
    summary: "numactl -H: CPUs, memory and distances of NUMA nodes",
    family: Family::Linux,
    tables: &[&metric::TABLE],
    example: "\
available: 1 nodes (0)
node 0 cpus: 0 1
node 0 size: 24105 MB
node 0 free: 13018 MB
node distances:
node   0 
  0:  10 
",
    sniff,
    read,
};

/// Bytes of its `MB`.
const MB: f64 = 1024.0 * 1024.0;

fn sniff(head: &Head<'_>) -> Sure {
    let begins = head.any(|line| line.starts_with("available: ") && line.contains(" node"));
    Sure::Certain.when(begins && head.any(|line| node(line).is_some_and(|(_, what, _)| what == "size")))
}

/// `node 0 size: 24105 MB`: the node, what is said, and what it is.
fn node(line: &str) -> Option<(&str, &str, &str)> {
    let (name, value) = line.trim().strip_prefix("node ")?.split_once(':')?;
    let (node, what) = name.split_once(' ')?;
    (number(node).is_some() && matches!(what, "cpus" | "size" | "free")).then_some((node, what, value.trim()))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut moments = Moments::new(out);
    let mut now: Option<(Micros, Option<f64>)> = None;
    input.each_line(|at, line| {
        let line = line.trim();
        if let Some(count) = line.strip_prefix("available: ") {
            now = None;
            out.fact("numa", "nodes", count);
        } else if let Some((node, what, value)) = node(line) {
            let bytes = value.strip_suffix("MB").and_then(|mb| number(mb.trim())).map(|mb| mb * MB);
            match bytes {
                Some(bytes) => {
                    let (t, dt) = *now.get_or_insert_with(|| moments.next(out));
                    out.metric(t, dt, &format!("numa.{what}"), Labels::of("node", node).text(), bytes, "B");
                }
                None => out.fact("numa", &format!("node {node} {what}"), value),
            }
        } else if line.starts_with("node ") && line.split_ascii_whitespace().skip(1).all(|word| number(word).is_some())
        {
        } else if let Some((node, row)) = line.split_once(':').filter(|(node, _)| number(node).is_some()) {
            out.fact("numa", &format!("node {node} distances"), row.trim());
        } else if line.is_empty() || line == "node distances:" || line == "No distance information available." {
        } else if moments.take(line, out).is_none() && !is_prompt(line, "numactl") {
            out.unknown(at, line, "no line of numactl -H");
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{detect, fixtures::read};

    #[test]
    fn nodes_have_their_memory() {
        let read = read(&FORMAT, FORMAT.example.as_bytes());
        assert!(read.text.contains("numa.free\tnode=0\t13650362368\tB"), "{}", read.text);
        assert!(read.text.contains("node 0 cpus\t0 1"), "{}", read.text);
        assert_eq!(read.tally.notes, 0, "{}", read.text);
    }

    #[test]
    fn nodes_of_a_cluster_are_nobodys() {
        for text in ["available: 3 nodes\nnode 1 up\n", "available: yes\nnode 0 size: big\n"] {
            assert!(detect(&Head { text }).is_none(), "{text}");
        }
    }
}
