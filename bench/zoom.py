#!/usr/bin/env python3
"""Zooming into a long, wide run: what `fenxi serve` takes for each step of the CPU heat map and of a line per CPU.

The run has one sample a second of every CPU (22 million rows in `cpu` at full size). Each step asks `/api/v1/panel` for
another place of the run, so that no answer can be kept from before; coarse bins, which the first look at the
whole run makes, are made beforehand and measured by themselves.

Settings: BENCH_SECONDS (3600), BENCH_CPUS (64), BENCH_ROUNDS (7). Full size: BENCH_SECONDS=86400 BENCH_CPUS=256.
"""

import json
import pathlib
import shutil
import statistics
import subprocess
import time
import urllib.parse
import urllib.request

from common import FENXI, environment, need, report, setting, size_of, spread, synth

STEPS = [("24 h", 86400), ("6 h", 21600), ("1 h", 3600), ("5 min", 300), ("1 min", 60)]
LINES = "SELECT run, host, t, dt, cpu, usr, sys FROM cpu WHERE cpu IS NOT NULL"


def cpu_seconds(pid):
    """User and system time of a process so far."""
    words = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / 100


class Server:
    def __init__(self, store):
        argv = [str(FENXI), "--quiet", "--store", str(store), "serve", "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(argv, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().strip().rstrip("/")

    def ask(self, path, **query):
        """The answer, its bytes, the seconds it took and the CPU seconds of the server."""
        address = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        cpu, began = cpu_seconds(self.process.pid), time.perf_counter()
        with urllib.request.urlopen(address, timeout=600) as answer:
            body = answer.read()
        took = time.perf_counter() - began
        return json.loads(body), len(body), took, cpu_seconds(self.process.pid) - cpu

    def end(self):
        self.process.terminate()
        self.process.wait()


def steps(server, run, seconds, rounds, panel, rows, what):
    """One row for each step that the run is long enough for."""
    for name, length in STEPS:
        if length > seconds:
            continue
        took, cpu, size, bins = [], [], 0, 0
        for turn in range(rounds + 1):
            place = (seconds - length) * turn // max(rounds, 1)
            part = {} if length == seconds else {"from": place, "to": place + length}
            answer, size, elapsed, used = server.ask("panel", run=run, **part, **panel)
            bins, lines = answer["time"]["n"], len(answer["time"]["series"])
            if turn > 0:
                took.append(elapsed)
                cpu.append(used)
        rows.append([what, name, f"{bins} × {lines}", spread(took, 1e3, 0), spread(cpu, 1e3, 0), f"{size / 1e3:.0f}"])


def main():
    need(FENXI, "build it with `make`")
    seconds, cpus, rounds = setting("BENCH_SECONDS", 3600), setting("BENCH_CPUS", 64), setting("BENCH_ROUNDS", 7)
    store = synth("zoom", 1, seconds, cpus)
    shutil.rmtree(store / "cache" / "windows", ignore_errors=True)
    server, rows, notes = Server(store), [], []
    try:
        run = server.ask("runs")[0]["rows"][0]["id"]
        _, _, took, used = server.ask("panel", run=run, question="cpu-heatmap")
        kept = size_of(store / "cache" / "windows") if (store / "cache" / "windows").exists() else 0
        notes.append(f"the first look at the whole run, which makes its coarse bins, took {took:.1f} s "
                     f"({used:.1f} s CPU); they take {kept / 1e6:.1f} MB beside a table of "
                     f"{size_of(next((store / 'runs').glob('*/cpu.parquet'))) / 1e6:.1f} MB")
        steps(server, run, seconds, rounds, {"question": "cpu-heatmap"}, rows, "heat map of every CPU")
        lines = {"sql": LINES, "chart": "line", "y": "usr", "series": "cpu"}
        server.ask("panel", run=run, **lines)
        steps(server, run, seconds, rounds, lines, rows, "a line for every CPU")
    finally:
        server.end()
    n_rows = seconds * (cpus + 1)
    notes.append(f"{n_rows:,} rows in `cpu`; one request at a time over HTTP, answers whole as JSON; median (min–max) of "
                 f"{rounds} rounds, each at another place of the run. CPU is that of the server, all threads")
    report("zoom", "Zooming into a long run",
           ["what", "part shown", "bins × lines", "ms", "CPU ms", "kB"], rows, notes)


if __name__ == "__main__":
    main()
