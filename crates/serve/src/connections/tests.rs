//! Which connection is closed when there are too many.

use super::*;

const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

fn house(connections: usize, requests: usize) -> Arc<House> {
    let seconds = Duration::from_secs;
    House::new(Bounds { connections, requests, arrival: seconds(8), idle: seconds(30), patience: seconds(20) })
}

fn other(last: u8) -> IpAddr {
    [192, 0, 2, last].into()
}

#[test]
fn networks_of_ipv6_and_all_of_this_machine_are_one_household() {
    let of = |text: &str| Household::of(text.parse().unwrap());
    assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
    assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
    assert_eq!(of("127.0.0.1"), of("127.9.9.9"));
    assert_eq!((of("::1"), of("::ffff:127.0.0.1")), (Household::Here, Household::Here));
    assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.1"));
}

#[test]
fn who_was_silent_for_longest_makes_room_and_who_is_at_work_does_not() {
    let (house, now) = (house(3, 10), Instant::now());
    let at = |s: u64| now + Duration::from_secs(s);
    let working = house.admit(HERE, now).unwrap();
    let turn = house.begin(&working.guest).unwrap();
    let silent: Vec<Seat> = (1..=2).map(|s| house.admit(HERE, at(s)).unwrap()).collect();
    let third = house.admit(HERE, at(3)).unwrap();
    assert!(silent[0].guest.go.is_cancelled() && !silent[1].guest.go.is_cancelled());
    assert!(!working.guest.go.is_cancelled() && !third.guest.go.is_cancelled());
    // Its request is answered: from now on it is as idle as others.
    drop(turn);
    let _fourth = house.admit(HERE, at(100)).unwrap();
    assert!([&working, &silent[1], &third].iter().filter(|s| s.guest.go.is_cancelled()).count() == 1);
}

#[test]
fn when_all_are_at_work_who_comes_is_refused() {
    let (house, now) = (house(2, 10), Instant::now());
    let seats: Vec<Seat> = (0..2).map(|_| house.admit(HERE, now).unwrap()).collect();
    let turns: Vec<Turn> = seats.iter().map(|s| house.begin(&s.guest).unwrap()).collect();
    assert!(house.admit(HERE, now).is_none());
    assert_eq!(house.load(), (2, 2, 1));
    drop((turns, seats));
    assert_eq!(house.load(), (0, 0, 1));
    assert!(house.admit(HERE, now).is_some());
}

#[test]
fn another_machine_has_its_share_and_no_more() {
    let (house, now) = (house(8, 10), Instant::now());
    let at = |s: u64| now + Duration::from_secs(s);
    let seats: Vec<Seat> = (0..4).map(|s| house.admit(other(1), at(s)).unwrap()).collect();
    let gone: Vec<bool> = seats.iter().map(|s| s.guest.go.is_cancelled()).collect();
    assert_eq!(gone, [true, true, false, false]);
    // When all places are taken, who has several gives one up before who has one, however long it is there.
    let neighbour = house.admit(other(2), at(0)).unwrap();
    let _others: Vec<Seat> = [3, 3, 4, 4, 5].map(|i| house.admit(other(i), at(3)).unwrap()).into();
    let _one_more = house.admit(other(6), at(10)).unwrap();
    assert!(seats[2].guest.go.is_cancelled() && !neighbour.guest.go.is_cancelled());
}

#[test]
fn silence_ends_after_its_time() {
    let (house, now) = (house(8, 10), Instant::now());
    let at = |s: u64| now + Duration::from_secs(s);
    let seat = house.admit(HERE, now).unwrap();
    house.sweep(at(7));
    assert!(!seat.guest.go.is_cancelled());
    house.sweep(at(9));
    assert!(seat.guest.go.is_cancelled());
    // One that asked once may be silent for longer, is asked to go, and then has to.
    let seat = house.admit(HERE, now).unwrap();
    drop(house.begin(&seat.guest));
    house.sweep(at(29));
    assert!(!seat.guest.leave.is_cancelled());
    house.sweep(at(32));
    assert!(seat.guest.leave.is_cancelled() && !seat.guest.go.is_cancelled());
    house.sweep(at(38));
    assert!(seat.guest.go.is_cancelled());
}

#[test]
fn a_socket_that_takes_nothing_is_closed() {
    let house = house(8, 10);
    let seat = house.admit(HERE, Instant::now()).unwrap();
    let _turn = house.begin(&seat.guest).unwrap();
    seat.guest.write_waits(&house);
    house.sweep(Instant::now() + Duration::from_secs(19));
    assert!(!seat.guest.go.is_cancelled());
    seat.guest.write_goes_on();
    house.sweep(Instant::now() + Duration::from_secs(60));
    assert!(!seat.guest.go.is_cancelled());
    seat.guest.write_waits(&house);
    house.sweep(Instant::now() + Duration::from_secs(21));
    assert!(seat.guest.go.is_cancelled());
}

#[test]
fn when_there_are_too_many_requests_the_one_that_waited_longest_is_cut_off() {
    let house = house(8, 2);
    let seat = house.admit(HERE, Instant::now()).unwrap();
    let turns: Vec<Turn> = (0..2).map(|_| house.begin(&seat.guest).unwrap()).collect();
    assert!(house.begin(&seat.guest).is_none(), "the server works for both");
    turns[0].request.theirs(Instant::now(), 0);
    let third = house.begin(&seat.guest).unwrap();
    assert!(turns[0].request.cut_since().is_some() && turns[1].request.cut_since().is_none());
    assert_eq!(house.load().1, 2);
    drop((turns, third));
    assert_eq!(house.load().1, 0);
}

#[test]
fn a_connection_that_takes_none_of_its_answers_is_closed() {
    let house = house(8, 10);
    let now = Instant::now();
    let at = |s: u64| now + Duration::from_secs(s);
    let seat = house.admit(HERE, now).unwrap();
    let (slow, still) = (house.begin(&seat.guest).unwrap(), house.begin(&seat.guest).unwrap());
    slow.request.theirs(now, 0);
    house.sweep(at(21));
    assert!(slow.request.cut_since().is_some());
    house.sweep(at(40));
    assert!(!seat.guest.go.is_cancelled(), "the other request goes on");
    still.request.theirs(at(40), 0);
    house.sweep(at(61));
    house.sweep(at(67));
    assert!(seat.guest.go.is_cancelled());
}
