//! Triggers: conditions that are looked at on the rows of each tick, and what is done when one comes true.
//!
//! ```text
//!  rows of a tick ──▶ conditions ──▶ fired ──▶ an event, a window, hooks, sources for a while
//!        │                             │
//!        └──▶ ring (with `before`) ────┴──▶ the run
//! ```
//!
//! Without `before` everything is recorded as usual, and a trigger only starts what it is to start. With it only what is
//! around a trigger becomes part of the run: the ring holds the last seconds until then.

mod condition;
mod hook;
mod lex;
mod metric;
mod ring;
mod start;
mod state;
mod unusual;
mod who;

use std::{ffi::OsString, path::Path};

use fenxi_model::{Micros, Rows, RunId, catalog::event};
use fenxi_source::Root;
use fenxi_store::{SourceCost, Store, Window};
use regex::Regex;
use serde_json::json;

pub use self::{condition::Condition, hook::Hook, state::Fired};
use self::{
    hook::Hooks,
    ring::Ring,
    start::Started,
    state::{Moment, Watched},
    who::Sessions,
};
use crate::{
    clock,
    plan::Plan,
    sampler::{Sampler, no_cost},
};

/// The kind of the events that triggers make.
pub const KIND: &str = "trigger";
/// The name under which their cost is listed.
const COST: &str = "triggers";

/// Triggers of a recording: conditions and actions.
#[derive(Clone, Debug)]
pub struct Triggers {
    /// Each by itself.
    pub conditions: Vec<Condition>,
    /// Sources to start, named as in a list of sources.
    pub then: Vec<String>,
    /// Processes that the started sources observe.
    pub who: Who,
    /// Record only around triggers, from so many seconds before; None: record everything.
    pub before_s: Option<f64>,
    /// How long sources are kept on after a trigger, and rows with `before_s`.
    pub after_s: f64,
    /// How often to act at most.
    pub at_most: u32,
    /// Seconds for which a condition that has fired does not fire again for the same series or level.
    pub calm_s: f64,
    /// The hooks to run.
    pub hooks: Vec<Hook>,
    /// Lines of logs that are marks.
    pub marks: Option<Regex>,
}

/// Processes that started sources observe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Whatever they observe otherwise.
    All,
    /// The session that came to the level, with sources that can observe single processes.
    Session,
}

impl Triggers {
    /// Looks at `conditions`; nothing is done yet but that they become events.
    pub fn new(conditions: Vec<Condition>) -> Triggers {
        Triggers {
            conditions,
            then: Vec::new(),
            who: Who::All,
            before_s: None,
            after_s: 60.0,
            at_most: 10,
            calm_s: 60.0,
            hooks: Vec::new(),
            marks: None,
        }
    }
}

/// Outcome of a trigger.
#[derive(Clone, Debug, PartialEq)]
pub struct Triggered {
    /// As it was written.
    pub condition: String,
    /// How often it fired, in all runs of the recording.
    pub fired: u32,
    /// Message when it never fired.
    pub never: Option<String>,
}

/// Triggers at work.
pub(crate) struct Armed {
    plan: Triggers,
    watched: Vec<Watched>,
    ring: Option<Ring>,
    /// Until when rows are kept.
    open_until: f64,
    sessions: Option<Sessions>,
    hooks: Hooks,
    started: Started,
    windows: Vec<Window>,
    run: Option<RunId>,
    n_fired: u32,
    was_too_often: bool,
    last: f64,
    cost: SourceCost,
}

impl Armed {
    /// Arms the triggers of a plan for the run `run`; None when it has no triggers.
    pub(crate) fn from_plan(plan: &Plan, run: Option<&RunId>, now: f64) -> Option<Armed> {
        let store = plan.store.as_ref().map(Store::path);
        Some(Armed::new(plan.triggers.clone()?, &plan.root, run, store, now))
    }

