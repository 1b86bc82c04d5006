//! Reads reports by a description: tables below headers.

use fenxi_model::{Micros, Table, catalog::cpu};

use super::{
    goal::Goal,
    report::{Kind, Pace, Report, TableRule},
};
use crate::{
    CpuMean, Fields, Head, Input, Layout, Out, Splitter, Ticker, banner, civil_time,
    generic::labels::Labels,
    number,
    procps::moments::{Moments, is_prompt},
    scaled,
    sysstat::{
        headers::Headers,
        times::{Times as Reports, moment},
    },
    unix::times::{Times, Tool},
};

/// Most columns that a header can have.
const MAX_COLUMNS: usize = 1 << 12;

/// Reads all of the input.
pub(super) fn read(report: &Report, input: &mut Input<'_>, out: &mut Out<'_>) {
    let when = When::new(&report.pace, input, out);
    let mut reader = Reader { report, when, headers: Headers::new(), at: None, rows: 0, stamp: String::new() };
    let mut splitter = Splitter::default();
    input.each_line(|number, line| reader.line(number, line, &mut splitter, out));
    out.since_boot(false);
}

/// Gives reports their times.
enum When {
    Intervals(Box<Times>),
    Banner { times: Box<Reports>, boot: bool },
    Moments(Box<Moments>),
}

/// Kind of a line outside of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Unknown,
    Known,
    /// Known, and no header holds below it.
    Begins,
}

impl Line {
    fn known_if(known: bool) -> Line {
        if known { Line::Known } else { Line::Unknown }
    }
}

impl When {
    fn new(pace: &Pace, input: &Input<'_>, out: &Out<'_>) -> When {
        match pace.kind {
            Kind::Moments => When::Moments(Box::new(Moments::new(out))),
            Kind::Banner => {
                let ticker = Ticker::new(out.hints(), &input.head(), |line| moment(line).map(|stamp| stamp.seconds()));
                When::Banner { times: Box::new(Reports::new(out, ticker, None)), boot: false }
            }
            Kind::Intervals => {
                let head = input.head();
                let head = Head { text: &head };
                let begins = |with: &String| head.any(|line| line.to_ascii_lowercase().starts_with(with.as_str()));
                let only = pace.alone || pace.alone_with.as_ref().is_some_and(begins);
                let first = pace.tool.first_since_boot && (!only || rows_in(&head) < 2);
                When::Intervals(Box::new(Times::new(input, out, Tool { first_since_boot: first, ..pace.tool })))
            }
        }
    }

    /// Takes the time off the front of a line.
    fn strip<'l>(&mut self, line: &'l str, out: &mut Out<'_>) -> &'l str {
        match self {
            When::Intervals(times) => times.strip(line, out),
            When::Moments(moments) => moments.take(line, out).unwrap_or(line),
            When::Banner { .. } => line,
        }
    }

    /// A block begins: its time and length.
    fn begin(&mut self, out: &mut Out<'_>) -> (Micros, Option<f64>) {
        match self {
            When::Intervals(times) => times.begin(out),
            When::Moments(moments) => moments.next(out),
            When::Banner { times, boot } => {
                let boot = std::mem::replace(boot, false);
                times.report(boot, out);
                out.since_boot(boot);
                times.at()
            }
        }
    }

    /// Whether a line is about the times, or the machine.
    fn knows(&mut self, line: &str, command: &str, out: &mut Out<'_>) -> Line {
        match self {
            When::Intervals(times) => Line::known_if(times.configuration(line, out) || times.knows(line)),
            When::Moments(_) => Line::known_if(is_prompt(line, command)),
            When::Banner { times, boot } => {
                if let Some(banner) = banner(line) {
                    out.set_host(banner.host);
                    times.begin(banner.date);
                    *boot = true;
                    return Line::Begins;
                }
                let Some(stamp) = moment(line) else { return Line::Unknown };
                times.stamp(stamp, out);
                Line::Begins
            }
        }
    }
}

/// How many rows of numbers a head has, at most two.
fn rows_in(head: &Head<'_>) -> usize {
    let is_row = |line: &&str| {
        let mut words = line.split_ascii_whitespace();
        words.clone().count() > 6 && words.all(begins_number) && !line.contains("--")
    };
    head.lines().filter(is_row).take(2).count()
}

fn begins_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.')
}

/// The rows under one header line.
struct Section<'r> {
    rule: &'r TableRule,
    layout: Layout,
    names: Vec<Name<'r>>,
    /// The column of the time of day.
    time: Option<usize>,
    devices: Vec<(usize, String)>,
    /// The first column of each CPU.
    cpus: Vec<usize>,
    /// Whether a row begins with its time, which is taken off it as a stamp is.
    front: bool,
}

/// Name that distinguishes rows, and its columns: several are joined by `/`.
struct Name<'r> {
    columns: Vec<usize>,
    key: Option<(&'static Table, usize)>,
    label: &'r str,
}

