//! Imports of a folder into a store beside it.

use super::*;
use crate::collect;

/// Imports everything in `folder` into a store beside it.
fn import_all(folder: &std::path::Path, store: &std::path::Path) -> (Store, Outcome, Vec<Option<Micros>>) {
    let sources = collect(folder).unwrap();
    let written = sources.iter().map(|source| source.modified).collect();
    let store = Store::open_or_create(store).unwrap();
    let plan = Plan {
        store: store.clone(),
        name: "all".to_owned(),
        tags: BTreeMap::new(),
        command: Vec::new(),
        sources,
        format: None,
        host: None,
        start: None,
        interval_s: None,
        zone: TimeZone::UTC,
        mapping: None,
        strict: false,
        force: false,
        most_bytes: None,
        now: Micros(1_795_249_143_000_000),
        random: 1,
    };
    let outcome = import(&plan, &mut |_| true).unwrap();
    (store, outcome, written)
}

#[test]
fn files_of_a_directory_share_their_host_and_end_when_they_were_written() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("all");
    fs_err::create_dir(&folder).unwrap();
    let mpstat = "Linux 6.1.0 (web1) \t11/21/26 \t_x86_64_\t(1 CPU)\n\n\
        14:35:52     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n\
        14:35:53     all   12.03    0.00    3.10    0.25    0.00    0.38    0.00    0.00    0.00   84.24\n";
    let head = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n";
    // More than is looked at to recognise a format.
    let line = " 1  0      0 812340  10240 401200    0    0     5     7  210  340  3  1 95  1  0\n";
    fs_err::write(folder.join("a"), mpstat).unwrap();
    fs_err::write(folder.join("b"), [head, &line.repeat(2001)].concat()).unwrap();
    fs_err::write(folder.join("c"), "words about the experiment\n").unwrap();
    let (store, outcome, written) = import_all(&folder, &dir.path().join("store"));
    let [named, counted, unknown] = &outcome.inputs[..] else { panic!("{:?}", outcome.inputs) };
    // One assumption for the times, one for the seconds between lines, one for the host.
    assert_eq!((named.tally.assumptions, counted.tally.assumptions), (0, 3));
    assert_eq!((named.unread(), counted.unread(), unknown.unread()), (None, None, Some("unknown format")));
    assert_eq!(counted.tally.last, written[1]);
    let seconds = counted.tally.last.zip(counted.tally.first).map(|(last, first)| last.seconds_since(first));
    assert_eq!(seconds, Some(2000.0));
    assert_eq!(store.run(&outcome.run.unwrap()).unwrap().manifest.hosts, ["web1"]);
}
