#!/usr/bin/env python3
"""What watching every CPU costs: CPU time of `fenxi watch mpstat`, against mpstat and pidstat of sysstat.

Several copies of each tool run over the same seconds, once for many samples and once for a single one: the
difference is what samples cost, without the start and the end. `--busy`, which looks at every task, runs beside
BENCH_TASKS sleeping processes; the tool of sysstat that would name a thread is pidstat -t.
Settings: BENCH_SAMPLES (60), BENCH_COPIES (8), BENCH_TASKS (5000).
"""

import shutil
import statistics
import subprocess
import tempfile

from common import FENXI, Process, need, report, setting


def cost(subjects, copies, samples):
    """CPU milliseconds of each run, by subject: all copies of all subjects at once, in turn."""
    # Output goes to a file: sysstat writes less carefully to /dev/null than to what somebody keeps.
    with tempfile.TemporaryFile() as sink:
        started = [(name, Process([*argv, "1", samples], stdout=sink))
                   for _ in range(copies) for name, argv in subjects]
        done = [(name, process.wait()) for name, process in started]
    spent = {name: [] for name, _ in subjects}
    for name, process in done:
        if process.status != 0:
            raise SystemExit(f"bench: {name}: status {process.status}\n{process.stderr}")
        spent[name].append(1e3 * process.cpu_s)
    return spent


def compare(subjects, copies, samples):
    """Rows of the page: each subject, against the last one, which is the peer."""
    short, long = cost(subjects, copies, 1), cost(subjects, copies, samples)
    median = statistics.median
    sample = {name: (median(long[name]) - median(short[name])) / (samples - 1) for name, _ in subjects}
    peer = subjects[-1][0]
    return [[name, f"{sample[name]:.3f}", f"{sample[name] / sample[peer]:.2f}", f"{median(short[name]):.2f}",
             f"{median(long[name]):.2f}", f"{median(long[name]) / median(long[peer]):.2f}"] for name, _ in subjects]


def main():
    need(FENXI, "run `make build`")
    for tool in ("mpstat", "pidstat"):
        need(tool, "install sysstat")
    samples, copies, tasks = setting("BENCH_SAMPLES", 60), setting("BENCH_COPIES", 8), setting("BENCH_TASKS", 5000)
    fenxi = [FENXI, "watch", "mpstat"]
    rows = compare([("fenxi watch mpstat", fenxi), ("mpstat -P ALL", ["mpstat", "-P", "ALL"])], copies, samples)
    rows += compare([("fenxi watch mpstat -I SUM", [*fenxi, "-I", "SUM"]),
                     ("mpstat -P ALL -I SUM", ["mpstat", "-P", "ALL", "-I", "SUM"])], copies, samples)
    sleeping = [subprocess.Popen([shutil.which("sleep"), "1d"]) for _ in range(tasks)]
    try:
        rows += compare([(f"fenxi watch mpstat --busy, {tasks} tasks", [*fenxi, "--busy"]),
                         (f"pidstat -t, {tasks} tasks", ["pidstat", "-t"])], 2, max(2, samples // 6))
    finally:
        for process in sleeping:
            process.kill()
        for process in sleeping:
            process.wait()
    report("mpstat", "What watching every CPU costs",
           ["tool", "CPU ms a sample", "ratio", "CPU ms, 1 sample", "CPU ms, all", "ratio"], rows,
           [f"{samples} samples, one a second; medians of {copies} copies of each at the same time "
            f"(with --busy: 2 copies, {max(2, samples // 6)} samples).",
            "CPU is user and system time of the whole process; a sample is (all - 1 sample) / (samples - 1).",
            "The ratio is to the line of sysstat's tool below; pidstat -t names threads and shows no CPUs."])


if __name__ == "__main__":
    main()
