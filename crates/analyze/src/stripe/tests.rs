//! The model beside figures that are known, and beside trying all places.

use super::*;

const KIB: u64 = 1024;
const MIB: f64 = 1_048_576.0;

fn sizes() -> Vec<u64> {
    (2..=10).map(|power| KIB << power).collect()
}

fn disks_of_150() -> Storage {
    Storage {
        disks: 8,
        disk: Disk::Serial { iops: 150.0, bytes_per_s: None },
        layout: Layout::Striped,
        unit: Unit::Stripe,
        bus: None,
        in_flight: 8,
    }
}

fn reads(bytes: u64) -> Requests {
    Requests { random: true, write: false, bytes, share: 1.0 }
}

fn writes(bytes: u64) -> Requests {
    Requests { write: true, ..reads(bytes) }
}

fn at(choices: &[Choice], kib: u64) -> Choice {
    *choices.iter().find(|choice| choice.bytes == kib * KIB).unwrap()
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} {b}");
}

#[test]
fn a_scan_is_size_times_iops_times_disks_until_the_bus_is_full() {
    let choices = disks_of_150().choices(&[reads(8 * KIB)], &sizes());
    near(at(&choices, 4).scan_bytes_per_s, 4800.0 * 1024.0);
    near(at(&choices, 128).scan_bytes_per_s, 150.0 * MIB);
    near(at(&choices, 512).scan_bytes_per_s, 600.0 * MIB);
    for bus in [300.0, 320.0, 350.0] {
        let storage = Storage { bus: Some(bus * MIB), ..disks_of_150() };
        let choices = storage.choices(&[reads(8 * KIB)], &sizes());
        assert_eq!(choices[best_sizes(&choices).unwrap().scan].bytes, 256 * KIB, "{bus}");
        // Random reads are the same from 8 KiB on, so the mix takes the size that fills the bus.
        let fills = if bus > 300.0 { 512 } else { 256 };
        assert_eq!(choices[best_sizes(&choices).unwrap().mix].bytes, fills * KIB, "{bus}");
        assert_eq!((at(&choices, 512).limit, at(&choices, 128).limit), (Limit::Bus, Limit::Iops));
    }
}

#[test]
fn of_sizes_with_the_same_latency_the_largest_is_best_for_random_reads() {
    let point = |kib: f64, alone_us: f64| Point { bytes: kib * 1024.0, alone_s: alone_us / 1e6, per_s: 1e6 / alone_us };
    // Flash: as fast for 512 bytes as for 4 KiB, then slower.
    let curve = [(0.5, 90.0), (4.0, 90.0), (8.0, 110.0), (64.0, 400.0), (1024.0, 4000.0)];
    let storage = Storage {
        disks: 1,
        disk: Disk::Measured { reads: curve.map(|(kib, us)| point(kib, us)).to_vec(), writes: Vec::new() },
        unit: Unit::Record,
        ..disks_of_150()
    };
    let choices = storage.choices(&[reads(512)], &(9..=20).map(|power| 1 << power).collect::<Vec<u64>>());
    let best = best_sizes(&choices).unwrap();
    assert_eq!(choices[best.random.unwrap()].bytes, 4096);
    assert!(choices[best.scan].bytes >= 64 * KIB);
    near(storage.disk.alone_s(6.0 * 1024.0, false), 100e-6);
    near(storage.disk.alone_s(2048.0 * 1024.0, true), 8000e-6);
}

#[test]
fn requests_cross_when_they_are_not_aligned_or_larger() {
    assert_eq!(touched(8192, 65536), (1.0, 0.0));
    assert_eq!(touched(8192, 4096), (2.0, 1.0));
    assert_eq!(touched(8192, 8192), (1.0, 0.0));
    // 12 KiB at multiples of 4 KiB: of 16 places in 64 KiB, at the last two it crosses.
    assert_eq!(touched(12288, 65536), (1.0 + 2.0 / 16.0, 2.0 / 16.0));
    // By trying all places.
    for (request, unit) in [(20_480_u64, 16_384_u64), (4096, 1024), (512, 4096), (100_000, 32_768)] {
        let step = if request.is_power_of_two() { request } else { 4096 };
        let all: Vec<u64> = (0..4096).map(|n| (n * step + request - 1) / unit - n * step / unit + 1).collect();
        let mean = all.iter().sum::<u64>() as f64 / all.len() as f64;
        assert!((touched(request, unit).0 - mean).abs() < 1e-9, "{request} {unit}: {mean}");
    }
}

