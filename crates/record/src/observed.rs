//! A finished recording before it is sealed, to which data that is known only at the end is added.

use fenxi_model::{Micros, Rows, RunId};
use fenxi_store::{End, InputEntry, OpenRun, SourceCost, Store, StoreError};

use crate::{clock, error::RecordError, housekeeping::Housekeeping, retention, stage::Outcome};

/// A recording that has ended and is not sealed; dropped, it is left for the next recovery.
#[derive(Debug)]
pub struct Observed {
    pub(crate) open: Option<OpenRun>,
    pub(crate) rows: Rows,
    pub(crate) began: Micros,
    pub(crate) end: End,
    /// Seconds that were sampled.
    pub(crate) elapsed_s: f64,
    pub(crate) outcome: Outcome,
    pub(crate) cpu: Cpu,
    /// The series that it is of, where older runs make room for it.
    pub(crate) of: Option<(Store, String)>,
    /// The thread that may still be sealing the runs before it; waited for when this is dropped.
    pub(crate) housekeeping: Option<Housekeeping>,
}

/// CPU seconds of the recorder.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cpu {
    /// All that the process has used since it had used so many.
    OfProcessSince(f64),
    /// So many, in a process that does other work.
    Known(f64),
}

impl Cpu {
    fn now(self) -> f64 {
        match self {
            Cpu::OfProcessSince(before) => clock::process_cpu() - before,
            Cpu::Known(seconds) => seconds,
        }
    }
}

impl Observed {
    /// Outcome; there is no run in it yet.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// When it began.
    pub fn began(&self) -> Micros {
        self.began
    }

    /// When it ended.
    pub fn ended(&self) -> Micros {
        self.end.end
    }

    /// Rows that will be kept with the run.
    pub fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }

    /// The run, for what else is to be kept in it; None when nothing is kept.
    pub fn open(&mut self) -> Option<&mut OpenRun> {
        self.open.as_mut()
    }

    /// Names what was kept in the run beside its tables.
    pub fn add_input(&mut self, input: InputEntry) {
        self.end.inputs.push(input);
    }

    /// Keeps nothing of it.
    ///
    /// # Errors
    /// When its files cannot be removed.
    pub fn discard(self) -> Result<(), StoreError> {
        self.open.map_or(Ok(()), OpenRun::discard)
    }

    /// Makes it a run.
    ///
    /// # Errors
    /// When it cannot be written; the recording is kept, and sealed by the next command that opens the store.
    pub fn seal(mut self) -> Result<Outcome, RecordError> {
        self.end.costs.push(SourceCost {
            source: SourceCost::WHOLE.to_owned(),
            samples: self.end.ticks,
            cpu_s: self.cpu.now(),
            wall_s: self.elapsed_s,
            ..SourceCost::default()
        });
        // Runs before it may still be sealed beside. On a full disk no other process may recover this one, or give it up to make
        // room, once it has ended and is not sealed.
        drop(self.housekeeping);
        if let Some(open) = self.open {
            self.outcome.run = Some(match &self.of {
                Some((store, series)) => seal_in_series(open, &mut self.rows, self.end, store, series)?,
                None => seal(open, &mut self.rows, self.end)?,
            });
        }
        self.outcome.cpu_s += self.cpu.now();
        Ok(self.outcome)
    }
}

fn seal(mut open: OpenRun, rows: &mut Rows, end: End) -> Result<RunId, StoreError> {
    open.append(rows)?;
    open.seal(end)
}

/// Seals a run of a series; where the disk is full, older ones go for it. Its last rows are lost where none may go.
fn seal_in_series(
    mut open: OpenRun,
    rows: &mut Rows,
    end: End,
    store: &Store,
    series: &str,
) -> Result<RunId, StoreError> {
    while let Err(error) = open.append(rows) {
        if !error.is_full() {
            return Err(error);
        }
        if !retention::make_room(store, series, None)? {
            open.lose_unwritten();
            break;
        }
    }
    let id = open.id().clone();
    match open.seal(end) {
        Err(error) if error.is_full() => {
            retention::recover(store, series, Some(&id))?;
            if store.run_dir(&id).exists() { Ok(id) } else { Err(error) }
        }
        sealed => sealed,
    }
}
