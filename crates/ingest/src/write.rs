//! Stage 4 of an import: writes rows and inputs into its run; in the import's thread, rows of long inputs in one beside it.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read},
    sync::{Arc, mpsc::sync_channel},
};

use fenxi_formats::{About, Tally};
use fenxi_model::{
    Rows, RunId,
    catalog::{note, text},
};
use fenxi_store::{BOOT, Begin, End, FileEntry, IMPORT, InputEntry, OpenRun, StoreError};

use crate::{
    group::SmallFile,
    keep::{KeptInput, keep_whole},
    outcome::Imported,
    pack::Pack,
    parse::Recognised,
    plan::{Plan, UNKNOWN_HOST},
    progress::SharedProgress,
    reader_thread::{self, Feed, Keeping},
    source::Source,
};

/// Batches of rows that may wait for the writer.
const ROWS_AHEAD: usize = 2;
/// Inputs from which on the short ones share a file.
const MANY: usize = 100;
/// Notes that an error repeats.
const MOST_NOTES: usize = 10;

/// The run of an import, being written.
pub(crate) struct Writer<'p> {
    plan: &'p Plan,
    shared: Arc<SharedProgress>,
    run: OpenRun,
    default_host: String,
    raw_names: BTreeSet<String>,
    /// Where short inputs are kept, when there are many inputs.
    pack: Option<Pack>,
    entries: Vec<InputEntry>,
    inputs: Vec<Imported>,
    /// The first things that could not be read, for `strict`.
    first_notes: Vec<String>,
    /// The store's own formats that are recorded as facts.
    recorded: BTreeSet<&'static str>,
}

impl<'p> Writer<'p> {
    /// Begins the run.
    pub(crate) fn begin(plan: &'p Plan, shared: &Arc<SharedProgress>) -> Result<Writer<'p>, StoreError> {
        let mut run = plan.store.begin(begin(plan))?;
        if let Some(go_on) = &plan.go_on {
            run.go_on_while(go_on.clone());
        }
        let mut writer = Writer {
            plan,
            shared: Arc::clone(shared),
            run,
            default_host: UNKNOWN_HOST.to_owned(),
            raw_names: BTreeSet::new(),
            pack: None,
            entries: Vec::new(),
            inputs: Vec::new(),
            first_notes: Vec::new(),
            recorded: BTreeSet::new(),
        };
        if plan.sources.len() >= MANY {
            writer.pack = Some(Pack::new(writer.raw_name("short-inputs") + ".zst"));
        }
        Ok(writer)
    }

    /// The host of inputs that name none, now that all were probed.
    pub(crate) fn set_default_host(&mut self, host: &str) {
        if self.plan.host.is_none() {
            self.run.set_host(host);
        }
        host.clone_into(&mut self.default_host);
    }

    /// Results of the inputs so far, in their order.
    pub(crate) fn inputs(&self) -> &[Imported] {
        &self.inputs
    }

    /// The first notes of the inputs, a line each.
    pub(crate) fn first_notes(&self) -> String {
        self.first_notes.join("\n")
    }

    /// BLAKE3 of the inputs that were kept.
    pub(crate) fn digests(&self) -> BTreeSet<&str> {
        self.entries.iter().map(|entry| entry.blake3.as_str()).collect()
    }

    /// Writes rows into the run until there are no more. A failure cancels the import.
    pub(crate) fn write(&mut self, rows: impl IntoIterator<Item = (Rows, bool)>) -> Result<(), StoreError> {
        let mut written = Ok(());
        for (mut rows, since_boot) in rows {
            if self.plan.strict {
                repeat_notes(&rows, &mut self.first_notes);
            }
            let stored = match since_boot {
                true => self.run.append_apart(BOOT, &mut rows),
                false => self.run.append(&mut rows),
            };
            if let Err(error) = stored {
                self.shared.cancel();
                written = written.and(Err(error));
            }
        }
        written
    }

    /// Writes in a thread beside what `parse` hands on; gives what that gave, and how writing went.
    pub(crate) fn write_beside<T>(
        &mut self,
        parse: impl FnOnce(&mut dyn FnMut(Rows, bool)) -> T,
    ) -> (T, Result<(), StoreError>) {
        let (sender, receiver) = sync_channel::<(Rows, bool)>(ROWS_AHEAD);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| self.write(receiver));
            // A writer that is gone has reported why.
            let parsed = parse(&mut |rows, since_boot| drop(sender.send((rows, since_boot))));
            drop(sender);
            // The writer ends when the sender is gone; it cannot panic.
            let written = writer.join().unwrap_or_else(|_| Err(io::Error::other("writing failed").into()));
            (parsed, written)
        })
    }

    /// Starts to read and keep the input of this name.
    pub(crate) fn start(&mut self, name: &str, reader: Box<dyn Read + Send>) -> Result<(Feed, Keeping), StoreError> {
        let raw_name = self.raw_name(name);
        let run = &self.run;
        let raw = |ending: &str| run.raw_file(&format!("{raw_name}{ending}"));
        let mut pack = self.pack.as_mut().map(|pack| |content: &[u8]| keep_in(pack, content, None, run));
        let keep = pack.as_mut().map(|keep| keep as &mut dyn FnMut(&[u8]) -> Result<KeptInput, StoreError>);
        reader_thread::start(reader, raw, keep, Arc::clone(&self.shared))
    }

    /// Keeps a short input.
    pub(crate) fn keep_small(&mut self, source: &Source, small: &SmallFile) -> Result<KeptInput, StoreError> {
        match &mut self.pack {
            Some(pack) => keep_in(pack, &small.content, Some(small.blake3.clone()), &self.run),
            None => {
                let name = format!("{}.zst", self.raw_name(&source.name));
                keep_whole(&small.content, self.run.raw_file(&name)?)
            }
        }
    }

    /// Notes that an input is not read, as `whole` begins with all of its content.
    pub(crate) fn skip(&mut self, source: &Source, whole: &Source) -> Result<(), StoreError> {
        let why = format!("its content is at the beginning of {}", whole.name);
        let mut rows = Rows::new(&self.default_host);
        rows.set_source(IMPORT);
        rows.note(&source.name, None, &format!("skipped: {why}"));
        self.run.append(&mut rows)?;
        let (name, tally) = (source.name.clone(), Tally::default());
        self.inputs.push(Imported { name, format: None, tally, skipped: Some(why), foreign: None, bytes: 0 });
        Ok(())
    }

    /// Notes what became of an input that was read and kept.
    pub(crate) fn add(
        &mut self,
        source: &Source,
        kept: KeptInput,
        recognised: Recognised,
        tally: Tally,
    ) -> Result<(), StoreError> {
        self.record_formats(&recognised)?;
        let Recognised { format, foreign } = recognised;
        let format = format.map(|format| format.name());
        self.entries.push(InputEntry {
            name: source.name.clone(),
            raw: kept.raw,
            part: kept.part,
            bytes: kept.bytes,
            blake3: kept.blake3,
            format: format.map(str::to_owned),
            tables: tally.tables.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect(),
            notes: tally.notes,
            modified: source.modified,
            hints: self.plan.given(),
        });
        let (name, bytes) = (source.name.clone(), kept.bytes);
        self.inputs.push(Imported { name, format, tally, skipped: None, foreign, bytes });
        Ok(())
    }

    /// Keeps, once, which version of a store's own format read inputs of this run.
    fn record_formats(&mut self, recognised: &Recognised) -> Result<(), StoreError> {
        let mut rows = Rows::new(&self.default_host);
        rows.set_source(IMPORT);
        let owns = recognised.format.iter().flat_map(|format| format.owns());
        for about in owns.filter(|about| self.recorded.insert(about.name)) {
            format_fact(about, &mut rows);
        }
        if rows.is_empty() { Ok(()) } else { self.run.append(&mut rows) }
    }

    /// Ends the file of the short inputs, and notes of each where it is in it.
    pub(crate) fn end_pack(&mut self) -> Result<(), StoreError> {
        let Some(packed) = self.pack.take().map(Pack::finish).transpose()?.flatten() else { return Ok(()) };
        for (entry, part) in self.entries.iter_mut().filter_map(|entry| entry.part.map(|part| (entry, part))) {
            entry.raw.clone_from(&packed.file);
            entry.part = Some(packed.place(part));
        }
        Ok(())
    }

    /// Removes what was written; gives what became of the inputs.
    pub(crate) fn discard(self) -> Result<Vec<Imported>, StoreError> {
        self.run.discard()?;
        Ok(self.inputs)
    }

    /// Seals the run; gives it, and what became of the inputs.
    pub(crate) fn seal(self) -> Result<(RunId, Vec<Imported>), StoreError> {
        let first = self.inputs.iter().filter_map(|input| input.tally.first).min();
        let last = self.inputs.iter().filter_map(|input| input.tally.last).max();
        let start = self.plan.start.or(first).unwrap_or(self.plan.now);
        let end = last.unwrap_or(start).max(start);
        let run = self.run.seal(End { start: Some(start), inputs: self.entries, ..End::at(end) })?;
        Ok((run, self.inputs))
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
}

