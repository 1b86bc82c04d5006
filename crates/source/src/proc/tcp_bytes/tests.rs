//! Made-up messages, and real sockets.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
};

use super::{Counters, Of, Payload, SOURCE, Sockets};
use crate::testing::{Machine, near};

/// A message about the socket `cookie`, with a `tcp_info` of `len` bytes.
fn message(cookie: u64, received: u64, sent: u64, again: u64, len: usize) -> Vec<u8> {
    let mut info = vec![0; 216];
    for (place, value) in [(120, sent), (128, received), (200, sent + again), (208, again)] {
        info[place..place + 8].copy_from_slice(&value.to_ne_bytes());
    }
    info.truncate(len);
    let mut body = vec![0; 72];
    body[44..52].copy_from_slice(&cookie.to_ne_bytes());
    // Another attribute first, of an odd length.
    body.extend([5_u16.to_ne_bytes(), 1_u16.to_ne_bytes()].concat());
    body.extend([1, 0, 0, 0]);
    body.extend([(len as u16 + 4).to_ne_bytes(), 2_u16.to_ne_bytes()].concat());
    body.extend(info);
    let mut bytes = (body.len() as u32 + 16).to_ne_bytes().to_vec();
    bytes.extend(20_u16.to_ne_bytes());
    bytes.extend([0; 10]);
    bytes.extend(body);
    bytes
}

#[test]
fn sockets_that_live_begin_and_end_are_all_counted_once() {
    let mut sockets = Sockets::default();
    let mut round = |messages: &[(Of, u64, u64, u64)]| {
        sockets.begin();
        for (of, cookie, received, sent) in messages {
            assert!(!sockets.read_messages(&message(*cookie, *received, *sent, 7, 216), *of).unwrap());
        }
        sockets.end()
    };
    use Of::{Ended, Living};
    assert_eq!(round(&[(Living, 1, 1000, 500), (Living, 2, 9, 9)]), None);
    // 1 goes on, 2 ends, 3 is new, 4 came and went between the samples.
    let seen = round(&[(Living, 1, 1100, 500), (Living, 3, 10, 0), (Ended, 2, 10, 9), (Ended, 4, 0, 3)]);
    assert_eq!(seen, Some(Counters { received: 111, sent: 3, ..Counters::default() }));
    assert_eq!(round(&[(Ended, 1, 1101, 500)]), Some(Counters { received: 1, ..Counters::default() }));
}

#[test]
fn an_older_kernel_tells_less_and_damage_is_left_out() {
    let mut sockets = Sockets::default();
    sockets.begin();
    sockets.begin();
    sockets.read_messages(&message(1, 10, 20, 5, 136), Of::Living).unwrap();
    sockets.read_messages(&message(2, 10, 20, 5, 100), Of::Living).unwrap();
    let whole = message(3, 10, 20, 5, 216);
    for len in 0..whole.len() {
        sockets.read_messages(&whole[..len], Of::Living).unwrap();
    }
    assert_eq!(sockets.end(), Some(Counters { received: 10, sent: 20, lacks_times: true, ..Counters::default() }));
}

#[test]
fn a_sender_whose_receiver_does_not_read_waits_for_its_window() {
    let Ok(mut payload) = Payload::open() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let accepted = listener.accept().unwrap().0;
    payload.sample().unwrap();
    sender.set_write_timeout(Some(std::time::Duration::from_millis(100))).unwrap();
    let stop = sender.write_all(&vec![1; 64 << 20]).unwrap_err();
    assert!(matches!(stop.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut), "{stop}");
    std::thread::sleep(std::time::Duration::from_millis(300));
    let seen = payload.sample().unwrap().unwrap();
    // Kernels before 4.10 count no time.
    assert!(seen.busy_us == 0 || seen.window_limited_us >= 200_000, "{seen:?}");
    drop(accepted);
}

#[test]
fn times_of_a_socket_grow_between_two_looks() {
    let with_times = |busy: u64, window: u64, buffer: u64| {
        let mut bytes = message(1, 0, 0, 0, 216);
        let info = bytes.len() - 216;
        for (place, value) in [(168, busy), (176, window), (184, buffer)] {
            bytes[info + place..info + place + 8].copy_from_slice(&value.to_ne_bytes());
        }
        bytes
    };
    let mut sockets = Sockets::default();
    sockets.begin();
    sockets.read_messages(&with_times(900, 500, 10), Of::Living).unwrap();
    sockets.begin();
    sockets.read_messages(&with_times(1900, 1100, 40), Of::Living).unwrap();
    let want = Counters { busy_us: 1000, window_limited_us: 600, send_buffer_limited_us: 30, ..Counters::default() };
    assert_eq!(sockets.end(), Some(want));
}

#[test]
fn bytes_over_real_connections_are_counted_also_when_they_are_gone() {
    let Ok(mut payload) = Payload::open_with_ends() else { return };
    payload.sample().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut lasting = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut accepted = listener.accept().unwrap().0;
    lasting.write_all(&[1; 30_000]).unwrap();
    accepted.read_exact(&mut [0; 30_000]).unwrap();
    for _ in 0..10 {
        let mut short = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        short.write_all(&[1; 100_000]).unwrap();
        drop(short);
        let _ = listener.accept().unwrap().0.read_to_end(&mut Vec::new()).unwrap();
    }
    // The kernel reports ends a moment later.
    std::thread::sleep(std::time::Duration::from_millis(200));
    let bytes = payload.sample().unwrap().unwrap();
    assert!(bytes.received >= 1_030_000 && bytes.sent >= 1_030_000, "{bytes:?}");
}

#[test]
fn a_saved_copy_has_everything_but_the_bytes() {
    let machine = Machine::new();
    machine.put("/proc/net/snmp", "Tcp: InSegs OutSegs\nTcp: 5 6\n");
    let mut session = machine.start(&SOURCE);
    session.tick(None);
    let seen = session.tick(1.0);
    near(seen.value("tcp", "in_segments_per_s", &[]), 0.0);
    assert_eq!(seen.value("tcp", "in_bytes_per_s", &[]), None);
}
