#!/usr/bin/env python3
"""What observers cost a database that they observe: transactions per second, the 99th percentile of latency and CPU time of
the server for a transaction, with and without each of them, in turns; and querystat beside bpftrace scripts: one that keeps
a histogram of the same queries, one that adds up by statement, wait and pre-emptor as querystat does.

Starts its own servers. Needs root. Settings: BENCH_ROUNDS (5), BENCH_SECONDS (3), BENCH_CLIENTS (8), BENCH_OBSERVERS (all;
or names of them), BENCH_PORT (16432).
"""

import contextlib
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

from common import FENXI, environment, measure, need, report, setting
from load import fenxi, mariadb, postgres
from observers import Observer

ROUNDS = setting("BENCH_ROUNDS", 5)
SECONDS = setting("BENCH_SECONDS", 3)
CLIENTS = setting("BENCH_CLIENTS", 8)
CHOSEN = setting("BENCH_OBSERVERS", "")
HISTOGRAM = "bpftrace, a histogram of queries"
STATEMENTS = "bpftrace, querystat's sums"
OURS = {
    "querystat": ["trace", "querystat"],
    "util": ["trace", "util"],
    "pin": ["trace", "pin"],
    "pin --light": ["trace", "pin", "--light"],
    "procsystime": ["trace", "procsystime"],
    "plockstat": ["trace", "plockstat"],
    "profile": ["trace", "profile"],
    "profile --off-cpu": ["trace", "profile", "--off-cpu"],
    "iopattern": ["trace", "iopattern"],
}


def probes(server):
    """Where a query begins and ends in a server, as bpftrace has it."""
    if server.name == "PostgreSQL":
        programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"))
        return [f"usdt:{programs[-1]}:postgresql:query__{when}" for when in ("start", "done")]
    program = shutil.which("mariadbd", path="/usr/sbin:/usr/bin")
    return [f"{kind}:{program}:*dispatch_command*" for kind in ("uprobe", "uretprobe")]


def script(server, kind):
    """A histogram of latencies alone; or sums by statement too, with what waited and who pre-empted, as querystat has them."""
    begin, end = probes(server)
    ready = "BEGIN { printf(\"ready\\n\"); } "
    if kind == HISTOGRAM:
        return (ready + f"{begin} {{ @begin[tid] = nsecs; }} "
                f"{end} /@begin[tid]/ {{ @ns = hist(nsecs - @begin[tid]); @n = count(); delete(@begin[tid]); }}")
    text = "arg0" if server.name == "PostgreSQL" else "arg2"
    return (ready + f"{begin} {{ @begin[tid] = nsecs; @text[tid] = str({text}); @pushed[tid] = 0; @off[tid] = 0; }} "
            "tracepoint:sched:sched_switch { "
            "if (@begin[args->prev_pid]) { @left[args->prev_pid] = nsecs; @state[args->prev_pid] = args->prev_state; "
            "if (args->prev_state == 0) { @pushed[args->prev_pid] = 1; @by[args->next_comm] = count(); } } "
            "if (@left[args->next_pid]) { $ns = nsecs - @left[args->next_pid]; @off[args->next_pid] += $ns; "
            "@waited[@state[args->next_pid]] = sum($ns); delete(@left[args->next_pid]); } } "
            f"{end} /@begin[tid]/ {{ $ns = nsecs - @begin[tid]; @ns[@pushed[tid]] = hist($ns); @n[@text[tid]] = count(); "
            "@sum[@text[tid]] = sum($ns); @max[@text[tid]] = max($ns); @away[@text[tid]] = sum(@off[tid]); "
            "delete(@begin[tid]); delete(@text[tid]); delete(@pushed[tid]); delete(@off[tid]); }")


def observer(kind, server):
    """What observes while a turn lasts."""
    if kind == "alone":
        return contextlib.nullcontext()
    if kind in (HISTOGRAM, STATEMENTS):
        return Observer(["bpftrace", "-e", script(server, kind)], ready="ready")
    return Observer([FENXI, *OURS[kind]])


def turn(server):
    """Transactions per second, the 99th percentile in milliseconds, and the server's microseconds for a transaction."""
    words = fenxi(server, "run", "-c", CLIENTS, "--for", f"{SECONDS}s", "--protocol", "simple")
    done = subprocess.run([str(word) for word in words], env=environment(), stdout=subprocess.PIPE, text=True)
    found = [re.search(pattern, done.stdout) for pattern in
             (r"transactions/s: +([\d.]+)", r"p99: +([\d.]+)", r"CPU time: +([\d.]+) µs")]
    if done.returncode != 0 or not all(found):
        sys.exit(f"bench: {' '.join(map(str, words))}: status {done.returncode}\n{done.stdout}")
    return [float(match[1]) for match in found]


def rows_of(server):
    kinds = ["alone", *OURS] + ([HISTOGRAM, STATEMENTS] if shutil.which("bpftrace") else [])
    if CHOSEN:
        kinds = [kind for kind in kinds if kind in ("alone", *CHOSEN.split(";"))]
    found = {kind: [] for kind in kinds}
    for number in range(ROUNDS):
        for kind in kinds[number % len(kinds):] + kinds[:number % len(kinds)]:
            with observer(kind, server):
                found[kind].append(turn(server))
    rows = []
    for kind in kinds:
        median = lambda place: statistics.median(figures[place] for figures in found[kind])
        ratio = lambda place: statistics.median(
            with_it[place] / without[place] for with_it, without in zip(found[kind], found["alone"]))
        more = statistics.median(with_it[2] - without[2] for with_it, without in zip(found[kind], found["alone"]))
        rows.append([server.name, kind, f"{median(0):.0f}", f"{ratio(0):.2f}", f"{median(1):.2f}", f"{ratio(1):.2f}",
                     f"{median(2):.1f}", f"{more:+.1f}"])
    return rows


def main():
    need(FENXI, "run `make build`")
    need("mariadbd", "it is Debian's `mariadb-server`")
    rows = []
    for start in (mariadb, postgres):
        server = start()
        try:
            measure(fenxi(server, "prepare"))
            rows += rows_of(server)
        finally:
            server.stop()
    report("overhead", "What observers cost a database",
           ["server", "observer", "transactions/s", "ratio", "p99, ms", "ratio", "server CPU, µs each", "more"], rows,
           [f"Point selects, one query in simple protocol each, from {CLIENTS} connections in a closed loop, so that client, "
            f"server and observer share all processors; {ROUNDS} rounds of {SECONDS} s in turns. Medians; ratios and "
            "differences are medians of those to the same round without an observer.",
            "CPU is that of the server's processes: probes run on their account. What an observer does in its own process is "
            "in the throughput."])


if __name__ == "__main__":
    main()
