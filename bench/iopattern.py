#!/usr/bin/env python3
"""What `fenxi trace iopattern` costs the observed programs: reads of 4 KiB from the page cache, with and without, in turns.

Settings: BENCH_ROUNDS (5), BENCH_SECONDS (3).
"""

import contextlib
import json
import statistics

from common import FENXI, fresh, need, output, report, setting
from observers import Observer


def fio(file, seconds):
    """Reads per second, CPU time of each in microseconds, and the 99th percentile in microseconds."""
    text = output(["fio", "--name=job", f"--filename={file}", "--size=64m", "--bs=4k", "--rw=randread", "--ioengine=psync",
                   "--norandommap=1", "--invalidate=0", "--time_based", f"--runtime={seconds}", "--output-format=json"])
    job = json.loads(text)["jobs"][0]
    read = job["read"]
    cpu_s = (job["usr_cpu"] + job["sys_cpu"]) / 100 * read["runtime"] / 1000
    return read["iops"], cpu_s / read["total_ios"] * 1e6, read["clat_ns"]["percentile"]["99.000000"] / 1000


def main():
    need("fio", "apt-get install fio")
    need(FENXI, "run `make build`")
    rounds, seconds = setting("BENCH_ROUNDS", 5), setting("BENCH_SECONDS", 3)
    folder = fresh("iopattern")
    file = folder / "job.dat"
    file.write_bytes(bytes(64 << 20))
    kinds = {"alone": None, "iopattern": ["trace", "iopattern", "1"]}
    found = {kind: [] for kind in kinds}
    for _ in range(rounds):
        for kind, options in kinds.items():
            with Observer([FENXI, *options]) if options else contextlib.nullcontext():
                found[kind].append(fio(file, seconds))
    rows, before = [], None
    for kind, figures in found.items():
        iops, cpu_us, p99 = (statistics.median(figure[i] for figure in figures) for i in range(3))
        before = before or cpu_us
        rows.append([kind, f"{iops:.0f}", f"{cpu_us:.2f}", f"{cpu_us - before:+.2f}", f"{p99:.2f}"])
    report("iopattern", "Reads under trace iopattern", ["", "reads/s", "CPU µs each", "more", "p99 µs"], rows,
           [f"Medians of {rounds} rounds of {seconds} s in turns; fio, psync, 4 KiB at random from the page cache, 1 job. CPU time is fio's own: others who run meanwhile do not count."])


if __name__ == "__main__":
    main()
