#!/usr/bin/env python3
"""What a recording without an end costs, and how long a look at any range of a day takes.

Recording: `fenxi record --roll` with an interval 100 times shorter than ten seconds and a roll 100 times shorter than an hour,
for BENCH_SECONDS (36); what a tick costs is then what it costs in ten seconds. Sealing, merging and facts are part of it, and so
is what each costs a hundred times as often: the figures are upper bounds. Memory is the maximum of the process.

Ranges: a made-up day of 24 runs at ten seconds (as a machine of 8 CPUs and 50 processes has it), asked over ranges of a
minute to the day, each for the first time and again.
"""

import json
import re
import resource
import shutil
import subprocess
import time

from common import FENXI, fresh, output, report, setting, size_of, synth

DAY_TICKS = 8640
DAY = "2026-01-01"


def record(seconds):
    folder = fresh("rolled-record")
    store = folder / "store"
    started = time.monotonic()
    child = subprocess.Popen([FENXI, "--store", store, "--quiet", "record", "--roll", "36s", "--interval", "100ms", "--keep",
                              "14d,20GB", "--name", "bench", "--for", f"{seconds}s"])
    peaks = []
    while child.poll() is None:
        time.sleep(0.5)
        try:
            text = open(f"/proc/{child.pid}/status").read()
            peaks.append(int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) / 1024)
        except (OSError, AttributeError):
            pass
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert child.returncode == 0
    runs = [json.loads(line) for line in output([FENXI, "--store", store, "runs", "--json"]).splitlines()]
    missed = output([FENXI, "--store", store, "sql", "-f", "csv", "select sum(samples), sum(missed_samples), count(*) from runs"])
    samples, lost, count = missed.splitlines()[1].split(",")
    cpu = usage.ru_utime + usage.ru_stime
    bytes_ = sum(run["bytes"] for run in runs)
    return {"ticks": int(float(samples)), "missed": int(float(lost)), "runs": int(count), "cpu": cpu, "bytes": bytes_,
            "seconds": time.monotonic() - started, "rss": peaks}


def ask(store, selector, words):
    begun = time.monotonic()
    subprocess.run([FENXI, "--store", store, "--quiet", *[w.replace("RANGE", selector) for w in words]], check=True,
                   stdout=subprocess.DEVNULL)
    return time.monotonic() - begun


def main():
    found = record(setting("BENCH_SECONDS", 36))
    a_tick, a_tick_bytes = found["cpu"] / found["ticks"], found["bytes"] / found["ticks"]
    quarter = max(1, len(found["rss"]) // 4)
    rows = [
        ["ticks taken, missed; runs", f"{found['ticks']}, {found['missed']}; {found['runs']}"],
        ["CPU time of a tick", f"{1e3 * a_tick:.2f} ms"],
        ["share of a CPU at 10 s", f"{100 * a_tick / 10:.3f} %"],
        ["bytes of a day at 10 s", f"{a_tick_bytes * DAY_TICKS / 1e6:.1f} MB"],
        ["memory in the second and the last quarter", f"{max(found['rss'][quarter:2 * quarter] or [0]):.0f} MiB, "
                                                      f"{max(found['rss'][-quarter:] or [0]):.0f} MiB"],
    ]
    store = synth("rolled-day", 24, 3600, 8, full=True, rolled=10)
    ranges = [("a minute", f"{DAY}T03:10..03:11"), ("15 minutes", f"{DAY}T03:10..03:25"), ("an hour over a boundary", f"{DAY}T10:30..11:30"),
              ("8 hours", f"{DAY}T08:00..16:00"), ("the day", DAY)]
    commands = [("show", ["show", "RANGE"]),
                ("sql", ["sql", "--run", "RANGE", "select max(usr) from cpu"]),
                ("ask", ["ask", "top-processes", "-r", "RANGE"])]
    shutil.rmtree(store / "cache", ignore_errors=True)
    for title, selector in ranges:
        first = ask(store, selector, commands[1][1])
        again = {name: ask(store, selector, words) for name, words in commands}
        shown = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in again.items())
        rows.append([f"first look at {title} (sql)", f"{first:.2f} s; then {shown}"])
    report("rolled", "Recording without an end", ["", ""], rows,
           [f"made-up day: {size_of(store / 'runs') / 1e6:.0f} MB"])


if __name__ == "__main__":
    main()
