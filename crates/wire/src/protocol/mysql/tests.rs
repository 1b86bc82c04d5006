//! Streams of packets, whole, cut and damaged.

use proptest::prelude::*;

use super::{
    super::{Session as Both, tests::play},
    *,
};

const OK: &[u8] = &[0, 3, 0, 2, 0, 0, 0];
const EOF: &[u8] = &[0xfe, 0, 0, 3, 0];

fn stream(packets: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, body) in packets.iter().enumerate() {
        packet((number as u8).wrapping_add(1), &mut out, |out| out.extend_from_slice(body));
    }
    out
}

fn ready() -> Session {
    let mut session = Session::new(&Arc::new(Login { local_files: true, ..Login::new(Dialect::Mysql, "u") }));
    session.handshake = None;
    session
}

fn statement() -> Statement {
    let pieces = ["UPDATE t SET c = ", " WHERE id = ", ""].map(str::to_owned);
    Statement::new(Dialect::Mysql, 2, pieces.to_vec())
}

#[test]
fn a_result_gives_its_rows_and_what_is_open() {
    let packets = stream(&[&[1], b"definition", EOF, b"\x02ab", b"\xfb", EOF]);
    let (events, _) = play(&mut Both::Mysql(ready()), &packets, &[]);
    assert_eq!(events[..2], ["Row([2, 97, 98])", "Row([251])"]);
    assert!(events[2].contains("completed: 1, rows: 2, affected: 0, error: None, open: true"), "{events:?}");
    let mut found = Vec::new();
    cells(b"\x02ab\xfb", &mut found).unwrap();
    assert_eq!(found, [Some(1..3), None]);
    assert!(cells(b"\x05ab", &mut found).is_err());
}

#[test]
fn an_ok_says_how_many_rows_were_affected_and_an_error_what_was_wrong() {
    let (events, _) = play(&mut Both::Mysql(ready()), &stream(&[OK]), &[]);
    assert!(events[0].contains("affected: 3") && events[0].contains("open: false"), "{events:?}");
    let (events, _) = play(&mut Both::Mysql(ready()), &stream(&[b"\xff\xbd\x04#40001Deadlock found"]), &[]);
    assert!(events[0].contains("number: 1213, message: \"Deadlock found\""), "{events:?}");
    assert_eq!(refusal(b"\xff\x10\x04Too many connections").message, "Too many connections");
}

#[test]
fn a_statement_is_prepared_once_and_executed_with_its_values() {
    let mut session = ready();
    assert!(!session.is_prepared(&statement(), Mode::Prepared) && session.is_prepared(&statement(), Mode::Simple));
    let mut out = Vec::new();
    session.prepare(&statement(), &mut out);
    assert_eq!(out, stream_of(0, b"\x16UPDATE t SET c = ? WHERE id = ?"));
    let mut session = Both::Mysql(session);
    let answer = [0, 9, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0];
    let (events, _) = play(&mut session, &stream(&[&answer, b"value", b"value", EOF]), &[3, 20, 33]);
    assert_eq!(events, ["Prepared"]);
    out.clear();
    assert!(session.is_prepared(&statement(), Mode::Prepared));
    session.execute(&statement(), &[Value::Text(b"xy"), Value::Int(-2)], Mode::Prepared, &mut out);
    let body = b"\x17\x09\0\0\0\0\x01\0\0\0\0\x01\xfd\0\x08\0\x02xy\xfe\xff\xff\xff\xff\xff\xff\xff";
    assert_eq!(out, stream_of(0, body));
}

fn stream_of(sequence: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    packet(sequence, &mut out, |out| out.extend_from_slice(body));
    out
}

#[test]
fn data_of_a_load_is_numbered_on_from_the_servers_request() {
    let mut session = Both::Mysql(ready());
    assert_eq!(play(&mut session, &stream(&[b"\xfbx"]), &[]).0, ["CopyIn"]);
    let mut out = Vec::new();
    session.copy_data(b"1\t2\n", &mut out);
    session.copy_end(&mut out);
    assert_eq!(out, [stream_of(2, b"1\t2\n"), stream_of(3, b"")].concat());
}

#[test]
fn several_results_are_one_reply() {
    let more: &[u8] = &[0, 1, 0, 8, 0, 0, 0];
    let (events, _) = play(&mut Both::Mysql(ready()), &stream(&[more, OK]), &[]);
    assert_eq!(events.len(), 1);
    assert!(events[0].contains("completed: 1, rows: 0, affected: 4"));
}

#[test]
fn a_hostile_server_fills_no_memory_with_columns_and_overflows_no_count() {
    let mut both = Both::Mysql(ready());
    both.keep_columns();
    let column: &[u8] = &[0, 0, 0, 0, 1, b'x'];
    let result = stream(&[&[&[1_u8][..]][..], &vec![column; MOST_COLUMNS + 1]].concat());
    let (events, _) = play_quickly(&mut both, &result);
    assert!(events.contains("too many columns"), "{events}");
    assert!(cells(&vec![0xfb; MOST_COLUMNS], &mut Vec::new()).is_ok());
    assert!(cells(&vec![0xfb; MOST_COLUMNS + 1], &mut Vec::new()).is_err());
    let most = [0, 0xfe, 255, 255, 255, 255, 255, 255, 255, 255, 0, 8, 0, 0, 0];
    let (events, _) = play(&mut Both::Mysql(ready()), &stream(&[&most, OK]), &[]);
    assert!(events[0].contains(&format!("affected: {}", u64::MAX)), "{events:?}");
}

/// The error with which `stream` ends, and how many bytes were taken, read without moving what is left of it.
fn play_quickly(session: &mut Both, stream: &[u8]) -> (String, usize) {
    let (mut at, mut out) = (0, Vec::new());
    loop {
        match session.feed(&stream[at..], &mut out) {
            Ok((_, Event::More)) => return (String::new(), at),
            Ok((used, _)) => at += used,
            Err(error) => return (error.to_string(), at),
        }
    }
}

proptest! {
    #[test]
    fn it_does_not_matter_how_a_stream_is_cut(cuts in prop::collection::vec(0_usize..80, 0..8)) {
        let packets = stream(&[&[1], b"definition", EOF, b"\x02ab", b"\x01c", EOF, OK]);
        let mut cuts = cuts;
        cuts.sort_unstable();
        let whole = play(&mut Both::Mysql(ready()), &packets, &[]);
        prop_assert_eq!(play(&mut Both::Mysql(ready()), &packets, &cuts), whole);
    }

    #[test]
    fn noise_never_panics(noise in prop::collection::vec(any::<u8>(), 0..300), small in any::<bool>()) {
        // Lengths that fit, so that the bodies are read.
        let noise = if small { stream(&noise.chunks(20).collect::<Vec<_>>()) } else { noise };
        play(&mut Both::Mysql(ready()), &noise, &[]);
        play(&mut Both::Mysql(Session::new(&Arc::new(Login::new(Dialect::Mysql, "u")))), &noise, &[9]);
    }

    #[test]
    fn lengths_come_back(length in 0_usize..0xff_ffff) {
        let mut out = Vec::new();
        put_length(length, &mut out);
        prop_assert_eq!(length_encoded(&mut Fields(&out)), Some(length as u64));
    }
}
