//! When blocks are, in the outputs of tools that print times only if asked to.
//!
//! A time may be on a separate line before each block (`-T d`, `-T u`, `date` in a loop), in
//! front of every line (a filter that adds it), once at the top, or nowhere; OSWatcher puts its own
//! before each run of the tool (`zzz ***Thu Sep 17 10:11:12 PDT 2009`). Where there is none the
//! interval comes from `--interval`, or from the command line that is pasted above the output.

use fenxi_model::Micros;
use jiff::civil::{Date, Time};

use crate::{Clock, Head, Input, Out, Relative, Stamp, Ticker, When, civil_time, stamp};

/// Changes of the machine that wait for the time of the next block.
const MAX_CHANGES: usize = 64;

/// A tool and the options of its that take an argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    /// Letters of options with an argument.
    pub(crate) takes: &'static str,
    /// The one of them whose argument is the interval, where it is an option.
    pub(crate) every: Option<char>,
    /// Whether its lines begin with counters, of which one may look like seconds since the epoch.
    pub(crate) counters: bool,
    /// Seconds between its samples by default.
    pub(crate) default_s: f64,
    /// Whether its first block is since boot (or since the start of each process).
    pub(crate) first_since_boot: bool,
}

impl Tool {
    /// The time at the beginning of a line, or all of it.
    fn stamp(self, line: &str) -> Option<Stamp<'_>> {
        let Some(mut read) = stamp(line) else { return local_date(line.trim()) };
        let figures = line.trim_start().split(|c: char| !c.is_ascii_digit()).next().map_or(0, str::len);
        let counter = self.counters && figures >= 10 && !read.rest.is_empty();
        // `19800101 111000` are kilobytes of swap and of memory (`vmstat -p`).
        let second = line.split_ascii_whitespace().nth(1).unwrap_or(":");
        let amounts = figures == 8 && second.bytes().all(|b| b.is_ascii_digit());
        if counter || amounts {
            return None;
        }
        if let When::Civil(when, Some(header)) = read.when
            && HEADERS.contains(&header)
        {
            // `Thu Sep 17 10:11:12 2009 CPU minf mjf` names no zone.
            let begin = line.len().saturating_sub(read.rest.len());
            let at = line.get(..begin).and_then(|text| text.rfind(header));
            read = Stamp { when: When::Civil(when, None), rest: at.and_then(|at| line.get(at..)).unwrap_or(read.rest) };
        }
        Some(read)
    }
}

/// Gives blocks their times and finds which of them are since boot.
pub(crate) struct Times {
    tool: Tool,
    clock: Clock,
    ticker: Ticker,
    /// The time that was read last; set to None when a block has used it.
    stamp: Option<Micros>,
    stamps: u64,
    last: Option<Micros>,
    interval_s: Option<f64>,
    since_boot: bool,
    changes: Vec<String>,
    /// The last line about the system's size.
    configuration: String,
}

impl Times {
    pub(crate) fn new(input: &Input<'_>, out: &Out<'_>, tool: Tool) -> Times {
        let head = input.head();
        let seconds = |line: &str| tool.stamp(line).or_else(|| last_word(line)).map(|s| s.when.seconds());
        Times {
            tool,
            clock: Clock::new(out.hints()),
            ticker: Ticker::new(out.hints(), &head, seconds),
            stamp: None,
            stamps: 0,
            last: None,
            interval_s: head.lines().take(20).find_map(|line| using(line).or(command(line, tool).flatten())),
            since_boot: tool.first_since_boot,
            changes: Vec::new(),
            configuration: String::new(),
        }
    }

