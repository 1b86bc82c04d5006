//! Runs an observer around some work and gives what it has seen.

use std::{
    fmt::Debug,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use fenxi_ebpf::EbpfError;
use fenxi_model::{Micros, Rows, catalog::metric};
use fenxi_source::{Collector, Root, Source, SourceError, Tick};

/// An observer at work, and its events so far.
pub struct Observed {
    /// Tests whose observers follow the children of this process must not have any at the same time.
    _alone: MutexGuard<'static, ()>,
    collector: Box<dyn Collector>,
    began: Instant,
    /// Everything it has seen.
    pub rows: Rows,
}

impl Observed {
    /// Begins it; None, reported, when this kernel or this user may not.
    pub fn begin(source: &dyn Source) -> Option<Observed> {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut collector = match source.start(&Root::live()) {
            Ok(collector) => collector,
            Err(SourceError::Refused(why)) => {
                eprintln!("SKIPPED {}: {why}", source.spec().name);
                return None;
            }
            Err(other) => panic!("{other}"),
        };
        let mut rows = Rows::new("here");
        rows.set_source(source.spec().name);
        collector.sample(Tick::new(Micros(0), None), &mut rows).unwrap();
        Some(Observed { _alone: alone, collector, began: Instant::now(), rows })
    }

    /// Reads what was seen since the last reading.
    pub fn read(&mut self) -> &Rows {
        let dt = self.began.elapsed().as_secs_f64();
        self.began = Instant::now();
        self.collector.sample(Tick::new(Micros(1), Some(dt)), &mut self.rows).unwrap();
        &self.rows
    }
}

/// The result of `see` once it is right: other work of the machine may spoil a look, but not four.
///
/// # Panics
/// When four looks were wrong; None when a look cannot be had here.
pub fn once_right<T: Debug>(
    what: &str,
    mut see: impl FnMut() -> Option<T>,
    is_right: impl Fn(&T) -> bool,
) -> Option<T> {
    let mut wrong = Vec::new();
    while wrong.len() < 4 {
        let seen = see()?;
        if is_right(&seen) {
            return Some(seen);
        }
        wrong.push(seen);
    }
    panic!("{what}: {wrong:#?}");
}

/// How many events of a kind (all when empty) the observer reports that it could not count: for want of room, or as the kernel
/// skipped its programs.
pub fn lost(rows: &Rows, kind: &str) -> u64 {
    let Some(rows) = rows.of(&metric::TABLE) else { return 0 };
    let of_it = |row: &usize| {
        rows.str(*row, metric::name) == Some("observer_lost")
            && rows.str(*row, metric::labels).is_some_and(|labels| labels.contains(&format!("kind={kind}")))
    };
    (0..rows.n_rows()).filter(of_it).filter_map(|row| rows.f64(row, metric::value)).sum::<f64>() as u64
}

/// A property of all refusals: they state what is missing.
#[test]
fn refusals_say_what_is_missing() {
    let error = EbpfError::Refused { what: "`tp_btf/sched_switch`".to_owned(), why: "no BTF".to_owned() };
    assert_eq!(error.to_string(), "the kernel refuses `tp_btf/sched_switch`: no BTF");
}
