//! Sources that a trigger starts, and their end.
//!
//! A source is started in its own thread: loading programs into the kernel takes longer than a tick may.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, TryRecvError, channel},
    },
    thread,
};

use fenxi_model::{Micros, Rows};
use fenxi_source::{Collector, Root, Source, SourceError};

use super::Who;
use crate::{sampler::Sampler, sources};

/// Sources that were started.
#[derive(Debug)]
pub(super) struct Started {
    root: Root,
    all: Vec<One>,
}

struct One {
    /// As it was named, with the process that it was narrowed to.
    name: (String, Option<u32>),
    source: Arc<dyn Source>,
    until: f64,
    state: State,
}

impl std::fmt::Debug for One {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} until {}", self.name, self.until)
    }
}

enum State {
    Starting(Receiver<Result<Box<dyn Collector>, SourceError>>),
    /// It is sampled, by this number.
    Running(u64),
    Over,
}

impl Started {
    pub(super) fn new(root: &Root) -> Started {
        Started { root: root.clone(), all: Vec::new() }
    }

    /// Starts the sources of a list until `until`, for the process `pid` only if one is given; one that runs already runs
    /// longer. Gives what to say of it.
    pub(super) fn start(&mut self, list: &[String], pid: Option<u32>, who: Who, until: f64, rows: &mut Rows) -> String {
        if list.is_empty() {
            return String::new();
        }
        if who == Who::Session && pid.is_none() {
            rows.note("", None, "the session is not known: what was to observe it observes all");
        }
        let chosen = match sources::started(list, pid) {
            Ok(chosen) => chosen,
            Err(why) => {
                rows.note("", None, &format!("not started: {why}"));
                return String::new();
            }
        };
        let mut names = Vec::new();
        for (source, is_narrow) in chosen {
            let name = (source.spec().name.to_owned(), pid.filter(|_| is_narrow));
            names.push(name.1.map_or(name.0.clone(), |pid| format!("{} of process {pid}", name.0)));
            if let Some(running) = self.all.iter_mut().find(|one| one.name == name) {
                running.until = running.until.max(until);
                continue;
            }
            let (send, receive) = channel();
            let (begun, root) = (source.clone(), self.root.clone());
            thread::spawn(move || {
                // The receiver is gone when the recording has ended meanwhile; it is dropped, and with it what it attached.
                let _ = send.send(begun.start(&root));
            });
            self.all.push(One { name, source, until, state: State::Starting(receive) });
        }
        format!("; started {}", names.join(", "))
    }

    /// Takes what has started, and ends what has run for long enough.
    pub(super) fn look(&mut self, now: f64, t: Micros, sampler: &mut Sampler, rows: &mut Rows) {
        for one in &mut self.all {
            match &one.state {
                State::Starting(receive) => match receive.try_recv() {
                    Ok(Ok(collector)) => {
                        let number =
                            sampler.add(Arc::clone(&one.source), collector, one.name.1.is_none(), (now, t), rows);
                        one.state = State::Running(number);
                    }
                    Ok(Err(error)) => {
                        rows.set_source(one.source.spec().name);
                        rows.note("", None, &format!("not recorded: {error}"));
                        one.state = State::Over;
                    }
                    Err(TryRecvError::Empty) => {}
                    Err(TryRecvError::Disconnected) => one.state = State::Over,
                },
                State::Running(number) if now >= one.until => {
                    sampler.remove(*number, now, t, rows);
                    one.state = State::Over;
                }
                State::Running(_) | State::Over => {}
            }
        }
        self.all.retain(|one| !matches!(one.state, State::Over));
    }

    /// Notes the sources that had no time to start.
    pub(super) fn end(&mut self, rows: &mut Rows) {
        for one in self.all.iter().filter(|one| matches!(one.state, State::Starting(_))) {
            rows.set_source(one.source.spec().name);
            rows.note("", None, "not recorded: the recording ended before it had started");
        }
    }
}
