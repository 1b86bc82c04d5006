//! An import from its inputs to the sealed run.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, atomic::Ordering, mpsc::sync_channel},
};

use fenxi_formats::{About, AnyFormat, Foreign, Input, Out, Tally};
use fenxi_model::{Rows, RunId, catalog::text};
use fenxi_store::{Begin, End, IMPORT, InputEntry, OpenRun, StoreError};

use crate::{
    ImportError, Plan, Source,
    beforehand::{Beforehand, Looked, UNKNOWN, guessed_host, learn, overrun_of},
    error::says,
    feed::{self, Feed, Kept, Shared, Shown},
    looking::Looking,
    pack::Pack,
    reading::{hints, read_into, source_of},
    same,
    short::{Job, NEIGHBOURS, Short, Shorts},
    unknown,
    writing::{keep_in, repeat_notes, write},
};

/// Batches of rows that may wait for the writer.
const ROWS_AHEAD: usize = 2;
/// Inputs from which on the short ones share a file.
const MANY: usize = 100;
/// Inputs that an error names.
const MOST_SAID: usize = 5;

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
    let looked = Progress { name: plan.sources.first().map_or("", |source| &source.name), ..Progress::default() };
    let reading = same::Reading { most: plan.most_bytes.unwrap_or(u64::MAX), go_on: &mut || watch(looked) };
    let contained = same::contained(&plan.sources, reading);
    let is_left_out = |place: usize| contained.contains_key(&place);
    let shared = Arc::new(Shared { most: plan.most_bytes, ..Shared::default() });
    let looking = Looking::new(plan, &is_left_out, &shared);
    let mut open = plan.store.begin(begin(plan, UNKNOWN))?;
    let mut work = Work::begin(plan, &shared);
    let mut inputs = Vec::new();
    let beforehand = std::thread::scope(|scope| {
        looking.begin(scope);
        let written = work.write_settled(&looking, &mut inputs, &mut open, watch);
        let beforehand = learn(plan, &looking);
        written.map(|()| beforehand)
    });
    let read = beforehand.and_then(|beforehand| {
        if plan.host.is_none() {
            open.set_host(&beforehand.default_host);
        }
        work.default_host.clone_from(&beforehand.default_host);
        work.read_rest(&beforehand, &contained, &mut inputs, &mut open, watch)?;
        work.end_pack()?;
        work.check(&inputs)
    });
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

/// An import at work.
struct Work<'p> {
    plan: &'p Plan,
    shared: Arc<Shared>,
    default_host: String,
    raw_names: BTreeSet<String>,
    /// Where short inputs are kept, when there are many inputs.
    pack: Option<Pack>,
    entries: Vec<InputEntry>,
    rows: u64,
    /// The first things that could not be read, for `strict`.
    said: Vec<String>,
    /// Bytes of unknown texts that may still become facts.
    texts_left: usize,
    /// The store's own formats that are recorded as facts.
    recorded: BTreeSet<&'static str>,
}

impl<'p> Work<'p> {
    fn begin(plan: &'p Plan, shared: &Arc<Shared>) -> Work<'p> {
        let mut work = Work {
            plan,
            shared: Arc::clone(shared),
            default_host: UNKNOWN.to_owned(),
            raw_names: BTreeSet::new(),
            pack: None,
            entries: Vec::new(),
            rows: 0,
            said: Vec::new(),
            texts_left: unknown::MOST_OF_RUN,
            recorded: BTreeSet::new(),
        };
        if plan.sources.len() >= MANY {
            work.pack = Some(Pack::new(work.raw_name("short-inputs") + ".zst"));
        }
        work
    }

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
        let mut pack = self.pack.as_mut().map(|pack| |content: &[u8]| keep_in(pack, content, None, open));
        let keep = pack.as_mut().map(|keep| keep as &mut dyn FnMut(&[u8]) -> Result<Kept, StoreError>);
        let (feed, keeping) = feed::start(reader, raw, keep, Arc::clone(&self.shared)).map_err(|e| match e {
            StoreError::Io { source: error } => cannot(source, error),
            e => e.into(),
        })?;
        let (format, foreign, tally, error) = self.parse(source, (feed, looked), open, watch);
        let kept = keeping.join();
        if let Some(error) = error {
            return Err(error.into());
        }
        self.imported(source, kept?, (format, foreign, tally), open)
    }

