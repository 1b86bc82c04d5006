//! `nvidia-smi -q`, as text and as XML (`-x`): utilization, memory, temperature, power and clocks of each GPU.
//!
//! Figures are those that `nvidia-smi --query-gpu` has under the same names: columns of the table `gpu`, and metrics in base units. The many limits, counters of
//! errors, modes and processes of the report are left out; versions and names are facts. The XML is read line by line, as
//! the tool prints it, so that reports may follow each other (`-l`).

use fenxi_model::{
    Micros,
    catalog::{gpu, metric},
};

use super::{
    gpus::{GpuRow, NVIDIA_SMI},
    nvidia_smi::{base_unit, figure, missing},
};
use crate::{Family, Format, Head, Input, Out, Sure, generic::labels::Labels, procps::moments::Moments, stamp};

/// Importer for nvidia-smi -q, as text or XML (-x).
pub static FORMAT: Format = Format {
    name: "nvidia-smi-q",
    summary: "nvidia-smi -q, as text or XML (-x)",
    family: Family::Linux,
    tables: &[&gpu::TABLE, &metric::TABLE],
    example: "\
==============NVSMI LOG==============

Timestamp                                 : Sat Nov 21 08:19:03 2026
Driver Version                            : 535.104.05
Attached GPUs                             : 1
GPU 00000000:01:00.0
    Utilization
        Gpu                               : 45 %
",
    sniff,
    read,
};

/// Figures by section, element and title; the section is empty for those of the GPU itself.
const FIGURES: &[(&str, &[&str], &[&str])] = &[
    ("utilization.gpu", UTILIZATION, &["gpu_util", "Gpu", "GPU"]),
    ("utilization.memory", UTILIZATION, &["memory_util", "Memory"]),
    ("utilization.encoder", UTILIZATION, &["encoder_util", "Encoder"]),
    ("utilization.decoder", UTILIZATION, &["decoder_util", "Decoder"]),
    ("memory.total", MEMORY, &["total", "Total"]),
    ("memory.reserved", MEMORY, &["reserved", "Reserved"]),
    ("memory.used", MEMORY, &["used", "Used"]),
    ("memory.free", MEMORY, &["free", "Free"]),
    ("temperature.gpu", TEMPERATURE, &["gpu_temp", "GPU Current Temp", "Gpu"]),
    ("temperature.memory", TEMPERATURE, &["memory_temp", "Memory Current Temp"]),
    ("power.draw", POWER, &["power_draw", "Power Draw"]),
    ("power.draw.average", POWER, &["average_power_draw", "Average Power Draw"]),
    ("power.draw.instant", POWER, &["instant_power_draw", "Instantaneous Power Draw"]),
    ("power.limit", POWER, &["power_limit", "Power Limit", "current_power_limit", "Current Power Limit"]),
    ("clocks.current.graphics", CLOCKS, &["graphics_clock", "Graphics"]),
    ("clocks.current.sm", CLOCKS, &["sm_clock", "SM"]),
    ("clocks.current.memory", CLOCKS, &["mem_clock", "Memory"]),
    ("clocks.current.video", CLOCKS, &["video_clock", "Video"]),
    ("pcie.tx", &["pci", "PCI"], &["tx_util", "Tx Throughput"]),
    ("pcie.rx", &["pci", "PCI"], &["rx_util", "Rx Throughput"]),
    ("fan.speed", &[""], &["fan_speed", "Fan Speed"]),
    ("pstate", &[""], &["performance_state", "Performance State"]),
];
const UTILIZATION: &[&str] = &["utilization", "Utilization"];
const MEMORY: &[&str] = &["fb_memory_usage", "FB Memory Usage"];
const TEMPERATURE: &[&str] = &["temperature", "Temperature"];
const POWER: &[&str] = &["power_readings", "gpu_power_readings", "Power Readings", "GPU Power Readings"];
const CLOCKS: &[&str] = &["clocks", "Clocks"];
/// Words about the report and about a GPU.
const FACTS: &[(&str, &[&str])] = &[
    ("driver_version", &["driver_version", "Driver Version"]),
    ("cuda_version", &["cuda_version", "CUDA Version"]),
    ("name", &["product_name", "Product Name"]),
];

fn sniff(head: &Head<'_>) -> Sure {
    let text = head.lines().take(20).any(|line| line.trim_matches('=') == "NVSMI LOG" && line.starts_with("===="));
    Sure::Certain.when(text || head.lines().take(20).any(|line| line == "<nvidia_smi_log>"))
}