impl Name<'_> {
    fn text<'f>(&self, fields: &Fields<'f>) -> std::borrow::Cow<'f, str> {
        match self.columns.as_slice() {
            [one] => fields.get(*one).into(),
            more => more.iter().map(|column| fields.get(*column)).collect::<Vec<_>>().join("/").into(),
        }
    }
}

impl<'r> Section<'r> {
    fn new(name: &str, rule: &'r TableRule, fields: &Fields<'_>) -> Section<'r> {
        let mut words = rule.words(fields);
        let front = words.first().is_some_and(|word| rule.is_time(word));
        if front {
            words.remove(0);
        }
        let place = |wanted: &str| words.iter().position(|word| word == wanted);
        let between = rule.devices.as_ref().and_then(|d| Some(place(&d.after)? + 1..place(&d.before)?)).unwrap_or(0..0);
        let cpus = rule.cpus_in(&words);
        let mut section =
            Section { rule, layout: Layout::empty(), names: Vec::new(), time: None, devices: Vec::new(), cpus, front };
        let headers: Vec<&str> = words
            .iter()
            .enumerate()
            .map(|(column, word)| {
                let of_cpu = section.cpus.iter().any(|first| (*first..first + rule.cpus.len()).contains(&column));
                if between.contains(&column) {
                    section.device(column, word);
                } else if !of_cpu && !section.other(column, word) {
                    return word.as_str();
                }
                ""
            })
            .collect();
        section.layout = Layout::new(name, headers.into_iter(), &rule.fields);
        section
    }

    /// A device's column. Names are cut, so that two can be the same; there may be none.
    fn device(&mut self, column: usize, name: &str) {
        let twins = self.devices.iter().filter(|(_, known)| known.split('.').next() == Some(name)).count();
        match (name, twins) {
            ("--", _) => {}
            (name, 0) => self.devices.push((column, name.to_owned())),
            (name, twins) => self.devices.push((column, format!("{name}.{}", twins + 1))),
        }
    }

    /// Takes a column that has no numbers for a table.
    fn other(&mut self, column: usize, word: &str) -> bool {
        let Some((_, goal)) = self.rule.others.iter().find(|(known, _)| known == word) else { return false };
        match goal {
            Goal::Key { table, place, label } => {
                let key = Some((*table, *place));
                let same = |name: &&mut Name<'r>| name.key.is_some_and(|(t, p)| t.id == table.id && p == *place);
                match self.names.iter_mut().find(same) {
                    Some(name) => name.columns.push(column),
                    None => self.names.push(Name { columns: vec![column], key, label }),
                }
            }
            Goal::Label(label) => self.names.push(Name { columns: vec![column], key: None, label }),
            _ => self.time = Some(column),
        }
        true
    }

    /// Writes one line's values.
    fn write(&self, number: u64, fields: &Fields<'_>, (t, dt): (Micros, Option<f64>), out: &mut Out<'_>) {
        let keys = |table: &'static Table, row: &mut fenxi_model::Row<'_>| {
            for name in &self.names {
                if let Some((_, place)) = name.key.filter(|(of, _)| of.id == table.id) {
                    row.str(place, &*name.text(fields));
                }
            }
        };
        let labels = || {
            let mut labels = Labels::default();
            self.names.iter().for_each(|name| labels.push(name.label, &name.text(fields)));
            labels.text().to_owned()
        };
        self.layout.write(out, number, (t, dt), fields, keys, labels);
        if let Some(rule) = &self.rule.devices {
            for (column, device) in &self.devices {
                // Solaris prints `-0`.
                let value = crate::number(fields.get(*column)).map(|value| value * rule.scale + 0.0);
                let value = value.or_else(|| scaled(fields.get(*column), 1000.0));
                out.row(rule.table, t, dt).str(rule.key, device.as_str()).f64(rule.place, value);
            }
        }
        if !self.cpus.is_empty() {
            self.write_cpus(fields, (t, dt), out);
        }
    }

    /// Writes a row for each CPU, and the one of all.
    fn write_cpus(&self, fields: &Fields<'_>, (t, dt): (Micros, Option<f64>), out: &mut Out<'_>) {
        let table: &'static Table = &cpu::TABLE;
        let mut mean = CpuMean::default();
        for (nth, first) in self.cpus.iter().enumerate() {
            mean.next_cpu();
            let mut row = out.row(table, t, dt);
            row.str(cpu::cpu.index(), nth.to_string().as_str());
            for (at, (_, place, scale)) in self.rule.cpus.iter().enumerate() {
                if let Some(value) = number(fields.get(first + at)) {
                    row.f64(*place, value * scale);
                    mean.add_to(*place, value * scale);
                }
            }
        }
        mean.write(out, t, dt);
    }
}

