//! Places that lie: storage and directories that send without an end, in drops, cut, too long, of another kind, or with paths
//! outside the store. Each ends a pull with an error that names the place, within bounds of memory, disk and time.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use fenxi_model::{Micros, Rows, RunId, catalog::cpu};
use fenxi_store::{Begin, End, Store};
use fs_err::{self as fs, os::unix::fs::symlink};

use crate::{
    CarryError, Patience, Place, Transfer,
    directory::Directory,
    pull, push,
    s3::{At, S3},
    sign::Credentials,
};

/// 2026-11-21 14:35:53 UTC.
const START: i64 = 1_795_271_753_000_000;
const RUN: &str = "20261121T143553-base-d5na";
/// Bytes of disk that every test stays below.
const FEW: u64 = 8 << 20;

fn now() -> Micros {
    Micros(START)
}

fn transfer() -> Transfer<'static> {
    Transfer { dry_run: false, threads: 2, watch: &|_, _, _| {} }
}

fn store(dir: &Path) -> Store {
    Store::open_or_create(dir.join("store")).unwrap()
}

fn record(store: &Store) -> RunId {
    let start = Micros(START);
    let begin = Begin {
        name: Some("base".to_owned()),
        kind: "record".to_owned(),
        host: "h1".to_owned(),
        command: Vec::new(),
        params: Default::default(),
        tags: Default::default(),
        start,
        interval_s: Some(1.0),
        random: 7,
        sources: vec!["cpu".to_owned()],
    };
    let mut open = store.begin(begin).unwrap();
    let mut rows = Rows::new("h1");
    rows.row(&cpu::TABLE, Micros(START + 1_000_000), 1.0).f64(cpu::usr, 7.0);
    open.append(&mut rows).unwrap();
    open.seal(End { exit_status: Some(0), ticks: 1, ..End::at(Micros(START + 1_000_000)) }).unwrap()
}

/// Bytes of all files below a folder.
fn size(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    let of = |path: PathBuf| if path.is_dir() { size(&path) } else { fs::metadata(&path).map_or(0, |meta| meta.len()) };
    entries.map(|entry| of(entry.unwrap().path())).sum()
}

/// Pulls from a place; gives the error, and checks that nothing is left of it.
fn refused(place: &dyn Place) -> String {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    let begun = Instant::now();
    let error = pull(&store, place, &[], &transfer()).unwrap_err().to_string();
    assert!(begun.elapsed() < Duration::from_secs(20), "{error}: {:?}", begun.elapsed());
    assert!(store.ids().unwrap().is_empty(), "{error}");
    let left: Vec<_> = fs::read_dir(store.path().join("open")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty() && size(dir.path()) < FEW, "{error}: {left:?}");
    error
}

// --- storage ---

/// Answers a request as storage: it gets the path with its query.
type Answer = dyn Fn(&str, &mut TcpStream) -> std::io::Result<()> + Send + Sync;

/// Storage that answers with what `answer` writes; a connection each.
fn storage(answer: impl Fn(&str, &mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static) -> S3 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer: Arc<Answer> = Arc::new(answer);
    // Ends with the process of the tests.
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let (answer, mut connection) = (Arc::clone(&answer), connection.unwrap());
            std::thread::spawn(move || {
                let mut lines = BufReader::new(connection.try_clone().unwrap()).lines();
                let first = lines.next().unwrap_or(Ok(String::new())).unwrap_or_default();
                while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
                let target = first.split(' ').nth(1).unwrap_or_default().to_owned();
                // A client that has enough closes the connection.
                let _ = answer(&target, &mut connection);
                let _ = connection.shutdown(std::net::Shutdown::Write);
                let _ = connection.read(&mut [0; 1024]);
            });
        }
    });
    let credentials = Credentials { key: "k".to_owned(), secret: "s".to_owned(), token: None };
    let patience = Patience { silence: Duration::from_secs(2), grace: Duration::from_secs(2), rate: 64 << 10 };
    let at = At { base: format!("http://{address}"), root: "/b".to_owned(), bucket: "b", prefix: "p" };
    S3::new(at, "us-east-1".to_owned(), credentials, patience, now)
}

const MARK: &str = r#"{"format": 1, "id": "0123456789abcdef"}"#;

fn whole(to: &mut TcpStream, body: &[u8]) -> std::io::Result<()> {
    write!(to, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len())?;
    to.write_all(body)
}

