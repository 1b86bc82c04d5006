//! Conditions over made-up rows and moments.

use fenxi_model::catalog::{cpu, disk, event, sched};

use super::*;

struct Harness {
    watched: Watched,
    calm_s: f64,
    now: f64,
}

impl Harness {
    fn new(text: &str, calm_s: f64) -> Harness {
        Harness { watched: Watched::new(Condition::parse(text).unwrap()), calm_s, now: 0.0 }
    }

    fn look(&mut self, fill: impl FnOnce(&mut Rows)) -> Vec<Fired> {
        self.look_for(fill, None)
    }

    fn look_for(&mut self, fill: impl FnOnce(&mut Rows), sessions: Option<f64>) -> Vec<Fired> {
        self.now += 1.0;
        let mut rows = Rows::new("here");
        fill(&mut rows);
        let t = Micros((self.now * 1e6) as i64);
        self.watched.look(&rows, sessions, Moment { now: self.now, t, dt: 1.0, calm_s: self.calm_s })
    }

    /// At which of the ticks with these values of the run queue it fired.
    fn ticks(&mut self, values: &[f64]) -> Vec<usize> {
        let mut fired = Vec::new();
        for (tick, value) in values.iter().enumerate() {
            fired.extend(self.look(|rows| runnable(rows, *value)).iter().map(|_| tick));
        }
        fired
    }
}

fn runnable(rows: &mut Rows, value: f64) {
    rows.row(&sched::TABLE, Micros(0), 1.0).f64(sched::runnable, Some(value).filter(|value| value.is_finite()));
}

fn idle(rows: &mut Rows, name: Option<&str>, idle: f64) {
    rows.row(&cpu::TABLE, Micros(0), 1.0).str(cpu::cpu, name).f64(cpu::idle, idle);
}

#[test]
fn a_condition_fires_when_it_has_held_and_once_until_it_has_not() {
    let nan = f64::NAN;
    assert_eq!(Harness::new("sched.runnable > 5 for 3s", 0.0).ticks(&[9.0, 9.0, 9.0, 9.0, 1.0, 9.0, 9.0, 9.0]), [2, 7]);
    assert_eq!(Harness::new("sched.runnable > 5 for 3s", 0.0).ticks(&[9.0, 9.0, 5.0, 9.0, 9.0, 9.0]), [5]);
    assert_eq!(Harness::new("sched.runnable > 5", 0.0).ticks(&[9.0, 9.0, 1.0, 9.0]), [0, 3]);
    assert_eq!(
        Harness::new("sched.runnable > 5 for 2s", 0.0).ticks(&[9.0, nan, 9.0, 9.0]),
        [3],
        "the unknown does not hold"
    );
    assert_eq!(Harness::new("sched.runnable < 2", 0.0).ticks(&[3.0, 1.0]), [1]);
}

#[test]
fn a_value_that_flaps_fires_once_per_calm() {
    let flapping: Vec<f64> = (0..30).map(|i| if i % 2 == 0 { 9.0 } else { 1.0 }).collect();
    assert_eq!(Harness::new("sched.runnable > 5", 10.0).ticks(&flapping), [0, 10, 20]);
}

#[test]
fn levels_fire_once_each_on_the_way_up_and_again_after_a_fall() {
    let mut opened = Harness::new("sched.runnable reaches 10,20,30", 0.0);
    let values: Vec<f64> = (1..=35).map(f64::from).collect();
    assert_eq!(opened.ticks(&values), [9, 19, 29]);
    assert_eq!(opened.ticks(&[30.0, 29.0, 30.0]), [] as [usize; 0], "not fallen far enough");
    assert_eq!(opened.ticks(&[26.0, 30.0]), [1]);
    assert_eq!(opened.ticks(&[0.0, 31.0]), [1, 1, 1], "all levels at once");
    assert_eq!(
        Harness::new("sched.runnable reaches 10", 0.0).ticks(&[15.0, 16.0, 8.0, 10.0]),
        [3],
        "it was there before"
    );
    assert_eq!(Harness::new("sched.runnable reaches 10", 60.0).ticks(&[1.0, 10.0, 1.0, 10.0]), [1], "calm");
}

#[test]
fn all_cpus_are_meant_unless_one_or_any_is_named() {
    let rows = |rows: &mut Rows| {
        idle(rows, Some("0"), 2.0);
        idle(rows, Some("1"), 90.0);
        idle(rows, None, 46.0);
    };
    let fired = |text: &str| Harness::new(text, 0.0).look(rows);
    assert_eq!(fired("cpu.busy > 60"), []);
    let [one] = fired("cpu.busy{cpu=*} > 50").try_into().unwrap();
    assert_eq!(
        (one.series.as_str(), one.value, one.message.as_str()),
        ("cpu=0", Some(98.0), "the value of cpu=0 is 98")
    );
    assert_eq!(fired("cpu.busy{cpu=1} > 50"), []);
    assert_eq!(fired("max(cpu.busy{cpu=*}) > 97")[0].value, Some(98.0));
    assert_eq!(fired("count(cpu{cpu=*}) >= 2")[0].value, Some(2.0));
    assert_eq!(fired("cpu.busy > 60 and cpu.busy{cpu=*} > 50"), []);
    assert_eq!(fired("cpu.busy > 40 and cpu.busy{cpu=*} > 50").len(), 1);
}

