#!/usr/bin/env python3
"""What CPU times of all processes cost: `fenxi watch pstime 1` against `pidstat 1`, with few and with many processes.

Both watch one after the other, in turn, as many samples; CPU is user and system time of the whole process, its
start included. Then the same for what `fenxi record` spends on its source `process`, against another build of
fenxi where FENXI_BEFORE names one. Settings: BENCH_SAMPLES (8), BENCH_ROUNDS (2), BENCH_PROCESSES (5000).
"""

import json
import os
import shutil
import signal
import statistics

from common import FENXI, fresh, measure, need, report, setting

BEFORE = os.environ.get("FENXI_BEFORE")


class Sleepers:
    """So many real processes that do nothing."""

    def __init__(self, n):
        sleep = shutil.which("sleep")
        self.pids = [os.posix_spawn(sleep, ["sleep", "100000"], {}) for _ in range(n)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
        for pid in self.pids:
            os.waitpid(pid, 0)


def count():
    return sum(name.isdigit() for name in os.listdir("/proc"))


def recording(fenxi, samples):
    """CPU milliseconds a sample that the source `process` of a recording costs, by its own account."""
    store = fresh("pstime-record")
    measure([fenxi, "--store", store, "--quiet", "record", "--interval", "1s", "--for", f"{samples}s",
             "--source", "process"])
    manifest = json.loads(next((store / "runs").glob("run=*/run.json")).read_text())
    return 1000 * next(c["cpu_s"] for c in manifest["costs"] if c["source"] == "process") / samples


def rounds_of(n_rounds, samples):
    """CPU milliseconds a sample, by subject."""
    watch = {"fenxi watch pstime 1": [FENXI, "watch", "pstime", "1", samples], "pidstat 1": ["pidstat", "1", samples],
             "fenxi watch pstime 1, with threads": [FENXI, "watch", "pstime", "1", samples, "-t"]}
    figures = {}
    for _ in range(n_rounds):
        for name, argv in watch.items():
            figures.setdefault(name, []).append(1000 * measure(argv).cpu_s / samples)
        for name, fenxi in [("record, source process", FENXI), ("the same, before", BEFORE)]:
            if fenxi:
                figures.setdefault(name, []).append(recording(fenxi, samples))
    return {name: statistics.median(values) for name, values in figures.items()}


def main():
    need(FENXI, "run `make build`")
    need("pidstat", "install sysstat")
    n_rounds, samples = setting("BENCH_ROUNDS", 2), setting("BENCH_SAMPLES", 8)
    rows = []
    for n in [0, setting("BENCH_PROCESSES", 5000)]:
        with Sleepers(n):
            processes = count()
            figures = rounds_of(n_rounds, samples)
        for name, ms in figures.items():
            peer = figures["the same, before"] if "record" in name and BEFORE else figures["pidstat 1"]
            ratio = f"{ms / peer:.2f}" if "before" not in name and ("record" not in name or BEFORE) else "-"
            rows.append([processes, name, f"{ms:.2f}", ratio])
    notes = [f"{samples} samples, one a second; median of {n_rounds} rounds, the programs in turn.",
             "CPU is user and system time, start included; of a recording that of the source alone, by its own account.",
             "The ratio is to pidstat; of a recording to the other build, if there is one."]
    if not BEFORE:
        notes.append("NOT measured: an earlier build of fenxi (FENXI_BEFORE names none).")
    report("pstime", "What CPU times of processes cost", ["processes", "program", "CPU ms a sample", "ratio"], rows, notes)


if __name__ == "__main__":
    main()