/// The run as it begins; the hosts of the rows are added when it is sealed.
fn begin(plan: &Plan) -> Begin {
    Begin {
        name: Some(plan.name.clone()),
        kind: IMPORT.to_owned(),
        host: plan.host.clone().unwrap_or_else(|| UNKNOWN_HOST.to_owned()),
        command: plan.command.clone(),
        params: BTreeMap::new(),
        tags: plan.tags.clone(),
        start: plan.now,
        interval_s: plan.interval_s,
        random: plan.random,
        sources: Vec::new(),
    }
}

/// Keeps a short input among others; its BLAKE3 may be known already.
fn keep_in(pack: &mut Pack, content: &[u8], blake3: Option<String>, run: &OpenRun) -> Result<KeptInput, StoreError> {
    let part = pack.add(content, |name| run.raw_file(name))?;
    let blake3 = blake3.unwrap_or_else(|| blake3::hash(content).to_hex().to_string());
    // The file is known when all inputs are in it.
    Ok(KeptInput { bytes: content.len() as u64, blake3, raw: FileEntry::default(), part: Some(part) })
}

/// Which version of a store's own format read an input.
pub(crate) fn format_fact(about: &About, rows: &mut Rows) {
    let version = format!("{}, BLAKE3 {}", about.file, about.digest);
    let mut row = rows.row(&text::TABLE, None, None);
    row.str(text::topic, "format").str(text::name, about.name).text(text::value, version.as_str());
}

/// The first notes among `rows`, as `file:line: message`.
fn repeat_notes(rows: &Rows, first_notes: &mut Vec<String>) {
    let Some(table) = rows.of(&note::TABLE) else { return };
    for row in 0..table.n_rows() {
        if first_notes.len() >= MOST_NOTES {
            return;
        }
        let line = table.f64(row, note::line).map_or(String::new(), |l| format!("{l}:"));
        let file = table.str(row, note::file).unwrap_or("");
        let message = table.str(row, note::message).unwrap_or("");
        first_notes.push(format!("  {file}:{line} {message}"));
    }
}