    fn new(plan: Triggers, root: &Root, run: Option<&RunId>, store: Option<&Path>, now: f64) -> Armed {
        let mut env = Vec::new();
        let path = |store: &Path| OsString::from(store).into_string().ok();
        env.extend(store.and_then(path).map(|store| ("FENXI_STORE", store)));
        let watched: Vec<Watched> = plan.conditions.iter().cloned().map(Watched::new).collect();
        let counts_sessions = plan.who == Who::Session || plan.conditions.iter().any(|c| c.sessions().is_some());
        Armed {
            ring: plan.before_s.map(Ring::new),
            open_until: f64::NEG_INFINITY,
            sessions: counts_sessions.then(|| Sessions::new(root)),
            hooks: Hooks::new(plan.hooks.clone(), env, run),
            started: Started::new(root),
            windows: Vec::new(),
            run: run.cloned(),
            n_fired: 0,
            was_too_often: false,
            last: now,
            cost: no_cost(COST),
            watched,
            plan,
        }
    }

    /// Looks at the rows of the tick at `now`, adds events to them, and starts and ends sources.
    pub(crate) fn look(&mut self, now: f64, t: Micros, sampler: &mut Sampler, rows: &mut Rows) {
        let (began, cpu) = (clock::monotonic(), clock::thread_cpu());
        rows.set_source("triggers");
        self.hooks.ended().iter().for_each(|note| rows.note("", None, note));
        self.started.look(now, t, sampler, rows);
        rows.set_source("triggers");
        if let Some(marks) = &self.plan.marks {
            mark_lines(marks, rows);
        }
        if let Some(sessions) = &mut self.sessions {
            sessions.look();
        }
        let moment = Moment { now, t, dt: now - self.last, calm_s: self.plan.calm_s };
        self.last = now;
        for place in 0..self.watched.len() {
            let watched = &mut self.watched[place];
            let counted = watched.condition.sessions().zip(self.sessions.as_ref());
            let sessions = counted.map(|(metric, sessions)| sessions.chosen(&metric.matches).len() as f64);
            for fired in watched.look(rows, sessions, moment) {
                self.act(place, &fired, moment, rows);
            }
        }
        self.cost.samples += 1;
        self.cost.cpu_s += clock::thread_cpu() - cpu;
        let wall = clock::monotonic() - began;
        self.cost.wall_s += wall;
        self.cost.max_s = self.cost.max_s.max(wall);
    }

    fn act(&mut self, place: usize, fired: &Fired, moment: Moment, rows: &mut Rows) {
        let condition = &self.watched[place].condition;
        let text = condition.text.clone();
        if self.n_fired >= self.plan.at_most {
            if !std::mem::replace(&mut self.was_too_often, true) {
                let reported =
                    format!("{}; nothing is done: it was done {} times already", fired.message, self.n_fired);
                rows.event(moment.t, KIND, &text, &reported);
            }
            return;
        }
        self.n_fired += 1;
        let session = self.sessions.as_ref().and_then(|sessions| {
            let none = Vec::new();
            let chosen = sessions.chosen(condition.sessions().map_or(&none, |metric| &metric.matches));
            let nth = fired.level.map_or(chosen.len(), |level| level as usize).checked_sub(1)?;
            chosen.get(nth).or(chosen.last()).map(|session| (session.pid, session.to_string()))
        });
        let pid = session.as_ref().map(|(pid, _)| *pid).filter(|_| self.plan.who == Who::Session);
        let mut reported = fired.message.clone();
        if let Some((_, session)) = &session {
            reported += &format!("; {session}");
        }
        let until = moment.now + self.plan.after_s;
        reported += &self.started.start(&self.plan.then, pid, self.plan.who, until, rows);
        rows.event(moment.t, KIND, &text, &reported);
        self.open_until = self.open_until.max(until);
        let seconds = |s: f64| (s * 1e6) as i64;
        self.windows.push(Window {
            name: format!("trigger-{}", self.n_fired),
            start: Micros(moment.t.0 - seconds(self.plan.before_s.unwrap_or(moment.dt))),
            end: Micros(moment.t.0 + seconds(self.plan.after_s)),
        });
        let listed = json!({
            "run": self.run, "host": rows.host(), "t": moment.t.iso(), "n": self.n_fired, "condition": text,
            "series": fired.series, "value": fired.value, "level": fired.level, "held_s": fired.held_s,
            "message": fired.message, "pid": session.map(|(pid, _)| pid),
        });
        self.hooks.run_all(&listed).iter().for_each(|note| rows.note("", None, note));
    }

