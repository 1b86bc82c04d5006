//! `docker stats` and `podman stats`: CPU, memory, network and block I/O of containers, as a table or as JSON.
//!
//! A container is a cgroup, by its name or else its id. CPU is in percent of one CPU. What podman prints first, and what
//! it prints with `--no-stream`, is the mean since the container began; it is a separate metric. Network and block I/O
//! are totals since the container began, rounded to three digits, so no rates are made of them. The limit of memory is
//! the machine's memory where the container has none; so it is a metric and not the cgroup's limit.

use fenxi_model::{Micros, catalog::cgroup};

use crate::{
    Family, Format, Head, Input, Out, Sure,
    generic::labels::Labels,
    json, number,
    procps::moments::{Moments, is_prompt},
    scaled, stamp,
    terminal::ESCAPE,
};

/// Importer for docker stats and podman stats, as a table or as JSON, once or as a stream.
pub static FORMAT: Format = Format {
    name: "docker-stats",
    summary: "docker stats and podman stats, as a table or as JSON, once or as a stream",
    family: Family::Linux,
    tables: &[&cgroup::TABLE],
    example: "\
CONTAINER ID   NAME      CPU %     MEM USAGE / LIMIT     MEM %     NET I/O           BLOCK I/O         PIDS
8c2d1f0a9b7e   web       12.50%    153.2MiB / 7.654GiB   1.95%     1.21MB / 348kB    12.3MB / 4.1kB    21
",
    sniff,
    read,
};

/// The client draws a stream anew twice a second.
const REDRAW_S: f64 = 0.5;
/// The longest JSON text of podman.
const MAX_JSON: usize = 16 << 20;

/// Content of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Column {
    Id,
    Name,
    Cpu,
    Memory,
    MemoryShare,
    Net,
    Block,
    Tasks,
    CpuTime,
    MeanCpu,
}

/// Columns by their titles, the names in docker's JSON and in podman's.
const COLUMNS: &[(Column, &[&str])] = &[
    (Column::Id, &["CONTAINER ID", "ID", "CONTAINER", "Container", "id"]),
    (Column::Name, &["NAME", "Name", "name"]),
    (Column::Cpu, &["CPU %", "CPUPerc", "cpu_percent"]),
    (Column::Memory, &["MEM USAGE / LIMIT", "MemUsage", "mem_usage"]),
    (Column::MemoryShare, &["MEM %", "MemPerc", "mem_percent"]),
    (Column::Net, &["NET I/O", "NET IO", "NetIO", "net_io"]),
    (Column::Block, &["BLOCK I/O", "BLOCK IO", "BlockIO", "block_io"]),
    (Column::Tasks, &["PIDS", "PIDs", "pids"]),
    (Column::CpuTime, &["CPU TIME", "CPUTime", "cpu_time"]),
    (Column::MeanCpu, &["AVG CPU %", "AVGCPU", "avg_cpu"]),
];

fn column(title: &str) -> Option<Column> {
    COLUMNS.iter().find(|(_, titles)| titles.contains(&title)).map(|(column, _)| *column)
}

