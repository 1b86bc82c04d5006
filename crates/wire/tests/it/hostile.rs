//! A server that stalls, floods, lies about lengths or sends nothing: a client with limits ends in time, and takes little memory.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use fenxi_wire::{
    client::{Client, ClientError},
    target::{Surroundings, Target},
};

const LIMIT: Duration = Duration::from_millis(700);

/// A message of PostgreSQL.
fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    out.extend_from_slice(body);
    out
}

fn row(values: &[&[u8]]) -> Vec<u8> {
    let mut body = (values.len() as u16).to_be_bytes().to_vec();
    for value in values {
        body.extend_from_slice(&(value.len() as u32).to_be_bytes());
        body.extend_from_slice(value);
    }
    message(b'D', &body)
}

/// A server that lets everybody in, and answers the first statement by `answer`.
fn serve(answer: impl Fn(&mut TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        // A cancel request is a second connection, and is ignored.
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = [0; 4096];
        let _ = stream.read(&mut buffer);
        let _ = stream.write_all(&message(b'R', &[0; 4]));
        let _ = stream.write_all(&message(b'Z', b"I"));
        let _ = stream.read(&mut buffer);
        answer(&mut stream);
    });
    format!("postgres://u@127.0.0.1:{port}/x")
}

fn ask(url: &str) -> (Result<u64, ClientError>, Duration) {
    let target = Target::parse(url, &Surroundings::default()).unwrap();
    let mut client = Client::connect(&target, Duration::from_secs(5)).unwrap();
    client.set_limit(LIMIT);
    client.set_longest_message(1 << 20);
    client.set_most_rows(1000);
    let began = Instant::now();
    let mut bytes = 0;
    let asked = client.each("SELECT 1", &mut |row| bytes += row.bytes(0).map_or(0, |value| value.len() as u64));
    (asked.map(|_| bytes), began.elapsed())
}

/// The error of a server that answers so, which came in time.
fn refused(answer: impl Fn(&mut TcpStream) + Send + 'static) -> String {
    let (asked, took) = ask(&serve(answer));
    assert!(took < Duration::from_secs(3), "{took:?}");
    asked.unwrap_err().to_string()
}

#[test]
fn silence_ends_at_the_limit() {
    let error = refused(|_| thread::sleep(Duration::from_secs(5)));
    assert!(error.contains("no answer in 0.7 s to: SELECT 1"), "{error}");
}

#[test]
fn rows_without_an_end_are_cut_off() {
    let error = refused(|stream| while stream.write_all(&row(&[b"x"])).is_ok() {});
    assert!(error.contains("more than 1000 rows"), "{error}");
}

#[test]
fn a_byte_at_a_time_ends_at_the_limit() {
    let error = refused(|stream| {
        for byte in message(b'D', &[0; 1000]) {
            if stream.write_all(&[byte]).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
    });
    assert!(error.contains("no answer in"), "{error}");
}

#[test]
fn a_message_that_is_too_long_is_not_waited_for() {
    let error = refused(|stream| {
        let _ = stream.write_all(b"D\x7f\xff\xff\xff");
        thread::sleep(Duration::from_secs(3));
    });
    assert!(error.contains("a message of 2147483647 bytes"), "{error}");
}

#[test]
fn ten_thousand_columns_and_zero_bytes_are_only_values() {
    let values: Vec<&[u8]> = vec![b"\0\xff"; 10_000];
    let answer = [row(&values), message(b'C', b"SELECT 1\0"), message(b'Z', b"I")].concat();
    let (asked, _) = ask(&serve(move |stream| stream.write_all(&answer).unwrap()));
    assert_eq!(asked.unwrap(), 2);
}

#[test]
fn what_is_cut_short_or_lies_about_its_length_is_an_error() {
    assert!(refused(|stream| stream.write_all(&message(b'D', b"\0\x05\0\0\0\x09ab")).unwrap()).contains("cut short"));
    assert!(refused(|stream| stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap()).contains("protocol"));
    assert!(refused(|_| {}).contains("closed"));
}
