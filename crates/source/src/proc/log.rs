//! `log`: what the kernel logs while it is recorded (/dev/kmsg), and on request what is written to a log file or to the
//! systemd journal.
//!
//! Each line is an event of kind `log`. A line of the kernel or the journal has its own time; one of a file has the end of the
//! interval in which it was written, whatever time is in its text. Of very many lines the first are kept, and the others counted.

mod file;
mod journal;
mod kernel;
mod line;

use std::sync::Arc;

use fenxi_model::{
    Micros, Rows,
    catalog::event::{self, TABLE},
};

use self::{file::Tail, journal::Journal, kernel::Kernel, line::Line};
use crate::{Changes, Collector, Opt, Options, Root, Source, SourceError, Spec, Take, Takes, Tick};

/// The `log` source: the kernel's log only.
pub static SOURCE: Log = Log { file: None, journal: Where::Nowhere };

static SPEC: Spec = Spec {
    name: "log",
    summary: "what the kernel logs meanwhile, and what a log file or the journal gets, as events",
    tables: &[&TABLE],
    take: Take::EveryTick,
    default: true,
    live: false,
};

const OPTIONS: &[Opt] = &[
    Opt {
        name: "file",
        short: None,
        takes: Takes::Text { what: "FILE", check: is_absolute },
        about: "Also record what this log file gets: /var/log/syslog",
        changes: Changes::Rows,
        not_with: &[],
    },
    Opt {
        name: "journal",
        short: None,
        takes: Takes::Nothing,
        about: "Also record what the systemd journal gets, by journalctl",
        changes: Changes::Rows,
        not_with: &["journal-in"],
    },
    Opt {
        name: "journal-in",
        short: None,
        takes: Takes::Text { what: "FOLDER", check: is_absolute },
        about: "Also record what the journal files in this folder get: /host/var/log/journal",
        changes: Changes::Rows,
        not_with: &["journal"],
    },
];

/// Lines of one log that are kept of one interval; the others are counted.
const MOST_OF_INTERVAL: u32 = 100;
/// Lines of one log that are kept of a run.
const MOST_OF_ALL: u32 = 10_000;
/// Bytes of a message that are kept.
const MOST_BYTES: usize = 1024;

fn is_absolute(path: &str) -> Result<(), String> {
    if path.starts_with('/') {
        Ok(())
    } else {
        Err("expected a path from the root, such as /var/log/syslog".to_owned())
    }
}

/// Collects `event` rows of kind `log`.
#[derive(Clone, Debug)]
pub struct Log {
    /// A log file besides the kernel's log.
    file: Option<String>,
    /// A journal besides them.
    journal: Where,
}

/// Where a journal is.
#[derive(Clone, Debug)]
enum Where {
    /// None is read.
    Nowhere,
    /// That of the system.
    System,
    /// Its files are in a folder.
    Folder(String),
}

impl Source for Log {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn options(&self) -> &'static [Opt] {
        OPTIONS
    }

    fn with(&self, options: &Options) -> Result<Arc<dyn Source>, SourceError> {
        let (file, folder) = (options.word("file"), options.word("journal-in"));
        let journal = match (options.is_given("journal"), folder) {
            (true, _) => Where::System,
            (false, "") => Where::Nowhere,
            (false, folder) => Where::Folder(folder.to_owned()),
        };
        Ok(Arc::new(Log { file: (!file.is_empty()).then(|| file.to_owned()), journal }))
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let file = match &self.file {
            Some(path) => Some((Tail::at_end(root, path)?, Limit::new("file", path))),
            None => None,
        };
        let is_asked = file.is_some() || !matches!(self.journal, Where::Nowhere);
        let kernel = match Kernel::open(root) {
            Ok(kernel) => Some((kernel, Limit::new("kernel", "kernel"))),
            // A source that was asked for is there: that is enough.
            Err(_) if is_asked => None,
            Err(error) => return Err(error),
        };
        // The kernel's lines are in the journal, too.
        let follow = |folder| Journal::follow(root, folder, kernel.is_none());
        let journal = match &self.journal {
            Where::Nowhere => None,
            Where::System => Some(follow(None)?),
            Where::Folder(folder) => Some(follow(Some(folder))?),
        };
        let journal = journal.map(|journal| (journal, Limit::new("journal", "journal")));
        Ok(Box::new(Logs { kernel, file, journal }))
    }
}

