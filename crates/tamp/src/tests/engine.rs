//! The engine under bad conditions: nothing hangs, the first failure is reported, and memory is bounded.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use super::*;
use crate::engine::{self, Limits, Sink, Source, Worker};

#[derive(Default)]
struct Number(u64);

static ALIVE: AtomicUsize = AtomicUsize::new(0);

impl engine::Job for Number {
    fn bytes(&self) -> u64 {
        1
    }

    fn capacity(&self) -> u64 {
        0
    }
}

struct Count(u64, u64);

impl Source for Count {
    type Job = Number;

    fn next(&mut self, job: &mut Number) -> Result<bool, Error> {
        job.0 = self.0;
        self.0 += 1;
        Ok(self.0 <= self.1)
    }
}

struct Work<F>(F);

impl<F: Fn(u64) -> Result<(), Error> + 'static> Worker<Number> for Work<F> {
    fn work(&mut self, job: &mut Number) -> Result<(), Error> {
        (self.0)(job.0)
    }
}

#[derive(Default)]
struct Seen(Vec<u64>);

impl Sink<Number> for Seen {
    fn write_block(&mut self, job: &mut Number) -> Result<ControlFlow<()>, Error> {
        self.0.push(job.0);
        Ok(if job.0 == 900_000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

fn run<F>(count: u64, threads: usize, work: F) -> Result<Vec<u64>, Error>
where
    F: Fn(u64) -> Result<(), Error> + Clone + Send + Sync + 'static,
{
    let limits = Limits { threads, jobs: 4 * threads, bytes: u64::MAX };
    let make = move || Work(work.clone());
    engine::run(limits, Count(0, count), make, Seen::default(), &Meter::default(), &mut unwatched).map(|seen| seen.0)
}

#[test]
fn blocks_leave_in_the_order_in_which_they_came() {
    for threads in [1, 2, 3, 8, 33] {
        let seen = run(5000, threads, |n| {
            if n.is_multiple_of(97) {
                std::thread::sleep(Duration::from_micros(50));
            }
            Ok(())
        });
        assert_eq!(seen.expect("works"), (0..5000).collect::<Vec<u64>>(), "{threads} threads");
    }
}

#[test]
fn the_first_failure_in_the_order_of_the_input_is_the_outcome() {
    for _ in 0..50 {
        let failed = run(5000, 4, |n| if n % 100 == 99 { Err(Error::damaged(n, "x")) } else { Ok(()) });
        assert!(matches!(failed, Err(Error::Damaged { at: 99, .. })), "{failed:?}");
    }
}

#[test]
fn a_worker_that_panics_ends_the_work_with_a_failure() {
    let begun = Instant::now();
    let failed = run(u64::MAX, 4, |n| {
        assert!(n != 1000, "this panic is part of the test");
        Ok(())
    });
    assert!(matches!(failed, Err(Error::Panicked)));
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn the_sink_may_have_enough() {
    assert_eq!(run(u64::MAX, 4, |_| Ok(())).expect("works").len(), 900_001);
}

#[test]
fn no_more_blocks_are_in_flight_than_allowed() {
    struct Counting(u64, std::sync::Arc<AtomicUsize>);
    impl Source for Counting {
        type Job = Number;
        fn next(&mut self, job: &mut Number) -> Result<bool, Error> {
            job.0 = self.0;
            self.0 += 1;
            let now = self.1.fetch_add(1, Ordering::SeqCst) + 1;
            ALIVE.fetch_max(now, Ordering::SeqCst);
            Ok(self.0 <= 3000)
        }
    }
    struct Slow(std::sync::Arc<AtomicUsize>);
    impl Sink<Number> for Slow {
        fn write_block(&mut self, job: &mut Number) -> Result<ControlFlow<()>, Error> {
            if job.0.is_multiple_of(50) {
                std::thread::sleep(Duration::from_millis(1));
            }
            self.0.fetch_sub(1, Ordering::SeqCst);
            Ok(ControlFlow::Continue(()))
        }
    }
    let count = std::sync::Arc::new(AtomicUsize::new(0));
    let limits = Limits { threads: 4, jobs: 16, bytes: u64::MAX };
    let source = Counting(0, std::sync::Arc::clone(&count));
    engine::run(limits, source, || Work(|_| Ok(())), Slow(count), &Meter::default(), &mut unwatched).expect("works");
    // One more than allowed is the one that is being written.
    assert!(ALIVE.load(Ordering::SeqCst) <= 17, "{ALIVE:?} blocks");
}

/// Gives one block, then nothing until long after the test.
struct Silent(bool);

impl Read for Silent {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !std::mem::replace(&mut self.0, true) {
            buffer.fill(b'x');
            return Ok(buffer.len());
        }
        std::thread::sleep(Duration::from_secs(600));
        Ok(0)
    }
}

struct Refuses(io::ErrorKind);

impl Write for Refuses {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_broken_pipe_ends_the_work_although_the_input_is_silent() {
    let begun = Instant::now();
    for format in [Format::Zst, Format::Gz] {
        let options = options(format, Level::default(), 2, None);
        let output = Output::stream(Refuses(io::ErrorKind::BrokenPipe));
        let failed = compress(Input::stream(Silent(false)), output, &options, &Meter::default(), &mut unwatched);
        let error = failed.expect_err("fails");
        assert_eq!(error.io().map(io::Error::kind), Some(io::ErrorKind::BrokenPipe));
    }
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn whoever_watches_can_end_the_work_although_the_input_is_silent() {
    let options = options(Format::Zst, Level::default(), 2, None);
    let mut stop = |_| ControlFlow::Break(());
    let failed = compress(Input::stream(Silent(false)), Output::nowhere(), &options, &Meter::default(), &mut stop);
    assert!(matches!(failed, Err(Error::Interrupted)));
}

#[test]
fn an_input_that_cannot_be_read_is_said() {
    struct Fails(usize);
    impl Read for Fails {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            if self.0 > 5 {
                return Err(io::Error::other("bad sector"));
            }
            Ok(buffer.len())
        }
    }
    let options = options(Format::Lz4, Level::default(), 3, None);
    let failed = compress(Input::stream(Fails(0)), Output::nowhere(), &options, &Meter::default(), &mut unwatched);
    assert!(failed.expect_err("fails").to_string().contains("bad sector"));
    let failed = decompress(
        Input::stream(Fails(5)),
        Output::nowhere(),
        &Decompress::default(),
        &Meter::default(),
        &mut unwatched,
    );
    assert!(failed.expect_err("fails").to_string().contains("bad sector"));
}

#[test]
fn a_file_that_became_shorter_is_an_error() {
    let (directory, file) = in_file(&noise(3 << 20));
    let input = Input::file(file).expect("a file");
    let writer = fs_err::OpenOptions::new().write(true).open(directory.path().join("data")).expect("open");
    writer.set_len(2_500_000).expect("cut");
    let options = options(Format::Zst, Level::default(), 2, None);
    let failed = compress(input, Output::nowhere(), &options, &Meter::default(), &mut unwatched);
    assert!(matches!(failed, Err(Error::Shrank)), "{failed:?}");
}

#[test]
fn what_is_appended_meanwhile_is_not_read() {
    let data = noise(100_000);
    let (directory, file) = in_file(&data);
    let input = Input::file(file).expect("a file");
    let mut writer = fs_err::OpenOptions::new().append(true).open(directory.path().join("data")).expect("open");
    writer.write_all(b"more").expect("written");
    let made = pack_from(input, &options(Format::Lz4, Level::default(), 2, None));
    assert!(unpacked(&made, 2) == data);
}
