#!/usr/bin/env python3
"""What a sample of `fenxi util` costs: CPU seconds, against mpstat (sysstat) over the same seconds.

Each process prints to nowhere, and both run at the same time. Every pair runs twice, with few and with many
samples: the difference is what samples cost, without the start. mpstat shows the clock ticks only, util also
what the scheduler measures. Settings: BENCH_SAMPLES (30), BENCH_ROUNDS (1).
"""

import statistics

from common import FENXI, Process, fresh, need, report, setting

PAIRS = [
    ("all CPUs", ["util"], ["mpstat"]),
    ("each CPU", ["util", "--each-cpu"], ["mpstat", "-P", "ALL"]),
]
FEW = 2


def one_round(samples):
    """CPU seconds of each by (what, name), for few and for many samples."""
    figures = {}
    for n in (FEW, FEW + samples):
        store = fresh("util")
        started = {}
        for what, ours, peer in PAIRS:
            started[what, "fenxi"] = Process([FENXI, "--store", store, *ours, "1", str(n)])
            started[what, "mpstat"] = Process([*peer, "1", str(n)])
        for key, process in started.items():
            done = process.wait()
            if done.status != 0:
                raise SystemExit(f"bench: {' '.join(done.argv)}: status {done.status}\n{done.stderr}")
            figures.setdefault(key, []).append(done.cpu_s)
    return figures


def main():
    need(FENXI, "run `make build`")
    need("mpstat", "install the package sysstat")
    samples, rounds = setting("BENCH_SAMPLES", 30), setting("BENCH_ROUNDS", 1)
    figures = [one_round(samples) for _ in range(rounds)]
    rows = []
    for what, _, _ in PAIRS:
        cost = {name: statistics.median(f[what, name][1] - f[what, name][0] for f in figures) / samples * 1e6
                for name in ("fenxi", "mpstat")}
        begin = {name: statistics.median(f[what, name][0] for f in figures) * 1e3 for name in cost}
        ratio = f"{cost['fenxi'] / cost['mpstat']:.2f}" if cost["mpstat"] > 0 else "-"
        rows.append([what, f"{cost['fenxi']:.0f}", f"{cost['mpstat']:.0f}", ratio,
                     f"{begin['fenxi']:.1f}", f"{begin['mpstat']:.1f}"])
    notes = [f"{samples} samples more than {FEW}, one a second, {rounds} round(s), all processes at the same time.",
             f"CPU is user and system time. The last two columns are a whole run with {FEW} samples: the start of the "
             "process, mostly. At its start util works for some ticks to see how the kernel counts."]
    report("util", "What a sample of util costs",
           ["shown", "fenxi, µs a sample", "mpstat, µs a sample", "ratio", "fenxi, ms at start", "mpstat, ms at start"],
           rows, notes)


if __name__ == "__main__":
    main()
