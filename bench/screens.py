#!/usr/bin/env python3
"""The first screens of real runs, as a browser shows them: pictures at three widths in both themes, barriers by axe's rules,
and how long a first screen takes.

The runs: a load on PostgreSQL and on MariaDB, a build, fio, a recording without a command, an import of sar, several hosts in one run,
an average, a command that fails. The time is reported for each, and for a made-up run of a long time on many CPUs: from the start of
the navigation and from the last answer that the first screen needs, until nothing in the window waits any more.
Settings: BENCH_SECONDS (10) of each load, BENCH_LONG (0: without it) and BENCH_CPUS (256) of the made-up run, BENCH_ROUNDS (5),
BENCH_SHOTS (a folder for pictures; none without), BENCH_PORT (17432).
"""

import os
import subprocess
import sys

import servers
from common import FENXI, ROOT, environment, fresh, json_lines, measure, need, report, setting, spread, synth
from healthy import PREPARE, shell
from zoom import Server

SECONDS = setting("BENCH_SECONDS", 10)
LONG = setting("BENCH_LONG", 0)
CPUS = setting("BENCH_CPUS", 256)
ROUNDS = setting("BENCH_ROUNDS", 5)
SHOTS = os.environ.get("BENCH_SHOTS", "")
PORT = setting("BENCH_PORT", 17432)
SAR = ROOT / "crates" / "formats" / "fixtures" / "sar"


def fenxi(store, *words):
    return [FENXI, "--store", store, "--quiet", *words]


def load(store, name, make):
    server = make(PORT)
    try:
        measure(fenxi(store, "load", "prepare", server.url, "-w", "tpcb_like"))
        measure(fenxi(store, "load", "run", server.url, "-w", "tpcb_like", "-c", "8", "--for", f"{SECONDS}s", "--warmup", "1s", "--record", "--name", name))
    finally:
        server.stop()


def runs(store, folder):
    """Makes the runs; gives their names in the order of the pictures."""
    load(store, "load-postgres", servers.postgres)
    load(store, "load-mariadb", servers.mariadb)
    made = ["load-postgres", "load-mariadb"]
    for name, words in [
        ("build", ["make", "-s", "-C", folder / "code", "-j2"]),
        ("fio", ["fio", "--name=r", f"--filename={folder}/fio", "--size=200M", "--rw=randrw", "--bs=16k", "--direct=1", "--time_based", f"--runtime={SECONDS}"]),
        ("fails", ["bash", "-c", f"gzip -9 -c {folder}/numbers | head -c 1000000 > /dev/null; sleep 2; exit 3"]),
    ]:
        # The status is the command's.
        subprocess.run([str(word) for word in fenxi(store, "record", "--name", name, "--", *words)], env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        made.append(name)
    measure(fenxi(store, "record", "--name", "plain", "--for", f"{SECONDS}s"))
    measure(fenxi(store, "import", "--name", "sar", max(SAR.glob("*.txt"), key=lambda path: path.stat().st_size)))
    # What such a command reaches is this machine.
    hosts = [word for host in ("db1", "db2", "web1", "web2") for word in ("--on", f"{host}=env A={host}")]
    hosts += ["--role", "database=db1,db2", "--role", "web=web1,web2"]
    many = subprocess.run([str(word) for word in fenxi(store, "record", "--name", "hosts", "--for", f"{SECONDS}s", *hosts)], env=environment(), capture_output=True, text=True)
    for turn in range(3):
        measure(fenxi(store, "record", "--name", "packed", "--tag", "kind=packing", "--", "bash", "-c", f"for i in 1 2 3 4; do gzip -1 -c {folder}/numbers > /dev/null; done"))
    measure(fenxi(store, "average", "kind=packing", "--name", "average"))
    if many.returncode != 0:
        print(f"bench: several hosts: {many.stderr}", file=sys.stderr)
    return [*made, "plain", "sar", *(["hosts"] if many.returncode == 0 else []), "average"]


def ids(store, names):
    listed = json_lines(fenxi(store, "runs", "--json"))
    return {name: next(run["run"] for run in listed if run["name"] == name) for name in names}


def shown(store, of_names, shots):
    """What the browser measured of each run."""
    server = Server(store)
    try:
        words = ["node", ROOT / "bench" / "screens.mjs", server.url, ROUNDS, shots, *(f"{name}={run}" for name, run in of_names.items())]
        return json_lines(words, cwd=ROOT / "web")
    finally:
        server.end()


def row(line):
    return [line["name"], *(spread(line[name], digits=0) for name in ("ready", "after")), line["moved"], " ".join(line["barriers"]) or "none", line["beyond"]]


def main():
    need(FENXI, "run `make build`")
    folder, store = fresh("screens-work"), fresh("screens")
    measure(shell(PREPARE)(folder))
    rows = [row(line) for line in shown(store, ids(store, runs(store, folder)), SHOTS)]
    if LONG:
        made = synth("zoom", 1, LONG, CPUS)
        listed = json_lines(fenxi(made, "runs", "--json"))
        rows += [row(line) for line in shown(made, {f"{LONG} s of {CPUS} CPUs": listed[0]["run"]}, "")]
    report("screens", "First screens", ["run", "ready, ms", "after the last answer, ms", "layout shift", "serious barriers", "pixels beyond the window"], rows,
           [f"A window of 1280 × 900; median (min–max) of {ROUNDS} looks, each in a new tab, after one that warms the server. Ready: nothing in the window waits.",
            "Barriers are axe's violations of impact serious or critical on the whole page; pixels beyond the window at 1280, 390 and 2560, the largest."])


if __name__ == "__main__":
    main()
