//! Agents and recorders that lie: what they send without an end, too long, cut or of another kind ends their own part with a
//! reason, and never takes more memory than is theirs.

use std::{
    io::{Cursor, Read, Write},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use fenxi_model::{Micros, Rows, catalog::mem};
use fenxi_source::Root;

use crate::{
    agent,
    codec::{Decoder, Encoder},
    frame::{AgentMessage, Began, LONGEST, MARK, Order, ToAgent, id, send, send_rows},
    link::{Link, Phase, RowBudget, Waited},
    program::Programs,
    target::Target,
};

fn order(interval_s: f64, duration_s: Option<f64>) -> Order {
    Order { host: "liar".to_owned(), sources: vec!["mem".to_owned()], interval_s, duration_s }
}

/// A host whose agent sends its first line and then what is in `bytes`, again and again if so wanted.
fn host(dir: &tempfile::TempDir, bytes: &[u8], again: &str) -> Arc<Link> {
    let hello = format!(
        "{MARK}hello {{\"id\":\"{}\",\"nodename\":\"n\",\"machine\":\"m\",\"uid\":0,\"program\":\"p\"}}\n",
        id()
    );
    fs_err::write(dir.path().join("hello"), hello).unwrap();
    fs_err::write(dir.path().join("bytes"), bytes).unwrap();
    // It reads nothing of what it is sent.
    let script = format!("cd {}; cat hello bytes; {again}", dir.path().display());
    let target = Target { name: "liar".to_owned(), transport: ["sh", "-c", &script].map(str::to_owned).to_vec() };
    Arc::new(Link::new(
        target,
        order(1.0, None),
        Arc::new(Programs::new(None)),
        false,
        Arc::new(RowBudget::for_hosts(1)),
    ))
}

/// Lets a misbehaving agent send it; gives why it was given up.
fn given_up(bytes: &[u8]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let link = host(&dir, bytes, "exec sleep 60");
    let begun = Instant::now();
    link.keep();
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}: {:?}", begun.elapsed(), link.why());
    assert_eq!(link.phase(), Phase::Ended);
    link.why().unwrap_or_default()
}

#[test]
fn frames_that_are_too_long_of_another_kind_or_none_end_the_agent() {
    let mut reported = Vec::new();
    send(&mut reported, &AgentMessage::Refused { why: "no ".repeat(300_000) }).unwrap();
    let why = given_up(&reported);
    assert!(why.starts_with("no no") && why.len() <= 500, "{}", why.len());
    let long = u32::try_from(LONGEST + 1).unwrap().to_le_bytes();
    assert!(given_up(&[&long[..], b"R"].concat()).contains("too long"));
    let words = (2_u32 << 20).to_le_bytes();
    assert!(given_up(&[&words[..], b"J"].concat()).contains("too long"));
    assert!(given_up(b"\x01\0\0\0Xx").contains("unknown kind"));
    assert!(given_up(b"\x02\0\0\0J{]").contains("cannot be read"));
    // The decompressor reports what is wrong with them, or the decoder.
    assert!(!given_up(b"\x04\0\0\0Rrows").is_empty());
}

#[test]
fn rows_that_take_few_bytes_and_much_memory_are_refused() {
    let mut rows = Rows::new("x");
    for _ in 0..(5 << 20) / mem::TABLE.columns.len() {
        rows.row(&mem::TABLE, None, None);
    }
    let bytes = Encoder::new().unwrap().encode(&rows).unwrap();
    assert!(bytes.len() < 64 << 10, "{}", bytes.len());
    assert!(Decoder::new().unwrap().decode(&bytes, &mut Rows::new("x")).is_err());
}

#[test]
fn rows_without_an_end_wait_for_the_recorder_and_do_not_fill_its_memory() {
    let dir = tempfile::tempdir().unwrap();
    // A tick of two million cells, which compresses to nothing; the stream goes on with the same again and again.
    let (mut encoder, mut bytes, mut size) = (Encoder::new().unwrap(), Vec::new(), 0);
    let (mut decoder, mut n) = (Decoder::new().unwrap(), 0);
    while size < 400 << 20 {
        let mut rows = Rows::new("x");
        for _ in 0..(1 << 20) / mem::TABLE.columns.len() {
            rows.row(&mem::TABLE, Micros(n), 1.0);
        }
        n += 1;
        let tick = encoder.encode(&rows).unwrap();
        if n == 1 {
            decoder.decode(&tick, &mut Rows::new("x")).unwrap();
        }
        size += decoder.size();
        send_rows(&mut bytes, &tick).unwrap();
    }
    let link = host(&dir, &bytes, "exec sleep 60");
    let keeper = {
        let link = Arc::clone(&link);
        std::thread::spawn(move || link.keep())
    };
    let until = Instant::now() + Duration::from_secs(20);
    while !link.is_full() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(link.is_full());
    std::thread::sleep(Duration::from_millis(300));
    let mut taken = Rows::new("recorder");
    link.take(Micros(0), &mut taken);
    let cells = |rows: &Rows| rows.tables().map(|t| t.n_rows() * t.table().columns.len()).sum::<usize>();
    assert!(cells(&taken) * 16 < 60 << 20, "{}", cells(&taken));
    // At the end no more than that is waited for, however much there is.
    while !link.is_full() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    let waited = link.wait_for_end(Instant::now() + Duration::from_secs(5));
    assert_eq!(waited, Waited::Full);
    link.close();
    keeper.join().unwrap();
}

