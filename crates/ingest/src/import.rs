//! An import from its inputs to the sealed run.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, atomic::Ordering, mpsc::sync_channel},
};

use fenxi_formats::{AnyFormat, Foreign, Hints, Input, Out, Tally};
use fenxi_model::{Rows, RunId, catalog::text};
use fenxi_store::{BOOT, Begin, End, IMPORT, InputEntry, OpenRun, Store, StoreError};

use crate::{
    ImportError, Plan, Source,
    beforehand::{Looked, guessed_host, look, overrun_of},
    error::says,
    feed::{self, Feed, Shared, Shown},
    same, unknown,
};

/// Batches of rows that may wait for the writer.
const ROWS_AHEAD: usize = 2;

/// How far an import is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress<'a> {
    /// The input being read.
    pub name: &'a str,
    /// Bytes of all inputs read so far, as they lie there.
    pub bytes: u64,
    /// Rows so far.
    pub rows: u64,
    /// Whether everything is read and the run is being written.
    pub sealing: bool,
}

/// What one input gave.
#[derive(Clone, Debug)]
pub struct Imported {
    /// Its name.
    pub name: String,
    /// The format it was read as.
    pub format: Option<&'static str>,
    /// Its rows, times and notes.
    pub tally: Tally,
    /// Why it was not read, if it was not.
    pub skipped: Option<String>,
    /// What it is, where it is no text.
    pub foreign: Option<Foreign>,
    /// Bytes, unpacked.
    pub bytes: u64,
}

impl Imported {
    /// Why nothing of it is in the run; None when something is.
    pub fn unread(&self) -> Option<&str> {
        match (&self.skipped, self.format) {
            (Some(why), _) => Some(why),
            (None, None) => Some(self.foreign.map_or("unknown format", |foreign| foreign.what)),
            (None, Some(_)) if self.tally.rows() + self.tally.boot_rows == 0 => Some("nothing in it was understood"),
            (None, Some(_)) => None,
        }
    }
}

/// What an import gave.
#[derive(Debug)]
pub struct Outcome {
    /// The new run; None when the store already had everything.
    pub run: Option<RunId>,
    /// The runs that already have these inputs.
    pub already: Vec<RunId>,
    /// Each input in order.
    pub inputs: Vec<Imported>,
}

/// Imports all sources of `plan` as one run. `watch` is told how far it is, often; it gives false
/// to end the import, of which nothing is kept then.
///
/// # Errors
/// See [`ImportError`]. A source that is not recognised among others is kept and noted.
pub fn import(plan: &Plan, watch: &mut dyn FnMut(Progress<'_>) -> bool) -> Result<Outcome, ImportError> {
    let contained = same::contained(&plan.sources);
    let (default_host, looked) = look(plan);
    let mut open = plan.store.begin(begin(plan, &default_host))?;
    let mut work = Work {
        plan,
        shared: Arc::new(Shared { most: plan.most_bytes, ..Shared::default() }),
        default_host,
        raw_names: BTreeSet::new(),
        entries: Vec::new(),
        rows: 0,
        said: Vec::new(),
        texts_left: unknown::MOST_OF_RUN,
        recorded: BTreeSet::new(),
    };
    let mut inputs = Vec::new();
    let read = (|| {
        for (place, source) in plan.sources.iter().enumerate() {
            let imported = match contained.get(&place) {
                Some(whole) => work.skip(source, &plan.sources[*whole], &mut open)?,
                None => work.read(source, looked[place].as_ref(), &mut open, watch)?,
            };
            inputs.push(imported);
        }
        work.check(&inputs)
    })();
    let already = match read.and_then(|()| work.already()) {
        Ok(already) if already.is_empty() => already,
        already => {
            open.discard()?;
            return Ok(Outcome { run: None, already: already?, inputs });
        }
    };
    watch(Progress { name: "", bytes: work.bytes(), rows: work.rows, sealing: true });
    let run = open.seal(work.end(&inputs))?;
    Ok(Outcome { run: Some(run), already, inputs })
}

fn begin(plan: &Plan, default_host: &str) -> Begin {
    Begin {
        name: Some(plan.name.clone()),
        kind: IMPORT.to_owned(),
        // The hosts of the rows are added when the run is sealed.
        host: plan.host.clone().unwrap_or_else(|| default_host.to_owned()),
        command: plan.command.clone(),
        params: BTreeMap::new(),
        tags: plan.tags.clone(),
        start: plan.now,
        interval_s: plan.interval_s,
        random: plan.random,
        sources: Vec::new(),
    }
}

/// Those of `digests` that are of inputs which earlier imports kept, and the runs that have them.
fn known_inputs(store: &Store, digests: &BTreeSet<&str>) -> Result<BTreeMap<String, RunId>, StoreError> {
    let mut known = BTreeMap::new();
    for summary in store.summaries()?.iter().filter(|s| s.kind == IMPORT) {
        if known.len() == digests.len() {
            break;
        }
        for input in store.run(&summary.id)?.manifest.inputs {
            if digests.contains(input.blake3.as_str()) {
                known.entry(input.blake3).or_insert_with(|| summary.id.clone());
            }
        }
    }
    Ok(known)
}

/// An import at work.
struct Work<'p> {
    plan: &'p Plan,
    shared: Arc<Shared>,
    default_host: String,
    raw_names: BTreeSet<String>,
    entries: Vec<InputEntry>,
    rows: u64,
    /// The first things that could not be read, for `strict`.
    said: Vec<String>,
    /// Bytes of unknown texts that may still become facts.
    texts_left: usize,
    /// The store's own formats that are recorded as facts.
    recorded: BTreeSet<&'static str>,
}

