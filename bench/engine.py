#!/usr/bin/env python3
"""Questions over many runs: `fenxi sql` against the Python `duckdb` wheel on the same files.

1. The mean of a large `cpu` table per run: 23 million rows at full size.
2. One run among many against one run alone.

Settings: BENCH_RUNS (20), BENCH_SECONDS (1800), BENCH_CPUS (64), BENCH_MANY (1000), BENCH_ROUNDS (5).
Full size: BENCH_RUNS=200 BENCH_MANY=10000.
"""

import statistics
import subprocess
import sys

from common import CACHE, FENXI, interleaved, measure, need, output, report, setting, size_of, spread, synth

WHEEL = "1.5.6"
VENV = CACHE / f"bench-venv-{WHEEL}"
MEAN = "SELECT run, avg(usr) AS usr, avg(sys) AS sys FROM {cpu} GROUP BY run"
PEER = "import sys, duckdb; duckdb.sql(sys.argv[1]).fetchall()"


def python():
    """A Python with the wheel of the engine's version, in the cache."""
    if not (VENV / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    found = subprocess.run([VENV / "bin" / "python", "-c", "import duckdb; print(duckdb.__version__)"],
                           capture_output=True, text=True).stdout.strip()
    if found != WHEEL:
        subprocess.run([VENV / "bin" / "pip", "install", "--quiet", f"duckdb=={WHEEL}"], check=True)
    return VENV / "bin" / "python"


def peer_table(store, run="*"):
    return (f"read_parquet('{store}/runs/run={run}/cpu.parquet', hive_partitioning=true, union_by_name=true, "
            "hive_types={'run': VARCHAR})")


def mean(rounds, rows):
    store = synth("engine", setting("BENCH_RUNS", 20), setting("BENCH_SECONDS", 1800), setting("BENCH_CPUS", 64))
    wheel = python()
    ours = MEAN.format(cpu="cpu")
    theirs = MEAN.format(cpu=peer_table(store))
    n_rows = int(output([FENXI, "--store", store, "sql", "-f", "csv", "SELECT count(*) FROM cpu"]).split()[-1])
    seconds = interleaved(rounds, [
        ("fenxi", lambda: measure([FENXI, "--store", store, "sql", "-f", "csv", ours])),
        ("wheel", lambda: measure([wheel, "-c", PEER, theirs])),
        ("wheel, import only", lambda: measure([wheel, "-c", "import duckdb"])),
    ])
    middle = {name: statistics.median(values) for name, values in seconds.items()}
    what = f"mean of {n_rows:,} rows per run"
    rows.append([f"{what}: fenxi sql", spread(seconds["fenxi"], 1, 2), f"{middle['fenxi'] / middle['wheel']:.2f}"])
    rows.append([f"{what}: Python wheel", spread(seconds["wheel"], 1, 2), "1"])
    less = middle["wheel"] - middle["wheel, import only"]
    rows.append(["the wheel's query without starting Python and importing", f"{less:.2f}",
                 f"{middle['fenxi'] / less:.2f}" if less > 0 else "-"])
    return size_of(store / "runs")


def one_of_many(rounds, rows):
    many, alone = synth("many", setting("BENCH_MANY", 1000), 10, 2), synth("alone", 1, 10, 2)
    question = "SELECT avg(usr) FROM cpu"

    def ask(store, run):
        return lambda: measure([FENXI, "--store", store, "sql", "--run", run, question])

    def id_of(store):
        return output([FENXI, "--store", store, "sql", "-f", "csv", "SELECT run FROM runs WHERE name = 'synth-0'"]).split()[-1]

    n = setting("BENCH_MANY", 1000)
    seconds = interleaved(rounds * 2, [
        (f"one run of {n:,}, by id", ask(many, id_of(many))),
        (f"one run of {n:,}, by name", ask(many, "synth-0")),
        ("one run of one, by id", ask(alone, id_of(alone))),
    ])
    floor = statistics.median(seconds["one run of one, by id"])
    for name, values in seconds.items():
        rows.append([f"{name}: fenxi sql --run", spread(values, 1, 3), f"{statistics.median(values) / floor:.2f}"])
    listing = interleaved(rounds, [("runs", lambda: measure([FENXI, "--store", many, "runs", "--limit", "10"]))])
    rows.append([f"`fenxi runs --limit 10` of {n:,}", spread(listing["runs"], 1, 3), ""])


def main():
    need(FENXI, "run `make build`")
    rounds, rows = setting("BENCH_ROUNDS", 5), []
    size = mean(rounds, rows)
    one_of_many(rounds, rows)
    report("engine", "Questions over many runs", ["question", "seconds, median (min–max)", "ratio"], rows,
           [f"{rounds} rounds after one that is not counted, subjects in turn; each is a whole process.",
            f"Both engines are DuckDB {WHEEL} with its own number of threads; the large store has {size / 1e6:,.0f} MB.",
            "Aims: the mean within 1.2 of the wheel; one run of 10,000 within 2 of one alone."])


if __name__ == "__main__":
    main()