    /// Before the rows of the tick at `now` are written: takes them into the ring if no trigger is open yet. Gives rows
    /// that are to be written before them.
    pub(crate) fn keep(&mut self, now: f64, rows: &mut Rows) -> Vec<Rows> {
        let Some(ring) = &mut self.ring else { return Vec::new() };
        if now <= self.open_until { ring.drain() } else { ring.push(now, rows.take()) }
    }

    /// The end of the recording: conditions that never fired are reported. Gives rows that are to be written before `rows`.
    pub(crate) fn end(&mut self, t: Micros, rows: &mut Rows) -> Vec<Rows> {
        self.never(t, rows);
        self.hooks.wait(HOOKS_S).iter().for_each(|note| rows.note("", None, note));
        self.started.end(rows);
        self.ring.as_mut().map_or(Vec::new(), Ring::rest)
    }

    /// The open run gives way to `next`: what is counted of a run begins anew.
    pub(crate) fn roll(&mut self, t: Micros, rows: &mut Rows, next: Option<&RunId>) {
        self.never(t, rows);
        self.watched.iter_mut().for_each(Watched::begin_next);
        (self.n_fired, self.was_too_often, self.run) = (0, false, next.cloned());
        self.hooks.set_run(next);
    }

    fn never(&self, t: Micros, rows: &mut Rows) {
        rows.set_source("triggers");
        for watched in self.watched.iter().filter(|watched| watched.n_fired == 0) {
            rows.event(t, KIND, &watched.condition.text, &watched.never());
        }
    }

    /// The windows of the run from `start` to `end`: a named part for each trigger, within it, and what triggers
    /// cost since this was last asked.
    pub(crate) fn windows_and_cost(&mut self, start: Micros, end: Micros) -> (Vec<Window>, Option<SourceCost>) {
        let windows = self.windows(start, end);
        self.windows.retain(|window| window.end > end);
        (windows, Some(std::mem::replace(&mut self.cost, no_cost(COST))))
    }

    fn windows(&self, start: Micros, end: Micros) -> Vec<Window> {
        let within = |window: &Window| Window {
            name: window.name.clone(),
            start: window.start.max(start),
            end: window.end.min(end),
        };
        self.windows.iter().map(within).filter(|window| window.start < window.end).collect()
    }

    /// The outcome of each condition.
    pub(crate) fn triggered(&self) -> Vec<Triggered> {
        let of = |watched: &Watched| Triggered {
            condition: watched.condition.text.clone(),
            fired: watched.n_fired_ever,
            never: (watched.n_fired_ever == 0).then(|| watched.never()),
        };
        self.watched.iter().map(of).collect()
    }
}

/// How long hooks that still run are waited for at the end.
const HOOKS_S: f64 = 5.0;

/// Adds a mark for each line of a log that `wanted` is found in.
fn mark_lines(wanted: &Regex, rows: &mut Rows) {
    let Some(events) = rows.of(&event::TABLE) else { return };
    let mut marks = Vec::new();
    for row in (0..events.n_rows()).filter(|row| events.str(*row, event::kind) == Some("log")) {
        let message = events.str(row, event::message).unwrap_or_default();
        if wanted.is_match(message) {
            let subject = events.str(row, event::subject).unwrap_or_default();
            marks.push((events.micros(row, event::t), subject.to_owned(), message.to_owned()));
        }
    }
    for (t, subject, message) in marks {
        if let Some(t) = t {
            rows.event(t, "mark", &subject, &message);
        }
    }
}
