//! Saved files of /proc: one, several one after another, once or in a loop with a time stamp before
//! each turn.
//!
//! The meaning of a file is known to the recorder's collectors; they read saved contents as they read the
//! live ones. Two readings give rates. One reading has none: its gauges are kept, and its counters are
//! averages since boot where the uptime is known (from /proc/uptime or /proc/stat), else metrics.

pub(super) mod engine;
pub(super) mod processes;
pub(super) mod saved;
pub(super) mod totals;

use fenxi_model::{
    Micros,
    catalog::{cpu, disk, irq, mem, net, pressure, process, sched, softirq, softnet, tcp, udp, vm},
};
use rustc_hash::FxHashMap;

use self::{
    engine::Engine,
    processes::Processes,
    saved::{Marker, Saved},
};
use super::moments::{Moments, is_prompt};
use crate::{Family, Format, Head, Input, Out, Sure, number, stamp};

/// Importer for saved files of /proc.
pub static FORMAT: Format = Format {
    name: "proc",
    summary: "saved files of /proc: stat, diskstats, interrupts, net/dev, net/softnet_stat, meminfo, vmstat, pressure, PID/stat ...",
    family: Family::Linux,
    tables: &[
        &cpu::TABLE,
        &sched::TABLE,
        &pressure::TABLE,
        &mem::TABLE,
        &vm::TABLE,
        &irq::TABLE,
        &softirq::TABLE,
        &tcp::TABLE,
        &udp::TABLE,
        &disk::TABLE,
        &net::TABLE,
        &softnet::TABLE,
        &process::TABLE,
    ],
    example: "\
zzz ***Sat Nov 21 08:19:03 UTC 2026
   8       0 sda 14200 3361 892828 5058 18736 13416 715384 12604 0 24940 17663 0 0 0 0 0 0
   8       1 sda1 171 0 1368 22 0 0 0 0 0 84 22 0 0 0 0 0 0
",
    sniff,
    read,
};

/// The longest content of one file at one moment.
const MAX_FILE: usize = 16 << 20;
/// The longest name of a process is 15 bytes: so many lines at most make one of PID/stat.
const MAX_LINES_OF_STAT: usize = 16;

fn sniff(head: &Head<'_>) -> Sure {
    let mut known = 0;
    let mut named = false;
    let (mut weak, mut old) = (0, 0);
    let mut last = None;
    for line in head.lines().take(12) {
        named |= matches!(saved::marker(line), Some(Marker::File(_)));
        let text = match (Saved::of(line), saved::prefixed(line), stamp(line)) {
            (Some(_), ..) => line,
            (None, Some((_, rest)), _) => rest,
            (None, None, Some(stamp)) => stamp.rest,
            _ => line,
        };
        match Saved::of(text) {
            // Names and numbers are in many texts.
            Some(Saved::Vmstat | Saved::Meminfo | Saved::Uptime) => weak += 1,
            Some(file @ Saved::Softnet) if saved::is_old_softnet(text) => {
                // Dumps of memory have numbers like these: two lines have them at the same places.
                old += 1;
                (known, last) = (known + usize::from(old == 2), Some(file));
            }
            Some(file) => (known, last) = (known + 1, Some(file)),
            None if saved::marker(line).is_some() || text.trim_matches(['#', '*', '=', '-', ' ']).is_empty() => {}
            None if last.is_some_and(|f: Saved| f.goes_on(text)) => {}
            None if known + weak + old == 0 => return Sure::No,
            None => {}
        }
    }
    let vmstat =
        head.lines().take(12).any(|l| l.contains("nr_free_pages ") || l.contains("pgpgin ") || l.contains("pgfault "));
    let meminfo = head.lines().take(12).any(|l| l.contains("MemTotal:") || l.contains("MemFree:"));
    if named && known + weak > 0 {
        Sure::Certain
    } else {
        Sure::Likely.when(known > 0 || weak > 0 && (vmstat || meminfo))
    }
}

/// Contents of files at one moment.
#[derive(Default)]
struct Group {
    files: Vec<(Saved, Vec<u8>)>,
    /// The first line's key of each file.
    keys: Vec<String>,
}

/// A reading that nothing has followed yet.
struct Single {
    t: Micros,
    content: Vec<u8>,
    /// Whether its counters were written since boot.
    told: bool,
}