/// The beginning of an answer without a length.
fn open_ended(to: &mut TcpStream) -> std::io::Result<()> {
    to.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
}

fn endless(to: &mut TcpStream, piece: &[u8]) -> std::io::Result<()> {
    loop {
        to.write_all(piece)?;
    }
}

fn list(objects: &[(String, u64)], next: Option<&str>) -> String {
    let one = |(name, size): &(String, u64)| format!("<Contents><Key>p/{name}</Key><Size>{size}</Size></Contents>");
    let next = next.map_or(String::new(), |next| {
        format!("<IsTruncated>true</IsTruncated><NextContinuationToken>{next}</NextContinuationToken>")
    });
    format!("<ListBucketResult>{}{next}</ListBucketResult>", objects.iter().map(one).collect::<String>())
}

fn manifest(bytes: u64) -> Vec<(String, u64)> {
    vec![(format!("runs/run={RUN}/run.json"), bytes)]
}

/// Storage that has a store, lists a manifest of so many bytes, and answers with `manifest` when that is asked for.
fn with_manifest(bytes: u64, answer: impl Fn(&mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static) -> S3 {
    storage(move |target, to| match target {
        "/b/p/store.json" => whole(to, MARK.as_bytes()),
        _ if target.starts_with("/b?") => whole(to, list(&manifest(bytes), None).as_bytes()),
        _ => answer(to),
    })
}

/// Storage that has a store and answers with `list` when it is asked for that.
fn with_list(answer: impl Fn(&str, &mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static) -> S3 {
    storage(move |target, to| match target {
        "/b/p/store.json" => whole(to, MARK.as_bytes()),
        _ => answer(target, to),
    })
}

#[test]
fn a_body_without_an_end_ends_where_the_list_says() {
    let message = refused(&with_manifest(5, |to| {
        open_ended(to)?;
        endless(to, &[b'a'; 65536])
    }));
    assert!(
        message.starts_with(&format!("s3://b/p sent invalid data: runs/run={RUN}/run.json: more than 5 bytes")),
        "{message}"
    );
    let message = refused(&with_manifest(5, |to| {
        to.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")?;
        endless(to, &[b'a'; 65536])
    }));
    assert!(message.contains("it has 99999999999 bytes, and 5 by the place's listing"), "{message}");
    let message = refused(&with_manifest(1 << 40, |to| whole(to, b"{}")));
    assert!(message.contains("it has 1099511627776 bytes in the list, and 8388608 are the most"), "{message}");
}

#[test]
fn a_body_that_is_cut_late_or_in_drops_is_given_up() {
    let message =
        refused(&with_manifest(1000, |to| to.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"format\"")));
    assert!(message.contains("run.json: it does not come whole"), "{message}");
    let message = refused(&with_manifest(1000, |to| {
        open_ended(to)?;
        to.write_all(b"{\"format\"")
    }));
    assert!(message.contains("it has 9 bytes, and 1000 by the place's listing"), "{message}");
    let begun = Instant::now();
    let message = refused(&with_manifest(1000, |to| {
        open_ended(to)?;
        loop {
            to.write_all(b"a")?;
            std::thread::sleep(Duration::from_millis(100));
        }
    }));
    assert!(message.contains("and at least 65536 a second have to"), "{message}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let message = refused(&with_manifest(1000, |to| {
        open_ended(to)?;
        std::thread::sleep(Duration::from_secs(30));
        Ok(())
    }));
    assert!(message.contains("it does not come whole: timeout"), "{message}");
}

#[test]
fn storage_that_never_answers_or_leads_elsewhere_is_given_up() {
    for slow in ["", "HTTP/1.1 200 OK\r\nX-A: "] {
        let message = refused(&storage(move |_, to| {
            to.write_all(slow.as_bytes())?;
            std::thread::sleep(Duration::from_secs(30));
            Ok(())
        }));
        assert!(message.contains("store.json: timeout"), "{message}");
    }
    let message = refused(&storage(|_, to| {
        to.write_all(b"HTTP/1.1 302 Found\r\nLocation: /b/p/store.json\r\nContent-Length: 0\r\n\r\n")
    }));
    assert!(message.contains("302"), "{message}");
    let message = refused(&storage(|_, to| {
        to.write_all(b"HTTP/1.1 200 OK\r\nX-A: ")?;
        endless(to, &[b'a'; 65536])
    }));
    assert!(message.contains("header"), "{message}");
    let message = refused(&storage(|_, to| {
        to.write_all(b"HTTP/1.1 403 No\r\n\r\n<Message>")?;
        endless(to, &[b'a'; 65536])
    }));
    assert!(message.contains("403") && message.len() < 20_000, "{}", message.len());
}

