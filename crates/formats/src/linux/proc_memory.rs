//! Saved `/proc/buddyinfo`, `pagetypeinfo`, `zoneinfo` and `slabinfo`, once or in a loop with a time stamp above each.
//!
//! Free blocks of each order show how fragmented memory is; zones show how far they are from their watermarks, in pages as the kernel
//! counts them; slabs show which caches hold memory. What `/proc/vmstat` has too (`nr_…` of each node) is left out.

use fenxi_model::{Micros, catalog::metric};

use crate::{
    Family, Format, Head, Input, Out, Sure,
    generic::labels::Labels,
    number,
    procps::moments::{Moments, is_prompt},
};

/// Importer for saved /proc/buddyinfo, pagetypeinfo, zoneinfo and slabinfo.
pub static FORMAT: Format = Format {
    name: "proc-memory",
    summary: "saved /proc/buddyinfo, pagetypeinfo, zoneinfo and slabinfo",
    family: Family::Linux,
    tables: &[&metric::TABLE],
    example: "\
Node 0, zone      DMA      0      0      0      0      0      0      0      0      1      1      3 
Node 0, zone   Normal     55   1513   9159   5144   1849    534    154     29      4      1   2385 
",
    sniff,
    read,
};

/// Orders that the kernel has, at least.
const ORDERS: usize = 9;
/// Watermarks and sizes of a zone in pages.
const OF_A_ZONE: &[&str] = &["min", "low", "high", "spanned", "present", "managed", "cma", "boost", "promo"];

fn sniff(head: &Head<'_>) -> Sure {
    let slab = |line: &str| line.starts_with("slabinfo - version: ");
    let zone = |line: &str| {
        zone(line).is_some_and(|(_, _, rest)| rest.is_empty()) && head.any(|l| l.starts_with("pages free "))
    };
    Sure::Certain.when(head.any(|line| blocks(line).is_some() || slab(line) || zone(line)))
}

/// `Node 0, zone   Normal     55   1513`: the node, the zone and what follows.
fn zone(line: &str) -> Option<(&str, &str, &str)> {
    let (node, rest) = line.trim().strip_prefix("Node ")?.split_once(", zone ")?;
    let rest = rest.trim_start();
    let (zone, rest) = rest.split_once([' ', ',']).unwrap_or((rest, ""));
    let rest = rest.trim();
    number(node.trim()).is_some().then_some((node.trim(), zone, rest))
}

/// Free blocks by order of a node and zone, and of the type of `pagetypeinfo`.
fn blocks(line: &str) -> Option<(Labels, Vec<f64>)> {
    let (node, zone, rest) = zone(line)?;
    let mut labels = Labels::of("node", node);
    labels.push("zone", zone);
    let cells = match rest.strip_prefix("type ") {
        Some(rest) => {
            let (kind, cells) = rest.trim_start().split_once(' ')?;
            labels.push("type", kind);
            cells
        }
        None => rest,
    };
    let counts: Option<Vec<f64>> = cells.split_ascii_whitespace().map(|c| number(c.trim_start_matches('>'))).collect();
    counts.filter(|counts| counts.len() >= ORDERS).map(|counts| (labels, counts))
}

struct Reader {
    moments: Moments,
    now: Option<(Micros, Option<f64>)>,
    /// Which lines came at this moment, to know the next one without a stamp.
    seen: Vec<String>,
    /// The zone of the lines of zoneinfo at hand.
    zone: Option<Labels>,
    /// Pages by migrate type follow, not blocks by order.
    types: bool,
    slab: bool,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader =
        Reader { moments: Moments::new(out), now: None, seen: Vec::new(), zone: None, types: false, slab: false };
    input.each_line(|at, line| {
        let line = line.trim();
        if line.is_empty() || reader.line(line, out) {
            return;
        }
        if reader.moments.take(line, out).is_some() {
            reader.begin();
        } else if !is_prompt(line, "cat") {
            out.unknown(at, line, "no line of /proc/buddyinfo, pagetypeinfo, zoneinfo or slabinfo");
        }
    });
}

impl Reader {
    fn begin(&mut self) {
        (self.now, self.zone) = (None, None);
        self.seen.clear();
    }

