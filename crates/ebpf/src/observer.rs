//! An observer as data: its source, its options, its view. The command `fenxi trace NAME`, its help, sources
//! of recordings and the list of observers in the documentation derive from it.

use fenxi_live::{View, trace::When};
use fenxi_model::Table;
use fenxi_source::{Changes, Opt, Options, Source, Spec, Take, Takes};

/// An observer: one in [`crate::OBSERVERS`].
pub struct Observer {
    /// Source with all options at their defaults. Its name is the observer's.
    pub source: &'static dyn Source,
    /// A name that it had before.
    pub formerly: Option<&'static str>,
    /// One line of help.
    pub about: &'static str,
    /// Question that it answers, in Markdown: a line of docs/tools/trace.md.
    pub question: &'static str,
    /// The text behind the options in its help.
    pub help: &'static str,
    /// Role of a command that runs meanwhile.
    pub command: Meanwhile,
    /// Seconds between two frames where nothing else is asked for; None: sums at the end.
    pub interval_s: Option<f64>,
    /// Ways of attaching that not every kernel allows, and what is lost without each.
    pub needs: &'static [(Way, &'static str)],
    /// How its rows are shown.
    pub view: fn(&Options, &Setting) -> Box<dyn View>,
}

/// A way of attaching besides typed tracepoints, which all observers need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A tracepoint of a system call, by its number in tracefs.
    Tracepoint,
    /// A clock that samples.
    Clock,
    /// A probe in a program.
    Probe,
}

/// Role of a command that runs during an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meanwhile {
    /// The command and its children are observed, and nothing else.
    ObservesIt,
    /// The whole machine is observed until it ends.
    UntilItEnds,
    /// It takes none.
    None,
}

/// Where and when a view shows.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// How often sums are shown.
    pub when: When,
    /// True if the command line named an interval.
    pub has_interval: bool,
    /// True if a command runs meanwhile.
    pub has_command: bool,
    /// Columns of the terminal.
    pub width: Option<usize>,
    /// Seconds between two ticks of the clock of the machine that is shown, where that is known.
    pub tick_s: Option<f64>,
}

impl Observer {
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.source.spec().name
    }

    /// Options on the command line. The source takes those that change its rows.
    pub fn options(&self) -> &'static [Opt] {
        self.source.options()
    }
}

/// The observer of this name, or of the name that it had before.
pub fn observer(name: &str) -> Option<&'static Observer> {
    crate::OBSERVERS.iter().copied().find(|observer| observer.name() == name || observer.formerly == Some(name))
}

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Observer").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// The facts about an observer's source: it is sampled at every tick, when it is asked for.
pub(crate) const fn spec(name: &'static str, summary: &'static str, tables: &'static [&'static Table]) -> Spec {
    Spec { name, summary, tables, take: Take::EveryTick, default: false, live: false }
}

/// Makes a type the source of an observer, of its module's `SPEC` and `OPTIONS`: what options make of it, and its method `observe`,
/// which is called for the live system only.
macro_rules! source {
    ($observer:ident, |$options:ident| $with:expr) => {
        impl ::fenxi_source::Source for $observer {
            fn spec(&self) -> &'static ::fenxi_source::Spec {
                &SPEC
            }

            fn options(&self) -> &'static [::fenxi_source::Opt] {
                OPTIONS
            }

            fn with(
                &self,
                $options: &::fenxi_source::Options,
            ) -> Result<::std::sync::Arc<dyn ::fenxi_source::Source>, ::fenxi_source::SourceError> {
                Ok(::std::sync::Arc::new($with))
            }

            fn start(
                &self,
                root: &::fenxi_source::Root,
            ) -> Result<Box<dyn ::fenxi_source::Collector>, ::fenxi_source::SourceError> {
                $crate::error::live_only(root)?;
                self.observe(root)
            }
        }
    };
}
pub(crate) use source;

/// An option that most have: which processes to observe.
pub(crate) const PID: Opt = Opt {
    name: "pid",
    short: Some('p'),
    takes: Takes::Processes,
    about: "Observe these processes and their future children [default: all processes]",
    changes: Changes::Rows,
    not_with: &["run", "command"],
};

/// An option that changes rows, or with [`Opt::of_view`] how they are shown.
pub(crate) const fn option(name: &'static str, takes: Takes, about: &'static str) -> Opt {
    Opt { name, short: None, takes, about, changes: Changes::Rows, not_with: &[] }
}

/// How many lines are shown.
pub(crate) const fn top(default: u64, about: &'static str) -> Opt {
    option("top", Takes::Number { what: "N", default, min: 0, max: u64::MAX }, about).of_view()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use fenxi_source::Options;

    use crate::OBSERVERS;

    #[test]
    fn options_exclude_others_that_there_are() {
        // Those of all live tools, which `fenxi trace` adds.
        let of_all = ["run", "command", "json", "csv", "root", "count"];
        for observer in OBSERVERS {
            let names: BTreeSet<_> = observer.options().iter().map(|option| option.name).collect();
            assert_eq!(names.len(), observer.options().len(), "{observer:?}");
            for other in observer.options().iter().flat_map(|option| option.not_with) {
                assert!(names.contains(other) || of_all.contains(other), "{observer:?}: {other}");
            }
        }
    }

    #[test]
    fn a_source_takes_the_options_that_change_its_rows() {
        for observer in OBSERVERS {
            let with = observer.source.with(&Options::new(observer.options()));
            assert_eq!(with.map(|source| source.spec().name).ok(), Some(observer.name()));
        }
    }

    #[test]
    fn the_list_in_the_documentation_is_that_of_the_observers() {
        let page = include_str!("../../../docs/tools/trace.md");
        for observer in OBSERVERS {
            let name = observer.name();
            let line = format!("| [{name}](trace-{name}.md) | {} |\n", observer.question);
            assert!(page.contains(&line), "docs/tools/trace.md has no line {line}");
        }
    }
}
