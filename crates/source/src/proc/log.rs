//! `log`: what the kernel logs while it is recorded (/dev/kmsg), and what is written to a log file that is named.
//!
//! Each line is an event of kind `log`. A line of the kernel has its own time; one of a file has the end of the interval in
//! which it was written, whatever it says itself. Of very many lines the first are kept, and the others counted.

mod file;
mod kernel;
mod line;

use std::sync::Arc;

use fenxi_model::{
    Micros, Rows,
    catalog::event::{self, TABLE},
};

use self::{file::Tail, kernel::Kernel, line::Line};
use crate::{Changes, Collector, Opt, Options, Root, Source, SourceError, Spec, Take, Takes, Tick};

/// The `log` source: the kernel's log only.
pub static SOURCE: Log = Log { file: None };

static SPEC: Spec = Spec {
    name: "log",
    summary: "what the kernel logs meanwhile, and what a log file gets, as events",
    tables: &[&TABLE],
    take: Take::EveryTick,
    default: true,
    live: false,
};

const OPTIONS: &[Opt] = &[Opt {
    name: "file",
    short: None,
    takes: Takes::Text { what: "FILE", check: is_absolute },
    about: "Also record what this log file gets: /var/log/syslog",
    changes: Changes::Rows,
    not_with: &[],
}];

/// Lines of one log that are kept of one interval; the others are counted.
const MOST_OF_INTERVAL: u32 = 100;
/// Lines of one log that are kept of a whole recording.
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
}

impl Source for Log {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn options(&self) -> &'static [Opt] {
        OPTIONS
    }

    fn with(&self, options: &Options) -> Result<Arc<dyn Source>, SourceError> {
        let file = options.word("file");
        Ok(Arc::new(Log { file: (!file.is_empty()).then(|| file.to_owned()) }))
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let file = match &self.file {
            Some(path) => Some((Tail::at_end(root, path)?, Limit::new("file", path))),
            None => None,
        };
        let kernel = match Kernel::open(root) {
            Ok(kernel) => Some((kernel, Limit::new("kernel", "kernel"))),
            // What was asked for is there: that is enough.
            Err(_) if file.is_some() => None,
            Err(error) => return Err(error),
        };
        Ok(Box::new(Logs { kernel, file }))
    }
}

struct Logs {
    kernel: Option<(Kernel, Limit)>,
    file: Option<(Tail, Limit)>,
}

impl Collector for Logs {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        // What came between the start and the first tick belongs to the first interval.
        let Some(dt) = tick.dt.filter(|_| !tick.since_boot) else { return Ok(()) };
        if let Some((kernel, limit)) = &mut self.kernel {
            kernel.read(&mut |record| {
                let t = record.moment(tick.t, dt);
                limit.tell(rows, t, &Line { subject: "kernel", priority: record.priority, message: record.message });
            })?;
            limit.end(rows, tick.t, kernel.take_lost());
        }
        if let Some((tail, limit)) = &mut self.file {
            tail.read(&mut |text| limit.tell(rows, tick.t, &Line::of(text)))?;
            limit.end(rows, tick.t, 0);
        }
        Ok(())
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

    fn tell(&mut self, rows: &mut Rows, t: Micros, line: &Line<'_>) {
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