#[test]
fn a_record_is_read_and_written_whole() {
    let disk = Disk::Limited { latency_s: 0.001, iops: 1e6, bytes_per_s: Some(100.0 * MIB) };
    let storage = Storage { disks: 1, disk, unit: Unit::Record, in_flight: 64, ..disks_of_150() };
    let choices = storage.choices(&[writes(8 * KIB)], &sizes());
    // 8 KiB are one record of 8 KiB: 100 MiB/s of them. Of 128 KiB, all are read and written: a thirty-second.
    near(at(&choices, 8).mix_per_s, 12_800.0);
    near(at(&choices, 128).mix_per_s, 400.0);
    near(at(&choices, 128).random_s.unwrap(), 2.0 * (0.001 + 0.125 / 100.0));
    assert_eq!((at(&choices, 8).read_first, at(&choices, 128).read_first), (Some(0.0), Some(1.0)));
    // Random requests want small records and scans want large ones: each size on the way is a compromise.
    assert_eq!(choices[best_sizes(&choices).unwrap().random.unwrap()].bytes, 8 * KIB);
}

#[test]
fn parity_costs_small_writes_most() {
    let of = |layout, requests: Requests| {
        let storage = Storage { layout, in_flight: 1000, ..disks_of_150() };
        at(&storage.choices(&[requests], &sizes()), 64).mix_per_s
    };
    near(of(Layout::Striped, writes(8 * KIB)), 1200.0);
    near(of(Layout::Mirrored, writes(8 * KIB)), 600.0);
    near(of(Layout::Parity(1), writes(8 * KIB)), 300.0);
    near(of(Layout::Parity(2), writes(8 * KIB)), 200.0);
    // In order, whole stripes are written: 7 of 8 disks have data.
    let in_order = Requests { random: false, ..writes(64 * KIB) };
    near(of(Layout::Parity(1), in_order), 1200.0 * 7.0 / 8.0);
    near(of(Layout::Mirrored, reads(8 * KIB)), 1200.0);
}

#[test]
fn as_many_requests_as_disks_leave_some_of_them_idle() {
    let per_s = |in_flight| {
        let storage = Storage { in_flight, ..disks_of_150() };
        at(&storage.choices(&[reads(8 * KIB)], &sizes()), 64).random_per_s.unwrap()
    };
    near(per_s(1), 150.0);
    near(per_s(8), 1200.0 * 8.0 / 15.0);
    assert!(per_s(1000) > 1190.0);
}

#[test]
fn a_size_that_is_worse_for_both_is_not_on_the_front() {
    let storage = Storage { bus: Some(300.0 * MIB), ..disks_of_150() };
    let choices = storage.choices(&[reads(64 * KIB)], &sizes());
    let front: Vec<u64> = choices.iter().filter(|choice| choice.is_front).map(|choice| choice.bytes / KIB).collect();
    // From 256 KiB on a scan fills the bus, and random reads are the same from 64 KiB on.
    assert_eq!(front, [256, 512, 1024]);
}

#[test]
fn a_mix_is_limited_by_what_its_kinds_take_together() {
    let storage = Storage { disks: 1, ..disks_of_150() };
    let in_order = Requests { random: false, write: false, bytes: 1024 * KIB, share: 30.0 };
    let choices = storage.choices(&[Requests { share: 70.0, ..reads(8 * KIB) }, in_order], &sizes());
    // Of ten requests 7 take one access, and 3 take 16 of 64 KiB each.
    near(at(&choices, 64).mix_per_s, 10.0 / (7.0 / 150.0 + 3.0 * 16.0 / 150.0));
    assert_eq!(at(&choices, 64).read_first, None);
    assert!(storage.choices(&[], &sizes()).iter().all(|choice| choice.random_per_s.is_none()));
}