struct Reader {
    moments: Moments,
    engine: Engine,
    processes: Processes,
    group: Group,
    /// The file of the last line.
    current: Option<Saved>,
    /// The file that a marker named.
    named: Option<Saved>,
    /// Whether a marker named a file that is not read.
    skipping: bool,
    /// A line of PID/stat that goes on.
    partial: Option<(u64, String, usize)>,
    singles: FxHashMap<Saved, Option<Single>>,
    /// The uptime at some moment: the others follow from it where there are no stamps.
    clock: Option<(f64, Micros)>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        moments: Moments::new(out),
        engine: Engine::new(),
        processes: Processes::default(),
        group: Group::default(),
        current: None,
        named: None,
        skipping: false,
        partial: None,
        singles: FxHashMap::default(),
        clock: None,
    };
    input.each_line(|number, line| reader.line(number, line, out));
    if let Some((number, text, _)) = reader.partial.take() {
        out.unknown(number, &text, "a line of PID/stat that is not whole");
    }
    reader.flush(out);
    reader.finish(out);
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, out: &mut Out<'_>) {
        if let Some((first, mut text, lines)) = self.partial.take() {
            text.push('\n');
            text.push_str(line);
            if processes::is_whole(&text) {
                self.add(Saved::PidStat, &text, out);
            } else if lines < MAX_LINES_OF_STAT {
                self.partial = Some((first, text, lines + 1));
            } else {
                out.unknown(first, &text, "a line of PID/stat that is not whole");
            }
            return;
        }
        let text = line.trim_end();
        if text.trim_start().is_empty() || self.content(number, text, out) {
            return;
        }
        match saved::marker(text) {
            Some(Marker::File(file)) => {
                (self.named, self.current, self.skipping) = (Some(file), None, false);
                return;
            }
            Some(Marker::Other) => {
                out.unknown(number, text, "a file of /proc that is not read");
                (self.named, self.current, self.skipping) = (None, None, true);
                return;
            }
            None => {}
        }
        if let Some((file, rest)) = saved::prefixed(text) {
            self.named = Some(file);
            self.start(file, rest, out);
            return;
        }
        let Some(stamp) = stamp(text) else {
            if !self.skipping && !is_prompt(text.trim(), "cat") {
                out.unknown(number, text, "no line of a known file of /proc");
            }
            return;
        };
        self.skipping = false;
        let rest = stamp.rest.to_owned();
        if rest.trim_matches(['#', '*', '=', '-', ' ']).is_empty() {
            self.flush(out);
            self.moments.take(text, out);
            return;
        }
        // Each line has its time: those of one turn are one moment, that of the first line.
        let begins = Saved::of(&rest).is_none_or(|file| self.again(file, &rest));
        if self.group.files.is_empty() || begins && Saved::of(&rest).is_some() {
            self.flush(out);
            self.moments.take(text, out);
        }
        if !self.content(number, &rest, out) {
            out.unknown(number, text, "no line of a known file of /proc");
        }
    }

    /// Whether `line` begins a file that the moment at hand has already.
    fn again(&self, file: Saved, line: &str) -> bool {
        // Its lines say no CPU: they follow each other.
        if file == Saved::Softnet && self.current == Some(file) && saved::is_old_softnet(line) {
            return false;
        }
        let at = self.group.files.iter().position(|(f, _)| *f == file);
        at.is_some_and(|at| self.current != Some(file) || self.group.keys[at] == file.key(line))
    }

    /// Takes a line of a file; false when it is none.
    fn content(&mut self, number: u64, line: &str, out: &mut Out<'_>) -> bool {
        if self.skipping {
            return false;
        }
        let grid = matches!(self.current, Some(Saved::Interrupts | Saved::Softirqs));
        let file = match Saved::of(line) {
            // With 16 CPUs soft interrupts look like counters of an interface.
            Some(Saved::NetDev) if grid && !line.contains('|') => None,
            Some(Saved::PidStat) if !processes::is_whole(line) => {
                self.partial = Some((number, line.to_owned(), 1));
                return true;
            }
            // A sum of soft interrupts in /proc/stat, a name in another file: the file goes on.
            Some(file) => Some(self.refine(file, line)),
            None => None,
        };
        match (file, self.current) {
            (Some(file), _) => self.start(file, line, out),
            (None, Some(current)) if current.goes_on(line) => {
                if current == Saved::Softirqs && self.named != Some(current) && !saved::is_softirq(line) {
                    self.split(out);
                }
                let current = self.current.unwrap_or(current);
                let current = if current == Saved::Interrupts && saved::is_softirq(line) {
                    self.rename(Saved::Interrupts, Saved::Softirqs)
                } else {
                    current
                };
                self.append(current, line, out);
            }
            (None, None) if line.starts_with("cpu") && number_after(line) => self.start(Saved::Stat, line, out),
            _ => return false,
        }
        true
    }

    /// The file when a marker, or the file at hand, identifies it better than the line.
    fn refine(&self, file: Saved, line: &str) -> Saved {
        match (file, self.named, self.current) {
            (Saved::Pressure, Some(named), _) if named.path().contains("pressure") => named,
            (Saved::Interrupts, Some(Saved::Softirqs), _) => Saved::Softirqs,
            (Saved::Vmstat, _, Some(current @ (Saved::Stat | Saved::Schedstat))) if current.goes_on(line) => current,
            _ => file,
        }
    }

    /// Soft interrupts have the header of interrupts: what was taken for the latter is the former.
    fn rename(&mut self, from: Saved, to: Saved) -> Saved {
        let only_header = |content: &[u8]| content.iter().filter(|b| **b == b'\n').count() == 1;
        match self.group.files.iter_mut().find(|(f, content)| *f == from && only_header(content)) {
            Some((file, _)) => {
                *file = to;
                self.current = Some(to);
                to
            }
            None => from,
        }
    }

    /// Begins the next reading of interrupts at a line taken for soft interrupts that none of them has.
    fn split(&mut self, out: &mut Out<'_>) {
        let only_header = |content: &[u8]| content.iter().filter(|b| **b == b'\n').count() == 1;
        let at = self.group.files.iter().position(|(f, content)| *f == Saved::Softirqs && only_header(content));
        let Some(at) = at.filter(|_| self.has(Saved::Interrupts)) else { return };
        let (_, content) = self.group.files.remove(at);
        self.group.keys.remove(at);
        self.flush(out);
        let header = String::from_utf8_lossy(&content).trim_end().to_owned();
        self.start(Saved::Interrupts, &header, out);
    }

    /// Takes a line that names its file by itself.
    fn start(&mut self, file: Saved, line: &str, out: &mut Out<'_>) {
        let clash = file == Saved::Interrupts && self.group.files.iter().any(|(f, _)| *f == file);
        if file == Saved::PidStat {
            self.add(file, line, out);
            return;
        }
        // Another header of the same form right behind may be that of soft interrupts.
        let second = clash && self.current == Some(Saved::Interrupts) && !self.has(Saved::Softirqs);
        if second {
            self.group.files.push((Saved::Softirqs, Vec::new()));
            self.group.keys.push(file.key(line));
            self.current = Some(Saved::Softirqs);
            self.append(Saved::Softirqs, line, out);
            return;
        }
        if file != Saved::Pressure && self.again(file, line) {
            self.flush(out);
        }
        if !self.has(file) {
            self.group.keys.push(file.key(line));
            self.group.files.push((file, Vec::new()));
        }
        self.current = Some(file);
        self.append(file, line, out);
    }

    fn has(&self, file: Saved) -> bool {
        self.group.files.iter().any(|(f, _)| *f == file)
    }

    fn append(&mut self, file: Saved, line: &str, out: &mut Out<'_>) {
        let Some((_, content)) = self.group.files.iter_mut().find(|(f, _)| *f == file) else { return };
        if content.len() + line.len() > MAX_FILE {
            out.note(None, "a file of /proc that is too long to be one");
            return;
        }
        content.extend(line.as_bytes());
        content.push(b'\n');
    }

    /// Takes a line of PID/stat, which is a file by itself.
    fn add(&mut self, file: Saved, text: &str, out: &mut Out<'_>) {
        if self.group.keys.contains(&file.key(text)) {
            self.flush(out);
        }
        self.group.files.push((file, text.as_bytes().to_vec()));
        self.group.keys.push(file.key(text));
        self.current = Some(file);
    }

    /// The moment is complete.
    fn flush(&mut self, out: &mut Out<'_>) {
        let mut group = std::mem::take(&mut self.group);
        self.current = None;
        if group.files.is_empty() {
            return;
        }
        let stamped = self.moments.is_stamped();
        let up = group.files.iter().find(|(f, _)| *f == Saved::Uptime);
        let up = up.and_then(|(_, c)| number(String::from_utf8_lossy(c).split_ascii_whitespace().next()?));
        if let (Some((then, t)), Some(now), false) = (self.clock, up, stamped) {
            self.moments.set(Micros(t.0.saturating_add(((now - then) * 1e6).round() as i64)));
        }
        let (t, _) = self.moments.next(out);
        self.clock = up.map(|up| (up, t)).or(self.clock);
        self.name_pressure(&mut group, out);
        for (file, content) in &group.files {
            if *file == Saved::PidStat && !self.processes.take(&String::from_utf8_lossy(content), t, out) {
                out.note(None, "a line of PID/stat that is not whole");
            }
        }
        let files: Vec<_> = group.files.iter().map(|(f, c)| (*f, &c[..])).collect();
        self.engine.sample(&files, t, &[], out);
        let new: Vec<_> = files.iter().filter(|(f, _)| !self.singles.contains_key(f)).copied().collect();
        let uptime_s = uptime(&files, Some(t).filter(|_| stamped));
        if let (Some(uptime_s), false) = (uptime_s, new.is_empty()) {
            Engine::since_boot(&new, t, uptime_s, &[], out);
        }
        for (file, content) in files {
            let single = || Some(Single { t, content: content.to_vec(), told: uptime_s.is_some() });
            self.singles.entry(file).and_modify(|s| *s = None).or_insert_with(single);
        }
    }

    /// Finds out which resources unnamed pressures are of.
    fn name_pressure(&self, group: &mut Group, out: &mut Out<'_>) {
        let Some(at) = group.files.iter().position(|(f, _)| *f == Saved::Pressure) else { return };
        let (_, content) = group.files.remove(at);
        group.keys.remove(at);
        let text = String::from_utf8_lossy(&content);
        let mut parts: Vec<String> = Vec::new();
        for line in text.lines() {
            match parts.last_mut() {
                Some(part) if line.starts_with("full") => *part = format!("{part}{line}\n"),
                _ => parts.push(format!("{line}\n")),
            }
        }
        let name = out.hints().file.to_lowercase();
        let by_name = [("memory", Saved::PressureMemory), ("cpu", Saved::PressureCpu), ("io", Saved::PressureIo)];
        let resources = match &parts[..] {
            // The kernels before 5.13 had no `full` for the CPU.
            [one] if !one.contains("full") => vec![Saved::PressureCpu],
            [_] => by_name
                .iter()
                .find(|(n, _)| name.contains(&format!("pressure_{n}")) || name.ends_with(n))
                .map(|(_, f)| *f)
                .into_iter()
                .collect(),
            [_, _, _] => {
                out.assume(
                    "pressures without names are those of cpu, io and memory, as `cat /proc/pressure/*` prints them",
                );
                vec![Saved::PressureCpu, Saved::PressureIo, Saved::PressureMemory]
            }
            _ => Vec::new(),
        };
        if resources.len() != parts.len() {
            group.files.push((Saved::Pressure, content));
            return;
        }
        group.files.extend(resources.into_iter().zip(parts).map(|(f, p)| (f, p.into_bytes())));
    }

    /// Counters that were read once only.
    fn finish(&mut self, out: &mut Out<'_>) {
        let mut singles: Vec<_> =
            self.singles.drain().filter_map(|(f, s)| Some((f, s?))).filter(|(_, s)| !s.told).collect();
        singles.sort_by_key(|(file, single)| (single.t, *file as u8));
        for (file, single) in singles {
            totals::write(file, &single.content, single.t, out);
        }
    }
}

