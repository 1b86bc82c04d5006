#!/usr/bin/env python3
"""How long a report takes and what it weighs: ten minutes, and half an hour of 64 CPUs.

Settings: BENCH_ROUNDS (5).
"""

from common import FENXI, fresh, interleaved, measure, need, report, setting, size_of, spread, synth


def main():
    need(FENXI, "run `make build`")
    rounds, rows = setting("BENCH_ROUNDS", 5), []
    folder = fresh("report")
    for title, seconds, cpus, aim in [("10 minutes, 4 CPUs", 600, 4, "1 s"),
                                      ("30 minutes, 64 CPUs", 1800, 64, "5 MB")]:
        store = synth("report", 1, seconds, cpus, full=True)
        page = folder / f"{seconds}.html"
        done = []
        took = interleaved(rounds, [("report", lambda: done.append(
            measure([FENXI, "--store", store, "--quiet", "report", "@1", "-o", page])))])
        rows.append([title, spread(took["report"], 1, 2), f"{size_of(page) / 1e6:.2f}",
                     f"{max(d.max_rss_bytes for d in done) / 1e6:.0f}", aim])
    report("report", "Drawing a report", ["run", "seconds, median (min–max)", "MB of HTML", "peak MB of memory", "aim"],
           rows, [f"{rounds} rounds after one that is not counted; made-up runs with every table of a real one.",
                  "How long a page takes to open is measured in a browser by `scripts/web browser`, not here."])


if __name__ == "__main__":
    main()
