#!/usr/bin/env python3
"""Questions over many runs before and after `fenxi compact`, on a cluster too, and one run among many against one run alone.

Settings: BENCH_MANY (1000 runs), BENCH_SECONDS (120), BENCH_CPUS (8), BENCH_ROUNDS (5). Full size: BENCH_MANY=10000.
BENCH_SPARK, BENCH_SAIL: addresses (sc://127.0.0.1:PORT) of servers on this machine that are measured too.
"""

import os
import re
import shutil
import statistics
import subprocess

from common import DATA, FENXI, interleaved, measure, need, output, report, setting, size_of, spread, synth

ONE = "SELECT avg(usr) FROM cpu WHERE cpu IS NOT NULL"
PERCENTILES = "percentiles per run"
ALL = {
    "mean per run": "SELECT run, avg(usr) AS usr FROM cpu GROUP BY run",
    "hottest CPU per run": "SELECT run, max_by(cpu, busy) AS cpu FROM (SELECT run, cpu, avg(usr + sys) AS busy FROM cpu "
                           "WHERE cpu IS NOT NULL GROUP BY run, cpu) GROUP BY run",
    "rows above a value": "SELECT count(*) AS n FROM cpu WHERE usr > 60",
    PERCENTILES: "SELECT run, quantile_cont(usr, 0.5) AS p50, quantile_cont(usr, 0.95) AS p95, quantile_cont(usr, 0.99) AS p99 FROM cpu GROUP BY run",
    "statistics of one column": "SELECT run, mean FROM stats WHERE table_name = 'cpu' AND column_name = 'usr' AND key = ''",
}


def there(sql):
    """A statement in the SQL of clusters."""
    return re.sub(r"quantile_cont\(", "percentile(", sql)


def clusters():
    """Names and addresses of the clusters that are measured."""
    return [(name, os.environ[key]) for name, key in (("Spark", "BENCH_SPARK"), ("Sail", "BENCH_SAIL")) if os.environ.get(key)]


def peak_of(address):
    """Bytes of memory that the process listening there had at most."""
    port = address.rsplit(":", 1)[1]
    listening = subprocess.run(["ss", "-ltnpH", f"sport = :{port}"], text=True, capture_output=True).stdout
    pid = re.search(r"pid=(\d+)", listening)
    status = open(f"/proc/{pid[1]}/status").read() if pid else ""
    peak = re.search(r"VmHWM:\s+(\d+)", status)
    return int(peak[1]) * 1024 if peak else None


def answer(store, sql, *words):
    """The rows of an answer, with numbers that do not depend on the order in which they were added up."""
    text = output([FENXI, "--store", store, "sql", "-o", "csv", *words, sql])
    number = re.compile(r"\d+\.\d+(e[+-]?\d+)?")
    return sorted(number.sub(lambda found: f"{float(found[0]):.9g}", line) for line in text.splitlines())


class Size:
    """A store of so many runs, as recorded and compacted."""

    def __init__(self, runs, seconds, cpus, forms):
        self.runs, self.forms = runs, forms
        self.own = synth("compact", runs, seconds, cpus)
        self.packed = DATA / f"compacted-{runs}"
        shutil.rmtree(self.packed, ignore_errors=True)
        shutil.copytree(self.own, self.packed)
        self.compaction = measure([FENXI, "--store", self.packed, "compact", "--quiet"])
        self.memory, self.middle = {}, {}

    def where(self, form):
        """The store and the words by which a form is asked."""
        address = dict(clusters()).get(form)
        return (self.own if form == "own files" else self.packed), (["--engine", address] if address else [])

    def ask(self, form, sql, *words):
        store, engine = self.where(form)

        def work():
            done = measure([FENXI, "--store", store, "sql", "-o", "csv", *words, *engine, there(sql) if engine else sql])
            self.memory[form] = max(self.memory.get(form, 0), done.max_rss_bytes)
        return work

    def check(self, name, sql):
        """Ends unless all forms give the same answer."""
        answers = {}
        for form in self.forms:
            store, engine = self.where(form)
            answers[form] = answer(store, there(sql) if engine else sql, *engine)
        for form in self.forms:
            assert answers[form] == answers[self.forms[0]], f"{name}: {form} answers differently"

    def measure(self, rounds):
        for name, sql in ALL.items():
            self.check(name, sql)
        subjects = [((name, form), self.ask(form, sql)) for name, sql in ALL.items() for form in self.forms]
        self.seconds = interleaved(rounds, subjects)
        self.middle = {subject: statistics.median(values) for subject, values in self.seconds.items()}


