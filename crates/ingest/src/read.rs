//! Stage 3 of an import, in its own thread: takes what other threads have read, in the order of the inputs, and reads the rest.

use std::{
    cell::Cell,
    collections::BTreeMap,
    io::{self, Read},
    sync::Arc,
};

use fenxi_formats::{Input, Out, Tally};
use fenxi_model::Rows;
use fenxi_store::StoreError;

use crate::{
    error::ImportError,
    group::{NEIGHBOURS, SmallFile},
    overrun::overrun_of,
    parse::Recognised,
    plan::Plan,
    probe::{Probe, Probing},
    progress::{SharedProgress, Watch},
    read_plan::ReadPlan,
    reader_thread::Feed,
    small_files::{Job, SmallFiles},
    source::Source,
    unknown,
    write::Writer,
};

/// The inputs of an import, being read into its run.
pub(crate) struct Reader<'r, 'p> {
    plan: &'p Plan,
    shared: Arc<SharedProgress>,
    writer: &'r mut Writer<'p>,
    watch: &'r mut Watch<'r>,
    /// Rows so far.
    rows: u64,
    /// Bytes of unknown texts that may still become facts.
    texts_left: usize,
}

impl<'r, 'p> Reader<'r, 'p> {
    /// Nothing read yet.
    pub(crate) fn new(
        plan: &'p Plan,
        shared: &Arc<SharedProgress>,
        writer: &'r mut Writer<'p>,
        watch: &'r mut Watch<'r>,
    ) -> Reader<'r, 'p> {
        let texts_left = unknown::MOST_OF_RUN;
        Reader { plan, shared: Arc::clone(shared), writer, watch, rows: 0, texts_left }
    }

    /// Reads the first inputs, as long as nothing in later ones changes their rows.
    pub(crate) fn read_settled(&mut self, probing: &Probing<'_>) -> Result<(), ImportError> {
        for (turn, sources) in self.plan.sources.chunks(NEIGHBOURS).enumerate() {
            let group = probing.settled(turn, self.watch, (&sources[0].name, self.rows));
            let Some(group) = group else { return Ok(()) };
            self.writer.write(group.rows)?;
            for (source, small) in sources.iter().zip(group.inputs.into_iter().flatten()) {
                self.keep_small(source, small)?;
            }
        }
        Ok(())
    }

    /// Rows so far.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Reads the inputs that are left, when all were probed; `duplicates` are skipped.
    pub(crate) fn read_rest(
        &mut self,
        read_plan: &ReadPlan,
        duplicates: &BTreeMap<usize, usize>,
    ) -> Result<(), ImportError> {
        let (plan, shared, from) = (self.plan, Arc::clone(&self.shared), self.writer.inputs().len());
        self.writer.set_default_host(&read_plan.default_host);
        let job = Job { plan, from, read_plan, duplicates, shared: &shared };
        std::thread::scope(|scope| {
            let mut small_files = SmallFiles::begin(scope, job);
            for (place, source) in plan.sources.iter().enumerate().skip(from) {
                if shared.is_cancelled() {
                    break;
                }
                self.writer.write(small_files.rows_at(place))?;
                match (duplicates.get(&place), small_files.file_at(place)) {
                    (Some(whole), _) => self.writer.skip(source, &plan.sources[*whole])?,
                    (None, Some(small)) => self.keep_small(source, small)?,
                    (None, None) => self.read(source, read_plan.probes[place].as_ref(), &read_plan.default_host)?,
                }
            }
            Ok(())
        })
    }

    /// Keeps a short input that was read, and whose rows are written.
    fn keep_small(&mut self, source: &Source, small: SmallFile) -> Result<(), ImportError> {
        let kept = self.writer.keep_small(source, &small)?;
        self.shared.add_read(kept.bytes);
        self.rows += small.tally.rows() + small.tally.boot_rows;
        self.shared.report(self.watch, &source.name, self.rows);
        Ok(self.writer.add(source, kept, small.recognised, small.tally)?)
    }

    /// Reads an input of any length.
    fn read(&mut self, source: &Source, probe: Option<&Probe>, default_host: &str) -> Result<(), ImportError> {
        let cannot = |error| ImportError::Open { name: source.name.clone(), source: error };
        let reader = source.content.open().map_err(cannot)?;
        let (feed, keeping) = self.writer.start(&source.name, reader).map_err(|e| match e {
            StoreError::Io { source: error } => cannot(error),
            e => e.into(),
        })?;
        let is_whole = feed.is_whole();
        let mut parser = Parser {
            plan: self.plan,
            shared: &self.shared,
            watch: self.watch,
            rows: Cell::new(self.rows),
            texts_left: &mut self.texts_left,
        };
        let parse = |send: &mut dyn FnMut(Rows, bool)| parser.parse(source, feed, (probe, default_host), send);
        let ((recognised, tally), failed) = match is_whole {
            true => {
                let mut gathered = Vec::new();
                let parsed = parse(&mut |rows, since_boot| gathered.push((rows, since_boot)));
                (parsed, self.writer.write(gathered))
            }
            false => self.writer.write_beside(parse),
        };
        self.rows = parser.rows.get();
        let kept = keeping.join();
        failed?;
        Ok(self.writer.add(source, kept?, recognised, tally)?)
    }
}

/// Parses one input, while another thread writes its rows.
struct Parser<'a> {
    plan: &'a Plan,
    shared: &'a SharedProgress,
    watch: &'a mut Watch<'a>,
    /// Rows so far.
    rows: Cell<u64>,
    texts_left: &'a mut usize,
}

impl Parser<'_> {
    /// Gives the rows of an input to `send`.
    fn parse(
        &mut self,
        source: &Source,
        feed: Feed,
        (probe, default_host): (Option<&Probe>, &str),
        send: &mut dyn FnMut(Rows, bool),
    ) -> (Recognised, Tally) {
        let Parser { plan, shared, rows, .. } = self;
        let mut input = Input::new(WatchedInput { feed, shared, watch: self.watch, name: &source.name, rows });
        // An input that begins as it did when it was probed is recognised as it was then.
        let probe = probe.filter(|probe| probe.head == blake3::hash(input.head_bytes()));
        let recognised = probe.map_or_else(|| plan.recognise(&input), |probe| probe.recognised.clone());
        let mut hints = plan.hints(source, default_host);
        hints.overrun_s = overrun_of(source, (&recognised, probe), &input.head(), &hints, shared);
        let sink = |batch: &mut Rows, since_boot: bool| {
            rows.set(rows.get() + batch.len() as u64);
            send(batch.take(), since_boot);
        };
        let mut out = Out::new(recognised.source(), hints, sink);
        let texts_left = &mut *self.texts_left;
        recognised.read_into(&mut input, &mut out, plan.assumed_host(source, default_host), |input, out| {
            unknown::keep(&source.name, texts_left, input, out);
        });
        let tally = out.finish();
        drop(input);
        // A program may go on when its input has ended; a request to stop it is a request to stop the import.
        shared.report(self.watch, &source.name, rows.get());
        (recognised, tally)
    }
}

/// An input that shows how far the import is as it is read.
struct WatchedInput<'a, 'w> {
    feed: Feed,
    shared: &'a SharedProgress,
    watch: &'a mut Watch<'w>,
    name: &'a str,
    rows: &'a Cell<u64>,
}

impl Read for WatchedInput<'_, '_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.shared.report(self.watch, self.name, self.rows.get());
        self.feed.read(into)
    }
}
