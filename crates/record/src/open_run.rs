//! Where the rows of a recording go: the run that is open, which gives way to the next while sampling goes on.

use fenxi_model::{Micros, Rows, RunId, command_without_secrets};
use fenxi_store::{Begin, End, OpenRun, SourceCost, StoreError, Window};

use crate::{
    clock,
    observed::{Cpu, Observed},
    plan::Plan,
    sampler::{Sampler, no_cost},
    stage::Outcome,
};

/// A moment on both clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// The wall clock.
    pub(crate) wall: Micros,
    /// Seconds on the clock that never steps.
    pub(crate) steady: f64,
}

/// The run that rows go to, and what is counted of it. Nothing is kept when the plan names no store.
#[derive(Debug)]
pub(crate) struct CurrentRun {
    open: Option<OpenRun>,
    began: Moment,
    /// CPU seconds that were used before it.
    cpu_before: f64,
    /// Cost of writing rows.
    cost: SourceCost,
    ticks: u64,
    missed: u64,
}

impl CurrentRun {
    /// Begins a run for what the sources give from `at` on.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn begin(plan: &Plan, sampler: &Sampler, at: Moment, cpu_before: f64) -> Result<CurrentRun, StoreError> {
        let open = plan.store.as_ref().map(|store| store.begin(begin(plan, sampler, at.wall))).transpose()?;
        Ok(CurrentRun { open, began: at, cpu_before, cost: no_cost("store"), ticks: 0, missed: 0 })
    }

    /// The id of the run; None when nothing is kept.
    pub(crate) fn id(&self) -> Option<&RunId> {
        self.open.as_ref().map(OpenRun::id)
    }

    /// When the run began.
    pub(crate) fn began(&self) -> Moment {
        self.began
    }

    /// A tick was taken that belongs to this run.
    pub(crate) fn count_tick(&mut self) {
        self.ticks += 1;
    }

    /// So many ticks of this run could not be taken.
    pub(crate) fn count_missed(&mut self, ticks: u64) {
        self.missed += ticks;
    }

    /// Takes all rows out of `rows` and keeps them; what that costs is measured.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(crate) fn append(&mut self, rows: &mut Rows) -> Result<(), StoreError> {
        let (began, cpu) = (clock::monotonic(), clock::thread_cpu());
        self.cost.rows += rows.len() as u64;
        match &mut self.open {
            Some(open) => open.append(rows)?,
            None => rows.clear(),
        }
        let wall = clock::monotonic() - began;
        self.cost.samples += 1;
        self.cost.cpu_s += clock::thread_cpu() - cpu;
        self.cost.wall_s += wall;
        self.cost.max_s = self.cost.max_s.max(wall);
        Ok(())
    }

    /// Whether the disk has room for sealing the run.
    pub(crate) fn has_room(&self) -> bool {
        self.open.as_ref().is_none_or(OpenRun::has_room)
    }

    /// Gives up rows that could not be written.
    pub(crate) fn lose_rows(&mut self) {
        self.open.iter_mut().for_each(OpenRun::lose_unwritten);
    }

    /// Takes all rows out of `rows` and keeps them as separate tables.
    ///
    /// # Errors
    /// When they cannot be kept.
    pub(crate) fn append_apart(&mut self, prefix: &str, rows: &mut Rows) -> Result<(), StoreError> {
        match &mut self.open {
            Some(open) => open.append_apart(prefix, rows)?,
            None => rows.clear(),
        }
        Ok(())
    }

    /// Keeps nothing of it.
    ///
    /// # Errors
    /// When its files cannot be removed.
    pub(crate) fn discard(self) -> Result<(), StoreError> {
        self.open.map_or(Ok(()), OpenRun::discard)
    }

    /// CPU seconds that had been used when it began.
    pub(crate) fn cpu_before(&self) -> f64 {
        self.cpu_before
    }

    /// The run as it is at its end, not yet sealed; `rows` are its last ones, `elapsed_s` is how long it was sampled.
    pub(crate) fn end(self, sampler: &mut Sampler, rows: Rows, elapsed_s: f64, how: Ending) -> Observed {
        let Ending { at, exit_status, signal, outcome, beside_work, windows, cost } = how;
        let of_threads = sampler.cpu_of_threads();
        let mut costs = sampler.take_costs();
        costs.push(self.cost);
        costs.extend(cost);
        let cpu = if beside_work {
            Cpu::Known(clock::thread_cpu() - self.cpu_before + of_threads)
        } else {
            Cpu::OfProcessSince(self.cpu_before)
        };
        let end = End {
            exit_status,
            signal,
            costs,
            windows,
            ticks: self.ticks,
            missed_ticks: self.missed,
            ..End::at(self.began.wall.max(at))
        };
        Observed {
            open: self.open,
            rows,
            began: self.began.wall,
            end,
            elapsed_s,
            outcome,
            cpu,
            of: None,
            housekeeping: None,
        }
    }
}

/// How a run ends.
#[derive(Debug)]
pub(crate) struct Ending {
    /// When.
    pub(crate) at: Micros,
    /// Exit status of the command, if it ended with the run.
    pub(crate) exit_status: Option<i32>,
    /// The signal that ended the command.
    pub(crate) signal: Option<i32>,
    /// The labels of the recording.
    pub(crate) outcome: Outcome,
    /// Whether the process does other work.
    pub(crate) beside_work: bool,
    /// Its named parts.
    pub(crate) windows: Vec<Window>,
    /// Cost of triggers.
    pub(crate) cost: Option<SourceCost>,
}

fn begin(plan: &Plan, sampler: &Sampler, start: Micros) -> Begin {
    let words: Vec<_> = plan.command.iter().flatten().map(|word| word.to_string_lossy()).collect();
    Begin {
        name: Some(plan.name.clone()),
        kind: "record".to_owned(),
        host: plan.host.clone(),
        command: command_without_secrets(&words),
        tags: plan.tags.clone(),
        start,
        interval_s: Some(plan.interval_s),
        random: plan.random,
        sources: sampler.names(),
        params: plan.params.clone(),
    }
}
