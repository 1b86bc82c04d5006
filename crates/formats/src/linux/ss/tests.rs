//! Lines and samples that the fixtures do not have.

use super::{FORMAT, Socket, owner, without_owners};
use crate::fixtures::read;

#[test]
fn sockets_of_every_kind_are_read() {
    let read = |line| Socket::read(line).map(|s| (s.kind, s.state, s.receive, s.local.clone(), s.peer.clone()));
    let some = |kind, state, receive, local: &str, peer: &str| Some((kind, state, receive, local.into(), peer.into()));
    assert_eq!(read("ESTAB 0 5 a:1 b:2"), some(None, Some("ESTAB"), 0.0, "a:1", "b:2"));
    assert_eq!(read("udp UNCONN 7 0 *:68 *:*"), some(Some("udp"), Some("UNCONN"), 7.0, "*:68", "*:*"));
    assert_eq!(read("u_str ESTAB 0 0 /run/x 12 * 13"), some(Some("u_str"), Some("ESTAB"), 0.0, "/run/x:12", "*:13"));
    assert_eq!(read("0 0 [::1]:22 [::1]:99"), some(None, None, 0.0, "[::1]:22", "[::1]:99"));
    for other in ["", "0 0 12 13", "ESTAB", "cubic rto:204 rtt:1/2", "1 2 3 4 5"] {
        assert!(Socket::read(other).is_none(), "{other}");
    }
}

#[test]
fn an_owner_may_have_blanks_in_its_name() {
    let text = "users:((\"tmux: server\",pid=12,fd=4),(\"x\",pid=13,fd=5)) ino:5";
    assert_eq!(owner(text), Some(("tmux: server", "12")));
    assert_eq!(without_owners(text).trim(), "ino:5");
    assert_eq!(owner("users:((\"old\",27,4))"), Some(("old", "27")));
}

#[test]
fn rates_need_times_and_counters_that_grow() {
    let sample = |bytes: u64| {
        format!(
            "State Recv-Q Send-Q Local Address:Port Peer Address:Port\nESTAB 0 0 a:1 b:2\n\t cubic rto:204 cwnd:10 bytes_sent:{bytes}\n"
        )
    };
    let rates = |text: &str| {
        let read = read(&FORMAT, text.as_bytes());
        assert_eq!(read.tally.notes, 0, "{}", read.text);
        read.text.lines().filter(|l| l.contains("bytes_sent_per_s")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(rates(&(sample(1000) + &sample(3000))).is_empty(), "no times, no rates");
    let timed = format!("2026-11-21 10:00:00\n{}2026-11-21 10:00:04\n{}", sample(1000), sample(3000));
    let found = rates(&timed);
    assert!(found.len() == 1 && found[0].contains("\t500\tB/s"), "{found:?}");
    assert!(rates(&format!("2026-11-21 10:00:00\n{}2026-11-21 10:00:04\n{}", sample(10), sample(3))).is_empty());
}
