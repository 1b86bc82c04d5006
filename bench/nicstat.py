#!/usr/bin/env python3
"""What a sample of `fenxi nicstat` costs: CPU seconds, against nicstat 1.95 over the same seconds.

Each pair of processes watches the same interfaces at the same time, with the same options, and prints
to nowhere. Every pair runs twice, with few and with many samples: the difference is what samples cost, without
the start. nicstat counts whole seconds only, so a sample costs a second of waiting.
Settings: BENCH_SAMPLES (20), BENCH_ROUNDS (1).
"""

import statistics

from common import FENXI, Process, fresh, need, report, setting

OPTIONS = [["-p"], [], ["-x"], ["-a"]]
FEW = 2


def start(samples):
    """Everything at once; gives {(options, name): process}."""
    store = fresh("nicstat")
    started = {}
    for options in OPTIONS:
        words = [*options, "1", str(samples)]
        key = " ".join(options) or "(none)"
        started[key, "fenxi"] = Process([FENXI, "--store", store, "nicstat", *words])
        started[key, "nicstat"] = Process(["nicstat", *words])
    return started


def one_round(samples):
    """CPU seconds of each by (options, name), for few and for many samples."""
    figures = {}
    for n in (FEW, FEW + samples):
        for key, process in start(n).items():
            done = process.wait()
            if done.status != 0:
                raise SystemExit(f"bench: {' '.join(done.argv)}: status {done.status}\n{done.stderr}")
            figures.setdefault(key, []).append(done.cpu_s)
    return figures


def main():
    need(FENXI, "run `make build`")
    need("nicstat", "install the package nicstat")
    samples, rounds = setting("BENCH_SAMPLES", 20), setting("BENCH_ROUNDS", 1)
    figures = [one_round(samples) for _ in range(rounds)]
    rows = []
    for options in OPTIONS:
        key = " ".join(options) or "(none)"
        cost, begin = {}, {}
        for name in ("fenxi", "nicstat"):
            cost[name] = statistics.median(f[key, name][1] - f[key, name][0] for f in figures) / samples * 1e6
            begin[name] = statistics.median(f[key, name][0] for f in figures) * 1e3
        ratio = cost["fenxi"] / cost["nicstat"] if cost["nicstat"] > 0 else float("nan")
        rows.append([f"`{key}`", f"{cost['fenxi']:.0f}", f"{cost['nicstat']:.0f}", f"{ratio:.2f}",
                     f"{begin['fenxi']:.1f}", f"{begin['nicstat']:.1f}"])
    notes = [f"{samples} samples more than {FEW}, one a second, {rounds} round(s), all processes at the same time.",
             "CPU is user and system time. The last two columns are a whole run with "
             f"{FEW} samples: the start of the process, mostly.",
             "With `-a` fenxi also asks for the bytes of every TCP socket and counts retransmissions and drops; "
             "nicstat prints zeros there."]
    report("nicstat", "What a sample of nicstat costs",
           ["options", "fenxi, µs a sample", "nicstat, µs a sample", "ratio", "fenxi, ms at start", "nicstat, ms at start"],
           rows, notes)


if __name__ == "__main__":
    main()
