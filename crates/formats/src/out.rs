//! Where an importer's rows go.

use std::collections::BTreeSet;

use fenxi_model::{
    Micros, Refused, Row, Rows, TABLES, Table,
    catalog::{event, histogram, metric, result, text},
};
use jiff::{
    Timestamp,
    civil::{Date, Time},
};

use crate::{
    Hints, Input, Tally,
    follow::{Follow, Origin},
};

/// Rows that are gathered before they are handed on.
const FLUSH_ROWS: usize = 1 << 15;
/// Notes that are kept word by word for one file; further ones are only counted.
const MAX_NOTES: u64 = 200;
/// Hosts of one file that are listed.
const MAX_HOSTS: usize = 16;
/// Bytes of lines that could not be read, which another format is asked for.
const MAX_UNREAD: usize = 64 << 10;
/// The longest piece of a line that a note repeats, in characters.
const QUOTE: usize = 120;

/// Rows of one input after another, not handed on yet.
#[derive(Debug)]
pub struct Gathered {
    /// Samples, results, facts, events and notes.
    pub rows: Rows,
    /// Averages since boot.
    pub boot: Rows,
}

impl Default for Gathered {
    fn default() -> Gathered {
        Gathered { rows: Rows::new(""), boot: Rows::new("") }
    }
}

/// Takes full [`Rows`] out of an importer's hands: the rows, and whether they belong to the
/// since-boot sample.
pub type Sink<'a> = dyn FnMut(&mut Rows, bool) + 'a;

/// Receives what an importer reads: rows, results, facts, events and notes.
pub struct Out<'a> {
    hints: Hints,
    rows: Rows,
    boot: Rows,
    in_boot: bool,
    in_order: bool,
    gathered: usize,
    sink: Box<Sink<'a>>,
    counts: Vec<u64>,
    first: Option<Micros>,
    last: Option<Micros>,
    boot_rows: u64,
    notes: u64,
    assumed: BTreeSet<String>,
    timed_by_writing: bool,
    dated_by_head: bool,
    /// Origin of the time of rows without one, where that is not the file's modification time.
    anchored: Option<&'static str>,
    /// The date of what has none, where other outputs of the input say it.
    dated: Option<Date>,
    hosts: BTreeSet<String>,
    names_host_first: bool,
    /// The number in the whole input of each line of the part that is read.
    lines: Vec<u64>,
    /// Lines that could not be read, with their numbers in the whole input, where another format may know them.
    unread: Vec<(u64, String)>,
    unread_bytes: usize,
    /// How many formats read, one within what another left.
    unread_depth: u8,
    /// Values that cannot be, of rows that are handed on.
    refused: Vec<Refused>,
    /// Who wants to know where rows come from.
    follow: Option<Follow>,
}

impl std::fmt::Debug for Out<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Out({} gathered)", self.gathered)
    }
}