    /// Takes the time off the front of a line, if there is one, and gives the rest: nothing for a
    /// line that is only a time.
    pub(crate) fn strip<'a>(&mut self, line: &'a str, out: &mut Out<'_>) -> &'a str {
        if line.contains(" OSWbb v") {
            // `SunOS OSWbb v8.1.2 db1`
            if let Some(host) = line.split_ascii_whitespace().nth(3) {
                out.set_host(host);
            }
            return "";
        }
        let Some(stamp) = self.tool.stamp(line) else { return line };
        if line.starts_with("zzz ") {
            // OSWatcher runs the tool anew after each of its lines of time.
            self.restart();
        }
        self.stamps = self.stamps.saturating_add(1);
        self.stamp = Some(stamp.when.moment(&mut self.clock, out));
        stamp.rest
    }

    /// The next block is at this time of day, which is in a separate column.
    pub(crate) fn at(&mut self, time: Time, out: &mut Out<'_>) {
        self.stamps = self.stamps.saturating_add(1);
        self.stamp = Some(self.clock.at(time, out));
    }

    /// Whether the line is known and carries no sample: the command itself, or a change of the
    /// machine (`<<processors added: 1, 3>>`), after which the tool shows averages since boot.
    pub(crate) fn knows(&mut self, line: &str) -> bool {
        let line = line.trim();
        if let Some(change) = line.strip_suffix(">>") {
            // A time before it may have taken its own marks along.
            let change = change.trim_start_matches('<');
            if self.changes.len() < MAX_CHANGES {
                self.changes.push(change.to_owned());
            }
            self.since_boot = self.tool.first_since_boot;
            return true;
        }
        if let Some(interval_s) = command(line, self.tool) {
            // The tool was begun (again) here.
            self.interval_s = interval_s.or(self.interval_s);
            self.restart();
            return true;
        }
        if let Some(interval_s) = using(line) {
            self.interval_s = Some(interval_s);
            return true;
        }
        let watcher = ["SNAP_INTERVAL", "CPU_COUNT", "CPU COUNT", "OSWBB_ARCHIVE"];
        let watcher = watcher.iter().any(|word| line.starts_with(word));
        watcher || line == "^C" || line == "State change"
    }

    /// Whether the line has the size of the system, as AIX' tools do on top; it becomes a fact when
    /// it is another than before.
    pub(crate) fn configuration(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let Some(text) = configuration(line) else { return false };
        if self.configuration != text {
            text.clone_into(&mut self.configuration);
            out.fact("system", "configuration", text);
        }
        true
    }

    /// The tool was begun anew: the next block does not follow the one before.
    pub(crate) fn restart(&mut self) {
        self.since_boot = self.tool.first_since_boot;
        self.ticker.restart();
    }

    /// Whether the content shows when its blocks are, or how far apart.
    pub(crate) fn are_told(&self) -> bool {
        self.interval_s.is_some() || self.stamps > 1
    }

    /// Begins a block: its time, and its length unless it is since boot. Rows go where they belong
    /// until the next block begins.
    pub(crate) fn begin(&mut self, out: &mut Out<'_>) -> (Micros, Option<f64>) {
        let (t, dt) = match (self.stamp.take(), self.last) {
            (Some(t), _) => (t, self.ticker.tick(t).or(self.interval_s)),
            (None, None) if self.since_boot => (Relative::elapsed(out).after(0.0), None),
            // No time, or only one at the top: count on from there.
            (None, last) => {
                let interval_s = self.interval(out);
                let from = last.unwrap_or_else(|| Relative::elapsed(out).after(0.0));
                let t = Micros(from.0.saturating_add((interval_s * 1e6) as i64));
                self.ticker.tick(t);
                (t, Some(interval_s))
            }
        };
        self.last = Some(t);
        let boot = std::mem::replace(&mut self.since_boot, false);
        for change in self.changes.drain(..) {
            out.event(t, "fact changed", self.tool.name, &change);
        }
        out.since_boot(boot);
        (t, dt.filter(|_| !boot))
    }

    fn interval(&self, out: &mut Out<'_>) -> f64 {
        match out.hints().interval_s.or(self.interval_s) {
            Some(interval_s) => interval_s,
            None => {
                let default_s = self.tool.default_s;
                let words = if default_s == 1.0 { "one second".to_owned() } else { format!("{default_s} seconds") };
                out.assume(&format!("{words} between samples, as the input does not say (give --interval)"));
                default_s
            }
        }
    }
}

