//! Imports into a store that others change at the same time.

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

/// The outcome of importing two seconds of a host with this idle time, unlike any other test.
fn import_one(store: &Store, number: &AtomicU64) -> Result<RunId, ImportError> {
    let number = number.fetch_add(1, Ordering::Relaxed);
    let text = MPSTAT.replace("db1", &format!("db{number}"));
    let content = crate::Content::Held(text.into_bytes().into());
    let source = Source { name: format!("mpstat-{number}.log"), content, host: None, modified: None };
    let plan = Plan::new(store.clone(), format!("r{number}"), vec![source], Micros(EIGHT + 3_600_000_000), number);
    import(&plan, &mut |_| true).map(|outcome| outcome.run.expect("its content is no other's"))
}

#[test]
fn a_run_that_is_removed_meanwhile_fails_no_import() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_or_create(folder.path().join("store")).unwrap();
    let number = AtomicU64::new(0);
    let there: Vec<RunId> = (0..100).map(|_| import_one(&store, &number).unwrap()).collect();
    std::thread::scope(|scope| {
        let importers: Vec<_> =
            (0..3).map(|_| scope.spawn(|| (0..12).map(|_| import_one(&store, &number)).collect::<Vec<_>>())).collect();
        scope.spawn(|| there.iter().for_each(|run| store.remove(run).unwrap()));
        for outcome in importers.into_iter().flat_map(|thread| thread.join().unwrap()) {
            let run = outcome.unwrap();
            assert_eq!(store.run(&run).unwrap().manifest.id, run);
        }
    });
    assert_eq!(store.ids().unwrap().len(), 36);
}