    /// The moment of a line that is named `key`; another one where it comes again.
    fn moment(&mut self, key: &str, out: &mut Out<'_>) -> (Micros, Option<f64>) {
        if self.seen.iter().any(|seen| seen == key) {
            self.begin();
        }
        if self.seen.len() < 1 << 14 {
            self.seen.push(key.to_owned());
        }
        *self.now.get_or_insert_with(|| self.moments.next(out))
    }

    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if let Some((labels, counts)) = blocks(line) {
            let (t, dt) = self.moment(&format!("blocks {}", labels.text()), out);
            for (order, count) in counts.into_iter().enumerate() {
                let labels = format!("{},order={order}", labels.text());
                out.metric(t, dt, "buddyinfo.free_blocks", &labels, count, "");
            }
            return true;
        }
        if line.starts_with("slabinfo - version: ") {
            (self.slab, self.zone) = (true, None);
            return true;
        }
        if let Some((node, name, rest)) = zone(line) {
            // `Number of blocks type` of pagetypeinfo, or a zone of zoneinfo.
            if rest.is_empty() {
                let mut labels = Labels::of("node", node);
                labels.push("zone", name);
                self.moment(&format!("zone {}", labels.text()), out);
                self.zone = Some(labels);
                return true;
            }
            return self.types;
        }
        if line.starts_with("Number of blocks type") {
            self.types = true;
            return true;
        }
        let begins = ["Page block order:", "Pages per block:", "Free pages count per migrate type", "# name"];
        begins.iter().any(|begin| line.starts_with(begin))
            || self.zone.is_some() && self.of_zone(line, out)
            || self.slab && self.cache(line, out)
    }

    /// `pages free     3840`, `min 68`, `nr_free_pages 3840`, `cpu: 0`.
    fn of_zone(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let (Some((t, dt)), Some(labels)) = (self.now, &self.zone) else { return false };
        let bare = line.strip_prefix("pages ").unwrap_or(line);
        let mut words = bare.split_ascii_whitespace();
        if let (Some(name), Some(value), None) = (words.next(), words.next(), words.next())
            && let Some(value) = number(value)
            && (OF_A_ZONE.contains(&name) || name == "free")
        {
            out.metric(t, dt, &format!("zoneinfo.{name}_pages"), labels.text(), value, "pages");
            return true;
        }
        // Statistics that /proc/vmstat has, and lists of each CPU.
        let known = [
            "nr_",
            "numa_",
            "workingset_",
            "pgpromote",
            "pgdemote",
            "pgsteal",
            "pgscan",
            "pgrefill",
            "per-node stats",
            "protection:",
            "pagesets",
            "cpu:",
            "count:",
            "high:",
            "batch:",
            "vm stats threshold:",
            "node_unreclaimable:",
            "start_pfn:",
            "low:",
            "min:",
            "high_min:",
            "high_max:",
            "inactive_ratio",
            "all_unreclaimable",
            "reserved_highatomic",
            "free_highatomic",
            "kswapd_",
            "pgdat",
            "allocstall",
            "balloon_",
            "hugetlb",
            "swap",
        ];
        known.iter().any(|begin| line.starts_with(begin))
    }

    /// `dentry  120000 123456 192 21 1 : tunables 0 0 0 : slabdata 5878 5878 0`
    fn cache(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let (Some((objects, rest)), Some((_, slabs))) =
            (line.split_once(" : tunables "), line.split_once(" : slabdata "))
        else {
            return false;
        };
        let words: Vec<&str> = objects.split_ascii_whitespace().collect();
        let [name, figures @ ..] = &words[..] else { return false };
        let figures: Vec<f64> = figures.iter().filter_map(|word| number(word)).collect();
        let [active, all, size, ..] = figures[..] else { return false };
        if rest.is_empty() || slabs.is_empty() {
            return false;
        }
        let (t, dt) = self.moment(&format!("cache {name}"), out);
        let labels = Labels::of("cache", name);
        out.metric(t, dt, "slab.active_objects", labels.text(), active, "");
        out.metric(t, dt, "slab.objects", labels.text(), all, "");
        out.metric(t, dt, "slab.object_bytes", labels.text(), all * size, "B");
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{detect, fixtures::read};

    #[test]
    fn blocks_zones_and_caches_are_metrics() {
        let text = "\
slabinfo - version: 2.1
# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables <limit> <batchcount> <sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>
dentry            120000 123456    192   21    1 : tunables    0    0    0 : slabdata   5879   5879      0
Node 0, zone      DMA      0      0      0      0      0      0      0      0      1      1      3 
Node 0, zone   Normal
  pages free     3840
        min      68
      nr_free_pages 3840
  pagesets
    cpu: 0
";
        assert_eq!(detect(&Head { text }).unwrap().name, "proc-memory");
        let read = read(&FORMAT, text.as_bytes());
        assert_eq!(read.tally.notes, 0, "{}", read.text);
        for cells in [
            "slab.object_bytes\tcache=dentry\t23703552\tB",
            "buddyinfo.free_blocks\tnode=0,zone=DMA,order=10\t3",
            "zoneinfo.min_pages\tnode=0,zone=Normal\t68\tpages",
        ] {
            assert!(read.text.contains(cells), "{cells}\n{}", read.text);
        }
    }

    #[test]
    fn zones_of_other_things_are_nobodys() {
        for text in ["Node 3, zone Berlin 1 2 3\n", "slabinfo of db1\n", "Node 0, zone DMA\nnothing\n"] {
            assert!(detect(&Head { text }).is_none(), "{text}");
        }
    }
}