/// The content of a line.
enum Line<'l> {
    /// A new report begins.
    Report,
    Gpu(&'l str),
    Section(&'l str),
    /// A section of XML ends.
    End(&'l str),
    Value(&'l str, &'l str),
    Other,
}

impl<'l> Line<'l> {
    /// An element of XML on a separate line.
    fn xml(line: &'l str) -> Option<Line<'l>> {
        let inner = line.strip_prefix('<')?;
        if inner.starts_with(['?', '!']) {
            return Some(Line::Other);
        }
        if let Some(name) = inner.strip_prefix('/') {
            return Some(Line::End(name.strip_suffix('>')?));
        }
        let (tag, rest) = inner.split_once('>')?;
        if tag == "nvidia_smi_log" {
            return Some(Line::Report);
        }
        if let Some(id) = tag.strip_prefix("gpu id=\"") {
            return Some(Line::Gpu(id.strip_suffix('"')?));
        }
        if tag.ends_with('/') {
            return Some(Line::Other);
        }
        match rest.split_once('<') {
            None if rest.is_empty() => Some(Line::Section(tag)),
            Some((value, end)) if end.strip_prefix('/')?.strip_suffix('>')? == tag => {
                Some(Line::Value(tag, value.trim()))
            }
            _ => None,
        }
    }

    /// A line of the text: a title, or a title and a value.
    fn text(line: &'l str) -> Line<'l> {
        if line.starts_with("====") {
            return Line::Report;
        }
        if let Some((title, value)) = line.split_once(" : ") {
            return Line::Value(title.trim(), value.trim());
        }
        match line.strip_prefix("GPU ") {
            Some(id) if id.matches(':').count() == 2 => Line::Gpu(id),
            _ => Line::Section(line),
        }
    }
}

struct Reader {
    moments: Moments,
    now: Option<(Micros, Option<f64>)>,
    gpu: Option<String>,
    row: GpuRow,
    /// Sections that have begun, by their indentation.
    sections: Vec<(usize, String)>,
    facts: std::collections::BTreeSet<String>,
}

/// Facts that are kept, however many different ones there are.
const MAX_FACTS: usize = 4096;

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        moments: Moments::new(out),
        now: None,
        gpu: None,
        row: GpuRow::default(),
        sections: Vec::new(),
        facts: std::collections::BTreeSet::new(),
    };
    input.each_line(|number, line| {
        let text = line.trim();
        if text.is_empty() {
            return;
        }
        let indent = line.len() - line.trim_start().len();
        let read = if text.starts_with('<') { Line::xml(text) } else { Some(Line::text(text)) };
        match read {
            Some(read) => reader.line(indent, read, out),
            None => out.unknown(number, line, "no element of nvidia-smi -q -x on a separate line"),
        }
    });
    reader.end_gpu(out);
}

impl Reader {
    /// Writes what was read of a GPU.
    fn end_gpu(&mut self, out: &mut Out<'_>) {
        self.row.gpu.clone_from(&self.gpu);
        if let Some((t, dt)) = self.now {
            self.row.write(t, dt, out);
        }
        self.row = GpuRow::default();
    }

    fn line(&mut self, indent: usize, line: Line<'_>, out: &mut Out<'_>) {
        self.sections.retain(|(at, _)| *at < indent);
        match line {
            Line::Report => {
                self.end_gpu(out);
                (self.now, self.gpu) = (None, None);
            }
            Line::Gpu(id) => {
                self.end_gpu(out);
                self.sections.clear();
                self.gpu = Some(id.to_owned());
            }
            Line::Section(name) => self.sections.push((indent, name.to_owned())),
            Line::End("gpu") => {
                self.end_gpu(out);
                self.gpu = None;
            }
            Line::End(_) | Line::Other => {}
            Line::Value("timestamp" | "Timestamp", value) => {
                if stamp(value).is_some() {
                    self.moments.take(value, out);
                }
                self.now = None;
            }
            Line::Value(title, value) => self.value(title, value, out),
        }
    }

    fn value(&mut self, title: &str, value: &str, out: &mut Out<'_>) {
        if missing(value) {
            return;
        }
        // Those of a GPU's own sections only: parts of sections have the same titles.
        let section = match &self.sections[..] {
            [] => "",
            [(_, section)] => section,
            _ => return,
        };
        let labels = self.gpu.as_deref().map_or(Labels::default(), |gpu| Labels::of("gpu", gpu));
        if let (true, Some((name, _))) = (section.is_empty(), FACTS.iter().find(|(_, titles)| titles.contains(&title)))
        {
            if *name == "name" {
                self.row.model = Some(value.to_owned());
            }
            let name = format!("{} {name}", labels.text());
            if self.facts.len() < MAX_FACTS && self.facts.insert(format!("{name} {value}")) {
                out.fact("gpu", name.trim(), value);
            }
            return;
        }
        let own =
            |(_, sections, titles): &&(&str, &[&str], &[&str])| sections.contains(&section) && titles.contains(&title);
        let (Some((name, ..)), true) = (FIGURES.iter().find(own), self.gpu.is_some()) else { return };
        let Some(number) = figure(value) else { return };
        let (factor, unit) = base_unit(value.split_once(' ').map_or("", |(_, unit)| unit));
        let (t, dt) = *self.now.get_or_insert_with(|| self.moments.next(out));
        if !self.row.take(NVIDIA_SMI, name, number * factor) {
            out.metric(t, dt, &format!("nvidia-smi.{name}"), labels.text(), number * factor, unit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FORMAT;
    use crate::{Head, Sure, fixtures::read};

    /// The lines of figures, without the facts.
    fn figures(bytes: &[u8]) -> Vec<String> {
        let read = read(&FORMAT, bytes);
        assert_eq!(read.tally.notes, 0, "{}", read.text);
        let is_figure = |line: &&str| line.contains("nvidia-smi.") || line.contains("\t00000000:");
        read.text.lines().filter(is_figure).map(str::to_owned).collect()
    }

    #[test]
    fn text_and_xml_of_one_moment_give_the_same_figures() {
        let folder = "fixtures/nvidia-smi-q";
        let text = figures(&fs_err::read(format!("{folder}/q.txt")).unwrap());
        let xml = figures(&fs_err::read(format!("{folder}/q.xml")).unwrap());
        let sorted = |mut lines: Vec<String>| {
            lines.sort();
            lines
        };
        assert!(!text.is_empty());
        assert_eq!(sorted(text), sorted(xml));
    }

    #[test]
    fn other_xml_is_nobodys() {
        assert_eq!((FORMAT.sniff)(&Head { text: "<?xml version=\"1.0\"?>\n<gpu id=\"1\">\n</gpu>\n" }), Sure::No);
    }
}
