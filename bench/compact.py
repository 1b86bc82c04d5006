#!/usr/bin/env python3
"""Questions over many runs before and after `fenxi compact`, and one run among many against one run alone.

Settings: BENCH_MANY (1000 runs), BENCH_SECONDS (120), BENCH_CPUS (8), BENCH_ROUNDS (5). Full size: BENCH_MANY=10000.
"""

import shutil
import statistics

from common import DATA, FENXI, interleaved, measure, need, output, report, setting, size_of, spread, synth

ONE = "SELECT avg(usr) FROM cpu WHERE cpu IS NOT NULL"
ALL = {
    "mean per run": "SELECT run, avg(usr) AS usr FROM cpu GROUP BY run",
    "hottest CPU per run": "SELECT run, max_by(cpu, busy) FROM (SELECT run, cpu, avg(usr + sys) AS busy FROM cpu "
                           "WHERE cpu IS NOT NULL GROUP BY run, cpu) GROUP BY run",
    "rows above a value": "SELECT count(*) FROM cpu WHERE usr > 60",
    "percentiles per run": "SELECT run, quantile_cont(usr, [0.5, 0.95, 0.99]) FROM cpu GROUP BY run",
    "statistics of one column": "SELECT run, mean FROM stats WHERE table_name = 'cpu' AND column_name = 'usr' AND key = ''",
}


def main():
    need(FENXI, "run `make build`")
    runs, rounds = setting("BENCH_MANY", 1000), setting("BENCH_ROUNDS", 5)
    size = (setting("BENCH_SECONDS", 120), setting("BENCH_CPUS", 8))
    own, alone = synth("compact", runs, *size), synth("compact-alone", 1, *size)
    packed = DATA / "compacted"
    shutil.rmtree(packed, ignore_errors=True)
    shutil.copytree(own, packed)
    done = measure([FENXI, "--store", packed, "compact", "--quiet"])

    def ask(store, *words):
        return lambda: measure([FENXI, "--store", store, "sql", "-o", "csv", *words])

    def id_of(store):
        return output([FENXI, "--store", store, "sql", "-o", "csv", "SELECT run FROM runs WHERE name = 'synth-0'"]).split()[-1]

    subjects = [(f"{name}: own files", ask(own, sql)) for name, sql in ALL.items()]
    subjects += [(f"{name}: compacted", ask(packed, sql)) for name, sql in ALL.items()]
    id_alone, id_own = id_of(alone), id_of(own)
    one = [
        ("one run of one", ask(alone, "--run", id_alone, ONE)),
        (f"one run of {runs:,}: own files", ask(own, "--run", id_own, ONE)),
        (f"one run of {runs:,}: compacted", ask(packed, "--run", id_own, ONE)),
    ]
    for name, sql in [*ALL.items(), ("one run", ONE)]:
        chosen = ["--run", id_own] if name == "one run" else []
        answers = [sorted(output([FENXI, "--store", s, "sql", "-o", "csv", *chosen, sql]).splitlines()) for s in (own, packed)]
        assert answers[0] == answers[1], f"{name}: the answers differ"
    seconds = {**interleaved(rounds, subjects), **interleaved(2 * rounds, one)}
    middle = {name: statistics.median(values) for name, values in seconds.items()}
    rows = []
    for name in ALL:
        for form in ("own files", "compacted"):
            subject = f"{name}: {form}"
            rows.append([subject, spread(seconds[subject], 1, 3), f"{middle[subject] / middle[f'{name}: own files']:.2f}"])
    for name, _ in one:
        rows.append([name, spread(seconds[name], 1, 3), f"{middle[name] / middle['one run of one']:.2f}"])
    n_rows = int(output([FENXI, "--store", packed, "sql", "-o", "csv", "SELECT count(*) FROM cpu"]).split()[-1])
    report("compact", "Many runs, compacted", ["question", "seconds, median (least–most)", "ratio"], rows, [
        f"{runs:,} runs, {n_rows:,} rows of `cpu`; {rounds} rounds after one that is not counted, subjects in turn; each is a whole "
        "process. Both forms gave the same answers.",
        f"`fenxi compact` took {done.wall_s:.1f} s, {done.cpu_s:.1f} s of CPU time, {done.max_rss_bytes / 1e6:.0f} MB of memory: "
        f"{size_of(own / 'runs') / 1e6:.0f} MB in {sum(1 for _ in own.glob('runs/*/*')):,} files became "
        f"{(size_of(packed / 'runs') + size_of(packed / 'compacted')) / 1e6:.0f} MB in "
        f"{sum(1 for _ in packed.glob('runs/*/*')) + sum(1 for _ in packed.glob('compacted/*/*')):,}.",
        "Aim: one run of 10,000 within 2 of one alone, compacted.",
    ])


if __name__ == "__main__":
    main()