/// The interval in a command line of the tool called `name`, whose options of the letters `takes` have an argument; None where
/// the line is no such command, or has none.
pub(crate) fn interval_of(line: &str, name: &'static str, takes: &'static str) -> Option<f64> {
    let tool = Tool { name, takes, every: None, counters: false, default_s: 1.0, first_since_boot: true };
    command(line, tool).flatten()
}

/// The interval in `Using 10 secs`, with which collectors of Sun's support (GUDS) head what they start.
fn using(line: &str) -> Option<f64> {
    let mut words = line.split_ascii_whitespace().map(|word| word.trim_end_matches(['.', ',', ':']));
    let seconds = words.find(|word| word.eq_ignore_ascii_case("using")).and_then(|_| words.next())?;
    let unit = words.next().filter(|unit| matches!(*unit, "s" | "sec" | "secs" | "second" | "seconds"));
    unit.and_then(|_| seconds.parse::<f64>().ok()).filter(|s| s.is_finite() && *s > 0.0)
}

/// The text after `System configuration:`.
fn configuration(line: &str) -> Option<&str> {
    const LABEL: &str = "System configuration:";
    let (label, text) = line.split_at_checked(LABEL.len())?;
    label.eq_ignore_ascii_case(LABEL).then_some(text.trim())
}

/// Whether the beginning of an input has the size of the system, which AIX' tools do since 5.3.
pub(crate) fn tells_configuration(input: &Input<'_>) -> bool {
    Head { text: &input.head() }.any(|line| configuration(line).is_some())
}

/// Words that begin a header line and look like the name of a zone.
const HEADERS: &[&str] = &["CPU", "CPUS", "SET", "PID", "NPROC", "NLWP"];

/// Beginnings of months in languages of which `date` is seen: English, German, French, Spanish, Italian,
/// Portuguese, Dutch.
const MONTHS: [&[&str]; 12] = [
    &["jan", "ene", "gen"],
    &["feb", "fév", "fev"],
    &["mar", "mär", "maa", "mrz", "mrt"],
    &["apr", "avr", "abr"],
    &["may", "mai", "mag", "mei"],
    &["juin", "jun", "giu"],
    &["juil", "jul", "lug"],
    &["aug", "aoû", "aou", "ago"],
    &["sep", "set"],
    &["oct", "okt", "ott", "out"],
    &["nov"],
    &["dec", "dez", "déc", "dic"],
];

/// A line that is nothing but a date and a time with words of some language: `Thursday, September 17,
/// 2009 10:11:12 AM PDT`, `jeudi 17 septembre 2009 10:11:12 CEST`.
fn local_date(text: &str) -> Option<Stamp<'_>> {
    let (mut month, mut day, mut year, mut time, mut half, mut zone) = (None, None, None, None, None, None);
    if !(12..=80).contains(&text.len()) {
        return None;
    }
    for word in text.split_ascii_whitespace() {
        let bare = word.trim_matches([',', '.']);
        let lower = bare.to_lowercase();
        let named = || MONTHS.iter().position(|names| names.iter().any(|name| lower.starts_with(name)));
        if bare.contains(':') && time.is_none() {
            time = Some(bare);
        } else if let Ok(number) = bare.parse::<i16>() {
            match number {
                1..=31 if day.is_none() => day = Some(number as i8),
                1970..=2200 if year.is_none() => year = Some(number),
                _ => return None,
            }
        } else if matches!(bare, "AM" | "PM") {
            half = Some(bare);
        } else if time.is_some() && bare.len() > 1 && bare.bytes().all(|b| b.is_ascii_uppercase()) {
            zone = zone.or(Some(bare));
        } else if let Some(at) = named() {
            // `mar` is also Tuesday in French, Spanish and Italian: a later word wins.
            month = Some(at as i8 + 1);
        } else if !bare.chars().all(|c| c.is_alphabetic() || c == '-') {
            return None;
        }
    }
    let date = Date::new(year?, month?, day?).ok()?;
    Some(Stamp { when: When::Civil(date.to_datetime(civil_time(time?, half)?), zone), rest: "" })
}

