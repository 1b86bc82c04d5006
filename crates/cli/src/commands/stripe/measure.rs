//! Measurements of a device or a file by fio: random requests of some sizes, alone and many at once.

use std::{io, os::unix::fs::FileTypeExt, path::Path, process::Command};

use anyhow::{Context, bail};
use fenxi_analyze::{Disk, Point};
use rustix::fs::{Mode, OFlags};
use serde_json::Value;

use crate::print;

/// Sizes that are measured, in KiB.
const SIZES: [u32; 5] = [4, 16, 64, 256, 1024];
/// Seconds for each.
const SECONDS: u32 = 1;
/// A file of fewer bytes lies in some cache or other.
const SMALLEST: u64 = 64 << 20;

/// Measures a disk with `many` requests at once. Nothing is written unless `writes`, which overwrites what is there.
///
/// # Errors
/// Where fio is not installed or fails, or the place is none to measure.
pub fn disk(path: &Path, writes: bool, many: u32) -> anyhow::Result<Disk> {
    let kind = fs_err::metadata(path)?.file_type();
    if !kind.is_file() && !kind.is_block_device() {
        bail!("{} is neither a file nor a block device", path.display());
    }
    let bytes = { io::Seek::seek(&mut fs_err::File::open(path)?, io::SeekFrom::End(0))? };
    if bytes < SMALLEST {
        bail!("{} has {} MiB; measure at least 64", path.display(), bytes >> 20);
    }
    if writes && kind.is_block_device() {
        // A device that is mounted, or part of one that is, is held by the kernel.
        let exclusive = OFlags::WRONLY | OFlags::EXCL | OFlags::CLOEXEC;
        let free = rustix::fs::open(path, exclusive, Mode::empty());
        drop(free.with_context(|| format!("{} is in use: nothing is written to it", path.display()))?);
    }
    let reads = points(path, "randread", many)?;
    let writes = if writes { points(path, "randwrite", many)? } else { Vec::new() };
    Ok(Disk::Measured { reads, writes })
}

fn points(path: &Path, pattern: &str, many: u32) -> anyhow::Result<Vec<Point>> {
    let seconds = 2 * SIZES.len() as u32 * SECONDS;
    print::message(&format!("fio: {pattern} of {}, {seconds} s", path.display()));
    let output = match fio(path, pattern, many).output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bail!("--measure needs fio, which is not installed (package fio)")
        }
        output => output.context("fio")?,
    };
    let report = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let line = errors.lines().chain(report.lines()).find(|line| !line.trim().is_empty()).unwrap_or_default();
        bail!("fio cannot measure {}: {}", path.display(), print::visible(line));
    }
    read(&report, pattern.trim_start_matches("rand")).context("fio's report is not as expected")
}

fn fio(path: &Path, pattern: &str, many: u32) -> Command {
    let mut command = Command::new("fio");
    command.args(["--output-format=json", "--direct=1", "--ioengine=libaio", "--allow_file_create=0", "--time_based"]);
    command.args(["--stonewall", &format!("--rw={pattern}"), &format!("--runtime={SECONDS}")]);
    // fio takes `:` for a list of files.
    command.arg(format!("--filename={}", path.to_string_lossy().replace(':', "\\:")));
    if pattern == "randread" {
        // fio refuses to write whatever else it is asked for.
        command.arg("--readonly");
    }
    for size in SIZES {
        for depth in [1, many.max(1)] {
            command.arg("--name=point").arg(format!("--bs={size}k")).arg(format!("--iodepth={depth}"));
        }
    }
    command
}

/// Points of fio's report, of jobs in pairs: alone, and many at once.
fn read(report: &str, op: &str) -> anyhow::Result<Vec<Point>> {
    // Warnings of fio come before the report, on the same stream.
    let json = report.find('{').map_or("", |begin| &report[begin..]);
    let report: Value = serde_json::from_str(json)?;
    let jobs = report["jobs"].as_array().context("no `jobs`")?;
    let number = |job: &Value, place: &str| {
        let value = job[op].pointer(place).and_then(Value::as_f64).filter(|value| *value > 0.0);
        value.with_context(|| format!("a job without `{op}{place}`"))
    };
    let pair = |(size, jobs): (u32, &[Value])| {
        let [alone, many] = jobs else { bail!("a job is missing") };
        let (alone_s, per_s) = (number(alone, "/lat_ns/mean")? / 1e9, number(many, "/iops")?);
        Ok(Point { bytes: f64::from(size) * 1024.0, alone_s, per_s })
    };
    if jobs.len() != 2 * SIZES.len() {
        bail!("{} jobs and not {}", jobs.len(), 2 * SIZES.len());
    }
    SIZES.into_iter().zip(jobs.chunks(2)).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_gives_a_latency_and_a_rate_for_each_size() {
        let job = |us: u32, iops: u32| {
            format!(r#"{{"jobname":"point","read":{{"iops":{iops}.5,"lat_ns":{{"mean":{}}}}}}}"#, us * 1000)
        };
        let jobs: Vec<String> = (1..=5).flat_map(|i| [job(100 * i, 1), job(999, 10_000 / i)]).collect();
        let report = format!("note: both iodepth >= 1 …\n{{\"jobs\":[{}]}}", jobs.join(","));
        let points = super::read(&report, "read").unwrap();
        assert_eq!(points[0], Point { bytes: 4096.0, alone_s: 1e-4, per_s: 10_000.5 });
        assert_eq!((points.len(), points[4].bytes, points[4].per_s), (5, 1_048_576.0, 2000.5));
        assert!(super::read(&report, "write").is_err());
        assert!(super::read("fio: failed", "read").is_err() && super::read("{\"jobs\":[]}", "read").is_err());
    }

    #[test]
    fn reads_are_measured_by_a_fio_that_refuses_to_write() {
        let arguments = |pattern| format!("{:?}", fio(Path::new("/dev/x"), pattern, 8));
        assert!(arguments("randread").contains("--readonly") && !arguments("randread").contains("randwrite"));
        assert!(!arguments("randwrite").contains("--readonly"));
    }
}
