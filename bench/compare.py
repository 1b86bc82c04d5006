#!/usr/bin/env python3
"""Comparing and averaging long runs: two groups of 50, and 10 into one.

1. `fenxi compare` of two groups of 50 runs of 1,800 s with 64 CPUs: under 1 s is the aim.
2. The same over a window, whose statistics are made the first time and read afterwards.
3. `fenxi average` of 10 of them: under 10 s and under 1 GB is the aim.

Settings: BENCH_RUNS (100, of which 100 are used), BENCH_SECONDS (1800), BENCH_CPUS (64), BENCH_ROUNDS (5).
"""

import json
import os
import shutil

from common import FENXI, fresh, measure, need, output, report, setting, spread, synth


def group(runs):
    return ",".join(runs)


def main():
    need(FENXI, "make build")
    rounds = setting("BENCH_ROUNDS", 5)
    store = synth("engine", setting("BENCH_RUNS", 100), setting("BENCH_SECONDS", 1800), setting("BENCH_CPUS", 64))
    # Only what a run is made of: what the measurement makes goes into a copy with hard links.
    copy = fresh("compare-work")
    shutil.copytree(store, copy / "store", copy_function=lambda a, b: os.link(a, b))
    fenxi = [FENXI, "--store", copy / "store"]
    lines = output(fenxi + ["runs", "--json"]).splitlines()
    runs = sorted(json.loads(line)["run"] for line in lines)[:100]
    half = len(runs) // 2
    compare = fenxi + ["compare", group(runs[:half]), group(runs[half:]), "--json", "--force"]

    rows = []
    # Groups that differ make status 0 too: only refusal is 1, and --force forbids that.
    whole = [measure(compare) for _ in range(rounds)]
    rows.append([f"compare {half} v {len(runs) - half} runs", spread([p.wall_s for p in whole], 1, 2),
                 spread([p.cpu_s for p in whole], 1, 2), f"{max(p.max_rss_bytes for p in whole) / 2**20:.0f}"])
    first = measure(compare + ["--window", "300s..1500s"])
    rows.append(["the same over a window, the first time", f"{first.wall_s:.2f}", f"{first.cpu_s:.2f}",
                 f"{first.max_rss_bytes / 2**20:.0f}"])
    again = [measure(compare + ["--window", "300s..1500s"]) for _ in range(rounds)]
    rows.append(["the same, afterwards", spread([p.wall_s for p in again], 1, 2),
                 spread([p.cpu_s for p in again], 1, 2), f"{max(p.max_rss_bytes for p in again) / 2**20:.0f}"])
    averages = [measure(fenxi + ["average", *runs[:10], "--name", f"mean-{i}", "--quiet"]) for i in range(rounds)]
    rows.append(["average of 10 runs", spread([p.wall_s for p in averages], 1, 2),
                 spread([p.cpu_s for p in averages], 1, 2),
                 f"{max(p.max_rss_bytes for p in averages) / 2**20:.0f}"])
    shutil.rmtree(copy)
    report("compare", "Comparing and averaging runs", ["", "elapsed s", "CPU s", "memory MiB"], rows, [
        f"Made-up runs of {setting('BENCH_SECONDS', 1800)} s with {setting('BENCH_CPUS', 64)} CPUs, each second a row "
        "per CPU; median (min–max) of {} rounds.".format(rounds),
        "No peer is known that compares or averages recordings: the figures stand alone.",
    ])


if __name__ == "__main__":
    main()
