#!/usr/bin/env python3
"""Questions over many runs before and after `fenxi store compact`, embedded and on clusters; one run among many against one run alone.

Settings: BENCH_MANY (1000 runs), BENCH_SECONDS (120), BENCH_CPUS (8), BENCH_ROUNDS (5; 0: what is asked to
compare the answers is measured), BENCH_LONGEST_S (400). BENCH_DISTINCT (0: all): so many runs are
made up, the others are copies of their files under other names. BENCH_CLUSTERS (none): `spark`, `sail` or both, asked over
the compacted store (what each takes of memory and installs: scripts/cluster). BENCH_OWN_FILES_TOO=1: clusters also over each run's own files.
Full size: BENCH_MANY=10000 BENCH_SECONDS=1000 BENCH_CPUS=99 BENCH_DISTINCT=100 (a billion rows).
"""

import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from common import DATA, FENXI, ROOT, Process, environment, measure, need, output, report, setting, size_of, spread, synth

ONE = "SELECT avg(usr) AS usr FROM cpu WHERE cpu IS NOT NULL"
# Name: the statement of the embedded engine, and a cluster's own where that differs.
ALL = {
    "mean per run": ("SELECT run, avg(usr) AS usr FROM cpu GROUP BY run", None),
    "hottest CPU per run": ("SELECT run, max_by(cpu, busy) AS cpu FROM (SELECT run, cpu, avg(usr + sys) AS busy FROM cpu "
                            "WHERE cpu IS NOT NULL GROUP BY run, cpu) GROUP BY run", None),
    "rows above a value": ("SELECT count(*) AS n FROM cpu WHERE usr > 60", None),
    "percentiles per run": ("SELECT run, quantile_cont(usr, 0.5) AS p50, quantile_cont(usr, 0.99) AS p99 FROM cpu GROUP BY run",
                            "SELECT run, percentile(usr, 0.5) AS p50, percentile(usr, 0.99) AS p99 FROM cpu GROUP BY run"),
    "statistics of one column": ("SELECT run, mean FROM stats WHERE table_name = 'cpu' AND column_name = 'usr' AND key = ''", None),
}

# An answer that takes longer is none.
LONGEST_S = setting("BENCH_LONGEST_S", 400)


def memory(session):
    """The most that the processes of a session had in memory, each at its own moment."""
    most = 0
    for path in pathlib.Path("/proc").glob("[0-9]*/status"):
        try:
            if os.getsid(int(path.parent.name)) == session:
                fields = dict(line.split(":", 1) for line in path.read_text().splitlines())
                most += int(fields.get("VmHWM", "0 kB").split()[0]) * 1024
        except (OSError, ProcessLookupError):
            continue
    return most


