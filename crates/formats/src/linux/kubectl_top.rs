//! `kubectl top pods` and `kubectl top nodes` of Kubernetes.
//!
//! A pod or a container is a cgroup, called `namespace/pod/container` as far as it is printed; CPU is in percent of one CPU
//! and, as memory, the mean or last value of the metrics server's window. Figures of nodes are metrics. A sum (`--sum`) is
//! left out: it follows from the others.

use fenxi_model::{
    Micros,
    catalog::{cgroup, metric},
};

use crate::{
    Family, Format, Head, Input, Out, Sure,
    generic::labels::Labels,
    number,
    procps::moments::{Moments, is_prompt},
    scaled, stamp,
};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "kubectl-top",
    summary: "kubectl top pods and nodes: -A, --containers, --sum",
    family: Family::Linux,
    tables: &[&cgroup::TABLE, &metric::TABLE],
    example: "\
NAMESPACE   NAME                  CPU(cores)   MEMORY(bytes)
default     web-7d9f8b6c5-abcde   14m          60Mi
prod        db-0                  2503m        8192Mi
",
    sniff,
    read,
};

/// The columns of a line of titles.
fn titles(line: &str) -> Option<Vec<String>> {
    let words: Vec<String> = line.split_ascii_whitespace().map(str::to_owned).collect();
    let has = |word: &str| words.iter().any(|w| w == word);
    let own = has("NAME") && has("CPU(cores)") && has("MEMORY(bytes)");
    own.then_some(words)
}

fn sniff(head: &Head<'_>) -> Sure {
    let mut lines = head.lines().take(60).map(|line| stamp(line).map_or(line, |stamp| stamp.rest)).peekable();
    while let Some(line) = lines.next() {
        let follows = |columns: &[String], next: &str| next.split_ascii_whitespace().count() == columns.len();
        if titles(line).is_some_and(|columns| lines.peek().is_some_and(|next| follows(&columns, next))) {
            return Sure::Certain;
        }
    }
    Sure::No
}

/// `250m`, `2`: CPUs in percent of one.
fn percent(cell: &str) -> Option<f64> {
    match cell.strip_suffix('m') {
        Some(thousandths) => Some(number(thousandths)? / 10.0),
        None => Some(number(cell)? * 100.0),
    }
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut moments = Moments::new(out);
    let mut columns: Vec<String> = Vec::new();
    let mut now = None;
    input.each_line(|line_number, line| {
        let mut line = line.trim();
        if let Some(stamp) = stamp(line) {
            moments.take(line, out);
            line = stamp.rest.trim();
        }
        if line.is_empty() {
            return;
        }
        if let Some(found) = titles(line) {
            columns = found;
            now = Some(moments.next(out));
            return;
        }
        let cells: Vec<&str> = line.split_ascii_whitespace().collect();
        if is_sum(&cells, &columns) {
            return;
        }
        match now {
            Some(now) if cells.len() == columns.len() => row(&columns, &cells, now, line_number, out),
            _ if is_prompt(line, "kubectl") => {}
            _ => out.unknown(line_number, line, "no pod or node under the titles of kubectl top"),
        }
    });
}

/// Whether a line is the rule above a sum, or the sum, which has no name.
fn is_sum(cells: &[&str], columns: &[String]) -> bool {
    let [cpu, memory] = cells else { return false };
    columns.len() > 2 && (cpu.starts_with("__") || percent(cpu).is_some() && scaled(memory, 1000.0).is_some())
}

fn row(columns: &[String], cells: &[&str], (t, dt): (Micros, Option<f64>), line: u64, out: &mut Out<'_>) {
    let of = |title: &str| columns.iter().position(|column| column == title).and_then(|at| cells.get(at)).copied();
    let cpu = of("CPU(cores)").and_then(percent);
    let memory = of("MEMORY(bytes)").and_then(|cell| scaled(cell, 1000.0));
    let unknown = |cell: Option<&str>| cell == Some("<unknown>");
    if cpu.is_none() && !unknown(of("CPU(cores)")) || memory.is_none() && !unknown(of("MEMORY(bytes)")) {
        out.unknown(line, &cells.join(" "), "no figures of kubectl top");
        return;
    }
    let name = of("NAME").unwrap_or("");
    if !["CPU%", "CPU(%)"].iter().any(|title| of(title).is_some()) {
        let parts = [of("NAMESPACE"), of("POD"), Some(name)];
        let path = parts.into_iter().flatten().collect::<Vec<_>>().join("/");
        let mut row = out.row(&cgroup::TABLE, t, dt);
        row.str(cgroup::cgroup, &*path).f64(cgroup::cpu, cpu).f64(cgroup::memory_bytes, memory);
        return;
    }
    let share = |titles: [&str; 2]| {
        let cell = titles.into_iter().find_map(of)?;
        number(cell.strip_suffix('%')?)
    };
    let labels = Labels::of("node", name);
    let figures = [
        ("cpu_cores", cpu.map(|percent| percent / 100.0), "CPU"),
        ("cpu", share(["CPU%", "CPU(%)"]), "%"),
        ("memory_bytes", memory, "B"),
        ("memory", share(["MEMORY%", "MEMORY(%)"]), "%"),
    ];
    for (what, value, unit) in figures.into_iter().filter(|(_, value, _)| value.is_some()) {
        out.metric(t, dt, &format!("kubectl-top.{what}"), labels.text(), value, unit);
    }
}

#[cfg(test)]
mod tests {
    use super::{FORMAT, percent};
    use crate::{Head, Sure};

    #[test]
    fn cores_are_thousandths_or_whole() {
        assert_eq!((percent("250m"), percent("2"), percent("x")), (Some(25.0), Some(200.0), None));
    }

    #[test]
    fn titles_without_a_row_are_nobodys() {
        let text = "NAME CPU(cores) MEMORY(bytes)\nwhat follows is something else entirely\n";
        assert_eq!((FORMAT.sniff)(&Head { text }), Sure::No);
    }
}