#[test]
fn a_host_that_asks_without_an_end_and_reads_nothing_holds_up_nobody() {
    let mut asked = Vec::new();
    for _ in 0..5000 {
        send(&mut asked, &AgentMessage::Ping { asked: 7 }).unwrap();
    }
    assert_eq!(given_up(&asked), "it does not read what it is sent");
}

#[test]
fn a_host_that_goes_on_at_the_end_is_left_in_time() {
    let dir = tempfile::tempdir().unwrap();
    let mut reported = Vec::new();
    send(&mut reported, &AgentMessage::Ready).unwrap();
    send(&mut reported, &AgentMessage::Ping { asked: 7 }).unwrap();
    // It sends signs of life, whatever it is sent, and never ends.
    let link = host(&dir, &reported, "trap '' TERM HUP; while :; do cat bytes; sleep 0.05; done");
    let keeper = {
        let link = Arc::clone(&link);
        std::thread::spawn(move || link.keep())
    };
    let until = Instant::now() + Duration::from_secs(20);
    while link.phase() != Phase::Live && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    link.begin(Began { steady_ns: 0, wall_us: 0 });
    std::thread::sleep(Duration::from_millis(200));
    let begun = Instant::now();
    let until = begun + Duration::from_millis(300);
    link.stop(until);
    assert_eq!(link.wait_for_end(until), Waited::InVain);
    // Its thread notices by itself that it is not wanted any longer, and ends what does not.
    keeper.join().unwrap();
    assert_eq!(link.wait_for_end(Instant::now() + Duration::from_secs(9)), Waited::InVain);
    assert!(begun.elapsed() < Duration::from_millis(1300), "{:?}", begun.elapsed());
}

/// Collects what an agent sends.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<u8>>>);

impl Write for Heard {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Sends so much and then nothing, without an end.
struct ThenSilent(Cursor<Vec<u8>>, Duration);

impl Read for ThenSilent {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let n = self.0.read(into)?;
        if n == 0 {
            std::thread::sleep(self.1);
        }
        Ok(n)
    }
}

/// Lets an agent hear a recorder that lies; gives what becomes of it.
fn hears(messages: &[ToAgent]) -> String {
    let mut bytes = Vec::new();
    for message in messages {
        send(&mut bytes, message).unwrap();
    }
    let heard = Heard::default();
    let ended = agent::run(ThenSilent(Cursor::new(bytes), Duration::from_secs(1)), heard.clone(), &Root::live());
    let reported = String::from_utf8_lossy(&heard.0.lock().unwrap()).into_owned();
    format!("{ended:?} {}", if reported.contains("Refused") { "refused" } else { "" })
}

#[test]
fn orders_that_cannot_be_done_and_clocks_that_lie_end_no_agent_in_a_panic() {
    for interval in [0.0, -1.0, 1e-300, 1e300] {
        let reported = hears(&[ToAgent::Order(order(interval, None))]);
        assert!(reported.contains("Refused(\"an interval of") && reported.ends_with("refused"), "{reported}");
    }
    assert!(hears(&[ToAgent::Order(order(1.0, Some(-1.0)))]).contains("a recording of -1 s"));
    let lies = [i64::MIN, -1, i64::MAX / 2, i64::MAX];
    for steady_ns in lies {
        let pongs = lies.map(|got| ToAgent::Pong { asked: steady_ns, got, sent: i64::MIN + 1 - got.min(0) });
        let began = ToAgent::Begin(Began { steady_ns, wall_us: steady_ns });
        let reported = hears(&[&[ToAgent::Order(order(0.1, None))], &pongs[..], &[began, ToAgent::Stop]].concat());
        // A reader has survived it to its end.
        assert!(
            reported.starts_with("Ok") || reported.contains("closed the pipe") || reported.contains("no clock shows"),
            "{reported}"
        );
    }
}