fn number_after(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace().skip(1);
    words.next().is_some_and(|w| number(w).is_some()) && words.count() >= 3
}

/// Seconds since boot: from /proc/uptime, from the time of boot in /proc/stat, or from the ticks that
/// its CPUs have counted in all states.
fn uptime(files: &[(Saved, &[u8])], t: Option<Micros>) -> Option<f64> {
    let content = |file| files.iter().find(|(f, _)| *f == file).map(|(_, c)| String::from_utf8_lossy(c));
    if let Some(text) = content(Saved::Uptime) {
        return text.split_ascii_whitespace().next().and_then(number).filter(|s| *s > 0.0);
    }
    let stat = content(Saved::Stat)?;
    let boot = stat.lines().find_map(|l| number(l.strip_prefix("btime ")?.trim()));
    if let (Some(boot), Some(t)) = (boot, t) {
        return Some(t.0 as f64 / 1e6 - boot).filter(|s| *s > 0.0);
    }
    let cpus = stat.lines().filter(|l| l.starts_with("cpu") && !l.starts_with("cpu ")).count();
    let all = stat.lines().find(|l| l.starts_with("cpu "))?;
    // Guests are in user time already.
    let ticks: f64 = all.split_ascii_whitespace().skip(1).take(8).filter_map(number).sum();
    Some(ticks / 100.0 / cpus as f64).filter(|s| *s > 0.0 && s.is_finite())
}

#[cfg(test)]
mod tests {
    use super::FORMAT;
    use crate::fixtures::read;

    /// Numbers of a damaged file may be anything: reading it ends all the same.
    #[test]
    fn the_greatest_numbers_are_read_without_a_panic() {
        let folder = "fixtures/proc";
        for entry in fs_err::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "rows") {
                continue;
            }
            let text = fs_err::read_to_string(&path).unwrap();
            for huge in ["18446744073709551615", "9223372036854775807", "4294967295"] {
                let word =
                    |w: &str| if w.len() > 1 && w.parse::<u64>().is_ok() { huge.to_owned() } else { w.to_owned() };
                let line = |l: &str| l.split(' ').map(word).collect::<Vec<_>>().join(" ");
                let changed: Vec<_> = text.lines().map(line).collect();
                read(&FORMAT, changed.join("\n").as_bytes());
                read(&FORMAT, format!("{text}\n{}\n{text}", changed.join("\n")).as_bytes());
            }
        }
    }
}