    /// A short input that a thread has read; its rows are written.
    fn take(
        &mut self,
        source: &Source,
        short: Short,
        open: &mut OpenRun,
        watch: &mut dyn FnMut(Progress<'_>) -> bool,
    ) -> Result<Imported, ImportError> {
        let Short { content, blake3, format, foreign, tally } = short;
        let kept = match &mut self.pack {
            Some(pack) => keep_in(pack, &content, Some(blake3), open)?,
            None => feed::keep_whole(&content, open.raw_file(&format!("{}.zst", self.raw_name(&source.name)))?)?,
        };
        let bytes = self.shared.read.fetch_add(kept.bytes, Ordering::Relaxed) + kept.bytes;
        self.rows += tally.rows() + tally.boot_rows;
        if !watch(Progress { name: &source.name, bytes, rows: self.rows, sealing: false }) {
            self.shared.cancelled.store(true, Ordering::Relaxed);
        }
        self.imported(source, kept, (format, foreign, tally), open)
    }

    /// Writes the first inputs, as long as nothing in later ones changes their rows.
    fn write_settled(
        &mut self,
        looking: &Looking<'_>,
        inputs: &mut Vec<Imported>,
        open: &mut OpenRun,
        watch: &mut dyn FnMut(Progress<'_>) -> bool,
    ) -> Result<(), ImportError> {
        for (turn, sources) in self.plan.sources.chunks(NEIGHBOURS).enumerate() {
            let now = Progress { name: &sources[0].name, bytes: self.bytes(), rows: self.rows, sealing: false };
            let Some(group) = looking.settled(turn, &mut || watch(now)) else { return Ok(()) };
            self.write(group.rows, open)?;
            for (source, short) in sources.iter().zip(group.inputs.into_iter().flatten()) {
                inputs.push(self.take(source, short, open, watch)?);
            }
        }
        Ok(())
    }

    /// Reads and writes the inputs that are left, when what each begins with is known.
    fn read_rest(
        &mut self,
        beforehand: &Beforehand,
        contained: &BTreeMap<usize, usize>,
        inputs: &mut Vec<Imported>,
        open: &mut OpenRun,
        watch: &mut dyn FnMut(Progress<'_>) -> bool,
    ) -> Result<(), ImportError> {
        let (plan, shared, from) = (self.plan, Arc::clone(&self.shared), inputs.len());
        let Beforehand { default_host, looked, ready } = beforehand;
        let is_left_out = |place: usize| contained.contains_key(&place);
        let job = Job { plan, from, looked, ready, is_left_out: &is_left_out, default_host, shared: &shared };
        std::thread::scope(|scope| {
            let mut shorts = Shorts::begin(scope, job);
            for (place, source) in plan.sources.iter().enumerate().skip(from) {
                if shared.cancelled.load(Ordering::Relaxed) {
                    break;
                }
                self.write(shorts.rows_at(place), open)?;
                let imported = match (contained.get(&place), shorts.take(place)) {
                    (Some(whole), _) => self.skip(source, &plan.sources[*whole], open)?,
                    (None, Some(short)) => self.take(source, short, open, watch)?,
                    (None, None) => self.read(source, looked[place].as_ref(), open, watch)?,
                };
                inputs.push(imported);
            }
            Ok(())
        })
    }

    /// Writes rows that threads have read.
    fn write(&mut self, rows: Vec<(Rows, bool)>, open: &mut OpenRun) -> Result<(), StoreError> {
        for (rows, _) in rows.iter().filter(|_| self.plan.strict) {
            repeat_notes(rows, &mut self.said);
        }
        write(rows, open, &self.shared).map_or(Ok(()), Err)
    }

    /// Ends the file of the short inputs, and says of each that it is there.
    fn end_pack(&mut self) -> Result<(), StoreError> {
        let Some(packed) = self.pack.take().map(Pack::finish).transpose()?.flatten() else { return Ok(()) };
        for (entry, part) in self.entries.iter_mut().filter_map(|entry| entry.part.map(|part| (entry, part))) {
            entry.raw.clone_from(&packed.file);
            entry.part = Some(packed.place(part));
        }
        Ok(())
    }

    /// Notes what became of an input.
    fn imported(
        &mut self,
        source: &Source,
        kept: Kept,
        (format, foreign, tally): (Option<AnyFormat>, Option<Foreign>, Tally),
        open: &mut OpenRun,
    ) -> Result<Imported, ImportError> {
        if let Some(format) = &format {
            self.record(format, open)?;
        }
        self.entries.push(InputEntry {
            name: source.name.clone(),
            raw: kept.raw,
            part: kept.part,
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
        let mut rows = Rows::new(&self.default_host);
        rows.set_source(IMPORT);
        for about in format.owns().filter(|about| self.recorded.insert(about.name)) {
            fact(about, &mut rows);
        }
        if rows.is_empty() { Ok(()) } else { open.append(&mut rows) }
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
        let mut hints = hints(self.plan, source, &self.default_host);
        hints.overrun_s = format
            .as_ref()
            .and_then(|format| overrun_of(source, (format, known), &input.head(), &hints, (self.plan, &self.shared)));
        let guessed = guessed_host(self.plan, source, &self.default_host);
        let (strict, said) = (self.plan.strict, &mut self.said);
        let sink = |rows: &mut Rows, since_boot: bool| {
            rows_so_far.set(rows_so_far.get() + rows.len() as u64);
            if strict {
                repeat_notes(rows, said);
            }
            send(rows.take(), since_boot);
        };
        let mut out = Out::new(source_of(format.as_ref()), hints, sink);
        let texts_left = &mut self.texts_left;
        read_into(&mut input, &mut out, (format.as_ref(), foreign.as_ref()), guessed, |input, out| {
            unknown::keep(&source.name, texts_left, input, out);
        });
        let tally = out.finish();
        drop(input);
        // A program may go on when its input has ended; whoever asked it to stop asked the import.
        if !watch(Progress { name: &source.name, bytes: self.bytes(), rows: rows_so_far.get(), sealing: false }) {
            self.shared.cancelled.store(true, Ordering::Relaxed);
        }
        self.rows = rows_so_far.get();
        (format, foreign, tally)
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
                lines.truncate(MOST_SAID);
                return Err(ImportError::NoText(lines.join("\n")));
            }
            let names: Vec<_> = inputs.iter().take(MOST_SAID).map(|i| i.name.as_str()).collect();
            return Err(ImportError::Unknown { names: names.join(", ") });
        }
        // A header without figures, quoted or cut, is no measurement: a run of it would have nothing.
        if inputs.iter().all(|input| input.unread().is_some()) {
            let empty = inputs.iter().filter_map(|input| Some((&input.name, input.format?))).take(MOST_SAID);
            let lines = empty.map(|(name, format)| format!("{name}: it looks like {format}, and has no values of it"));
            return Err(ImportError::Empty(lines.collect::<Vec<_>>().join("\n")));
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
        let known = same::known_inputs(&self.plan.store, &digests)?;
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

/// Which version of a store's own format read an input.
pub(crate) fn fact(about: &About, rows: &mut Rows) {
    let version = format!("{}, BLAKE3 {}", about.file, about.digest);
    let mut row = rows.row(&text::TABLE, None, None);
    row.str(text::topic, "format").str(text::name, about.name).text(text::value, version.as_str());
}
