#!/usr/bin/env python3
"""What a sample of `fenxi watch nicstat` costs: CPU seconds, against nicstat 1.95 over the same seconds.

Each pair of processes watches the same interfaces at the same time, with the same options, and prints
to nowhere. Every pair runs twice, with few and with many samples: the difference is what samples cost, without
the start. nicstat counts whole seconds only, so a sample costs a second of waiting.
Settings: BENCH_SAMPLES (20), BENCH_ROUNDS (1).
"""

from common import FENXI, cost_of_samples, fresh, need, report, setting

OPTIONS = [["-p"], [], ["-x"], ["-a"]]


def main():
    need(FENXI, "run `make build`")
    need("nicstat", "install the package nicstat")
    fenxi = [FENXI, "--store", fresh("nicstat"), "watch", "nicstat"]
    pairs = [(f"`{' '.join(options) or '(none)'}`", [*fenxi, *options], ["nicstat", *options]) for options in OPTIONS]
    rows, note = cost_of_samples(pairs, setting("BENCH_SAMPLES", 20), setting("BENCH_ROUNDS", 1))
    report("nicstat", "What a sample of nicstat costs",
           ["options", "fenxi, µs a sample", "nicstat, µs a sample", "ratio", "fenxi, ms at start", "nicstat, ms at start"],
           rows, [note, "With `-a` fenxi also asks for the bytes of every TCP socket and counts retransmissions and drops; "
                        "nicstat prints zeros there."])


if __name__ == "__main__":
    main()