#[test]
fn a_list_without_an_end_is_given_up() {
    let message = refused(&with_list(|_, to| {
        open_ended(to)?;
        to.write_all(b"<ListBucketResult>")?;
        endless(to, "<Contents><Key>p/a</Key><Size>1</Size></Contents>".repeat(1000).as_bytes())
    }));
    assert!(
        message.contains("s3://b/p sent invalid data: its list of files: a page of it has more than 8388608 bytes"),
        "{message}"
    );
    let message = refused(&with_list(|_, to| whole(to, list(&manifest(5), Some("again")).as_bytes())));
    assert!(message.contains("names have to be in order"), "{message}");
    let message = refused(&with_list(|_, to| whole(to, list(&[], Some("again")).as_bytes())));
    assert!(message.contains("its next page is the same again"), "{message}");
    // Ever new tokens for ever new empty pages.
    let page = std::sync::atomic::AtomicUsize::new(0);
    let message = refused(&with_list(move |_, to| {
        let n = page.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        whole(to, list(&[], Some(&n.to_string())).as_bytes())
    }));
    assert!(message.contains("it has more than 2000 pages") || message.contains("bytes came in"), "{message}");
}

#[test]
fn a_list_of_another_kind_or_with_what_cannot_be_is_refused() {
    let lists = |text: String| refused(&with_list(move |_, to| whole(to, text.as_bytes())));
    for other in ["", "{\"a\": 1}", "<html><body>Sign in</body></html>", "<ListBucketResult><Contents>"] {
        assert!(lists(other.to_owned()).contains("it is no list, or cut short"), "{other}");
    }
    let outside = list(&[], None).replace("</List", "<Contents><Key>other/x</Key><Size>1</Size></Contents></List");
    assert!(lists(outside).contains("does not begin with \"p/\""));
    let huge = list(&[("a".to_owned(), u64::MAX), ("b".to_owned(), u64::MAX)], None);
    assert!(lists(huge).contains("has 18446744073709551615 bytes in it"));
    assert!(lists(list(&[("b".to_owned(), 1), ("a".to_owned(), 1)], None)).contains("names have to be in order"));
    let message = refused(&with_list(|_, to| whole(to, &[0xff; 100])));
    assert!(message.contains("it is no text"), "{message}");
}

// --- directories ---

/// A directory with a store that was pushed there.
fn pushed(dir: &Path) -> (Store, RunId, PathBuf) {
    let store = store(dir);
    let run = record(&store);
    let place = dir.join("place");
    push(&store, &Directory::new(place.clone(), now), None, &transfer()).unwrap();
    (store, run, place)
}

fn says(error: Result<impl std::fmt::Debug, CarryError>) -> String {
    error.unwrap_err().to_string()
}