def id_of(store):
    """The id of its first run."""
    return output([FENXI, "--store", store, "sql", "-o", "csv", "SELECT run FROM runs WHERE name = 'synth-0'"]).split()[-1]


def main():
    need(FENXI, "run `make build`")
    runs, rounds = setting("BENCH_MANY", 1000), setting("BENCH_ROUNDS", 5)
    made = (setting("BENCH_SECONDS", 120), setting("BENCH_CPUS", 8))
    forms = ["own files", "compacted", *(name for name, _ in clusters())]
    tenth, whole = Size(runs // 10, *made, forms), Size(runs, *made, forms)
    tenth.measure(rounds)
    whole.measure(rounds)
    alone = synth("compact-alone", 1, *made)
    asked_alone = ["--run", id_of(alone), ONE]
    one = [("one run of one", lambda: measure([FENXI, "--store", alone, "sql", "-o", "csv", *asked_alone]))]
    one += [(f"one run of {runs:,}: {form}", whole.ask(form, ONE, "--run", id_of(whole.own))) for form in ("own files", "compacted")]
    seconds = interleaved(2 * rounds, one)
    rows = []
    for name in ALL:
        for form in forms:
            of = (name, form)
            rows.append([f"{name}: {form}", spread(whole.seconds[of], 1, 3), f"{whole.middle[of] / whole.middle[name, 'compacted']:.2f}",
                         f"{whole.middle[of] / tenth.middle[of]:.1f}"])
    base = statistics.median(seconds["one run of one"])
    rows += [[name, spread(seconds[name], 1, 3), f"{statistics.median(seconds[name]) / base:.2f}", "–"] for name, _ in one]
    n_rows = int(output([FENXI, "--store", whole.packed, "sql", "-o", "csv", "SELECT count(*) FROM cpu"]).split()[-1])
    peaks = [f"{form} {whole.memory[form] / 1e6:.0f} MB (10 times less data: {tenth.memory[form] / 1e6:.0f} MB)" for form in ("own files", "compacted")]
    peaks += [f"the server of {name} {peak / 1e6:.0f} MB" for name, address in clusters() if (peak := peak_of(address))]
    done, own, packed = whole.compaction, whole.own, whole.packed
    report("compact", "Many runs, compacted", ["question", "seconds, median (least–most)", "ratio", "growth with 10 times the data"], rows, [
        f"{runs:,} runs, {n_rows:,} rows of `cpu`; {rounds} rounds after one that is not counted, subjects in turn; each is a whole process. "
        "All forms gave the same answers (nine digits). Ratios are to the compacted store here, those of one run to one run alone.",
        f"Peak memory: {'; '.join(peaks)}.",
        f"`fenxi compact` took {done.wall_s:.1f} s, {done.cpu_s:.1f} s of CPU time, {done.max_rss_bytes / 1e6:.0f} MB of memory: "
        f"{size_of(own / 'runs') / 1e6:.0f} MB in {sum(1 for _ in own.glob('runs/*/*')):,} files became "
        f"{(size_of(packed / 'runs') + size_of(packed / 'compacted')) / 1e6:.0f} MB in "
        f"{sum(1 for _ in packed.glob('runs/*/*')) + sum(1 for _ in packed.glob('compacted/*/*')):,}.",
        "Clusters read the compacted store. Aim: one run of 10,000 within 2 of one alone, compacted.",
    ])
    shutil.rmtree(whole.packed)
    shutil.rmtree(tenth.packed)


if __name__ == "__main__":
    main()