impl<'a> Out<'a> {
    /// Rows of the format called `source` go to `sink` whenever enough are gathered.
    pub fn new(source: &'static str, hints: Hints, sink: impl FnMut(&mut Rows, bool) + 'a) -> Out<'a> {
        Out::onto(Gathered::default(), source, hints, sink)
    }

    /// As [`Out::new`], with rows of other inputs before those to come.
    pub fn onto(
        before: Gathered,
        source: &'static str,
        hints: Hints,
        sink: impl FnMut(&mut Rows, bool) + 'a,
    ) -> Out<'a> {
        let host = hints.host.as_deref().unwrap_or(&hints.default_host);
        let Gathered { mut rows, mut boot } = before;
        for rows in [&mut rows, &mut boot] {
            rows.set_host(host);
            rows.set_source(source);
        }
        Out {
            rows,
            boot,
            in_boot: false,
            in_order: false,
            gathered: 0,
            sink: Box::new(sink),
            counts: vec![0; TABLES.len()],
            first: None,
            last: None,
            boot_rows: 0,
            notes: 0,
            assumed: BTreeSet::new(),
            timed_by_writing: false,
            dated_by_head: false,
            anchored: None,
            dated: None,
            hosts: BTreeSet::new(),
            names_host_first: false,
            lines: Vec::new(),
            unread: Vec::new(),
            unread_bytes: 0,
            unread_depth: 0,
            refused: Vec::new(),
            follow: None,
            hints,
        }
    }

    /// Lets rows since boot be handed on where they stand among the others, not after them: for
    /// somebody who shows them. It costs more than it should where they alternate row by row.
    #[must_use]
    pub fn in_order(mut self) -> Out<'a> {
        self.in_order = true;
        self
    }

    /// Reports to `follow` which line each row comes from.
    #[must_use]
    pub fn followed(mut self, follow: &Follow) -> Out<'a> {
        self.follow = Some(follow.clone());
        self
    }

    /// Metadata of the input.
    pub fn hints(&self) -> &Hints {
        &self.hints
    }

    /// The content names its host; further rows are of it, unless the user named another.
    pub fn set_host(&mut self, host: &str) {
        self.names_host_first |=
            self.hosts.is_empty() && !host.is_empty() && self.assumed.is_empty() && self.has_no_row();
        if self.hosts.len() < MAX_HOSTS && !host.is_empty() && !self.hosts.contains(host) {
            self.hosts.insert(host.to_owned());
        }
        if self.hints.host.is_none() && !host.is_empty() {
            self.rows.set_host(host);
            self.boot.set_host(host);
        }
    }

    /// Rows to come are of another format and of the host called `host`, from a part of the input; `lines` are the numbers
    /// of its lines in the whole.
    pub(crate) fn begin_part(&mut self, source: &'static str, host: &str, lines: Vec<u64>) {
        self.since_boot(false);
        self.set_source(source);
        self.set_host(host);
        self.lines = lines;
    }

    /// A part of the input, which reports its lines if the whole input does.
    pub(crate) fn part<'r>(&self, part: Input<'r>) -> Input<'r> {
        match &self.follow {
            Some(follow) => part.followed(follow),
            None => part,
        }
    }

    /// The part is read: rows to come are of `source`.
    pub(crate) fn end_part(&mut self, source: &'static str) {
        self.since_boot(false);
        self.set_source(source);
        self.lines = Vec::new();
    }

    /// The content has a date, and perhaps a time of day, where most of it has none: what has no date is of that one, unless
    /// the file was last written then.
    pub(crate) fn date_is(&mut self, date: Date, time: Option<Time>) {
        let zone = &self.hints.zone;
        let written = self.hints.modified.and_then(|t| Timestamp::from_microsecond(t.0).ok());
        if self.hints.start.is_some() || written.is_some_and(|t| t.to_zoned(zone.clone()).date() == date) {
            return;
        }
        let moment = zone.to_ambiguous_timestamp(date.to_datetime(time.unwrap_or(Time::midnight()))).compatible();
        if let Ok(moment) = moment {
            (self.hints.modified, self.hints.overrun_s) = (Some(Micros(moment.as_microsecond())), Some(0.0));
            (self.anchored, self.dated) = (Some("the date of outputs beside it"), Some(date));
        }
    }

    /// Rows without times get the latest time of the rows before them, which another part of the input has.
    pub(crate) fn anchor(&mut self) {
        if self.last.is_some() && !self.timed_by_writing {
            (self.hints.modified, self.hints.overrun_s) = (self.last, Some(0.0));
            self.anchored = Some("the last time of the outputs above");
        }
    }

    fn set_source(&mut self, source: &'static str) {
        self.rows.set_source(source);
        self.boot.set_source(source);
    }

    /// Whether the rows to come are averages since the system's boot: they are kept apart and
    /// never mixed with samples.
    pub fn since_boot(&mut self, yes: bool) {
        if self.in_order && yes != self.in_boot {
            self.take_refused();
            let (rows, boot) = if yes { (&mut self.rows, false) } else { (&mut self.boot, true) };
            if !rows.is_empty() {
                (self.sink)(rows, boot);
            }
            if yes {
                self.gathered = 0;
            }
        }
        self.in_boot = yes;
    }

    /// Begins a row, as [`Rows::row`] does.
    pub fn row<S: ?Sized>(
        &mut self,
        table: &'static Table<S>,
        t: impl Into<Option<Micros>>,
        dt: impl Into<Option<f64>>,
    ) -> Row<'_, S> {
        let t = t.into();
        if let Some(follow) = &self.follow {
            self.tell(follow, table.id as usize);
        }
        if self.in_boot {
            self.boot_rows += 1;
            return self.boot.row(table, t, dt);
        }
        if self.gathered >= FLUSH_ROWS {
            self.take_refused();
            (self.sink)(&mut self.rows, false);
            self.gathered = 0;
        }
        self.gathered += 1;
        self.counts[table.id as usize] += 1;
        let dt = dt.into();
        if let Some(t) = t {
            let begin = Micros(t.0.saturating_sub((dt.unwrap_or(0.0) * 1e6) as i64));
            self.first = Some(self.first.map_or(begin, |first| first.min(begin)));
            self.last = Some(self.last.map_or(t, |last| last.max(t)));
        }
        self.rows.row(table, t, dt)
    }

    /// Records where a row of a table comes from.
    #[cold]
    fn tell(&self, follow: &Follow, table: usize) {
        let (line, format) = (self.number_of(follow.at()), self.rows.source());
        follow.row(Origin { line, table: TABLES[table], since_boot: self.in_boot, format });
    }

    /// A number that no table has a column for. `labels` are `key=value` joined by commas, or empty.
    pub fn metric(
        &mut self,
        t: impl Into<Option<Micros>>,
        dt: impl Into<Option<f64>>,
        name: &str,
        labels: &str,
        value: impl Into<Option<f64>>,
        unit: &str,
    ) {
        let mut row = self.row(&metric::TABLE, t, dt);
        row.str(metric::name, name).f64(metric::value, value);
        row.str(metric::labels, Some(labels).filter(|l| !l.is_empty()));
        row.str(metric::unit, Some(unit).filter(|u| !u.is_empty()));
    }

    /// One of the run's own results. `better` is `higher`, `lower` or `neither`.
    pub fn result(&mut self, name: &str, value: impl Into<Option<f64>>, unit: &str, better: &str) {
        let source = self.rows.source();
        let mut row = self.row(&result::TABLE, None, None);
        row.str(result::name, name).f64(result::value, value).str(result::source, source);
        row.str(result::unit, Some(unit).filter(|u| !u.is_empty())).str(result::better, better);
    }

    /// A fact in words.
    pub fn fact(&mut self, topic: &str, name: &str, value: &str) {
        self.row(&text::TABLE, None, None).str(text::topic, topic).str(text::name, name).text(text::value, value);
    }

    /// A line of a log: the program, the message, and the severity in the words of syslog, if that is known.
    pub fn log(&mut self, t: Micros, program: &str, priority: Option<&str>, message: &str) {
        let mut row = self.row(&event::TABLE, t, None);
        row.str(event::kind, "log").str(event::subject, program).str(event::priority, priority);
        row.text(event::message, message);
    }

    /// Something that happened at a moment.
    pub fn event(&mut self, t: Micros, kind: &str, subject: &str, message: &str) {
        let mut row = self.row(&event::TABLE, t, None);
        row.str(event::kind, kind).str(event::subject, subject).text(event::message, message);
    }

    /// One bucket of a distribution: `count` values in `lo..hi` of `unit`; no `hi` for no bound.
    #[allow(clippy::too_many_arguments, reason = "a bucket has that many parts, and each call names them in one order")]
    pub fn bucket(
        &mut self,
        t: impl Into<Option<Micros>>,
        dt: impl Into<Option<f64>>,
        name: &str,
        labels: &str,
        lo: f64,
        hi: impl Into<Option<f64>>,
        unit: &str,
        count: f64,
    ) {
        let mut row = self.row(&histogram::TABLE, t, dt);
        row.str(histogram::name, name).f64(histogram::lo, lo).f64(histogram::hi, hi).f64(histogram::count, count);
        row.str(histogram::labels, Some(labels).filter(|l| !l.is_empty())).str(histogram::unit, unit);
    }

    /// The line `number` could not be read; `why` is what was expected.
    pub fn unknown(&mut self, number: u64, line: &str, why: &str) {
        let quoted: String = line.trim().chars().take(QUOTE).collect();
        let more = if line.trim().chars().nth(QUOTE).is_some() { "…" } else { "" };
        self.note(number, &format!("{why}: {quoted}{more}"));
        self.unread(number, line);
    }

    /// A line that could not be read and that a note sums up with others: another format may know it.
    pub(crate) fn unread(&mut self, number: u64, line: &str) {
        if self.unread_bytes + line.len() < MAX_UNREAD {
            self.unread_bytes += line.len() + 1;
            let number = self.number_of(number);
            self.unread.push((number, line.to_owned()));
        }
    }

    /// Lines that are not read from now on are kept; gives those kept before.
    pub(crate) fn begin_unread(&mut self) -> Vec<(u64, String)> {
        (self.unread_bytes, self.unread_depth) = (0, self.unread_depth.saturating_add(1));
        std::mem::take(&mut self.unread)
    }

    /// The lines that were not read since, and how many formats still read; `before` are kept again.
    pub(crate) fn end_unread(&mut self, before: Vec<(u64, String)>) -> (Vec<(u64, String)>, u8) {
        self.unread_depth = self.unread_depth.saturating_sub(1);
        (std::mem::replace(&mut self.unread, before), self.unread_depth)
    }

    /// The line `number` has another number of values than its header has columns.
    #[cold]
    pub fn wrong_count(&mut self, number: u64, line: &str, values: usize, columns: usize) {
        self.unknown(number, line, &format!("{values} values under {columns} columns"));
    }

    /// A cell of the line `number` is no number; `column` counts from 0.
    #[cold]
    pub fn no_number(&mut self, number: u64, cell: &str, column: usize) {
        let quoted: String = cell.trim().chars().take(QUOTE).collect();
        self.note(number, &format!("no number in column {}: {quoted}", column + 1));
    }

    /// Something at line `number` could not be read.
    pub fn note(&mut self, number: impl Into<Option<u64>>, message: &str) {
        self.notes += 1;
        if self.notes <= MAX_NOTES {
            let number = number.into().map(|number| self.number_of(number));
            self.rows.note(&self.hints.file, number, message);
        }
    }

    /// The number in the whole input of line `number` of the part that is read.
    fn number_of(&self, number: u64) -> u64 {
        let at = usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
        self.lines.get(at).copied().unwrap_or(number)
    }

    /// Notes an assumption about what neither the content nor the user gave; each is kept once.
    pub fn assume(&mut self, message: &str) {
        let message =
            self.anchored.map_or_else(|| message.to_owned(), |told| message.replace("the file's last writing", told));
        if self.assumed.insert(message.clone()) {
            self.rows.note(&self.hints.file, None, &format!("assumed: {message}"));
        }
    }

    /// The date of what has none, where other outputs of the input say it.
    pub(crate) fn dated(&self) -> Option<Date> {
        self.dated
    }

    /// Times are counted from the begin of the date in the tool's own head.
    pub(crate) fn dates_by_head(&mut self) {
        self.dated_by_head = true;
    }

    /// Returns true if the content named a host so far.
    pub fn names_host(&self) -> bool {
        !self.hosts.is_empty()
    }

    /// When the file was last written: times are taken from it.
    pub fn modified(&mut self) -> Option<Micros> {
        self.timed_by_writing |= self.hints.modified.is_some() && self.anchored.is_none();
        self.hints.modified
    }

    /// Where times begin that are counted: such that they end when the file was last written. None without
    /// knowing that.
    pub fn counted_from(&mut self) -> Option<Micros> {
        let overrun_s = self.hints.overrun_s.unwrap_or(0.0);
        self.modified().map(|end| Micros(end.0.saturating_sub((overrun_s * 1e6).round() as i64)))
    }

    /// Hands on the remaining rows and returns the counts of the input.
    pub fn finish(mut self) -> Tally {
        self.close();
        (self.sink)(&mut self.rows, false);
        if !self.boot.is_empty() {
            (self.sink)(&mut self.boot, true);
        }
        self.leave().0
    }

    /// Returns the counts of the input, and the remaining rows, for the next input's rows to follow.
    pub fn leave_open(mut self) -> (Tally, Gathered) {
        self.close();
        self.leave()
    }

    fn has_no_row(&self) -> bool {
        self.notes == 0 && self.boot_rows == 0 && self.counts.iter().all(|n| *n == 0)
    }

    /// Remembers what was left out of the rows that are handed on now, as it cannot be.
    fn take_refused(&mut self) {
        for news in self.rows.refused().into_iter().chain(self.boot.refused()) {
            match self.refused.iter_mut().find(|known| std::ptr::eq(known.column, news.column)) {
                Some(known) => known.times += news.times,
                None => self.refused.push(news),
            }
        }
    }

    /// The last notes.
    fn close(&mut self) {
        self.take_refused();
        for refused in std::mem::take(&mut self.refused) {
            self.note(None, &refused.to_string());
        }
        if self.has_no_row() {
            self.note(None, "nothing was taken from this file: it has no values of its format");
        }
        if self.notes > MAX_NOTES {
            let more = format!("{} more could not be read; the input itself is kept", self.notes - MAX_NOTES);
            self.rows.note(&self.hints.file, None, &more);
        }
    }

    fn leave(self) -> (Tally, Gathered) {
        let counted = TABLES.iter().map(|t| (t.name, self.counts[t.id as usize])).filter(|(_, n)| *n > 0);
        let tally = Tally {
            tables: counted.collect(),
            first: self.first,
            last: self.last,
            notes: self.notes,
            assumptions: self.assumed.len() as u64,
            boot_rows: self.boot_rows,
            timed_by_writing: self.timed_by_writing,
            dated_by_head: self.dated_by_head,
            hosts: self.hosts,
            names_host_first: self.names_host_first,
        };
        (tally, Gathered { rows: self.rows, boot: self.boot })
    }
}
