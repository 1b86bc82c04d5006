#!/usr/bin/env python3
"""How long one waits for the prompt: `fenxi runs` and `fenxi sql 'select 1'`.

Settings: BENCH_ROUNDS (30), BENCH_RUNS (100): runs in the store.
"""

import statistics

from common import FENXI, interleaved, measure, need, report, setting, spread, synth


def main():
    need(FENXI, "run `make build`")
    rounds, runs = setting("BENCH_ROUNDS", 30), setting("BENCH_RUNS", 100)
    store = synth("startup", runs, 10, 2)
    subjects = [
        ("fenxi --version", lambda: measure([FENXI, "--version"])),
        ("fenxi runs", lambda: measure([FENXI, "--store", store, "runs"])),
        ("fenxi sql 'select 1'", lambda: measure([FENXI, "--store", store, "sql", "select 1"])),
        ("/bin/true", lambda: measure(["/bin/true"])),
    ]
    seconds = interleaved(rounds, subjects)
    floor = statistics.median(seconds["/bin/true"])
    aims = {"fenxi runs": "10", "fenxi sql 'select 1'": "80"}
    rows = [[f"`{name}`", spread(values, 1e3), f"{1e3 * (statistics.median(values) - floor):.1f}", aims.get(name, "")]
            for name, values in seconds.items()]
    report("startup", "Start-up", ["command", "ms, median (min–max)", "less /bin/true", "aim, ms"], rows,
           [f"A store of {runs} runs; {rounds} rounds, commands in turn; includes starting the process from Python."])


if __name__ == "__main__":
    main()