class Cluster:
    """A cluster on this machine, in a separate process group, until `end`."""

    def __init__(self, kind):
        self.kind = kind
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        subprocess.run([ROOT / "scripts/cluster", "install", kind], check=True, env=environment())
        self.process = subprocess.Popen([ROOT / "scripts/cluster", "run", kind, str(self.port)], env=environment(),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        start_new_session=True)
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.2)
        sys.exit(f"bench: {kind} did not start")

    def end(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait()


def replicate(store, runs):
    """Copies of the store's runs under other names, until there are `runs`."""
    done = store / f".copies-{runs}"
    if done.exists():
        return
    print(f"copying until there are {runs}", file=sys.stderr, flush=True)
    try:
        import blake3
    except ImportError:
        sys.exit("bench: copies of runs need Python's blake3: pip install blake3")
    own = sorted(p for p in (store / "runs").glob("run=*") if "-copy-" not in p.name)
    shutil.rmtree(store / "cache", ignore_errors=True)
    for n in range(len(own), runs):
        source = own[n % len(own)]
        before = source.name.removeprefix("run=")
        run = f"{before.split('-')[0]}-copy-{n}-{n % 10000:04}"
        target = store / "runs" / f"run={run}"
        shutil.copytree(source, target)
        text = (target / "run.json").read_text().replace(f'"{before}"', f'"{run}"', 1)
        # Its digest is the BLAKE3 of the text with zeros in its place (crates/store/src/digest.rs).
        text = re.sub(r'"digest": "[0-9a-f]{64}"', f'"digest": "{"0" * 64}"', text, count=1)
        (target / "run.json").write_text(text.replace("0" * 64, blake3.blake3(text.encode()).hexdigest(), 1))
    done.touch()


class Refused(Exception):
    """Why a statement has no answer: too little memory, too much time."""


def answer(store, statement, *words):
    """What the statement answers, in its order, and the process that asked."""
    argv = ["timeout", str(LONGEST_S), FENXI, "--store", store, "sql", "-f", "csv", *words, statement]
    with tempfile.TemporaryFile("w+") as out:
        done = Process(argv, stdout=out, start_new_session=True)
        # What answers is another process than the one that was started.
        most, is_running = 0, True
        while is_running:
            most = max(most, memory(done.process.pid))
            try:
                os.waitid(os.P_PID, done.process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) and (is_running := False)
            except ChildProcessError:
                is_running = False
            time.sleep(0.05 if is_running else 0)
        done.wait()
        done.max_rss_bytes = most
        if done.status == 124:
            raise Refused(f"none within {LONGEST_S} s")
        if done.status != 0:
            raise Refused((done.stderr.strip().splitlines() or ["?"])[0][:160])
        out.seek(0)
        return sorted(out.read().splitlines()[1:]), done


def ask(store, statement, *words):
    return answer(store, statement, *words)[1]


def alike(a, b):
    """Whether two answers are the same, but for the last digits of sums in another order."""
    def near(x, y):
        if x == y:
            return True
        try:
            return abs(float(x) - float(y)) <= 1e-9 * max(abs(float(x)), abs(float(y)))
        except ValueError:
            return False
    return len(a) == len(b) and all(
        len(x.split(",")) == len(y.split(",")) and all(map(near, x.split(","), y.split(","))) for x, y in zip(a, b))


def in_turn(rounds, subjects, warm=1):
    """Each subject `warm` times uncounted and then `rounds` times, in turn: what each measured process was."""
    done = {name: [] for name, _ in subjects}
    for turn in range(rounds + warm):
        for name, work in subjects:
            process = work()
            if turn >= warm:
                done[name].append(process)
    return done


def main():
    need(FENXI, "run `make build`")
    runs, rounds = setting("BENCH_MANY", 1000), setting("BENCH_ROUNDS", 5)
    distinct = setting("BENCH_DISTINCT", 0) or runs
    size = (setting("BENCH_SECONDS", 120), setting("BENCH_CPUS", 8))
    own, alone = synth(f"compact-of-{runs}", distinct, *size), synth("compact-alone", 1, *size)
    replicate(own, runs)
    packed = DATA / "compacted"
    shutil.rmtree(packed, ignore_errors=True)
    shutil.copytree(own, packed)
    print(f"{time.strftime('%H:%M:%S')} compacting", file=sys.stderr, flush=True)
    done = measure([FENXI, "--store", packed, "store", "compact", "--quiet"])

    def id_of(store):
        return output([FENXI, "--store", store, "sql", "-f", "csv", "SELECT run FROM runs WHERE name = 'synth-0'"]).split()[-1]

    forms = {"embedded, own files": (own, ()), "embedded, compacted": (packed, ())}
    clusters = [Cluster(kind) for kind in setting("BENCH_CLUSTERS", "").replace(",", " ").split()]
    for cluster in clusters:
        at = ("--engine", f"sc://127.0.0.1:{cluster.port}")
        if setting("BENCH_OWN_FILES_TOO", 0):
            forms[f"{cluster.kind}, own files"] = (own, at)
        forms[f"{cluster.kind}, compacted"] = (packed, at)

    def statement(name, form):
        here, there = ALL[name]
        return there or here if forms[form][1] else here

    def say(what):
        print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)

    try:
        refused, first = {}, {}
        for name in ALL:
            right = None
            for form, (store, words) in forms.items():
                say(f"comparing answers: {name}: {form}")
                try:
                    rows_now, process = answer(store, statement(name, form), *words)
                except Refused as why:
                    refused[name, form] = str(why)
                    continue
                first[name, form] = [process]
                right = rows_now if right is None else right
                if not alike(right, rows_now):
                    sys.exit(f"bench: {name}: {form} answers otherwise")
        subjects = [((name, form), lambda s=store, n=name, f=form, w=words: ask(s, statement(n, f), *w))
                    for name in ALL for form, (store, words) in forms.items() if (name, form) not in refused]
        say("measuring")
        # Comparing the answers has warmed all of them.
        measured = in_turn(rounds, subjects, warm=0) if rounds else first
        held = {cluster.kind: memory(cluster.process.pid) for cluster in clusters}
    finally:
        for cluster in clusters:
            cluster.end()
    id_alone, id_own = id_of(alone), id_of(own)
    if answer(own, ONE, "--run", id_own)[0] != answer(packed, ONE, "--run", id_own)[0]:
        sys.exit("bench: one run answers otherwise once it is compacted")
    one = in_turn(2 * rounds or 5, [
        ("one run of one", lambda: ask(alone, ONE, "--run", id_alone)),
        (f"one run of {runs:,}: own files", lambda: ask(own, ONE, "--run", id_own)),
        (f"one run of {runs:,}: compacted", lambda: ask(packed, ONE, "--run", id_own)),
    ])
    rows = []

    def row(subject, processes, base):
        seconds = [p.wall_s for p in processes]
        resident = max(p.max_rss_bytes for p in processes) / 1e6
        ratio = statistics.median(seconds) / statistics.median(p.wall_s for p in base)
        rows.append([subject, spread(seconds, 1, 3), f"{ratio:.2f}", f"{resident:.0f}"])

    for name in ALL:
        for form in forms:
            if (name, form) in refused:
                rows.append([f"{name}: {form}", refused[name, form], "", ""])
            else:
                row(f"{name}: {form}", measured[name, form], measured.get((name, "embedded, own files"), measured[name, form]))
    for name, processes in one.items():
        row(name, processes, one["one run of one"])
    n_rows = int(output([FENXI, "--store", packed, "sql", "-f", "csv", "SELECT count(*) FROM cpu"]).split()[-1])
    notes = [
        f"{runs:,} runs ({distinct:,} made up, the others copies of their files), {n_rows:,} rows of `cpu`; "
        + (f"{rounds} round(s) after one that is not counted, subjects in turn" if rounds else "asked once, a question of each in turn")
        + "; each is a whole process. All that answered gave the same answers. Memory is that of all processes of the question; a cluster's is below.",
        f"`fenxi store compact` took {done.wall_s:.1f} s, {done.cpu_s:.1f} s of CPU time, {done.max_rss_bytes / 1e6:.0f} MB of memory: "
        f"{size_of(own / 'runs') / 1e6:.0f} MB in {sum(1 for _ in own.glob('runs/*/*')):,} files became "
        f"{(size_of(packed / 'runs') + size_of(packed / 'compacted')) / 1e6:.0f} MB in "
        f"{sum(1 for _ in packed.glob('runs/*/*')) + sum(1 for _ in packed.glob('compacted/*/*')):,}.",
        "Aim: one run of 10,000 within 2 of one alone, compacted.",
    ]
    notes += [f"{kind}: {most / 1e6:.0f} MB in all its processes at most, each at its own moment." for kind, most in held.items()]
    name = "compact" if not clusters else "compact-clusters"
    report(name, "Many runs, compacted", ["question", "seconds, median (min–max)", "ratio", "MB"], rows, notes)


if __name__ == "__main__":
    main()