#[test]
fn what_was_pushed_comes_back_and_links_that_lie_there_are_replaced_or_named() {
    let dir = tempfile::tempdir().unwrap();
    let (place, victim) = (dir.path().join("place"), dir.path().join("victim"));
    fs::create_dir(&place).unwrap();
    fs::write(&victim, "PRECIOUS").unwrap();
    // The names by which unfinished files were known once.
    for name in [".fenxi-push.json.part", "store.json.part", "questions/mine.sql.part", "runs.part"] {
        fs::create_dir_all(place.join(name).parent().unwrap()).unwrap();
        symlink(&victim, place.join(name)).unwrap();
    }
    let store = store(dir.path());
    record(&store);
    store.keep_question("mine", "SELECT 1").unwrap();
    let there = Directory::new(place.clone(), now);
    push(&store, &there, None, &transfer()).unwrap();
    assert_eq!(fs::read(&victim).unwrap(), b"PRECIOUS");
    fs::remove_dir_all(&place).unwrap();
    fs::create_dir_all(place.join("questions")).unwrap();
    // Links in place of files and of folders.
    for name in ["store.json", ".fenxi-push.json", "runs", "labels", "questions/mine.sql"] {
        symlink(&victim, place.join(name)).unwrap();
        let message = says(push(&store, &there, None, &transfer()));
        assert!(message.contains(&format!("{name} is a symbolic link")), "{message}");
        if name == "store.json" {
            assert!(says(pull(&store, &there, &[], &transfer())).contains("is a symbolic link"));
        }
        fs::remove_file(place.join(name)).unwrap();
    }
    let other_place = dir.path().join("other_place");
    fs::create_dir(&other_place).unwrap();
    symlink(&other_place, place.join("runs")).unwrap();
    assert!(says(there.put("runs/run=a/x", b"1")).contains("runs is a symbolic link"));
    fs::remove_file(place.join("runs")).unwrap();
    assert_eq!(fs::read(&victim).unwrap(), b"PRECIOUS");
    assert_eq!(fs::read_dir(&other_place).unwrap().count(), 0);
    // A link that comes into being after it was looked is replaced, not followed.
    fs::create_dir_all(place.join("labels")).unwrap();
    symlink(&victim, place.join("labels/x.json")).unwrap();
    there.put("labels/x.json", b"{}").unwrap();
    assert_eq!(fs::read(&victim).unwrap(), b"PRECIOUS");
    there.delete("labels/x.json").unwrap();
    push(&store, &there, None, &transfer()).unwrap();
    let other = tempfile::tempdir().unwrap();
    assert_eq!(pull(&self::store(other.path()), &there, &[], &transfer()).unwrap().runs, 1);
}

#[test]
fn a_directory_with_pipes_devices_and_long_files_is_refused_at_once() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let dir = tempfile::tempdir().unwrap();
    let (_, run, place) = pushed(dir.path());
    let there = Directory::new(place.clone(), now);
    let manifest = place.join(format!("runs/run={run}/run.json"));
    let kept = fs::read(&manifest).unwrap();
    let instead = |path: &Path, make: &dyn Fn(&Path), part: &str| {
        let kept = fs::read(path).unwrap();
        fs::remove_file(path).unwrap();
        make(path);
        let message = refused(&there);
        assert!(message.contains(part), "{message}");
        if path.is_dir() {
            fs::remove_dir(path).unwrap()
        } else {
            fs::remove_file(path).unwrap()
        }
        fs::write(path, kept).unwrap();
    };
    let pipe = |path: &Path| mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let long = |path: &Path| fs::File::create(path).unwrap().set_len(3 << 30).unwrap();
    instead(&place.join("store.json"), &|path| fs::create_dir(path).unwrap(), "is a folder");
    for path in [&place.join("store.json"), &manifest] {
        instead(path, &pipe, "is a named pipe");
        instead(path, &|path| symlink("/dev/zero", path).unwrap(), "is a symbolic link");
        instead(path, &|path| symlink(path.file_name().unwrap(), path).unwrap(), "is a symbolic link");
        instead(path, &long, "3221225472 bytes");
    }
    // A file that is longer or shorter than in its manifest.
    let rows = place.join(format!("runs/run={run}/cpu.parquet"));
    instead(&rows, &long, "it has 3221225472 bytes in the list, and");
    instead(&rows, &|path| fs::write(path, "short").unwrap(), "it has 5 bytes in the list, and");
    fs::remove_file(&rows).unwrap();
    assert!(refused(&there).contains("cpu.parquet: a manifest names it, and it is not there"));
    assert_eq!(fs::read(&manifest).unwrap(), kept);
}

#[test]
fn what_a_killed_push_left_is_removed_a_day_later_and_other_files_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _, place) = pushed(dir.path());
    fs::create_dir_all(place.join("labels")).unwrap();
    for name in ["runs/.0123456789abcdef.part", "labels/x.json.part", "holiday.jpg"] {
        fs::write(place.join(name), "x").unwrap();
    }
    symlink("/", place.join("everything")).unwrap();
    let at = |now| Directory::new(place.clone(), now);
    let left = || ["runs/.0123456789abcdef.part", "labels/x.json.part"].map(|name| place.join(name).exists());
    push(&store, &at(now), None, &transfer()).unwrap();
    assert_eq!(left(), [true, true], "another push may be writing them");
    push(&store, &at(|| Micros(i64::MAX / 2)), None, &transfer()).unwrap();
    assert_eq!(left(), [false, true], "nor is what has another name");
    assert!(place.join("holiday.jpg").exists() && place.join("everything").is_symlink());
}