impl Work<'_> {
    fn bytes(&self) -> u64 {
        self.shared.read.load(Ordering::Relaxed)
    }

    /// An input whose content another one has: said, and not read.
    fn skip(&mut self, source: &Source, whole: &Source, open: &mut OpenRun) -> Result<Imported, ImportError> {
        let why = format!("its content is at the beginning of {}", whole.name);
        let mut rows = Rows::new(&self.default_host);
        rows.set_source(IMPORT);
        rows.note(&source.name, None, &format!("skipped: {why}"));
        open.append(&mut rows)?;
        let (name, tally) = (source.name.clone(), Tally::default());
        Ok(Imported { name, format: None, tally, skipped: Some(why), foreign: None, bytes: 0 })
    }

    fn read(
        &mut self,
        source: &Source,
        looked: Option<&Looked>,
        open: &mut OpenRun,
        watch: &mut dyn FnMut(Progress<'_>) -> bool,
    ) -> Result<Imported, ImportError> {
        let cannot = |source: &Source, error| ImportError::Open { name: source.name.clone(), source: error };
        let reader = source.content.open().map_err(|e| cannot(source, e))?;
        let raw_name = self.raw_name(&source.name);
        let raw = |ending: &str| open.raw_file(&format!("{raw_name}{ending}"));
        let (feed, keeping) = feed::start(reader, raw, Arc::clone(&self.shared)).map_err(|e| match e {
            StoreError::Io { source: error } => cannot(source, error),
            e => e.into(),
        })?;
        let (format, foreign, tally, error) = self.parse(source, (feed, looked), open, watch);
        let kept = keeping.join();
        if let Some(error) = error {
            return Err(error.into());
        }
        let kept = kept?;
        if let Some(format) = &format {
            self.record(format, open)?;
        }
        self.entries.push(InputEntry {
            name: source.name.clone(),
            raw: kept.raw,
            bytes: kept.bytes,
            blake3: kept.blake3,
            format: format.as_ref().map(|f| f.name().to_owned()),
            tables: tally.tables.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect(),
            notes: tally.notes,
            modified: source.modified,
            hints: self.plan.said(),
        });
        let (name, format) = (source.name.clone(), format.map(|f| f.name()));
        Ok(Imported { name, format, tally, skipped: None, foreign, bytes: kept.bytes })
    }

    /// Keeps, once, which version of a store's own format read inputs of this run.
    fn record(&mut self, format: &AnyFormat, open: &mut OpenRun) -> Result<(), StoreError> {
        let Some(about) = format.own().filter(|about| self.recorded.insert(about.name)) else { return Ok(()) };
        let mut rows = Rows::new(&self.default_host);
        rows.set_source(IMPORT);
        let version = format!("{}, BLAKE3 {}", about.file, about.digest);
        let mut row = rows.row(&text::TABLE, None, None);
        row.str(text::topic, "format").str(text::name, about.name).text(text::value, version.as_str());
        open.append(&mut rows)
    }

    /// Reads the input as its format, into the store; a thread beside writes what is read.
    fn parse(
        &mut self,
        source: &Source,
        (feed, looked): (Feed, Option<&Looked>),
        open: &mut OpenRun,
        watch: &mut dyn FnMut(Progress<'_>) -> bool,
    ) -> (Option<AnyFormat>, Option<Foreign>, Tally, Option<StoreError>) {
        let shared = Arc::clone(&self.shared);
        if feed.is_whole() {
            let mut gathered = Vec::new();
            let mut gather = |rows, since_boot| gathered.push((rows, since_boot));
            let (format, foreign, tally) = self.parse_into(source, feed, looked, &mut gather, watch);
            return (format, foreign, tally, write(gathered, open, &shared));
        }
        let (sender, receiver) = sync_channel::<(Rows, bool)>(ROWS_AHEAD);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| write(receiver, open, &shared));
            // A writer that is gone has said why.
            let mut send = move |rows, since_boot| drop(sender.send((rows, since_boot)));
            let (format, foreign, tally) = self.parse_into(source, feed, looked, &mut send, watch);
            drop(send);
            // The writer ends when the sender is gone; it cannot panic.
            let failed = writer.join().unwrap_or_else(|_| Some(std::io::Error::other("writing failed").into()));
            (format, foreign, tally, failed)
        })
    }

    fn parse_into(
        &mut self,
        source: &Source,
        feed: Feed,
        looked: Option<&Looked>,
        send: &mut dyn FnMut(Rows, bool),
        watch: &mut dyn FnMut(Progress<'_>) -> bool,
    ) -> (Option<AnyFormat>, Option<Foreign>, Tally) {
        let rows_so_far = Cell::new(self.rows);
        let mut input = Input::new(Shown { feed, shared: &self.shared, watch, name: &source.name, rows: &rows_so_far });
        // What begins as it did when the host was looked for is what it was then.
        let known = looked.filter(|looked| looked.head == blake3::hash(input.head_bytes()));
        let (format, foreign) =
            known.map_or_else(|| self.plan.recognise(&input), |looked| (looked.format.clone(), looked.foreign));
        let mut hints = self.hints(source);
        hints.overrun_s = format
            .as_ref()
            .and_then(|format| overrun_of(source, format, &input.head(), &hints, (self.plan, &self.shared)));
        let guessed = guessed_host(self.plan, source, &self.default_host);
        let (strict, said) = (self.plan.strict, &mut self.said);
        let sink = |rows: &mut Rows, since_boot: bool| {
            rows_so_far.set(rows_so_far.get() + rows.len() as u64);
            if strict {
                repeat_notes(rows, said);
            }
            send(rows.take(), since_boot);
        };
        let mut out = Out::new(format.as_ref().map_or(IMPORT, AnyFormat::name), hints, sink);
        match (&format, &foreign) {
            (Some(format), _) => format.read(&mut input, &mut out),
            (None, Some(foreign)) => out.note(None, &format!("{}; it is kept as it is", says("it", foreign))),
            (None, None) => unknown::keep(&source.name, &mut self.texts_left, &mut input, &mut out),
        }
        if let Some(guessed) = guessed.filter(|_| format.is_some() && !out.names_host()) {
            out.assume(&guessed);
        }
        if input.long_lines() > 0 {
            out.note(None, &format!("{} lines are longer than 1 MiB and were cut", input.long_lines()));
        }
        if let Some(error) = input.error() {
            out.note(None, &format!("reading ended early: {error}"));
        }
        let tally = out.finish();
        drop(input);
        // A program may go on when its input has ended; whoever asked it to stop asked the import.
        if !watch(Progress { name: &source.name, bytes: self.bytes(), rows: rows_so_far.get(), sealing: false }) {
            self.shared.cancelled.store(true, Ordering::Relaxed);
        }
        self.rows = rows_so_far.get();
        (format, foreign, tally)
    }

    fn hints(&self, source: &Source) -> Hints {
        let plan = self.plan;
        Hints {
            file: source.name.clone(),
            host: plan.host.clone(),
            default_host: source.host.clone().unwrap_or_else(|| self.default_host.clone()),
            start: plan.start,
            interval_s: plan.interval_s,
            zone: plan.zone.clone(),
            modified: source.modified.or(Some(plan.now)),
            overrun_s: None,
            mapping: plan.mapping.clone(),
        }
    }

    /// A file name for the input within the run, like its own and used by no other.
    fn raw_name(&mut self, name: &str) -> String {
        let safe = |c: char| if c.is_ascii_alphanumeric() || "._-+@=".contains(c) { c } else { '_' };
        let plain: String = name.replace('/', "+").chars().map(safe).take(150).collect();
        let plain = if plain.starts_with('.') { format!("_{plain}") } else { plain };
        let mut unique = plain.clone();
        let mut turn = 1;
        while !self.raw_names.insert(unique.clone()) {
            turn += 1;
            unique = format!("{turn}-{plain}");
        }
        unique
    }

    fn check(&self, inputs: &[Imported]) -> Result<(), ImportError> {
        if let (true, Some(most)) = (self.shared.too_long.load(Ordering::Relaxed), self.shared.most) {
            return Err(ImportError::TooLong(most));
        }
        if self.shared.cancelled.load(Ordering::Relaxed) {
            let interrupted = std::io::Error::new(std::io::ErrorKind::Interrupted, "interrupted; nothing was imported");
            return Err(ImportError::Store(interrupted.into()));
        }
        if let Some(format) = &self.plan.format
            && let Some((name, foreign)) = inputs.iter().find_map(|i| Some((i.name.clone(), i.foreign?)))
        {
            return Err(ImportError::Forced { name, foreign, format: format.name() });
        }
        if inputs.iter().all(|i| i.format.is_none()) {
            let no_text: Option<Vec<_>> = inputs.iter().map(|i| Some(says(&i.name, i.foreign.as_ref()?))).collect();
            if let Some(mut lines) = no_text {
                lines.truncate(5);
                return Err(ImportError::NoText(lines.join("\n")));
            }
            let names: Vec<_> = inputs.iter().take(5).map(|i| i.name.as_str()).collect();
            return Err(ImportError::Unknown { names: names.join(", ") });
        }
        let count = inputs.iter().map(|i| i.tally.notes + i.tally.assumptions).sum();
        if self.plan.strict && count > 0 {
            return Err(ImportError::Strict { count, first: self.said.join("\n") });
        }
        Ok(())
    }

    /// The runs that already have every one of these inputs; none when that does not matter.
    fn already(&self) -> Result<Vec<RunId>, ImportError> {
        if self.plan.force {
            return Ok(Vec::new());
        }
        let digests: BTreeSet<&str> = self.entries.iter().map(|e| e.blake3.as_str()).collect();
        let known = known_inputs(&self.plan.store, &digests)?;
        let runs: Option<BTreeSet<&RunId>> = digests.iter().map(|digest| known.get(*digest)).collect();
        Ok(runs.unwrap_or_default().into_iter().cloned().collect())
    }

    fn end(&mut self, inputs: &[Imported]) -> End {
        let first = inputs.iter().filter_map(|i| i.tally.first).min();
        let last = inputs.iter().filter_map(|i| i.tally.last).max();
        let start = self.plan.start.or(first).unwrap_or(self.plan.now);
        End {
            start: Some(start),
            inputs: std::mem::take(&mut self.entries),
            ..End::at(last.unwrap_or(start).max(start))
        }
    }
}

/// Writes rows into the run until there are no more; gives what went wrong.
fn write(rows: impl IntoIterator<Item = (Rows, bool)>, open: &mut OpenRun, shared: &Shared) -> Option<StoreError> {
    let mut failed = None;
    for (mut rows, since_boot) in rows {
        let stored = if since_boot { open.append_apart(BOOT, &mut rows) } else { open.append(&mut rows) };
        if let Err(error) = stored {
            shared.cancelled.store(true, Ordering::Relaxed);
            failed.get_or_insert(error);
        }
    }
    failed
}

/// The first notes among `rows`, as `file:line: message`.
fn repeat_notes(rows: &Rows, said: &mut Vec<String>) {
    use fenxi_model::catalog::note;
    if let Some(table) = rows.of(&note::TABLE) {
        for row in 0..table.n_rows() {
            if said.len() >= 10 {
                return;
            }
            let line = table.f64(row, note::line).map_or(String::new(), |l| format!("{l}:"));
            let file = table.str(row, note::file).unwrap_or("");
            let message = table.str(row, note::message).unwrap_or("");
            said.push(format!("  {file}:{line} {message}"));
        }
    }
}
