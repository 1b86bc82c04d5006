//! How runs are named on the command line.

use fenxi_model::{Micros, RunId};
use fenxi_store::{Store, StoreError};

use crate::common::{START, begin, end, run, store};

fn at(store: &Store, name: &str, seconds: i64, random: u64) -> RunId {
    let mut begin = begin(name, random);
    begin.start = Micros(START.0 + (seconds * 1_000_000));
    begin.tags.insert("n".to_owned(), name.to_owned());
    store.begin(begin).unwrap().seal(end(0)).unwrap()
}

#[test]
fn the_latest_are_counted_back_and_names_tags_and_beginnings_found() {
    let (_dir, store) = store();
    let a = at(&store, "oltp-rw", 0, 1);
    let b = at(&store, "oltp-ro", 60, 2);
    let c = at(&store, "oltp-rw", 120, 3);
    assert_eq!(store.select_one("@1").unwrap(), c);
    assert_eq!(store.select_one("@").unwrap(), c);
    assert_eq!(store.select_one("@3").unwrap(), a);
    assert_eq!(store.select_one(b.as_str()).unwrap(), b);
    assert_eq!(store.select_one(&b.as_str()[..13]).unwrap(), b);
    assert_eq!(store.select_one("oltp-ro").unwrap(), b);
    assert_eq!(store.select("oltp-rw").unwrap(), [c.clone(), a.clone()]);
    assert_eq!(store.select("n=oltp-rw").unwrap(), [c.clone(), a]);
    assert_eq!(store.select("threads=8").unwrap().len(), 3);
    assert_eq!(store.summaries().unwrap()[0].id, c);
}

#[test]
fn of_two_runs_of_one_second_the_later_is_the_latest() {
    let (_dir, store) = store();
    for (micros, random) in [(500, 9), (900, 1), (100, 20)] {
        let mut begin = begin("x", random);
        begin.start = Micros(START.0 + micros);
        store.begin(begin).unwrap().seal(end(0)).unwrap();
    }
    let starts: Vec<i64> = ["@1", "@2", "@3"]
        .map(|s| store.run(&store.select_one(s).unwrap()).unwrap().manifest.start.0 - START.0)
        .to_vec();
    assert_eq!(starts, [900, 500, 100]);
}

#[test]
fn an_unknown_selector_suggests_and_an_ambiguous_one_lists() {
    let (_dir, store) = store();
    let (a, b) = (run(&store, "oltp-rw", 1, 1), run(&store, "oltp-rw", 2, 1));
    let error = store.select("oltp-wr").unwrap_err().to_string();
    assert!(error.contains("no run matches `oltp-wr`; did you mean oltp-rw"), "{error}");
    let error = store.select("kernel=6.1").unwrap_err().to_string();
    assert!(error.contains("kernel=6.12"), "{error}");
    assert!(matches!(store.select("@3"), Err(StoreError::Unknown { .. })));
    assert!(matches!(store.select("@0"), Err(StoreError::Selector(_))));
    for ambiguous in ["oltp-rw", "20261121"] {
        let error = store.select_one(ambiguous).unwrap_err();
        let StoreError::Ambiguous { candidates, .. } = &error else { panic!("{error}") };
        assert!(candidates.contains(&a) && candidates.contains(&b));
        assert!(error.to_string().contains(a.as_str()), "{error}");
    }
    assert!(matches!(store.select("20261121"), Err(StoreError::Ambiguous { .. })));
    let error = store.select("nothing-like-it-at-all").unwrap_err().to_string();
    assert!(error.contains("`fenxi runs` lists them, and `@1` is the latest"), "{error}");
}