#[test]
fn every_device_is_followed_by_itself() {
    let mut made = Harness::new("disk.await_ms > 20 for 2s", 0.0);
    let rows = |a: f64, b: f64| {
        move |rows: &mut Rows| {
            for (name, value) in [("sda", a), ("sdb", b)] {
                rows.row(&disk::TABLE, Micros(0), 1.0).str(disk::device, name).f64(disk::await_ms, value);
            }
        }
    };
    assert_eq!(made.look(rows(30.0, 1.0)), []);
    let [first] = made.look(rows(30.0, 30.0)).try_into().unwrap();
    assert_eq!(first.message, "the value of device=sda is 30, and has held for 2.0 s");
    let [second] = made.look(rows(30.0, 30.0)).try_into().unwrap();
    assert_eq!(second.series, "device=sdb");
}

#[test]
fn events_fire_by_their_words() {
    let mut made = Harness::new("event kind='oom kill'", 0.0);
    assert_eq!(made.look(|rows| rows.event(Micros(0), "mark", "x", "y")), []);
    let [fired] = made.look(|rows| rows.event(Micros(0), "oom kill", "mysqld", "killed")).try_into().unwrap();
    assert_eq!(fired.message, "mysqld: killed");
    let mut log = Harness::new("event kind=log, message~'I/O error'", 10.0);
    let [one] = log
        .look(|rows| {
            rows.event(Micros(0), "log", "kernel", "sda: I/O error, sector 5");
            rows.event(Micros(0), "log", "kernel", "sda: I/O error, sector 6");
        })
        .try_into()
        .unwrap();
    assert!(one.message.ends_with("sector 5"), "the second is within the calm");
    assert_eq!(event::TABLE.name, "event");
}

#[test]
fn what_is_unlike_the_hour_before_fires() {
    let mut made = Harness::new("sched.runnable unusually high for 2s", 0.0);
    let mut values: Vec<f64> = (0..100).map(|i| 10.0 + f64::from(i % 3)).collect();
    values.extend([90.0, 11.0, 90.0, 95.0, 90.0]);
    assert_eq!(made.ticks(&values), [103]);
    assert_eq!(Harness::new("sched.runnable unusually low", 0.0).ticks(&values), [] as [usize; 0]);
    let mut again = Harness::new("sched.runnable unusual", 0.0);
    for value in &values[..100] {
        again.look(|rows| runnable(rows, *value));
    }
    let fired = again.look(|rows| runnable(rows, 90.0));
    assert!(fired[0].message.starts_with("the value is 90: ") && fired[0].value == Some(90.0), "{fired:?}");
}

#[test]
fn a_condition_that_never_fired_says_what_came_nearest() {
    let never = |text: &str, values: &[f64]| {
        let mut made = Harness::new(text, 0.0);
        assert_eq!(made.ticks(values), [] as [usize; 0]);
        made.watched.never()
    };
    assert_eq!(
        never("sched.runnable > 50", &[3.0, 7.5, 4.0]),
        "never fired: the largest value seen was 7.50 at 1970-01-01T00:00:02.000000Z"
    );
    assert_eq!(
        never("sched.runnable < 2", &[3.0, 7.0]),
        "never fired: the smallest value seen was 3 at 1970-01-01T00:00:01.000000Z"
    );
    assert_eq!(
        never("sched.runnable > 5 for 3s", &[3.0, 7.5, 4.0]),
        "never held for 3 s: the largest value seen was 7.50 at 1970-01-01T00:00:02.000000Z"
    );
    assert_eq!(never("sched.runnable > 50", &[]), "never fired: no value was seen");
    assert_eq!(
        never("sched.runnable unusual", &[1.0]),
        "never fired: the last hour had less than 60 values to compare with"
    );
    assert_eq!(never("event kind=x", &[1.0]), "never fired: there was no such event");
}

#[test]
fn sessions_are_counted_elsewhere() {
    let mut made = Harness::new("sessions{user=glennf} reaches 2", 0.0);
    let fired: Vec<_> = [0.0, 1.0, 2.0, 3.0].map(|n| made.look_for(|_| {}, Some(n)).len()).into();
    assert_eq!(fired, [0, 0, 1, 0]);
}

#[test]
fn a_condition_that_is_held_back_says_so_and_not_that_it_never_held() {
    let mut made = Harness::new("sched.runnable > 5", 60.0);
    assert_eq!(made.ticks(&[9.0, 9.0]), [0]);
    // The next run: it goes on, ends, and comes again within the calm.
    made.watched.begin_next();
    assert_eq!(made.ticks(&[9.0, 1.0, 9.0]), [] as [usize; 0]);
    assert!(made.watched.never().starts_with("did not fire again: it had fired before"), "{}", made.watched.never());
    assert_eq!((made.watched.n_fired, made.watched.n_fired_ever), (0, 1));
    // One in which it does not hold.
    made.watched.begin_next();
    assert_eq!(made.ticks(&[1.0]), [] as [usize; 0]);
    assert!(made.watched.never().starts_with("never fired: the largest value seen was 1"), "{}", made.watched.never());
}