struct Logs {
    kernel: Option<(Kernel, Limit)>,
    file: Option<(Tail, Limit)>,
    journal: Option<(Journal, Limit)>,
}

impl Collector for Logs {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        // Lines between the start and the first tick belong to the first interval.
        let Some(dt) = tick.dt.filter(|_| !tick.since_boot) else { return Ok(()) };
        if let Some((kernel, limit)) = &mut self.kernel {
            kernel.read(&mut |record| {
                let t = record.moment(tick.t, dt);
                limit.report(rows, t, &Line { subject: "kernel", priority: record.priority, message: record.message });
            })?;
            limit.end(rows, tick.t, kernel.take_lost());
        }
        if let Some((tail, limit)) = &mut self.file {
            tail.read(&mut |text| limit.report(rows, tick.t, &Line::parse(text)))?;
            limit.end(rows, tick.t, 0);
        }
        if let Some((journal, limit)) = &mut self.journal {
            let came = journal.drain()?;
            for entry in &came.entries {
                let text = entry.line();
                let line = Line { subject: &entry.program, priority: entry.priority, message: &text };
                limit.report(rows, entry.moment(tick.t, dt), &line);
            }
            limit.left_out += came.left_out;
            limit.end(rows, tick.t, 0);
        }
        Ok(())
    }

    fn begin_next(&mut self, _t: Micros, _rows: &mut Rows) {
        let kernel = self.kernel.as_mut().map(|(_, limit)| limit);
        let file = self.file.as_mut().map(|(_, limit)| limit);
        let journal = self.journal.as_mut().map(|(_, limit)| limit);
        // Each run has room for its own.
        [kernel, file, journal].into_iter().flatten().for_each(|limit| limit.of_all = 0);
    }

    fn cpu_of_threads(&self) -> f64 {
        self.journal.as_ref().map_or(0.0, |(journal, _)| journal.cpu_s())
    }
}

/// Keeps the first lines of an interval, and counts the others.
struct Limit {
    what: &'static str,
    name: String,
    of_interval: u32,
    of_all: u32,
    left_out: u64,
}

impl Limit {
    fn new(what: &'static str, name: &str) -> Limit {
        Limit { what, name: name.to_owned(), of_interval: 0, of_all: 0, left_out: 0 }
    }

    fn report(&mut self, rows: &mut Rows, t: Micros, line: &Line<'_>) {
        if self.of_interval >= MOST_OF_INTERVAL || self.of_all >= MOST_OF_ALL {
            self.left_out += 1;
            return;
        }
        self.of_interval += 1;
        self.of_all += 1;
        let end = line.message.floor_char_boundary(MOST_BYTES);
        let subject = if line.subject.is_empty() { self.name.as_str() } else { line.subject };
        let mut row = rows.row(&TABLE, t, None);
        row.str(event::kind, "log").str(event::subject, subject).str(event::priority, line.priority);
        row.text(event::message, line.message.get(..end).unwrap_or_default());
    }

    /// Ends an interval in which `lost` lines were overwritten before they could be read.
    fn end(&mut self, rows: &mut Rows, t: Micros, lost: u64) {
        let (left_out, what) = (std::mem::take(&mut self.left_out), self.what);
        for (n, why) in
            [(left_out, "are not kept: there are too many"), (lost, "were overwritten before they were read")]
        {
            if n > 0 {
                rows.event(t, "log", &self.name, &format!("{n} more lines of the {what} log {why}"));
            }
        }
        self.of_interval = 0;
    }
}

#[cfg(test)]
mod tests;