/// Cells between runs of two blanks or more; one blank is within a cell.
fn cells(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

/// The columns of a line of titles.
fn titles(line: &str) -> Option<Vec<Column>> {
    let columns = cells(line).into_iter().map(column).collect::<Option<Vec<_>>>()?;
    let own = columns.contains(&Column::Cpu) || columns.contains(&Column::Memory);
    (own && columns.len() >= 3 && matches!(columns.first(), Some(Column::Id | Column::Name))).then_some(columns)
}

fn sniff(head: &Head<'_>) -> Sure {
    let own = |line: &str| {
        titles(stamp(line).map_or(line, |stamp| stamp.rest)).is_some()
            || line.contains("\"CPUPerc\":") && line.contains("\"MemUsage\":") && line.trim_start().starts_with('{')
    };
    if !["CPU", "MEM", "Mem", "mem_", "cpu_percent"].iter().any(|own| head.text.contains(own)) {
        return Sure::No;
    }
    let podman = head.text.trim_start().starts_with('[')
        && ["\"cpu_percent\":", "\"mem_usage\":", "\"block_io\":"].iter().all(|key| head.text.contains(key));
    Sure::Certain.when(podman || head.any(own))
}

/// Screens of a stream. Some versions of docker's client draw each screen twice; only the first is preceded by
/// clearing what is below the cursor, or the whole screen.
#[derive(Default)]
struct Frames {
    any: bool,
    repeated: bool,
}

impl Frames {
    /// Whether a line belongs to a screen that was drawn already.
    fn is_repeated(&mut self, line: &str) -> bool {
        if line.contains("\u{1b}[H") {
            let cleared = line.contains("\u{1b}[J") || line.contains("\u{1b}[2J");
            self.repeated = self.any && !cleared;
            self.any = true;
        }
        self.repeated
    }
}

struct Reader {
    moments: Moments,
    columns: Vec<Column>,
    now: Option<(Micros, Option<f64>)>,
    /// The first container of this sample: when it comes again, so does the sample.
    first: Option<String>,
    podman: bool,
    /// Samples so far.
    samples: u64,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader =
        Reader { moments: Moments::new(out), columns: Vec::new(), now: None, first: None, podman: false, samples: 0 };
    let (drawn, list) = (input.head_bytes().contains(&ESCAPE), input.head().trim_start().starts_with('['));
    if list {
        return reader.list(input, out);
    }
    if drawn {
        reader.moments.set_interval(REDRAW_S);
    }
    let mut frames = Frames::default();
    while input.line().is_some() {
        let (number, line) = (input.number(), input.text().trim());
        if frames.is_repeated(&input.drawn()) || line.is_empty() || reader.line(number, line, out) {
            continue;
        }
        match stamp(line).map(|stamp| stamp.rest.trim().to_owned()) {
            Some(rest) => {
                if rest.is_empty() {
                    (reader.now, reader.first) = (None, None);
                }
                reader.moments.take(line, out);
                if !rest.is_empty() && !reader.line(number, &rest, out) {
                    out.unknown(number, line, "no container under the titles");
                }
            }
            None if is_prompt(line, "docker") || is_prompt(line, "podman") => {}
            None => out.unknown(number, line, "no container under the titles"),
        }
    }
}

impl Reader {
    /// A list of objects, as podman prints it.
    fn list(&mut self, input: &mut Input<'_>, out: &mut Out<'_>) {
        self.podman = true;
        let whole = input.whole(MAX_JSON).and_then(|text| json::object(&format!("{{\"all\":{text}}}")));
        let Some(serde_json::Value::Array(all)) = whole.as_ref().and_then(|object| object.get("all")) else {
            out.note(None, "no list of containers in JSON");
            return;
        };
        for (i, entry) in all.iter().enumerate() {
            match entry.as_object() {
                Some(object) => self.object(object, out),
                None => out.unknown(i as u64 + 1, &entry.to_string(), "no container in JSON"),
            }
        }
    }

    fn line(&mut self, number: u64, line: &str, out: &mut Out<'_>) -> bool {
        if line.starts_with('{') {
            let Some(object) = json::object(line) else { return false };
            self.object(&object, out);
            return true;
        }
        if let Some(columns) = titles(line) {
            self.podman = columns.contains(&Column::MeanCpu) || line.contains("NET IO");
            self.columns = columns;
            (self.now, self.first) = (None, None);
            return true;
        }
        let cells = cells(line);
        if self.columns.is_empty() || cells.len() < 2 {
            return false;
        }
        if cells.len() != self.columns.len() {
            out.wrong_count(number, line, cells.len(), self.columns.len());
            return true;
        }
        let columns = std::mem::take(&mut self.columns);
        let pairs: Vec<(Column, &str)> = columns.iter().copied().zip(cells).collect();
        self.columns = columns;
        self.container(&pairs, out);
        true
    }

    fn object(&mut self, object: &serde_json::Map<String, serde_json::Value>, out: &mut Out<'_>) {
        self.podman |= object.contains_key("cpu_percent");
        let text = |value: &serde_json::Value| match value {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let all: Vec<(Column, String)> =
            object.iter().filter_map(|(name, value)| Some((column(name)?, text(value)))).collect();
        let pairs: Vec<(Column, &str)> = all.iter().map(|(column, text)| (*column, text.as_str())).collect();
        self.container(&pairs, out);
    }

    fn container(&mut self, cells: &[(Column, &str)], out: &mut Out<'_>) {
        let of = |column: Column| {
            let found = cells.iter().find(|(c, cell)| *c == column && !cell.starts_with("--") && !cell.is_empty());
            found.map(|(_, cell)| *cell)
        };
        let Some(name) = of(Column::Name).or_else(|| of(Column::Id)).map(str::to_owned) else { return };
        if self.first.as_ref() == Some(&name) {
            (self.now, self.first) = (None, None);
        }
        self.first.get_or_insert_with(|| name.clone());
        let (t, dt) = *self.now.get_or_insert_with(|| {
            self.samples += 1;
            self.moments.next(out)
        });
        let percent = |cell: &str| number(cell.trim_end_matches('%'));
        let cpu = of(Column::Cpu).and_then(percent);
        let labels = Labels::of("container", &name);
        let mean = self.podman && self.samples == 1;
        let pair = |column: Column| {
            let (first, second) = of(column)?.split_once('/')?;
            Some((scaled(first.trim(), 1000.0)?, scaled(second.trim(), 1000.0)?))
        };
        let memory = pair(Column::Memory);
        let mut row = out.row(&cgroup::TABLE, t, dt);
        row.str(cgroup::cgroup, &*name).f64(cgroup::cpu, cpu.filter(|_| !mean));
        row.f64(cgroup::memory_bytes, memory.map(|(used, _)| used));
        row.f64(cgroup::tasks, of(Column::Tasks).and_then(number));
        let block = pair(Column::Block);
        let net = pair(Column::Net);
        let metrics = [
            ("cpu_since_start", cpu.filter(|_| mean), "%"),
            ("memory_limit", memory.map(|(_, limit)| limit), "B"),
            ("memory", of(Column::MemoryShare).and_then(percent), "%"),
            ("net_rx_bytes", net.map(|(rx, _)| rx), "B"),
            ("net_tx_bytes", net.map(|(_, tx)| tx), "B"),
            ("block_read_bytes", block.map(|(read, _)| read), "B"),
            ("block_write_bytes", block.map(|(_, write)| write), "B"),
            ("mean_cpu", of(Column::MeanCpu).and_then(percent), "%"),
        ];
        for (what, value, unit) in metrics.into_iter().filter(|(_, value, _)| value.is_some()) {
            out.metric(t, dt, &format!("docker-stats.{what}"), labels.text(), value, unit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FORMAT, cells, titles};
    use crate::{Head, Sure, fixtures::read};

    #[test]
    fn lines_are_cut_at_two_blanks() {
        assert_eq!(cells("a b   c / d  e"), ["a b", "c / d", "e"]);
        assert!(titles("NAME      CPU %     MEM %").is_some());
        assert!(titles("NAME      READY     STATUS").is_none());
    }

    #[test]
    fn podman_begins_with_the_mean_since_the_container_began() {
        let screen = |cpu: &str| {
            format!(
                "ID            NAME        CPU %       MEM USAGE / LIMIT  MEM %       NET IO             BLOCK IO           PIDS        CPU TIME    AVG CPU %\nabc           web         {cpu}       1.5MB / 8.1GB      0.02%       1kB / 2kB          -- / --            3           1.2s        9.00%\n"
            )
        };
        let read = read(&FORMAT, (screen("9.00%") + &screen("4.00%")).as_bytes());
        assert!(read.text.contains("docker-stats.cpu_since_start\tcontainer=web\t9\t%"), "{}", read.text);
        let cpus: Vec<&str> = read.text.lines().filter(|l| l.contains("\tweb\t")).collect();
        assert!(
            cpus.len() == 2 && cpus[0].contains("\tweb\t\t1500000\t3") && cpus[1].contains("\tweb\t4\t1500000\t3"),
            "{cpus:?}"
        );
    }

    #[test]
    fn other_json_is_nobodys() {
        for text in ["{\"Name\":\"a\",\"CPUPerc\":\"1\"}\n", "[{\"cpu_percent\":1}]\n"] {
            assert_eq!((FORMAT.sniff)(&Head { text }), Sure::No, "{text}");
        }
    }
}
