#!/usr/bin/env python3
"""What watching memory costs: CPU seconds per sample of `fenxi watch memstat` against `vmstat` and `free -s`.

All run over the same seconds of the same machine, one sample each interval, so that whatever else happens
there happens to all of them. CPU is user and system time by wait4. What a start alone costs is measured
too, as it weighs more than a few samples.
Settings: BENCH_SAMPLES (60), BENCH_ROUNDS (3).
"""

import pathlib
import statistics

from common import FENXI, Process, fresh, need, report, setting


def commands(samples, file):
    """What is compared, by name, each to take `samples` samples a second apart."""
    return {
        "vmstat 1": ["vmstat", "1", samples + 1],
        "free -s 1": ["free", "-s", "1", "-c", samples + 1],
        "fenxi watch memstat 1": [FENXI, "watch", "memstat", "1", samples],
        "fenxi watch memstat 1 --files FILE": [FENXI, "watch", "memstat", "1", samples, "--files", file],
    }


def started_once(file):
    """The same with one sample: what the start costs, to be taken from the rest."""
    return {
        "vmstat 1": ["vmstat", "1", "1"],
        "free -s 1": ["free"],
        "fenxi watch memstat 1": [FENXI, "watch", "memstat"],
        "fenxi watch memstat 1 --files FILE": [FENXI, "watch", "memstat", "--files", file],
    }


def one_round(samples, file):
    """Runs all at once; gives (CPU seconds in all, CPU seconds of the start) by name."""
    starts = {}
    for name, argv in started_once(file).items():
        starts[name] = statistics.median(finished(Process(argv)) for _ in range(5))
    running = {name: Process(argv) for name, argv in commands(samples, file).items()}
    return {name: (finished(process), starts[name]) for name, process in running.items()}


def finished(process):
    done = process.wait()
    if done.status != 0:
        raise SystemExit(f"bench: {' '.join(done.argv)}: status {done.status}\n{done.stderr}")
    return done.cpu_s


def main():
    need(FENXI, "run `make build`")
    need("vmstat", "install procps")
    samples, rounds = setting("BENCH_SAMPLES", 60), setting("BENCH_ROUNDS", 3)
    file = fresh("memstat") / "file"
    pathlib.Path(file).write_bytes(bytes(64 << 20))
    figures = [one_round(samples, file) for _ in range(rounds)]
    names = list(figures[0])
    total = {n: statistics.median(f[n][0] for f in figures) for n in names}
    each = {n: statistics.median(max(f[n][0] - f[n][1], 0) / samples for f in figures) for n in names}

    def ratios(name, peer):
        return statistics.median(f[name][0] / f[peer][0] for f in figures if f[peer][0] > 0)

    rows = [[n, f"{total[n]:.3f}", f"{1e3 * each[n]:.2f}", f"{ratios(n, 'vmstat 1'):.2f}",
             f"{ratios(n, 'free -s 1'):.2f}"] for n in names]
    processes = sum(1 for p in pathlib.Path("/proc").iterdir() if p.name.isdigit())
    report("memstat", "What watching memory costs",
           ["command", "CPU s", "CPU ms per sample, without the start", "/ vmstat", "/ free"], rows,
           [f"{samples} samples, one a second, {rounds} rounds, all commands at the same time; medians.",
            "CPU is user and system time of the whole process; the ratios are of whole processes.",
            f"{processes} processes ran at the end: every ten seconds `fenxi watch memstat` looks through all of them for "
            "the executables and libraries that they map, which the others do not show at all.",
            "FILE has 64 MiB, all in the page cache; to know who has it open, the descriptors of all processes are "
            "looked through at every sample.",
            "vmstat and free read /proc/meminfo (vmstat also /proc/stat and /proc/vmstat) and print one line."])


if __name__ == "__main__":
    main()
