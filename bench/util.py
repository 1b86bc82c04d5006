#!/usr/bin/env python3
"""What a sample of `fenxi watch util` costs: CPU seconds, against mpstat (sysstat) over the same seconds.

Each process prints to nowhere, and both run at the same time. Every pair runs twice, with few and with many
samples: the difference is what samples cost, without the start. mpstat shows the clock ticks only, util also
what the scheduler measures. Settings: BENCH_SAMPLES (30), BENCH_ROUNDS (1).
"""

from common import FENXI, cost_of_samples, fresh, need, report, setting


def main():
    need(FENXI, "run `make build`")
    need("mpstat", "install the package sysstat")
    util = [FENXI, "--store", fresh("util"), "watch", "util"]
    pairs = [("all CPUs", util, ["mpstat"]), ("each CPU", [*util, "--each-cpu"], ["mpstat", "-P", "ALL"])]
    rows, note = cost_of_samples(pairs, setting("BENCH_SAMPLES", 30), setting("BENCH_ROUNDS", 1))
    report("util", "What a sample of util costs",
           ["shown", "fenxi, µs a sample", "mpstat, µs a sample", "ratio", "fenxi, ms at start", "mpstat, ms at start"],
           rows, [note, "At its start util works for some ticks to see how the kernel counts."])


if __name__ == "__main__":
    main()
