#!/usr/bin/env python3
"""How fast one can sample: 100 samples a second without a missed tick, every default source.

Settings: BENCH_SECONDS (10), BENCH_INTERVALS (10ms,20ms,100ms).
"""

import json

from common import FENXI, fresh, measure, need, report, setting, size_of


def main():
    need(FENXI, "run `make build`")
    seconds = setting("BENCH_SECONDS", 10)
    rows = []
    for interval in setting("BENCH_INTERVALS", "10ms,20ms,100ms").split(","):
        for label, options in [("system tables", ["--source", "cpu,sched,pressure,mem,vm,disk,net,tcp,udp"]),
                               ("every default source", [])]:
            store = fresh("rate")
            done = measure([FENXI, "--store", store, "--quiet", "record", "--interval", interval,
                            "--for", f"{seconds}s", *options])
            manifest = json.loads(next((store / "runs").glob("run=*/run.json")).read_text())
            rows.append([interval, label, manifest["ticks"], manifest["missed_ticks"],
                         f"{100 * done.cpu_s / seconds:.1f}", f"{size_of(store / 'runs') / 1e6:.2f}"])
    report("rate", "Samples per second", ["interval", "sources", "samples", "missed", "% of a core", "MB"], rows,
           [f"Each for {seconds} s. CPU includes sealing."])


if __name__ == "__main__":
    main()