impl TableRule {
    /// The words of a header, one for each column.
    fn words(&self, fields: &Fields<'_>) -> Vec<String> {
        let mut words = Vec::new();
        let mut at = 0;
        while at < fields.len().min(MAX_COLUMNS) {
            let stands = |joined: &&Vec<String>| joined.iter().enumerate().all(|(i, word)| fields.get(at + i) == word);
            match self.joined.iter().find(stands) {
                Some(joined) => {
                    words.push(joined.join(" "));
                    at += joined.len();
                }
                None => {
                    words.push(fields.get(at).to_owned());
                    at += 1;
                }
            }
        }
        words
    }

    /// Whether the time is below a word.
    fn is_time(&self, word: &str) -> bool {
        self.others.iter().any(|(known, goal)| known == word && matches!(goal, Goal::Time))
    }

    /// The first column of each CPU, if a header has those of several side by side.
    fn cpus_in(&self, words: &[String]) -> Vec<usize> {
        let same = |group: &&[String]| group.iter().zip(&self.cpus).all(|(word, (known, ..))| word == known);
        let groups = words.windows(self.cpus.len().max(1)).enumerate();
        let found: Vec<usize> =
            groups.filter(|(_, group)| !self.cpus.is_empty() && same(group)).map(|(at, _)| at).collect();
        if found.len() > 1 { found } else { Vec::new() }
    }

    /// Whether a word can be above its header: `disk1` too, and lines.
    fn is_above(&self, word: &str) -> bool {
        let bare = word.trim_matches(|c: char| c.is_ascii_digit() || c == '-');
        bare.is_empty() && word.contains('-') || self.above.iter().any(|known| known == bare)
    }
}

struct Reader<'r> {
    report: &'r Report,
    when: When,
    headers: Headers<Section<'r>>,
    /// The time of the rows below the last header, where that begins it.
    at: Option<(Micros, Option<f64>)>,
    /// Rows since the last header.
    rows: u32,
    /// The stamp taken off the front of the row before.
    stamp: String,
}

impl<'r> Reader<'r> {
    fn line(&mut self, number: u64, line: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        let rest = self.when.strip(line, out);
        let stamp = line.get(..line.len().saturating_sub(rest.len())).unwrap_or_default().trim();
        let text = rest.trim();
        if text.is_empty() || text.bytes().all(|b| matches!(b, b'-' | b' ' | b'\t')) {
            return;
        }
        let fields = splitter.blanks(text);
        if self.header(text, &fields, out) || self.values(number, stamp, &fields, out) {
            return;
        }
        match self.when.knows(text, self.report.pace.tool.name, out) {
            Line::Known => return,
            Line::Begins => return self.headers.leave(),
            Line::Unknown => {}
        }
        let above = self.report.tables.iter().any(|rule| fields.iter().all(|word| rule.is_above(word)));
        if !above && !self.report.ignore.iter().any(|pattern| pattern.is_match(text)) {
            out.unknown(number, text, "neither header nor values");
        }
    }

    /// Takes a header line.
    fn header(&mut self, text: &str, fields: &Fields<'_>, out: &mut Out<'_>) -> bool {
        // Headers have words, and rows nearly always a number behind what they are of.
        if begins_number(fields.get(usize::from(fields.len() > 1))) {
            return false;
        }
        let Some(rule) = self.report.tables.iter().find(|rule| rule.is_header(fields)) else { return false };
        if (1..self.report.pace.header_every).contains(&self.rows)
            && let When::Intervals(times) = &mut self.when
        {
            times.restart();
        }
        self.rows = 0;
        let name = self.report.name;
        self.headers.enter(text, || Section::new(name, rule, fields));
        // Rows that say their times begin what is of one time themselves.
        let front = self.headers.current().is_some_and(|section| section.front);
        self.at = (rule.has_key() && !front).then(|| self.when.begin(out));
        self.stamp.clear();
        true
    }

    /// Takes a line of values.
    fn values(&mut self, number: u64, stamp: &str, fields: &Fields<'_>, out: &mut Out<'_>) -> bool {
        let Some(section) = self.headers.current() else { return false };
        let fits = fields.len() == section.layout.len();
        if section.front && section.rule.has_key() {
            if !fits || stamp.is_empty() {
                return false;
            }
            if self.at.is_none() || self.stamp != stamp {
                stamp.clone_into(&mut self.stamp);
                self.at = Some(self.when.begin(out));
            }
        }
        if let Some(at) = self.at {
            if fits {
                section.write(number, fields, at, out);
            }
            return fits;
        }
        if !begins_number(fields.get(0)) {
            return false;
        }
        if !fits {
            out.wrong_count(number, fields.rest(0), fields.len(), section.layout.len());
            return true;
        }
        self.rows = self.rows.saturating_add(1);
        if let (Some(column), When::Intervals(times)) = (section.time, &mut self.when)
            && let Some(time) = civil_time(fields.get(column), None)
        {
            times.at(time, out);
        }
        let at = self.when.begin(out);
        section.write(number, fields, at, out);
        true
    }
}
