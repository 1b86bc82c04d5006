#!/usr/bin/env python3
"""How often a change is reported, where there is one and where there is none, beside Go's benchstat.

Made-up runs (crates/analyze/examples/injected) of samples that depend on each other; each comparison is of two
groups by 20 metrics. benchstat judges each metric alone (Mann-Whitney U, alpha 0.05), as we do with results; metrics
of the system we adjust for all 20. So benchstat is also run with the alpha at which it is then as seldom wrong as we
are: 0.05 / 20 (Bonferroni).

Then real runs of one workload, recorded one after the other and dealt out to two groups at random, many times: how
often fenxi reports a difference of any result, or of any of their hundreds of metrics (with no margin, and with the usual one).

Settings: BENCH_FAMILIES (50), BENCH_FAMILIES_EQUAL (300), BENCH_REAL_RUNS (20), BENCH_DEALS (100). Needs Go, to fetch
benchstat.
"""

import csv
import io
import json
import os
import random
import shutil
import subprocess
import sys

from common import CACHE, FENXI, ROOT, environment, fresh, need, output, report, setting

METRICS = 20


def benchstat():
    """benchstat in the cache."""
    program = CACHE / "benchstat" / "benchstat"
    if not program.exists():
        go = shutil.which("go") or "/usr/local/go/bin/go"
        if not os.path.exists(go):
            sys.exit("bench: Go is needed to fetch benchstat")
        env = dict(os.environ, GOBIN=str(program.parent), GOPATH=str(CACHE / "benchstat" / "path"), GOFLAGS="-modcacherw")
        subprocess.run([go, "install", "golang.org/x/perf/cmd/benchstat@latest"], check=True, env=env)
    return program


def judged(program, folder, alpha):
    """The metrics that benchstat tells apart, as (family, metric)."""
    text = subprocess.run([program, "-format", "csv", "-alpha", str(alpha), "a.txt", "b.txt"], cwd=folder, check=True,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    found = set()
    for row in csv.reader(io.StringIO(text)):
        name = row[0].removesuffix("-1") if row else ""
        if name.startswith("F") and len(row) > 5 and row[5] not in ("", "~"):
            family, metric = name[1:].split("M")
            found.add((int(family), int(metric)))
    return found


# About a second: work, then waiting.
WORK = "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done; sleep 0.5"


def real(rows):
    """Deals real runs of one workload out to two groups; adds rows, and gives the number of runs and metrics."""
    need(FENXI, "make build")
    n, deals = setting("BENCH_REAL_RUNS", 20), setting("BENCH_DEALS", 100)
    folder = fresh("honesty-real")
    fenxi = [FENXI, "--store", folder / "store"]
    for _ in range(n):
        output(fenxi + ["record", "-q", "-i", "0.2", "--", "sh", "-c", WORK])
    runs = [json.loads(line)["run"] for line in output(fenxi + ["runs", "--json"]).splitlines()]
    dealer, metrics = random.Random(3), 0
    for margin in ("0%", "2%"):
        told = [0, 0]
        for _ in range(deals):
            dealer.shuffle(runs)
            groups = [",".join(runs[:n // 2]), ",".join(runs[n // 2:])]
            found = map(json.loads, output(fenxi + ["compare", *groups, "--json", "--margin", margin]).splitlines())
            lines = [line for line in found if line["kind"] == "metric"]
            metrics = sum(line["table"] != "result" for line in lines)
            changed = [line["table"] == "result" for line in lines if line["verdict"] in ("better", "worse", "different")]
            told = [told[0] + any(changed), told[1] + (not all(changed))]
        rows.append([f"{n // 2} v {n - n // 2} real runs, no change, margin {margin}: comparisons in which one is reported",
                     f"{100 * told[0] / deals:.1f} %", "-", f"{100 * told[1] / deals:.1f} %", "-"])
    shutil.rmtree(folder)
    return n, metrics


def main():
    program = benchstat()
    folder = fresh("honesty")
    rows = []
    for n in (5, 10):
        for percent in (0, 1, 2, 5, 10):
            families = setting("BENCH_FAMILIES", 50) if percent else setting("BENCH_FAMILIES_EQUAL", 300)
            argv = ["cargo", "run", "--locked", "--quiet", "-p", "fenxi-analyze", "--example", "injected", "--",
                    folder, n, percent, families, 1000 + 10 * n + percent]
            ours = subprocess.run([str(a) for a in argv], cwd=ROOT, env=environment(), check=True, text=True,
                                  stdout=subprocess.PIPE).stdout
            lines = [tuple(map(int, line.split(","))) for line in ours.splitlines()]
            alone = {line[:2] for line in lines if line[3]}
            adjusted = {line[:2] for line in lines if line[2]}
            subjects = [alone, judged(program, folder, 0.05), adjusted, judged(program, folder, 0.05 / METRICS)]
            if percent:
                shares = [100 * len(found) / (families * METRICS) for found in subjects]
                what = f"{n} v {n} runs, a change of {percent} %: metrics in which it is reported"
            else:
                shares = [100 * len(found) / (families * METRICS) for found in subjects]
                rows.append([f"{n} v {n} runs, no change: metrics in which one is reported"] + [f"{s:.1f} %" for s in shares])
                shares = [100 * len({family for family, _ in found}) / families for found in subjects]
                what = f"{n} v {n} runs, no change: comparisons in which one is reported in any metric"
            rows.append([what] + [f"{share:.1f} %" for share in shares])
    shutil.rmtree(folder)
    n, metrics = real(rows)
    report("honesty", "Changes reported", [
        "", "fenxi, results", "benchstat", "fenxi, metrics", "benchstat, alpha 0.05/20"], rows, [
        f"{METRICS} metrics a comparison; made-up runs of 60 samples each with an autocorrelation of 0.7.",
        f"Of {n} real runs of one command, all results are compared at once, and all {metrics} metrics.",
        "With 5 runs a side, no rank test can reach an alpha of 0.05/20 whatever the change.",
    ])


if __name__ == "__main__":
    main()
