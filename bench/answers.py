#!/usr/bin/env python3
"""What a statement costs: from the command line, over HTTP, and in memory while idle.

With FENXI_OTHER=PROGRAM another build of fenxi is asked in turn over a separate store that holds the same runs.
Settings: BENCH_ROUNDS (100), BENCH_RUNS (100): runs in the store; BENCH_MEMORY (1GB): `--memory` of the server.
"""

import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time

from common import FENXI, environment, interleaved, measure, need, report, setting, spread, synth

TINY = "SELECT 42 AS a"
MEAN = "SELECT avg(usr) AS a FROM cpu"


class Server:
    """A server, asked over one connection."""

    def __init__(self, fenxi, store, memory):
        argv = [fenxi, "--store", store, "serve", "--listen", "127.0.0.1:0", "--memory", memory]
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(argv, env=environment(), stdout=self.log, stderr=self.log)
        for _ in range(200):
            self.log.seek(0)
            found = re.search(rb"http://127\.0\.0\.1:(\d+)", self.log.read())
            if found:
                break
            time.sleep(0.05)
        self.connection = http.client.HTTPConnection("127.0.0.1", int(found.group(1)))

    def ask(self, sql):
        """Waits until the whole answer is here."""
        body = json.dumps({"q": sql})
        self.connection.request("POST", "/api/v1/sql", body, {"Content-Type": "application/json", "X-Fenxi": "1"})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise SystemExit(f"bench: {answer.status}: {text[:300]}")

    def resident(self):
        """Resident MiB of the server with all that it started; pages that they share count once."""
        todo, sum_kib = [self.process.pid], 0
        while todo:
            pid = todo.pop()
            try:
                rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
                sum_kib += int(re.search(r"^Pss:\s+(\d+)", rollup, re.M).group(1))
                for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                    todo += [int(child) for child in (task / "children").read_text().split()]
            except OSError:
                pass  # A session that has just ended.
        return sum_kib / 1024

    def end(self):
        self.process.terminate()
        self.process.wait()


def main():
    need(FENXI, "run `make build`")
    rounds, runs = setting("BENCH_ROUNDS", 100), setting("BENCH_RUNS", 100)
    memory = setting("BENCH_MEMORY", "1GB")
    store = synth("answers", runs, 10, 2)
    programs = [("this", str(FENXI), store)]
    other = os.environ.get("FENXI_OTHER")
    if other:
        copy = pathlib.Path(tempfile.mkdtemp()) / "store"
        shutil.copytree(store, copy)
        shutil.rmtree(copy / "cache", ignore_errors=True)
        programs.append(("other", other, copy))
    with contextlib.ExitStack() as ended:
        servers = {}
        for name, fenxi, at in programs:
            servers[name] = Server(fenxi, at, memory)
            ended.callback(servers[name].end)
        compare(rounds, runs, memory, programs, servers)


def compare(rounds, runs, memory, programs, servers):
    subjects = []
    for name, fenxi, at in programs:
        subjects += [
            (f"{name}: `fenxi runs`", lambda f=fenxi, s=at: measure([f, "--store", s, "runs"])),
            (f"{name}: `fenxi sql`, constant", lambda f=fenxi, s=at: measure([f, "--store", s, "sql", TINY])),
            (f"{name}: `fenxi sql`, mean over all runs", lambda f=fenxi, s=at: measure([f, "--store", s, "sql", MEAN])),
            (f"{name}: HTTP, constant", lambda n=name: servers[n].ask(TINY)),
            (f"{name}: HTTP, mean over all runs", lambda n=name: servers[n].ask(MEAN)),
        ]
    seconds = interleaved(rounds, subjects)
    rows = [[name, spread(values, 1e3)] for name, values in seconds.items()]
    notes = [f"A store of {runs} runs; {rounds} rounds, commands and requests in turn."]
    for name, server in servers.items():
        notes.append(f"{name}: resident after these requests, with all processes: {server.resident():.0f} MiB (`--memory {memory}`).")
    if "other" in servers:
        for what in ["`fenxi runs`", "`fenxi sql`, constant", "`fenxi sql`, mean over all runs", "HTTP, constant", "HTTP, mean over all runs"]:
            this, that = (statistics.median(seconds[f"{name}: {what}"]) for name in ("this", "other"))
            notes.append(f"{what}: {1e3 * (this - that):+.1f} ms against the other, ratio {this / that:.2f}.")
    report("answers", "Answers", ["what", "ms, median (minimum–maximum)"], rows, notes)


if __name__ == "__main__":
    main()