/// A time of day in a line's last word, as AIX' `vmstat -t` has it behind its numbers.
fn last_word(line: &str) -> Option<Stamp<'_>> {
    let word =
        line.rsplit(char::is_whitespace).next().filter(|word| word.len() == 8 && word.matches(':').count() == 2)?;
    Some(Stamp { when: When::Time(civil_time(word, None)?), rest: "" })
}

/// Whether the line is the command that began `tool` (`# vmstat -S 5 10 | tee x`), and the interval
/// it gives.
fn command(line: &str, tool: Tool) -> Option<Option<f64>> {
    let is_tool = |word: &str| word == tool.name || word.strip_suffix(tool.name).is_some_and(|w| w.ends_with('/'));
    let mut words = line.split_ascii_whitespace();
    words.by_ref().take(12).find(|w| is_tool(w))?;
    let (mut numbers, mut every) = (Vec::new(), None);
    while let Some(word) = words.next() {
        if word.starts_with(['|', '>', ';', '&', '<']) || word.starts_with("2>") {
            break;
        }
        if let Some(letters) = word.strip_prefix('-') {
            // An option with an argument takes the rest of its word, or the next one.
            let last = letters.chars().last().filter(|c| tool.takes.contains(*c));
            let attached = tool.every.and_then(|c| letters.strip_prefix(c)).and_then(|n| n.parse::<u32>().ok());
            let argument = last.and_then(|_| words.next());
            if last.is_some() && last == tool.every {
                every = argument.and_then(|n| n.parse::<u32>().ok());
            }
            every = every.or(attached);
            continue;
        }
        if numbers.len() < 8 {
            numbers.push(word.trim_end_matches(['`', ')', '\'', '"', ';']).parse::<u32>().ok());
        }
    }
    let interval = match numbers.as_slice() {
        _ if every.is_some() => every.map(f64::from),
        [.., Some(interval), Some(_)] | [.., None, Some(interval)] | [Some(interval)] => Some(f64::from(*interval)),
        _ => None,
    };
    Some(interval.filter(|s| *s > 0.0))
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;
    use crate::Hints;

    const TOOL: Tool =
        Tool { name: "mpstat", takes: "TP", every: None, counters: false, default_s: 1.0, first_since_boot: true };

    #[test]
    fn headers_are_no_zones_and_other_languages_have_dates() {
        let when = date(2009, 9, 17).at(10, 11, 12, 0);
        let civil = |zone| Some(When::Civil(when, zone));
        for (line, want, rest) in [
            ("Thu Sep 17 10:11:12 2009  0  15 3", civil(None), "0  15 3"),
            ("Thu Sep 17 10:11:12 2009 CPU minf mjf", civil(None), "CPU minf mjf"),
            ("Thu Sep 17 10:11:12 PDT 2009", civil(Some("PDT")), ""),
            ("Thursday, September 17, 2009 10:11:12 AM PDT", civil(Some("PDT")), ""),
            ("September 17, 2009 10:11:12 AM PDT", civil(Some("PDT")), ""),
            ("jeudi 17 septembre 2009 10:11:12 CEST", civil(Some("CEST")), ""),
            ("Donnerstag, 17. September 2009, 10:11:12 Uhr MESZ", civil(Some("MESZ")), ""),
            ("mar. 17 sept. 2009 10:11:12", civil(None), ""),
            ("neither date nor header 17", None, ""),
            ("  0   12 3", None, ""),
            ("CPU minf", None, ""),
            ("", None, ""),
        ] {
            let read = TOOL.stamp(line);
            assert_eq!(read.as_ref().map(|s| s.when.clone()), want, "{line}");
            assert_eq!(read.map_or("", |s| s.rest), rest, "{line}");
        }
        let counters = Tool { counters: true, ..TOOL };
        assert!(TOOL.stamp("1253182272 user").is_some() && counters.stamp("1253182272 user").is_none());
        assert!(counters.stamp("1253182272").is_some());
        assert!(TOOL.stamp(" 19800101 111000 0  2").is_none() && TOOL.stamp("19800101 11:10:00 0  2").is_some());
    }

    #[test]
    fn commands_give_their_interval() {
        for (line, want) in [
            ("$ mpstat 3 | grep -v ' 100$'", Some(Some(3.0))),
            ("# /usr/bin/mpstat -T d 5 10 > x", Some(Some(5.0))),
            ("root@h:~# mpstat -aq -P 1 10", Some(Some(10.0))),
            ("mpstat", Some(None)),
            ("CPU minf mjf", None),
            ("prstat 5", None),
        ] {
            assert_eq!(command(line, TOOL), want, "{line}");
        }
    }

    fn blocks(text: &str, hints: Hints) -> (Vec<(String, Option<f64>)>, u64) {
        let mut input = Input::new(text.as_bytes());
        let mut out = Out::new("test", hints, |_, _| {});
        let mut times = Times::new(&input, &out, TOOL);
        let mut all = Vec::new();
        while input.line().is_some() {
            if !times.knows(input.text()) && !times.strip(input.text(), &mut out).is_empty() {
                let (t, dt) = times.begin(&mut out);
                all.push((t.iso(), dt));
            }
        }
        (all, out.finish().assumptions)
    }

    #[test]
    fn blocks_are_timed_by_what_there_is() {
        let at = |s: &str, dt| (format!("2009-09-17T{s}.000000Z"), dt);
        let text = "Thu Sep 17 17:11:12 GMT 2009\nx\nThu Sep 17 17:11:22 GMT 2009\nx\nThu Sep 17 10:11:33 PDT 2009\nx";
        let want = vec![at("17:11:12", None), at("17:11:22", Some(10.0)), at("17:11:33", Some(10.0))];
        assert_eq!(blocks(text, Hints::none("x")), (want, 0));
        let text = "2009-09-17T17:00:00Z\n# mpstat 5\nx\nx\n<<processors added: 1>>\nx\nx";
        let want =
            vec![at("17:00:00", None), at("17:00:05", Some(5.0)), at("17:00:10", None), at("17:00:15", Some(5.0))];
        assert_eq!(blocks(text, Hints::none("x")), (want, 0));
        let hints = Hints { start: Micros::parse("2009-09-17T08:00:00"), interval_s: Some(2.0), ..Hints::none("x") };
        let want = vec![at("08:00:00", None), at("08:00:02", Some(2.0))];
        assert_eq!(blocks("x\nx", hints), (want, 0));
        assert_eq!(blocks("x\nx", Hints::none("x")).1, 2);
    }

    #[test]
    fn the_interval_above_the_blocks_is_theirs() {
        let start = Micros::parse("2009-09-17T08:00:00");
        let (all, assumed) = blocks("Using 10 secs\nx\nx\nx", Hints { start, ..Hints::none("x") });
        assert_eq!(all.iter().map(|(_, dt)| *dt).collect::<Vec<_>>(), [None, Some(10.0), Some(10.0)]);
        assert_eq!((all[2].0.as_str(), assumed), ("2009-09-17T08:00:20.000000Z", 0));
        assert_eq!((using("using all 10 disks"), using("Using 0 secs"), using("r b w")), (None, None, None));
    }

    #[test]
    fn the_size_of_the_system_is_told_in_any_case() {
        assert_eq!(configuration("System configuration: lcpu=8 ent=1.00"), Some("lcpu=8 ent=1.00"));
        assert_eq!(configuration("System Configuration: lcpu=4"), Some("lcpu=4"));
        assert_eq!(configuration("System:"), None);
    }
}
